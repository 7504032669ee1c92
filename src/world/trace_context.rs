//! The trace that a call is part of, and what of it programs and requests get: W3C Trace Context and Baggage.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{SpanBuilder, SpanContext, SpanRef, TraceContextExt, TraceState, Tracer};
use opentelemetry::{Context, SpanId, TraceFlags, TraceId};

/// The maximum lengths; longer values are dropped.
const MAX_TRACESTATE_BYTES: usize = 512;
const MAX_BAGGAGE_BYTES: usize = 8192;

/// The trace headers to propagate in addition to `traceparent`. Callers control their content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TracePropagation {
    pub tracestate: bool,
    pub baggage: bool,
}

/// The trace context of a call. Malformed values are dropped.
///
/// Without a tracer it is what the caller sent. With one it also has a span: that of the request, or of a part of it.
#[derive(Debug, Clone, Default)]
pub struct TraceContext {
    received: Option<Arc<TraceHeaders>>,
    span: Option<CurrentSpan>,
}

/// What the caller sent.
#[derive(Debug, Default, PartialEq, Eq)]
struct TraceHeaders {
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

/// The span that is under way, and what makes its children.
#[derive(Debug, Clone)]
struct CurrentSpan {
    context: Context,
    tracer: Arc<BoxedTracer>,
}

impl TraceContext {
    /// Creates it from what the caller sent. `tracestate` is dropped without a parent.
    pub fn new(traceparent: Option<&str>, tracestate: Option<&str>, baggage: Option<&str>) -> TraceContext {
        let traceparent = traceparent.and_then(parse_traceparent);
        let tracestate =
            tracestate.filter(|text| traceparent.is_some() && is_key_value_list(text, MAX_TRACESTATE_BYTES));
        let baggage = baggage.filter(|text| is_key_value_list(text, MAX_BAGGAGE_BYTES));
        let (tracestate, baggage) = (tracestate.map(str::to_owned), baggage.map(str::to_owned));
        let headers = TraceHeaders { traceparent, tracestate, baggage };
        TraceContext { received: (headers != TraceHeaders::default()).then(|| Arc::new(headers)), span: None }
    }

    /// The span of the caller, as OpenTelemetry has it.
    pub fn remote_parent(&self) -> Option<SpanContext> {
        let headers = self.received.as_deref()?;
        let mut parts = headers.traceparent.as_deref()?.split('-').skip(1);
        let (trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
        let state = headers.tracestate.as_deref().and_then(|text| TraceState::from_str(text).ok());
        Some(SpanContext::new(trace, span, flags, true, state.unwrap_or_default()))
    }

    /// The same with a new span: a child of `parent`, or the first of a trace.
    #[must_use]
    pub fn start(self, tracer: &Arc<BoxedTracer>, builder: SpanBuilder, parent: Option<SpanContext>) -> TraceContext {
        let context = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        self.with_span(tracer, builder, &context)
    }

    /// The same with a new span within this one, which may have ended. One that is not sampled has none within it.
    pub(super) fn start_child(&self, builder: impl FnOnce() -> SpanBuilder) -> Option<TraceContext> {
        let CurrentSpan { context, tracer } = self.span.as_ref()?;
        context.span().span_context().is_sampled().then_some(())?;
        Some(self.clone().with_span(tracer, builder(), context))
    }

    fn with_span(self, tracer: &Arc<BoxedTracer>, builder: SpanBuilder, parent: &Context) -> TraceContext {
        let span = tracer.build_with_context(builder, parent);
        let context = Context::new().with_span(span);
        // Once the tracer has ended, there is none.
        let is_valid = context.span().span_context().is_valid();
        TraceContext { span: is_valid.then(|| CurrentSpan { context, tracer: tracer.clone() }), ..self }
    }

    /// Its span, if that is recorded and has not ended.
    pub fn recorded_span(&self) -> Option<SpanRef<'_>> {
        let span = self.span.as_ref()?.context.span();
        span.is_recording().then_some(span)
    }

