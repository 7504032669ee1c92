//! Who is behind the client: a person and a model that are asked, and everything that was heard.

#![expect(deprecated, reason = "sampling, roots and logging are to go, and are still there in every version")]

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ResourceUpdatedNotificationParam, Root,
    SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What came from the server that was no answer.
#[derive(Default)]
pub struct Heard {
    pub notices: Vec<String>,
    pub asked: Vec<Value>,
    pub progress: Vec<Value>,
    pub logs: Vec<Value>,
}

impl Heard {
    pub fn json(&self) -> Value {
        json!({ "notices": self.notices, "asked": self.asked, "progress": self.progress, "logs": self.logs })
    }
}

pub struct Person {
    pub config: ClientConfig,
    pub heard: watch::Sender<Heard>,
    /// What is said to the next questions.
    pub answers: Mutex<VecDeque<ElicitResult>>,
}

impl Person {
    pub fn notice(&self, notice: impl Into<String>) {
        self.heard.send_modify(|heard| heard.notices.push(notice.into()));
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        question: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.heard.send_modify(|heard| heard.asked.push(json!(question)));
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        answer.ok_or_else(|| ErrorData::internal_error("no answer was laid ready", None))
    }

    async fn create_message(
        &self,
        question: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.heard.send_modify(|heard| heard.asked.push(json!(question)));
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(" In short. "), "interop".to_owned()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///home/ada/desk").with_name("Desk")]))
    }

    /// Of every call: the SDK draws the token under which one is told of only as it sends it.
    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let told = json!([told.progress, told.total, told.message]);
        self.heard.send_modify(|heard| heard.progress.push(told));
    }

    async fn on_logging_message(&self, log: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.send_modify(|heard| heard.logs.push(json!(log)));
    }

    // Word of changes comes to these in sessions; in 2026-07-28 it comes by the subscription, and never twice.

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.notice("tools/list_changed");
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.notice("prompts/list_changed");
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.notice("resources/list_changed");
    }

    async fn on_resource_updated(&self, of: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.notice(format!("resources/updated {}", of.uri));
    }
}
