//! Tools as tasks: the extension `io.modelcontextprotocol/tasks` (SEP-2663), for clients of 2026-07-28 that declare it.
//!
//! A task is a call detached from its request: it asks through `tasks/get` and `tasks/update`, reports progress in its
//! status message, and ends by `tasks/cancel`, by its time to live, or with the server.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use rmcp::{
    model::{
        CallToolResult, CancelTaskParams, ClientCapabilities, CreateTaskResult, ErrorData, GetTaskParams,
        GetTaskResult, UpdateTaskParams,
    },
    task_manager::{TaskContext, TaskExit},
};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    action::{
        AskError, CallContext, ChangeNotification, Checkpoint, ClientCapability, ClientQuestion, LogNotification,
        McpClient, ProgressUpdate, QuestionKind, QuestionRound,
    },
    budget::serialized_size,
    catalog::{
        listing::Object,
        result::call_result::{TaskPolicy, ToolResult},
        result::refusal::{CallError, Refusal, RefusalKind},
    },
    diagnostic::truncate,
    spec_version::SpecVersion,
};

use super::{
    ConnectionHandler, SharedServer,
    call_log::{CallLog, CallSender, CallTarget, SentBy},
    error, question,
    request::{McpRequest, request_redactor},
    run_call::CANCEL_GRACE,
    snapshot::{CatalogSnapshot, ResultNotes},
    task_record::TaskMessage,
    task_table::NewTask,
    tools, version_keys,
};

/// How long the result of a task is kept by default.
const DEFAULT_TTL: Duration = Duration::from_secs(5 * 60);
/// How long a status message may be, in characters: each `tasks/get` repeats it.
const MAX_STATUS_CHARS: usize = 1000;

/// How the tool of a request runs as a task, where it may and the client knows tasks. Refuses who may not call it, before
/// anything else is said of it.
pub(crate) fn task_policy(
    server: &ConnectionHandler,
    name: &str,
    arguments: Option<&Object>,
    request: &McpRequest,
) -> Result<Option<TaskPolicy>, Refusal> {
    let snapshot = &request.snapshot;
    let Some(policy) = snapshot.catalog.task_policy(name) else { return Ok(None) };
    snapshot.catalog.check_task(name, arguments, &server.call_context(request, &request.cancel))?;
    match (request.version.is_sessionless() && knows_tasks(request), policy.required) {
        (true, _) => Ok(Some(policy)),
        (false, false) => Ok(None),
        (false, true) => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            let message = format!(
                "tool `{name}` requires client capability `io.modelcontextprotocol/tasks`, which is not declared"
            );
            Err(Refusal::new(RefusalKind::MissingCapability, message)
                .with_data(serde_json::to_value(needed).unwrap_or_default()))
        }
    }
}

/// A call of a tool that becomes a task.
pub(crate) struct TaskCall {
    pub(crate) name: String,
    pub(crate) arguments: Option<Object>,
    /// Where it goes on.
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) policy: TaskPolicy,
}

impl TaskCall {
    fn ttl(&self) -> Duration {
        self.policy.ttl.unwrap_or(DEFAULT_TTL)
    }
}

/// Begins a call as a task, or has it go on as one.
pub(crate) async fn start_task(
    server: &ConnectionHandler,
    task_call: TaskCall,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let ttl = task_call.ttl();
    let (shared_server, snapshot) = (server.shared_server.clone(), request.snapshot.clone());
    // With the trace of the request, which the task belongs to.
    let mut call = server.call_context(request, &CancellationToken::new());
    let owner = request.reservation.caller().clone();
    call.memory = Arc::new(owner.reserve(0));
    let capabilities = request.client_capabilities();
    let sent_by = SentBy::new(request);
    // As they came, and as the tool takes them.
    let bytes = task_call.arguments.as_ref().map_or(0, serialized_size) * 2;
    let new_task = NewTask { ttl, owner, access: request.access.clone(), bytes };
    let has_acted = task_call.checkpoint.as_ref().is_some_and(Checkpoint::any_side_effects);
    let (begin, may_begin) = oneshot::channel();
    let task = server.shared_server.tasks().spawn(new_task, |context| {
        let id = context.task_id().to_owned();
        let task_client =
            TaskClient { shared_server: shared_server.clone(), context, capabilities, ask_counts: Mutex::default() };
        Box::pin(async move {
            may_begin.await.map_err(|_| TaskExit::Cancelled)?;
            let outcome = run_task(shared_server.clone(), snapshot, call, task_client, task_call, sent_by).await;
            shared_server.tasks().record_outcome(&id, &outcome);
            shared_server.replicas().wake.notify_one();
            outcome
        })
    })?;
    if server.shared_server.keep_new_task(&task.task_id).await.is_err() {
        if !has_acted {
            server.shared_server.tasks().remove(&task.task_id);
            return Err(request.store_is_away());
        }
        server.shared_server.task_changed(&task.task_id);
    }
    let _ = begin.send(());
    let mut result = CreateTaskResult::new(task);
    result.meta = Some(request.snapshot.meta.clone());
    version_keys::to_json(ResultNotes::default(), &result, SpecVersion::NEWEST, &[])
}

