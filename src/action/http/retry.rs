//! When a request is sent again.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use crate::action::ActionError;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::value_types::Retry;
use crate::world::HttpResponse;
use crate::yaml::Spanned;

use super::status::{StatusPattern, compile_patterns};

/// The statuses of `retry` unless it names others: too many requests, and a server that is overloaded or restarts.
const DEFAULT_STATUSES: [u16; 4] = [429, 502, 503, 504];
const DEFAULT_ATTEMPTS: u32 = 3;
const MAX_ATTEMPTS: u32 = 10;
const DEFAULT_BACKOFF: Duration = Duration::from_millis(500);
/// Exponential backoff does not grow beyond this.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// When a request is sent again, and after how long.
pub(super) struct RetryPolicy {
    pub(super) attempts: u32,
    statuses: Vec<StatusPattern>,
    backoff: Duration,
    /// Whether what the request does may be done twice.
    pub(super) is_repeatable: bool,
}

impl RetryPolicy {
    /// Compiles `retry` of a request and of its connection; the request's keys take precedence.
    pub(super) fn compile(
        request: Option<&Spanned<Retry>>,
        connection: Option<&Spanned<Retry>>,
        method: &'static str,
        compiler: &mut Compiler<'_>,
    ) -> Option<RetryPolicy> {
        let levels: Vec<&Spanned<Retry>> = request.into_iter().chain(connection).collect();
        // RFC 9110, 9.2.2.
        let is_idempotent = !matches!(method, "POST" | "PATCH");
        let is_repeatable = is_idempotent || levels.iter().find_map(|retry| retry.repeat_unsafe).unwrap_or_default();
        if let Some(retry) = request.filter(|_| !is_repeatable) {
            compiler
                .warning(
                    Code::Conflict,
                    retry.location,
                    format!("`retry` repeats a {method} request only if it was not sent"),
                )
                .help("write `unsafe: true` in `retry` if the request may be processed twice");
        }
        let attempts = levels.iter().find_map(|retry| retry.attempts.as_ref());
        if let Some(attempts) = attempts.filter(|attempts| !(1..=MAX_ATTEMPTS).contains(&attempts.value)) {
            compiler
                .error(Code::BadValue, attempts.location, format!("invalid `attempts` `{}`", attempts.value))
                .help(format!("use a number from 1 to {MAX_ATTEMPTS}"));
        }
        let statuses = match levels.iter().find_map(|retry| retry.on.as_ref()) {
            Some(statuses) => compile_patterns(Some(statuses), compiler)?,
            None => DEFAULT_STATUSES.map(StatusPattern::Exact).to_vec(),
        };
        Some(RetryPolicy {
            attempts: match attempts {
                Some(attempts) => attempts.value,
                None if levels.is_empty() => 1,
                None => DEFAULT_ATTEMPTS,
            },
            statuses,
            backoff: levels.iter().find_map(|retry| retry.backoff).map_or(DEFAULT_BACKOFF, |backoff| backoff.to_std()),
            is_repeatable,
        })
    }

    /// How long to wait before the request is sent again after `attempt` attempts; `None` if the result is final.
    pub(super) fn retry_delay(&self, attempt: u32, result: &Result<HttpResponse, ActionError>) -> Option<Duration> {
        let retries = match result {
            Ok(response) => self.is_repeatable && self.statuses.iter().any(|status| status.matches(response.status)),
            Err(ActionError::World(error)) => error.is_transient() && (self.is_repeatable || error.is_unsent()),
            Err(_) => false,
        };
        if !retries || attempt >= self.attempts {
            return None;
        }
        let server_delay = result.as_ref().ok().and_then(|response| retry_after(response, SystemTime::now()));
        Some(server_delay.unwrap_or_else(|| jitter(self.backoff_after(attempt))))
    }

    /// Twice as long after each attempt.
    fn backoff_after(&self, attempt: u32) -> Duration {
        self.backoff.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(MAX_BACKOFF)
    }
}

/// Whether a status says that the same request may succeed later.
pub(super) fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// How long a response asks to wait: seconds, or a date (RFC 9110, 10.2.3). A date in the past is now.
pub(super) fn retry_after(response: &HttpResponse, now: SystemTime) -> Option<Duration> {
    let value = response.header("retry-after")?;
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Between half of a duration and all of it, so that clients that failed together do not come back together.
fn jitter(duration: Duration) -> Duration {
    // A new `RandomState` has random keys.
    let random = RandomState::new().hash_one(0_u8) >> 32;
    let fraction = 0.5 + 0.5 * (random as f64 / f64::from(u32::MAX));
    duration.mul_f64(fraction)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RetryPolicy, StatusPattern, jitter, retry_after};
    use crate::action::ActionError;
    use crate::world::{CapturedBytes, HttpResponse, ResponseSource, WorldError};

    fn response(status: u16, headers: &[(&str, &str)]) -> HttpResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = "https://api.example/".parse().unwrap();
        HttpResponse { status, headers, body: CapturedBytes::default(), url, source: ResponseSource::Server }
    }

    fn policy(is_repeatable: bool) -> RetryPolicy {
        let statuses = vec![StatusPattern::Exact(503)];
        RetryPolicy { attempts: 3, statuses, backoff: Duration::from_secs(4), is_repeatable }
    }

    #[test]
    fn retry_after_is_seconds_or_date() {
        let now = httpdate::parse_http_date("Sun, 22 Nov 2026 12:00:00 GMT").unwrap();
        let wait = |value: &str| retry_after(&response(503, &[("retry-after", value)]), now);
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 22 Nov 2026 12:00:30 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(wait("Sun, 22 Nov 2026 11:00:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["", "-1", "soon", "99999999999999999999999"] {
            assert_eq!(wait(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn only_repeatable_requests_are_repeated_after_response() {
        let busy = Ok(response(503, &[]));
        assert!(policy(true).retry_delay(1, &busy).is_some() && policy(false).retry_delay(1, &busy).is_none());
        assert!(policy(true).retry_delay(3, &busy).is_none(), "the last attempt");
        assert!(policy(true).retry_delay(1, &Ok(response(500, &[]))).is_none());
        let failed = |error: WorldError| Err(ActionError::from(error));
        let unsent = failed(WorldError::Connect {
            host: "a".to_owned(),
            is_proxy: false,
            reason: "connection refused".to_owned(),
        });
        assert!(policy(false).retry_delay(1, &unsent).is_some(), "nothing was sent");
        let broken = failed(WorldError::InvalidResponse { host: "a".to_owned() });
        assert!(policy(true).retry_delay(1, &broken).is_some() && policy(false).retry_delay(1, &broken).is_none());
        let private = failed(WorldError::PrivateAddress { host: "a".to_owned() });
        assert!(policy(true).retry_delay(1, &private).is_none());
    }

    #[test]
    fn backoff_doubles_with_jitter() {
        let policy = policy(true);
        assert_eq!(policy.backoff_after(1), Duration::from_secs(4));
        assert_eq!(policy.backoff_after(3), Duration::from_secs(16));
        assert_eq!(policy.backoff_after(30), super::MAX_BACKOFF);
        for _ in 0..100 {
            let retry_delay = jitter(Duration::from_secs(4));
            assert!((Duration::from_secs(2)..=Duration::from_secs(4)).contains(&retry_delay), "{retry_delay:?}");
        }
    }
}
