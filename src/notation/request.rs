//! What requests share, whatever they ask for: who sends them, when to try again, and bases with a name.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Duration, NamedMap, Scalar};
use crate::yaml::Spanned;

/// How a request says who sends it: exactly one of these.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Auth {
    /// A token for `Authorization: Bearer`, a template.
    pub bearer: Option<Spanned<String>>,
    /// A name and a password for `Authorization: Basic`.
    pub basic: Option<Spanned<Basic>>,
    /// A header of its own.
    pub header: Option<Spanned<NameValue>>,
    /// A query parameter.
    pub query: Option<Spanned<NameValue>>,
    /// A token fetched with a client's credentials.
    pub oauth2: Option<Spanned<OAuth2>>,
}

/// A name and a password.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Basic {
    /// The name, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub username: Option<Spanned<String>>,
    /// The password, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub password: Option<Spanned<String>>,
}

/// A name and a value.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct NameValue {
    /// The name.
    #[schemars(with = "String", extend("x-required" = true))]
    pub name: Option<Spanned<String>>,
    /// The value, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub value: Option<Spanned<String>>,
}

/// The client-credentials grant of OAuth 2.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct OAuth2 {
    /// Where tokens are fetched, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub token_url: Option<Spanned<String>>,
    /// The client, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub client_id: Option<Spanned<String>>,
    /// Its secret, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub client_secret: Option<Spanned<String>>,
    /// What the token is for.
    pub scopes: Option<Vec<String>>,
}

/// When to try again.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// How often at most, the first time counted.
    #[schemars(with = "Option<u32>")]
    pub attempts: Option<Spanned<u32>>,
    /// The statuses after which to try again.
    pub on: Option<Vec<Spanned<u16>>>,
    /// How long to wait at first; then twice as long each time.
    pub backoff: Option<Duration>,
}

/// A shared base of requests.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Connection {
    /// The base, a prefix of the URLs that use it; `{{env.NAME}}` is in scope.
    #[schemars(with = "String", extend("x-required" = true))]
    pub url: Option<Spanned<String>>,
    /// Headers for every request.
    #[schemars(with = "IndexMap<String, Scalar>")]
    pub headers: NamedMap<Spanned<Scalar>>,
    /// How requests say who sends them.
    pub auth: Option<Spanned<Auth>>,
    /// When to try again.
    pub retry: Option<Spanned<Retry>>,
    /// Hosts that may be private addresses.
    pub allow: Option<Vec<Spanned<String>>>,
}
