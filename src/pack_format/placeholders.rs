//! Splits a text at the markers of a format.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::prompt::{ForeignArgument, ForeignText, TextPiece};

/// A marker that was found: where it ends, and what stands for it.
pub(super) struct PlaceholderMatch {
    pub(super) end: usize,
    pub(super) piece: TextPiece,
}

impl PlaceholderMatch {
    /// Text that stays as it is, with all markers in it.
    pub(super) fn literal(text: &str, start: usize, end: usize) -> PlaceholderMatch {
        PlaceholderMatch { end, piece: TextPiece::Literal(text.get(start..end).unwrap_or_default().to_owned()) }
    }
}

/// The pieces of a text. `find` is asked at each of the characters with which a marker may begin.
pub(super) fn split(
    text: &str,
    starts: &[char],
    mut find: impl FnMut(usize) -> Option<PlaceholderMatch>,
) -> ForeignText {
    let mut pieces = Vec::new();
    let mut done = 0;
    for (start, _) in text.match_indices(starts) {
        if start < done {
            continue;
        }
        let Some(marker) = find(start) else { continue };
        push(&mut pieces, TextPiece::Literal(text.get(done..start).unwrap_or_default().to_owned()));
        push(&mut pieces, marker.piece);
        done = marker.end;
    }
    push(&mut pieces, TextPiece::Literal(text.get(done..).unwrap_or_default().to_owned()));
    ForeignText { source: text.into(), pieces, ..ForeignText::default() }
}

fn push(pieces: &mut Vec<TextPiece>, piece: TextPiece) {
    match (pieces.last_mut(), piece) {
        (_, TextPiece::Literal(text)) if text.is_empty() => {}
        (Some(TextPiece::Literal(before)), TextPiece::Literal(text)) => before.push_str(&text),
        (_, piece) => pieces.push(piece),
    }
}

/// The arguments of a prompt, in the order of their first markers.
#[derive(Default)]
pub(super) struct ArgumentCollector(IndexMap<String, ForeignArgument>);

impl ArgumentCollector {
    /// Adds an argument, or what is new of one that is there already.
    pub(super) fn add(&mut self, argument: ForeignArgument) {
        match self.0.get_mut(&argument.name) {
            Some(known) => known.description = known.description.take().or(argument.description),
            None => drop(self.0.insert(argument.name.clone(), argument)),
        }
    }

    pub(super) fn into_list(self) -> Vec<ForeignArgument> {
        self.0.into_values().collect()
    }
}

/// What stands in the braces of a marker at `start`, on one line and without other braces, and where it ends.
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
