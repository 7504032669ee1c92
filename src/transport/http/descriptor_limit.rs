//! Raises the limit of open file descriptors for connections.

use rustix::process::{Resource, getrlimit, setrlimit};

/// What programs, files and the watcher need beside connections.
const RESERVED_DESCRIPTORS: u64 = 512;

/// Raises the descriptor limit for this many connections if the system permits; returns how many fit.
///
/// The limit is raised no further than that: programs inherit it, and some look at every descriptor that there may be.
pub(super) fn raise_descriptor_limit(wanted: usize) -> usize {
    let needed = wanted as u64 + RESERVED_DESCRIPTORS;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        let raised = limit.maximum.map_or(needed, |max| max.min(needed));
        limit.current = Some(raised.max(limit.current.unwrap_or_default()));
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let own = RESERVED_DESCRIPTORS.min(allowed / 2);
    usize::try_from(allowed - own).unwrap_or(usize::MAX).min(wanted)
}
