//! Who calls, as a verified token says.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who calls. It is known by its issuer and id together: two issuers may give the same id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Identity {
    /// The person or program, as its issuer names it.
    pub id: String,
    /// Who issued its token; empty for one that the manifest lists.
    pub issuer: String,
    /// The client that the token was issued to.
    pub client: Option<String>,
    /// The scopes that it was granted, and those that they imply.
    pub scopes: BTreeSet<String>,
    /// Its roles.
    pub roles: BTreeSet<String>,
    /// The claims of its token.
    pub claims: Map<String, Value>,
}

impl Identity {
    /// Whether both are the same caller, whatever token each showed.
    pub fn is_same_caller(&self, other: &Identity) -> bool {
        self.issuer == other.issuer && self.id == other.id
    }

    /// What templates see as `caller`.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Whether the rules of entries apply to a call, and whose call it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum AccessControl {
    /// Nobody says who calls: `scopes`, `roles` and `permit` do not apply.
    #[default]
    Unrestricted,
    /// They apply to this caller, or to nobody, who has shown no token.
    Caller(Option<Arc<Identity>>),
}

impl AccessControl {
    /// Who calls, where that is known.
    pub fn identity(&self) -> Option<&Arc<Identity>> {
        match self {
            AccessControl::Unrestricted => None,
            AccessControl::Caller(identity) => identity.as_ref(),
        }
    }
}
