//! Checks each keyword of a schema, with messages that are clearer than those of the meta-schema.

use std::collections::HashSet;

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::diagnostic::{nearest, quote_names};

use super::keyword::{KeywordValue, draft_from_uri, find_keyword};
use super::{SchemaError, describe};
use crate::yaml::pointer;

/// The deepest nesting of schemas.
pub(super) const MAX_DEPTH: usize = 64;
/// How many schemas a document and its files may contain.
pub(super) const MAX_SUBSCHEMAS: usize = 10_000;

const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// Whether a value nests no deeper than `limit`; without recursion, as it guards recursive code.
pub(super) fn has_depth_within(value: &Value, limit: usize) -> bool {
    let (mut next, mut rest) = (Some((value, 0)), Vec::new());
    while let Some((value, depth)) = next.or_else(|| rest.pop()) {
        next = None;
        let is_empty = match value {
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => true,
        };
        if depth > limit || depth == limit && !is_empty {
            return false;
        }
        // What has nothing in it has been looked at with that.
        let is_container = |inner: &&Value| inner.is_array() || inner.is_object();
        match value {
            Value::Array(list) => rest.extend(list.iter().filter(is_container).map(|inner| (inner, depth + 1))),
            Value::Object(map) => rest.extend(map.values().filter(is_container).map(|inner| (inner, depth + 1))),
            _ => {}
        }
    }
    true
}

/// The errors of one schema itself, without its subschemas and patterns.
pub(super) fn keyword_errors(schema: &Value, draft: Draft) -> Vec<SchemaError> {
    match schema {
        Value::Bool(_) => Vec::new(),
        Value::Object(schema) => {
            let keywords = schema.iter().filter_map(|(name, value)| Some((name, value, find_keyword(name, draft)?)));
            keywords
                .flat_map(|(name, value, keyword)| {
                    let pointer_suffix = pointer::join("", name);
                    KeywordCheck { name, value, pointer_suffix, draft }.errors(keyword.value_kind)
                })
                .collect()
        }
        other => {
            vec![SchemaError::new(
                "",
                format!("invalid schema: {}, expected an object or a boolean", describe::describe_value(other)),
            )]
        }
    }
}

struct KeywordCheck<'v> {
    name: &'v str,
    value: &'v Value,
    pointer_suffix: String,
    draft: Draft,
}

