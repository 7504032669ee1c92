//! One stream of events. Events are kept until read, and a while longer, so that a client can resume after a
//! disconnect.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::ErrorData;
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    budget::{Caller, MemoryPool, Reservation, SMALL_RESERVATION_BYTES},
    server::{OutgoingMessage, SessionEvent, SharedSession},
    transport::batch,
};

use super::stream_name::StreamName;

/// How many events are kept that were read already, and for how long after the last. What is large is let go when it
/// is read.
const MAX_REPLAY_EVENTS: usize = 64;
const MAX_REPLAY_BYTES: u64 = SMALL_RESERVATION_BYTES;
const REPLAY_DURATION: Duration = Duration::from_secs(10);

/// How long an event is at most that other replicas can repeat.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// How many of them may wait for the store.
const MAX_UNKEPT_EVENTS: usize = 256;

/// How long unread events are kept after the stream has finished.
const UNREAD_DURATION: Duration = Duration::from_secs(60);

/// How many events may wait for a reader. Without a reader, new events replace the oldest.
const MAX_UNREAD_EVENTS: usize = 64;

/// What could be dropped is kept in one of so many parts of the memory.
const SPARE_PARTS: u64 = 4;

/// The payload of an event.
#[derive(Debug, Clone)]
pub(super) enum EventPayload {
    Message(OutgoingMessage),
    /// The answers to a batch.
    Batch(Arc<Vec<OutgoingMessage>>),
}

/// A stored event, and its reservations.
#[derive(Debug)]
struct StoredEvent {
    payload: EventPayload,
    reservations: Vec<Arc<Reservation>>,
}

impl StoredEvent {
    fn bytes(&self) -> u64 {
        self.reservations.iter().map(|reservation| reservation.bytes()).sum()
    }
}

/// An event as a reader gets it.
#[derive(Debug)]
pub(super) struct Event {
    /// The id with which a client resumes after it.
    pub(super) id: String,
    pub(super) payload: EventPayload,
    /// About how many bytes it has.
    pub(super) bytes: u64,
}

/// Keeps the events of a session for other replicas, should this one end before its client has read them.
#[derive(Clone)]
pub(super) struct EventKeeper {
    pub(super) replica: Arc<str>,
    queue: mpsc::Sender<(Arc<str>, SessionEvent)>,
}

impl EventKeeper {
    /// Keeps events of a session, one after the other, for as long as it lasts.
    pub(super) fn start(session: SharedSession) -> EventKeeper {
        let replica = session.replica().into();
        let (queue, mut events) = mpsc::channel::<(Arc<str>, SessionEvent)>(MAX_UNKEPT_EVENTS);
        tokio::spawn(async move {
            while let Some((stream, event)) = events.recv().await {
                let _ = session.keep_event(&stream, &event).await;
            }
        });
        EventKeeper { replica, queue }
    }

    /// Keeps an event. What cannot be kept is lost with this replica alone.
    fn keep(&self, stream: &Arc<str>, index: u64, payload: &EventPayload) {
        let json = payload.json();
        let json = if json.len() > MAX_KEPT_BYTES { payload.as_too_long() } else { json };
        let json = String::from_utf8_lossy(&json).into_owned();
        let _ = self.queue.try_send((stream.clone(), SessionEvent { index, json }));
    }
}

/// A stream of events. Several may read it; each event goes to the one that came last, since a client that opens a
/// second stream has often lost the first, which the server cannot know yet.
pub(super) struct EventChannel {
    name: Arc<str>,
    /// Keeps its events for other replicas.
    keeper: Option<EventKeeper>,
    /// Cancelled at the end of the session.
    session_end: CancellationToken,
    caller: Arc<Caller>,
    state: Mutex<ChannelState>,
    changed: Notify,
}

struct ChannelState {
    events: VecDeque<StoredEvent>,
    /// The index of the first event that is kept.
    first: u64,
    /// The index of the event to be read next.
    next: u64,
    /// Those who read, of whom the last gets the events.
    readers: Vec<u64>,
    last_reader: u64,
    finished_at: Option<Instant>,
}

impl ChannelState {
    fn unread_count(&self) -> usize {
        self.events.len().saturating_sub(self.delivered_count())
    }

