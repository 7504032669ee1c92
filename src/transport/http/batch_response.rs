//! Batches over Streamable HTTP.

use std::sync::Arc;

use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use futures_util::{StreamExt, stream};

use crate::{
    budget::block_if_large,
    transport::{batch, message::MessageError},
};

use super::{
    HttpServer,
    accept::Accepted,
    event_channel::{Event, EventPayload},
    event_stream, is_sessionless,
    post::session_not_found,
    response::{error_response, json_response, text_response},
    session::{HttpSession, SESSION_ID_HEADER},
};

/// Answers a batch: in one list, once the last request is answered, or as a stream if other messages come first.
pub(super) async fn respond_to_batch(
    http_server: &HttpServer,
    headers: &HeaderMap,
    session: Option<Arc<HttpSession>>,
    bytes: &[u8],
    accepted: Accepted,
) -> Response {
    if let Err(error) = block_if_large(bytes.len() as u64, || batch::parse_batch(bytes).map(drop)) {
        return error_response(StatusCode::BAD_REQUEST, error);
    }
    if is_sessionless(headers) || !headers.contains_key(SESSION_ID_HEADER) {
        let message = "batches are only supported in sessions of version 2025-03-26; send each message on its own";
        return error_response(StatusCode::BAD_REQUEST, MessageError::invalid_request(None, message));
    }
    let Some(session) = session else { return session_not_found() };
    let mut reader = match session.receive(bytes) {
        Ok(Some(reader)) => reader,
        Ok(None) => return text_response(StatusCode::ACCEPTED, ""),
        Err(error) => return error_response(StatusCode::BAD_REQUEST, error),
    };
    if !accepted.event_stream {
        return accepted.read_answer(reader, &session).await;
    }
    match reader.next().await {
        Some(Event { payload: payload @ EventPayload::Batch(_), bytes, .. }) if accepted.json => {
            json_response(StatusCode::OK, block_if_large(bytes, || payload.json()))
        }
        Some(event) => {
            let first = event_stream::encode_event(&event);
            let events = stream::iter([first]).chain(event_stream::read_events(reader));
            event_stream::event_stream_response(events, http_server.keep_alive)
        }
        // All requests were cancelled, or the session has ended.
        None => text_response(StatusCode::ACCEPTED, ""),
    }
}
