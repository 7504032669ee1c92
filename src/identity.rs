//! Who calls, as a verified token says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who calls. It is known by its issuer and id together: two issuers may give the same id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
