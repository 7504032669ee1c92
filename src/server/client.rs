//! The client of one request, as the catalog's actions see it: asked in place where it has a session, with its next
//! request where it has none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, join_all};
use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientCapabilities, CustomRequest, LoggingMessageNotification,
        LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, RequestId, ServerRequest,
    },
    service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::action::{Asks, Client, Level, Message, Need, Notice, Progressed, Question, Round, Unanswered};

use super::{
    Live, SMALL, Server, logging,
    pace::Pace,
    question,
    session::{Era, RootsAge, Session},
    weight::Weight,
};

/// Who made a request.
pub(crate) struct Caller {
    era: Era,
    peer: Peer<RoleServer>,
    capabilities: Option<ClientCapabilities>,
    live: Live,
    session: Arc<Session>,
    cancel: CancellationToken,
    request: RequestId,
    roots_age: RootsAge,
    /// Under which it wants to hear of progress.
    token: Option<ProgressToken>,
    progress: Mutex<Progress>,
    /// The level that the request itself asks for, in 2026-07-28.
    level: Option<Level>,
    /// The answers that came with the request, until a round has taken them.
    answers: Mutex<Option<Map<String, Value>>>,
}

/// What of its progress a call has told.
struct Progress {
    last: Option<f64>,
    pace: Pace,
    /// The newest that was held back.
    held: Option<Progressed>,
}

/// Lots of progress that is told at once, and then each second.
const PROGRESS: (u32, u32) = (50, 20);

impl Caller {
    pub(crate) fn new(
        server: &Server,
        context: &RequestContext<RoleServer>,
        era: Era,
        answers: Option<Map<String, Value>>,
    ) -> Caller {
        Caller {
            era,
            peer: context.peer.clone(),
            capabilities: context.client_capabilities(),
            live: server.live.clone(),
            session: server.session.clone(),
            cancel: context.ct.clone(),
            request: context.id.clone(),
            roots_age: context.extensions.get().copied().unwrap_or_default(),
            token: context.meta.get_progress_token(),
            progress: Mutex::new(Progress { last: None, pace: Pace::new(PROGRESS.0, PROGRESS.1), held: None }),
            level: if era.is_modern() { context.meta.log_level().map(logging::level) } else { None },
            answers: Mutex::new(answers.filter(|_| era.is_modern())),
        }
    }

    /// Forgets the answers that came with the request: what they answered is asked anew.
    pub(crate) fn forget_answers(&self) {
        self.answers().take();
    }

    /// Tells what was held back, now that the call ends.
    pub(crate) async fn finish(&self) {
        let held = self.progress().held.take();
        if let Some(held) = held {
            self.send_progress(held).await;
        }
        let Some(least) = self.least() else { return };
        let missing = self.session.log_pace().held();
        if missing > 0 {
            self.send_log(least.max(Level::Warning), "folio", left_out(missing)).await;
        }
    }

    fn answers(&self) -> MutexGuard<'_, Option<Map<String, Value>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks in place, all questions at once.
    async fn ask_now(&self, round: &Round) -> Result<Map<String, Value>, Unanswered> {
        let mut answers = Map::new();
        let asked = join_all(round.questions.iter().map(|question| self.ask_one(question, round))).await;
        for (question, answer) in round.questions.iter().zip(asked) {
            answers.insert(question.key.clone(), answer?);
        }
        Ok(answers)
    }

    /// Asks one question. The roots of a session are known until it says that they changed, if it says so at all.
    async fn ask_one(&self, question: &Question, round: &Round) -> Result<Value, Unanswered> {
        let roots = question.asks == Asks::Roots && self.tells_of_roots();
        let known = self.session.roots().clone().filter(|(age, _)| roots && *age == self.roots_age);
        if let Some((_, known)) = known {
            return Ok(known);
        }
        let answer = self.put(question, round).await?;
        if roots && crate::action::roots(&answer).is_some() && answer.weight() <= SMALL {
            *self.session.roots() = Some((self.roots_age, answer.clone()));
        }
        Ok(answer)
    }

    fn tells_of_roots(&self) -> bool {
        let roots = self.capabilities.as_ref().and_then(|capabilities| capabilities.roots.as_ref());
        roots.is_some_and(|roots| roots.list_changed == Some(true))
    }

