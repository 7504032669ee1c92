//! The supervisor: a process that starts the programs of a server, and kills what is left of them.
//!
//! It is folio itself under a hidden argument, with an empty environment and only a socket to its server open, so that
//! programs find nothing of the server in their parent. When the server exits, even by SIGKILL, the socket closes, and the
//! supervisor kills all programs and exits. When the supervisor is killed, its server kills the programs.
//!
//! A program may send signals to its supervisor, which runs as the same user. A stopped supervisor is continued by the
//! server or, when that exits, by the system; one that is stopped repeatedly, or hangs, is killed by the server.
//!
//! A library has no such program, so a thread does the same work.

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
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::Pid;

use client::SupervisorProcess;
use orphan_reaper::OrphanReaper;

pub(super) use client::{ProcessTree, ProgramFailure, SupervisorClient};
pub(super) use wire::{ChildDescriptors, StartRequest};

/// The hidden argument.
const SUPERVISOR_ARGUMENT: &str = "__supervisor";
/// How long the server waits for the supervisor when it exits.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);
/// How long the server then waits for leftover programs.
const FINAL_SWEEP_TIMEOUT: Duration = Duration::from_millis(800);
/// How often the server checks that the supervisor responds.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// How long a thread may take to kill all programs: longer than `KILL_TIMEOUT`.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs as a supervisor if these arguments ask for it; `None` otherwise.
pub fn run_supervisor(arguments: impl IntoIterator<Item = OsString>) -> Option<io::Result<()>> {
    let argument = arguments.into_iter().nth(1)?;
    (argument == SUPERVISOR_ARGUMENT).then(|| {
        let _ = rustix::process::setsid();
        // Continues a stopped supervisor when its server exits.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT));
        super::isolation::forbid_ptrace();
        super::isolation::set_cloexec_on_inherited();
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        main_loop::run_until_closed(UnixStream::from(socket))
    })
}

/// The supervisor of a server, started with its first program.
pub(super) struct Supervisor {
    /// The program of the supervisor. Without it, a thread of this process is the supervisor.
    program: Option<PathBuf>,
    client: Mutex<Option<Arc<SupervisorClient>>>,
}

/// One thread for the whole process, as children belong to the process.
static IN_PROCESS_SUPERVISOR: LazyLock<Supervisor> = LazyLock::new(|| Supervisor::new(None));

impl Supervisor {
    /// Creates a supervisor: `program` with the hidden argument, or a thread.
    pub(super) fn new(program: Option<PathBuf>) -> Supervisor {
        Supervisor { program, client: Mutex::default() }
    }

    /// A supervisor at the other end of `socket`, whose successor is not found.
    #[cfg(test)]
    pub(super) fn with_socket(socket: UnixStream, check_interval: Duration) -> Supervisor {
        let client = SupervisorClient::new(socket, None, check_interval, || {}).ok();
        Supervisor { program: Some("/absent".into()), client: Mutex::new(client) }
    }

    /// The client of the running supervisor, or of a new one.
    pub(super) fn client(&self) -> io::Result<Arc<SupervisorClient>> {
        let supervisor = if self.program.is_some() { self } else { &*IN_PROCESS_SUPERVISOR };
        let mut slot = supervisor.lock_client();
        if let Some(client) = slot.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        let (ours, theirs) = UnixStream::pair()?;
        let client = match &self.program {
            Some(program) => {
                let process = spawn_supervisor_process(program, theirs)?;
                SupervisorClient::new(ours, Some(Pid::from_child(&process.child)), CHECK_INTERVAL, || {
                    process.clean_up()
                })?
            }
            None => {
                let ended = spawn_supervisor_thread(theirs)?;
                // Two such threads would kill each other's programs as orphans.
                SupervisorClient::new(ours, None, CHECK_INTERVAL, move || {
                    let _ = ended.recv_timeout(THREAD_EXIT_TIMEOUT);
                })?
            }
        };
        *slot = Some(client.clone());
        Ok(client)
    }

    /// Stops the supervisor with all its programs. If it takes too long, this process kills them.
    pub(super) fn shut_down(&self) {
        let Some(client) = self.lock_client().take() else { return };
        client.close();
        if !client.wait_until_closed(SHUTDOWN_TIMEOUT) {
            client.abandon("did not exit");
            client.wait_until_closed(FINAL_SWEEP_TIMEOUT);
        }
    }

    fn lock_client(&self) -> MutexGuard<'_, Option<Arc<SupervisorClient>>> {
        self.client.lock()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.lock_client().take().iter().for_each(|client| client.close());
    }
}

fn spawn_supervisor_process(program: &Path, socket: UnixStream) -> io::Result<SupervisorProcess> {
    let orphans = OrphanReaper::new_subreaper();
    let mut command = Command::new(program);
    command.arg0("folio").arg(SUPERVISOR_ARGUMENT).env_clear();
    let spawned = command.stdin(OwnedFd::from(socket)).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // The number of the system is for the errors of programs alone.
    let child = spawned.map_err(|error| io::Error::new(error.kind(), error))?;
    Ok(SupervisorProcess { child, orphans })
}

/// Starts the supervisor thread. The channel closes when it has ended.
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
