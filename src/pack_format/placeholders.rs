//! What markers of several formats have in common: their arguments, and the braces around them.

use std::collections::HashMap;

use crate::manifest::{Argument, Arguments};
use crate::yaml::{Location, Spanned};

/// Adds an argument of the prompt at `at`, or the description of one that is there already.
pub(super) fn add_argument(arguments: &mut Arguments, at: Location, name: &str, argument: Argument) {
    match arguments.get_mut(name) {
        Some(existing) if existing.description.is_some() => {}
        Some(existing) => existing.value.description = argument.description,
        None => _ = arguments.insert(Spanned::new(name.to_owned(), at), Spanned::new(argument, at)),
    }
}

/// An argument that is a text.
pub(super) fn text_argument(description: Option<String>, is_required: bool) -> Argument {
    Argument { description, required: Some(is_required), kind: Some(Box::new("string".into())), ..Argument::default() }
}

/// What is in the braces of a marker at `start`, on one line and without other braces, and where it ends.
pub(super) fn text_in_braces<'t>(text: &'t str, start: usize, open: &str) -> Option<(&'t str, usize)> {
    let rest = text.get(start..)?.strip_prefix(open)?;
    let length = rest.find(['{', '}', '\n'])?;
    let after = rest.get(length..)?.strip_prefix('}')?;
    Some((rest.get(..length)?, text.len() - after.len()))
}

/// Where each block in braces ends, by where it begins: those on one line alone, or all. A block that is not closed does not count.
pub(super) fn brace_ends(text: &str, on_one_line: bool) -> HashMap<usize, usize> {
    let mut open = Vec::new();
    let mut ends = HashMap::new();
    for (at, character) in text.match_indices(['{', '}', '\n']) {
        match character {
            "{" => open.push(at),
            "}" => ends.extend(open.pop().map(|start| (start, at + 1))),
            _ if on_one_line => open.clear(),
            _ => {}
        }
    }
    ends
}

/// Whether a text goes on with a letter of a word.
pub(super) fn continues_word(text: &str) -> bool {
    text.starts_with(|character: char| character.is_alphanumeric() || character == '_')
}
