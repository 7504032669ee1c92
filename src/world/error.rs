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
    #[error("program `{program}` was not found")]
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
    #[error("the working folder of `{program}` cannot be entered")]
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
    #[error("it did not end within {after:?}")]
    TimedOut {
        /// The time it had.
        after: Duration,
        /// What a program had written to stderr, of which [`tail`](super::tail) is for people; of a request, nothing.
        stderr: CapturedBytes,
    },
    /// It was not its turn in time: as many programs are alive as may be.
    #[error(
        "too many programs: {limit} run already, and it was not its turn within {after:?}; try again later, or raise `server.limits.programs`"
    )]
    ProgramLimit {
        /// How many may be alive.
        limit: usize,
        /// The time that it had.
        after: Duration,
    },
    /// The caller cancelled; whatever ran is gone.
    #[error("it was cancelled")]
    Cancelled,
    /// The URL cannot be requested.
    #[error("the URL cannot be requested: {reason}")]
    InvalidUrl {
        /// Why, without the URL itself.
        reason: &'static str,
    },
    /// The method is no token.
    #[error("the HTTP method is malformed")]
    InvalidMethod,
    /// A header's name or value is malformed.
    #[error("header `{name}` is malformed")]
    InvalidHeader {
        /// The header's name.
        name: String,
    },
    /// An entry of the allowed hosts is neither `host` nor `host:port`.
    #[error("`{entry}` is neither a host nor `host:port`")]
    InvalidHost {
        /// As written.
        entry: String,
    },
    /// The name has no address.
    #[error("`{host}` could not be resolved")]
    Dns {
        /// The host.
        host: String,
    },
    /// The host has no address that is public, and is not allowed by name.
    #[error("`{host}` has a private address, and is not among the hosts that are allowed to")]
    PrivateAddress {
        /// The host.
        host: String,
    },
    /// No connection.
    #[error("`{host}` could not be reached: {kind}")]
    Connect {
        /// The host.
        host: String,
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// No trust.
    #[error("no secure connection to `{host}`: {reason}")]
    Tls {
        /// The host.
        host: String,
        /// What TLS said.
        reason: String,
    },
    /// The connection broke, or what came was no HTTP.
    #[error("the answer of `{host}` broke off or is malformed")]
    InvalidResponse {
        /// The host.
        host: String,
    },
    /// Redirects without end.
    #[error("more than {limit} redirects")]
    TooManyRedirects {
        /// How many are followed.
        limit: usize,
    },
    /// A redirect would carry credentials from https to http.
    #[error("a redirect to `{host}` would leave https with credentials")]
    HttpsDowngrade {
        /// The host it leads to.
        host: String,
    },
    /// A redirect would carry a body that holds a secret to another origin.
    #[error("a redirect to `{host}` would carry credentials to another host")]
    CrossOriginCredentials {
        /// The host it leads to.
        host: String,
    },
}

impl WorldError {
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
