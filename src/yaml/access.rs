//! Access to lists, maps and enums for the deserializer, and the report of unknown keys.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::deserialize::{DeserializeError, NodeDeserializer, ParentKey};
use super::document::{Location, MapEntry, NodeId};
use super::key_synonyms::{correct_key, remark};
use super::missing_space::key_without_space;
use crate::diagnostic::{Code, Span, nearest, quote_names};

/// How many known keys the help for an unknown one lists.
const MAX_LISTED_KEYS: usize = 20;

/// A location and then the value there, as [`Spanned`](super::Spanned) reads them.
pub(super) struct SpannedAccess<D> {
    pub(super) location: Option<Location>,
    pub(super) value: Option<D>,
}

impl<'de, D: Deserializer<'de, Error = DeserializeError>> SeqAccess<'de> for SpannedAccess<D> {
    type Error = DeserializeError;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DeserializeError> {
        if let Some(Location { file, node, start, end }) = self.location.take() {
            return seed.deserialize(SeqDeserializer::new([file.0, node, start, end].into_iter())).map(Some);
        }
        self.value.take().map(|value| seed.deserialize(value)).transpose()
    }
}

/// The items of a list; the error of an item is reported at the item.
pub(super) struct ListAccess<'a, 'r> {
    pub(super) reader: NodeDeserializer<'a, 'r>,
    pub(super) items: std::slice::Iter<'a, NodeId>,
}

impl<'de> SeqAccess<'de> for ListAccess<'_, '_> {
    type Error = DeserializeError;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DeserializeError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let reader = self.reader.child(*item);
        seed.deserialize(reader).map(Some).map_err(|error| reader.report_error(&error))
    }
}

/// The entries of a map, or of a struct. An unknown key is reported; one that is near to a missing key is read as that
/// key, so that its value is checked.
pub(super) struct EntryAccess<'a, 'r> {
    pub(super) reader: NodeDeserializer<'a, 'r>,
    pub(super) all: &'a [MapEntry],
    pub(super) entries: std::slice::Iter<'a, MapEntry>,
    pub(super) known: Option<&'static [&'static str]>,
    pub(super) corrected_keys: Vec<&'static str>,
    /// The keys as written, from the first unknown one on: each of many unknown keys asks for them.
    written_keys: OnceCell<HashSet<&'a str>>,
    pub(super) value: Option<NodeId>,
    pub(super) key: Option<NodeId>,
}

impl<'a, 'r> EntryAccess<'a, 'r> {
    pub(super) fn new(
        reader: NodeDeserializer<'a, 'r>,
        all: &'a [MapEntry],
        known: Option<&'static [&'static str]>,
    ) -> EntryAccess<'a, 'r> {
        EntryAccess {
            reader,
            all,
            entries: all.iter(),
            known,
            corrected_keys: Vec::new(),
            written_keys: OnceCell::new(),
            value: None,
            key: None,
        }
    }

    /// The field of a struct that a key names, or was meant to name.
    fn field(&mut self, entry: MapEntry, known: &'static [&'static str]) -> Option<&'static str> {
        let key = self.reader.document.key_text(entry.key);
        if let Some(same) = known.iter().find(|known| **known == key) {
            return Some(same);
        }
        if key.starts_with("x-") {
            return None;
        }
        self.report_unknown(key, self.reader.document.location(entry.key), known);
        let near = || nearest(key, known.iter().copied()).filter(|_| remark(key, known).is_none());
        let meant = correct_key(key, known).or_else(near);
        let is_joined = key_without_space(key).is_some();
        let Some(meant) = meant.filter(|meant| !is_joined && !self.is_taken(meant)) else {
            self.reader.report.borrow_mut().mark_incomplete(self.reader.location().span());
            return None;
        };
        self.corrected_keys.push(meant);
        Some(meant)
    }

    /// Whether a key is written beside this one, or another one is read as it.
    fn is_taken(&self, name: &str) -> bool {
        let document = self.reader.document;
        let keys = || self.all.iter().map(|other| document.key_text(other.key)).collect();
        self.corrected_keys.contains(&name) || self.written_keys.get_or_init(keys).contains(name)
    }

    fn report_unknown(&self, key: &str, at: Location, known: &'static [&'static str]) {
        // Without quotes or escapes.
        let is_plain = self.reader.report.borrow().sources.text_of(at.span()) == key;
        let joined = key_without_space(key).filter(|key| known.contains(key));
        let colon = at.span().start as usize + joined.map_or(0, str::len);
        let mut report = self.reader.report.borrow_mut();
        let diagnostic = report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        match correct_key(key, known) {
            _ if joined.is_some() => {
                let colon = Span::new(at.span().file, colon, colon + 1);
                diagnostic.help(format!("write a space after `{}:`", joined.unwrap_or_default())).fix(colon, ": ")
            }
            Some(name) if self.corrected_keys.contains(&name) => {
                diagnostic.help(format!("remove it: another key is read as `{name}`"))
            }
            Some(name) if self.is_taken(name) => diagnostic.help(format!("remove it: `{name}` is there already")),
            Some(name) => diagnostic.help(format!("write `{name}`")).suggest(at.span(), name),
            None if remark(key, known).is_some() => diagnostic.help(remark(key, known).unwrap_or_default()),
            None => diagnostic.did_you_mean(key, known.iter().copied().filter(|name| !self.is_taken(name))),
        };
        if let Some(fix) = diagnostic.fix.as_mut() {
            fix.is_certain = is_plain && !JSON_SCHEMA_KEYS.contains(&key);
        }
        if diagnostic.help.is_none() && !known.is_empty() {
            let more = if known.len() > MAX_LISTED_KEYS { ", …" } else { "" };
            diagnostic
                .help(format!("expected one of {}{more}", quote_names(known.get(..MAX_LISTED_KEYS).unwrap_or(known))));
        }
    }
}

