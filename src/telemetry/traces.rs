//! A span for each request, by OpenTelemetry's conventions for MCP. It has no argument, URI or caller.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Link, SpanBuilder, SpanKind, Status, TracerProvider};
use opentelemetry::{InstrumentationScope, KeyValue};

use super::observer::{OTHER, RecordParts, RequestIdRef, RequestObserver, RequestRecord};
use super::otlp::{SpanExport, TraceExportError};
use crate::diagnostic::truncate;
use crate::redact::Redactors;
use crate::world::TraceContext;

/// How much of an id is in a span: its client chooses it.
const MAX_ID_CHARS: usize = 128;

/// Makes the spans of requests, and sends them to a collector.
pub struct Traces {
    export: SpanExport,
    tracer: Arc<BoxedTracer>,
    transport: &'static str,
    redactors: Redactors,
}

impl Traces {
    /// Starts for a server with a name, that clients reach over HTTP or over a pipe. `None` where a variable turns it off.
    ///
    /// # Errors
    /// A variable says what cannot be done, or there is no thread.
    pub fn start(server_name: &str, is_http: bool, redactors: &Redactors) -> Result<Option<Traces>, TraceExportError> {
        let Some(export) = SpanExport::start(server_name)? else { return Ok(None) };
        let scope = InstrumentationScope::builder("folio").with_version(env!("CARGO_PKG_VERSION")).build();
        let tracer = Arc::new(BoxedTracer::new(Box::new(export.provider.tracer_with_scope(scope))));
        let transport = if is_http { "tcp" } else { "pipe" };
        Ok(Some(Traces { export, tracer, transport, redactors: redactors.clone() }))
    }

    /// Sends what is left, and ends. This blocks for a bounded time.
    pub fn end(&self) {
        self.export.end();
    }

    fn attributes(&self, record: &RequestRecord<'_>, error: Option<Cow<'static, str>>) -> Vec<KeyValue> {
        let id = match record.id {
            RequestIdRef::Number(number) => number.to_string(),
            RequestIdRef::Text(text) => {
                let text = record.redactor.map_or(text.into(), |redactor| redactor.redact_text(text));
                truncate(&self.redactors.redact_text(text.into_owned()), MAX_ID_CHARS).into_owned()
            }
        };
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", record.method.unwrap_or(OTHER)),
            KeyValue::new("mcp.protocol.version", record.version.as_str()),
            KeyValue::new("jsonrpc.request.id", id),
            KeyValue::new("network.transport", self.transport),
        ];
        attributes.extend(record.session.map(|session| KeyValue::new("mcp.session.id", session.to_owned())));
        let named = |method: &str, key: &'static str| {
            let name = record.entry.filter(|_| record.is_listed && record.method == Some(method))?;
            Some(KeyValue::new(key, name.to_owned()))
        };
        attributes.extend(named("tools/call", "gen_ai.tool.name"));
        attributes.extend(named("prompts/get", "gen_ai.prompt.name"));
        if record.method == Some("tools/call") {
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
        }
        attributes.extend(record.error_code.map(|code| KeyValue::new("rpc.response.status_code", code.to_string())));
        attributes.extend(error.map(|error| KeyValue::new("error.type", error)));
        attributes
    }
}

impl RequestObserver for Traces {
    fn parts(&self) -> RecordParts {
        RecordParts { traceparent: true, ..RecordParts::default() }
    }

    fn start_span(
        &self,
        method: Option<&'static str>,
        received: &TraceContext,
        traceparent: Option<&str>,
    ) -> Option<TraceContext> {
        let (parent, http) = (received.remote_parent(), TraceContext::new(traceparent, None, None).remote_parent());
        let mut builder = SpanBuilder::from_name(method.unwrap_or(OTHER)).with_kind(SpanKind::Server);
        if let Some(http) = http.clone().filter(|_| parent.is_some()) {
            builder = builder.with_links(vec![Link::with_context(http)]);
        }
        Some(received.clone().start(&self.tracer, builder, parent.or(http)))
    }

    fn on_request_end(&self, record: &RequestRecord<'_>) {
        let Some(span) = record.span.recorded_span() else { return };
        if let (Some(method), Some(entry)) = (record.method, record.entry.filter(|_| record.is_listed)) {
            span.update_name(format!("{method} {entry}"));
        }
        let error = record.error_type();
        if error.is_some() {
            span.set_status(Status::error(""));
        }
        span.set_attributes(self.attributes(record, error));
        span.end();
    }
}
