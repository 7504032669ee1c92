//! Records the requests of all clients for those who are told of them. Without observers it costs nothing.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, Implementation, RequestId, RequestMetaObject};
use serde_json::{Value, json, value::RawValue};

use crate::action::CallRecorder;
use crate::diagnostic::truncate;
use crate::redact::Redactor;
use crate::spec_version::SpecVersion;
use crate::telemetry::{ClientName, Observers, Outcome, RequestIdRef, RequestRecord};
use crate::world::TraceContext;

use super::{
    ConnectionHandler, Method, method::request_subject, protocol_version::meta_text, request::McpRequest,
    snapshot::CatalogSnapshot,
};

/// How much of a name or URI is recorded.
const MAX_ENTRY_CHARS: usize = 1024;

/// What is noted of a request on the way to its end that its result alone does not tell.
#[derive(Default)]
pub(crate) struct EndNote {
    noted: Mutex<NotedEnd>,
}

#[derive(Default)]
struct NotedEnd {
    /// Why the tool failed, in its words for the model.
    failure: Option<String>,
    input_required: bool,
    refused: bool,
    missing_scopes: Vec<String>,
    unavailable: bool,
}

impl EndNote {
    /// It was not done, and may be sent again.
    pub(crate) fn set_unavailable(&self) {
        self.noted.lock().unavailable = true;
    }

    pub(crate) fn is_unavailable(&self) -> bool {
        self.noted.lock().unavailable
    }

    /// The result says that the tool failed.
    pub(crate) fn fail(&self, reason: &str) {
        self.noted.lock().failure = Some(reason.to_owned());
    }

    /// The result is a question.
    pub(crate) fn require_input(&self) {
        self.noted.lock().input_required = true;
    }

    /// The request may not be done. Its caller lacks these scopes.
    pub(crate) fn refuse(&self, missing_scopes: Vec<String>) {
        let mut noted = self.noted.lock();
        noted.refused = true;
        noted.missing_scopes = missing_scopes;
    }
}

/// A request on its way to its end.
pub(crate) struct ObservedRequest<'a> {
    observers: &'a Observers,
    request: &'a McpRequest,
    started: Instant,
    method: Option<&'static str>,
    entry: Option<String>,
    is_listed: bool,
    version: SpecVersion,
    client: Option<ClientName>,
    params: Option<Value>,
    end: RequestEnd,
}

/// How a request ended; one that is dropped before is cancelled.
#[derive(Default)]
struct RequestEnd {
    outcome: Outcome,
    error_code: Option<i32>,
    reason: Option<String>,
    missing_scopes: Vec<String>,
    bytes_out: u64,
    response: Option<Box<RawValue>>,
}

impl ConnectionHandler {
    /// Observes a request to its end, if anybody wants to know of it.
    pub(crate) fn observe<'a>(
        &'a self,
        message: &ClientRequest,
        request: &'a McpRequest,
    ) -> Option<Box<ObservedRequest<'a>>> {
        let observers = self.shared_server.observers()?;
        let parts = observers.parts();
        let client = parts.client.then(|| client_name(message, request));
        if let Some(client) = client.as_ref().filter(|_| request.method.is_some_and(Method::is_about_entries)) {
            self.record_client(client, observers);
        }
        let catalog = &request.snapshot.catalog;
        let method = request.method.map(|method| method.name);
        let entry = entry_of(message, request);
        let is_listed = match (method, &entry) {
            (Some(method), Some(entry)) => catalog.lists_entry(method, entry),
            _ => false,
        };
        Some(Box::new(ObservedRequest {
            observers,
            request,
            started: Instant::now(),
            method,
            entry: entry.map(|entry| truncate(entry, MAX_ENTRY_CHARS).into_owned()),
            is_listed,
            version: request.version,
            client,
            params: parts.params.then(|| params_of(message)),
            end: RequestEnd::default(),
        }))
    }

    /// What records the steps of a call, if anybody wants to know them.
    pub(crate) fn recorder(&self, method: Option<&Method>, redactor: &Arc<Redactor>) -> Option<Arc<CallRecorder>> {
        self.shared_server.observers().filter(|observers| observers.parts().steps)?;
        method?.is_about_entries().then(|| CallRecorder::new(redactor.clone()))
    }

    /// The trace that a request is part of, with a span of its own if anybody makes spans.
    pub(crate) fn start_trace(
        &self,
        method: Option<&'static Method>,
        meta: &RequestMetaObject,
        snapshot: &CatalogSnapshot,
        traceparent: Option<&str>,
    ) -> TraceContext {
        let text = |key: &str| meta_text(meta, key);
        let propagation = snapshot.catalog.trace_propagation();
        let tracestate = text("tracestate").filter(|_| propagation.tracestate);
        let received =
            TraceContext::new(text("traceparent"), tracestate, text("baggage").filter(|_| propagation.baggage));
        let Some(observers) = self.shared_server.observers() else { return received };
        observers.start_span(method.map(|method| method.name), received, traceparent)
    }

    /// Tells of a client once for each connection. A connection that is one request has no end of its own.
    pub(crate) fn record_client(&self, client: &ClientName, observers: &Observers) {
        if !self.session.is_lasting {
            observers.tell(|observer| observer.on_client_request(client));
        } else if self.client.set(client.clone()).is_ok() {
            observers.tell(|observer| observer.on_client_connected(client));
        }
    }
}

