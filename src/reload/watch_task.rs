//! The background task: waits for changes and for quiet, then reloads.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::reloader::{ReloadOutcome, Reloader, Trigger};
use super::watcher::{FolderWatcher, OpenBackend, Wakeup};
use super::{InitialLoad, ReloadCounts, ReloadSource, WatchHandle, WatchOptions};

/// Waits for changes and for quiet, and has the reloader check for them.
pub(super) struct WatchTask {
    wakeup: Arc<Wakeup>,
    reload_requests: Arc<Notify>,
    options: WatchOptions,
    shutdown: CancellationToken,
    counts: watch::Sender<ReloadCounts>,
}

/// The reason of a wakeup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeReason {
    Changed,
    Requested,
    Shutdown,
}

impl WatchTask {
    pub(super) fn new(options: WatchOptions, shutdown: CancellationToken) -> WatchTask {
        let counts = watch::Sender::new(ReloadCounts::default());
        WatchTask { wakeup: Arc::default(), reload_requests: Arc::default(), options, shutdown, counts }
    }

    /// Spawns the task, which continues from the load `first`.
    pub(super) fn spawn<L: ReloadSource>(
        self,
        make_source: impl FnOnce() -> L + Send + 'static,
        first: InitialLoad,
        open_backend: OpenBackend,
    ) -> WatchHandle {
        #[cfg(test)]
        let (reload_requests, counts) = (self.reload_requests.clone(), self.counts.subscribe());
        let sighups = forward_sighup(self.options.reload_on_sighup, Arc::clone(&self.reload_requests));
        let (wakeup, options, shutdown) = (Arc::clone(&self.wakeup), self.options.clone(), self.shutdown.clone());
        let start = move || {
            let watcher = FolderWatcher::new(wakeup, &options, open_backend);
            Reloader::start(make_source(), first, watcher, shutdown)
        };
        let task = task::spawn(async move {
            tokio::select! {
                () = self.run(start) => {}
                () = sighups => {}
            }
        });
        WatchHandle {
            #[cfg(test)]
            reload_requests,
            #[cfg(test)]
            counts,
            task,
        }
    }

    async fn run<L: ReloadSource>(&self, start: impl FnOnce() -> Reloader<L> + Send + 'static) {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return,
            () = sleep(self.options.start_delay) => {}
        }
        let Some(mut reloader) = self.spawn_blocking(start).await else { return };
        loop {
            let wake = self.next_wake().await;
            reloader = match self.reload_until_stable(wake, reloader).await {
                Some(reloader) => reloader,
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

    /// Checks until no file changes during a load. `None` on shutdown.
    async fn reload_until_stable<L: ReloadSource>(
        &self,
        mut wake: WakeReason,
        mut reloader: Reloader<L>,
    ) -> Option<Reloader<L>> {
        let deadline = Instant::now() + self.options.max_delay;
        let mut requested = false;
        loop {
            if wake == WakeReason::Changed {
                wake = self.wait_for_debounce(deadline).await;
            }
            if wake == WakeReason::Shutdown {
                return None;
            }
            requested |= wake == WakeReason::Requested;
            let trigger = Trigger { requested, deadline_reached: Instant::now() >= deadline };
            let check = move || {
                let outcome = reloader.check(trigger);
                (reloader, outcome)
            };
            let (back, outcome) = self.spawn_blocking(check).await?;
            reloader = back;
            self.record_outcome(outcome);
            if outcome != ReloadOutcome::Raced {
                return Some(reloader);
            }
            wake = WakeReason::Changed;
        }
    }

    /// Waits for a quiet period, the deadline, a request or the shutdown.
    async fn wait_for_debounce(&self, deadline: Instant) -> WakeReason {
        loop {
            let now = Instant::now();
            let until = deadline.min(now + self.options.debounce);
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

    fn record_outcome(&self, outcome: ReloadOutcome) {
        self.counts.send_modify(|counts| {
            counts.checks += 1;
            counts.published += u64::from(outcome == ReloadOutcome::Published);
        });
    }

    /// Runs blocking work. A shutdown does not wait for it, and discards its result.
    async fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let work = task::spawn_blocking(work);
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => None,
            done = work => done.ok(),
        }
    }
}

/// Requests a reload at every SIGHUP. The handler is installed when this returns; the future never ends.
fn forward_sighup(enabled: bool, requests: Arc<Notify>) -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = enabled
        .then(|| signal(SignalKind::hangup()))
        .and_then(|signals| signals.inspect_err(|error| tracing::warn!("cannot listen for SIGHUP: {error}")).ok());
    async move {
        if let Some(mut signals) = signals {
            while signals.recv().await.is_some() {
                requests.notify_one();
            }
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn wait(task: &WatchTask) -> (WakeReason, Duration) {
        let start = Instant::now();
        let wake = task.wait_for_debounce(start + task.options.max_delay).await;
        (wake, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_period_starts_at_the_last_change() {
        let task = WatchTask::new(WatchOptions::default(), CancellationToken::new());
        let debounce = task.options.debounce;
        let wakes = async {
            for _ in 0..3 {
                task.wakeup.wake();
                tokio::time::sleep(debounce / 2).await;
            }
        };
        let ((wake, took), ()) = tokio::join!(wait(&task), wakes);
        assert_eq!(wake, WakeReason::Changed);
        let expected = debounce * 2;
        assert!((expected..expected + Duration::from_millis(10)).contains(&took), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn constant_changes_reload_after_max_delay() {
        let task = WatchTask::new(WatchOptions::default(), CancellationToken::new());
        let wakes = async {
            loop {
                task.wakeup.wake();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let (wake, took) = tokio::select! {
            waited = wait(&task) => waited,
            () = wakes => unreachable!(),
        };
        assert_eq!(wake, WakeReason::Changed);
        assert!((1000..1020).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn requested_reload_does_not_wait_for_quiet() {
        let task = WatchTask::new(WatchOptions::default(), CancellationToken::new());
        task.reload_requests.notify_one();
        assert_eq!(wait(&task).await, (WakeReason::Requested, Duration::ZERO));
    }
}
