//! `scopes`, `roles` and `permit`: who may use an entry.

use super::{Prompt, Resource, Skills, Tool};
use crate::yaml::{Location, Spanned};

/// What an entry says of who may use it.
#[derive(Debug, Clone, Copy)]
pub struct AccessKeys<'a> {
    /// The entry.
    pub at: Location,
    pub scopes: Option<&'a Spanned<Vec<Spanned<String>>>>,
    pub roles: Option<&'a Spanned<Vec<Spanned<String>>>>,
    pub permit: Option<&'a Spanned<String>>,
}

impl AccessKeys<'_> {
    /// The names of those that are written.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let keys =
            [("scopes", self.scopes.is_some()), ("roles", self.roles.is_some()), ("permit", self.permit.is_some())];
        keys.into_iter().filter_map(|(name, is_written)| is_written.then_some(name))
    }
}

macro_rules! access_keys_of {
    ($($entry:ty),*) => {$(
        impl<'a> From<&'a Spanned<$entry>> for AccessKeys<'a> {
            fn from(entry: &'a Spanned<$entry>) -> AccessKeys<'a> {
                AccessKeys {
                    at: entry.location,
                    scopes: entry.scopes.as_ref(),
                    roles: entry.roles.as_ref(),
                    permit: entry.permit.as_ref(),
                }
            }
        }
    )*};
}

access_keys_of!(Tool, Prompt, Resource, Skills);
