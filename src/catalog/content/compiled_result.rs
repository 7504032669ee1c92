//! `result`: turns the outcome of a run into the result of an entry.

use serde_json::Value;

use crate::action::{OutcomeBody, RunOutcome, SelectError, SelectExpression};
use crate::catalog::content::block::{CompiledBlock, RenderedBlock};
use crate::catalog::entry::entry_references::ReferenceCollector;
use crate::catalog::none_if_invalid;
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::manifest::ResultSpec;
use crate::template::{Scope, Shape, Template, TextSlot, UriSlot};
use crate::world::{World, excerpt};
use crate::yaml::Spanned;

/// Where the author of an entry is told what may be wrong with it.
pub(in crate::catalog) struct AuthorHints<'a> {
    pub(in crate::catalog) world: &'a dyn World,
    pub(in crate::catalog) entry_name: &'a str,
}

/// A compiled `result`.
#[derive(Default)]
pub(in crate::catalog) struct CompiledResult {
    select: Option<SelectExpression>,
    form: ResultForm,
    structured: Option<JsonTemplate>,
}

#[derive(Default)]
enum ResultForm {
    /// The selection or the body of the action, unchanged.
    #[default]
    Unchanged,
    Text(Template<TextSlot>),
    Content(Vec<CompiledBlock>),
}

/// A value for programs, beside what people and models are shown.
pub(in crate::catalog) struct StructuredValue {
    pub(in crate::catalog) value: Value,
    /// Whether the author wrote it; else it is what the text was made of.
    pub(in crate::catalog) is_written: bool,
}

pub(in crate::catalog) enum RenderedResult {
    /// The body of the action.
    Unchanged(OutcomeBody),
    Value(Value),
    /// A text, and the value beside it.
    Text(String, Option<StructuredValue>),
    /// Blocks, and the value beside them.
    Content(Vec<RenderedBlock>, Option<StructuredValue>),
}

impl CompiledResult {
    /// Compiles a result.
    pub(in crate::catalog) fn compile(
        spec: Option<&Spanned<ResultSpec>>,
        compiler: &mut Compiler<'_>,
        references: &mut ReferenceCollector,
    ) -> Option<CompiledResult> {
        let Some(spec) = spec else { return Some(CompiledResult::default()) };
        if spec.text.is_some() && spec.content.is_some() {
            let key = compiler.key_location(spec.location, "content");
            compiler
                .error(Code::Conflict, key, "expected at most one of `text`, `content`")
                .help("write the text as a block of `content`");
            return None;
        }
        let select = spec.select.as_ref().map(|select| {
            let compiled = SelectExpression::compile(select, compiler)?;
            // Of what an action puts out, the shape is not known.
            let names = &compiler.scope_shape;
            let input = match (names.get("steps"), names.get("result")) {
                (None, Some(_)) => None,
                (steps, _) => steps.or_else(|| names.get("arguments")).cloned(),
            };
            if let Some(input) = input {
                compiled.warn_of_missing_field(select, &input, compiler);
            }
            Some(compiled)
        });
        if select.is_some() {
            compiler.record_all_outcome_reads();
        }
        let names = match &select {
            Some(_) => compiler.scope_shape.clone().with_name("result", Shape::Any),
            None => compiler.scope_shape.clone(),
        };
        let (form, structured) = compiler.with_scope_shape(names, |compiler| {
            let structured = spec.structured_content.as_ref().map(|value| {
                let placed = compiler.json_value(value)?;
                Some(compiler.json_template(&placed.value, placed.location, Exposure::Client))
            });
            (compile_form(spec, compiler, references), structured)
        });
        let structured = none_if_invalid(structured)?;
        Some(CompiledResult { select: none_if_invalid(select)?, form: form?, structured })
    }

    /// The URIs of the resources that it embeds.
    pub(in crate::catalog) fn resource_uris(&self) -> impl Iterator<Item = &Template<UriSlot>> {
        let blocks = if let ResultForm::Content(blocks) = &self.form { blocks.as_slice() } else { &[] };
        blocks.iter().filter_map(CompiledBlock::resource_uri)
    }

    /// Whether the caller is shown the note of the outcome: a template of the author sees the whole outcome instead.
    pub(in crate::catalog) fn shows_note(&self) -> bool {
        self.select.is_some() || matches!(self.form, ResultForm::Unchanged) && self.structured.is_none()
    }

