//! The limits of a run: `timeout` and `maxOutput`.

use std::time::Duration;

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// The time limit.
    pub timeout: Duration,
    /// The output limit of one action, in bytes.
    pub max_output: u64,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { timeout: Duration::from_secs(30), max_output: 1 << 20 }
    }
}