    /// The id of the trace, where it has a span.
    pub fn span_trace_id(&self) -> Option<String> {
        Some(self.span.as_ref()?.context.span().span_context().trace_id().to_string())
    }

    /// The same for what tells nobody of a trace that only passes through.
    #[must_use]
    pub fn of_span(&self) -> TraceContext {
        if self.span.is_some() { self.clone() } else { TraceContext::default() }
    }

    /// The names of its headers and variables, with their values.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str, Cow<'_, str>)> {
        let received = self.received.as_deref();
        let span = self.span.as_ref().map(|span| Cow::Owned(traceparent_of(span.context.span().span_context())));
        let sent = |field: fn(&TraceHeaders) -> &Option<String>| {
            received.and_then(|headers| field(headers).as_deref()).map(Cow::Borrowed)
        };
        let parts = [
            ("traceparent", "TRACEPARENT", span.or_else(|| sent(|headers| &headers.traceparent))),
            ("tracestate", "TRACESTATE", sent(|headers| &headers.tracestate)),
            ("baggage", "BAGGAGE", sent(|headers| &headers.baggage)),
        ];
        parts.into_iter().filter_map(|(header, variable, value)| Some((header, variable, value?)))
    }
}

fn traceparent_of(span: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags())
}

/// Parses `traceparent` as version 00, `None` if malformed. Additional fields of later versions are dropped.
fn parse_traceparent(text: &str) -> Option<String> {
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let some = |part: &str| part.bytes().any(|byte| byte != b'0');
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let version_fits = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    let rest_fits = parts.all(|part| part.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let ids_fit = hex(trace, 32) && some(trace) && hex(span, 16) && some(span) && hex(flags, 2);
    (version_fits && rest_fits && ids_fit).then(|| format!("00-{trace}-{span}-{flags}"))
}

/// Whether `text` is a list of `key=value` in printable ASCII.
fn is_key_value_list(text: &str, longest: usize) -> bool {
    let has_key = |member: &str| member.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty());
    let mut members = text.split(',').map(str::trim).filter(|member| !member.is_empty()).peekable();
    text.len() <= longest
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && members.peek().is_some()
        && members.all(has_key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn only_well_formed_trace_headers_are_propagated() {
        let sent = |trace: TraceContext| {
            trace.entries().map(|(name, _, value)| (name, value.into_owned())).collect::<BTreeMap<_, _>>()
        };
        let parent = |text: &str| sent(TraceContext::new(Some(text), None, None)).remove("traceparent");
        assert_eq!(parent(PARENT).as_deref(), Some(PARENT));
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-may-come";
        assert_eq!(parent(later).as_deref(), Some(PARENT), "of a later version, what this one knows");
        for wrong in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\r\nx: y",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        ] {
            assert_eq!(parent(wrong), None, "{wrong:?}");
        }
        let list = |text: &str| sent(TraceContext::new(Some(PARENT), Some(text), Some(text)));
        for right in ["a=1", "a=1, b@c=2;p=3", "a=,b=2"] {
            let sent = list(right);
            assert_eq!((sent["tracestate"].as_str(), sent["baggage"].as_str()), (right, right));
        }
        for wrong in ["", ",", "a", "=1", "a=1\r\nx: y", "a=\u{e9}", &format!("a={}", "x".repeat(9000))] {
            assert!(list(wrong).keys().eq([&"traceparent"]), "{wrong:?}");
        }
        let without_parent = TraceContext::new(None, Some("a=1"), None);
        assert_eq!(sent(without_parent), BTreeMap::new(), "a state without a parent");
    }

    #[test]
    fn remote_parent_is_what_was_sent() {
        let parent = |text: &str| TraceContext::new(Some(text), Some("a=1"), None).remote_parent().unwrap();
        let sampled = parent(PARENT);
        assert_eq!(traceparent_of(&sampled), PARENT);
        assert_eq!((sampled.is_remote(), sampled.trace_state().get("a")), (true, Some("1")));
        assert!(!parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").is_sampled());
        assert!(TraceContext::default().remote_parent().is_none());
    }
}
