//! Why a program or a request failed.

use std::io;
use std::time::Duration;

use crate::budget::{BudgetExceeded, round_for_display};
use crate::diagnostic::truncate;
use crate::redact::Redactor;

use super::captured_bytes::{CapturedBytes, printed_suffix};

/// How much of what a server says is shown.
const MAX_REASON_CHARS: usize = 300;

/// Why a program or a request failed. A non-zero exit code and an HTTP status of 500 are not errors here.
///
/// No message includes a value of the environment, header, query or absolute path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The program does not exist.
    #[error("program `{program}` not found")]
    ProgramNotFound {
        /// As written.
        program: String,
    },
    /// A file that cannot be executed: no permission, no known format.
    #[error("program `{program}` is not executable")]
    NotExecutable {
        /// As written.
        program: String,
    },
    /// A sandbox is required that this system cannot enforce.
    #[error("sandbox required for `{program}`, and this system cannot enforce: {gaps}")]
    SandboxUnsupported {
        /// As written.
        program: String,
        /// What it cannot enforce.
        gaps: String,
    },
    /// A path of a sandbox cannot be opened.
    #[error("cannot open `{path}` of the sandbox: {reason}")]
    SandboxPath {
        /// As written.
        path: String,
        /// The error of the system.
        reason: String,
    },
    /// A sandbox cannot be made.
    #[error("cannot make the sandbox: {reason}")]
    Sandbox {
        /// The error of the system.
        reason: String,
    },
    /// The working folder is not a folder.
    #[error("cannot change to the working folder of `{program}`")]
    InvalidWorkingDir {
        /// As written.
        program: String,
    },
    /// The system could not start it.
    #[error("program `{program}` could not be started: {}", system_reason(.source))]
    SpawnFailed {
        /// As written.
        program: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// What runs it is not there.
    #[error("program `{program}` could not be started: {reason}")]
    NoInterpreter {
        /// As written.
        program: String,
        /// What is not there.
        reason: String,
    },
    /// It was killed with its supervisor.
    #[error("program `{program}` was killed: its supervisor {reason}")]
    Unsupervised {
        /// As written.
        program: String,
        /// What happened to the supervisor.
        reason: &'static str,
    },
    /// It timed out, and was killed.
    #[error("timed out after {:?}{}", round_for_display(*after), printed_suffix(stdout, stderr))]
    TimedOut {
        after: Duration,
        /// The stdout of a program; empty for a request.
        stdout: CapturedBytes,
        /// The stderr of a program; empty for a request.
        stderr: CapturedBytes,
    },
    /// It timed out while it waited for a free place.
    #[error(
        "program limit reached: {limit} running (waited {after:?}); try again later, or raise `server.limits.programs`", after = round_for_display(*after)
    )]
    ProgramLimit {
        /// How many programs may run at once.
        limit: usize,
        after: Duration,
    },
    /// Its output takes too much memory.
    #[error(transparent)]
    BudgetExceeded(BudgetExceeded),
    /// A test has no mock for it.
    #[error("no mock for {action}")]
    NotMocked {
        /// The program or the request.
        action: String,
    },
    /// The caller cancelled it.
    #[error("cancelled")]
    Cancelled,
    #[error("invalid URL: {reason}")]
    InvalidUrl {
        /// The reason, without the URL.
        reason: &'static str,
    },
    /// No HTTP client could be built; the log has the reason.
    #[error("no HTTP client available on this system")]
    NoHttpClient,
    /// The method is malformed.
    #[error("invalid HTTP method")]
    InvalidMethod,
    /// A header's name or value is malformed.
    #[error("invalid header `{name}`")]
    InvalidHeader {
        /// The header's name.
        name: String,
    },
    /// An entry of the allowed hosts is not one of `host`, `host:port`, a network and `*`.
    #[error("invalid host `{entry}`, expected `host`, `host:port`, a network such as `10.0.0.0/8`, or `*`")]
    InvalidHost {
        /// As written.
        entry: String,
    },
    /// A file of the body could not be read.
    #[error("cannot send the request: {reason}")]
    UnreadableFile {
        /// The reason, with the relative path.
        reason: String,
    },
    /// The host name has no address.
    #[error("could not resolve host `{host}`")]
    Dns { host: String },
    /// The host has no public address, and is not allowed.
    #[error("host `{host}` has a private address and is not listed in `allow`")]
    PrivateAddress { host: String },
    #[error("could not connect to {}`{host}`: {reason}", if *is_proxy { "the proxy " } else { "" })]
    Connect {
        /// The host, or that of the proxy.
        host: String,
        /// Whether it is the proxy.
        is_proxy: bool,
        /// The error of the system.
        reason: String,
    },
    /// The proxy opened no connection.
    #[error("proxy `{proxy}` refused to connect to `{host}`; check its address and credentials")]
    ProxyRefused {
        /// The host of the request.
        host: String,
        /// The host of the proxy.
        proxy: String,
    },
    #[error("TLS connection to `{host}` failed: {reason}")]
    Tls {
        host: String,
        /// The TLS error.
        reason: String,
    },
    /// The connection broke, or the response is not HTTP.
    #[error("invalid or incomplete response from `{host}`")]
    InvalidResponse { host: String },
    /// The body is not in the coding that the response names, or in one that is not known.
    #[error(
        "cannot decode the response from `{host}` with HTTP status {status}: {}",
        truncate(reason, MAX_REASON_CHARS)
    )]
    Undecodable {
        host: String,
        status: u16,
        /// The reason, with the coding.
        reason: String,
    },
    /// The server is there, and does not respond.
    #[error("no response from `{host}`: {reason}")]
    NoResponse {
        host: String,
        /// What it does instead.
        reason: &'static str,
    },
    /// A request failed after a redirect.
    #[error("after a redirect: {0}")]
    AfterRedirect(Box<WorldError>),
    /// The authorization server issued no access token.
    #[error("no access token from `{host}`: {}", truncate(reason, MAX_REASON_CHARS))]
    Token {
        /// The host of the authorization server.
        host: String,
        /// What it says, or what is wrong with its response; whole, as secrets in it are found before it is cut.
        reason: String,
    },
    /// The authorization server could not be asked for an access token.
    #[error("no access token: {0}")]
    TokenRequest(Box<WorldError>),
    /// There are too many redirects.
    #[error("too many redirects: more than {limit}")]
    TooManyRedirects {
        /// How many are followed.
        limit: usize,
    },
    /// A redirect would send credentials from https to http.
    #[error("redirect or next page from https to http at `{host}` would send credentials")]
    HttpsDowngrade {
        /// The host of the redirect.
        host: String,
    },
    /// A redirect would send a body with a secret to another origin.
    #[error("redirect or next page to another origin at `{host}` would send credentials")]
    CrossOriginCredentials {
        /// The host of the redirect.
        host: String,
    },
}

