//! Serves the page of `folio dev` beside the endpoint: its files to anybody on this machine, as they hold nothing of the
//! manifest, its events and the answers to its requests to those who have the token.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::catalog::{HttpAccess, TokenDigest};
use crate::dev_page::{
    CONTENT_SECURITY_POLICY, DevPageEventReader, DevPageEvents, DevPageFile, DevPageRequests, PAGE_FILES,
    answer_page_request,
};

use super::authentication::Sender;
use super::connection::HttpConnection;
use super::post::read_admitted;
use super::request_head::check_body_type;
use super::response::{RefusedRequest, build_response, json_response, method_not_allowed, text_response};
use super::{event_stream::StreamKind, http_server::HttpServer};

/// Where the events are.
const EVENTS_PATH: &str = "/events";

/// What the paths of requests begin with.
const REQUEST_PATH: &str = "/api/";

/// The page that a server has, which is then the only thing that it serves, with the endpoint for it.
#[derive(Clone)]
pub struct DevPage {
    /// Who may send requests: those who show the token of the page.
    pub(super) access: HttpAccess,
    events: DevPageEvents,
    requests: Arc<dyn DevPageRequests>,
}

impl std::fmt::Debug for DevPage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DevPage").finish_non_exhaustive()
    }
}

impl DevPage {
    /// The page for those who show `token`, whose requests are answered by `requests`.
    pub fn new(token: &str, events: DevPageEvents, requests: Arc<dyn DevPageRequests>) -> DevPage {
        let access = HttpAccess { token: Some(TokenDigest::new(token)), ..HttpAccess::default() };
        DevPage { access, events, requests }
    }

    /// Whether a path is that of the events or of a request.
    pub(super) fn has_path(path: &str) -> bool {
        path == EVENTS_PATH || path.starts_with(REQUEST_PATH)
    }

    /// Answers a request of the page.
    pub(super) async fn answer(
        &self,
        http_server: &Arc<HttpServer>,
        connection: &HttpConnection,
        request: Request,
        sender: &Sender,
    ) -> Result<Response, RefusedRequest> {
        let (parts, body) = request.into_parts();
        let Some(name) = parts.uri.path().strip_prefix(REQUEST_PATH).map(str::to_owned) else {
            return match parts.method {
                Method::GET => Ok(self.event_stream(http_server, &parts.headers)),
                _ => Err(method_not_allowed("GET").into()),
            };
        };
        if parts.method != Method::POST {
            return Err(method_not_allowed("POST").into());
        }
        check_body_type(&parts.headers)?;
        let (bytes, reservation) = read_admitted(body, connection, sender.account.caller()).await?;
        let requests = self.requests.clone();
        let answering = tokio::task::spawn_blocking(move || answer_page_request(&name, &bytes, &*requests));
        let (status, json) = match answering.await {
            Ok(Ok(answer)) => (StatusCode::OK, answer),
            Ok(Err(error)) => {
                (StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST), error.to_json())
            }
            Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, json!({ "error": "the request ended without an answer" })),
        };
        let mut response = answer_response(status, &json);
        response.extensions_mut().insert(reservation);
        Ok(response)
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
    fn event_stream(&self, http_server: &Arc<HttpServer>, headers: &HeaderMap) -> Response {
        let DevPageEventReader { earlier, next } = self.events.subscribe();
        self.requests.on_page_opened();
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

fn answer_response(status: StatusCode, json: &Value) -> Response {
    let mut response = json_response(status, json.to_string().into());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
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
