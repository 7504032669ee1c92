//! Tells the log and observers of requests that are refused before their message is answered.

use std::{borrow::Cow, net::IpAddr, time::Instant};

use axum::{
    extract::Request,
    http::{HeaderValue, Method, StatusCode, Uri},
    response::Response,
};

use crate::{
    catalog::Catalog,
    diagnostic::truncate,
    identity::AccessControl,
    server::SharedServer,
    telemetry::{HttpRefusal, RefusalReason},
};

use super::{access_guard::AccessDenial, authentication::AuthDenial, session::SESSION_ID_HEADER};

/// How much of what a client sends in a head is repeated.
const MAX_SHOWN_CHARS: usize = 128;

/// Why a response refuses its request, which travels beside the response to where that is told.
#[derive(Debug, Clone)]
pub(super) struct RefusalNote {
    reason: RefusalReason,
    /// More of it, in words of folio.
    detail: Option<Cow<'static, str>>,
    /// Those that the request needs, where its caller lacks any.
    needed_scopes: Vec<String>,
}

impl From<RefusalReason> for RefusalNote {
    fn from(reason: RefusalReason) -> RefusalNote {
        RefusalNote { reason, detail: None, needed_scopes: Vec::new() }
    }
}

impl RefusalNote {
    pub(super) fn of_denial(denial: &AuthDenial) -> RefusalNote {
        match denial {
            AuthDenial::SharedToken => RefusalReason::InvalidToken.into(),
            AuthDenial::InvalidToken(reason) => {
                RefusalNote { detail: Some((*reason).into()), ..RefusalReason::InvalidToken.into() }
            }
            AuthDenial::MissingToken(_) => RefusalReason::MissingToken.into(),
            AuthDenial::InsufficientScope(scopes) => {
                RefusalNote { needed_scopes: scopes.clone(), ..RefusalReason::InsufficientScope.into() }
            }
            AuthDenial::IssuerUnavailable => RefusalReason::IssuerUnavailable.into(),
        }
    }

    pub(super) fn of_access(denied: &AccessDenial) -> RefusalNote {
        RefusalNote::from(match denied {
            AccessDenial::InvalidHost | AccessDenial::Host => RefusalReason::Host,
            AccessDenial::Origin => RefusalReason::Origin,
        })
    }

    /// The same with more words of folio.
    pub(super) fn with_detail(self, detail: String) -> RefusalNote {
        RefusalNote { detail: Some(detail.into()), ..self }
    }

    /// What a status says by itself.
    pub(super) fn of_status(status: StatusCode) -> Option<RefusalNote> {
        let reason = match status {
            StatusCode::BAD_REQUEST
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_ACCEPTABLE
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
            | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => RefusalReason::InvalidMessage,
            StatusCode::REQUEST_TIMEOUT => RefusalReason::Timeout,
            StatusCode::PAYLOAD_TOO_LARGE => RefusalReason::TooLarge,
            StatusCode::TOO_MANY_REQUESTS => RefusalReason::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => RefusalReason::Busy,
            _ => return None,
        };
        Some(reason.into())
    }
}

/// What is known of a request before it is answered.
pub(super) struct RequestHead {
    began: Instant,
    method: Method,
    uri: Uri,
    session: Option<HeaderValue>,
    /// Where its client is.
    pub(super) address: IpAddr,
    /// Who sent it, once that is known.
    pub(super) access: AccessControl,
}

impl RequestHead {
    pub(super) fn new(request: &Request, address: IpAddr) -> RequestHead {
        RequestHead {
            began: Instant::now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            session: request.headers().get(SESSION_ID_HEADER).cloned(),
            address,
            access: AccessControl::default(),
        }
    }

    /// Tells that the request was refused, if a response says so.
    pub(super) fn tell_of_refusal(&self, response: &mut Response, shared_server: &SharedServer, catalog: &Catalog) {
        let Some(note) = response.extensions_mut().remove::<RefusalNote>() else { return };
        let (status, reason) = (response.status(), note.reason.as_str());
        let session = self.session.as_ref().and_then(|id| id.to_str().ok());
        let session = session.map(|session| truncate(session, MAX_SHOWN_CHARS));
        let (session, path) = (session.as_deref(), &*truncate(self.uri.path(), MAX_SHOWN_CHARS));
        let logged = [
            StatusCode::UNAUTHORIZED,
            StatusCode::FORBIDDEN,
            StatusCode::PAYLOAD_TOO_LARGE,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        if logged.contains(&status) {
            let (status, address) = (status.as_u16(), self.address.to_string());
            let of_session = session.map(|session| format!(", session {session:?}")).unwrap_or_default();
            let detail = note.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let line = format!("refused {status} to {address}: {reason}{detail}{of_session}");
            tracing::info!(target: "folio::http", status, reason, address, session, path, "{line}");
        }
        let Some(observers) = shared_server.observers() else { return };
        let identity = self.access.identity();
        let has = |scope: &String| identity.is_some_and(|identity| identity.scopes.contains(scope));
        let missing_scopes: Vec<String> = note.needed_scopes.into_iter().filter(|scope| !has(scope)).collect();
        let refusal = HttpRefusal {
            reason: note.reason,
            detail: note.detail.as_deref(),
            status: status.as_u16(),
            http_method: self.method.as_str(),
            path,
            identity: identity.map(AsRef::as_ref),
            session,
            address: Some(self.address),
            missing_scopes: &missing_scopes,
            elapsed: self.began.elapsed(),
            manifest: catalog.digest(),
        };
        observers.tell(|observer| observer.on_http_refusal(&refusal));
    }
}
