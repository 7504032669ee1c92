//! The names of streams, which the ids of their events begin with.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::RequestId;

/// How long the requests of a stream may be as JSON to stand in its name.
const MAX_REQUESTS_BYTES: usize = 512;

/// A stream of a session. Where other replicas may read it, its name says who writes it and what it answers: whoever reads it
/// can tell what has no answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StreamName {
    pub(super) replica: Option<Arc<str>>,
    /// 0 is the stream of what belongs to no request.
    pub(super) number: u64,
    pub(super) requests: Vec<RequestId>,
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(replica) = &self.replica else { return write!(f, "{}", self.number) };
        let requests = serde_json::to_string(&self.requests).unwrap_or_default();
        let requests = if requests.len() > MAX_REQUESTS_BYTES { "[]" } else { &requests };
        write!(f, "{replica}.{}.{}", self.number, URL_SAFE_NO_PAD.encode(requests))
    }
}

impl StreamName {
    /// Reads a name and the index of an event out of the id of that.
    pub(super) fn parse_event_id(id: &str) -> Option<(StreamName, u64)> {
        let (name, index) = id.rsplit_once('-')?;
        Some((StreamName::parse(name)?, index.parse().ok()?))
    }

    fn parse(name: &str) -> Option<StreamName> {
        let Some((replica, rest)) = name.split_once('.') else {
            return Some(StreamName { number: name.parse().ok()?, ..StreamName::default() });
        };
        let (number, requests) = rest.split_once('.')?;
        let requests = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(requests).ok()?).ok()?;
        Some(StreamName { replica: Some(replica.into()), number: number.parse().ok()?, requests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_events_are_read_as_they_were_written() {
        let requests = vec![RequestId::Number(7), RequestId::String("a-b.c".into())];
        let names = [
            StreamName { number: 3, ..StreamName::default() },
            StreamName { replica: Some("r".into()), number: 0, requests: Vec::new() },
            StreamName { replica: Some("r".into()), number: 9, requests },
        ];
        for name in names {
            assert_eq!(StreamName::parse_event_id(&format!("{name}-12")), Some((name, 12)));
        }
        for id in ["", "3", "3-", "-1", "r.3-1", "r.3.!-1", "r.x.W10-1", "3-x"] {
            assert_eq!(StreamName::parse_event_id(id), None, "{id}");
        }
    }
}
