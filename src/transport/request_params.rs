//! The params of requests, by method.

use std::{collections::HashMap, ops::Range};

use rmcp::model::{
    ClientRequest, DiscoverRequestParams, Extensions, Request, RequestMetaObject, RequestNoParam, RequestOptionalParam,
    RequestParamsMeta,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};
use serde_path_to_error::{Path, Segment};

use crate::{
    diagnostic::truncate,
    server::{InvalidParams, Method},
};

/// How many values of a message are read as the empty object that they stand for. Each takes another parse.
const MAX_EMPTY_VALUES: usize = 8;

/// How much of a complaint is said.
const MAX_COMPLAINT_CHARS: usize = 256;

/// A request of a method with such params; `None` where there is no such method.
///
/// # Errors
/// The params are not those of the method.
pub(super) fn parse_typed_request(method: &str, params: Option<&str>) -> Result<Option<ClientRequest>, InvalidParams> {
    use ClientRequest as R;
    let Some(params) = params_object(params) else {
        return Method::find(method).map_or(Ok(None), |_| Err(InvalidParams("`params` must be an object".to_owned())));
    };
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
            keep_meta(parse::<ParamsMeta>(params)?.meta, &mut request.extensions);
            R::DiscoverRequest(request)
        }
        _ => return Ok(None),
    }))
}

/// Params as an object: MCP has no positional ones, but serde would accept an array as the fields of a struct.
pub(super) fn params_object(params: Option<&str>) -> Option<&str> {
    let params = params.filter(|params| !is_empty_list(params)).unwrap_or("{}");
    params.starts_with('{').then_some(params)
}

/// Whether JSON is `[]`, as PHP writes an object without members.
pub(super) fn is_empty_list(json: &str) -> bool {
    let inside = json.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// Reads JSON. Where an object is due, `[]` is one without members, and so is null where it is required.
fn parse<P: DeserializeOwned>(json: &str) -> Result<P, InvalidParams> {
    if let Ok(parsed) = serde_json::from_str(json) {
        return Ok(parsed);
    }
    let mut json = json.to_owned();
    let mut replaced = (String::new(), InvalidParams("invalid params".to_owned()));
    for _ in 0..MAX_EMPTY_VALUES {
        let error = match serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(&json)) {
            Ok(parsed) => return Ok(parsed),
            Err(error) => error,
        };
        let (path, invalid) = (error.path().to_string(), invalid_params(&error));
        match empty_value_at(&json, error.path()) {
            // No object was due.
            _ if replaced.0 == path => return Err(replaced.1),
            None => return Err(invalid),
            Some(empty) => json.replace_range(empty, "{}"),
        }
        replaced = (path, invalid);
    }
    Err(replaced.1)
}

/// Where a value stands that may mean an empty object.
fn empty_value_at(json: &str, path: &Path) -> Option<Range<usize>> {
    let mut value = json;
    for segment in path {
        let Segment::Map { key } = segment else { return None };
        let members: HashMap<String, &RawValue> = serde_json::from_str(value).ok()?;
        value = members.get(key)?.get();
    }
    let start = value.as_ptr() as usize - json.as_ptr() as usize;
    (value == "null" || is_empty_list(value)).then(|| start..start + value.len())
}

/// What is wrong, and where; without the names of types, which say nothing to a client.
fn invalid_params(error: &serde_path_to_error::Error<serde_json::Error>) -> InvalidParams {
    let (path, reason) = (error.path().to_string(), error.inner().to_string());
    let ends = [" at line ", ", expected struct ", " of untagged enum "];
    let shown = |reason, end| str::split_once(reason, end).map_or(reason, |(before, _)| before);
    let reason = ends.into_iter().fold(reason.as_str(), shown);
    let place = if path == "." { String::new() } else { format!("`{path}`: ") };
    InvalidParams(truncate(&format!("invalid params: {place}{reason}"), MAX_COMPLAINT_CHARS).into_owned())
}

fn with_params<M: Default, P: DeserializeOwned + RequestParamsMeta>(
    params: &str,
) -> Result<Request<M, P>, InvalidParams> {
    let mut params: P = parse(params)?;
    let meta = params.meta_mut().take();
    let mut request = Request::new(params);
    keep_meta(meta, &mut request.extensions);
    Ok(request)
}

fn with_optional_params<M: Default, P: DeserializeOwned + RequestParamsMeta>(
    params: &str,
) -> Result<RequestOptionalParam<M, P>, InvalidParams> {
    let mut params: P = parse(params)?;
    let meta = params.meta_mut().take();
    let mut request = RequestOptionalParam::with_param(params);
    keep_meta(meta, &mut request.extensions);
    Ok(request)
}

