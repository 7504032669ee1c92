//! The server's side of the supervisor socket.
//!
//! Callers send requests without blocking. Two threads do the rest: one reads replies, the other sends requests that did
//! not fit into the socket, and checks that the supervisor responds while it has programs.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::sync::oneshot;

use super::orphan_reaper::OrphanReaper;
use super::wire::{ChildDescriptors, QueuedRequest, StartRequest, SupervisorReply, SupervisorRequest};
use crate::world::program_permits::ProgramPermit;

/// After how many checks without a reply the supervisor is given up.
const MAX_SILENT_CHECKS: u32 = 15;
/// After how many checks in a row that find it stopped the supervisor is given up.
const MAX_STOPPED_CHECKS: u32 = 10;
/// How long to wait before a request is sent again.
const RESEND_DELAY: Duration = Duration::from_millis(5);

/// The supervisor as a process.
pub(super) struct SupervisorProcess {
    pub(super) child: Child,
    pub(super) orphans: OrphanReaper,
}

/// Why a program did not exit by itself.
pub(in crate::world) enum ProgramFailure {
    /// It was not started.
    NotStarted(io::Error),
    /// It was killed with its supervisor, for this reason.
    Unsupervised(&'static str),
}

/// A socket with a supervisor at its other end.
pub(in crate::world) struct SupervisorClient {
    socket: UnixStream,
    /// The supervisor, if it is a process.
    pid: Option<Pid>,
    /// How often to check that it responds.
    check_interval: Duration,
    state: Mutex<SupervisorState>,
    changed: Condvar,
}

#[derive(Default)]
struct SupervisorState {
    last_id: u64,
    programs: HashMap<u64, ProgramWaiters>,
    /// Requests that are not sent completely.
    queued: VecDeque<QueuedRequest>,
    /// The number of checks since the last reply.
    silent_checks: u32,
    /// The number of checks in a row that found it stopped.
    stopped_checks: u32,
    /// Whether the checking thread is awake.
    is_watching: bool,
    /// Why it was given up, if so.
    reason: Option<&'static str>,
    /// Whether its socket is closed.
    is_socket_closed: bool,
    /// Whether it and all its programs are gone.
    has_exited: bool,
}

/// The waiters for a program.
struct ProgramWaiters {
    /// Dropped first, so that a waiter finds the permit free.
    _permit: ProgramPermit,
    exited: Option<oneshot::Sender<io::Result<()>>>,
    reaped: oneshot::Sender<Option<ExitStatus>>,
}

impl SupervisorClient {
    /// Connects to the supervisor at the other end of `socket`, which is process `pid` if it is one. `on_close` cleans up
    /// after it.
    pub(super) fn new(
        socket: UnixStream,
        pid: Option<Pid>,
        check_interval: Duration,
        on_close: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<SupervisorClient>> {
        let reader = socket.try_clone()?;
        let client = Arc::new(SupervisorClient {
            socket,
            pid,
            check_interval,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let reader_client = client.clone();
        super::spawn_thread("folio-replies", move || {
            reader_client.read_replies(reader);
            on_close();
            reader_client.mark_closed();
        })?;
        let watching = client.clone();
        super::spawn_thread("folio-requests", move || watching.watch()).inspect_err(|_| client.close())?;
        Ok(client)
    }

    /// Whether the supervisor and all its programs are gone.
    pub(super) fn is_closed(&self) -> bool {
        self.state().has_exited
    }

    /// Waits until they are gone, at most for `most`.
    pub(super) fn wait_until_closed(&self, most: Duration) -> bool {
        let mut state = self.state();
        self.changed.wait_while_for(&mut state, |state| !state.has_exited, most);
        state.has_exited
    }

    /// Tells the supervisor that its server exits.
    pub(super) fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Gives up the supervisor and all its programs.
    pub(super) fn abandon(&self, reason: &'static str) {
        self.state().abandon(&self.socket, reason);
    }

    /// Starts a program, which keeps `permit` until all its descendants are gone. Dropping the tree kills it.
    pub(in crate::world) fn start(
        self: &Arc<SupervisorClient>,
        start: StartRequest,
        pipes: ChildDescriptors,
        permit: ProgramPermit,
    ) -> ProcessTree {
        let (notify_exited, exited) = oneshot::channel();
        let (notify_reaped, reaped) = oneshot::channel();
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        // If the supervisor is gone, the waiters are dropped here.
        if !state.has_exited {
            state
                .programs
                .insert(id, ProgramWaiters { _permit: permit, exited: Some(notify_exited), reaped: notify_reaped });
            self.send(&mut state, QueuedRequest::start(id, start, pipes));
        }
        drop(state);
        ProcessTree { client: self.clone(), id, exited, reaped: Some(reaped) }
    }

    /// Kills what is left of a program.
    fn kill(&self, id: u64) {
        let mut state = self.state();
        if state.programs.contains_key(&id) {
            self.send(&mut state, QueuedRequest::new(&SupervisorRequest::Kill(id)));
        }
    }

    /// Sends a request without blocking.
    fn send(&self, state: &mut SupervisorState, request: QueuedRequest) {
        state.queued.push_back(request);
        state.flush(&self.socket);
        if !state.is_watching || !state.queued.is_empty() {
            state.is_watching = true;
            self.changed.notify_all();
        }
    }

    /// Sends waiting requests, and checks the supervisor while it has programs.
    fn watch(&self) {
        let mut state = self.state();
        let mut looked = Instant::now();
        while !state.is_socket_closed {
            let rest = match (state.queued.is_empty(), state.programs.is_empty()) {
                (false, _) => RESEND_DELAY,
                (true, false) => self.check_interval.saturating_sub(looked.elapsed()),
                (true, true) => {
                    (state.is_watching, state.silent_checks, state.stopped_checks) = (false, 0, 0);
                    self.changed.wait(&mut state);
                    looked = Instant::now();
                    continue;
                }
            };
            self.changed.wait_for(&mut state, rest);
            state.flush(&self.socket);
            if looked.elapsed() >= self.check_interval && !state.programs.is_empty() {
                looked = Instant::now();
                self.check_health(&mut state);
            }
        }
    }

    /// Continues a supervisor that a program has stopped, and pings it. Checks are counted instead of time, as the machine
    /// may be suspended in between.
    fn check_health(&self, state: &mut SupervisorState) {
        state.stopped_checks = if self.resume(state) { state.stopped_checks + 1 } else { 0 };
        state.silent_checks += 1;
        match state.silent_checks {
            _ if state.stopped_checks >= MAX_STOPPED_CHECKS => state.abandon(&self.socket, "was stopped repeatedly"),
            MAX_SILENT_CHECKS.. => state.abandon(&self.socket, "does not respond"),
            1 => self.send(state, QueuedRequest::new(&SupervisorRequest::Ping)),
            _ => {}
        }
    }

    /// Continues the supervisor, and returns whether it was stopped.
    fn resume(&self, state: &SupervisorState) -> bool {
        // Until its socket is closed it is not reaped, and its pid is valid.
        let Some(pid) = self.pid.filter(|_| !state.is_socket_closed) else { return false };
        let stopped_checks = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
        matches!(stopped_checks, Ok(Some(_))) && kill_process(pid, Signal::CONT).is_ok()
    }

    /// Reads replies until the socket is closed.
    fn read_replies(&self, socket: UnixStream) {
        let mut socket = BufReader::new(socket);
        while let Some((id, reply)) = SupervisorReply::read(&mut socket) {
            let mut state = self.state();
            state.silent_checks = 0;
            state.handle_reply(id, reply);
        }
        self.state().is_socket_closed = true;
        self.changed.notify_all();
    }

    fn mark_closed(&self) {
        let mut state = self.state();
        state.has_exited = true;
        let (listeners, unsent) = (std::mem::take(&mut state.programs), std::mem::take(&mut state.queued));
        drop(state);
        self.changed.notify_all();
        drop((listeners, unsent));
    }

    fn failure(&self) -> ProgramFailure {
        ProgramFailure::Unsupervised(self.state().reason.unwrap_or("was killed"))
    }

    fn state(&self) -> MutexGuard<'_, SupervisorState> {
        self.state.lock()
    }
}

impl SupervisorState {
    /// Sends what fits into the socket.
    fn flush(&mut self, socket: &UnixStream) {
        while let Some(request) = self.queued.front_mut() {
            match request.send(socket) {
                Ok(true) => drop(self.queued.pop_front()),
                Ok(false) => return,
                Err(error) => return self.fail(socket, &error),
            }
        }
    }

    fn fail(&mut self, socket: &UnixStream, error: &io::Error) {
        self.queued.clear();
        // With a broken pipe the reading thread ends too, and the supervisor has time to exit.
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.abandon(socket, "cannot be reached");
        }
    }

    fn abandon(&mut self, socket: &UnixStream, reason: &'static str) {
        self.reason = Some(reason);
        let _ = socket.shutdown(Shutdown::Both);
    }

    fn handle_reply(&mut self, id: u64, reply: SupervisorReply) {
        match reply {
            SupervisorReply::Pong => {}
            SupervisorReply::Failed(errno) => {
                let error = match errno {
                    0 => io::ErrorKind::InvalidInput.into(),
                    errno => io::Error::from_raw_os_error(errno),
                };
                self.notify_exited(id, Err(error));
                self.programs.remove(&id);
            }
            SupervisorReply::Exited => self.notify_exited(id, Ok(())),
            SupervisorReply::Reaped(status) => {
                self.notify_exited(id, Ok(()));
                let reaped = self.programs.remove(&id).map(|program| program.reaped);
                reaped.map(|reaped| reaped.send(status.map(ExitStatus::from_raw)));
            }
        }
    }

    fn notify_exited(&mut self, id: u64, outcome: io::Result<()>) {
        let exited = self.programs.get_mut(&id).and_then(|program| program.exited.take());
        exited.map(|exited| exited.send(outcome));
    }
}

impl SupervisorProcess {
    /// Kills what the supervisor left behind, which this process adopts.
    pub(super) fn clean_up(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.orphans.kill_leftovers();
    }
}

/// A running program with its descendants. Killed on drop.
pub(in crate::world) struct ProcessTree {
    client: Arc<SupervisorClient>,
    id: u64,
    exited: oneshot::Receiver<io::Result<()>>,
    reaped: Option<oneshot::Receiver<Option<ExitStatus>>>,
}

impl ProcessTree {
    /// Waits until the program has exited by itself; its descendants may still run. To be called once.
    pub(in crate::world) async fn wait_exited(&mut self) -> Result<(), ProgramFailure> {
        match (&mut self.exited).await {
            Ok(outcome) => outcome.map_err(ProgramFailure::NotStarted),
            Err(_) => Err(self.client.failure()),
        }
    }

    /// Kills what is left, waits until it is gone, and returns the exit status if known.
    pub(in crate::world) async fn kill(mut self) -> Result<Option<ExitStatus>, ProgramFailure> {
        let Some(reaped) = self.reaped.take() else { return Ok(None) };
        self.client.kill(self.id);
        reaped.await.map_err(|_| self.client.failure())
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.reaped.is_some() {
            self.client.kill(self.id);
        }
    }
}
