//! How the reader walks through lists, maps and enums, and what it does with keys that nobody knows.

use serde::de::value::{StrDeserializer, U32Deserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::document::{At, Entry, NodeId};
use super::read::{Fault, Reader, listed};
use crate::diagnostic::{Code, nearest};

/// How many keys an unknown one is told of.
const LISTED: usize = 20;

pub(super) struct Pair<'a, 'r> {
    pub(super) reader: Reader<'a, 'r>,
    pub(super) taken: u8,
}

impl<'de> SeqAccess<'de> for Pair<'_, '_> {
    type Error = Fault;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        self.taken += 1;
        match self.taken {
            1 => seed.deserialize(Place(self.reader.at())).map(Some),
            _ => seed.deserialize(self.reader).map(Some).map_err(|fault| self.reader.report_fault(&fault)),
        }
    }
}

struct Place(At);

impl<'de> Deserializer<'de> for Place {
    type Error = Fault;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let At { file, node, start, end } = self.0;
        let numbers = [file.0, node, start, end]
            .into_iter()
            .map(|number| -> U32Deserializer<Fault> { number.into_deserializer() });
        visitor.visit_seq(Numbers(numbers))
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Numbers<I>(I);

impl<'de, I: Iterator<Item = U32Deserializer<Fault>>> SeqAccess<'de> for Numbers<I> {
    type Error = Fault;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        self.0.next().map(|number| seed.deserialize(number)).transpose()
    }
}

/// The items of a list; one that cannot be read is reported and left out.
pub(super) struct Items<'a, 'r> {
    pub(super) reader: Reader<'a, 'r>,
    pub(super) items: std::slice::Iter<'a, NodeId>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Fault;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let reader = self.reader.child(*item);
        seed.deserialize(reader).map(Some).map_err(|fault| reader.report_fault(&fault))
    }
}

/// The entries of a map, or of a struct. An unknown key is reported; one that is nearly a key which is not there is
/// read as that one, so that what it says is checked and not missed.
pub(super) struct Fields<'a, 'r> {
    pub(super) reader: Reader<'a, 'r>,
    pub(super) all: &'a [Entry],
    pub(super) entries: std::slice::Iter<'a, Entry>,
    pub(super) known: Option<&'static [&'static str]>,
    pub(super) meant: Vec<&'static str>,
    pub(super) value: Option<NodeId>,
}

impl<'a, 'r> Fields<'a, 'r> {
    pub(super) fn of(
        reader: Reader<'a, 'r>,
        all: &'a [Entry],
        known: Option<&'static [&'static str]>,
    ) -> Fields<'a, 'r> {
        Fields { reader, all, entries: all.iter(), known, meant: Vec::new(), value: None }
    }

    /// The key of a struct that stands here, or that was meant.
    fn field(&mut self, entry: Entry, known: &'static [&'static str]) -> Option<&'static str> {
        let key = self.reader.document.key_text(entry.key);
        if let Some(found) = known.iter().find(|known| **known == key) {
            return Some(found);
        }
        if key.starts_with("x-") {
            return None;
        }
        self.report_unknown(key, self.reader.document.at(entry.key), known);
        let meant = nearest(key, known.iter().copied())?;
        let there = self.all.iter().any(|other| self.reader.document.key_text(other.key) == meant);
        if there || self.meant.contains(&meant) {
            return None;
        }
        self.meant.push(meant);
        Some(meant)
    }

    fn report_unknown(&self, key: &str, at: At, known: &'static [&'static str]) {
        let mut report = self.reader.report.borrow_mut();
        let fault = report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        fault.did_you_mean(key, at.span(), known.iter().copied());
        if fault.help.is_none() && !known.is_empty() {
            let more = if known.len() > LISTED { ", …" } else { "" };
            fault.help(format!("the keys here are {}{more}", listed(known.get(..LISTED).unwrap_or(known))));
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        while let Some(entry) = self.entries.next() {
            let Some(known) = self.known else {
                self.value = Some(entry.value);
                return seed.deserialize(Key(self.reader.child(entry.key))).map(Some);
            };
            if let Some(field) = self.field(*entry, known) {
                self.value = Some(entry.value);
                return seed.deserialize(StrDeserializer::new(field)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let reader = self.reader.child(self.value.take().unwrap_or(self.reader.node));
        seed.deserialize(reader).map_err(|fault| reader.report_fault(&fault))
    }
}

/// A key: its text as it was written, whatever a plain scalar of that spelling would mean.
struct Key<'a, 'r>(Reader<'a, 'r>);

impl<'de> Deserializer<'de> for Key<'_, '_> {
    type Error = Fault;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0.document.key_text(self.0.node))
    }
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_seq(KeyPair(self, 0))
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.0.deserialize_enum(name, variants, visitor)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple map struct identifier ignored_any
    }
}

struct KeyPair<'a, 'r>(Key<'a, 'r>, u8);

impl<'de> SeqAccess<'de> for KeyPair<'_, '_> {
    type Error = Fault;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        self.1 += 1;
        match self.1 {
            1 => seed.deserialize(Place(self.0.0.at())).map(Some),
            _ => seed.deserialize(Key(self.0.0)).map(Some),
        }
    }
}

pub(super) struct Variant<'a, 'r> {
    pub(super) reader: Reader<'a, 'r>,
    pub(super) variant: &'static str,
}

impl<'de, 'a, 'r> EnumAccess<'de> for Variant<'a, 'r> {
    type Error = Fault;
    type Variant = Content<'a, 'r>;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'a, 'r>), Fault> {
        Ok((seed.deserialize(StrDeserializer::<Fault>::new(self.variant))?, Content(self.reader)))
    }
}

pub(super) struct Content<'a, 'r>(Reader<'a, 'r>);

impl<'de> VariantAccess<'de> for Content<'_, '_> {
    type Error = Fault;
    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.0)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.0.deserialize_seq(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.0.deserialize_struct("", fields, visitor)
    }
}
