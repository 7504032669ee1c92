//! Pages, where a description shows how the next one is got.

use serde_json::Value;

use super::document::{ApiDocument, ApiNode, object};
use super::operation::{Operation, Success};
use super::parameter::{Parameter, ParameterLocation};

/// How many pages one call gets: enough to find something, and not a whole database.
const MAX_PAGES: u64 = 3;

/// Query parameters that count pages, or items, and those that say how long one is: only together they mean pages.
const PAGE_PARAMETERS: &[&str] = &["page", "page_number", "pageNumber"];
const OFFSET_PARAMETERS: &[&str] = &["offset", "skip"];
const SIZE_PARAMETERS: &[&str] = &["per_page", "perPage", "page_size", "pageSize", "limit", "size", "count"];

/// Fields of an answer that hold the next cursor, and the query parameters that take it.
const CURSORS: &[(&str, &[&str])] = &[
    ("next_cursor", &["cursor"]),
    ("nextCursor", &["cursor"]),
    ("next_page_token", &["page_token", "pageToken"]),
    ("nextPageToken", &["pageToken", "page_token"]),
];

/// Objects of an answer in which the next cursor may stand.
const CURSOR_PARENTS: &[&str] = &["meta", "metadata", "pagination", "response_metadata", "paging"];

/// Objects of an answer that say where in the list it is, in lower case and without underscores.
const ENVELOPES: &[&str] = &["meta", "metadata", "pagination", "responsemetadata", "paging", "links"];

/// How further pages of a read are got. `None` where the description does not show it.
pub(super) fn find_pagination<'d>(
    operation: &Operation<'d>,
    success: &Success<'d>,
    document: &'d ApiDocument,
) -> Option<Value> {
    if operation.method != "GET" {
        return None;
    }
    let answer = success.schema.and_then(|schema| document.resolve(schema));
    let parameters = operation.parameters(document);
    let query: Vec<&str> =
        parameters.iter().filter(|known| known.location == ParameterLocation::Query).map(|known| known.name).collect();
    // Without a list in it, an answer is no page, whatever it links to.
    let items = answer.and_then(|answer| item_list(answer, document))?;
    let answer = answer?;
    // One thing, by its name, may hold a list and is no page of anything.
    if !items.is_empty() && operation.path.ends_with('}') {
        return None;
    }
    if success.has_link_header {
        return Some(pages([("next", "link")], Some(items).filter(|items| !items.is_empty())));
    }
    if let Some((cursor, parameter)) = cursor_of(answer, &query, document) {
        return Some(pages([("cursor", cursor.as_str()), ("parameter", parameter)], Some(items)));
    }
    let in_query = |names: &[&str]| {
        parameters.iter().find(|known| known.location == ParameterLocation::Query && names.contains(&known.name))
    };
    let size = in_query(SIZE_PARAMETERS)?;
    let items = Some(items).filter(|items| !items.is_empty());
    // A page that is named by a text may be anything.
    let is_number = |known: &&Parameter<'_>| {
        let schema = known.schema.and_then(|schema| document.resolve(schema));
        schema.is_none_or(|schema| schema.text("type") != Some("string"))
    };
    let (counter, step) = match in_query(PAGE_PARAMETERS).filter(is_number) {
        Some(page) => (page, None),
        // Items are counted by the length of a page, which only the document can promise.
        None => (in_query(OFFSET_PARAMETERS)?, Some(fixed_number(size, document)?)),
    };
    let start = if step.is_some() { 0 } else { first_page(counter, document) };
    let mut counted = pages([("page", counter.name)], items);
    if let Some(map) = counted.as_object_mut() {
        map.extend((start == 0).then(|| ("start".to_owned(), Value::from(start))));
        map.extend(step.map(|step| ("step".to_owned(), Value::from(step))));
    }
    Some(counted)
}

fn number_of(parameter: &Parameter<'_>, key: &str, document: &ApiDocument) -> Option<u64> {
    document.resolve(parameter.schema?)?.value.get(key)?.as_u64()
}

/// The number of the first page: the default of its parameter, or else the minimum.
fn first_page(page: &Parameter<'_>, document: &ApiDocument) -> u64 {
    let number = |key| number_of(page, key, document);
    number("default").or_else(|| number("minimum")).unwrap_or(1)
}

/// The only number that a parameter takes.
fn fixed_number(parameter: &Parameter<'_>, document: &ApiDocument) -> Option<u64> {
    let number = |key| number_of(parameter, key, document);
    let choices = document.resolve(parameter.schema?)?.get("enum").map(|choices| choices.items().collect::<Vec<_>>());
    let only = match choices.as_deref() {
        Some([only]) => only.value.as_u64(),
        _ => None,
    };
    let bounds = number("minimum").filter(|least| number("maximum") == Some(*least));
    only.or_else(|| number("const")).or(bounds).filter(|number| *number > 0)
}

fn pages<const N: usize>(how: [(&str, &str); N], items: Option<String>) -> Value {
    let mut pages = object(how.map(|(key, value)| (key, Value::from(value))));
    if let Some(map) = pages.as_object_mut() {
        // An answer that has no list, whatever is described, is shown as it came.
        map.extend(items.map(|items| ("items".to_owned(), Value::from(format!("not_null({items}, [@])")))));
        map.insert("maxPages".to_owned(), MAX_PAGES.into());
    }
    pages
}

/// Where the list of an answer stands: empty where the answer is it. `None` where there is no list, or several, or where
/// the answer says more than the list and where in it this is.
fn item_list<'d>(answer: ApiNode<'d>, document: &'d ApiDocument) -> Option<String> {
    if answer.text("type") == Some("array") {
        return Some(String::new());
    }
    let properties = answer.get("properties")?.entries();
    let properties: Vec<_> = properties.filter_map(|(name, node)| Some((name, document.resolve(node)?))).collect();
    let mut lists = properties.iter().filter(|(name, node)| is_word(name) && node.text("type") == Some("array"));
    let (name, _) = lists.next()?;
    let says_more = properties.iter().any(|(name, node)| {
        let is_object =
            node.text("type") == Some("object") || ["properties", "allOf"].iter().any(|key| node.get(key).is_some());
        is_object && !ENVELOPES.contains(&name.replace('_', "").to_lowercase().as_str())
    });
    (lists.next().is_none() && !says_more).then(|| (*name).to_owned())
}

fn cursor_of(answer: ApiNode<'_>, query: &[&str], document: &ApiDocument) -> Option<(String, &'static str)> {
    let has = |node: Option<ApiNode<'_>>, name: &str| node.is_some_and(|properties| properties.get(name).is_some());
    let properties = answer.get("properties");
    for (field, parameters) in CURSORS {
        let Some(parameter) = parameters.iter().find(|parameter| query.contains(*parameter)) else { continue };
        if has(properties, field) {
            return Some(((*field).to_owned(), *parameter));
        }
        let inner = |parent: &&&str| {
            let node = properties.and_then(|all| all.get(parent)).and_then(|node| document.resolve(node));
            has(node.and_then(|node| node.get("properties")), field)
        };
        if let Some(parent) = CURSOR_PARENTS.iter().find(inner) {
            return Some((format!("{parent}.{field}"), *parameter));
        }
    }
    None
}

/// Whether a name may stand in a JMESPath as it is.
fn is_word(name: &str) -> bool {
    crate::value_types::is_identifier(name)
}
