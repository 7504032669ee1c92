//! `Accept`: which of MCP's two media types a client takes (RFC 9110, 12.5.1), and answers in the one that it takes.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{redact::is_event_stream, response::text_response, session::HttpSession};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// Both, as rmcp wants it of every client.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// What a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) event_stream: bool,
}

/// A media range with its weight, such as `text/*;q=0.5`.
struct MediaRange<'a> {
    essence: &'a str,
    weight: f32,
}

impl<'a> MediaRange<'a> {
    fn parse(written: &'a str) -> Option<MediaRange<'a>> {
        let mut parts = written.split(';');
        let essence = parts.next().map(str::trim).filter(|essence| !essence.is_empty())?;
        let parameters = parts.filter_map(|parameter| parameter.split_once('='));
        let mut weights = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        let weight = weights.next().and_then(|(_, weight)| weight.trim().parse().ok());
        Some(MediaRange { essence, weight: weight.unwrap_or(1.0) })
    }

    /// How closely it names a type, if at all.
    fn closeness(&self, essence: &str) -> Option<u8> {
        let (kind, _) = essence.split_once('/')?;
        match self.essence.strip_suffix("/*") {
            Some("*") => Some(0),
            Some(range) if range.eq_ignore_ascii_case(kind) => Some(1),
            _ if self.essence.eq_ignore_ascii_case(essence) => Some(2),
            _ => None,
        }
    }
}

impl Accepted {
    /// Without the header, a client takes anything.
    pub(super) fn from_headers(headers: &HeaderMap) -> Accepted {
        let lists = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges: Vec<MediaRange<'_>> =
            lists.flat_map(|list| list.split(',')).filter_map(MediaRange::parse).collect();
        let takes = |essence: &str| {
            let ranges = ranges.iter().filter_map(|range| Some((range.closeness(essence)?, range.weight)));
            let closest = ranges.max_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
            closest.is_some_and(|(_, weight)| weight > 0.0)
        };
        Accepted { json: ranges.is_empty() || takes(JSON), event_stream: ranges.is_empty() || takes(EVENT_STREAM) }
    }

    /// The error of a client that takes neither of these.
    pub(super) fn refusal(types: &str) -> Response {
        text_response(StatusCode::NOT_ACCEPTABLE, format!("not acceptable: the answer is {types}\n"))
    }

    /// The header in words that rmcp knows.
    pub(super) fn normalize(headers: &mut HeaderMap) {
        headers.insert(header::ACCEPT, BOTH);
    }

    /// A response in the type that the client takes; `session` is where it was asked.
    pub(super) async fn convert(self, response: Response, session: Option<&HttpSession>) -> Response {
        let is_stream = is_event_stream(response.headers());
        if is_stream && !self.event_stream {
            return stream_to_json(response, session).await;
        }
        if !is_stream && !self.json && response.status() == StatusCode::OK {
            return json_to_stream(response).await;
        }
        response
    }
}

/// What tells apart the messages of a stream.
#[derive(Deserialize)]
struct StreamedMessage {
    #[serde(default)]
    id: Value,
    method: Option<String>,
}

/// The answer that a stream ends with. Notifications before it are for clients that take streams alone, and so are
/// questions, which get an error.
async fn stream_to_json(response: Response, session: Option<&HttpSession>) -> Response {
    let (mut parts, body) = response.into_parts();
    let (mut pieces, mut read) = (body.into_data_stream(), Vec::new());
    while let Some(Ok(piece)) = pieces.next().await {
        read.extend_from_slice(&piece);
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = read.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).filter(|data| !data.is_empty()) else {
                continue;
            };
            match serde_json::from_slice::<StreamedMessage>(data) {
                Ok(StreamedMessage { method: Some(_), id }) if !id.is_null() => refuse_question(&id, session),
                Ok(StreamedMessage { method: Some(_), .. }) => {}
                // It has no method, or is the list of a batch.
                _ => {
                    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
                    return Response::from_parts(parts, Body::from(Bytes::copy_from_slice(data)));
                }
            }
        }
    }
    // The request was cancelled, or the session has ended.
    text_response(StatusCode::ACCEPTED, "")
}

fn refuse_question(id: &Value, session: Option<&HttpSession>) {
    let message = "the client cannot be asked: it does not accept `text/event-stream`";
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": message } });
    if let Some(session) = session {
        let _ = session.receive(answer.to_string().as_bytes());
    }
}

async fn json_to_stream(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let Ok(json) = axum::body::to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    Response::from_parts(parts, Body::from([b"event: message\ndata: ", &*json, b"\n\n"].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_ranges_are_understood() {
        for (written, json, event_stream) in [
            (&["application/json, text/event-stream"][..], true, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["*/*"], true, true),
            (&["application/*, text/*;q=0.1"], true, true),
            (&["TEXT/*, Application/JSON; charset=utf-8"], true, true),
            (&[], true, true),
            (&[""], true, true),
            (&["application/json"], true, false),
            (&["text/event-stream;q=0, */*"], true, false),
            (&["application/*; Q=0.000, text/event-stream"], false, true),
            (&["*/*;q=0, application/json;q=0.5"], true, false),
            (&["text/html, image/*"], false, false),
            (&["*/*;q=0"], false, false),
        ] {
            let headers = written.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value)));
            let mut all = HeaderMap::new();
            for (name, value) in headers {
                all.append(name, value);
            }
            assert_eq!(Accepted::from_headers(&all), Accepted { json, event_stream }, "{written:?}");
        }
    }
}
