//! Runs programs and sends HTTP requests: all side effects of actions, behind the trait [`World`].
//!
//! [`RealWorld`] is its implementation; tests have others. What is not here: what is run and what its output means
//! (action/), and files (files/).

mod access_token;
mod browser;
mod captured_bytes;
mod charset;
mod connection_thread;
mod content_coding;
mod describe;
mod dry_run;
mod program_run;
mod http_client;
mod error;
mod host_policy;
mod http;
mod isolation;
mod latest_line;
mod mock_world;
mod valid_tokens;
mod program_permits;
mod pipes;
#[cfg(target_os = "linux")]
mod procfs;
mod program_path;
mod proxy;
mod proxy_variables;
mod random_token;
mod recording_world;
mod redacting_world;
mod redirect;
mod reporting_world;
mod shell_quote;
mod request_body;
mod response_cache;
mod sandbox;
mod span;
mod supervisor;
mod tls_options;
#[cfg(test)]
mod tests;
mod trace_context;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use futures_util::future::BoxFuture;

pub use access_token::{AccessToken, SubjectToken, TokenRequest, basic_credentials};
pub use browser::open_in_browser;
pub use captured_bytes::{CapturedBytes, excerpt, printed_suffix, printed_text, strip_escapes};
pub use dry_run::DryRunWorld;
pub use error::WorldError;
pub use host_policy::{HostPolicy, Network, is_loopback_host, is_public};
pub use http::{HttpHeader, HttpRequest, HttpResponse, ResponseSource};
pub use http_client::collector_client;
pub use isolation::forbid_ptrace;
pub use latest_line::LatestLine;
pub use mock_world::{MockFolder, MockReplies, MockReply, MockResponse, MockWorld, SentAction};
pub use program_path::{find_program, is_executable, shebang_fault};
pub use program_run::{DEFAULT_SEARCH_PATH, ProgramCommand, ProgramOutput};
pub use proxy::Proxy;
pub use proxy_variables::ProxyVariables;
pub use random_token::random_token;
pub use recording_world::{RecordedAction, RecordingWorld};
pub use redacting_world::RedactingWorld;
pub use reporting_world::{ActionReport, ReportSink, ReportedAction, ReportingWorld};
pub use request_body::{BodyPart, PartContent, RequestBody};
pub use sandbox::{MAX_SANDBOXES, NeedAccess, SandboxSupport, program_needs};
pub use shell_quote::shell_quote;
pub use supervisor::run_supervisor;
pub use tls_options::{Certificates, ClientIdentity, TlsFileError, TlsOptions};
pub use trace_context::{TraceContext, TracePropagation};

use crate::redact::Redactor;
use access_token::TokenCache;

use http_client::HttpClients;
use program_permits::ProgramPermits;
use proxy_variables::{proxy_variable_for, set_proxy_variables};
use response_cache::ResponseCache;
use supervisor::Supervisor;
use valid_tokens::TokenScope;

/// All side effects of actions.
pub trait World: Send + Sync {
    /// Runs a program to its end. When the future resolves or is dropped, all descendants of the program are killed.
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>>;

    /// Sends a request, follows redirects and reads the response.
    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>>;

    /// The world that this one wraps, which does what this one does not do itself.
    fn inner(&self) -> Option<&dyn World> {
        None
    }

    /// An access token that is not `rejected`. By default a new one.
    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        rejected: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        match self.inner() {
            Some(inner) => inner.access_token(request, rejected),
            None => Box::pin(async move { request.fetch(self).await }),
        }
    }

    /// Asks whether a file may be changed, such as ``write `a.md` ``: an error prevents the change.
    ///
    /// # Errors
    /// Files are not to be changed.
    fn approve_file_change(&self, change: &str) -> Result<(), WorldError> {
        self.inner().map_or(Ok(()), |inner| inner.approve_file_change(change))
    }

    /// The folder in which the `file` of a step works in a test that mocks it.
    fn mocked_folder(&self, step: Option<&str>) -> Option<PathBuf> {
        self.inner()?.mocked_folder(step)
    }

    /// Tells the author of the manifest what may be wrong with it, as a call shows. By default it is logged.
    fn hint_to_author(&self, hint: &str) {
        match self.inner() {
            Some(inner) => inner.hint_to_author(hint),
            None => tracing::warn!(target: "folio::select", "{hint}"),
        }
    }

    /// The redactor of values that actions read from elsewhere, if there are secrets.
    fn redactor(&self) -> Option<&Redactor> {
        self.inner()?.redactor()
    }

    /// A text that is made of a request, without secrets.
    fn redact(&self, text: String) -> String {
        match self.inner() {
            Some(inner) => inner.redact(text),
            None => text,
        }
    }

    /// Whether pauses of actions take their time. In a test they do not.
    fn has_real_time(&self) -> bool {
        self.inner().is_none_or(World::has_real_time)
    }

    /// Whether a request must have its credentials. Where none is sent, they need not be set.
    fn needs_credentials(&self) -> bool {
        self.inner().is_none_or(World::needs_credentials)
    }

    /// The variable of the environment that names a proxy for URLs of a scheme, which requests do not use by themselves.
    fn proxy_variable(&self, scheme: &str) -> Option<&'static str> {
        self.inner()?.proxy_variable(scheme)
    }

    /// Sets how many programs may run at once; others wait.
    fn set_program_limit(&self, limit: usize) {
        if let Some(inner) = self.inner() {
            inner.set_program_limit(limit);
        }
    }

    /// How many programs were started, and how many of them run.
    fn program_counts(&self) -> ProgramCounts {
        self.inner().map(World::program_counts).unwrap_or_default()
    }
}

