//! Answers requests: each by the file of its method, in the words of its version.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use rmcp::model::{
    ClientNotification, ClientRequest, DiscoverResult, ErrorCode, ErrorData, GetExtensions, PaginatedRequestParams,
    ProtocolVersion, RequestId, RequestMetaObject,
};
use tokio::task::coop::unconstrained;

use crate::catalog::{CallTraits, Catalog};
use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler,
    capability::CapabilityKind,
    completion,
    error::{self, InvalidParams},
    list_pages::{self, List},
    log_level,
    method::Method,
    observer::EndNote,
    outgoing::OutgoingMessage,
    prompts,
    protocol_version::{PROTOCOL_VERSIONS, stated_version},
    request::{IncomingRequest, McpRequest, RequestSender, request_redactor},
    resources, session, skills,
    snapshot::ResultNotes,
    subscription, tasks, tools, version_keys,
};

/// The `_meta` key of the log level of a request of 2026-07-28.
const LOG_LEVEL_META_KEY: &str = "io.modelcontextprotocol/logLevel";

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
        // As one that its own batch cancels.
        if incoming.cancel.is_cancelled() {
            return;
        }
        let snapshot = self.shared_server.snapshot();
        let traits = call_traits(&incoming.message, &snapshot.catalog);
        let is_small = incoming.reservation.bytes() <= SMALL_MESSAGE_BYTES;
        let begins_now = traits.is_none_or(|traits| is_small && traits.begins_at_once);
        let IncomingRequest { id, mut message, reservation, cancel, bytes, sender } = incoming;
        let RequestSender { access, secrets, address, traceparent } = sender;
        let meta = message.extensions_mut().remove::<RequestMetaObject>().unwrap_or_default();
        let newest = stated_version(&meta).is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str());
        let (version, capabilities) = match self.session.negotiated() {
            _ if newest => (SpecVersion::NEWEST, Some(snapshot.capabilities)),
            Some(session) => (session.spec_version, Some(session.capabilities)),
            None => (SpecVersion::NEWEST_WITH_SESSIONS, None),
        };
        let (id_of_answer, session) = (id.clone(), self.session.clone());
        // What changes later does not matter to it.
        let (access, secrets) = (snapshot.catalog.access_of(access), snapshot.catalog.caller_secrets(secrets));
        session.set_access(&access);
        let redactor = request_redactor(snapshot.catalog.redactor(), &secrets);
        let method = Method::find(message.method());
        let recorder = self.recorder(method, &redactor);
        let trace = self.start_trace(method, &meta, &snapshot, traceparent.as_deref());
        let request = McpRequest {
            id,
            meta,
            cancel,
            reservation,
            access,
            secrets,
            redactor,
            snapshot,
            method,
            traits: traits.unwrap_or_default(),
            version,
            capabilities,
            session,
            address,
            bytes,
            trace,
            recorder,
            end_note: EndNote::default(),
        };
        let handler = self.clone();
        // An `async fn` would hold the request twice.
        let answering = Box::pin(async move { handler.answer(message, &request).await });
        let mut answer = AssertUnwindSafe(answering).catch_unwind();
        // What the task that reads may still do does not matter to the request.
        match if begins_now { unconstrained(&mut answer).now_or_never() } else { None } {
            Some(answer) => finish(answer_or_panic_error(id_of_answer, answer)),
            None => drop(tokio::spawn(async move { finish(answer_or_panic_error(id_of_answer, answer.await)) })),
        }
    }

    /// Answers a request without secrets, and counts the answer until it is delivered.
    async fn answer(&self, message: Box<ClientRequest>, request: &McpRequest) -> OutgoingMessage {
        let mut observed = self.observe(&message, request);
        if let Some(observed) = &mut observed
            && !observed.may_begin().await
        {
            return OutgoingMessage::unavailable(request.id.clone(), &error::not_recorded());
        }
        let outcome = match check_version(&message, request).and_then(|()| self.check_method(request)) {
            Ok(()) => self.answer_method(message, request).await,
            Err(refused) => Err(refused),
        };
        let outcome = outcome.map_err(|error| match error.code {
            ErrorCode::RESOURCE_NOT_FOUND if request.version.is_sessionless() => {
                ErrorData { code: ErrorCode::INVALID_PARAMS, ..error }
            }
            _ => error,
        });
        let is_unavailable = outcome.is_err() && request.end_note.is_unavailable();
        observed.iter_mut().for_each(|observed| observed.end(&outcome));
        let id = request.id.clone();
        let answer = match outcome {
            Ok(result) => OutgoingMessage::result(id, &result),
            Err(error) if is_unavailable => OutgoingMessage::unavailable(id, &error),
            Err(error) => OutgoingMessage::error(Some(id), &error),
        };
        let answer = if request.secrets.is_empty() { answer } else { answer.redact_with(&request.redactor) };
        let answer = answer.redact(self.shared_server.redactors());
        observed.iter_mut().for_each(|observed| observed.set_bytes_out(answer.bytes()));
        match request.reservation.try_resize(answer.bytes()) {
            Ok(()) => answer,
            Err(busy) => {
                let error = ErrorData::internal_error(busy.to_string(), None);
                OutgoingMessage::error(Some(request.id.clone()), &error)
            }
        }
    }

    /// Refuses a request whose session, scopes or declared capabilities do not allow its method.
    fn check_method(&self, request: &McpRequest) -> Result<(), ErrorData> {
        let Some(method) = request.method else { return Ok(()) };
        if method.needs_session() && !request.session.is_lasting && request.session.negotiated().is_some() {
            return Err(error::needs_session(method.name));
        }
        if method.is_about_entries() {
            // Over HTTP that is told by the status before.
            let checked = request.snapshot.catalog.check_scopes_of_every_request(&request.access);
            checked.map_err(error::refusal_error)?;
        }
        let (is_in_version, is_sessionless) = (method.is_in(request.version), request.version.is_sessionless());
        // What a session lacks it may not know, so it is told what is not declared.
        if let Some(kind) = method.capability.filter(|_| is_in_version || !is_sessionless) {
            let meta = &request.meta;
            if is_sessionless && meta.contains_key(LOG_LEVEL_META_KEY) && meta.log_level().is_none() {
                return Err(error::unknown_log_level());
            }
            let capabilities = request.capabilities.ok_or_else(error::not_initialized)?;
            let is_bridged = || kind == CapabilityKind::Tools && self.bridged_lists(request).any();
            if !capabilities.has(kind) && !is_bridged() {
                return Err(error::undeclared_capability(kind));
            }
        }
        if is_in_version { Ok(()) } else { Err(error::unknown_method(method.name)) }
    }

    /// The JSON of the result. What may wait is in a box: else the future of every request would be as large as the largest.
    async fn answer_method(&self, message: Box<ClientRequest>, request: &McpRequest) -> Result<Bytes, ErrorData> {
        use ClientRequest as R;
        let empty = |()| Bytes::from_static(b"{}");
        let acknowledged = |()| Bytes::from_static(b"{\"resultType\":\"complete\"}");
        let cursor = |params: &Option<PaginatedRequestParams>| params.as_ref().and_then(|params| params.cursor.clone());
        let list = |list, params: &Option<_>| list_pages::list(self, list, cursor(params).as_deref(), request);
        let answering: BoxFuture<'_, _> = match *message {
            R::InitializeRequest(message) => return session::initialize(self, message.params),
            R::DiscoverRequest(_) => return self.discover(request),
            R::PingRequest(_) => return Ok(empty(())),
            R::ListToolsRequest(message) => return list(List::Tools, &message.params),
            R::ListPromptsRequest(message) => return list(List::Prompts, &message.params),
            R::ListResourcesRequest(message) => return list(List::Resources, &message.params),
            R::ListResourceTemplatesRequest(message) => return list(List::ResourceTemplates, &message.params),
            R::ListSkillsRequest(message) => return list(List::Skills, &message.params),
            R::GetSkillRequest(message) => return skills::get(&message.params.uri, request),
            R::ReadResourceDirectoryRequest(message) => return skills::read_directory(&message.params, request),
            R::CallToolRequest(message) => tools::call(self, message.params, request),
            R::GetPromptRequest(message) => prompts::get(self, message.params, request),
            R::ReadResourceRequest(message) => resources::read(self, message.params, request),
            R::CompleteRequest(message) => Box::pin(completion::complete(self, message.params, request)),
            R::SetLevelRequest(message) => Box::pin(log_level::set_level(self, message.params, request).map_ok(empty)),
            R::SubscribeRequest(message) => {
                Box::pin(subscription::subscribe(self, message.params.uri, request).map_ok(empty))
            }
            R::UnsubscribeRequest(message) => {
                Box::pin(subscription::unsubscribe(self, message.params.uri, request).map_ok(empty))
            }
            R::SubscriptionsListenRequest(message) => {
                Box::pin(subscription::listen(self, message.params.notifications, request))
            }
            R::GetTaskRequest(message) => Box::pin(tasks::get(self, message.params, request)),
            R::UpdateTaskRequest(message) => {
                Box::pin(tasks::update(self, message.params, request).map_ok(acknowledged))
            }
            R::CancelTaskRequest(message) => {
                Box::pin(tasks::cancel(self, message.params, request).map_ok(acknowledged))
            }
            R::CustomRequest(message) => {
                return Err(match message.extensions.get::<InvalidParams>() {
                    Some(InvalidParams(complaint)) => ErrorData::invalid_params(complaint.clone(), None),
                    None => error::unknown_method(&message.method),
                });
            }
            other => return Err(error::unknown_method(other.method())),
        };
        answering.await
    }

    fn discover(&self, request: &McpRequest) -> Result<Bytes, ErrorData> {
        let served = &request.snapshot;
        let config = served.config_with(self.bridged_lists(request));
        let result = DiscoverResult::from_server_info(PROTOCOL_VERSIONS.to_vec(), config);
        let result = result.with_ttl_ms(served.ttl_ms).with_cache_scope(served.cache_scope);
        version_keys::to_json(ResultNotes::default(), &result, SpecVersion::NEWEST, &[])
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

/// What a call does, also through a tool that calls another; `None` for other requests.
fn call_traits(message: &ClientRequest, catalog: &Catalog) -> Option<CallTraits> {
    use ClientRequest as R;
    Some(match message {
        R::CallToolRequest(call) => {
            catalog.tool_traits(catalog.called_tool(&call.params.name, call.params.arguments.as_ref()))
        }
        R::GetPromptRequest(get) => catalog.prompt_traits(&get.params.name),
        R::ReadResourceRequest(read) => catalog.resource_traits(&read.params.uri),
        R::CompleteRequest(_) => CallTraits::default(),
        _ => return None,
    })
}

/// The answer, or an error where a panic ends its request: the connection and its other requests go on.
fn answer_or_panic_error(id: RequestId, answer: Result<OutgoingMessage, Box<dyn Any + Send>>) -> OutgoingMessage {
    answer.unwrap_or_else(|_| {
        let message = "the request ended with a panic, which is a bug in folio: its message is on standard error";
        OutgoingMessage::error(Some(id), &ErrorData::internal_error(message, None))
    })
}

/// Refuses a version that is not spoken, and a request of 2026-07-28 without all that it must bring (basic, `_meta`).
fn check_version(message: &ClientRequest, request: &McpRequest) -> Result<(), ErrorData> {
    if matches!(message, ClientRequest::InitializeRequest(_)) {
        return Ok(());
    }
    let is_known = |version: &str| PROTOCOL_VERSIONS.iter().any(|known| known.as_str() == version);
    if !stated_version(&request.meta).is_none_or(is_known)
        && let Some(version) = request.meta.protocol_version()
    {
        return Err(ErrorData::unsupported_protocol_version(version, PROTOCOL_VERSIONS));
    }
    if matches!(message, ClientRequest::DiscoverRequest(_)) || request.version.is_sessionless() {
        let missing = request.meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let message = format!("request _meta is missing or has malformed required fields: {missing}");
            return Err(ErrorData::invalid_params(message, None));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_answered_with_an_error() {
        let answer = answer_or_panic_error(RequestId::Number(7), Err(Box::new("broken")));
        let answer: serde_json::Value = serde_json::from_slice(&answer.json).unwrap();
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["error"]["code"], ErrorCode::INTERNAL_ERROR.0);
    }
}
