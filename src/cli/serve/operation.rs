//! Starts what an operator sees of a server: its metrics, its readiness, its audit file and its traces.

use std::sync::Arc;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use super::dev_session::DevSession;
use crate::catalog::{Catalog, ServingMode};
use crate::cli::Output;
use crate::server::SharedServer;
use crate::telemetry::{Audit, Metrics, Observers, RequestObserver, Traces};
use crate::transport::http::{AdminListener, AdminView};

/// What an operator sees, while a server runs.
pub(super) struct Operation {
    audit: Option<Arc<Audit>>,
    traces: Option<Arc<Traces>>,
    admin: Option<(AdminListener, Arc<Metrics>)>,
    /// Cancelled when the process ends, which is after the server has stopped.
    end: CancellationToken,
}

impl Operation {
    /// Takes the address and opens the file that the manifest names.
    pub(super) async fn start(
        shared_server: &SharedServer,
        serving_mode: &ServingMode,
        dev: Option<&Arc<DevSession>>,
        output: &Output,
    ) -> anyhow::Result<Operation> {
        let catalog = shared_server.catalog();
        let is_http = matches!(serving_mode, ServingMode::Http(_));
        let admin = match bind_admin(&catalog, is_http && dev.is_none()).await? {
            Some(listener) => {
                output.eprint(&format!("admin listener on http://{}\n", listener.address()));
                Some((listener, Arc::new(Metrics::new(is_http)?)))
            }
            None => None,
        };
        let audit = match &catalog.operation_settings().audit {
            Some(settings) => {
                let audit = Audit::start(settings, shared_server.redactors());
                let path = settings.file.display();
                Some(Arc::new(audit.with_context(|| format!("cannot open the audit file `{path}`"))?))
            }
            None => None,
        };
        let traces = start_traces(&catalog, is_http, shared_server);
        let mut observers: Vec<Arc<dyn RequestObserver>> = Vec::new();
        if let Some(dev) = dev {
            dev.mask_with(shared_server.redactors().clone());
            observers.push(dev.clone());
        }
        observers.extend(admin.iter().map(|(_, metrics)| metrics.clone() as Arc<dyn RequestObserver>));
        observers.extend(audit.iter().map(|audit| audit.clone() as Arc<dyn RequestObserver>));
        observers.extend(traces.iter().map(|traces| traces.clone() as Arc<dyn RequestObserver>));
        if !observers.is_empty() {
            // So that no request waits for it.
            catalog.digest();
            shared_server.set_observers(Observers::new(observers));
        }
        Ok(Operation { audit, traces, admin, end: CancellationToken::new() })
    }

    /// Answers operators from now on.
    pub(super) fn serve(&mut self, shared_server: &SharedServer) {
        let Some((listener, metrics)) = self.admin.take() else { return };
        let view = AdminView { shared_server: shared_server.clone(), metrics, audit: self.audit.clone() };
        tokio::spawn(listener.serve(view, self.end.clone()));
    }

    /// Ends with the process.
    pub(super) async fn end(self) {
        self.end.cancel();
        let ended = tokio::task::spawn_blocking(move || {
            self.audit.iter().for_each(|audit| audit.flush());
            self.traces.iter().for_each(|traces| traces.end());
        });
        let _ = ended.await;
    }
}

/// Begins to send traces. A collector is no part of the service: without one the server runs all the same.
fn start_traces(catalog: &Catalog, is_http: bool, shared_server: &SharedServer) -> Option<Arc<Traces>> {
    catalog.operation_settings().telemetry?;
    match Traces::start(&catalog.server().name, is_http, shared_server.redactors()) {
        Ok(traces) => traces.map(Arc::new),
        Err(error) => {
            tracing::warn!(target: "folio::telemetry", "no spans are sent: {error}");
            None
        }
    }
}

/// Takes the address for operators. A client may start several servers of one manifest over pipes, and an author may work
/// on one that is served: these go without.
async fn bind_admin(catalog: &Catalog, is_needed: bool) -> anyhow::Result<Option<AdminListener>> {
    let Some(address) = catalog.operation_settings().admin else { return Ok(None) };
    match AdminListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if is_needed => Err(error).context("cannot listen for operators, at `admin.listen`"),
        Err(error) => {
            tracing::warn!(target: "folio::serve", "no metrics are served: {error}");
            Ok(None)
        }
    }
}