    async fn put(&self, question: &Question, round: &Round) -> Result<Value, Unanswered> {
        let (method, params) = question::request(&question.asks, self.era);
        let request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
        let options = PeerRequestOptions::with_timeout(round.timeout)
            .reset_timeout_on_progress()
            .with_max_total_timeout(round.timeout * MOST_PATIENCE);
        let handle = self.peer.send_request_with_option(request, options).await.map_err(unanswered)?;
        let mut asked = Asked { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        // On a task of its own it comes to its end, and leaves nothing behind, whoever no longer waits for it.
        let answer = tokio::spawn(handle.await_response());
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                asked.take_back().await;
                Err(Unanswered::Cancelled)
            }
            answer = answer => {
                asked.id = None;
                let answer = answer.map_err(|_| Unanswered::Cancelled)?.map_err(unanswered)?;
                let answer = serde_json::to_value(answer).unwrap_or_default();
                Ok(question::answer(&question.asks, answer, self.era))
            }
        }
    }

    async fn send_log(&self, level: Level, logger: &str, data: Value) {
        let params = LoggingMessageNotificationParam::new(logging::written(level), data).with_logger(logger.to_owned());
        let mut message = LoggingMessageNotification::new(params);
        // Over HTTP it goes down the stream of the request, as a question does: not every client has another.
        message.extensions.insert(OriginatingRequestId(self.request.clone()));
        tokio::select! {
            () = self.cancel.cancelled() => {}
            _ = self.peer.send_notification(message.into()) => {}
        }
    }

    async fn send_progress(&self, progressed: Progressed) {
        let Some(token) = self.token.clone() else { return };
        let mut params = ProgressNotificationParam::new(token, progressed.progress);
        params.total = progressed.total;
        params.message = progressed.message.filter(|_| self.era >= Era::V2025_03_26);
        tokio::select! {
            () = self.cancel.cancelled() => {}
            _ = self.peer.notify_progress(params) => {}
        }
    }

    /// The least grave messages that the client wants, if any: 2026-07-28 says it by the request, before the session.
    fn least(&self) -> Option<Level> {
        if self.era.is_modern() { self.level } else { Some(self.session.log_level()) }
    }
}

/// A question that is put, and taken back when nobody waits for its answer any more.
struct Asked {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Asked {
    fn take_back(&mut self) -> impl Future<Output = ()> + Send + 'static {
        let (peer, id) = (self.peer.clone(), self.id.take());
        async move {
            if id.is_some() {
                let reason = Some("the call that asks was cancelled".to_owned());
                let _ = peer.notify_cancelled(CancelledNotificationParam::new(id, reason)).await;
            }
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.id.is_some()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(self.take_back());
        }
    }
}

/// How many times its patience a question may take in all, for a client that says that it is at it.
const MOST_PATIENCE: u32 = 6;

impl Client for Caller {
    fn can(&self, need: Need) -> bool {
        question::can(need, self.capabilities.as_ref(), self.era)
    }

    fn declared(&self) -> Option<Map<String, Value>> {
        declared(self.capabilities.as_ref())
    }

    fn ask<'a>(&'a self, round: &'a Round) -> BoxFuture<'a, Result<Map<String, Value>, Unanswered>> {
        Box::pin(async move {
            if !self.era.is_modern() {
                return self.ask_now(round).await;
            }
            self.answers().take().ok_or(Unanswered::Later)
        })
    }

    fn log(&self, message: Message) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(least) = self.least().filter(|least| message.level >= *least) else { return };
            let passed = self.session.log_pace().pass();
            match passed {
                None => return,
                Some(0) => {}
                Some(missing) => self.send_log(least.max(Level::Warning), "folio", left_out(missing)).await,
            }
            self.send_log(message.level, &message.logger, message.data).await;
        })
    }

    fn progress(&self, progressed: Progressed) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.token.is_none() {
                return;
            }
            {
                let mut told = self.progress();
                if told.last.is_some_and(|last| progressed.progress <= last) {
                    return;
                }
                told.last = Some(progressed.progress);
                if told.pace.pass().is_none() {
                    told.held = Some(progressed);
                    return;
                }
                told.held = None;
            }
            self.send_progress(progressed).await;
        })
    }

    fn notify(&self, notice: Notice) {
        self.live.notice(notice);
    }
}

/// All that a client has declared; one that has declared nothing has declared no capability.
pub(crate) fn declared(capabilities: Option<&ClientCapabilities>) -> Option<Map<String, Value>> {
    match capabilities.map(serde_json::to_value) {
        Some(Ok(Value::Object(declared))) => Some(declared),
        _ => Some(Map::new()),
    }
}

fn left_out(missing: u64) -> Value {
    json!(format!("{missing} messages were left out: they came too fast"))
}

fn unanswered(error: ServiceError) -> Unanswered {
    match error {
        ServiceError::Timeout { .. } => Unanswered::TimedOut,
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => Unanswered::Cancelled,
        ServiceError::McpError(error) => Unanswered::Failed(error.message.into_owned()),
        other => Unanswered::Failed(other.to_string()),
    }
}
