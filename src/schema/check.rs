//! Whether a schema is one: each keyword against what it takes, with the exact place of every mistake.
//!
//! The meta-schema would say the same as a heap of `anyOf`; these words are for the author.

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::diagnostic::{nearest, quote_names};

use super::keyword::{KeywordValue, draft_from_uri, find_keyword};
use super::{describe, pointer};

/// How deeply schemas may nest.
pub(super) const MAX_DEPTH: usize = 64;
/// How many schemas one document and the files behind it may hold.
pub(super) const MAX_SUBSCHEMAS: usize = 10_000;

const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// A mistake at a place from the schema on that was checked.
pub(super) struct KeywordError {
    pub(super) tail: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl KeywordError {
    fn new(tail: impl Into<String>, message: impl Into<String>) -> KeywordError {
        KeywordError { tail: tail.into(), message: message.into(), help: None }
    }

    fn help(mut self, help: Option<String>) -> KeywordError {
        self.help = help;
        self
    }
}

/// Whether a value nests no deeper than `limit`; without recursion, as it guards what recurses.
pub(super) fn has_depth_within(value: &Value, limit: usize) -> bool {
    let mut stack = vec![(value, 0)];
    while let Some((value, depth)) = stack.pop() {
        if depth > limit {
            return false;
        }
        match value {
            Value::Array(list) => stack.extend(list.iter().map(|inner| (inner, depth + 1))),
            Value::Object(map) => stack.extend(map.values().map(|inner| (inner, depth + 1))),
            _ => {}
        }
    }
    true
}

/// The mistakes of one schema itself; not of those that stand in it, nor of its patterns.
pub(super) fn keyword_errors(schema: &Value, draft: Draft) -> Vec<KeywordError> {
    match schema {
        Value::Bool(_) => Vec::new(),
        Value::Object(schema) => {
            let known = schema.iter().filter_map(|(name, value)| Some((name, value, find_keyword(name, draft)?)));
            known
                .flat_map(|(name, value, keyword)| {
                    let tail = pointer::join("", name);
                    KeywordCheck { name, value, tail, draft }.errors(keyword.takes)
                })
                .collect()
        }
        other => {
            vec![KeywordError::new(
                "",
                format!("invalid schema: {}, expected an object or a boolean", describe::describe_value(other)),
            )]
        }
    }
}

struct KeywordCheck<'v> {
    name: &'v str,
    value: &'v Value,
    tail: String,
    draft: Draft,
}

