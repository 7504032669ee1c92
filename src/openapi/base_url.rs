//! Where an API is.

use serde_json::Value;
use url::{Host, Url};

use super::document::{ApiDocument, ApiNode};
use super::operation::Operation;
use super::request::split_placeholder;
use crate::diagnostic::Code;
use crate::world::is_public;

/// The longest base of a URL.
const MAX_URL_BYTES: usize = 65_534;

/// What all URLs of an operation begin with, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct BaseUrl {
    /// The URL. `None` where the description does not say: then a variable has to.
    pub(super) url: Option<String>,
    /// What follows what the variable says.
    pub(super) path: String,
    /// The parameters of each request.
    pub(super) query: Vec<(String, String)>,
}

/// The base of an operation's URL.
pub(super) fn base_url(operation: &Operation<'_>, document: &ApiDocument, source: Option<&Url>) -> BaseUrl {
    let servers = operation.servers(document);
    let Some(written) = first_url(servers) else { return BaseUrl::default() };
    // What a relative URL is relative to: where the description is from, or else where the API is otherwise.
    let outer = || Url::parse(&first_url(document.root().get("servers"))?).ok();
    let Some(base) = absolute(&written, source.cloned().or_else(outer).as_ref()) else {
        let is_path = !written.contains("://") && !written.contains(['{', '}', '"']);
        let path = written.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
        let path = if is_path && !path.is_empty() { format!("/{path}") } else { String::new() };
        return BaseUrl { url: None, path, query: query_of(&written) };
    };
    let (mut bare, had_credentials) = without_credentials(base);
    bare.set_query(None);
    if had_credentials {
        warn_left_out("server URL", server_node(operation, document), document);
    }
    BaseUrl {
        url: Some(bare.as_str().trim_end_matches('/').to_owned()),
        path: String::new(),
        query: query_of(&written),
    }
}

/// The parameters in a URL.
fn query_of(url: &str) -> Vec<(String, String)> {
    let whole = url.split('#').next().unwrap_or_default();
    let query = whole.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The URL of the first server. `None` where it is too long.
fn first_url(servers: Option<ApiNode<'_>>) -> Option<String> {
    let server = servers.and_then(|servers| servers.items().next());
    let written = server.and_then(|server| Some((server, server.text("url")?.trim())));
    let Some((server, url)) = written else { return Some("/".to_owned()) };
    let filled = fill_variables(server, url)?;
    let is_host = |head: &str| {
        let host = head.rsplit_once('@').map_or(head, |(_, host)| host);
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let ending = name.rsplit('.').next().unwrap_or_default();
        name.contains('.') && ending.len() > 1 && ending.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let head = filled.split('/').next().unwrap_or_default();
    Some(match filled.strip_prefix("//") {
        Some(rest) => format!("https://{rest}"),
        None if head.split(':').next() == Some("localhost") => format!("http://{filled}"),
        // A host without a scheme is not a folder.
        None if is_host(head) => format!("https://{filled}"),
        None => filled,
    })
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

/// The server of an operation, as far as the description names one.
pub(super) fn server_node<'d>(operation: &Operation<'d>, document: &'d ApiDocument) -> ApiNode<'d> {
    let server = operation.servers(document).and_then(|servers| servers.items().next());
    server.or_else(|| document.root().get("host")).unwrap_or(operation.node)
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
    let before_query = url.as_str().split(['?', '#']).next().unwrap_or_default();
    let is_filled = !before_query.contains(['{', '}', '"']) && !before_query.contains("%7B");
    let is_base = matches!(url.scheme(), "http" | "https") && url.has_host() && is_filled;
    // A variable whose default is empty leaves a name out of the host.
    let has_name = url.host_str().is_some_and(|host| !host.starts_with('.') && !host.contains(".."));
    let mut bare = url;
    bare.set_fragment(None);
    (is_base && has_name).then_some(bare)
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
    let truncated = crate::diagnostic::truncate(base, 120);
    let message = format!("private server address `{truncated}`: tools send requests to it from this network");
    let help = "import it only if you trust who wrote the description";
    document.warn_with_help(server_node(operation, document), message, help);
}
