//! The empty event with which a stream begins since 2025-11-25, and not before: to a client of an older version it is
//! a message that cannot be read.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
    response::Response,
};
use futures_util::StreamExt;
use rmcp::model::ProtocolVersion;
use serde::Deserialize;

/// What `initialize` asks for.
#[derive(Deserialize)]
struct Asked {
    params: Version,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "protocolVersion")]
    protocol_version: String,
}

/// Whether whoever sent a request knows that event.
pub(super) fn is_known(headers: &HeaderMap, body: &[u8]) -> bool {
    let header = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked = || serde_json::from_slice(body).ok().map(|Asked { params }| params.protocol_version);
    // Versions are dates, and a version to come is answered with the newest that there is.
    header.or_else(asked).is_some_and(|version| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str())
}

/// Leaves the empty event out of a response.
pub(super) fn left_out(response: Response) -> Response {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|body| {
        let events = body.into_data_stream();
        Body::from_stream(events.filter(|event| {
            let keep = !event.as_ref().is_ok_and(is_empty);
            async move { keep }
        }))
    })
}

/// rmcp sends each event as a piece of its own.
fn is_empty(piece: &Bytes) -> bool {
    let Ok(text) = std::str::from_utf8(piece) else { return false };
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.next().is_some_and(|value| value.trim().is_empty()) && data.next().is_none()
}
