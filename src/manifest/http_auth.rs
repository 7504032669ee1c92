//! `http.auth`: who may call over HTTP.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value_types::{Duration, NamedMap, yaml_kind_enum};
use crate::yaml::Spanned;

/// Who may call over HTTP, by OAuth 2 access tokens of an issuer or by tokens that are listed here. Edits take effect on reload.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpAuth {
    /// The authorization server that issues tokens, such as `https://id.example`, or a list of `{ issuer, audience, … }`. Its
    /// keys are found by its metadata (RFC 8414 or OpenID Connect Discovery).
    pub issuer: Option<Spanned<Issuers>>,
    /// The audience that tokens must name. The default is `publicUrl`.
    pub audience: Option<Spanned<String>>,
    /// Where the keys of the issuer are, if its metadata does not say so.
    pub jwks_uri: Option<Spanned<String>>,
    /// Where to ask about tokens that are not JWTs (RFC 7662): `{ url: "https://id.example/introspect", clientId: desk }`.
    pub introspect: Option<Spanned<Introspection>>,
    /// JMESPath expressions that select the caller's id, client, scopes and roles from the claims:
    /// `{ roles: realm_access.roles }`.
    pub claims: Option<ClaimPaths>,
    /// Scopes that every request needs, such as `[desk.use]`.
    pub scopes: Option<Vec<Spanned<String>>>,
    /// Scopes that include others: `{ desk.admin: [desk.write] }`.
    pub implies: NamedMap<Vec<Spanned<String>>>,
    /// Tokens that need no issuer, by the name of the caller: `{ ci: { sha256: …, scopes: [desk.use] } }`.
    pub tokens: NamedMap<Spanned<ListedToken>>,
    /// Whether requests without a token are accepted. Anonymous callers may then use only entries that require neither scopes nor
    /// roles. An invalid token is refused anyway.
    pub optional: bool,
}

yaml_kind_enum! {
    /// The URL of an issuer, or several issuers.
    pub enum Issuers {
        "text" => One(Spanned<String>),
        "list" => Many(Vec<Spanned<IssuerSpec>>),
    }
}

/// An authorization server. What is not set is as in `auth`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct IssuerSpec {
    /// The URL of the issuer, exactly as its tokens name it in `iss`.
    #[schemars(extend("x-required" = true))]
    pub issuer: Option<Spanned<String>>,
    /// The audience that its tokens must name.
    pub audience: Option<Spanned<String>>,
    /// Where its keys are, if its metadata does not say so.
    pub jwks_uri: Option<Spanned<String>>,
    /// Where to ask about its tokens that are not JWTs: `{ url: "https://id.example/introspect", clientId: desk }`.
    pub introspect: Option<Spanned<Introspection>>,
    /// Where the claims of its tokens say who calls, as JMESPath: `{ roles: realm_access.roles }`.
    pub claims: Option<ClaimPaths>,
}

/// How to ask an issuer about a token (RFC 7662).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Introspection {
    /// The introspection endpoint.
    #[schemars(extend("x-required" = true))]
    pub url: Option<Spanned<String>>,
    /// The id by which this server is known to the issuer.
    pub client_id: Option<Spanned<String>>,
    /// Its secret: exactly one `{{env.NAME}}`.
    pub client_secret: Option<Spanned<String>>,
    /// How long an answer is used, at most until the token expires. The default is 30s; `0s` asks at each request.
    pub cache: Option<Duration>,
}

/// Where the claims of a token say who calls: JMESPath expressions.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimPaths {
    /// The id of the caller. The default is `sub`.
    pub id: Option<Spanned<String>>,
    /// The client that the token was issued to. The default is `client_id || azp`.
    pub client: Option<Spanned<String>>,
    /// Its scopes, as a list or as words in one text. The default is `scope || scp`.
    pub scopes: Option<Spanned<String>>,
    /// The roles of the caller, in the same form. The default is `roles`.
    pub roles: Option<Spanned<String>>,
}

/// A token that needs no issuer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ListedToken {
    /// The SHA-256 of the token in hexadecimal digits, such as `printf %s "$TOKEN" | sha256sum` prints. The token itself is not
    /// kept anywhere.
    #[schemars(extend("x-required" = true))]
    pub sha256: Option<Spanned<String>>,
    /// Its scopes, such as `[desk.use]`.
    pub scopes: Option<Vec<Spanned<String>>>,
    /// The roles of its caller, such as `[bot]`.
    pub roles: Option<Vec<Spanned<String>>>,
}
