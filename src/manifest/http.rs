//! `http`: how the server listens.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::notation::Duration;
use crate::yaml::Spanned;

/// How the server listens over HTTP. A reload puts in force what was edited here, but for `listen`, `path` and `sse`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// The address and port; `127.0.0.1:8080` until told otherwise. Another one needs a restart.
    pub listen: Option<Spanned<String>>,
    /// The path of the endpoint; `/mcp` until told otherwise. Another one needs a restart.
    pub path: Option<Spanned<String>>,
    /// Origins of web pages that may call it, beside those of this machine.
    pub allowed_origins: Option<Vec<Spanned<String>>>,
    /// Names under which it may be called, beside those of this machine; `*` for any, which no browser is safe with.
    pub allowed_hosts: Option<Vec<Spanned<String>>>,
    /// A bearer token that callers must show; exactly one `{{env.NAME}}`. One of fewer than 16 characters is warned of.
    /// While the variable is not set, nothing is served over HTTP. When the token changes, streams that were opened with
    /// another one end.
    pub token: Option<Spanned<String>>,
    /// Serves HTTP+SSE of 2024-11-05 as well, for old clients: at `sse` and `messages` beside `path`. A change needs a
    /// restart.
    pub sse: Option<bool>,
    /// How many sessions there may be.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub max_sessions: Option<Spanned<u32>>,
    /// How long a session may be silent before it ends.
    pub session_idle: Option<Duration>,
    /// How often the client of a session with an open stream is asked whether it is there. The session of one that does
    /// not answer by the next time ends.
    pub ping: Option<Spanned<Duration>>,
    /// What connections may take. A change of these limits holds from the next connection on.
    pub limits: Option<HttpLimits>,
}

/// How many connections there may be, and how long each part of a request may take.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpLimits {
    /// How many connections there may be at a time. When all are taken, the one whose client has not sent a whole
    /// request for longest is closed for a new one. The default is 1024, or less where the system allows fewer open
    /// files.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub connections: Option<Spanned<u32>>,
    /// How long the head of a request may take to arrive. The default is 10s.
    pub header_timeout: Option<Spanned<Duration>>,
    /// How long the body of a request may take to arrive. The default is 30s.
    pub body_timeout: Option<Spanned<Duration>>,
    /// How long a client may read nothing of what it is sent before its connection is closed. A stream on which there is
    /// nothing to send stays open. The default is 30s.
    pub write_timeout: Option<Spanned<Duration>>,
}
