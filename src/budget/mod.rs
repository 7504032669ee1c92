//! What one call may use: time, work and memory; and how long it may keep the thread that serves others too.
//!
//! Whatever reads or makes what a caller or a pack can make long charges the [`Budget`] of its call. A short while is
//! worked right where the call is served. What takes longer begins again in [`Budget::run`] while the other tasks of
//! that thread go on elsewhere: work that is done there must be such that it can be done twice.
//! What is not here: what the units are charged for (template/, action/), and how long an entry may take (catalog/).

mod capacity;
mod exhausted;
mod weight;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

pub use capacity::{Capacity, block_if_large};
pub use exhausted::Exhausted;
pub use weight::weight;

use capacity::elsewhere;

/// How much one call may do, in units of about a byte that is read or written.
pub const MAX_WORK: u64 = 1 << 29;
/// How many bytes of values one call may hold at once, beside what it was sent.
pub const MAX_MEMORY: u64 = 128 << 20;

/// How much work a call may do at a stretch on the thread that serves others too.
const HERE: u64 = 64 << 10;
/// How much of all its work it may do there.
const HERE_IN_ALL: u64 = 1 << 20;
/// What a call may hold though all calls together hold too much.
const SMALL: u64 = 1 << 20;
/// How much is done between two looks at the clock.
const LOOK: u64 = 64 << 10;

/// What one call may use. Clones are of the same call, and charge the same.
#[derive(Debug, Clone)]
pub struct Budget {
    used: Arc<Used>,
    /// Until when, counted from the beginning of the call and without what its client was waited for.
    until: Duration,
    /// How long its entry may take.
    timeout: Duration,
}

#[derive(Debug)]
struct Used {
    began: Instant,
    waited: Waited,
    cancel: CancellationToken,
    work: AtomicU64,
    /// The work at which there is something to look at: the clock, or a limit.
    look: AtomicU64,
    memory: AtomicU64,
    place: AtomicU8,
    /// Whether the work that is under way is too long for where it is done.
    too_long: AtomicBool,
    capacity: Arc<Capacity>,
}

/// Where the work of a call is done.
const NOWHERE: u8 = 0;
const HERE_AND_NOW: u8 = 1;
const ELSEWHERE: u8 = 2;

/// How long a call has waited for its client, which does not count against its time.
#[derive(Debug, Default)]
pub struct Waited(AtomicU64);

impl Waited {
    /// Adds a wait.
    pub fn add(&self, wait: Duration) {
        self.0.fetch_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// All waits until now.
    pub fn so_far(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }
}

/// How much memory a call held at some moment.
#[derive(Debug, Clone, Copy)]
pub struct Level(u64);

impl Default for Budget {
    /// The budget of work that is nobody's call, such as that of a load.
    fn default() -> Budget {
        Budget::new(CancellationToken::new(), Arc::default())
    }
}

impl Budget {
    /// The budget of a call that has just begun, and that `cancel` ends.
    pub fn new(cancel: CancellationToken, capacity: Arc<Capacity>) -> Budget {
        let used = Used {
            began: Instant::now(),
            waited: Waited::default(),
            cancel,
            work: AtomicU64::new(0),
            look: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            place: AtomicU8::new(NOWHERE),
            too_long: AtomicBool::new(false),
            capacity,
        };
        Budget { used: Arc::new(used), until: Duration::MAX, timeout: Duration::MAX }
    }

    /// The same budget for an entry that may take so long from now on.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Budget {
        let until = self.elapsed().saturating_add(timeout);
        let used = self.used.clone();
        if until < self.until { Budget { used, until, timeout } } else { Budget { used, ..*self } }
    }

    /// How long the client has been waited for.
    pub fn waited(&self) -> &Waited {
        &self.used.waited
    }

    /// How long the call has taken, without what its client was waited for.
    fn elapsed(&self) -> Duration {
        self.used.began.elapsed().saturating_sub(self.used.waited.so_far())
    }

    /// Charges work.
    ///
    /// # Errors
    /// The call may do no more, or is to do it elsewhere, which [`Budget::run`] sees to.
    pub fn work(&self, units: usize) -> Result<(), Exhausted> {
        let units = units as u64;
        let done = self.used.work.fetch_add(units, Relaxed).saturating_add(units);
        if done < self.used.look.load(Relaxed) { Ok(()) } else { self.look(done) }
    }

