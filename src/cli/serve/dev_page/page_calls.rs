//! The last calls that the page made, which it may keep as tests.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::dev_page::{PageEntry, PageEntryKind};
use crate::world::RecordedAction;

/// How many calls are kept.
const MAX_CALLS: usize = 50;

/// The largest answer in bytes of JSON of a call that is kept.
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// How many programs and requests of a call are kept.
const MAX_ACTIONS: usize = 100;

/// The last calls of the page, oldest first.
#[derive(Default)]
pub(in crate::cli::serve) struct PageCalls {
    calls: Mutex<VecDeque<PageCall>>,
}

/// A request of the page that has ended, without secrets.
#[derive(Debug, Clone)]
pub(in crate::cli::serve) struct PageCall {
    pub(in crate::cli::serve) id: Value,
    pub(in crate::cli::serve) method: &'static str,
    pub(in crate::cli::serve) params: Value,
    /// The result, or an object with `error`.
    pub(in crate::cli::serve) response: Value,
    /// Its programs and requests.
    pub(in crate::cli::serve) actions: Vec<RecordedAction>,
}

impl PageCalls {
    /// Keeps a call, if it is small enough.
    pub(in crate::cli::serve) fn add(&self, call: PageCall) {
        let is_large = call.response.to_string().len() + call.params.to_string().len() > MAX_ANSWER_BYTES;
        let mut calls = self.calls.lock();
        // What has the same id is of an earlier page.
        calls.retain(|known| known.id != call.id);
        if is_large || call.actions.len() > MAX_ACTIONS {
            return;
        }
        calls.push_back(call);
        while calls.len() > MAX_CALLS {
            calls.pop_front();
        }
    }

    /// The call of this id, after those whose questions it answers, in their order.
    pub(super) fn find(&self, id: &Value) -> Option<Vec<PageCall>> {
        let calls = self.calls.lock();
        let mut number = calls.iter().position(|call| call.id == *id)?;
        let mut rounds = vec![calls.get(number)?.clone()];
        while rounds.last().is_some_and(PageCall::is_resumed) {
            let call = rounds.last()?;
            let is_round = |before: &PageCall| before.method == call.method && before.entry() == call.entry();
            number = calls.iter().take(number).rposition(is_round)?;
            rounds.push(calls.get(number)?.clone());
        }
        rounds.reverse();
        Some(rounds)
    }
}

impl PageCall {
    /// Whether it goes on with an earlier one.
    fn is_resumed(&self) -> bool {
        self.params.get("requestState").is_some()
    }

    /// The name or the URI that it is about.
    pub(super) fn entry(&self) -> Option<&str> {
        self.params.get("name").or_else(|| self.params.get("uri"))?.as_str()
    }

    pub(super) fn arguments(&self) -> Map<String, Value> {
        self.params.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// The answers to questions that it brings, by key.
    pub(super) fn answers(&self) -> Map<String, Value> {
        self.params.get("inputResponses").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// Whether it is about an entry of the page.
    pub(super) fn is_of(&self, entry: &PageEntry) -> bool {
        let method = match entry.kind {
            PageEntryKind::Prompt => "prompts/get",
            PageEntryKind::Tool => "tools/call",
            PageEntryKind::Resource | PageEntryKind::Template => "resources/read",
        };
        let is_same = entry.kind == PageEntryKind::Template || self.entry() == Some(&entry.id);
        self.method == method && is_same
    }
}
