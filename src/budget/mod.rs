//! What one call may use: time, work and memory; and how long it may keep the thread that serves others too.
//!
//! Whatever reads or makes what a caller or a pack can make long charges the [`Budget`] of its call. A short while is
//! worked right where the call is served. What takes longer begins again in [`Budget::run_repeatable`] while the other tasks of
//! that thread go on elsewhere: work that is done there must be such that it can be done twice.
//! What is not here: what the units are charged for (template/, action/), and how long an entry may take (catalog/).

mod capacity;
mod exhausted;
mod memory_size;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

pub use capacity::{Capacity, block_if_large};
pub use exhausted::Exhausted;
pub use memory_size::memory_size;

use capacity::run_in_place;

/// How much one call may do, in units of about a byte that is read or written.
pub const MAX_WORK: u64 = 1 << 29;
/// How many bytes of values one call may hold at once, beside what it was sent.
pub const MAX_MEMORY: u64 = 128 << 20;

/// How much work a call may do at a stretch on the thread that serves others too.
const MAX_INLINE_STRETCH: u64 = 64 << 10;
/// How much of all its work it may do there.
const MAX_INLINE_WORK: u64 = 1 << 20;
/// What a call may hold though all calls together hold too much.
const MIN_GUARANTEED_MEMORY: u64 = 1 << 20;
/// How much is done between two looks at the clock.
const CHECK_INTERVAL: u64 = 64 << 10;

/// What one call may use. Clones are of the same call, and charge the same.
#[derive(Debug, Clone)]
pub struct Budget {
    used: Arc<BudgetUsage>,
    /// Until when, counted from the beginning of the call and without what its client was waited for.
    deadline: Duration,
    /// How long its entry may take.
    timeout: Duration,
}

#[derive(Debug)]
struct BudgetUsage {
    started: Instant,
    client_wait: ClientWait,
    cancel: CancellationToken,
    work: AtomicU64,
    /// The work at which there is something to look at: the clock, or a limit.
    next_check: AtomicU64,
    memory: AtomicU64,
    thread: AtomicU8,
    /// Whether the work that is under way is too long for where it is done.
    needs_blocking_thread: AtomicBool,
    capacity: Arc<Capacity>,
}

/// Where the work of a call is done.
const NOWHERE: u8 = 0;
const HERE_AND_NOW: u8 = 1;
const ELSEWHERE: u8 = 2;

/// How long a call has waited for its client, which does not count against its time.
#[derive(Debug, Default)]
pub struct ClientWait(AtomicU64);

impl ClientWait {
    /// Adds a wait.
    pub fn add(&self, wait: Duration) {
        self.0.fetch_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// All waits until now.
    pub fn total(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }
}

/// How much memory a call held at some moment.
#[derive(Debug, Clone, Copy)]
pub struct MemoryMark(u64);

impl Default for Budget {
    /// The budget of work that is nobody's call, such as that of a load.
    fn default() -> Budget {
        Budget::new(CancellationToken::new(), Arc::default())
    }
}

impl Budget {
    /// The budget of a call that has just begun, and that `cancel` ends.
    pub fn new(cancel: CancellationToken, capacity: Arc<Capacity>) -> Budget {
        let used = BudgetUsage {
            started: Instant::now(),
            client_wait: ClientWait::default(),
            cancel,
            work: AtomicU64::new(0),
            next_check: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            thread: AtomicU8::new(NOWHERE),
            needs_blocking_thread: AtomicBool::new(false),
            capacity,
        };
        Budget { used: Arc::new(used), deadline: Duration::MAX, timeout: Duration::MAX }
    }

    /// The same budget for an entry that may take so long from now on.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Budget {
        let until = self.elapsed().saturating_add(timeout);
        let used = self.used.clone();
        if until < self.deadline { Budget { used, deadline: until, timeout } } else { Budget { used, ..*self } }
    }

    /// How long the client has been waited for.
    pub fn client_wait(&self) -> &ClientWait {
        &self.used.client_wait
    }

    /// How long the call has taken, without what its client was waited for.
    fn elapsed(&self) -> Duration {
        self.used.started.elapsed().saturating_sub(self.used.client_wait.total())
    }

    /// Charges work.
    ///
    /// # Errors
    /// The call may do no more, or is to do it elsewhere, which [`Budget::run_repeatable`] sees to.
    pub fn charge_work(&self, units: usize) -> Result<(), Exhausted> {
        let units = units as u64;
        let done = self.used.work.fetch_add(units, Relaxed).saturating_add(units);
        if done < self.used.next_check.load(Relaxed) { Ok(()) } else { self.check_limits(done) }
    }

