//! `rateLimit` and `concurrency`: how often a tool may be called, and how many calls may run at once.
//!
//! A call over a limit is refused, with when to retry, unless there is a queue. Limits per client are in server/.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::action::{ActionError, CallContext, McpClient, ProgressUpdate};
use crate::budget::round_for_display;
use crate::catalog::result::refusal::{CallError, Refusal, RefusalKind};
use crate::catalog::tool::concurrency_queue::{ConcurrencyQueue, QueuePosition};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::digest::Digest;
use crate::manifest::{self, Concurrency, ConcurrencyKeys, RateLimitBy};
use crate::store::CallRate;
use crate::value_types;
use crate::world::WorldError;
use crate::yaml::{Location, Spanned};

/// How many calls are remembered at most: each takes 16 bytes, in Redis as well.
const MAX_RATE_CALLS: u32 = 100_000;

/// How many calls may wait at most: each holds its arguments.
const MAX_QUEUE: u32 = 1000;

/// The limits of one tool.
#[derive(Default)]
pub(in crate::catalog) struct CallLimit {
    rate: Option<Rate>,
    max_concurrent: Option<u32>,
    /// How many calls may wait.
    queue: usize,
    /// The calls that run and wait. Shared with the same tool of later catalogs.
    usage: OnceLock<Arc<Mutex<ConcurrencyQueue>>>,
}

struct Rate {
    rate: CallRate,
    /// Whether the calls of each caller are counted by themselves.
    by_caller: bool,
}

/// An admitted call.
enum Admission {
    /// It runs.
    Running(ConcurrencyPermit),
    /// It waits for its turn.
    Waiting(QueuedCall),
}

/// A call that runs, until this is dropped.
pub(in crate::catalog) struct ConcurrencyPermit {
    usage: Arc<Mutex<ConcurrencyQueue>>,
}

/// A call that waits. It leaves the queue when this is dropped.
struct QueuedCall {
    usage: Arc<Mutex<ConcurrencyQueue>>,
    position: QueuePosition,
    has_run: bool,
}

