//! A session with a server, whichever the generation: results as JSON.

#![expect(deprecated, reason = "what 2026-07-28 gave up is still asked of servers of the older versions")]

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::PoisonError;

use rmcp::model::{
    ArgumentInfo, CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    CompleteRequestParams, CompletionContext, ElicitResult, GetPromptRequestParams, JsonObject, LoggingLevel,
    ReadResourceRequestParams, Reference, RequestId, ServerNotification, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{ClientServiceExt, PeerRequestOptions, QuitReason, RequestHandle, RunningService, Subscription};
use rmcp::transport::IntoTransport;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::check::{Outcome, SOON, check, same};
use crate::mode::Mode;
use crate::person::{Heard, Person};

/// A request that was not answered, or by an error.
#[derive(Debug)]
pub struct Refusal {
    request: String,
    error: ServiceError,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.request, self.error)
    }
}

impl std::error::Error for Refusal {}

pub type Answer = Result<Value, Refusal>;

/// Awaits the answer to a request, which must come soon.
async fn answer<T>(request: &str, answer: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Refusal> {
    let came = timeout(SOON, answer).await.unwrap_or(Err(ServiceError::Timeout { timeout: SOON }));
    came.map_err(|error| Refusal { request: request.to_owned(), error })
}

/// The code and the message of an error.
pub fn refused(answer: Answer) -> Outcome<(i32, String)> {
    match answer {
        Ok(answer) => Err(format!("it was answered: {answer}").into()),
        Err(Refusal { error: ServiceError::McpError(error), .. }) => Ok((error.code.0, error.message.into_owned())),
        Err(other) => Err(other.into()),
    }
}

/// What these entries have under a key.
pub fn each(entries: &Value, key: &str) -> Vec<String> {
    let of = |entry: &Value| entry[key].as_str().unwrap_or_default().to_owned();
    entries.as_array().map(|entries| entries.iter().map(of).collect()).unwrap_or_default()
}

fn object(value: Value) -> Option<JsonObject> {
    value.as_object().cloned()
}

pub struct Peer {
    client: RunningService<RoleClient, Person>,
    mode: Mode,
    heard: watch::Receiver<Heard>,
    listening: Option<AbortHandle>,
}

impl Peer {
    pub async fn connect<T, E, A>(transport: T, mode: Mode) -> Outcome<Self>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (hears, heard) = watch::channel(Heard::default());
        let person = Person { config: mode.config()?, heard: hears, answers: Default::default() };
        let client = timeout(SOON, person.serve_with_lifecycle(transport, mode.lifecycle())).await??;
        let version = client.peer_info().map(|server| server.protocol_version.clone());
        same("the version that both speak", json!(version), json!(mode.version()))?;
        Ok(Self { client, mode, heard, listening: None })
    }

    pub async fn close(self) -> Outcome {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
        let closed = timeout(SOON, self.client.cancel()).await;
        let holds = matches!(closed, Ok(Ok(QuitReason::Cancelled)));
        check("the session is closed", holds, json!(format!("{closed:?}")))
    }

    pub fn modern(&self) -> bool {
        !self.mode.version().has_initialize()
    }

    pub fn server(&self) -> Value {
        json!(self.client.peer_info().map(|server| server.server_info.clone()))
    }

    // Lists, of every page.

    pub async fn prompts(&self) -> Answer {
        Ok(json!(answer("prompts/list", self.client.list_all_prompts()).await?))
    }

    pub async fn resources(&self) -> Answer {
        Ok(json!(answer("resources/list", self.client.list_all_resources()).await?))
    }

    pub async fn templates(&self) -> Answer {
        Ok(json!(answer("resources/templates/list", self.client.list_all_resource_templates()).await?))
    }

    pub async fn tools(&self) -> Answer {
        Ok(json!(answer("tools/list", self.client.list_all_tools()).await?))
    }

    /// The messages of a prompt.
    pub async fn get(&self, name: &str, arguments: Value) -> Answer {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = object(arguments);
        Ok(json!(answer(&format!("prompts/get {name}"), self.client.get_prompt(params)).await?.messages))
    }

    /// The contents of a resource.
    pub async fn read(&self, uri: &str) -> Answer {
        let params = ReadResourceRequestParams::new(uri);
        Ok(json!(answer(&format!("resources/read {uri}"), self.client.read_resource(params)).await?.contents))
    }

    /// The values that an argument may be completed to.
    pub async fn complete(&self, of: Reference, argument: [&str; 2], known: &[(&str, &str)]) -> Answer {
        let known: HashMap<_, _> =
            known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut params = CompleteRequestParams::new(of, ArgumentInfo::new(argument[0], argument[1]));
        params.context = (!known.is_empty()).then(|| CompletionContext::with_arguments(known));
        Ok(json!(answer("completion/complete", self.client.complete(params)).await?.completion.values))
    }

    /// A call of a tool that wants to hear everything that the server says on the way.
    fn tool(&self, name: &str, arguments: Value) -> CallToolRequestParams {
        let mut params = CallToolRequestParams::new(name.to_owned());
        params.arguments = object(arguments);
        if self.modern() {
            params.meta.get_or_insert_default().set_log_level(LoggingLevel::Debug);
        }
        params
    }

    /// The answer of a tool; what it asks on the way is put to the person.
    pub async fn call(&self, name: &str, arguments: Value) -> Answer {
        let params = self.tool(name, arguments);
        Ok(json!(answer(&format!("tools/call {name}"), self.client.call_tool(params)).await?))
    }

    /// The text that a tool answers, and whether it failed.
    pub async fn text(&self, name: &str, arguments: Value) -> Answer {
        let answer = self.call(name, arguments).await?;
        Ok(json!([answer["content"][0]["text"], answer["isError"].as_bool().unwrap_or(false)]))
    }

    /// A call that is under way, and may be given up.
    pub async fn begin(&self, name: &str, arguments: Value) -> Outcome<RequestHandle<RoleClient>> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.tool(name, arguments)));
        Ok(self.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await?)
    }

    pub async fn cancel(&self, request: RequestId) -> Outcome {
        let params = CancelledNotificationParam::new(Some(request), Some("enough".to_owned()));
        Ok(answer("notifications/cancelled", self.client.notify_cancelled(params)).await?)
    }
}

