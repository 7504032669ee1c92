//! Refuses template values inside code that a program would run (`sh -c`, `python -c`, …).
//!
//! Values as environment variables of a script, or as `$1` in `bash -c 'text' name "{{x}}"`, are safe and allowed.

mod scan;
mod syntax;
mod option_argument;
mod git;
mod program_table;
mod programs;
mod variables;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::exec::ExecElement;
use super::stdin::{StdinSpec, value_location};
use crate::compile::Compiler;
use crate::diagnostic::{Code, Severity};
use crate::template::{OutputPiece, output_pieces};
use crate::value_types::Scalar;
use crate::yaml::{Location, Spanned};
use programs::syntax_of;
pub use programs::{may_run_code, takes_values_behind, value_use};
use scan::{ArgRole, ArgvWord, CodeFinding, VALUE_MARKER, scan};
use syntax::Operands;
pub use syntax::ValueUse;
pub(super) use variables::check_env;

/// One element of argv.
#[derive(Clone)]
struct ArgvItem {
    word: ArgvWord,
    at: Location,
    source: String,
    values: Vec<TemplateValue>,
}

impl ArgvItem {
    fn push_value(&mut self, range: Range<usize>, path: Vec<String>) {
        self.values.push(TemplateValue { position: self.word.text.len(), range, path });
        self.word.text.push(VALUE_MARKER);
    }
}

/// A value in an element.
#[derive(Clone)]
struct TemplateValue {
    /// Its position in the word.
    position: usize,
    /// Its range in the element as written.
    range: Range<usize>,
    /// The path to it; empty for one that is computed.
    path: Vec<String>,
}

impl TemplateValue {
    /// The name of the argument, if it is one.
    fn argument(&self) -> Option<&str> {
        argument_name(&self.path)
    }
}

fn argument_name(path: &[String]) -> Option<&str> {
    match path {
        [name] => Some(name),
        [head, name] if head == "arguments" => Some(name),
        _ => None,
    }
}

/// Reports every value inside code, and every value that chooses a program, or an option of one that runs code.
pub(super) fn check_argv(
    elements: &[Spanned<ExecElement>],
    stdin: Option<&Spanned<StdinSpec>>,
    compiler: &mut Compiler<'_>,
) {
    let has_value =
        |text: &Spanned<String>| compile_item(text, text.location, None, compiler).word.text.contains(VALUE_MARKER);
    let stdin_at = stdin.and_then(|stdin| value_location(stdin, has_value));
    for argv in expansions(elements, compiler) {
        let words = argv.iter().map(|item| item.word.clone()).collect();
        for finding in scan(words, stdin_at.is_some()).into_iter().filter(|finding| finding.holds_value) {
            report_finding(&finding, &argv, stdin_at, compiler);
        }
    }
}

/// The elements that are code, with or without values: shell variables in them are intended.
pub(super) fn code_spans(elements: &[Spanned<ExecElement>], compiler: &Compiler<'_>) -> Vec<Location> {
    let argvs = expansions(elements, compiler);
    let findings = argvs.iter().flat_map(|argv| {
        let words = argv.iter().map(|item| item.word.clone()).collect();
        scan(words, false).into_iter().filter_map(|finding| match finding.role {
            ArgRole::Code(_) => argv.get(finding.word).map(|item| item.at),
            _ => None,
        })
    });
    findings.collect()
}

/// The argv in which all conditions hold, and the one in which none does.
fn expansions(elements: &[Spanned<ExecElement>], compiler: &Compiler<'_>) -> Vec<Vec<ArgvItem>> {
    let has_choice = elements.iter().any(|element| matches!(element.value, ExecElement::ElementGroup(_)));
    let expand = |holds: bool| -> Vec<ArgvItem> {
        let mut argv: Vec<ArgvItem> = elements.iter().flat_map(|element| items_of(element, holds, compiler)).collect();
        let ends_options =
            !argv.iter().any(|item| syntax_of(&item.source).is_some_and(|syntax| syntax.ignores_double_dash));
        let mut behind = false;
        for item in &mut argv {
            // After `--` any value may begin with `-`, whatever the program makes of it.
            item.word.may_start_with_dash |= behind;
            behind |= ends_options && item.source == "--";
        }
        argv
    };
    if has_choice { vec![expand(true), expand(false)] } else { vec![expand(true)] }
}

/// The words of one element, where its condition holds or not.
fn items_of(element: &Spanned<ExecElement>, holds: bool, compiler: &Compiler<'_>) -> Vec<ArgvItem> {
    let choice = match &element.value {
        ExecElement::Template(Scalar(text)) => return vec![compile_item(text, element.location, None, compiler)],
        ExecElement::ElementGroup(choice) => choice,
    };
    let each = choice.each.as_ref().map(|name| name.value.as_str());
    let list = if holds { &choice.then } else { &choice.otherwise };
    let list = list.as_deref().unwrap_or_default();
    list.iter().map(|text| compile_item(&text.value.0, text.location, each, compiler)).collect()
}

