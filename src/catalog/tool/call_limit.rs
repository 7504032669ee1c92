//! `rateLimit` and `concurrency`: how often a tool may be called, and how many calls may run at once.
//!
//! A call over a limit is refused, with when to retry, unless there is a queue. Limits per client are in server/.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::action::{ActionError, CallContext, McpClient, ProgressUpdate};
use crate::budget::round_for_display;
use crate::catalog::result::refusal::{CallError, Refusal, RefusalKind};
use crate::catalog::tool::concurrency_queue::{ConcurrencyQueue, QueuePosition};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::manifest::{self, Concurrency, ConcurrencyKeys, RateLimitBy};
use crate::value_types;
use crate::world::WorldError;
use crate::yaml::{Location, Spanned};

/// How many calls are remembered at most: each takes 16 bytes.
const MAX_RATE_CALLS: u32 = 100_000;

/// With how many callers those that do not call any more are looked for.
const MIN_SWEPT_CALLERS: usize = 64;

/// How many calls may wait at most: each holds its arguments.
const MAX_QUEUE: u32 = 1000;

/// The limits of one tool.
#[derive(Default)]
pub(in crate::catalog) struct CallLimit {
    rate: Option<Rate>,
    max_concurrent: Option<u32>,
    /// How many calls may wait.
    queue: usize,
    /// Shared with the same tool of later catalogs: a reload forgives nothing.
    usage: OnceLock<Arc<Mutex<CallUsage>>>,
}

struct Rate {
    calls: u32,
    per: Duration,
    /// Whether the calls of each caller are counted by themselves.
    by_caller: bool,
}

/// The issuer and the id of a caller; `None` where all are counted together, and for nobody.
type CallerKey = Option<(String, String)>;

#[derive(Default)]
struct CallUsage {
    calls: RecentCalls,
    queue_state: ConcurrencyQueue,
}

/// When the calls of the last while began, oldest first, by whom they are counted.
#[derive(Default)]
struct RecentCalls {
    by_caller: HashMap<CallerKey, VecDeque<Instant>>,
    /// With how many callers those are dropped that have not called for a while.
    sweep_at: usize,
}

impl RecentCalls {
    /// Those of one caller, as far as they are within `per`.
    fn of(&mut self, caller: CallerKey, per: Duration, now: Instant) -> &mut VecDeque<Instant> {
        let is_over = |began: &Instant| now.duration_since(*began) >= per;
        if self.by_caller.len() > self.sweep_at {
            self.by_caller.retain(|_, calls| calls.back().is_some_and(|last| !is_over(last)));
            // So that a sweep costs each call little, however many callers there are.
            self.sweep_at = self.by_caller.len().saturating_mul(2).max(MIN_SWEPT_CALLERS);
        }
        let calls = self.by_caller.entry(caller).or_default();
        while calls.front().is_some_and(is_over) {
            calls.pop_front();
        }
        calls
    }
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
    usage: Arc<Mutex<CallUsage>>,
}