#[derive(Deserialize)]
struct ParamsMeta {
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMetaObject>,
}

fn without_params<M: Default>(params: &str) -> Result<RequestNoParam<M>, InvalidParams> {
    let mut request = RequestNoParam::default();
    keep_meta(parse::<ParamsMeta>(params)?.meta, &mut request.extensions);
    Ok(request)
}

/// Keeps the metadata of a request. The capabilities in it have no type before they are used.
fn keep_meta(meta: Option<RequestMetaObject>, extensions: &mut Extensions) {
    let Some(mut meta) = meta else { return };
    match meta.get_mut("io.modelcontextprotocol/clientCapabilities") {
        Some(capabilities @ Value::Null) => *capabilities = Value::Object(Map::new()),
        Some(capabilities) => read_empty_lists(capabilities),
        None => {}
    }
    extensions.insert(meta);
}

/// Makes objects of the empty lists in a value that has no other lists.
fn read_empty_lists(value: &mut Value) {
    match value {
        Value::Array(items) if items.is_empty() => *value = Value::Object(Map::new()),
        Value::Object(members) => members.values_mut().for_each(read_empty_lists),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::GetExtensions as _;
    use serde_json::json;

    use super::*;

    /// The params as they are read, as JSON, and the client's capabilities in their metadata.
    fn read(method: &str, params: &str) -> Result<(Value, Option<Value>), String> {
        let mut request = parse_typed_request(method, Some(params)).map_err(|InvalidParams(complaint)| complaint)?;
        let request = request.as_mut().unwrap();
        let meta = request.extensions_mut().remove::<RequestMetaObject>();
        let capabilities = meta.and_then(|meta| meta.get("io.modelcontextprotocol/clientCapabilities").cloned());
        let params = serde_json::to_value(request).unwrap().get("params").cloned().unwrap_or_default();
        Ok((params, capabilities))
    }

    #[test]
    fn empty_list_or_null_is_an_object_where_one_is_due() {
        for (method, written, expected) in [
            ("tools/list", "[ ]", json!({})),
            ("tools/call", r#"{"name":"[]","arguments":[ ]}"#, json!({ "name": "[]", "arguments": {} })),
            (
                "tools/call",
                r#"{"name":"n","arguments":{"a":[],"b":null}}"#,
                json!({ "name": "n", "arguments": { "a": [], "b": null } }),
            ),
            ("tools/call", r#"{"name":"n","arguments":null}"#, json!({ "name": "n" })),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":[]}}"#,
                json!({
                    "ref": { "type": "ref/prompt", "name": "p" },
                    "argument": { "name": "a", "value": "" },
                    "context": { "arguments": {} },
                }),
            ),
            (
                "initialize",
                r#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{"roots":[],"sampling":null,"elicitation":{"form":[]},"experimental":{"x":null}}}"#,
                json!({
                    "protocolVersion": "2025-06-18",
                    "clientInfo": { "name": "c", "version": "1" },
                    "capabilities": { "roots": {}, "elicitation": { "form": {} }, "experimental": { "x": {} } },
                }),
            ),
        ] {
            assert_eq!(read(method, written).unwrap().0, expected, "{written}");
        }
        for (written, expected) in [("[]", json!({})), ("null", json!({})), (r#"{"roots":[]}"#, json!({ "roots": {} }))]
        {
            let params = format!(r#"{{"_meta":{{"io.modelcontextprotocol/clientCapabilities":{written}}}}}"#);
            assert_eq!(read("ping", &params).unwrap().1, Some(expected), "{written}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_of_the_params_as_they_came() {
        let many = (0..=MAX_EMPTY_VALUES).map(|number| format!(r#""x{number}":null"#)).collect::<Vec<_>>().join(",");
        let many = format!(
            r#"{{"protocolVersion":"2025-06-18","clientInfo":{{"name":"c","version":"1"}},"capabilities":{{"experimental":{{{many}}}}}}}"#
        );
        for (method, written, expected) in [
            ("tools/list", "[1]", "`params` must be an object"),
            ("tools/call", r#"{"name":null}"#, "invalid params: `name`: invalid type: null, expected a string"),
            (
                "tools/call",
                r#"{"name":"n","arguments":[1]}"#,
                "invalid params: `arguments`: invalid type: sequence, expected a map",
            ),
            ("tools/call", r#"{"name":"a","arguments":[],"name":"b"}"#, "invalid params: duplicate field `name`"),
            ("initialize", &many, "invalid params: `capabilities.experimental.x7`: invalid type: null, expected a map"),
        ] {
            assert_eq!(read(method, written).unwrap_err(), expected, "{written}");
        }
    }
}
