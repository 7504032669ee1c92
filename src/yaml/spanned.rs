//! `Spanned`, a value with its location, which only the deserializer of `yaml` supplies.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

use super::document::Location;
use crate::diagnostic::FileId;

/// A value and its location. Compares and hashes as the value alone.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    pub value: T,
    pub location: Location,
}

impl<T> Spanned<T> {
    /// A value at `location`.
    pub fn new(value: T, location: Location) -> Spanned<T> {
        Spanned { value, location }
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
        #[derive(Deserialize)]
        #[serde(rename = "$Spanned")]
        struct LocatedValue<T>(Location, T);
        let LocatedValue(location, value) = LocatedValue::deserialize(deserializer)?;
        Ok(Spanned { value, location })
    }
}

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [file, node, start, end] = Deserialize::deserialize(deserializer)?;
        Ok(Location { file: FileId(file), node, start, end })
    }
}
