//! Requests that carry a message: their heads are compared with it, and it is answered in its session, or by itself.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use futures_util::stream;
use rmcp::model::{ClientNotification, ClientRequest, CustomRequest, GetMeta, ProtocolVersion, RequestId};
use serde_json::Value;

use crate::{
    budget::{Caller, Reservation, block_if_large},
    diagnostic::{bytes_without_byte_order_mark, truncate},
    server::{IncomingRequest, InvalidParams, Method, OutgoingMessage, RequestSender, refusal_error, stated_version},
    spec_version::SpecVersion,
    transport::{
        batch,
        lone_surrogates::replace_lone_surrogates,
        message::{self, Incoming, MessageError, MessageKind},
        peer_state::{self, ReceivedPayload},
    },
};

use super::{
    SessionHome,
    accept::Accepted,
    admission::{AdmissionGuard, AdmittedKind},
    authentication::Sender,
    batch_response,
    body::{self, BodyError},
    connection::{HttpConnection, Phase},
    event_stream::{self, StreamKind},
    http_server::{HttpServer, SESSION_REQUIRED},
    refusal::RefusalNote,
    request_head::{check_known_version, is_sessionless, protocol_version},
    response::{RefusedRequest, STORE_RETRY_AFTER, json_response, text_response},
    session::{HttpSession, SESSION_ID_HEADER},
    single_request, standard_headers,
};

/// How long an `initialize` may be that the store keeps.
const MAX_STORED_INITIALIZE_BYTES: u64 = 64 * 1024;

pub(super) async fn handle_post(
    http_server: &Arc<HttpServer>,
    connection: &HttpConnection,
    parts: Parts,
    body: Body,
    accepted: Accepted,
    sender: Sender,
) -> Result<Response, RefusedRequest> {
    let session = http_server.sessions.named_by(&parts.headers, &sender).await?;
    let caller = session.as_ref().map_or(sender.account.caller(), |session| &session.caller);
    let (bytes, reservation) = read_admitted(body, connection, caller).await?;
    let bytes = bytes_without_byte_order_mark(&bytes);
    let version = protocol_version(&parts.headers);
    if batch::is_batch(bytes) {
        let session = session.filter(|_| !is_sessionless(version));
        return batch_response::respond_to_batch(http_server, &parts.headers, session, bytes, accepted, &sender).await;
    }
    let read = block_if_large(bytes.len() as u64, || {
        read_message(&replace_lone_surrogates(bytes), version, accepted, &reservation, &sender.request_sender)
    });
    let Some(message) = read? else { return Ok(text_response(StatusCode::ACCEPTED, "")) };
    let guard = match message.request() {
        Some(request) => http_server.admit(&sender, AdmittedKind::of(&request.message), 1, Some(&request.id))?,
        None => None,
    };
    let post = Post { http_server, headers: &parts.headers, version, accepted, sender, guard };
    post.check_scopes(&message)?;
    let mut response = match (post.has_session_version(&message)?, session) {
        (false, _) => post.answer_sessionless(message).await?,
        (true, Some(session)) => post.answer_in_session(message, &session).await?,
        (true, None) => post.answer_without_session(message).await?,
    };
    // Its memory is held until it is written.
    response.extensions_mut().insert(reservation);
    Ok(response)
}

/// Reads a body to its end, and waits for room for its message before anybody parses it.
pub(super) async fn read_admitted(
    body: Body,
    connection: &HttpConnection,
    caller: &Arc<Caller>,
) -> Result<(Bytes, Arc<Reservation>), RefusedRequest> {
    let reservation = Arc::new(caller.reserve(0));
    let bytes = body::read_body(body, connection.limits().body_timeout, &reservation).await?;
    connection.enter_phase(Phase::MessageResponse);
    let too_large = |message: String| {
        RefusedRequest::Message(StatusCode::PAYLOAD_TOO_LARGE, MessageError::invalid_request(None, message))
    };
    let size = block_if_large(bytes.len() as u64, || peer_state::checked_size(&bytes, caller.pool()));
    let size = size.map_err(too_large)?;
    body::admit(size, &reservation).await.map_err(BodyError::Busy)?;
    Ok((bytes, reservation))
}

