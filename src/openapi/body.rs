//! What a request holds beside its parameters.

use super::document::{ApiDocument, ApiNode, DescriptionVersion};
use super::operation::{essence, is_json};
use super::parameter::parameter_nodes;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Json,
    Form,
    Multipart,
    /// Anything else: one text.
    Text,
}

/// A body.
pub(super) struct Body<'d> {
    pub(super) node: ApiNode<'d>,
    pub(super) kind: BodyKind,
    /// As it is sent.
    pub(super) media_type: String,
    pub(super) required: bool,
    pub(super) description: &'d str,
    /// The schema of the whole.
    pub(super) schema: Option<ApiNode<'d>>,
    /// The fields of a form of Swagger 2, which has no schema.
    pub(super) fields: Vec<BodyField<'d>>,
    /// How fields of a form are written.
    pub(super) encoding: Option<ApiNode<'d>>,
}

impl<'d> Body<'d> {
    /// A body of a media type, without its schema.
    fn new(node: ApiNode<'d>, media_type: &str) -> Body<'d> {
        Body {
            node,
            kind: BodyKind::from_media_type(media_type),
            media_type: essence(media_type),
            required: node.flag("required") == Some(true),
            description: node.text("description").unwrap_or_default(),
            schema: None,
            fields: Vec::new(),
            encoding: None,
        }
    }
}

/// A field of a form of Swagger 2.
pub(super) struct BodyField<'d> {
    pub(super) node: ApiNode<'d>,
    pub(super) name: &'d str,
    pub(super) required: bool,
}

impl BodyKind {
    fn from_media_type(media_type: &str) -> BodyKind {
        match essence(media_type).as_str() {
            _ if is_json(media_type) => BodyKind::Json,
            "application/x-www-form-urlencoded" => BodyKind::Form,
            "multipart/form-data" => BodyKind::Multipart,
            _ => BodyKind::Text,
        }
    }
}

/// Reads the body of an operation, in the media type that says most about it.
pub(super) fn read_body<'d>(
    path_item: ApiNode<'d>,
    operation: ApiNode<'d>,
    document: &'d ApiDocument,
) -> Option<Body<'d>> {
    if document.version == DescriptionVersion::Swagger2 {
        return read_body_parameters(path_item, operation, document);
    }
    let node = document.resolve(operation.get("requestBody")?)?;
    let (media_type, media) = preferred(node.get("content")?.entries())?;
    Some(Body { schema: media.get("schema"), encoding: media.get("encoding"), ..Body::new(node, media_type) })
}

/// The media type that folio writes best: JSON, then forms, then text; of several, the first.
fn preferred<'d>(types: impl Iterator<Item = (&'d str, ApiNode<'d>)>) -> Option<(&'d str, ApiNode<'d>)> {
    types.min_by_key(|(media_type, _)| match BodyKind::from_media_type(media_type) {
        // What is JSON and says nothing else is what everybody means by it.
        BodyKind::Json => usize::from(essence(media_type) != "application/json"),
        BodyKind::Form => 2,
        BodyKind::Multipart => 3,
        BodyKind::Text => 4 + usize::from(!media_type.starts_with("text/")),
    })
}

fn read_body_parameters<'d>(
    path_item: ApiNode<'d>,
    operation: ApiNode<'d>,
    document: &'d ApiDocument,
) -> Option<Body<'d>> {
    let nodes: Vec<ApiNode<'d>> = parameter_nodes(path_item, operation, document).collect();
    let consumes = operation.get("consumes").or_else(|| document.root().get("consumes"));
    let types: Vec<&str> =
        consumes.into_iter().flat_map(ApiNode::items).filter_map(|kind| kind.value.as_str()).collect();
    if let Some(node) = nodes.iter().copied().find(|node| node.text("in") == Some("body")) {
        let media_type =
            types.iter().find(|kind| is_json(kind)).or(types.first()).copied().unwrap_or("application/json");
        return Some(Body { schema: node.get("schema"), ..Body::new(node, media_type) });
    }
    read_form(&nodes, &types)
}

fn read_form<'d>(nodes: &[ApiNode<'d>], types: &[&str]) -> Option<Body<'d>> {
    let form = nodes.iter().copied().filter(|node| node.text("in") == Some("formData"));
    let fields: Vec<BodyField<'d>> = form
        .filter_map(|node| {
            Some(BodyField { node, name: node.text("name")?, required: node.flag("required") == Some(true) })
        })
        .collect();
    let node = fields.first()?.node;
    let has_file = fields.iter().any(|field| field.node.text("type") == Some("file"));
    let multipart = has_file || types.iter().any(|kind| BodyKind::from_media_type(kind) == BodyKind::Multipart);
    let kind = if multipart { BodyKind::Multipart } else { BodyKind::Form };
    let required = fields.iter().any(|field| field.required);
    let (media_type, description) = (String::new(), "");
    Some(Body { node, kind, media_type, required, description, schema: None, fields, encoding: None })
}