/// Whether this process, or the system, has as many open files as it may.
pub(super) fn is_out_of_files(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// What the system says, where Rust has no word for it too.
pub(super) fn system_reason(error: &io::Error) -> String {
    if is_out_of_files(error) { "too many open files".to_owned() } else { error.kind().to_string() }
}

impl WorldError {
    /// The error without what `redactor` finds in what a server chose.
    #[must_use]
    pub(super) fn redact(mut self, redactor: &Redactor) -> WorldError {
        if let WorldError::Token { reason, .. } | WorldError::Undecodable { reason, .. } = &mut self {
            redactor.redact_in_place(reason);
        }
        if let Some(host) = self.host_mut() {
            redactor.redact_in_place(host);
        }
        self
    }

    /// A timeout without output.
    pub fn timed_out(after: Duration) -> WorldError {
        WorldError::TimedOut { after, stdout: CapturedBytes::default(), stderr: CapturedBytes::default() }
    }

    /// The error on one line, without what a program printed.
    pub(super) fn to_line(&self) -> String {
        match self {
            WorldError::TimedOut { after, .. } => WorldError::timed_out(*after).to_string(),
            error => error.to_string(),
        }
    }

    /// The host in the error.
    pub(super) fn host_mut(&mut self) -> Option<&mut String> {
        match self {
            WorldError::Dns { host }
            | WorldError::PrivateAddress { host }
            | WorldError::Connect { host, .. }
            | WorldError::ProxyRefused { host, .. }
            | WorldError::Tls { host, .. }
            | WorldError::InvalidResponse { host }
            | WorldError::Undecodable { host, .. }
            | WorldError::NoResponse { host, .. }
            | WorldError::Token { host, .. }
            | WorldError::HttpsDowngrade { host }
            | WorldError::CrossOriginCredentials { host } => Some(host),
            WorldError::AfterRedirect(error) | WorldError::TokenRequest(error) => error.host_mut(),
            _ => None,
        }
    }

    /// The host of a proxy in the error.
    pub(super) fn proxy_mut(&mut self) -> Option<&mut String> {
        match self {
            WorldError::ProxyRefused { proxy, .. } => Some(proxy),
            WorldError::AfterRedirect(error) | WorldError::TokenRequest(error) => error.proxy_mut(),
            _ => None,
        }
    }

    /// The error of a request for an access token. Of these, some say so themselves.
    pub(super) fn for_token(self) -> WorldError {
        match self {
            WorldError::TimedOut { .. } | WorldError::Cancelled | WorldError::Token { .. } => self,
            error => WorldError::TokenRequest(Box::new(error)),
        }
    }

    /// Whether the same request may succeed soon.
    pub fn is_transient(&self) -> bool {
        if let WorldError::AfterRedirect(error) | WorldError::TokenRequest(error) = self {
            return error.is_transient();
        }
        matches!(
            self,
            WorldError::Dns { .. }
                | WorldError::Connect { .. }
                | WorldError::InvalidResponse { .. }
                | WorldError::NoResponse { .. }
                | WorldError::TimedOut { .. }
        )
    }

    /// Whether no connection was made.
    pub fn is_connection_failure(&self) -> bool {
        match self {
            WorldError::AfterRedirect(error) | WorldError::TokenRequest(error) => error.is_connection_failure(),
            error => matches!(error, WorldError::Dns { .. } | WorldError::Connect { .. }),
        }
    }

    /// Whether the server answered, so that it may have done what was asked.
    pub fn is_after_answer(&self) -> bool {
        matches!(
            self,
            WorldError::AfterRedirect(_)
                | WorldError::Undecodable { .. }
                | WorldError::TooManyRedirects { .. }
                | WorldError::HttpsDowngrade { .. }
                | WorldError::CrossOriginCredentials { .. }
        )
    }

    /// Whether it is certain that nothing was sent, so that any request may be retried.
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            WorldError::Dns { .. }
                | WorldError::Connect { .. }
                | WorldError::PrivateAddress { .. }
                | WorldError::TokenRequest(_)
        )
    }
}
