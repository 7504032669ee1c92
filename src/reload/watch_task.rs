//! The task: waits for the bell and then for quiet, and has rounds done one after the other.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::reloader::{ReloadOutcome, Reloader, Trigger};
use super::watcher::{FolderWatcher, OpenBackend, Wakeup};
use super::{InitialLoad, ReloadCounts, ReloadSource, WatchHandle, WatchOptions};

/// What a watch is given besides its load.
pub(super) struct WatchTaskParts {
    pub(super) options: WatchOptions,
    pub(super) shutdown: CancellationToken,
    pub(super) open_backend: OpenBackend,
}

/// Spawns the task.
pub(super) fn spawn_watch_task<L: ReloadSource>(load: L, first: InitialLoad, means: WatchTaskParts) -> WatchHandle {
    let WatchTaskParts { options, shutdown, open_backend } = means;
    let asked = Arc::new(Notify::new());
    let (sender, tally) = watch::channel(ReloadCounts::default());
    let hangups = forward_sighup(options.reload_on_sighup, Arc::clone(&asked));
    let run =
        WatchTask { wakeup: Arc::default(), reload_requests: Arc::clone(&asked), options, shutdown, counts: sender };
    let begin = {
        let (ring, options, shutdown) = (Arc::clone(&run.wakeup), run.options.clone(), run.shutdown.clone());
        move || Reloader::start(load, first, FolderWatcher::new(ring, &options, open_backend), shutdown)
    };
    let task = task::spawn(async move {
        tokio::select! {
            () = run.run(begin) => {}
            () = hangups => {}
        }
    });
    WatchHandle { reload_requests: asked, counts: tally, task }
}

struct WatchTask {
    wakeup: Arc<Wakeup>,
    reload_requests: Arc<Notify>,
    options: WatchOptions,
    shutdown: CancellationToken,
    counts: watch::Sender<ReloadCounts>,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeReason {
    Changed,
    Requested,
    Shutdown,
}

impl WatchTask {
    async fn run<L: ReloadSource>(&self, begin: impl FnOnce() -> Reloader<L> + Send + 'static) {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return,
            () = sleep(self.options.start_delay) => {}
        }
        let Some(mut keeper) = self.spawn_blocking(begin).await else { return };
        loop {
            let wake = self.next_wake().await;
            keeper = match self.reload_until_stable(wake, keeper).await {
                Some(keeper) => keeper,
                None => return,
            };
        }
    }

    async fn next_wake(&self) -> WakeReason {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => WakeReason::Shutdown,
            () = self.reload_requests.notified() => WakeReason::Requested,
            () = self.wakeup.notified() => WakeReason::Changed,
        }
    }

    /// Does rounds until one is whole. Gives nothing back on shutdown.
    async fn reload_until_stable<L: ReloadSource>(
        &self,
        mut wake: WakeReason,
        mut keeper: Reloader<L>,
    ) -> Option<Reloader<L>> {
        let deadline = Instant::now() + self.options.max_delay;
        let mut asked = false;
        loop {
            if wake == WakeReason::Changed {
                wake = self.wait_for_quiet(deadline).await;
            }
            if wake == WakeReason::Shutdown {
                return None;
            }
            asked |= wake == WakeReason::Requested;
            let knock = Trigger { requested: asked, deadline_reached: Instant::now() >= deadline };
            let round = move || {
                let verdict = keeper.check(knock);
                (keeper, verdict)
            };
            let (back, verdict) = self.spawn_blocking(round).await?;
            keeper = back;
            self.record_outcome(verdict);
            if verdict != ReloadOutcome::Raced {
                return Some(keeper);
            }
            wake = WakeReason::Changed;
        }
    }

    /// Waits until the bell has been still, or the deadline has come, or somebody will not wait.
    async fn wait_for_quiet(&self, deadline: Instant) -> WakeReason {
        loop {
            let now = Instant::now();
            let until = deadline.min(now + self.options.quiet_period);
            if until <= now {
                return WakeReason::Changed;
            }
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return WakeReason::Shutdown,
                () = self.reload_requests.notified() => return WakeReason::Requested,
                () = self.wakeup.notified() => {}
                () = sleep_until(until) => return WakeReason::Changed,
            }
        }
    }

    fn record_outcome(&self, verdict: ReloadOutcome) {
        self.counts.send_modify(|tally| {
            tally.checks += 1;
            tally.published += u64::from(verdict == ReloadOutcome::Published);
        });
    }

    /// Does `work` where it may block. A shutdown does not wait for it: it ends by itself, and is not heard.
    async fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let work = task::spawn_blocking(work);
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => None,
            done = work => done.ok(),
        }
    }
}

/// Asks at every SIGHUP. The handler stands when this returns; the future never ends.
fn forward_sighup(wanted: bool, asked: Arc<Notify>) -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = wanted
        .then(|| signal(SignalKind::hangup()))
        .and_then(|signals| signals.inspect_err(|error| tracing::warn!("cannot listen for SIGHUP: {error}")).ok());
    async move {
        if let Some(mut signals) = signals {
            while signals.recv().await.is_some() {
                asked.notify_one();
            }
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use std::time::Duration;

    use super::*;

    fn run() -> WatchTask {
        WatchTask {
            wakeup: Arc::default(),
            reload_requests: Arc::default(),
            options: WatchOptions::default(),
            shutdown: CancellationToken::new(),
            counts: watch::channel(ReloadCounts::default()).0,
        }
    }

    async fn wait(run: &WatchTask) -> (WakeReason, Duration) {
        let start = Instant::now();
        let wake = run.wait_for_quiet(start + run.options.max_delay).await;
        (wake, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_period_starts_at_the_last_change() {
        let run = run();
        let rings = async {
            for _ in 0..3 {
                run.wakeup.wake();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let ((wake, took), ()) = tokio::join!(wait(&run), rings);
        assert_eq!(wake, WakeReason::Changed);
        assert!((200..210).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn constant_changes_reload_after_max_delay() {
        let run = run();
        let rings = async {
            loop {
                run.wakeup.wake();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let (wake, took) = tokio::select! {
            waited = wait(&run) => waited,
            () = rings => unreachable!(),
        };
        assert_eq!(wake, WakeReason::Changed);
        assert!((1000..1020).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn requested_reload_does_not_wait_for_quiet() {
        let run = run();
        run.reload_requests.notify_one();
        assert_eq!(wait(&run).await, (WakeReason::Requested, Duration::ZERO));
    }
}
