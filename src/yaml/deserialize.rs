//! Deserializes a tree into serde types without stopping: every error is reported at its location, and a placeholder
//! replaces the value, so that later errors are found in the same run.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::U64Deserializer;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::Value;

use super::access::{EntryAccess, EnumVariantAccess, ListAccess, SpannedAccess};
use super::document::{Document, Location, MapEntry, Node, NodeId, NodeKind, ScalarNode};
use super::missing_space::report_missing_space;
use super::quantity;
use crate::diagnostic::{Code, Report, nearest, quote_names};

/// The serde name of [`Spanned`](super::Spanned).
const SPANNED: &str = "$Spanned";
/// The serde name of an enum whose variants are kinds of YAML (`text`, `list`, `map`, …), not values.
const KIND_ENUM: &str = "$kind";

/// The longest invalid value that messages show.
const MAX_SHOWN_BYTES: usize = 32;

/// An example of the value of a key, by the name of the key; `KEY.*` is that of an entry of the map under `KEY`.
pub type ExampleOf = fn(&str) -> Option<&'static str>;

/// Deserializes a whole document, and shows the examples of `example_of` where a value has another type.
pub fn from_document_with_examples<T: for<'de> Deserialize<'de>>(
    document: &Document,
    example_of: ExampleOf,
    report: &mut Report,
) -> Option<T> {
    deserialize_node(document, document.root(), example_of, report)
}

/// Deserializes a whole document. After an error the result holds placeholders, good only for finding more errors.
pub fn from_document<T: for<'de> Deserialize<'de>>(document: &Document, report: &mut Report) -> Option<T> {
    deserialize_node(document, document.root(), |_| None, report)
}

fn deserialize_node<T: for<'de> Deserialize<'de>>(
    document: &Document,
    node: NodeId,
    example_of: ExampleOf,
    report: &mut Report,
) -> Option<T> {
    let report = RefCell::new(report);
    let key = ParentKey { name: "", is_entry: false };
    T::deserialize(NodeDeserializer { document, report: &report, node, key, example_of, is_placeholder: false }).ok()
}

/// The key of the struct field that a node belongs to.
#[derive(Clone, Copy)]
pub(super) struct ParentKey {
    pub(super) name: &'static str,
    /// Whether the node is an entry of the map under the key.
    pub(super) is_entry: bool,
}

/// An error of a visitor, to be reported at its location; without a message, one that is reported already.
#[derive(Debug, thiserror::Error)]
#[error("{}", message.as_deref().unwrap_or("reported"))]
pub(super) struct DeserializeError {
    message: Option<String>,
}

impl de::Error for DeserializeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        DeserializeError { message: Some(message.to_string()) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct NodeDeserializer<'a, 'r> {
    pub(super) document: &'a Document,
    pub(super) report: &'a RefCell<&'r mut Report>,
    pub(super) node: NodeId,
    pub(super) key: ParentKey,
    pub(super) example_of: ExampleOf,
    /// Reads as null without errors: the error is reported already.
    pub(super) is_placeholder: bool,
}

/// What a value should be.
#[derive(Clone, Copy)]
enum Expected<'e> {
    /// A list or a map, or one of several kinds of which the first is one of these.
    Collection(&'e str),
    Text,
    Other(&'e str),
}

impl<'a, 'r> NodeDeserializer<'a, 'r> {
    pub(super) fn location(&self) -> Location {
        self.document.location(self.node)
    }

    pub(super) fn kind(&self) -> Option<&'a NodeKind> {
        if self.is_placeholder {
            return None;
        }
        self.document.node(self.node).map(|Node { kind, .. }| kind)
    }

    pub(super) fn child(&self, node: NodeId) -> Self {
        NodeDeserializer { node, ..*self }
    }

    pub(super) fn value(&self) -> &'a Value {
        match self.kind() {
            Some(NodeKind::Scalar(scalar)) => &scalar.value,
            _ => &Value::Null,
        }
    }

    /// The kind of the node, for messages.
    fn describe(&self) -> String {
        match self.kind() {
            Some(NodeKind::List(_)) => "a list".to_owned(),
            Some(NodeKind::Map(_)) => "a map".to_owned(),
            Some(NodeKind::Scalar(ScalarNode { value: Value::Null, .. })) | None => "null".to_owned(),
            Some(NodeKind::Scalar(ScalarNode { value: Value::String(_), .. })) => "a string".to_owned(),
            Some(NodeKind::Scalar(scalar)) => format!("`{}`", scalar.text()),
        }
    }