/// A call that waits. It leaves the queue when this is dropped.
struct QueuedCall {
    usage: Arc<Mutex<CallUsage>>,
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
            lock(self.usage()).queue_state.set_limit(self.max_concurrent);
        }
    }

    /// Admits a call to the tool `name`, or when it is its turn in the queue.
    ///
    /// # Errors
    /// A limit is reached, or the time of the call ends in the queue.
    pub(in crate::catalog) async fn admit(
        &self,
        name: &str,
        call: &CallContext,
    ) -> Result<ConcurrencyPermit, CallError> {
        // A resumed call was admitted before.
        let caller = || call.access.identity().map(|caller| (caller.issuer.clone(), caller.id.clone()));
        let caller = self.rate.as_ref().filter(|rate| rate.by_caller).and_then(|_| caller());
        let admission = self.acquire(name, caller, call.checkpoint.is_none());
        let queued = match admission.map_err(|message| Refusal::new(RefusalKind::LimitReached, message))? {
            Admission::Running(permit) => return Ok(permit),
            Admission::Waiting(queued) => queued,
        };
        tokio::select! {
            biased;
            () = call.cancel().cancelled() => Err(ActionError::from(WorldError::Cancelled).into()),
            permit = queued.wait(name, call.client()) => Ok(permit),
            () = tokio::time::sleep(call.time_left) => {
                let waited = round_for_display(call.time_left);
                let message = format!("waited {waited:?} in the queue of `{name}`; try again later");
                Err(Refusal::new(RefusalKind::LimitReached, message).into())
            }
        }
    }

    /// Admits a call, or returns a message that says when to retry. A resumed call was admitted before.
    fn acquire(&self, name: &str, caller: CallerKey, is_new: bool) -> Result<Admission, String> {
        let usage = self.usage();
        let mut current = lock(usage);
        current.queue_state.set_limit(self.max_concurrent);
        let must_wait = is_new && current.queue_state.is_full();
        if must_wait && current.queue_state.waiting() >= self.queue {
            return Err(self.refusal(name));
        }
        if let Some(rate) = self.rate.as_ref().filter(|_| is_new) {
            let now = Instant::now();
            rate.record_call(current.calls.of(caller, rate.per, now), now).map_err(|wait| {
                format!("rate limit of `{name}` exceeded ({}); try again in {}", rate.describe(), format_wait(wait))
            })?;
        }
        if must_wait {
            let position = current.queue_state.wait();
            return Ok(Admission::Waiting(QueuedCall { usage: usage.clone(), position, has_run: false }));
        }
        current.queue_state.start();
        Ok(Admission::Running(ConcurrencyPermit { usage: usage.clone() }))
    }

    fn refusal(&self, name: &str) -> String {
        let max = self.max_concurrent.unwrap_or_default();
        let running = if max == 1 { "1 call".to_owned() } else { format!("{max} calls") };
        let waiting = if self.queue > 0 { format!(", and {} waiting", self.queue) } else { String::new() };
        format!("concurrency limit of `{name}` reached ({running}{waiting}); try again when one has ended")
    }

    fn usage(&self) -> &Arc<Mutex<CallUsage>> {
        self.usage.get_or_init(Arc::default)
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        lock(&self.usage).queue_state.end();
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
            lock(&self.usage).queue_state.leave(&self.position);
        }
    }
}

impl Rate {
    /// Counts a call among those of the last while, or returns how long to wait.
    fn record_call(&self, calls: &mut VecDeque<Instant>, now: Instant) -> Result<(), Duration> {
        // After a reload with a lower limit there are more than it allows.
        let too_many = (calls.len() + 1).saturating_sub(self.calls as usize);
        match too_many.checked_sub(1).and_then(|last| calls.get(last)) {
            Some(last) => Err(self.per.saturating_sub(now.duration_since(*last))),
            None => {
                calls.push_back(now);
                Ok(())
            }
        }
    }

    fn describe(&self) -> String {
        let whose = if self.by_caller { " for each caller" } else { "" };
        format!("{}{whose}", self.describe_frequency())
    }

