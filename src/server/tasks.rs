//! Tools as tasks: the extension `io.modelcontextprotocol/tasks` (SEP-2663), for clients of 2026-07-28 that declare it.
//!
//! A task is the same call apart from its request: it asks through `tasks/get` and `tasks/update`, says how far it is
//! in its status message, and ends by `tasks/cancel`, by its time to live, or with the server.

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
    action::{Checkpoint, Client, Message, Need, Notice, Progressed, Question, Round, Unanswered},
    catalog::{
        answer::{Call, Refusal, RefusalKind, TaskRule},
        face::Object,
    },
};

use super::{
    CLEANING, Live, PeerAccount, Reservation, Server, error, question, session::Admitted, session::Era, tools,
    weight::Weight,
};

/// How many tasks there may be at once, running or remembered. Only those that run are in each other's way.
const MOST: usize = 1000;
/// How long a task's outcome is kept until something else is said.
const TTL: Duration = Duration::from_secs(5 * 60);
/// How soon a client should ask again.
const POLL_MS: u64 = 500;

/// The tasks of a server.
pub(crate) struct Tasks {
    /// By their ids, oldest first.
    entries: Mutex<IndexMap<String, Entry>>,
    /// What the outcomes take that are kept.
    bytes: PeerAccount,
    /// Held while the questions of a round are put, which the manager takes one by one: who gets a task sees its
    /// round whole.
    putting: Mutex<()>,
}

/// One task, with a manager of its own: it is forgotten with it.
struct Entry {
    manager: TaskManager,
    /// When it is forgotten in any case.
    until: Instant,
    /// What its outcome takes, once there is one.
    outcome: Option<Reservation>,
}

impl Tasks {
    pub(crate) fn new(bytes: PeerAccount) -> Tasks {
        Tasks { entries: Mutex::default(), bytes, putting: Mutex::default() }
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
        entries.retain(|_, entry| entry.until > now);
        if entries.len() >= MOST && !forget_ended(&mut entries) {
            let words = format!("{MOST} tasks are running already; try again when one has ended");
            return Err(ErrorData::internal_error(words, None));
        }
        let milliseconds = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(milliseconds).with_poll_interval_ms(POLL_MS);
        let manager = TaskManager::new();
        let task = manager.spawn(options, operation);
        entries.insert(task.task_id.clone(), Entry { manager, until: now + ttl * 2, outcome: None });
        Ok(task)
    }

    /// Keeps account of an outcome. The oldest ones are forgotten where all of them take too much.
    fn ended(&self, id: &str, outcome: &impl Weight) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(id) {
            entry.outcome = Some(self.bytes.reserve(outcome.weight()));
        }
        let kept = |entry: &Entry| entry.outcome.as_ref().map_or(0, Reservation::bytes);
        while entries.values().map(kept).sum::<u64>() > self.bytes.account().share() {
            let oldest = entries.iter().position(|(other, entry)| kept(entry) > 0 && other != id);
            let Some(oldest) = oldest else { return };
            entries.shift_remove_index(oldest);
        }
    }

    fn entries(&self) -> MutexGuard<'_, IndexMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn manager(&self, id: &str) -> Result<TaskManager, ErrorData> {
        let manager = self.entries().get(id).map(|entry| entry.manager.clone());
        manager.ok_or_else(|| ErrorData::invalid_params(format!("unknown task: {id}"), None))
    }

    fn hold_rounds(&self) -> MutexGuard<'_, ()> {
        self.putting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Awaits what puts its questions when it is first polled, and puts them as one round.
    async fn at_once<T>(&self, mut asked: impl Future<Output = T> + Unpin) -> T {
        let first = |context: &mut Context<'_>| {
            let _whole = self.hold_rounds();
            Poll::Ready(asked.poll_unpin(context))
        };
        match poll_fn(first).await {
            Poll::Ready(answered) => answered,
            Poll::Pending => asked.await,
        }
    }

    fn get(&self, id: &str) -> Result<DetailedTask, ErrorData> {
        let manager = self.manager(id)?;
        let _whole = self.hold_rounds();
        manager.get_task(id)
    }

    /// Takes back what a task asks as a round too: no question of it comes after.
    fn cancel(&self, id: &str) -> Result<(), ErrorData> {
        let manager = self.manager(id)?;
        let _whole = self.hold_rounds();
        manager.cancel_task(id)
    }
}

