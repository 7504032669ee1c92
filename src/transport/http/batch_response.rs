//! Batches over Streamable HTTP, which rmcp does not read.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode},
    response::Response,
};

use crate::budget::{Reservation, block_if_large};
use crate::transport::{batch, message::MessageError};

use super::{
    HttpServer,
    event_channel::{Event, EventPayload},
    event_stream, is_sessionless,
    response::{build_response, error_response, text_response},
    session::SESSION_ID_HEADER,
};

/// Answers a batch: in one list, once the last request is answered, or as a stream if other messages come first.
pub(super) async fn respond_to_batch(
    http_server: &HttpServer,
    headers: &HeaderMap,
    bytes: Bytes,
    reservation: Arc<Reservation>,
) -> Response {
    let refuse =
        |message: &'static str| error_response(StatusCode::BAD_REQUEST, &MessageError::invalid_request(None, message));
    if let Err(error) = block_if_large(bytes.len() as u64, || batch::parse_batch(&bytes).map(drop)) {
        return error_response(StatusCode::BAD_REQUEST, &error);
    }
    let session = headers.get(SESSION_ID_HEADER).map(|id| id.to_str().unwrap_or_default());
    let Some(session) = session.filter(|_| !is_sessionless(headers)) else {
        return refuse("batches are only supported in sessions of version 2025-03-26; send each message on its own");
    };
    let Some(session) = http_server.sessions.find(session, false) else {
        return text_response(StatusCode::NOT_FOUND, "Not Found: Session not found");
    };
    let received = session.receive(&bytes);
    // Each of its messages has its own reservation.
    drop((bytes, reservation));
    let mut reader = match received {
        Ok(Some(reader)) => reader,
        Ok(None) => return text_response(StatusCode::ACCEPTED, ""),
        Err(error) => return error_response(StatusCode::BAD_REQUEST, &error),
    };
    match reader.next().await {
        Some(Event { payload: EventPayload::Batch(responses), bytes, .. }) => {
            let body = block_if_large(bytes, || serde_json::to_vec(&*responses)).unwrap_or_default();
            build_response(StatusCode::OK, "application/json", Body::from(body))
        }
        Some(event) => {
            event_stream::event_stream_response(event_stream::encode_event(&event), reader, http_server.keep_alive, ())
        }
        // All requests were cancelled, or the session has ended.
        None => text_response(StatusCode::ACCEPTED, ""),
    }
}
