//! Parts of an input schema that the API of a client's model refuses, and often the whole request with it.

use serde::Serialize;
use serde_json::{Map, Value};

/// What is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::catalog) enum RefusedSchema {
    /// A list without `items`.
    ListWithoutItems,
    /// An `enum` with values that are not texts.
    OtherChoices,
    /// `$ref`.
    Reference,
    /// A name in `required` that is not in `properties`.
    UnknownRequired,
    /// A property without `type`.
    UntypedProperty,
    /// An object without `properties` as the whole schema.
    NoProperties,
}

impl RefusedSchema {
    /// What of a schema is refused, in words; none if nothing is.
    pub(in crate::catalog) fn find(self, schema: &Map<String, Value>) -> Vec<String> {
        if self == RefusedSchema::NoProperties {
            return if schema.contains_key("properties") { Vec::new() } else { vec!["no `properties`".to_owned()] };
        }
        let mut found = Vec::new();
        let mut open = vec![("the schema".to_owned(), schema, false)];
        while let Some((place, schema, is_property)) = open.pop() {
            found.extend(self.find_here(&place, schema, is_property));
            open.extend(subschemas(&place, schema));
        }
        found.sort();
        found.dedup();
        found
    }

    fn find_here(self, place: &str, schema: &Map<String, Value>, is_property: bool) -> Option<String> {
        let has = |key: &str| schema.contains_key(key);
        match self {
            RefusedSchema::ListWithoutItems => {
                let is_list = |kind: &Value| kind == "array";
                let is_list = schema.get("type").is_some_and(|types| match types {
                    Value::Array(types) => types.iter().any(is_list),
                    kind => is_list(kind),
                });
                (is_list && !has("items")).then(|| format!("no `items` in {place}"))
            }
            RefusedSchema::OtherChoices => {
                let choices = schema.get("enum").and_then(Value::as_array)?;
                choices
                    .iter()
                    .any(|choice| !choice.is_string())
                    .then(|| format!("an `enum` of other values than texts in {place}"))
            }
            RefusedSchema::Reference => has("$ref").then(|| format!("`$ref` in {place}")),
            RefusedSchema::UnknownRequired => {
                let properties = schema.get("properties").and_then(Value::as_object);
                let is_known = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
                let names = schema.get("required").and_then(Value::as_array)?.iter().filter_map(Value::as_str);
                let unknown = names.into_iter().find(|name| !is_known(name))?;
                Some(format!("`{unknown}` is `required` and not in `properties` of {place}"))
            }
            RefusedSchema::UntypedProperty => {
                let is_typed = ["type", "anyOf", "oneOf", "allOf", "$ref"].into_iter().any(has);
                (is_property && !is_typed).then(|| format!("no `type` in {place}"))
            }
            RefusedSchema::NoProperties => None,
        }
    }

    /// What to do about it.
    pub(in crate::catalog) fn help(self) -> &'static str {
        match self {
            RefusedSchema::ListWithoutItems => "say what the items are, such as `items: { type: string }`",
            RefusedSchema::OtherChoices => {
                "write the choices as texts, or leave `enum` out and name them in `description`"
            }
            RefusedSchema::Reference => "write the schema in the place where it is used",
            RefusedSchema::UnknownRequired => "describe it in `properties`, or take it out of `required`",
            RefusedSchema::UntypedProperty => "write `type`",
            RefusedSchema::NoProperties => "write `properties: {}`",
        }
    }
}

/// The schemas in a schema: their place in words, and whether each is that of a property.
fn subschemas<'s>(place: &str, schema: &'s Map<String, Value>) -> Vec<(String, &'s Map<String, Value>, bool)> {
    let mut subschemas = Vec::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                let inner = named
                    .iter()
                    .filter_map(|(name, inner)| Some((format!("`{name}`"), inner.as_object()?, key == "properties")));
                subschemas.extend(inner);
            }
            ("items" | "additionalProperties", Value::Object(inner)) => {
                subschemas.push((place.to_owned(), inner, false))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(parts)) => {
                subschemas.extend(parts.iter().filter_map(|part| Some((place.to_owned(), part.as_object()?, false))));
            }
            _ => {}
        }
    }
    subschemas
}
