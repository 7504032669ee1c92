//! The task: waits for the bell and then for quiet, and has rounds done one after the other.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::bell::{Bell, Listen, Ring};
use super::keeper::{Keeper, Knock, Verdict};
use super::{First, Load, Options, Tally, Watching};

/// What a watch is given besides its load.
pub(super) struct Means {
    pub(super) options: Options,
    pub(super) shutdown: CancellationToken,
    pub(super) listen: Listen,
}

/// Spawns the task.
pub(super) fn start<L: Load>(load: L, first: First, means: Means) -> Watching {
    let Means { options, shutdown, listen } = means;
    let asked = Arc::new(Notify::new());
    let (sender, tally) = watch::channel(Tally::default());
    let hangups = hangups(options.hangup, Arc::clone(&asked));
    let run = Run { ring: Arc::default(), asked: Arc::clone(&asked), options, shutdown, tally: sender };
    let begin = {
        let (ring, options, shutdown) = (Arc::clone(&run.ring), run.options.clone(), run.shutdown.clone());
        move || Keeper::begin(load, first, Bell::new(ring, &options, listen), shutdown)
    };
    let task = task::spawn(async move {
        tokio::select! {
            () = run.keep(begin) => {}
            () = hangups => {}
        }
    });
    Watching { asked, tally, task }
}

struct Run {
    ring: Arc<Ring>,
    asked: Arc<Notify>,
    options: Options,
    shutdown: CancellationToken,
    tally: watch::Sender<Tally>,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    Rung,
    Asked,
    Shutdown,
}

impl Run {
    async fn keep<L: Load>(&self, begin: impl FnOnce() -> Keeper<L> + Send + 'static) {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return,
            () = sleep(self.options.delay) => {}
        }
        let Some(mut keeper) = self.blocking(begin).await else { return };
        loop {
            let wake = self.wake().await;
            keeper = match self.serve(wake, keeper).await {
                Some(keeper) => keeper,
                None => return,
            };
        }
    }

    async fn wake(&self) -> Wake {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => Wake::Shutdown,
            () = self.asked.notified() => Wake::Asked,
            () = self.ring.rung() => Wake::Rung,
        }
    }

    /// Does rounds until one is whole. Gives nothing back on shutdown.
    async fn serve<L: Load>(&self, mut wake: Wake, mut keeper: Keeper<L>) -> Option<Keeper<L>> {
        let deadline = Instant::now() + self.options.at_most;
        let mut asked = false;
        loop {
            if wake == Wake::Rung {
                wake = self.quiet(deadline).await;
            }
            if wake == Wake::Shutdown {
                return None;
            }
            asked |= wake == Wake::Asked;
            let knock = Knock { asked, last: Instant::now() >= deadline };
            let round = move || {
                let verdict = keeper.check(knock);
                (keeper, verdict)
            };
            let (back, verdict) = self.blocking(round).await?;
            keeper = back;
            self.count(verdict);
            if verdict != Verdict::Torn {
                return Some(keeper);
            }
            wake = Wake::Rung;
        }
    }

    /// Waits until the bell has been still, or the deadline has come, or somebody will not wait.
    async fn quiet(&self, deadline: Instant) -> Wake {
        loop {
            let now = Instant::now();
            let until = deadline.min(now + self.options.quiet);
            if until <= now {
                return Wake::Rung;
            }
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return Wake::Shutdown,
                () = self.asked.notified() => return Wake::Asked,
                () = self.ring.rung() => {}
                () = sleep_until(until) => return Wake::Rung,
            }
        }
    }

    fn count(&self, verdict: Verdict) {
        self.tally.send_modify(|tally| {
            tally.checks += 1;
            tally.loads += u64::from(verdict == Verdict::Published);
        });
    }

    /// Does `work` where it may block. A shutdown does not wait for it: it ends by itself, and is not heard.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let work = task::spawn_blocking(work);
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => None,
            done = work => done.ok(),
        }
    }
}

/// Asks at every SIGHUP. The handler stands when this returns; the future never ends.
#[cfg(unix)]
fn hangups(wanted: bool, asked: Arc<Notify>) -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = wanted
        .then(|| signal(SignalKind::hangup()))
        .and_then(|signals| signals.inspect_err(|error| tracing::warn!("SIGHUP will not reload: {error}")).ok());
    async move {
        if let Some(mut signals) = signals {
            while signals.recv().await.is_some() {
                asked.notify_one();
            }
        }
        std::future::pending().await
    }
}

#[cfg(not(unix))]
fn hangups(_wanted: bool, _asked: Arc<Notify>) -> impl Future<Output = ()> + Send {
    std::future::pending()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use std::time::Duration;

    use super::*;

    fn run() -> Run {
        Run {
            ring: Arc::default(),
            asked: Arc::default(),
            options: Options::default(),
            shutdown: CancellationToken::new(),
            tally: watch::channel(Tally::default()).0,
        }
    }

    async fn wait(run: &Run) -> (Wake, Duration) {
        let start = Instant::now();
        let wake = run.quiet(start + run.options.at_most).await;
        (wake, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_is_a_tenth_of_a_second_after_the_last_ring() {
        let run = run();
        let rings = async {
            for _ in 0..3 {
                run.ring.ring();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let ((wake, took), ()) = tokio::join!(wait(&run), rings);
        assert_eq!(wake, Wake::Rung);
        assert!((200..210).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_never_stops_ringing_is_waited_for_a_second() {
        let run = run();
        let rings = async {
            loop {
                run.ring.ring();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let (wake, took) = tokio::select! {
            waited = wait(&run) => waited,
            () = rings => unreachable!(),
        };
        assert_eq!(wake, Wake::Rung);
        assert!((1000..1020).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_asks_is_not_kept_waiting() {
        let run = run();
        run.asked.notify_one();
        assert_eq!(wait(&run).await, (Wake::Asked, Duration::ZERO));
    }
}
