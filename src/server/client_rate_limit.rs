//! Rate limit per client, set so high that only runaway clients meet it. Limits of one tool are in catalog/.

use std::time::Duration;

use super::throttle::TokenBucket;
use parking_lot::Mutex;

/// What a request costs: the time in which a client earns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestCost {
    /// A call of a tool that runs something: so many a second as `server.limits.callsPerSecond` says.
    Action(u32),
    /// A call of one that does not: 200,000 a second.
    Plain,
    /// A completion: 100 a second.
    Completion,
}

impl RequestCost {
    fn cost_duration(self) -> Duration {
        match self {
            RequestCost::Action(calls) => Duration::from_secs(1) / calls.max(1),
            RequestCost::Plain => Duration::from_micros(5),
            RequestCost::Completion => Duration::from_millis(10),
        }
    }
}

/// The maximum credit of an idle client: its earnings over this time.
const BURST_DURATION: Duration = Duration::from_secs(10);

/// How many clients those without a session stand for, who are counted together.
const SESSIONLESS_CLIENTS: u32 = 100;

/// What is left of a client's credit.
#[derive(Debug)]
pub(crate) struct ClientRateLimiter {
    clients: u32,
    bucket: Mutex<TokenBucket>,
}

impl Default for ClientRateLimiter {
    /// The rate limiter of one session.
    fn default() -> ClientRateLimiter {
        ClientRateLimiter { clients: 1, bucket: Mutex::new(TokenBucket::new(BURST_DURATION)) }
    }
}

impl ClientRateLimiter {
    /// The rate limiter that all sessionless clients share.
    pub(crate) fn sessionless() -> ClientRateLimiter {
        ClientRateLimiter { clients: SESSIONLESS_CLIENTS, ..ClientRateLimiter::default() }
    }

    /// Takes what a request costs, or returns how long to wait.
    pub(crate) fn take(&self, cost: RequestCost) -> Result<(), Duration> {
        self.bucket.lock().take(cost.cost_duration() / self.clients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(rate_limiter: &ClientRateLimiter, cost: RequestCost) -> usize {
        (0..).take_while(|_| rate_limiter.take(cost).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn idle_client_may_burst_then_is_paced() {
        for (cost, burst, a_second) in [
            (RequestCost::Action(200), 2_000, 200),
            (RequestCost::Action(1), 10, 1),
            (RequestCost::Completion, 1_000, 100),
        ] {
            let rate_limiter = ClientRateLimiter::default();
            assert_eq!(taken(&rate_limiter, cost), burst);
            assert_eq!(rate_limiter.take(cost), Err(cost.cost_duration()));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(taken(&rate_limiter, cost), a_second);
            tokio::time::advance(Duration::from_secs(3600)).await;
            assert_eq!(taken(&rate_limiter, cost), burst);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refused_request_is_admitted_after_wait() {
        let rate_limiter = ClientRateLimiter::default();
        while rate_limiter.take(RequestCost::Plain).is_ok() {}
        let wait = rate_limiter.take(RequestCost::Action(200)).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= RequestCost::Action(200).cost_duration());
        tokio::time::advance(wait).await;
        assert_eq!(rate_limiter.take(RequestCost::Action(200)), Ok(()));
        assert!(rate_limiter.take(RequestCost::Plain).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn sessionless_clients_share_a_larger_allowance() {
        assert_eq!(taken(&ClientRateLimiter::sessionless(), RequestCost::Action(200)), 200_000);
    }
}
