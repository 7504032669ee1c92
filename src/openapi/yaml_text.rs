//! YAML as a person would write it: short maps on one line, and quotes only where they are needed.

use serde_json::{Map, Value};

/// How long a line may be before a map or a list is written over several.
const MAX_LINE_CHARS: usize = 110;

/// How long a key may be that is written before its `:`. Readers look for that within 1024 characters only.
const MAX_KEY_BYTES: usize = 1000;

/// Writes `key: value` and a line feed, moved in by so many spaces.
pub fn entry(key: &str, value: &Value, indent: usize) -> String {
    let mut out = String::new();
    write_entry(key, value, indent, &mut out);
    out
}

fn write_entry(key: &str, value: &Value, indent: usize, out: &mut String) {
    let spaces = " ".repeat(indent);
    let name = scalar(key, false);
    let head = match name.len() > MAX_KEY_BYTES {
        true => {
            out.push_str(&format!("{spaces}? {name}\n"));
            format!("{spaces}:")
        }
        false => format!("{spaces}{name}:"),
    };
    out.push_str(&head);
    write_value(value, indent, head.chars().count(), out);
}

/// Writes a value behind what stands on the line already, and a line feed.
fn write_value(value: &Value, indent: usize, column: usize, out: &mut String) {
    if let Some(line) = on_one_line(value, MAX_LINE_CHARS.saturating_sub(column + 1), indent) {
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
        return;
    }
    match value {
        Value::Object(map) => {
            out.push('\n');
            map.iter().for_each(|(key, inner)| write_entry(key, inner, indent + 2, out));
        }
        Value::Array(items) => {
            out.push('\n');
            items.iter().for_each(|item| write_item(item, indent + 2, out));
        }
        other => {
            out.push(' ');
            out.push_str(&leaf(other, false));
            out.push('\n');
        }
    }
}

fn write_item(item: &Value, indent: usize, out: &mut String) {
    let dash = format!("{}-", " ".repeat(indent));
    match item {
        Value::Object(map) if on_one_line(item, MAX_LINE_CHARS.saturating_sub(indent + 2), indent).is_none() => {
            // The first key stands behind the dash.
            let mut inner = String::new();
            map.iter().for_each(|(key, value)| write_entry(key, value, indent + 2, &mut inner));
            out.push_str(&dash);
            out.push(' ');
            out.push_str(inner.get(indent + 2..).unwrap_or_default());
        }
        other => {
            out.push_str(&dash);
            write_value(other, indent, indent + 1, out);
        }
    }
}

/// A value on one line, where it is short enough. A map at the top of an entry is always written over several.
fn on_one_line(value: &Value, max_chars: usize, indent: usize) -> Option<String> {
    match value {
        Value::Object(map) if map.is_empty() => Some("{}".to_owned()),
        Value::Array(items) if items.is_empty() => Some("[]".to_owned()),
        Value::Object(map) if indent < 4 && map.values().any(|inner| inner.is_object() || inner.is_array()) => None,
        Value::Object(_) | Value::Array(_) => {
            flow(value, max_chars, 0).filter(|line| line.chars().count() <= max_chars)
        }
        _ => None,
    }
}

/// A value in braces and brackets. `None` as soon as it is too long or too deep to be read so.
fn flow(value: &Value, max_chars: usize, depth: usize) -> Option<String> {
    if depth > 3 {
        return None;
    }
    let text = match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => format!("{{ {} }}", flow_entries(map, max_chars, depth)?.join(", ")),
        Value::Array(items) => {
            let mut parts = Vec::new();
            for item in items.iter().take(max_chars) {
                parts.push(flow(item, max_chars, depth + 1)?);
            }
            format!("[{}]", parts.join(", "))
        }
        other => leaf(other, true),
    };
    (text.len() <= 4 * max_chars).then_some(text)
}

fn flow_entries(map: &Map<String, Value>, max_chars: usize, depth: usize) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut length = 0;
    for (key, value) in map {
        let part = format!("{}: {}", scalar(key, true), flow(value, max_chars, depth + 1)?);
        length += part.len();
        if length > 4 * max_chars {
            return None;
        }
        parts.push(part);
    }
    Some(parts)
}

fn leaf(value: &Value, in_flow: bool) -> String {
    match value {
        Value::String(text) => scalar(text, in_flow),
        other => other.to_string(),
    }
}

/// A text: as it is where every reader of YAML takes it for itself, else in double quotes.
pub(super) fn scalar(text: &str, in_flow: bool) -> String {
    if is_plain(text, in_flow) { text.to_owned() } else { quote(text) }
}

fn is_plain(text: &str, in_flow: bool) -> bool {
    let starts = text.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '/' | '$' | '('));
    let character = |c: char| {
        c.is_alphanumeric()
            || matches!(c, ' ' | '_' | '-' | '.' | '/' | '(' | ')' | '$' | '+' | '\'' | ';' | '=' | '…' | '’' | '–')
            || (!in_flow && matches!(c, ',' | '!' | '?' | '"' | '&' | '*' | '%' | '<' | '>'))
    };
    let colons = text.split(": ").count() == 1 && !text.ends_with(':') && !(in_flow && text.contains(':'));
    let lettered = text.chars().all(|c| character(c) || c == ':');
    starts && lettered && colons && !text.ends_with(' ') && !text.contains("  ") && !is_other_value(text)
}

/// Whether some reader of YAML takes a text for something else: YAML 1.1 has many words for true and false.
fn is_other_value(text: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    words.contains(&text.to_ascii_lowercase().as_str())
}

/// A text in double quotes, with everything in it that is not to be seen written as an escape.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' => out.push(' '),
            character if is_hidden(character) => out.push_str(&escape(character)),
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || character.is_whitespace()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

fn escape(character: char) -> String {
    match u32::from(character) {
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}
