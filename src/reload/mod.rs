//! Watches the files of a manifest and reloads it, keeping the last good version.
//!
//! An event of the file system only triggers a check. The check compares stamps of the files, and gives up a load whose
//! files change meanwhile, so that a mixture of two versions is never published. What is not here: how a manifest is
//! read (load/), what a catalog is (catalog/) and who is notified of a new one (server/). This room is generic over a
//! [`ReloadSource`].

mod watcher;
mod reloader;
mod watch_plan;
mod poller;
mod watch_task;
mod file_stamps;

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::compile::{LoadDependencies, OutdatedCheck};
use watcher::OpenBackend;

/// What is loaded again after each change. Both functions run on a blocking thread, never concurrently; a panic is
/// logged, and the watch continues.
pub trait ReloadSource: Send + 'static {
    /// The result of a load: a new catalog, or a report.
    type Outcome: Send + 'static;

    /// Reads everything again, without changing what is served. A load that fails returns its dependencies too, with those
    /// of the last load that it did not reach, so that a fix is noticed. `requested` is as in [`ReloadInfo`]. Once it is
    /// `outdated` it may end with any outcome.
    fn load(&mut self, requested: bool, outdated: &OutdatedCheck) -> LoadOutput<Self::Outcome>;

    /// Publishes the outcome. Called only if no file changed while it was read, or after `WatchOptions::max_delay`.
    fn publish(&mut self, outcome: Self::Outcome, info: ReloadInfo);
}

/// The result of a load, and what to watch.
#[derive(Debug)]
pub struct LoadOutput<T> {
    /// The result to publish.
    pub outcome: T,
    /// The files and folders that it depends on.
    pub watch: LoadDependencies,
}

/// Why and how a load happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadInfo {
    /// SIGHUP requested it, which is logged even if nothing changed.
    pub requested: bool,
    /// How long the load took.
    pub elapsed: Duration,
}

/// The load before the watch.
#[derive(Debug, Clone)]
pub struct InitialLoad {
    /// When it began to read. Files that changed since are loaded again at once.
    pub started_at: SystemTime,
    /// The files and folders that it depends on.
    pub watch: LoadDependencies,
}

/// How long no change may happen before a load, by default.
const DEFAULT_DEBOUNCE: Duration = Duration::from_millis(50);

/// How long a load may be delayed while files keep changing, by default.
const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(1);

/// The options of a watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Poll the files at this interval, instead of file notifications.
    pub poll_interval: Option<Duration>,
    /// How long no change may happen before a load.
    pub debounce: Duration,
    /// How long a load may be delayed while files keep changing.
    pub max_delay: Duration,
    /// Whether SIGHUP requests a load.
    pub reload_on_sighup: bool,
    /// How long to wait before the watch starts. Changes since the [`InitialLoad`] and requests meanwhile are handled when
    /// it starts.
    pub start_delay: Duration,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        WatchOptions {
            poll_interval: None,
            debounce: DEFAULT_DEBOUNCE,
            max_delay: DEFAULT_MAX_DELAY,
            reload_on_sighup: true,
            start_delay: Duration::ZERO,
        }
    }
}

/// Counters of a watch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReloadCounts {
    /// How often the files were checked for changes.
    pub checks: u64,
    /// How often a load was published.
    pub published: u64,
}

/// A running watch. It continues until its token is cancelled, even if this is dropped.
#[derive(Debug)]
pub struct WatchHandle {
    #[cfg(test)]
    reload_requests: std::sync::Arc<tokio::sync::Notify>,
    #[cfg(test)]
    counts: tokio::sync::watch::Receiver<ReloadCounts>,
    task: JoinHandle<()>,
}

impl WatchHandle {
    /// Requests a load now, as SIGHUP does.
    #[cfg(test)]
    fn reload_now(&self) {
        self.reload_requests.notify_one();
    }

    /// Returns the counters, and wakes on changes.
    #[cfg(test)]
    fn counts(&self) -> tokio::sync::watch::Receiver<ReloadCounts> {
        self.counts.clone()
    }

    /// Waits until the watch has stopped, after its token was cancelled.
    pub async fn join(self) {
        // It fails if the runtime shuts down, and the task with it.
        let _ = self.task.await;
    }
}

/// Watches the dependencies of `first`, and reloads when they change, with what `make_source` makes after the start delay, on
/// a thread that may block. To be called within a tokio runtime; returns at once. Without file notifications it logs a
/// warning and polls.
pub fn watch<L: ReloadSource>(
    make_source: impl FnOnce() -> L + Send + 'static,
    first: InitialLoad,
    options: WatchOptions,
    shutdown: CancellationToken,
) -> WatchHandle {
    let open_backend: OpenBackend = Box::new(watcher::open_backend);
    watch_task::WatchTask::new(options, shutdown).spawn(make_source, first, open_backend)
}