    /// Charges memory for what is about to be made, and the work of making it.
    ///
    /// # Errors
    /// As those of [`Budget::charge_work`].
    pub fn charge_memory(&self, bytes: usize) -> Result<(), Exhausted> {
        self.charge_work(bytes)?;
        let held = self.used.memory.fetch_add(bytes as u64, Relaxed).saturating_add(bytes as u64);
        self.used.capacity.add_held(bytes as u64);
        if held > MAX_MEMORY {
            return Err(Exhausted::Memory);
        }
        if bytes as u64 >= CHECK_INTERVAL && self.used.capacity.is_full() { Err(Exhausted::Busy) } else { Ok(()) }
    }

    /// What is held now.
    pub fn memory_mark(&self) -> MemoryMark {
        MemoryMark(self.used.memory.load(Relaxed))
    }

    /// Gives back what was held since `level`, but for so many bytes.
    pub fn release_to(&self, level: MemoryMark, kept: usize) {
        let after = level.0.saturating_add(kept as u64);
        let before = self.used.memory.swap(after, Relaxed);
        self.used.capacity.adjust_held(before, after);
    }

    /// Does work that may be done twice: a little of it right here, and where that is not enough all of it from the
    /// beginning, while the other tasks of the thread go on elsewhere.
    ///
    /// # Errors
    /// Too many calls work elsewhere already.
    pub fn run_repeatable<T>(&self, work: impl Fn() -> T) -> Result<T, Exhausted> {
        if self.used.thread.load(Relaxed) != NOWHERE {
            return Ok(work());
        }
        let (done, level) = (self.used.work.load(Relaxed), self.memory_mark());
        if done < MAX_INLINE_WORK {
            let _place = self.enter_thread(HERE_AND_NOW, done.saturating_add(MAX_INLINE_STRETCH));
            let result = work();
            if !self.used.needs_blocking_thread.swap(false, Relaxed) {
                return Ok(result);
            }
        }
        self.used.work.store(done, Relaxed);
        self.release_to(level, 0);
        self.run_blocking(work)
    }

    /// Does work whose size is known: a little of it right here, more of it while the other tasks of the thread go on
    /// elsewhere.
    ///
    /// # Errors
    /// As those of [`Budget::run_repeatable`].
    pub fn run_sized<T>(&self, size: usize, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let here = self.used.thread.load(Relaxed) != NOWHERE || (size as u64) < MAX_INLINE_STRETCH;
        if here { Ok(work()) } else { self.run_blocking(work) }
    }

    /// Does work that waits for a disk, while the other tasks of the thread go on elsewhere.
    ///
    /// # Errors
    /// As those of [`Budget::run_repeatable`].
    pub fn run_io<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        if self.used.thread.load(Relaxed) == ELSEWHERE { Ok(work()) } else { self.run_blocking(work) }
    }

    fn run_blocking<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let _turn = self.used.capacity.acquire()?;
        let _place = self.enter_thread(ELSEWHERE, self.used.work.load(Relaxed));
        Ok(run_in_place(work))
    }

    /// Notes where work is done from now on, and when to look again.
    fn enter_thread(&self, place: u8, look: u64) -> ThreadGuard<'_> {
        let outer = self.used.thread.swap(place, Relaxed);
        let outer_look = self.used.next_check.swap(look, Relaxed);
        ThreadGuard { used: &self.used, outer_thread: outer, outer_check: outer_look }
    }

    #[cold]
    fn check_limits(&self, done: u64) -> Result<(), Exhausted> {
        if self.used.thread.load(Relaxed) == HERE_AND_NOW {
            self.used.needs_blocking_thread.store(true, Relaxed);
            return Err(Exhausted::NeedsBlockingThread);
        }
        if done > MAX_WORK {
            return Err(Exhausted::Work);
        }
        if self.used.capacity.is_full() && self.used.memory.load(Relaxed) > MIN_GUARANTEED_MEMORY {
            return Err(Exhausted::Busy);
        }
        if self.used.cancel.is_cancelled() {
            return Err(Exhausted::Cancelled);
        }
        if self.elapsed() > self.deadline {
            return Err(Exhausted::Time { after: self.timeout });
        }
        self.used.next_check.store(done + CHECK_INTERVAL, Relaxed);
        Ok(())
    }
}

/// The place where work is done, until it is left, however that comes about.
struct ThreadGuard<'u> {
    used: &'u BudgetUsage,
    outer_thread: u8,
    outer_check: u64,
}

impl Drop for ThreadGuard<'_> {
    fn drop(&mut self) {
        self.used.thread.store(self.outer_thread, Relaxed);
        self.used.next_check.store(self.outer_check, Relaxed);
    }
}

impl Drop for BudgetUsage {
    fn drop(&mut self) {
        self.capacity.adjust_held(self.memory.load(Relaxed), 0);
    }
}
