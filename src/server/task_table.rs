//! The table of tasks: how many there are, what they hold, and which of them make room for others.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use indexmap::IndexMap;
use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    model::{CallToolResult, DetailedTask, ErrorData, InputResponses},
    task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions},
};

use crate::budget::{Caller, Reservation, SMALL_RESERVATION_BYTES, serialized_size};
use crate::identity::AccessControl;

/// How many tasks there may be at once, running or remembered.
const MAX_TASKS: usize = 1000;
/// How soon a client should ask again.
const POLL_INTERVAL_MS: u64 = 500;
/// What a task takes beside its arguments, questions and outcome.
const TASK_BYTES: u64 = 4096;
/// Tasks hold at most one of so many parts of the memory.
const POOL_PARTS: u64 = 4;
const TOO_MANY_BYTES: &str = "running tasks hold too much memory; try again when one has ended, or send less";

/// The tasks of a server.
pub(crate) struct Tasks {
    /// By their ids, oldest first.
    entries: Mutex<IndexMap<String, TaskEntry>>,
    /// What the tasks hold.
    memory: Arc<Caller>,
    /// Held while the questions of a round are put, which the manager takes one by one: who gets a task sees its
    /// round whole.
    round_lock: Mutex<()>,
}

/// One task and its manager.
struct TaskEntry {
    manager: TaskManager,
    /// What its memory counts for.
    owner: Arc<Caller>,
    /// Whose it is: no other caller reaches it.
    access: AccessControl,
    /// When it is forgotten in any case.
    expires_at: Instant,
    /// Whether other replicas may know an older state.
    is_changed: bool,
    /// Whether its outcome is there, which the manager is about to note, or has.
    has_outcome: bool,
    /// What it holds: its arguments and questions while it runs, then its outcome.
    reservation: Reservation,
}

/// A task that is to begin.
pub(super) struct NewTask {
    pub(super) ttl: Duration,
    /// What its memory counts for.
    pub(super) owner: Arc<Caller>,
    /// Who begins it.
    pub(super) access: AccessControl,
    /// What its arguments take.
    pub(super) bytes: u64,
}

/// A task whose state is to be kept for other replicas.
pub(super) struct ChangedTask {
    pub(super) id: String,
    manager: TaskManager,
    pub(super) access: AccessControl,
    /// For how long it is remembered.
    pub(super) time_left: Duration,
}

/// The questions of a task that wait for answers, counted.
pub(super) struct QuestionReservation<'a> {
    tasks: &'a Tasks,
    id: &'a str,
    bytes: u64,
}

impl Drop for QuestionReservation<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.tasks.entries().get_mut(self.id) {
            entry.reservation.shrink(self.bytes);
        }
    }
}

impl Tasks {
    pub(crate) fn new(memory: Arc<Caller>) -> Tasks {
        Tasks { entries: Mutex::default(), memory, round_lock: Mutex::default() }
    }

    /// Begins a task. It is remembered for twice its time to live at most; where there is no room, one that has ended
    /// makes it.
    pub(super) fn spawn(
        &self,
        new: NewTask,
        operation: impl FnOnce(TaskContext) -> TaskFuture,
    ) -> Result<rmcp::model::Task, ErrorData> {
        let now = Instant::now();
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.expires_at > now);
        self.make_room(&mut entries, &new)?;
        let milliseconds = u64::try_from(new.ttl.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(milliseconds).with_poll_interval_ms(POLL_INTERVAL_MS);
        let manager = TaskManager::new();
        let task = manager.spawn(options, operation);
        let entry = TaskEntry {
            manager,
            owner: new.owner,
            access: new.access,
            expires_at: now + new.ttl * 2,
            is_changed: false,
            has_outcome: false,
            reservation: self.memory.reserve(TASK_BYTES + new.bytes),
        };
        entries.insert(task.task_id.clone(), entry);
        Ok(task)
    }

    fn make_room(&self, entries: &mut IndexMap<String, TaskEntry>, new: &NewTask) -> Result<(), ErrorData> {
        let too_many = |limit: u64| {
            let message = format!("too many running tasks (limit {limit}); try again when one has ended");
            Err(ErrorData::internal_error(message, None))
        };
        // Nobody is ended for another, so none may have all.
        let own = entries.values().filter(|entry| Arc::ptr_eq(&entry.owner, &new.owner) && !entry.has_ended());
        let (own_count, own_bytes) =
            own.fold((0, new.bytes), |(count, bytes), entry| (count + 1, bytes + entry.reservation.bytes()));
        let max = new.owner.max_share(MAX_TASKS as u64);
        if own_count >= max {
            return too_many(max);
        }
        let has_share = new.bytes <= SMALL_RESERVATION_BYTES || own_bytes <= new.owner.max_share(self.max_bytes());
        if !has_share {
            return Err(ErrorData::internal_error(TOO_MANY_BYTES, None));
        }
        while self.would_exceed(new.bytes) {
            if !remove_ended_task(entries) {
                return Err(ErrorData::internal_error(TOO_MANY_BYTES, None));
            }
        }
        if entries.len() >= MAX_TASKS && !remove_ended_task(entries) {
            return too_many(MAX_TASKS as u64);
        }
        Ok(())
    }

