//! `result`: turns the outcome of a run into the result of an entry.

use serde_json::Value;

use crate::action::{OutcomeBody, RunOutcome, SelectError, Selection};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::manifest::ResultSpec;
use crate::template::{Scope, Shape, Template, Text, Uri};
use crate::yaml::Spanned;

use super::answer::{Refusal, RefusalKind};
use super::block::{BlockPlan, RenderedBlock};
use super::reference::References;
use super::transpose_checked;

/// A compiled `result`.
#[derive(Default)]
pub(super) struct ResultPlan {
    select: Option<Selection>,
    form: ResultForm,
}

#[derive(Default)]
enum ResultForm {
    /// The selection or the body of the action, unchanged.
    #[default]
    Unchanged,
    Text(Template<Text>),
    Content(Vec<BlockPlan>),
    Structured(JsonTemplate),
}

/// A rendered `result`.
pub(super) enum RenderedResult {
    /// The body of the action.
    Unchanged(OutcomeBody),
    /// A value.
    Value(Value),
    /// A text, and the value behind it.
    Text(String, Option<Value>),
    /// Blocks, and the value behind them.
    Content(Vec<RenderedBlock>, Option<Value>),
}

impl ResultPlan {
    /// Compiles a result.
    pub(super) fn compile(
        written: Option<&Spanned<ResultSpec>>,
        compiler: &mut Compiler<'_>,
        references: &mut References,
    ) -> Option<ResultPlan> {
        let Some(written) = written else { return Some(ResultPlan::default()) };
        let forms = [
            ("text", written.text.is_some()),
            ("content", written.content.is_some()),
            ("structuredContent", written.structured_content.is_some()),
        ];
        if let Some((second, _)) = forms.iter().filter(|(_, there)| *there).nth(1) {
            let key = compiler.key_location(written.location, second);
            compiler.error(Code::Conflict, key, "expected at most one of `text`, `content`, `structuredContent`");
            return None;
        }
        let select = written.select.as_ref().map(|select| Selection::compile(select, compiler));
        if select.is_some() {
            // What it picks out of the steps only shows when it is applied.
            compiler.steps_read.push(None);
        }
        let names = match &select {
            Some(_) => compiler.scope_shape.clone().with_name("result", Shape::Any),
            None => compiler.scope_shape.clone(),
        };
        let form = compiler.with_scope_shape(names, |compiler| compile_form(written, compiler, references));
        Some(ResultPlan { select: transpose_checked(select)?, form: form? })
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn resource_uris(&self) -> impl Iterator<Item = &Template<Uri>> {
        let blocks = if let ResultForm::Content(blocks) = &self.form { blocks.as_slice() } else { &[] };
        blocks.iter().filter_map(BlockPlan::resource_uri)
    }

    /// Whether the caller is shown the note of the outcome: a template of the author sees the whole outcome instead.
    pub(super) fn shows_note(&self) -> bool {
        self.select.is_some() || matches!(self.form, ResultForm::Unchanged)
    }

    /// Makes what the caller is shown. Without an outcome, `select` sees the arguments.
    ///
    /// # Errors
    /// What `select` and templates refuse.
    pub(super) fn render(&self, ended: Option<RunOutcome>, scope: Scope) -> Result<RenderedResult, Refusal> {
        let scope = match &ended {
            Some(ended) => ended.extend_scope(scope),
            None => scope,
        };
        let body = ended.map_or(OutcomeBody::None, |ended| ended.outcome.body);
        let selected = match &self.select {
            Some(select) => Some(apply_select(select, &body, &scope)?),
            None => None,
        };
        let structured = selected.clone().or_else(|| match &body {
            OutcomeBody::Json(json, _) => Some(json.clone()),
            _ => None,
        });
        let scope = match &selected {
            Some(selected) => scope.with_result(selected.clone()),
            None => scope,
        };
        Ok(match &self.form {
            ResultForm::Unchanged => selected.map_or(RenderedResult::Unchanged(body), RenderedResult::Value),
            ResultForm::Text(text) => RenderedResult::Text(text.render(&scope)?.0, structured),
            ResultForm::Structured(value) => RenderedResult::Value(value.render(&scope)?),
            ResultForm::Content(blocks) => {
                let render_blocks = || {
                    let mut rendered = Vec::new();
                    blocks.iter().try_for_each(|block| block.render(&scope, &mut rendered)).map(|()| rendered)
                };
                RenderedResult::Content(scope.budget().run_repeatable(render_blocks)??, structured)
            }
        })
    }
}

fn compile_form(written: &ResultSpec, compiler: &mut Compiler<'_>, references: &mut References) -> Option<ResultForm> {
    if let Some(text) = &written.text {
        let text = compiler.resolve_text(text)?;
        return compiler.template(&text, Exposure::Client).map(ResultForm::Text);
    }
    if let Some(value) = &written.structured_content {
        let placed = compiler.json_value(value)?;
        return Some(ResultForm::Structured(compiler.json_template(&placed.value, placed.location, Exposure::Client)));
    }
    let Some(content) = &written.content else { return Some(ResultForm::Unchanged) };
    let blocks: Vec<_> = content.iter().map(|block| BlockPlan::compile(block, compiler, references)).collect();
    blocks.into_iter().collect::<Option<Vec<_>>>().map(ResultForm::Content)
}

fn apply_select(select: &Selection, body: &OutcomeBody, scope: &Scope) -> Result<Value, Refusal> {
    let failed = |message: String| Refusal::new(RefusalKind::Internal, message);
    let from = match body {
        _ if scope.steps().is_some() => scope.get(&["steps"]),
        OutcomeBody::Json(json, _) => Some(json),
        OutcomeBody::None => scope.get(&["arguments"]),
        OutcomeBody::Text(_) | OutcomeBody::Bytes(..) => {
            return Err(failed("`select` requires JSON output".to_owned()));
        }
    };
    select.apply(from.unwrap_or(&Value::Null), scope.budget()).map_err(|error| match error {
        SelectError::Exhausted(why) => why.into(),
        error => failed(error.to_string()),
    })
}
