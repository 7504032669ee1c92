//! The work that runs on a thread, and the call that it is of.
//!
//! Handlebars, JSON Schema and other libraries pass nothing to what they call, so that the running call is in a variable of
//! the thread.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;

use super::capacity::run_in_place;
use super::{Budget, BudgetExceeded};

/// From how many bytes of input on work may block: a loop in a loop over fewer does not take long.
const LARGE_INPUT_BYTES: usize = 1 << 10;
/// The same for what the call holds, as estimated, which any outcome with some fields exceeds.
const LARGE_HELD_BYTES: u64 = 8 << 10;
/// How many ticks there are between two looks at the clock.
const TICKS_PER_CHECK: u32 = 16;

thread_local! {
    /// The budget of the running work.
    static RUNNING: RefCell<Option<Budget>> = const { RefCell::new(None) };
    /// Whether it may block.
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
}

/// One round of a loop that may take long.
///
/// # Errors
/// The running call is cancelled, or its time is over.
pub fn tick() -> Result<(), BudgetExceeded> {
    let ticks = TICKS.get();
    TICKS.set((ticks + 1) % TICKS_PER_CHECK);
    if ticks > 0 {
        return Ok(());
    }
    RUNNING.with_borrow(|running| running.as_ref().map_or(Ok(()), Budget::check))
}

/// Counts bytes that the running work makes before it has its output, such as a list that a loop reads.
///
/// # Errors
/// As those of [`Budget::hold`].
pub fn hold(bytes: usize) -> Result<(), BudgetExceeded> {
    RUNNING.with_borrow(|running| running.as_ref().map_or(Ok(()), |budget| budget.hold(bytes)))
}

/// Runs a part of the running work. What is counted by [`hold`] is released when it ends.
pub fn release_after<T>(part: impl FnOnce() -> T) -> T {
    let nested = RUNNING.with_borrow(|running| running.as_ref().map(Budget::nested));
    let _outer = OuterWork { budget: RUNNING.replace(nested), may_block: MAY_BLOCK.get() };
    part()
}

/// Runs a part of the running work that may take long whatever its input is.
///
/// # Errors
/// Too many calls are blocking.
pub fn run_long<T>(part: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
    match RUNNING.with_borrow(Option::clone) {
        Some(running) => running.run_io(part),
        None => Ok(part()),
    }
}

impl Budget {
    /// Runs work on what the call was given and holds: on this thread where that is small, else where it may block.
    ///
    /// # Errors
    /// Too many calls are blocking.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
        self.run_sized(0, work)
    }

    /// The same for an input of so many bytes, which also later work of the call reads.
    ///
    /// # Errors
    /// Too many calls are blocking.
    pub fn run_sized<T>(&self, size: usize, work: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
        let call = self.call();
        let input_bytes = call.input_bytes.fetch_max(size, Relaxed).max(size);
        let is_large = input_bytes >= LARGE_INPUT_BYTES || call.held.lock().bytes >= LARGE_HELD_BYTES;
        if is_large { self.run_io(work) } else { Ok(self.run_here(MAY_BLOCK.get(), work)) }
    }

    /// Runs work that waits for a disk, where it may block.
    ///
    /// # Errors
    /// Too many calls are blocking.
    pub fn run_io<T>(&self, work: impl FnOnce() -> T) -> Result<T, BudgetExceeded> {
        if MAY_BLOCK.get() {
            return Ok(self.run_here(true, work));
        }
        let _permit = self.caller().acquire_blocking()?;
        Ok(run_in_place(|| self.run_here(true, work)))
    }

    fn run_here<T>(&self, may_block: bool, work: impl FnOnce() -> T) -> T {
        TICKS.set(0);
        let _outer = OuterWork { budget: RUNNING.replace(Some(self.clone())), may_block: MAY_BLOCK.replace(may_block) };
        work()
    }
}

/// The work around the running work, which goes on when this is dropped.
struct OuterWork {
    budget: Option<Budget>,
    may_block: bool,
}

impl Drop for OuterWork {
    fn drop(&mut self) {
        RUNNING.set(self.budget.take());
        MAY_BLOCK.set(self.may_block);
    }
}
