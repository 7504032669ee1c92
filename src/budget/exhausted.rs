//! `Exhausted`.

use std::time::Duration;

use super::{MAX_MEMORY, MAX_WORK};

const MIB: u64 = 1 << 20;

/// The limit of a call that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// Work.
    #[error(
        "work limit exceeded: more than {} MiB read and written; send or request less",
        MAX_WORK / MIB
    )]
    Work,
    /// Memory.
    #[error(
        "memory limit exceeded: more than {} MiB held at once; send or request less",
        MAX_MEMORY / MIB
    )]
    Memory,
    /// Time.
    #[error("timed out after {after:?}")]
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
    /// It must restart where it may block; never shown.
    #[error("needs a blocking thread")]
    NeedsBlockingThread,
}
