//! Which requests of a peer are not answered yet.

use std::collections::{HashSet, VecDeque};

use rmcp::model::RequestId;

/// How many requests a peer may have under way.
pub(super) const MOST: usize = 4096;

/// How many cancelled requests are remembered, so that their ids are not taken for new ones.
const REMEMBERED: usize = 1024;

/// The requests of a peer that are not answered yet.
#[derive(Default)]
pub(super) struct Pending {
    asked: HashSet<RequestId>,
    /// Those among them whose answer is not awaited at the end: they wait for changes.
    listening: HashSet<RequestId>,
    cancelled: VecDeque<RequestId>,
    /// The `initialize` that is under way: what comes after it must find the session begun.
    first: Option<RequestId>,
}

/// Why a request cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Another one of that id is not answered yet, or was cancelled just now.
    SameId,
    /// Too many are not answered yet.
    TooMany,
}

impl Pending {
    pub(super) fn ask(&mut self, id: &RequestId, method: &str) -> Result<(), Full> {
        if self.asked.contains(id) || self.cancelled.contains(id) {
            return Err(Full::SameId);
        }
        if self.asked.len() >= MOST {
            return Err(Full::TooMany);
        }
        self.asked.insert(id.clone());
        match method {
            "initialize" => self.first = Some(id.clone()),
            "subscriptions/listen" => drop(self.listening.insert(id.clone())),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, id: &RequestId) {
        self.asked.remove(id);
        self.listening.remove(id);
        self.first.take_if(|first| first == id);
    }

    /// Notes that a request will not be answered. False where it must be: `initialize` cannot be cancelled.
    pub(super) fn cancel(&mut self, id: &RequestId) -> bool {
        if self.first.as_ref() == Some(id) {
            return false;
        }
        if self.asked.remove(id) {
            self.listening.remove(id);
            self.cancelled.push_back(id.clone());
            if self.cancelled.len() > REMEMBERED {
                self.cancelled.pop_front();
            }
        }
        true
    }

    pub(super) fn is_asked(&self, id: &RequestId) -> bool {
        self.asked.contains(id) || self.cancelled.contains(id)
    }

    /// Takes out one of those that are under way.
    pub(super) fn give_up(&mut self) -> Option<RequestId> {
        let id = self.asked.iter().next().cloned()?;
        self.answer(&id);
        Some(id)
    }

    /// Whether an `initialize` is under way.
    pub(super) fn is_beginning(&self) -> bool {
        self.first.is_some()
    }

    /// Whether no answer is awaited, but for streams.
    pub(super) fn is_quiet(&self) -> bool {
        self.asked.len() == self.listening.len()
    }

    /// Whether nothing is under way at all.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn an_id_is_free_again_when_it_is_answered_but_not_when_it_is_cancelled() {
        let (mut pending, id) = (Pending::default(), RequestId::Number(1));
        pending.ask(&id, "ping").unwrap();
        assert_eq!(pending.ask(&id, "ping"), Err(Full::SameId));
        pending.answer(&id);
        pending.ask(&id, "ping").unwrap();
        assert!(pending.cancel(&id));
        assert_eq!(pending.ask(&id, "ping"), Err(Full::SameId));
    }

    #[test]
    fn only_so_many_requests_and_cancelled_ids_are_kept() {
        let mut pending = Pending::default();
        for id in 0..MOST as i64 {
            pending.ask(&RequestId::Number(id), "ping").unwrap();
        }
        assert_eq!(pending.ask(&RequestId::Number(-1), "ping"), Err(Full::TooMany));
        for id in 0..MOST as i64 {
            pending.cancel(&RequestId::Number(id));
        }
        assert!(pending.is_empty());
        assert_eq!(pending.cancelled.len(), REMEMBERED);
    }

    #[test]
    fn the_beginning_cannot_be_cancelled() {
        let (mut pending, id) = (Pending::default(), RequestId::Number(1));
        pending.ask(&id, "initialize").unwrap();
        assert!(!pending.cancel(&id) && pending.is_beginning());
        pending.answer(&id);
        assert!(!pending.is_beginning());
    }
}
