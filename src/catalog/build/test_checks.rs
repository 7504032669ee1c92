//! Checks the tests of a manifest; test_run/ runs them.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::catalog::entry::entry_references::{DeclaredCall, EntryId, ReferenceCollector};
use crate::compile::Compiler;
use crate::diagnostic::{Code, quote_names};
use crate::load::is_variable_of_tests;
use crate::manifest::{Expect, ExpectedMessage, MOCKED_ACTIONS, Mock, MockError, Test, TestCase};
use crate::template::FixedTime;
use crate::value_types::{Json, NamedMap};
use crate::yaml::{Location, Spanned, pointer};

/// The actions of the steps of a pack, by their ids, which several entries may use.
pub(in crate::catalog) type StepActions<'a> = BTreeMap<&'a str, Vec<&'static str>>;

/// Claims the names of a test and of its cases, by which their snapshots are called.
pub(in crate::catalog) fn claim_names(
    name: &Spanned<String>,
    test: &Test,
    taken: &mut IndexMap<String, Location>,
    compiler: &mut Compiler<'_>,
) {
    let mut claim = |what: &str, label: &str, called: String, at: Location| {
        if let Some(first) = taken.insert(called, at) {
            let message = format!("duplicate {what} `{label}`");
            compiler.error(Code::Duplicate, at, message).note(first.span(), "first defined here");
        }
    };
    claim("test", name, name.value.clone(), name.location);
    for (number, case) in test.cases.iter().enumerate() {
        let (label, at) = match &case.name {
            Some(own) => (own.value.clone(), own.location),
            None => ((number + 1).to_string(), case.location),
        };
        claim("case", &label, test.case_name(name, number), at);
    }
}

/// Checks a test.
pub(in crate::catalog) fn check(
    name: &Spanned<String>,
    test: &Spanned<Test>,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
    steps: &StepActions<'_>,
) {
    check_mocks(&test.mock, compiler, steps);
    test.cases.iter().for_each(|case| check_mocks(&case.mock, compiler, steps));
    let subjects = [test.prompt.is_some(), test.tool.is_some(), test.resource.is_some() || reads_uri(test)];
    if subjects.into_iter().filter(|there| *there).count() != 1 {
        compiler.not_exactly_one(name.location, "`prompt`, `tool`, `resource`").help("write one test for each");
    } else {
        record_entry(test, references);
        record_uris(test, references);
    }
    check_expectations(name, test, compiler);
}

fn reads_uri(test: &Test) -> bool {
    test.uri.is_some() || test.cases.iter().any(|case| case.uri.is_some())
}

/// Checks that each call has an expectation, and each expectation.
fn check_expectations(name: &Spanned<String>, test: &Test, compiler: &mut Compiler<'_>) {
    let all = test.expect.iter().chain(test.cases.iter().filter_map(|case| case.expect.as_ref()));
    all.for_each(|expect| check_expect(expect, compiler));
    if test.expect.is_some() {
        return;
    }
    let bare = test.cases.iter().filter(|case| case.expect.is_none()).map(|case| case.location);
    for at in bare.chain(test.cases.is_empty().then_some(name.location)) {
        compiler
            .error(Code::MissingKey, at, "missing key `expect`")
            .help("write `expect`; without it the test cannot fail");
    }
}

fn check_expect(expect: &Spanned<Expect>, compiler: &mut Compiler<'_>) {
    if compiler.load_context.documents.keys_of(expect.location).is_empty() {
        compiler
            .error(Code::MissingKey, expect.location, "empty `expect`: the test cannot fail")
            .help("write an expectation, such as `contains: …`");
    }
    if let Some(pattern) = &expect.matches
        && let Err(error) = regex::Regex::new(pattern)
    {
        let message = error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        compiler.error(Code::BadValue, pattern.location, format!("invalid regular expression: {message}"));
    }
    for message in expect.messages.iter().flat_map(|messages| &messages.value) {
        let ExpectedMessage { user, assistant } = &message.value;
        if user.is_some() == assistant.is_some() {
            compiler.not_exactly_one(message.location, "`user`, `assistant`");
        }
    }
}

/// Notes the entry of a test, and the arguments of its cases, unless an error is expected.
fn record_entry(test: &Test, references: &mut ReferenceCollector) {
    let tool = test.tool.as_ref().map(|tool| (EntryId::tool(tool), tool.location));
    let prompt = test.prompt.as_ref().map(|prompt| (EntryId::prompt(prompt), prompt.location));
    let resource = test.resource.as_ref().map(|resource| (EntryId::resource(resource), resource.location));
    let Some((entry_id, at)) = tool.or(prompt).or(resource) else { return };
    references.references.push((entry_id.clone(), at));
    let none = [Spanned::new(TestCase::default(), at)];
    for case in if test.cases.is_empty() { &none[..] } else { &test.cases } {
        if !expects_error(test.expect.as_ref()) && !expects_error(case.expect.as_ref()) {
            let arguments = merge_arguments(&test.arguments, &case.arguments);
            references.calls.push(DeclaredCall { entry_id: entry_id.clone(), at, arguments, has_templates: false });
        }
    }
}

