//! Tells an observer of the requests of all clients, and of the clients that come and go. Without one it costs nothing.

use std::time::Instant;

use bytes::Bytes;
use rmcp::model::{ClientRequest, ErrorData, Implementation};
use serde::Serialize;
use serde_json::{Value, json};

use super::{ConnectionHandler, Method, SharedServer, request::McpRequest};

/// What is told of requests and clients.
pub trait RequestObserver: Send + Sync {
    /// A request has ended.
    fn on_request_end(&self, record: &RequestRecord);
    /// A client has begun on a connection.
    fn on_client_connected(&self, client: &ClientName);
    /// A client has sent a request that is not part of a connection.
    fn on_client_request(&self, client: &ClientName);
    /// The connection of a client has ended.
    fn on_client_disconnected(&self, client: &ClientName);
}

/// A client as it names itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ClientName {
    pub name: String,
    pub version: String,
}

/// A request of a client, and how it ended. It holds no secrets of the served catalog.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    /// Who sent it.
    pub client: ClientName,
    /// The version of the protocol in which it was sent.
    pub spec_version: String,
    pub method: &'static str,
    /// The tool, prompt or URI.
    pub name: String,
    /// What was sent.
    pub params: Value,
    /// `ok`, `failed`, `input required` or `cancelled`.
    pub outcome: &'static str,
    /// Why it failed.
    pub reason: Option<String>,
    /// How long it took.
    pub elapsed_ms: u64,
    /// What was answered: the result, or the error.
    pub response: Value,
}

/// A request on its way to its end.
pub(crate) struct ObservedRequest {
    shared_server: SharedServer,
    started: Instant,
    record: Option<RequestRecord>,
}

impl ConnectionHandler {
    /// Observes a request to its end, if anybody wants to know of it.
    pub(crate) fn observe(&self, message: &ClientRequest, request: &McpRequest) -> Option<Box<ObservedRequest>> {
        let observer = self.shared_server.observer()?;
        let method = Method::find(message.method()).filter(|method| method.is_observed())?.name;
        let client = client_name(request.client_info());
        self.record_client(&client, observer);
        let json = serde_json::to_value(message).unwrap_or_default();
        let params = json.get("params").cloned().unwrap_or_default();
        let version = request.version.as_str();
        let name = ["name", "uri", "ref"].iter().find_map(|key| Some(text_or_json(params.get(key)?)));
        let record = RequestRecord {
            client,
            spec_version: version.to_owned(),
            method,
            name: name.unwrap_or_default(),
            params,
            outcome: "cancelled",
            reason: None,
            elapsed_ms: 0,
            response: Value::Null,
        };
        Some(Box::new(ObservedRequest {
            shared_server: self.shared_server.clone(),
            started: Instant::now(),
            record: Some(record),
        }))
    }

    /// Tells of a client once for each connection. A connection that is one request has no end of its own.
    pub(crate) fn record_client(&self, client: &ClientName, observer: &dyn RequestObserver) {
        if !self.outlives_request {
            observer.on_client_request(client);
        } else if self.client.set(client.clone()).is_ok() {
            observer.on_client_connected(client);
        }
    }
}

impl Drop for ConnectionHandler {
    fn drop(&mut self) {
        if let (true, Some(client), Some(observer)) =
            (self.outlives_request, self.client.get(), self.shared_server.observer())
        {
            observer.on_client_disconnected(client);
        }
    }
}

impl ObservedRequest {
    /// Notes how it ended.
    pub(crate) fn end(&mut self, outcome: &Result<Bytes, ErrorData>) {
        if let Some(record) = &mut self.record {
            record.end(outcome);
        }
    }
}

impl RequestRecord {
    fn end(&mut self, response: &Result<Bytes, ErrorData>) {
        let value = match response {
            Ok(result) => serde_json::from_slice(result).unwrap_or_default(),
            Err(error) => json!({ "error": error }),
        };
        let is_error = value.get("isError") == Some(&Value::Bool(true));
        let failure = match response {
            Err(error) => Some(error.message.to_string()),
            Ok(_) => is_error.then(|| text_or_json(value.pointer("/content/0/text").unwrap_or(&Value::Null))),
        };
        self.outcome = match value.get("resultType").and_then(Value::as_str) {
            _ if failure.is_some() => "failed",
            Some("input_required") => "input required",
            _ => "ok",
        };
        self.reason = failure;
        self.response = value;
    }

    /// Removes the secrets of the served catalog, wherever they stand.
    fn redact(&mut self, shared_server: &SharedServer) {
        let redactors = shared_server.redactors();
        for value in [&mut self.params, &mut self.response] {
            let message = redactors.redact_message(value.to_string().into_bytes());
            *value = serde_json::from_slice(&message).unwrap_or_default();
        }
        self.name = redactors.redact_text(std::mem::take(&mut self.name));
        self.reason = self.reason.take().map(|reason| redactors.redact_text(reason));
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        let (Some(mut record), Some(observer)) = (self.record.take(), self.shared_server.observer()) else { return };
        record.elapsed_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        record.redact(&self.shared_server);
        observer.on_request_end(&record);
    }
}

/// How a client names itself.
pub(crate) fn client_name(info: Option<Implementation>) -> ClientName {
    info.map(|info| ClientName { name: info.name, version: info.version }).unwrap_or_default()
}

fn text_or_json(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
