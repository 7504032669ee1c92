//! Checks the tests of a manifest; it does not run them.

use std::collections::HashSet;

use crate::action::ACTIONS;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::manifest::Test;
use crate::yaml::Spanned;

use super::reference::{DeclaredCall, EntryRef, References};

/// Checks a test.
pub(super) fn check(
    name: &Spanned<String>,
    test: &Spanned<Test>,
    compiler: &mut Compiler<'_>,
    references: &mut References,
    steps: &HashSet<&str>,
) {
    check_mocks(test, compiler, steps);
    let subjects = [test.prompt.is_some(), test.tool.is_some(), test.resource.is_some() || test.uri.is_some()];
    if subjects.into_iter().filter(|there| *there).count() != 1 {
        compiler
            .error(Code::Conflict, name.location, "expected exactly one of `prompt`, `tool`, `resource`")
            .help("write one test for each");
    } else {
        note_call(test, references);
        test.tool.iter().for_each(|tool| references.note_entry(EntryRef::tool(tool), tool.location));
        test.prompt.iter().for_each(|prompt| references.note_entry(EntryRef::prompt(prompt), prompt.location));
        test.resource
            .iter()
            .for_each(|resource| references.note_entry(EntryRef::resource(resource), resource.location));
        test.uri.iter().for_each(|uri| references.note_uri(uri.clone()));
    }
    match &test.expect {
        None => {
            compiler
                .error(Code::MissingKey, name.location, "missing key `expect`")
                .help("write `expect`; without it the test cannot fail");
        }
        Some(expect) => {
            if compiler.findings.documents.keys_of(expect.location).is_empty() {
                compiler
                    .error(Code::MissingKey, expect.location, "empty `expect`: the test cannot fail")
                    .help("write an expectation, such as `contains: …`");
            }
            if let Some(pattern) = &expect.matches
                && let Err(error) = regex::Regex::new(pattern)
            {
                let message =
                    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                compiler.error(Code::BadValue, pattern.location, format!("invalid regular expression: {message}"));
            }
        }
    }
}

/// Notes the arguments of a test, unless it expects an error.
fn note_call(test: &Test, references: &mut References) {
    let fails = test.expect.as_ref().is_some_and(|expect| expect.is_error == Some(true) || expect.error.is_some());
    let tool = test.tool.as_ref().map(|tool| (EntryRef::tool(tool), tool.location));
    let prompt = test.prompt.as_ref().map(|prompt| (EntryRef::prompt(prompt), prompt.location));
    let resource = test.resource.as_ref().map(|resource| (EntryRef::resource(resource), resource.location));
    let named = tool.or(prompt).or(resource);
    if let Some((node, at)) = named.filter(|_| !fails) {
        references.note_call(DeclaredCall { node, at, arguments: test.arguments.clone(), has_templates: false });
    }
}

/// Checks that each mock replaces an action, a step, the environment or the time.
fn check_mocks(test: &Test, compiler: &mut Compiler<'_>, steps: &HashSet<&str>) {
    let others = || ACTIONS.iter().map(|row| row.key).chain(["env", "now"]);
    let is_known = |name: &str| steps.contains(name) || others().any(|other| other == name);
    for name in test.mock.keys().filter(|name| !is_known(name)) {
        compiler
            .error(Code::UnknownReference, name.location, format!("unknown action or step `{}`", name.value))
            .did_you_mean(name, name.location.span(), others().chain(steps.iter().copied()));
    }
}
