//! Tasks as the replicas know them that do not run them: a record in the store, and messages to the one that does.

use rmcp::model::{DetailedTask, ErrorData, InputResponses, TaskPayload, TaskStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::serialized_size;
use crate::identity::AccessControl;
use crate::store::{Recipient, StoreError};

use super::{
    SharedServer,
    replicas::{MAX_FORWARDED_BYTES, ReplicaMessage},
    request::McpRequest,
    task_table::ChangedTask,
};

/// How long the id of a task is at most.
const MAX_ID_BYTES: usize = 64;
/// Why a task failed whose replica is no more. It may have acted, so no other one runs it again.
const REPLICA_ENDED: &str = "the replica that ran the task has ended; what the task had done stays done";

/// A task in the store.
#[derive(Serialize, Deserialize)]
struct TaskRecord {
    /// What runs it, or ran it.
    replica: String,
    /// The issuer and the id of whose it is, if anybody.
    caller: Option<(String, String)>,
    task: DetailedTask,
}

/// What a request wants of a task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum TaskMessage {
    Answer(InputResponses),
    Cancel,
}

fn has_ended(task: &DetailedTask) -> bool {
    !matches!(task.status(), TaskStatus::Working | TaskStatus::InputRequired)
}

fn key(id: &str) -> String {
    format!("task:{id}")
}

impl SharedServer {
    /// Tells replicas of a task before it begins.
    pub(super) async fn keep_new_task(&self, id: &str) -> Result<(), StoreError> {
        // Others must know who runs it.
        if !self.replicas().has_lease() {
            self.renew_lease().await?;
        }
        match self.tasks().find(id) {
            Some(task) => self.keep_task(&task).await,
            None => Ok(()),
        }
    }

    /// Notes that the state of a task is another one.
    pub(super) fn task_changed(&self, id: &str) {
        self.tasks().set_changed(id);
        self.replicas().wake.notify_one();
    }

    /// Keeps the states of tasks that changed. What cannot be kept now is kept later.
    pub(super) async fn keep_changed_tasks(&self) {
        // Looked at first: one that ends after this is among those below.
        let any_is_ending = self.tasks().any_is_ending();
        while let Some(task) = self.tasks().take_changed() {
            if self.keep_task(&task).await.is_err() {
                self.tasks().set_changed(&task.id);
                return;
            }
        }
        if any_is_ending {
            tokio::task::yield_now().await;
            self.replicas().wake.notify_one();
        }
    }

    async fn keep_task(&self, task: &ChangedTask) -> Result<(), StoreError> {
        let Some(state) = self.tasks().state_of(task) else { return Ok(()) };
        let replica = self.store().replica().to_owned();
        let record = TaskRecord { replica, caller: task.access.caller_key(), task: state };
        self.store().put(&key(&task.id), &serde_json::to_vec(&record).unwrap_or_default(), task.time_left).await
    }

    /// A task of this caller that another replica runs, or ran.
    async fn find_task_record(&self, id: &str, access: &AccessControl) -> Result<Option<TaskRecord>, StoreError> {
        let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if id.len() > MAX_ID_BYTES || !is_id {
            return Ok(None);
        }
        let Some(json) = self.store().get(&key(id)).await? else {
            self.check_memory().await?;
            return Ok(None);
        };
        let record: Option<TaskRecord> = serde_json::from_slice(&json).ok();
        Ok(record.filter(|record| record.caller == access.caller_key()))
    }

    /// The state of a task, whichever replica runs it.
    pub(super) async fn find_task(&self, id: &str, request: &McpRequest) -> Result<DetailedTask, ErrorData> {
        let unknown = match self.tasks().get(id, &request.access) {
            Ok(task) => return Ok(task),
            Err(unknown) => unknown,
        };
        let record = self.find_task_record(id, &request.access).await.map_err(|StoreError| request.store_is_away())?;
        let TaskRecord { replica, task, .. } = record.ok_or(unknown)?;
        if has_ended(&task) || !self.replica_has_ended(&replica).await {
            return Ok(task);
        }
        let error = ErrorData::internal_error(REPLICA_ENDED, None);
        let error = serde_json::to_value(error).ok().and_then(|error| match error {
            Value::Object(error) => Some(error),
            _ => None,
        });
        Ok(DetailedTask::new(task.task, TaskPayload::Failed { error: error.unwrap_or_default() }))
    }

    /// Hands something to a task, whichever replica runs it.
    pub(super) async fn message_task(
        &self,
        id: &str,
        message: TaskMessage,
        request: &McpRequest,
    ) -> Result<(), ErrorData> {
        let local = match self.tasks().manager(id, &request.access) {
            Ok(_) => {
                self.message_own_task(id, message);
                return Ok(());
            }
            Err(unknown) => unknown,
        };
        let away = |StoreError| request.store_is_away();
        let record = self.find_task_record(id, &request.access).await.map_err(away)?.ok_or(local)?;
        if has_ended(&record.task) {
            return Ok(());
        }
        if let TaskMessage::Answer(responses) = &message
            && serialized_size(responses) > MAX_FORWARDED_BYTES as u64
        {
            let message =
                format!("answers too long for a task of another replica (limit {} KiB)", MAX_FORWARDED_BYTES / 1024);
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = ReplicaMessage::Task { id: id.to_owned(), message };
        self.replicas().send(Recipient::Replica(&record.replica), &message).await.map_err(away)
    }

    /// Hands something to a task that runs here, if it does still.
    pub(super) fn message_own_task(&self, id: &str, message: TaskMessage) {
        match message {
            TaskMessage::Answer(responses) => self.tasks().answer(id, responses),
            TaskMessage::Cancel => self.tasks().cancel(id),
        }
        self.task_changed(id);
    }
}
