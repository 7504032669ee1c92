//! Writes `text/event-stream` responses.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::{Stream, StreamExt, stream};

use crate::{budget::block_if_large, server::SharedServer, spec_version::SpecVersion};

use super::{
    event_channel::{Event, EventReader},
    http_server::HttpServer,
    response::build_response,
};

/// After how long a client may come again whose stream broke off.
const RECONNECT_DELAY: Duration = Duration::from_secs(3);

/// What a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// The answer to a request, whose sender was known when it came.
    Answer,
    /// What comes for as long as the client listens.
    Listening,
}

/// A response of these events, which ends when the token of the request is no longer valid for such a stream. A comment is
/// sent where there is no event for a while.
pub(super) fn event_stream_response(
    events: impl Stream<Item = Bytes> + Send + 'static,
    http_server: &Arc<HttpServer>,
    headers: &HeaderMap,
    kind: StreamKind,
) -> Response {
    let keep_alive = http_server.keep_alive;
    let open = OpenStream::new(http_server.shared_server.clone());
    let pieces = stream::unfold((Box::pin(events), open), move |(mut events, open)| async move {
        let piece = match tokio::time::timeout(keep_alive, events.next()).await {
            Ok(event) => event?,
            Err(_) => Bytes::from_static(b": \n\n"),
        };
        Some((Ok::<Bytes, Infallible>(piece), (events, open)))
    });
    let pieces = pieces.take_until(Box::pin(http_server.clone().wait_for_revocation(headers, kind)));
    let mut response = build_response(StatusCode::OK, "text/event-stream", Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // What nginx asks for not to hold pieces back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A stream that is open, as observers are told.
struct OpenStream(SharedServer);

impl OpenStream {
    fn new(shared_server: SharedServer) -> OpenStream {
        shared_server.observers().into_iter().for_each(|all| all.tell(|observer| observer.on_stream_open()));
        OpenStream(shared_server)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.observers().into_iter().for_each(|all| all.tell(|observer| observer.on_stream_close()));
    }
}

/// What a reader reads.
pub(super) fn read_events(reader: EventReader) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold(reader, |mut reader| async move { Some((encode_event(&reader.next().await?), reader)) })
}

/// What a reader reads, in a session of a version: since 2025-11-25 an empty event comes first, so that a client knows
/// where to go on; to one of an older version it is a message that cannot be read.
pub(super) fn read_session_events(
    reader: EventReader,
    version: Option<SpecVersion>,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let has_priming = version.is_some_and(|version| version >= SpecVersion::V2025_11_25);
    let priming = has_priming.then(|| priming_event(&reader));
    stream::iter(priming).chain(read_events(reader))
}

fn priming_event(reader: &EventReader) -> Bytes {
    let delay = RECONNECT_DELAY.as_millis();
    Bytes::from(format!("id: {}\nretry: {delay}\ndata: \n\n", reader.last_event_id()))
}

/// An event as it is written.
pub(super) fn encode_event(event: &Event) -> Bytes {
    block_if_large(event.bytes, || encode_message(&event.payload.json(), Some(&event.id)))
}

/// A message as an event, with the id from which a client may go on.
pub(super) fn encode_message(json: &[u8], id: Option<&str>) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    [b"event: message\n", id.as_bytes(), b"data: ", json, b"\n\n"].concat().into()
}
