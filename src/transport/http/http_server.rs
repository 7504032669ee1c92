//! What every request meets, in this order: health checks, Host and Origin, the token, and then its method.

use std::{
    future::pending,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::{StreamExt, stream};
use http_body::Body as _;
use rmcp::model::RequestId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, HttpAccess};
use crate::identity::AccessControl;
use crate::server::{RequestSender, SharedServer};

use super::{
    BoundServer, DevPage, SessionHome,
    accept::Accepted,
    access_guard::AccessGuard,
    admission::{Admission, AdmissionGuard, AdmittedKind},
    authentication::{AuthDenial, Authentication, RECHECK_INTERVAL, Sender},
    connection::{HttpConnection, Phase},
    event_stream::{self, StreamKind},
    forwarded,
    health::answer_health_check,
    post,
    refusal::RequestHead,
    request_head::{check_body_type, check_known_version, check_version_header, is_sessionless, protocol_version},
    response::{RefusedRequest, add_cors_headers, denied_response, method_not_allowed, other_path, text_response},
    resumed_events,
    session::{HttpSession, SESSION_ID_HEADER},
    sessions::Sessions,
    sleep_until_due,
    sse::{self, SsePaths},
    stream_name::StreamName,
};

/// Where the tokens of open streams come from when they are checked again: they share the room for that.
const STREAMS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What a client of a session is told that names none.
pub(super) const SESSION_REQUIRED: &str =
    "Bad Request: Session ID is required; send `initialize` first, or `MCP-Protocol-Version: 2026-07-28`";

/// What every request is answered with.
pub(super) struct HttpServer {
    pub(super) path: String,
    pub(super) sse: Option<SsePaths>,
    pub(super) shared_server: SharedServer,
    pub(super) guard: AccessGuard,
    pub(super) authentication: Authentication,
    pub(super) admission: Arc<Admission>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) session_home: SessionHome,
    pub(super) keep_alive: Duration,
    pub(super) page: Option<DevPage>,
    /// Cancelled when the server stops.
    pub(super) stop: CancellationToken,
    /// Cancelled when nothing is answered any more.
    pub(super) shutdown: CancellationToken,
}

impl HttpServer {
    /// Who may send requests.
    fn access<'a>(&'a self, catalog: &'a Catalog) -> &'a HttpAccess {
        self.page.as_ref().map_or(&catalog.http_settings().access, |page| &page.access)
    }

    /// Who sends a request with these headers: by the token of the manifest, or of the page of `folio dev`, or as `auth` says.
    pub(super) async fn identify(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        catalog: &Catalog,
    ) -> Result<Sender, AuthDenial> {
        if let Some(settings) = catalog.http_settings().auth.as_ref().filter(|_| self.page.is_none()) {
            return self.authentication.identify(headers, address, settings, catalog).await;
        }
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let (shown, None) = (shown.next(), shown.next()) else { return Err(AuthDenial::SharedToken) };
        let is_accepted = self.guard.accepts_token(shown, self.access(catalog));
        if is_accepted { Ok(Sender::default()) } else { Err(AuthDenial::SharedToken) }
    }

    /// Returns when the token that these headers show is not good any more: for the answer to a request, when the token of
    /// the manifest changes.
    pub(super) fn wait_for_revocation(
        self: Arc<HttpServer>,
        headers: &HeaderMap,
        kind: StreamKind,
    ) -> impl Future<Output = ()> + Send + use<> {
        let shown = headers.get_all(header::AUTHORIZATION).iter().map(|value| (header::AUTHORIZATION, value.clone()));
        let headers = HeaderMap::from_iter(shown);
        let mut catalogs = self.shared_server.subscribe();
        async move {
            let mut known: Option<AccessControl> = None;
            loop {
                // What is changed from here on is noticed below.
                catalogs.mark_unchanged();
                let catalog = self.shared_server.catalog();
                if kind == StreamKind::Answer && catalog.http_settings().auth.is_some() {
                    return pending().await;
                }
                let identified = self.identify(&headers, STREAMS, &catalog).await;
                let checked = identified.and_then(|sender| {
                    Authentication::check_scopes(sender.access(), &catalog)?;
                    let (recheck_after, access) = (sender.recheck_after(), sender.request_sender.access);
                    Ok((recheck_after, known.replace(access.clone()).is_none_or(|known| known.grants_as(&access))))
                });
                let recheck_after = match checked {
                    Ok((recheck_after, true)) => recheck_after,
                    // It grants something else now: the client listens again.
                    Ok((_, false)) => return,
                    // Nobody says that the token is not good.
                    Err(AuthDenial::IssuerUnavailable) => Some(RECHECK_INTERVAL),
                    Err(_) => return,
                };
                drop(catalog);
                tokio::select! {
                    changed = catalogs.changed() => if changed.is_err() { return pending().await },
                    () = sleep_until_due(recheck_after.map(|time| Instant::now() + time)) => {}
                }
            }
        }
    }

