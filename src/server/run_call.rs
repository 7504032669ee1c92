//! Runs calls, which may ask the client.
//!
//! In a session the question is sent and awaited within the call. In 2026-07-28 the call ends with an `input_required`
//! result, and a later request brings the answers and the sealed state (basic/patterns/mrtr).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorCode, ErrorData, InputRequests, InputRequiredResult, InputResponses};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    action::{CallContext, Checkpoint, McpClient, PendingQuestions},
    catalog::{
        listing::Object,
        result::refusal::{CallError, Refusal, RefusalKind},
    },
    digest::sha256,
    redact::Redactor,
    spec_version::SpecVersion,
    store::FirstUse,
    world::{ActionReport, RedactingWorld, ReportingWorld, World},
};

use super::{
    ConnectionHandler,
    call_log::{CallLog, CallSender, CallTarget, LoggedResult},
    client::RequestClient,
    error, question,
    request::McpRequest,
    request_state::UnsealError,
    snapshot::ResultNotes,
    version_keys,
};

/// How long a cancelled call may take to end before it is dropped.
pub(super) const CANCEL_GRACE: Duration = Duration::from_millis(200);

/// How long calls may go on when the server stops, before they are cancelled.
const STOP_GRACE: Duration = Duration::from_millis(100);

/// What a request calls, and with what.
pub(crate) struct EntryCall<'a> {
    pub(crate) target: CallTarget<'a>,
    pub(crate) arguments: Option<Object>,
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
    /// Whether it may go on apart from this request.
    pub(crate) may_detach: bool,
}

/// How a call ended.
pub(crate) enum CallOutcome<T> {
    Done(T),
    /// It waits for answers.
    InputRequired(InputRequiredResult),
    /// It continues as a task: from the checkpoint, with the arguments.
    Detached(Box<Checkpoint>, Option<Object>),
}

impl<T> CallOutcome<T> {
    /// The outcome with another answer.
    pub(crate) fn map<R>(self, convert: impl FnOnce(T) -> R) -> CallOutcome<R> {
        match self {
            CallOutcome::Done(answer) => CallOutcome::Done(convert(answer)),
            CallOutcome::InputRequired(required) => CallOutcome::InputRequired(required),
            CallOutcome::Detached(checkpoint, arguments) => CallOutcome::Detached(checkpoint, arguments),
        }
    }

    /// The result of a request that cannot continue as a task.
    pub(crate) fn into_result(self, complete: impl FnOnce(T) -> Result<Bytes, ErrorData>) -> Result<Bytes, ErrorData> {
        match self {
            CallOutcome::Done(answer) => complete(answer),
            CallOutcome::InputRequired(required) => {
                version_keys::to_json(ResultNotes::default(), required, SpecVersion::NEWEST, &[])
            }
            CallOutcome::Detached(..) => Err(ErrorData::internal_error("call cannot run as a task", None)),
        }
    }
}

