//! Writes YAML as a person would: short maps on one line, and quotes only where they are needed.
//!
//! What is not here: changes to a text that is there (insert, map_edit).

use serde_json::{Map, Value};

use crate::diagnostic::{is_hidden, mark_hidden};

/// How long a line may be before a map or a list is written over several.
const MAX_LINE_CHARS: usize = 110;

/// How many maps and lists may be in each other on one line.
const MAX_LINE_DEPTH: usize = 4;

/// How long a key may be that is written before its `:`. Readers look for that within 1024 characters only.
const MAX_KEY_BYTES: usize = 1000;

/// Writes `key: value` and a line feed, moved in by so many spaces.
pub fn entry(key: &str, value: &Value, indent: usize) -> String {
    let mut writer = BlockWriter { out: String::new(), text_as_lines: false };
    writer.write_entry(key, value, indent);
    writer.out
}

/// The same, where texts of several lines are lines.
pub fn entry_with_lines(key: &str, value: &Value, indent: usize) -> String {
    let mut writer = BlockWriter { out: String::new(), text_as_lines: true };
    writer.write_entry(key, value, indent);
    writer.out
}

/// `key: value` on one line, for a map in braces.
pub fn flow_entry(key: &str, value: &Value) -> String {
    format!("{}: {}", flow_scalar(key), flow(value))
}

/// A value on one line, with braces and brackets.
pub fn flow(value: &Value) -> String {
    // JSON is YAML too.
    short_flow(value, usize::MAX, usize::MAX).unwrap_or_else(|| value.to_string())
}

/// A text outside of braces and brackets: as it is where every reader of YAML takes it for itself, else in double quotes.
pub fn scalar(text: &str) -> String {
    if is_plain(text, false) { text.to_owned() } else { quote(text) }
}

/// The same inside of braces or brackets.
pub fn flow_scalar(text: &str) -> String {
    if is_plain(text, true) { text.to_owned() } else { quote(text) }
}

struct BlockWriter {
    out: String,
    /// Whether texts of several lines are written as lines.
    text_as_lines: bool,
}

impl BlockWriter {
    fn write_entry(&mut self, key: &str, value: &Value, indent: usize) {
        let spaces = " ".repeat(indent);
        let name = scalar(key);
        let head = match name.len() > MAX_KEY_BYTES {
            true => {
                self.out.push_str(&format!("{spaces}? {name}\n"));
                format!("{spaces}:")
            }
            false => format!("{spaces}{name}:"),
        };
        self.out.push_str(&head);
        self.write_value(value, indent, head.chars().count());
    }

    /// Writes a value after what the line already has, and a line feed.
    fn write_value(&mut self, value: &Value, indent: usize, column: usize) {
        if let Some(line) = self.on_one_line(value, MAX_LINE_CHARS.saturating_sub(column + 1), indent) {
            self.out.push_str(&format!(" {line}\n"));
            return;
        }
        match value {
            Value::Object(map) => {
                self.out.push('\n');
                map.iter().for_each(|(key, inner)| self.write_entry(key, inner, indent + 2));
            }
            Value::Array(items) => {
                self.out.push('\n');
                // The items of one list look alike.
                let in_braces = !(self.text_as_lines && has_lines(value));
                items.iter().for_each(|item| self.write_item(item, indent + 2, in_braces));
            }
            Value::String(text) if self.text_as_lines && is_lines(text) => {
                self.out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
                for line in text.lines() {
                    let spaces = if line.is_empty() { 0 } else { indent + 2 };
                    self.out.push_str(&format!("{}{line}\n", " ".repeat(spaces)));
                }
            }
            Value::String(text) => self.out.push_str(&format!(" {}\n", scalar(text))),
            other => self.out.push_str(&format!(" {other}\n")),
        }
    }

