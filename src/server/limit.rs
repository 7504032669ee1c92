//! What one client may ask for, whatever the manifest says: so much that only one that runs wild ever meets it.
//!
//! A call that acts on the world costs more than one that only says something. What is not here: the limits that an
//! author sets for a tool (catalog/).

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// What a request costs: the time in which a client earns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// A call of a tool that runs something: so many a second as `server.limits.callsPerSecond` says.
    Act(u32),
    /// A call of one that does not: 200,000 a second.
    Say,
    /// A completion: 100 a second.
    Complete,
}

impl Cost {
    fn time(self) -> Duration {
        match self {
            Cost::Act(calls) => Duration::from_secs(1) / calls.max(1),
            Cost::Say => Duration::from_micros(5),
            Cost::Complete => Duration::from_millis(10),
        }
    }
}

/// How much may be asked for at once, by a client that was quiet: what it earns in so long a time.
const CREDIT: Duration = Duration::from_secs(10);

/// How many clients those without a session stand for, who are counted together.
const CROWD: u32 = 100;

/// What is left of a client's credit: one moment, until which it has used up what it earns.
#[derive(Debug)]
pub(crate) struct Allowance {
    clients: u32,
    used_until: Mutex<Option<Instant>>,
}

impl Default for Allowance {
    /// The allowance of one session.
    fn default() -> Allowance {
        Allowance { clients: 1, used_until: Mutex::default() }
    }
}

impl Allowance {
    /// The allowance of all who have no session.
    pub(crate) fn of_all() -> Allowance {
        Allowance { clients: CROWD, ..Allowance::default() }
    }

    /// Takes what a request costs, or says how long it is too early.
    pub(crate) fn take(&self, cost: Cost) -> Result<(), Duration> {
        let now = Instant::now();
        let mut used_until = self.used_until.lock().unwrap_or_else(PoisonError::into_inner);
        let until = used_until.map_or(now, |until| until.max(now)) + cost.time() / self.clients;
        match until.duration_since(now).checked_sub(CREDIT) {
            Some(early) if !early.is_zero() => Err(early),
            _ => {
                *used_until = Some(until);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    fn taken(allowance: &Allowance, cost: Cost) -> usize {
        (0..).take_while(|_| allowance.take(cost).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_client_may_ask_much_at_once_and_then_what_it_earns() {
        for (cost, burst, a_second) in
            [(Cost::Act(200), 2_000, 200), (Cost::Act(1), 10, 1), (Cost::Complete, 1_000, 100)]
        {
            let allowance = Allowance::default();
            assert_eq!(taken(&allowance, cost), burst);
            assert_eq!(allowance.take(cost), Err(cost.time()));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(taken(&allowance, cost), a_second);
            tokio::time::advance(Duration::from_secs(3600)).await;
            assert_eq!(taken(&allowance, cost), burst);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_refused_is_let_in_when_it_was_said() {
        let allowance = Allowance::default();
        while allowance.take(Cost::Say).is_ok() {}
        let wait = allowance.take(Cost::Act(200)).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Cost::Act(200).time());
        tokio::time::advance(wait).await;
        assert_eq!(allowance.take(Cost::Act(200)), Ok(()));
        assert!(allowance.take(Cost::Say).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn those_without_a_session_have_more_together() {
        assert_eq!(taken(&Allowance::of_all(), Cost::Act(200)), 200_000);
    }
}