    /// Lets the requests of one message in, or a stream. The refusal answers what has this id.
    pub(super) fn admit(
        &self,
        sender: &Sender,
        kind: AdmittedKind,
        amount: usize,
        id: Option<&RequestId>,
    ) -> Result<Option<Arc<AdmissionGuard>>, RefusedRequest> {
        if amount == 0 {
            return Ok(None);
        }
        let guard = self.admission.admit(&sender.account, kind, amount as u64);
        let guard = guard.map_err(|reached| RefusedRequest::limit_reached(id.cloned(), reached))?;
        Ok(Some(Arc::new(guard)))
    }

    pub(super) fn new(
        bound: &BoundServer,
        shared_server: &SharedServer,
        stop: CancellationToken,
        shutdown: CancellationToken,
    ) -> HttpServer {
        let options = &bound.options;
        let sessions = Arc::new(Sessions::new(shared_server.clone(), options.sessions, shutdown.clone()));
        shared_server.set_session_inbox(sessions.clone());
        HttpServer {
            path: options.path.clone(),
            sse: options.sse.then(|| SsePaths::for_endpoint(&options.path)),
            guard: AccessGuard::new(bound.address, bound.needs_token()).with_links(options.page.is_some()),
            authentication: Authentication::new(shared_server, bound.url()),
            admission: Arc::new(Admission::new(shared_server.clone())),
            shared_server: shared_server.clone(),
            shutdown,
            sessions,
            session_home: options.sessions,
            keep_alive: options.keep_alive,
            page: options.page.clone(),
            stop,
        }
    }
}

