//! The server's end of the socket.
//!
//! Whoever has a request sends it, so far as there is room, and never waits. Two threads do the rest, so that no call
//! waits for another and none for a runtime: one reads the replies, one sends what there was no room for, and sees to it
//! that the supervisor answers as long as it has programs.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::sync::oneshot;

use super::orphan_reaper::OrphanReaper;
use super::wire::{ChildStdio, OutgoingRequest, REPLY_BYTES, StartRequest, SupervisorReply};
use crate::world::permits::ProgramPermit;

/// A supervisor that is not heard at so many looks in a row is given up.
const MOST_SILENT: u32 = 15;
/// So is one that is found stopped so often in a row.
const MOST_STOPPED: u32 = 10;
/// How long a request rests for which there was no room.
const PAUSE: Duration = Duration::from_millis(5);

/// The supervisor as a process.
pub(super) struct SupervisorProcess {
    pub(super) child: Child,
    pub(super) orphans: OrphanReaper,
}

/// Why a program came to no end of its own.
pub(in crate::world) enum Failure {
    /// It was not started.
    NotStarted(io::Error),
    /// Its supervisor is gone, and it was killed with it. With the reason.
    Unsupervised(&'static str),
}

/// A socket with a supervisor at its other end.
pub(super) struct SupervisorClient {
    socket: UnixStream,
    /// The supervisor, where it is a process.
    pid: Option<Pid>,
    /// How often one looks whether it answers.
    pulse: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last: u64,
    alive: HashMap<u64, ProgramWaiters>,
    /// Requests that are not sent, or not to their end.
    waiting: VecDeque<OutgoingRequest>,
    /// How many looks ago the supervisor was last heard.
    silent: u32,
    /// At how many looks in a row it was found stopped.
    stopped: u32,
    /// Whether the thread that looks does so by itself.
    watched: bool,
    /// Why it was given up, if it was.
    fault: Option<&'static str>,
    /// Whether nothing more is heard of it.
    ended: bool,
    /// Whether it is gone, and all that it supervised.
    over: bool,
}

/// Who hears what becomes of a program.
struct ProgramWaiters {
    /// Is dropped first: who hears of an end finds room for the next.
    _permit: ProgramPermit,
    exited: Option<oneshot::Sender<io::Result<()>>>,
    gone: oneshot::Sender<Option<ExitStatus>>,
}

impl SupervisorClient {
    /// Begins to talk to the supervisor at the other end of `socket`, which is process `pid` if it is one. `on_close` does
    /// what is left to be done when that is gone, and comes to an end.
    pub(super) fn new(
        socket: UnixStream,
        pid: Option<Pid>,
        pulse: Duration,
        on_close: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<SupervisorClient>> {
        let reader = socket.try_clone()?;
        let link = Arc::new(SupervisorClient { socket, pid, pulse, state: Mutex::default(), changed: Condvar::new() });
        let reader_client = link.clone();
        super::spawn_thread("folio-replies", move || {
            reader_client.read_replies(reader);
            on_close();
            reader_client.set_over();
        })?;
        let watching = link.clone();
        super::spawn_thread("folio-requests", move || watching.watch()).inspect_err(|_| link.close())?;
        Ok(link)
    }

    /// Says whether the supervisor is gone, and all that it supervised.
    pub(super) fn is_closed(&self) -> bool {
        self.state().over
    }

    /// Waits until it is, but not for longer than `most`.
    pub(super) fn wait_over(&self, most: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.state(), most, |state| !state.over);
        waited.unwrap_or_else(PoisonError::into_inner).0.over
    }

    /// Tells the supervisor that its server ends.
    pub(super) fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Has the supervisor killed, and all that it supervises.
    pub(super) fn give_up(&self, fault: &'static str) {
        self.state().give_up(&self.socket, fault);
    }

    /// Has a program started, whose end is waited for with [`ProcessTree::exited`].
    pub(super) fn start(
        self: &Arc<SupervisorClient>,
        start: &StartRequest,
        pipes: ChildStdio,
        permit: ProgramPermit,
    ) -> ProcessTree {
        let (tell_exited, exited) = oneshot::channel();
        let (tell_gone, gone) = oneshot::channel();
        let mut state = self.state();
        state.last += 1;
        let id = state.last;
        // Where nothing more is heard, the listener ends here or with the others.
        if !state.over {
            state.alive.insert(id, ProgramWaiters { _permit: permit, exited: Some(tell_exited), gone: tell_gone });
            self.send(&mut state, OutgoingRequest::start(id, start, pipes));
        }
        drop(state);
        ProcessTree { link: self.clone(), id, exited, reaped: Some(gone) }
    }

    /// Has what is left of a program killed.
    fn kill(&self, id: u64) {
        let mut state = self.state();
        if state.alive.contains_key(&id) {
            self.send(&mut state, OutgoingRequest::kill(id));
        }
    }

    /// Sends a request, so far as there is room.
    fn send(&self, state: &mut State, request: OutgoingRequest) {
        state.waiting.push_back(request);
        state.flush(&self.socket);
        if !state.watched || !state.waiting.is_empty() {
            state.watched = true;
            self.changed.notify_all();
        }
    }

