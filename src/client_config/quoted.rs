//! Strings between double quotes, in a form that JSON and TOML read alike.

use serde_json::Value;

/// A string with its quotes.
pub(super) fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    // JSON lets these stand; TOML does not.
    let is_refused = |c: char| c == '\u{7f}' || ('\u{80}'..='\u{9f}').contains(&c) || c == '\u{feff}';
    if !json.contains(is_refused) {
        return json;
    }
    let escaped = |c: char| if is_refused(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escaped).collect()
}
