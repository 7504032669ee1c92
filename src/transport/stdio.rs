//! Newline-delimited messages over a pair of pipes: standard input and output, or any others.
//!
//! One service answers both generations on the pipe, in any order.

use std::{collections::VecDeque, io, ops::Range, sync::Arc, time::Duration};

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

use crate::budget::block_if_large;
use crate::server::{Live, Reservation};

use super::{
    batch::{self, Answered},
    exchange::{Exchange, Sent},
    line::{Lines, Next},
    message::{Fault, Incoming},
    outbox::{Order, Outbox},
    standard,
};

/// How long answers that are under way are waited for when the input ends.
const PARTING: Duration = Duration::from_millis(100);

/// How long calls that are cancelled at the end may take to end themselves.
const CLEANING: Duration = Duration::from_secs(1);

/// How long the peer may take to read what was written before the end.
const FLUSHING: Duration = Duration::from_millis(300);

/// Serves standard input and output until the input ends, the output breaks, or `stop` is cancelled.
pub async fn serve(live: &Live, stop: CancellationToken) {
    let serving = async {
        if let Some((reader, writer)) = standard::sockets() {
            serve_on(live, reader, writer, stop.clone()).await;
        } else {
            let (reader, writer) = stdio_pipes();
            serve_on(live, reader, writer, stop.clone()).await;
        }
    };
    tokio::select! {
        () = serving => {}
        () = closed(live, &stop) => {}
    }
}

/// Lets streams end with their result when the server is stopped. It does not end itself.
async fn closed(live: &Live, stop: &CancellationToken) {
    stop.cancelled().await;
    live.close();
    std::future::pending().await
}

/// Serves a peer at the other ends of `reader` and `writer` until it is gone or `stop` is cancelled.
///
/// At the end of the input, answers that are all but there are still written, then nothing more; what is still
/// running is cancelled. The caller may let streams end with their result, by [`Live::close`], when it stops.
pub async fn serve_on<R, W>(live: &Live, reader: R, writer: W, stop: CancellationToken)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let halt = stop.child_token();
    let exchange = Exchange::new(live.clone());
    let (outbox, writing) = Outbox::spawn(writer, exchange.bytes(), live.redactors().clone(), halt.clone());
    let running = CancellationToken::new();
    let pipe = Pipe {
        reader,
        lines: Lines::new(),
        inbox: VecDeque::new(),
        exchange,
        outbox: outbox.clone(),
        running: running.clone(),
        stop,
        halt,
        ended: false,
        parting: None,
    };
    tokio::select! {
        () = super::serve(live, pipe, running.clone()) => {}
        () = over(&running) => {}
    }
    outbox.finish(writing, FLUSHING).await;
}

/// Waits until the calls that were cancelled at the end have had their time. One that cannot be stopped ends with the
/// process.
async fn over(running: &CancellationToken) {
    running.cancelled().await;
    tokio::time::sleep(CLEANING).await;
}

/// A pipe as rmcp sees it. Its loop drops what `receive` has not finished whenever something else happens, so
/// everything that must outlast that stands here.
struct Pipe<R> {
    reader: R,
    lines: Lines,
    /// What of the last line the handler has not seen yet.
    inbox: VecDeque<Incoming>,
    exchange: Exchange,
    outbox: Arc<Outbox>,
    running: CancellationToken,
    stop: CancellationToken,
    /// Cancelled with `stop`, and when the peer no longer reads.
    halt: CancellationToken,
    /// Whether all that the peer has sent is in `lines`.
    ended: bool,
    /// Set when no more is read: until when what is under way may be answered.
    parting: Option<Parting>,
}

