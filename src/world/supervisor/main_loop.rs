//! The supervisor's main loop: starts programs, and kills their descendants.
//!
//! Each program leads a session and is the subreaper of its descendants, which stay below it however they fork. When it
//! has exited, its descendants become children of this process, so a child that is not a running program is a leftover,
//! and is killed. This needs Linux; elsewhere only the process group of a program is killed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;

use super::orphan_reaper::OrphanReaper;
use super::wire::{ChildDescriptors, RequestDecoder, StartRequest, SupervisorReply, SupervisorRequest};

/// After how long a killed process counts as unkillable.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the shutdown may take when the server is gone.
const FINAL_SWEEP_TIMEOUT: Duration = Duration::from_millis(800);
/// The interval of polling for the exit of a child without a pidfd.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Supervises programs for the server at the other end of `socket` until it is gone, and kills them all then.
pub(super) fn run_until_closed(socket: std::os::unix::net::UnixStream) -> io::Result<()> {
    socket.peer_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        socket.set_nonblocking(true)?;
        serve(Rc::new(UnixStream::from_std(socket)?)).await
    })
}

async fn serve(socket: Rc<UnixStream>) -> io::Result<()> {
    let (replies, outbox) = mpsc::unbounded_channel();
    spawn_local(write_replies(socket.clone(), outbox));
    let programs = Rc::new(SupervisedPrograms {
        replies,
        orphans: OrphanReaper::new_subreaper(),
        kill_tokens: RefCell::default(),
    });
    let swept = programs.clone();
    spawn_local(async move { swept.orphans.sweep().await });
    let mut inbox = RequestDecoder::default();
    loop {
        while let Some((request, pipes)) = inbox.next() {
            programs.dispatch(request, pipes);
        }
        socket.readable().await?;
        match socket.try_io(Interest::READABLE, || inbox.receive(&*socket)) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => break,
            _ => {}
        }
    }
    let _ = tokio::time::timeout(FINAL_SWEEP_TIMEOUT, programs.orphans.kill_all()).await;
    Ok(())
}

