//! Blocks of other template languages, whose names have no value here: `{% for x in items %}`, `{{#for x in items}}`,
//! `{{range .items}}`.

use std::ops::Range;

use super::Compiler;
use super::foreign_text::first_bytes;
use crate::diagnostic::Code;
use crate::template::{Shape, TemplateError, TemplateSpan, is_helper};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// A tag, by its words, and what to write instead. `a|b` is one of these words, `…` is more of them, `PATH` a path, `ITEM` an
/// identifier, `FILE` and `VALUE` any word, and `.PATH` a path after a dot or a dollar. `#` and `^` are words of their own.
type TagRule = (&'static str, &'static str);

/// Tags in `{% … %}`, as in Jinja and Liquid.
const PERCENT_TAGS: &[TagRule] = &[
    ("if PATH", "write `{{#if PATH}}…{{else}}…{{/if}}`"),
    ("if not PATH", "write `{{#unless PATH}}…{{/unless}}`"),
    ("if PATH == VALUE", "write `{{#if (eq PATH VALUE)}}…{{/if}}`"),
    ("for ITEM in PATH", "write `{{#each PATH as |ITEM|}}…{{/each}}`"),
    ("unless PATH", "write `{{#unless PATH}}…{{/unless}}`"),
    ("case PATH", "write `{{#if (eq PATH \"…\")}}…{{/if}}` for each case"),
    ("set|assign|capture …", "a template sets no variables: write the value where it is used"),
    ("include|render FILE", "write `{{> FILE}}`, and name the file under `partials`"),
    ("…", "write `{{#if x}}…{{else}}…{{/if}}`, or `{{#each items}}…{{/each}}`"),
];

/// Tags in the braces of Handlebars, as in Mustache, Svelte and Go.
const BRACE_TAGS: &[TagRule] = &[
    ("^ PATH", "write `{{#unless PATH}}…{{/unless}}`"),
    (".PATH", "write `{{PATH}}`"),
    ("if .PATH", "write `{{#if PATH}}…{{/if}}`"),
    ("range .PATH", "write `{{#each PATH}}…{{/each}}`"),
    ("for|each|foreach ITEM in|of PATH", "write `{{#each PATH as |ITEM|}}…{{/each}}`"),
    ("each|foreach PATH as ITEM", "write `{{#each PATH as |ITEM|}}…{{/each}}`"),
    ("# for|each|foreach ITEM in|of PATH", "write `{{#each PATH as |ITEM|}}…{{/each}}`"),
    ("# each|foreach PATH as ITEM", "write `{{#each PATH as |ITEM|}}…{{/each}}`"),
];

/// The longest tag that is looked for, in bytes: no text is searched to its end for each opening sign.
const MAX_TAG_BYTES: usize = 1024;

/// A tag of another language.
struct ForeignTag<'t> {
    range: Range<usize>,
    /// The names that it gives values.
    names: Vec<&'t str>,
    help: String,
    has_percent: bool,
}

impl ForeignTag<'_> {
    /// Whether an error of the template follows from this tag.
    fn explains(&self, error: &TemplateError, text: &str) -> bool {
        let TemplateSpan::Template(range) = &error.span else { return false };
        let wrong = text.get(range.clone()).and_then(|wrong| wrong.split('.').next()).unwrap_or_default();
        let is_name = self.names.contains(&wrong);
        match self.has_percent {
            true => is_name && error.code == Code::UnknownVariable,
            false => {
                let is_inside = self.range.start <= range.start && range.end <= self.range.end;
                is_inside || is_name || error.code == Code::Template
            }
        }
    }
}

