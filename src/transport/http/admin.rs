//! The listener for operators: metrics, and whether the server is well.

use std::{fmt::Write, net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    extract::Request,
    http::{Method, StatusCode},
    response::Response,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::HttpAccess,
    server::SharedServer,
    telemetry::{Audit, IssuerState, Metrics, MetricsSnapshot},
};

use super::{
    HttpError, access_guard::AccessGuard, admission::Admission, bind_listener, connections::Connections,
    response::build_response, response::denied_response, response::method_not_allowed, response::text_response,
};

/// The media type of the text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A bound address for operators, before it serves.
pub struct AdminListener {
    listener: TcpListener,
    address: SocketAddr,
}

/// What operators are told of.
#[derive(Clone)]
pub struct AdminView {
    pub shared_server: SharedServer,
    pub metrics: Arc<Metrics>,
    pub audit: Option<Arc<Audit>>,
}

impl AdminListener {
    /// Takes the address.
    ///
    /// # Errors
    /// It cannot be listened on.
    pub async fn bind(address: SocketAddr) -> Result<AdminListener, HttpError> {
        let (listener, address) = bind_listener(address).await?;
        Ok(AdminListener { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers operators until `stop` is cancelled.
    pub async fn serve(self, view: AdminView, stop: CancellationToken) {
        // Web pages reach what listens on this machine alone by a name of their own.
        let guard = self.address.ip().is_loopback().then(|| AccessGuard::new(self.address, false));
        let guard = Arc::new(guard);
        let admission = Arc::new(Admission::new(view.shared_server.clone()));
        let connections = Connections::new(view.shared_server.clone(), admission);
        let answer = move |_, request: Request| {
            let (guard, view) = (guard.clone(), view.clone());
            async move {
                let checked =
                    guard.as_ref().as_ref().map(|guard| guard.check_host_and_origin(&request, &HttpAccess::default()));
                match checked {
                    Some(Err(denied)) => denied_response(&denied),
                    _ => view.answer(&request),
                }
            }
        };
        connections.serve(self.listener, stop, answer).await;
    }
}

impl AdminView {
    fn answer(&self, request: &Request) -> Response {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return method_not_allowed("GET, HEAD");
        }
        let is_verbose = request.uri().query().is_some_and(|query| query.split('&').any(|key| key == "verbose"));
        match request.uri().path() {
            "/livez" => text_response(StatusCode::OK, "ok\n"),
            "/readyz" => self.readiness(is_verbose),
            "/metrics" => build_response(StatusCode::OK, METRICS_TYPE, Body::from(self.metrics_text())),
            _ => {
                text_response(StatusCode::NOT_FOUND, "here are `/metrics`, `/livez`, `/readyz` and `/readyz?verbose`\n")
            }
        }
    }

    /// Whether clients may be sent here. A manifest that cannot be loaded again does not matter to that: the last good one
    /// is served.
    fn readiness(&self, is_verbose: bool) -> Response {
        let is_draining = self.shared_server.health().is_draining();
        let status = if is_draining { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        let words = match (is_verbose, is_draining) {
            (true, _) => self.details(),
            (false, true) => "stopping\n".to_owned(),
            (false, false) => "ok\n".to_owned(),
        };
        text_response(status, words)
    }

    fn details(&self) -> String {
        let (health, catalog) = (self.shared_server.health(), self.shared_server.catalog());
        let catalog_state = match health.reloads().last_failed {
            true => "the last reload failed; the last good version is served",
            false => "good",
        };
        let draining = if health.is_draining() { "yes" } else { "no" };
        let mut text = format!("catalog: {catalog_state}\ndraining: {draining}\n");
        for issuer in catalog.http_settings().auth.iter().flat_map(|auth| &auth.issuers) {
            let state = match health.issuer(&issuer.issuer) {
                Some(IssuerState::Reachable) => "reachable",
                Some(IssuerState::Unreachable) => "the last fetch of its keys failed",
                None => "not asked yet",
            };
            let _ = writeln!(text, "issuer {}: {state}", issuer.issuer);
        }
        if let Some(is_reachable) = self.shared_server.store().is_reachable() {
            let _ = writeln!(text, "store: {}", if is_reachable { "reachable" } else { "away" });
        }
        if let Some(audit) = &self.audit {
            let _ = writeln!(text, "audit: {} lines lost", audit.lost());
        }
        text
    }

    fn metrics_text(&self) -> String {
        let programs = self.shared_server.world().program_counts();
        self.metrics.render(&MetricsSnapshot {
            in_flight: self.shared_server.running_calls(),
            reloads: self.shared_server.health().reloads(),
            programs_started: programs.started,
            programs_running: programs.running,
            is_store_reachable: self.shared_server.store().is_reachable().unwrap_or(true),
            audit_lost: self.audit.as_ref().map_or(0, |audit| audit.lost()),
        })
    }
}