impl CallLimit {
    /// Checks the limits of a tool. `None` where it has none.
    pub(in crate::catalog) fn build(tool: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Option<CallLimit> {
        let rate = tool.rate_limit.as_ref().and_then(|limit| compile_rate(limit, compiler));
        let (max_concurrent, queue) = compile_concurrency(tool.concurrency.as_ref(), compiler);
        let limit = CallLimit { rate, max_concurrent, queue, usage: OnceLock::new() };
        (limit.rate.is_some() || max_concurrent.is_some()).then_some(limit)
    }

    /// Whether calls may wait, and tell their clients so.
    pub(in crate::catalog) fn has_queue(&self) -> bool {
        self.queue > 0
    }

    /// Goes on counting where an earlier catalog's limit of the same tool is.
    pub(in crate::catalog) fn inherit_usage(&self, earlier: &CallLimit) {
        // A catalog that is served already keeps its own count.
        if self.usage.set(earlier.usage().clone()).is_ok() {
            lock(self.usage()).set_limit(self.max_concurrent);
        }
    }

    /// Admits a call to the tool `name`, or when it is its turn in the queue, which takes of its time.
    ///
    /// # Errors
    /// A limit is reached, or the time of the call ends in the queue.
    pub(in crate::catalog) async fn admit(
        &self,
        name: &str,
        call: &mut CallContext,
    ) -> Result<ConcurrencyPermit, CallError> {
        let admission = match &self.rate {
            // A resumed call was admitted before.
            Some(rate) if call.checkpoint.is_none() => {
                self.check_room(name).map_err(|message| Refusal::new(RefusalKind::LimitReached, message))?;
                rate.count(name, call).await?;
                self.acquire(name, true)
            }
            _ => self.acquire(name, call.checkpoint.is_none()),
        };
        let queued = match admission.map_err(|message| Refusal::new(RefusalKind::LimitReached, message))? {
            Admission::Running(permit) => return Ok(permit),
            Admission::Waiting(queued) => queued,
        };
        let began = Instant::now();
        let admitted = tokio::select! {
            biased;
            () = call.cancel().cancelled() => Err(ActionError::from(WorldError::Cancelled).into()),
            permit = queued.wait(name, call.client()) => Ok(permit),
            () = tokio::time::sleep(call.time_left) => {
                let waited = round_for_display(call.time_left);
                let message = format!("waited {waited:?} in the queue of `{name}`; try again later");
                Err(Refusal::new(RefusalKind::LimitReached, message).into())
            }
        };
        call.time_left = call.time_left.saturating_sub(began.elapsed());
        admitted
    }

    /// Refuses a call that could neither run nor wait: it does not count.
    fn check_room(&self, name: &str) -> Result<(), String> {
        let mut current = lock(self.usage());
        current.set_limit(self.max_concurrent);
        if current.is_full() && current.waiting() >= self.queue { Err(self.refusal(name)) } else { Ok(()) }
    }

    /// Has a call run or wait, or returns a message that says when to retry. A resumed call runs.
    fn acquire(&self, name: &str, is_new: bool) -> Result<Admission, String> {
        let usage = self.usage();
        let mut current = lock(usage);
        current.set_limit(self.max_concurrent);
        if !is_new || !current.is_full() {
            current.start();
            return Ok(Admission::Running(ConcurrencyPermit { usage: usage.clone() }));
        }
        if current.waiting() >= self.queue {
            return Err(self.refusal(name));
        }
        let position = current.wait();
        Ok(Admission::Waiting(QueuedCall { usage: usage.clone(), position, has_run: false }))
    }

    fn refusal(&self, name: &str) -> String {
        let max = self.max_concurrent.unwrap_or_default();
        let running = if max == 1 { "1 call".to_owned() } else { format!("{max} calls") };
        let waiting = if self.queue > 0 { format!(", and {} waiting", self.queue) } else { String::new() };
        format!("concurrency limit of `{name}` reached ({running}{waiting}); try again when one has ended")
    }

    fn usage(&self) -> &Arc<Mutex<ConcurrencyQueue>> {
        self.usage.get_or_init(Arc::default)
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        lock(&self.usage).end();
    }
}

impl QueuedCall {
    /// Waits for its turn, and tells the client its position.
    async fn wait(mut self, name: &str, client: &dyn McpClient) -> ConcurrencyPermit {
        while let Some(position) = self.position.position() {
            let message = Some(format!("waiting for `{name}`: position {position} in its queue"));
            client.progress(ProgressUpdate { progress: None, total: None, message }).await;
            self.position.position_changed().await;
        }
        self.has_run = true;
        ConcurrencyPermit { usage: self.usage.clone() }
    }
}

impl Drop for QueuedCall {
    fn drop(&mut self) {
        if !self.has_run {
            lock(&self.usage).leave(&self.position);
        }
    }
}

impl Rate {
    /// Counts a call among those of the last while, by whoever it is counted by.
    async fn count(&self, name: &str, call: &CallContext) -> Result<(), Refusal> {
        let mut key = Digest::new("calls of a tool").chain_update(name.as_bytes());
        if let Some(caller) = call.access.identity().filter(|_| self.by_caller) {
            key = key.chain_update(caller.issuer.as_bytes()).chain_update(caller.id.as_bytes());
        }
        let counted = call.store.count_call(&format!("calls:{:032x}", key.finish_u128()), self.rate).await;
        counted.map_err(|wait| {
            let (rate, wait) = (self.describe(), format_wait(wait));
            let message = format!("rate limit of `{name}` exceeded ({rate}); try again in {wait}");
            Refusal::new(RefusalKind::LimitReached, message)
        })
    }

    fn describe(&self) -> String {
        let whose = if self.by_caller { " for each caller" } else { "" };
        format!("{}{whose}", self.describe_frequency())
    }

