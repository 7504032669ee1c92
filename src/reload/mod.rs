//! Keeps what is served current: watches, waits for quiet, loads, hands over; or keeps the last good.
//!
//! The system's word of changes only rings a bell. What changed is found by stamps of the files themselves, and a
//! load whose files moved underneath it is thrown away, so that nothing is ever published that nobody wrote.
//! What is not here: how a manifest is read (load/), what a catalog is (catalog/), who is told about a new one
//! (server/). This room is generic over a [`ReloadSource`].

mod watcher;
mod reloader;
mod watch_plan;
mod poller;
mod watch_task;
mod file_stamps;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::compile::LoadDependencies;
use watcher::OpenBackend;

/// What is loaded anew after each change. Both functions run on a blocking thread, never two at once; one that
/// panics is logged, and the watch goes on.
pub trait ReloadSource: Send + 'static {
    /// What a load yields: a new catalog, or the report why there is none.
    type Outcome: Send + 'static;

    /// Reads everything anew, touching nothing that is served. A load that fails names what it looked at all the
    /// same, and the files that were watched before where it did not get as far as them: that is how the mending
    /// is noticed.
    fn load(&mut self) -> LoadOutput<Self::Outcome>;

    /// Hands the outcome over: one pointer, or one report. Called only if no file changed while it was read, or if
    /// they would not stand still within `WatchOptions::at_most`.
    fn publish(&mut self, outcome: Self::Outcome, round: ReloadInfo);
}

/// What a load came to, and where to look from now on.
#[derive(Debug)]
pub struct LoadOutput<T> {
    /// What will be published.
    pub outcome: T,
    /// Everything that it was made of.
    pub watch: LoadDependencies,
}

/// How a load came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadInfo {
    /// Somebody asked for it, by [`WatchHandle::reload_now`] or SIGHUP: they await an answer even if nothing changed.
    pub requested: bool,
    /// How long the load took.
    pub elapsed: Duration,
}

/// The load that was done before there was a watch.
#[derive(Debug, Clone)]
pub struct InitialLoad {
    /// When it began to read. What changed since is loaded again at once, so that nothing written meanwhile is lost.
    pub started_at: SystemTime,
    /// What it looked at.
    pub watch: LoadDependencies,
}

/// How to watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Look at the files this often, rather than be told by the system.
    pub poll_interval: Option<Duration>,
    /// How long nothing may have moved before a load.
    pub quiet_period: Duration,
    /// How long a load may be put off while files keep moving.
    pub max_delay: Duration,
    /// Whether SIGHUP asks for a load. Where it does not, it ends the process as usual.
    pub reload_on_sighup: bool,
    /// How long others go first before the watch begins. Nothing is lost by it: what changed meanwhile since the
    /// [`InitialLoad`] load is loaded when it begins, and who asked meanwhile is answered then.
    pub start_delay: Duration,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        WatchOptions {
            poll_interval: None,
            quiet_period: Duration::from_millis(100),
            max_delay: Duration::from_secs(1),
            reload_on_sighup: true,
            start_delay: Duration::ZERO,
        }
    }
}

/// How often a watch has done what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReloadCounts {
    /// How often the files were compared with what is served, whatever came of it.
    pub checks: u64,
    /// How often a load was published.
    pub published: u64,
}

/// A watch under way. It goes on, even when this is dropped, until its token is cancelled.
#[derive(Debug)]
pub struct WatchHandle {
    reload_requests: Arc<Notify>,
    counts: watch::Receiver<ReloadCounts>,
    task: JoinHandle<()>,
}

impl WatchHandle {
    /// Asks for a load now, whether or not a file has changed. Several requests during one load are one.
    pub fn reload_now(&self) {
        self.reload_requests.notify_one();
    }

    /// Counts what has been done; it wakes those who wait for more.
    pub fn counts(&self) -> watch::Receiver<ReloadCounts> {
        self.counts.clone()
    }

    /// Waits until the watch has stopped, after its token was cancelled.
    pub async fn join(self) {
        // Failing means that the runtime is going down, and the task with it.
        let _ = self.task.await;
    }
}

/// Begins to watch what `first` looked at, and loads anew with `load` whenever it changes. To be called within a
/// tokio runtime; returns at once. Where the system cannot tell about changes, says so in one line and polls.
pub fn watch<L: ReloadSource>(
    load: L,
    first: InitialLoad,
    options: WatchOptions,
    shutdown: CancellationToken,
) -> WatchHandle {
    let open_backend: OpenBackend = Box::new(watcher::open_backend);
    watch_task::WatchTask::new(options, shutdown).spawn(load, first, open_backend)
}
