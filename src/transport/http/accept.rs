//! `Accept`: which of MCP's two media types a client takes (RFC 9110, 12.5.1), and answers in the one that it takes.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::Response,
};

use crate::server::{OutgoingKind, OutgoingMessage};

use super::{
    event_channel::{EventPayload, EventReader},
    response::{RefusedRequest, json_response, text_response},
    session::HttpSession,
};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

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
    pub(super) fn refusal(types: &str) -> RefusedRequest {
        RefusedRequest::text(StatusCode::NOT_ACCEPTABLE, format!("not acceptable: the answer is {types}\n"))
    }

    /// The answer that a stream ends with, as JSON. What comes before it is not sent: questions get an error.
    pub(super) async fn read_answer(self, mut reader: EventReader, session: &HttpSession) -> Response {
        while let Some(event) = reader.next().await {
            match &event.payload {
                EventPayload::Message(OutgoingMessage { kind: OutgoingKind::Question { id, .. }, .. }) => {
                    session.refuse_question(id);
                }
                EventPayload::Message(message) if !message.is_answer() => {}
                answer => return json_response(StatusCode::OK, answer.json()),
            }
        }
        // The request was cancelled, or the session has ended.
        text_response(StatusCode::ACCEPTED, "")
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

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
