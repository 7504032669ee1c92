//! Where an API is.

use url::Url;

use super::document::{ApiDocument, Node, Version};
use super::operation::Operation;
use crate::diagnostic::Code;

/// The base of an operation's URL, without a slash at its end. `None` where the description does not say.
pub(super) fn base_url(operation: &Operation<'_>, document: &ApiDocument, source: Option<&Url>) -> Option<String> {
    let written = match document.version {
        Version::Swagger2 => swagger_base(document.root(), source)?,
        _ => {
            let server = operation.inherited("servers", document).and_then(|servers| servers.items().next());
            server
                .and_then(|server| Some(fill_variables(server, server.text("url")?)))
                .unwrap_or_else(|| "/".to_owned())
        }
    };
    absolute(&written, source)
}

fn swagger_base(root: Node<'_>, source: Option<&Url>) -> Option<String> {
    let schemes = root.get("schemes").into_iter().flat_map(Node::items);
    let schemes: Vec<&str> = schemes.filter_map(|scheme| scheme.value.as_str()).collect();
    let scheme = if schemes.is_empty() || schemes.contains(&"https") { "https" } else { "http" };
    let base_path = root.text("basePath").unwrap_or("/");
    match root.text("host") {
        Some(host) => Some(format!("{scheme}://{host}/{}", base_path.trim_start_matches('/'))),
        None => source.map(|_| base_path.to_owned()),
    }
}

/// A URL with the defaults of its variables.
fn fill_variables(server: Node<'_>, url: &str) -> String {
    let mut filled = url.to_owned();
    for (name, variable) in server.get("variables").into_iter().flat_map(Node::entries) {
        let default = variable.value.get("default");
        let text = default.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        filled = filled.replace(&format!("{{{name}}}"), &text.unwrap_or_default());
    }
    filled
}

/// A URL of http that other paths can follow. `None` where it is none.
fn absolute(written: &str, source: Option<&Url>) -> Option<String> {
    let url = match (Url::parse(written), source) {
        (Ok(url), _) => url,
        (Err(_), Some(source)) => source.join(written).ok()?,
        (Err(_), None) => return None,
    };
    let is_base = matches!(url.scheme(), "http" | "https") && url.has_host() && !url.as_str().contains(['{', '}', '"']);
    let mut bare = url;
    bare.set_query(None);
    bare.set_fragment(None);
    (is_base && !bare.as_str().contains("%7B")).then(|| bare.as_str().trim_end_matches('/').to_owned())
}

/// Warns that nobody knows where the API is.
pub(super) fn warn_no_server(document: &ApiDocument, variable: &str) {
    let root = document.root();
    let at = root.get("servers").or_else(|| root.get("host")).or_else(|| root.get("info")).unwrap_or(root);
    let words = format!("missing server URL: the variable `{variable}` has to name it");
    document.warn(at, Code::MissingKey, words);
}
