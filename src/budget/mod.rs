//! Limits on the time, work and memory of one call; long work moves off the async thread.
//!
//! Code whose input a caller or a pack can make long charges the [`Budget`] of its call. Short work runs on the async
//! thread. Longer work is restarted by [`Budget::run_repeatable`] while other tasks move to another thread, so it must be
//! repeatable. What is not here: what is charged (template/, action/), and the timeouts of entries (catalog/).

mod caller;
mod capacity;
mod exceeded;
mod memory_charge;
mod memory_size;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use caller::{Caller, CallerKind};
pub use capacity::{Capacity, block_if_large, block_if_large_with_secrets};
pub use exceeded::{BudgetExceeded, round_for_display};
pub use memory_charge::MemoryCharge;
pub use memory_size::{json_memory_size, memory_size};

use capacity::{OvercommitPermit, run_in_place};

/// The work limit of one call, in units of about one byte that is read or written.
pub const MAX_WORK: u64 = 1 << 29;
/// How many bytes of values one call may hold at once, in addition to its request.
pub const MAX_MEMORY: u64 = 128 << 20;

/// How much work a call may do at a stretch on the async thread.
const MAX_UNINTERRUPTED_WORK: u64 = 64 << 10;
/// How much work a call may do there in total.
const MAX_INLINE_WORK: u64 = 1 << 20;
/// How much a call may hold even if all calls together exceed their limit.
const MIN_GUARANTEED_MEMORY: u64 = 1 << 20;
/// How often a call that waits for memory looks whether there is room.
const ROOM_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How much work is done between two checks of the clock.
const CHECK_INTERVAL: u64 = 64 << 10;

/// The limits of one call. Clones share the usage.
#[derive(Debug, Clone)]
pub struct Budget {
    usage: Arc<BudgetUsage>,
    /// The deadline since the start of the call, without waits for the client.
    deadline: Duration,
    /// The timeout of its entry.
    timeout: Duration,
}

#[derive(Debug)]
struct BudgetUsage {
    started: Instant,
    client_wait: ClientWait,
    cancel: CancellationToken,
    work: AtomicU64,
    /// The work at which to check the clock and the limits.
    next_check: AtomicU64,
    memory: AtomicU64,
    /// How much of the memory of all calls is this one's: what it holds, or held before.
    reserved: AtomicU64,
    thread: AtomicU8,
    /// Whether the running work is too long for the async thread.
    needs_blocking_thread: AtomicBool,
    capacity: Arc<Capacity>,
    caller: Arc<Caller>,
    /// Whether it may hold memory although all calls together hold too much.
    overcommit: Mutex<Option<OvercommitPermit>>,
}

/// The thread of the work of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum WorkThread {
    /// No work is running.
    Idle,
    /// The async thread, for a short stretch.
    Inline,
    /// A thread that may block.
    Blocking,
}

/// The time that a call waits for its client, which does not count.
#[derive(Debug, Default)]
pub struct ClientWait(AtomicU64);

impl ClientWait {
    /// Adds a wait.
    pub fn add(&self, wait: Duration) {
        self.0.fetch_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The sum of all waits.
    pub fn total(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }
}

/// The memory of a call at some moment.
#[derive(Debug, Clone, Copy)]
pub struct MemoryMark(u64);

impl Default for Budget {
    /// The budget of work outside of calls, such as a load.
    fn default() -> Budget {
        Budget::new(CancellationToken::new(), Arc::default())
    }
}

impl Budget {
    /// The budget of a new call, which `cancel` ends, where there is one caller.
    pub fn new(cancel: CancellationToken, capacity: Arc<Capacity>) -> Budget {
        Budget::for_caller(cancel, capacity, Arc::default())
    }

    /// The same for one of several callers.
    pub fn for_caller(cancel: CancellationToken, capacity: Arc<Capacity>, caller: Arc<Caller>) -> Budget {
        let usage = BudgetUsage {
            started: Instant::now(),
            client_wait: ClientWait::default(),
            cancel,
            work: AtomicU64::new(0),
            next_check: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            thread: AtomicU8::new(WorkThread::Idle as u8),
            needs_blocking_thread: AtomicBool::new(false),
            capacity,
            caller,
            overcommit: Mutex::default(),
        };
        Budget { usage: Arc::new(usage), deadline: Duration::MAX, timeout: Duration::MAX }
    }

    /// The same budget with a timeout from now on.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Budget {
        let until = self.elapsed().saturating_add(timeout);
        let usage = self.usage.clone();
        if until < self.deadline { Budget { usage, deadline: until, timeout } } else { Budget { usage, ..*self } }
    }

    /// Who makes the call.
    pub fn caller(&self) -> &Arc<Caller> {
        &self.usage.caller
    }

    /// The waits for the client.
    pub fn client_wait(&self) -> &ClientWait {
        &self.usage.client_wait
    }

    /// The elapsed time, without waits for the client.
    fn elapsed(&self) -> Duration {
        self.usage.started.elapsed().saturating_sub(self.usage.client_wait.total())
    }