    /// How many are running.
    pub(super) fn running(&self) -> usize {
        self.entries().values().filter(|entry| !entry.has_ended()).count()
    }

    /// How many bytes all tasks may hold.
    fn max_bytes(&self) -> u64 {
        self.memory.pool().limit() / POOL_PARTS
    }

    /// Whether tasks would hold too much with so many bytes more. What is small is always taken.
    fn would_exceed(&self, bytes: u64) -> bool {
        bytes > SMALL_RESERVATION_BYTES && self.memory.held() + bytes > self.max_bytes()
    }

    /// Keeps account of the questions of a task until they are answered.
    pub(super) fn reserve_questions<'a>(
        &'a self,
        id: &'a str,
        bytes: u64,
    ) -> Result<QuestionReservation<'a>, ErrorData> {
        let mut entries = self.entries();
        while self.would_exceed(bytes) {
            if !remove_ended_task(&mut entries) {
                return Err(ErrorData::internal_error(TOO_MANY_BYTES, None));
            }
        }
        if let Some(entry) = entries.get_mut(id) {
            entry.reservation.grow(bytes);
        }
        Ok(QuestionReservation { tasks: self, id, bytes })
    }

    /// Keeps account of an outcome, in place of what the task held. The oldest tasks that have ended are forgotten where
    /// all of them hold too much.
    pub(super) fn record_outcome(&self, id: &str, outcome: &Result<CallToolResult, TaskExit>) {
        let bytes = match outcome {
            Ok(result) => serialized_size(result),
            Err(TaskExit::Error(error)) => serialized_size(error),
            Err(TaskExit::Cancelled) => 0,
        };
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(id) {
            entry.reservation.resize(TASK_BYTES + bytes);
            (entry.has_outcome, entry.is_changed) = (true, true);
        }
        while self.memory.held() > self.max_bytes() {
            let ended = entries.iter().position(|(other, entry)| entry.has_ended() && other != id);
            let Some(ended) = ended else { return };
            entries.shift_remove_index(ended);
        }
    }

    fn entries(&self) -> MutexGuard<'_, IndexMap<String, TaskEntry>> {
        self.entries.lock()
    }

    /// The manager of a task of this caller. That of another is as if there were none.
    pub(super) fn manager(&self, id: &str, access: &AccessControl) -> Result<TaskManager, ErrorData> {
        let entries = self.entries();
        let entry = entries.get(id).filter(|entry| entry.access.is_same_caller(access));
        entry
            .map(|entry| entry.manager.clone())
            .ok_or_else(|| ErrorData::invalid_params(format!("unknown task: {id}"), None))
    }

    /// Notes that the state of a task is another one.
    pub(super) fn set_changed(&self, id: &str) {
        self.entries().get_mut(id).into_iter().for_each(|entry| entry.is_changed = true);
    }

    /// Notes that other replicas may know an older state of all of them.
    pub(super) fn set_all_changed(&self) {
        self.entries().values_mut().for_each(|entry| entry.is_changed = true);
    }

    /// A task that changed, whose state is taken as known from now on; `None` where there is none, or where one is about to
    /// end.
    pub(super) fn take_changed(&self) -> Option<ChangedTask> {
        let mut entries = self.entries();
        let is_known = |entry: &TaskEntry| !entry.has_outcome || entry.has_ended();
        let (id, entry) = entries.iter_mut().find(|(_, entry)| entry.is_changed && is_known(entry))?;
        entry.is_changed = false;
        Some(entry.to_changed(id))
    }

    /// Whether a task is about to end.
    pub(super) fn any_is_ending(&self) -> bool {
        self.entries().values().any(|entry| entry.has_outcome && !entry.has_ended())
    }

    /// The state of a task, of whoever it is.
    pub(super) fn state_of(&self, task: &ChangedTask) -> Option<DetailedTask> {
        let _round = self.lock_round();
        task.manager.get_task(&task.id).ok()
    }

    /// A task that is to be kept for other replicas.
    pub(super) fn find(&self, id: &str) -> Option<ChangedTask> {
        self.entries().get(id).map(|entry| entry.to_changed(id))
    }

    /// Forgets a task that has not begun.
    pub(super) fn remove(&self, id: &str) {
        self.entries().shift_remove(id);
    }

    fn lock_round(&self) -> MutexGuard<'_, ()> {
        self.round_lock.lock()
    }

    /// Awaits what puts its questions when it is first polled, and puts them as one round; says when that is done.
    pub(super) async fn poll_as_round<T>(
        &self,
        mut questions: impl Future<Output = T> + Unpin,
        put: impl FnOnce(),
    ) -> T {
        let first = |context: &mut Context<'_>| {
            let _round = self.lock_round();
            Poll::Ready(questions.poll_unpin(context))
        };
        let polled = poll_fn(first).await;
        put();
        match polled {
            Poll::Ready(answered) => answered,
            Poll::Pending => questions.await,
        }
    }

    pub(super) fn get(&self, id: &str, access: &AccessControl) -> Result<DetailedTask, ErrorData> {
        let manager = self.manager(id, access)?;
        let _round = self.lock_round();
        manager.get_task(id)
    }

    /// Hands answers to a task, if there is such a one.
    pub(super) fn answer(&self, id: &str, responses: InputResponses) {
        if let Some(task) = self.find(id) {
            // It has ended meanwhile, if it is unknown.
            let _ = task.manager.update_task(id, responses);
        }
    }

    /// Cancels a task, if there is such a one. What it asks is taken back as a round too: no question of it comes after.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(task) = self.find(id) {
            let _round = self.lock_round();
            let _ = task.manager.cancel_task(id);
        }
    }
}

