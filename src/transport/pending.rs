//! Which requests of a peer are not answered yet.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use rmcp::model::RequestId;
use tokio::time::Instant;

use crate::server::Reservation;

/// How many requests a peer may have under way.
pub(super) const MOST: usize = 4096;

/// How many streams of changes a peer may have open on one connection.
pub(super) const MOST_LISTENING: usize = 100;

/// How many cancelled requests are remembered, so that their ids are not taken for new ones.
const REMEMBERED: usize = 1024;

/// How long after its end an answer to a cancelled request may still be on its way, to be dropped.
const LATE: Duration = Duration::from_secs(1);

/// The requests of a peer that are not answered yet.
#[derive(Default)]
pub(super) struct Pending {
    asked: HashMap<RequestId, Asked>,
    /// How many of them have no answer to be awaited at the end: they wait for changes.
    listening: usize,
    cancelled: VecDeque<Cancelled>,
    /// The `initialize` that is under way: what comes after it must find the session begun.
    first: Option<RequestId>,
}

/// A request that is under way, and what it takes.
struct Asked {
    reservation: Arc<Reservation>,
    listens: bool,
}

/// A request that was cancelled, and goes on until it has noticed.
struct Cancelled {
    id: RequestId,
    running: Weak<Reservation>,
    ended: Option<Instant>,
}

impl Cancelled {
    /// Whether an answer may still come, which is none to another request of that id.
    fn is_due(&mut self) -> bool {
        if self.running.strong_count() > 0 {
            return true;
        }
        self.ended.get_or_insert_with(Instant::now).elapsed() < LATE
    }
}

/// Why a request cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Another one of that id is not answered yet, or was cancelled just now.
    SameId,
    /// Too many are not answered yet.
    TooMany,
    /// Too many wait for changes.
    TooManyListening,
}

impl Pending {
    pub(super) fn ask(&mut self, id: &RequestId, method: &str, reservation: Arc<Reservation>) -> Result<(), Full> {
        self.forget_ended();
        let listens = method == "subscriptions/listen";
        if self.is_asked(id) {
            return Err(Full::SameId);
        }
        if self.asked.len() >= MOST {
            return Err(Full::TooMany);
        }
        if listens && self.listening >= MOST_LISTENING {
            return Err(Full::TooManyListening);
        }
        if method == "initialize" {
            self.first = Some(id.clone());
        }
        self.listening += usize::from(listens);
        self.asked.insert(id.clone(), Asked { reservation, listens });
        Ok(())
    }

    /// Notes that a request is answered. Returns what it has taken.
    pub(super) fn answer(&mut self, id: &RequestId) -> Option<Arc<Reservation>> {
        self.first.take_if(|first| first == id);
        self.remove(id)
    }

    /// Notes that a request will not be answered. False where it must be: `initialize` cannot be cancelled.
    pub(super) fn cancel(&mut self, id: &RequestId) -> bool {
        if self.first.as_ref() == Some(id) {
            return false;
        }
        self.forget_ended();
        if let Some(reservation) = self.remove(id) {
            let running = Arc::downgrade(&reservation);
            self.cancelled.push_back(Cancelled { id: id.clone(), running, ended: None });
            if self.cancelled.len() > REMEMBERED {
                self.cancelled.pop_front();
            }
        }
        true
    }

    fn remove(&mut self, id: &RequestId) -> Option<Arc<Reservation>> {
        let asked = self.asked.remove(id)?;
        self.listening -= usize::from(asked.listens);
        Some(asked.reservation)
    }

    /// Forgets the ids of cancelled requests that have ended.
    pub(super) fn forget_ended(&mut self) {
        if !self.cancelled.is_empty() {
            self.cancelled.retain_mut(Cancelled::is_due);
        }
    }

    /// How many cancelled requests are remembered.
    #[cfg(test)]
    pub(super) fn cancelled(&self) -> usize {
        self.cancelled.len()
    }

