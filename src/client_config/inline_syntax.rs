//! Values on one line, in any of the formats of files, and strings that JSON and TOML read alike.

use serde_json::Value;

/// How a format writes values on one line.
pub(super) struct InlineSyntax {
    pub(super) key: fn(&str) -> String,
    /// What is between a key and its value.
    pub(super) colon: &'static str,
    pub(super) text: fn(&str) -> String,
}

impl InlineSyntax {
    pub(super) fn write(&self, value: &Value) -> String {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let pairs =
                    map.iter().map(|(key, value)| format!("{}{}{}", (self.key)(key), self.colon, self.write(value)));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.write(item)).collect::<Vec<_>>().join(", "))
            }
            Value::String(text) => (self.text)(text),
            other => other.to_string(),
        }
    }
}

/// A string between double quotes, as JSON and TOML read it.
pub(super) fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    // JSON takes these as they are; TOML does not.
    let is_refused = |c: char| c == '\u{7f}' || ('\u{80}'..='\u{9f}').contains(&c) || c == '\u{feff}';
    if !json.contains(is_refused) {
        return json;
    }
    let escaped = |c: char| if is_refused(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escaped).collect()
}
