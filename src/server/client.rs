//! The client of one request as actions see it: asked within a session, or by an `input_required` result without one.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{
    ClientCapabilities, LoggingMessageNotification, LoggingMessageNotificationParam, ProgressNotification,
    ProgressNotificationParam, ProgressToken, RequestId, ServerNotification,
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::action::{
    AskError, ChangeNotification, ClientCapability, ClientQuestion, LogLevel, LogNotification, McpClient,
    ProgressUpdate, QuestionKind, QuestionRound, is_roots_list,
};
use crate::budget::{Reservation, SMALL_RESERVATION_BYTES, serialized_size};
use crate::redact::Redactor;
use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler, OutgoingMessage, Peer, SharedServer, log_level, question,
    request::McpRequest,
    session::{KnownRoots, Session},
    throttle::Throttle,
};

/// The client that made a request.
pub(crate) struct RequestClient {
    version: SpecVersion,
    peer: Arc<Peer>,
    capabilities: Option<ClientCapabilities>,
    shared_server: SharedServer,
    session: Arc<Session>,
    cancel: CancellationToken,
    reservation: Arc<Reservation>,
    request: RequestId,
    /// Finds what came beside the request, if anything did.
    redactor: Option<Arc<Redactor>>,
    /// The token for progress notifications.
    token: Option<ProgressToken>,
    progress: Mutex<ProgressState>,
    /// The level that the request itself asks for, in 2026-07-28.
    level: Option<LogLevel>,
    /// The answers in the request, until a round takes them.
    answers: Mutex<Option<Map<String, Value>>>,
}

/// The progress that a call has sent.
struct ProgressState {
    last: Option<f64>,
    last_message: Option<String>,
    total: Option<f64>,
    throttle: Throttle,
    /// The newest update that was held back.
    pending_update: Option<ProgressUpdate>,
    /// When the last was sent, or the call began.
    sent_at: Instant,
}

impl ProgressState {
    /// Gives an update its number and its total. False for one that says nothing new. Progress must increase: a new
    /// message increases it a little.
    fn advance(&mut self, update: &mut ProgressUpdate) -> bool {
        let is_new = update.message.is_some() && update.message != self.last_message;
        let value = match (update.progress, self.last) {
            (Some(value), Some(last)) if value <= last && !is_new => return false,
            (Some(value), Some(last)) if value <= last => next_progress(last),
            (Some(value), _) => value,
            (None, last) => last.map_or(0.0, next_progress),
        };
        update.progress = Some(value);
        update.total = update.total.or(self.total);
        (self.last, self.total) = (Some(value), update.total);
        if is_new {
            self.last_message.clone_from(&update.message);
        }
        true
    }
}

/// A little more, in thousandths, that is more for clients with single precision too.
fn next_progress(last: f64) -> f64 {
    let step = (last.abs() / 4000.0).ceil().max(1.0);
    let next = ((last * 1000.0).round() + step) / 1000.0;
    if next > last && next.is_finite() { next } else { last.next_up() }
}

/// How many progress notifications are sent at once, and then per second.
const PROGRESS_BURST: u32 = 50;
const PROGRESS_PER_SECOND: u32 = 20;
/// After how long without progress a call reports that it is running.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

impl RequestClient {
    pub(crate) fn new(
        server: &ConnectionHandler,
        request: &McpRequest,
        answers: Option<Map<String, Value>>,
    ) -> RequestClient {
        RequestClient {
            version: request.version,
            peer: server.peer.clone(),
            capabilities: request.client_capabilities(),
            shared_server: server.shared_server.clone(),
            session: server.session.clone(),
            cancel: request.cancel.clone(),
            reservation: request.reservation.clone(),
            request: request.id.clone(),
            redactor: (!request.secrets.is_empty()).then(|| request.redactor.clone()),
            token: request.meta.get_progress_token(),
            progress: Mutex::new(ProgressState {
                last: None,
                last_message: None,
                total: None,
                throttle: Throttle::new(PROGRESS_BURST, PROGRESS_PER_SECOND),
                pending_update: None,
                sent_at: Instant::now(),
            }),
            level: if request.version.is_sessionless() {
                request.meta.log_level().map(log_level::level_from_protocol)
            } else {
                None
            },
            answers: Mutex::new(answers.filter(|_| request.version.is_sessionless())),
        }
    }

