//! The one seam between an action and the world: processes and HTTP.
//!
//! [`World`] is what actions see; [`Real`] acts, and a stand-in can be put in its place. What is not here: what is
//! to be run and what its answer means (action/), and files beneath a folder (files/).

mod captured;
mod child;
mod client;
mod error;
mod guard;
mod http;
mod isolation;
mod permits;
mod pipes;
#[cfg(target_os = "linux")]
mod procfs;
mod program;
mod redacting;
mod redirect;
mod supervisor;
#[cfg(test)]
mod tests;
mod traced;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use futures_util::future::BoxFuture;

pub use captured::{Captured, strip_escapes, tail};
pub use child::{Command, Finished};
pub use error::WorldError;
pub use guard::{HostPolicy, is_public};
pub use http::{Header, Request, Response};
pub use isolation::close_to_others;
pub use program::find_program;
pub use redacting::Redacting;
pub use supervisor::supervise;
pub use traced::{HandOn, Trace};

use client::Clients;
use permits::Permits;
use supervisor::Supervisor;

/// Everything that an action can do outside of this process.
pub trait World: Send + Sync {
    /// Runs a program to its end. When the future resolves or is dropped, no descendant of the program is left.
    fn run(&self, command: Command) -> BoxFuture<'_, Result<Finished, WorldError>>;

    /// Sends a request and reads the answer, over redirects.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WorldError>>;

    /// Lets so many programs be alive at once from now on; further ones wait for their turn.
    fn limit_programs(&self, _limit: usize) {}
}

/// The world as it is.
pub struct Real {
    environment: Vec<(OsString, OsString)>,
    supervisor: Supervisor,
    permits: Permits,
    clients: OnceLock<Clients>,
}

impl Real {
    /// Takes `PATH`, `HOME`, `LANG` and `TMPDIR` from the environment of this process, once. Nothing else happens
    /// before the first call: neither TLS nor a process costs a server that uses none.
    ///
    /// From its first program on, a thread of this process starts programs, unless [`Real::supervised_by`] names a
    /// program that does. **On Linux this process then becomes the reaper of orphans among its descendants, and that
    /// thread kills every child of this process that leads, or is in, another session**, except those that there were
    /// before it: it cannot tell them from what a program has left behind. A host that starts children of its own which
    /// call `setsid`, or whose own children do, has programs supervised by a process.
    pub fn new() -> Real {
        Real::with_environment(|name| std::env::var_os(name))
    }

    /// Does as [`Real::new`], with the variables from elsewhere.
    pub fn with_environment(variable: impl Fn(&str) -> Option<OsString>) -> Real {
        let environment = child::BASE_VARIABLES
            .iter()
            .filter_map(|(name, default)| {
                let value = variable(name).or_else(|| default.map(OsString::from))?;
                Some((OsString::from(name), value))
            })
            .collect();
        let (supervisor, permits) = (Supervisor::of(None), Permits::default());
        Real { environment, supervisor, permits, clients: OnceLock::new() }
    }

    /// Has programs started by a process of its own, whose program calls [`supervise`] when it is started with the
    /// arguments that it is then given: so they end even when this process is killed, and cannot look into it. Without
    /// it a thread starts them, which takes orphans of this process for theirs: see [`Real::new`]. With it, this process
    /// does that only when its supervisor was killed or does not answer, and of children that came after it.
    #[must_use]
    pub fn supervised_by(self, program: PathBuf) -> Real {
        Real { supervisor: Supervisor::of(Some(program)), ..self }
    }

    /// Ends all programs, and waits until they are gone. A supervisor that takes longer than a tenth of a second is killed,
    /// and this process ends what is left, within a second.
    pub fn finish(&self) {
        self.supervisor.finish();
    }
}

impl Default for Real {
    fn default() -> Real {
        Real::new()
    }
}

impl World for Real {
    fn run(&self, command: Command) -> BoxFuture<'_, Result<Finished, WorldError>> {
        Box::pin(child::run(self, command))
    }

    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WorldError>> {
        Box::pin(async move { http::send(self.clients.get_or_init(Clients::default), request).await })
    }

    fn limit_programs(&self, limit: usize) {
        self.permits.set_limit(limit);
    }
}
