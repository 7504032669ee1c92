//! The supervisor: a process that starts the programs of a server, and kills what is left of them.
//!
//! It is folio itself under a hidden argument, with an empty environment and nothing open but a socket to its server. So
//! a program finds nothing of the server's in its parent; and when the server ends, even by SIGKILL, the socket closes,
//! upon which the supervisor kills all programs and ends. When the supervisor is killed, its server does that.
//!
//! A program may send signals to its supervisor, which is of the same user. What is stopped goes on within moments, by
//! the server or, when that ends, by the system; what is stopped again and again, or hangs, is killed by the server.
//!
//! A library has no such program: there, a thread does the same work.

mod client;
mod orphan_reaper;
mod main_loop;
mod wire;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rustix::process::Pid;

use super::permits::ProgramPermit;
use client::{SupervisorClient, SupervisorProcess};
use orphan_reaper::OrphanReaper;

pub(super) use client::{Failure, ProcessTree};
pub(super) use wire::{ChildStdio, StartRequest};

/// The hidden argument.
const SUPERVISOR_ARGUMENT: &str = "__supervisor";
/// How long the supervisor is waited for when the server ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);
/// How long the server waits for what was left of that.
const FINAL_SWEEP_TIMEOUT: Duration = Duration::from_millis(800);
/// How often the server looks whether the supervisor answers.
const PULSE: Duration = Duration::from_millis(200);
/// How long a thread may take to end all programs: more than a program may that cannot be killed.
const THREAD_END: Duration = Duration::from_secs(10);

/// Does the work of a supervisor where these arguments ask for it; `None` where they do not.
pub fn run_supervisor(arguments: impl IntoIterator<Item = OsString>) -> Option<io::Result<()>> {
    let argument = arguments.into_iter().nth(1)?;
    (argument == SUPERVISOR_ARGUMENT).then(|| {
        let _ = rustix::process::setsid();
        // One that is stopped when its server ends goes on, and sees that.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT));
        super::isolation::forbid_ptrace();
        super::isolation::set_cloexec_on_inherited();
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        main_loop::run_until_closed(UnixStream::from(socket))
    })
}

/// The supervisor of a server, from its first program on.
pub(super) struct Supervisor {
    /// Itself, to be started once more. Without it a thread of this process does the work.
    program: Option<PathBuf>,
    client: Mutex<Option<Arc<SupervisorClient>>>,
}

/// Children are those of the whole process, and so is the one thread that knows which of them are whose.
static IN_PROCESS_SUPERVISOR: LazyLock<Supervisor> = LazyLock::new(|| Supervisor::new(None));

impl Supervisor {
    /// A supervisor that is `program` under the hidden argument, or a thread.
    pub(super) fn new(program: Option<PathBuf>) -> Supervisor {
        Supervisor { program, client: Mutex::default() }
    }

    /// A supervisor that runs at the other end of `socket`, and whose successor is not found.
    #[cfg(test)]
    pub(super) fn with_socket(socket: UnixStream, pulse: Duration) -> Supervisor {
        let link = SupervisorClient::new(socket, None, pulse, || {}).ok();
        Supervisor { program: Some("/absent".into()), client: Mutex::new(link) }
    }

    /// Has a program started, which keeps `permit` until nothing of it is left. Dropped, the tree is killed, even when
    /// it is started only then.
    pub(super) fn spawn_supervisor_process(
        &self,
        start: &StartRequest,
        pipes: ChildStdio,
        permit: ProgramPermit,
    ) -> io::Result<ProcessTree> {
        let link = match &self.program {
            Some(_) => self.connect()?,
            None => IN_PROCESS_SUPERVISOR.connect()?,
        };
        Ok(link.start(start, pipes, permit))
    }

    /// Ends the supervisor with all that it supervises, and waits for it, but not for long. Where it takes longer, this
    /// process does it.
    pub(super) fn shut_down(&self) {
        let Some(link) = self.lock_client().take() else { return };
        link.close();
        if !link.wait_over(SHUTDOWN_TIMEOUT) {
            link.give_up("did not exit");
            link.wait_over(FINAL_SWEEP_TIMEOUT);
        }
    }

    /// The link to the one that runs, or to a new one.
    fn connect(&self) -> io::Result<Arc<SupervisorClient>> {
        let mut slot = self.lock_client();
        if let Some(link) = slot.as_ref().filter(|link| !link.is_closed()) {
            return Ok(link.clone());
        }
        let (ours, theirs) = UnixStream::pair()?;
        let link = match &self.program {
            Some(program) => {
                let process = spawn_supervisor_process(program, theirs)?;
                SupervisorClient::new(ours, Some(Pid::from_child(&process.child)), PULSE, || process.clean_up())?
            }
            None => {
                let ended = spawn_supervisor_thread(theirs)?;
                // Two threads would take each other's programs for orphans.
                SupervisorClient::new(ours, None, PULSE, move || {
                    let _ = ended.recv_timeout(THREAD_END);
                })?
            }
        };
        *slot = Some(link.clone());
        Ok(link)
    }

    fn lock_client(&self) -> MutexGuard<'_, Option<Arc<SupervisorClient>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.lock_client().take().iter().for_each(|link| link.close());
    }
}

/// Starts folio itself as a supervisor.
fn spawn_supervisor_process(program: &Path, socket: UnixStream) -> io::Result<SupervisorProcess> {
    let orphans = OrphanReaper::new_subreaper();
    let mut command = Command::new(program);
    command.arg0("folio").arg(SUPERVISOR_ARGUMENT).env_clear();
    let child = command.stdin(OwnedFd::from(socket)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(SupervisorProcess { child, orphans })
}

/// Starts a thread as a supervisor. The channel is closed when it has ended.
fn spawn_supervisor_thread(socket: UnixStream) -> io::Result<mpsc::Receiver<()>> {
    let (ends, ended) = mpsc::channel();
    spawn_thread("folio-supervisor", move || {
        let _ = main_loop::run_until_closed(socket);
        drop::<mpsc::Sender<()>>(ends);
    })?;
    Ok(ended)
}

fn spawn_thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}
