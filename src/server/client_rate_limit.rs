//! Rate limit per client, set so high that only runaway clients meet it. Limits of one tool are in catalog/, those of HTTP in
//! transport/.

use std::time::Duration;

use crate::catalog::CallTraits;

/// What a request costs: the time in which a client earns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestCost {
    /// A call of what runs something: so many a second as `server.limits.callsPerSecond` says.
    Action,
    /// A call of what does not: 200,000 a second.
    Plain,
    /// A completion: 100 a second.
    Completion,
}

impl RequestCost {
    pub(crate) fn of_call(traits: CallTraits) -> RequestCost {
        if traits.runs_actions { RequestCost::Action } else { RequestCost::Plain }
    }

    pub(crate) fn duration(self, calls_per_second: u32) -> Duration {
        match self {
            RequestCost::Action => Duration::from_secs(1) / calls_per_second.max(1),
            RequestCost::Plain => Duration::from_micros(5),
            RequestCost::Completion => Duration::from_millis(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::budget::{Caller, CallerKind};

    fn caller(kind: CallerKind) -> Caller {
        Caller::new(kind, Arc::default())
    }

    fn taken(caller: &Caller, cost: Duration) -> usize {
        (0..).take_while(|_| caller.charge(cost).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn idle_client_may_burst_then_is_paced() {
        for (cost, burst, a_second) in [
            (RequestCost::Action.duration(200), 2_000, 200),
            (RequestCost::Action.duration(1), 10, 1),
            (RequestCost::Completion.duration(200), 1_000, 100),
        ] {
            let caller = caller(CallerKind::Session);
            assert_eq!(taken(&caller, cost), burst);
            assert_eq!(caller.charge(cost), Err(cost));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(taken(&caller, cost), a_second);
            tokio::time::advance(Duration::from_secs(3600)).await;
            assert_eq!(taken(&caller, cost), burst);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refused_request_is_admitted_after_wait() {
        let caller = caller(CallerKind::Session);
        let (plain, action) = (RequestCost::Plain.duration(200), RequestCost::Action.duration(200));
        while caller.charge(plain).is_ok() {}
        let wait = caller.charge(action).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= action);
        tokio::time::advance(wait).await;
        assert_eq!(caller.charge(action), Ok(()));
        assert!(caller.charge(plain).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_at_one_address_share_a_larger_allowance() {
        assert_eq!(taken(&caller(CallerKind::Address), RequestCost::Action.duration(200)), 200_000);
    }
}
