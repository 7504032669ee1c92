//! Values with their places: the one thing that this reader gives and other deserializers do not.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::deserialize::{LOCATION, SPANNED};
use super::document::Location;
use crate::diagnostic::FileId;

/// A value and the place where it was written. Compares and hashes as the value alone.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub location: Location,
}

impl<T> Spanned<T> {
    /// A value that stands at `at`.
    pub fn new(value: T, at: Location) -> Spanned<T> {
        Spanned { value, location: at }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Spanned<T>) -> bool {
        self.value == other.value
    }
}
impl<T: Eq> Eq for Spanned<T> {}
impl<T: Hash> Hash for Spanned<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}
impl Borrow<str> for Spanned<String> {
    fn borrow(&self) -> &str {
        &self.value
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpannedVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
            type Value = Spanned<T>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a spanned value")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Spanned<T>, A::Error> {
                let missing = || de::Error::custom("`Spanned` needs the deserializer of `yaml`");
                let at = pair.next_element()?.ok_or_else(missing)?;
                let value = pair.next_element()?.ok_or_else(missing)?;
                Ok(Spanned { value, location: at })
            }
        }
        deserializer.deserialize_tuple_struct(SPANNED, 2, SpannedVisitor(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LocationVisitor;
        impl<'de> Visitor<'de> for LocationVisitor {
            type Value = Location;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a location")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut four: A) -> Result<Location, A::Error> {
                let mut next = || four.next_element::<u32>().map(Option::unwrap_or_default);
                Ok(Location { file: FileId(next()?), node: next()?, start: next()?, end: next()? })
            }
        }
        deserializer.deserialize_tuple_struct(LOCATION, 4, LocationVisitor)
    }
}
