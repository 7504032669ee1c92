//! Tools as tasks: the extension `io.modelcontextprotocol/tasks` (SEP-2663), for clients of 2026-07-28 that declare it.
//!
//! A task is a call detached from its request: it asks through `tasks/get` and `tasks/update`, reports progress in its
//! status message, and ends by `tasks/cancel`, by its time to live, or with the server.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use indexmap::IndexMap;
use rmcp::{
    RoleServer,
    model::{
        CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities, CreateTaskResult, DetailedTask,
        ErrorData, GetTaskParams, GetTaskResult, UpdateTaskParams,
    },
    service::RequestContext,
    task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions},
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    action::{
        AskError, ChangeNotification, Checkpoint, ClientCapability, ClientQuestion, LogNotification, McpClient,
        ProgressUpdate, QuestionRound,
    },
    catalog::{
        answer::{CallContext, Refusal, RefusalKind, TaskPolicy},
        listing::Object,
    },
};

use super::{
    CANCEL_GRACE, ConnectionHandler, LiveCatalog, PeerBytes, Reservation,
    call_log::{CallLog, CallTarget},
    capability::CapabilityKind,
    error, question,
    session::AdmittedRequest,
    session::SpecVersion,
    tools,
    weight::Weight,
};

/// How many tasks there may be at once, running or remembered. Only those that run are in each other's way.
const MAX_TASKS: usize = 1000;
/// How long the result of a task is kept by default.
const DEFAULT_TTL: Duration = Duration::from_secs(5 * 60);
/// How soon a client should ask again.
const POLL_INTERVAL_MS: u64 = 500;

/// The tasks of a server.
pub(crate) struct Tasks {
    /// By their ids, oldest first.
    entries: Mutex<IndexMap<String, TaskEntry>>,
    /// What the outcomes take that are kept.
    bytes: PeerBytes,
    /// Held while the questions of a round are put, which the manager takes one by one: who gets a task sees its
    /// round whole.
    round_lock: Mutex<()>,
}

/// One task and its manager.
struct TaskEntry {
    manager: TaskManager,
    /// When it is forgotten in any case.
    expires_at: Instant,
    /// What its outcome takes, once there is one.
    outcome: Option<Reservation>,
}

impl Tasks {
    pub(crate) fn new(bytes: PeerBytes) -> Tasks {
        Tasks { entries: Mutex::default(), bytes, round_lock: Mutex::default() }
    }

    /// Begins a task. It is remembered for twice its time to live at most; where there is no room, one that has ended
    /// makes it.
    fn spawn(
        &self,
        ttl: Duration,
        operation: impl FnOnce(TaskContext) -> TaskFuture,
    ) -> Result<rmcp::model::Task, ErrorData> {
        let now = Instant::now();
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.expires_at > now);
        if entries.len() >= MAX_TASKS && !remove_ended_task(&mut entries) {
            let message = format!("too many running tasks (limit {MAX_TASKS}); try again when one has ended");
            return Err(ErrorData::internal_error(message, None));
        }
        let milliseconds = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(milliseconds).with_poll_interval_ms(POLL_INTERVAL_MS);
        let manager = TaskManager::new();
        let task = manager.spawn(options, operation);
        entries.insert(task.task_id.clone(), TaskEntry { manager, expires_at: now + ttl * 2, outcome: None });
        Ok(task)
    }

    /// Keeps account of an outcome. The oldest ones are forgotten where all of them take too much.
    fn record_outcome(&self, id: &str, outcome: &impl Weight) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(id) {
            entry.outcome = Some(self.bytes.reserve(outcome.weight()));
        }
        let kept = |entry: &TaskEntry| entry.outcome.as_ref().map_or(0, Reservation::bytes);
        while entries.values().map(kept).sum::<u64>() > self.bytes.total().peer_share() {
            let oldest = entries.iter().position(|(other, entry)| kept(entry) > 0 && other != id);
            let Some(oldest) = oldest else { return };
            entries.shift_remove_index(oldest);
        }
    }

    fn entries(&self) -> MutexGuard<'_, IndexMap<String, TaskEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn manager(&self, id: &str) -> Result<TaskManager, ErrorData> {
        let manager = self.entries().get(id).map(|entry| entry.manager.clone());
        manager.ok_or_else(|| ErrorData::invalid_params(format!("unknown task: {id}"), None))
    }

    fn lock_round(&self) -> MutexGuard<'_, ()> {
        self.round_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Awaits what puts its questions when it is first polled, and puts them as one round.
    async fn poll_as_round<T>(&self, mut questions: impl Future<Output = T> + Unpin) -> T {
        let first = |context: &mut Context<'_>| {
            let _round = self.lock_round();
            Poll::Ready(questions.poll_unpin(context))
        };
        match poll_fn(first).await {
            Poll::Ready(answered) => answered,
            Poll::Pending => questions.await,
        }
    }

    fn get(&self, id: &str) -> Result<DetailedTask, ErrorData> {
        let manager = self.manager(id)?;
        let _round = self.lock_round();
        manager.get_task(id)
    }

    /// Takes back what a task asks as a round too: no question of it comes after.
    fn cancel(&self, id: &str) -> Result<(), ErrorData> {
        let manager = self.manager(id)?;
        let _round = self.lock_round();
        manager.cancel_task(id)
    }
}

