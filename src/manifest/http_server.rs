//! `http`: how the server listens.

use schemars::JsonSchema;
use serde::Deserialize;

use super::http_auth::HttpAuth;
use crate::value_types::Duration;
use crate::yaml::Spanned;

/// How the server listens over HTTP. Edits take effect on reload, except for `listen`, `path` and `sse`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// The address and port. The default is `127.0.0.1:8080`; a change needs a restart.
    pub listen: Option<Spanned<String>>,
    /// The path of the endpoint. The default is `/mcp`; a change needs a restart.
    pub path: Option<Spanned<String>>,
    /// Origins of web pages that may send requests, in addition to the server's own host and port:
    /// `["https://app.example", "http://localhost:6274"]`. A page that another program on this machine serves has another
    /// port, and so another origin.
    pub allowed_origins: Option<Vec<Spanned<String>>>,
    /// Host names that requests may use, in addition to those of this machine: `[mcp.example.com]`; `*` allows any, which is
    /// not safe with browsers.
    pub allowed_hosts: Option<Vec<Spanned<String>>>,
    /// The bearer token that clients must send: exactly one `{{env.NAME}}`. A token shorter than 16 characters gives a
    /// warning. Nothing is served over HTTP while the variable is not set. When the token changes, streams that were opened
    /// with the old one end.
    pub token: Option<Spanned<String>>,
    /// The URL of the endpoint as clients name it, such as `https://desk.example/mcp`, where that is not the address that the
    /// server listens on. Its host and origin are accepted in requests.
    pub public_url: Option<Spanned<String>>,
    /// Who may call, by OAuth 2 access tokens: `{ issuer: "https://id.example", scopes: [desk.use] }`.
    pub auth: Option<Spanned<HttpAuth>>,
    /// Headers that clients send with what the server needs upstream of its caller, such as `[X-Desk-Key]`:
    /// `{{caller.headers.x-desk-key}}` is its value. It is secret, and can stand in requests only, to hosts that the manifest
    /// names.
    pub caller_headers: Option<Vec<Spanned<String>>>,
    /// Whether to serve HTTP+SSE of 2024-11-05 too, for old clients, at `sse` and `messages` next to `path`. A change needs
    /// a restart.
    pub sse: Option<bool>,
    /// The maximum number of sessions.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub max_sessions: Option<Spanned<u32>>,
    /// How long a session may be idle before it ends, such as `30m`.
    pub session_idle: Option<Duration>,
    /// The interval at which clients with an open stream are pinged. A session ends if its client has not answered by the
    /// next ping.
    pub ping: Option<Spanned<Duration>>,
    /// How calls end when the server is stopped: `{ delay: 5s, timeout: 25s }`. Without it they are cancelled, and answered so,
    /// within a second.
    pub drain: Option<Spanned<HttpDrain>>,
    /// Limits of connections: `{ connections: 256 }`. A change applies to new connections.
    pub limits: Option<HttpLimits>,
}

/// How calls end when the server is stopped by SIGTERM: it is not ready at once, takes nothing new after `delay`, and cancels
/// after `timeout` more what is still running. A second signal cancels it at once.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpDrain {
    /// How long requests are still taken, until balancers know that the server is not ready. The default is 5s.
    pub delay: Option<Duration>,
    /// How long calls may take to end then. The default is 25s.
    pub timeout: Option<Duration>,
}

/// Limits of connections, and of the time that each part of a request may take.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpLimits {
    /// The maximum number of connections. When it is reached, the connection that has been without a complete request for
    /// longest is closed for a new one. The default is 1024, or less if the system allows fewer open files.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub connections: Option<Spanned<u32>>,
    /// How long the head of a request may take to arrive. The default is 10s.
    pub header_timeout: Option<Spanned<Duration>>,
    /// How long the body of a request may take to arrive. The default is 30s.
    pub body_timeout: Option<Spanned<Duration>>,
    /// How long a client may read nothing of what it is sent before its connection is closed. Idle streams stay open. The
    /// default is 30s.
    pub write_timeout: Option<Spanned<Duration>>,
}
