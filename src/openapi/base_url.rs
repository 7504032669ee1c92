//! Where an API is.

use serde_json::Value;
use url::{Host, Url};

use super::document::{ApiDocument, ApiNode, DescriptionVersion};
use super::operation::Operation;
use super::request::split_placeholder;
use crate::diagnostic::Code;
use crate::world::is_public;

/// The longest base of a URL.
const MAX_URL_BYTES: usize = 65_534;

/// The base of an operation's URL, without a slash at its end. `None` where the description does not say.
pub(super) fn base_url(operation: &Operation<'_>, document: &ApiDocument, source: Option<&Url>) -> Option<String> {
    let servers = operation.inherited_key("servers", document);
    let written = match document.version {
        DescriptionVersion::Swagger2 => swagger_base(document.root(), source)?,
        _ => {
            let server = servers.and_then(|servers| servers.items().next());
            server
                .and_then(|server| Some((server, server.text("url")?)))
                .map_or_else(|| Some("/".to_owned()), |(server, url)| fill_variables(server, url))?
        }
    };
    let base = absolute(&written, source)?;
    let (bare, had_credentials) = without_credentials(base);
    if had_credentials {
        let at = servers.or_else(|| document.root().get("host")).unwrap_or(document.root());
        warn_left_out("server URL", at, document);
    }
    Some(bare.as_str().trim_end_matches('/').to_owned())
}

/// A URL without a user name and a password, and whether it had them.
pub(super) fn without_credentials(mut url: Url) -> (Url, bool) {
    let had_credentials = !url.username().is_empty() || url.password().is_some();
    let _ = (url.set_username(""), url.set_password(None));
    (url, had_credentials)
}

/// Warns of credentials that must not stand in a manifest.
pub(super) fn warn_left_out(what: &str, at: ApiNode<'_>, document: &ApiDocument) {
    let message = format!("user name and password of the {what} left out: write `auth: {{ basic: … }}` by hand");
    document.warn(at, Code::Secret, message);
}

fn swagger_base(root: ApiNode<'_>, source: Option<&Url>) -> Option<String> {
    let schemes = root.get("schemes").into_iter().flat_map(ApiNode::items);
    let schemes: Vec<&str> = schemes.filter_map(|scheme| scheme.value.as_str()).collect();
    let scheme = if schemes.is_empty() || schemes.contains(&"https") { "https" } else { "http" };
    let base_path = root.text("basePath").unwrap_or("/");
    match root.text("host") {
        Some(host) => Some(format!("{scheme}://{host}/{}", base_path.trim_start_matches('/'))),
        None => source.map(|_| base_path.to_owned()),
    }
}

/// A URL with the defaults of its variables, each put in once: a default that names a variable stays as it is.
/// `None` where it is too long.
fn fill_variables(server: ApiNode<'_>, url: &str) -> Option<String> {
    let variables = server.get("variables");
    let (mut filled, mut rest) = (String::new(), url);
    while let Some((before, name, after)) = split_placeholder(rest) {
        filled.push_str(before);
        match variables.and_then(|all| all.get(name)).map(|variable| variable.value.get("default")) {
            Some(Some(Value::String(default))) => filled.push_str(default),
            Some(default) => filled.push_str(&default.map(Value::to_string).unwrap_or_default()),
            None => filled.push_str(&format!("{{{name}}}")),
        }
        if filled.len() > MAX_URL_BYTES {
            return None;
        }
        rest = after;
    }
    filled.push_str(rest);
    (filled.len() <= MAX_URL_BYTES).then_some(filled)
}

/// A URL of http that other paths can follow. `None` for any other URL.
fn absolute(written: &str, source: Option<&Url>) -> Option<Url> {
    let url = match (Url::parse(written), source) {
        (Ok(url), _) => url,
        (Err(_), Some(source)) => source.join(written).ok()?,
        (Err(_), None) => return None,
    };
    let is_base = matches!(url.scheme(), "http" | "https") && url.has_host() && !url.as_str().contains(['{', '}', '"']);
    let mut bare = url;
    bare.set_query(None);
    bare.set_fragment(None);
    (is_base && !bare.as_str().contains("%7B")).then_some(bare)
}

/// Warns that nobody knows where the API is.
pub(super) fn warn_no_server(document: &ApiDocument, variable: &str) {
    let root = document.root();
    let at = root.get("servers").or_else(|| root.get("host")).or_else(|| root.get("info")).unwrap_or(root);
    let words = format!("missing server URL: the variable `{variable}` has to name it");
    document.warn(at, Code::MissingKey, words);
}

/// Whether a base is in a private network, and neither on the host that gave the description nor, where that is a
/// file, on this machine.
pub(super) fn is_foreign_private(base: &str, source: Option<&Url>) -> bool {
    let Ok(url) = Url::parse(base) else { return false };
    let (is_private, is_loopback) = match url.host() {
        Some(Host::Ipv4(address)) => (!is_public(address.into()), address.is_loopback()),
        Some(Host::Ipv6(address)) => (!is_public(address.into()), address.is_loopback()),
        Some(Host::Domain(name)) => {
            let is_local = name == "localhost" || name.ends_with(".localhost");
            (is_local || name.ends_with(".internal") || name.ends_with(".local"), is_local)
        }
        None => (false, false),
    };
    let is_own = source.map_or(is_loopback, |source| source.host() == url.host());
    is_private && !is_own
}

/// Warns that tools will send requests into a private network.
pub(super) fn warn_private_server(operation: &Operation<'_>, base: &str, document: &ApiDocument) {
    let servers = operation.inherited_key("servers", document).and_then(|servers| servers.items().next());
    let at = servers.or_else(|| document.root().get("host")).unwrap_or(operation.node);
    let truncated = crate::diagnostic::truncate(base, 120);
    let message = format!("private server address `{truncated}`: tools send requests to it from this network");
    document.warn_with_help(at, message, "import it only if you trust who wrote the description");
}