    fn describe_frequency(&self) -> String {
        let CallRate { calls, per } = self.rate;
        let times = if calls == 1 { "once".to_owned() } else { format!("{calls} times") };
        match per.as_millis() {
            1000 => format!("{times} a second"),
            60_000 => format!("{times} a minute"),
            3_600_000 => format!("{times} an hour"),
            86_400_000 => format!("{times} a day"),
            _ => format!("{times} in {}", format_wait(per)),
        }
    }
}

/// A time to wait, in words, rounded up.
pub fn format_wait(wait: Duration) -> String {
    let milliseconds = wait.as_millis() + u128::from(!wait.subsec_nanos().is_multiple_of(1_000_000));
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..120_000 => format!("{} s", milliseconds.div_ceil(1000)),
        120_000..7_200_000 => format!("{} min", milliseconds.div_ceil(60_000)),
        _ => format!("{} h", milliseconds.div_ceil(3_600_000)),
    }
}

fn lock(usage: &Mutex<ConcurrencyQueue>) -> MutexGuard<'_, ConcurrencyQueue> {
    usage.lock()
}

/// How many calls may run at once, and how many may wait.
fn compile_concurrency(
    concurrency: Option<&Spanned<manifest::Concurrency>>,
    compiler: &mut Compiler<'_>,
) -> (Option<u32>, usize) {
    let Some(concurrency) = concurrency else { return (None, 0) };
    let (calls, queue) = match &concurrency.value {
        Concurrency::Calls(calls) => (Spanned::new(calls.0, concurrency.location), None),
        Concurrency::Keys(ConcurrencyKeys { calls: Some(calls), queue }) => (calls.clone(), queue.as_ref()),
        Concurrency::Keys(ConcurrencyKeys { calls: None, .. }) => {
            compiler
                .error(Code::MissingKey, concurrency.location, "missing key `calls` in `concurrency`")
                .help("write `{ calls: 1, queue: 10 }`");
            return (None, 0);
        }
    };
    if calls.value == 0 {
        report_zero("concurrency", calls.location, compiler);
    }
    if let Some(queue) = queue.filter(|queue| queue.value > MAX_QUEUE) {
        let message = format!("invalid `queue`, expected at most {MAX_QUEUE}");
        compiler.error(Code::BadValue, queue.location, message).help("each waiting call keeps its arguments in memory");
    }
    (Some(calls.value), queue.map_or(0, |queue| queue.value as usize))
}

fn compile_rate(limit: &Spanned<manifest::RateLimit>, compiler: &mut Compiler<'_>) -> Option<Rate> {
    let (calls, per) = check_rate("rateLimit", limit.location, (limit.calls.as_ref(), limit.per.as_ref()), compiler)?;
    let by_caller = limit.by.as_ref().filter(|by| by.value == RateLimitBy::Caller);
    if let Some(by) = by_caller.filter(|_| !compiler.load_context.has_auth) {
        compiler
            .warning(Code::Unused, by.location, "`by: caller` without `http.auth`: calls of all are counted together")
            .help("declare `http.auth`, which says who calls");
    }
    let by_caller = by_caller.is_some();
    Some(Rate { rate: CallRate { calls, per }, by_caller })
}

/// Checks `calls` and `per` of a rate, which stand under `key`.
pub(in crate::catalog) fn check_rate(
    key: &str,
    at: Location,
    (calls, per): (Option<&Spanned<u32>>, Option<&Spanned<value_types::Duration>>),
    compiler: &mut Compiler<'_>,
) -> Option<(u32, Duration)> {
    let (Some(calls), Some(per)) = (calls, per) else {
        compiler
            .error(Code::MissingKey, at, format!("missing key `calls` or `per` in `{key}`"))
            .help("write `{ calls: 10, per: 1m }`");
        return None;
    };
    if calls.value == 0 {
        report_zero("calls", calls.location, compiler);
    }
    if calls.value > MAX_RATE_CALLS {
        compiler
            .error(Code::BadValue, calls.location, format!("invalid `calls`, expected at most {MAX_RATE_CALLS}"))
            .help("use a shorter period, such as `{ calls: 100, per: 1s }`");
    }
    if per.value.to_std().is_zero() {
        compiler.error(Code::BadValue, per.location, "invalid `per`, expected more than zero").help("such as `1m`");
    }
    Some((calls.value, per.value.to_std()))
}

