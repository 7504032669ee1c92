//! The streams of a session: which there are, and down which of them a message goes. What a stream keeps and who reads
//! it is not in here.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use rmcp::{
    RoleServer,
    model::{GetExtensions, GetMeta, JsonRpcMessage, ProgressToken, RequestId, ServerNotification},
    service::{OriginatingRequestId, TxJsonRpcMessage},
};
use tokio_util::sync::CancellationToken;

use crate::{
    server::PeerAccount,
    transport::{
        batch::{self, Whole},
        message::Incoming,
    },
};

use super::channel::{Channel, Said};

/// How many streams with an answer are kept for a client that lost them on the way.
pub(super) const FINISHED: usize = 4;

/// The streams of a session, by their numbers.
pub(super) struct Streams {
    /// Whether all goes down one stream.
    single: bool,
    /// What the client has under way.
    bytes: PeerAccount,
    /// The stream for all that belongs to no request: number 0.
    common: Arc<Channel>,
    /// The streams of requests.
    opened: HashMap<u64, Opened>,
    /// Those of which nothing more will come, oldest first.
    finished: VecDeque<u64>,
    last: u64,
    of_request: HashMap<RequestId, u64>,
    of_progress: HashMap<ProgressToken, u64>,
    of_batch: HashMap<u64, u64>,
    /// Where the handler's own requests went.
    of_question: HashMap<RequestId, u64>,
}

/// The stream of a request, or of several.
struct Opened {
    channel: Arc<Channel>,
    /// How many answers are still to come.
    awaited: usize,
    tokens: Vec<ProgressToken>,
}

impl Streams {
    /// The one stream that a session begins with; all of them end when it is `over`.
    pub(super) fn new(single: bool, over: CancellationToken, bytes: PeerAccount) -> Streams {
        Streams {
            single,
            common: Channel::new(0, over, bytes.clone()),
            bytes,
            opened: HashMap::new(),
            finished: VecDeque::new(),
            last: 0,
            of_request: HashMap::new(),
            of_progress: HashMap::new(),
            of_batch: HashMap::new(),
            of_question: HashMap::new(),
        }
    }

    /// Whether there is no other than that for all that belongs to no request.
    pub(super) fn is_single(&self) -> bool {
        self.single
    }

    /// The stream for all that belongs to no request.
    pub(super) fn common(&self) -> &Arc<Channel> {
        &self.common
    }

    /// Whether a client reads one of them.
    pub(super) fn is_read(&self) -> bool {
        self.common.is_read() || self.opened.values().any(|opened| opened.channel.is_read())
    }

    /// Opens a stream.
    pub(super) fn open(&mut self) -> (u64, Arc<Channel>) {
        self.last += 1;
        let channel = Channel::new(self.last, self.common.over().clone(), self.bytes.clone());
        self.opened.insert(self.last, Opened { channel: channel.clone(), awaited: 0, tokens: Vec::new() });
        (self.last, channel)
    }

    /// The stream of a number, unless it is forgotten.
    pub(super) fn get(&self, number: u64) -> Option<&Arc<Channel>> {
        if number == 0 { Some(&self.common) } else { self.opened.get(&number).map(|opened| &opened.channel) }
    }

    /// Notes that what belongs to a request goes down that stream.
    pub(super) fn register(&mut self, message: &Incoming, number: u64) {
        let JsonRpcMessage::Request(request) = message else { return };
        let Some(opened) = self.opened.get_mut(&number) else { return };
        opened.awaited += 1;
        self.of_request.insert(request.id.clone(), number);
        if let Some(token) = request.request.get_meta().get_progress_token() {
            opened.tokens.push(token.clone());
            self.of_progress.insert(token, number);
        }
    }

    /// Notes that what belongs to a batch goes down that stream.
    pub(super) fn register_batch(&mut self, batch: u64, messages: &VecDeque<Incoming>, number: u64) {
        self.of_batch.insert(batch, number);
        messages.iter().for_each(|message| self.register(message, number));
    }

    /// Where a message goes.
    pub(super) fn route(&mut self, message: &TxJsonRpcMessage<RoleServer>) -> Arc<Channel> {
        use ServerNotification as N;
        let number = match message {
            _ if self.single => None,
            JsonRpcMessage::Request(request) => {
                let number = self.origin(request.request.extensions().get());
                self.of_question.insert(request.id.clone(), number.unwrap_or(0));
                number
            }
            JsonRpcMessage::Notification(told) => match &told.notification {
                N::ProgressNotification(progress) => self.of_progress.get(&progress.params.progress_token).copied(),
                // Where the request that asked was cancelled, its stream is over already.
                N::CancelledNotification(cancelled) => {
                    let number = cancelled.params.request_id.as_ref().and_then(|id| self.of_question.remove(id));
                    number.filter(|number| !self.finished.contains(number))
                }
                told => self.origin(told.extensions().get()),
            },
            answer => batch::answered(answer).and_then(|id| self.of_request.get(id)).copied(),
        };
        number.and_then(|number| self.get(number)).unwrap_or(&self.common).clone()
    }

    fn origin(&self, origin: Option<&OriginatingRequestId>) -> Option<u64> {
        origin.and_then(|origin| self.of_request.get(&origin.0)).copied()
    }

    /// A question of the handler's was answered: no word of it will come.
    pub(super) fn forget_question(&mut self, id: &RequestId) {
        self.of_question.remove(id);
    }

    /// Sends the answers of batches that are complete.
    pub(super) fn settle(&mut self, whole: Vec<Whole>) {
        for Whole { batch, replies, held } in whole {
            let number = self.of_batch.remove(&batch).unwrap_or(0);
            if let Some(channel) = self.get(number).filter(|_| !replies.is_empty()) {
                channel.push(Said::Batch(Arc::new(replies)), held);
            }
            self.finish(number);
        }
    }

    /// Ends the stream of a request, unless others are answered there.
    pub(super) fn release(&mut self, id: &RequestId) {
        let Some(number) = self.of_request.remove(id) else { return };
        if let Some(opened) = self.opened.get_mut(&number) {
            opened.awaited -= 1;
            if opened.awaited == 0 {
                self.finish(number);
            }
        }
    }

    /// Ends a stream. What it has is kept for a while.
    pub(super) fn finish(&mut self, number: u64) {
        let Some(opened) = self.opened.get_mut(&number).filter(|_| !self.finished.contains(&number)) else { return };
        opened.channel.finish();
        for token in std::mem::take(&mut opened.tokens) {
            self.of_progress.remove(&token);
        }
        self.finished.push_back(number);
        self.forget_finished();
    }

    /// Forgets those that have ended long enough ago, or before enough others.
    pub(super) fn forget_finished(&mut self) {
        while let Some(number) = self.finished.front()
            && (self.finished.len() > FINISHED || self.opened.get(number).is_none_or(|opened| opened.channel.is_done()))
        {
            self.opened.remove(number);
            self.finished.pop_front();
        }
    }

    /// How many requests and progress tokens there are whose answers are still to come.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> (usize, usize) {
        (self.of_request.len(), self.of_progress.len())
    }
}
