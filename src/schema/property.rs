//! Keywords and choices of a top-level property, also in its `$ref`.

use serde_json::{Map, Value};

use super::compile::keyword;
use super::describe::{describe_type, known_format};
use super::local_ref::{MAX_REFERENCE_STEPS, resolve_local_ref};

/// What a text for a value looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextForm {
    /// Such as "a date such as 2026-07-28".
    Scalar(&'static str),
    /// A list, whose items are separated by commas.
    List {
        /// What each of them is, where it is not a plain text.
        item: Option<&'static str>,
        /// The allowed values, where the schema lists them.
        choices: Vec<Value>,
    },
    /// JSON, of a list of lists or objects, or of an object.
    Json,
}

/// What a text for a value of a schema below `root` looks like; `None` where any text will do.
pub(super) fn text_form(root: &Value, schema: &Value) -> Option<TextForm> {
    match single_type(root, schema)? {
        "array" => {
            let items = keyword_value(root, schema, "items").unwrap_or(&Value::Null);
            let item = match single_type(root, items) {
                Some("array" | "object") => return Some(TextForm::Json),
                Some("string") | None => known_format_of(root, items),
                Some(other) => Some(describe_type(other)),
            };
            let choices = allowed_values(root, items).unwrap_or_default().into_iter().cloned().collect();
            Some(TextForm::List { item, choices })
        }
        "object" => Some(TextForm::Json),
        "string" => known_format_of(root, schema).map(TextForm::Scalar),
        _ => None,
    }
}

/// The one type of a schema beside null.
fn single_type<'v>(root: &'v Value, schema: &'v Value) -> Option<&'v str> {
    let declared = keyword_value(root, schema, "type")?;
    let all = declared.as_array().map_or(std::slice::from_ref(declared), Vec::as_slice);
    let mut types = all.iter().filter_map(Value::as_str).filter(|name| *name != "null");
    types.next().filter(|_| types.next().is_none())
}

fn known_format_of(root: &Value, schema: &Value) -> Option<&'static str> {
    keyword_value(root, schema, "format").and_then(Value::as_str).and_then(known_format)
}

/// The value of a keyword in a schema, else in its `$ref`, else in its `allOf`.
pub(super) fn keyword_value<'v>(root: &'v Value, schema: &'v Value, name: &str) -> Option<&'v Value> {
    let mut ahead = vec![schema];
    for _ in 0..MAX_REFERENCE_STEPS {
        let Some(schema) = ahead.pop()?.as_object() else { continue };
        if let Some(value) = keyword(schema, name) {
            return Some(value);
        }
        ahead.extend(all_of(schema).rev());
        ahead.extend(resolve_local_ref(root, schema));
    }
    None
}

/// The values that a schema below `root` allows, where it lists them.
pub fn allowed_values<'v>(root: &'v Value, schema: &'v Value) -> Option<Vec<&'v Value>> {
    ChoiceSearch { root, steps: 0 }.find(schema)
}

fn all_of(schema: &Map<String, Value>) -> impl DoubleEndedIterator<Item = &Value> {
    keyword(schema, "allOf").and_then(Value::as_array).into_iter().flatten()
}

struct ChoiceSearch<'v> {
    root: &'v Value,
    steps: usize,
}

impl<'v> ChoiceSearch<'v> {
    fn find(&mut self, schema: &'v Value) -> Option<Vec<&'v Value>> {
        const BOOLEANS: [&Value; 2] = [&Value::Bool(true), &Value::Bool(false)];
        self.steps += 1;
        let schema = schema.as_object().filter(|_| self.steps < MAX_REFERENCE_STEPS)?;
        if let Some(list) = keyword(schema, "enum").and_then(Value::as_array) {
            return Some(list.iter().collect());
        }
        if let Some(only) = keyword(schema, "const") {
            return Some(vec![only]);
        }
        if keyword(schema, "type").is_some_and(|name| name == "boolean") {
            return Some(BOOLEANS.to_vec());
        }
        let referenced = resolve_local_ref(self.root, schema).and_then(|schema| self.find(schema));
        let either = referenced.or_else(|| all_of(schema).find_map(|schema| self.find(schema)));
        either.or_else(|| ["oneOf", "anyOf"].iter().find_map(|key| self.find_in_all(keyword(schema, key)?.as_array()?)))
    }

    /// The values of all branches, where each lists them.
    fn find_in_all(&mut self, branches: &'v [Value]) -> Option<Vec<&'v Value>> {
        let each: Option<Vec<_>> = branches.iter().map(|branch| self.find(branch)).collect();
        each.map(|each| each.concat()).filter(|choices| !choices.is_empty())
    }
}
