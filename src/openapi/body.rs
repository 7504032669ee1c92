//! What a request holds beside its parameters.

use super::document::{ApiDocument, ApiNode};
use super::operation::{essence, is_json};

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
    /// How fields of a form are written.
    pub(super) encoding: Option<ApiNode<'d>>,
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
pub(super) fn read_body<'d>(operation: ApiNode<'d>, document: &'d ApiDocument) -> Option<Body<'d>> {
    let node = document.resolve(operation.get("requestBody")?)?;
    let (media_type, media) = preferred(node.get("content")?.entries())?;
    let media = document.resolve(media)?;
    Some(Body {
        node,
        kind: BodyKind::from_media_type(media_type),
        media_type: without_charset(media_type),
        required: node.flag("required") == Some(true),
        description: node.text("description").unwrap_or_default(),
        schema: media.get("schema"),
        encoding: media.get("encoding"),
    })
}

/// A media type with its parameters but for `charset`: what folio sends is UTF-8.
fn without_charset(media_type: &str) -> String {
    let is_charset = |parameter: &&str| parameter.trim_start().to_ascii_lowercase().starts_with("charset");
    let parameters = media_type.split(';').skip(1).filter(|parameter| !is_charset(parameter));
    parameters.fold(essence(media_type), |whole, parameter| format!("{whole};{}", parameter.trim_end()))
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
