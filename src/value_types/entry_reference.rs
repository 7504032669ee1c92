//! References to other entries of the server, with or without arguments.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Json, NamedMap, yaml_kind_enum};
use crate::yaml::{Location, Spanned};

yaml_kind_enum! {
    /// The name of an entry of this server, or its name with arguments.
    pub enum EntryReferenceSpec {
        "text" => Name(String),
        "map" => Keys(ReferenceKeys),
    }
}

impl EntryReferenceSpec {
    /// The name with its location; `at` is that of the reference.
    pub fn name(&self, at: Location) -> Option<Spanned<String>> {
        match self {
            EntryReferenceSpec::Name(name) => Some(Spanned::new(name.clone(), at)),
            EntryReferenceSpec::Keys(keys) => keys.name.clone(),
        }
    }
}

/// An entry of this server with arguments, such as `{ name: review, arguments: { diff: "{{diff}}" } }`. Entries of a
/// pack have the names that lists show.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReferenceKeys {
    /// Its name.
    #[schemars(with = "String", extend("x-required" = true))]
    pub name: Option<Spanned<String>>,
    /// Its arguments: `{ who: Ada }`. A string that is exactly one `{{…}}` keeps the type of its value.
    #[schemars(with = "IndexMap<String, Json>")]
    pub arguments: NamedMap<Spanned<Json>>,
}
