//! Completion: where the values of an argument come from, and which of them fit what was typed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::action::{Body, Ended, Plan, Run, Selection};
use crate::budget::Budget;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::files::{Folder, Globs, normalize};
use crate::manifest::{Argument, Arguments, Complete, CompleteBody};
use crate::template::Scope;
use crate::yaml::{At, Spanned};

use super::answer::Completions;
use super::entry::{Calling, Home, RunKeys};
use super::inputs::Inputs;
use super::rank::rank;

/// How many values an answer holds (MCP's own limit).
const MOST: usize = 100;
/// Actions that talk to the client, which completes while a person types.
const TALKS: &[&str] = &["ask", "progress", "notify"];
/// How many files a glob may find.
const FILES: usize = 20_000;

/// Where the values of an entry's arguments come from, by their names.
pub(super) type Sources = BTreeMap<String, Source>;

/// Where values come from.
pub(super) enum Source {
    /// They stand in the manifest.
    Values(Vec<String>),
    /// The paths of files, relative to the folder of the file that says so.
    Glob { folder: Folder, globs: Globs, base: PathBuf },
    /// What an action puts out.
    Run { plan: Box<Plan>, select: Option<Selection> },
}

/// The sources of an entry's arguments. `None` where something is wrong with one.
pub(super) fn completions(
    arguments: &Arguments,
    inputs: Option<&Inputs>,
    compiler: &mut Compiler<'_>,
) -> Option<Sources> {
    let mut sources = Some(Sources::new());
    for (name, argument) in arguments {
        let source = match &argument.complete {
            Some(complete) => source(complete, compiler).map(Some),
            None => Some(inputs.and_then(|inputs| by_schema(inputs, name))),
        };
        sources = sources.zip(source).map(|(mut sources, source)| {
            if let Some(source) = source {
                sources.insert(name.value.clone(), source);
            }
            sources
        });
    }
    sources
}

/// An `enum` completes by itself, and so does a boolean.
fn by_schema(inputs: &Inputs, name: &str) -> Option<Source> {
    let schema = inputs.schema().get("properties")?.get(name)?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return Some(Source::Values(choices.iter().map(text).collect()));
    }
    (schema.get("type")? == "boolean").then(|| Source::Values(vec!["true".to_owned(), "false".to_owned()]))
}

fn source(complete: &Spanned<Complete>, compiler: &mut Compiler<'_>) -> Option<Source> {
    let from = match &complete.value {
        Complete::List(values) => {
            return Some(Source::Values(values.iter().map(|value| value.value.0.clone()).collect()));
        }
        Complete::From(from) => from,
    };
    match (&from.glob, &from.run) {
        (Some(pattern), None) => glob(pattern, compiler),
        (None, Some(written)) => run(from, written, compiler),
        _ => {
            compiler
                .error(Code::Conflict, complete.at, "`complete` is a list, or exactly one of `glob`, `run`")
                .help("write `complete: [a, b]`, `{ glob: \"docs/*.md\" }` or `{ run: … }`");
            None
        }
    }
}