    /// Drops the answers in the request, so that its questions are asked again.
    pub(crate) fn forget_answers(&self) {
        self.answers().take();
    }

    /// Runs a call, and reports that it is running whenever nothing was reported for a while.
    pub(crate) async fn with_heartbeat<T>(&self, call: impl Future<Output = T>) -> T {
        if self.token.is_none() {
            return call.await;
        }
        tokio::select! {
            biased;
            outcome = call => outcome,
            never = self.send_heartbeats() => match never {},
        }
    }

    async fn send_heartbeats(&self) -> Infallible {
        let began = self.progress().sent_at;
        loop {
            let due = self.progress().sent_at + HEARTBEAT_INTERVAL;
            tokio::time::sleep_until(due).await;
            if self.progress().sent_at + HEARTBEAT_INTERVAL <= Instant::now() {
                let message = Some(format!("running for {} s", began.elapsed().as_secs()));
                self.progress().sent_at = Instant::now();
                McpClient::progress(self, ProgressUpdate { progress: None, total: None, message }).await;
            }
        }
    }

    /// Sends progress that was held back, at the end of a call.
    pub(crate) async fn flush_pending_update(&self) {
        let pending_update = self.progress().pending_update.take();
        if let Some(pending_update) = pending_update {
            self.send_progress(pending_update).await;
        }
        let Some(min_level) = self.min_log_level() else { return };
        let dropped = self.session.log_throttle().take_dropped();
        if dropped > 0 {
            self.send_log(min_level.max(LogLevel::Warning), "folio", dropped_messages_notice(dropped)).await;
        }
    }

    fn answers(&self) -> MutexGuard<'_, Option<Map<String, Value>>> {
        self.answers.lock()
    }

    fn progress(&self) -> MutexGuard<'_, ProgressState> {
        self.progress.lock()
    }

    /// Asks in place, all questions at once.
    async fn ask_in_session(&self, round: &QuestionRound) -> Result<Map<String, Value>, AskError> {
        let _suspended = self.reservation.try_suspend().map_err(|busy| AskError::Refused(busy.to_string()))?;
        let asked = round.questions.iter().map(|question| async {
            let timeout = round.timeout_of(question);
            match question.kind {
                QuestionKind::Roots => self.ask_roots(question, timeout).await,
                _ => self.send_question(question, timeout).await,
            }
        });
        round.collect(join_all(asked).await)
    }

    /// Asks for roots. Those of a session are known until it says that they changed, if it says so at all; so is that it
    /// does not answer.
    async fn ask_roots(&self, question: &ClientQuestion, timeout: Duration) -> Result<Value, AskError> {
        let (known, changes) = {
            let roots = self.session.roots();
            (roots.known.clone(), roots.changes)
        };
        match known {
            Some(KnownRoots::Listed(roots)) => return Ok(roots),
            Some(KnownRoots::Unanswered) => return Err(AskError::RootsUnanswered),
            None => {}
        }
        let (answer, lasting_roots) = match self.send_question(question, timeout).await {
            Err(AskError::TimedOut) => (Err(AskError::RootsUnanswered), Some(KnownRoots::Unanswered)),
            Ok(roots) => {
                let is_lasting = self.notifies_roots_changes() && serialized_size(&roots) <= SMALL_RESERVATION_BYTES;
                let lasting_roots = (is_lasting && is_roots_list(&roots)).then(|| KnownRoots::Listed(roots.clone()));
                (Ok(roots), lasting_roots)
            }
            failed => (failed, None),
        };
        let mut roots = self.session.roots();
        if roots.changes == changes && lasting_roots.is_some() {
            roots.known = lasting_roots;
        }
        drop(roots);
        answer
    }

    fn notifies_roots_changes(&self) -> bool {
        let roots = self.capabilities.as_ref().and_then(|capabilities| capabilities.roots.as_ref());
        roots.is_some_and(|roots| roots.list_changed == Some(true))
    }

    async fn send_question(&self, question: &ClientQuestion, timeout: Duration) -> Result<Value, AskError> {
        let (method, params) = question::question_request(&question.kind, self.version);
        let origin = self.request.clone();
        let redact = |question| self.redact(question);
        let answer = self.peer.ask(method, params.as_ref(), origin, timeout, &self.cancel, redact).await?;
        Ok(question::normalize_answer(&question.kind, answer, self.version))
    }

    async fn send_log(&self, level: LogLevel, logger: &str, data: Value) {
        let params = LoggingMessageNotificationParam::new(log_level::level_to_protocol(level), data)
            .with_logger(logger.to_owned());
        self.notify_client(LoggingMessageNotification::new(params).into()).await;
    }

    async fn send_progress(&self, update: ProgressUpdate) {
        let Some(token) = self.token.clone() else { return };
        let mut params = ProgressNotificationParam::new(token, update.progress.unwrap_or_default());
        params.total = update.total;
        params.message = update.message.filter(|_| self.version >= SpecVersion::V2025_03_26);
        self.notify_client(ProgressNotification::new(params).into()).await;
    }

    /// Sends a notification on behalf of the request: not every client over HTTP reads another stream than its own.
    async fn notify_client(&self, notification: ServerNotification) {
        let message = self.redact(OutgoingMessage::notification(notification, Some(self.request.clone())));
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            () = self.peer.deliver(message) => {}
        }
    }

    /// The message without what came beside the request.
    fn redact(&self, message: OutgoingMessage) -> OutgoingMessage {
        match &self.redactor {
            Some(redactor) => message.redact_with(redactor),
            None => message,
        }
    }

    /// The least grave messages that the client wants, if any: 2026-07-28 says it by the request, before the session.
    fn min_log_level(&self) -> Option<LogLevel> {
        if self.version.is_sessionless() {
            return self.level;
        }
        let has_session = self.session.is_lasting && self.session.negotiated().is_some();
        has_session.then(|| self.session.log_level())
    }
}