    fn wrong_type(&self, expected: Expected<'_>) {
        if self.is_placeholder {
            return;
        }
        let words = match expected {
            Expected::Collection(words) | Expected::Other(words) => words,
            Expected::Text => "a string",
        };
        let message = format!("expected {words}, found {}", self.describe());
        let mut report = self.report.borrow_mut();
        if matches!(expected, Expected::Collection(_)) && report_missing_space(self.location().span(), &mut report) {
            return;
        }
        let diagnostic = report.error(Code::WrongType, self.location(), message);
        let ParentKey { name, is_entry } = self.key;
        let example = if is_entry { (self.example_of)(&format!("{name}.*")) } else { (self.example_of)(name) };
        // The same key has another shape elsewhere.
        let is_other = |example: &&str| matches!(expected, Expected::Text) && example.contains(": {");
        if let Some(example) = example.filter(|example| !is_other(example)) {
            diagnostic.help(format!("for example `{example}`"));
        }
    }

    /// Completes the report of a boolean of YAML 1.1, or of one in quotes.
    fn suggest_bool(&self) {
        let meant = match self.value().as_str().map(str::to_lowercase).as_deref() {
            Some("yes" | "on" | "true") => "true",
            Some("no" | "off" | "false") => "false",
            _ => return,
        };
        let mut report = self.report.borrow_mut();
        if let Some(diagnostic) = report.last_mut() {
            diagnostic.help(format!("write `{meant}`")).fix(self.location().span(), meant);
        }
    }

