//! JSON as editors write it: with comments and commas at the end.
//!
//! The tree that `jsonc-parser` edits takes empty lines away and breaks lines up, so its parser gives the places alone, and
//! what is added is put between the bytes that are there.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use super::format::{ConfigError, ConfigSyntax};
use super::inline_syntax::{InlineSyntax, quoted};

pub(super) struct Jsonc;

/// What the clients read too.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl ConfigSyntax for Jsonc {
    fn value(&self, text: &str) -> Result<Value, ConfigError> {
        Ok(parse(text)?.as_ref().map(json_of).unwrap_or_default())
    }

    fn offset(&self, text: &str, path: &[&str]) -> Option<usize> {
        let root = parse(text).ok()??;
        let mut start = None;
        let mut object = root.as_object()?;
        for key in path {
            let property = object.get(key);
            start = property.map(|property| property.range.start).or(start);
            match property.and_then(|property| property.value.as_object()) {
                Some(inner) => object = inner,
                None => break,
            }
        }
        start
    }

    fn insert(&self, text: &str, section: &[&str], name: &str, value: &Value) -> Result<String, ConfigError> {
        let style = Style::detect(text);
        match parse(text)? {
            None => Ok(style.new_file(text, &wrap_in_sections(section, name, value))),
            Some(Node::Object(root)) => {
                let place = Place::find(text, &root, section)?;
                if let Some(null) = place.null {
                    let mut empty = text.to_owned();
                    empty.replace_range(null, "{}");
                    return self.insert(&empty, section, name, value);
                }
                let (key, rest) = place.missing.split_first().map_or((name, None), |(key, rest)| (*key, Some(rest)));
                let inner = rest.map(|rest| wrap_in_sections(rest, name, value));
                Ok(place.insert(text, &style, key, inner.as_ref().unwrap_or(value)))
            }
            Some(other) => Err(ConfigError::new("it is not an object", Some(other.range().start))),
        }
    }

    fn remove(&self, text: &str, section: &[&str], name: &str, keeps_maps: bool) -> Result<String, ConfigError> {
        let root = parse(text)?;
        let not_there = || ConfigError::new(format!("`{name}` is not there"), None);
        let mut object = root.as_ref().and_then(Node::as_object).ok_or_else(not_there)?;
        let mut removed = None;
        for key in section.iter().copied().chain([name]) {
            let at =
                object.properties.iter().position(|property| property.name.as_str() == key).ok_or_else(not_there)?;
            // Of maps that have nothing else, and no comment, the outermost goes.
            if keeps_maps || removed.is_none() || !is_alone(text, object) {
                removed = Some((object, at));
            }
            if let Some(Node::Object(inner)) = object.properties.get(at).map(|property| &property.value) {
                object = inner;
            }
        }
        let (object, at) = removed.ok_or_else(not_there)?;
        remove_property(text, object, at).ok_or_else(not_there)
    }
}

/// The value of a text, if it has one.
fn parse(text: &str) -> Result<Option<Node<'_>>, ConfigError> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| {
        let message = error.kind().to_string();
        let mut letters = message.chars();
        let first = letters.next().map(|character| character.to_ascii_lowercase());
        ConfigError::new(first.into_iter().chain(letters).collect::<String>(), Some(error.range().start))
    })?;
    if let Some(Node::Object(root)) = &parsed.value {
        check_duplicates(root)?;
    }
    Ok(parsed.value)
}

/// Of two keys of the same name it is not certain which one a client reads.
fn check_duplicates(object: &Object<'_>) -> Result<(), ConfigError> {
    let mut names = std::collections::HashSet::new();
    for property in &object.properties {
        if !names.insert(property.name.as_str()) {
            let message = format!("key `{}` occurs twice", crate::diagnostic::one_line(property.name.as_str()));
            return Err(ConfigError::new(message, Some(property.range.start)));
        }
        if let Node::Object(inner) = &property.value {
            check_duplicates(inner)?;
        }
    }
    Ok(())
}

fn json_of(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(literal) => Value::from(literal.value.as_ref()),
        // A number too large for JSON is compared by its text.
        Node::NumberLit(literal) => match literal.value.parse::<Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::from(literal.value),
        },
        Node::BooleanLit(literal) => Value::Bool(literal.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => array.elements.iter().map(json_of).collect(),
        Node::Object(object) => {
            let pairs = object.properties.iter();
            Value::Object(pairs.map(|property| (property.name.as_str().to_owned(), json_of(&property.value))).collect())
        }
    }
}

/// A value with maps around it.
pub(super) fn wrap_in_sections(section: &[&str], name: &str, value: &Value) -> Value {
    let wrap = |inner: Value, key: &str| Value::Object(Map::from_iter([(key.to_owned(), inner)]));
    section.iter().rev().fold(wrap(value.clone(), name), |inner, key| wrap(inner, key))
}

