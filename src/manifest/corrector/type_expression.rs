//! Types of arguments as programming languages write them: `string[]`, `Optional[int]`, `low | high`.

use super::argument::type_of;
use crate::yaml::flow_scalar;

/// A type as keys of an argument.
pub(super) struct TypeExpression {
    /// The keys, in flow style.
    pub(super) text: String,
    /// The type of JSON Schema; `None` for a choice of values.
    pub(super) kind: Option<&'static str>,
}

/// Reads a type of another language; `None` where the text is not a type.
pub(super) fn read(written: &str) -> Option<TypeExpression> {
    let text = written.trim();
    let optional = ["Optional[", "Option<"].iter().find_map(|open| text.strip_prefix(open));
    if let Some(inner) = optional {
        return read(inner.strip_suffix([']', '>'])?);
    }
    if let Some((kind, default)) = text.split_once('=') {
        let kind = simple(kind)?;
        let default = default.trim().trim_matches(['"', '\'']);
        let value = if kind == "string" { flow_scalar(default) } else { default.to_owned() };
        return Some(TypeExpression { text: format!("type: {kind}, default: {value}"), kind: Some(kind) });
    }
    if text.contains('|') {
        return union(text);
    }
    if let Some(item) = item_of_list(text) {
        let text = match simple(item) {
            Some(item) => format!("type: array, items: {{ type: {item} }}"),
            None => "type: array".to_owned(),
        };
        return Some(TypeExpression { text, kind: Some("array") });
    }
    let word = text.strip_suffix('?').or_else(|| text.strip_suffix("(optional)")).unwrap_or(text);
    let kind = simple(word)?;
    Some(TypeExpression { text: format!("type: {kind}"), kind: Some(kind) })
}

fn simple(word: &str) -> Option<&'static str> {
    type_of(word.trim())
}

/// `low | high`, and `string | null`.
fn union(text: &str) -> Option<TypeExpression> {
    let parts: Vec<&str> = text.split('|').map(|part| part.trim().trim_matches(['"', '\''])).collect();
    let is_word = |part: &&str| !part.is_empty() && !part.contains(char::is_whitespace);
    if !parts.iter().all(is_word) {
        return None;
    }
    let some: Vec<&str> = parts.into_iter().filter(|part| !["null", "None", "undefined"].contains(part)).collect();
    if let [only] = some.as_slice() {
        return read(only);
    }
    let kinds: Option<Vec<&'static str>> = some.iter().map(|part| simple(part)).collect();
    match kinds {
        Some(kinds) => {
            let kind = kinds.first().copied();
            Some(TypeExpression { text: format!("type: [{}]", kinds.join(", ")), kind })
        }
        None if some.iter().any(|part| simple(part).is_some()) => None,
        None => {
            let values: Vec<String> = some.iter().map(|part| flow_scalar(part)).collect();
            Some(TypeExpression { text: format!("enum: [{}]", values.join(", ")), kind: None })
        }
    }
}

/// `string[]`, `list[str]` and `Array<string>`.
fn item_of_list(text: &str) -> Option<&str> {
    if let Some(item) = text.strip_suffix("[]") {
        return simple(item).map(|_| item);
    }
    let open = ["list[", "List[", "Array<", "array<", "Vec<"].iter().find_map(|open| text.strip_prefix(open))?;
    open.strip_suffix([']', '>'])
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn types_of_other_languages_are_read() {
        for (written, meant) in [
            ("string[]", Some("type: array, items: { type: string }")),
            ("list[int]", Some("type: array, items: { type: integer }")),
            ("Array<Thing>", Some("type: array")),
            ("Optional[str]", Some("type: string")),
            ("str | None", Some("type: string")),
            ("string?", Some("type: string")),
            ("string | integer", Some("type: [string, integer]")),
            ("low | high", Some("enum: [low, high]")),
            ("'a' | 'b'", Some("enum: [a, b]")),
            ("int = 5", Some("type: integer, default: 5")),
            ("string = x", Some("type: string, default: x")),
            ("the person", None),
            ("a | b c", None),
            ("x = y", None),
        ] {
            assert_eq!(read(written).map(|found| found.text).as_deref(), meant, "{written}");
        }
    }
}
