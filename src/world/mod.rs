//! The one seam between an action and the world: processes and HTTP.
//!
//! [`World`] is what actions see; [`RealWorld`] acts, and a stand-in can be put in its place. What is not here: what is
//! to be run and what its answer means (action/), and files beneath a folder (files/).

mod captured_bytes;
mod program_run;
mod http_client;
mod error;
mod host_policy;
mod http;
mod isolation;
mod permits;
mod pipes;
#[cfg(target_os = "linux")]
mod procfs;
mod program_path;
mod redacting_world;
mod redirect;
mod supervisor;
#[cfg(test)]
mod tests;
mod trace_context;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use futures_util::future::BoxFuture;

pub use captured_bytes::{CapturedBytes, strip_escapes, tail};
pub use error::WorldError;
pub use host_policy::{HostPolicy, is_public};
pub use http::{HttpHeader, HttpRequest, HttpResponse};
pub use isolation::forbid_ptrace;
pub use program_path::find_program;
pub use program_run::{ProgramCommand, ProgramOutput};
pub use redacting_world::RedactingWorld;
pub use supervisor::run_supervisor;
pub use trace_context::{TraceContext, TracePropagation};

use http_client::HttpClients;
use permits::ProgramPermits;
use supervisor::Supervisor;

/// Everything that an action can do outside of this process.
pub trait World: Send + Sync {
    /// Runs a program to its end. When the future resolves or is dropped, no descendant of the program is left.
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>>;

    /// Sends a request and reads the answer, over redirects.
    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>>;

    /// Lets so many programs be alive at once from now on; further ones wait for their turn.
    fn set_program_limit(&self, _limit: usize) {}
}

/// The world as it is.
pub struct RealWorld {
    environment: Vec<(OsString, OsString)>,
    supervisor: Supervisor,
    permits: ProgramPermits,
    clients: OnceLock<HttpClients>,
}

impl RealWorld {
    /// Takes `PATH`, `HOME`, `LANG` and `TMPDIR` from the environment of this process, once. Nothing else happens
    /// before the first call: neither TLS nor a process costs a server that uses none.
    ///
    /// From its first program on, a thread of this process starts programs, unless [`RealWorld::with_supervisor`] names a
    /// program that does. **On Linux this process then becomes the reaper of orphans among its descendants, and that
    /// thread kills every child of this process that leads, or is in, another session**, except those that there were
    /// before it: it cannot tell them from what a program has left behind. A host that starts children of its own which
    /// call `setsid`, or whose own children do, has programs supervised by a process.
    pub fn new() -> RealWorld {
        RealWorld::with_environment(|name| std::env::var_os(name))
    }

    /// Does as [`RealWorld::new`], with the variables from elsewhere.
    pub fn with_environment(variable: impl Fn(&str) -> Option<OsString>) -> RealWorld {
        let environment = program_run::BASE_ENV
            .iter()
            .filter_map(|(name, default)| {
                let value = variable(name).or_else(|| default.map(OsString::from))?;
                Some((OsString::from(name), value))
            })
            .collect();
        let (supervisor, permits) = (Supervisor::new(None), ProgramPermits::default());
        RealWorld { environment, supervisor, permits, clients: OnceLock::new() }
    }

    /// Has programs started by a process of its own, whose program calls [`run_supervisor`] when it is started with the
    /// arguments that it is then given: so they end even when this process is killed, and cannot look into it. Without
    /// it a thread starts them, which takes orphans of this process for theirs: see [`RealWorld::new`]. With it, this process
    /// does that only when its supervisor was killed or does not answer, and of children that came after it.
    #[must_use]
    pub fn with_supervisor(self, program: PathBuf) -> RealWorld {
        RealWorld { supervisor: Supervisor::new(Some(program)), ..self }
    }

    /// Ends all programs, and waits until they are gone. A supervisor that takes longer than a tenth of a second is killed,
    /// and this process ends what is left, within a second.
    pub fn shut_down(&self) {
        self.supervisor.shut_down();
    }
}

impl Default for RealWorld {
    fn default() -> RealWorld {
        RealWorld::new()
    }
}

impl World for RealWorld {
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        Box::pin(program_run::run_program(self, command))
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        Box::pin(async move { http::send(self.clients.get_or_init(HttpClients::default), request).await })
    }

    fn set_program_limit(&self, limit: usize) {
        self.permits.set_limit(limit);
    }
}
