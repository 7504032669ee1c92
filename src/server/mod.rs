//! The MCP server: answers protocol requests of every supported version by calling the catalog.
//!
//! [`SharedServer`] holds the current catalog; a [`ConnectionHandler`] serves one connection. A request uses one
//! snapshot from beginning to end. Messages are carried in transport/; prompts, tools and resources are in catalog/.

#![allow(deprecated, reason = "what 2026-07-28 deprecates, such as logging, it still has, and older versions too")]

mod access;
mod bridge;
mod run_call;
mod call_log;
mod capability;
mod client;
mod completion;
mod error;
mod dispatch;
mod method;
mod outgoing;
mod peer;
mod request;
mod client_rate_limit;
mod list_pages;
mod shared_server;
mod log_level;
mod observer;
mod throttle;
mod version_keys;
mod prompts;
mod protocol_version;
mod question;
mod resources;
mod snapshot;
mod session;
mod session_record;
mod skills;
mod replicas;
mod request_state;
mod output_shape;
mod subscription;
mod task_record;
mod task_table;
mod tasks;
#[cfg(test)]
pub(crate) mod testing;
mod tool_search;
mod tools;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use rmcp::model::ErrorData;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use error::{InvalidParams, refusal_error};
pub(crate) use method::{Method, request_subject};
pub(crate) use outgoing::{OutgoingKind, OutgoingMessage};
pub(crate) use peer::{MessageSink, Peer};
pub(crate) use protocol_version::stated_version;
pub(crate) use request::{IncomingRequest, RequestSender};
pub(crate) use session_record::{
    SessionChange, SessionEvent, SessionInbox, SessionMessage, SessionRecord, SharedSession,
};
pub(crate) use shared_server::ConnectionKind;
pub use shared_server::{ServeOptions, SharedServer};
pub(crate) use subscription::{announce_everything, start_change_notifications};

use crate::spec_version::SpecVersion;
use crate::telemetry::{ClientName, Limit};

use self::{client_rate_limit::RequestCost, request::McpRequest, session::Session};

/// The handler of one connection, made by [`SharedServer::connect`].
pub(crate) struct ConnectionHandler {
    shared_server: SharedServer,
    session: Arc<Session>,
    peer: Arc<Peer>,
    /// Whether other replicas may serve its session.
    shared_session: Option<SharedSession>,
    /// Its client, once that is observed.
    client: OnceLock<ClientName>,
    /// Cancelled when calls and streams are to end: the server stops, or the input of the connection has ended.
    stop: CancellationToken,
    _disconnect_guard: DropGuard,
    disconnected: CancellationToken,
}

impl ConnectionHandler {
    /// The client of the connection.
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The version of its session, once that has begun.
    pub(crate) fn session_version(&self) -> Option<SpecVersion> {
        self.session.negotiated().map(|session| session.spec_version)
    }

    /// Charges its caller for a request, or refuses that.
    fn charge(&self, request: &McpRequest, cost: RequestCost) -> Result<(), ErrorData> {
        let duration = cost.duration(request.snapshot.catalog.limits().calls_per_second);
        request.reservation.caller().charge(duration).map_err(|wait| {
            self.tell_of_limit();
            request.end_note.refuse(Vec::new());
            error::rate_limited(wait)
        })
    }

    fn tell_of_limit(&self) {
        let observers = self.shared_server.observers();
        observers.into_iter().for_each(|all| all.tell(|observer| observer.on_limit(Limit::Calls)));
    }
}

/// In what time every call has an answer after the server stops; what is left of a second is for the client to read it.
pub const STOP_TIMEOUT: Duration = Duration::from_millis(600);