    /// How many of the kept events were read.
    fn delivered_count(&self) -> usize {
        usize::try_from(self.next.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    fn delivered_bytes(&self) -> u64 {
        self.events.iter().take(self.delivered_count()).map(StoredEvent::bytes).sum()
    }

    fn unread_bytes(&self) -> u64 {
        self.events.iter().skip(self.delivered_count()).map(StoredEvent::bytes).sum()
    }

    /// Drops read events that exceed the limits.
    fn remove_delivered(&mut self, pool: &MemoryPool) {
        while self.delivered_count() > MAX_REPLAY_EVENTS
            || self.delivered_count() > 0 && (self.delivered_bytes() > MAX_REPLAY_BYTES || !has_spare(pool))
        {
            self.forget_first();
        }
    }

    /// Drops unread events that exceed the limits.
    fn trim_unread(&mut self, pool: &MemoryPool) {
        while self.unread_count() > MAX_UNREAD_EVENTS
            || self.unread_count() > 0 && (self.unread_bytes() > pool.limit() / SPARE_PARTS || !has_spare(pool))
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        self.events.pop_front();
        self.first += 1;
        self.next = self.next.max(self.first);
    }
}

/// Whether there is room to keep what could be dropped: most of the memory is for what cannot.
fn has_spare(pool: &MemoryPool) -> bool {
    pool.held() <= pool.limit() / SPARE_PARTS
}

/// The next event of a reader, if any.
enum NextEvent {
    Event(Event),
    Pending,
    End,
}

impl EventChannel {
    pub(super) fn new(
        name: &StreamName,
        keeper: Option<EventKeeper>,
        session_end: CancellationToken,
        caller: Arc<Caller>,
    ) -> Arc<EventChannel> {
        let state = ChannelState {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            readers: Vec::new(),
            last_reader: 0,
            finished_at: None,
        };
        let (name, state) = (name.to_string().into(), Mutex::new(state));
        Arc::new(EventChannel { name, keeper, session_end, caller, state, changed: Notify::new() })
    }

    /// Adds an event, and keeps its reservations as long as it is stored.
    pub(super) fn push(&self, payload: EventPayload, reservations: Vec<Arc<Reservation>>) {
        let mut state = self.state();
        if state.readers.is_empty()
            && state.events.iter().skip(state.delivered_count()).any(|waiting| waiting.payload.is_same_change(&payload))
        {
            return;
        }
        if let Some(keeper) = &self.keeper {
            keeper.keep(&self.name, state.first + state.events.len() as u64, &payload);
        }
        state.events.push_back(StoredEvent { payload, reservations });
        if state.readers.is_empty() {
            state.trim_unread(self.caller.pool());
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Whether a reader has so many unread events that notifications should wait.
    pub(super) fn is_full(&self) -> bool {
        let state = self.state();
        !state.readers.is_empty() && state.unread_count() >= MAX_UNREAD_EVENTS && !self.session_end.is_cancelled()
    }

    /// Returns when it is not full.
    pub(super) async fn wait_for_room(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.is_full() {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = self.session_end.cancelled() => return,
            }
        }
    }

    /// Marks the stream as finished.
    pub(super) fn finish(&self) {
        self.state().finished_at.get_or_insert_with(Instant::now);
        self.changed.notify_waiters();
    }

    /// Whether it is finished and its replay time is over.
    pub(super) fn is_expired(&self) -> bool {
        let state = self.state();
        let keep_for = if state.unread_count() == 0 { REPLAY_DURATION } else { UNREAD_DURATION };
        state.finished_at.is_some_and(|at| at.elapsed() >= keep_for)
    }

    /// Cancelled at the end of the session.
    pub(super) fn session_end(&self) -> &CancellationToken {
        &self.session_end
    }

    /// How many answers no one has read.
    pub(super) fn unread_answers(&self) -> usize {
        let state = self.state();
        let unread = state.events.iter().skip(state.delivered_count());
        unread.map(|event| event.payload.answer_count()).sum()
    }

    pub(super) fn has_reader(&self) -> bool {
        !self.state().readers.is_empty()
    }

    /// Opens a reader: of unread events, or of those after the event `after`. `None` where there was no such event.
    pub(super) fn open_reader(self: &Arc<EventChannel>, after: Option<u64>) -> Option<EventReader> {
        let mut state = self.state();
        if let Some(after) = after {
            let end = state.first + state.events.len() as u64;
            if after >= end {
                return None;
            }
            state.next = (after + 1).max(state.first);
        }
        state.last_reader += 1;
        let reader = state.last_reader;
        state.readers.push(reader);
        drop(state);
        self.changed.notify_waiters();
        Some(EventReader { channel: self.clone(), reader })
    }

    fn next_event(&self, reader: u64) -> NextEvent {
        let mut state = self.state();
        if state.readers.last() == Some(&reader)
            && let Some((payload, bytes)) =
                state.events.get(state.delivered_count()).map(|kept| (kept.payload.clone(), kept.bytes()))
        {
            let id = self.event_id(state.next);
            state.next += 1;
            state.remove_delivered(self.caller.pool());
            drop(state);
            self.changed.notify_waiters();
            return NextEvent::Event(Event { id, payload, bytes });
        }
        if state.finished_at.is_some() || self.session_end.is_cancelled() { NextEvent::End } else { NextEvent::Pending }
    }

    fn event_id(&self, index: u64) -> String {
        format!("{}-{index}", self.name)
    }

    fn state(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock()
    }
}

impl EventPayload {
    /// Its JSON.
    pub(super) fn json(&self) -> Bytes {
        match self {
            EventPayload::Message(message) => message.json.clone(),
            EventPayload::Batch(responses) => batch::responses_to_json(responses).into(),
        }
    }

    /// What another replica gives in place of what is too long to be kept.
    fn as_too_long(&self) -> Bytes {
        let error = ErrorData::internal_error("the answer is too long to be read again from another replica", None);
        let refuse = |message: &OutgoingMessage| OutgoingMessage::error(message.answered_request().cloned(), &error);
        match self {
            EventPayload::Message(message) => refuse(message).json,
            EventPayload::Batch(all) => batch::responses_to_json(&all.iter().map(refuse).collect::<Vec<_>>()).into(),
        }
    }

    fn answer_count(&self) -> usize {
        match self {
            EventPayload::Message(message) => usize::from(message.is_answer()),
            EventPayload::Batch(responses) => responses.len(),
        }
    }

    /// Whether both announce the same change, which is sent once.
    fn is_same_change(&self, other: &EventPayload) -> bool {
        match (self, other) {
            (EventPayload::Message(one), EventPayload::Message(other)) => one.is_same_change(other),
            _ => false,
        }
    }
}

/// A reader of a stream.
pub(super) struct EventReader {
    channel: Arc<EventChannel>,
    reader: u64,
}

impl EventReader {
    /// Waits for the next event. It may be given up at any time.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            let changed = self.channel.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.channel.next_event(self.reader) {
                NextEvent::Event(event) => return Some(event),
                NextEvent::End => return None,
                NextEvent::Pending => {}
            }
            tokio::select! {
                () = changed => {}
                () = self.channel.session_end.cancelled() => {}
            }
        }
    }

