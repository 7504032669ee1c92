//! Propagates W3C Trace Context and Baggage to programs and requests.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{HttpHeader, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, World, WorldError};

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

impl TraceContext {
    /// Creates it from the `traceparent` of the caller.
    pub fn new(parent: Option<&str>) -> TraceContext {
        TraceContext { traceparent: parent.and_then(parse_traceparent), ..TraceContext::default() }
    }

    /// Adds `tracestate`, which is dropped without a parent.
    #[must_use]
    pub fn with_tracestate(self, state: Option<&str>) -> TraceContext {
        let state = state.filter(|text| self.traceparent.is_some() && is_key_value_list(text, MAX_TRACESTATE_BYTES));
        TraceContext { tracestate: state.map(str::to_owned), ..self }
    }

    #[must_use]
    pub fn with_baggage(self, baggage: Option<&str>) -> TraceContext {
        let baggage = baggage.filter(|text| is_key_value_list(text, MAX_BAGGAGE_BYTES));
        TraceContext { baggage: baggage.map(str::to_owned), ..self }
    }

    /// Wraps a world, whose programs and requests then belong to this trace.
    #[must_use]
    pub fn wrap(self, world: Arc<dyn World>) -> Arc<dyn World> {
        if self == TraceContext::default() { world } else { Arc::new(TracingWorld { trace: self, world }) }
    }

    fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str, &String)> {
        let parts = [
            ("traceparent", "TRACEPARENT", &self.traceparent),
            ("tracestate", "TRACESTATE", &self.tracestate),
            ("baggage", "BAGGAGE", &self.baggage),
        ];
        parts.into_iter().filter_map(|(header, variable, value)| Some((header, variable, value.as_ref()?)))
    }
}

struct TracingWorld {
    trace: TraceContext,
    world: Arc<dyn World>,
}

impl World for TracingWorld {
    fn inner(&self) -> Option<&dyn World> {
        Some(&*self.world)
    }

    fn run_program(&self, mut command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        // First, so that variables of the manifest win.
        let variables = self.trace.entries().map(|(_, variable, value)| (variable.to_owned(), value.clone()));
        command.env.splice(0..0, variables);
        self.world.run_program(command)
    }

    fn send_request(&self, mut request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        for (name, _, value) in self.trace.entries() {
            if !request.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name)) {
                request.headers.push(HttpHeader::new(name, value));
            }
        }
        self.world.send_request(request)
    }
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
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn only_well_formed_trace_headers_are_propagated() {
        let parent = |text: &str| TraceContext::new(Some(text)).traceparent;
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
        let list = |text: &str| TraceContext::new(Some(PARENT)).with_tracestate(Some(text)).with_baggage(Some(text));
        for right in ["a=1", "a=1, b@c=2;p=3", "a=,b=2"] {
            assert_eq!(list(right).tracestate.as_deref(), Some(right));
            assert_eq!(list(right).baggage.as_deref(), Some(right));
        }
        for wrong in ["", ",", "a", "=1", "a=1\r\nx: y", "a=\u{e9}", &format!("a={}", "x".repeat(9000))] {
            assert_eq!(list(wrong).tracestate, None, "{wrong:?}");
            assert_eq!(list(wrong).baggage, None, "{wrong:?}");
        }
        assert_eq!(
            TraceContext::new(None).with_tracestate(Some("a=1")),
            TraceContext::default(),
            "a state without a parent"
        );
    }
}
