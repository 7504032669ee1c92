//! Parameters: where each goes, and how its value is written there.

use super::document::{ApiDocument, ApiNode};
use super::operation::is_json;
use crate::action::is_reserved_header;
use crate::diagnostic::Code;

/// How many parameters one operation may have.
const MAX_PARAMETERS: usize = 500;

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
}

/// How a list or an object is written in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterStyle {
    /// `a=1&a=2`: the name comes again for each element, or the fields of an object are parameters of their own.
    Repeated,
    /// `a=1,2`: the elements in one text, with this between them.
    Joined(&'static str),
    /// `a[b]=1`: fields by their names in brackets.
    DeepObject,
}

/// What stands before a value in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStyle {
    /// Nothing.
    Simple,
    /// A dot.
    Label,
    /// `;name=`.
    Matrix,
}

/// One parameter.
pub(super) struct Parameter<'d> {
    pub(super) node: ApiNode<'d>,
    /// Its name in the request.
    pub(super) name: &'d str,
    pub(super) location: ParameterLocation,
    pub(super) required: bool,
    pub(super) description: &'d str,
    pub(super) schema: Option<ApiNode<'d>>,
    pub(super) style: ParameterStyle,
    pub(super) path_style: PathStyle,
    /// Whether each element of a list, or field of an object, is written by itself.
    pub(super) explodes: bool,
    /// Whether its value is a JSON text.
    pub(super) is_json: bool,
    /// Whether a value in a path may hold `/`.
    pub(super) keeps_slashes: bool,
}

impl ParameterLocation {
    pub(super) fn parse(written: &str) -> Option<ParameterLocation> {
        Some(match written {
            "path" => ParameterLocation::Path,
            "query" => ParameterLocation::Query,
            "header" => ParameterLocation::Header,
            "cookie" => ParameterLocation::Cookie,
            _ => return None,
        })
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            ParameterLocation::Path => "path",
            ParameterLocation::Query => "query",
            ParameterLocation::Header => "header",
            ParameterLocation::Cookie => "cookie",
        }
    }
}

impl PathStyle {
    fn read(node: ApiNode<'_>, location: ParameterLocation) -> PathStyle {
        match node.text("style").filter(|_| location == ParameterLocation::Path) {
            Some("label") => PathStyle::Label,
            Some("matrix") => PathStyle::Matrix,
            _ => PathStyle::Simple,
        }
    }
}

/// The parameters of an operation: its own, and those of its path that it does not override.
pub(super) fn read_parameters<'d>(
    path_item: ApiNode<'d>,
    operation: ApiNode<'d>,
    document: &'d ApiDocument,
) -> Vec<Parameter<'d>> {
    let mut found: Vec<Parameter<'d>> = Vec::new();
    let lists = [path_item.get("parameters"), operation.get("parameters")];
    let nodes = lists.into_iter().flatten().flat_map(ApiNode::items).filter_map(|node| document.resolve(node));
    for node in nodes {
        if found.len() >= MAX_PARAMETERS {
            document.warn(
                operation,
                Code::TooLarge,
                format!("more than {MAX_PARAMETERS} parameters: the others are left out"),
            );
            break;
        }
        let Some(parameter) = read_parameter(node, document) else { continue };
        let same = |other: &Parameter<'_>| other.location == parameter.location && other.name == parameter.name;
        match found.iter_mut().find(|other| same(other)) {
            Some(inherited) => *inherited = parameter,
            None => found.push(parameter),
        }
    }
    found
}

/// Reads one parameter. `None` where it is part of a body, or goes where folio writes nothing.
fn read_parameter<'d>(node: ApiNode<'d>, document: &'d ApiDocument) -> Option<Parameter<'d>> {
    let (name, written) = (node.text("name")?, node.text("in").unwrap_or_default());
    if matches!(written, "body" | "formData") {
        return None;
    }
    let Some(location) = ParameterLocation::parse(written) else {
        let truncated = crate::diagnostic::truncate(written, 40);
        document.warn(node, Code::Unimplemented, format!("unsupported parameter location `{truncated}`"));
        return None;
    };
    if location == ParameterLocation::Header && is_set_elsewhere(name) {
        return None;
    }
    let content = node.get("content").and_then(|content| content.entries().next());
    let schema = content.map_or_else(|| node.get("schema"), |(_, media)| media.get("schema"));
    Some(Parameter {
        node,
        name,
        location,
        required: location == ParameterLocation::Path || node.flag("required") == Some(true),
        description: node.text("description").unwrap_or_default(),
        schema,
        style: read_style(node, location, document),
        path_style: PathStyle::read(node, location),
        explodes: node.flag("explode") == Some(true),
        is_json: content.is_some_and(|(media_type, _)| is_json(media_type)),
        keeps_slashes: node.flag("x-multi-segment") == Some(true) || node.flag("allowReserved") == Some(true),
    })
}

/// Whether a header says what the body, the answer or the credentials are, which a description says elsewhere.
fn is_set_elsewhere(name: &str) -> bool {
    let by_document = ["accept", "content-type", "authorization"];
    is_reserved_header(name) || by_document.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// How a list in a field of a form is written, from its encoding.
pub(super) fn form_style(node: ApiNode<'_>, document: &ApiDocument) -> ParameterStyle {
    read_style(node, ParameterLocation::Query, document)
}

fn read_style(node: ApiNode<'_>, location: ParameterLocation, document: &ApiDocument) -> ParameterStyle {
    let default =
        if matches!(location, ParameterLocation::Query | ParameterLocation::Cookie) { "form" } else { "simple" };
    let style = node.text("style").unwrap_or(default);
    let explode = node.flag("explode").unwrap_or(style == "form");
    match style {
        "form" if explode && location == ParameterLocation::Query => ParameterStyle::Repeated,
        "form" | "simple" => ParameterStyle::Joined(","),
        "label" | "matrix" if location == ParameterLocation::Path => ParameterStyle::Joined(","),
        "spaceDelimited" | "pipeDelimited" if node.flag("explode") == Some(true) => ParameterStyle::Repeated,
        "spaceDelimited" => ParameterStyle::Joined(" "),
        "pipeDelimited" => ParameterStyle::Joined("|"),
        // Swagger 2 alone has it.
        "tabDelimited" => ParameterStyle::Joined("\t"),
        "deepObject" => ParameterStyle::DeepObject,
        other => {
            warn_style(other, node.get("style").unwrap_or(node), document);
            ParameterStyle::Joined(",")
        }
    }
}

fn warn_style(style: &str, at: ApiNode<'_>, document: &ApiDocument) {
    let truncated = crate::diagnostic::truncate(style, 40);
    let message = format!("unsupported parameter style `{truncated}`");
    document.warn_with_help(at, message, "it is written as `simple`: elements with commas between them");
}
