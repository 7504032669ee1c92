//! Warns of `$ARGUMENTS`, `$1`, `${input:x}` and `${{ x }}`, by which other programs mean an argument or a variable.

use std::ops::Range;

use super::Compiler;
use super::placeholder::names_in_tags;
use crate::diagnostic::Code;
use crate::template::{TemplateError, TemplateSpan};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// What stands before a colon in `${…:x}`, in the prompts of an editor.
const EDITOR_VARIABLES: &[&str] = &["input", "env", "config", "command"];

/// A text that another program expands.
struct ForeignPlaceholder {
    range: Range<usize>,
    help: String,
    /// What to write instead, where that is certain.
    replacement: Option<String>,
}

impl Compiler<'_> {
    /// Warns of what commands and editors expand in the text of a prompt.
    pub(super) fn warn_foreign_arguments(&mut self, text: &Spanned<String>) {
        if !text.contains(['$', '!', '%', '<']) || self.is_command_file(text) {
            return;
        }
        let mut found = self.arguments_placeholders(text);
        found.extend(command_outputs(text));
        found.extend(
            self.argument_names()
                .iter()
                .filter(|name| self.is_argument(name))
                .flat_map(|name| placeholders(text, name)),
        );
        found.extend(self.positional_placeholders(text));
        found.extend(self.editor_variables(text));
        for ForeignPlaceholder { range, help, replacement } in found {
            if is_code(text, range.start) {
                continue;
            }
            let message = format!("`{}` is not expanded", text.get(range.clone()).unwrap_or_default());
            let span = self.span_within(text.location, range);
            let diagnostic = self.warning(Code::Unused, span, message).help(help);
            if let Some(replacement) = replacement {
                diagnostic.fix(span, replacement);
            }
        }
        self.warn_dollar_tags(text);
    }

    /// Whether the keys of a slash command are reported in the file: what its text holds belongs to them.
    fn is_command_file(&self, text: &Spanned<String>) -> bool {
        self.load_context.report.diagnostics().iter().any(|diagnostic| {
            diagnostic.span.is_some_and(|span| span.file == text.location.file())
                && ["`argument-hint`", "`allowed-tools`"].iter().any(|key| diagnostic.message.ends_with(key))
        })
    }

    /// The names of the arguments, in the order written.
    fn argument_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.arguments.locations.iter().collect();
        names.sort_by_key(|(_, location)| location.span().start);
        names.into_iter().map(|(name, _)| name.clone()).collect()
    }

    /// `$ARGUMENTS`.
    fn arguments_placeholders(&self, text: &str) -> Vec<ForeignPlaceholder> {
        let names = self.argument_names();
        let (help, replacement) = match names.as_slice() {
            [only] => (format!("write `{{{{{only}}}}}`"), Some(format!("{{{{{only}}}}}"))),
            [] => ("declare an argument, as in `arguments: { task: {} }`, and write `{{task}}`".to_owned(), None),
            [first, ..] => (format!("write each argument by its name, as in `{{{{{first}}}}}`"), None),
        };
        let places = text.match_indices("$ARGUMENTS").map(|(start, word)| start..start + word.len());
        let is_word = |range: &Range<usize>| {
            let next = text.get(range.end..).and_then(|rest| rest.chars().next());
            !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
        };
        let places = places.filter(is_word);
        places.map(|range| ForeignPlaceholder { range, help: help.clone(), replacement: replacement.clone() }).collect()
    }

    /// `$1`, in a text that uses none of its arguments.
    fn positional_placeholders(&self, text: &str) -> Vec<ForeignPlaceholder> {
        let names = self.argument_names();
        if names.is_empty() || text.contains("{{") {
            return Vec::new();
        }
        let position = |(start, _): (usize, &str)| {
            let rest = text.get(start + 1..)?;
            let digits = rest.len() - rest.trim_start_matches(|next: char| next.is_ascii_digit()).len();
            // `$1.50` and `$1,000` are money.
            let next: String = rest.get(digits..)?.chars().take(2).collect();
            let is_amount = next.starts_with(['.', ',']) && next.ends_with(|next: char| next.is_ascii_digit());
            let number: usize = rest.get(..digits)?.parse().ok().filter(|_| !is_amount)?;
            let name = names.get(number.checked_sub(1)?)?;
            let meant = format!("{{{{{name}}}}}");
            let range = start..start + 1 + digits;
            Some(ForeignPlaceholder { range, help: format!("write `{meant}`"), replacement: Some(meant) })
        };
        text.match_indices('$').filter_map(position).collect()
    }

    /// `${input:x}` and `${env:X}`.
    fn editor_variables(&self, text: &str) -> Vec<ForeignPlaceholder> {
        let variable = |(start, _): (usize, &str)| {
            let inner = text.get(start + 2..)?.split_once('}')?.0;
            let (kind, rest) = inner.split_once(':')?;
            let name = rest.split(':').next().unwrap_or_default();
            if !EDITOR_VARIABLES.contains(&kind)
                || name.is_empty()
                || inner.contains(char::is_whitespace) && kind != "input"
            {
                return None;
            }
            let range = start..start + inner.len() + 3;
            let (meant, is_declared) = match kind {
                "env" => (format!("{{{{env.{name}}}}}"), self.pack.env.variables.contains_key(name)),
                _ => (format!("{{{{{name}}}}}"), self.is_argument(name)),
            };
            let help = match kind {
                _ if is_declared => format!("write `{meant}`"),
                "env" => format!("declare `{name}` under `env`, and write `{meant}`"),
                "input" if is_identifier(name) => format!("declare `{name}` under `arguments`, and write `{meant}`"),
                "input" => "declare an argument, and write `{{NAME}}`".to_owned(),
                _ => "write the value itself: only an editor knows it".to_owned(),
            };
            Some(ForeignPlaceholder { range, help, replacement: is_declared.then_some(meant) })
        };
        text.match_indices("${").filter_map(variable).collect()
    }

    /// `${{ env.X }}` of what is known: the sign is printed.
    fn warn_dollar_tags(&mut self, text: &Spanned<String>) {
        for (start, _) in text.match_indices("${{") {
            let Some((inner, _)) = text.get(start + 3..).and_then(|rest| rest.split_once("}}")) else { return };
            let is_variable = ["env.", "steps."].iter().any(|owner| inner.trim().starts_with(owner));
            if is_variable && !is_code(text, start) {
                let meant = format!("{{{{{}}}}}", inner.trim());
                let span = self.span_within(text.location, start..start + inner.len() + 5);
                self.warning(Code::Unused, span, "the `$` before a template is printed")
                    .help(format!("write `{meant}`"))
                    .fix(span, meant);
            }
        }
    }

    /// Errors of names in `${{ … }}`, whose mend takes the `$` away.
    pub(super) fn with_dollar_tags(&self, text: &str, mut errors: Vec<TemplateError>) -> Vec<TemplateError> {
        for error in &mut errors {
            let TemplateSpan::Template(range) = &error.span else { continue };
            let Some(tag) = dollar_tag(text, range) else { continue };
            let Some(name) = error.replacement.take() else {
                let help = error.help.take().unwrap_or_else(|| "declare the name".to_owned());
                error.help = Some(format!("{help}, and take the `$` away"));
                continue;
            };
            let meant = format!("{{{{{name}}}}}");
            error.help = Some(format!("write `{meant}`, without the `$`"));
            error.is_certain = true;
            error.replacement = Some(meant);
            error.span = TemplateSpan::Template(tag);
        }
        errors
    }
}

