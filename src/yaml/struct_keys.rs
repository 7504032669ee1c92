//! The keys of a serde struct, as its deserializer names them.

use std::fmt::{self, Display, Formatter};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// The keys of a struct; none for another type.
pub fn struct_keys<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    let _ = T::deserialize(KeyReader { keys: &mut keys });
    keys
}

/// Notes the keys that a type asks for, and gives it nothing.
struct KeyReader<'a> {
    keys: &'a mut &'static [&'static str],
}

impl<'de> Deserializer<'de> for KeyReader<'_> {
    type Error = KeysOnly;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, KeysOnly> {
        Err(KeysOnly)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, KeysOnly> {
        *self.keys = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// There are no values. It is made for each struct of a manifest that is read, so it holds no words.
#[derive(Debug)]
struct KeysOnly;

impl Display for KeysOnly {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("keys only")
    }
}

impl std::error::Error for KeysOnly {}

impl de::Error for KeysOnly {
    fn custom<T: Display>(_: T) -> KeysOnly {
        KeysOnly
    }
}
