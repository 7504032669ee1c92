//! Compares the headers of a request of 2026-07-28 with its message: what is on the way routes by them without reading the
//! body (basic/transports, "Standard headers").

use axum::http::HeaderMap;
use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::model::{ClientRequest, JsonObject};
use serde_json::Value;

use crate::server::request_subject;

/// Refuses headers that lack, are doubled, or say something else than the message. `tool_schema` is the input schema of a
/// tool with arguments that have headers.
pub(super) fn check_request(
    headers: &HeaderMap,
    request: &ClientRequest,
    tool_schema: impl Fn(&str) -> Option<std::sync::Arc<JsonObject>>,
) -> Result<(), String> {
    check_method(headers, request.method())?;
    if let Some(name) = name_of(request) {
        let header = sole_value(headers, "Mcp-Name")?;
        let header = header.ok_or_else(|| format!("missing required Mcp-Name header for `{}`", request.method()))?;
        let header = decode(header).ok_or("Mcp-Name header is not valid Base64")?;
        if header != name {
            return Err(format!("Mcp-Name header `{header}` does not match body value `{name}`"));
        }
    }
    match request {
        ClientRequest::CallToolRequest(call) => match tool_schema(&call.params.name) {
            Some(schema) => check_arguments(headers, &schema, call.params.arguments.as_ref()),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses a header `Mcp-Method` that lacks, is doubled, or names another method.
pub(super) fn check_method(headers: &HeaderMap, method: &str) -> Result<(), String> {
    match sole_value(headers, "Mcp-Method")? {
        None => Err("missing required Mcp-Method header".to_owned()),
        Some(value) if value != method => {
            Err(format!("Mcp-Method header `{value}` does not match body method `{method}`"))
        }
        Some(_) => Ok(()),
    }
}

/// What a header must name too, also where the other parameters are not those of the method.
fn name_of(request: &ClientRequest) -> Option<&str> {
    let key = match request.method() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    match request {
        ClientRequest::CustomRequest(custom) => custom.params.as_ref()?.get(key)?.as_str(),
        _ => request_subject(request).map(|(_, name)| name),
    }
}

/// Compares `Mcp-Param-*` with the arguments that the schema says have one.
fn check_arguments(headers: &HeaderMap, schema: &JsonObject, arguments: Option<&JsonObject>) -> Result<(), String> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    check_properties(headers, properties, arguments, &mut Vec::new())
}

fn check_properties<'s>(
    headers: &HeaderMap,
    properties: &'s JsonObject,
    values: Option<&JsonObject>,
    path: &mut Vec<&'s str>,
) -> Result<(), String> {
    for (name, schema) in properties {
        let value = values.and_then(|values| values.get(name));
        path.push(name);
        if let Some(Value::String(header)) = schema.get("x-mcp-header").filter(|header| *header != "") {
            check_argument(headers, header, value, &path.join("."))?;
        }
        if let Some(Value::Object(nested)) = schema.get("properties") {
            check_properties(headers, nested, value.and_then(Value::as_object), path)?;
        }
        path.pop();
    }
    Ok(())
}

fn check_argument(headers: &HeaderMap, header: &str, value: Option<&Value>, path: &str) -> Result<(), String> {
    let header = format!("Mcp-Param-{header}");
    let expected = match value {
        Some(Value::String(text)) => Some(text.clone()),
        Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Some(scalar.to_string()),
        _ => None,
    };
    match (sole_value(headers, &header)?, expected) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(format!("unexpected {header} header for absent or null `{path}`")),
        (None, Some(_)) => Err(format!("missing {header} header for `{path}`")),
        (Some(value), Some(expected)) => {
            let value = decode(value).ok_or_else(|| format!("{header} header is not valid Base64"))?;
            if value == expected {
                return Ok(());
            }
            Err(format!("{header} header `{value}` does not match body value `{expected}`"))
        }
    }
}

/// The one value of a header: of two, others on the way could take the other.
fn sole_value<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("duplicate {name} header"));
    }
    value.to_str().map(Some).map_err(|_| format!("{name} header contains invalid characters"))
}

/// A value that is not plain ASCII comes in Base64.
fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|inner| inner.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
