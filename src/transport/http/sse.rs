//! HTTP+SSE of 2024-11-05: one stream for all messages, and an endpoint to which the client posts.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::Request,
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};

use futures_util::{StreamExt, stream};

use crate::transport::peer_state::ReceivedPayload;

use super::{
    admission::AdmittedKind,
    authentication::Sender,
    connection::HttpConnection,
    event_stream::{self, StreamKind},
    http_server::HttpServer,
    post::read_admitted,
    request_head::check_body_type,
    response::{RefusedRequest, method_not_allowed, text_response},
    sessions::{SessionId, Sessions},
};

/// Where the stream is, and where messages are posted to: beside the endpoint of Streamable HTTP.
pub(super) struct SsePaths {
    stream: String,
    messages: String,
}

impl SsePaths {
    pub(super) fn for_endpoint(endpoint: &str) -> SsePaths {
        let folder = endpoint.rfind('/').map_or("/", |end| endpoint.get(..=end).unwrap_or("/"));
        SsePaths { stream: format!("{folder}sse"), messages: format!("{folder}messages") }
    }

    pub(super) fn stream(&self) -> &str {
        &self.stream
    }

    /// Whether something else listens at one of them.
    pub(super) fn conflicts_with(&self, endpoint: &str) -> bool {
        endpoint == self.stream || endpoint == self.messages
    }

    pub(super) fn contains(&self, path: &str) -> bool {
        path == self.stream || path == self.messages
    }
}

/// Answers a request at one of the two paths.
pub(super) async fn handle_sse(
    http_server: &Arc<HttpServer>,
    paths: &SsePaths,
    connection: &HttpConnection,
    request: Request,
    sender: Sender,
) -> Result<Response, RefusedRequest> {
    let is_stream = request.uri().path() == paths.stream;
    match *request.method() {
        Method::GET if is_stream => open_stream(http_server, paths, request.headers(), &sender),
        Method::POST if !is_stream => handle_post(http_server, connection, request, &sender).await,
        _ => Err(method_not_allowed(if is_stream { "GET" } else { "POST" }).into()),
    }
}

/// Begins a session, which lives as long as its stream.
fn open_stream(
    http_server: &Arc<HttpServer>,
    paths: &SsePaths,
    headers: &HeaderMap,
    sender: &Sender,
) -> Result<Response, RefusedRequest> {
    let admitted = http_server.admit(sender, AdmittedKind::Streams, 1, None)?;
    let created = http_server.sessions.create(true, sender);
    let (id, session) = created.ok_or_else(|| RefusedRequest::too_many_sessions(None))?;
    let guard = SessionGuard { sessions: http_server.sessions.clone(), id: id.clone() };
    let reader = session.listen().ok_or_else(|| RefusedRequest::too_many_sessions(None))?;
    let prefix = forwarded_prefix(headers);
    let endpoint = format!("event: endpoint\ndata: {prefix}{}?sessionId={id}\n\n", paths.messages);
    let events = event_stream::read_events(reader).map(move |event| {
        let _end_with_the_stream = (&guard, &admitted);
        event
    });
    let events = stream::iter([Bytes::from(endpoint)]).chain(events);
    Ok(event_stream::event_stream_response(events, http_server, headers, StreamKind::Listening))
}

/// Ends a session when its stream is over.
struct SessionGuard {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.sessions.end(&self.id);
    }
}

/// What a proxy has taken off the path, which the client must put on again.
fn forwarded_prefix(headers: &HeaderMap) -> &str {
    let prefix = headers.get("x-forwarded-prefix").and_then(|prefix| prefix.to_str().ok()).unwrap_or_default();
    let prefix = prefix.trim_end_matches('/');
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "/-._~".contains(character);
    if prefix.starts_with('/') && !prefix.starts_with("//") && prefix.chars().all(is_allowed) { prefix } else { "" }
}

async fn handle_post(
    http_server: &HttpServer,
    connection: &HttpConnection,
    request: Request,
    sender: &Sender,
) -> Result<Response, RefusedRequest> {
    let session = session_id_from_query(request.uri().query().unwrap_or_default());
    let Some(session) = session.and_then(|id| http_server.sessions.find(id, true, sender.access())) else {
        return Ok(text_response(StatusCode::NOT_FOUND, "session not found: its stream is closed\n"));
    };
    let (parts, body) = request.into_parts();
    check_body_type(&parts.headers)?;
    let (bytes, _reservation) = read_admitted(body, connection, &session.caller).await?;
    // The sender gets the error of an invalid message.
    let payload = ReceivedPayload::parse(&bytes, &session.caller, &sender.request_sender);
    let payload = payload.map_err(RefusedRequest::bad_message)?;
    let admitted = http_server.admit(sender, AdmittedKind::Requests, payload.request_count(), None)?;
    session.receive(payload, admitted).map_err(RefusedRequest::bad_message)?;
    Ok(text_response(StatusCode::ACCEPTED, "Accepted"))
}

fn session_id_from_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn sse_paths_follow_the_endpoint() {
        for (endpoint, stream, messages) in [
            ("/mcp", "/sse", "/messages"),
            ("/x/mcp", "/x/sse", "/x/messages"),
            ("/", "/sse", "/messages"),
            ("/a/b/c", "/a/b/sse", "/a/b/messages"),
        ] {
            let paths = SsePaths::for_endpoint(endpoint);
            assert_eq!((paths.stream.as_str(), paths.messages.as_str()), (stream, messages));
            assert!(!paths.conflicts_with(endpoint));
        }
        assert!(SsePaths::for_endpoint("/x/sse").conflicts_with("/x/sse"));
    }

    #[test]
    fn forwarded_prefix_must_be_a_path() {
        for (written, read) in [
            ("/a", "/a"),
            ("/a/b/", "/a/b"),
            ("a", ""),
            ("//evil.example", ""),
            ("/a\"b", ""),
            ("/", ""),
            ("https://e", ""),
        ] {
            let headers =
                HeaderMap::from_iter([("x-forwarded-prefix".parse().unwrap(), HeaderValue::from_static(written))]);
            assert_eq!(forwarded_prefix(&headers), read, "{written}");
        }
    }
}
