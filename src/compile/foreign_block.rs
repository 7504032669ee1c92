//! Blocks of other template languages in the braces of Handlebars: `{{#for x in items}}`, `{{^x}}`.

use std::ops::Range;

use super::Compiler;
use crate::diagnostic::Code;
use crate::template::{Shape, TemplateError, TemplateSpan, is_helper};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// A block of another language.
struct ForeignBlock<'t> {
    range: Range<usize>,
    /// What it names, for its body.
    name: &'t str,
    help: String,
}

impl Compiler<'_> {
    /// The errors of a text without those that follow from its first block of another language, which is reported.
    pub(super) fn without_foreign_block(
        &mut self,
        text: &Spanned<String>,
        mut errors: Vec<TemplateError>,
    ) -> Vec<TemplateError> {
        let Some(block) = self.foreign_blocks(text).next() else { return errors };
        let written = text.get(block.range.clone()).unwrap_or_default();
        let span = self.span_within(text.location, block.range.clone());
        let help = format!("{}; {}", block.help, self.literal_help(text, block.range.start));
        self.error(Code::Template, span, format!("`{written}` is not Handlebars")).help(help);
        errors.retain(|error| {
            let TemplateSpan::Template(range) = &error.span else { return true };
            let is_inside = block.range.start <= range.start && range.end <= block.range.end;
            let is_name = text.get(range.clone()).is_some_and(|wrong| wrong.split('.').next() == Some(block.name));
            !is_inside && !is_name && error.code != Code::Template
        });
        errors
    }

    fn foreign_blocks<'t>(&self, text: &'t str) -> impl Iterator<Item = ForeignBlock<'t>> {
        text.match_indices("{{").filter_map(move |(start, _)| {
            let end = start + text.get(start..)?.find("}}")? + 2;
            let tag = text.get(start + 2..end - 2)?.trim_matches(['-', '~', ' ']);
            let (name, help) = read(tag).or_else(|| self.read_section(tag))?;
            Some(ForeignBlock { range: start..end, name, help })
        })
    }

    /// `{{#items}}`, which loops over a list and tests anything else.
    fn read_section<'t>(&self, tag: &'t str) -> Option<(&'t str, String)> {
        let name = tag.strip_prefix('#').map(str::trim).filter(|name| is_path(name))?;
        let shape = self.scope_shape.get(name).filter(|_| !is_helper(name))?;
        let block = if matches!(shape, Shape::List(_)) { "each" } else { "if" };
        Some((name, format!("write `{{{{#{block} {name}}}}}…{{{{/{block}}}}}`")))
    }
}

/// The name that a tag gives to an item, and what to write instead of the tag.
fn read(tag: &str) -> Option<(&str, String)> {
    if let Some(name) = tag.strip_prefix('^').map(str::trim).filter(|name| is_path(name)) {
        return Some(("", format!("write `{{{{#unless {name}}}}}…{{{{/unless}}}}`")));
    }
    if let Some(found) = read_go(tag) {
        return Some(found);
    }
    let words: Vec<&str> = tag.trim_start_matches('#').split_whitespace().collect();
    let (item, list) = match *words.as_slice() {
        ["for" | "each" | "foreach", item, "in" | "of", list] | ["each" | "foreach", list, "as", item] => (item, list),
        _ => return None,
    };
    let is_block = is_identifier(item) && is_path(list);
    is_block.then(|| (item, format!("write `{{{{#each {list} as |{item}|}}}}…{{{{/each}}}}`")))
}

/// `{{ .name }}`, `{{ if .name }}` and `{{ range .items }}`, as Go has them.
fn read_go(tag: &str) -> Option<(&str, String)> {
    let dotted = |word: &str| {
        word.strip_prefix(['.', '$'])
            .map(|word| word.trim_start_matches('.'))
            .filter(|name| is_path(name))
            .map(str::to_owned)
    };
    let help = match *tag.split_whitespace().collect::<Vec<_>>().as_slice() {
        [name] => format!("write `{{{{{}}}}}`", dotted(name)?),
        ["if", name] => format!("write `{{{{#if {}}}}}…{{{{/if}}}}`", dotted(name)?),
        ["range", name] => format!("write `{{{{#each {}}}}}…{{{{/each}}}}`", dotted(name)?),
        _ => return None,
    };
    Some(("end", help))
}

fn is_path(text: &str) -> bool {
    text.split('.').all(is_identifier)
}
