//! One connection: what is waited for on it, for how long that may last, and what its peer has not taken yet.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use futures_util::task::AtomicWaker;
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::HttpLimits,
    server::{PeerAccount, Reservation},
};

/// The longest head of a request, and what is read or written at once.
const BUFFER: usize = 64 * 1024;

/// How many bytes are counted for one that is to be written: buffers have grown by doubling.
const SLACK: u64 = 2;

/// How long a connection is kept on which nothing is asked.
const IDLE: Duration = Duration::from_secs(75);

/// A connection.
pub(super) struct Connection {
    limits: HttpLimits,
    bytes: PeerAccount,
    /// What hyper has taken of answers, and the peer has not.
    unwritten: Reservation,
    state: Mutex<State>,
    closed: AtomicBool,
    task: AtomicWaker,
}

struct State {
    phase: Phase,
    since: Instant,
    /// Since when the peer has taken nothing of what it is written.
    stuck: Option<Instant>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A request.
    Idle,
    /// The rest of the head of one.
    Head,
    /// The rest of its body.
    Body,
    /// Its answer.
    Answer,
}

impl Connection {
    pub(super) fn new(bytes: PeerAccount, limits: HttpLimits) -> Connection {
        Connection {
            limits,
            unwritten: bytes.reserve(0),
            bytes,
            // Whoever connects has something to ask.
            state: Mutex::new(State { phase: Phase::Head, since: Instant::now(), stuck: None }),
            closed: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }
    }

    /// What its peer has under way that belongs to no session.
    pub(super) fn bytes(&self) -> &PeerAccount {
        &self.bytes
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Since when its peer has not sent a whole request.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.phase != Phase::Answer).then_some(state.since)
    }

    /// Closes it, whatever goes on there.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.task.wake();
    }

    /// Notes that a request is there, with its body.
    pub(super) fn arrived(&self) {
        self.enter(Phase::Answer);
    }

    /// Until when the connection lives if nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let patience = match state.phase {
            Phase::Idle => Some(IDLE),
            Phase::Head => Some(self.limits.header_timeout),
            // The one who reads it keeps the time.
            Phase::Body | Phase::Answer => None,
        };
        let waits = patience.map(|patience| state.since + patience);
        let stuck = state.stuck.map(|since| since + self.limits.write_timeout);
        waits.into_iter().chain(stuck).min()
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.state();
        state.phase = phase;
        state.since = Instant::now();
    }

    fn read(&self) {
        if self.state().phase == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    fn wrote(&self, bytes: usize) {
        self.unwritten.shrink(bytes as u64 * SLACK);
        self.state().stuck = None;
    }

    fn is_stuck(&self) {
        self.state().stuck.get_or_insert_with(Instant::now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when it is closed, or its time is over.
    fn poll_end(&self, context: &mut Context<'_>, mut sleep: Pin<&mut tokio::time::Sleep>) -> Poll<()> {
        if self.closed.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        while let Some(deadline) = self.deadline() {
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            if sleep.deadline() > deadline || sleep.is_elapsed() {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll(context));
        }
        Poll::Pending
    }
}

/// Serves a connection until it ends, its time is over, or the server stops and what was asked is answered.
pub(super) async fn serve<F, A>(stream: TcpStream, connection: Arc<Connection>, stop: CancellationToken, answer: F)
where
    F: Fn(Arc<Connection>, Request) -> A,
    A: Future<Output = Response>,
{
    let service = service_fn(|request: hyper::Request<Incoming>| {
        connection.enter(Phase::Body);
        let answer = answer(connection.clone(), request.map(Body::new));
        let connection = connection.clone();
        async move { Ok::<_, std::convert::Infallible>(counted(answer.await, connection)) }
    });
    let io = TokioIo::new(Watched { stream, connection: connection.clone() });
    let mut serving = pin!(http1::Builder::new().max_buf_size(BUFFER).serve_connection(io, service));
    let mut sleep = pin!(sleep_until(connection.deadline().unwrap_or_else(Instant::now)));
    let mut stopped = pin!(stop.cancelled());
    let mut stopping = false;
    poll_fn(|context| {
        connection.task.register(context.waker());
        if !stopping && stopped.as_mut().poll(context).is_ready() {
            stopping = true;
            serving.as_mut().graceful_shutdown();
        }
        if let Poll::Ready(served) = serving.as_mut().poll(context) {
            if let Err(error) = served {
                tracing::debug!(%error, "a connection breaks off");
            }
            return Poll::Ready(());
        }
        connection.poll_end(context, sleep.as_mut())
    })
    .await;
}

fn counted(mut response: Response, connection: Arc<Connection>) -> Response {
    let held = response.extensions_mut().remove::<Arc<Reservation>>();
    response.map(|body| Body::new(Counted { body, connection, held }))
}

/// The body of an answer, whose bytes are counted from when hyper takes them to when the peer does.
struct Counted {
    body: Body,
    connection: Arc<Connection>,
    /// What the request has taken.
    held: Option<Arc<Reservation>>,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.connection.unwritten.grow(data.len() as u64 * SLACK);
        }
        if frame.is_none() || self.body.is_end_stream() {
            self.held = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.connection.enter(Phase::Idle);
    }
}

/// The socket, of which is noted what is read and written.
struct Watched {
    stream: TcpStream,
    connection: Arc<Connection>,
}

impl Watched {
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => self.connection.wrote(*bytes),
            Poll::Pending => self.connection.is_stuck(),
            Poll::Ready(Err(_)) => {}
        }
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection.read();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
