//! How often a tool may be called, and how many of its calls may run at once.
//!
//! A refusal says when to try again. Nothing waits and no timer runs: the calls of the last while are remembered, and
//! counted when the next one comes. What is not here: what any one client may ask for (server/).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::manifest;
use crate::yaml::{At, Spanned};

/// How many calls are remembered at most: each takes 16 bytes.
const MOST: u32 = 100_000;

/// The limits of one tool.
#[derive(Default)]
pub(super) struct Limit {
    rate: Option<Rate>,
    at_once: Option<u32>,
    /// Shared with the same tool of later catalogs: a reload forgives nothing.
    used: OnceLock<Arc<Mutex<Used>>>,
}

struct Rate {
    calls: u32,
    per: Duration,
}

#[derive(Default)]
struct Used {
    /// When the calls of the last while began, oldest first.
    calls: VecDeque<Instant>,
    running: u32,
}

/// A call that was let in; it is over when this is dropped.
pub(super) struct Turn {
    used: Arc<Mutex<Used>>,
}

impl Limit {
    /// Checks the limits of a tool. `None` where it has none.
    pub(super) fn build(written: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Option<Limit> {
        let rate = written.rate_limit.as_ref().and_then(|limit| rate(limit, compiler));
        if let Some(most) = written.concurrency.as_ref().filter(|most| most.value == 0) {
            never(most.at, compiler);
        }
        let at_once = written.concurrency.as_ref().map(|most| most.value);
        (rate.is_some() || at_once.is_some()).then(|| Limit { rate, at_once, used: OnceLock::new() })
    }

    /// Goes on counting where an earlier catalog's limit of the same tool is.
    pub(super) fn follow(&self, earlier: &Limit) {
        // Only a catalog that is served already has an own count, and that one follows nobody.
        let _ = self.used.set(earlier.used().clone());
    }

    /// Lets a call in, or says in words when to try again. One that only goes on was let in before, and what it came
    /// with to go on is good for once.
    pub(super) fn enter(&self, name: &str, fresh: bool) -> Result<Turn, String> {
        let used = self.used();
        let mut counted = lock(used);
        if let Some(most) = self.at_once.filter(|most| fresh && counted.running >= *most) {
            let times = if most == 1 { "one call".to_owned() } else { format!("{most} calls") };
            return Err(format!("`{name}` runs {times} at once, and does so now; try again when one has ended"));
        }
        if let Some(rate) = self.rate.as_ref().filter(|_| fresh) {
            rate.count(&mut counted.calls, Instant::now())
                .map_err(|wait| format!("`{name}` may be called {}; try again in {}", rate.words(), words_of(wait)))?;
        }
        counted.running += 1;
        drop(counted);
        Ok(Turn { used: used.clone() })
    }

    fn used(&self) -> &Arc<Mutex<Used>> {
        self.used.get_or_init(Arc::default)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut used = lock(&self.used);
        used.running = used.running.saturating_sub(1);
    }
}

impl Rate {
    /// Counts a call, or says how long it is too early.
    fn count(&self, calls: &mut VecDeque<Instant>, now: Instant) -> Result<(), Duration> {
        while calls.front().is_some_and(|first| now.duration_since(*first) >= self.per) {
            calls.pop_front();
        }
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

    fn words(&self) -> String {
        let times = if self.calls == 1 { "once".to_owned() } else { format!("{} times", self.calls) };
        match self.per.as_millis() {
            1000 => format!("{times} a second"),
            60_000 => format!("{times} a minute"),
            3_600_000 => format!("{times} an hour"),
            86_400_000 => format!("{times} a day"),
            _ => format!("{times} in {}", words_of(self.per)),
        }
    }
}

/// A time to wait, in words, rounded up.
pub fn words_of(wait: Duration) -> String {
    let milliseconds = wait.as_millis() + u128::from(!wait.subsec_nanos().is_multiple_of(1_000_000));
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..120_000 => format!("{} s", milliseconds.div_ceil(1000)),
        120_000..7_200_000 => format!("{} min", milliseconds.div_ceil(60_000)),
        _ => format!("{} h", milliseconds.div_ceil(3_600_000)),
    }
}

fn lock(used: &Mutex<Used>) -> MutexGuard<'_, Used> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

fn rate(limit: &Spanned<manifest::RateLimit>, compiler: &mut Compiler<'_>) -> Option<Rate> {
    let (Some(calls), Some(per)) = (&limit.calls, &limit.per) else {
        compiler
            .error(Code::MissingKey, limit.at, "`rateLimit` needs `calls` and `per`")
            .help("write `{ calls: 10, per: 1m }`");
        return None;
    };
    if calls.value == 0 {
        never(calls.at, compiler);
    }
    if calls.value > MOST {
        compiler
            .error(Code::BadValue, calls.at, format!("expected at most {MOST}"))
            .help("say it for a shorter time, such as `{ calls: 100, per: 1s }`");
    }
    if per.value.get().is_zero() {
        compiler.error(Code::BadValue, per.at, "expected a time, and this is none").help("such as `1m`");
    }
    Some(Rate { calls: calls.value, per: per.value.get() })
}

fn never(at: At, compiler: &mut Compiler<'_>) {
    compiler.error(Code::BadValue, at, "expected at least 1: with 0 it could never be called");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use proptest::prelude::*;

    fn limit(calls: u32, per: u64, at_once: Option<u32>) -> Limit {
        let rate = Some(Rate { calls, per: Duration::from_secs(per) });
        Limit { rate, at_once, used: OnceLock::new() }
    }

    fn refusal(limit: &Limit) -> String {
        limit.enter("x", true).err().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_calls_are_let_in_and_the_next_is_told_when() {
        let limit = limit(3, 60, None);
        for _ in 0..3 {
            limit.enter("x", true).ok().unwrap();
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        assert_eq!(refusal(&limit), "`x` may be called 3 times a minute; try again in 30 s");
        tokio::time::advance(Duration::from_millis(29_999)).await;
        assert_eq!(refusal(&limit), "`x` may be called 3 times a minute; try again in 1 ms");
        tokio::time::advance(Duration::from_millis(1)).await;
        limit.enter("x", true).ok().unwrap();
        assert_eq!(refusal(&limit), "`x` may be called 3 times a minute; try again in 10 s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_refused_does_not_count() {
        let limit = limit(1, 1, None);
        limit.enter("x", true).ok().unwrap();
        for _ in 0..9 {
            tokio::time::advance(Duration::from_millis(100)).await;
            assert!(limit.enter("x", true).is_err());
        }
        tokio::time::advance(Duration::from_millis(100)).await;
        limit.enter("x", true).ok().unwrap();
    }

    #[test]
    fn so_many_run_at_once_and_one_that_ends_makes_room() {
        let limit = limit(100, 1, Some(2));
        let first = limit.enter("x", true).ok().unwrap();
        let _second = limit.enter("x", true).ok().unwrap();
        assert_eq!(refusal(&limit), "`x` runs 2 calls at once, and does so now; try again when one has ended");
        drop(first);
        limit.enter("x", true).ok().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_catalog_goes_on_counting_even_with_another_limit() {
        let before = limit(3, 60, Some(1));
        for _ in 0..3 {
            before.enter("x", true).ok().unwrap();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let after = limit(2, 60, Some(1));
        after.follow(&before);
        assert_eq!(refusal(&after), "`x` may be called 2 times a minute; try again in 58 s");
        tokio::time::advance(Duration::from_secs(58)).await;
        let _running = after.enter("x", true).ok().unwrap();
        assert!(refusal(&before).contains("runs one call at once"));
    }

    #[test]
    fn a_time_is_said_in_words_and_rounded_up() {
        let said = [(0, "0 ms"), (1, "1 ms"), (999, "999 ms"), (1001, "2 s"), (60_000, "60 s"), (120_001, "3 min")];
        for (milliseconds, words) in said {
            assert_eq!(words_of(Duration::from_millis(milliseconds)), words);
        }
        assert_eq!(words_of(Duration::from_nanos(1)), "1 ms");
        assert_eq!(words_of(Duration::from_secs(7200)), "2 h");
    }

    proptest! {
        #[test]
        fn no_stretch_of_the_time_ever_holds_more_calls_than_allowed(
            calls in 1_u32..5,
            gaps in proptest::collection::vec(0_u64..40, 1..60),
        ) {
            let rate = Rate { calls, per: Duration::from_secs(60) };
            let mut now = Instant::now();
            let (mut counted, mut let_in) = (VecDeque::new(), Vec::new());
            for gap in gaps {
                now += Duration::from_secs(gap);
                match rate.count(&mut counted, now) {
                    Ok(()) => let_in.push(now),
                    Err(wait) => prop_assert!(rate.count(&mut counted.clone(), now + wait).is_ok()),
                }
            }
            for window in let_in.windows(calls as usize + 1) {
                prop_assert!(window[calls as usize].duration_since(window[0]) >= rate.per);
            }
        }
    }
}