impl KeywordCheck<'_> {
    fn errors(&self, takes: KeywordValue) -> Vec<KeywordError> {
        match takes {
            KeywordValue::Anything => Vec::new(),
            KeywordValue::Schema => self.schema(),
            KeywordValue::SchemaOrList => self.schema_or_list(),
            KeywordValue::Schemas => self.schemas(),
            KeywordValue::SchemaMap | KeywordValue::PatternMap => {
                self.map("a map of names to schemas", |_, _| Vec::new())
            }
            KeywordValue::Dependencies => self.map("a map of names to schemas or lists of names", |tail, value| {
                if value.is_array() { self.names(tail, value) } else { Vec::new() }
            }),
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
            KeywordValue::Names => self.names(self.tail.clone(), self.value),
            KeywordValue::NamesMap => {
                self.map("a map of names to lists of names", |tail, value| self.names(tail, value))
            }
            KeywordValue::Choices => self.choices(),
            KeywordValue::List => self.error_unless(self.value.is_array(), "a list"),
        }
    }

    fn unexpected(&self, takes: &str) -> KeywordError {
        KeywordError::new(
            &self.tail,
            format!("invalid `{}`: {}, expected {takes}", self.name, describe::describe_value(self.value)),
        )
    }

    fn error_unless(&self, right: bool, takes: &str) -> Vec<KeywordError> {
        if right { Vec::new() } else { vec![self.unexpected(takes)] }
    }

    fn schema(&self) -> Vec<KeywordError> {
        if self.value.is_object() || self.value.is_boolean() {
            return Vec::new();
        }
        let help = self.value.as_str().filter(|text| TYPES.contains(text));
        vec![self.unexpected("a schema").help(help.map(|name| format!("write `{{ type: {name} }}`")))]
    }

    fn schema_or_list(&self) -> Vec<KeywordError> {
        match (self.value, self.draft) {
            (Value::Array(_), Draft::Draft202012) => {
                let help = "write schemas by position in `prefixItems`; `items` applies to the rest";
                vec![self.unexpected("one schema").help(Some(help.to_owned()))]
            }
            (Value::Array(_), _) => Vec::new(),
            _ => self.schema(),
        }
    }

    fn schemas(&self) -> Vec<KeywordError> {
        let right = self.value.as_array().is_some_and(|list| !list.is_empty());
        self.error_unless(right, "a list of at least one schema")
    }

    fn map(&self, takes: &str, each: impl Fn(String, &Value) -> Vec<KeywordError>) -> Vec<KeywordError> {
        let Some(map) = self.value.as_object() else { return vec![self.unexpected(takes)] };
        map.iter().flat_map(|(key, value)| each(pointer::join(&self.tail, key), value)).collect()
    }

    fn types(&self) -> Vec<KeywordError> {
        match self.value {
            Value::String(name) => unknown_type(&self.tail, name).into_iter().collect(),
            Value::Array(list) if !list.is_empty() => {
                let mut mistakes = Vec::new();
                for (index, value) in list.iter().enumerate() {
                    let tail = format!("{}/{index}", self.tail);
                    if list.iter().take(index).any(|earlier| earlier == value) {
                        mistakes.push(KeywordError::new(
                            tail,
                            format!("duplicate value {}", describe::describe_value(value)),
                        ));
                    } else if let Value::String(name) = value {
                        mistakes.extend(unknown_type(&tail, name));
                    } else {
                        mistakes.push(not_a_type(tail, value));
                    }
                }
                mistakes
            }
            Value::Null => vec![not_a_type(self.tail.clone(), self.value)],
            _ => vec![self.unexpected("a type or a list of types")],
        }
    }

    fn number(&self) -> Vec<KeywordError> {
        let exclusive = self.value.is_boolean() && self.name.starts_with("exclusive");
        let help = exclusive.then(|| format!("write the limit itself: `{}: 10`", self.name));
        if self.value.is_number() { Vec::new() } else { vec![self.unexpected("a number").help(help)] }
    }

    fn text(&self) -> Vec<KeywordError> {
        let Some(text) = self.value.as_str() else { return vec![self.unexpected("a string")] };
        if self.name == "$schema" && draft_from_uri(text).is_none() {
            let message = format!("unsupported `$schema` {}", describe::quote_name(text));
            let help = "remove `$schema` for draft 2020-12; drafts 4, 6, 7, 2019-09 and 2020-12 are supported";
            return vec![KeywordError::new(&self.tail, message).help(Some(help.to_owned()))];
        }
        Vec::new()
    }

    fn names(&self, tail: String, value: &Value) -> Vec<KeywordError> {
        let Some(list) = value.as_array() else {
            let mistake = KeywordError::new(
                tail,
                format!("invalid `{}`: {}, expected a list of names", self.name, describe::describe_value(value)),
            );
            let help = "`required` is a list of property names beside `properties`";
            return vec![mistake.help((self.name == "required").then(|| help.to_owned()))];
        };
        let mut mistakes = Vec::new();
        for (index, name) in list.iter().enumerate() {
            let tail = format!("{tail}/{index}");
            if !name.is_string() {
                mistakes.push(KeywordError::new(
                    tail,
                    format!("invalid name: {}, expected a string", describe::describe_value(name)),
                ));
            } else if list.iter().take(index).any(|earlier| earlier == name) {
                mistakes.push(KeywordError::new(tail, format!("duplicate value {}", describe::describe_value(name))));
            }
        }
        mistakes
    }

    fn choices(&self) -> Vec<KeywordError> {
        match self.value.as_array() {
            None => vec![self.unexpected("a list of values")],
            Some(list) if list.is_empty() => {
                vec![KeywordError::new(&self.tail, "empty `enum` allows no value")]
            }
            Some(_) => Vec::new(),
        }
    }
}

fn is_count(value: &Value) -> bool {
    let exact = |number: f64| (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    value.as_u64().is_some() || (value.is_f64() && value.as_f64().is_some_and(exact))
}

fn not_a_type(tail: String, value: &Value) -> KeywordError {
    let help = value.is_null().then(|| "write the type in quotes: `\"null\"`".to_owned());
    KeywordError::new(tail, format!("invalid type: {}", describe::describe_value(value))).help(help)
}

fn unknown_type(tail: &str, name: &str) -> Option<KeywordError> {
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
    Some(KeywordError::new(tail, message).help(meant.map(|meant| format!("did you mean `{meant}`?"))))
}

/// Whether `schema` is one that says which values of a type it takes.
pub(super) fn declared_types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