async fn run_task(
    shared_server: SharedServer,
    snapshot: Arc<CatalogSnapshot>,
    call: CallContext,
    task_client: TaskClient,
    task_call: TaskCall,
    sent_by: SentBy,
) -> Result<CallToolResult, TaskExit> {
    let ttl = task_call.ttl();
    let TaskCall { name, arguments, checkpoint, .. } = task_call;
    let _running = shared_server.start_call();
    let task_client = Arc::new(task_client);
    let call = CallContext { client: Some(task_client.clone()), checkpoint: checkpoint.map(Arc::new), ..call };
    let traits = snapshot.catalog.tool_traits(&name);
    let target = CallTarget { method: "tools/call", name: &name, traits };
    let redactor = request_redactor(snapshot.catalog.redactor(), &call.secrets);
    let log = CallLog::start(target, arguments.as_ref(), CallSender::Task(&redactor, sent_by));
    let answer = snapshot.catalog.call_tool(&name, arguments, &call);
    tokio::pin!(answer);
    let stop = shared_server.stop_token();
    let outcome = tokio::select! {
        biased;
        outcome = &mut answer => outcome,
        exit = wait_for_end(&task_client.context, &stop, ttl) => {
            call.cancel().cancel();
            let _ = tokio::time::timeout(CANCEL_GRACE, answer).await;
            if let TaskExit::Error(error) = &exit {
                log.fail(&error.message);
            }
            return Err(exit);
        }
    };
    log.finish(&outcome);
    match outcome {
        Ok(answer) => task_result(answer, &name, &snapshot).map_err(TaskExit::Error),
        Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Cancelled => Err(TaskExit::Cancelled),
        // A task asks in place.
        Err(error) => Err(TaskExit::Error(error::refusal_error(error.into_refusal()))),
    }
}