async fn write_replies(
    socket: Rc<UnixStream>,
    mut outbox: mpsc::UnboundedReceiver<(u64, SupervisorReply)>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    while let Some((id, reply)) = outbox.recv().await {
        bytes.extend(reply.to_bytes(id));
        while let Ok((id, reply)) = outbox.try_recv() {
            bytes.extend(reply.to_bytes(id));
        }
        while !bytes.is_empty() {
            socket.writable().await?;
            match socket.try_write(&bytes) {
                Ok(count) => drop(bytes.drain(..count)),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// The programs of one server.
struct SupervisedPrograms {
    replies: mpsc::UnboundedSender<(u64, SupervisorReply)>,
    orphans: OrphanReaper,
    /// The token that kills each program.
    kill_tokens: RefCell<HashMap<u64, CancellationToken>>,
}

impl SupervisedPrograms {
    fn dispatch(self: &Rc<SupervisedPrograms>, request: SupervisorRequest, pipes: Option<ChildDescriptors>) {
        match (request, pipes) {
            (SupervisorRequest::Start(id, start, _), Some(pipes)) => {
                let end = CancellationToken::new();
                self.kill_tokens.borrow_mut().insert(id, end.clone());
                let programs = self.clone();
                spawn_local(async move {
                    let reply = match spawn(&start, pipes).await {
                        Ok(child) => {
                            SupervisorReply::Reaped(programs.supervise(id, child, end).await.map(ExitStatus::into_raw))
                        }
                        Err(error) => SupervisorReply::Failed(error.raw_os_error().unwrap_or(0)),
                    };
                    programs.reply(id, reply);
                    programs.kill_tokens.borrow_mut().remove(&id);
                });
            }
            (SupervisorRequest::Kill(id), _) => {
                self.kill_tokens.borrow().get(&id).into_iter().for_each(CancellationToken::cancel);
            }
            (SupervisorRequest::Ping, _) => self.reply(0, SupervisorReply::Pong),
            (SupervisorRequest::Start(..), None) => {}
        }
    }

    /// Waits until a program has exited or is to be killed, and until its descendants are gone.
    async fn supervise(&self, id: u64, mut child: Child, end: CancellationToken) -> Option<ExitStatus> {
        let leader = Pid::from_child(&child);
        self.orphans.add_leader(leader);
        let ended = tokio::select! {
            biased;
            () = end.cancelled() => false,
            () = wait_for_exit(leader) => true,
        };
        // Without descendants there is no need to wait for a kill request.
        let left = !ended || !self.orphans.has_no_orphans(leader);
        if left && ended {
            self.reply(id, SupervisorReply::Exited);
            end.cancelled().await;
        }
        if left {
            // It is not reaped yet, so its pid is valid.
            let _ = kill_process_group(leader, Signal::KILL);
            let _ = tokio::time::timeout(KILL_TIMEOUT, wait_for_exit(leader)).await;
        }
        let status = child.try_wait().ok().flatten();
        self.orphans.remove_leader(leader);
        if left {
            let _ = tokio::time::timeout(KILL_TIMEOUT, self.orphans.wait_until_reaped()).await;
        }
        status
    }

    fn reply(&self, id: u64, reply: SupervisorReply) {
        let _ = self.replies.send((id, reply));
    }
}

async fn spawn(start: &StartRequest, pipes: ChildDescriptors) -> io::Result<Child> {
    let mut command = Command::new(&start.program);
    command
        .arg0(&start.arg0)
        .args(&start.args)
        .current_dir(&start.cwd)
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .stdin(pipes.stdin.map_or_else(Stdio::null, Stdio::from))
        .stdout(pipes.stdout)
        .stderr(pipes.stderr);
    let (sandbox, cwd) = (pipes.sandbox, pipes.cwd);
    #[cfg(target_os = "linux")]
    let filter = crate::world::sandbox::call_filter(start.calls);
    // SAFETY: between fork and exec only system calls are made; nothing is allocated, and no lock is taken.
    #[allow(
        unsafe_code,
        reason = "a session, its subreaper, its folder and a sandbox can only be set in the new process"
    )]
    unsafe {
        command.pre_exec(move || {
            become_session_leader()?;
            cwd.as_ref().map_or(Ok(()), rustix::process::fchdir)?;
            // It would hold the rest too.
            #[cfg(target_os = "linux")]
            crate::world::sandbox::enforce(&sandbox, &filter)?;
            let _ = &sandbox;
            Ok(())
        });
    }
    for _ in 0..10 {
        match command.spawn() {
            // The file was just written, and a concurrent fork still holds it open.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
            outcome => return outcome,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    command.spawn()
}

/// Makes the calling process a session leader without a terminal, and a child subreaper. It is killed with its supervisor,
/// in case the server is gone too.
fn become_session_leader() -> io::Result<()> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    Ok(())
}

/// Waits for the exit of a program without reaping it.
async fn wait_for_exit(pid: Pid) {
    #[cfg(target_os = "linux")]
    if wait_on_pidfd(pid).await.is_ok() {
        return;
    }
    poll_for_exit(pid).await;
}

#[cfg(target_os = "linux")]
async fn wait_on_pidfd(pid: Pid) -> io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::unix::AsyncFd;

    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    #[expect(deprecated, reason = "its successor is unsafe, for types whose descriptor changes; an OwnedFd's does not")]
    let watched = AsyncFd::with_interest(handle, Interest::READABLE)?;
    watched.readable().await.map(drop)
}

/// Polls for the exit of a child without a pidfd.
async fn poll_for_exit(pid: Pid) {
    let mut changes = signal(SignalKind::child()).ok();
    while !has_exited(pid) {
        let change = async {
            match &mut changes {
                Some(changes) => drop(changes.recv().await),
                None => std::future::pending().await,
            }
        };
        let _ = tokio::time::timeout(EXIT_POLL_INTERVAL, change).await;
    }
}

/// Whether a child has exited. It is not reaped, so that its pid stays valid.
fn has_exited(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn polling_for_exit_does_not_reap_the_child() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 0.2; exit 3"]).spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        assert!(!has_exited(pid));
        tokio::time::timeout(Duration::from_secs(20), poll_for_exit(pid)).await.unwrap();
        assert!(has_exited(pid));
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert!(has_exited(pid));
    }
}
