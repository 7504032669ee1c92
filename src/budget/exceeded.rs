//! `BudgetExceeded`.

use std::time::Duration;

use super::MAX_MEMORY;

const MIB: u64 = 1 << 20;

/// The limit of a call that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetExceeded {
    /// Memory.
    #[error(
        "memory limit exceeded: more than {} MiB held at once; send or request less",
        MAX_MEMORY / MIB
    )]
    Memory,
    /// Time.
    #[error("timed out after {:?}", round_for_display(*after))]
    Time {
        /// The timeout.
        after: Duration,
    },
    /// It is cancelled.
    #[error("cancelled")]
    Cancelled,
    /// All calls together exceed a limit.
    #[error("the server is busy with other calls; try again later")]
    Busy,
}

/// A time limit in words: what is left of a limit is not told to the nanosecond.
pub fn round_for_display(limit: Duration) -> Duration {
    let rounded = match limit.as_millis() {
        0 => return limit,
        few @ 1..100 => few,
        many => (many + 5) / 10 * 10,
    };
    Duration::from_millis(u64::try_from(rounded).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_for_display() {
        for (nanoseconds, shown) in [(500, "500ns"), (97_389_546, "97ms"), (1_234_567_890, "1.23s")] {
            assert_eq!(format!("{:?}", round_for_display(Duration::from_nanos(nanoseconds))), shown);
        }
    }
}