    /// Charges memory for what is about to be made, and the work of making it.
    ///
    /// # Errors
    /// As those of [`Budget::work`].
    pub fn hold(&self, bytes: usize) -> Result<(), Exhausted> {
        self.work(bytes)?;
        let held = self.used.memory.fetch_add(bytes as u64, Relaxed).saturating_add(bytes as u64);
        self.used.capacity.hold(bytes as u64);
        if held > MAX_MEMORY {
            return Err(Exhausted::Memory);
        }
        if bytes as u64 >= LOOK && self.used.capacity.is_full() { Err(Exhausted::Busy) } else { Ok(()) }
    }

    /// What is held now.
    pub fn level(&self) -> Level {
        Level(self.used.memory.load(Relaxed))
    }

    /// Gives back what was held since `level`, but for so many bytes.
    pub fn release(&self, level: Level, kept: usize) {
        let after = level.0.saturating_add(kept as u64);
        let before = self.used.memory.swap(after, Relaxed);
        self.used.capacity.change(before, after);
    }

    /// Does work that may be done twice: a little of it right here, and where that is not enough all of it from the
    /// beginning, while the other tasks of the thread go on elsewhere.
    ///
    /// # Errors
    /// Too many calls work elsewhere already.
    pub fn run<T>(&self, work: impl Fn() -> T) -> Result<T, Exhausted> {
        if self.used.place.load(Relaxed) != NOWHERE {
            return Ok(work());
        }
        let (done, level) = (self.used.work.load(Relaxed), self.level());
        if done < HERE_IN_ALL {
            let _place = self.enter(HERE_AND_NOW, done.saturating_add(HERE));
            let result = work();
            if !self.used.too_long.swap(false, Relaxed) {
                return Ok(result);
            }
        }
        self.used.work.store(done, Relaxed);
        self.release(level, 0);
        self.go_elsewhere(work)
    }

    /// Does work whose size is known: a little of it right here, more of it while the other tasks of the thread go on
    /// elsewhere.
    ///
    /// # Errors
    /// As those of [`Budget::run`].
    pub fn run_sized<T>(&self, size: usize, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let here = self.used.place.load(Relaxed) != NOWHERE || (size as u64) < HERE;
        if here { Ok(work()) } else { self.go_elsewhere(work) }
    }

    /// Does work that waits for a disk, while the other tasks of the thread go on elsewhere.
    ///
    /// # Errors
    /// As those of [`Budget::run`].
    pub fn wait<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        if self.used.place.load(Relaxed) == ELSEWHERE { Ok(work()) } else { self.go_elsewhere(work) }
    }

    fn go_elsewhere<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let _turn = self.used.capacity.enter()?;
        let _place = self.enter(ELSEWHERE, self.used.work.load(Relaxed));
        Ok(elsewhere(work))
    }

    /// Notes where work is done from now on, and when to look again.
    fn enter(&self, place: u8, look: u64) -> Place<'_> {
        let outer = self.used.place.swap(place, Relaxed);
        let outer_look = self.used.look.swap(look, Relaxed);
        Place { used: &self.used, outer, outer_look }
    }

    #[cold]
    fn look(&self, done: u64) -> Result<(), Exhausted> {
        if self.used.place.load(Relaxed) == HERE_AND_NOW {
            self.used.too_long.store(true, Relaxed);
            return Err(Exhausted::Here);
        }
        if done > MAX_WORK {
            return Err(Exhausted::Work);
        }
        if self.used.capacity.is_full() && self.used.memory.load(Relaxed) > SMALL {
            return Err(Exhausted::Busy);
        }
        if self.used.cancel.is_cancelled() {
            return Err(Exhausted::Cancelled);
        }
        if self.elapsed() > self.until {
            return Err(Exhausted::Time { after: self.timeout });
        }
        self.used.look.store(done + LOOK, Relaxed);
        Ok(())
    }
}

/// The place where work is done, until it is left, however that comes about.
struct Place<'u> {
    used: &'u Used,
    outer: u8,
    outer_look: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.used.place.store(self.outer, Relaxed);
        self.used.look.store(self.outer_look, Relaxed);
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.capacity.change(self.memory.load(Relaxed), 0);
    }
}
