//! The shared limits of all calls, and threads for blocking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::block_in_place;

use super::BudgetExceeded;
use super::caller::Caller;

/// From how many bytes on a message is read and written where it may block.
const LARGE_MESSAGE_BYTES: u64 = 256 << 10;
/// The same for a text in which secrets are searched.
const LARGE_REDACTED_BYTES: u64 = 32 << 10;
/// How many calls may block at once: each needs a thread.
const MAX_BLOCKING_CALLS: usize = 128;
/// How many bytes of outputs all calls may hold together.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

/// The usage of all calls of a server.
#[derive(Debug, Default)]
pub struct Capacity {
    blocking_calls: AtomicUsize,
    memory_bytes: AtomicU64,
    /// What calls hold that wait for their clients, beside `memory_bytes`.
    suspended_bytes: AtomicU64,
    overcommit: Arc<Mutex<()>>,
}

/// The permit of one call to hold memory although all calls together hold too much, so that one after the other ends.
pub(super) type OvercommitPermit = OwnedMutexGuard<()>;

impl Capacity {
    /// Lets one more call block.
    pub(super) fn acquire<'c>(&'c self, caller: &'c Caller) -> Result<BlockingPermit<'c>, BudgetExceeded> {
        if !caller.blocking_calls.try_add(1, caller.max_share(MAX_BLOCKING_CALLS as u64)) {
            return Err(BudgetExceeded::Busy);
        }
        let permit = BlockingPermit { capacity: self, caller };
        if self.blocking_calls.fetch_add(1, Relaxed) < MAX_BLOCKING_CALLS {
            Ok(permit)
        } else {
            Err(BudgetExceeded::Busy)
        }
    }

    pub(super) fn add_memory(&self, bytes: u64, caller: &Caller) {
        self.memory_bytes.fetch_add(bytes, Relaxed);
        caller.memory.add(bytes);
    }

    pub(super) fn release_memory(&self, bytes: u64, caller: &Caller) {
        self.memory_bytes.fetch_sub(bytes, Relaxed);
        caller.memory.give_back(bytes);
    }

    /// Adds memory if there is room, and the caller has no more than its share.
    pub(super) fn try_add_memory(&self, bytes: u64, caller: &Caller) -> bool {
        if !caller.memory.try_add(bytes, caller.max_share(MAX_MEMORY_BYTES)) {
            return false;
        }
        let has_room = try_add(&self.memory_bytes, bytes);
        if !has_room {
            caller.memory.give_back(bytes);
        }
        has_room
    }

    /// Whether a caller has no more than its share with so many bytes more.
    pub(super) fn is_within_share(&self, bytes: u64, caller: &Caller) -> bool {
        caller.memory.has_room(bytes, caller.max_share(MAX_MEMORY_BYTES))
    }

    /// Lets other calls have the memory of one that waits for its client, as long as not too much is held so. It stays
    /// in the share of its caller.
    pub(super) fn try_suspend(&self, bytes: u64) -> bool {
        let can_suspend = try_add(&self.suspended_bytes, bytes);
        if can_suspend {
            self.memory_bytes.fetch_sub(bytes, Relaxed);
        }
        can_suspend
    }

    /// Counts it again.
    pub(super) fn resume(&self, bytes: u64) {
        self.memory_bytes.fetch_add(bytes, Relaxed);
        self.suspended_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Waits for the permit, first come first served.
    pub(super) async fn acquire_overcommit(&self) -> OvercommitPermit {
        self.overcommit.clone().lock_owned().await
    }
}

fn try_add(held: &AtomicU64, bytes: u64) -> bool {
    let add = |held: u64| held.checked_add(bytes).filter(|after| *after <= MAX_MEMORY_BYTES);
    held.fetch_update(Relaxed, Relaxed, add).is_ok()
}

/// The permit of a call to block.
#[derive(Debug)]
pub(super) struct BlockingPermit<'c> {
    capacity: &'c Capacity,
    caller: &'c Caller,
}

impl Drop for BlockingPermit<'_> {
    fn drop(&mut self) {
        self.capacity.blocking_calls.fetch_sub(1, Relaxed);
        self.caller.blocking_calls.give_back(1);
    }
}

/// Reads or writes a message of so many bytes; a large one where it may block.
pub fn block_if_large<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE_MESSAGE_BYTES { work() } else { run_in_place(work) }
}

/// Searches a text of so many bytes for secrets; a large one where it may block.
pub fn block_if_large_with_secrets<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE_REDACTED_BYTES { work() } else { run_in_place(work) }
}

/// Runs work on this thread while another one takes over its tasks. A runtime with one thread, as in a command with one
/// call, has no other tasks.
pub(super) fn run_in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
