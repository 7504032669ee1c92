//! Answers requests: each by the file of its method, in the words of its version.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use rmcp::model::{
    ClientNotification, ClientRequest, DiscoverResult, ErrorCode, ErrorData, GetMeta, PaginatedRequestParams,
    ProtocolVersion,
};
use tokio::task::coop::unconstrained;

use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler, completion, error,
    list_pages::{self, List},
    log_level,
    method::Method,
    outgoing::OutgoingMessage,
    prompts,
    protocol_version::PROTOCOL_VERSIONS,
    request_context::{IncomingRequest, RequestContext},
    resources, session, skills, subscription, tasks, tools, untyped_request, version_keys,
};

/// Up to this size of a message, as its transport counts it, its request is begun on the thread that reads.
const SMALL_MESSAGE_BYTES: u64 = 16 * 1024;

impl ConnectionHandler {
    /// Begins to answer a request, and gives the answer to `finish`, now or when it is there.
    ///
    /// What cannot take long, and calls whose order matters, begin before this returns: requests are answered in the order
    /// of their arrival until the first of them waits.
    pub(crate) fn begin(
        self: &Arc<ConnectionHandler>,
        incoming: IncomingRequest,
        finish: impl FnOnce(OutgoingMessage) + Send + 'static,
    ) {
        let begins_now = self.begins_now(&incoming);
        let handler = self.clone();
        let mut answer = Box::pin(async move { handler.answer(incoming).await });
        // What the task that reads may still do does not matter to the request.
        match if begins_now { unconstrained(answer.as_mut()).now_or_never() } else { None } {
            Some(answer) => finish(answer),
            None => drop(tokio::spawn(async move { finish(answer.await) })),
        }
    }

    /// Whether a request runs nothing that may block, or must not be overtaken.
    fn begins_now(&self, incoming: &IncomingRequest) -> bool {
        use ClientRequest as R;
        let is_small = incoming.reservation.bytes() <= SMALL_MESSAGE_BYTES;
        let catalog = self.shared_server.catalog();
        match &incoming.request {
            R::CallToolRequest(call) => {
                let tool = catalog.called_tool(&call.params.name, call.params.arguments.as_ref());
                is_small && (!catalog.tool_runs_actions(tool) || catalog.tool_limits_calls(tool))
            }
            R::GetPromptRequest(get) => is_small && !catalog.prompt_runs_actions(&get.params.name),
            R::ReadResourceRequest(_) | R::CompleteRequest(_) => false,
            _ => true,
        }
    }

