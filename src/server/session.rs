//! What a connection has agreed on, and what each of its requests may therefore ask.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    RoleServer,
    model::{ErrorData, InitializeRequestParams, InitializeResult, ProtocolVersion},
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::Notify;

use crate::action::Level;

use super::{
    Server,
    capability::{Kind, Kinds},
    error,
    limit::Allowance,
    older::Older,
    pace::Pace,
    served::{News, Served, VERSIONS},
};

/// The state of one connection. Requests of 2026-07-28 bring all they need and leave nothing here.
pub(crate) struct Session {
    agreed: OnceLock<Agreed>,
    announcing: AtomicBool,
    watched: Mutex<HashMap<String, Watched>>,
    /// What resources were when a stream was accepted that has not begun yet: what changes then is due to it. Only where
    /// a connection is one request, and this ends with it.
    accepted: Mutex<HashMap<String, Option<u64>>>,
    /// Rings when a resource is watched whose catalog may be replaced already.
    pub(crate) bell: Notify,
    /// The least grave log messages that the client wants.
    level: Mutex<Level>,
    log_pace: Mutex<Pace>,
    /// The client's roots, until it says that they changed.
    roots: Mutex<Option<(RootsAge, Value)>>,
    /// What its client may still ask for.
    pub(crate) allowance: Allowance,
}

/// Log messages that are sent at once, and then each second.
const LOGS: (u32, u32) = (200, 50);

impl Default for Session {
    fn default() -> Session {
        Session {
            agreed: OnceLock::default(),
            announcing: AtomicBool::default(),
            watched: Mutex::default(),
            accepted: Mutex::default(),
            bell: Notify::default(),
            level: Mutex::new(Level::Info),
            log_pace: Mutex::new(Pace::new(LOGS.0, LOGS.1)),
            roots: Mutex::default(),
            allowance: Allowance::default(),
        }
    }
}

/// What `initialize` has settled for as long as the session lives.
pub(crate) struct Agreed {
    pub(crate) era: Era,
    pub(crate) kinds: Kinds,
    /// What the client has seen when it begins.
    pub(crate) news: News,
}

/// How often the client had said that its roots changed when it made a request. Nothing else tells whether they are
/// known to one that came right behind such word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RootsAge(u64);

impl RootsAge {
    /// That of requests behind another such word.
    pub(crate) fn next(self) -> RootsAge {
        RootsAge(self.0 + 1)
    }
}

/// A resource that the client wants to hear of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) generation: u64,
    pub(crate) print: Option<u64>,
}

/// The version in which a request is made, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Era {
    fn of(version: &ProtocolVersion) -> Era {
        match version.as_str() {
            "2024-11-05" => Era::V2024_11_05,
            "2025-03-26" => Era::V2025_03_26,
            "2025-06-18" => Era::V2025_06_18,
            _ => Era::V2025_11_25,
        }
    }

    /// Whether requests stand for themselves, without a session.
    pub(crate) fn is_modern(self) -> bool {
        self >= Era::V2026_07_28
    }
}

/// A request that may be answered: by this catalog, in this version, to its end.
pub(crate) struct Admitted {
    pub(crate) served: Arc<Served>,
    pub(crate) era: Era,
}

impl Session {
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        self.agreed.get()
    }

    pub(crate) fn watched(&self) -> MutexGuard<'_, HashMap<String, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn accepted(&self) -> MutexGuard<'_, HashMap<String, Option<u64>>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log_level(&self) -> Level {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_log_level(&self, level: Level) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// The client's roots, as it told them, and to which requests they are new enough.
    pub(crate) fn roots(&self) -> MutexGuard<'_, Option<(RootsAge, Value)>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log_pace(&self) -> MutexGuard<'_, Pace> {
        self.log_pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody announces changes to this session yet; true once.
    pub(crate) fn begin_announcing(&self) -> bool {
        !self.announcing.swap(true, Ordering::AcqRel)
    }
}

/// Answers `initialize`, once in a session.
pub(crate) fn initialize(
    server: &Server,
    request: InitializeRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<InitializeResult, ErrorData> {
    if is_modern(context) {
        return Err(error::unknown_method("initialize"));
    }
    let served = server.live.current();
    let version = negotiated(&request.protocol_version);
    let agreed = Agreed { era: Era::of(&version), kinds: served.kinds.in_session(), news: served.news };
    if server.session.agreed.set(agreed).is_err() {
        return Err(ErrorData::invalid_request("the session has begun already; it cannot begin again", None));
    }
    let mut result = served.config.clone();
    result.leave_out(Era::of(&version));
    result.protocol_version = version.clone();
    let mut peer = request;
    peer.protocol_version = version;
    // Nobody looks at them, and they may be large.
    peer.client_info.icons = None;
    context.peer.set_peer_info(peer);
    Ok(result)
}

/// The version that the client asks for, or else the newest that has sessions.
fn negotiated(requested: &ProtocolVersion) -> ProtocolVersion {
    let mut sessions = VERSIONS.iter().filter(|version| version.has_initialize());
    let version = sessions.clone().find(|version| *version == requested).or_else(|| sessions.next_back());
    version.cloned().unwrap_or(ProtocolVersion::V_2025_11_25)
}

/// Whether the request itself says that it is one of 2026-07-28.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    !context.meta.is_empty()
        && context.meta.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Where a request of 2026-07-28 says which log messages it wants.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

impl Server {
    /// Tells in which version a request is made.
    pub(crate) fn era(&self, context: &RequestContext<RoleServer>) -> Result<Era, ErrorData> {
        if is_modern(context) {
            let meta = &context.meta;
            let wrong = meta.contains_key(LOG_LEVEL) && meta.log_level().is_none();
            return if wrong { Err(error::unknown_level()) } else { Ok(Era::V2026_07_28) };
        }
        self.session.agreed().map(|agreed| agreed.era).ok_or_else(error::not_begun)
    }

    /// Lets a request pass that asks for a kind of thing that was declared: to the session when it began, or
    /// without one by the catalog of the moment.
    pub(crate) fn admit(&self, kind: Kind, context: &RequestContext<RoleServer>) -> Result<Admitted, ErrorData> {
        let era = self.era(context)?;
        let served = self.live.current();
        let kinds = match self.session.agreed() {
            Some(agreed) if !era.is_modern() => agreed.kinds,
            _ => served.kinds,
        };
        if kinds.has(kind) { Ok(Admitted { served, era }) } else { Err(error::undeclared(kind)) }
    }
}