/// Forgets the oldest task that has ended. False where all of them run.
fn remove_ended_task(entries: &mut IndexMap<String, TaskEntry>) -> bool {
    let ended = entries.values().position(|entry| entry.manager.running_task_count() == 0);
    ended.and_then(|ended| entries.shift_remove_index(ended)).is_some()
}

/// How the tool of a request runs as a task, where it may and the client knows tasks.
pub(crate) fn task_policy(
    name: &str,
    admitted: &AdmittedRequest,
    context: &RequestContext<RoleServer>,
) -> Result<Option<TaskPolicy>, Refusal> {
    let snapshot = &admitted.snapshot;
    if !snapshot.capabilities.has(CapabilityKind::Tasks) {
        return Ok(None);
    }
    let Some(policy) = snapshot.catalog.task_policy(name) else { return Ok(None) };
    let knows = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
    match (admitted.spec_version.is_sessionless() && knows, policy.required) {
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

/// Begins a call as a task, or has it go on as one.
pub(crate) fn start_task(
    server: &ConnectionHandler,
    (name, arguments): (String, Option<Object>),
    checkpoint: Option<Checkpoint>,
    policy: TaskPolicy,
    (admitted, context): (AdmittedRequest, &RequestContext<RoleServer>),
) -> Result<CallToolResponse, ErrorData> {
    let ttl = policy.ttl.unwrap_or(DEFAULT_TTL);
    let (live, meta) = (server.live.clone(), admitted.snapshot.meta.clone());
    // With the trace of the request, which the task belongs to.
    let call = server.call_context(context, &admitted.snapshot);
    let capabilities = context.client_capabilities();
    let task = server.live.tasks().spawn(ttl, |context| {
        let id = context.task_id().to_owned();
        let task_client = TaskClient { live: live.clone(), context, capabilities, ask_counts: Mutex::default() };
        Box::pin(async move {
            let outcome =
                run_task((live.clone(), call), (name, arguments), checkpoint, (task_client, ttl), admitted).await;
            if let Ok(result) = &outcome {
                live.tasks().record_outcome(&id, result);
            }
            outcome
        })
    })?;
    let mut result = CreateTaskResult::new(task);
    result.meta = Some(meta);
    Ok(CallToolResponse::Task(result))
}

async fn run_task(
    (live, call): (LiveCatalog, CallContext),
    (name, arguments): (String, Option<Object>),
    checkpoint: Option<Checkpoint>,
    (task_client, ttl): (TaskClient, Duration),
    admitted: AdmittedRequest,
) -> Result<CallToolResult, TaskExit> {
    let _running = live.start_call();
    let cancel = CancellationToken::new();
    let task_client = Arc::new(task_client);
    let mut call = call.with_client(task_client.clone());
    call.cancel = cancel.clone();
    call.resume = checkpoint;
    let runs_actions = admitted.snapshot.catalog.tool_runs_actions(&name);
    let target = CallTarget { method: "tools/call", name: &name, runs_actions };
    let log = CallLog::start(target, arguments.as_ref(), &admitted.snapshot.catalog);
    let answer = admitted.snapshot.catalog.call_tool(&name, arguments, &call);
    tokio::pin!(answer);
    let shutdown = live.shutdown_token();
    let outcome = tokio::select! {
        biased;
        outcome = &mut answer => outcome,
        exit = wait_for_end(&task_client.context, &shutdown, ttl) => {
            cancel.cancel();
            let _ = tokio::time::timeout(CANCEL_GRACE, answer).await;
            if let TaskExit::Error(error) = &exit {
                log.fail(&error.message);
            }
            return Err(exit);
        }
    };
    log.finish(&outcome);
    match outcome {
        Ok(answer) => Ok(tools::tool_result(answer, &name, &admitted)),
        Err(refusal) if refusal.kind == RefusalKind::Cancelled => Err(TaskExit::Cancelled),
        Err(refusal) => Err(TaskExit::Error(error::refusal_error(refusal))),
    }
}

/// Waits until a task has to end, whether anybody asks for it or not.
async fn wait_for_end(context: &TaskContext, shutdown: &CancellationToken, ttl: Duration) -> TaskExit {
    tokio::select! {
        () = context.cancelled() => TaskExit::Cancelled,
        () = shutdown.cancelled() => TaskExit::Cancelled,
        () = tokio::time::sleep(ttl) => {
            TaskExit::Error(ErrorData::internal_error(format!("task timed out after {ttl:?}"), None))
        }
    }
}

/// `tasks/get`.
pub(crate) fn get(server: &ConnectionHandler, request: &GetTaskParams) -> Result<GetTaskResult, ErrorData> {
    let mut result = GetTaskResult::new(server.live.tasks().get(&request.task_id)?);
    result.meta = Some(server.live.snapshot().meta.clone());
    Ok(result)
}

/// Hands answers to a task.
pub(crate) fn update(server: &ConnectionHandler, request: UpdateTaskParams) -> Result<(), ErrorData> {
    server.live.tasks().manager(&request.task_id)?.update_task(&request.task_id, request.input_responses)
}

/// Ends a task.
pub(crate) fn cancel(server: &ConnectionHandler, request: &CancelTaskParams) -> Result<(), ErrorData> {
    server.live.tasks().cancel(&request.task_id)
}

/// The client of a task, which asks when it likes.
struct TaskClient {
    live: LiveCatalog,
    context: TaskContext,
    capabilities: Option<ClientCapabilities>,
    /// How often each question was put: a task asks under each key once.
    ask_counts: Mutex<Map<String, Value>>,
}

impl TaskClient {
    async fn ask_one(&self, question: &ClientQuestion) -> Result<Value, AskError> {
        let failed = || AskError::Refused("cannot send the input request".to_owned());
        let request = question::input_request(&question.kind).ok_or_else(failed)?;
        let answer = self.context.request_input(self.unique_key(&question.key), request).await;
        answer.map_err(|exit| match exit {
            TaskExit::Cancelled => AskError::Cancelled,
            TaskExit::Error(error) => AskError::Refused(error.message.into_owned()),
        })
    }

    fn unique_key(&self, key: &str) -> String {
        let mut counts = self.ask_counts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = counts.get(key).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(key.to_owned(), (before + 1).into());
        if before == 0 { key.to_owned() } else { format!("{key}-{}", before + 1) }
    }
}

impl McpClient for TaskClient {
    fn declared(&self) -> Option<Map<String, Value>> {
        super::client::declared_capabilities(self.capabilities.as_ref())
    }

    fn can(&self, need: ClientCapability) -> bool {
        question::is_supported(need, self.capabilities.as_ref(), SpecVersion::V2026_07_28)
    }

    fn ask<'a>(&'a self, round: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>> {
        Box::pin(async move {
            let questions = join_all(round.questions.iter().map(|question| self.ask_one(question)));
            let questions = self.live.tasks().poll_as_round(questions);
            let answers = tokio::time::timeout(round.timeout, questions).await.map_err(|_| AskError::TimedOut)?;
            let keys = round.questions.iter().map(|question| question.key.clone());
            keys.zip(answers).map(|(key, answer)| Ok((key, answer?))).collect()
        })
    }

    fn log(&self, _: LogNotification) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn progress(&self, progressed: ProgressUpdate) -> BoxFuture<'_, ()> {
        let total = progressed.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message =
            progressed.message.unwrap_or_else(|| format!("{}{total}", progressed.progress.unwrap_or_default()));
        self.context.set_status_message(message);
        Box::pin(std::future::ready(()))
    }

    fn notify(&self, notice: ChangeNotification) {
        self.live.publish_notice(notice);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

    use rmcp::model::{InputRequest, TaskPayload};
    use serde_json::json;

    use super::*;
    use crate::server::BytesInFlight;

    const QUESTIONS: usize = 300;

    fn no_tasks() -> Arc<Tasks> {
        Arc::new(Tasks::new(BytesInFlight::new(64 << 20).new_peer()))
    }

    /// Begins a task that is over at once, with a result of so many bytes.
    fn ended(tasks: &Arc<Tasks>, bytes: usize) -> String {
        let outcome = CallToolResult::success(vec![rmcp::model::ContentBlock::text("x".repeat(bytes))]);
        let task = tasks.spawn(DEFAULT_TTL, {
            let outcome = outcome.clone();
            |_| Box::pin(std::future::ready(Ok(outcome)))
        });
        let id = task.unwrap().task_id;
        tasks.record_outcome(&id, &outcome);
        id
    }

    /// Waits until no more than so many tasks run.
    async fn wait_for_ended(tasks: &Tasks, but: usize) {
        let running = || tasks.entries().values().filter(|entry| entry.manager.running_task_count() > 0).count();
        while running() > but {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn ended_task_makes_room_and_running_does_not() {
        let tasks = no_tasks();
        let running = tasks.spawn(DEFAULT_TTL, |_| Box::pin(std::future::pending())).unwrap().task_id;
        let mut all: Vec<String> = (1..MAX_TASKS).map(|_| ended(&tasks, 1)).collect();
        wait_for_ended(&tasks, 1).await;
        all.push(ended(&tasks, 1));
        wait_for_ended(&tasks, 1).await;
        assert_eq!(tasks.entries().len(), MAX_TASKS);
        assert!(tasks.get(&running).is_ok() && tasks.get(&all[0]).is_err() && tasks.get(&all[1]).is_ok());
        for _ in 1..MAX_TASKS {
            tasks.spawn(DEFAULT_TTL, |_| Box::pin(std::future::pending())).unwrap();
        }
        let refused = tasks.spawn(DEFAULT_TTL, |_| Box::pin(std::future::pending())).unwrap_err();
        assert!(refused.message.contains("too many running tasks"), "{refused}");
    }

    #[tokio::test]
    async fn oldest_outcomes_are_evicted() {
        let tasks = no_tasks();
        let all: Vec<String> = (0..20).map(|_| ended(&tasks, 2 << 20)).collect();
        let kept = all.iter().filter(|id| tasks.get(id).is_ok()).count();
        assert_eq!(kept, 7);
        assert!(tasks.get(&all[19]).is_ok());
    }

    /// A task that asks all of its questions in one round.
    fn task_with_questions() -> (Arc<Tasks>, String) {
        let tasks = no_tasks();
        let asking = tasks.clone();
        let task = tasks.spawn(DEFAULT_TTL, |context| {
            Box::pin(async move {
                let question: InputRequest = serde_json::from_value(json!({ "method": "roots/list" })).unwrap();
                let questions =
                    (0..QUESTIONS).map(|number| context.request_input(number.to_string(), question.clone()));
                asking.poll_as_round(join_all(questions)).await;
                Err(TaskExit::Cancelled)
            })
        });
        let id = task.unwrap().task_id;
        (tasks, id)
    }

    /// How many questions a task has; nothing, once it is over.
    fn question_count(task: DetailedTask) -> Option<usize> {
        match task.payload {
            TaskPayload::InputRequired { input_requests } => Some(input_requests.len()),
            TaskPayload::Working => Some(0),
            _ => None,
        }
    }

    /// How many questions a task has when it has any.
    async fn wait_for_questions(look: impl Fn() -> Result<DetailedTask, ErrorData>) -> usize {
        let seen = async {
            loop {
                match question_count(look().unwrap()).expect("it is over") {
                    0 => tokio::task::yield_now().await,
                    some => break some,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), seen).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn round_is_visible_atomically() {
        for _ in 0..50 {
            let (tasks, task) = task_with_questions();
            assert_eq!(wait_for_questions(|| tasks.get(&task)).await, QUESTIONS);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn round_is_cancelled_atomically() {
        for _ in 0..50 {
            let (tasks, task) = task_with_questions();
            // Amidst a round, which the manager's own lists show.
            wait_for_questions(|| tasks.manager(&task).unwrap().get_task(&task)).await;
            tasks.cancel(&task).unwrap();
            let left = question_count(tasks.get(&task).unwrap());
            assert!(left.is_none_or(|left| left == 0), "{left:?}");
        }
    }
}
