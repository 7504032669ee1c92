//! The params of requests, by method.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use rmcp::model::{
    ClientCapabilities, ClientRequest, DiscoverRequestParams, Extensions, Request, RequestMetaObject, RequestNoParam,
    RequestOptionalParam, RequestParamsMeta,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use serde_path_to_error::{Path, Segment};

use crate::{budget::serialized_size, diagnostic::truncate, server::InvalidParams};

use super::length_limits::MAX_INITIALIZE_BYTES;

/// How often params are parsed again to read a value as the empty object that it stands for: of any length, and of few
/// bytes.
const MIN_REPARSES: usize = 4;
const MAX_REPARSES: usize = 32;
/// How many bytes are parsed for that.
const MAX_REPARSED_BYTES: usize = 512 * 1024;

/// How much is said of where something is wrong, and of what is.
const MAX_PATH_CHARS: usize = 128;
const MAX_REASON_CHARS: usize = 128;

/// The `_meta` key of what the client of a request of 2026-07-28 can do.
const CLIENT_CAPABILITIES_META_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

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
    serde_json::from_str(params).or_else(|_| parse_with_empty_objects(Cow::Borrowed(params)))
}

/// Reads params in which values may stand for empty objects. They are copied where one does.
fn parse_with_empty_objects<P: DeserializeOwned>(mut params: Cow<'_, str>) -> Result<P, InvalidParams> {
    let mut reparses = (MAX_REPARSED_BYTES / params.len()).clamp(MIN_REPARSES, MAX_REPARSES);
    let mut replaced: Option<(String, InvalidParams)> = None;
    loop {
        let error = match serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(&params)) {
            Ok(parsed) => return Ok(parsed),
            Err(error) => error,
        };
        let (path, invalid) = (error.path().to_string(), invalid_params(&error));
        // No object was due where one was put.
        if let Some((_, invalid)) = replaced.take().filter(|(before, _)| *before == path) {
            return Err(invalid);
        }
        let empty = empty_value_at(&params, error.path()).filter(|_| reparses > 0);
        let Some(empty) = empty else { return Err(invalid) };
        params.to_mut().replace_range(empty, "{}");
        replaced = Some((path, invalid));
        reparses -= 1;
    }
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

/// What is wrong, and where: in the words of JSON, without the names of types, and without the client's strings.
fn invalid_params(error: &serde_path_to_error::Error<serde_json::Error>) -> InvalidParams {
    let (path, message) = (error.path().to_string(), error.inner().to_string());
    // As in: invalid type: string "x", expected struct Y at line 1 column 2.
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    let split = message.rsplit_once(", expected ");
    let (found, expected) = split.map_or((message, None), |(found, expected)| (found, Some(expected)));
    let found = [" of untagged enum ", " \""].iter().fold(found, |found, end| found.split(end).next().unwrap_or(found));
    let found = match found {
        "invalid type: map" => "invalid type: object",
        _ if found == "invalid type: sequence" || found.starts_with("invalid length ") => "invalid type: array",
        _ => found,
    };
    let is_object =
        |expected: &str| ["a map", "struct ", "internally tagged enum "].iter().any(|kind| expected.starts_with(kind));
    let expected = expected.map(|expected| if is_object(expected) { "an object" } else { expected });
    let expected = expected.map(|expected| format!(", expected {expected}")).unwrap_or_default();
    let place = if path == "." { String::new() } else { format!("`{}`: ", truncate(&path, MAX_PATH_CHARS)) };
    let reason = format!("{found}{expected}");
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

/// Keeps the metadata of a request. The capabilities in it have no type before they are used; those with empty lists may
/// be as long as those of `initialize`.
pub(super) fn keep_meta(meta: Option<RequestMetaObject>, extensions: &mut Extensions) {
    let Some(mut meta) = meta else { return };
    let capabilities = meta.get_mut(CLIENT_CAPABILITIES_META_KEY);
    let is_short = |written: &Value| serialized_size(written) <= MAX_INITIALIZE_BYTES as u64;
    if let Some(capabilities) = capabilities.filter(|written| has_empty(written) && is_short(written)) {
        // Those that cannot be read are as good as null, and refused.
        let params = format!(r#"{{"capabilities":{}}}"#, std::mem::take(capabilities));
        if let Ok(ParamsCapabilities { capabilities: read }) = parse_params(Some(&params)) {
            *capabilities = serde_json::to_value(read).unwrap_or_default();
        }
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
        let capabilities = meta.and_then(|meta| meta.get(CLIENT_CAPABILITIES_META_KEY).cloned());
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
        assert!(read("initialize", &initialize_with_nulls(MAX_REPARSES)).is_ok());
        let too_many = initialize_with_nulls(MAX_REPARSES + 1);
        for (method, written, expected) in [
            ("tools/list", "[1]", "`params` must be an object"),
            ("tools/call", r#"{"name":null}"#, "invalid params: `name`: invalid type: null, expected a string"),
            (
                "tools/call",
                r#"{"name":"n","arguments":[1]}"#,
                "invalid params: `arguments`: invalid type: array, expected an object",
            ),
            (
                "tools/call",
                r#"{"name":"n","arguments":"x at line 3, expected \"y"}"#,
                "invalid params: `arguments`: invalid type: string, expected an object",
            ),
            ("tools/call", r#"{"name":"a","arguments":[],"name":"b"}"#, "invalid params: duplicate field `name`"),
            (
                "completion/complete",
                r#"{"ref":"x","argument":{"name":"a","value":""}}"#,
                "invalid params: `ref`: invalid type: string, expected an object",
            ),
            (
                "initialize",
                &too_many,
                "invalid params: `capabilities.experimental.x32`: invalid type: null, expected an object",
            ),
        ] {
            assert_eq!(read(method, written).unwrap_err(), expected, "{written}");
        }
    }
}