    /// Whether the next event is there, and is an answer.
    pub(super) fn has_answer(&self) -> bool {
        let state = self.channel.state();
        state.events.get(state.delivered_count()).is_some_and(|next| next.payload.answer_count() > 0)
    }

    /// The id of the event before the next one.
    pub(super) fn last_event_id(&self) -> String {
        self.channel.event_id(self.channel.state().next - 1)
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut state = self.channel.state();
        state.readers.retain(|reader| *reader != self.reader);
        if state.readers.is_empty() {
            state.trim_unread(self.channel.caller.pool());
        }
        drop(state);
        self.channel.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{CallerKind, Capacity};
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use rmcp::model::{ErrorData, RequestId};

    fn session(capacity: &Arc<Capacity>) -> Arc<Caller> {
        Arc::new(Caller::new(CallerKind::Session, capacity.clone()))
    }

    fn channel(number: u64) -> Arc<EventChannel> {
        let name = StreamName { number, ..StreamName::default() };
        EventChannel::new(&name, None, CancellationToken::new(), session(&Arc::new(Capacity::new(64 << 20))))
    }

    fn payload(number: u64) -> EventPayload {
        let id = RequestId::Number(i64::try_from(number).unwrap());
        EventPayload::Message(OutgoingMessage::error(Some(id), &ErrorData::internal_error("m", None)))
    }

    fn number(event: &Event) -> u64 {
        serde_json::from_slice::<serde_json::Value>(&event.payload.json()).unwrap()["id"].as_u64().unwrap()
    }

    #[derive(Debug, Clone)]
    enum Step {
        Say,
        ReceivedMessage,
        Break,
        Resume(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Say),
            Just(Step::ReceivedMessage),
            Just(Step::Break),
            (0_usize..8).prop_map(Step::Resume)
        ]
    }

