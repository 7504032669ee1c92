//! Newline-delimited messages over standard input and output or another pair of pipes, in any protocol version.

use std::{
    collections::VecDeque,
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{JsonRpcMessage, ServerNotification},
    service::TxJsonRpcMessage,
    transport::{Transport, stdio_pipes},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::budget::{CallerKind, Reservation, block_if_large};
use crate::server::SharedServer;

use super::{
    STOP_TIMEOUT,
    batch::{self, ResponseRoute},
    line_buffer::{LineBuffer, LineEvent},
    message::{Incoming, MessageError},
    peer_state::{PeerState, ReceivedPayload},
    send_queue::{QueuedKind, SendQueue},
    stdio_sockets,
};

/// How long the peer may take to read what was written before the end.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Serves standard input and output until the input ends, the output breaks, or `stop` is cancelled.
pub async fn serve(shared_server: &SharedServer, stop: CancellationToken) {
    let unanswered = if let Some((reader, writer)) = stdio_sockets::stdio_sockets() {
        serve_on(shared_server, reader, writer, stop).await
    } else {
        let (reader, writer) = stdio_pipes();
        serve_on(shared_server, reader, writer, stop).await
    };
    super::log_abandoned_calls(unanswered + shared_server.running_tasks());
    shared_server.stop();
}

/// Serves a peer at the other ends of `reader` and `writer` until it is gone or `stop` is cancelled. Returns how many
/// requests are unanswered.
///
/// At the end of the input too, streams end with their result, and answers that are almost ready are still written; what
/// is still running is cancelled, and answered with an error.
pub async fn serve_on<R, W>(shared_server: &SharedServer, reader: R, writer: W, stop: CancellationToken) -> usize
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let abort = stop.child_token();
    let peer_state = PeerState::new(shared_server.clone(), CallerKind::Only);
    let (send_queue, writing) =
        SendQueue::spawn(writer, peer_state.caller(), shared_server.redactors().clone(), abort.clone());
    let (stopping, ended, unanswered) = (stop.child_token(), CancellationToken::new(), Arc::<AtomicUsize>::default());
    let pipe = PipeTransport {
        reader,
        lines: LineBuffer::new(),
        inbox: VecDeque::new(),
        peer_state,
        send_queue: send_queue.clone(),
        stopping: stopping.clone(),
        ended: ended.clone(),
        unanswered: unanswered.clone(),
        abort,
        input_ended: false,
        drain_until: None,
    };
    tokio::select! {
        () = super::serve(shared_server, pipe, stopping) => {}
        // A call that cannot be stopped ends with the process.
        () = ended.cancelled() => {}
    }
    send_queue.finish(writing, FLUSH_TIMEOUT).await;
    unanswered.load(Ordering::Acquire) + send_queue.unwritten_responses()
}

