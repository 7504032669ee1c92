//! Writes the text of another program as a template of folio, in which nothing but the markers of its format is a tag.

use std::collections::HashMap;
use std::sync::Arc;

use super::prompt::{ImportedValue, ValueSource};

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// An expression of a template.
    Tag(String),
}

/// A marker that was found: where it ends, and what replaces it.
pub(super) struct Replacement {
    pub(super) end: usize,
    pub(super) piece: Piece,
}

impl Replacement {
    /// Text that stays as it is, with all markers in it.
    pub(super) fn literal(text: &str, start: usize, end: usize) -> Replacement {
        Replacement { end, piece: Piece::Text(text.get(start..end).unwrap_or_default().to_owned()) }
    }
}

/// The pieces of a text. `find` is asked at each of the characters with which a marker may begin.
pub(super) fn split(text: &str, starts: &[char], mut find: impl FnMut(usize) -> Option<Replacement>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut done = 0;
    for (start, _) in text.match_indices(starts) {
        if start < done {
            continue;
        }
        let Some(marker) = find(start) else { continue };
        push(&mut pieces, Piece::Text(text.get(done..start).unwrap_or_default().to_owned()));
        push(&mut pieces, marker.piece);
        done = marker.end;
    }
    push(&mut pieces, Piece::Text(text.get(done..).unwrap_or_default().to_owned()));
    pieces
}

fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (_, Piece::Text(text)) if text.is_empty() => {}
        (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
        (_, piece) => pieces.push(piece),
    }
}

/// The template of these pieces, whose text has no tag.
pub(super) fn template_of(pieces: &[Piece]) -> String {
    let mut template = String::new();
    for (nth, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => push_text(&mut template, text, nth + 1 < pieces.len()),
            Piece::Tag(expression) => push_tag(&mut template, expression),
        }
    }
    template
}

/// Adds a text. Braces that would open a tag are the value of one instead: a backslash before them may itself be text.
fn push_text(template: &mut String, text: &str, is_before_tag: bool) {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        let (braces, after) = from.split_at(from.len() - from.trim_start_matches('{').len());
        template.push_str(before);
        if braces.len() > 1 || is_before_tag && after.is_empty() {
            push_tag(template, &format!("trim \"{braces}\""));
        } else {
            template.push_str(braces);
        }
        rest = after;
    }
    template.push_str(rest);
}

fn push_tag(template: &mut String, expression: &str) {
    // One backslash escapes a tag; of several, one is left out.
    if template.ends_with('\\') {
        template.push('\\');
    }
    template.push_str("{{");
    template.push_str(expression);
    template.push_str("}}");
}

/// A text with `…` for each value, for people.
pub(super) fn shown_text(pieces: &[Piece]) -> String {
    let shown = |piece: &Piece| match piece {
        Piece::Text(text) => text.replace('…', "\\u2026"),
        Piece::Tag(_) => "…".to_owned(),
    };
    pieces.iter().map(shown).collect()
}

/// The values that the templates of one prompt show.
#[derive(Default)]
pub(super) struct ValueCollector {
    values: Vec<ImportedValue>,
    /// The names of values without a label, by what they are.
    names: HashMap<(Vec<ValueSource>, Arc<str>), String>,
    /// Whether any was shown.
    pub(super) is_used: bool,
}

impl ValueCollector {
    /// The expression for the value of the first source that has one, or else for this text.
    pub(super) fn expression(&mut self, sources: Vec<ValueSource>, otherwise: Arc<str>) -> String {
        self.is_used = true;
        if let ([ValueSource::Argument(name)], "") = (sources.as_slice(), otherwise.as_ref()) {
            return argument_expression(name);
        }
        let key = (sources, otherwise);
        if let Some(name) = self.names.get(&key) {
            return argument_expression(name);
        }
        let (sources, otherwise) = key.clone();
        let name = self.add(sources, None, otherwise);
        self.names.insert(key, name.clone());
        argument_expression(&name)
    }

    /// Ends a text with a value behind a blank line and a label, unless it is empty.
    pub(super) fn append(&mut self, pieces: &mut Vec<Piece>, label: &str, sources: Vec<ValueSource>) {
        let mut blank = String::new();
        if let Some(Piece::Text(last)) = pieces.last_mut() {
            blank = last.split_off(last.trim_end().len());
        }
        let name = self.add(sources, Some(format!("\n\n{label}")), blank.into());
        pieces.push(Piece::Tag(argument_expression(&name)));
    }

    /// All values. `JoinedArguments` get the names of the arguments that are joined.
    pub(super) fn into_values(mut self, joined_arguments: &[String]) -> Vec<ImportedValue> {
        for source in self.values.iter_mut().flat_map(|value| &mut value.sources) {
            if let ValueSource::JoinedArguments(names) = source {
                *names = joined_arguments.to_vec();
            }
        }
        self.values
    }

    fn add(&mut self, sources: Vec<ValueSource>, label: Option<String>, otherwise: Arc<str>) -> String {
        let argument = match sources.first() {
            Some(ValueSource::Argument(name) | ValueSource::Word { argument: name, .. }) => name,
            Some(ValueSource::JoinedArguments(_)) | None => "",
        };
        // No argument has a `:` in its name.
        let name = format!("{argument}:{}", self.values.len());
        self.values.push(ImportedValue { name: name.clone(), sources, label, otherwise });
        name
    }
}

/// The expression for an argument.
fn argument_expression(name: &str) -> String {
    // Without brackets it would be the item of a loop.
    if name == "this" { "arguments.[this]".to_owned() } else { format!("arguments.{name}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::{Piece, template_of};
    use crate::template::{Engine, Scope, ScopeShape, Shape, Template, TextSlot};

    fn render(pieces: &[Piece], value: &str) -> String {
        let names = ScopeShape::new().with_arguments([("x", Shape::Text)]);
        let template: Template<TextSlot> =
            Template::compile(&Engine::imported(), &template_of(pieces), &names).expect("a valid template");
        let arguments = Map::from_iter([("x".to_owned(), Value::from(value))]);
        template.render(&Scope::new(arguments, std::sync::Arc::default())).expect("a text").0
    }

    proptest! {
        /// Text is text whatever is beside it, and a value is inserted once.
        #[test]
        fn text_and_values_are_rendered_as_they_are(
            texts in prop::collection::vec(r"[{}\\~!#/^>&a \n]{0,8}", 1..5),
            value in r#"[{}\\a"~!#]{0,6}"#,
        ) {
            let mut pieces: Vec<Piece> = Vec::new();
            for text in &texts {
                pieces.extend([Piece::Text(text.clone()), Piece::Tag("arguments.x".to_owned())]);
            }
            pieces.retain(|piece| *piece != Piece::Text(String::new()));
            pieces.push(Piece::Text("{{x}}".to_owned()));
            let expected = texts.iter().map(|text| format!("{text}{value}")).collect::<String>() + "{{x}}";
            prop_assert_eq!(render(&pieces, &value), expected);
        }
    }
}
