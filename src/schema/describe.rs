//! Describes values, types and formats in messages.

use serde_json::Value;

use crate::diagnostic::count_noun;

/// The longest text that is shown; what is longer is described.
const MAX_SHOWN_CHARS: usize = 64;
/// How many of a list of choices are shown.
const MAX_SHOWN_CHOICES: usize = 20;

/// How many errors of the items of one list are reported.
pub(super) const MAX_ITEM_ERRORS: usize = 20;

/// A value as it is shown: a scalar as JSON, where it is short; anything else by its kind.
pub(super) fn describe_value(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > MAX_SHOWN_CHARS => {
            format!("a string of {} characters", text.chars().count())
        }
        Value::Array(list) => format!("an array of {}", count_noun(list.len(), "item")),
        Value::Object(_) => "an object".to_owned(),
        scalar => scalar.to_string(),
    }
}

/// A name as it is shown: in backticks, cut where it is long.
pub(super) fn quote_name(name: &str) -> String {
    let printable = |text: &str| text.replace(char::is_control, "\u{fffd}");
    match name.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("`{}…`", printable(name.get(..end).unwrap_or_default())),
        None => format!("`{}`", printable(name)),
    }
}

/// Choices as a list: `"low", "high"`.
pub(super) fn join_choices(values: &[Value]) -> String {
    let mut texts: Vec<String> = values.iter().take(MAX_SHOWN_CHOICES).map(describe_choice).collect();
    if values.len() > MAX_SHOWN_CHOICES {
        texts.push(format!("and {} more", values.len() - MAX_SHOWN_CHOICES));
    }
    texts.join(", ")
}

/// A value that the schema itself names: shown whole while it is short, for it is not secret.
pub(super) fn describe_choice(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= MAX_SHOWN_CHARS { text } else { describe_value(value) }
}

/// A type with its article.
pub(super) fn describe_type(name: &str) -> &'static str {
    match name {
        "array" => "an array",
        "boolean" => "a boolean (true or false)",
        "integer" => "an integer",
        "null" => "null",
        "number" => "a number",
        "object" => "an object",
        _ => "a string",
    }
}

/// "a, b or c".
pub(super) fn join_or(words: &[String]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// What a value must be to be of a format.
pub(super) fn describe_format(name: &str) -> String {
    known_format(name).map_or_else(|| format!("of the format {}", self::quote_name(name)), str::to_owned)
}

/// The same for the formats of JSON Schema.
pub(super) fn known_format(name: &str) -> Option<&'static str> {
    Some(match name {
        "date" => "a date such as 2026-07-28",
        "date-time" => "a date and time with its zone, such as 2026-07-28T09:30:00Z",
        "time" => "a time with its zone, such as 09:30:00Z",
        "duration" => "a duration such as P3D or PT1H30M",
        "email" | "idn-email" => "an e-mail address",
        "hostname" | "idn-hostname" => "a host name",
        "ipv4" => "an IPv4 address such as 192.0.2.1",
        "ipv6" => "an IPv6 address such as 2001:db8::1",
        "uri" | "iri" => "an absolute URI such as https://example.com/a",
        "uri-reference" | "iri-reference" => "a URI or a relative reference",
        "uri-template" => "a URI template such as /users/{id}",
        "uuid" => "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
        "json-pointer" => "a JSON pointer such as /a/0",
        "relative-json-pointer" => "a relative JSON pointer such as 1/a",
        "regex" => "a regular expression",
        _ => return None,
    })
}