impl ConnectionHandler {
    /// Makes a call for a client, which may be asked on the way.
    ///
    /// The future of a call is moved several times, so `call` puts it in a box, and what is rare here is in one too. An
    /// `async fn` would hold the arguments twice.
    pub(crate) fn run_call<'a, T: LoggedResult + Send + 'a>(
        &'a self,
        entry_call: EntryCall<'a>,
        request: &'a McpRequest,
        call: impl Fn(Option<Object>, CallContext) -> BoxFuture<'a, Result<T, CallError>> + Send + Sync + 'a,
        refuse: impl Fn(Refusal) -> ErrorData + Send + Sync + 'a,
    ) -> impl Future<Output = Result<CallOutcome<T>, ErrorData>> + Send + 'a {
        let EntryCall { target, arguments, responses, state, may_detach } = entry_call;
        let has_heartbeat = target.traits.runs_actions && request.meta.get_progress_token().is_some();
        let uses_client = target.traits.uses_client || has_heartbeat || may_detach || state.is_some();
        async move {
            let checkpoint = match &state {
                Some(state) => Some(Box::pin(self.open_state(state, target, arguments.as_ref(), request)).await?),
                None => None,
            };
            let log = CallLog::start(target, arguments.as_ref(), CallSender::Request(request));
            let answers = responses.map(|responses| responses.into_iter().collect());
            let client = uses_client.then(|| Arc::new(RequestClient::new(self, request, answers)));
            let attempt = |arguments, checkpoint| {
                let client = client.clone().map(|client| client as Arc<dyn McpClient>);
                let context = self.call_context(request, &request.cancel);
                self.run(&request.cancel, call(arguments, CallContext { client, checkpoint, may_detach, ..context }))
            };
            // Only a call with a client waits for it, or goes on as a task.
            let mut kept_arguments = None;
            let outcome = if let Some(client) = &client {
                kept_arguments.clone_from(&arguments);
                Box::pin(async {
                    let mut outcome = client.with_heartbeat(attempt(arguments, checkpoint.clone())).await;
                    let kind = outcome.as_ref().err().and_then(CallError::refusal_kind);
                    let has_acted = checkpoint.is_none_or(|checkpoint| checkpoint.any_side_effects());
                    // Nothing was done that must not be done twice, so the call begins again.
                    if kind == Some(RefusalKind::EntryChanged) && !has_acted {
                        client.forget_answers();
                        outcome = client.with_heartbeat(attempt(kept_arguments.clone(), None)).await;
                    }
                    client.flush_pending_update().await;
                    outcome
                })
                .await
            } else {
                attempt(arguments, None).await
            };
            log.finish(&outcome);
            match outcome {
                Ok(answer) => Ok(CallOutcome::Done(answer)),
                Err(CallError::InputRequired(pending)) => {
                    let required =
                        Box::pin(self.input_required(*pending, target, kept_arguments.as_ref(), request)).await?;
                    Ok(CallOutcome::InputRequired(required))
                }
                Err(CallError::Detached(checkpoint)) => Ok(CallOutcome::Detached(checkpoint, kept_arguments)),
                Err(CallError::Refused(refusal)) => {
                    request.note_refusal(&refusal);
                    Err(refuse(refusal))
                }
            }
        }
    }

    /// Runs a call until it ends, its caller no longer wants it, or the server stops. `cancel` is the token of the call,
    /// which is then given a moment to clean up.
    ///
    /// The future of a call is large and moved several times, so it is boxed.
    pub(super) async fn run<T>(
        &self,
        cancel: &CancellationToken,
        mut call: BoxFuture<'_, Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let _running = self.shared_server.start_call();
        let server_stops = tokio::select! {
            biased;
            answer = &mut call => {
                return answer.inspect_err(|error| {
                    if matches!(error, CallError::Refused(refusal) if refusal.kind == RefusalKind::LimitReached) {
                        self.tell_of_limit();
                    }
                });
            }
            () = cancel.cancelled() => false,
            // Those that are nearly done end before.
            () = async { self.stop.cancelled().await; tokio::time::sleep(STOP_GRACE).await } => true,
        };
        cancel.cancel();
        let answer = tokio::time::timeout(CANCEL_GRACE, call).await;
        match answer.unwrap_or_else(|_| Err(Refusal::new(RefusalKind::Cancelled, "cancelled").into())) {
            Err(CallError::Refused(refusal)) if server_stops && refusal.kind == RefusalKind::Cancelled => {
                Err(Refusal { message: error::SERVER_STOPS.to_owned(), ..refusal }.into())
            }
            answer => answer,
        }
    }

    /// The context of a call that `cancel` ends, without its client. What its actions read is redacted before anything
    /// sees it.
    pub(super) fn call_context(&self, request: &McpRequest, cancel: &CancellationToken) -> CallContext {
        let world = call_world(&request.redactor, &self.shared_server.world());
        let (memory, store) = (request.reservation.clone(), self.shared_server.store().clone());
        let call = CallContext::new(cancel.clone(), world, memory, store);
        let (access, secrets, trace) = (request.access.clone(), request.secrets.clone(), request.trace.clone());
        let call = CallContext { access, secrets, trace, ..call };
        match &request.recorder {
            Some(recorder) => recorder.record(call),
            None => call,
        }
    }

    /// Where the call stood, from the state that came with the request.
    async fn open_state(
        &self,
        state: &str,
        target: CallTarget<'_>,
        arguments: Option<&Object>,
        request: &McpRequest,
    ) -> Result<Arc<Checkpoint>, ErrorData> {
        let refused = |message: String| ErrorData::new(ErrorCode::INVALID_PARAMS, message, None);
        let unsealed = |error: UnsealError| refused(error.to_string());
        let binding = state_binding(target, arguments, request);
        let opened = self.shared_server.state_sealer().open(state, &binding).map_err(unsealed)?;
        let checkpoint: Arc<Checkpoint> = serde_json::from_slice(&opened.content)
            .map_err(|_| refused("invalid `requestState`: written by another version of folio".to_owned()))?;
        let has_acted = checkpoint.any_side_effects();
        match self.shared_server.store().use_once(opened.id, has_acted).await {
            FirstUse::Yes => Ok(checkpoint),
            FirstUse::No => Err(unsealed(UnsealError::AlreadyUsed)),
            FirstUse::Forgotten => Err(unsealed(UnsealError::Expired)),
            // Another replica may have used it: what has done nothing yet may go on nevertheless.
            FirstUse::UnknownElsewhere if !has_acted => Ok(checkpoint),
            FirstUse::UnknownElsewhere => Err(request.store_is_away()),
        }
    }

    async fn input_required(
        &self,
        pending: PendingQuestions,
        target: CallTarget<'_>,
        arguments: Option<&Object>,
        request: &McpRequest,
    ) -> Result<InputRequiredResult, ErrorData> {
        request.end_note.require_input();
        let failed = || ErrorData::internal_error("cannot send the input request", None);
        let content = serde_json::to_vec(&pending.checkpoint).map_err(|_| failed())?;
        let epoch = self.shared_server.store().epoch().await;
        let binding = state_binding(target, arguments, request);
        let state = self.shared_server.state_sealer().seal(&content, &binding, epoch).ok_or_else(failed)?;
        let questions = pending.questions.into_iter();
        let requests: Option<InputRequests> =
            questions.map(|question| Some((question.key, question::input_request(&question.kind)?))).collect();
        let result = InputRequiredResult::new(Some(requests.ok_or_else(failed)?), Some(state));
        Ok(result.with_meta(request.snapshot.meta.clone()))
    }
}

