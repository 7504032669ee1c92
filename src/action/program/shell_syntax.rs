//! Warns of words that only a shell reads, where no shell runs.

use super::exec::ExecElement;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::value_types::{Scalar, is_identifier};
use crate::yaml::{Location, Spanned};

/// What joins commands and redirects their output.
const OPERATORS: &[&str] = &["|", "||", "|&", "&&", "&", ";", ">", ">>", "<", "<<", "&>", "2>", "2>&1", "1>&2"];

/// Programs to which an operator may be an argument as it is, or that have a shell read it.
const OPERATOR_PROGRAMS: &[&str] = &[
    "[", "test", "expr", "find", "tr", "ssh", "sh", "bash", "zsh", "dash", "ash", "fish", "busybox", "bc", "jq", "awk",
];

/// Options whose value is a delimiter or a pattern.
const DELIMITER_OPTIONS: &[&str] = &["-d", "-t", "-s", "-F", "-e", "-E", "-S", "-c"];

/// Programs whose arguments are files, which a shell would find.
const FILE_PROGRAMS: &[&str] = &[
    "cat", "chmod", "cp", "du", "file", "head", "ls", "md5sum", "mv", "rm", "sha256sum", "sort", "stat", "tail",
    "touch", "wc",
];

/// Options of these programs whose value is a pattern.
const PATTERN_OPTIONS: &[&str] = &["-I", "--ignore", "--hide", "--exclude"];

const HELP: &str = "write `script: { shell: sh, text: … }`, where arguments are variables, as in \"$x\"";

/// A word of the command that is not a template.
struct Word<'a> {
    text: &'a str,
    at: Location,
}

/// Warns of the first word that only a shell reads.
pub(super) fn warn_of_shell_syntax(elements: &[Spanned<ExecElement>], compiler: &mut Compiler<'_>) {
    let words: Vec<Word<'_>> = elements.iter().filter_map(word).collect();
    let Some((program, arguments)) = words.split_first() else { return };
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let mut before = "";
    for word in arguments {
        if let Some((message, help)) = quoted_value(word.text).or_else(|| empty_block(word.text)) {
            compiler.warning(Code::Unused, word.at, message).help(help);
            return;
        }
        if is_operator(name, before, word.text) || is_glob(name, before, word.text) {
            let is_whole = words.len() == elements.len() && !words.iter().any(|word| word.text.contains("{{"));
            let help = if is_whole { whole_script(&words) } else { HELP.to_owned() };
            let message = format!("`{}` is an argument of `{name}`: no shell reads it", word.text);
            compiler.warning(Code::Unused, word.at, message).help(help);
            return;
        }
        before = word.text;
    }
}

fn word(element: &Spanned<ExecElement>) -> Option<Word<'_>> {
    match &element.value {
        ExecElement::Template(Scalar(text)) => Some(Word { text, at: element.location }),
        ExecElement::ElementGroup(_) => None,
    }
}

fn is_operator(program: &str, before: &str, word: &str) -> bool {
    let is_redirection = ["2>/", ">/", "&>/"].iter().any(|start| word.starts_with(start));
    let is_command = word.starts_with("$(") && word.ends_with(')');
    let is_value = DELIMITER_OPTIONS.contains(&before) || before.starts_with("--") && before.len() > 2;
    let is_sign = OPERATORS.contains(&word) || is_redirection || is_command;
    is_sign && !is_value && !OPERATOR_PROGRAMS.contains(&program)
}

fn is_glob(program: &str, before: &str, word: &str) -> bool {
    let is_pattern = word.contains('*') && !word.contains("{{");
    is_pattern && FILE_PROGRAMS.contains(&program) && !PATTERN_OPTIONS.contains(&before)
}

/// `'{{x}}'`, whose quotes no shell removes.
fn quoted_value(word: &str) -> Option<(String, String)> {
    let inner = ['\'', '"'].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote))?;
    let is_value = inner.starts_with("{{") && inner.ends_with("}}");
    let message = || format!("the quotes of `{word}` are part of the argument: no shell removes them");
    is_value.then(|| (message(), format!("write `\"{inner}\"`: it is one argument, whatever it contains")))
}

/// `{{#if x}}-x{{/if}}`, which is an empty argument without `x`.
fn empty_block(word: &str) -> Option<(String, String)> {
    let (name, rest) = word.strip_prefix("{{#if ")?.split_once("}}")?;
    let inner = rest.strip_suffix("{{/if}}")?;
    let is_plain = is_identifier(name) && !inner.contains("{{");
    let message = || format!("`{word}` is an empty argument where `{name}` is false");
    is_plain.then(|| (message(), format!("write `{{ if: {name}, then: [{inner}] }}`, which is none")))
}

/// The same command for a shell.
fn whole_script(words: &[Word<'_>]) -> String {
    let command = words.iter().map(|word| quoted(word.text)).collect::<Vec<_>>().join(" ");
    if command.contains('\n') || command.len() > 100 {
        return HELP.to_owned();
    }
    format!("write `script: {{ shell: sh, text: {} }}`", serde_json::Value::from(command))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains([' ', '\'', '"', '\\', '\t', '`']);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
