//! TOML: an entry is a table at the end of the file, or a value in braces.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, InlineTable, Item, TableLike, Value as Node};

use super::format::{ConfigError, ConfigSyntax};
use super::inline_syntax::{InlineSyntax, quoted};

pub(super) struct TomlTables;

impl ConfigSyntax for TomlTables {
    fn value(&self, text: &str) -> Result<Value, ConfigError> {
        Ok(json_of_table(parse(text)?.as_table()))
    }

    fn offset(&self, text: &str, path: &[&str]) -> Option<usize> {
        let document = parse(text).ok()?;
        let mut table: &dyn TableLike = document.as_table();
        let mut start = None;
        for key in path {
            let Some(item) = table.get(key) else { break };
            start = start_of(item).or(start);
            match item.as_table_like() {
                Some(inner) => table = inner,
                None => break,
            }
        }
        start
    }

    fn insert(&self, text: &str, section: &[&str], name: &str, value: &Value) -> Result<String, ConfigError> {
        let document = parse(text)?;
        if let Some(Item::Value(Node::InlineTable(braces))) = item_at(&document, section) {
            let entry = format!("{} = {}", key(name), inline(value));
            let last = braces.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max();
            let start = braces.span().map(|span| span.start + 1);
            let (at, added) = match last {
                Some(end) => (Some(end), format!(", {entry}")),
                None => (start, format!(" {entry} ")),
            };
            let mut after = text.to_owned();
            after.insert_str(at.unwrap_or(text.len()), &added);
            return Ok(after);
        }
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let separator = match text {
            "" => String::new(),
            text if !text.ends_with('\n') => line_break.repeat(2),
            _ => line_break.to_owned(),
        };
        let lines: String = lines(section, name, value).iter().map(|line| format!("{line}{line_break}")).collect();
        Ok(format!("{text}{separator}{lines}"))
    }

    fn remove(&self, text: &str, section: &[&str], name: &str, _: bool) -> Result<String, ConfigError> {
        let document = parse(text)?;
        let keys: Vec<&str> = section.iter().copied().chain([name]).collect();
        let mut ranges = Vec::new();
        match (item_at(&document, section), item_at(&document, &keys)) {
            (Some(Item::Value(Node::InlineTable(braces))), _) => ranges.extend(range_in_braces(text, braces, name)),
            (_, Some(Item::Table(table))) => table_ranges(text, table, &mut ranges),
            _ => {}
        }
        if ranges.is_empty() {
            let message = format!("`{}` is not a table of its own", keys.join("."));
            return Err(ConfigError::new(message, self.offset(text, &keys)));
        }
        ranges.sort_by_key(|range: &Range<usize>| range.start);
        let mut after = text.to_owned();
        ranges.into_iter().rev().for_each(|range| after.replace_range(range, ""));
        Ok(after)
    }
}

fn item_at<'a>(document: &'a Document<&str>, path: &[&str]) -> Option<&'a Item> {
    path.iter().try_fold(document.as_item(), |item, key| item.as_table_like()?.get(key))
}

/// The bytes of an entry in braces, with the comma beside it, or with a space on both sides where it is the only one.
fn range_in_braces(text: &str, braces: &InlineTable, name: &str) -> Option<Range<usize>> {
    let spans = |(key, _): (&str, &Node)| {
        let (key, value) = braces.get_key_value(key)?;
        Some((key.get().to_owned(), key.span()?.start, value.span()?.end))
    };
    let entries: Option<Vec<(String, usize, usize)>> = braces.iter().map(spans).collect();
    let entries = entries?;
    let at = entries.iter().position(|(key, ..)| key == name)?;
    let (_, start, end) = entries.get(at)?;
    match (at.checked_sub(1).and_then(|before| entries.get(before)), entries.get(at + 1)) {
        (Some((.., before)), _) => Some(*before..*end),
        (None, Some((_, next, _))) => Some(*start..*next),
        (None, None) => {
            let before = text.get(..*start)?;
            let after = text.get(*end..)?;
            Some(before.strip_suffix(' ').map_or(*start, str::len)..*end + usize::from(after.starts_with(' ')))
        }
    }
}