    /// Writes an item of a list; a map in braces, if it may be so and is short enough.
    fn write_item(&mut self, item: &Value, indent: usize, in_braces: bool) {
        let line = self.on_one_line(item, MAX_LINE_CHARS.saturating_sub(indent + 2), indent);
        let is_block = line.is_none_or(|line| !in_braces && line != "{}");
        self.out.push_str(&format!("{}-", " ".repeat(indent)));
        match item {
            Value::Object(map) if is_block => {
                // The first key follows the dash.
                let mut inner = BlockWriter { out: String::new(), ..*self };
                map.iter().for_each(|(key, value)| inner.write_entry(key, value, indent + 2));
                self.out.push(' ');
                self.out.push_str(inner.out.get(indent + 2..).unwrap_or_default());
            }
            other => self.write_value(other, indent, indent + 1),
        }
    }

    /// A map or a list on one line, where it is short enough. A map at the top of an entry is always written over several.
    fn on_one_line(&self, value: &Value, max_chars: usize, indent: usize) -> Option<String> {
        let line = match value {
            Value::Object(map) if map.is_empty() => return Some("{}".to_owned()),
            Value::Array(items) if items.is_empty() => return Some("[]".to_owned()),
            Value::Object(map) if indent < 4 && map.values().any(|inner| inner.is_object() || inner.is_array()) => None,
            Value::Object(_) | Value::Array(_) if self.text_as_lines && has_lines(value) => None,
            Value::Object(_) | Value::Array(_) => short_flow(value, max_chars, MAX_LINE_DEPTH),
            _ => None,
        };
        line.filter(|line| line.chars().count() <= max_chars)
    }
}

/// A value in braces and brackets. `None` as soon as it is too long or too deep to be read so.
fn short_flow(value: &Value, max_chars: usize, max_depth: usize) -> Option<String> {
    let inner_depth = max_depth.checked_sub(1)?;
    let text = match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => format!("{{ {} }}", flow_entries(map, max_chars, inner_depth)?.join(", ")),
        Value::Array(items) => {
            let mut parts = Vec::new();
            for item in items.iter().take(max_chars) {
                parts.push(short_flow(item, max_chars, inner_depth)?);
            }
            format!("[{}]", parts.join(", "))
        }
        Value::String(text) => flow_scalar(text),
        other => other.to_string(),
    };
    (text.len() <= max_chars.saturating_mul(4)).then_some(text)
}

fn flow_entries(map: &Map<String, Value>, max_chars: usize, max_depth: usize) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut length = 0;
    for (key, value) in map {
        let part = format!("{}: {}", flow_scalar(key), short_flow(value, max_chars, max_depth)?);
        length += part.len();
        if length > max_chars.saturating_mul(4) {
            return None;
        }
        parts.push(part);
    }
    Some(parts)
}

fn is_plain(text: &str, in_flow: bool) -> bool {
    let character = |c: char| {
        c.is_alphanumeric() && !is_hidden(c)
            || " _-./()$+';=@:…’–".contains(c)
            || (!in_flow && matches!(c, ',' | '!' | '?' | '"' | '&' | '*' | '%' | '<' | '>'))
    };
    let is_pair = text.contains(": ") || text.ends_with(':');
    begins_as_text(text) && text.chars().all(character) && !is_pair && !text.ends_with(' ') && !text.contains("  ")
}

/// Whether no reader of YAML takes a text for something else: YAML 1.1 has many words for true and false, numbers with `_`
/// and `:`, and dates.
fn begins_as_text(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    const NUMBERS: [&str; 2] = ["inf", "nan"];
    let body = ["--", "-", "..", "."].iter().find_map(|sign| text.strip_prefix(sign)).unwrap_or(text);
    match body.chars().next() {
        Some('0'..='9') => {
            let is_number = text.starts_with('0') || text.contains(':') || text.replace('_', "").parse::<f64>().is_ok();
            body == text && !is_number && text.contains(char::is_alphabetic)
        }
        Some('_' | '/' | '$' | '(') => true,
        Some(first) => {
            let word = text.trim_start_matches(['-', '.']).to_ascii_lowercase();
            // Options of programs begin with a sign, as infinity may.
            let is_word = body == text && WORDS.contains(&word.as_str());
            first.is_alphabetic() && !is_word && !NUMBERS.contains(&word.as_str())
        }
        None => false,
    }
}

