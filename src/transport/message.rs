//! Parses messages: first the envelope, then the params by method.
//!
//! Trying the types of messages one after another would cost many times that, and give no precise errors.

use std::{borrow::Cow, sync::Arc};

use rmcp::model::{
    CancelledNotification, ClientNotification, ClientRequest, CustomNotification, CustomRequest, ErrorCode, ErrorData,
    Notification, NotificationNoParam, RequestId, RequestMetaObject,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::budget::Reservation;
use crate::redact::Redactors;
use crate::server::{IncomingRequest, InvalidParams, Method, OutgoingMessage, RequestSender};

use super::length_limits::{MAX_INITIALIZE_BYTES, MAX_LABEL_BYTES, check_request, too_long_message};
use super::request_params::{is_empty_list, keep_meta, parse_params, parse_typed_request};

/// A message from a client.
#[derive(Debug)]
pub(super) enum Incoming {
    Request(IncomingRequest),
    Notification(Box<ClientNotification>),
    /// The answer to a request of the server.
    Answer(RequestId, Result<Value, ErrorData>),
}

impl Incoming {
    pub(super) fn request(&self) -> Option<&IncomingRequest> {
        if let Incoming::Request(request) = self { Some(request) } else { None }
    }
}

/// The JSON-RPC error of an invalid message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessageError {
    /// The id of the request, if known.
    pub(super) id: Option<RequestId>,
    code: ErrorCode,
    message: Cow<'static, str>,
}

impl MessageError {
    pub(super) fn parse_error(message: impl Into<Cow<'static, str>>) -> MessageError {
        MessageError { id: None, code: ErrorCode::PARSE_ERROR, message: message.into() }
    }

    /// The same as it is written: without secrets, as it may repeat what it is about.
    pub(super) fn into_message(self, redactors: &Redactors) -> OutgoingMessage {
        OutgoingMessage::error(self.id, &ErrorData::new(self.code, self.message, None)).redact(redactors)
    }

    /// The head of an HTTP request contradicts its message.
    pub(super) fn header_mismatch(id: Option<RequestId>, message: String) -> MessageError {
        MessageError { id, code: ErrorCode::HEADER_MISMATCH, message: message.into() }
    }

    pub(super) fn invalid_request(id: Option<RequestId>, message: impl Into<Cow<'static, str>>) -> MessageError {
        MessageError { id, code: ErrorCode::INVALID_REQUEST, message: message.into() }
    }

    pub(super) fn method_not_found(id: RequestId, message: impl Into<Cow<'static, str>>) -> MessageError {
        MessageError { id: Some(id), code: ErrorCode::METHOD_NOT_FOUND, message: message.into() }
    }

    pub(super) fn invalid_params(id: RequestId, message: impl Into<Cow<'static, str>>) -> MessageError {
        MessageError { id: Some(id), code: ErrorCode::INVALID_PARAMS, message: message.into() }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Whether it could be taken later.
    pub(super) fn is_busy(&self) -> bool {
        self.code == ErrorCode::INTERNAL_ERROR
    }

    /// A request that cannot be answered now.
    pub(super) fn busy(id: Option<RequestId>, message: impl Into<Cow<'static, str>>) -> MessageError {
        MessageError { id, code: ErrorCode::INTERNAL_ERROR, message: message.into() }
    }
}

/// A message of which only the kind is parsed.
pub(super) struct Envelope<'a> {
    pub(super) kind: MessageKind<'a>,
    params: Option<&'a str>,
}

pub(super) enum MessageKind<'a> {
    Request {
        id: RequestId,
        method: Cow<'a, str>,
    },
    Notification {
        method: Cow<'a, str>,
    },
    /// The answer to a request of the server; without an id it is the error of what was none.
    Answer {
        id: Option<RequestId>,
        result: Option<&'a str>,
        error: Option<&'a str>,
    },
}

#[derive(Deserialize)]
struct EnvelopeMembers<'a> {
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    error: Option<&'a RawValue>,
}