/// Forgets the oldest task that has ended. False where all of them run.
fn forget_ended(entries: &mut IndexMap<String, Entry>) -> bool {
    let ended = entries.values().position(|entry| entry.manager.running_task_count() == 0);
    ended.and_then(|ended| entries.shift_remove_index(ended)).is_some()
}

/// How the tool of a request runs as a task, where it may and the client knows tasks.
pub(crate) fn rule(
    name: &str,
    admitted: &Admitted,
    context: &RequestContext<RoleServer>,
) -> Result<Option<TaskRule>, Refusal> {
    let Some(rule) = admitted.served.catalog.task(name) else { return Ok(None) };
    let knows = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
    match (admitted.era.is_modern() && knows, rule.required) {
        (true, _) => Ok(Some(rule)),
        (false, false) => Ok(None),
        (false, true) => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            let words = format!("`{name}` runs as a task, and this client does not say that it knows tasks");
            Err(Refusal::new(RefusalKind::Needs, words).with_data(serde_json::to_value(needed).unwrap_or_default()))
        }
    }
}

/// Begins a call as a task, or has it go on as one.
pub(crate) fn begin(
    server: &Server,
    (name, arguments): (String, Option<Object>),
    checkpoint: Option<Checkpoint>,
    rule: TaskRule,
    (admitted, context): (Admitted, &RequestContext<RoleServer>),
) -> Result<CallToolResponse, ErrorData> {
    let ttl = rule.ttl.unwrap_or(TTL);
    let (live, meta) = (server.live.clone(), admitted.served.meta.clone());
    // With the trace of the request, which the task belongs to.
    let call = server.call(context, &admitted.served);
    let capabilities = context.client_capabilities();
    let task = server.live.tasks().spawn(ttl, |context| {
        let id = context.task_id().to_owned();
        let asker = Asker { live: live.clone(), context, capabilities, rounds: Mutex::default() };
        Box::pin(async move {
            let outcome = run((live.clone(), call), (name, arguments), checkpoint, (asker, ttl), admitted).await;
            if let Ok(result) = &outcome {
                live.tasks().ended(&id, result);
            }
            outcome
        })
    })?;
    let mut result = CreateTaskResult::new(task);
    result.meta = Some(meta);
    Ok(CallToolResponse::Task(result))
}

async fn run(
    (live, call): (Live, Call),
    (name, arguments): (String, Option<Object>),
    checkpoint: Option<Checkpoint>,
    (asker, ttl): (Asker, Duration),
    admitted: Admitted,
) -> Result<CallToolResult, TaskExit> {
    let _running = live.enter();
    let cancel = CancellationToken::new();
    let asker = Arc::new(asker);
    let mut call = call.from(asker.clone());
    call.cancel = cancel.clone();
    call.resume = checkpoint;
    let answer = admitted.served.catalog.call_tool(&name, arguments, &call);
    tokio::pin!(answer);
    let closing = live.closing();
    let came = tokio::select! {
        biased;
        came = &mut answer => came,
        exit = over(&asker.context, &closing, ttl) => {
            cancel.cancel();
            let _ = tokio::time::timeout(CLEANING, answer).await;
            return Err(exit);
        }
    };
    match came {
        Ok(answer) => Ok(tools::result(answer, &name, &admitted)),
        Err(refusal) if refusal.kind == RefusalKind::Cancelled => Err(TaskExit::Cancelled),
        Err(refusal) => Err(TaskExit::Error(error::refused(refusal))),
    }
}

