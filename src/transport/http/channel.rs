//! One stream of events: what is said on it is kept until it is read, and for a while after, so that a client whose
//! connection broke can go on where it was.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{JsonRpcMessage, ServerNotification},
    service::TxJsonRpcMessage,
};
use serde::Serialize;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    server::{PeerAccount, Reservation, SMALL},
    transport::batch::Reply,
};

/// How many events are kept that were read already, and for how long after the last. What is large is let go when it
/// is read.
const KEPT: usize = 64;
const KEPT_BYTES: u64 = SMALL;
const KEPT_FOR: Duration = Duration::from_secs(10);

/// For how long what nobody has read is kept, when no more will be said.
const UNREAD_FOR: Duration = Duration::from_secs(60);

/// How many events may wait for a reader. More are said when it has read, or, without one, in the place of the oldest.
const MOST_UNREAD: usize = 64;

/// What is said in one event.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Said {
    /// A message.
    Message(Arc<TxJsonRpcMessage<RoleServer>>),
    /// The answers to a batch.
    Batch(Arc<Vec<Reply>>),
}

impl Said {
    /// One message.
    pub(super) fn message(message: TxJsonRpcMessage<RoleServer>) -> Said {
        Said::Message(Arc::new(message))
    }
}

/// What is said, and what it takes as long as it is kept.
#[derive(Debug)]
struct Kept {
    said: Said,
    held: Vec<Arc<Reservation>>,
}

impl Kept {
    fn bytes(&self) -> u64 {
        self.held.iter().map(|reservation| reservation.bytes()).sum()
    }
}

/// An event as a reader gets it.
#[derive(Debug)]
pub(super) struct Event {
    /// What a client that lost the connection says to go on behind it.
    pub(super) id: String,
    pub(super) said: Said,
    /// About how many bytes it has.
    pub(super) bytes: u64,
}

/// A stream of events. Several may read it; each event goes to the one that came last, since a client that opens a
/// second stream has often lost the first, which the server cannot know yet.
pub(super) struct Channel {
    number: u64,
    /// Cancelled at the end of the session.
    over: CancellationToken,
    /// What the client of the session has under way.
    bytes: PeerAccount,
    state: Mutex<State>,
    news: Notify,
}

struct State {
    kept: VecDeque<Kept>,
    /// The index of the first event that is kept.
    first: u64,
    /// The index of the event to be read next.
    next: u64,
    /// Those who read, of whom the last gets the events.
    readers: Vec<u64>,
    last_reader: u64,
    finished: Option<Instant>,
}

impl State {
    fn unread(&self) -> usize {
        self.kept.len().saturating_sub(self.read())
    }

