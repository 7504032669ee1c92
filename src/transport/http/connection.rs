//! One HTTP connection: its timeouts, and the bytes that its peer has not taken yet.

use std::{
    future::poll_fn,
    io,
    net::IpAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::header,
    response::Response,
};
use futures_util::{StreamExt, task::AtomicWaker};
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    budget::{Caller, Reservation, block_if_large},
    catalog::HttpLimits,
    transport::poll_while_woken::poll_while_woken,
};

/// The longest head of a request, and what is read or written at once.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// How many bytes are counted for one that is to be written: buffers have grown by doubling.
const WRITE_BUFFER_FACTOR: u64 = 2;

/// How long a connection is kept on which nothing is asked.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(75);

/// How long a message is answered whose client has closed its side. It may read on, or be gone: only a write tells.
const HALF_CLOSE_GRACE: Duration = Duration::from_secs(2);

/// How long a request may take to arrive when the server stops.
const LAST_REQUEST_GRACE: Duration = Duration::from_millis(100);

/// How long the end of a request may be seen before its body is taken.
const BODY_END_GRACE: Duration = Duration::from_millis(100);

/// How much is read of a body that no one wants, and for how long: a client that still sends would not see its response
/// (RFC 9112, 9.6).
const MAX_DRAINED_BYTES: usize = 64 * 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct HttpConnection {
    limits: HttpLimits,
    /// The address of its peer.
    address: IpAddr,
    /// What hyper has taken of answers, and the peer has not.
    unwritten_bytes: Reservation,
    state: Mutex<ConnectionState>,
    closed: AtomicBool,
    task: AtomicWaker,
}

struct ConnectionState {
    phase: Phase,
    since: Instant,
    /// Since when the peer has taken nothing of what it is written.
    stalled_since: Option<Instant>,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request.
    Idle,
    /// The first request, or the rest of the head of another.
    Head,
    /// The rest of its body.
    Body,
    /// The answer to a whole request without a body, such as a stream.
    Response,
    /// The answer to a whole message.
    MessageResponse,
}

impl HttpConnection {
    pub(super) fn new(caller: &Arc<Caller>, limits: HttpLimits, address: IpAddr) -> HttpConnection {
        HttpConnection {
            limits,
            address: address.to_canonical(),
            unwritten_bytes: caller.reserve(0),
            // Whoever connects has something to ask.
            state: Mutex::new(ConnectionState { phase: Phase::Head, since: Instant::now(), stalled_since: None }),
            closed: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }
    }

    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Since when its peer has not sent a whole request.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        let state = self.state();
        (!matches!(state.phase, Phase::Response | Phase::MessageResponse)).then_some(state.since)
    }

    /// Whether a message arrives or is answered.
    pub(super) fn has_message(&self) -> bool {
        matches!(self.state().phase, Phase::Body | Phase::MessageResponse)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.task.wake();
    }

    /// Until when the connection lives if nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let timeout = match state.phase {
            Phase::Idle => Some(KEEP_ALIVE_TIMEOUT),
            Phase::Head => Some(self.limits.header_timeout),
            // The one who reads it keeps the time.
            Phase::Body | Phase::Response | Phase::MessageResponse => None,
        };
        let idle_deadline = timeout.map(|timeout| state.since + timeout);
        let write_deadline = state.stalled_since.map(|since| since + self.limits.write_timeout);
        idle_deadline.into_iter().chain(write_deadline).min()
    }

    pub(super) fn enter_phase(&self, phase: Phase) {
        let mut state = self.state();
        state.phase = phase;
        state.since = Instant::now();
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock()
    }

    /// Ends when it is closed or times out.
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

