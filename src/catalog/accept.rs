//! Decides whether a built catalog may be used: at startup, at each reload, and for one request from the command line.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use crate::diagnostic::{Code, Purpose};

use super::Catalog;
use super::build::BuildOutcome;
use super::http_settings::HttpSettings;

/// How a catalog is going to be used.
#[derive(Debug, Clone)]
pub enum Usage {
    /// Over a pipe, or by one request from the command line.
    Local,
    /// Over HTTP.
    Http(HttpUsage),
}

/// What a catalog that is served over HTTP has to fit.
#[derive(Debug, Clone)]
pub struct HttpUsage {
    /// The address that is listened on.
    pub address: SocketAddr,
    /// Whether others than this machine may ask without a token.
    pub insecure: bool,
    /// What was decided at the start; `None` at the start itself.
    pub settings_at_start: Option<SettingsAtStart>,
}

/// What cannot change before the next start. `None` where a flag has the last word.
#[derive(Debug, Clone, Default)]
pub struct SettingsAtStart {
    /// The address of the manifest.
    pub listen: Option<Option<SocketAddr>>,
    /// The path of the manifest.
    pub path: Option<Option<String>>,
    /// Whether HTTP+SSE is served.
    pub sse: Option<bool>,
}

/// A catalog that has yet to be accepted: it can be looked at, and not be served.
pub struct Candidate(pub(super) Catalog);

impl Deref for Candidate {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.0
    }
}

/// Why a manifest is not accepted; the report says it in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptError {
    /// Something is wrong with it, or a variable that it needs is not set.
    Invalid,
    /// Anybody could use the server.
    Unprotected,
}

impl BuildOutcome {
    /// Accepts the catalog for a use, or refuses it. There is no other way to one that can be served. What `check` only
    /// warns of and this use does not bear is an error of the report from now on.
    ///
    /// # Errors
    /// It is refused; the catalog that is served so far stays.
    pub fn accept(&mut self, usage: &Usage) -> Result<Arc<Catalog>, AcceptError> {
        match usage {
            Usage::Local => self.report.enforce(&[Purpose::Use]),
            Usage::Http(_) => self.report.enforce(&[Purpose::Use, Purpose::Http]),
        }
        if self.report.has_errors() {
            return Err(AcceptError::Invalid);
        }
        let Candidate(catalog) = self.catalog.take().ok_or(AcceptError::Invalid)?;
        if let Usage::Http(http_usage) = usage {
            self.check_http_usage(catalog.http_settings(), http_usage)?;
        }
        Ok(Arc::new(catalog))
    }

    fn check_http_usage(&mut self, listening: &HttpSettings, http_usage: &HttpUsage) -> Result<(), AcceptError> {
        if http_usage.needs_token() && listening.access.token.is_none() {
            let words = format!("missing `token`: `{}` is reachable from other machines", http_usage.address);
            self.report
                .error(Code::MissingKey, listening.key_span("token"), words)
                .help("set `http.token`, or pass `--insecure`");
            return Err(AcceptError::Unprotected);
        }
        for key in http_usage.settings_at_start.iter().flat_map(|started| started.changed_keys(listening)) {
            let words = format!("change of `{key}` requires a restart");
            self.report
                .warning(Code::Unused, listening.key_span(key), words)
                .help("restart the server; until then the old value stays in effect");
        }
        self.report.sort_and_dedup();
        Ok(())
    }
}

impl HttpUsage {
    /// Whether nobody may ask without a token.
    pub fn needs_token(&self) -> bool {
        !self.address.ip().is_loopback() && !self.insecure
    }
}

impl SettingsAtStart {
    /// The keys that say something else than at the start.
    fn changed_keys(&self, listening: &HttpSettings) -> impl Iterator<Item = &'static str> + use<> {
        let listen = self.listen.is_some_and(|listen| listen != listening.listen);
        let path = self.path.as_ref().is_some_and(|path| *path != listening.path);
        let sse = self.sse.is_some_and(|sse| sse != listening.sse);
        let rows = [("listen", listen), ("path", path), ("sse", sse)];
        rows.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key)
    }
}