/// `null` is something else than nothing.
fn deserialize_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads the envelope of a message.
pub(super) fn parse_envelope(bytes: &[u8]) -> Result<Envelope<'_>, MessageError> {
    let text = std::str::from_utf8(bytes).map_err(|_| MessageError::parse_error("invalid UTF-8"))?;
    if !text.trim_start().starts_with('{') {
        return Err(not_an_object(text));
    }
    let members: EnvelopeMembers<'_> = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            MessageError::invalid_request(None, format!("invalid JSON-RPC message: {error}"))
        } else {
            MessageError::parse_error(format!("invalid JSON: {error}"))
        }
    })?;
    if members.id.is_some_and(|id| id.get().len() > MAX_LABEL_BYTES) {
        return Err(MessageError::invalid_request(None, too_long_message("id", MAX_LABEL_BYTES)));
    }
    let id = members.id.map(|id| serde_json::from_str::<RequestId>(id.get()));
    let valid_id = id.as_ref().and_then(|id| id.as_ref().ok()).cloned();
    if members.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(MessageError::invalid_request(valid_id, "`jsonrpc` must be \"2.0\""));
    }
    let params = members.params.map(RawValue::get).filter(|params| *params != "null" && !is_empty_list(params));
    let Some(method) = members.method else {
        if members.result.is_some() || members.error.is_some() {
            let (result, error) = (members.result.map(RawValue::get), members.error.map(RawValue::get));
            return Ok(Envelope { kind: MessageKind::Answer { id: valid_id, result, error }, params });
        }
        return Err(MessageError::invalid_request(valid_id, "missing `method`, `result` or `error`"));
    };
    if method.get().len() > MAX_LABEL_BYTES {
        return Err(MessageError::invalid_request(valid_id, too_long_message("method", MAX_LABEL_BYTES)));
    }
    let Ok(BorrowedText(method)) = serde_json::from_str(method.get()) else {
        return Err(MessageError::invalid_request(valid_id, "`method` must be a string"));
    };
    match id {
        None => Ok(Envelope { kind: MessageKind::Notification { method }, params }),
        Some(Ok(id)) => Ok(Envelope { kind: MessageKind::Request { id, method }, params }),
        Some(Err(_)) => Err(MessageError::invalid_request(None, "`id` must be a string or an integer")),
    }
}

fn not_an_object(text: &str) -> MessageError {
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        return MessageError::parse_error(format!("invalid JSON: {error}"));
    }
    MessageError::invalid_request(None, "invalid JSON-RPC message, expected an object")
}

/// Borrowed wherever nothing is escaped.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct BorrowedText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl MessageKind<'_> {
    /// The id of a request.
    pub(super) fn request_id(&self) -> Option<&RequestId> {
        match self {
            MessageKind::Request { id, .. } => Some(id),
            MessageKind::Notification { .. } | MessageKind::Answer { .. } => None,
        }
    }
}

impl Envelope<'_> {
    /// Parses the whole message of so many bytes, by this sender. `None` for what must not be answered: an invalid
    /// notification, and an error that is no one's.
    pub(super) fn parse(
        self,
        reservation: &Arc<Reservation>,
        bytes: u64,
        sender: &RequestSender,
    ) -> Result<Option<Incoming>, MessageError> {
        match self.kind {
            MessageKind::Request { id, method } => match parse_request(&method, self.params) {
                Ok(request) => Ok(Some(Incoming::Request(IncomingRequest {
                    id,
                    // It is moved several times.
                    message: Box::new(request),
                    reservation: reservation.clone(),
                    cancel: CancellationToken::new(),
                    bytes,
                    sender: sender.clone(),
                }))),
                Err(complaint) => Err(MessageError::invalid_params(id, complaint)),
            },
            MessageKind::Notification { method } => {
                Ok(parse_notification(&method, self.params).map(Box::new).map(Incoming::Notification))
            }
            MessageKind::Answer { id, result, error } => parse_answer(id, result, error),
        }
    }
}

/// An answer of the client. `None` for the error of what was no request.
fn parse_answer(
    id: Option<RequestId>,
    result: Option<&str>,
    error: Option<&str>,
) -> Result<Option<Incoming>, MessageError> {
    let invalid = "invalid response, expected `result` or `error`";
    let result = result.map(|result| if result == "null" || is_empty_list(result) { "{}" } else { result });
    let answer = match (result, error) {
        (Some(result), _) if id.is_some() => serde_json::from_str(result).map(Ok),
        (_, Some(error)) => serde_json::from_str(error).map(Err),
        _ => return Err(MessageError::invalid_request(None, invalid)),
    };
    match (id, answer) {
        (Some(id), Ok(answer)) => Ok(Some(Incoming::Answer(id, answer))),
        // Whoever asked waits no longer.
        (Some(id), Err(_)) => Ok(Some(Incoming::Answer(id, Err(ErrorData::invalid_request(invalid, None))))),
        (None, Ok(_)) => Ok(None),
        (None, Err(_)) => Err(MessageError::invalid_request(None, invalid)),
    }
}

