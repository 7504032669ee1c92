//! Who calls, as a verified token says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// Who it is, if that is known.
    pub fn identity(&self) -> Option<&Arc<Identity>> {
        match self {
            AccessControl::Caller(identity) => identity.as_ref(),
            AccessControl::Unrestricted => None,
        }
    }

    /// The issuer and the id of who it is, if that is known.
    pub fn caller_key(&self) -> Option<(String, String)> {
        self.identity().map(|identity| (identity.issuer.clone(), identity.id.clone()))
    }

    /// Whether both have the same scopes and roles.
    pub fn grants_as(&self, other: &AccessControl) -> bool {
        let granted = |access: &AccessControl| {
            access.identity().map(|identity| (identity.scopes.clone(), identity.roles.clone()))
        };
        granted(self) == granted(other)
    }

    /// Whether both are the same caller, or both nobody.
    pub fn is_same_caller(&self, other: &AccessControl) -> bool {
        match (self.identity(), other.identity()) {
            (Some(one), Some(other)) => one.is_same_caller(other),
            (None, None) => true,
            _ => false,
        }
    }
}

/// Who calls. It is known by its issuer and id together: two issuers may give the same id.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The person or program, as its issuer names it.
    pub id: String,
    /// Who issued its token; empty for one that the manifest lists.
    pub issuer: String,
    /// The client that the token was issued to.
    pub client: Option<String>,
    /// The scopes that it was granted, and those that they imply: `[desk.write]`.
    pub scopes: BTreeSet<String>,
    /// Its roles: `[ops, lead]`.
    pub roles: BTreeSet<String>,
    /// The claims of its token: `{ team: desk }`.
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

/// A caller without a token, as `--caller` and `tests` write one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalCaller {
    /// The person or program, as its issuer names it.
    pub id: String,
    /// Who issued its token; empty for one that the manifest lists.
    pub issuer: String,
    /// The client that the token was issued to.
    pub client: Option<String>,
    /// The scopes that it was granted, and those that they imply: `[desk.write]`.
    pub scopes: BTreeSet<String>,
    /// Its roles: `[ops, lead]`.
    pub roles: BTreeSet<String>,
    /// The claims of its token: `{ team: desk }`.
    pub claims: Map<String, Value>,
    /// The headers of `http.callerHeaders` that its client sends: `{ x-desk-key: key-of-ada }`.
    pub headers: BTreeMap<String, String>,
}

impl LocalCaller {
    /// Who it is.
    pub fn identity(&self) -> Identity {
        let LocalCaller { id, issuer, client, scopes, roles, claims, headers: _ } = self.clone();
        Identity { id, issuer, client, scopes, roles, claims }
    }

    /// What its client sends beside its requests.
    pub fn secrets(&self) -> CallerSecrets {
        let headers = self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone().into()));
        CallerSecrets { headers: Value::Object(headers.collect()), token: None }
    }
}

/// What a client sends beside its requests, for the server to act upstream as its caller. It is secret.
#[derive(Clone, Default)]
pub struct CallerSecrets {
    /// The values of the headers that the manifest declares, by their names in lower case: an object.
    pub headers: Value,
    /// The token of the caller, where the manifest exchanges it and an issuer issued it.
    pub token: Option<String>,
}

impl CallerSecrets {
    /// Those of who sends none.
    pub fn none() -> Arc<CallerSecrets> {
        static NONE: LazyLock<Arc<CallerSecrets>> = LazyLock::new(Arc::default);
        NONE.clone()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values().next().is_none()
    }

    /// What must not be seen in any output.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let headers = self.headers.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
        // The parts of a token tell who it is of, and another signature may fit them.
        let parts = self.token.iter().flat_map(|token| token.split('.').filter(move |part| *part != token.as_str()));
        headers.chain(self.token.as_deref()).chain(parts)
    }
}

/// Nothing that logs one shows what is in it.
impl fmt::Debug for CallerSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerSecrets").finish_non_exhaustive()
    }
}

/// Whether a text is one scope (RFC 6749, 3.3).
pub fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_scope_byte)
}

/// Whether a byte may be part of a scope.
pub fn is_scope_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'"' && byte != b'\\'
}