    /// Sends what there was no room for, and looks after the supervisor as long as it has programs.
    fn watch(&self) {
        let mut state = self.state();
        let mut looked = Instant::now();
        while !state.ended {
            let rest = match (state.waiting.is_empty(), state.alive.is_empty()) {
                (false, _) => PAUSE,
                (true, false) => self.pulse.saturating_sub(looked.elapsed()),
                (true, true) => {
                    (state.watched, state.silent, state.stopped) = (false, 0, 0);
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    looked = Instant::now();
                    continue;
                }
            };
            state = self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
            state.flush(&self.socket);
            if looked.elapsed() >= self.pulse {
                looked = Instant::now();
                self.look(&mut state);
            }
        }
    }

    /// Has the supervisor go on where a program has stopped it, and asks it whether it is there. It is the looks that
    /// count: the machine may stand still in between.
    fn look(&self, state: &mut State) {
        state.stopped = if self.resume(state) { state.stopped + 1 } else { 0 };
        state.silent += 1;
        match state.silent {
            _ if state.stopped >= MOST_STOPPED => state.give_up(&self.socket, "was stopped repeatedly"),
            MOST_SILENT.. => state.give_up(&self.socket, "does not respond"),
            1 => self.send(state, OutgoingRequest::ping()),
            _ => {}
        }
    }

    /// Has the supervisor go on, and says whether it was stopped.
    fn resume(&self, state: &State) -> bool {
        // Until nothing more is heard of it, it is not reaped, and the number its own.
        let Some(pid) = self.pid.filter(|_| !state.ended) else { return false };
        let stopped = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
        matches!(stopped, Ok(Some(_))) && kill_process(pid, Signal::CONT).is_ok()
    }

    /// Passes on what the supervisor says, until nothing more is heard of it.
    fn read_replies(&self, mut socket: UnixStream) {
        let mut bytes = [0; REPLY_BYTES];
        while socket.read_exact(&mut bytes).is_ok() {
            let mut state = self.state();
            state.silent = 0;
            if let Some((id, reply)) = SupervisorReply::from_bytes(bytes) {
                state.read_replies(id, reply);
            }
        }
        self.state().ended = true;
        self.changed.notify_all();
    }

    fn set_over(&self) {
        let mut state = self.state();
        state.over = true;
        let (listeners, unsent) = (std::mem::take(&mut state.alive), std::mem::take(&mut state.waiting));
        drop(state);
        self.changed.notify_all();
        drop((listeners, unsent));
    }

    fn failure(&self) -> Failure {
        Failure::Unsupervised(self.state().fault.unwrap_or("was killed"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Sends what there is room for.
    fn flush(&mut self, socket: &UnixStream) {
        while let Some(request) = self.waiting.front_mut() {
            match request.send(socket) {
                Ok(true) => drop(self.waiting.pop_front()),
                Ok(false) => return,
                Err(fault) => return self.fail(socket, &fault),
            }
        }
    }

    fn fail(&mut self, socket: &UnixStream, fault: &io::Error) {
        self.waiting.clear();
        // A pipe that is broken is at its end for the other thread too; a supervisor that is told of the end of its
        // server is left its time.
        if fault.kind() != io::ErrorKind::BrokenPipe {
            self.give_up(socket, "cannot be reached");
        }
    }

    fn give_up(&mut self, socket: &UnixStream, fault: &'static str) {
        self.fault = Some(fault);
        let _ = socket.shutdown(Shutdown::Both);
    }

    fn read_replies(&mut self, id: u64, reply: SupervisorReply) {
        match reply {
            SupervisorReply::Awake => {}
            SupervisorReply::Failed(errno) => {
                let fault = match errno {
                    0 => io::ErrorKind::InvalidInput.into(),
                    errno => io::Error::from_raw_os_error(errno),
                };
                self.tell_exited(id, Err(fault));
                self.alive.remove(&id);
            }
            SupervisorReply::Exited => self.tell_exited(id, Ok(())),
            SupervisorReply::Reaped(status) => {
                self.tell_exited(id, Ok(()));
                let gone = self.alive.remove(&id).map(|program| program.gone);
                gone.map(|gone| gone.send(status.map(ExitStatus::from_raw)));
            }
        }
    }

    fn tell_exited(&mut self, id: u64, outcome: io::Result<()>) {
        let exited = self.alive.get_mut(&id).and_then(|program| program.exited.take());
        exited.map(|exited| exited.send(outcome));
    }
}

impl SupervisorProcess {
    /// Does what the supervisor has not done: what it leaves behind is adopted by this process.
    pub(super) fn clean_up(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.orphans.kill_leftovers();
    }
}

/// A program that runs, with all that descends from it. Dropped, it is killed.
pub(in crate::world) struct ProcessTree {
    link: Arc<SupervisorClient>,
    id: u64,
    exited: oneshot::Receiver<io::Result<()>>,
    reaped: Option<oneshot::Receiver<Option<ExitStatus>>>,
}

impl ProcessTree {
    /// Waits until the program has ended by itself; what it has started may go on. To be called once.
    pub(in crate::world) async fn wait_exited(&mut self) -> Result<(), Failure> {
        match (&mut self.exited).await {
            Ok(outcome) => outcome.map_err(Failure::NotStarted),
            Err(_) => Err(self.link.failure()),
        }
    }

    /// Kills whatever is left of it, waits until that is gone, and returns how the program ended, where that is known. A
    /// supervisor that does not answer is given up, with all that it supervises.
    pub(in crate::world) async fn kill(mut self) -> Result<Option<ExitStatus>, Failure> {
        let Some(gone) = self.reaped.take() else { return Ok(None) };
        self.link.kill(self.id);
        gone.await.map_err(|_| self.link.failure())
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.reaped.is_some() {
            self.link.kill(self.id);
        }
    }
}