    proptest! {
        /// However often the connection breaks, a client that says what it saw last misses nothing and sees nothing
        /// twice.
        #[test]
        fn resumed_reader_sees_each_event_once(steps in prop::collection::vec(step(), 0..60)) {
            let channel = channel(3);
            let (mut spoken, mut seen) = (0, Vec::<(String, u64)>::new());
            let mut reader = channel.open_reader(None);
            for step in steps {
                match step {
                    Step::Say => {
                        spoken += 1;
                        channel.push(payload(spoken), Vec::new());
                    }
                    Step::ReceivedMessage => {
                        if let Some(event) = reader.as_mut().and_then(|reader| reader.next().now_or_never()) {
                            let event = event.unwrap();
                            seen.push((event.id.clone(), number(&event)));
                        }
                    }
                    Step::Break => reader = None,
                    // What came after what the client remembers was lost on the way.
                    Step::Resume(lost) => {
                        seen.truncate(seen.len().saturating_sub(lost).max(1));
                        let after = seen.last().map(|(id, _)| StreamName::parse_event_id(id).unwrap().1);
                        reader = channel.open_reader(after);
                        prop_assert!(reader.is_some());
                    }
                }
                let numbers: Vec<u64> = seen.iter().map(|(_, number)| *number).collect();
                prop_assert_eq!(numbers, (1..=seen.len() as u64).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn unread_events_are_bounded_without_reader() {
        let channel = channel(0);
        (1..=MAX_UNREAD_EVENTS as u64 + 5).for_each(|number| channel.push(payload(number), Vec::new()));
        let mut reader = channel.open_reader(None).unwrap();
        let event = reader.next().now_or_never().unwrap().unwrap();
        assert_eq!((number(&event), event.id.as_str()), (6, "0-6"));
        assert!(channel.open_reader(Some(1000)).is_none());
    }

    #[test]
    fn newest_reader_gets_events_until_it_leaves() {
        let channel = channel(0);
        let mut first = channel.open_reader(None).unwrap();
        let mut second = channel.open_reader(None).unwrap();
        channel.push(payload(1), Vec::new());
        assert!(first.next().now_or_never().is_none());
        assert_eq!(number(&second.next().now_or_never().unwrap().unwrap()), 1);
        drop(second);
        channel.push(payload(2), Vec::new());
        assert_eq!(number(&first.next().now_or_never().unwrap().unwrap()), 2);
        channel.finish();
        assert!(first.next().now_or_never().unwrap().is_none());
    }

    #[test]
    fn large_read_events_are_dropped() {
        let channel = channel(0);
        let mut reader = channel.open_reader(None).unwrap();
        for number in 1..=3 {
            channel.push(payload(number), vec![Arc::new(channel.caller.reserve(MAX_REPLAY_BYTES / 2))]);
        }
        channel.push(payload(4), vec![Arc::new(channel.caller.reserve(MAX_REPLAY_BYTES * 2))]);
        while reader.next().now_or_never().is_some() {}
        assert_eq!(channel.caller.reserve(0).bytes(), 0);
        let state = channel.state();
        assert_eq!((state.events.len(), state.delivered_bytes()), (0, 0));
    }

    #[test]
    fn unread_events_are_stored_within_their_share() {
        let channel = channel(0);
        let share = channel.caller.pool().limit() / SPARE_PARTS;
        for number in 1..=9 {
            channel.push(payload(number), vec![Arc::new(channel.caller.reserve(share / 4))]);
        }
        assert_eq!(channel.state().unread_count(), 4);
        let _others = session(channel.caller.capacity()).reserve(share * 2);
        channel.push(payload(10), vec![Arc::new(channel.caller.reserve(1))]);
        assert_eq!(channel.state().unread_count(), 0);
    }
}