pub(super) async fn handle_request(
    http_server: Arc<HttpServer>,
    connection: Arc<HttpConnection>,
    request: Request,
) -> Response {
    if request.body().is_end_stream() {
        connection.enter_phase(Phase::Response);
    }
    let path = request.uri().path();
    // The `admin` listener goes by the same flag, so that both say the same.
    let is_stopping = http_server.shared_server.health().is_draining();
    let health = answer_health_check(request.method(), path, is_stopping);
    if let Some(health) = health.filter(|_| path != http_server.path) {
        return health;
    }
    let catalog = http_server.shared_server.catalog();
    let trusted_proxies = &catalog.http_settings().trusted_proxies;
    let address = forwarded::client_address(connection.address(), request.headers(), trusted_proxies);
    let mut head = RequestHead::new(&request, address);
    let access = http_server.access(&catalog);
    let origin = match http_server.guard.check_host_and_origin(&request, access) {
        Ok(origin) => origin,
        // Its words are constant: there is nothing to hide in them.
        Err(denied) => {
            let mut response = denied_response(&denied);
            head.tell_of_refusal(&mut response, &http_server.shared_server, &catalog);
            return response;
        }
    };
    if let Some(file) = http_server.page.as_ref().and_then(|_| DevPage::file(request.method(), path)) {
        return file;
    }
    let answered = if request.method() == Method::OPTIONS && origin.is_some() {
        Ok(text_response(StatusCode::NO_CONTENT, ""))
    } else {
        answer_request(&http_server, &connection, request, &catalog, &mut head).await
    };
    let redactors = http_server.shared_server.redactors();
    let mut response = answered.unwrap_or_else(|refused| refused.into_response(redactors));
    if http_server.stop.is_cancelled() {
        // So that no proxy sends its next request on a connection that is about to be closed.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    head.tell_of_refusal(&mut response, &http_server.shared_server, &catalog);
    if let Some(origin) = origin {
        add_cors_headers(response.headers_mut(), origin, &catalog.http_settings().caller_headers);
    }
    response
}

/// Answers a request of a caller who may send one.
async fn answer_request(
    http_server: &Arc<HttpServer>,
    connection: &HttpConnection,
    request: Request,
    catalog: &Catalog,
    head: &mut RequestHead,
) -> Result<Response, RefusedRequest> {
    let path = request.uri().path();
    if let Some(metadata) = http_server.authentication.metadata(request.method(), path, catalog) {
        return Ok(metadata);
    }
    let page = http_server.page.as_ref().filter(|_| DevPage::has_path(path));
    let sse = http_server.sse.as_ref().filter(|paths| paths.contains(path));
    if sse.is_none() && page.is_none() && path.trim_end_matches('/') != http_server.path.trim_end_matches('/') {
        return Err(other_path(&http_server.path, path));
    }
    let refused = |denial| http_server.authentication.denied_response(&denial, catalog);
    let sender = http_server.identify(request.headers(), head.address, catalog).await.map_err(refused)?;
    let account = http_server.admission.account(sender.access(), head.address);
    let wants_trace = http_server.shared_server.observers().is_some_and(|observers| observers.parts().traceparent);
    let traceparent = request.headers().get("traceparent").filter(|_| wants_trace);
    let traceparent = traceparent.and_then(|header| header.to_str().ok()).map(Arc::from);
    let request_sender = RequestSender { address: Some(head.address), traceparent, ..sender.request_sender };
    let sender = Sender { request_sender, account, ..sender };
    head.access = sender.access().clone();
    Authentication::check_scopes(sender.access(), catalog).map_err(refused)?;
    let sender = sender.with_secrets(request.headers(), catalog.http_settings())?;
    match (page, sse) {
        (Some(page), _) => page.answer(http_server, connection, request, &sender).await,
        (None, Some(paths)) => sse::handle_sse(http_server, paths, connection, request, sender).await,
        (None, None) => handle_mcp(http_server, connection, request, sender).await,
    }
}

async fn handle_mcp(
    http_server: &Arc<HttpServer>,
    connection: &HttpConnection,
    request: Request,
    sender: Sender,
) -> Result<Response, RefusedRequest> {
    let (parts, body) = request.into_parts();
    check_version_header(&parts.headers)?;
    let accepted = Accepted::from_headers(&parts.headers);
    match parts.method {
        Method::POST if !accepted.json && !accepted.event_stream => {
            Err(Accepted::refusal("application/json or text/event-stream"))
        }
        Method::POST => {
            check_body_type(&parts.headers)?;
            post::handle_post(http_server, connection, parts, body, accepted, sender).await
        }
        Method::GET if !accepted.event_stream => Err(Accepted::refusal("text/event-stream")),
        Method::GET | Method::DELETE
            if is_sessionless(protocol_version(&parts.headers)) || http_server.session_home == SessionHome::None =>
        {
            check_known_version(protocol_version(&parts.headers))?;
            Err(method_not_allowed("POST").into())
        }
        Method::GET => open_stream(http_server, &parts.headers, &sender).await,
        Method::DELETE => end_session(http_server, &parts.headers, &sender).await,
        _ => Err(method_not_allowed("GET, POST, DELETE").into()),
    }
}

/// The session that a `GET` or `DELETE` means.
async fn require_session(
    http_server: &HttpServer,
    headers: &HeaderMap,
    sender: &Sender,
) -> Result<Arc<HttpSession>, RefusedRequest> {
    check_known_version(protocol_version(headers))?;
    if !headers.contains_key(SESSION_ID_HEADER) {
        return Err(RefusedRequest::text(StatusCode::BAD_REQUEST, SESSION_REQUIRED));
    }
    http_server.sessions.named_by(headers, sender).await?.ok_or(RefusedRequest::SessionNotFound)
}

/// Opens the stream of what belongs to no request, or one that broke off.
async fn open_stream(
    http_server: &Arc<HttpServer>,
    headers: &HeaderMap,
    sender: &Sender,
) -> Result<Response, RefusedRequest> {
    let session = require_session(http_server, headers, sender).await?;
    let guard = http_server.admit(sender, AdmittedKind::Streams, 1, None)?;
    let last_event = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last_event = last_event.map(StreamName::parse_event_id);
    if let Some(Some((name, after))) = &last_event
        && name.number != 0
        && !session.writes(name)
    {
        let events = resumed_events::resume(&http_server.shared_server, session, name.clone(), *after);
        let events = events.map(move |event| {
            let _held_until_the_end = &guard;
            event
        });
        return Ok(event_stream::event_stream_response(events, http_server, headers, StreamKind::Answer));
    }
    let is_standalone = last_event.as_ref().is_none_or(|last| last.as_ref().is_some_and(|(name, _)| name.number == 0));
    let reader = match last_event {
        Some(Some((name, after))) if session.writes(&name) => session.resume(name.number, after),
        // The stream of what belongs to no request is each replica's own.
        Some(Some((name, _))) if name.replica.is_some() => session.listen(),
        Some(_) => None,
        None => session.listen(),
    };
    if is_standalone {
        session.note_listening().await;
    }
    // A stream that is gone is over: of an error, browsers would try again and again.
    let Some(reader) = reader else {
        return Ok(event_stream::event_stream_response(stream::empty(), http_server, headers, StreamKind::Answer));
    };
    let events = event_stream::read_session_events(reader, session.version()).map(move |event| {
        let _held_until_the_end = &guard;
        event
    });
    Ok(event_stream::event_stream_response(events, http_server, headers, StreamKind::Listening))
}

async fn end_session(
    http_server: &HttpServer,
    headers: &HeaderMap,
    sender: &Sender,
) -> Result<Response, RefusedRequest> {
    let session = require_session(http_server, headers, sender).await?;
    http_server.sessions.end_everywhere(&session).await?;
    Ok(text_response(StatusCode::NO_CONTENT, ""))
}