impl Drop for ConnectionHandler {
    fn drop(&mut self) {
        let Some(observers) = self.shared_server.observers().filter(|_| self.session.is_lasting) else { return };
        if let Some(client) = self.client.get() {
            observers.tell(|observer| observer.on_client_disconnected(client));
        }
        if let Some(session) = self.session.negotiated() {
            let elapsed = session.began.elapsed();
            observers.tell(|observer| observer.on_session_end(session.spec_version, elapsed));
        }
    }
}

impl ObservedRequest<'_> {
    /// Whether the request may be done: observers may have to record it first.
    pub(crate) async fn may_begin(&mut self) -> bool {
        if !self.observers.parts().start {
            return true;
        }
        let recorded = self.with_record(|record| self.observers.start(record));
        for recorded in recorded {
            if !recorded.await {
                self.end.outcome = Outcome::Refused;
                self.end.error_code = Some(ErrorCode::INTERNAL_ERROR.0);
                return false;
            }
        }
        true
    }

    /// Notes how it ended.
    pub(crate) fn end(&mut self, outcome: &Result<Bytes, ErrorData>) {
        let request = self.request;
        let noted = std::mem::take(&mut *request.end_note.noted.lock());
        if self.method == Some("initialize")
            && let Some(session) = request.session.negotiated()
        {
            self.version = session.spec_version;
        }
        let is_cancelled = outcome.is_err() && request.cancel.is_cancelled();
        let end = &mut self.end;
        end.outcome = match outcome {
            _ if noted.refused => Outcome::Refused,
            _ if is_cancelled => Outcome::Cancelled,
            Err(_) => Outcome::Failed,
            Ok(_) if noted.failure.is_some() => Outcome::Failed,
            Ok(_) if noted.input_required => Outcome::InputRequired,
            Ok(_) => Outcome::Ok,
        };
        end.missing_scopes = noted.missing_scopes;
        let error = outcome.as_ref().err();
        end.error_code = error.map(|error| error.code.0);
        end.reason = error.map(|error| error.message.to_string()).or(noted.failure);
        if self.observers.parts().response {
            end.response = response_json(outcome);
        }
    }

    /// Notes the size of its answer.
    pub(crate) fn set_bytes_out(&mut self, bytes: u64) {
        self.end.bytes_out = bytes;
    }

    fn with_record<T>(&self, tell: impl FnOnce(&RequestRecord<'_>) -> T) -> T {
        let ObservedRequest { request, end, .. } = self;
        let id = match &request.id {
            RequestId::Number(number) => RequestIdRef::Number(*number),
            RequestId::String(text) => RequestIdRef::Text(text),
        };
        tell(&RequestRecord {
            id,
            method: self.method,
            entry: self.entry.as_deref(),
            is_listed: self.is_listed,
            version: self.version,
            identity: request.access.identity().map(AsRef::as_ref),
            client: self.client.as_ref(),
            session: request.session.id.as_deref(),
            address: request.address,
            trace: request.trace_id(),
            span: &request.trace,
            outcome: end.outcome,
            error_code: end.error_code,
            reason: end.reason.as_deref(),
            missing_scopes: &end.missing_scopes,
            elapsed: self.started.elapsed(),
            bytes_in: request.bytes,
            bytes_out: end.bytes_out,
            manifest: request.snapshot.catalog.digest(),
            redactor: (!request.secrets.is_empty()).then_some(&*request.redactor),
            params: self.params.as_ref(),
            response: end.response.as_deref(),
            recorder: request.recorder.as_deref(),
        })
    }
}

impl Drop for ObservedRequest<'_> {
    fn drop(&mut self) {
        self.with_record(|record| self.observers.tell(|observer| observer.on_request_end(record)));
    }
}

/// Who asks, also where a session begins with that.
fn client_name(message: &ClientRequest, request: &McpRequest) -> ClientName {
    match message {
        ClientRequest::InitializeRequest(initialize) => ClientName::from(&initialize.params.client_info),
        _ => request.client_name().unwrap_or_default(),
    }
}

impl From<&Implementation> for ClientName {
    fn from(info: &Implementation) -> ClientName {
        ClientName { name: info.name.clone(), version: info.version.clone() }
    }
}

/// The tool, prompt or URI that a request is about. Where tools are searched, it is the one that is called in the end.
fn entry_of<'a>(message: &'a ClientRequest, request: &McpRequest) -> Option<&'a str> {
    match message {
        ClientRequest::CallToolRequest(call) => {
            Some(request.snapshot.catalog.called_tool(&call.params.name, call.params.arguments.as_ref()))
        }
        _ => request_subject(message).filter(|(key, _)| *key != "taskId").map(|(_, entry)| entry),
    }
}

fn params_of(message: &ClientRequest) -> Value {
    let mut json = serde_json::to_value(message).unwrap_or_default();
    json.get_mut("params").map(Value::take).unwrap_or_default()
}

fn response_json(outcome: &Result<Bytes, ErrorData>) -> Option<Box<RawValue>> {
    match outcome {
        Ok(result) => serde_json::from_slice(result).ok(),
        Err(error) => serde_json::value::to_raw_value(&json!({ "error": error })).ok(),
    }
}
