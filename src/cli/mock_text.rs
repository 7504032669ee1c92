//! Mocks as they are written in a manifest: texts of several lines as lines.

use serde_json::Value;

use crate::openapi::entry;

/// `key: value` in lines, for a map with a key on each line.
pub(super) fn block_pair(key: &str, value: &Value) -> String {
    let mut out = String::new();
    write_pair(key, value, 0, &mut out);
    out
}

/// `key: value` on one line, for a map in braces.
pub(super) fn flow_pair(key: &str, value: &Value) -> String {
    format!("{}: {}", Value::from(key), flow(value))
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let pairs: Vec<String> = map.iter().map(|(key, value)| flow_pair(key, value)).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn write_pair(key: &str, value: &Value, indent: usize, out: &mut String) {
    if !has_lines(value) {
        out.push_str(&entry(key, value, indent));
        return;
    }
    let head = entry(key, &Value::Null, indent);
    out.push_str(head.strip_suffix(" null\n").unwrap_or(&head));
    match value {
        Value::String(text) => write_lines(text, indent + 2, out),
        Value::Object(map) => {
            out.push('\n');
            map.iter().for_each(|(key, inner)| write_pair(key, inner, indent + 2, out));
        }
        Value::Array(items) => {
            out.push('\n');
            items.iter().for_each(|item| write_item(item, indent + 2, out));
        }
        _ => {}
    }
}

/// An answer in a list: its first key stands behind the dash.
fn write_item(item: &Value, indent: usize, out: &mut String) {
    let mut inner = String::new();
    for (key, value) in item.as_object().into_iter().flatten() {
        write_pair(key, value, indent + 2, &mut inner);
    }
    out.push_str(&" ".repeat(indent));
    out.push_str("- ");
    match item.is_object() {
        true => out.push_str(inner.get(indent + 2..).unwrap_or_default()),
        false => out.push_str(&format!("{}\n", flow(item))),
    }
}

fn write_lines(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in text.lines() {
        let spaces = if line.is_empty() { 0 } else { indent };
        out.push_str(&format!("{}{line}\n", " ".repeat(spaces)));
    }
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
    let is_plain = |character: char| {
        character == '\n' || !(character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}'))
    };
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n'])
        && text.lines().all(|line| line.is_empty() || !line.trim().is_empty())
        && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_several_lines_are_lines() {
        let value = json!({ "http": [{ "status": 200, "body": "a\n\n  b: c" }, { "json": { "x": [1] } }], "exec": { "stdout": "one\n" } });
        let expected = "mock:\n  http:\n    - status: 200\n      body: |-\n        a\n\n          b: c\n    - json: { x: [1] }\n  exec: { stdout: \"one\\n\" }\n";
        assert_eq!(block_pair("mock", &value), expected);
    }
}