/// Serves a connection until it ends or times out, or until the server stops and pending requests are answered.
pub(super) async fn serve<F, A>(stream: TcpStream, connection: Arc<HttpConnection>, stop: CancellationToken, respond: F)
where
    F: Fn(Arc<HttpConnection>, Request) -> A,
    A: Future<Output = Response>,
{
    let service = service_fn(|request: hyper::Request<Incoming>| {
        // It came together with the one before.
        let is_pipelined = connection.state().phase == Phase::Idle;
        connection.enter_phase(Phase::Body);
        // Who waits to be told to go on has sent nothing yet.
        let is_sent = !request.headers().contains_key(header::EXPECT);
        let request = request.map(|body| Body::new(RequestBody { body: Body::new(body), is_sent }));
        let respond = respond(connection.clone(), request);
        let connection = connection.clone();
        async move {
            if is_pipelined {
                // Each connection has one request at a time in its turn.
                tokio::task::yield_now().await;
            }
            let mut response = respond.await;
            let reservation = response.extensions_mut().remove::<Arc<Reservation>>();
            let response = response.map(|body| Body::new(CountingBody { body, connection, reservation }));
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let io = TokioIo::new(MeteredStream { stream, connection: connection.clone(), end_delay: None });
    let mut serving = pin!(http1::Builder::new().max_buf_size(MAX_BUFFER_BYTES).serve_connection(io, service));
    let mut sleep = pin!(sleep_until(connection.deadline().unwrap_or_else(Instant::now)));
    let mut stopped = pin!(async {
        stop.cancelled().await;
        // What is on the way on a new connection is answered: no proxy could safely send it to another server.
        if connection.state().phase == Phase::Head {
            tokio::time::sleep(LAST_REQUEST_GRACE).await;
        }
    });
    let mut stopping = false;
    let ended = poll_fn(|context| {
        connection.task.register(context.waker());
        if !stopping && stopped.as_mut().poll(context).is_ready() {
            stopping = true;
            serving.as_mut().graceful_shutdown();
        }
        if let Poll::Ready(served) = serving.as_mut().poll(context) {
            if let Err(error) = served {
                tracing::debug!(%error, "connection error");
            }
            return Poll::Ready(());
        }
        connection.poll_end(context, sleep.as_mut())
    });
    // Hyper and what answers a request wake each other.
    poll_while_woken(pin!(ended)).await;
}

/// The body of a request, of which the rest is read and dropped where it is not wanted.
struct RequestBody {
    body: Body,
    is_sent: bool,
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.is_sent
            && !http_body::Body::is_end_stream(&self.body)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(tokio::time::timeout(DRAIN_TIMEOUT, drain(std::mem::take(&mut self.body))));
        }
    }
}

async fn drain(body: Body) {
    let (mut pieces, mut left) = (body.into_data_stream(), MAX_DRAINED_BYTES);
    while let Some(Ok(piece)) = pieces.next().await
        && let Some(rest) = left.checked_sub(piece.len())
    {
        left = rest;
    }
}

/// The body of an answer, whose bytes are counted from when hyper takes them to when the peer does.
struct CountingBody {
    body: Body,
    connection: Arc<HttpConnection>,
    /// What the request has taken.
    reservation: Option<Arc<Reservation>>,
}

impl http_body::Body for CountingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // A large message must not hold up the thread's other tasks.
        let size = self.reservation.as_ref().map_or(0, |reservation| reservation.bytes());
        let frame = ready!(block_if_large(size, || Pin::new(&mut self.body).poll_frame(context)));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.connection.unwritten_bytes.grow(data.len() as u64 * WRITE_BUFFER_FACTOR);
        }
        if frame.is_none() || self.body.is_end_stream() {
            self.reservation = None;
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

impl Drop for CountingBody {
    fn drop(&mut self) {
        self.connection.enter_phase(Phase::Idle);
    }
}

/// The socket, of which is noted what is read and written.
struct MeteredStream {
    stream: TcpStream,
    connection: Arc<HttpConnection>,
    /// Set when the peer sends nothing more: until when hyper, which would close the connection, is not told.
    end_delay: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl MeteredStream {
    /// Ends when the end of what the peer sends is that of the connection.
    fn poll_end_delay(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (ended_at, sleep) =
            self.end_delay.get_or_insert_with(|| (Instant::now(), Box::pin(sleep_until(Instant::now()))));
        let deadline = match self.connection.state().phase {
            Phase::Idle | Phase::Head | Phase::Response => return Poll::Ready(()),
            Phase::Body => *ended_at + BODY_END_GRACE,
            Phase::MessageResponse => *ended_at + HALF_CLOSE_GRACE,
        };
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }

    fn record_write(&self, write: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &write {
            Poll::Ready(Ok(bytes)) => {
                self.connection.unwritten_bytes.shrink(*bytes as u64 * WRITE_BUFFER_FACTOR);
                self.connection.state().stalled_since = None;
            }
            Poll::Pending => _ = self.connection.state().stalled_since.get_or_insert_with(Instant::now),
            Poll::Ready(Err(_)) => {}
        }
        write
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            if self.connection.state().phase == Phase::Idle {
                self.connection.enter_phase(Phase::Head);
            }
        } else if matches!(read, Poll::Ready(Ok(()))) {
            ready!(self.poll_end_delay(context));
        }
        read
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.record_write(write)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.record_write(write)
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
