//! What is known of a server without asking anybody: the last reload, and the last fetches of keys.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;

/// Whether a server is well.
#[derive(Debug)]
pub struct ServerHealth {
    reloads: Mutex<ReloadState>,
    issuers: Mutex<BTreeMap<String, IssuerState>>,
    is_draining: AtomicBool,
}

/// What became of the loads of the manifest.
#[derive(Debug, Clone, Copy)]
pub struct ReloadState {
    pub succeeded: u64,
    pub failed: u64,
    /// Whether the last one failed.
    pub last_failed: bool,
    /// When the manifest that is served was loaded.
    pub last_good: SystemTime,
}

/// What became of the last fetch of the keys of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerState {
    Reachable,
    Unreachable,
}

impl Default for ServerHealth {
    /// A server that has loaded its manifest just now.
    fn default() -> ServerHealth {
        let reloads = ReloadState { succeeded: 0, failed: 0, last_failed: false, last_good: SystemTime::now() };
        ServerHealth { reloads: Mutex::new(reloads), issuers: Mutex::default(), is_draining: AtomicBool::new(false) }
    }
}

impl ServerHealth {
    /// Notes a reload.
    pub fn record_reload(&self, is_good: bool) {
        let mut reloads = self.reloads.lock();
        reloads.last_failed = !is_good;
        if is_good {
            reloads.succeeded += 1;
            reloads.last_good = SystemTime::now();
        } else {
            reloads.failed += 1;
        }
    }

    pub fn reloads(&self) -> ReloadState {
        *self.reloads.lock()
    }

    /// Notes what became of the last fetch of keys, if there was one.
    pub fn record_issuer(&self, issuer: &str, state: Option<IssuerState>) {
        let Some(state) = state else { return };
        let mut issuers = self.issuers.lock();
        match issuers.get_mut(issuer) {
            Some(known) => *known = state,
            None => drop(issuers.insert(issuer.to_owned(), state)),
        }
    }

    /// What is known of an issuer, if it was ever asked.
    pub fn issuer(&self, issuer: &str) -> Option<IssuerState> {
        self.issuers.lock().get(issuer).copied()
    }

    /// Notes that the server stops.
    pub fn start_draining(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }
}