fn glob(pattern: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Source> {
    let base = compiler.base.to_owned();
    let whole = base.join(&pattern.value);
    let Ok(path) = normalize(&whole.to_string_lossy()) else {
        compiler.error(Code::Outside, pattern.at, "this glob leaves the pack's folder");
        return None;
    };
    match Globs::new(&[&path.to_string_lossy()], &[]) {
        Ok(globs) => Some(Source::Glob { folder: compiler.pack.folder.clone(), globs, base }),
        Err(error) => {
            compiler.error(Code::Glob, pattern.at, error.message);
            None
        }
    }
}

fn run(from: &CompleteBody, run: &Spanned<Run>, compiler: &mut Compiler<'_>) -> Option<Source> {
    let keys = RunKeys {
        run: from.run.as_ref(),
        timeout: from.timeout,
        max_output: from.max_output,
        wants_json: from.select.is_some(),
    };
    let talks = |(action, _): &(&str, At)| TALKS.contains(action);
    if let Some((action, at)) = from.run.iter().flat_map(|run| run.actions()).find(talks) {
        let key = compiler.key(at, action);
        compiler
            .error(Code::Conflict, key, format!("`{action}` cannot stand in a completion: nobody is there to hear it"))
            .help("gather the values with the other actions");
        return None;
    }
    let before = compiler.findings.report.diagnostics().len();
    let ready = keys.compile(compiler);
    // What this version does not do completes to nothing, as a source that fails does: no reason not to serve.
    let not_yet = compiler.findings.report.soften_from(before, Code::NotYet);
    let blocked = ready.blocked;
    let plan = ready.settle(run.at, compiler);
    let select = match &from.select {
        Some(select) => Some(Selection::compile(select, compiler)?),
        None => None,
    };
    match plan {
        Some(plan) => Some(Source::Run { plan: Box::new(plan), select }),
        // A source that may not act completes to nothing; its entry loads all the same.
        None if blocked || not_yet => Some(Source::Values(Vec::new())),
        None => None,
    }
}

/// On a tool's argument `complete` does nothing: MCP has no such completion.
pub(super) fn warn_on_tool(arguments: &Arguments, compiler: &mut Compiler<'_>) {
    let written = |argument: &Spanned<Argument>| argument.complete.as_ref().map(|complete| complete.at);
    for at in arguments.values().filter_map(written) {
        compiler
            .warning(Code::Unused, at, "`complete` does nothing here: MCP completes no arguments of tools")
            .help("an `enum` or a `description` tells the model what fits");
    }
}

impl Source {
    /// The values that fit what was typed, best first. A source that fails gives none.
    pub(super) async fn complete(
        &self,
        typed: &str,
        (scope, home): (&Scope, &Arc<Home>),
        calling: &Calling<'_>,
    ) -> Completions {
        let found = match self {
            Source::Values(values) => ranked(values, typed, calling.budget),
            Source::Glob { folder, globs, base } => {
                calling.budget.wait(|| fitting(&files(folder, globs, base), typed)).unwrap_or_default()
            }
            Source::Run { plan, select } => {
                let values = put_out(plan, select.as_ref(), (scope, home, calling)).await.unwrap_or_default();
                ranked(&values, typed, calling.budget)
            }
        };
        found
    }
}

/// What is typed beyond so many characters begins no value.
const LONGEST: usize = 256;
/// What it costs to look at a value, beside its letters.
const LOOK: usize = 256;

/// At most a hundred values that fit what was typed: of many, while the other tasks of the thread go on elsewhere.
pub(super) fn ranked(all: &[String], typed: &str, budget: &Budget) -> Completions {
    let size = all.iter().map(|value| LOOK + value.len()).sum();
    budget.run_sized(size, || fitting(all, typed)).unwrap_or_default()
}

/// At most a hundred values that fit what was typed.
fn fitting(all: &[String], typed: &str) -> Completions {
    if typed.chars().nth(LONGEST).is_some() {
        return Completions { total: Some(0), ..Completions::default() };
    }
    let mut values = rank(all, typed);
    let total = values.len();
    values.truncate(MOST);
    Completions { values, total: Some(total), has_more: total > MOST }
}

fn files(folder: &Folder, globs: &Globs, base: &std::path::Path) -> Vec<String> {
    let entries = folder.walk(globs, FILES).unwrap_or_default();
    let relative = |path: &str| match std::path::Path::new(path).strip_prefix(base) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    };
    entries.iter().map(|entry| relative(&entry.path)).collect()
}

async fn put_out(
    plan: &Plan,
    select: Option<&Selection>,
    (scope, home, calling): (&Scope, &Arc<Home>, &Calling<'_>),
) -> Option<Vec<String>> {
    let Ended { outcome, steps } = home.run(("completion", plan), scope, calling).await.ok()?;
    if outcome.failed.is_some() {
        return None;
    }
    let body = match (steps, select) {
        (Some(steps), Some(_)) => Body::Json(Value::Object(steps), String::new()),
        _ => outcome.body,
    };
    match (body, select) {
        (Body::Json(json, _), Some(select)) => Some(texts(&select.apply(&json, scope.budget()).ok()?)),
        (Body::Json(json, _), None) => Some(texts(&json)),
        (Body::Text(text), None) => Some(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()),
        _ => None,
    }
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    value.as_array().into_iter().flatten().filter_map(text).collect()
}
