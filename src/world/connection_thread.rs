//! The thread on which the connections of a client are read, and what ends those that flood it.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

/// How often a request that waits for its response looks at what the thread takes.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How much time of a core the thread may take while no response comes. Heads of requests and responses, and what HTTP/2
/// says beside them, take a thousandth of it.
const MAX_CPU_TIME: Duration = Duration::from_millis(500);

/// How long one read of a connection may keep the thread.
const MAX_READ_TIME: Duration = Duration::from_secs(2);

/// The thread on which the connections of a client are read. A server that floods one, as with interim responses without
/// an end, keeps this thread busy, and no other: reading gives way after a hundred reads only, which may be 50 MB. They
/// end with it.
///
/// The HTTP client does not report interim responses, nor how much it reads, so that a flood is known by the time of a
/// core that it takes.
pub(super) struct ConnectionThread {
    runtime: Option<Runtime>,
    /// How many bodies are under way.
    transfers: AtomicUsize,
    /// How many ever were.
    transfer_count: AtomicU64,
}

impl ConnectionThread {
    pub(super) fn start() -> ConnectionThread {
        let started = Builder::new_multi_thread().worker_threads(1).thread_name("folio-http").enable_all().build();
        let runtime = started.inspect_err(|error| tracing::warn!("cannot start a thread: {error}")).ok();
        ConnectionThread { runtime, transfers: AtomicUsize::new(0), transfer_count: AtomicU64::new(0) }
    }

    pub(super) fn is_running(&self) -> bool {
        self.runtime.is_some()
    }

    /// Has a connection that `request` opens read on this thread.
    pub(super) async fn run<T>(&self, request: impl Future<Output = T>) -> T {
        let mut request = pin!(request);
        poll_fn(|context| {
            let _entered = self.runtime.as_ref().map(Runtime::enter);
            request.as_mut().poll(context)
        })
        .await
    }

    /// Says that a body is under way, which may take as much time as it is long.
    pub(super) fn begin_transfer(&self) {
        self.transfers.fetch_add(1, Ordering::Relaxed);
        self.transfer_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Says that a body has ended.
    pub(super) fn end_transfer(&self) {
        self.transfers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends when the thread is busy, though it has no bodies to read or to write.
    pub(super) async fn wait_for_flood(&self) {
        let Some(runtime) = &self.runtime else { return pending().await };
        // What it had taken when it last had a body.
        let mut before = None;
        loop {
            sleep(CHECK_INTERVAL).await;
            let transfers = self.transfer_count.load(Ordering::Relaxed);
            let used = timeout(
                MAX_READ_TIME,
                runtime.spawn(async {
                    // The time of a core that the thread has taken.
                    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
                }),
            )
            .await;
            let is_transferring =
                self.transfers.load(Ordering::Relaxed) > 0 || self.transfer_count.load(Ordering::Relaxed) > transfers;
            match (used, before) {
                _ if is_transferring => before = None,
                (Err(_), _) => return,
                (Ok(Ok(used)), Some((start, transfers_then))) if transfers_then == transfers => {
                    if used.saturating_sub(start) >= MAX_CPU_TIME {
                        return;
                    }
                }
                (Ok(used), _) => before = used.ok().map(|used| (used, transfers)),
            }
        }
    }
}

impl Drop for ConnectionThread {
    fn drop(&mut self) {
        // An async thread must not wait for others.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