/// How many programs there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramCounts {
    pub started: u64,
    pub running: u64,
}

/// Runs real programs and sends real requests.
pub struct RealWorld {
    environment: Vec<(OsString, OsString)>,
    proxy_variables: Vec<&'static str>,
    supervisor: Supervisor,
    permits: ProgramPermits,
    clients: OnceLock<HttpClients>,
    tokens: TokenCache,
    responses: ResponseCache,
}

impl RealWorld {
    /// Takes `PATH`, `HOME`, `LANG` and `TMPDIR` from the environment of this process, once. TLS and the supervisor are
    /// only started when they are first needed.
    ///
    /// Programs are started by a thread of this process, unless [`RealWorld::with_supervisor`] names a program for it.
    /// **On Linux this process then becomes a child subreaper, and that thread kills every child of this process that is in
    /// another session**, except those that existed before: it cannot tell them from leftovers of programs. A host with
    /// children of its own that call `setsid` should use a supervisor process.
    pub fn new() -> RealWorld {
        RealWorld::with_environment(|name| std::env::var_os(name))
    }

    /// Like [`RealWorld::new`], with other variables.
    pub fn with_environment(variable: impl Fn(&str) -> Option<OsString>) -> RealWorld {
        let environment = program_run::BASE_ENV
            .iter()
            .filter_map(|(name, default)| {
                let value = variable(name).or_else(|| default.map(OsString::from))?;
                Some((OsString::from(name), value))
            })
            .collect();
        let (supervisor, permits) = (Supervisor::new(None), ProgramPermits::default());
        let (clients, tokens, responses) = (OnceLock::new(), TokenCache::default(), ResponseCache::default());
        let proxy_variables = set_proxy_variables(variable);
        RealWorld { environment, proxy_variables, supervisor, permits, clients, tokens, responses }
    }

    /// Starts programs from a supervisor process, whose program must call [`run_supervisor`] with its arguments. Programs then
    /// end even if this process is killed, and cannot read its memory. This process only kills orphans itself, as
    /// described in [`RealWorld::new`], if its supervisor is killed or does not respond.
    #[must_use]
    pub fn with_supervisor(self, program: PathBuf) -> RealWorld {
        RealWorld { supervisor: Supervisor::new(Some(program)), ..self }
    }

    /// Kills all programs, and waits for it. A supervisor that takes longer than 100 ms is killed, and this process kills
    /// what is left, within a second.
    pub fn shut_down(&self) {
        self.supervisor.shut_down();
    }
}

impl RealWorld {
    /// Sends a request, whose response may have access tokens.
    async fn send_unredacted(&self, request: HttpRequest) -> Result<HttpResponse, WorldError> {
        let clients = self.clients.get_or_init(HttpClients::default);
        match request.cache {
            Some(max_age) => self.responses.get(clients, request, max_age).await,
            None => http::send(clients, request).await,
        }
    }
}

impl Default for RealWorld {
    fn default() -> RealWorld {
        RealWorld::new()
    }
}

impl World for RealWorld {
    fn run_program(&self, mut command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        Box::pin(async move {
            let span = command.trace.start_program(&command);
            // First, so that variables of the manifest win.
            let variables =
                span.trace().entries().map(|(_, variable, value)| (variable.to_owned(), value.into_owned()));
            command.env.splice(0..0, variables);
            let ended = program_run::run_program(self, command).await;
            span.end_program(&ended);
            ended
        })
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        Box::pin(async move {
            let (scope, sent_token) = (TokenScope::for_request(&request), request.access_token.clone());
            let redactor = || self.tokens.valid_tokens.redactor(&scope, sent_token.as_ref());
            let Some(known) = redactor() else { return self.send_unredacted(request).await };
            let limit = request.read_limit();
            let response = self.send_unredacted(request.with_lookahead(&known)).await;
            // A token may be newer than the request.
            let redactor = redactor().unwrap_or(known);
            response.map(|response| response.redact(&redactor, limit)).map_err(|error| error.redact(&redactor))
        })
    }

    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        rejected: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        Box::pin(self.tokens.get(request, rejected, |request| self.send_unredacted(request)))
    }

    fn proxy_variable(&self, scheme: &str) -> Option<&'static str> {
        proxy_variable_for(&self.proxy_variables, scheme)
    }

    fn set_program_limit(&self, limit: usize) {
        self.permits.set_limit(limit);
    }

    fn program_counts(&self) -> ProgramCounts {
        self.permits.counts()
    }
}