    /// Reports the error of a visitor, unless it is reported already.
    pub(super) fn report_error(&self, error: &DeserializeError) -> DeserializeError {
        if let Some(message) = error.message.as_ref().filter(|_| !self.is_placeholder) {
            self.report.borrow_mut().error(Code::BadValue, self.location(), message.clone());
        }
        DeserializeError { message: None }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.kind(), Some(NodeKind::Scalar(ScalarNode { value: Value::Null, .. })) | None)
    }

    fn items(&self) -> &'a [NodeId] {
        match self.kind() {
            Some(NodeKind::List(items)) => items,
            _ => {
                self.wrong_type(Expected::Collection("a list"));
                &[]
            }
        }
    }

    fn entries(&self) -> &'a [MapEntry] {
        match self.kind() {
            Some(NodeKind::Map(entries)) => entries,
            _ => {
                self.wrong_type(Expected::Collection("a map"));
                if !self.is_placeholder {
                    self.report.borrow_mut().mark_incomplete(self.location().span());
                }
                &[]
            }
        }
    }

    fn quantity(&self, units: &quantity::Units) -> u64 {
        let text = match self.kind() {
            Some(NodeKind::Scalar(scalar)) => scalar.text(),
            _ => "",
        };
        units.parse(text).unwrap_or_else(|| {
            match self.kind() {
                Some(NodeKind::Scalar(ScalarNode { value: Value::String(text), .. }))
                    if text.len() <= MAX_SHOWN_BYTES =>
                {
                    let message = format!("expected {}, found `{text}`", units.expected);
                    self.report.borrow_mut().error(Code::WrongType, self.location(), message);
                }
                _ => self.wrong_type(Expected::Other(units.expected)),
            }
            if let (Some(near), Some(diagnostic)) = (units.nearest(text), self.report.borrow_mut().last_mut()) {
                // A wait between attempts may well be one of milliseconds.
                if self.key.name == "backoff" && text.bytes().all(|byte| byte.is_ascii_digit()) {
                    diagnostic
                        .help(format!("did you mean `{near}`, or `{text}ms`?"))
                        .suggest(self.location().span(), near);
                } else {
                    diagnostic.help(format!("write `{near}`")).fix(self.location().span(), near);
                }
            }
            0
        })
    }

    fn integer<N: TryFrom<i128> + Default>(&self, expected: &str) -> N {
        let value = self.value();
        let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        number.and_then(|number| N::try_from(number).ok()).unwrap_or_else(|| {
            self.wrong_type(Expected::Other(expected));
            N::default()
        })
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty, $expected:literal;)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            visitor.$visit(self.integer::<$type>($expected))
        }
    )+};
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_, '_> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.kind() {
            Some(NodeKind::List(_)) => self.deserialize_seq(visitor),
            Some(NodeKind::Map(_)) => self.deserialize_map(visitor),
            _ => match self.value() {
                Value::Bool(value) => visitor.visit_bool(*value),
                Value::Number(number) => number.deserialize_any(visitor).map_err(de::Error::custom),
                Value::String(text) => visitor.visit_str(text),
                _ => visitor.visit_unit(),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if let Value::Bool(value) = self.value() {
            return visitor.visit_bool(*value);
        }
        self.wrong_type(Expected::Other("`true` or `false`"));
        self.suggest_bool();
        visitor.visit_bool(false)
    }

    integers! {
        deserialize_i8 visit_i8 i8, "an integer from -128 to 127";
        deserialize_i16 visit_i16 i16, "an integer from -32768 to 32767";
        deserialize_i32 visit_i32 i32, "an integer";
        deserialize_i64 visit_i64 i64, "an integer";
        deserialize_u8 visit_u8 u8, "an integer from 0 to 255";
        deserialize_u16 visit_u16 u16, "an integer from 0 to 65535";
        deserialize_u32 visit_u32 u32, "a non-negative integer";
        deserialize_u64 visit_u64 u64, "a non-negative integer";
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let number = self.value().as_f64();
        if number.is_none() {
            self.wrong_type(Expected::Other("a number"));
        }
        visitor.visit_f64(number.unwrap_or_default())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.kind() {
            // A plain `1.10` or `no` keeps its spelling where a string is expected.
            Some(NodeKind::Scalar(scalar)) if !scalar.value.is_null() => visitor.visit_str(scalar.text()),
            _ => {
                self.wrong_type(Expected::Text);
                visitor.visit_str("")
            }
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match quantity::units_of_type(name) {
            Some(units) => visitor.visit_newtype_struct(U64Deserializer::new(self.quantity(units))),
            None => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_seq(ListAccess { reader: self, items: self.items().iter() })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match name {
            SPANNED => {
                let parts = SpannedAccess { location: Some(self.location()), value: Some(self) };
                visitor.visit_seq(parts).map_err(|error| self.report_error(&error))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        // A section whose entries are all comments: `tools:`.
        let entries = if self.is_null() { &[] } else { self.entries() };
        visitor.visit_map(EntryAccess::new(self, entries, None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        // A map of which every key is optional may be empty: `ui:`.
        let entries = if self.is_null() { &[] } else { self.entries() };
        visitor.visit_map(EntryAccess::new(self, entries, Some(known)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        let variant_name =
            if name == KIND_ENUM { self.variant_by_kind(variants) } else { self.variant_by_name(variants) };
        let simplest =
            || variants.iter().find(|variant| **variant == "text").or(variants.first()).copied().unwrap_or_default();
        let reader = NodeDeserializer { is_placeholder: self.is_placeholder || variant_name.is_none(), ..self };
        visitor.visit_enum(EnumVariantAccess { reader, variant: variant_name.unwrap_or_else(simplest) })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit_struct tuple }
}

impl NodeDeserializer<'_, '_> {
    /// The variant that is named like the kind of the node.
    fn variant_by_kind(&self, variants: &'static [&'static str]) -> Option<&'static str> {
        let names: &[&str] = match (self.kind(), self.value()) {
            (Some(NodeKind::List(_)), _) => &["list"],
            (Some(NodeKind::Map(_)), _) => &["map"],
            (_, Value::Bool(_)) => &["bool", "text", "scalar"],
            (_, Value::Number(_)) => &["number", "text", "scalar"],
            (_, Value::String(_)) => &["text", "scalar"],
            _ => &["null"],
        };
        let variant_name = variants.iter().find(|variant| names.contains(variant)).copied();
        if variant_name.is_none() {
            let expected: Vec<&str> = variants.iter().map(|variant| describe_kind(variant)).collect();
            let words = expected.join(" or ");
            let is_collection = matches!(variants.first(), Some(&"list" | &"map"));
            self.wrong_type(if is_collection { Expected::Collection(&words) } else { Expected::Other(&words) });
        }
        variant_name
    }

    fn variant_by_name(&self, variants: &'static [&'static str]) -> Option<&'static str> {
        let text = match self.kind() {
            Some(NodeKind::Scalar(scalar)) if !scalar.value.is_null() => scalar.text(),
            _ => {
                self.wrong_type(Expected::Other(&format!("one of {}", quote_names(variants))));
                return None;
            }
        };
        let exact = variants.iter().find(|variant| **variant == text).copied();
        if exact.is_some() {
            return exact;
        }
        let message = format!("invalid value `{text}`, expected one of {}", quote_names(variants));
        let (at, same) = (self.location(), variants.iter().find(|variant| variant.eq_ignore_ascii_case(text)));
        let mut report = self.report.borrow_mut();
        let diagnostic = report.error(Code::BadValue, at, message);
        match same {
            Some(same) => diagnostic.help(format!("write `{same}`")).fix(at.span(), *same),
            None => diagnostic.did_you_mean(text, variants.iter().copied()),
        };
        report.mark_unread(at.span());
        // What it was meant to be is checked further.
        same.copied().or_else(|| nearest(text, variants.iter().copied()))
    }
}

fn describe_kind(variant: &str) -> &'static str {
    match variant {
        "list" => "a list",
        "map" => "a map",
        "bool" => "`true` or `false`",
        "number" => "a number",
        _ => "a string",
    }
}
