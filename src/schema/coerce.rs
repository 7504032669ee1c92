//! Texts turned into the values that they mean, by declared type alone; and defaults.

use serde_json::{Map, Number, Value};

use super::{check, property, secret};

/// How many references and branches are followed to find a type.
const MAX_REFERENCE_STEPS: usize = 64;

/// What a text was taken for.
#[derive(Debug, Clone, PartialEq)]
pub enum Coercion {
    /// A value. A text that does not spell its type stays a text, so that validation says what is wrong with it.
    Value(Value),
    /// Nothing: an empty text where a text is not allowed.
    Absent,
}

/// Turns a text into the value that it means by the type that `schema` declares; `$ref` reaches into `schema`.
///
/// Numbers are spelt as in JSON; an integer has neither fraction nor exponent. `true` and `false` in any case. A list
/// is a JSON array, or texts separated by commas, each coerced by `items`; an object is a JSON object. No type means
/// text. Of several types the first that takes the text: boolean, integer, number, array and object as JSON, text;
/// and, where a text is not allowed, null and a list with commas. Without a type, an `enum` or `const` gives the value
/// that is spelt so, and `anyOf`, `oneOf` and `allOf` give the types of their branches.
pub fn coerce(schema: &Value, text: &str) -> Coercion {
    coerce_with_root(schema, schema, text)
}

/// The same, with references that reach into `root`.
pub(super) fn coerce_with_root(root: &Value, schema: &Value, text: &str) -> Coercion {
    let known = collect_declared(root, schema);
    if text.is_empty() && !known.accepts_string() {
        return Coercion::Absent;
    }
    Coercion::Value(known.value(root, text))
}

/// Fills in the defaults of the top-level properties that are absent.
pub fn fill_defaults(schema: &Value, arguments: &mut Map<String, Value>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, written) in properties.into_iter().flatten() {
        if !arguments.contains_key(name)
            && let Some(default) = property::keyword_value(schema, written, "default")
        {
            arguments.insert(name.clone(), default.clone());
        }
    }
}

/// What a schema says about the kind of its value, references and branches included.
#[derive(Default)]
struct DeclaredTypes<'v> {
    types: Vec<&'v str>,
    choices: Vec<&'v Value>,
    items: Option<&'v Value>,
    positions: &'v [Value],
}

fn collect_declared<'v>(root: &'v Value, schema: &'v Value) -> DeclaredTypes<'v> {
    let mut known = DeclaredTypes::default();
    let mut queue = vec![schema];
    for _ in 0..MAX_REFERENCE_STEPS {
        let Some(schema) = queue.pop() else { break };
        let Some(map) = schema.as_object() else { continue };
        known.items = known.items.or_else(|| map.get("items"));
        if let Some(Value::Array(positions)) = map.get("prefixItems") {
            known.positions = positions;
        }
        let types = check::declared_types(map);
        if types.is_empty() {
            known.choices.extend(map.get("const"));
            known.choices.extend(map.get("enum").and_then(Value::as_array).into_iter().flatten());
            queue.extend(secret::resolve_local_ref(root, map));
            let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| map.get(*key)?.as_array());
            queue.extend(branches.flatten());
        }
        known.types.extend(types);
    }
    known
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

    /// The choice that is spelt like the text; a text before anything else.
    fn choice(&self, text: &str) -> Option<Value> {
        let exact = self.choices.iter().find(|choice| choice.as_str() == Some(text));
        let spelt = || {
            let others = self.choices.iter().filter(|choice| !choice.is_string());
            others.into_iter().find(|choice| choice.to_string() == text.trim())
        };
        exact.or_else(spelt).map(|choice| (*choice).clone())
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
        number.flatten().filter(|number| self.has_type("number") || !number.is_f64()).map(Value::Number)
    }

    fn parse_json(&self, text: &str) -> Option<Value> {
        let wanted =
            (self.has_type("array") && text.starts_with('[')) || (self.has_type("object") && text.starts_with('{'));
        if wanted { serde_json::from_str(text).ok() } else { None }
    }

    /// A list from texts with commas between them; of lists or objects, from JSON with commas between.
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
