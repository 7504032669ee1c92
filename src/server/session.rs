//! The state of a connection: negotiated version, capabilities, subscriptions and log level.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{ErrorData, InitializeRequestParams, ProtocolVersion};
use serde_json::Value;
use tokio::sync::Notify;

use crate::action::LogLevel;
use crate::catalog::BridgedLists;
use crate::identity::AccessControl;
use crate::spec_version::SpecVersion;
use crate::telemetry::ClientName;

use super::{
    ConnectionHandler, bridge,
    capability::{self, CapabilityKind, DeclaredCapabilities},
    protocol_version::to_protocol_version,
    snapshot::{CatalogSnapshot, ResultNotes, Revisions},
    throttle::Throttle,
    version_keys::{self, Place},
};

/// The state of one connection. Requests of 2026-07-28 bring all they need and leave nothing here.
pub(crate) struct Session {
    /// Its id over HTTP.
    pub(crate) id: Option<Arc<str>>,
    /// Whether it outlives a request: without that nothing it is told is remembered.
    pub(crate) is_lasting: bool,
    negotiated: OnceLock<NegotiatedSession>,
    is_notifying_changes: AtomicBool,
    subscribed: Mutex<HashMap<String, SubscribedResource>>,
    /// Notified when a resource is subscribed, whose catalog may be replaced already.
    pub(crate) subscription_added: Notify,
    /// The minimum log level.
    level: Mutex<LogLevel>,
    log_throttle: Mutex<Throttle>,
    roots: Mutex<RootsCache>,
    /// Who calls, as the last request said.
    access: Mutex<AccessControl>,
}

/// How many log messages are sent at once, and then per second.
const LOG_BURST: u32 = 200;
const LOGS_PER_SECOND: u32 = 50;

impl Session {
    pub(crate) fn new(id: Option<Arc<str>>, is_lasting: bool) -> Session {
        Session {
            id,
            is_lasting,
            negotiated: OnceLock::default(),
            is_notifying_changes: AtomicBool::default(),
            subscribed: Mutex::default(),
            subscription_added: Notify::default(),
            level: Mutex::new(LogLevel::Info),
            log_throttle: Mutex::new(Throttle::new(LOG_BURST, LOGS_PER_SECOND)),
            roots: Mutex::default(),
            access: Mutex::default(),
        }
    }

    pub(crate) fn negotiated(&self) -> Option<&NegotiatedSession> {
        self.negotiated.get()
    }

    pub(crate) fn subscribed(&self) -> MutexGuard<'_, HashMap<String, SubscribedResource>> {
        self.subscribed.lock()
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        *self.level.lock()
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *self.level.lock() = level;
    }

    pub(crate) fn roots(&self) -> MutexGuard<'_, RootsCache> {
        self.roots.lock()
    }

    pub(crate) fn access(&self) -> AccessControl {
        self.access.lock().clone()
    }

    /// Notes who calls: a later token of the same caller may grant more.
    pub(crate) fn set_access(&self, access: &AccessControl) {
        if *access != AccessControl::Unrestricted {
            self.access.lock().clone_from(access);
        }
    }

    pub(crate) fn log_throttle(&self) -> MutexGuard<'_, Throttle> {
        self.log_throttle.lock()
    }

    /// Starts to announce changes to this session; true once.
    pub(crate) fn start_notifying(&self) -> bool {
        !self.is_notifying_changes.swap(true, Ordering::AcqRel)
    }
}

/// The outcome of `initialize`.
pub(crate) struct NegotiatedSession {
    /// What the client says of itself.
    pub(crate) client: InitializeRequestParams,
    pub(crate) spec_version: SpecVersion,
    pub(crate) began: Instant,
    pub(crate) capabilities: DeclaredCapabilities,
    /// The revisions that the client has seen.
    pub(crate) revisions: Revisions,
    /// The lists that the client gets as tools.
    pub(crate) bridged_lists: BridgedLists,
}

/// What is known of the client's roots, until it announces a change.
#[derive(Default)]
pub(crate) struct RootsCache {
    pub(crate) known: Option<KnownRoots>,
    /// How many changes were announced: an answer to a question from before one is not kept.
    pub(crate) changes: u64,
}

impl RootsCache {
    /// The client announces a change.
    pub(crate) fn forget(&mut self) {
        *self = RootsCache { known: None, changes: self.changes + 1 };
    }
}

/// What a session knows of its client's roots.
#[derive(Clone)]
pub(crate) enum KnownRoots {
    Listed(Value),
    /// It did not answer in time, and is not asked again.
    Unanswered,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SubscribedResource {
    pub(crate) generation: u64,
    pub(crate) fingerprint: Option<u64>,
}

/// Answers `initialize`, once in a session.
pub(crate) fn initialize(server: &ConnectionHandler, params: InitializeRequestParams) -> Result<Bytes, ErrorData> {
    let served = server.shared_server.snapshot();
    let spec_version = negotiate_version(&params.protocol_version);
    let experimental = params.capabilities.experimental.as_ref();
    let bridged_lists = bridge::lists_for(&params.client_info.name, experimental, &served);
    let mut client = params;
    // No one looks at them, and they may be large.
    client.client_info.icons = None;
    let name = ClientName::from(&client.client_info);
    let session = NegotiatedSession {
        client,
        spec_version,
        began: Instant::now(),
        capabilities: server.session_capabilities(&served, bridged_lists),
        revisions: served.revisions,
        bridged_lists,
    };
    if server.session.negotiated.set(session).is_err() {
        return Err(ErrorData::invalid_request("already initialized", None));
    }
    let mut result = served.config_with(bridged_lists);
    result.protocol_version = to_protocol_version(spec_version);
    if !server.session.is_lasting {
        capability::remove_session_capabilities(&mut result.capabilities);
    }
    if let Some(observers) = server.shared_server.observers() {
        observers.tell(|observer| observer.on_session_start());
        server.record_client(&name, observers);
    }
    let parts = [("capabilities", Place::Capabilities), ("serverInfo", Place::ServerInfo)];
    version_keys::to_json(ResultNotes::default(), &result, spec_version, &parts)
}

/// The version that the client asks for, or else the newest that has sessions.
fn negotiate_version(requested: &ProtocolVersion) -> SpecVersion {
    let version = SpecVersion::parse(requested.as_str()).filter(|version| !version.is_sessionless());
    version.unwrap_or(SpecVersion::NEWEST_WITH_SESSIONS)
}

impl ConnectionHandler {
    fn session_capabilities(&self, served: &CatalogSnapshot, bridged_lists: BridgedLists) -> DeclaredCapabilities {
        let declared = served.capabilities_with(bridged_lists).without(CapabilityKind::Tasks);
        if self.session.is_lasting { declared } else { declared.without(CapabilityKind::Logging) }
    }

    /// Begins a session that another replica has negotiated, or without any, where each request stands for itself.
    pub(crate) fn begin_session(&self, client: InitializeRequestParams, spec_version: SpecVersion) {
        let served = self.shared_server.snapshot();
        let experimental = client.capabilities.experimental.as_ref();
        let bridged_lists = match self.session.is_lasting {
            true => bridge::lists_for(&client.client_info.name, experimental, &served),
            false => BridgedLists::default(),
        };
        let _ = self.session.negotiated.set(NegotiatedSession {
            client,
            spec_version,
            began: Instant::now(),
            capabilities: self.session_capabilities(&served, bridged_lists),
            revisions: served.revisions,
            bridged_lists,
        });
    }
}