/// A request with invalid parameters is passed on: the handler reports the same error on every transport. Only what must
/// not be held, such as endless nesting, is an error here.
fn parse_request(method: &str, params: Option<&str>) -> Result<ClientRequest, String> {
    let has_small_params = Method::find(method).is_some_and(|method| method.has_small_params);
    if has_small_params && params.is_some_and(|params| params.len() > MAX_INITIALIZE_BYTES) {
        return Err(too_long_message("params", MAX_INITIALIZE_BYTES));
    }
    let invalid = match parse_typed_request(method, params) {
        Ok(Some(request)) => return check_request(&request).map(|()| request),
        Ok(None) => None,
        Err(invalid) => Some(invalid),
    };
    let params = params.map(serde_json::from_str::<Value>).transpose();
    Ok(custom_request(method, params.map_err(|error| format!("invalid params: {error}"))?, invalid))
}

/// Metadata that is not an object stays in the params, as a sign that nothing of them can be relied on.
fn custom_request(method: &str, mut params: Option<Value>, invalid: Option<InvalidParams>) -> ClientRequest {
    let members = params.as_mut().and_then(Value::as_object_mut);
    let meta = members.and_then(|members| match members.get("_meta")? {
        Value::Object(_) => members.shift_remove("_meta"),
        Value::Array(items) if items.is_empty() => members.shift_remove("_meta"),
        _ => None,
    });
    let mut request = CustomRequest::new(method, params);
    if let Some(Value::Object(meta)) = meta {
        keep_meta(Some(RequestMetaObject::from(meta)), &mut request.extensions);
    }
    if let Some(invalid) = invalid {
        request.extensions.insert(invalid);
    }
    ClientRequest::CustomRequest(request)
}

/// A notification; its metadata stays in its params.
fn parse_notification(method: &str, params: Option<&str>) -> Option<ClientNotification> {
    use ClientNotification as N;
    Some(match method {
        "notifications/initialized" => N::InitializedNotification(NotificationNoParam::default()),
        "notifications/cancelled" => N::CancelledNotification(Notification::new(parse_params(params).ok()?)),
        "notifications/progress" => N::ProgressNotification(Notification::new(parse_params(params).ok()?)),
        "notifications/roots/list_changed" => N::RootsListChangedNotification(NotificationNoParam::default()),
        _ => {
            let params = params.and_then(|params| serde_json::from_str(params).ok());
            N::CustomNotification(CustomNotification::new(method, params))
        }
    })
}

