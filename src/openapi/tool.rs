//! A tool of folio, from an operation.

use serde_json::{Map, Value};

use super::authentication::RequestCredentials;
use super::base_url::BaseUrl;
use super::description_text;
use super::document::{ApiDocument, object};
use super::operation::Operation;
use super::pagination::find_pagination;
use super::request::RequestBuilder;
use super::schema::MIN_NESTING;
use crate::diagnostic::Code;

/// How large the arguments of a tool may be, as JSON: from 5,000 tokens on, `check --clients` warns of one.
const MAX_ARGUMENTS_BYTES: usize = 20_000;
/// How deeply schemas are nested at most; what is deeper is its type alone.
const MAX_NESTING: usize = 10;

/// The keys of a tool, in the order in which they are written. `None` where the operation cannot be called.
///
/// A tool that is too large is cut where it nests deeply, each by its own size alone.
pub(super) fn build_tool<'d>(
    operation: &Operation<'d>,
    base: &BaseUrl,
    connection: &str,
    credentials: &RequestCredentials<'_>,
    document: &'d ApiDocument,
) -> Option<Value> {
    let success = operation.success(document);
    let pagination = success.as_ref().and_then(|success| find_pagination(operation, success, document));
    let page_parameter = pagination.as_ref().and_then(|pages| pages.get("page")?.as_str());
    let mut max_nesting = MAX_NESTING;
    let (request, arguments) = loop {
        let mut request = RequestBuilder::new(document, max_nesting, page_parameter);
        request.add_operation(operation, credentials)?;
        request.add_base_query(base, operation);
        let arguments = std::mem::take(&mut request.arguments);
        let is_small = !request.schemas.is_too_large() && arguments.bytes() <= MAX_ARGUMENTS_BYTES;
        if max_nesting == MIN_NESTING || is_small {
            break (request, arguments);
        }
        // A limit that nothing reached would cut nothing.
        max_nesting = request.schemas.deepest.min(max_nesting).saturating_sub(1).max(MIN_NESTING);
    };
    if request.schemas.is_cut {
        let words = "a schema nests too deeply or is too large: the rest of it may be anything";
        document.warn(operation.node, Code::TooLarge, words);
    }
    let mut tool = Map::new();
    tool.insert("description".to_owned(), description(operation, &request.limitations).into());
    tool.extend(annotations(operation.method).map(|hints| ("annotations".to_owned(), hints)));
    tool.extend(arguments.into_key(document).map(|(key, value)| (key.to_owned(), value)));
    let mut http = Map::new();
    http.insert("use".to_owned(), connection.into());
    http.extend(request.into_keys(operation.method));
    http.extend(pagination.map(|pages| ("paginate".to_owned(), pages)));
    tool.insert("run".to_owned(), object([("http", Value::Object(http))]));
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
