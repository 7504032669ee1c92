//! The shared limits of all calls, and threads for blocking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::block_in_place;

use super::BudgetExceeded;

/// From how many bytes on a message is read and written where it may block.
const LARGE_MESSAGE_BYTES: u64 = 256 << 10;
/// The same for a text in which secrets are searched.
const LARGE_REDACTED_BYTES: u64 = 32 << 10;
/// How many calls may block at once: each needs a thread.
const MAX_BLOCKING_CALLS: usize = 128;
/// How many bytes of values all calls may hold together.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

/// The usage of all calls of a server.
#[derive(Debug, Default)]
pub struct Capacity {
    blocking_calls: AtomicUsize,
    memory_bytes: AtomicU64,
    overcommit: Arc<Mutex<()>>,
}

/// The permit of one call to hold memory although all calls together hold too much, so that one after the other ends.
pub(super) type OvercommitPermit = OwnedMutexGuard<()>;

impl Capacity {
    /// Lets one more call block.
    pub(super) fn acquire(&self) -> Result<BlockingPermit<'_>, BudgetExceeded> {
        let permit = BlockingPermit { capacity: self };
        if self.blocking_calls.fetch_add(1, Relaxed) < MAX_BLOCKING_CALLS {
            Ok(permit)
        } else {
            Err(BudgetExceeded::Busy)
        }
    }

    pub(super) fn add_memory(&self, bytes: u64) {
        self.memory_bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn release_memory(&self, bytes: u64) {
        self.memory_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Adds memory if there is room.
    pub(super) fn try_add_memory(&self, bytes: u64) -> bool {
        let add = |held: u64| held.checked_add(bytes).filter(|after| *after <= MAX_MEMORY_BYTES);
        self.memory_bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Waits for the permit, first come first served.
    pub(super) async fn acquire_overcommit(&self) -> OvercommitPermit {
        self.overcommit.clone().lock_owned().await
    }
}

/// The permit of a call to block.
#[derive(Debug)]
pub(super) struct BlockingPermit<'c> {
    capacity: &'c Capacity,
}

impl Drop for BlockingPermit<'_> {
    fn drop(&mut self) {
        self.capacity.blocking_calls.fetch_sub(1, Relaxed);
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