/// Parses a message, and refuses what its own words and the version of the head rule out. `None` for an invalid
/// notification.
fn read_message(
    bytes: &[u8],
    version: Option<&str>,
    accepted: Accepted,
    reservation: &Arc<Reservation>,
    sender: &RequestSender,
) -> Result<Option<Incoming>, RefusedRequest> {
    let envelope = message::parse_envelope(bytes).map_err(RefusedRequest::bad_message)?;
    if let MessageKind::Request { id, method } = &envelope.kind {
        if is_removed_method(method, version) {
            let message = format!("unknown method `{}`", truncate(method, 64));
            let error = MessageError::method_not_found(id.clone(), message);
            return Err(RefusedRequest::Message(StatusCode::NOT_FOUND, error));
        }
        if method == "subscriptions/listen" && !accepted.event_stream {
            let message = "the answer is a stream: accept `text/event-stream`";
            let error = MessageError::invalid_request(Some(id.clone()), message);
            return Err(RefusedRequest::Message(StatusCode::NOT_ACCEPTABLE, error));
        }
    }
    let parsed = envelope.parse(reservation, bytes.len() as u64, sender);
    let message = parsed.map_err(RefusedRequest::bad_message)?;
    if let Some(Incoming::Request(IncomingRequest { id, message: request, .. })) = &message
        && let ClientRequest::CustomRequest(custom) = &**request
        && is_malformed(custom)
        && let Some(InvalidParams(complaint)) = custom.extensions.get()
    {
        return Err(RefusedRequest::bad_message(MessageError::invalid_params(id.clone(), complaint.clone())));
    }
    Ok(message)
}

/// Whether nothing of a request can be relied on: its parameters or their metadata are no objects. What is wrong with
/// `initialize` is said here too, as no session begins with it.
fn is_malformed(request: &CustomRequest) -> bool {
    let is_object = |value: &Value| value.is_object() || value.is_null();
    let params = request.params.as_ref();
    let has_objects = params.is_none_or(|params| is_object(params) && params.get("_meta").is_none_or(is_object));
    request.method == "initialize" || !has_objects
}

/// Whether the version of the request has no such method.
fn is_removed_method(method: &str, version: Option<&str>) -> bool {
    let is_newest = version == Some(SpecVersion::NEWEST.as_str());
    is_newest && Method::find(method).is_some_and(|method| !method.is_in(SpecVersion::NEWEST))
}

/// A request that carries a message, without that.
pub(super) struct Post<'a> {
    pub(super) http_server: &'a Arc<HttpServer>,
    pub(super) headers: &'a HeaderMap,
    /// The version that they name.
    pub(super) version: Option<&'a str>,
    pub(super) accepted: Accepted,
    sender: Sender,
    /// Counts it until it is answered.
    pub(super) guard: Option<Arc<AdmissionGuard>>,
}

