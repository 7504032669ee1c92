//! Coerces strings to the declared types of a schema.

use serde_json::{Number, Value};

use super::check;
use super::integer::as_integer;
use super::local_ref::{MAX_REFERENCE_STEPS, in_place_schemas};

/// The result of a coercion.
#[derive(Debug, Clone, PartialEq)]
pub enum Coercion {
    /// A value. A string that is not of the declared type stays a string, so that validation reports it.
    Value(Value),
    /// No value: an empty string where a string is not allowed.
    Absent,
}

/// Coerces a string to the type that `schema` declares; `$ref` points into `root`.
///
/// Numbers are written as in JSON; `2.0` and `1e3` are integers unless strings are allowed. `true` and `false` in any
/// case. A list is a JSON array, or comma-separated values, each coerced by `items`; an object is a JSON object. Without a type the
/// value is a string. Of several types the first that matches: boolean, integer, number, array and object as JSON,
/// string; and, where a string is not allowed, null and a comma-separated list. Without a type, an `enum` or `const`
/// gives the value that is written so, and `anyOf`, `oneOf` and `allOf` give the types of their branches.
pub(super) fn coerce(root: &Value, schema: &Value, text: &str) -> Coercion {
    let declared = collect_declared(root, schema);
    if text.is_empty() && !declared.accepts_string() {
        return Coercion::Absent;
    }
    Coercion::Value(declared.value(root, text))
}

/// Whether a schema declares a type, with its references and branches.
pub(super) fn declares_type(root: &Value, schema: &Value, name: &str) -> bool {
    collect_declared(root, schema).has_type(name)
}

/// The types and choices that a schema declares, with its references and branches.
#[derive(Default)]
struct DeclaredTypes<'v> {
    types: Vec<&'v str>,
    choices: Vec<&'v Value>,
    items: Option<&'v Value>,
    positions: &'v [Value],
}

fn collect_declared<'v>(root: &'v Value, schema: &'v Value) -> DeclaredTypes<'v> {
    let mut declared = DeclaredTypes::default();
    let mut queue = vec![schema];
    for _ in 0..MAX_REFERENCE_STEPS {
        let Some(schema) = queue.pop() else { break };
        let Some(map) = schema.as_object() else { continue };
        declared.items = declared.items.or_else(|| map.get("items"));
        if let Some(Value::Array(positions)) = map.get("prefixItems") {
            declared.positions = positions;
        }
        let types = check::declared_types(map);
        if types.is_empty() {
            declared.choices.extend(map.get("const"));
            declared.choices.extend(map.get("enum").and_then(Value::as_array).into_iter().flatten());
            queue.extend(in_place_schemas(root, map, &["anyOf", "oneOf", "allOf"]));
        }
        declared.types.extend(types);
    }
    declared
}

impl DeclaredTypes<'_> {
    fn has_type(&self, name: &str) -> bool {
        self.types.contains(&name)
    }

    fn accepts_string(&self) -> bool {
        self.has_type("string")
            || self.choices.iter().any(|choice| choice.is_string())
            || (self.types.is_empty() && self.choices.is_empty())
    }

    fn value(&self, root: &Value, text: &str) -> Value {
        let by_choice = || self.choice(text);
        let by_type = || self.parse_scalar(text.trim()).or_else(|| self.parse_json(text.trim()));
        let separated =
            || (self.has_type("array") && !self.accepts_string()).then(|| self.parse_separated(root, text)).flatten();
        by_choice().or_else(by_type).or_else(separated).unwrap_or_else(|| Value::String(text.to_owned()))
    }

    /// The choice that is written like the text; a string before others.
    fn choice(&self, text: &str) -> Option<Value> {
        let exact = self.choices.iter().find(|choice| choice.as_str() == Some(text));
        let unquoted = || {
            let others = self.choices.iter().filter(|choice| !choice.is_string());
            others.into_iter().find(|choice| choice.to_string() == text.trim())
        };
        exact.or_else(unquoted).map(|choice| (*choice).clone())
    }

    fn parse_scalar(&self, text: &str) -> Option<Value> {
        if self.has_type("boolean") && text.eq_ignore_ascii_case("true") {
            return Some(Value::Bool(true));
        }
        if self.has_type("boolean") && text.eq_ignore_ascii_case("false") {
            return Some(Value::Bool(false));
        }
        if self.has_type("null") && !self.accepts_string() && text == "null" {
            return Some(Value::Null);
        }
        let number =
            (self.has_type("integer") || self.has_type("number")).then(|| serde_json::from_str::<Number>(text).ok());
        let number = number.flatten()?;
        if !number.is_f64() || self.has_type("number") {
            return Some(Value::Number(number));
        }
        as_integer(&number).filter(|_| !self.accepts_string()).map(Value::Number)
    }

    fn parse_json(&self, text: &str) -> Option<Value> {
        let wanted =
            (self.has_type("array") && text.starts_with('[')) || (self.has_type("object") && text.starts_with('{'));
        if wanted { serde_json::from_str(text).ok() } else { None }
    }

    /// A comma-separated list; of lists or objects, of JSON values.
    fn parse_separated(&self, root: &Value, text: &str) -> Option<Value> {
        let items = self.items.map(|items| collect_declared(root, items)).unwrap_or_default();
        if text.trim_start().starts_with('[') {
            return None;
        }
        if items.has_type("object") || items.has_type("array") {
            return serde_json::from_str(&format!("[{text}]")).ok();
        }
        let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > 1 && parts.last() == Some(&"") {
            parts.pop();
        }
        let each = |(index, part): (usize, &&str)| match self.positions.get(index) {
            Some(schema) => collect_declared(root, schema).value(root, part),
            None => items.value(root, part),
        };
        Some(Value::Array(parts.iter().enumerate().map(each).collect()))
    }
}
