//! Spans of the parts of a call: its steps, its programs and its requests. None has an argument, a path or a query.

use std::borrow::Cow;
use std::path::Path;

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanBuilder, SpanKind, Status};
use reqwest::Method;
use url::Url;

use super::{ProgramCommand, ProgramOutput, TraceContext, WorldError};

/// What stands for a name that the manifest does not have.
const OTHER: &str = "_OTHER";

/// A part of a call that is under way. Without a span around it that is recorded, it has none.
pub struct PartSpan {
    trace: TraceContext,
    /// Whether it has a span of its own that has not ended.
    is_open: bool,
}

impl PartSpan {
    fn start(around: &TraceContext, builder: impl FnOnce() -> SpanBuilder) -> PartSpan {
        match around.start_child(builder) {
            Some(trace) => PartSpan { trace, is_open: true },
            None => PartSpan { trace: around.clone(), is_open: false },
        }
    }

    /// The trace for what it consists of.
    pub fn trace(&self) -> &TraceContext {
        &self.trace
    }

    /// Whether it has a span of its own.
    pub fn is_recorded(&self) -> bool {
        self.is_open
    }

    /// Adds an attribute.
    pub(super) fn set(&self, attribute: impl FnOnce() -> KeyValue) {
        if self.is_open
            && let Some(span) = self.trace.recorded_span()
        {
            span.set_attribute(attribute());
        }
    }

    /// Ends it, with the kind of its error if it failed.
    pub fn end(&mut self, error: Option<Cow<'static, str>>) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        if let Some(span) = self.trace.recorded_span() {
            if let Some(error) = error {
                span.set_attribute(KeyValue::new("error.type", error));
                span.set_status(Status::error(""));
            }
            span.end();
        }
    }
}

impl Drop for PartSpan {
    /// Nobody waits for its end any more.
    fn drop(&mut self) {
        self.end(Some("cancelled".into()));
    }
}

impl TraceContext {
    /// Begins a step with a name of the manifest.
    #[must_use]
    pub fn start_step(&self, name: impl FnOnce() -> String) -> PartSpan {
        PartSpan::start(self, || SpanBuilder::from_name(format!("step {}", name())))
    }

    /// Begins a program, by OpenTelemetry's conventions for CLI programs.
    pub(super) fn start_program(&self, command: &ProgramCommand) -> PartSpan {
        PartSpan::start(self, || {
            let name = Path::new(&command.program).file_name().filter(|_| command.is_named_by_manifest);
            let name = name.map_or(OTHER.into(), |name| name.to_string_lossy().into_owned());
            let attributes = vec![KeyValue::new("process.executable.name", name.clone())];
            SpanBuilder::from_name(name).with_kind(SpanKind::Client).with_attributes(attributes)
        })
    }

    /// Begins a request to one server, by OpenTelemetry's conventions for HTTP clients.
    pub(super) fn start_request(&self, method: &Method, url: &Url, shows_host: bool) -> PartSpan {
        PartSpan::start(self, || {
            let mut attributes = vec![KeyValue::new("http.request.method", method.to_string())];
            if let Some(host) = url.host_str().filter(|_| shows_host) {
                attributes.push(KeyValue::new("server.address", host.trim_matches(['[', ']']).to_owned()));
                attributes
                    .extend(url.port_or_known_default().map(|port| KeyValue::new("server.port", i64::from(port))));
            }
            SpanBuilder::from_name(method.to_string()).with_kind(SpanKind::Client).with_attributes(attributes)
        })
    }
}

impl PartSpan {
    /// Ends a program.
    pub(super) fn end_program(mut self, ended: &Result<ProgramOutput, WorldError>) {
        let error = match ended {
            Ok(ProgramOutput { exit_code: Some(code), .. }) => {
                self.set(|| KeyValue::new("process.exit.code", i64::from(*code)));
                (*code != 0).then(|| code.to_string().into())
            }
            Ok(ProgramOutput { signal, .. }) => {
                Some(signal.map_or(OTHER.into(), |signal| format!("signal {signal}").into()))
            }
            Err(error) => Some(error.span_type().into()),
        };
        self.end(error);
    }

    /// Ends a request whose response has this status.
    pub(super) fn end_request(mut self, status: u16) {
        self.set(|| KeyValue::new("http.response.status_code", i64::from(status)));
        self.end((status >= 400).then(|| status.to_string().into()));
    }
}

impl WorldError {
    /// As `error.type` of a span names it.
    pub fn span_type(&self) -> &'static str {
        match self {
            WorldError::AfterRedirect(error) => error.span_type(),
            WorldError::Cancelled => "cancelled",
            WorldError::Connect { .. } => "connect",
            WorldError::Dns { .. } => "dns",
            WorldError::InvalidResponse { .. } | WorldError::NoResponse { .. } => "no_response",
            WorldError::PrivateAddress { .. } => "private_address",
            WorldError::ProgramNotFound { .. } | WorldError::NotExecutable { .. } => "program_not_found",
            WorldError::TimedOut { .. } | WorldError::ProgramLimit { .. } => "timeout",
            WorldError::Tls { .. } => "tls",
            _ => OTHER,
        }
    }
}
