//! The params of requests, by method.

use rmcp::model::{
    ClientRequest, DiscoverRequestParams, Request, RequestMetaObject, RequestNoParam, RequestOptionalParam,
    RequestParamsMeta,
};
use serde::{Deserialize, de::DeserializeOwned};

/// A request of a method with such params; `None` where there is no such method, or they are not an object.
///
/// # Errors
/// The params are not those of the method.
pub(super) fn parse_typed_request(method: &str, params: Option<&str>) -> serde_json::Result<Option<ClientRequest>> {
    use ClientRequest as R;
    let Some(params) = params_object(params) else { return Ok(None) };
    Ok(Some(match method {
        "tools/call" => R::CallToolRequest(with_params(params)?),
        "prompts/get" => R::GetPromptRequest(with_params(params)?),
        "resources/read" => R::ReadResourceRequest(with_params(params)?),
        "tools/list" => R::ListToolsRequest(with_optional_params(params)?),
        "prompts/list" => R::ListPromptsRequest(with_optional_params(params)?),
        "resources/list" => R::ListResourcesRequest(with_optional_params(params)?),
        "resources/templates/list" => R::ListResourceTemplatesRequest(with_optional_params(params)?),
        "ping" => R::PingRequest(without_params(params)?),
        "completion/complete" => R::CompleteRequest(with_params(params)?),
        "resources/subscribe" => R::SubscribeRequest(with_params(params)?),
        "resources/unsubscribe" => R::UnsubscribeRequest(with_params(params)?),
        "subscriptions/listen" => R::SubscriptionsListenRequest(with_params(params)?),
        "initialize" => R::InitializeRequest(with_params(params)?),
        "logging/setLevel" => R::SetLevelRequest(with_params(params)?),
        "tasks/get" => R::GetTaskRequest(with_params(params)?),
        "tasks/update" => R::UpdateTaskRequest(with_params(params)?),
        "tasks/cancel" => R::CancelTaskRequest(with_params(params)?),
        "skills/get" => R::GetSkillRequest(with_params(params)?),
        "resources/directory/read" => R::ReadResourceDirectoryRequest(with_params(params)?),
        "skills/list" => R::ListSkillsRequest(with_optional_params(params)?),
        "server/discover" => {
            let mut request = Request::new(DiscoverRequestParams {});
            if let Some(meta) = serde_json::from_str::<ParamsMeta>(params)?.meta {
                request.extensions.insert(meta);
            }
            R::DiscoverRequest(request)
        }
        _ => return Ok(None),
    }))
}

/// Params as an object: MCP has no positional ones, but serde would accept an array as the fields of a struct.
pub(super) fn params_object(params: Option<&str>) -> Option<&str> {
    Some(params.unwrap_or("{}")).filter(|params| params.starts_with('{'))
}

fn with_params<M: Default, P: DeserializeOwned + RequestParamsMeta>(params: &str) -> serde_json::Result<Request<M, P>> {
    let mut params: P = serde_json::from_str(params)?;
    let meta = params.meta_mut().take();
    let mut request = Request::new(params);
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Ok(request)
}

fn with_optional_params<M: Default, P: DeserializeOwned + RequestParamsMeta>(
    params: &str,
) -> serde_json::Result<RequestOptionalParam<M, P>> {
    let mut params: P = serde_json::from_str(params)?;
    let meta = params.meta_mut().take();
    let mut request = RequestOptionalParam::with_param(params);
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Ok(request)
}

#[derive(Deserialize)]
struct ParamsMeta {
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMetaObject>,
}

fn without_params<M: Default>(params: &str) -> serde_json::Result<RequestNoParam<M>> {
    let mut request = RequestNoParam::default();
    if let Some(meta) = serde_json::from_str::<ParamsMeta>(params)?.meta {
        request.extensions.insert(meta);
    }
    Ok(request)
}
