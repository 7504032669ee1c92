//! Warns of `{name}`, `{% if %}` and `~`, which nothing expands.

use super::{Compiler, ShellVariableContext};
use crate::diagnostic::{Code, Span};
use crate::template::{TemplateError, TemplateSpan};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// What to write instead of `~`.
pub const TILDE_HELP: &str =
    "`~` is expanded in the values of variables, and not in a manifest: write a path relative to this file";

/// Where the path of a file or a folder begins.
pub const FILE_HELP: &str = "make it, or correct the path, which begins in the folder of this file";

/// What to do about a template where the path of a file is fixed.
pub(super) const FIXED_PATH_HELP: &str =
    "the path is fixed here: serve the files as a resource with variables in its URI, and embed that by `resource: …`";

/// The words that begin a tag of Jinja or Liquid.
const TAG_WORDS: &[&str] = &[
    "if", "for", "else", "elif", "elsif", "endif", "endfor", "set", "include", "block", "raw", "unless", "case",
    "when", "assign", "capture", "macro", "extends", "import", "with", "comment", "render",
];

impl Compiler<'_> {
    pub(super) fn warn_other_placeholders(&mut self, text: &Spanned<String>, check: ShellVariableContext) {
        self.warn_single_braces(text);
        self.warn_tag(text);
        if check == ShellVariableContext::ArgvElement && (text.as_str() == "~" || text.starts_with("~/")) {
            let rest = text.trim_start_matches('~');
            self.warning(Code::Unused, text.location, "`~` is not expanded")
                .help(format!("declare `HOME` under `env`, and write `{{{{env.HOME}}}}{rest}`"));
        }
    }

    /// `{who}` of an argument.
    fn warn_single_braces(&mut self, text: &Spanned<String>) {
        for (start, _) in text.match_indices('{') {
            let Some((name, after)) = text.get(start + 1..).and_then(|rest| rest.split_once('}')) else { return };
            let is_other = text.get(..start).is_some_and(|before| before.ends_with(['{', '$', '\\', '#', '%']));
            if is_other || after.starts_with('}') || !is_identifier(name) || !self.is_argument(name) {
                continue;
            }
            let span = self.span_within(text.location, start..start + name.len() + 2);
            let (meant, is_used) = (format!("{{{{{name}}}}}"), names_in_tags(text, name));
            let diagnostic = self.warning(Code::Unused, span, format!("`{{{name}}}` is not expanded"));
            if is_used {
                diagnostic.help(format!("did you mean `{meant}`?")).suggest(span, meant);
            } else {
                diagnostic.help(format!("write `{meant}`")).fix(span, meant);
            }
        }
    }

    /// The first `{% if x %}`.
    fn warn_tag(&mut self, text: &Spanned<String>) {
        if let Some((span, tag)) = self.find_tag(text) {
            self.warning(Code::Unused, span, format!("`{tag}` is not expanded")).help(tag_help(&tag));
        }
    }

    /// The errors of a text without those of names that a `{% for x in items %}` would define, which is reported instead.
    pub(super) fn without_tag_names(
        &mut self,
        text: &Spanned<String>,
        mut errors: Vec<TemplateError>,
    ) -> Vec<TemplateError> {
        let mut is_reported = false;
        for (start, end) in tag_ranges(text) {
            let Some(tag) = text.get(start..end) else { continue };
            let words: Vec<&str> = tag_words(tag).collect();
            let name = match words.as_slice() {
                ["for" | "set" | "assign" | "capture", name, ..] => name.trim_end_matches(','),
                _ => continue,
            };
            let count = errors.len();
            let names = [name, "loop", "forloop"];
            errors.retain(|error| !names.iter().any(|name| is_of_name(error, text, name)));
            if errors.len() < count && !is_reported {
                is_reported = true;
                let span = self.span_within(text.location, start..end);
                self.error(Code::Template, span, format!("`{tag}` is not expanded")).help(tag_help(tag));
            }
        }
        errors
    }

    /// The first tag or comment of Jinja or Liquid.
    fn find_tag(&self, text: &Spanned<String>) -> Option<(Span, String)> {
        let comments = text.match_indices("{# ").filter_map(|(start, _)| {
            let length = text.get(start..)?.find(" #}")? + 3;
            Some((start, start + length))
        });
        let (start, end) = tag_ranges(text).chain(comments).min()?;
        let tag = text.get(start..end)?.to_owned();
        Some((self.span_within(text.location, start..end), tag))
    }
}

/// Whether a text uses a name as a template does, so that in single braces it may be meant as it is written.
pub(super) fn names_in_tags(text: &str, name: &str) -> bool {
    let tags = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    tags.into_iter().any(|(tag, _)| tag.split(|character: char| !is_name_char(character)).any(|word| word == name))
}

fn is_name_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Whether an error is about a variable of this name.
fn is_of_name(error: &TemplateError, text: &str, name: &str) -> bool {
    let TemplateSpan::Template(range) = &error.span else { return false };
    let wrong = text.get(range.clone()).unwrap_or_default();
    error.code == Code::UnknownVariable && wrong.split('.').next() == Some(name)
}

/// Where each tag of Jinja or Liquid begins and ends.
fn tag_ranges(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices("{%").filter_map(|(start, _)| {
        let end = start + text.get(start..)?.find("%}")? + 2;
        let word = tag_words(text.get(start..end)?).next()?;
        TAG_WORDS.contains(&word).then_some((start, end))
    })
}

/// The words of `{%- for x in items -%}`.
fn tag_words(tag: &str) -> impl Iterator<Item = &str> {
    tag.trim_matches(['{', '}', '%', '-', '+', ' ']).split_whitespace()
}

/// What to write instead of a tag.
fn tag_help(tag: &str) -> String {
    if tag.starts_with("{#") {
        return format!("write `{{{{!--{}--}}}}`", tag.trim_matches(['{', '}', '#']));
    }
    let words: Vec<&str> = tag_words(tag).collect();
    let is_path = |word: &str| word.split('.').all(is_identifier);
    match words.as_slice() {
        ["if", name] if is_path(name) => format!("write `{{{{#if {name}}}}}…{{{{else}}}}…{{{{/if}}}}`"),
        ["if", "not", name] if is_path(name) => format!("write `{{{{#unless {name}}}}}…{{{{/unless}}}}`"),
        ["if", left, "==", right] if is_path(left) => format!("write `{{{{#if (eq {left} {right})}}}}…{{{{/if}}}}`"),
        ["for", item, "in", list] if is_identifier(item) && is_path(list) => {
            format!("write `{{{{#each {list} as |{item}|}}}}…{{{{/each}}}}`")
        }
        ["unless", name] if is_path(name) => format!("write `{{{{#unless {name}}}}}…{{{{/unless}}}}`"),
        ["case", name] if is_path(name) => format!("write `{{{{#if (eq {name} \"…\")}}}}…{{{{/if}}}}` for each case"),
        ["set" | "assign" | "capture", ..] => {
            "a template sets no variables: write the value where it is used".to_owned()
        }
        ["include" | "render", file] => {
            let stem = file.trim_matches(['"', '\'']).rsplit('/').next().unwrap_or_default();
            let stem = stem.split('.').next().unwrap_or_default();
            format!("write `{{{{> {stem}}}}}`, and name the file under `partials`")
        }
        _ => "write `{{#if x}}…{{else}}…{{/if}}`, or `{{#each items}}…{{/each}}`".to_owned(),
    }
}
