//! Standard input and output, and any other pipe: a message a line.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use futures_util::{FutureExt, future::FusedFuture};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime::Handle,
    sync::{Notify, oneshot},
};
use tokio_util::sync::CancellationToken;

use crate::budget::{Caller, CallerKind, Reservation, block_if_large};
use crate::server::{ConnectionHandler, ConnectionKind, OutgoingMessage, RequestSender, SharedServer};

use super::{
    STOP_TIMEOUT,
    batch::AnswerRoute,
    line_buffer::{LineBuffer, LineEvent},
    message::{Incoming, MessageError},
    peer_state::{PeerState, ReceivedPayload},
    queue_writer::QueueWriter,
    send_queue::SendQueue,
    stdio_streams::{BlockingStdin, ByteSource, stdout},
};

/// How long the peer may take to read what was written before the end.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Serves standard input and output until the input ends, the output breaks, or `stop` is cancelled.
pub async fn serve(shared_server: &SharedServer, stop: CancellationToken) {
    let unanswered = serve_peer(shared_server, stdout(), stop, |input| {
        // The thread that waits for a message answers it too, so that no other has to be woken. It may still be waiting when
        // the server stops.
        let (ended, reading) = oneshot::channel::<()>();
        let runtime = Handle::current();
        let thread = thread::Builder::new().name("folio stdin".to_owned()).spawn(move || {
            runtime.block_on(input.receive_all(BlockingStdin));
            drop(ended);
        });
        async move {
            match thread {
                Ok(_) => drop(reading.await),
                Err(error) => tracing::error!(%error, "cannot start a thread"),
            }
        }
    })
    .await;
    super::log_abandoned_calls(unanswered + shared_server.running_tasks());
    shared_server.stop();
}

/// Serves a peer at the other ends of `reader` and `writer` until it is gone or `stop` is cancelled.
pub async fn serve_on<R, W>(shared_server: &SharedServer, reader: R, writer: W, stop: CancellationToken)
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    serve_peer(shared_server, writer, stop, |input| input.receive_all(reader)).await;
}

/// Serves a peer whose input `read` takes, until it is gone or `stop` is cancelled. Returns how many requests are unanswered.
///
/// At the end of the input too, streams end with their result, and answers that are almost ready are still written; what
/// is still running is cancelled, and answered with an error.
async fn serve_peer<F: Future<Output = ()>>(
    shared_server: &SharedServer,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    stop: CancellationToken,
    read: impl FnOnce(PipeInput) -> F,
) -> usize {
    let abort = stop.child_token();
    let peer_state = PeerState::new(shared_server, shared_server.new_caller(CallerKind::Only));
    let send_queue = SendQueue::new(peer_state.caller(), abort.clone());
    let stopping = stop.child_token();
    let connection = Arc::new(PipeConnection::new(shared_server, peer_state, send_queue.clone(), stopping.clone()));
    let queue_writer = QueueWriter::new(send_queue.clone(), writer);
    let input = PipeInput { connection: connection.clone(), queue_writer: queue_writer.clone(), abort: abort.clone() };
    let reading = async {
        let _ = abort.run_until_cancelled(read(input)).await;
        // Calls and streams end.
        stopping.cancel();
        let _ = tokio::time::timeout(STOP_TIMEOUT, connection.wait_until_answered()).await;
        let unanswered = connection.state().pending().len();
        connection.state().cancel_all();
        unanswered
    };
    let unanswered = {
        let (mut reading, mut writing) = (pin!(reading), pin!(queue_writer.run().fuse()));
        loop {
            tokio::select! {
                biased;
                unanswered = &mut reading => break unanswered,
                () = &mut writing, if !writing.is_terminated() => {}
            }
        }
    };
    send_queue.close();
    if tokio::time::timeout(FLUSH_TIMEOUT, queue_writer.finish()).await.is_err() {
        send_queue.abort();
    }
    unanswered + send_queue.unwritten_responses()
}

/// Takes what comes from a peer.
struct PipeInput {
    connection: Arc<PipeConnection>,
    queue_writer: Arc<QueueWriter>,
    abort: CancellationToken,
}

impl PipeInput {
    /// Hands over all that the peer sends, until it ends. Nothing is read while the peer does not read, or has more under
    /// way than its share.
    async fn receive_all(self, mut source: impl ByteSource) {
        let mut lines = LineBuffer::new();
        let mut has_ended = false;
        while !self.abort.is_cancelled() {
            self.connection.send_queue.wait_for_room().await;
            self.connection.wait_until(PeerState::is_within_share).await;
            if self.queue_writer.write_after(|| self.receive_lines(&mut lines)) {
                if has_ended {
                    return;
                }
                let read = source.read(lines.read_buffer()).await;
                if let Err(error) = &read {
                    tracing::debug!(%error, "read failed");
                }
                if matches!(read, Ok(0) | Err(_)) {
                    // The last line may lack its end.
                    lines.read_buffer().push(b'\n');
                    has_ended = true;
                }
            }
            // Many short lines would keep others from this thread.
            tokio::task::coop::consume_budget().await;
        }
    }

