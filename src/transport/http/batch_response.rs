//! Batches over Streamable HTTP.

use std::sync::Arc;

use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use futures_util::{StreamExt, stream};

use crate::{
    budget::block_if_large,
    transport::{batch, message::MessageError, peer_state::ReceivedPayload},
};

use super::{
    accept::Accepted,
    admission::AdmittedKind,
    authentication::Sender,
    event_channel::{Event, EventPayload},
    event_stream::{self, StreamKind},
    http_server::HttpServer,
    request_head::{check_known_version, is_sessionless, protocol_version},
    response::{RefusedRequest, json_response, text_response},
    session::{HttpSession, SESSION_ID_HEADER},
};

/// Answers a batch: in one list, once the last request is answered, or as a stream if other messages come first.
pub(super) async fn respond_to_batch(
    http_server: &Arc<HttpServer>,
    headers: &HeaderMap,
    session: Option<Arc<HttpSession>>,
    bytes: &[u8],
    accepted: Accepted,
    sender: &Sender,
) -> Result<Response, RefusedRequest> {
    block_if_large(bytes.len() as u64, || batch::parse_batch(bytes).map(drop)).map_err(RefusedRequest::bad_message)?;
    let version = protocol_version(headers);
    check_known_version(version)?;
    if is_sessionless(version) || !headers.contains_key(SESSION_ID_HEADER) {
        let message = "batches are only supported in sessions of version 2025-03-26; send each message on its own";
        return Err(RefusedRequest::bad_message(MessageError::invalid_request(None, message)));
    }
    let session = session.ok_or(RefusedRequest::SessionNotFound)?;
    let payload = ReceivedPayload::parse(bytes, &session.caller, &sender.request_sender);
    let payload = payload.map_err(RefusedRequest::bad_message)?;
    let guard = http_server.admit(sender, AdmittedKind::Requests, payload.request_count(), None)?;
    let Some(mut reader) = session.receive(payload, guard).map_err(RefusedRequest::bad_message)? else {
        return Ok(text_response(StatusCode::ACCEPTED, ""));
    };
    if !accepted.event_stream {
        return Ok(accepted.read_answer(reader, &session).await);
    }
    Ok(match reader.next().await {
        Some(Event { payload: payload @ EventPayload::Batch(_), bytes, .. }) if accepted.json => {
            json_response(StatusCode::OK, block_if_large(bytes, || payload.json()))
        }
        Some(event) => {
            let first = event_stream::encode_event(&event);
            let events = stream::iter([first]).chain(event_stream::read_events(reader));
            event_stream::event_stream_response(events, http_server, headers, StreamKind::Answer)
        }
        // All requests were cancelled, or the session has ended.
        None => text_response(StatusCode::ACCEPTED, ""),
    })
}
