//! Redacts secrets in every HTTP response.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
    response::Response,
};
use futures_util::StreamExt;

use crate::budget::block_if_large_with_secrets;
use crate::redact::Redactors;

/// Hides the secrets in a response.
pub(super) async fn redact_response(response: Response, redactors: &Redactors) -> Response {
    if redactors.is_empty() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = if is_event_stream(&parts.headers) {
        let redactors = redactors.clone();
        // Each piece is a whole event.
        Body::from_stream(body.into_data_stream().map(move |piece| {
            piece.map(|piece| block_if_large_with_secrets(piece.len() as u64, || redact_events(&piece, &redactors)))
        }))
    } else {
        // It is of the body before anything was hidden, or it broke off.
        parts.headers.remove(header::CONTENT_LENGTH);
        let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
            return Response::from_parts(parts, Body::empty());
        };
        Body::from(block_if_large_with_secrets(bytes.len() as u64, || redactors.redact_message(bytes.into())))
    };
    Response::from_parts(parts, body)
}

/// Whether a response is a stream of events.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| content_type.starts_with("text/event-stream"))
}

/// Hides the secrets in the data of events, line by line. The event that says where to post has a path, and no message.
fn redact_events(piece: &Bytes, redactors: &Redactors) -> Bytes {
    if piece.starts_with(b"event: endpoint\n") {
        return piece.clone();
    }
    let mut out = Vec::with_capacity(piece.len());
    for line in piece.split_inclusive(|byte| *byte == b'\n') {
        let data = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).filter(|data| !data.is_empty());
        match data {
            Some(data) => {
                out.extend_from_slice(b"data: ");
                out.extend(redactors.redact_message(data.to_vec()));
                out.push(b'\n');
            }
            None => out.extend_from_slice(line),
        }
    }
    out.into()
}