/// How a text is laid out.
struct Style {
    line_break: &'static str,
    /// One step of indentation.
    step: String,
}

impl Style {
    fn detect(text: &str) -> Style {
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().map(|line| line.len() - line.trim_start_matches([' ', '\t']).len());
        let first = text.lines().zip(indents).find(|(line, indent)| {
            let rest = line.get(*indent..).unwrap_or_default();
            *indent > 0 && rest.starts_with(['"', '}', ']', '{'])
        });
        let step = first.and_then(|(line, indent)| line.get(..indent)).unwrap_or("  ").to_owned();
        Style { line_break, step }
    }

    /// A text of comments, or an empty one, with a value.
    fn new_file(&self, text: &str, value: &Value) -> String {
        let is_open = !text.is_empty() && !text.ends_with('\n');
        let separator = if is_open { self.line_break } else { "" };
        format!("{text}{separator}{}{}", self.lines(value, ""), self.line_break)
    }

    /// A value with a key on each line.
    fn lines(&self, value: &Value, indent: &str) -> String {
        let Some(map) = value.as_object().filter(|map| !map.is_empty()) else { return inline(value) };
        let inner = format!("{indent}{}", self.step);
        let pairs = map.iter().map(|(key, value)| format!("{inner}{}: {}", quoted(key), self.lines(value, &inner)));
        let pairs: Vec<String> = pairs.collect();
        format!("{{{0}{1}{0}{indent}}}", self.line_break, pairs.join(&format!(",{}", self.line_break)))
    }
}

/// A value on one line.
pub(super) fn inline(value: &Value) -> String {
    InlineSyntax { key: quoted, colon: ": ", text: quoted }.write(value)
}

/// The object to which a property is added.
struct Place<'a, 'k> {
    object: &'a Object<'a>,
    /// The maps that are not there.
    missing: &'k [&'k str],
    /// Where the first of these is null.
    null: Option<Range<usize>>,
    /// Whether a property is on a line of its own.
    has_lines: bool,
}

impl<'a, 'k> Place<'a, 'k> {
    fn find(text: &str, root: &'a Object<'a>, section: &'k [&'k str]) -> Result<Place<'a, 'k>, ConfigError> {
        let has_own_lines = has_lines(text, root).unwrap_or(true);
        let mut place = Place { object: root, missing: section, null: None, has_lines: has_own_lines };
        while let Some((key, rest)) = place.missing.split_first() {
            let Some(property) = place.object.get(key) else { break };
            match &property.value {
                Node::Object(inner) => {
                    let has_lines = has_lines(text, inner).unwrap_or(place.has_lines);
                    place = Place { object: inner, missing: rest, has_lines, ..place };
                }
                Node::NullKeyword(null) => {
                    place.null = Some(null.range.start..null.range.end);
                    break;
                }
                _ => return Err(ConfigError::new(format!("`{key}` is not an object"), Some(property.range.start))),
            }
        }
        Ok(place)
    }

    fn insert(&self, text: &str, style: &Style, key: &str, value: &Value) -> String {
        let (open, close) = (self.object.range.start, self.object.range.end.saturating_sub(1));
        let outer = line_indent(text, open);
        let is_broken = || text.get(open..close).is_some_and(|inside| inside.contains('\n'));
        let has_lines = self.has_lines || self.object.properties.is_empty() && is_broken();
        let indent = match self.object.properties.first() {
            Some(first) if is_first_on_line(text, first.range.start) => line_indent(text, first.range.start).to_owned(),
            _ => format!("{outer}{}", style.step),
        };
        let pair = match has_lines {
            true => format!("{}{indent}{}: {}", style.line_break, quoted(key), style.lines(value, &indent)),
            false => format!(" {}: {}", quoted(key), inline(value)),
        };
        let Some(last) = self.object.properties.last() else {
            let at = end_of_comments(text, open + 1, BLANKS);
            let is_closed = text.get(at..close).is_some_and(|rest| rest.contains('\n'));
            let end = match (has_lines, is_closed) {
                (true, false) => format!("{}{outer}", style.line_break),
                (true, true) => String::new(),
                (false, _) if text.get(at..).is_some_and(|rest| rest.starts_with(' ')) => String::new(),
                (false, _) => " ".to_owned(),
            };
            return with_insertions(text, &[(at, pair + &end)]);
        };
        match comma_after(text, last.range.end) {
            Some(comma) => with_insertions(text, &[(self.end_of_line(text, comma + 1), pair + ",")]),
            None => {
                let at = self.end_of_line(text, last.range.end);
                with_insertions(text, &[(last.range.end, ",".to_owned()), (at, pair)])
            }
        }
    }

    /// Behind the comments on the line of a property.
    fn end_of_line(&self, text: &str, at: usize) -> usize {
        if self.has_lines { end_of_comments(text, at, LINE_BLANKS) } else { at }
    }
}