/// Waits until a task has to end, whether anybody asks for it or not.
async fn over(context: &TaskContext, closing: &CancellationToken, ttl: Duration) -> TaskExit {
    tokio::select! {
        () = context.cancelled() => TaskExit::Cancelled,
        () = closing.cancelled() => TaskExit::Cancelled,
        () = tokio::time::sleep(ttl) => {
            TaskExit::Error(ErrorData::internal_error(format!("the task did not end within {ttl:?}"), None))
        }
    }
}

/// Says where a task stands.
pub(crate) fn get(server: &Server, request: &GetTaskParams) -> Result<GetTaskResult, ErrorData> {
    let mut result = GetTaskResult::new(server.live.tasks().get(&request.task_id)?);
    result.meta = Some(server.live.current().meta.clone());
    Ok(result)
}

/// Hands answers to a task.
pub(crate) fn update(server: &Server, request: UpdateTaskParams) -> Result<(), ErrorData> {
    server.live.tasks().manager(&request.task_id)?.update_task(&request.task_id, request.input_responses)
}

/// Ends a task.
pub(crate) fn cancel(server: &Server, request: &CancelTaskParams) -> Result<(), ErrorData> {
    server.live.tasks().cancel(&request.task_id)
}

/// The client of a task, which asks when it likes.
struct Asker {
    live: Live,
    context: TaskContext,
    capabilities: Option<ClientCapabilities>,
    /// How often each question was put: a task asks under each key once.
    rounds: Mutex<Map<String, Value>>,
}

impl Asker {
    async fn ask_one(&self, question: &Question) -> Result<Value, Unanswered> {
        let broken = || Unanswered::Failed("the question could not be put".to_owned());
        let request = question::input_request(&question.asks).ok_or_else(broken)?;
        let answer = self.context.request_input(self.fresh_key(&question.key), request).await;
        answer.map_err(|exit| match exit {
            TaskExit::Cancelled => Unanswered::Cancelled,
            TaskExit::Error(error) => Unanswered::Failed(error.message.into_owned()),
        })
    }

    fn fresh_key(&self, key: &str) -> String {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let before = rounds.get(key).and_then(Value::as_u64).unwrap_or(0);
        rounds.insert(key.to_owned(), (before + 1).into());
        if before == 0 { key.to_owned() } else { format!("{key}-{}", before + 1) }
    }
}

impl Client for Asker {
    fn declared(&self) -> Option<Map<String, Value>> {
        super::client::declared(self.capabilities.as_ref())
    }

    fn can(&self, need: Need) -> bool {
        question::can(need, self.capabilities.as_ref(), Era::V2026_07_28)
    }

    fn ask<'a>(&'a self, round: &'a Round) -> BoxFuture<'a, Result<Map<String, Value>, Unanswered>> {
        Box::pin(async move {
            let asked = join_all(round.questions.iter().map(|question| self.ask_one(question)));
            let asked = self.live.tasks().at_once(asked);
            let answers = tokio::time::timeout(round.timeout, asked).await.map_err(|_| Unanswered::TimedOut)?;
            let keys = round.questions.iter().map(|question| question.key.clone());
            keys.zip(answers).map(|(key, answer)| Ok((key, answer?))).collect()
        })
    }