impl Post<'_> {
    /// Refuses a request whose sender lacks scopes for it: the answer says which are needed (RFC 6750, 3.1).
    fn check_scopes(&self, message: &Incoming) -> Result<(), RefusedRequest> {
        let Some(IncomingRequest { id, message, reservation, .. }) = message.request() else { return Ok(()) };
        let shared_server = &self.http_server.shared_server;
        let checked = shared_server.check_scopes(message, self.sender.access(), reservation);
        let Err(refusal) = checked else { return Ok(()) };
        let (catalog, authentication) = (shared_server.catalog(), &self.http_server.authentication);
        let denial = authentication.scope_denial(refusal.required_scopes(), self.sender.access(), &catalog);
        let error = OutgoingMessage::error(Some(id.clone()), &refusal_error(refusal));
        let mut response = json_response(denial.status(), error.redact(shared_server.redactors()).json);
        authentication.add_challenge(response.headers_mut(), &denial, &catalog);
        response.extensions_mut().insert(RefusalNote::of_denial(&denial));
        Err(response.into())
    }

    /// Answers a message of a version with sessions that is in none.
    async fn answer_without_session(self, message: Incoming) -> Result<Response, RefusedRequest> {
        let keeps_sessions = self.http_server.session_home != SessionHome::None;
        if keeps_sessions && self.headers.contains_key(SESSION_ID_HEADER) {
            return Err(RefusedRequest::SessionNotFound);
        }
        let Incoming::Request(request) = message else {
            return match keeps_sessions {
                true => Err(RefusedRequest::text(StatusCode::BAD_REQUEST, SESSION_REQUIRED)),
                // Nothing that it could concern is known any more.
                false => Ok(text_response(StatusCode::ACCEPTED, "")),
            };
        };
        match *request.message {
            ClientRequest::InitializeRequest(_) if keeps_sessions => self.begin_session(request).await,
            ClientRequest::DiscoverRequest(_) => Ok(single_request::answer(self, request).await),
            _ if keeps_sessions => Err(RefusedRequest::text(StatusCode::BAD_REQUEST, SESSION_REQUIRED)),
            _ => Ok(single_request::answer(self, request).await),
        }
    }

    /// Compares the version in the head with that of the message. Returns whether it is one with sessions.
    fn has_session_version(&self, message: &Incoming) -> Result<bool, RefusedRequest> {
        let header = self.version;
        let request = message.request().map(|request| (&request.id, &*request.message));
        let stated = request.and_then(|(_, request)| stated_version(request.get_meta()));
        if stated.is_none() {
            check_known_version(header)?;
        }
        let has_session = stated.is_none_or(|version| version < ProtocolVersion::V_2026_07_28.as_str());
        if let Some((id, ClientRequest::InitializeRequest(initialize))) = request.filter(|_| has_session) {
            let body = initialize.params.protocol_version.as_str();
            if let Some(header) = header.filter(|header| *header != body) {
                let message = format!(
                    "Invalid Request: MCP-Protocol-Version header ({header}) does not match initialize params.protocolVersion ({body})"
                );
                let error = MessageError::invalid_request(Some(id.clone()), message);
                return Err(RefusedRequest::bad_message(error));
            }
            return Ok(true);
        }
        if let Some((id, request)) = request {
            check_stated_version(header, stated, id, request)?;
        }
        let stated = stated.or(header).unwrap_or_default();
        Ok(stated < ProtocolVersion::V_2026_07_28.as_str())
    }

    /// Answers a message of a version without sessions, which its head names too.
    async fn answer_sessionless(self, message: Incoming) -> Result<Response, RefusedRequest> {
        match message {
            Incoming::Request(request) => {
                let shared_server = &self.http_server.shared_server;
                let schema = |name: &str| shared_server.header_schema(name, self.sender.access());
                standard_headers::check_request(self.headers, &request.message, schema)
                    .map_err(|mismatch| header_mismatch(Some(request.id.clone()), mismatch))?;
                Ok(single_request::answer(self, request).await)
            }
            Incoming::Notification(notification) => {
                standard_headers::check_method(self.headers, notification_method(&notification))
                    .map_err(|mismatch| header_mismatch(None, mismatch))?;
                Ok(text_response(StatusCode::ACCEPTED, ""))
            }
            Incoming::Answer(..) => {
                let message = "stateless server does not accept JSON-RPC responses";
                Err(RefusedRequest::bad_message(MessageError::invalid_request(None, message)))
            }
        }
    }

    async fn answer_in_session(
        self,
        message: Incoming,
        session: &Arc<HttpSession>,
    ) -> Result<Response, RefusedRequest> {
        if let Incoming::Answer(id, answer) = &message
            && let Some(shared) = session.asked_elsewhere(id)
        {
            shared.forward_answer(id, answer).await?;
            return Ok(text_response(StatusCode::ACCEPTED, ""));
        }
        let received = session.receive(ReceivedPayload::Message(Some(message)), self.guard);
        let Some(reader) = received.map_err(RefusedRequest::by_code)? else {
            return Ok(text_response(StatusCode::ACCEPTED, ""));
        };
        // What is answered at once needs no stream.
        if !self.accepted.event_stream || self.accepted.json && reader.has_answer() {
            return Ok(self.accepted.read_answer(reader, session).await);
        }
        let events = event_stream::read_session_events(reader, session.version());
        Ok(event_stream::event_stream_response(events, self.http_server, self.headers, StreamKind::Answer))
    }

    /// Begins a session with `initialize`, which is answered at once.
    async fn begin_session(self, request: IncomingRequest) -> Result<Response, RefusedRequest> {
        let id = request.id.clone();
        let sessions = &self.http_server.sessions;
        if self.http_server.session_home == SessionHome::Store && request.bytes > MAX_STORED_INITIALIZE_BYTES {
            let message = "the parameters of `initialize` are too long to be kept for all replicas";
            let error = MessageError::invalid_request(Some(id), message);
            return Err(RefusedRequest::Message(StatusCode::PAYLOAD_TOO_LARGE, error));
        }
        let Some((session_id, session)) = sessions.create(false, &self.sender) else {
            return Err(RefusedRequest::too_many_sessions(Some(id)));
        };
        let payload = ReceivedPayload::Message(Some(Incoming::Request(request)));
        let received = session.receive(payload, self.guard.clone());
        let reader = received.inspect_err(|_| sessions.end(&session_id)).map_err(RefusedRequest::by_code)?;
        let answer = match reader {
            Some(mut reader) => reader.next().await,
            None => None,
        };
        let Some(answer) = answer else {
            sessions.end(&session_id);
            return Err(RefusedRequest::text(StatusCode::INTERNAL_SERVER_ERROR, "session ended"));
        };
        if session.version().is_some() && session.keep().await.is_err() {
            sessions.end(&session_id);
            return Err(RefusedRequest::store_is_away(Some(id)));
        }
        let mut response = self.answer_response(StatusCode::OK, answer.payload.json());
        if let Ok(session_id) = HeaderValue::from_str(&session_id) {
            response.headers_mut().insert(SESSION_ID_HEADER, session_id);
        }
        Ok(response)
    }

    /// A response with nothing but an answer: JSON, or an event for a client that takes nothing else. What was not done says
    /// when to send it again.
    pub(super) fn answer_response(&self, status: StatusCode, json: Bytes) -> Response {
        if self.accepted.json || status != StatusCode::OK {
            let mut response = json_response(status, json);
            if status == StatusCode::SERVICE_UNAVAILABLE {
                response.headers_mut().insert(header::RETRY_AFTER, STORE_RETRY_AFTER.as_secs().into());
            }
            return response;
        }
        let event = event_stream::encode_message(&json, None);
        event_stream::event_stream_response(stream::iter([event]), self.http_server, self.headers, StreamKind::Answer)
    }
}