impl TaskEntry {
    fn to_changed(&self, id: &str) -> ChangedTask {
        ChangedTask {
            id: id.to_owned(),
            manager: self.manager.clone(),
            access: self.access.clone(),
            time_left: self.expires_at.saturating_duration_since(Instant::now()),
        }
    }

    fn has_ended(&self) -> bool {
        self.manager.running_task_count() == 0
    }
}

/// Forgets the oldest task that has ended. False where all of them run.
fn remove_ended_task(entries: &mut IndexMap<String, TaskEntry>) -> bool {
    let ended = entries.values().position(TaskEntry::has_ended);
    ended.and_then(|ended| entries.shift_remove_index(ended)).is_some()
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use rmcp::model::{InputRequest, TaskPayload};
    use serde_json::json;

    use super::*;
    use crate::budget::{CallerKind, Capacity};

    const ANYBODY: &AccessControl = &AccessControl::Unrestricted;
    const QUESTIONS: usize = 300;
    const TTL: Duration = Duration::from_secs(300);

    fn small_task() -> NewTask {
        NewTask { ttl: TTL, owner: Arc::default(), access: AccessControl::default(), bytes: 0 }
    }

    /// Begins a task that never ends.
    fn run_forever(tasks: &Tasks, new: NewTask) -> Result<String, ErrorData> {
        tasks.spawn(new, |_| Box::pin(std::future::pending())).map(|task| task.task_id)
    }

    fn session(capacity: &Arc<Capacity>) -> Arc<Caller> {
        Arc::new(Caller::new(CallerKind::Session, capacity.clone()))
    }

    fn no_tasks() -> Arc<Tasks> {
        Arc::new(Tasks::new(session(&Arc::new(Capacity::new(64 << 20)))))
    }

    fn ended_with(tasks: &Arc<Tasks>, outcome: Result<CallToolResult, TaskExit>) -> String {
        let recording = tasks.clone();
        let task = tasks.spawn(small_task(), |context| {
            let id = context.task_id().to_owned();
            Box::pin(async move {
                recording.record_outcome(&id, &outcome);
                outcome
            })
        });
        task.unwrap().task_id
    }

    /// Begins a task that is over at once, with a result of so many bytes.
    fn ended(tasks: &Arc<Tasks>, bytes: usize) -> String {
        let outcome = CallToolResult::success(vec![rmcp::model::ContentBlock::text("x".repeat(bytes))]);
        ended_with(tasks, Ok(outcome))
    }

    /// Waits until no more than so many tasks run.
    async fn wait_for_ended(tasks: &Tasks, but: usize) {
        while tasks.running() > but {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn ended_task_makes_room_and_running_does_not() {
        let tasks = no_tasks();
        let running = run_forever(&tasks, small_task()).unwrap();
        let mut all: Vec<String> = (1..MAX_TASKS).map(|_| ended(&tasks, 1)).collect();
        wait_for_ended(&tasks, 1).await;
        all.push(ended(&tasks, 1));
        wait_for_ended(&tasks, 1).await;
        assert_eq!(tasks.entries().len(), MAX_TASKS);
        assert!(
            tasks.get(&running, ANYBODY).is_ok()
                && tasks.get(&all[0], ANYBODY).is_err()
                && tasks.get(&all[1], ANYBODY).is_ok()
        );
        for _ in 1..MAX_TASKS {
            run_forever(&tasks, small_task()).unwrap();
        }
        let refused = run_forever(&tasks, small_task()).unwrap_err();
        assert!(refused.message.contains("too many running tasks"), "{refused}");
    }

    #[tokio::test]
    async fn oldest_outcomes_are_evicted() {
        let error = |bytes| TaskExit::Error(ErrorData::internal_error("x".repeat(bytes), None));
        for fails in [false, true] {
            let tasks = no_tasks();
            let mut all = Vec::new();
            for _ in 0..20 {
                all.push(if fails { ended_with(&tasks, Err(error(2 << 20))) } else { ended(&tasks, 2 << 20) });
                wait_for_ended(&tasks, 0).await;
            }
            let kept = all.iter().filter(|id| tasks.get(id, ANYBODY).is_ok()).count();
            assert_eq!(kept, 7);
            assert!(tasks.get(&all[19], ANYBODY).is_ok());
        }
    }

    #[tokio::test]
    async fn running_tasks_hold_a_bounded_amount() {
        let tasks = no_tasks();
        let large = || NewTask { bytes: 2 << 20, ..small_task() };
        let begun = (0..20).filter(|_| run_forever(&tasks, large()).is_ok()).count();
        assert_eq!(begun, 7);
        assert!(tasks.memory.held() <= tasks.memory.pool().limit() / POOL_PARTS);
        assert!(run_forever(&tasks, small_task()).is_ok());
        let asking = run_forever(&tasks, small_task()).unwrap();
        assert!(tasks.reserve_questions(&asking, 2 << 20).is_err());
        let before = tasks.memory.held();
        let reservation = tasks.reserve_questions(&asking, 1 << 16).unwrap();
        assert_eq!(tasks.memory.held(), before + (1 << 16));
        drop(reservation);
        assert_eq!(tasks.memory.held(), before);
    }

    #[tokio::test]
    async fn tasks_of_one_caller_leave_room_for_others() {
        let pool = Arc::new(Capacity::new(64 << 20));
        let tasks = Tasks::new(session(&pool));
        let of = |owner: &Arc<Caller>| NewTask { owner: owner.clone(), ..small_task() };
        let (greedy, honest) = (session(&pool), session(&pool));
        let (end, ended) = tokio::sync::oneshot::channel();
        let ending = |_| -> TaskFuture {
            Box::pin(async move {
                let _: Result<(), _> = ended.await;
                Err(TaskExit::Cancelled)
            })
        };
        tasks.spawn(of(&greedy), ending).unwrap();
        for _ in 1..MAX_TASKS / 2 {
            run_forever(&tasks, of(&greedy)).unwrap();
        }
        let refused = run_forever(&tasks, of(&greedy)).unwrap_err();
        assert!(refused.message.contains("(limit 500)"), "{refused:?}");
        assert!(run_forever(&tasks, of(&honest)).is_ok());
        end.send(()).unwrap();
        wait_for_ended(&tasks, MAX_TASKS / 2).await;
        assert!(run_forever(&tasks, of(&greedy)).is_ok(), "what has ended counts no more");
        let alone = Arc::new(Caller::new(CallerKind::Only, pool.clone()));
        let tasks = Tasks::new(alone.clone());
        for _ in 0..MAX_TASKS {
            run_forever(&tasks, of(&alone)).unwrap();
        }
        assert!(run_forever(&tasks, of(&alone)).unwrap_err().message.contains("(limit 1000)"));
    }

    /// A task that asks all of its questions in one round.
    fn task_with_questions() -> (Arc<Tasks>, String) {
        let tasks = no_tasks();
        let asking = tasks.clone();
        let task = tasks.spawn(small_task(), |context| {
            Box::pin(async move {
                let question: InputRequest = serde_json::from_value(json!({ "method": "roots/list" })).unwrap();
                let questions =
                    (0..QUESTIONS).map(|number| context.request_input(number.to_string(), question.clone()));
                asking.poll_as_round(join_all(questions), || ()).await;
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
            assert_eq!(wait_for_questions(|| tasks.get(&task, ANYBODY)).await, QUESTIONS);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn round_is_cancelled_atomically() {
        for _ in 0..50 {
            let (tasks, task) = task_with_questions();
            // Amidst a round, which the manager's own lists show.
            wait_for_questions(|| tasks.manager(&task, ANYBODY).unwrap().get_task(&task)).await;
            tasks.cancel(&task);
            let left = question_count(tasks.get(&task, ANYBODY).unwrap());
            assert!(left.is_none_or(|left| left == 0), "{left:?}");
        }
    }
}