impl Compiler<'_> {
    /// The errors of a text without those that follow from a tag of another language, which is reported instead.
    pub(super) fn without_foreign_tags(
        &mut self,
        text: &Spanned<String>,
        mut errors: Vec<TemplateError>,
    ) -> Vec<TemplateError> {
        let brace_tag = self.brace_tags(text).next();
        let mut is_reported = false;
        for tag in brace_tag.into_iter().chain(percent_tags(text)) {
            let count = errors.len();
            errors.retain(|error| !tag.explains(error, text));
            let is_cause = !tag.has_percent || errors.len() < count;
            if !is_cause || is_reported {
                continue;
            }
            is_reported = true;
            let tag_text = text.get(tag.range.clone()).unwrap_or_default();
            let span = self.span_within(text.location, tag.range.clone());
            let (message, help) = match tag.has_percent {
                true => (format!("`{tag_text}` is not expanded"), tag.help),
                false => {
                    let literal = self.literal_help(text, tag.range.start);
                    (format!("`{tag_text}` is not Handlebars"), format!("{}; {literal}", tag.help))
                }
            };
            self.error(Code::Template, span, message).help(help);
        }
        errors
    }

    /// Warns of the first `{% … %}` or `{# … #}`.
    pub(super) fn warn_tag(&mut self, text: &Spanned<String>) {
        let comments = tags(text, "{#", " #}").filter(|(_, inner)| inner.starts_with(' '));
        let comments =
            comments.map(|(start, inner)| (start..start + inner.len() + 5, format!("write `{{{{!--{inner} --}}}}`")));
        let tags = percent_tags(text).map(|tag| (tag.range, tag.help));
        let Some((range, help)) = tags.chain(comments).min_by_key(|(range, _)| range.start) else { return };
        let span = self.span_within(text.location, range.clone());
        let message = format!("`{}` is not expanded", text.get(range).unwrap_or_default());
        self.warning(Code::Unused, span, message).help(help);
    }

    fn brace_tags<'t>(&self, text: &'t str) -> impl Iterator<Item = ForeignTag<'t>> {
        tags(text, "{{", "}}").filter_map(move |(start, inner)| {
            let words = words_of(inner.trim_matches(['-', '~', ' ']));
            let (names, help) = explain(BRACE_TAGS, &words).or_else(|| self.explain_section(&words))?;
            // What a tag of Go opens, `end` closes.
            let names = if names.is_empty() { vec!["end"] } else { names };
            Some(ForeignTag { range: start..start + inner.len() + 4, names, help, has_percent: false })
        })
    }

    /// `{{#items}}`, which loops over a list and tests anything else.
    fn explain_section<'t>(&self, words: &[&'t str]) -> Option<(Vec<&'t str>, String)> {
        let ["#", name] = *words else { return None };
        let shape = self.scope_shape.get(name).filter(|_| !is_helper(name) && is_path(name))?;
        let block = if matches!(shape, Shape::List(_)) { "each" } else { "if" };
        Some((vec![name], format!("write `{{{{#{block} {name}}}}}…{{{{/{block}}}}}`")))
    }
}

/// What stands between these signs, and where the first of them is.
fn tags<'t>(text: &'t str, open: &'static str, close: &'static str) -> impl Iterator<Item = (usize, &'t str)> {
    text.match_indices(open).filter_map(move |(start, _)| {
        let rest = first_bytes(text.get(start + open.len()..)?, MAX_TAG_BYTES);
        Some((start, rest.split_once(close)?.0))
    })
}

/// The tags of a text in `{% … %}`.
fn percent_tags(text: &str) -> impl Iterator<Item = ForeignTag<'_>> {
    tags(text, "{%", "%}").filter_map(|(start, inner)| {
        let words: Vec<&str> = inner.trim_matches(['-', '+', ' ']).split_whitespace().collect();
        let first = words.first().filter(|first| is_identifier(first))?;
        let name = words.get(1).filter(|_| ["for", "set", "assign", "capture"].contains(first));
        let names = name.into_iter().flat_map(|name| [name.trim_end_matches(','), "loop", "forloop"]).collect();
        let (_, help) = explain(PERCENT_TAGS, &words)?;
        Some(ForeignTag { range: start..start + inner.len() + 4, names, help, has_percent: true })
    })
}

/// The words of a tag, of which the first sign of a block is one.
fn words_of(tag: &str) -> Vec<&str> {
    let (sign, rest) = tag.split_at(usize::from(tag.starts_with(['#', '^'])));
    Some(sign).filter(|sign| !sign.is_empty()).into_iter().chain(rest.split_whitespace()).collect()
}

/// What the first rule that fits a tag says, and the names that the tag gives values.
fn explain<'t>(rules: &[TagRule], words: &[&'t str]) -> Option<(Vec<&'t str>, String)> {
    rules.iter().find_map(|(pattern, help)| {
        let mut help = (*help).to_owned();
        let mut names = Vec::new();
        let mut rest = words.iter();
        for expected in pattern.split(' ') {
            if expected == "…" {
                return Some((names, help));
            }
            let word = *rest.next()?;
            let value = match expected {
                "PATH" => Some(word).filter(|word| is_path(word)),
                "ITEM" => Some(word).filter(|word| is_identifier(word)),
                ".PATH" => {
                    word.strip_prefix(['.', '$']).map(|path| path.trim_start_matches('.')).filter(|path| is_path(path))
                }
                "FILE" => word.trim_matches(['"', '\'']).rsplit('/').next().and_then(|name| name.split('.').next()),
                "VALUE" => Some(word),
                expected => expected.split('|').find(|expected| *expected == word),
            }?;
            help = help.replace(expected.trim_start_matches('.'), value);
            names.extend((expected == "ITEM").then_some(value));
        }
        rest.next().is_none().then_some((names, help))
    })
}

fn is_path(text: &str) -> bool {
    text.split('.').all(is_identifier)
}
