//! `stdin`: a template, a file of the pack, or the stdout of an earlier step.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::action::{ActionError, Step, StepContext};
use crate::budget::BudgetExceeded;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{RenderError, Scope, Shape, Template, TextSlot};
use crate::value_types::{FileRef, TextOrFile, yaml_kind_enum};
use crate::yaml::{Location, Spanned};

yaml_kind_enum! {
    /// A template, `{ file: PATH }` for the content of a file, or `{ from: ID }` for the stdout of an earlier step.
    pub enum StdinSpec {
        "text" => Text(String),
        "map" => Source(StdinSource),
    }
}

/// Where stdin comes from: `{ file: query.sql }`, or `{ from: ID }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StdinSource {
    /// The path of a file, relative to this one, such as `queries/all.sql`. It must stay inside the pack.
    pub file: Option<Spanned<String>>,
    /// The id of an earlier step that runs a program: stdin is exactly the bytes of its stdout, whether or not they are
    /// text: `{ from: archive }`.
    pub from: Option<Spanned<String>>,
}

impl StdinSpec {
    /// The id of the step that it names.
    pub(in crate::action) fn step(&self) -> Option<&Spanned<String>> {
        match self {
            StdinSpec::Text(_) => None,
            StdinSpec::Source(source) => source.from.as_ref(),
        }
    }
}

/// A compiled `stdin`.
pub(super) enum Stdin {
    Template(Template<TextSlot>),
    /// The stdout of the step with this id.
    Step(String),
}

impl Stdin {
    pub(super) fn compile(spec: &Spanned<StdinSpec>, compiler: &mut Compiler<'_>) -> Option<Stdin> {
        let text = match &spec.value {
            StdinSpec::Text(text) => TextOrFile::Text(text.clone()),
            StdinSpec::Source(StdinSource { file: Some(_), from: Some(from) }) => {
                compiler
                    .error(Code::Conflict, from.location, "`from` beside `file` in `stdin`")
                    .help("write `{ file: PATH }` or `{ from: ID }`");
                return None;
            }
            StdinSpec::Source(StdinSource { file: None, from: None }) => {
                compiler
                    .error(Code::MissingKey, spec.location, "expected a string, `{ file: … }` or `{ from: … }`")
                    .help("write `{ from: ID }` with the id of an earlier step, or `{ file: PATH }`");
                return None;
            }
            StdinSpec::Source(StdinSource { from: Some(from), .. }) => return compile_step(from, compiler),
            StdinSpec::Source(StdinSource { file, .. }) => TextOrFile::File(FileRef { file: file.clone() }),
        };
        let text = compiler.resolve_text(&Spanned::new(text, spec.location))?;
        compiler.template(&text, Exposure::Private).map(Stdin::Template)
    }

    /// The bytes, which the call holds.
    pub(super) fn bytes(&self, context: &StepContext<'_>) -> Result<Vec<u8>, ActionError> {
        match self {
            Stdin::Template(template) => render(template, context.scope),
            Stdin::Step(id) => step_bytes(id, context),
        }
    }
}

/// Checks that a step ran a program once.
fn compile_step(id: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Stdin> {
    let steps = compiler.scope_shape.get("steps").cloned();
    let earlier = steps.as_ref().and_then(Shape::fields);
    let Some(shape) = earlier.and_then(|steps| steps.get(&id.value)) else {
        if let Some((message, help)) = compiler.scope_shape.unfinished_step(id) {
            compiler.error(Code::UnknownVariable, id.location, message).help(help);
            return None;
        }
        let names: Vec<&str> = earlier.into_iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
        let diagnostic = compiler.error(Code::UnknownVariable, id.location, format!("unknown step `{}`", id.value));
        diagnostic.did_you_mean(id, names);
        if diagnostic.help.is_none() {
            diagnostic.help("write the `id` of an earlier step that runs a program");
        }
        return None;
    };
    let (what, help) = match shape {
        Shape::List(_) => ("is repeated, and has one stdout for each item", "read it in the step itself"),
        shape if !shape.fields().is_some_and(|fields| fields.contains_key("stdout")) => {
            ("has no stdout", "name a step with `exec` or `script`, or use a template such as `\"{{steps.ID.body}}\"`")
        }
        _ => return Some(Stdin::Step(id.value.clone())),
    };
    compiler.error(Code::BadValue, id.location, format!("step `{}` {what}", id.value)).help(help);
    None
}

/// Reports stdout that is read across a question: bytes do not travel to the client and back.
pub(in crate::action) fn check_questions(steps: &[Spanned<Step>], compiler: &mut Compiler<'_>) {
    for (at, step) in steps.iter().enumerate() {
        let Some(from) = step.stdin.as_ref().and_then(|stdin| stdin.value.step()) else { continue };
        let before = steps.iter().take(at);
        let named = |step: &&Spanned<Step>| step.id.as_ref().is_none_or(|id| id.value != from.value);
        if let Some(ask) = before.rev().take_while(named).find_map(|step| step.ask.as_ref()) {
            compiler
                .error(
                    Code::Conflict,
                    from.location,
                    format!("the stdout of `{}` is not kept over a question", from.value),
                )
                .note(ask.location.span(), "the client is asked here")
                .help("ask before the step whose stdout is read");
        }
    }
}

fn step_bytes(id: &str, context: &StepContext<'_>) -> Result<Vec<u8>, ActionError> {
    let invalid = |why: String| ActionError::message(format!("invalid `stdin`: {why}"));
    let Some(stdout) = context.stdouts.and_then(|stdouts| stdouts.get(id)) else {
        return Err(invalid(format!("step `{id}` has no stdout: it was skipped, or its program could not be run")));
    };
    if stdout.is_truncated() {
        return Err(invalid(format!(
            "the stdout of step `{id}` is cut: {} bytes over the limit of {}; raise `maxOutput`",
            stdout.missing_bytes, context.max_output
        )));
    }
    hold(stdout.bytes.len(), context.scope)?;
    Ok(stdout.bytes.clone())
}

/// Renders a template. A single value is not limited in size as rendered texts are, since it exists already.
fn render(template: &Template<TextSlot>, scope: &Scope) -> Result<Vec<u8>, ActionError> {
    template.check_output_notes(scope)?;
    if let Some(Value::String(text)) = template.single_path().and_then(|path| scope.get(path)) {
        hold(text.len(), scope)?;
        return Ok(text.as_bytes().to_vec());
    }
    match template.render(scope) {
        Ok(text) => Ok(text.0.into_bytes()),
        Err(error @ RenderError::TooLarge { .. }) => Err(ActionError::message(format!(
            "invalid `stdin`: {error}; a text that is exactly one value may be longer"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Holds bytes, and names `stdin` where they are too many.
fn hold(bytes: usize, scope: &Scope) -> Result<(), ActionError> {
    scope.budget().hold(bytes).map_err(|error| match error {
        BudgetExceeded::Memory => ActionError::message(format!("invalid `stdin` of {bytes} bytes: {error}")),
        other => other.into(),
    })
}

/// The place of a value in stdin: one in a template, or the stdout of a step.
pub(super) fn value_location(
    stdin: &Spanned<StdinSpec>,
    has_value: impl Fn(&Spanned<String>) -> bool,
) -> Option<Location> {
    let holds = match &stdin.value {
        StdinSpec::Text(text) => has_value(&Spanned::new(text.clone(), stdin.location)),
        StdinSpec::Source(source) => source.from.is_some(),
    };
    holds.then_some(stdin.location)
}
