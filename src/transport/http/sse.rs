//! HTTP+SSE of 2024-11-05: one stream for all messages, and an endpoint to which the client posts.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};

use crate::transport;

use super::{
    HttpServer,
    connection::HttpConnection,
    event_stream, read_admitted, refuse_body_type,
    response::{error_response, text_response, too_many_sessions},
    session_transport::SessionTransport,
    sessions::Sessions,
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
    http_server: &HttpServer,
    paths: &SsePaths,
    connection: &HttpConnection,
    request: Request,
) -> Response {
    let is_stream = request.uri().path() == paths.stream;
    match *request.method() {
        Method::GET if is_stream => open_stream(http_server, paths, request.headers()),
        Method::POST if !is_stream => handle_post(http_server, connection, request).await,
        _ => {
            let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            let allowed = HeaderValue::from_static(if is_stream { "GET" } else { "POST" });
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        }
    }
}

/// Begins a session, which lives as long as its stream.
fn open_stream(http_server: &HttpServer, paths: &SsePaths, headers: &HeaderMap) -> Response {
    let Some((id, session, transport)) = http_server.sessions.create(true) else {
        return too_many_sessions(None).response();
    };
    tokio::spawn(serve_session(http_server.sessions.clone(), id.to_string(), transport));
    let Some(reader) = session.listen() else { return too_many_sessions(None).response() };
    let prefix = forwarded_prefix(headers);
    let endpoint = format!("event: endpoint\ndata: {prefix}{}?sessionId={id}\n\n", paths.messages);
    let guard = session.end_token().clone().drop_guard();
    event_stream::event_stream_response(Bytes::from(endpoint), reader, http_server.keep_alive, guard)
}

async fn serve_session(sessions: Arc<Sessions>, id: String, transport: SessionTransport) {
    transport::serve(sessions.shared_server(), transport, sessions.shared_server().stop_token()).await;
    sessions.end(&id);
}

/// What a proxy has taken off the path, which the client must put on again.
fn forwarded_prefix(headers: &HeaderMap) -> &str {
    let prefix = headers.get("x-forwarded-prefix").and_then(|prefix| prefix.to_str().ok()).unwrap_or_default();
    let prefix = prefix.trim_end_matches('/');
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "/-._~".contains(character);
    if prefix.starts_with('/') && !prefix.starts_with("//") && prefix.chars().all(is_allowed) { prefix } else { "" }
}

async fn handle_post(http_server: &HttpServer, connection: &HttpConnection, request: Request) -> Response {
    let session = session_id_from_query(request.uri().query().unwrap_or_default());
    let Some(session) = session.and_then(|id| http_server.sessions.find(id, true)) else {
        return text_response(StatusCode::NOT_FOUND, "session not found: its stream is closed\n");
    };
    let (parts, body) = request.into_parts();
    if let Some(refused) = refuse_body_type(&parts.headers) {
        return refused;
    }
    let (bytes, _reservation) = match read_admitted(body, connection, session.caller()).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    match session.receive(&bytes) {
        Ok(_) => text_response(StatusCode::ACCEPTED, "Accepted"),
        // The sender gets the error of an invalid message.
        Err(error) => error_response(StatusCode::BAD_REQUEST, &error),
    }
}

fn session_id_from_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

#[cfg(test)]
mod tests {
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
