//! The params of requests, by method.

use std::{collections::HashMap, ops::Range};

use rmcp::model::{
    ClientCapabilities, ClientRequest, DiscoverRequestParams, Extensions, Request, RequestMetaObject, RequestNoParam,
    RequestOptionalParam, RequestParamsMeta,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use serde_path_to_error::{Path, Segment};

use crate::{diagnostic::truncate, server::InvalidParams};

/// How many values of a message are read as the empty objects that they stand for, each by another parse: in a message of
/// any length, and in a short one; and how many bytes are parsed for that.
const MIN_EMPTY_VALUES: usize = 4;
const MAX_EMPTY_VALUES: usize = 32;
const MAX_REPARSED_BYTES: usize = 512 * 1024;

/// How much is said of where something is wrong, and of what is.
const MAX_PATH_CHARS: usize = 128;
const MAX_REASON_CHARS: usize = 128;

/// A request of a method with such params; `None` where there is no such method.
///
/// # Errors
/// The params are not those of the method.
pub(super) fn parse_typed_request(method: &str, params: Option<&str>) -> Result<Option<ClientRequest>, InvalidParams> {
    use ClientRequest as R;
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
            keep_meta(parse_params::<ParamsMeta>(params)?.meta, &mut request.extensions);
            R::DiscoverRequest(request)
        }
        _ => return Ok(None),
    }))
}

/// Whether JSON is `[]`, as PHP writes an object without members.
pub(super) fn is_empty_list(json: &str) -> bool {
    let inside = json.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// Reads params. Where an object is due, `[]` is one without members, and so is null where it is required.
///
/// # Errors
/// They are of another type.
pub(super) fn parse_params<P: DeserializeOwned>(params: Option<&str>) -> Result<P, InvalidParams> {
    let params = params.unwrap_or("{}");
    // MCP has no positional ones, but serde would accept an array as the fields of a struct.
    if !params.starts_with('{') {
        return Err(InvalidParams("`params` must be an object".to_owned()));
    }
    if let Ok(parsed) = serde_json::from_str(params) {
        return Ok(parsed);
    }
    let mut params = params.to_owned();
    let mut replaced = (String::new(), InvalidParams("invalid params".to_owned()));
    let rounds = (MAX_REPARSED_BYTES / params.len()).clamp(MIN_EMPTY_VALUES, MAX_EMPTY_VALUES);
    for _ in 0..=rounds {
        let error = match serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(&params)) {
            Ok(parsed) => return Ok(parsed),
            Err(error) => error,
        };
        let (path, invalid) = (error.path().to_string(), invalid_params(&error));
        match empty_value_at(&params, error.path()) {
            // No object was due.
            _ if replaced.0 == path => return Err(replaced.1),
            None => return Err(invalid),
            Some(empty) => params.replace_range(empty, "{}"),
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

/// What is wrong, and where: without the names of types, which say nothing to a client, and without its texts.
fn invalid_params(error: &serde_path_to_error::Error<serde_json::Error>) -> InvalidParams {
    let (path, message) = (error.path().to_string(), error.inner().to_string());
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    let (found, expected) = message.rsplit_once(", expected ").map_or((message, None), |(f, e)| (f, Some(e)));
    let found = [" of untagged enum ", " \""].iter().fold(found, |found, end| found.split(end).next().unwrap_or(found));
    let is_type = |expected: &&str| expected.starts_with("struct ") || expected.contains("enum ");
    let expected = expected.filter(|expected| !is_type(expected)).map(|expected| format!(", expected {expected}"));
    let place = if path == "." { String::new() } else { format!("`{}`: ", truncate(&path, MAX_PATH_CHARS)) };
    let reason = format!("{found}{}", expected.unwrap_or_default());
    InvalidParams(format!("invalid params: {place}{}", truncate(&reason, MAX_REASON_CHARS)))
}

fn with_params<M: Default, P: DeserializeOwned + RequestParamsMeta>(
    params: Option<&str>,
) -> Result<Request<M, P>, InvalidParams> {
    let mut params: P = parse_params(params)?;
    let meta = params.meta_mut().take();
    let mut request = Request::new(params);
    keep_meta(meta, &mut request.extensions);
    Ok(request)
}

fn with_optional_params<M: Default, P: DeserializeOwned + RequestParamsMeta>(
    params: Option<&str>,
) -> Result<RequestOptionalParam<M, P>, InvalidParams> {
    let mut params: P = parse_params(params)?;
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

fn without_params<M: Default>(params: Option<&str>) -> Result<RequestNoParam<M>, InvalidParams> {
    let mut request = RequestNoParam::default();
    keep_meta(parse_params::<ParamsMeta>(params)?.meta, &mut request.extensions);
    Ok(request)
}

/// Keeps the metadata of a request. The capabilities in it have no type before they are used.
pub(super) fn keep_meta(meta: Option<RequestMetaObject>, extensions: &mut Extensions) {
    let Some(mut meta) = meta else { return };
    if let Some(capabilities) =
        meta.get_mut("io.modelcontextprotocol/clientCapabilities").filter(|written| has_empty(written))
        && let Ok(ParamsCapabilities { capabilities: read }) =
            parse_params(Some(&json!({ "capabilities": capabilities }).to_string()))
    {
        *capabilities = serde_json::to_value(read).unwrap_or_default();
    }
    extensions.insert(meta);
}

/// Params that hold capabilities, as in `initialize`.
#[derive(Deserialize)]
struct ParamsCapabilities {
    capabilities: ClientCapabilities,
}

/// Whether there is anything that may stand for an empty object.
fn has_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().any(has_empty),
        _ => false,
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
            ("tools/list", "{}", json!({})),
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

    fn initialize_with_nulls(count: usize) -> String {
        let nulls: Vec<String> = (0..count).map(|number| format!(r#""x{number}":null"#)).collect();
        format!(
            r#"{{"protocolVersion":"2025-06-18","clientInfo":{{"name":"c","version":"1"}},"capabilities":{{"experimental":{{{}}}}}}}"#,
            nulls.join(",")
        )
    }

    #[test]
    fn what_is_wrong_is_said_of_the_params_as_they_came() {
        assert!(read("initialize", &initialize_with_nulls(MAX_EMPTY_VALUES)).is_ok());
        let too_many = initialize_with_nulls(MAX_EMPTY_VALUES + 1);
        for (method, written, expected) in [
            ("tools/list", "[1]", "`params` must be an object"),
            ("tools/call", r#"{"name":null}"#, "invalid params: `name`: invalid type: null, expected a string"),
            (
                "tools/call",
                r#"{"name":"n","arguments":[1]}"#,
                "invalid params: `arguments`: invalid type: sequence, expected a map",
            ),
            (
                "tools/call",
                r#"{"name":"n","arguments":"x at line 3, expected \"y"}"#,
                "invalid params: `arguments`: invalid type: string, expected a map",
            ),
            ("tools/call", r#"{"name":"a","arguments":[],"name":"b"}"#, "invalid params: duplicate field `name`"),
            (
                "completion/complete",
                r#"{"ref":"x","argument":{"name":"a","value":""}}"#,
                "invalid params: `ref`: invalid type: string",
            ),
            (
                "initialize",
                &too_many,
                "invalid params: `capabilities.experimental.x32`: invalid type: null, expected a map",
            ),
        ] {
            assert_eq!(read(method, written).unwrap_err(), expected, "{written}");
        }
    }
}
