//! `http`: how the server listens.

use schemars::JsonSchema;
use serde::Deserialize;

use super::http_auth::HttpAuth;
use crate::value_types::Duration;
use crate::yaml::Spanned;

/// How the server listens over HTTP. Edits take effect on reload, except for `listen`, `path`, `sse` and `sessions`.
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
    /// Headers in which clients send their own credentials for an upstream API, such as `[X-Desk-Key]`:
    /// `{{caller.headers.x-desk-key}}` is its value. It is secret, and can stand in requests only, to hosts that the manifest
    /// names.
    pub caller_headers: Option<Vec<Spanned<String>>>,
    /// Proxies in front of the server, as addresses or networks: `[127.0.0.1, 10.0.0.0/8]`. Their `X-Forwarded-For` determines the
    /// client address used for limits, the log and the audit file; from anyone else it is ignored.
    pub trusted_proxies: Option<Vec<Spanned<String>>>,
    /// Whether to serve HTTP+SSE of 2024-11-05 too, for old clients, at `sse` and `messages` next to `path`. A change needs
    /// a restart.
    pub sse: Option<bool>,
    /// Where the sessions of clients up to 2025-11-25 are: `memory` by default, `none` or `store`. A change needs a restart.
    pub sessions: Option<Spanned<SessionHome>>,
    /// The maximum number of sessions. The default is 1000.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub max_sessions: Option<Spanned<u32>>,
    /// How long a session may be idle before it ends, such as `30m`. The default is 1h.
    pub session_idle: Option<Duration>,
    /// The interval at which clients with an open stream are pinged. A session ends if its client has said nothing by
    /// the next ping. None are pinged by default.
    pub ping: Option<Spanned<Duration>>,
    /// How calls end when the server is stopped: `{ delay: 5s, timeout: 25s }`. Without it they are cancelled, and answered so,
    /// within a second.
    pub drain: Option<Spanned<HttpDrain>>,
    /// Limits of connections, requests and streams: `{ connections: 256, perCaller: { calls: 600, per: 1m } }`. A change applies
    /// to what is new.
    pub limits: Option<HttpLimits>,
}

/// Where the sessions of clients up to 2025-11-25 are. Requests of 2026-07-28 have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionHome {
    /// In the process that began them: a balancer must send all requests of a session there.
    #[default]
    Memory,
    /// Nowhere: each request stands for itself, so any replica answers it. What needs a session is not declared: subscriptions,
    /// change notices, log messages, and questions to clients.
    None,
    /// In the `store`: any replica answers each request, and another one goes on when one ends.
    Store,
}

/// How calls end when the server is stopped by SIGTERM: readiness fails immediately, no new requests are
/// accepted after `delay`, and calls still running `timeout` later are cancelled. A second signal cancels them at once.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpDrain {
    /// How long requests are still taken, until balancers know that the server is not ready. The default is 5s.
    pub delay: Option<Duration>,
    /// How long calls may take to end then. The default is 25s.
    pub timeout: Option<Duration>,
}

/// Limits of connections, requests and streams, and of the time that each part of a request may take. If the server is full, a
/// request is refused with 503; if its caller has reached its own limit, with 429. Both carry `Retry-After`. Callers are
/// identified by `auth`, or else by address.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpLimits {
    /// The maximum number of connections. When it is reached, the connection that has been without a complete request for
    /// longest is closed for a new one. Requests and streams take no more than seven of eight. The default is 1024, or less if
    /// the system allows fewer open files.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub connections: Option<Spanned<u32>>,
    /// The maximum number of requests that are answered at the same time; one caller gets at most half of them. There is no
    /// limit by default.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub in_flight: Option<Spanned<u32>>,
    /// The maximum number of streams on which clients listen; one caller gets at most half of them. There is no limit by
    /// default.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub streams: Option<Spanned<u32>>,
    /// How many requests each caller may send: `{ calls: 600, per: 1m }`. There is no limit by default.
    pub per_caller: Option<Spanned<CallerRate>>,
    /// How long the head of a request may take to arrive. The default is 10s.
    pub header_timeout: Option<Spanned<Duration>>,
    /// How long the body of a request may take to arrive. The default is 30s.
    pub body_timeout: Option<Spanned<Duration>>,
    /// How long a client may read nothing of what it is sent before its connection is closed. Idle streams stay open. The
    /// default is 30s.
    pub write_timeout: Option<Spanned<Duration>>,
}

/// How many requests each caller may send: `{ calls: 600, per: 1m }`. One that has sent none for that time may send all at once.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct CallerRate {
    /// The number of requests.
    #[schemars(with = "u32", range(min = 1, max = 100000), extend("x-required" = true))]
    pub calls: Option<Spanned<u32>>,
    /// The time span.
    #[schemars(with = "Duration", extend("x-required" = true))]
    pub per: Option<Spanned<Duration>>,
}
