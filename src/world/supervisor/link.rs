//! The server's end of the socket: two threads of its own, so that no call waits for another and none for a runtime.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use tokio::sync::oneshot;

use super::orphans::Orphans;
use super::wire::{Outgoing, Pipes, REPLY, Reply, Start};
use crate::world::permits::Permit;

/// The supervisor as a process.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) orphans: Orphans,
}

/// A socket with a supervisor at its other end.
pub(super) struct Link {
    socket: UnixStream,
    outbox: mpsc::Sender<Outgoing>,
    programs: Mutex<Programs>,
}

#[derive(Default)]
struct Programs {
    last: u64,
    alive: HashMap<u64, Listener>,
    /// Whether the supervisor is gone.
    over: bool,
}

/// Who hears what becomes of a program.
struct Listener {
    started: Option<oneshot::Sender<io::Result<()>>>,
    exited: Option<oneshot::Sender<()>>,
    gone: oneshot::Sender<Option<ExitStatus>>,
    _permit: Permit,
}

impl Link {
    /// Begins to talk to the supervisor at the other end of `socket`.
    pub(super) fn new(socket: UnixStream, process: Option<Process>) -> io::Result<Arc<Link>> {
        let (outbox, requests) = mpsc::channel::<Outgoing>();
        let (reader, writer) = (socket.try_clone()?, socket.try_clone()?);
        let link = Arc::new(Link { socket, outbox, programs: Mutex::default() });
        super::thread("folio-requests", move || {
            // Where it cannot be written to, the supervisor is gone, which the other thread hears of.
            while requests.recv().is_ok_and(|request| request.send(&writer).is_ok()) {}
        })?;
        let hearing = link.clone();
        super::thread("folio-replies", move || {
            hearing.hear(reader);
            process.into_iter().for_each(Process::lost);
            *hearing.programs() = Programs { over: true, ..Programs::default() };
        })?;
        Ok(link)
    }

    /// Says whether the supervisor is gone, and all that it supervised.
    pub(super) fn is_over(&self) -> bool {
        self.programs().over
    }

    /// Tells the supervisor that its server ends.
    pub(super) fn close(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Has a program started.
    pub(super) async fn start(
        self: &Arc<Link>,
        start: &Start,
        pipes: Pipes,
        permit: Permit,
    ) -> io::Result<ProcessTree> {
        let (tell_started, started) = oneshot::channel();
        let (tell_exited, exited) = oneshot::channel();
        let (tell_gone, gone) = oneshot::channel();
        let listener =
            Listener { started: Some(tell_started), exited: Some(tell_exited), gone: tell_gone, _permit: permit };
        let id = self.listen(listener);
        let tree = ProcessTree { link: self.clone(), id, exited, gone: Some(gone) };
        let _ = self.outbox.send(Outgoing::start(id, start, pipes));
        let started = started.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        started.map(|()| tree)
    }

    fn listen(&self, listener: Listener) -> u64 {
        let mut programs = self.programs();
        programs.last += 1;
        let id = programs.last;
        if !programs.over {
            programs.alive.insert(id, listener);
        }
        id
    }

    /// Passes on what the supervisor says, until it is gone.
    fn hear(&self, mut socket: UnixStream) {
        let mut bytes = [0; REPLY];
        while socket.read_exact(&mut bytes).is_ok() {
            if let Some((id, reply)) = Reply::from_bytes(bytes) {
                self.programs().hear(id, reply);
            }
        }
    }

    fn programs(&self) -> MutexGuard<'_, Programs> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Programs {
    fn hear(&mut self, id: u64, reply: Reply) {
        match reply {
            Reply::Started => self.tell_started(id, Ok(())),
            Reply::Failed(errno) => {
                let fault = match errno {
                    0 => io::ErrorKind::InvalidInput.into(),
                    errno => io::Error::from_raw_os_error(errno),
                };
                self.tell_started(id, Err(fault));
                self.alive.remove(&id);
            }
            Reply::Exited => {
                let exited = self.alive.get_mut(&id).and_then(|program| program.exited.take());
                exited.map(|exited| exited.send(()));
            }
            Reply::Gone(status) => {
                let gone = self.alive.remove(&id).map(|program| program.gone);
                gone.map(|gone| gone.send(status.map(ExitStatus::from_raw)));
            }
        }
    }

    fn tell_started(&mut self, id: u64, outcome: io::Result<()>) {
        let started = self.alive.get_mut(&id).and_then(|program| program.started.take());
        started.map(|started| started.send(outcome));
    }
}

impl Process {
    /// Does what the supervisor has not done: what it leaves behind is adopted by this process.
    fn lost(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.orphans.end_lost();
    }
}

/// A program that runs, with all that descends from it. Dropped, it is killed.
pub(in crate::world) struct ProcessTree {
    link: Arc<Link>,
    id: u64,
    exited: oneshot::Receiver<()>,
    gone: Option<oneshot::Receiver<Option<ExitStatus>>>,
}

impl ProcessTree {
    /// Waits until the program has ended by itself; what it has started may go on.
    pub(in crate::world) async fn exited(&mut self) {
        let _ = (&mut self.exited).await;
    }

    /// Kills whatever is left of it, waits until that is gone, and returns how the program ended, where that is known.
    pub(in crate::world) async fn end(mut self) -> Option<ExitStatus> {
        let gone = self.gone.take()?;
        let _ = self.link.outbox.send(Outgoing::end(self.id));
        gone.await.ok().flatten()
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.gone.is_some() {
            let _ = self.link.outbox.send(Outgoing::end(self.id));
        }
    }
}
