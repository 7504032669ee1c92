//! The operations of a description, the same for all versions of the format.

use super::body::{Body, read_body};
use super::document::{ApiDocument, ApiNode};
use super::parameter::{Parameter, read_parameters};
use crate::diagnostic::Code;

/// The methods that a request may have, as a description and as HTTP writes them.
pub(super) const METHODS: &[(&str, &str)] = &[
    ("get", "GET"),
    ("put", "PUT"),
    ("post", "POST"),
    ("delete", "DELETE"),
    ("options", "OPTIONS"),
    ("head", "HEAD"),
    ("patch", "PATCH"),
];

/// What holds operations, and becomes none. The last two are of OpenAPI 3.2.
const UNSUPPORTED_METHODS: &[&str] = &["trace", "query", "additionalOperations"];

/// One operation.
pub(super) struct Operation<'d> {
    pub(super) node: ApiNode<'d>,
    /// In upper case.
    pub(super) method: &'static str,
    /// With `{name}` for each parameter.
    pub(super) path: &'d str,
    pub(super) id: Option<&'d str>,
    /// The first of its tags.
    pub(super) tag: Option<&'d str>,
    pub(super) summary: &'d str,
    pub(super) description: &'d str,
    pub(super) deprecated: bool,
    path_item: ApiNode<'d>,
}

/// The answer that an operation gives when all goes well.
pub(super) struct Success<'d> {
    /// The schema of its JSON.
    pub(super) schema: Option<ApiNode<'d>>,
    /// Whether it has a `Link` header.
    pub(super) has_link_header: bool,
}

/// Reads the operations, in the order written.
pub(super) fn read_operations(document: &ApiDocument) -> Vec<Operation<'_>> {
    let paths = document.root().get("paths");
    let mut found = Vec::new();
    for (path, item) in paths.into_iter().flat_map(ApiNode::entries).filter(|(path, _)| !path.starts_with("x-")) {
        let Some(path_item) = document.resolve(item) else { continue };
        for (key, node) in path_item.entries() {
            match METHODS.iter().find(|(written, _)| *written == key) {
                Some((_, method)) => {
                    let operation = document.resolve(node);
                    found.extend(operation.map(|node| read_operation(method, path, path_item, node)));
                }
                None if UNSUPPORTED_METHODS.contains(&key) => {
                    document.warn(node, Code::Unimplemented, format!("unsupported method `{key}`"));
                }
                None => {}
            }
        }
    }
    found
}

fn read_operation<'d>(method: &'static str, path: &'d str, path_item: ApiNode<'d>, node: ApiNode<'d>) -> Operation<'d> {
    let text = |key| node.text(key).or_else(|| path_item.text(key)).unwrap_or_default();
    Operation {
        node,
        method,
        path,
        id: node.text("operationId").filter(|id| !id.trim().is_empty()),
        tag: node.get("tags").and_then(|tags| tags.items().next()?.value.as_str()),
        summary: text("summary"),
        description: text("description"),
        deprecated: node.flag("deprecated") == Some(true),
        path_item,
    }
}

impl<'d> Operation<'d> {
    /// Its parameters, with those of its path.
    pub(super) fn parameters(&self, document: &'d ApiDocument) -> Vec<Parameter<'d>> {
        read_parameters(self.path_item, self.node, document)
    }

    /// What its request holds.
    pub(super) fn body(&self, document: &'d ApiDocument) -> Option<Body<'d>> {
        read_body(self.node, document)
    }

    /// The servers of the operation, or else of its path, or else of the description.
    pub(super) fn servers(&self, document: &'d ApiDocument) -> Option<ApiNode<'d>> {
        let all = [self.node, self.path_item, document.root()];
        all.into_iter().filter_map(|node| node.get("servers")).find(|servers| servers.items().next().is_some())
    }

    /// What tells it from the other operations of a description.
    pub(super) fn key(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Its first answer of the statuses that begin with 2.
    pub(super) fn success(&self, document: &'d ApiDocument) -> Option<Success<'d>> {
        let responses = self.node.get("responses")?;
        let (_, node) =
            responses.entries().filter(|(status, _)| status.starts_with('2')).min_by_key(|(name, _)| *name)?;
        let response = document.resolve(node)?;
        let has_link_header = response
            .get("headers")
            .into_iter()
            .flat_map(ApiNode::entries)
            .any(|(name, _)| name.eq_ignore_ascii_case("link"));
        let mut content = response.get("content").into_iter().flat_map(ApiNode::entries);
        let json = content.find(|(media_type, _)| is_json(media_type));
        Some(Success { schema: json.and_then(|(_, media)| media.get("schema")), has_link_header })
    }
}

/// Whether a media type is JSON: `application/json`, or one that is built on it.
pub(super) fn is_json(media_type: &str) -> bool {
    let bare = essence(media_type);
    bare == "application/json" || bare == "*/*" || bare.ends_with("+json")
}

/// A media type without its parameters.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
