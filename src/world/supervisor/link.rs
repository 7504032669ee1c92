//! The server's end of the socket: two threads of its own, so that no call waits for another and none for a runtime.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

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
    /// How long the supervisor may take to read a request, and to answer that a program is gone.
    patience: Duration,
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
    /// When it is to be gone, once that was asked for.
    gone_by: Option<Instant>,
    _permit: Permit,
}

impl Link {
    /// Begins to talk to the supervisor at the other end of `socket`. `lost` does what is left to be done when that is
    /// gone, and comes to an end.
    pub(super) fn new(
        socket: UnixStream,
        patience: Duration,
        lost: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<Link>> {
        socket.set_write_timeout(Some(patience))?;
        let (outbox, requests) = mpsc::channel::<Outgoing>();
        let (reader, writer) = (socket.try_clone()?, socket.try_clone()?);
        let link = Arc::new(Link { socket, outbox, programs: Mutex::default(), patience });
        // What holds the link holds its outbox, whose end ends this thread.
        let asking = Arc::downgrade(&link);
        super::thread("folio-requests", move || {
            let asked = ask(&asking, &requests, &writer);
            // A pipe that is broken is at its end for the other thread too; a supervisor that is told of the end of its
            // server is left its time.
            if asked.is_err_and(|fault| fault.kind() != io::ErrorKind::BrokenPipe) {
                let _ = writer.shutdown(Shutdown::Both);
            }
        })?;
        let hearing = link.clone();
        super::thread("folio-replies", move || {
            hearing.hear(reader);
            lost();
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
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Has a program started, which is waited for with [`ProcessTree::started`].
    pub(super) fn start(self: &Arc<Link>, start: &Start, pipes: Pipes, permit: Permit) -> ProcessTree {
        let (tell_started, started) = oneshot::channel();
        let (tell_exited, exited) = oneshot::channel();
        let (tell_gone, gone) = oneshot::channel();
        let id = self.listen(Listener {
            started: Some(tell_started),
            exited: Some(tell_exited),
            gone: tell_gone,
            gone_by: None,
            _permit: permit,
        });
        // Where nobody passes it on any more, the link ends, and with it the listener.
        let _ = self.outbox.send(Outgoing::start(id, start, pipes));
        ProcessTree { link: self.clone(), id, started, exited, gone: Some(gone) }
    }

    /// Has what is left of a program killed.
    fn end(&self, id: u64) {
        let by = Instant::now() + self.patience;
        self.programs().alive.get_mut(&id).into_iter().for_each(|program| program.gone_by = Some(by));
        let _ = self.outbox.send(Outgoing::end(id));
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

/// Passes on requests, as long as there is a link, and the supervisor reads them and does what they say.
fn ask(link: &Weak<Link>, requests: &mpsc::Receiver<Outgoing>, socket: &UnixStream) -> io::Result<()> {
    loop {
        let deadline = link.upgrade().and_then(|link| link.programs().deadline());
        let request = match deadline.map(|by| by.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return Err(io::ErrorKind::TimedOut.into()),
            Some(left) => requests.recv_timeout(left),
            None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match request {
            Ok(request) => request.send(socket)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            // What was waited for may have come meanwhile.
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

impl Programs {
    /// When the first of those is to be gone that are to be.
    fn deadline(&self) -> Option<Instant> {
        self.alive.values().filter_map(|program| program.gone_by).min()
    }

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
    pub(super) fn lost(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.orphans.end_lost();
    }
}

/// A program that runs, with all that descends from it. Dropped, it is killed.
pub(in crate::world) struct ProcessTree {
    link: Arc<Link>,
    id: u64,
    started: oneshot::Receiver<io::Result<()>>,
    exited: oneshot::Receiver<()>,
    gone: Option<oneshot::Receiver<Option<ExitStatus>>>,
}

impl ProcessTree {
    /// Waits until the program was started. To be called once.
    pub(in crate::world) async fn started(&mut self) -> io::Result<()> {
        (&mut self.started).await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }

    /// Waits until the program has ended by itself; what it has started may go on.
    pub(in crate::world) async fn exited(&mut self) {
        let _ = (&mut self.exited).await;
    }

    /// Kills whatever is left of it, waits until that is gone, and returns how the program ended, where that is known. A
    /// supervisor that does not answer in time is given up, with all that it supervises.
    pub(in crate::world) async fn end(mut self) -> Option<ExitStatus> {
        let gone = self.gone.take()?;
        self.link.end(self.id);
        gone.await.ok().flatten()
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.gone.is_some() {
            self.link.end(self.id);
        }
    }
}