    pub(super) fn is_asked(&self, id: &RequestId) -> bool {
        self.asked.contains_key(id) || self.cancelled.iter().any(|cancelled| cancelled.id == *id)
    }

    /// Takes out one of those that are under way.
    pub(super) fn give_up(&mut self) -> Option<RequestId> {
        let id = self.asked.keys().next().cloned()?;
        self.answer(&id);
        Some(id)
    }

    /// Whether an `initialize` is under way.
    pub(super) fn is_beginning(&self) -> bool {
        self.first.is_some()
    }

    /// Whether no answer is awaited, but for streams.
    pub(super) fn is_quiet(&self) -> bool {
        self.asked.len() == self.listening
    }

    /// Whether nothing is under way at all.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Whether several requests are under way, whose answers are awaited.
    pub(super) fn are_many(&self) -> bool {
        self.asked.len() > self.listening + 1
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::server::Account;

    fn nothing() -> Arc<Reservation> {
        Arc::new(Account::new(64 << 20).peer().reserve(0))
    }

    #[test]
    fn an_id_is_free_again_when_it_is_answered_but_not_when_it_is_cancelled() {
        let (mut pending, id, running) = (Pending::default(), RequestId::Number(1), nothing());
        pending.ask(&id, "ping", nothing()).unwrap();
        assert_eq!(pending.ask(&id, "ping", nothing()), Err(Full::SameId));
        pending.answer(&id);
        pending.ask(&id, "ping", running.clone()).unwrap();
        assert!(pending.cancel(&id));
        assert_eq!(pending.ask(&id, "ping", nothing()), Err(Full::SameId));
    }

    #[tokio::test(start_paused = true)]
    async fn the_id_of_a_cancelled_request_is_free_when_that_has_ended() {
        let (mut pending, id, running) = (Pending::default(), RequestId::Number(1), nothing());
        pending.ask(&id, "ping", running.clone()).unwrap();
        assert!(pending.cancel(&id));
        tokio::time::advance(LATE * 100).await;
        assert_eq!(pending.ask(&id, "ping", nothing()), Err(Full::SameId));
        drop(running);
        assert_eq!(pending.ask(&id, "ping", nothing()), Err(Full::SameId), "its answer may be on its way");
        tokio::time::advance(LATE).await;
        assert_eq!(pending.ask(&id, "ping", nothing()), Ok(()));
        assert!(pending.cancelled.is_empty());
    }

    #[test]
    fn only_so_many_requests_and_cancelled_ids_are_kept() {
        let (mut pending, running) = (Pending::default(), nothing());
        for id in 0..MOST as i64 {
            pending.ask(&RequestId::Number(id), "ping", running.clone()).unwrap();
        }
        assert_eq!(pending.ask(&RequestId::Number(-1), "ping", running.clone()), Err(Full::TooMany));
        for id in 0..MOST as i64 {
            pending.cancel(&RequestId::Number(id));
        }
        assert!(pending.is_empty());
        assert_eq!(pending.cancelled.len(), REMEMBERED);
    }

    #[test]
    fn only_so_many_streams_of_changes_are_open() {
        let mut pending = Pending::default();
        let listen = "subscriptions/listen";
        for id in 0..MOST_LISTENING as i64 {
            pending.ask(&RequestId::Number(id), listen, nothing()).unwrap();
        }
        assert_eq!(pending.ask(&RequestId::Number(-1), listen, nothing()), Err(Full::TooManyListening));
        pending.answer(&RequestId::Number(0));
        assert_eq!(pending.ask(&RequestId::Number(-1), listen, nothing()), Ok(()));
        assert!(pending.is_quiet() && !pending.is_empty());
    }

    #[test]
    fn the_beginning_cannot_be_cancelled() {
        let (mut pending, id) = (Pending::default(), RequestId::Number(1));
        pending.ask(&id, "initialize", nothing()).unwrap();
        assert!(!pending.cancel(&id) && pending.is_beginning());
        pending.answer(&id);
        assert!(!pending.is_beginning());
    }
}