/// The result of a tool in the type that the table of tasks keeps.
fn task_result(answer: ToolResult, name: &str, snapshot: &CatalogSnapshot) -> Result<CallToolResult, ErrorData> {
    let json = tools::tool_result(answer, name, snapshot, SpecVersion::NEWEST)?;
    serde_json::from_slice(&json).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Waits until a task has to end, whether anybody asks for it or not.
async fn wait_for_end(context: &TaskContext, stop: &CancellationToken, ttl: Duration) -> TaskExit {
    tokio::select! {
        () = context.cancelled() => TaskExit::Cancelled,
        () = stop.cancelled() => TaskExit::Cancelled,
        () = tokio::time::sleep(ttl) => {
            TaskExit::Error(ErrorData::internal_error(format!("task timed out after {ttl:?}"), None))
        }
    }
}

/// Whether the client declares that it knows tasks.
fn knows_tasks(request: &McpRequest) -> bool {
    request.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Refuses what belongs to a task if the client does not know tasks.
fn check_declared(request: &McpRequest) -> Result<(), ErrorData> {
    if knows_tasks(request) {
        return Ok(());
    }
    let needed = ClientCapabilities::builder().enable_tasks().build();
    Err(ErrorData::missing_required_client_capability(needed))
}

/// `tasks/get`.
pub(crate) async fn get(
    server: &ConnectionHandler,
    params: GetTaskParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    check_declared(request)?;
    let mut result = GetTaskResult::new(server.shared_server.find_task(&params.task_id, request).await?);
    result.meta = Some(request.snapshot.meta.clone());
    version_keys::to_json(ResultNotes::default(), &result, SpecVersion::NEWEST, &[])
}

/// Hands answers to a task.
pub(crate) async fn update(
    server: &ConnectionHandler,
    params: UpdateTaskParams,
    request: &McpRequest,
) -> Result<(), ErrorData> {
    check_declared(request)?;
    let answer = TaskMessage::Answer(params.input_responses);
    server.shared_server.message_task(&params.task_id, answer, request).await
}

pub(crate) async fn cancel(
    server: &ConnectionHandler,
    params: CancelTaskParams,
    request: &McpRequest,
) -> Result<(), ErrorData> {
    check_declared(request)?;
    server.shared_server.message_task(&params.task_id, TaskMessage::Cancel, request).await
}

/// The client of a task, which asks when it likes.
struct TaskClient {
    shared_server: SharedServer,
    context: TaskContext,
    capabilities: Option<ClientCapabilities>,
    /// How often each question was put: a task asks under each key once.
    ask_counts: Mutex<Map<String, Value>>,
}

impl TaskClient {
    async fn ask_one(&self, question: &ClientQuestion, timeout: Duration) -> Result<Value, AskError> {
        let failed = || AskError::Refused("cannot send the input request".to_owned());
        let request = question::input_request(&question.kind).ok_or_else(failed)?;
        let answer = self.context.request_input(self.unique_key(&question.key), request);
        let answer = tokio::time::timeout(timeout, answer).await.map_err(|_| match question.kind {
            QuestionKind::Roots => AskError::RootsUnanswered,
            _ => AskError::TimedOut,
        })?;
        answer.map_err(|exit| match exit {
            TaskExit::Cancelled => AskError::Cancelled,
            TaskExit::Error(error) => AskError::Refused(error.message.into_owned()),
        })
    }

    fn unique_key(&self, key: &str) -> String {
        let mut counts = self.ask_counts.lock();
        let before = counts.get(key).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(key.to_owned(), (before + 1).into());
        if before == 0 { key.to_owned() } else { format!("{key}-{}", before + 1) }
    }
}

impl McpClient for TaskClient {
    fn declared_capabilities(&self) -> Option<Map<String, Value>> {
        super::client::declared_capabilities(self.capabilities.as_ref())
    }

    fn has_capability(&self, capability: ClientCapability) -> bool {
        question::is_supported(capability, self.capabilities.as_ref(), SpecVersion::V2026_07_28)
    }

    fn allows_root(&self, root: &Path) -> bool {
        self.shared_server.allows_root(root)
    }

    fn ask<'a>(&'a self, round: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>> {
        Box::pin(async move {
            let tasks = self.shared_server.tasks();
            let requests = round.questions.iter().filter_map(|question| question::input_request(&question.kind));
            // In its round, and with the manager.
            let bytes = requests.map(|request| serialized_size(&request) * 2).sum();
            let pending = tasks.reserve_questions(self.context.task_id(), bytes);
            let _held = pending.map_err(|error| AskError::Refused(error.message.into_owned()))?;
            let asked = round.questions.iter().map(|question| self.ask_one(question, round.timeout_of(question)));
            let asked =
                tasks.poll_as_round(join_all(asked), || self.shared_server.task_changed(self.context.task_id()));
            let answered = asked.await;
            self.shared_server.task_changed(self.context.task_id());
            round.collect(answered)
        })
    }

    fn log(&self, _: LogNotification) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The status of a task says how far it is.
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, update: ProgressUpdate) -> BoxFuture<'_, ()> {
        let total = update.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = update.message.unwrap_or_else(|| format!("{}{total}", update.progress.unwrap_or_default()));
        self.context.set_status_message(truncate(&message, MAX_STATUS_CHARS));
        self.shared_server.task_changed(self.context.task_id());
        Box::pin(std::future::ready(()))
    }

    fn notify(&self, notification: ChangeNotification) {
        self.shared_server.publish_notification(notification);
    }
}
