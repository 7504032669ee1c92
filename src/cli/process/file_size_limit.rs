//! The limit of the system on the size of a file.

use tokio::signal::unix::{SignalKind, signal};

/// Lets a write beyond the limit fail, where the system would end the process. Programs are started without this. To be
/// called in a runtime.
pub(crate) fn fail_writes_beyond_limit() {
    // The signal is caught for good, even if nothing waits for it.
    drop(signal(SignalKind::from_raw(libc::SIGXFSZ)));
}
