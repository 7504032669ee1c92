//! Standard input and output, and any other pipe: a message a line.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::FusedFuture};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    sync::Notify,
    task::coop::unconstrained,
};
use tokio_util::sync::CancellationToken;

use crate::budget::{CallerKind, Reservation, block_if_large};
use crate::server::{ConnectionHandler, OutgoingMessage, SharedServer};

use super::{
    STOP_TIMEOUT,
    batch::AnswerRoute,
    line_buffer::{LineBuffer, LineEvent},
    message::MessageError,
    peer_state::{HandlerMessage, PeerState, ReceiveOutcome, ReceivedPayload},
    poll_while_woken::poll_while_woken,
    send_queue::SendQueue,
    stdio_sockets,
};

/// How long the peer may take to read what was written before the end.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Serves standard input and output until the input ends, the output breaks, or `stop` is cancelled.
pub async fn serve(shared_server: &SharedServer, stop: CancellationToken) {
    let unanswered = if let Some((reader, writer)) = stdio_sockets::stdio_sockets() {
        serve_as_task(shared_server, reader, writer, stop).await
    } else if let Some((reader, writer)) = stdio_sockets::stdio_pipes() {
        serve_as_task(shared_server, reader, writer, stop).await
    } else {
        serve_as_task(shared_server, tokio::io::stdin(), tokio::io::stdout(), stop).await
    };
    super::log_abandoned_calls(unanswered + shared_server.running_tasks());
    shared_server.stop();
}

/// On the thread that hears of input first, so that no other has to be woken.
async fn serve_as_task<R, W>(shared_server: &SharedServer, reader: R, writer: W, stop: CancellationToken) -> usize
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let shared_server = shared_server.clone();
    let served = tokio::spawn(async move { serve_on(&shared_server, reader, writer, stop).await });
    served.await.inspect_err(|error| tracing::error!(%error, "connection failed")).unwrap_or_default()
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
    let peer_state = PeerState::new(shared_server, shared_server.new_caller(CallerKind::Only));
    let send_queue = SendQueue::new(peer_state.caller(), abort.clone());
    let stopping = stop.child_token();
    let connection = Arc::new(PipeConnection::new(shared_server, peer_state, send_queue.clone(), stopping.clone()));
    let reading = async {
        let mut input = PipeInput { reader, lines: LineBuffer::new(), has_ended: false };
        let _ = abort.run_until_cancelled(input.receive_all(&connection)).await;
        // Calls and streams end.
        stopping.cancel();
        let _ = tokio::time::timeout(STOP_TIMEOUT, connection.wait_until_answered()).await;
        let unanswered = connection.state().pending().len();
        connection.state().cancel_all();
        send_queue.close();
        unanswered
    };
    // One task reads and writes: what is answered at once wakes no other. How much was read does not keep it from writing.
    let (mut reading, mut writing) = (pin!(reading), pin!(unconstrained(send_queue.write_to(writer)).fuse()));
    let both = async {
        loop {
            tokio::select! {
                biased;
                unanswered = &mut reading => break unanswered,
                () = &mut writing, if !writing.is_terminated() => {}
            }
        }
    };
    let unanswered = poll_while_woken(pin!(both)).await;
    if !writing.is_terminated() && tokio::time::timeout(FLUSH_TIMEOUT, writing).await.is_err() {
        send_queue.abort();
    }
    unanswered + send_queue.unwritten_responses()
}

/// What comes from the peer.
struct PipeInput<R> {
    reader: R,
    lines: LineBuffer,
    /// Whether all that the peer has sent is in `lines`.
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> PipeInput<R> {
    /// Hands over all that the peer sends, until it ends. Nothing is read while the peer does not read, or has more under
    /// way than its share.
    async fn receive_all(&mut self, connection: &Arc<PipeConnection>) {
        loop {
            connection.send_queue.wait_for_room().await;
            connection.wait_for_share().await;
            match self.lines.next() {
                LineEvent::Line(line) => connection.receive(self.lines.get(line)),
                LineEvent::TooLong => {
                    let message = "message exceeds 16 MiB, the limit on stdio";
                    connection.send_error(MessageError::invalid_request(None, message));
                }
                LineEvent::NeedMore if self.has_ended => return,
                LineEvent::NeedMore => self.read_more().await,
            }
            // Many short lines would keep others from this thread.
            tokio::task::coop::consume_budget().await;
        }
    }

    async fn read_more(&mut self) {
        let read = self.reader.read_buf(self.lines.read_buffer()).await;
        if let Err(error) = &read {
            tracing::debug!(%error, "read failed");
        }
        if matches!(read, Ok(0) | Err(_)) {
            // The last line may lack its end.
            self.lines.read_buffer().push(b'\n');
            self.has_ended = true;
        }
    }
}

/// A peer at the other end of a pipe.
struct PipeConnection {
    handler: Arc<ConnectionHandler>,
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
        PipeConnection {
            handler: shared_server.connect(Arc::new(send_queue.clone()), stop),
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
        let caller = self.state().caller().clone();
        let mut outcome = ReceiveOutcome::default();
        let taken = match ReceivedPayload::parse(line, &caller) {
            Ok(ReceivedPayload::Message(message)) => self.state().receive(message, &mut outcome),
            Ok(ReceivedPayload::Batch(list)) => {
                self.state().receive_batch(list, self.handler.session_version(), &mut outcome)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            return self.send_error(error);
        }
        let answered = outcome.finished_batches.iter().filter(|whole| !whole.responses.is_empty());
        answered.for_each(|whole| self.send_queue.push_batch(&whole.responses));
        if !outcome.cancelled.is_empty() {
            self.answered.notify_waiters();
        }
        for message in outcome.messages {
            match message {
                HandlerMessage::Request(request) => {
                    let (connection, reservation) = (self.clone(), request.reservation.clone());
                    self.handler.begin(request, move |answer| connection.answer(answer, &reservation));
                }
                HandlerMessage::Answer(id, answer) => self.handler.peer().take_answer(&id, answer),
                HandlerMessage::Notification(notification) => self.handler.receive_notification(&notification),
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

    /// Waits while the peer exceeds its share, and has answers to come that make room.
    async fn wait_for_share(&self) {
        self.wait_until(|state| !state.pending().has_several() || state.caller().has_room()).await;
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