    /// How many of the kept events were read.
    fn read(&self) -> usize {
        usize::try_from(self.next.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    fn read_bytes(&self) -> u64 {
        self.kept.iter().take(self.read()).map(Kept::bytes).sum()
    }

    fn unread_bytes(&self) -> u64 {
        self.kept.iter().skip(self.read()).map(Kept::bytes).sum()
    }

    /// Forgets of what was read what there is no room for.
    fn let_go(&mut self, bytes: &PeerAccount) {
        while self.read() > KEPT || self.read() > 0 && (self.read_bytes() > KEPT_BYTES || !bytes.account().has_spare())
        {
            self.forget_first();
        }
    }

    /// Forgets of what nobody reads what there is no room for.
    fn let_go_unread(&mut self, bytes: &PeerAccount) {
        let account = bytes.account();
        while self.unread() > MOST_UNREAD
            || self.unread() > 0 && (self.unread_bytes() > account.share() || !account.has_spare())
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        self.kept.pop_front();
        self.first += 1;
        self.next = self.next.max(self.first);
    }
}

/// What a reader finds.
enum Found {
    Event(Event),
    Nothing,
    End,
}

impl Channel {
    pub(super) fn new(number: u64, over: CancellationToken, bytes: PeerAccount) -> Arc<Channel> {
        let state =
            State { kept: VecDeque::new(), first: 1, next: 1, readers: Vec::new(), last_reader: 0, finished: None };
        Arc::new(Channel { number, over, bytes, state: Mutex::new(state), news: Notify::new() })
    }

    /// Says something, and holds what it takes until it is let go.
    pub(super) fn push(&self, said: Said, held: Vec<Arc<Reservation>>) {
        let mut state = self.state();
        if state.readers.is_empty()
            && state.kept.iter().skip(state.read()).any(|waiting| waiting.said.is_same_change(&said))
        {
            return;
        }
        state.kept.push_back(Kept { said, held });
        if state.readers.is_empty() {
            state.let_go_unread(&self.bytes);
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Whether so much waits for somebody who reads that no more should be said which can wait.
    pub(super) fn is_full(&self) -> bool {
        let state = self.state();
        !state.readers.is_empty() && state.unread() >= MOST_UNREAD && !self.over.is_cancelled()
    }

    /// Returns when it is not full.
    pub(super) async fn room(&self) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if !self.is_full() {
                return;
            }
            tokio::select! {
                () = news => {}
                () = self.over.cancelled() => return,
            }
        }
    }

    /// Says that nothing more will be said.
    pub(super) fn finish(&self) {
        self.state().finished.get_or_insert_with(Instant::now);
        self.news.notify_waiters();
    }

    /// Whether nobody need come back to it any more.
    pub(super) fn is_done(&self) -> bool {
        let state = self.state();
        let keep_for = if state.unread() == 0 { KEPT_FOR } else { UNREAD_FOR };
        state.finished.is_some_and(|at| at.elapsed() >= keep_for)
    }

    /// Cancelled at the end of the session.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    pub(super) fn is_read(&self) -> bool {
        !self.state().readers.is_empty()
    }

    /// Begins to read: what nobody has read yet, or what was said behind the event `after`. `None` where there was
    /// no such event.
    pub(super) fn read(self: &Arc<Channel>, after: Option<u64>) -> Option<Reader> {
        let mut state = self.state();
        if let Some(after) = after {
            let end = state.first + state.kept.len() as u64;
            if after >= end {
                return None;
            }
            state.next = (after + 1).max(state.first);
        }
        state.last_reader += 1;
        let reader = state.last_reader;
        state.readers.push(reader);
        drop(state);
        self.news.notify_waiters();
        Some(Reader { channel: self.clone(), reader })
    }

    fn find(&self, reader: u64) -> Found {
        let mut state = self.state();
        if state.readers.last() == Some(&reader)
            && let Some((said, bytes)) = state.kept.get(state.read()).map(|kept| (kept.said.clone(), kept.bytes()))
        {
            let id = self.id(state.next);
            state.next += 1;
            state.let_go(&self.bytes);
            drop(state);
            self.news.notify_waiters();
            return Found::Event(Event { id, said, bytes });
        }
        if state.finished.is_some() || self.over.is_cancelled() { Found::End } else { Found::Nothing }
    }

    fn id(&self, index: u64) -> String {
        format!("{}-{index}", self.number)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the number of a stream and the index of an event out of its id.
pub(super) fn parse(id: &str) -> Option<(u64, u64)> {
    let (channel, index) = id.split_once('-')?;
    Some((channel.parse().ok()?, index.parse().ok()?))
}

impl Said {
    /// Whether both tell of the same change, which need be told once.
    fn is_same_change(&self, other: &Said) -> bool {
        match (self.change(), other.change()) {
            (Some(one), Some(other)) => {
                std::mem::discriminant(one) == std::mem::discriminant(other) && updated(one) == updated(other)
            }
            _ => false,
        }
    }

    fn change(&self) -> Option<&ServerNotification> {
        use ServerNotification as N;
        match self {
            Said::Message(message) => match &**message {
                JsonRpcMessage::Notification(told) => Some(&told.notification),
                _ => None,
            },
            Said::Batch(_) => None,
        }
        .filter(|told| {
            matches!(
                told,
                N::ToolListChangedNotification(_)
                    | N::PromptListChangedNotification(_)
                    | N::ResourceListChangedNotification(_)
                    | N::ResourceUpdatedNotification(_)
            )
        })
    }
}

fn updated(told: &ServerNotification) -> Option<&str> {
    match told {
        ServerNotification::ResourceUpdatedNotification(updated) => Some(&updated.params.uri),
        _ => None,
    }
}

/// Somebody who reads a stream.
pub(super) struct Reader {
    channel: Arc<Channel>,
    reader: u64,
}

impl Reader {
    /// Waits for the next event. It may be given up at any time.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            let news = self.channel.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            match self.channel.find(self.reader) {
                Found::Event(event) => return Some(event),
                Found::End => return None,
                Found::Nothing => {}
            }
            tokio::select! {
                () = news => {}
                () = self.channel.over.cancelled() => {}
            }
        }
    }

