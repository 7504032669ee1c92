//! The shared limits of all calls, and threads for blocking work.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::BudgetExceeded;
use super::caller::{Caller, Share};
use super::pool::MemoryPool;

/// From how many bytes on a message is read and written where it may block.
const LARGE_MESSAGE_BYTES: u64 = 256 << 10;
/// The same for a text in which secrets are searched.
const LARGE_REDACTED_BYTES: u64 = 32 << 10;
/// How many calls may block at once: each needs a thread.
const MAX_BLOCKING_CALLS: u64 = 128;
/// What all callers of a server share.
#[derive(Debug, Default)]
pub struct Capacity {
    /// The memory of requests, of the files that they read, and of answers.
    pub messages: MemoryPool,
    /// The memory of the outputs of calls.
    pub(super) outputs: MemoryPool,
    blocking_calls: Share,
}

impl Capacity {
    /// A capacity with so many bytes for messages.
    pub fn new(message_bytes: u64) -> Capacity {
        Capacity { messages: MemoryPool::new(message_bytes), ..Capacity::default() }
    }
}

impl Caller {
    /// Lets one more call of this caller block.
    pub(super) fn acquire_blocking(&self) -> Result<BlockingPermit<'_>, BudgetExceeded> {
        if !self.blocking_calls.try_add(1, self.max_share(MAX_BLOCKING_CALLS)) {
            return Err(BudgetExceeded::Busy);
        }
        if self.capacity().blocking_calls.try_add(1, MAX_BLOCKING_CALLS) {
            return Ok(BlockingPermit(self));
        }
        self.blocking_calls.give_back(1);
        Err(BudgetExceeded::Busy)
    }
}

/// The permit of a call to block.
#[derive(Debug)]
pub(super) struct BlockingPermit<'c>(&'c Caller);

impl Drop for BlockingPermit<'_> {
    fn drop(&mut self) {
        self.0.capacity().blocking_calls.give_back(1);
        self.0.blocking_calls.give_back(1);
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