fn report_zero(key: &str, at: Location, compiler: &mut Compiler<'_>) {
    compiler.error(Code::BadValue, at, format!("invalid `{key}`, expected at least 1"));
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::identity::{AccessControl, Identity};
    use crate::store::{MemoryStore, Store};
    use crate::world::{RealWorld, World};

    fn limit(max_concurrent: u32) -> CallLimit {
        CallLimit { rate: None, max_concurrent: Some(max_concurrent), queue: 0, usage: OnceLock::new() }
    }

    fn permit(limit: &CallLimit) -> ConcurrencyPermit {
        match limit.acquire("x", true).ok().unwrap() {
            Admission::Running(permit) => permit,
            Admission::Waiting(_) => panic!("it waits"),
        }
    }

    fn refusal(limit: &CallLimit) -> String {
        limit.acquire("x", true).err().unwrap()
    }

    fn call(store: &Arc<dyn Store>, id: &str) -> CallContext {
        let identity = Identity { issuer: "https://id.example".to_owned(), id: id.to_owned(), ..Identity::default() };
        let world: Arc<dyn World> = Arc::new(RealWorld::new());
        let call = CallContext::new(CancellationToken::new(), world, Arc::default(), store.clone());
        CallContext { access: AccessControl::Caller(Some(Arc::new(identity))), ..call }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_each_caller_are_counted_and_refused_ones_are_not() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let rate = CallRate { calls: 1, per: Duration::from_secs(60) };
        for by_caller in [false, true] {
            let limit = CallLimit { rate: Some(Rate { rate, by_caller }), ..limit(1) };
            let admitted = async |id: &str| {
                limit.admit("x", &mut call(&store, id)).await.map(drop).map_err(|error| error.into_refusal().message)
            };
            assert_eq!(admitted("one").await, Ok(()));
            let whose = if by_caller { " for each caller" } else { "" };
            assert_eq!(
                admitted("one").await,
                Err(format!("rate limit of `x` exceeded (once a minute{whose}); try again in 60 s"))
            );
            assert_eq!(admitted("two").await.is_ok(), by_caller);
            let _running = permit(&limit);
            assert!(admitted("three").await.unwrap_err().starts_with("concurrency limit"));
            drop(_running);
            assert_eq!(admitted("three").await.is_ok(), by_caller, "what was refused did not count");
        }
    }

    #[test]
    fn concurrency_limit_frees_on_drop() {
        let limit = limit(2);
        let first = permit(&limit);
        let _second = permit(&limit);
        assert_eq!(refusal(&limit), "concurrency limit of `x` reached (2 calls); try again when one has ended");
        drop(first);
        permit(&limit);
    }

    #[test]
    fn usage_carries_over_to_next_catalog() {
        let (before, after) = (limit(1), limit(1));
        after.inherit_usage(&before);
        let _running = permit(&after);
        assert!(refusal(&before).contains("(1 call)"));
    }

    #[test]
    fn wait_is_formatted_and_rounded_up() {
        let expected = [(0, "0 ms"), (1, "1 ms"), (999, "999 ms"), (1001, "2 s"), (60_000, "60 s"), (120_001, "3 min")];
        for (milliseconds, message) in expected {
            assert_eq!(format_wait(Duration::from_millis(milliseconds)), message);
        }
        assert_eq!(format_wait(Duration::from_nanos(1)), "1 ms");
        assert_eq!(format_wait(Duration::from_secs(7200)), "2 h");
    }
}