/// `$name`, `<name>`, `%name%`, `%(name)s`, `<%= name %>` and `${args.name}` of an argument that the text does not use.
fn placeholders(text: &str, name: &str) -> Vec<ForeignPlaceholder> {
    if names_in_tags(text, name) {
        return Vec::new();
    }
    let meant = format!("{{{{{name}}}}}");
    let closing = format!("</{name}>");
    let forms = [
        format!("${name}"),
        format!("<{name}>"),
        format!("%{name}%"),
        format!("%({name})s"),
        format!("<%= {name} %>"),
        format!("<%={name}%>"),
        format!("${{args.{name}}}"),
    ];
    let mut found = Vec::new();
    for form in forms.iter().filter(|form| !(form.starts_with('<') && text.contains(&closing))) {
        for (start, _) in text.match_indices(form.as_str()) {
            let range = start..start + form.len();
            let next = text.get(range.end..).and_then(|rest| rest.chars().next());
            let goes_on = form.ends_with(name) && next.is_some_and(|next| next.is_alphanumeric() || next == '_');
            let is_escaped = text.get(..start).is_some_and(|before| before.ends_with(['\\', '$']));
            if !goes_on && !is_escaped {
                let help = format!("write `{meant}`");
                found.push(ForeignPlaceholder { range, help, replacement: Some(meant.clone()) });
            }
        }
    }
    found
}

/// `` !`git diff` ``.
fn command_outputs(text: &str) -> Vec<ForeignPlaceholder> {
    let command = |(start, _): (usize, &str)| {
        let is_free =
            text.get(..start)?.chars().next_back().is_none_or(|before| before.is_whitespace() || before == ':');
        let inner = text.get(start + 2..)?.split('`').next()?;
        let is_closed = text.get(start + 2 + inner.len()..)?.starts_with('`');
        if !is_free || !is_closed || inner.is_empty() || inner.contains('\n') {
            return None;
        }
        let help = "give the prompt a `run` with the program, and write `{{result.stdout}}`".to_owned();
        Some(ForeignPlaceholder { range: start..start + inner.len() + 3, help, replacement: None })
    };
    text.match_indices("!`").filter_map(command).collect()
}

/// The range of the `${{ … }}` that holds nothing but this range.
fn dollar_tag(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let (before, after) = (text.get(..range.start)?.trim_end(), text.get(range.end..)?);
    let start = before.strip_suffix("${{")?.len();
    let rest = after.trim_start().strip_prefix("}}")?;
    Some(start..text.len() - rest.len())
}

/// Whether a place is inside of backticks, where a text speaks of what it quotes.
fn is_code(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    before.matches("```").count() % 2 == 1 || line.replace("```", "").matches('`').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_between_backticks() {
        let text = "a `b` c `d\n```\ne\n```\nf";
        let found: String =
            "abcdef".chars().filter(|character| is_code(text, text.find(*character).unwrap_or(0))).collect();
        assert_eq!(found, "bde");
    }

    #[test]
    fn tag_with_dollar_holds_the_name_alone() {
        let text = "x ${{ inputs.n }} y";
        assert_eq!(dollar_tag(text, &(6..14)), Some(2..17));
        assert_eq!(dollar_tag("x {{ inputs.n }}", &(5..13)), None);
    }
}