    fn log(&self, _: Message) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn progress(&self, progressed: Progressed) -> BoxFuture<'_, ()> {
        let total = progressed.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let words = progressed.message.unwrap_or_else(|| format!("{}{total}", progressed.progress));
        self.context.set_status_message(words);
        Box::pin(std::future::ready(()))
    }

    fn notify(&self, notice: Notice) {
        self.live.notice(notice);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

    use rmcp::model::{InputRequest, TaskPayload};
    use serde_json::json;

    use super::*;
    use crate::server::Account;

    const QUESTIONS: usize = 300;

    fn none() -> Arc<Tasks> {
        Arc::new(Tasks::new(Account::new(64 << 20).peer()))
    }

    /// Begins a task that is over at once, with a result of so many bytes.
    fn ended(tasks: &Arc<Tasks>, bytes: usize) -> String {
        let outcome = CallToolResult::success(vec![rmcp::model::ContentBlock::text("x".repeat(bytes))]);
        let task = tasks.spawn(TTL, {
            let outcome = outcome.clone();
            |_| Box::pin(std::future::ready(Ok(outcome)))
        });
        let id = task.unwrap().task_id;
        tasks.ended(&id, &outcome);
        id
    }

    /// Waits until no more than so many tasks run.
    async fn are_over(tasks: &Tasks, but: usize) {
        let running = || tasks.entries().values().filter(|entry| entry.manager.running_task_count() > 0).count();
        while running() > but {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_task_that_has_ended_makes_room_and_one_that_runs_does_not() {
        let tasks = none();
        let running = tasks.spawn(TTL, |_| Box::pin(std::future::pending())).unwrap().task_id;
        let mut all: Vec<String> = (1..MOST).map(|_| ended(&tasks, 1)).collect();
        are_over(&tasks, 1).await;
        all.push(ended(&tasks, 1));
        are_over(&tasks, 1).await;
        assert_eq!(tasks.entries().len(), MOST);
        assert!(tasks.get(&running).is_ok() && tasks.get(&all[0]).is_err() && tasks.get(&all[1]).is_ok());
        for _ in 1..MOST {
            tasks.spawn(TTL, |_| Box::pin(std::future::pending())).unwrap();
        }
        let refused = tasks.spawn(TTL, |_| Box::pin(std::future::pending())).unwrap_err();
        assert!(refused.message.contains("1000 tasks are running"), "{refused}");
    }

    #[tokio::test]
    async fn the_oldest_outcomes_make_room_for_new_ones() {
        let tasks = none();
        let all: Vec<String> = (0..20).map(|_| ended(&tasks, 2 << 20)).collect();
        let kept = all.iter().filter(|id| tasks.get(id).is_ok()).count();
        assert_eq!(kept, 7);
        assert!(tasks.get(&all[19]).is_ok());
    }

    /// A task that asks all of its questions in one round.
    fn asking() -> (Arc<Tasks>, String) {
        let tasks = none();
        let asking = tasks.clone();
        let task = tasks.spawn(TTL, |context| {
            Box::pin(async move {
                let question: InputRequest = serde_json::from_value(json!({ "method": "roots/list" })).unwrap();
                let asked = (0..QUESTIONS).map(|number| context.request_input(number.to_string(), question.clone()));
                asking.at_once(join_all(asked)).await;
                Err(TaskExit::Cancelled)
            })
        });
        let id = task.unwrap().task_id;
        (tasks, id)
    }

    /// How many questions a task has; nothing, once it is over.
    fn questions(task: DetailedTask) -> Option<usize> {
        match task.payload {
            TaskPayload::InputRequired { input_requests } => Some(input_requests.len()),
            TaskPayload::Working => Some(0),
            _ => None,
        }
    }

    /// How many questions a task has when it has any.
    async fn first_seen(look: impl Fn() -> Result<DetailedTask, ErrorData>) -> usize {
        let seen = async {
            loop {
                match questions(look().unwrap()).expect("it is over") {
                    0 => tokio::task::yield_now().await,
                    some => break some,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), seen).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_round_is_seen_whole() {
        for _ in 0..50 {
            let (tasks, task) = asking();
            assert_eq!(first_seen(|| tasks.get(&task)).await, QUESTIONS);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_round_is_taken_back_whole() {
        for _ in 0..50 {
            let (tasks, task) = asking();
            // Amidst a round, which the manager's own lists show.
            first_seen(|| tasks.manager(&task).unwrap().get_task(&task)).await;
            tasks.cancel(&task).unwrap();
            let left = questions(tasks.get(&task).unwrap());
            assert!(left.is_none_or(|left| left == 0), "{left:?}");
        }
    }
}
