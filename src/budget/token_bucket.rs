//! What a client has earned: the token bucket of all rates that are counted over time.

use tokio::time::{Duration, Instant};

/// A token bucket whose tokens are time: a client earns them as time passes, up to a maximum. All of its state is the
/// instant until which earnings are spent (the generic cell rate algorithm).
#[derive(Debug, Default)]
pub struct TokenBucket {
    spent_until: Option<Instant>,
}

impl TokenBucket {
    /// Takes `cost` of at most `max`, or returns how long to wait for it.
    pub fn take(&mut self, cost: Duration, max: Duration) -> Result<(), Duration> {
        let now = Instant::now();
        // Where the maximum was more before, the debt is not.
        let until = self.spent_until.map_or(now, |until| until.clamp(now, now + max)) + cost;
        match until.duration_since(now).checked_sub(max) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                self.spent_until = Some(until);
                Ok(())
            }
        }
    }

    /// Whether nothing of it is spent.
    pub fn is_full(&self) -> bool {
        self.spent_until.is_none_or(|until| until <= Instant::now())
    }
}
