//! Decides whether a built catalog may be used: at startup, at each reload, and for one request from the command line.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::catalog::build::BuildOutcome;
use crate::catalog::settings::http_settings::HttpSettings;
use crate::catalog::settings::operation_settings::{AuditSettings, StoreSettings};
use crate::diagnostic::{Code, LoadPurpose, Span};
use crate::identity::{AccessControl, LocalCaller};
use crate::manifest::{SessionHome, Telemetry};

/// How a catalog will be used.
#[derive(Debug, Clone)]
pub enum ServingMode {
    /// Over a pipe, or by one request from the command line.
    Local,
    /// By one request, as this caller: what entries say of callers applies.
    LocalCaller(Arc<LocalCaller>),
    /// Over a pipe again, after a reload: these settings were fixed at the start.
    Pipe(SettingsAtStart),
    /// Over HTTP.
    Http(HttpServingMode),
}

/// How a catalog will be served over HTTP.
#[derive(Debug, Clone)]
pub struct HttpServingMode {
    /// The listen address.
    pub address: SocketAddr,
    /// Whether other machines may send requests without a token.
    pub insecure: bool,
    /// The settings that were fixed at the start; `None` at the start itself.
    pub settings_at_start: Option<SettingsAtStart>,
}

/// Settings that only change with a restart. `None` if a flag overrides the manifest.
#[derive(Debug, Clone, Default)]
pub struct SettingsAtStart {
    /// The address in the manifest.
    pub listen: Option<Option<SocketAddr>>,
    /// The path in the manifest.
    pub path: Option<Option<String>>,
    /// Whether HTTP+SSE is served.
    pub sse: Option<bool>,
    /// Where sessions are.
    pub sessions: Option<SessionHome>,
    /// Where metrics are served.
    pub admin: Option<SocketAddr>,
    pub audit: Option<AuditSettings>,
    pub telemetry: Option<Telemetry>,
    pub store: Option<StoreSettings>,
}

/// A catalog that is not accepted yet: it can be inspected, but not served.
pub struct UnacceptedCatalog(pub(in crate::catalog) Catalog);

impl Deref for UnacceptedCatalog {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.0
    }
}

/// Why a manifest is not accepted; the report has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptError {
    /// It has errors, or a required variable is not set.
    Invalid,
    /// The server would be open to other machines without a token.
    Unprotected,
}

impl BuildOutcome {
    /// Accepts the catalog for a use, or refuses it; only accepted catalogs can be served. Warnings that forbid this
    /// use become errors of the report.
    ///
    /// # Errors
    /// It is refused; the current catalog stays.
    pub fn accept(&mut self, serving_mode: &ServingMode) -> Result<Arc<Catalog>, AcceptError> {
        match serving_mode {
            ServingMode::Local | ServingMode::LocalCaller(_) | ServingMode::Pipe(_) => {
                self.report.enforce(&[LoadPurpose::Use]);
            }
            ServingMode::Http(_) => self.report.enforce(&[LoadPurpose::Use, LoadPurpose::Http]),
        }
        if self.report.has_errors() {
            return Err(AcceptError::Invalid);
        }
        let UnacceptedCatalog(mut catalog) = self.catalog.take().ok_or(AcceptError::Invalid)?;
        match serving_mode {
            ServingMode::Local | ServingMode::Pipe(_) => {}
            ServingMode::LocalCaller(caller) => {
                let mut identity = caller.identity();
                if let Some(auth) = &catalog.http_settings().auth {
                    identity.scopes = auth.granted(identity.scopes);
                }
                catalog.settings.access = AccessControl::Caller(Some(Arc::new(identity)));
                let secrets = caller.secrets();
                catalog.redactor = Arc::new(catalog.redactor.with(secrets.values()));
                catalog.settings.caller_secrets = Arc::new(secrets);
            }
            ServingMode::Http(http_serving_mode) => {
                self.check_http_serving(catalog.http_settings(), http_serving_mode)?;
            }
        }
        if let Some(at_start) = serving_mode.settings_at_start() {
            self.warn_of_restart(&catalog, at_start);
        }
        Ok(Arc::new(catalog))
    }

    fn check_http_serving(
        &mut self,
        settings: &HttpSettings,
        http_serving_mode: &HttpServingMode,
    ) -> Result<(), AcceptError> {
        let has_callers = settings.access.token.is_some() || settings.auth.is_some();
        if http_serving_mode.needs_token() && !has_callers {
            let message = format!("missing `token`: `{}` is reachable from other machines", http_serving_mode.address);
            self.report
                .error(Code::MissingKey, settings.key_span("token"), message)
                .help("set `http.token` or `http.auth`, or pass `--insecure`");
            return Err(AcceptError::Unprotected);
        }
        Ok(())
    }

    /// Warns of changes that have no effect.
    fn warn_of_restart(&mut self, catalog: &Catalog, at_start: &SettingsAtStart) {
        for (key, span) in at_start.changed_keys(catalog) {
            let message = format!("change of `{key}` requires a restart");
            self.report
                .warning(Code::Unused, span, message)
                .help("restart the server; until then the old value stays in effect");
        }
        self.report.sort_and_dedup();
    }
}

impl ServingMode {
    /// The settings that were fixed at the start.
    fn settings_at_start(&self) -> Option<&SettingsAtStart> {
        match self {
            ServingMode::Local | ServingMode::LocalCaller(_) => None,
            ServingMode::Pipe(at_start) => Some(at_start),
            ServingMode::Http(http) => http.settings_at_start.as_ref(),
        }
    }
}

impl HttpServingMode {
    /// Whether every request needs a token.
    pub fn needs_token(&self) -> bool {
        !self.address.ip().is_loopback() && !self.insecure
    }
}

impl SettingsAtStart {
    /// The keys whose values differ from those at the start, and where they are.
    fn changed_keys(&self, catalog: &Catalog) -> Vec<(&'static str, Option<Span>)> {
        let (http, operation) = (catalog.http_settings(), catalog.operation_settings());
        let listen = self.listen.is_some_and(|listen| listen != http.listen);
        let path = self.path.as_ref().is_some_and(|path| *path != http.path);
        let sse = self.sse.is_some_and(|sse| sse != http.sse);
        let rows = [
            ("listen", http.key_span("listen"), listen),
            ("path", http.key_span("path"), path),
            ("sse", http.key_span("sse"), sse),
            ("sessions", http.key_span("sessions"), self.sessions.is_some_and(|sessions| sessions != http.sessions)),
            ("admin", operation.key_span("admin"), self.admin != operation.admin),
            ("audit", operation.key_span("audit"), self.audit != operation.audit),
            ("telemetry", operation.key_span("telemetry"), self.telemetry != operation.telemetry),
            ("store", operation.key_span("store"), self.store != operation.store),
        ];
        rows.into_iter().filter(|(_, _, differs)| *differs).map(|(key, span, _)| (key, span)).collect()
    }
}