impl KeywordCheck<'_> {
    fn errors(&self, value_kind: KeywordValue) -> Vec<SchemaError> {
        match value_kind {
            KeywordValue::Anything => Vec::new(),
            KeywordValue::Schema => self.schema(),
            KeywordValue::SchemaOrList => self.schema_or_list(),
            KeywordValue::Schemas => self.schemas(),
            KeywordValue::SchemaMap | KeywordValue::PatternMap => {
                self.map("a map of names to schemas", |_, _| Vec::new())
            }
            KeywordValue::Dependencies => {
                self.map("a map of names to schemas or lists of names", |pointer_suffix, value| {
                    if value.is_array() { self.names(pointer_suffix, value) } else { Vec::new() }
                })
            }
            KeywordValue::Types => self.types(),
            KeywordValue::Count => self.error_unless(is_count(self.value), "a non-negative integer"),
            KeywordValue::Limit if self.draft == Draft::Draft4 => {
                self.error_unless(self.value.is_boolean(), "true or false")
            }
            KeywordValue::Number | KeywordValue::Limit => self.number(),
            KeywordValue::Positive => {
                self.error_unless(self.value.as_f64().is_some_and(|number| number > 0.0), "a number greater than 0")
            }
            KeywordValue::Text => self.text(),
            KeywordValue::Pattern => self.error_unless(self.value.is_string(), "a regular expression"),
            KeywordValue::Flag => self.error_unless(self.value.is_boolean(), "true or false"),
            KeywordValue::Names => self.names(self.pointer_suffix.clone(), self.value),
            KeywordValue::NamesMap => {
                self.map("a map of names to lists of names", |pointer_suffix, value| self.names(pointer_suffix, value))
            }
            KeywordValue::Choices => self.choices(),
            KeywordValue::List => self.error_unless(self.value.is_array(), "a list"),
        }
    }

    fn unexpected(&self, value_kind: &str) -> SchemaError {
        SchemaError::new(
            &self.pointer_suffix,
            format!("invalid `{}`: {}, expected {value_kind}", self.name, describe::describe_value(self.value)),
        )
    }

    fn error_unless(&self, right: bool, value_kind: &str) -> Vec<SchemaError> {
        if right { Vec::new() } else { vec![self.unexpected(value_kind)] }
    }

    fn schema(&self) -> Vec<SchemaError> {
        if self.value.is_object() || self.value.is_boolean() {
            return Vec::new();
        }
        let help = self.value.as_str().filter(|text| TYPES.contains(text));
        vec![self.unexpected("a schema").optional_help(help.map(|name| format!("write `{{ type: {name} }}`")))]
    }

    fn schema_or_list(&self) -> Vec<SchemaError> {
        match (self.value, self.draft) {
            (Value::Array(_), Draft::Draft202012) => {
                let help = "write schemas by position in `prefixItems`; `items` applies to the rest";
                vec![self.unexpected("one schema").help(help)]
            }
            (Value::Array(_), _) => Vec::new(),
            _ => self.schema(),
        }
    }

    fn schemas(&self) -> Vec<SchemaError> {
        let right = self.value.as_array().is_some_and(|list| !list.is_empty());
        self.error_unless(right, "a list of at least one schema")
    }

    fn map(&self, value_kind: &str, each: impl Fn(String, &Value) -> Vec<SchemaError>) -> Vec<SchemaError> {
        let Some(map) = self.value.as_object() else { return vec![self.unexpected(value_kind)] };
        let errors = map.iter().flat_map(|(key, value)| each(pointer::join(&self.pointer_suffix, key), value));
        errors.take(describe::MAX_ITEM_ERRORS).collect()
    }

    fn types(&self) -> Vec<SchemaError> {
        match self.value {
            Value::Array(list) if !list.is_empty() => unique_items(&self.pointer_suffix, list, type_error),
            Value::String(_) | Value::Null => type_error(self.pointer_suffix.clone(), self.value).into_iter().collect(),
            _ => vec![self.unexpected("a type or a list of types")],
        }
    }

    fn number(&self) -> Vec<SchemaError> {
        let exclusive = self.value.is_boolean() && self.name.starts_with("exclusive");
        let help = exclusive.then(|| format!("write the limit itself: `{}: 10`", self.name));
        if self.value.is_number() { Vec::new() } else { vec![self.unexpected("a number").optional_help(help)] }
    }

    fn text(&self) -> Vec<SchemaError> {
        let Some(text) = self.value.as_str() else { return vec![self.unexpected("a string")] };
        if self.name == "$schema" && draft_from_uri(text).is_none() {
            let message = format!("unsupported `$schema` {}", describe::quote_name(text));
            let help = "remove `$schema` for draft 2020-12; drafts 4, 6, 7, 2019-09 and 2020-12 are supported";
            return vec![SchemaError::new(self.pointer_suffix.as_str(), message).help(help)];
        }
        Vec::new()
    }

    fn names(&self, pointer_suffix: String, value: &Value) -> Vec<SchemaError> {
        let Some(list) = value.as_array() else {
            let error = SchemaError::new(
                pointer_suffix,
                format!("invalid `{}`: {}, expected a list of names", self.name, describe::describe_value(value)),
            );
            let help = "`required` is a list of property names beside `properties`";
            return vec![error.optional_help((self.name == "required").then_some(help))];
        };
        unique_items(&pointer_suffix, list, |pointer_suffix, name| {
            let message = || format!("invalid name: {}, expected a string", describe::describe_value(name));
            (!name.is_string()).then(|| SchemaError::new(pointer_suffix, message()))
        })
    }

    fn choices(&self) -> Vec<SchemaError> {
        match self.value.as_array() {
            None => vec![self.unexpected("a list of values")],
            Some(list) if list.is_empty() => {
                vec![SchemaError::new(self.pointer_suffix.as_str(), "empty `enum` allows no value")]
            }
            Some(_) => Vec::new(),
        }
    }
}

fn is_count(value: &Value) -> bool {
    let exact = |number: f64| (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    value.as_u64().is_some() || (value.is_f64() && value.as_f64().is_some_and(exact))
}

/// The errors of the items of a list, which must be unique.
fn unique_items(
    pointer_suffix: &str,
    list: &[Value],
    item_error: impl Fn(String, &Value) -> Option<SchemaError>,
) -> Vec<SchemaError> {
    let mut seen = HashSet::new();
    let errors = list.iter().enumerate().filter_map(|(index, item)| {
        let pointer_suffix = format!("{pointer_suffix}/{index}");
        let is_duplicate = !seen.insert(item);
        let duplicate =
            || SchemaError::new(pointer_suffix.as_str(), format!("duplicate value {}", describe::describe_value(item)));
        item_error(pointer_suffix.clone(), item).or_else(|| is_duplicate.then(duplicate))
    });
    errors.take(describe::MAX_ITEM_ERRORS).collect()
}

fn type_error(pointer_suffix: String, value: &Value) -> Option<SchemaError> {
    let Some(name) = value.as_str() else {
        let help = value.is_null().then_some("write the type in quotes: `\"null\"`");
        return Some(
            SchemaError::new(pointer_suffix, format!("invalid type: {}", describe::describe_value(value)))
                .optional_help(help),
        );
    };
    if TYPES.contains(&name) {
        return None;
    }
    let meant = match name.to_ascii_lowercase().as_str() {
        "str" | "text" => Some("string"),
        "int" | "long" => Some("integer"),
        "float" | "double" | "decimal" => Some("number"),
        "bool" => Some("boolean"),
        "list" | "tuple" => Some("array"),
        "dict" | "map" | "record" => Some("object"),
        "none" | "nil" => Some("null"),
        _ => nearest(name, TYPES.iter().copied()),
    };
    let message = format!("unknown type {}, expected one of {}", describe::quote_name(name), quote_names(TYPES));
    Some(SchemaError::new(pointer_suffix, message).optional_help(meant.map(|meant| format!("did you mean `{meant}`?"))))
}

/// The types that a schema declares.
pub(super) fn declared_types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