fn parse(text: &str) -> Result<Document<&str>, ConfigError> {
    Document::parse(text).map_err(|error| {
        // Further lines quote the file, which may hold secrets.
        let message = error.message().lines().next().unwrap_or("it is not valid TOML").to_owned();
        ConfigError::new(message, Some(error.span().map_or(0, |span| span.start)))
    })
}

/// Where an item is first written.
fn start_of(item: &Item) -> Option<usize> {
    let inner = || item.as_table_like().and_then(|table| table.iter().filter_map(|(_, item)| start_of(item)).min());
    match item {
        Item::Table(table) if table.is_implicit() || table.is_dotted() => inner(),
        item => item.span().map(|span| span.start).or_else(inner),
    }
}

fn json_of_table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), json_of_item(item))).collect())
}

fn json_of_item(item: &Item) -> Value {
    match item {
        Item::Value(value) => json_of(value),
        Item::Table(table) => json_of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| json_of_table(table)).collect(),
        Item::None => Value::Null,
    }
}

fn json_of(value: &Node) -> Value {
    match value {
        Node::String(text) => Value::from(text.value().as_str()),
        Node::Integer(number) => Value::from(*number.value()),
        // JSON has no infinity.
        Node::Float(number) => Value::from(number.value().to_string()),
        Node::Boolean(flag) => Value::Bool(*flag.value()),
        Node::Datetime(time) => Value::from(time.value().to_string()),
        Node::Array(items) => items.iter().map(json_of).collect(),
        Node::InlineTable(table) => json_of_table(table),
    }
}

/// The lines of an entry.
fn lines(section: &[&str], name: &str, value: &Value) -> Vec<String> {
    let keys: Vec<String> = section.iter().copied().chain([name]).map(key).collect();
    let map = value.as_object().into_iter().flatten();
    let pairs = map.map(|(name, value)| format!("{} = {}", key(name), inline(value)));
    [format!("[{}]", keys.join("."))].into_iter().chain(pairs).collect()
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { quoted(name) }
}

fn inline(value: &Value) -> String {
    InlineSyntax { key, colon: " = ", text: quoted }.write(value)
}

/// The lines of a table and of those in it, each from its header on.
fn table_ranges(text: &str, table: &toml_edit::Table, ranges: &mut Vec<Range<usize>>) {
    let header = table.span().filter(|_| !table.is_implicit() && !table.is_dotted());
    if let Some(header) = header {
        let end = last_value_end(table).unwrap_or(header.end).max(header.end);
        let rest = text.get(end..).unwrap_or_default();
        let line_end = end + rest.find('\n').map_or(rest.len(), |line_break| line_break + 1);
        let line_start = text.get(..header.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        ranges.push(with_empty_line(text, line_start..line_end));
    }
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) => table_ranges(text, inner, ranges),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|inner| table_ranges(text, inner, ranges)),
            _ => {}
        }
    }
}

/// Where the last value below a header ends.
fn last_value_end(table: &toml_edit::Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(inner) if inner.is_dotted() => last_value_end(inner),
        _ => None,
    });
    ends.max()
}

/// Lines with the empty one above them, where there is an empty one or nothing below; at the top, with the one below.
fn with_empty_line(text: &str, lines: Range<usize>) -> Range<usize> {
    let before = text.get(..lines.start).unwrap_or_default();
    let above = before.strip_suffix('\n').unwrap_or_default();
    let above = above.strip_suffix('\r').unwrap_or(above);
    let below = text.get(lines.end..).and_then(|rest| rest.split_inclusive('\n').next()).unwrap_or_default();
    match below.trim().is_empty() {
        true if before.is_empty() => lines.start..lines.end + below.len(),
        true if above.ends_with('\n') => above.len()..lines.end,
        _ => lines,
    }
}