#[derive(Clone, Copy)]
struct Parting {
    until: Instant,
    /// Whether streams are waited for too: they are about to end.
    streams: bool,
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for Pipe<R> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // An answer is taken in any case: there are only as many as were asked for, and no more is asked while the
        // peer does not read. Word of changes waits, and meanwhile becomes one.
        let late = if batch::answered(&message).is_none() && self.outbox.is_full() {
            Some((self.outbox.clone(), self.outbox.room(), message))
        } else {
            let order = order(&message);
            match self.exchange.tell(message) {
                Answered::Alone(answer) => {
                    block_if_large(bytes(&answer.reservation), || self.outbox.push(&answer.message, order));
                }
                Answered::Whole(whole) => {
                    block_if_large(bytes(&whole.held), || self.outbox.push(&whole.replies, order));
                }
                Answered::Waits => {}
            }
            None
        };
        async move {
            if let Some((outbox, room, message)) = late {
                room.await;
                outbox.push(&message, order(&message));
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            if let Some(parting) = self.parting {
                return self.part(parting).await;
            }
            if self.halt.is_cancelled() {
                self.halted();
                continue;
            }
            if let Some(message) = self.inbox.pop_front() {
                return Some(message);
            }
            if self.exchange.pending().is_beginning() {
                // It is called again when `initialize` is answered.
                return std::future::pending().await;
            }
            if self.outbox.is_full() {
                self.drained().await;
                continue;
            }
            if self.exchange.pending().are_many() {
                self.settled().await;
            }
            match self.lines.next() {
                Next::Line(line) => self.take(line),
                Next::TooLong => self.refuse(Fault::request(None, "the message is longer than 16 MiB")),
                Next::More if self.ended => self.part_within(PARTING, false),
                Next::More => self.fill().await,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.mute();
        Ok(())
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Pipe<R> {
    fn part_within(&mut self, within: Duration, streams: bool) {
        self.parting = Some(Parting { until: Instant::now() + within, streams });
    }

    async fn fill(&mut self) {
        let read = tokio::select! {
            biased;
            read = self.reader.read_buf(self.lines.space()) => read,
            () = self.halt.cancelled() => return self.halted(),
        };
        if let Err(error) = &read {
            tracing::debug!(%error, "the input breaks off");
        }
        if matches!(read, Ok(0) | Err(_)) {
            // The last line may lack its end.
            self.lines.space().push(b'\n');
            self.ended = true;
        }
    }

    async fn drained(&mut self) {
        tokio::select! {
            () = self.halt.cancelled() => self.halted(),
            () = self.outbox.room() => {}
        }
    }

    /// Waits while the peer has more under way than its share. It is called again after each answer.
    async fn settled(&mut self) {
        tokio::select! {
            biased;
            () = self.exchange.bytes().room() => {}
            () = self.halt.cancelled() => {}
        }
    }

    fn halted(&mut self) {
        let stopped = self.stop.is_cancelled();
        self.part_within(if stopped { PARTING } else { Duration::ZERO }, stopped);
    }

    /// Waits for what is all but answered, then ends everything. It is called again after each answer.
    async fn part(&mut self, parting: Parting) -> Option<Incoming> {
        let done = match parting.streams {
            true => self.exchange.pending().is_empty(),
            false => self.exchange.pending().is_quiet(),
        };
        if !done {
            tokio::time::sleep_until(parting.until).await;
        }
        self.outbox.mute();
        self.running.cancel();
        None
    }

    /// Reads a line. What is wrong with it is answered here.
    fn take(&mut self, line: Range<usize>) {
        let sent = Sent::read(self.lines.get(line), self.exchange.bytes());
        match sent.and_then(|sent| self.exchange.take(sent, &mut self.inbox)) {
            Ok(taken) => {
                let answered = taken.whole.iter().filter(|whole| !whole.replies.is_empty());
                answered.for_each(|whole| self.outbox.push(&whole.replies, Order::Any));
            }
            Err(fault) => self.refuse(fault),
        }
    }

    fn refuse(&self, fault: Fault) {
        self.outbox.push(&fault, Order::Any);
    }
}

/// How many bytes are held.
fn bytes<'r>(held: impl IntoIterator<Item = &'r Arc<Reservation>>) -> u64 {
    held.into_iter().map(|reservation| reservation.bytes()).sum()
}

fn order(message: &TxJsonRpcMessage<RoleServer>) -> Order {
    match message {
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Order::Answer,
        JsonRpcMessage::Notification(told) => match told.notification {
            ServerNotification::ProgressNotification(_) => Order::Progress,
            _ => Order::Any,
        },
        JsonRpcMessage::Request(_) => Order::Any,
    }
}
