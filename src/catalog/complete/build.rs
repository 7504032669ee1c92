//! Compiles completion sources (`complete`).

use std::path::PathBuf;

use crate::action::{Run, SelectExpression};
use crate::catalog::entry::{CheckedRun, RunKeys, entry_digest};
use crate::catalog::inputs::Inputs;
use crate::catalog::none_if_invalid;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::files::{Globs, normalize};
use crate::manifest::{Argument, Arguments, Complete, CompleteBody, CompletionMatch};
use crate::value_types::Scalar;
use crate::yaml::{Location, Spanned};

use super::{Completion, CompletionSource, CompletionSources, GlobFiles, ResourceCompletion};

/// What a `complete` may be.
const FORMS_HELP: &str = "write `complete: [a, b]`, `{ glob: \"docs/*.md\" }`, `{ resource: docs }` or `{ run: … }`";

/// Compiles the completion sources of an entry. `None` if one has errors.
pub(in crate::catalog) fn compile_sources(
    arguments: &Arguments,
    inputs: Option<&Inputs>,
    compiler: &mut Compiler<'_>,
) -> Option<CompletionSources> {
    let mut sources = Some(Vec::new());
    for (name, argument) in arguments {
        let choices = inputs.filter(|inputs| inputs.has_choices(name)).map(|_| CompletionSource::Choices);
        let source = match &argument.complete {
            Some(complete) => {
                warn_of_rejected_values(name, complete, inputs, compiler);
                compile_source(complete, choices, compiler).map(Some)
            }
            None => Some(choices),
        };
        let matching = match argument.complete.as_deref() {
            Some(Complete::From(from)) => from.matching.unwrap_or_default(),
            Some(Complete::List(_)) | None => CompletionMatch::default(),
        };
        sources = sources.zip(source).map(|(mut sources, source)| {
            if let Some(source) = source {
                // Few arguments have one.
                sources.reserve_exact(1);
                sources.push((name.value.clone(), Completion { source, matching }));
            }
            sources
        });
    }
    sources.map(CompletionSources)
}

/// Warns of values that are offered and would be refused.
fn warn_of_rejected_values(
    name: &str,
    complete: &Spanned<Complete>,
    inputs: Option<&Inputs>,
    compiler: &mut Compiler<'_>,
) {
    let (Complete::List(values), Some(inputs)) = (&complete.value, inputs) else { return };
    for value in values.iter().filter(|value| !inputs.accepts(name, &value.value.0)) {
        let message = format!("unused completion `{}`: `{name}` does not accept it", value.value.0);
        compiler.warning(Code::Unused, value.location, message);
    }
}

/// Compiles the source; `choices` are the values of the argument's own schema.
fn compile_source(
    complete: &Spanned<Complete>,
    choices: Option<CompletionSource>,
    compiler: &mut Compiler<'_>,
) -> Option<CompletionSource> {
    let from = match &complete.value {
        Complete::List(values) => {
            let text = |value: &Spanned<Scalar>| value.value.0.clone();
            return Some(CompletionSource::Values(values.iter().map(text).collect()));
        }
        Complete::From(from) => from,
    };
    check_keys(from, complete.location, compiler)?;
    match (&from.glob, &from.resource, &from.run) {
        (Some(pattern), None, None) => {
            compile_files(pattern, from, compiler).map(|files| CompletionSource::Files(Box::new(files)))
        }
        (None, Some(name), None) => {
            let (name, variable) = (name.clone(), from.variable.clone());
            let completion = ResourceCompletion { name, variable, uri: from.uri == Some(true) };
            Some(CompletionSource::Resource(Box::new(completion)))
        }
        (None, None, Some(run)) => compile_run(from, run, compiler),
        (None, None, None) if from.matching.is_some() => choices.or_else(|| {
            let key = compiler.key_location(complete.location, "match");
            compiler.error(Code::Conflict, key, "`match` without values to match").help(FORMS_HELP);
            None
        }),
        _ => {
            let message = "invalid `complete`, expected a list or exactly one of `glob`, `resource`, `run`";
            compiler.error(Code::Conflict, complete.location, message).help(FORMS_HELP);
            None
        }
    }
}

/// Refuses keys beside a source that is not theirs.
fn check_keys(from: &CompleteBody, at: Location, compiler: &mut Compiler<'_>) -> Option<()> {
    let of = [
        ("base", from.base.is_some(), "glob", from.glob.is_some()),
        ("stem", from.stem.is_some(), "glob", from.glob.is_some()),
        ("variable", from.variable.is_some(), "resource", from.resource.is_some()),
        ("uri", from.uri.is_some(), "resource", from.resource.is_some()),
        ("select", from.select.is_some(), "run", from.run.is_some()),
    ];
    let misplaced = of.into_iter().filter(|(_, written, _, there)| *written && !there);
    let misplaced: Vec<_> = misplaced.map(|(name, _, needs, _)| (name, needs)).collect();
    for (name, needs) in &misplaced {
        let key = compiler.key_location(at, name);
        compiler.error(Code::Conflict, key, format!("`{name}` requires `{needs}`"));
    }
    misplaced.is_empty().then_some(())
}