impl McpClient for RequestClient {
    fn has_capability(&self, capability: ClientCapability) -> bool {
        question::is_supported(capability, self.capabilities.as_ref(), self.version)
    }

    fn declared_capabilities(&self) -> Option<Map<String, Value>> {
        declared_capabilities(self.capabilities.as_ref())
    }

    fn allows_root(&self, root: &Path) -> bool {
        self.shared_server.allows_root(root)
    }

    fn ask<'a>(&'a self, round: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>> {
        Box::pin(async move {
            if !self.version.is_sessionless() {
                return self.ask_in_session(round).await;
            }
            self.answers().take().ok_or(AskError::InputRequired)
        })
    }

    fn log(&self, message: LogNotification) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(min_level) = self.min_log_level().filter(|min_level| message.level >= *min_level) else { return };
            let passed = self.session.log_throttle().try_acquire();
            match passed {
                None => return,
                Some(0) => {}
                Some(dropped) => {
                    self.send_log(min_level.max(LogLevel::Warning), "folio", dropped_messages_notice(dropped)).await
                }
            }
            self.send_log(message.level, &message.logger, message.data).await;
        })
    }

    fn wants_progress(&self) -> bool {
        self.token.is_some()
    }

    fn progress(&self, mut update: ProgressUpdate) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.token.is_none() {
                return;
            }
            {
                let mut state = self.progress();
                if !state.advance(&mut update) {
                    return;
                }
                if state.throttle.try_acquire().is_none() {
                    state.pending_update = Some(update);
                    return;
                }
                state.pending_update = None;
                state.sent_at = Instant::now();
            }
            self.send_progress(update).await;
        })
    }

    fn notify(&self, notification: ChangeNotification) {
        self.shared_server.publish_notification(notification);
    }
}

/// All that a client has declared; one that has declared nothing has declared no capability.
pub(crate) fn declared_capabilities(capabilities: Option<&ClientCapabilities>) -> Option<Map<String, Value>> {
    match capabilities.map(serde_json::to_value) {
        Some(Ok(Value::Object(declared))) => Some(declared),
        _ => Some(Map::new()),
    }
}

fn dropped_messages_notice(dropped: u64) -> Value {
    json!(format!("{dropped} log messages dropped (rate limit)"))
}