/// Refuses a version in `_meta` that the head does not have, and a head of 2026-07-28 with a request that lacks it.
fn check_stated_version(
    header: Option<&str>,
    stated: Option<&str>,
    id: &RequestId,
    request: &ClientRequest,
) -> Result<(), RefusedRequest> {
    let newest = ProtocolVersion::V_2026_07_28;
    let Some(stated) = stated else {
        let is_discover = matches!(request, ClientRequest::DiscoverRequest(_));
        if is_discover || header.is_some_and(|header| header >= newest.as_str()) {
            let missing = missing_meta(request).join(", ");
            let message =
                format!("Invalid params: request _meta is missing or has malformed required fields: {missing}");
            let error = MessageError::invalid_params(id.clone(), message);
            return Err(RefusedRequest::bad_message(error));
        }
        return Ok(());
    };
    let mismatch = match header {
        None => "request _meta protocolVersion requires MCP-Protocol-Version header".to_owned(),
        Some(header) if header != stated => {
            format!("MCP-Protocol-Version header ({header}) does not match request _meta protocolVersion ({stated})")
        }
        Some(_) => return Ok(()),
    };
    Err(header_mismatch(Some(id.clone()), mismatch))
}

/// What a request of 2026-07-28 must bring, and this one does not.
pub(super) fn missing_meta(request: &ClientRequest) -> Vec<&'static str> {
    request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28)
}

fn header_mismatch(id: Option<RequestId>, message: String) -> RefusedRequest {
    RefusedRequest::bad_message(MessageError::header_mismatch(id, message))
}

fn notification_method(notification: &ClientNotification) -> &str {
    use ClientNotification as N;
    match notification {
        N::CancelledNotification(_) => "notifications/cancelled",
        N::ProgressNotification(_) => "notifications/progress",
        N::InitializedNotification(_) => "notifications/initialized",
        N::RootsListChangedNotification(_) => "notifications/roots/list_changed",
        N::CustomNotification(custom) => &custom.method,
        _ => "",
    }
}
