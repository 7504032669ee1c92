//! The limits of one call: its time, and the bytes that it holds.
//!
//! Work whose input a caller can make long runs by [`Budget::run`] or a method like it, and its loops call [`tick`], which
//! ends them with the call. Outputs are counted where they come in and where they are written ([`Budget::hold`]). What is
//! not here: what is counted (template/, action/), and the timeouts of entries (catalog/).

mod caller;
mod capacity;
mod exceeded;
mod memory_size;
mod pool;
mod running;
#[cfg(test)]
mod tests;
mod token_bucket;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

pub use caller::{Caller, CallerKind, Share};
pub use capacity::{Capacity, block_if_large, block_if_large_with_secrets};
pub use exceeded::{BudgetExceeded, round_for_display};
pub use memory_size::{json_memory_size, memory_size, serialized_size};
use pool::Content;
pub use pool::{
    ADMISSION_TIMEOUT, Busy, DEFAULT_POOL_BYTES, MemoryPool, Reservation, SMALL_RESERVATION_BYTES, Suspension,
};
pub use running::{hold, release_after, run_long, tick};
pub use token_bucket::TokenBucket;

/// How many bytes of outputs one call may hold at once.
pub const MAX_MEMORY: u64 = 128 << 20;

/// How much a call may hold beyond what it has of the memory of all calls.
const MIN_GUARANTEED_MEMORY: u64 = 1 << 20;

/// The limits of one call. What it holds is released when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct Budget {
    holding: Arc<Holding>,
    /// The deadline since the start of the call, without waits for the client.
    deadline: Duration,
    /// The timeout of its entry.
    timeout: Duration,
}

/// What the clones of one budget hold.
#[derive(Debug)]
struct Holding {
    call: Arc<Call>,
    bytes: AtomicUsize,
}

/// What the budgets of one call share.
#[derive(Debug)]
struct Call {
    started: Instant,
    client_wait: ClientWait,
    cancel: CancellationToken,
    /// The size of the largest input of work so far.
    input_bytes: AtomicUsize,
    held: Mutex<HeldOutputs>,
    /// What is counted of them in the memory of all calls.
    outputs: Arc<Reservation>,
}

/// The outputs of a call.
#[derive(Debug, Default)]
struct HeldOutputs {
    bytes: u64,
    /// With it, the call may hold more although all calls together hold too much, so that one after the other ends.
    turn: Option<OwnedMutexGuard<()>>,
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

impl Default for Budget {
    /// The budget of work outside of calls, such as a load.
    fn default() -> Budget {
        Budget::new(CancellationToken::new(), &Arc::default())
    }
}

impl Budget {
    /// The budget of a new call, which `cancel` ends.
    pub fn new(cancel: CancellationToken, caller: &Arc<Caller>) -> Budget {
        let call = Call {
            started: Instant::now(),
            client_wait: ClientWait::default(),
            cancel,
            input_bytes: AtomicUsize::new(0),
            held: Mutex::default(),
            outputs: Arc::new(Reservation::new(caller.clone(), Content::Outputs)),
        };
        Budget { holding: Holding::new(Arc::new(call)), deadline: Duration::MAX, timeout: Duration::MAX }
    }

    /// The same budget with a timeout from now on.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Budget {
        let until = self.elapsed().saturating_add(timeout);
        let holding = self.holding.clone();
        if until < self.deadline { Budget { holding, deadline: until, timeout } } else { Budget { holding, ..*self } }
    }

    /// A budget of the same call for what ends before the call: what it holds is released when it is dropped.
    #[must_use]
    pub fn nested(&self) -> Budget {
        Budget { holding: Holding::new(self.call().clone()), ..*self }
    }

    fn call(&self) -> &Arc<Call> {
        &self.holding.call
    }

    /// Who makes the call.
    pub fn caller(&self) -> &Arc<Caller> {
        self.call().outputs.caller()
    }

    /// Ends the call when it is cancelled.
    pub fn cancel(&self) -> &CancellationToken {
        &self.call().cancel
    }

    /// The waits for the client.
    pub fn client_wait(&self) -> &ClientWait {
        &self.call().client_wait
    }