/// What is heard, and what is said to it.
impl Peer {
    /// Asks for every log message, where that is not asked with each request.
    pub async fn set_level(&self) -> Outcome {
        if !self.modern() {
            let level = SetLevelRequestParams::new(LoggingLevel::Debug);
            answer("logging/setLevel", self.client.set_level(level)).await?;
        }
        Ok(())
    }

    /// Asks for word of every list and of these resources, in the manner of the generation.
    pub async fn listen(&mut self, uris: &[&str]) -> Outcome {
        if self.modern() {
            return self.subscribe(uris).await;
        }
        for uri in uris {
            let resource = SubscribeRequestParams::new(*uri);
            answer("resources/subscribe", self.client.subscribe(resource)).await?;
        }
        Ok(())
    }

    async fn subscribe(&mut self, uris: &[&str]) -> Outcome {
        let lists = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed();
        let wanted = if uris.is_empty() { lists } else { lists.resource_subscriptions(uris.to_vec()) }.build();
        let subscription = answer("subscriptions/listen", self.client.listen(wanted.clone())).await?;
        let can = self.client.peer_info().map(|server| server.capabilities.clone()).unwrap_or_default();
        same("what is listened to", json!(subscription.acknowledged()), json!(wanted.supported_by(&can)))?;
        let hearing = tokio::spawn(hear(subscription, self.client.service().heard.clone()));
        self.listening = Some(hearing.abort_handle());
        Ok(())
    }

    /// No longer asks for word of these resources, nor of anything in 2026-07-28.
    pub async fn listen_no_more(&mut self, uris: &[&str]) -> Outcome {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            return Ok(());
        }
        for uri in uris {
            let resource = UnsubscribeRequestParams::new(*uri);
            answer("resources/unsubscribe", self.client.unsubscribe(resource)).await?;
        }
        Ok(())
    }

    /// Everything that was heard so far.
    pub fn heard(&self) -> watch::Ref<'_, Heard> {
        self.heard.borrow()
    }

    /// Waits until what was heard is so.
    pub async fn until(&self, what: &str, mut holds: impl FnMut(&Heard) -> bool) -> Outcome {
        let mut heard = self.heard.clone();
        let came = timeout(SOON, heard.wait_for(|heard| holds(heard))).await.is_ok_and(|came| came.is_ok());
        check(what, came, self.heard().json())
    }

    /// Waits for a notice to come for the COUNTth time.
    pub async fn notice(&self, notice: &str, count: usize) -> Outcome {
        let times = |heard: &Heard| heard.notices.iter().filter(|came| *came == notice).count();
        self.until(&format!("notice {notice}"), |heard| times(heard) >= count).await
    }

    /// Forgets how far the calls before this were.
    pub fn forget_progress(&self) {
        self.client.service().heard.send_modify(|heard| heard.progress.clear());
    }

    /// Lays the answers to the next questions ready.
    pub fn answers(&self, answers: impl IntoIterator<Item = ElicitResult>) {
        self.client.service().answers.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
    }
}

/// Hears what comes by a subscription, which ends by itself only where something is wrong.
async fn hear(mut subscription: Subscription, heard: watch::Sender<Heard>) {
    let end = loop {
        match subscription.next().await {
            Ok(Some(notification)) => heard.send_modify(|heard| heard.notices.push(noticed(&notification))),
            Ok(None) => break format!("the subscription ended: {:?}", subscription.end()),
            Err(error) => break format!("the subscription failed: {error}"),
        }
    };
    heard.send_modify(|heard| heard.notices.push(end));
}

/// A notification in the words in which those without a subscription are noted.
fn noticed(notification: &ServerNotification) -> String {
    let notification = json!(notification);
    let method = notification["method"].as_str().unwrap_or_default().trim_start_matches("notifications/");
    match notification["params"]["uri"].as_str() {
        Some(uri) => format!("{method} {uri}"),
        None => method.to_owned(),
    }
}