    /// Takes lines while there is room for their answers. Returns whether there are no more.
    fn receive_lines(&self, lines: &mut LineBuffer) -> bool {
        let connection = &self.connection;
        while !connection.send_queue.is_full() && connection.state().is_within_share() && !self.abort.is_cancelled() {
            match lines.next() {
                LineEvent::Line(line) => connection.receive(line),
                LineEvent::TooLong => {
                    let message = "message exceeds 16 MiB, the limit on stdio";
                    connection.send_error(MessageError::invalid_request(None, message));
                }
                LineEvent::NeedMore => return true,
            }
        }
        false
    }
}

/// A peer at the other end of a pipe.
struct PipeConnection {
    handler: Arc<ConnectionHandler>,
    caller: Arc<Caller>,
    sender: RequestSender,
    state: Mutex<PeerState>,
    send_queue: Arc<SendQueue>,
    /// How many answers are on their way into the queue: one to a large batch takes a while.
    on_the_way: AtomicUsize,
    /// Notified when a request is answered or cancelled.
    answered: Notify,
}

impl PipeConnection {
    fn new(
        shared_server: &SharedServer,
        peer_state: PeerState,
        send_queue: Arc<SendQueue>,
        stop: CancellationToken,
    ) -> PipeConnection {
        let session = ConnectionKind::Session { id: None, shared: None };
        PipeConnection {
            handler: shared_server.connect(Arc::new(send_queue.clone()), stop, session),
            caller: peer_state.caller().clone(),
            sender: RequestSender::default(),
            state: Mutex::new(peer_state),
            send_queue,
            on_the_way: AtomicUsize::new(0),
            answered: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock()
    }

    /// Takes a line, and begins to answer its requests. An invalid one is answered with an error.
    fn receive(self: &Arc<PipeConnection>, line: &[u8]) {
        let payload = ReceivedPayload::parse(line, &self.caller, &self.sender);
        let received = payload.and_then(|payload| self.state().receive(payload, self.handler.session_version()));
        let outcome = match received {
            Ok(outcome) => outcome,
            Err(error) => return self.send_error(error),
        };
        let answered = outcome.finished_batches.iter().filter(|whole| !whole.responses.is_empty());
        answered.for_each(|whole| self.send_queue.push_batch(&whole.responses));
        if !outcome.cancelled.is_empty() {
            self.answered.notify_waiters();
        }
        for message in outcome.messages {
            match message {
                Incoming::Request(request) => {
                    let (connection, reservation) = (self.clone(), request.reservation.clone());
                    self.handler.begin(request, move |answer| connection.answer(answer, &reservation));
                }
                Incoming::Answer(id, answer) => self.handler.peer().take_answer(&id, answer),
                Incoming::Notification(notification) => self.handler.receive_notification(&notification),
            }
        }
    }

    /// Writes an answer, or keeps it until the batch that it belongs to is answered.
    fn answer(&self, answer: OutgoingMessage, reservation: &Arc<Reservation>) {
        let routed = {
            let mut state = self.state();
            self.on_the_way.fetch_add(1, Ordering::AcqRel);
            state.route_answer(answer, reservation)
        };
        match routed {
            AnswerRoute::Single(answer) => block_if_large(answer.bytes(), || self.send_queue.push(answer)),
            AnswerRoute::BatchFinished(whole) => {
                let bytes = whole.responses.iter().map(OutgoingMessage::bytes).sum();
                block_if_large(bytes, || self.send_queue.push_batch(&whole.responses));
            }
            AnswerRoute::Queued | AnswerRoute::Dropped => {}
        }
        self.on_the_way.fetch_sub(1, Ordering::AcqRel);
        self.answered.notify_waiters();
    }

    fn send_error(&self, error: MessageError) {
        let message = error.into_message(self.state().redactors());
        self.send_queue.push(message);
    }

    async fn wait_until_answered(&self) {
        self.wait_until(|state| state.pending().is_empty() && self.on_the_way.load(Ordering::Acquire) == 0).await;
    }

    async fn wait_until(&self, is_reached: impl Fn(&PeerState) -> bool) {
        while !is_reached(&self.state()) {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            // It may have been reached since.
            if is_reached(&self.state()) {
                return;
            }
            answered.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::{TEST_MANIFEST, shared_server};

    /// An answer that is not pending any more may not be in the queue yet.
    #[tokio::test]
    async fn end_waits_for_answers_on_the_way_into_the_queue() {
        let shared_server = shared_server(TEST_MANIFEST);
        let peer_state = PeerState::new(&shared_server, shared_server.new_caller(CallerKind::Only));
        let stop = CancellationToken::new();
        let send_queue = SendQueue::new(peer_state.caller(), stop.clone());
        let connection = PipeConnection::new(&shared_server, peer_state, send_queue, stop);
        connection.on_the_way.fetch_add(1, Ordering::AcqRel);
        assert!(connection.wait_until_answered().now_or_never().is_none());
        // Another one comes and goes.
        let answer = OutgoingMessage::error(None, &rmcp::model::ErrorData::internal_error("m", None));
        connection.answer(answer, &Arc::default());
        assert_eq!(connection.on_the_way.fetch_sub(1, Ordering::AcqRel), 1);
        assert!(connection.wait_until_answered().now_or_never().is_some());
    }
}