/// The request that a notification cancels.
pub(super) fn cancelled_request(notification: &ClientNotification) -> Option<&RequestId> {
    match notification {
        ClientNotification::CancelledNotification(CancelledNotification { params, .. }) => params.request_id.as_ref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::discriminant;

    use super::*;
    use proptest::prelude::*;
    use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _};
    use serde_json::to_value;

    fn parse(bytes: &[u8]) -> Result<Option<Incoming>, MessageError> {
        parse_envelope(bytes)?.parse(&Arc::default(), 0, &RequestSender::default())
    }

    const META: &str = r#""_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    fn requests() -> Vec<String> {
        let table = [
            ("ping", ""),
            ("server/discover", ""),
            (
                "initialize",
                r#""protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}"#,
            ),
            ("tools/list", r#""cursor":"x""#),
            ("prompts/list", ""),
            ("resources/list", ""),
            ("resources/templates/list", ""),
            ("tools/call", r#""name":"a\u0041","arguments":{"b":[1,2.5,null,{"c":"d"}]}"#),
            ("prompts/get", r#""name":"a","arguments":{"b":"c"}"#),
            ("resources/read", r#""uri":"a:b""#),
            ("resources/subscribe", r#""uri":"a:b""#),
            ("resources/unsubscribe", r#""uri":"a:b""#),
            (
                "completion/complete",
                r#""ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":"c"},"context":{"arguments":{"d":"e"}}"#,
            ),
            ("subscriptions/listen", r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}"#),
            ("logging/setLevel", r#""level":"debug""#),
            ("made/up", r#""a":1"#),
        ];
        let mut requests = Vec::new();
        for (method, params) in table {
            let comma = if params.is_empty() { "" } else { "," };
            for params in [format!("{{{params}}}"), format!("{{{params}{comma}{META}}}")] {
                requests.push(format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#));
            }
        }
        requests
    }

    /// What is wrong with the params of a request.
    fn invalid_params(text: &str) -> String {
        let Some(Incoming::Request(request)) = parse(text.as_bytes()).unwrap() else { panic!("{text}") };
        let ClientRequest::CustomRequest(custom) = &*request.message else { panic!("{text}") };
        custom.extensions.get::<InvalidParams>().unwrap().0.clone()
    }

    #[test]
    fn duplicate_member_of_params_is_invalid_params() {
        for (method, params, member) in [
            ("tools/call", r#""name":"a","name":"b""#, "name"),
            ("tools/call", r#""name":"a","arguments":{},"arguments":{}"#, "arguments"),
            ("prompts/get", r#""name":"a","name":"a""#, "name"),
            ("resources/read", r#""uri":"a:b","uri":"a:c""#, "uri"),
            ("tools/list", r#""cursor":"x","cursor":"y""#, "cursor"),
            ("logging/setLevel", r#""level":"info","level":"debug""#, "level"),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
            assert_eq!(invalid_params(&text), format!("invalid params: duplicate field `{member}`"));
        }
    }

    #[test]
    fn empty_lists_are_objects_in_any_message() {
        for params in ["[]", "[ ]", "null"] {
            let listed =
                parse(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#).as_bytes());
            let Some(Incoming::Request(request)) = listed.unwrap() else { panic!("{params}") };
            assert!(matches!(*request.message, ClientRequest::ListToolsRequest(_)), "{params}");
        }
        let cancelled = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"_meta":[]}}"#;
        let Some(Incoming::Notification(cancelled)) = parse(cancelled).unwrap() else { panic!() };
        assert_eq!(cancelled_request(&cancelled), Some(&RequestId::Number(3)));
        for method in ["made/up", "tools/call"] {
            let meta = r#"{"io.modelcontextprotocol/clientCapabilities":{"roots":[]}}"#;
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":7,"_meta":{meta}}}}}"#);
            let Some(Incoming::Request(request)) = parse(text.as_bytes()).unwrap() else { panic!("{method}") };
            let capabilities = request.message.extensions().get::<RequestMetaObject>().unwrap().client_capabilities();
            assert!(capabilities.unwrap().roots.is_some(), "{method}");
        }
        let Some(Incoming::Answer(_, answer)) = parse(br#"{"jsonrpc":"2.0","id":1,"result":[]}"#).unwrap() else {
            panic!()
        };
        assert_eq!(answer, Ok(serde_json::json!({})));
    }

    /// rmcp reads each message by trying all its types; here it is read by its method.
    #[test]
    fn messages_are_read_as_rmcp_reads_them() {
        let mut messages = requests();
        messages.extend([
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"r"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#
                .to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/made/up","params":{"a":1}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#.to_owned(),
        ]);
        for text in messages {
            let theirs: ClientJsonRpcMessage = serde_json::from_str(&text).unwrap();
            let ours = parse(text.as_bytes()).unwrap().unwrap();
            match (ours, theirs) {
                (
                    Incoming::Request(IncomingRequest { id, message: ours, .. }),
                    ClientJsonRpcMessage::Request(theirs),
                ) => {
                    assert_eq!((id, discriminant(&*ours)), (theirs.id, discriminant(&theirs.request)), "{text}");
                    assert_eq!(to_value(ours).unwrap(), to_value(theirs.request).unwrap(), "{text}");
                }
                (Incoming::Notification(ours), ClientJsonRpcMessage::Notification(theirs)) => {
                    assert_eq!(discriminant(&*ours), discriminant(&theirs.notification), "{text}");
                    assert_eq!(to_value(ours).unwrap(), to_value(theirs.notification).unwrap(), "{text}");
                }
                (Incoming::Answer(id, Ok(ours)), ClientJsonRpcMessage::Response(theirs)) => {
                    assert_eq!((id, ours), (theirs.id, to_value(theirs.result).unwrap()), "{text}");
                }
                (Incoming::Answer(id, Err(ours)), ClientJsonRpcMessage::Error(theirs)) => {
                    assert_eq!((Some(id), ours), (theirs.id, theirs.error), "{text}");
                }
                (ours, theirs) => panic!("{ours:?} for {theirs:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(
            which in any::<prop::sample::Index>(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = which.get(&requests()).clone().into_bytes();
            for (place, byte) in edits {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(cut.index(bytes.len() * 2) + 1);
            if let Ok(envelope) = parse_envelope(&bytes) {
                let asked = matches!(envelope.kind, MessageKind::Request { .. });
                let read = parse(&bytes);
                // Whoever asked gets an answer.
                prop_assert!(!asked || !matches!(read, Ok(None)));
            }
        }
    }
}