/// Notes the URIs that are read, unless an error is expected.
fn record_uris(test: &Test, references: &mut ReferenceCollector) {
    if expects_error(test.expect.as_ref()) {
        return;
    }
    let cases = test.cases.iter().filter(|case| !expects_error(case.expect.as_ref()));
    let uris = test.uri.iter().chain(cases.filter_map(|case| case.uri.as_ref()));
    references.uris.extend(uris.cloned());
}

fn expects_error(expect: Option<&Spanned<Expect>>) -> bool {
    expect
        .is_some_and(|expect| expect.error.is_some() || expect.is_error.as_ref().is_some_and(|is_error| is_error.value))
}

/// The values of a test with those of a case, which win.
fn merge_arguments(test: &NamedMap<Spanned<Json>>, case: &NamedMap<Spanned<Json>>) -> NamedMap<Spanned<Json>> {
    let mut all = test.clone();
    all.extend(case.iter().map(|(name, value)| (name.clone(), value.clone())));
    all
}

/// Checks that each mock replaces an action, a step, the environment or the time.
fn check_mocks(mocks: &NamedMap<Spanned<Json>>, compiler: &mut Compiler<'_>, steps: &StepActions<'_>) {
    let known: Vec<&str> = steps.keys().copied().chain(Mock::names().map(shorten)).collect();
    for (name, value) in mocks {
        if !known.contains(&name.as_str()) {
            let unmocked = known.iter().copied().filter(|known| !mocks.contains_key(*known));
            compiler
                .error(Code::UnknownReference, name.location, format!("unknown action or step `{}`", name.value))
                .help("write `exec`, `script`, `http`, `file`, `ask`, or the `id` of a step")
                .did_you_mean(name, unmocked);
            continue;
        }
        match parse_mock(name, value, steps) {
            Err(error) => report_mock(name, value, &error, compiler),
            Ok(Mock::Env(variables)) => check_variables(variables.keys(), value, compiler),
            Ok(Mock::Now(time)) if time.parse::<FixedTime>().is_err() => {
                compiler
                    .error(Code::BadValue, value.location, "invalid time")
                    .help("write it as `2026-01-31T12:00:00Z`");
            }
            Ok(_) => {}
        }
    }
}

/// Reads a mock, which is of its name or of an action of the steps with that id.
fn parse_mock(name: &str, value: &Json, steps: &StepActions<'_>) -> Result<Mock, MockError> {
    let actions = steps.get(name).into_iter().flatten().filter(|action| MOCKED_ACTIONS.contains(action));
    let mut read = actions.map(|action| Mock::parse(action, &value.0));
    // The step may be missing because it has errors, or its action cannot be mocked.
    let Some(first) = read.next() else { return Mock::parse(name, &value.0) };
    if first.is_ok() || read.any(|read| read.is_ok()) { Mock::parse(name, &value.0) } else { first }
}

/// Reports what is wrong with a mock, at the part that is wrong.
fn report_mock(name: &Spanned<String>, value: &Spanned<Json>, error: &MockError, compiler: &mut Compiler<'_>) {
    let documents = &compiler.load_context.documents;
    match &error.unknown_key {
        Some(key) => {
            let at = documents.key_at(value.location, &error.pointer);
            let diagnostic = compiler.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
            diagnostic.did_you_mean(key, error.keys.iter().copied());
            if diagnostic.help.is_none() {
                diagnostic.help(format!("a mock of `{}` has {}", name.value, quote_names(error.keys)));
            }
        }
        None => {
            let at = documents.value_at(value.location, &error.pointer);
            let message = format!("invalid mock of `{}`: {}", name.value, error.message);
            let diagnostic = compiler.error(Code::BadValue, at, message);
            if let Some(example) = Mock::example(name) {
                diagnostic.help(format!("for example `{example}`"));
            }
        }
    }
}

/// Reports variables that the manifest does not declare, and that no test would see.
fn check_variables<'v>(names: impl Iterator<Item = &'v String>, value: &Spanned<Json>, compiler: &mut Compiler<'_>) {
    let declared: Vec<String> = compiler.pack.env.variables.keys().cloned().collect();
    for name in names.filter(|name| !is_variable_of_tests(name) && !declared.contains(name)) {
        let at = compiler.load_context.documents.key_at(value.location, &pointer::join("", name));
        let diagnostic = compiler.error(Code::UnknownReference, at, format!("undeclared variable `{name}`"));
        diagnostic.did_you_mean(name, declared.iter().map(String::as_str));
        if diagnostic.help.is_none() {
            diagnostic.help(format!("declare it at the top of the manifest: `env: {{ {name}: {{}} }}`"));
        }
    }
}

/// A name that need not live as long.
fn shorten<'a>(name: &'static str) -> &'a str {
    name
}