/// Whether an object has one property and no comment.
fn is_alone(text: &str, object: &Object<'_>) -> bool {
    let [property] = object.properties.as_slice() else { return false };
    let before = text.get(object.range.start + 1..property.range.start).unwrap_or_default();
    let after = text.get(property.range.end..object.range.end.saturating_sub(1)).unwrap_or_default();
    before.trim().is_empty() && after.trim().trim_start_matches(',').trim().is_empty()
}

/// Puts texts at offsets, which ascend.
fn with_insertions(text: &str, insertions: &[(usize, String)]) -> String {
    let mut after = text.to_owned();
    insertions.iter().rev().for_each(|(at, added)| after.insert_str(*at, added));
    after
}

/// Whether the properties of an object are on lines of their own; `None` if it has none.
fn has_lines(text: &str, object: &Object<'_>) -> Option<bool> {
    let first = object.properties.first()?;
    text.get(object.range.start..first.range.start).map(|between| between.contains('\n'))
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line_break| line_break + 1)
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    text.get(line_start(text, at)..at).is_some_and(|before| before.trim().is_empty())
}

/// The white space with which the line of an offset begins.
fn line_indent(text: &str, at: usize) -> &str {
    let line = text.get(line_start(text, at)..at).unwrap_or_default();
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// The end of a comment that begins at an offset; one of a line ends before its line break.
fn comment_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if rest.starts_with("//") {
        return Some(at + rest.find(['\r', '\n']).unwrap_or(rest.len()));
    }
    let inner = rest.strip_prefix("/*")?;
    Some(at + 2 + inner.find("*/").map_or(inner.len(), |end| end + 2))
}

const BLANKS: &[char] = &[' ', '\t', '\r', '\n'];
const LINE_BLANKS: &[char] = &[' ', '\t'];

fn skip_chars(text: &str, at: usize, skipped: &[char]) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start_matches(skipped).len()
}

/// Where the last comment after an offset ends, or the offset, with these characters around the comments.
fn end_of_comments(text: &str, at: usize, blanks: &[char]) -> usize {
    let mut end = at;
    while let Some(comment) = comment_end(text, skip_chars(text, end, blanks)) {
        end = comment;
    }
    end
}

/// The comma that follows a value.
fn comma_after(text: &str, at: usize) -> Option<usize> {
    let comma = skip_chars(text, end_of_comments(text, at, BLANKS), BLANKS);
    text.get(comma..)?.starts_with(',').then_some(comma)
}

/// A text without a property of an object, and without the comma beside it.
fn remove_property(text: &str, object: &Object<'_>, at: usize) -> Option<String> {
    let property = object.properties.get(at)?;
    let comma = comma_after(text, property.range.end);
    let end = comma.map_or(property.range.end, |comma| comma + 1);
    let mut after = text.to_owned();
    if object.properties.len() == 1 {
        // With the white space around it, if nothing else is left.
        let (open, close) = (object.range.start + 1, object.range.end.saturating_sub(1));
        let start = end_of_comments(text, open, BLANKS).min(property.range.start);
        let is_bare = start == open && text.get(end..close)?.trim().is_empty();
        after.replace_range(if is_bare { open..close } else { start..end }, "");
        return Some(after);
    }
    let before = at.checked_sub(1).and_then(|before| object.properties.get(before));
    let earlier_comma = before.and_then(|before| comma_after(text, before.range.end));
    let (key, is_first_on_line) = (property.range.start, is_first_on_line(text, property.range.start));
    let is_blank = |comma: &usize| text.get(comma + 1..key).is_some_and(|between| between.trim().is_empty());
    let start = match earlier_comma.filter(is_blank) {
        // The beginning of its line, with the line break before it.
        _ if is_first_on_line => {
            let lines = text.get(..line_start(text, key))?;
            let lines = lines.strip_suffix('\n').unwrap_or(lines);
            lines.strip_suffix('\r').unwrap_or(lines).len()
        }
        comma => comma.map_or(key, |comma| comma + 1),
    };
    let is_first = before.is_none() && !is_first_on_line;
    after.replace_range(start..if is_first { skip_chars(text, end, LINE_BLANKS) } else { end }, "");
    if let (None, Some(earlier)) = (comma, earlier_comma) {
        after.replace_range(earlier..earlier + 1, "");
    }
    Some(after)
}