/// A pipe as rmcp sees it. Its loop drops what `receive` has not finished whenever something else happens, so state
/// that must survive is kept here.
struct PipeTransport<R> {
    reader: R,
    lines: LineBuffer,
    /// What of the last line the handler has not seen yet.
    inbox: VecDeque<Incoming>,
    peer_state: PeerState,
    send_queue: Arc<SendQueue>,
    /// Cancelled when the server stops, and when reading stops: calls and streams end.
    stopping: CancellationToken,
    /// Cancelled when nothing more is awaited.
    ended: CancellationToken,
    /// How many requests had no answer then.
    unanswered: Arc<AtomicUsize>,
    /// Cancelled when the server stops, and when the peer no longer reads.
    abort: CancellationToken,
    /// Whether all that the peer has sent is in `lines`.
    input_ended: bool,
    /// Set when reading stops: until when answers are awaited.
    drain_until: Option<Instant>,
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for PipeTransport<R> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Answers are always taken: there are as many as requests, and no more requests are read while the peer does
        // not read. Change notifications wait, and are merged meanwhile.
        let delayed = if batch::answered_request(&message).is_none() && self.send_queue.is_full() {
            Some(Box::pin(push_when_read(self.send_queue.clone(), message)))
        } else {
            self.push(message);
            None
        };
        // rmcp spawns this future for each message, and moves it several times: what seldom waits stands in a box.
        async move {
            if let Some(delayed) = delayed {
                delayed.await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            if let Some(until) = self.drain_until {
                return self.finish_drain(until).await;
            }
            if self.abort.is_cancelled() {
                self.start_drain();
                continue;
            }
            if let Some(message) = self.inbox.pop_front() {
                return Some(message);
            }
            if self.peer_state.pending().is_initializing() {
                // It is called again when `initialize` is answered.
                return std::future::pending().await;
            }
            if self.send_queue.is_full() {
                self.wait_for_send_queue().await;
                continue;
            }
            if self.peer_state.pending().has_several() && !self.peer_state.caller().has_room() {
                self.wait_for_share().await;
            }
            match self.lines.next() {
                LineEvent::Line(line) => self.receive_line(line),
                LineEvent::TooLong => {
                    self.send_error(MessageError::invalid_request(None, "message exceeds 16 MiB, the limit on stdio"));
                }
                LineEvent::NeedMore if self.input_ended => self.start_drain(),
                LineEvent::NeedMore => self.read_more().await,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.send_queue.close();
        Ok(())
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> PipeTransport<R> {
    fn start_drain(&mut self) {
        self.drain_until = Some(Instant::now() + STOP_TIMEOUT);
        self.stopping.cancel();
    }

    async fn read_more(&mut self) {
        let read = tokio::select! {
            biased;
            read = self.reader.read_buf(self.lines.read_buffer()) => read,
            () = self.abort.cancelled() => return self.start_drain(),
        };
        if let Err(error) = &read {
            tracing::debug!(%error, "read failed");
        }
        if matches!(read, Ok(0) | Err(_)) {
            // The last line may lack its end.
            self.lines.read_buffer().push(b'\n');
            self.input_ended = true;
        }
    }

    async fn wait_for_send_queue(&mut self) {
        tokio::select! {
            () = self.abort.cancelled() => self.start_drain(),
            () = self.send_queue.wait_for_room() => {}
        }
    }

    /// Waits while the peer exceeds its share; called again after each answer.
    async fn wait_for_share(&mut self) {
        tokio::select! {
            biased;
            () = self.peer_state.caller().wait_for_room() => {}
            () = self.abort.cancelled() => {}
        }
    }

    /// Waits for responses, then ends everything. It is called again after each response.
    async fn finish_drain(&mut self, until: Instant) -> Option<Incoming> {
        if !self.peer_state.pending().is_empty() {
            tokio::time::sleep_until(until).await;
        }
        self.unanswered.store(self.peer_state.pending().len(), Ordering::Release);
        self.send_queue.close();
        self.ended.cancel();
        None
    }

    /// Parses a line, and answers its errors.
    fn receive_line(&mut self, line: Range<usize>) {
        let payload = ReceivedPayload::parse(self.lines.get(line), self.peer_state.caller());
        match payload.and_then(|payload| self.peer_state.receive(payload, &mut self.inbox)) {
            Ok(taken) => {
                let answered = taken.finished_batches.iter().filter(|whole| !whole.responses.is_empty());
                answered.for_each(|whole| self.send_queue.push(&whole.responses, QueuedKind::Any));
            }
            Err(error) => self.send_error(error),
        }
    }

    /// Writes a message, or keeps it until the batch that it belongs to is answered.
    fn push(&mut self, message: TxJsonRpcMessage<RoleServer>) {
        let kind = queued_kind(&message);
        match self.peer_state.route_response(message) {
            ResponseRoute::Single(response) => {
                block_if_large(bytes(&response.reservation), || self.send_queue.push(&response.message, kind));
            }
            ResponseRoute::BatchFinished(whole) => {
                block_if_large(bytes(&whole.reservations), || self.send_queue.push(&whole.responses, kind));
            }
            ResponseRoute::Queued => {}
        }
    }

    fn send_error(&self, error: MessageError) {
        self.send_queue.push(&error, QueuedKind::Any);
    }
}

/// Writes a message once the peer has read what was written before.
async fn push_when_read(send_queue: Arc<SendQueue>, message: TxJsonRpcMessage<RoleServer>) {
    send_queue.wait_for_room().await;
    send_queue.push(&message, queued_kind(&message));
}

/// The sum of reserved bytes.
fn bytes<'r>(reservations: impl IntoIterator<Item = &'r Arc<Reservation>>) -> u64 {
    reservations.into_iter().map(|reservation| reservation.bytes()).sum()
}

fn queued_kind(message: &TxJsonRpcMessage<RoleServer>) -> QueuedKind {
    match message {
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => QueuedKind::Response,
        JsonRpcMessage::Notification(notification) => match notification.notification {
            ServerNotification::ProgressNotification(_) => QueuedKind::Progress,
            _ => QueuedKind::Any,
        },
        JsonRpcMessage::Request(_) => QueuedKind::Any,
    }
}