/// Keys of JSON Schema that an author may have put beside the place where they belong, and so did not misspell.
const JSON_SCHEMA_KEYS: [&str; 3] = ["required", "properties", "type"];

impl<'de> MapAccess<'de> for EntryAccess<'_, '_> {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DeserializeError> {
        while let Some(entry) = self.entries.next() {
            let Some(known) = self.known else {
                self.value = Some(entry.value);
                self.key = Some(entry.key);
                self.reader.key.is_entry = true;
                return seed.deserialize(KeyDeserializer(self.reader.child(entry.key))).map(Some);
            };
            if let Some(field) = self.field(*entry, known) {
                self.value = Some(entry.value);
                self.key = Some(entry.key);
                self.reader.key = ParentKey { name: field, is_entry: false };
                return seed.deserialize(StrDeserializer::new(field)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DeserializeError> {
        let reader = self.reader.child(self.value.take().unwrap_or(self.reader.node));
        let value = seed.deserialize(reader).map_err(|error| reader.report_error(&error));
        if let Some(key) = self.key.take() {
            // What a map lacks is often reported at its key.
            let mut report = self.reader.report.borrow_mut();
            if report.is_incomplete(reader.location().span()) {
                report.mark_incomplete(self.reader.document.location(key).span());
            }
        }
        value
    }
}

/// A key: its text as written, even where a plain scalar of that spelling has another type.
struct KeyDeserializer<'a, 'r>(NodeDeserializer<'a, 'r>);

impl<'de> Deserializer<'de> for KeyDeserializer<'_, '_> {
    type Error = DeserializeError;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_str(self.0.document.key_text(self.0.node))
    }
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_seq(SpannedAccess { location: Some(self.0.location()), value: Some(self) })
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.0.deserialize_enum(name, variants, visitor)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple map struct identifier ignored_any
    }
}

pub(super) struct EnumVariantAccess<'a, 'r> {
    pub(super) reader: NodeDeserializer<'a, 'r>,
    pub(super) variant: &'static str,
}

impl<'de, 'a, 'r> EnumAccess<'de> for EnumVariantAccess<'a, 'r> {
    type Error = DeserializeError;
    type Variant = VariantContent<'a, 'r>;
    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, VariantContent<'a, 'r>), DeserializeError> {
        Ok((seed.deserialize(StrDeserializer::<DeserializeError>::new(self.variant))?, VariantContent(self.reader)))
    }
}

pub(super) struct VariantContent<'a, 'r>(NodeDeserializer<'a, 'r>);

impl<'de> VariantAccess<'de> for VariantContent<'_, '_> {
    type Error = DeserializeError;
    fn unit_variant(self) -> Result<(), DeserializeError> {
        Ok(())
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DeserializeError> {
        seed.deserialize(self.0)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, DeserializeError> {
        self.0.deserialize_seq(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.0.deserialize_struct("", fields, visitor)
    }
}
