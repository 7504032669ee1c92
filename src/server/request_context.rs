//! What a request comes with.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientRequest, Implementation, RequestId, RequestMetaObject};
use tokio_util::sync::CancellationToken;

use crate::budget::Reservation;

use super::session::Session;

/// A request as its transport hands it over.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    pub(crate) id: RequestId,
    pub(crate) request: ClientRequest,
    /// What its message takes, and later its answer.
    pub(crate) reservation: Arc<Reservation>,
    /// Cancelled when its client does not wait for the answer any more.
    pub(crate) cancel: CancellationToken,
}

/// A request on its way to the answer, without the parameters of its method.
pub(crate) struct RequestContext {
    pub(crate) id: RequestId,
    pub(crate) meta: RequestMetaObject,
    pub(crate) cancel: CancellationToken,
    pub(crate) reservation: Arc<Reservation>,
    pub(super) session: Arc<Session>,
    /// Whether it is of 2026-07-28, which has no sessions.
    pub(crate) is_sessionless: bool,
}

impl RequestContext {
    /// Who asks: as the request says, or else the session.
    pub(crate) fn client_info(&self) -> Option<Implementation> {
        let of_session = || Some(self.session.negotiated()?.client.client_info.clone());
        self.meta.client_info().or_else(of_session)
    }

    /// What its client can do: as the request says, or else the session.
    pub(crate) fn client_capabilities(&self) -> Option<ClientCapabilities> {
        let of_session = || Some(self.session.negotiated()?.client.capabilities.clone());
        self.meta.client_capabilities().or_else(of_session)
    }
}