    /// The id of the event before the next one.
    pub(super) fn place(&self) -> String {
        self.channel.id(self.channel.state().next - 1)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.channel.state();
        state.readers.retain(|reader| *reader != self.reader);
        if state.readers.is_empty() {
            state.let_go_unread(&self.channel.bytes);
        }
        drop(state);
        self.channel.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::server::Account;
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use rmcp::model::{ErrorData, RequestId};

    fn channel(number: u64) -> Arc<Channel> {
        Channel::new(number, CancellationToken::new(), Account::new(64 << 20).peer())
    }

    fn said(number: u64) -> Said {
        let id = RequestId::Number(i64::try_from(number).unwrap());
        Said::Message(Arc::new(JsonRpcMessage::error(ErrorData::internal_error("m", None), Some(id))))
    }

    fn number(event: &Event) -> u64 {
        serde_json::to_value(&event.said).unwrap()["id"].as_u64().unwrap()
    }

    #[derive(Debug, Clone)]
    enum Step {
        Say,
        Read,
        Break,
        Resume(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![Just(Step::Say), Just(Step::Read), Just(Step::Break), (0_usize..8).prop_map(Step::Resume)]
    }

    proptest! {
        /// However often the connection breaks, a client that says what it saw last misses nothing and sees nothing
        /// twice.
        #[test]
        fn a_reader_that_goes_on_sees_each_event_once(steps in prop::collection::vec(step(), 0..60)) {
            let channel = channel(3);
            let (mut spoken, mut seen) = (0, Vec::<(String, u64)>::new());
            let mut reader = channel.read(None);
            for step in steps {
                match step {
                    Step::Say => {
                        spoken += 1;
                        channel.push(said(spoken), Vec::new());
                    }
                    Step::Read => {
                        if let Some(event) = reader.as_mut().and_then(|reader| reader.next().now_or_never()) {
                            let event = event.unwrap();
                            seen.push((event.id.clone(), number(&event)));
                        }
                    }
                    Step::Break => reader = None,
                    // What came after what the client remembers was lost on the way.
                    Step::Resume(lost) => {
                        seen.truncate(seen.len().saturating_sub(lost).max(1));
                        let after = seen.last().map(|(id, _)| parse(id).unwrap().1);
                        reader = channel.read(after);
                        prop_assert!(reader.is_some());
                    }
                }
                let numbers: Vec<u64> = seen.iter().map(|(_, number)| *number).collect();
                prop_assert_eq!(numbers, (1..=seen.len() as u64).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn without_a_reader_only_the_last_events_wait() {
        let channel = channel(0);
        (1..=MOST_UNREAD as u64 + 5).for_each(|number| channel.push(said(number), Vec::new()));
        let mut reader = channel.read(None).unwrap();
        let event = reader.next().now_or_never().unwrap().unwrap();
        assert_eq!((number(&event), event.id.as_str()), (6, "0-6"));
        assert!(channel.read(Some(1000)).is_none());
    }

    #[test]
    fn a_second_reader_takes_over_and_the_first_goes_on_when_it_leaves() {
        let channel = channel(0);
        let mut first = channel.read(None).unwrap();
        let mut second = channel.read(None).unwrap();
        channel.push(said(1), Vec::new());
        assert!(first.next().now_or_never().is_none());
        assert_eq!(number(&second.next().now_or_never().unwrap().unwrap()), 1);
        drop(second);
        channel.push(said(2), Vec::new());
        assert_eq!(number(&first.next().now_or_never().unwrap().unwrap()), 2);
        channel.finish();
        assert!(first.next().now_or_never().unwrap().is_none());
    }

    #[test]
    fn what_is_large_is_let_go_when_it_is_read() {
        let channel = channel(0);
        let mut reader = channel.read(None).unwrap();
        for number in 1..=3 {
            channel.push(said(number), vec![Arc::new(channel.bytes.reserve(KEPT_BYTES / 2))]);
        }
        channel.push(said(4), vec![Arc::new(channel.bytes.reserve(KEPT_BYTES * 2))]);
        while reader.next().now_or_never().is_some() {}
        assert_eq!(channel.bytes.reserve(0).bytes(), 0);
        let state = channel.state();
        assert_eq!((state.kept.len(), state.read_bytes()), (0, 0));
    }

    #[test]
    fn what_nobody_reads_is_kept_while_there_is_room() {
        let channel = channel(0);
        let share = channel.bytes.account().share();
        for number in 1..=9 {
            channel.push(said(number), vec![Arc::new(channel.bytes.reserve(share / 4))]);
        }
        assert_eq!(channel.state().unread(), 4);
        let _others = channel.bytes.account().peer().reserve(share * 2);
        channel.push(said(10), vec![Arc::new(channel.bytes.reserve(1))]);
        assert_eq!(channel.state().unread(), 0);
    }
}