/// The world of a call, whose output is redacted, and which logs its programs and requests if anybody wants to know.
fn call_world(redactor: &Arc<Redactor>, world: &Arc<dyn World>) -> Arc<dyn World> {
    if !tracing::enabled!(target: "folio::world", tracing::Level::DEBUG) {
        return RedactingWorld::wrap(redactor, world);
    }
    let log = |report: ActionReport<'_>| {
        if let Some(line) = report.to_line() {
            tracing::debug!(target: "folio::world", "{line}");
        }
    };
    ReportingWorld::wrap(redactor, world, Arc::new(log))
}

/// The binding of a state: the server, the method, the entry and the caller by their names, and a digest of the arguments
/// in any order.
fn state_binding(target: CallTarget<'_>, arguments: Option<&Object>, request: &McpRequest) -> Vec<u8> {
    let identity = request.access.identity();
    let [issuer, caller] = identity.map(|identity| [&*identity.issuer, &*identity.id]).unwrap_or_default();
    let names = [&request.snapshot.catalog.server().name, target.method, target.name, issuer, caller];
    let mut arguments = Value::Object(arguments.cloned().unwrap_or_default());
    arguments.sort_all_objects();
    let digest = sha256(arguments.to_string().as_bytes());
    let mut binding = Vec::new();
    for part in names.iter().map(|name| name.as_bytes()).chain([&digest[..]]) {
        binding.extend_from_slice(&(part.len() as u64).to_be_bytes());
        binding.extend_from_slice(part);
    }
    binding
}
