//! The streams of a session, and the routing of messages to them. `event_channel` stores the events.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use crate::{
    budget::Caller,
    server::{OutgoingKind, OutgoingMessage},
    transport::batch::FinishedBatch,
};

use super::{
    event_channel::{EventChannel, EventKeeper, EventPayload},
    stream_name::StreamName,
};

/// How many streams with an answer are kept for a client that lost them on the way.
pub(super) const MAX_FINISHED_STREAMS: usize = 4;

/// The streams of a session, by their numbers.
pub(super) struct SessionStreams {
    /// Whether all goes down one stream.
    is_single_stream: bool,
    /// What keeps events for other replicas.
    keeper: Option<EventKeeper>,
    caller: Arc<Caller>,
    /// The stream for all that belongs to no request: number 0.
    standalone: Arc<EventChannel>,
    /// The streams of requests.
    opened: HashMap<u64, RequestStream>,
    /// Those of which nothing more will come, oldest first.
    finished: VecDeque<u64>,
    last_number: u64,
    stream_of_request: HashMap<RequestId, u64>,
    stream_of_batch: HashMap<u64, u64>,
}

/// The stream of a request, or of several.
struct RequestStream {
    channel: Arc<EventChannel>,
    requests: Vec<RequestId>,
    /// Those whose answers are still to come.
    pending: Vec<RequestId>,
}

fn stream_name(keeper: Option<&EventKeeper>, number: u64, requests: Vec<RequestId>) -> StreamName {
    let replica = keeper.map(|keeper| keeper.replica.clone());
    StreamName { replica, number, requests }
}

impl SessionStreams {
    /// The one stream that a session begins with; all of them end when it is `over`.
    pub(super) fn new(
        is_single_stream: bool,
        keeper: Option<EventKeeper>,
        session_end: CancellationToken,
        caller: Arc<Caller>,
    ) -> SessionStreams {
        let standalone = stream_name(keeper.as_ref(), 0, Vec::new());
        SessionStreams {
            is_single_stream,
            keeper,
            standalone: EventChannel::new(&standalone, None, session_end, caller.clone()),
            caller,
            opened: HashMap::new(),
            finished: VecDeque::new(),
            last_number: 0,
            stream_of_request: HashMap::new(),
            stream_of_batch: HashMap::new(),
        }
    }

    /// Whether there is no other than that for all that belongs to no request.
    pub(super) fn is_single(&self) -> bool {
        self.is_single_stream
    }

    /// The stream for all that belongs to no request.
    pub(super) fn standalone(&self) -> &Arc<EventChannel> {
        &self.standalone
    }

    /// Whether a client reads one of them.
    pub(super) fn has_reader(&self) -> bool {
        self.standalone.has_reader() || self.opened.values().any(|opened| opened.channel.has_reader())
    }

    /// Opens a stream for the answers to these requests, which may be those of a batch, and all that belongs to them.
    pub(super) fn open(&mut self, requests: Vec<RequestId>, batch: Option<u64>) -> Arc<EventChannel> {
        self.last_number += 1;
        let number = self.last_number;
        let (session_end, caller) = (self.standalone.session_end().clone(), self.caller.clone());
        self.stream_of_request.extend(requests.iter().map(|id| (id.clone(), number)));
        let name = stream_name(self.keeper.as_ref(), number, requests.clone());
        let channel = EventChannel::new(&name, self.keeper.clone(), session_end, caller);
        self.stream_of_batch.extend(batch.map(|batch| (batch, number)));
        let stream = RequestStream { channel: channel.clone(), pending: requests.clone(), requests };
        self.opened.insert(number, stream);
        channel
    }

    /// The stream of a number, unless it is forgotten.
    pub(super) fn get(&self, number: u64) -> Option<&Arc<EventChannel>> {
        if number == 0 { Some(&self.standalone) } else { self.opened.get(&number).map(|opened| &opened.channel) }
    }

    /// Where a message goes: down the stream of the request that it belongs to, while that is open. `None` for a question
    /// or progress of a request that is over.
    pub(super) fn route(&self, message: &OutgoingMessage) -> Option<Arc<EventChannel>> {
        let request = match &message.kind {
            OutgoingKind::Answer { id, .. } => id.as_ref(),
            OutgoingKind::Question { origin, .. }
            | OutgoingKind::Progress { origin }
            | OutgoingKind::Notification { origin } => origin.as_ref(),
            OutgoingKind::Change { .. } => None,
        };
        let number = request.and_then(|id| self.stream_of_request.get(id));
        let is_late = matches!(message.kind, OutgoingKind::Question { .. } | OutgoingKind::Progress { .. })
            && request.is_some()
            && !self.is_single_stream;
        let channel = number.and_then(|number| self.get(*number));
        channel.or_else(|| (!is_late).then_some(&self.standalone)).cloned()
    }

    /// Sends the answers of batches that are complete.
    pub(super) fn push_batches(&mut self, batches: Vec<FinishedBatch>) {
        for FinishedBatch { batch, responses, reservations } in batches {
            let number = self.stream_of_batch.remove(&batch).unwrap_or(0);
            if let Some(channel) = self.get(number).filter(|_| !responses.is_empty()) {
                channel.push(EventPayload::Batch(Arc::new(responses)), reservations);
            }
            self.finish(number);
        }
    }

    /// Ends the stream of a request that is answered or cancelled, unless others are answered there.
    pub(super) fn release_request(&mut self, id: &RequestId) {
        let Some(number) = self.stream_of_request.get(id).copied() else { return };
        let Some(opened) = self.opened.get_mut(&number) else { return };
        // A later request with its id may be the one that is cancelled.
        let Some(place) = opened.pending.iter().position(|pending| pending == id) else { return };
        opened.pending.swap_remove(place);
        if opened.pending.is_empty() {
            self.finish(number);
        }
    }

    /// Ends a stream. What it has is kept for a while.
    fn finish(&mut self, number: u64) {
        let Some(opened) = self.opened.get_mut(&number).filter(|_| !self.finished.contains(&number)) else { return };
        opened.channel.finish();
        for id in std::mem::take(&mut opened.requests) {
            // Another request may have its id by now.
            if self.stream_of_request.get(&id) == Some(&number) {
                self.stream_of_request.remove(&id);
            }
        }
        self.finished.push_back(number);
        self.remove_expired();
    }

    /// Forgets those that have ended long enough ago, or before enough others.
    pub(super) fn remove_expired(&mut self) {
        while let Some(number) = self.finished.front()
            && (self.finished.len() > MAX_FINISHED_STREAMS
                || self.opened.get(number).is_none_or(|opened| opened.channel.is_expired()))
        {
            self.opened.remove(number);
            self.finished.pop_front();
        }
    }

    /// How many answers no one has read.
    pub(super) fn unread_answers(&self) -> usize {
        let channels = self.opened.values().map(|opened| &opened.channel);
        channels.chain([&self.standalone]).map(|channel| channel.unread_answers()).sum()
    }

    /// How many requests there are whose streams are open.
    #[cfg(test)]
    pub(super) fn open_request_count(&self) -> usize {
        self.stream_of_request.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn request_that_is_released_twice_ends_no_stream_of_another() {
        let mut streams = SessionStreams::new(false, None, CancellationToken::new(), Arc::default());
        let [first, second] = [1, 2].map(RequestId::Number);
        streams.open(vec![first.clone(), second.clone()], None);
        streams.release_request(&first);
        streams.release_request(&first);
        assert_eq!(streams.open_request_count(), 2, "the second is to be answered there");
        streams.release_request(&second);
        assert_eq!(streams.open_request_count(), 0);
    }
}