    /// The time that is left until the timeout.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.elapsed())
    }

    /// The timeout.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Charges work.
    ///
    /// # Errors
    /// A limit is exceeded, or the work must move off the async thread, as [`Budget::run_repeatable`] does.
    pub fn charge_work(&self, units: usize) -> Result<(), BudgetExceeded> {
        let units = units as u64;
        let done = self.usage.work.fetch_add(units, Relaxed).saturating_add(units);
        if done < self.usage.next_check.load(Relaxed) { Ok(()) } else { self.check_limits(done) }
    }

    /// Charges memory before it is allocated, and the work to fill it.
    ///
    /// # Errors
    /// As those of [`Budget::charge_work`]. Nothing is charged then but the work.
    pub fn charge_memory(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.charge_work(bytes)?;
        if self.usage.memory.load(Relaxed).saturating_add(bytes as u64) > MAX_MEMORY {
            return Err(BudgetExceeded::Memory);
        }
        if self.try_hold(bytes as u64) { Ok(()) } else { Err(BudgetExceeded::Busy) }
    }

    /// Charges memory as [`Budget::charge_memory`] does. Where all calls together hold too much, it waits for room, or
    /// until this call is the first of those that wait.
    ///
    /// # Errors
    /// As those of [`Budget::charge_work`]; [`BudgetExceeded::Busy`] if the time of the call ends before.
    pub async fn charge_memory_when_free(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        match self.charge_memory(bytes) {
            Err(BudgetExceeded::Busy) => self.wait_for_room(bytes as u64).await,
            charged => charged,
        }
    }

    /// Reserves memory that the call charges later, as far as it may hold so much, and waits for it as
    /// [`Budget::charge_memory_when_free`] does.
    ///
    /// # Errors
    /// The call is cancelled, or its time ends before there is room.
    pub async fn reserve_when_free(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let free = MAX_MEMORY.saturating_sub(self.usage.memory.load(Relaxed));
        let bytes = bytes.min(usize::try_from(free).unwrap_or(usize::MAX));
        self.wait_for_room(bytes as u64).await?;
        self.release(bytes);
        Ok(())
    }

    async fn wait_for_room(&self, bytes: u64) -> Result<(), BudgetExceeded> {
        let mut overcommit = pin!(self.usage.capacity.acquire_overcommit());
        while !self.try_hold(bytes) {
            if self.elapsed() > self.deadline {
                return Err(BudgetExceeded::Busy);
            }
            tokio::select! {
                () = self.usage.cancel.cancelled() => return Err(BudgetExceeded::Cancelled),
                permit = &mut overcommit, if self.usage.capacity.is_within_share(bytes, &self.usage.caller) => {
                    *self.usage.overcommit.lock() = Some(permit);
                    self.reserve_unchecked(bytes);
                    return Ok(());
                }
                () = tokio::time::sleep(ROOM_CHECK_INTERVAL) => {}
            }
        }
        Ok(())
    }

    /// Holds more memory: `false` if it would be too much for all calls together.
    fn try_hold(&self, bytes: u64) -> bool {
        let held = self.usage.memory.load(Relaxed).saturating_add(bytes);
        let growth = held.saturating_sub(self.usage.reserved.load(Relaxed));
        let is_guaranteed = growth == 0 || held <= MIN_GUARANTEED_MEMORY && bytes < CHECK_INTERVAL;
        if is_guaranteed || self.usage.overcommit.lock().is_some() {
            self.reserve_unchecked(bytes);
            return true;
        }
        if !self.usage.capacity.try_add_memory(growth, &self.usage.caller) {
            return false;
        }
        self.usage.reserved.fetch_add(growth, Relaxed);
        self.usage.memory.fetch_add(bytes, Relaxed);
        true
    }

    /// Holds more memory, although it may be too much.
    fn reserve_unchecked(&self, bytes: u64) {
        let held = self.usage.memory.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let growth = held.saturating_sub(self.usage.reserved.fetch_max(held, Relaxed));
        self.usage.capacity.add_memory(growth, &self.usage.caller);
    }

    /// Whether the call may hold so much more.
    fn has_memory_for(&self, bytes: usize) -> bool {
        self.usage.memory.load(Relaxed).saturating_add(bytes as u64) <= MAX_MEMORY
    }

    /// Releases memory. The call may charge it again, whatever other calls hold, until
    /// [`return_unused`](Budget::return_unused).
    pub fn release(&self, bytes: usize) {
        let left = |held: u64| Some(held.saturating_sub(bytes as u64));
        let _ = self.usage.memory.fetch_update(Relaxed, Relaxed, left);
    }

    /// The memory held now.
    pub fn memory_mark(&self) -> MemoryMark {
        MemoryMark(self.usage.memory.load(Relaxed))
    }

    /// Releases the memory since `mark`, except for `kept` bytes.
    pub fn release_to(&self, mark: MemoryMark, kept: usize) {
        let after = mark.0.saturating_add(kept as u64);
        self.usage.memory.store(after, Relaxed);
        let growth = after.saturating_sub(self.usage.reserved.fetch_max(after, Relaxed));
        self.usage.capacity.add_memory(growth, &self.usage.caller);
    }

    /// Lets other calls have the memory that this one has released, before it waits for something else.
    pub fn return_unused(&self) {
        let held = self.usage.memory.load(Relaxed);
        let before = self.usage.reserved.swap(held, Relaxed);
        self.usage.capacity.release_memory(before.saturating_sub(held), &self.usage.caller);
        // Whoever waits now does not wait for this one too.
        *self.usage.overcommit.lock() = None;
    }

    /// Lets other calls have the memory of this one while it waits for its client.
    ///
    /// # Errors
    /// Calls that wait hold too much.
    pub fn suspend(&self) -> Result<SuspendedMemory<'_>, BudgetExceeded> {
        self.return_unused();
        let bytes = self.usage.reserved.load(Relaxed);
        let can_suspend = self.usage.capacity.try_suspend(bytes);
        can_suspend.then_some(SuspendedMemory { budget: self, bytes }).ok_or(BudgetExceeded::Busy)
    }

    /// Runs repeatable work: for a short stretch on the async thread, and if that is not enough, again from the start
    /// where it may block.
    ///
    /// # Errors
    /// Too many calls are blocking.
    pub fn run_repeatable<T>(&self, work: impl Fn() -> T) -> Result<T, BudgetExceeded> {
        if !self.is_on_thread(WorkThread::Idle) {
            return Ok(work());
        }
        let (done, mark) = (self.usage.work.load(Relaxed), self.memory_mark());
        if done < MAX_INLINE_WORK {
            let _guard = self.enter_thread(WorkThread::Inline, done.saturating_add(MAX_UNINTERRUPTED_WORK));
            let result = work();
            if !self.usage.needs_blocking_thread.swap(false, Relaxed) {
                return Ok(result);
            }
        }
        self.usage.work.store(done, Relaxed);
        self.release_to(mark, 0);
        self.run_blocking(work)
    }

    /// Runs work of a known size: small work on the async thread, other work where it may block.
    ///
    /// # Errors
    /// As those of [`Budget::run_repeatable`].
    pub fn run_sized<T>(&self, size: usize, work: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
        let inline = !self.is_on_thread(WorkThread::Idle) || (size as u64) < MAX_UNINTERRUPTED_WORK;
        if inline { Ok(work()) } else { self.run_blocking(work) }
    }

    /// Runs work that waits for a disk, where it may block.
    ///
    /// # Errors
    /// As those of [`Budget::run_repeatable`].
    pub fn run_io<T>(&self, work: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
        if self.is_on_thread(WorkThread::Blocking) { Ok(work()) } else { self.run_blocking(work) }
    }

    fn run_blocking<T>(&self, work: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
        let _permit = self.usage.capacity.acquire(&self.usage.caller)?;
        let _guard = self.enter_thread(WorkThread::Blocking, self.usage.work.load(Relaxed));
        Ok(run_in_place(work))
    }

    fn is_on_thread(&self, thread: WorkThread) -> bool {
        self.usage.thread.load(Relaxed) == thread as u8
    }

    /// Records the thread of the work from now on, and the work at the next check.
    fn enter_thread(&self, thread: WorkThread, next_check: u64) -> ThreadGuard<'_> {
        ThreadGuard {
            usage: &self.usage,
            outer_thread: self.usage.thread.swap(thread as u8, Relaxed),
            outer_check: self.usage.next_check.swap(next_check, Relaxed),
        }
    }

    #[cold]
    fn check_limits(&self, done: u64) -> Result<(), BudgetExceeded> {
        if self.is_on_thread(WorkThread::Inline) {
            self.usage.needs_blocking_thread.store(true, Relaxed);
            return Err(BudgetExceeded::NeedsBlockingThread);
        }
        if done > MAX_WORK {
            return Err(BudgetExceeded::Work);
        }
        if self.usage.cancel.is_cancelled() {
            return Err(BudgetExceeded::Cancelled);
        }
        if self.elapsed() > self.deadline {
            return Err(BudgetExceeded::Time { after: self.timeout });
        }
        self.usage.next_check.store(done + CHECK_INTERVAL, Relaxed);
        Ok(())
    }
}

/// The memory of a call that waits for its client.
pub struct SuspendedMemory<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Drop for SuspendedMemory<'_> {
    fn drop(&mut self) {
        self.budget.usage.capacity.resume(self.bytes);
    }
}

/// Restores the thread of the outer work when dropped.
struct ThreadGuard<'u> {
    usage: &'u BudgetUsage,
    outer_thread: u8,
    outer_check: u64,
}

impl Drop for ThreadGuard<'_> {
    fn drop(&mut self) {
        self.usage.thread.store(self.outer_thread, Relaxed);
        self.usage.next_check.store(self.outer_check, Relaxed);
    }
}

impl Drop for BudgetUsage {
    fn drop(&mut self) {
        self.capacity.release_memory(self.reserved.load(Relaxed), &self.caller);
    }
}
