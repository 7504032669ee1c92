//! HTTP+SSE of 2024-11-05: one stream on which all is said, and a place beside it to which a client posts.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};

use crate::transport;

use super::{
    Desk, connection::Connection, error, events, full, is_json, plain, session::Wire, sessions::Sessions, whole,
};

/// Where the stream is, and where messages are posted to: beside the endpoint of Streamable HTTP.
pub(super) struct Paths {
    stream: String,
    messages: String,
}

impl Paths {
    pub(super) fn beside(endpoint: &str) -> Paths {
        let folder = endpoint.rfind('/').map_or("/", |end| endpoint.get(..=end).unwrap_or("/"));
        Paths { stream: format!("{folder}sse"), messages: format!("{folder}messages") }
    }

    pub(super) fn stream(&self) -> &str {
        &self.stream
    }

    /// Whether something else listens at one of them.
    pub(super) fn collide(&self, endpoint: &str) -> bool {
        endpoint == self.stream || endpoint == self.messages
    }

    pub(super) fn have(&self, path: &str) -> bool {
        path == self.stream || path == self.messages
    }
}

/// Answers a request at one of the two paths.
pub(super) async fn answer(desk: &Desk, paths: &Paths, connection: &Connection, request: Request) -> Response {
    let is_stream = request.uri().path() == paths.stream;
    match *request.method() {
        Method::GET if is_stream => open(desk, paths, request.headers()),
        Method::POST if !is_stream => post(desk, connection, request).await,
        _ => {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            let allowed = HeaderValue::from_static(if is_stream { "GET" } else { "POST" });
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        }
    }
}

/// Begins a session, which lives as long as its stream.
fn open(desk: &Desk, paths: &Paths, headers: &HeaderMap) -> Response {
    let Some((id, session, wire)) = desk.sessions.begin(true) else { return full(None).response() };
    tokio::spawn(serve(desk.sessions.clone(), id.to_string(), wire));
    let Some(reader) = session.listen() else { return full(None).response() };
    let prefix = forwarded_prefix(headers);
    let endpoint = format!("event: endpoint\ndata: {prefix}{}?sessionId={id}\n\n", paths.messages);
    let held = session.over().clone().drop_guard();
    events::response(Bytes::from(endpoint), reader, desk.keep_alive, held)
}

async fn serve(sessions: Arc<Sessions>, id: String, wire: Wire) {
    transport::serve(sessions.live(), wire, sessions.ending().child_token()).await;
    sessions.end(&id);
}

/// What a proxy has taken off the path, which the client must put on again.
fn forwarded_prefix(headers: &HeaderMap) -> &str {
    let prefix = headers.get("x-forwarded-prefix").and_then(|prefix| prefix.to_str().ok()).unwrap_or_default();
    let prefix = prefix.trim_end_matches('/');
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "/-._~".contains(letter);
    if prefix.starts_with('/') && !prefix.starts_with("//") && prefix.chars().all(fine) { prefix } else { "" }
}

async fn post(desk: &Desk, connection: &Connection, request: Request) -> Response {
    let session = session_id(request.uri().query().unwrap_or_default());
    let Some(session) = session.and_then(|id| desk.sessions.find(id, true)) else {
        return plain(StatusCode::NOT_FOUND, "there is no such session: its stream is closed\n");
    };
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Unsupported Media Type: send application/json");
    }
    let bytes = match whole(body, connection, &session.bytes().reserve(0)).await {
        Ok(bytes) => bytes,
        Err(response) => return response,
    };
    match session.take(&bytes) {
        Ok(_) => plain(StatusCode::ACCEPTED, "Accepted"),
        // What is no message is told to whoever posted it.
        Err(fault) => error(StatusCode::BAD_REQUEST, &fault),
    }
}

fn session_id(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn the_paths_are_beside_the_endpoint() {
        for (endpoint, stream, messages) in [
            ("/mcp", "/sse", "/messages"),
            ("/x/mcp", "/x/sse", "/x/messages"),
            ("/", "/sse", "/messages"),
            ("/a/b/c", "/a/b/sse", "/a/b/messages"),
        ] {
            let paths = Paths::beside(endpoint);
            assert_eq!((paths.stream.as_str(), paths.messages.as_str()), (stream, messages));
            assert!(!paths.collide(endpoint));
        }
        assert!(Paths::beside("/x/sse").collide("/x/sse"));
    }

    #[test]
    fn only_a_prefix_that_is_a_path_is_believed() {
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
