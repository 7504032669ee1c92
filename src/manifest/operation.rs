//! `admin`, `audit`, `telemetry` and `store`: what an operator sees of a running server, and what its replicas share.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::yaml::Spanned;

/// A listener for operators: `GET /metrics` in the text format of Prometheus, `/livez`, `/readyz` and `/readyz?verbose`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Admin {
    /// The address and port, such as `127.0.0.1:9464`. There is no token: with another address than one of this machine, a
    /// firewall must keep others out. A change needs a restart.
    #[schemars(with = "String", extend("x-required" = true))]
    pub listen: Option<Spanned<String>>,
}

/// A file with one line of JSON for each request. A change needs a restart.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Audit {
    /// The file, relative to this one: `/var/log/folio/audit.jsonl`. It is created readable by its owner alone, is only ever
    /// appended to, and is created again when it was moved or removed.
    #[schemars(with = "String", extend("x-required" = true))]
    pub file: Option<Spanned<String>>,
    /// How much of a request is written. The default is `metadata`. Secrets are masked.
    pub level: Option<AuditLevel>,
    /// Whether each request must be recorded before it runs; requests that cannot be recorded are refused. Without it
    /// lines that cannot be written are lost, and counted.
    pub required: bool,
}

/// What the replicas of a server share: opened questions, rate limits, tasks and change notices, so that any replica can answer any
/// request. All replicas need the same state key. A change needs a restart.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Store {
    /// The URL of Redis 7 or Valkey: exactly one `{{env.NAME}}`, or one without a password such as `redis://127.0.0.1:6379/0`.
    /// `rediss://` uses TLS, `redis-sentinel://host1,host2/0#mymaster` asks Sentinels for the master.
    #[schemars(with = "String", extend("x-required" = true))]
    pub redis: Option<Spanned<String>>,
    /// What its keys begin with. The default is the name of the server. Servers with different manifests need different
    /// prefixes.
    pub prefix: Option<Spanned<String>>,
}

/// How spans of requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Telemetry {
    /// By OTLP over HTTP, in protobuf.
    Otlp,
}

/// How much of a request is written to `audit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditLevel {
    /// Who asked for what, and how it ended.
    #[default]
    Metadata,
    /// The arguments too.
    Arguments,
    /// The arguments and the result.
    All,
}