    /// Answers a request, and counts the answer until it is delivered.
    async fn answer(&self, incoming: IncomingRequest) -> OutgoingMessage {
        let IncomingRequest { id, mut request, reservation, cancel } = incoming;
        let meta = std::mem::take(request.get_meta_mut());
        let context = RequestContext {
            id: id.clone(),
            is_sessionless: meta.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28),
            meta,
            cancel,
            reservation: reservation.clone(),
            session: self.session.clone(),
        };
        let mut observed = self.observe(&request, &context);
        let outcome = self.answer_in_version(request, &context).await;
        observed.as_deref_mut().into_iter().for_each(|observed| observed.end(&outcome));
        let answer = match outcome {
            Ok(result) => OutgoingMessage::result(id.clone(), &result),
            Err(error) => OutgoingMessage::error(Some(id.clone()), &error),
        };
        match reservation.try_resize(answer.bytes()) {
            Ok(()) => answer,
            Err(busy) => OutgoingMessage::error(Some(id), &ErrorData::internal_error(busy.to_string(), None)),
        }
    }

    async fn answer_in_version(&self, request: ClientRequest, context: &RequestContext) -> Result<Bytes, ErrorData> {
        check_version(&request, context)?;
        let is_sessionless = context.is_sessionless;
        let version = if is_sessionless { SpecVersion::NEWEST } else { SpecVersion::NEWEST_WITH_SESSIONS };
        if Method::find(request.method()).is_some_and(|method| !method.is_in(version)) {
            return Err(untyped_request::explain(self, request.method(), None, context));
        }
        self.answer_method(request, context).await.map_err(|error| match error.code {
            ErrorCode::RESOURCE_NOT_FOUND if is_sessionless => ErrorData { code: ErrorCode::INVALID_PARAMS, ..error },
            _ => error,
        })
    }

    /// The JSON of the result. The future of any request is as large as the largest of these: what may wait is in a box.
    async fn answer_method(&self, request: ClientRequest, context: &RequestContext) -> Result<Bytes, ErrorData> {
        use ClientRequest as R;
        let empty = |()| Bytes::from_static(b"{}");
        let acknowledged = |()| Bytes::from_static(b"{\"resultType\":\"complete\"}");
        let cursor = |params: &Option<PaginatedRequestParams>| params.as_ref().and_then(|params| params.cursor.clone());
        let list = |kind, params: &Option<_>| list_pages::list(self, kind, cursor(params).as_deref(), context);
        match request {
            R::InitializeRequest(request) => session::initialize(self, request.params),
            R::DiscoverRequest(_) => self.discover(context),
            R::PingRequest(_) => Ok(empty(())),
            R::SetLevelRequest(request) => log_level::set_level(self, &request.params, context).map(empty),
            R::ListToolsRequest(request) => list(List::Tools, &request.params),
            R::ListPromptsRequest(request) => list(List::Prompts, &request.params),
            R::ListResourcesRequest(request) => list(List::Resources, &request.params),
            R::ListResourceTemplatesRequest(request) => list(List::ResourceTemplates, &request.params),
            R::ListSkillsRequest(request) => list(List::Skills, &request.params),
            R::CallToolRequest(request) => Box::pin(tools::call(self, request.params, context)).await,
            R::GetPromptRequest(request) => Box::pin(prompts::get(self, request.params, context)).await,
            R::ReadResourceRequest(request) => Box::pin(resources::read(self, request.params, context)).await,
            R::CompleteRequest(request) => Box::pin(completion::complete(self, request.params, context)).await,
            R::SubscribeRequest(request) => subscription::subscribe(self, request.params.uri, context).map(empty),
            R::UnsubscribeRequest(request) => subscription::unsubscribe(self, &request.params.uri, context).map(empty),
            R::SubscriptionsListenRequest(request) => {
                Box::pin(subscription::listen(self, request.params.notifications, context)).await
            }
            R::GetSkillRequest(request) => skills::get(self, &request.params.uri, context),
            R::ReadResourceDirectoryRequest(request) => skills::read_directory(self, &request.params, context),
            R::GetTaskRequest(request) => tasks::get(self, &request.params, context),
            R::UpdateTaskRequest(request) => tasks::update(self, request.params, context).map(acknowledged),
            R::CancelTaskRequest(request) => tasks::cancel(self, &request.params, context).map(acknowledged),
            R::CustomRequest(request) => {
                Err(untyped_request::explain(self, &request.method, request.params.as_ref(), context))
            }
            other => Err(error::unknown_method(other.method())),
        }
    }

    fn discover(&self, context: &RequestContext) -> Result<Bytes, ErrorData> {
        let served = self.shared_server.snapshot();
        let config = served.config_with(self.bridged_lists(&served, context));
        let result = DiscoverResult::from_server_info(PROTOCOL_VERSIONS.to_vec(), config);
        let result = result.with_ttl_ms(served.ttl_ms).with_cache_scope(served.cache_scope);
        version_keys::to_json(&result, SpecVersion::NEWEST, &[])
    }

    /// Takes a notification of the client. Requests are cancelled by their transport.
    pub(crate) fn receive_notification(&self, notification: &ClientNotification) {
        match notification {
            ClientNotification::InitializedNotification(_) => subscription::start_change_notifications(self),
            ClientNotification::RootsListChangedNotification(_) => self.session.roots().forget(),
            _ => {}
        }
    }
}

/// Refuses a version that is not spoken, and a request of 2026-07-28 without all that it must bring (basic, `_meta`).
fn check_version(request: &ClientRequest, context: &RequestContext) -> Result<(), ErrorData> {
    if matches!(request, ClientRequest::InitializeRequest(_)) {
        return Ok(());
    }
    let requested = context.meta.protocol_version();
    if let Some(version) = requested.filter(|version| !PROTOCOL_VERSIONS.contains(version)) {
        return Err(ErrorData::unsupported_protocol_version(version, PROTOCOL_VERSIONS));
    }
    let is_discover = matches!(request, ClientRequest::DiscoverRequest(_));
    if is_discover || context.is_sessionless {
        let missing = context.meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let message = format!("request _meta is missing or has malformed required fields: {missing}");
            return Err(ErrorData::invalid_params(message, None));
        }
    }
    Ok(())
}
