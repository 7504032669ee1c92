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

mod link;
mod orphans;
mod process;
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

use super::permits::Permit;
use link::{Link, Process};
use orphans::Orphans;

pub(super) use link::{Failure, ProcessTree};
pub(super) use wire::{Pipes, Start};

/// The hidden argument.
const ARGUMENT: &str = "__supervisor";
/// How long the supervisor is waited for when the server ends.
const PARTING: Duration = Duration::from_millis(100);
/// How long the server waits for what was left of that.
const LAST: Duration = Duration::from_millis(800);
/// How often the server looks whether the supervisor answers.
const PULSE: Duration = Duration::from_millis(200);
/// How long a thread may take to end all programs: more than a program may that cannot be killed.
const THREAD_END: Duration = Duration::from_secs(10);

/// Does the work of a supervisor where these arguments ask for it; `None` where they do not.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> Option<io::Result<()>> {
    let argument = arguments.into_iter().nth(1)?;
    (argument == ARGUMENT).then(|| {
        let _ = rustix::process::setsid();
        // One that is stopped when its server ends goes on, and sees that.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT));
        super::isolation::close_to_others();
        super::isolation::close_inherited();
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        process::supervise(UnixStream::from(socket))
    })
}

/// The supervisor of a server, from its first program on.
pub(super) struct Supervisor {
    /// Itself, to be started once more. Without it a thread of this process does the work.
    program: Option<PathBuf>,
    link: Mutex<Option<Arc<Link>>>,
}

/// Children are those of the whole process, and so is the one thread that knows which of them are whose.
static IN_THIS_PROCESS: LazyLock<Supervisor> = LazyLock::new(|| Supervisor::of(None));

impl Supervisor {
    /// A supervisor that is `program` under the hidden argument, or a thread.
    pub(super) fn of(program: Option<PathBuf>) -> Supervisor {
        Supervisor { program, link: Mutex::default() }
    }

    /// A supervisor that runs at the other end of `socket`, and whose successor is not found.
    #[cfg(test)]
    pub(super) fn at(socket: UnixStream, pulse: Duration) -> Supervisor {
        let link = Link::new(socket, None, pulse, || {}).ok();
        Supervisor { program: Some("/absent".into()), link: Mutex::new(link) }
    }

    /// Has a program started, which keeps `permit` until nothing of it is left. Dropped, the tree is killed, even when
    /// it is started only then.
    pub(super) fn start(&self, start: &Start, pipes: Pipes, permit: Permit) -> io::Result<ProcessTree> {
        let link = match &self.program {
            Some(_) => self.link()?,
            None => IN_THIS_PROCESS.link()?,
        };
        Ok(link.start(start, pipes, permit))
    }

    /// Ends the supervisor with all that it supervises, and waits for it, but not for long. Where it takes longer, this
    /// process does it.
    pub(super) fn finish(&self) {
        let Some(link) = self.slot().take() else { return };
        link.close();
        if !link.wait_over(PARTING) {
            link.give_up("does not end");
            link.wait_over(LAST);
        }
    }

    /// The link to the one that runs, or to a new one.
    fn link(&self) -> io::Result<Arc<Link>> {
        let mut slot = self.slot();
        if let Some(link) = slot.as_ref().filter(|link| !link.is_over()) {
            return Ok(link.clone());
        }
        let (ours, theirs) = UnixStream::pair()?;
        let link = match &self.program {
            Some(program) => {
                let process = start(program, theirs)?;
                Link::new(ours, Some(Pid::from_child(&process.child)), PULSE, || process.lost())?
            }
            None => {
                let ended = start_thread(theirs)?;
                // Two threads would take each other's programs for orphans.
                Link::new(ours, None, PULSE, move || {
                    let _ = ended.recv_timeout(THREAD_END);
                })?
            }
        };
        *slot = Some(link.clone());
        Ok(link)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.slot().take().iter().for_each(|link| link.close());
    }
}

/// Starts folio itself as a supervisor.
fn start(program: &Path, socket: UnixStream) -> io::Result<Process> {
    let orphans = Orphans::adopted();
    let mut command = Command::new(program);
    command.arg0("folio").arg(ARGUMENT).env_clear();
    let child = command.stdin(OwnedFd::from(socket)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(Process { child, orphans })
}

/// Starts a thread as a supervisor. The channel is closed when it has ended.
fn start_thread(socket: UnixStream) -> io::Result<mpsc::Receiver<()>> {
    let (ends, ended) = mpsc::channel();
    thread("folio-supervisor", move || {
        let _ = process::supervise(socket);
        drop::<mpsc::Sender<()>>(ends);
    })?;
    Ok(ended)
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}