    /// The elapsed time, without waits for the client.
    fn elapsed(&self) -> Duration {
        self.call().started.elapsed().saturating_sub(self.client_wait().total())
    }

    /// The time that is left until the timeout.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.elapsed())
    }

    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether the call may go on.
    fn check(&self) -> Result<(), BudgetExceeded> {
        if self.call().cancel.is_cancelled() {
            return Err(BudgetExceeded::Cancelled);
        }
        if self.elapsed() > self.deadline {
            return Err(BudgetExceeded::Time { after: self.timeout });
        }
        Ok(())
    }

    /// Counts bytes before they are allocated.
    ///
    /// # Errors
    /// The call holds too much, or all calls together do. Nothing is counted then.
    pub fn hold(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.call().hold(bytes as u64)?;
        self.holding.bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Counts bytes as [`Budget::hold`] does. Where all calls together hold too much, it waits for room, or until this call
    /// is the first of those that wait.
    ///
    /// # Errors
    /// The call holds too much or is cancelled; [`BudgetExceeded::Busy`] if its time ends before there is room.
    pub async fn hold_when_free(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let Call { outputs, cancel, held, .. } = &**self.call();
        let pool = outputs.pool();
        let mut turn = pin!(pool.turn.clone().lock_owned());
        loop {
            let mut changed = pin!(pool.changed.notified());
            changed.as_mut().enable();
            match self.hold(bytes) {
                Err(BudgetExceeded::Busy) if self.elapsed() <= self.deadline => {}
                result => return result,
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(BudgetExceeded::Cancelled),
                turn = &mut turn, if outputs.fits_share(bytes as u64, None) => {
                    held.lock().turn = Some(turn);
                    // Other steps of this call may go on too.
                    pool.changed.notify_waiters();
                    return self.hold(bytes);
                }
                () = changed => {}
                () = tokio::time::sleep(self.time_left()) => {}
            }
        }
    }

    /// Releases bytes that it holds.
    pub fn release(&self, bytes: usize) {
        let left = |held: usize| Some(held.saturating_sub(bytes));
        let before = self.holding.bytes.fetch_update(Relaxed, Relaxed, left).unwrap_or_default();
        self.call().release(before.min(bytes) as u64);
    }

    /// Leaves to `outer` what is left at the end of work with a nested budget, which then holds nothing any longer.
    pub fn leave(&self, outer: &Budget, bytes: usize) {
        outer.holding.bytes.fetch_add(bytes, Relaxed);
        let mut held = self.call().held.lock();
        held.bytes = held.bytes.saturating_add(bytes as u64);
        // Whoever waits for memory now does not wait for this one too.
        held.turn = None;
        drop(held);
        self.release(usize::MAX);
    }

    /// Lets other calls have the memory of this one while it waits for its client.
    ///
    /// # Errors
    /// Calls that wait hold too much.
    pub fn suspend(&self) -> Result<Suspension, BudgetExceeded> {
        let mut held = self.call().held.lock();
        held.turn = None;
        self.call().outputs.try_suspend().map_err(|_| BudgetExceeded::Busy)
    }
}

impl Holding {
    fn new(call: Arc<Call>) -> Arc<Holding> {
        Arc::new(Holding { call, bytes: AtomicUsize::new(0) })
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.call.release(*self.bytes.get_mut() as u64);
    }
}

impl Call {
    fn hold(&self, bytes: u64) -> Result<(), BudgetExceeded> {
        let mut held = self.held.lock();
        let after = held.bytes.saturating_add(bytes);
        if after > MAX_MEMORY {
            return Err(BudgetExceeded::Memory);
        }
        let missing = after.saturating_sub(self.outputs.bytes());
        if missing > MIN_GUARANTEED_MEMORY {
            if held.turn.is_some() {
                self.outputs.grow(missing);
            } else if !self.outputs.try_grow(missing) {
                return Err(BudgetExceeded::Busy);
            }
        }
        held.bytes = after;
        Ok(())
    }

    fn release(&self, bytes: u64) {
        let mut held = self.held.lock();
        held.bytes = held.bytes.saturating_sub(bytes);
        self.outputs.shrink(self.outputs.bytes().saturating_sub(held.bytes));
    }
}