    fn describe_frequency(&self) -> String {
        let times = if self.calls == 1 { "once".to_owned() } else { format!("{} times", self.calls) };
        match self.per.as_millis() {
            1000 => format!("{times} a second"),
            60_000 => format!("{times} a minute"),
            3_600_000 => format!("{times} an hour"),
            86_400_000 => format!("{times} a day"),
            _ => format!("{times} in {}", format_wait(self.per)),
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

fn lock(usage: &Mutex<CallUsage>) -> MutexGuard<'_, CallUsage> {
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
    Some(Rate { calls, per, by_caller })
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
    use super::*;
    use proptest::prelude::*;

    fn limit(calls: u32, per: u64, max_concurrent: Option<u32>) -> CallLimit {
        let rate = Some(Rate { calls, per: Duration::from_secs(per), by_caller: false });
        CallLimit { rate, max_concurrent, queue: 0, usage: OnceLock::new() }
    }

    fn permit(limit: &CallLimit) -> ConcurrencyPermit {
        match limit.acquire("x", None, true).ok().unwrap() {
            Admission::Running(permit) => permit,
            Admission::Waiting(_) => panic!("it waits"),
        }
    }

    fn refusal(limit: &CallLimit) -> String {
        limit.acquire("x", None, true).err().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn rate_limit_admits_calls_and_says_when_to_retry() {
        let limit = limit(3, 60, None);
        for _ in 0..3 {
            permit(&limit);
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        assert_eq!(refusal(&limit), "rate limit of `x` exceeded (3 times a minute); try again in 30 s");
        tokio::time::advance(Duration::from_millis(29_999)).await;
        assert_eq!(refusal(&limit), "rate limit of `x` exceeded (3 times a minute); try again in 1 ms");
        tokio::time::advance(Duration::from_millis(1)).await;
        permit(&limit);
        assert_eq!(refusal(&limit), "rate limit of `x` exceeded (3 times a minute); try again in 10 s");
    }

    #[tokio::test(start_paused = true)]
    async fn refused_call_does_not_count() {
        let limit = limit(1, 1, None);
        permit(&limit);
        for _ in 0..9 {
            tokio::time::advance(Duration::from_millis(100)).await;
            assert!(limit.acquire("x", None, true).is_err());
        }
        tokio::time::advance(Duration::from_millis(100)).await;
        permit(&limit);
    }

    #[tokio::test(start_paused = true)]
    async fn callers_are_counted_by_themselves() {
        let limit = limit(1, 60, None);
        let rate = Some(Rate { calls: 1, per: Duration::from_secs(60), by_caller: true });
        let limit = CallLimit { rate, ..limit };
        let key = |id: usize| Some(("https://id.example".to_owned(), id.to_string()));
        for id in 0..500 {
            assert!(limit.acquire("x", key(id), true).is_ok());
            let refused = limit.acquire("x", key(id), true).err().unwrap();
            assert_eq!(refused, "rate limit of `x` exceeded (once a minute for each caller); try again in 60 s");
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        (0..500).for_each(|id| drop(limit.acquire("x", key(id % 2), true)));
        let kept = lock(limit.usage()).calls.by_caller.len();
        assert!(kept <= 500, "{kept} callers are kept");
        (1000..1600).for_each(|id| drop(limit.acquire("x", key(id), true)));
        let kept = lock(limit.usage()).calls.by_caller.len();
        assert!(kept <= 602, "{kept} callers are kept, of whom 500 do not call any more");
    }

    #[test]
    fn concurrency_limit_frees_on_drop() {
        let limit = limit(100, 1, Some(2));
        let first = permit(&limit);
        let _second = permit(&limit);
        assert_eq!(refusal(&limit), "concurrency limit of `x` reached (2 calls); try again when one has ended");
        drop(first);
        permit(&limit);
    }

    #[tokio::test(start_paused = true)]
    async fn usage_carries_over_to_next_catalog() {
        let before = limit(3, 60, Some(1));
        for _ in 0..3 {
            permit(&before);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let after = limit(2, 60, Some(1));
        after.inherit_usage(&before);
        assert_eq!(refusal(&after), "rate limit of `x` exceeded (2 times a minute); try again in 58 s");
        tokio::time::advance(Duration::from_secs(58)).await;
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

    proptest! {
        #[test]
        fn no_window_exceeds_the_rate(
            calls in 1_u32..5,
            gaps in proptest::collection::vec(0_u64..40, 1..60),
        ) {
            let rate = Rate { calls, per: Duration::from_secs(60), by_caller: false };
            let mut now = Instant::now();
            let (mut recent, mut let_in) = (RecentCalls::default(), Vec::new());
            for gap in gaps {
                now += Duration::from_secs(gap);
                match rate.record_call(recent.of(None, rate.per, now), now) {
                    Ok(()) => let_in.push(now),
                    Err(wait) => {
                        let mut later = recent.of(None, rate.per, now).clone();
                        later.retain(|began| (now + wait).duration_since(*began) < rate.per);
                        prop_assert!(rate.record_call(&mut later, now + wait).is_ok());
                    }
                }
            }
            for window in let_in.windows(calls as usize + 1) {
                prop_assert!(window[calls as usize].duration_since(window[0]) >= rate.per);
            }
        }
    }
}
