//! What all calls of a server use together, and where work goes that would hold up others.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::Exhausted;

/// From how many bytes on a message is read and written elsewhere.
const LARGE: u64 = 256 << 10;
/// How many calls may work elsewhere at once: each has a thread of its own.
const MAX_BLOCKING_CALLS: usize = 128;
/// How many bytes of values all calls may hold together.
const MAX_HELD_BYTES: u64 = 256 << 20;

/// What all calls of a server use together.
#[derive(Debug, Default)]
pub struct Capacity {
    blocking_calls: AtomicUsize,
    held_bytes: AtomicU64,
}

impl Capacity {
    /// Lets one more call work elsewhere.
    pub(super) fn acquire(&self) -> Result<BlockingPermit<'_>, Exhausted> {
        let turn = BlockingPermit { capacity: self };
        if self.blocking_calls.fetch_add(1, Relaxed) < MAX_BLOCKING_CALLS { Ok(turn) } else { Err(Exhausted::Busy) }
    }

    pub(super) fn add_held(&self, bytes: u64) {
        self.held_bytes.fetch_add(bytes, Relaxed);
    }

    /// Notes that a call that held so much holds that much now.
    pub(super) fn adjust_held(&self, before: u64, after: u64) {
        self.held_bytes.fetch_add(after.wrapping_sub(before), Relaxed);
    }

    pub(super) fn is_full(&self) -> bool {
        self.held_bytes.load(Relaxed) > MAX_HELD_BYTES
    }
}

/// The right to work elsewhere.
#[derive(Debug)]
pub(super) struct BlockingPermit<'c> {
    capacity: &'c Capacity,
}

impl Drop for BlockingPermit<'_> {
    fn drop(&mut self) {
        self.capacity.blocking_calls.fetch_sub(1, Relaxed);
    }
}

/// Reads or writes a message of so many bytes: a large one while the other tasks of this thread go on elsewhere.
pub fn block_if_large<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE { work() } else { run_in_place(work) }
}

/// Does work on this thread while another one takes over its other tasks. Where there is but one thread, as in a command
/// that makes one call, there are no others to be held up.
pub(super) fn run_in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
