//! `result`: what is made of an outcome.

use serde_json::Value;

use crate::action::{Body, Ended, SelectError, Selection};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::manifest::ResultSpec;
use crate::template::{Scope, Shape, Template, Text, Uri};
use crate::yaml::Spanned;

use super::answer::{Refusal, RefusalKind};
use super::block::{BlockPlan, Made};
use super::reference::References;
use super::told::{exhausted, refused};

/// What is made of an outcome, ready to be made.
#[derive(Default)]
pub(super) struct ResultPlan {
    select: Option<Selection>,
    form: Form,
}

#[derive(Default)]
enum Form {
    /// The selection, or the action, speaks for itself.
    #[default]
    Itself,
    Text(Template<Text>),
    Content(Vec<BlockPlan>),
    Structured(JsonTemplate),
}

/// What was made of an outcome.
pub(super) enum Shown {
    /// What the action itself speaks with.
    Itself(Body),
    /// A value, which speaks for itself.
    Value(Value),
    /// A text, and the value behind it.
    Text(String, Option<Value>),
    /// Blocks, and the value behind them.
    Content(Vec<Made>, Option<Value>),
}

impl ResultPlan {
    /// Checks a result as it was written.
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
            let key = compiler.key(written.at, second);
            compiler.error(Code::Conflict, key, "`text`, `content` and `structuredContent` exclude each other");
            return None;
        }
        let select = written.select.as_ref().map(|select| Selection::compile(select, compiler));
        if select.is_some() {
            // What it picks out of the steps only shows when it is applied.
            compiler.steps_read.push(None);
        }
        let names = match &select {
            Some(_) => compiler.names.clone().with("result", Shape::Any),
            None => compiler.names.clone(),
        };
        let form = compiler.with_names(names, |compiler| form(written, compiler, references));
        let select = match select {
            Some(select) => Some(select?),
            None => None,
        };
        Some(ResultPlan { select, form: form? })
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn embeds(&self) -> impl Iterator<Item = &Template<Uri>> {
        let blocks = if let Form::Content(blocks) = &self.form { blocks.as_slice() } else { &[] };
        blocks.iter().filter_map(BlockPlan::embeds)
    }

    /// Makes what the caller is shown. Without an outcome, `select` sees the arguments.
    ///
    /// # Errors
    /// What `select` and templates refuse.
    pub(super) fn make(&self, ended: Option<Ended>, scope: Scope) -> Result<Shown, Refusal> {
        let scope = match &ended {
            Some(ended) => ended.enter(scope),
            None => scope,
        };
        let body = ended.map_or(Body::None, |ended| ended.outcome.body);
        let selected = match &self.select {
            Some(select) => Some(selected(select, &body, &scope)?),
            None => None,
        };
        let behind = selected.clone().or_else(|| match &body {
            Body::Json(json, _) => Some(json.clone()),
            _ => None,
        });
        let scope = match &selected {
            Some(selected) => scope.with_result(selected.clone()),
            None => scope,
        };
        Ok(match &self.form {
            Form::Itself => selected.map_or(Shown::Itself(body), Shown::Value),
            Form::Text(text) => Shown::Text(text.render(&scope).map_err(refused)?.0, behind),
            Form::Structured(value) => Shown::Value(value.render(&scope).map_err(refused)?),
            Form::Content(blocks) => {
                let make = || {
                    let mut made = Vec::new();
                    blocks.iter().try_for_each(|block| block.make(&scope, &mut made)).map(|()| made)
                };
                Shown::Content(scope.budget().run(make).map_err(exhausted)??, behind)
            }
        })
    }
}

fn form(written: &ResultSpec, compiler: &mut Compiler<'_>, references: &mut References) -> Option<Form> {
    if let Some(text) = &written.text {
        let text = compiler.text(text)?;
        return compiler.template(&text, Exposure::Client).map(Form::Text);
    }
    if let Some(value) = &written.structured_content {
        let placed = compiler.json_value(value)?;
        return Some(Form::Structured(compiler.json(&placed.value, placed.at, Exposure::Client)));
    }
    let Some(content) = &written.content else { return Some(Form::Itself) };
    let blocks: Vec<_> = content.iter().map(|block| BlockPlan::compile(block, compiler, references)).collect();
    blocks.into_iter().collect::<Option<Vec<_>>>().map(Form::Content)
}

fn selected(select: &Selection, body: &Body, scope: &Scope) -> Result<Value, Refusal> {
    let failed = |message: String| Refusal::new(RefusalKind::Internal, message);
    let from = match body {
        _ if scope.steps().is_some() => scope.get(&["steps"]),
        Body::Json(json, _) => Some(json),
        Body::None => scope.get(&["arguments"]),
        Body::Text(_) | Body::Bytes(..) => {
            return Err(failed("`select` needs JSON, and the output is none".to_owned()));
        }
    };
    select.apply(from.unwrap_or(&Value::Null), scope.budget()).map_err(|error| match error {
        SelectError::Exhausted(why) => exhausted(why),
        error => failed(error.to_string()),
    })
}
