//! A request, from its arrival to its answer.

use std::net::IpAddr;
use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientRequest, ErrorData, RequestId, RequestMetaObject};
use tokio_util::sync::CancellationToken;

use crate::action::CallRecorder;
use crate::budget::Reservation;
use crate::catalog::CallTraits;
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::identity::{AccessControl, CallerSecrets};
use crate::redact::Redactor;
use crate::spec_version::SpecVersion;
use crate::telemetry::ClientName;
use crate::world::TraceContext;

use super::{
    capability::DeclaredCapabilities, error, method::Method, observer::EndNote, session::Session,
    snapshot::CatalogSnapshot,
};

/// A request as its transport hands it over.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    pub(crate) id: RequestId,
    pub(crate) message: Box<ClientRequest>,
    /// What its message takes, and later its answer.
    pub(crate) reservation: Arc<Reservation>,
    /// Cancelled when its client does not wait for the answer any more.
    pub(crate) cancel: CancellationToken,
    /// The size of its message.
    pub(crate) bytes: u64,
    pub(crate) sender: RequestSender,
}

/// Who sends a request, and from where.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestSender {
    pub(crate) access: AccessControl,
    /// What comes beside the request, to act upstream as who sends it.
    pub(crate) secrets: Arc<CallerSecrets>,
    /// The address over HTTP.
    pub(crate) address: Option<IpAddr>,
    /// The header `traceparent` over HTTP, where somebody wants it.
    pub(crate) traceparent: Option<Arc<str>>,
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
    /// The method; `None` where MCP has none of its name.
    pub(crate) method: Option<&'static Method>,
    /// What it does as a call; nothing, where it is another request.
    pub(crate) traits: CallTraits,
    /// The newest version with sessions where none has begun.
    pub(crate) version: SpecVersion,
    /// What is declared: to its session at its start, or else by the catalog. `None` where no session has begun.
    pub(crate) capabilities: Option<DeclaredCapabilities>,
    pub(super) session: Arc<Session>,
    /// The address that it comes from over HTTP.
    pub(crate) address: Option<IpAddr>,
    /// The size of its message.
    pub(crate) bytes: u64,
    /// The trace of its programs and requests.
    pub(crate) trace: TraceContext,
    /// What records its steps, where an observer wants them.
    pub(crate) recorder: Option<Arc<CallRecorder>>,
    /// What its observers are told of its end.
    pub(crate) end_note: EndNote,
}

impl McpRequest {
    /// Who asks: as the request says, or else the session.
    pub(crate) fn client_name(&self) -> Option<ClientName> {
        let info = self.meta.get("io.modelcontextprotocol/clientInfo");
        let text = |key: &str| info?.get(key)?.as_str().map(str::to_owned);
        let stated = text("name").zip(text("version")).map(|(name, version)| ClientName { name, version });
        stated.or_else(|| Some(ClientName::from(&self.session.negotiated()?.client.client_info)))
    }

    /// The error of a request that needs what replicas share while that is away. It was not done.
    pub(crate) fn store_is_away(&self) -> ErrorData {
        self.end_note.set_unavailable();
        error::store_is_away()
    }

    /// Notes, for who is told of requests, that its caller may not do it.
    pub(crate) fn note_refusal(&self, refusal: &Refusal) {
        let has = |scope: &String| self.access.identity().is_some_and(|caller| caller.scopes.contains(scope));
        match refusal.kind {
            RefusalKind::InsufficientScope => {
                self.end_note.refuse(refusal.required_scopes().into_iter().filter(|scope| !has(scope)).collect());
            }
            RefusalKind::NotPermitted | RefusalKind::LimitReached => self.end_note.refuse(Vec::new()),
            _ => {}
        }
    }

    /// The trace that it is part of.
    pub(crate) fn trace_id(&self) -> Option<&str> {
        let traceparent = self.meta.get("traceparent")?.as_str()?;
        traceparent.split('-').nth(1).filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }

    /// What its client can do: as the request says, or else the session.
    pub(crate) fn client_capabilities(&self) -> Option<ClientCapabilities> {
        let of_session = || Some(self.session.negotiated()?.client.capabilities.clone());
        self.meta.client_capabilities().or_else(of_session)
    }
}
