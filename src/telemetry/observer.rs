//! Who is told of requests, and what.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::action::CallRecorder;
use crate::identity::Identity;
use crate::redact::Redactor;
use crate::spec_version::SpecVersion;
use crate::world::TraceContext;

/// What stands for all that neither the catalog nor the protocol names.
pub(super) const OTHER: &str = "_OTHER";

/// Is told of what a server does. Each method is called on the thread that serves, so none may take long.
pub trait RequestObserver: Send + Sync {
    /// What it wants to know beyond the record itself.
    fn parts(&self) -> RecordParts {
        RecordParts::default()
    }

    /// Begins the span of a request, whose client sent `received` in it and `traceparent` beside it. `None` for those that
    /// make no spans.
    fn start_span(
        &self,
        _method: Option<&'static str>,
        _received: &TraceContext,
        _traceparent: Option<&str>,
    ) -> Option<TraceContext> {
        None
    }

    /// A request has arrived, and nothing of it is done. What is returned is awaited, and if that is false the request is
    /// refused.
    fn on_request_start(&self, _record: &RequestRecord<'_>) -> StartedRecord {
        None
    }

    /// A request has ended.
    fn on_request_end(&self, _record: &RequestRecord<'_>) {}

    /// A request over HTTP was refused before anybody read its message.
    fn on_http_refusal(&self, _refusal: &HttpRefusal<'_>) {}

    /// A limit was reached.
    fn on_limit(&self, _limit: Limit) {}

    /// A session has begun.
    fn on_session_start(&self) {}

    /// A session has ended that lasted so long.
    fn on_session_end(&self, _version: SpecVersion, _elapsed: Duration) {}

    /// A stream of events was opened.
    fn on_stream_open(&self) {}

    /// A stream of events has ended.
    fn on_stream_close(&self) {}

    /// A client has begun on a connection. It is told only to those that want clients.
    fn on_client_connected(&self, _client: &ClientName) {}

    /// A client has sent a request that is not part of a connection.
    fn on_client_request(&self, _client: &ClientName) {}

    /// The connection of a client has ended.
    fn on_client_disconnected(&self, _client: &ClientName) {}
}

/// Becomes true once a request may be done; `None` where nobody needs to be waited for.
pub type StartedRecord = Option<BoxFuture<'static, bool>>;

/// What an observer wants of records that takes time to find out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordParts {
    /// How the client names itself, and its connections.
    pub client: bool,
    pub params: bool,
    pub response: bool,
    /// Whether it must know of a request before that is done.
    pub start: bool,
    /// The header `traceparent` of requests over HTTP.
    pub traceparent: bool,
    /// What its steps did.
    pub steps: bool,
}

impl RecordParts {
    /// What either wants.
    #[must_use]
    fn or(self, other: RecordParts) -> RecordParts {
        RecordParts {
            client: self.client || other.client,
            params: self.params || other.params,
            response: self.response || other.response,
            start: self.start || other.start,
            traceparent: self.traceparent || other.traceparent,
            steps: self.steps || other.steps,
        }
    }
}

/// The observers of a server.
#[derive(Default)]
pub struct Observers {
    all: Vec<Arc<dyn RequestObserver>>,
    parts: RecordParts,
}

impl Observers {
    pub fn new(all: Vec<Arc<dyn RequestObserver>>) -> Observers {
        let parts = all.iter().fold(RecordParts::default(), |parts, one| parts.or(one.parts()));
        Observers { all, parts }
    }

    /// What any of them wants.
    pub fn parts(&self) -> RecordParts {
        self.parts
    }

    /// Tells each of them.
    pub fn tell(&self, tell: impl Fn(&dyn RequestObserver)) {
        self.all.iter().for_each(|observer| tell(&**observer));
    }

    /// The trace of a request, with a span if any of them makes one.
    pub fn start_span(
        &self,
        method: Option<&'static str>,
        received: TraceContext,
        traceparent: Option<&str>,
    ) -> TraceContext {
        let span = self.all.iter().find_map(|observer| observer.start_span(method, &received, traceparent));
        span.unwrap_or(received)
    }

    /// Tells each of a request that arrives, and returns for whom it waits.
    pub fn start(&self, record: &RequestRecord<'_>) -> Vec<BoxFuture<'static, bool>> {
        self.all.iter().filter_map(|observer| observer.on_request_start(record)).collect()
    }
}

/// A client as it names itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ClientName {
    pub name: String,
    pub version: String,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Ok,
    Failed,
    /// Its caller may not, or a limit is reached.
    Refused,
    #[default]
    Cancelled,
    /// The client is asked first.
    InputRequired,
}

impl Outcome {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Refused => "refused",
            Outcome::Cancelled => "cancelled",
            Outcome::InputRequired => "input required",
        }
    }
}

/// The id of a request, as its client chose it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum RequestIdRef<'a> {
    Number(i64),
    Text(&'a str),
}

