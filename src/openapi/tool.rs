//! A tool of folio, from an operation.

use serde_json::{Map, Value};

use super::description_text;
use super::document::{ApiDocument, object};
use super::operation::{Operation, Success};
use super::pagination::find_pagination;
use super::request::RequestBuilder;
use super::schema::{Direction, Translator, prune_definitions};
use super::schema_repair::is_satisfiable;
use crate::diagnostic::Code;

/// How large an `outputSchema` may be, as JSON: every client is sent all of them.
const MAX_OUTPUT_SCHEMA_BYTES: usize = 8 << 10;

/// The keys of a tool, in the order in which they are written. `None` where the operation cannot be called.
pub(super) fn build_tool<'d>(operation: &Operation<'d>, connection: &str, document: &'d ApiDocument) -> Option<Value> {
    let success = operation.success(document);
    let pagination = success.as_ref().and_then(|success| find_pagination(operation, success, document));
    let mut request = RequestBuilder::new(document);
    request.set_page_parameter(pagination.as_ref().and_then(|pages| pages.get("page")?.as_str().map(str::to_owned)));
    request.add_operation(operation)?;
    let (arguments, translator) = (std::mem::take(&mut request.arguments), &mut request.translator);
    if translator.is_truncated {
        document.warn(
            operation.node,
            Code::TooLarge,
            "a schema nests too deeply or is too large: the rest of it may be anything",
        );
    }
    let definitions = std::mem::take(&mut translator.definitions);
    let mut tool = Map::new();
    tool.insert("description".to_owned(), description(operation, &request.limitations).into());
    tool.extend(annotations(operation.method).map(|hints| ("annotations".to_owned(), hints)));
    tool.extend(arguments.into_key(definitions, document).map(|(key, value)| (key.to_owned(), value)));
    let mut http = Map::new();
    http.insert("use".to_owned(), connection.into());
    http.extend(request.into_keys(operation.method));
    let has_pages = pagination.is_some();
    http.extend(pagination.map(|pages| ("paginate".to_owned(), pages)));
    tool.insert("run".to_owned(), object([("http", Value::Object(http))]));
    // The pages of an answer, put together, are another value than any one of them.
    let output = success.filter(|_| !has_pages).and_then(|success| output_schema(&success, operation, document));
    tool.extend(output.map(|schema| ("outputSchema".to_owned(), schema)));
    Some(Value::Object(tool))
}

/// What a tool does, and what of the operation it cannot do.
fn description(operation: &Operation<'_>, limitations: &[String]) -> String {
    let text = description_text::summarize(operation.summary, operation.description);
    let mut text = match text.is_empty() {
        true => description_text::plain_line(&format!("{} {}", operation.method, operation.path)),
        false => text,
    };
    for limit in limitations {
        text.push_str(if text.ends_with(['.', '!', '?', '…']) { " " } else { ". " });
        text.push_str(limit);
    }
    description_text::as_template(&text)
}

fn annotations(method: &str) -> Option<Value> {
    Some(match method {
        "GET" | "HEAD" => object([("readOnlyHint", true.into())]),
        "PUT" => object([("idempotentHint", true.into())]),
        "DELETE" => object([("destructiveHint", true.into()), ("idempotentHint", true.into())]),
        _ => return None,
    })
}

/// What a tool gives, where that is an object, small, and free of contradictions.
fn output_schema<'d>(success: &Success<'d>, operation: &Operation<'d>, document: &'d ApiDocument) -> Option<Value> {
    let mut translator = Translator::new(document, Direction::Output);
    let translated = translator.translate(success.schema?);
    let Value::Object(mut schema) = translator.resolve_definition(&translated) else { return None };
    if translator.is_truncated || schema.get("type").is_none_or(|kind| kind != "object") || schema.len() == 1 {
        return None;
    }
    if !translator.definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(translator.definitions));
    }
    let mut schema = Value::Object(schema);
    prune_definitions(&mut schema);
    if schema.to_string().len() > MAX_OUTPUT_SCHEMA_BYTES {
        return None;
    }
    if !is_satisfiable(&schema) {
        document.warn(operation.node, Code::Schema, "contradictory response schema: the tool has no `outputSchema`");
        return None;
    }
    Some(schema)
}
