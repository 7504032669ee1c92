//! Writes `text/event-stream` responses where rmcp does not.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::{StreamExt, stream};

use crate::budget::block_if_large;

use super::{
    event_channel::{Event, EventReader},
    response::build_response,
};

/// A response that is a stream: `first`, then what `reader` reads. A comment is sent after each `keep_alive` without
/// events. `guard` is dropped with the stream.
pub(super) fn event_stream_response<H: Send + 'static>(
    first: Bytes,
    reader: EventReader,
    keep_alive: Duration,
    guard: H,
) -> Response {
    let rest = stream::unfold((reader, guard), move |(mut reader, guard)| async move {
        let piece = match tokio::time::timeout(keep_alive, reader.next()).await {
            Ok(event) => encode_event(&event?),
            Err(_) => Bytes::from_static(b": \n\n"),
        };
        Some((piece, (reader, guard)))
    });
    let pieces = stream::once(async move { first }).chain(rest);
    let mut response =
        build_response(StatusCode::OK, "text/event-stream", Body::from_stream(pieces.map(Ok::<Bytes, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // What nginx asks for not to hold pieces back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// An event as it is written.
pub(super) fn encode_event(event: &Event) -> Bytes {
    block_if_large(event.bytes, || {
        let data = serde_json::to_string(&event.payload).unwrap_or_default();
        Bytes::from(format!("event: message\nid: {}\ndata: {data}\n\n", event.id))
    })
}