/// A text in double quotes, with everything in it that is not to be seen written as an escape.
fn quote(text: &str) -> String {
    let written = |(_, character, hides): (usize, char, bool)| match u32::from(character) {
        _ if !needs_escape(character, hides) => character.to_string(),
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    mark_hidden(&Value::from(text).to_string()).map(written).collect()
}

fn needs_escape(character: char, hides: bool) -> bool {
    let is_blank = character.is_whitespace() && character != ' ';
    hides || is_blank || character.is_control() || matches!(character, '\u{fffc}'..='\u{ffff}')
}

/// Whether some text in a value is written as lines.
fn has_lines(value: &Value) -> bool {
    match value {
        Value::String(text) => is_lines(text),
        Value::Array(items) => items.iter().any(|item| item.is_object() && has_lines(item)),
        Value::Object(map) => map.values().any(has_lines),
        _ => false,
    }
}

/// Whether a text has several lines, which YAML reads as they are.
fn is_lines(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n'])
        && text.lines().all(|line| line.is_empty() || !line.trim().is_empty())
        && mark_hidden(text).all(|(_, character, hides)| character == '\n' || !needs_escape(character, hides))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::json_of;
    use super::*;

    #[test]
    fn texts_of_several_lines_are_lines() {
        let value = json!({ "http": [{ "status": 200, "body": "a\n\n  b: c" }, { "json": { "x": [1] } }], "exec": { "stdout": "one\n" } });
        let expected = "mock:\n  http:\n    - status: 200\n      body: |-\n        a\n\n          b: c\n    - json: { x: [1] }\n  exec: { stdout: \"one\\n\" }\n";
        assert_eq!(entry_with_lines("mock", &value, 0), expected);
    }

    #[test]
    fn items_of_a_long_list_are_lines_where_texts_are() {
        let item = |text: &str| json!({ "id": 12, "name": text });
        let items = |last: &str| json!([item("x".repeat(70).as_str()), {}, item("short"), item(last)]);
        assert_eq!(entry_with_lines("list", &items("b"), 2), entry("list", &items("b"), 2));
        let written = entry_with_lines("list", &items("a\nb"), 2);
        assert!(written.contains("    - {}\n    - id: 12\n      name: short\n"), "{written}");
        assert!(written.ends_with("    - id: 12\n      name: |-\n        a\n        b\n"), "{written}");
    }

    #[test]
    fn scalars_are_quoted_where_yaml_needs_it() {
        for plain in ["ls", "-l", "--all", "./a", "../a", "3f2a9c", "200 OK", "https://x.org/a:b", "git@x.org:a/b"] {
            assert_eq!(flow_scalar(plain), plain);
        }
        for other in [
            "", "-", ".", "...", "---a", "{{x}}", "no", "-.inf", "1.0", "-1", "12e5", "0x1f", "1_0.5e+3", "2001-12-14",
            "12:30:00", "a: b", "a:", "a, b",
        ] {
            assert_eq!(flow_scalar(other), format!("\"{other}\""));
        }
        assert_eq!(
            (scalar("a, b"), scalar("a\u{200b}\u{e0041}\n")),
            ("a, b".to_owned(), r#""a\u200b\U000e0041\n""#.to_owned())
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[ -~]{0,12}".prop_map(Value::from),
            "[-.0-9a-fxot_:/ ]{1,8}".prop_map(Value::from),
            "[-a:#{ \n]{0,12}".prop_map(Value::from),
            prop::sample::select(vec![
                "yes", "1", "a: b", "- a", "# x", "{{a}}", "'", "a #b", "~", "", " a", "a:", "*a", "&a", "? a", "<<",
                "=", "..."
            ])
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[ -~]{0,8}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().filter(|(key, _)| key != "<<").collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in any_json(), key in "[ -~]{1,8}") {
            prop_assume!(key != "<<");
            let expected = json!({ &key: value });
            for text in [entry(&key, &value, 2), entry_with_lines(&key, &value, 4), format!("{{ {} }}", flow_entry(&key, &value))] {
                prop_assert_eq!(json_of(&text), Some(expected.clone()), "{}", text);
            }
        }
    }
}
