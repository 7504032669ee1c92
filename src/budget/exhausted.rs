//! Why a call may do no more.

use std::time::Duration;

use super::{MAX_MEMORY, MAX_WORK};

const MIB: u64 = 1 << 20;

/// Why a call may do no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// It does too much.
    #[error(
        "this takes too much work: more than {} MiB would be read and written; send less, or ask for less at once",
        MAX_WORK / MIB
    )]
    Work,
    /// It holds too much.
    #[error(
        "this takes too much memory: more than {} MiB would be held at once; send less, or ask for less at once",
        MAX_MEMORY / MIB
    )]
    Memory,
    /// Its time is over.
    #[error("it did not end within {after:?}")]
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
    #[error("this takes too long where it is done")]
    NeedsBlockingThread,
}