/// One element as it is known at load: `{{env.NAME}}` is what it is now. `each` is the argument whose item `this` is.
fn compile_item(source: &str, at: Location, each: Option<&str>, compiler: &Compiler<'_>) -> ArgvItem {
    let mut item = ArgvItem {
        word: ArgvWord { text: String::new(), may_start_with_dash: false, has_fixed_values: false },
        at,
        source: source.to_owned(),
        values: Vec::new(),
    };
    for piece in output_pieces(source) {
        match piece {
            OutputPiece::Text(text) => item.word.text.push_str(text),
            OutputPiece::Constant(path) => item.word.text.push_str(&env_value(&path, compiler)),
            OutputPiece::Value(_, path) if path == ["now"] && compiler.scope_shape.get("now").is_none() => {}
            OutputPiece::Computed(range) => item.push_value(range, Vec::new()),
            OutputPiece::Value(range, path) => {
                let path = if path.is_empty() { each.map(str::to_owned).into_iter().collect() } else { path };
                item.push_value(range, path);
            }
        }
    }
    item.word.has_fixed_values = item.values.iter().all(|value| has_fixed_values(&value.path, compiler));
    let first = item.values.first().and_then(TemplateValue::argument);
    item.word.may_start_with_dash = first.is_some_and(|name| compiler.arguments.dash_allowed.contains(name));
    item
}

fn has_fixed_values(path: &[String], compiler: &Compiler<'_>) -> bool {
    argument_name(path).is_some_and(|name| compiler.arguments.fixed_values.contains(name))
}

/// Whether a command runs a program that expands the values of its variables, as `make` does.
fn expands_variables(elements: &[Spanned<ExecElement>], compiler: &Compiler<'_>) -> bool {
    let expands =
        |item: &ArgvItem| syntax_of(&item.word.text).is_some_and(|syntax| syntax.operands == Operands::Variables);
    expansions(elements, compiler).iter().flatten().any(expands)
}

fn env_value(path: &[String], compiler: &Compiler<'_>) -> String {
    let variable = path.get(1).and_then(|name| compiler.pack.env.variables.get(name));
    variable.and_then(|variable| variable.value.clone()).unwrap_or_default()
}

fn report_finding(finding: &CodeFinding, argv: &[ArgvItem], stdin_at: Option<Location>, compiler: &mut Compiler<'_>) {
    // Also of `--entrypoint=/bin/sh`.
    let base_name = |item: &ArgvItem| item.word.text.rsplit(['/', '=']).next().unwrap_or_default().to_owned();
    let program = argv.get(finding.program).map(base_name).unwrap_or_default();
    let words = match finding.role {
        ArgRole::Code(_) if finding.syntax.names.is_empty() => {
            format!("`{program}` may read this element as code, and a value in it could become code itself")
        }
        ArgRole::Setting(_) => setting_message(argv, finding.word),
        ArgRole::ProgramOption(from) => {
            let word = if from > 0 { finding.word } else { finding.word.saturating_sub(1) };
            let option = argv.get(word).map_or("", |item| item.source.as_str());
            let option = option.split("{{").next().unwrap_or_default().trim_end_matches('=');
            format!("a value in `{option}` could make `{program}` run code")
        }
        ArgRole::Code(_) => format!("a value in the code of `{program}` could become code itself"),
        ArgRole::Option => format!("a value could become an option of `{program}`, which takes code"),
        ArgRole::Program => "an argument must not choose the program".to_owned(),
        ArgRole::PipedFile => format!("`{program}` runs a file name with `|` as a command"),
        ArgRole::Stdin => format!("a value in the stdin of `{program}` could become code"),
    };
    let from = finding.role.start();
    let item = argv.get(finding.word).filter(|_| finding.role != ArgRole::Stdin);
    let value = item.and_then(|item| Some((item, item.values.iter().find(|value| value.position >= from)?)));
    let span = match (value, stdin_at) {
        (Some((item, value)), _) => compiler.span_within(item.at, value.range.clone()),
        // A value in stdin, which the program or `xargs` reads.
        (None, Some(stdin_at)) => stdin_at.span(),
        (None, None) => return,
    };
    let severity = if finding.syntax.only_warns { Severity::Warning } else { Severity::Error };
    let diagnostic = compiler.load_context.report.add(severity, Code::Unsafe, span, words);
    diagnostic.help(match finding.role {
        ArgRole::Program => "name the program",
        ArgRole::Option => "put `--` before it, or remove `allowDash`",
        ArgRole::PipedFile => "redirect the file in a `script` (`< \"$NAME\"`)",
        ArgRole::Setting(_) | ArgRole::ProgramOption(_) => "write its value here, or take it from `env`",
        ArgRole::Code(_) | ArgRole::Stdin => {
            "write it as a `script: { shell: PROGRAM, text: CODE }`, where arguments are environment variables, or pass \
             the value as an argument after the code"
        }
    });
}

fn setting_message(argv: &[ArgvItem], word: usize) -> String {
    let source = argv.get(word).map_or("", |item| &item.source);
    let source = source.strip_prefix("--config=").unwrap_or(source);
    let name = source.split(['=', ' ']).next().unwrap_or_default();
    let name = if name.starts_with('-') { name.get(2..).unwrap_or_default() } else { name };
    format!("a value in `{name}` could make a program run code")
}