fn compile_files(pattern: &Spanned<String>, from: &CompleteBody, compiler: &mut Compiler<'_>) -> Option<GlobFiles> {
    let base = match &from.base {
        Some(base) => resolve_folder(base, compiler)?,
        None => compiler.base.to_owned(),
    };
    let whole = match base.to_str() {
        None | Some("") => pattern.value.clone(),
        Some(base) => format!("{}/{}", Globs::escape(base), pattern.value),
    };
    let inside = if from.base.is_some() { normalize(pattern) } else { normalize(&whole) };
    if inside.is_err() || pattern.starts_with('/') {
        let left = if from.base.is_some() { "its `base`" } else { "the pack's folder" };
        compiler.error(Code::PathEscape, pattern.location, format!("glob escapes {left}"));
        return None;
    }
    let globs = match Globs::new(&[&whole], &[]) {
        Ok(globs) => globs,
        Err(error) => {
            compiler.error(Code::Glob, pattern.location, error.message);
            return None;
        }
    };
    let files = GlobFiles {
        folder: compiler.pack.folder.clone(),
        globs,
        base,
        stem: from.stem == Some(true),
        at: pattern.location,
    };
    if !files.has_any() {
        let similar = compiler.similar_path(pattern).filter(|_| from.base.is_none());
        compiler.warning(Code::Glob, pattern.location, "no files match this glob").help(match similar {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => "globs are relative to the file that contains them, or to `base`".to_owned(),
        });
    }
    Some(files)
}

/// Resolves an existing folder of the pack.
fn resolve_folder(folder: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<PathBuf> {
    let path = compiler.resolve_path(folder, folder.location)?;
    match compiler.pack.folder.stat(&path) {
        Ok(stat) if stat.is_dir => Some(path),
        _ => {
            compiler.report_missing_path(folder, folder.location, format!("no such folder: `{}`", folder.value));
            None
        }
    }
}

fn compile_run(from: &CompleteBody, run: &Spanned<Run>, compiler: &mut Compiler<'_>) -> Option<CompletionSource> {
    let keys = RunKeys {
        run: from.run.as_ref(),
        timeout: from.timeout,
        max_output: from.max_output,
        wants_json: from.select.is_some(),
    };
    // A client completes while a person types.
    if let Some((action, at)) = from.run.iter().flat_map(|run| run.actions()).find(|(action, _)| action.talks_to_client)
    {
        let key = compiler.key_location(at, action.key);
        compiler
            .error(Code::Conflict, key, format!("`{}` is not allowed in a completion", action.key))
            .help("use other actions; completions cannot talk to the client");
        return None;
    }
    let read = compiler.load_context.content_digests.len();
    let ready = compile_with_typed(keys, compiler);
    if from.select.is_some() {
        compiler.record_all_outcome_reads();
    }
    let lacks_grant = ready.lacks_grant;
    let steps = ready.names.get("steps").cloned();
    let plan = ready.into_plan(entry_digest(run.location, read, compiler), compiler);
    let select = none_if_invalid(from.select.as_ref().map(|select| {
        let compiled = SelectExpression::compile(select, compiler)?;
        steps.iter().for_each(|steps| compiled.warn_of_missing_field(select, steps, compiler));
        Some(compiled)
    }))?;
    match plan {
        Some(plan) => Some(CompletionSource::Run { plan: Box::new(plan), select }),
        // A source without its grants offers no values; its entry still loads.
        None if lacks_grant => Some(CompletionSource::Values(Vec::new())),
        None => None,
    }
}

/// Compiles a run in which `typed` is in scope, to which the keys of an argument of that name do not apply.
fn compile_with_typed(keys: RunKeys<'_>, compiler: &mut Compiler<'_>) -> CheckedRun {
    let arguments = compiler.arguments.clone();
    compiler.arguments = arguments.clone().without("typed");
    let names = compiler.scope_shape.clone().with_typed_text();
    // No test asks for completions.
    let ready =
        compiler.without_coverage(|compiler| compiler.with_scope_shape(names, |compiler| keys.compile(compiler)));
    compiler.arguments = arguments;
    ready
}

/// On a tool's argument `complete` does nothing: MCP has no such completion.
pub(in crate::catalog) fn warn_of_tool_completions(arguments: &Arguments, compiler: &mut Compiler<'_>) {
    let written = |argument: &Spanned<Argument>| argument.complete.as_ref().map(|complete| complete.location);
    for at in arguments.values().filter_map(written) {
        compiler
            .warning(Code::Unused, at, "`complete` has no effect on tools: MCP does not complete their arguments")
            .help("use `enum` or `description` to tell the model what fits");
    }
}
