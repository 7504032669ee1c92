//! Batches over Streamable HTTP, which rmcp does not read.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode},
    response::Response,
};

use crate::budget::block_if_large;
use crate::transport::{batch, message::Fault};

use super::{
    Desk, SESSION,
    channel::{Event, Said},
    error, events, is_without_session, plain, respond,
};

/// Answers a batch: in one list, as soon as the last of it is answered; as a stream, where something else must be said
/// before.
pub(super) async fn answer(desk: &Desk, headers: &HeaderMap, bytes: &Bytes) -> Response {
    let refuse = |message: &'static str| error(StatusCode::BAD_REQUEST, &Fault::request(None, message));
    if let Err(fault) = block_if_large(bytes.len() as u64, || batch::read(bytes).map(drop)) {
        return error(StatusCode::BAD_REQUEST, &fault);
    }
    let session = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default());
    let Some(session) = session.filter(|_| !is_without_session(headers)) else {
        return refuse("batches exist in sessions of version 2025-03-26 only: send each message by itself");
    };
    let Some(session) = desk.sessions.find(session, false) else {
        return plain(StatusCode::NOT_FOUND, "Not Found: Session not found");
    };
    let mut reader = match session.take(bytes) {
        Ok(Some(reader)) => reader,
        Ok(None) => return plain(StatusCode::ACCEPTED, ""),
        Err(fault) => return error(StatusCode::BAD_REQUEST, &fault),
    };
    match reader.next().await {
        Some(Event { said: Said::Batch(replies), bytes, .. }) => {
            let body = block_if_large(bytes, || serde_json::to_vec(&*replies)).unwrap_or_default();
            respond(StatusCode::OK, "application/json", Body::from(body))
        }
        Some(event) => events::response(events::written(&event), reader, desk.keep_alive, ()),
        // All of it was cancelled, or the session is over.
        None => plain(StatusCode::ACCEPTED, ""),
    }
}
