//! The table of methods: dispatches each request of rmcp to the file that answers it.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
        GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
        ReadResourceRequestParams, ReadResourceResponse, ServerConfig, ServerResult, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde::Serialize;

use crate::budget::{Reservation, SMALL_RESERVATION_BYTES, serialized_size};

use super::{
    ConnectionHandler, completion, log_level,
    observer::{self, ObservedRequest},
    prompts,
    protocol_version::PROTOCOL_VERSIONS,
    request_reservation, resources, session, skills, subscription, tasks, tools, untyped_request,
};

type Context = RequestContext<RoleServer>;
type PageRequest = Option<PaginatedRequestParams>;

/// A request on the way to its answer: who observes it, and the memory that its transport has counted.
struct PendingResponse {
    observed: Option<Box<ObservedRequest>>,
    reservation: Option<Arc<Reservation>>,
    /// What the message takes.
    request_bytes: u64,
}

impl PendingResponse {
    fn new(context: &Context, observed: Option<Box<ObservedRequest>>) -> PendingResponse {
        let reservation = request_reservation(context);
        let request_bytes = reservation.as_ref().map_or(0, |reservation| reservation.bytes());
        PendingResponse { observed, reservation, request_bytes }
    }

    /// Counts the answer until its transport has delivered it, and tells the observer. What was counted of the outputs
    /// that it is made of stands for it.
    fn finish<T>(self, outcome: Result<T, ErrorData>, size: impl FnOnce(&T) -> u64) -> Result<T, ErrorData>
    where
        T: Clone + Into<ServerResult>,
    {
        let size = || outcome.as_ref().map_or_else(serialized_size, size);
        let counted = self.reservation.map_or(Ok(()), |reservation| {
            // It is in memory twice while it is written.
            let has_outputs = reservation.bytes() > self.request_bytes + SMALL_RESERVATION_BYTES;
            if has_outputs { Ok(()) } else { reservation.try_resize(self.request_bytes + size() * 2) }
        });
        let outcome = match counted {
            Ok(()) => outcome,
            Err(busy) => Err(ErrorData::internal_error(busy.to_string(), None)),
        };
        observer::finish(self.observed, outcome)
    }
}

impl ConnectionHandler {
    fn begin(&self, method: &'static str, request: &impl Serialize, context: &Context) -> PendingResponse {
        PendingResponse::new(context, self.observe(method, request, context))
    }
}

/// The future of any request is as large as the largest of these, and is moved several times: what may wait stands in a
/// box.
impl ServerHandler for ConnectionHandler {
    fn get_info(&self) -> ServerConfig {
        self.shared_server.snapshot().config.clone()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(PROTOCOL_VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        session::initialize(self, request, &context)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        subscription::start_change_notifications(self, context.peer);
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.session.roots().take();
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let served = self.shared_server.snapshot();
        let config = served.config_with(self.bridged_lists(&served, &context));
        let result = DiscoverResult::from_server_info(PROTOCOL_VERSIONS.to_vec(), config);
        Ok(result.with_ttl_ms(served.ttl_ms).with_cache_scope(served.cache_scope))
    }

    async fn ping(&self, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        log_level::set_level(self, &request, &context)
    }

    async fn list_tools(&self, request: PageRequest, context: Context) -> Result<ListToolsResult, ErrorData> {
        let response = self.begin("tools/list", &request, &context);
        response.finish(tools::list(self, request, &context), serialized_size)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let response = self.begin("tools/call", &request, &context);
        let outcome = Box::pin(tools::call(self, request, &context)).await;
        response.finish(outcome, |response| match response {
            CallToolResponse::Complete(result) => serialized_size(result),
            _ => 0,
        })
    }

    /// Only what rmcp needs to compare headers with arguments, and only where there are any.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let schema = self.shared_server.snapshot().header_schemas.get(name).cloned()?;
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    async fn list_prompts(&self, request: PageRequest, context: Context) -> Result<ListPromptsResult, ErrorData> {
        let response = self.begin("prompts/list", &request, &context);
        response.finish(prompts::list(self, request, &context), serialized_size)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let response = self.begin("prompts/get", &request, &context);
        let outcome = Box::pin(prompts::get(self, request, &context)).await;
        response.finish(outcome, |response| match response {
            GetPromptResponse::Complete(result) => serialized_size(result),
            _ => 0,
        })
    }

    async fn list_resources(&self, request: PageRequest, context: Context) -> Result<ListResourcesResult, ErrorData> {
        let response = self.begin("resources/list", &request, &context);
        response.finish(resources::list(self, request, &context), serialized_size)
    }

    async fn list_resource_templates(
        &self,
        request: PageRequest,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let response = self.begin("resources/templates/list", &request, &context);
        response.finish(resources::list_templates(self, request, &context), serialized_size)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let response = self.begin("resources/read", &request, &context);
        let outcome = Box::pin(resources::read(self, request, &context)).await;
        response.finish(outcome, |response| match response {
            ReadResourceResponse::Complete(result) => serialized_size(result),
            _ => 0,
        })
    }

    async fn list_skills(&self, request: PageRequest, context: Context) -> Result<ListSkillsResult, ErrorData> {
        let response = self.begin("skills/list", &request, &context);
        response.finish(skills::list(self, request, &context), serialized_size)
    }

    async fn get_skill(&self, request: GetSkillRequestParams, context: Context) -> Result<GetSkillResult, ErrorData> {
        let response = self.begin("skills/get", &request, &context);
        response.finish(skills::get(self, &request.uri, &context), serialized_size)
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: Context,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let response = self.begin("resources/directory/read", &request, &context);
        response.finish(skills::read_directory(self, request, &context), serialized_size)
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        let response = self.begin("completion/complete", &request, &context);
        response.finish(Box::pin(completion::complete(self, request, &context)).await, serialized_size)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        Box::pin(subscription::subscribe(self, request.uri, &context)).await
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        subscription::unsubscribe(self, &request.uri, &context)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        subscription::accept_filter(self, requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        Box::pin(subscription::listen(self, context)).await
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData> {
        PendingResponse::new(&context, None).finish(tasks::get(self, &request), serialized_size)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        tasks::update(self, request)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        tasks::cancel(self, &request)
    }

    async fn on_custom_request(&self, request: CustomRequest, context: Context) -> Result<CustomResult, ErrorData> {
        Err(untyped_request::explain_untyped_request(self, &request, &context))
    }
}
