//! Reads Markdown with front matter, leniently.

use serde_json::{Map, Value};

use super::ImportedFile;
use crate::diagnostic::{Code, Consequence, Report, Reporting, Span};
use crate::yaml::{find_misplaced_front_matter, parse_front_matter_at};

/// The keys of a file, and the text below them.
pub(super) struct Markdown<'f> {
    pub(super) keys: Map<String, Value>,
    /// The lines of the keys.
    front_matter: &'f str,
    pub(super) body: &'f str,
    /// Where the text begins in the file.
    pub(super) start: usize,
}

impl Markdown<'_> {
    /// The text of a key; a list or a map as it is written.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let text = match self.keys.get(key)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Array(items) => self.bracketed_text(key).unwrap_or_else(|| {
                let items: Vec<String> = items.iter().map(plain_text).collect();
                format!("[{}]", items.join(", "))
            }),
            Value::Object(_) => self.bracketed_text(key)?,
            Value::Null => return None,
            other => other.to_string(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The brackets of a value and what is between them. Authors mean `[file]` and `{name}` as text.
    fn bracketed_text(&self, key: &str) -> Option<String> {
        let keys = keys_by_line(self.front_matter);
        let value = keys.get(key)?.as_str()?;
        let end = value.rfind([']', '}'])?;
        let text = value.get(..=end)?;
        text.starts_with(['[', '{']).then(|| text.to_owned())
    }

    /// The words of a key: the items of a list or their `name`, the keys of a map, or a text split at spaces and commas.
    pub(super) fn words(&self, key: &str) -> Vec<String> {
        match self.keys.get(key) {
            Some(Value::Array(items)) => {
                items.iter().map(|item| plain_text(item.get("name").unwrap_or(item))).collect()
            }
            Some(Value::Object(entries)) => entries.keys().cloned().collect(),
            Some(Value::String(text)) => {
                let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
                let words = inside.split([' ', ',', '\t']).map(|word| word.trim_matches(['"', '\'']));
                words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The keys and the text of a file. `None` with a warning if there is no text.
pub(super) fn read_markdown<'f>(file: &'f ImportedFile, report: &mut Report) -> Option<Markdown<'f>> {
    let (keys, below) = read_front_matter(file, 0, report);
    let blank = file.text.get(below..)?.split_inclusive('\n').take_while(|line| below > 0 && line.trim().is_empty());
    let start = below + blank.map(str::len).sum::<usize>();
    let (front_matter, body) = file.text.split_at_checked(start)?;
    if body.trim().is_empty() {
        let end = Span::new(file.id, file.text.len(), file.text.len());
        report.warning(Code::MissingKey, end, "no text").consequence(Consequence::PromptSkipped);
        return None;
    }
    Some(Markdown { keys, front_matter, body, start })
}

/// The keys of a file, and where the text below them begins: 0 without front matter. Blank lines and those with `#` may
/// come before it.
pub(super) fn split_leading_front_matter(file: &ImportedFile, report: &mut Report) -> (Map<String, Value>, usize) {
    let is_before = |line: &&str| line.starts_with('#') || line.trim_matches([' ', '\t', '\r', '\n']).is_empty();
    let start = file.text.split_inclusive('\n').take_while(is_before).map(str::len).sum();
    read_front_matter(file, start, report)
}

/// The keys of front matter that begins at `start`, and where the text below it begins: 0 if there is none.
fn read_front_matter(file: &ImportedFile, start: usize, report: &mut Report) -> (Map<String, Value>, usize) {
    let (parsed, reported) = report.attempt(|report| parse_front_matter_at(file.id, start, report));
    let place = reported.first().map(|first| first.span.unwrap_or(Span::start_of(file.id)));
    let rest = file.text.get(start..).unwrap_or_default();
    let Some((document, body)) = parsed else {
        if let Some(misplaced) = find_misplaced_front_matter(rest) {
            let span = Span::new(file.id, start + misplaced.range.start, start + misplaced.range.end);
            report.warning(Code::Syntax, span, format!("{}: read as text", misplaced.message)).help(misplaced.help);
        }
        return (Map::new(), 0);
    };
    let opening = Span::new(file.id, start, start + 3);
    if !rest.lines().skip(1).any(|line| line.trim_end() == "---") {
        report.warning(Code::Syntax, opening, "unterminated front matter: read as text");
        return (Map::new(), 0);
    }
    match (document.map(|document| document.json(document.root())), place) {
        (Some(Value::Object(keys)), None) => (keys, body),
        (Some(Value::Null), None) => (Map::new(), body),
        (_, place) => {
            let message = "front matter is not a map in YAML: read line by line";
            report
                .warning(Code::Syntax, place.unwrap_or(opening), message)
                .help("put values with `: `, or with a special character at the beginning, in quotes");
            (keys_by_line(file.text.get(start..body).unwrap_or_default()), body)
        }
    }
}

/// The keys of front matter that is not YAML: what follows the first colon of each line that is not indented, with
/// the indented lines below it.
fn keys_by_line(front_matter: &str) -> Map<String, Value> {
    let mut keys: Vec<(String, String)> = Vec::new();
    for line in front_matter.lines().filter(|line| line.trim() != "---") {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = keys.last_mut() {
                let gap = if value.is_empty() { "" } else { " " };
                value.push_str(gap);
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) {
            keys.push((key.trim().to_owned(), unquote(value.trim()).to_owned()));
        }
    }
    keys.into_iter().map(|(key, value)| (key, Value::String(value))).collect()
}

fn is_key(text: &str) -> bool {
    let is_of_key = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    !text.trim().is_empty() && text.trim().chars().all(is_of_key)
}

/// A value without the quotes around it, or the sign of a block below it.
fn unquote(value: &str) -> &str {
    if matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        return "";
    }
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}
