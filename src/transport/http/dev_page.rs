//! Serves the page of `folio dev` beside the endpoint: its files to anybody on this machine, as they hold nothing of the
//! manifest, its events to those who have the token.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::{StreamExt, stream};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::catalog::{HttpAccess, TokenDigest};
use crate::dev_page::{CONTENT_SECURITY_POLICY, DevPageEventReader, DevPageEvents, DevPageFile, PAGE_FILES};

use super::response::{build_response, text_response};
use super::{event_stream::StreamKind, http_server::HttpServer};

/// Where the events are.
pub(super) const EVENTS_PATH: &str = "/events";

/// The page that a server has, which is then the only thing that it serves, with the endpoint for it.
#[derive(Debug, Clone)]
pub struct DevPage {
    /// Who may send requests: those who show the token of the page.
    pub(super) access: HttpAccess,
    pub(super) events: DevPageEvents,
}

impl DevPage {
    /// The page for those who show `token`.
    pub fn new(token: &str, events: DevPageEvents) -> DevPage {
        let access = HttpAccess { token: Some(TokenDigest::new(token)), ..HttpAccess::default() };
        DevPage { access, events }
    }

    /// A file of the page.
    pub(super) fn file(method: &Method, path: &str) -> Option<Response> {
        let file = PAGE_FILES.iter().find(|file| file.path == path)?;
        Some(match *method {
            Method::GET | Method::HEAD => file_response(file),
            _ => text_response(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"),
        })
    }

    /// The stream of events.
    pub(super) fn event_stream(&self, http_server: &Arc<HttpServer>, headers: &HeaderMap) -> Response {
        let DevPageEventReader { earlier, next } = self.events.subscribe();
        let earlier = stream::iter(earlier.into_iter().map(|event| encode(&event)));
        let keep_alive = http_server.keep_alive;
        let later = stream::unfold(next, move |mut next| async move {
            let piece = next_piece(&mut next, keep_alive).await?;
            Some((piece, next))
        });
        let revoked = http_server.clone().wait_for_revocation(headers, StreamKind::Listening);
        let pieces = earlier.chain(later).map(Ok::<Bytes, Infallible>).take_until(Box::pin(revoked));
        let mut response = build_response(StatusCode::OK, "text/event-stream", Body::from_stream(pieces));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The next event, or a comment where there is none for a while. A page that missed events connects again.
async fn next_piece(next: &mut Receiver<Arc<str>>, keep_alive: Duration) -> Option<Bytes> {
    match tokio::time::timeout(keep_alive, next.recv()).await {
        Ok(Ok(event)) => Some(encode(&event)),
        Ok(Err(RecvError::Closed | RecvError::Lagged(_))) => None,
        Err(_) => Some(Bytes::from_static(b": \n\n")),
    }
}

fn encode(event: &str) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

fn file_response(file: &DevPageFile) -> Response {
    let mut response = build_response(StatusCode::OK, file.content_type, Body::from(file.text));
    add_security_headers(response.headers_mut());
    response
}

fn add_security_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
}
