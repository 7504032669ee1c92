//! A request, from its arrival to its answer.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientRequest, Implementation, RequestId, RequestMetaObject};
use tokio_util::sync::CancellationToken;

use crate::budget::Reservation;
use crate::identity::{AccessControl, CallerSecrets};
use crate::redact::Redactor;
use crate::spec_version::SpecVersion;

use super::{capability::DeclaredCapabilities, session::Session, snapshot::CatalogSnapshot};

/// A request as its transport hands it over.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    pub(crate) id: RequestId,
    pub(crate) request: Box<ClientRequest>,
    /// What its message takes, and later its answer.
    pub(crate) reservation: Arc<Reservation>,
    /// Cancelled when its client does not wait for the answer any more.
    pub(crate) cancel: CancellationToken,
    /// Who sends it.
    pub(crate) access: AccessControl,
    /// What came beside it, to act upstream as who sends it.
    pub(crate) secrets: Arc<CallerSecrets>,
}

/// What finds the secrets of a catalog, and those that came beside a request.
pub(super) fn request_redactor(of_catalog: &Arc<Redactor>, secrets: &CallerSecrets) -> Arc<Redactor> {
    if secrets.is_empty() { of_catalog.clone() } else { Arc::new(of_catalog.with(secrets.values())) }
}

/// A request on its way to the answer, without the parameters of its method: all that is answered to it comes from one
/// snapshot, in one version.
pub(crate) struct McpRequest {
    pub(crate) id: RequestId,
    pub(crate) meta: RequestMetaObject,
    pub(crate) cancel: CancellationToken,
    pub(crate) reservation: Arc<Reservation>,
    /// Who sent it.
    pub(crate) access: AccessControl,
    /// What came beside it, to act upstream as who sent it.
    pub(crate) secrets: Arc<CallerSecrets>,
    /// Finds the secrets of the catalog, and those that came beside the request.
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) snapshot: Arc<CatalogSnapshot>,
    /// The newest version with sessions where none has begun.
    pub(crate) version: SpecVersion,
    /// What is declared: to its session at its start, or else by the catalog. `None` where no session has begun.
    pub(crate) capabilities: Option<DeclaredCapabilities>,
    pub(super) session: Arc<Session>,
}

impl McpRequest {
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
