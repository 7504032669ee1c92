//! Why something in the world did not come to an answer.

use std::io;
use std::time::Duration;

use super::captured_bytes::CapturedBytes;

/// What kept a program or a request from ending as such. A non-zero exit and an HTTP 500 are answers, not errors.
///
/// No message holds a value of the environment, a header, a query or an absolute path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// No such program.
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
    /// The folder to run in is none.
    #[error("cannot change to the working folder of `{program}`")]
    InvalidWorkingDir {
        /// As written.
        program: String,
    },
    /// The system did not start it.
    #[error("program `{program}` could not be started: {}", .source.kind())]
    SpawnFailed {
        /// As written.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It was killed with its supervisor: whatever ran is gone.
    #[error("program `{program}` was killed: its supervisor {reason}")]
    Unsupervised {
        /// As written.
        program: String,
        /// What became of that.
        reason: &'static str,
    },
    /// The time was up; whatever ran is gone.
    #[error("timed out after {after:?}")]
    TimedOut {
        /// The time it had.
        after: Duration,
        /// What a program had written to stderr, of which [`tail`](super::tail) is for people; of a request, nothing.
        stderr: CapturedBytes,
    },
    /// It was not its turn in time: as many programs are alive as may be.
    #[error(
        "program limit reached: {limit} running (waited {after:?}); try again later, or raise `server.limits.programs`"
    )]
    ProgramLimit {
        /// How many may be alive.
        limit: usize,
        /// The time that it had.
        after: Duration,
    },
    /// The caller cancelled; whatever ran is gone.
    #[error("cancelled")]
    Cancelled,
    /// The URL cannot be requested.
    #[error("invalid URL: {reason}")]
    InvalidUrl {
        /// Why, without the URL itself.
        reason: &'static str,
    },
    /// No HTTP client could be built; the log has the reason.
    #[error("no HTTP client available on this system")]
    NoHttpClient,
    /// The method is no token.
    #[error("invalid HTTP method")]
    InvalidMethod,
    /// A header's name or value is malformed.
    #[error("invalid header `{name}`")]
    InvalidHeader {
        /// The header's name.
        name: String,
    },
    /// An entry of the allowed hosts is neither `host` nor `host:port`.
    #[error("invalid host `{entry}`: expected `host` or `host:port`")]
    InvalidHost {
        /// As written.
        entry: String,
    },
    /// The name has no address.
    #[error("could not resolve host `{host}`")]
    Dns {
        /// The host.
        host: String,
    },
    /// The host has no address that is public, and is not allowed by name.
    #[error("host `{host}` has a private address and is not listed in `allow`")]
    PrivateAddress {
        /// The host.
        host: String,
    },
    /// No connection.
    #[error("could not connect to `{host}`: {kind}")]
    Connect {
        /// The host.
        host: String,
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// No trust.
    #[error("TLS connection to `{host}` failed: {reason}")]
    Tls {
        /// The host.
        host: String,
        /// What TLS said.
        reason: String,
    },
    /// The connection broke, or what came was no HTTP.
    #[error("invalid or incomplete response from `{host}`")]
    InvalidResponse {
        /// The host.
        host: String,
    },
    /// Redirects without end.
    #[error("too many redirects: more than {limit}")]
    TooManyRedirects {
        /// How many are followed.
        limit: usize,
    },
    /// A redirect would carry credentials from https to http.
    #[error("redirect from https to http at `{host}` would send credentials")]
    HttpsDowngrade {
        /// The host it leads to.
        host: String,
    },
    /// A redirect would carry a body that holds a secret to another origin.
    #[error("redirect to another origin at `{host}` would send credentials")]
    CrossOriginCredentials {
        /// The host it leads to.
        host: String,
    },
}

impl WorldError {
    /// A timeout without output.
    pub fn timed_out(after: Duration) -> WorldError {
        WorldError::TimedOut { after, stderr: CapturedBytes::default() }
    }

    /// The host that it names.
    pub(super) fn host_mut(&mut self) -> Option<&mut String> {
        match self {
            WorldError::Dns { host }
            | WorldError::PrivateAddress { host }
            | WorldError::Connect { host, .. }
            | WorldError::Tls { host, .. }
            | WorldError::InvalidResponse { host }
            | WorldError::HttpsDowngrade { host }
            | WorldError::CrossOriginCredentials { host } => Some(host),
            _ => None,
        }
    }

    /// Says whether it is certain that nothing was sent, so that even a request that changes something may be
    /// repeated.
    pub fn is_unsent(&self) -> bool {
        matches!(self, WorldError::Dns { .. } | WorldError::Connect { .. } | WorldError::PrivateAddress { .. })
    }
}
