//! Authentication, retries and named connections of HTTP requests.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Duration, NamedMap, Scalar};
use crate::yaml::Spanned;

/// The authentication of a request: exactly one of these keys. A variable in it that is not set is an error of the call;
/// `{{default env.TOKEN ''}}` sends the request without it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["bearer", "basic", "header", "query", "oauth2", "exchange"]))]
pub struct Auth {
    /// The token of `Authorization: Bearer`, a template, such as `{{env.TOKEN}}`.
    pub bearer: Option<Spanned<String>>,
    /// The user name and password of `Authorization: Basic`: `{ username: me, password: "{{env.PASSWORD}}" }`.
    pub basic: Option<Spanned<Basic>>,
    /// Another header, such as `{ name: X-Api-Key, value: "{{env.KEY}}" }`.
    pub header: Option<Spanned<NameValue>>,
    /// A query parameter, such as `{ name: key, value: "{{env.KEY}}" }`.
    pub query: Option<Spanned<NameValue>>,
    /// A token from the client credentials grant of OAuth 2: `{ tokenUrl: "https://login.example/token", clientId: me,
    /// clientSecret: "{{env.SECRET}}", scopes: [read] }`.
    pub oauth2: Option<Spanned<OAuth2>>,
    /// A token for the caller, whose own token is exchanged for it (RFC 8693), in a connection: `{ tokenUrl:
    /// "https://login.example/token", clientId: desk, clientSecret: "{{env.SECRET}}", audience: "https://api.example" }`.
    pub exchange: Option<Spanned<Exchange>>,
}

/// A user name and a password.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Basic {
    /// The user name, a template.
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
    /// The URL of the token endpoint, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub token_url: Option<Spanned<String>>,
    /// The client ID, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub client_id: Option<Spanned<String>>,
    /// The client secret, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub client_secret: Option<Spanned<String>>,
    /// The scopes of the token: `[read, write]`. An element with a caller's value is one scope.
    pub scopes: Option<Vec<String>>,
    /// How the client authenticates: `basic` (the default), or `clientAuthentication: post` to send its id and
    /// secret in the form.
    pub client_authentication: Option<ClientAuthentication>,
    /// Further fields of the form, templates: `{ audience: "https://api.example" }`.
    #[schemars(with = "IndexMap<String, Scalar>")]
    pub form: NamedMap<Spanned<Scalar>>,
}

/// The exchange of the caller's token (RFC 8693), which needs `http.auth`. What it gives is kept for each caller until it
/// expires. The caller's own token goes to `tokenUrl` alone.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Exchange {
    /// The URL of the token endpoint, a template: over `https`, or on this machine.
    #[schemars(with = "String", extend("x-required" = true))]
    pub token_url: Option<Spanned<String>>,
    /// The client ID of this server, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub client_id: Option<Spanned<String>>,
    /// Its secret, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub client_secret: Option<Spanned<String>>,
    /// What the token is for, a template, such as `https://api.example`.
    pub audience: Option<Spanned<String>>,
    /// The scopes of the token: `[read, write]`. An element with a caller's value is one scope.
    pub scopes: Option<Vec<String>>,
    /// How the client authenticates: `basic` (the default), or `clientAuthentication: post` to send its id and
    /// secret in the form.
    pub client_authentication: Option<ClientAuthentication>,
}

/// How an OAuth 2 client authenticates (RFC 6749, 2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientAuthentication {
    /// By Basic authentication.
    #[default]
    Basic,
    /// In the form.
    Post,
}

/// When a request is sent again: `retry: {}` for the defaults. Only requests that may be repeated are: those whose
/// method is not POST or PATCH, and those that were never sent. `Retry-After` is respected, within the call's time limit.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// How often the request is sent at most. The default is 3. What a kept connection or an access token has outlived is
    /// replaced once in each attempt.
    #[schemars(with = "Option<u32>", range(min = 1, max = 10))]
    pub attempts: Option<Spanned<u32>>,
    /// The statuses after which it is sent again, such as `[429, 5xx]`; `[]` for none. The default is `[429, 502, 503, 504]`.
    #[schemars(with = "Option<Vec<Scalar>>")]
    pub on: Option<Vec<Spanned<Scalar>>>,
    /// How long to wait before the second attempt; twice as long before each further one, and never
    /// longer than a minute: `backoff: 1s`. The default is 500ms.
    pub backoff: Option<Duration>,
    /// Repeats POST and PATCH as well, which the API may then process twice: `unsafe: true`.
    #[serde(rename = "unsafe")]
    pub repeat_unsafe: Option<bool>,
}

/// A named base of HTTP requests.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Connection {
    /// The prefix of the URLs that use it, such as `https://api.example.com/v1`; `{{env.NAME}}` is in scope.
    #[schemars(with = "String", extend("x-required" = true))]
    pub url: Option<Spanned<String>>,
    /// Headers for every request: `{ Accept: application/json }`.
    #[schemars(with = "IndexMap<String, Scalar>")]
    pub headers: NamedMap<Spanned<Scalar>>,
    /// The authentication of its requests: `{ bearer: "{{env.TOKEN}}" }`.
    pub auth: Option<Spanned<Auth>>,
    /// When to retry a request: `{ attempts: 3 }`.
    pub retry: Option<Spanned<Retry>>,
    /// When a response is an error whatever its status: exactly one `{{…}}`, such as `"{{eq json.ok false}}"`, which sees `status`,
    /// `headers`, `body`, `json` and `url` of the response, and `env`. It counts for requests that have none themselves.
    pub fail_if: Option<Spanned<String>>,
    /// Hosts and networks that may have private addresses, such as `[localhost, 10.0.0.0/8]`.
    pub allow: Option<Vec<Spanned<String>>>,
    /// The certificates of its requests: `{ ca: internal-ca.pem, clientCert: client.pem, clientKey: client.key }`.
    pub tls: Option<Spanned<ConnectionTls>>,
    /// The HTTP proxy of its requests, such as `http://proxy.example:3128` or `{{env.PROXY}}`; an empty value means no proxy.
    /// Variables such as `HTTP_PROXY` have no effect by themselves. The proxy resolves the names of servers, so `allow` is checked for
    /// addresses in URLs and `localhost` alone. A private proxy in an imported pack must be written in its manifest, or be
    /// listed in `allow`.
    pub proxy: Option<Spanned<String>>,
}

/// The certificates of a connection: PEM files, relative to the manifest. Those of the served manifest may be absolute
/// paths. They are read when the manifest is loaded, and when they change.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionTls {
    /// Certificates of authorities to trust in addition to those of the system, such as `internal-ca.pem`.
    pub ca: Option<Spanned<String>>,
    /// The certificate to present to the server, with its chain. It is not presented to another origin that a redirect or
    /// a next page leads to.
    pub client_cert: Option<Spanned<String>>,
    /// The private key of `clientCert`, without a passphrase.
    pub client_key: Option<Spanned<String>>,
}
