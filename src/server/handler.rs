//! The table of methods: what rmcp calls, and the file that answers it.

use std::borrow::Cow;

use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
        GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
        ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use super::{
    Server, bytes::Room, completion, logging, prompts, resources, served::VERSIONS, session, skills, subscription,
    tasks, tools, unknown, weight::Weight,
};

type Context = RequestContext<RoleServer>;
type Pages = Option<PaginatedRequestParams>;

/// Keeps account of an answer until its transport has delivered it.
fn answered<T: Weight>(room: Option<Room>, answer: Result<T, ErrorData>) -> Result<T, ErrorData> {
    match room {
        Some(room) => room.answered(answer),
        None => answer,
    }
}

/// The future of any request is as large as the largest of these, and is moved several times: what may wait stands in a
/// box.
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.live.current().config.clone()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        session::initialize(self, request, &context)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        subscription::announce(self, context.peer);
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.session.roots().take();
    }

    async fn discover(&self, _: Context) -> Result<DiscoverResult, ErrorData> {
        let served = self.live.current();
        let result = DiscoverResult::from_server_info(VERSIONS.to_vec(), served.config.clone());
        Ok(result.with_ttl_ms(served.ttl_ms).with_cache_scope(served.cache_scope))
    }

    async fn ping(&self, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        logging::set_level(self, &request, &context)
    }

    async fn list_tools(&self, request: Pages, context: Context) -> Result<ListToolsResult, ErrorData> {
        let room = Room::wait(&context, "tools/list", "").await?;
        let answer = tools::list(self, request, &context);
        answered(room, answer)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let room = Room::wait(&context, "tools/call", &request.name).await?;
        let answer = Box::pin(tools::call(self, request, &context)).await;
        answered(room, answer)
    }

    /// Only what rmcp needs to compare headers with arguments, and only where there are any.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let schema = self.live.current().mirrored.get(name).cloned()?;
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    async fn list_prompts(&self, request: Pages, context: Context) -> Result<ListPromptsResult, ErrorData> {
        let room = Room::wait(&context, "prompts/list", "").await?;
        let answer = prompts::list(self, request, &context);
        answered(room, answer)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let room = Room::wait(&context, "prompts/get", &request.name).await?;
        let answer = Box::pin(prompts::get(self, request, &context)).await;
        answered(room, answer)
    }

    async fn list_resources(&self, request: Pages, context: Context) -> Result<ListResourcesResult, ErrorData> {
        let room = Room::wait(&context, "resources/list", "").await?;
        let answer = resources::list(self, request, &context);
        answered(room, answer)
    }

    async fn list_resource_templates(
        &self,
        request: Pages,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let room = Room::wait(&context, "resources/templates/list", "").await?;
        let answer = resources::list_templates(self, request, &context);
        answered(room, answer)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let room = Room::wait(&context, "resources/read", &request.uri).await?;
        let answer = Box::pin(resources::read(self, request, &context)).await;
        answered(room, answer)
    }

    async fn list_skills(&self, request: Pages, context: Context) -> Result<ListSkillsResult, ErrorData> {
        let room = Room::wait(&context, "skills/list", "").await?;
        let answer = skills::list(self, request, &context);
        answered(room, answer)
    }

    async fn get_skill(&self, request: GetSkillRequestParams, context: Context) -> Result<GetSkillResult, ErrorData> {
        let room = Room::wait(&context, "skills/get", &request.uri).await?;
        let answer = skills::get(self, &request.uri, &context);
        answered(room, answer)
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: Context,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let room = Room::wait(&context, "resources/directory/read", &request.uri).await?;
        let answer = skills::directory(self, request, &context);
        answered(room, answer)
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        let room = Room::wait(&context, "completion/complete", &request.argument.name).await?;
        let answer = Box::pin(completion::complete(self, request, &context)).await;
        answered(room, answer)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        Box::pin(subscription::subscribe(self, request.uri, &context)).await
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        subscription::unsubscribe(self, &request.uri, &context)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        subscription::accepted(self, requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        Box::pin(subscription::listen(self, context)).await
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData> {
        let room = Room::wait(&context, "tasks/get", &request.task_id).await?;
        let answer = tasks::get(self, &request);
        answered(room, answer)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        tasks::update(self, request)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        tasks::cancel(self, &request)
    }

    async fn on_custom_request(&self, request: CustomRequest, context: Context) -> Result<CustomResult, ErrorData> {
        Err(unknown::explain(self, &request, &context))
    }
}