/// A request of a client, and how it ended. It holds no secrets of the served catalog.
#[derive(Debug, Clone, Copy)]
pub struct RequestRecord<'a> {
    pub id: RequestIdRef<'a>,
    /// The method; `None` for one that there is not.
    pub method: Option<&'static str>,
    /// The tool, prompt or URI that it is about.
    pub entry: Option<&'a str>,
    /// Whether that is a tool or prompt of the catalog.
    pub is_listed: bool,
    /// The version of the protocol in which it was sent.
    pub version: SpecVersion,
    /// Its caller, where that is asked.
    pub identity: Option<&'a Identity>,
    /// Its client, for those who want to know.
    pub client: Option<&'a ClientName>,
    pub session: Option<&'a str>,
    /// Where it came from, over HTTP.
    pub address: Option<IpAddr>,
    /// The trace that its client names, in hexadecimal digits.
    pub trace: Option<&'a str>,
    /// Its span, where spans are made.
    pub span: &'a TraceContext,
    pub outcome: Outcome,
    /// The code of the error that it was answered with.
    pub error_code: Option<i32>,
    /// Why it failed.
    pub reason: Option<&'a str>,
    /// The scopes that its caller lacks.
    pub missing_scopes: &'a [String],
    pub elapsed: Duration,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// The digest of the manifest that it was answered from.
    pub manifest: &'a str,
    /// What finds the secrets that came with it, if there are any.
    pub redactor: Option<&'a Redactor>,
    /// What was sent, for those who want to know.
    pub params: Option<&'a Value>,
    /// What was answered: the result, or the error.
    pub response: Option<&'a RawValue>,
    /// What it did, for those who want to know its steps.
    pub recorder: Option<&'a CallRecorder>,
}

impl RequestRecord<'_> {
    /// The trace that it is part of: that of its span, or else the one that its client names.
    pub(super) fn trace_id(&self) -> Option<Cow<'_, str>> {
        self.span.span_trace_id().map(Cow::Owned).or(self.trace.map(Cow::Borrowed))
    }

    /// The kind of its error, as OpenTelemetry's conventions for MCP name it; `None` for a success.
    pub(super) fn error_type(&self) -> Option<Cow<'static, str>> {
        match (self.error_code, self.outcome) {
            (_, Outcome::Cancelled) => Some("cancelled".into()),
            (Some(code), _) => Some(code.to_string().into()),
            (None, Outcome::Failed) => Some("tool_error".into()),
            _ => None,
        }
    }
}

/// Why a request over HTTP is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    MissingToken,
    InvalidToken,
    InsufficientScope,
    IssuerUnavailable,
    Host,
    Origin,
    /// What was sent is no message.
    InvalidMessage,
    Timeout,
    TooLarge,
    RateLimited,
    /// There is no session of this name, or it is of another caller.
    UnknownSession,
    /// There is no room for it at the moment.
    Busy,
}

impl RefusalReason {
    /// As logs and metrics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            RefusalReason::MissingToken => "missing_token",
            RefusalReason::InvalidToken => "invalid_token",
            RefusalReason::InsufficientScope => "insufficient_scope",
            RefusalReason::IssuerUnavailable => "issuer_unavailable",
            RefusalReason::Host => "unknown_host",
            RefusalReason::Origin => "forbidden_origin",
            RefusalReason::InvalidMessage => "invalid_message",
            RefusalReason::Timeout => "timeout",
            RefusalReason::TooLarge => "too_large",
            RefusalReason::RateLimited => "rate_limited",
            RefusalReason::UnknownSession => "unknown_session",
            RefusalReason::Busy => "busy",
        }
    }

    /// The limit that was reached, if it was one.
    pub fn limit(self) -> Option<Limit> {
        match self {
            RefusalReason::Timeout => Some(Limit::Time),
            RefusalReason::TooLarge => Some(Limit::Size),
            RefusalReason::RateLimited => Some(Limit::Calls),
            RefusalReason::Busy => Some(Limit::Room),
            _ => None,
        }
    }

    /// Whether it is about who may send requests.
    pub fn is_about_access(self) -> bool {
        self.limit().is_none() && !matches!(self, RefusalReason::InvalidMessage | RefusalReason::UnknownSession)
    }
}

/// A limit of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Of calls in a time.
    Calls,
    /// Of connections.
    Connections,
    /// Of memory, or of sessions.
    Room,
    /// Of one message.
    Size,
    /// Of the time in which a message must arrive.
    Time,
}

impl Limit {
    pub const ALL: [Limit; 5] = [Limit::Calls, Limit::Connections, Limit::Room, Limit::Size, Limit::Time];

    /// As metrics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Calls => "calls",
            Limit::Connections => "connections",
            Limit::Room => "room",
            Limit::Size => "size",
            Limit::Time => "time",
        }
    }
}

/// A request over HTTP that was refused before its message was read.
#[derive(Debug, Clone, Copy)]
pub struct HttpRefusal<'a> {
    pub reason: RefusalReason,
    /// More of it.
    pub detail: Option<&'a str>,
    pub status: u16,
    /// The method and path of HTTP.
    pub http_method: &'a str,
    pub path: &'a str,
    pub identity: Option<&'a Identity>,
    /// The session that it names.
    pub session: Option<&'a str>,
    pub address: Option<IpAddr>,
    pub missing_scopes: &'a [String],
    pub elapsed: Duration,
    pub manifest: &'a str,
}
