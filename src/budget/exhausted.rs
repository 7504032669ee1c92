//! Why a call may do no more.

use std::time::Duration;

use super::{MAX_MEMORY, MAX_WORK};

const MIB: u64 = 1 << 20;

/// Why a call may do no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// It does too much.
    #[error(
        "work limit exceeded: more than {} MiB read and written; send or request less",
        MAX_WORK / MIB
    )]
    Work,
    /// It holds too much.
    #[error(
        "memory limit exceeded: more than {} MiB held at once; send or request less",
        MAX_MEMORY / MIB
    )]
    Memory,
    /// Its time is over.
    #[error("timed out after {after:?}")]
    Time {
        /// How long it might take.
        after: Duration,
    },
    /// Its caller no longer wants it.
    #[error("cancelled")]
    Cancelled,
    /// All calls together do or hold too much.
    #[error("the server is busy with other calls; try again later")]
    Busy,
    /// It is to be done elsewhere, from the beginning.
    #[error("needs a blocking thread")]
    NeedsBlockingThread,
}
