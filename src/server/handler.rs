//! The table of methods: dispatches each request of rmcp to the file that answers it.

use std::borrow::Cow;

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

use super::{
    ConnectionHandler,
    bytes_in_flight::ResponseReservation,
    completion, error, log_level,
    memory_size::MemorySize,
    observer::{self, ObservedRequest},
    prompts,
    protocol_version::PROTOCOL_VERSIONS,
    resources, session, skills, subscription, tasks, tools, untyped_request,
};

type Context = RequestContext<RoleServer>;
type PageRequest = Option<PaginatedRequestParams>;

/// A request on the way to its answer: who observes it, and the memory that the answer may take.
struct PendingResponse {
    observed: Option<Box<ObservedRequest>>,
    reservation: Option<ResponseReservation>,
}

impl PendingResponse {
    /// Keeps account of the answer until its transport has delivered it, and tells the observer.
    fn finish<T>(self, outcome: Result<T, ErrorData>) -> Result<T, ErrorData>
    where
        T: MemorySize + Clone + Into<ServerResult>,
    {
        let outcome = match self.reservation {
            Some(reservation) => reservation.charge(outcome),
            None => outcome,
        };
        observer::finish(self.observed, outcome)
    }
}

impl ConnectionHandler {
    /// Begins to answer a request about `name`, as soon as there is memory for the answer.
    async fn begin(
        &self,
        method: &'static str,
        name: &str,
        request: &impl Serialize,
        context: &Context,
    ) -> Result<PendingResponse, ErrorData> {
        let observed = self.observe(method, request, context);
        let reservation = self.reserve_response(method, name, context).await?;
        Ok(PendingResponse { observed, reservation })
    }

    async fn reserve_response(
        &self,
        method: &'static str,
        name: &str,
        context: &Context,
    ) -> Result<Option<ResponseReservation>, ErrorData> {
        tokio::select! {
            biased;
            reservation = ResponseReservation::acquire(context, method, name) => reservation,
            () = self.stop.cancelled() => Err(ErrorData::internal_error(error::SERVER_STOPS, None)),
        }
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
        let response = self.begin("tools/list", "", &request, &context).await?;
        response.finish(tools::list(self, request, &context))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let response = self.begin("tools/call", &request.name, &request, &context).await?;
        response.finish(Box::pin(tools::call(self, request, &context)).await)
    }

    /// Only what rmcp needs to compare headers with arguments, and only where there are any.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let schema = self.shared_server.snapshot().header_schemas.get(name).cloned()?;
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    async fn list_prompts(&self, request: PageRequest, context: Context) -> Result<ListPromptsResult, ErrorData> {
        let response = self.begin("prompts/list", "", &request, &context).await?;
        response.finish(prompts::list(self, request, &context))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let response = self.begin("prompts/get", &request.name, &request, &context).await?;
        response.finish(Box::pin(prompts::get(self, request, &context)).await)
    }

    async fn list_resources(&self, request: PageRequest, context: Context) -> Result<ListResourcesResult, ErrorData> {
        let response = self.begin("resources/list", "", &request, &context).await?;
        response.finish(resources::list(self, request, &context))
    }

    async fn list_resource_templates(
        &self,
        request: PageRequest,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let response = self.begin("resources/templates/list", "", &request, &context).await?;
        response.finish(resources::list_templates(self, request, &context))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let response = self.begin("resources/read", &request.uri, &request, &context).await?;
        response.finish(Box::pin(resources::read(self, request, &context)).await)
    }

    async fn list_skills(&self, request: PageRequest, context: Context) -> Result<ListSkillsResult, ErrorData> {
        let response = self.begin("skills/list", "", &request, &context).await?;
        response.finish(skills::list(self, request, &context))
    }

    async fn get_skill(&self, request: GetSkillRequestParams, context: Context) -> Result<GetSkillResult, ErrorData> {
        let response = self.begin("skills/get", &request.uri, &request, &context).await?;
        response.finish(skills::get(self, &request.uri, &context))
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: Context,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let response = self.begin("resources/directory/read", &request.uri, &request, &context).await?;
        response.finish(skills::read_directory(self, request, &context))
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        let response = self.begin("completion/complete", &request.argument.name, &request, &context).await?;
        response.finish(Box::pin(completion::complete(self, request, &context)).await)
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
        let reservation = self.reserve_response("tasks/get", &request.task_id, &context).await?;
        PendingResponse { observed: None, reservation }.finish(tasks::get(self, &request))
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