    /// Whether the author wrote the structured content.
    pub(in crate::catalog) fn writes_structure(&self) -> bool {
        self.structured.is_some()
    }

    /// Makes what the caller is shown. Without an outcome, `select` sees the arguments.
    ///
    /// # Errors
    /// What `select` and templates refuse.
    pub(in crate::catalog) fn render(
        &self,
        run: Option<RunOutcome>,
        scope: Scope,
        author: &AuthorHints<'_>,
    ) -> Result<RenderedResult, Refusal> {
        let (scope, body) = match run {
            Some(run) => run.into_scope(scope),
            None => (scope, OutcomeBody::None),
        };
        let selected = match &self.select {
            Some(select) => Some(apply_select(select, &body, &scope, author)?),
            None => None,
        };
        if matches!(self.form, ResultForm::Unchanged) && self.structured.is_none() {
            return Ok(selected.map_or(RenderedResult::Unchanged(body), RenderedResult::Value));
        }
        let scope = match &selected {
            Some(selected) => scope.with_result(selected.clone()),
            None => scope,
        };
        let written = self.structured.as_ref().map(|structured| structured.render(&scope)).transpose()?;
        let structured = |written: Option<Value>| match (written, selected, body) {
            (Some(value), _, _) => Some(StructuredValue { value, is_written: true }),
            // The value that a text or blocks were made of.
            (None, Some(value), _) | (None, None, OutcomeBody::Json(value, _)) => {
                Some(StructuredValue { value, is_written: false })
            }
            _ => None,
        };
        Ok(match &self.form {
            ResultForm::Unchanged => RenderedResult::Value(written.unwrap_or_default()),
            ResultForm::Text(text) => RenderedResult::Text(text.render(&scope)?.0, structured(written)),
            ResultForm::Content(blocks) => {
                let mut rendered = Vec::new();
                blocks.iter().try_for_each(|block| block.render(&scope, &mut rendered))?;
                RenderedResult::Content(rendered, structured(written))
            }
        })
    }
}

fn compile_form(
    result: &ResultSpec,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<ResultForm> {
    if let Some(text) = &result.text {
        let text = compiler.resolve_text(text)?;
        return compiler.template(&text, Exposure::Client).map(ResultForm::Text);
    }
    let Some(content) = &result.content else { return Some(ResultForm::Unchanged) };
    let blocks: Vec<_> = content.iter().map(|block| CompiledBlock::compile(block, compiler, references)).collect();
    blocks.into_iter().collect::<Option<Vec<_>>>().map(ResultForm::Content)
}

fn apply_select(
    select: &SelectExpression,
    body: &OutcomeBody,
    scope: &Scope,
    author: &AuthorHints<'_>,
) -> Result<Value, Refusal> {
    let failed = |message: String| {
        // What there is instead, as it is not to be fetched again.
        let shown = match body {
            OutcomeBody::Text(text) | OutcomeBody::Json(_, text) => excerpt(text),
            OutcomeBody::None | OutcomeBody::Bytes(..) => String::new(),
        };
        let separator = if shown.is_empty() { "" } else { "\n" };
        Refusal::new(RefusalKind::Internal, format!("{message}{separator}{shown}"))
    };
    let from = match body {
        _ if scope.steps().is_some() => scope.get(&["steps"]),
        OutcomeBody::Json(json, _) => Some(json),
        OutcomeBody::None => scope.get(&["arguments"]),
        // A scalar is shown as text.
        OutcomeBody::Text(_) | OutcomeBody::Bytes(..) => match scope.get(&["result", "json"]) {
            None => {
                let why = scope.read(&["result", "json"]).err().map(|error| format!(": {error}"));
                return Err(failed(format!("`select` requires JSON output{}", why.unwrap_or_default())));
            }
            json => json,
        },
    };
    let from = from.unwrap_or(&Value::Null);
    let selected = select.apply(from).map_err(|error| match error {
        SelectError::BudgetExceeded(why) => why.into(),
        error => failed(error.to_string()),
    })?;
    if let Some(hint) = select.hint(from, &selected) {
        author.world.hint_to_author(&format!("`select` in `{}`: {hint}", author.entry_name));
    }
    Ok(selected)
}
