//! Checks and compiles the spec of a request.

use crate::action::ActionNode;
use crate::action::literal_credential::{warn_literal_field, warn_literal_in_url};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{ConditionSlot, HeaderSlot, Shape, Template, TextSlot, UrlBase, UrlSlot};
use crate::value_types::{Connection, Scalar};
use crate::world::HostPolicy;
use crate::yaml::Spanned;

use super::connection::{compile_base, compile_path, in_connection_scope};
use super::credentials::HttpCredentials;
use super::header_name::{is_header_name, is_reserved_header};
use super::multipart::{FilePartSource, Multipart};
use super::query::QueryParameter;
use super::spec::RequestBodySpec;
use super::status::with_response;
use super::{HttpBody, HttpSpec, Method};

/// The URL of a request: its own, and that of its connection, which it is appended to.
pub(super) struct RequestUrls {
    pub(super) base: Option<Template<UrlSlot>>,
    pub(super) url: Template<UrlSlot>,
}

impl RequestUrls {
    /// The one that names the host.
    fn host_template(&self) -> &Template<UrlSlot> {
        self.base.as_ref().unwrap_or(&self.url)
    }

    /// Whether the host is part of a secret.
    pub(super) fn has_secret_host(&self, compiler: &Compiler<'_>) -> bool {
        has_secret_host(self.host_template(), compiler)
    }
}

/// Whether the host of a URL is part of a secret.
pub(super) fn has_secret_host(url: &Template<UrlSlot>, compiler: &Compiler<'_>) -> bool {
    matches!(url.url_base(), UrlBase::Env(name) if compiler.pack.env.is_secret(name))
}

pub(super) fn compile_urls(
    node: &ActionNode<'_, HttpSpec>,
    connection: Option<&Connection>,
    compiler: &mut Compiler<'_>,
) -> Option<RequestUrls> {
    let spec = &node.spec.value;
    if let Some(connection) = connection {
        let (base, url) = (compile_base(connection, compiler), compile_path(spec, compiler));
        return base.zip(url).map(|(base, url)| RequestUrls { base: Some(base), url });
    }
    if spec.connection.is_some() {
        return None;
    }
    let Some(text) = &spec.url else {
        compiler
            .error(Code::MissingKey, node.key, "missing key `url` in `http`")
            .help("write a URL, or the name of a connection in `use`");
        return None;
    };
    compile_url_text(text, compiler).map(|url| RequestUrls { base: None, url })
}

/// Compiles an absolute URL.
pub(super) fn compile_url_text(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Template<UrlSlot>> {
    warn_literal_in_url(text, compiler);
    let template: Template<UrlSlot> = compiler.template(text, Exposure::Private)?;
    let own = matches!(template.url_base(), UrlBase::Literal | UrlBase::Relative);
    if own && !text.starts_with("http://") && !text.starts_with("https://") {
        compiler
            .error(Code::Uri, text.location, "missing or unsupported URL scheme")
            .help("begin the URL with `http://` or `https://`");
        return None;
    }
    Some(template)
}

/// The headers of a request and of its connection. Those of the request take precedence.
pub(super) fn merge_headers(
    spec: &HttpSpec,
    connection: Option<&Connection>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Template<HeaderSlot>)>> {
    let own = compile_headers(spec.headers.iter(), compiler);
    let overridden = |name: &Spanned<String>| spec.headers.keys().any(|own| own.eq_ignore_ascii_case(name));
    let shared =
        connection.into_iter().flat_map(|connection| &connection.headers).filter(|(name, _)| !overridden(name));
    let shared = in_connection_scope(compiler, |compiler| compile_headers(shared, compiler));
    let mut all = shared?;
    all.extend(own?);
    Some(all)
}

/// The credentials of a request, or else of its connection.
pub(super) fn merge_credentials(
    spec: &HttpSpec,
    connection: Option<&Connection>,
    compiler: &mut Compiler<'_>,
) -> Option<HttpCredentials> {
    if let Some(auth) = &spec.auth {
        if let Some(exchange) = &auth.exchange {
            compiler
                .error(Code::Conflict, exchange.location, "`exchange` belongs in the `auth` of a connection")
                .help("write it in `connections`, and `use` the connection in the request");
            return None;
        }
        return HttpCredentials::compile(auth, compiler);
    }
    match connection.and_then(|connection| connection.auth.as_ref()) {
        Some(auth) => in_connection_scope(compiler, |compiler| HttpCredentials::compile(auth, compiler)),
        None => Some(HttpCredentials::None),
    }
}

pub(super) fn compile_headers<'h>(
    headers: impl IntoIterator<Item = (&'h Spanned<String>, &'h Spanned<Scalar>)>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Template<HeaderSlot>)>> {
    let mut all = Vec::new();
    for (name, value) in headers {
        check_header_name(name, compiler);
        let text = value.to_text();
        if text.chars().any(|character| character.is_control() && character != '\t') {
            let is_block = text.ends_with('\n') && !text.trim_end().contains(char::is_control);
            let help = match is_block {
                true => "write `|-` in place of `|`: a block after `|` ends with a line feed",
                false => "a header is one line of visible characters, spaces and tabs; write several values as `a, b`",
            };
            compiler.error(Code::BadValue, text.location, "a header must not contain control characters").help(help);
        }
        warn_literal_field(name, &text, compiler);
        let template = compiler.template(&text, Exposure::Request);
        all.push(template.map(|template| (name.value.clone(), template)));
    }
    all.into_iter().collect()
}

pub(super) fn check_header_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if !is_header_name(name) {
        compiler
            .error(Code::BadName, name.location, format!("invalid header name `{}`", name.value.escape_debug()))
            .help("use letters, digits and `-`, such as `X-Request-Id`");
    }
    if is_reserved_header(name) {
        compiler.error(Code::BadName, name.location, format!("reserved header `{}`: folio sets it", name.value));
    }
}

pub(super) fn compile_body(node: &ActionNode<'_, HttpSpec>, compiler: &mut Compiler<'_>) -> Option<HttpBody> {
    let spec = &node.spec.value;
    let ways = [
        ("json", spec.json.is_some()),
        ("form", spec.form.is_some()),
        ("multipart", spec.multipart.is_some()),
        ("body", spec.body.is_some()),
    ];
    if let Some((second, _)) = ways.iter().filter(|(_, there)| *there).nth(1) {
        let key = compiler.key_location(node.spec.location, second);
        compiler.error(Code::Conflict, key, "expected at most one of `json`, `form`, `multipart`, `body`");
        return None;
    }
    if let Some(json) = &spec.json {
        let placed = compiler.json_value(json)?;
        return Some(HttpBody::Json(compiler.json_template(&placed.value, placed.location, Exposure::Request)));
    }
    if let Some(form) = &spec.form {
        return QueryParameter::compile_all(form, compiler).map(HttpBody::Form);
    }
    if let Some(multipart) = &spec.multipart {
        return Multipart::compile(multipart, compiler).map(HttpBody::Multipart);
    }
    let Some(body) = &spec.body else { return Some(HttpBody::None) };
    match &body.value {
        RequestBodySpec::Text(text) => {
            compiler.template(&Spanned::new(text.clone(), body.location), Exposure::Request).map(HttpBody::Text)
        }
        RequestBodySpec::Bytes(bytes) => FilePartSource::compile_body(bytes, body.location, compiler)
            .map(|source| HttpBody::Bytes { source, folder: compiler.pack.folder.clone() }),
    }
}

/// When a response is an error whatever its status: as the request says, or else its connection.
pub(super) fn compile_fail_if(
    spec: &HttpSpec,
    connection: Option<&Connection>,
    response: &Shape,
    compiler: &mut Compiler<'_>,
) -> Option<Option<Template<ConditionSlot>>> {
    let compile = |condition: &Spanned<String>, compiler: &mut Compiler<'_>| {
        let names = with_response(compiler.scope_shape.clone(), response);
        compiler.with_scope_shape(names, |compiler| compiler.template(condition, Exposure::Private)).map(Some)
    };
    match (&spec.fail_if, connection.and_then(|connection| connection.fail_if.as_ref())) {
        (Some(own), _) => compile(own, compiler),
        (None, Some(shared)) => in_connection_scope(compiler, |compiler| compile(shared, compiler)),
        (None, None) => Some(None),
    }
}

pub(super) fn http_method(spec: &HttpSpec, compiler: &mut Compiler<'_>) -> Option<&'static str> {
    let has_body = spec.json.is_some() || spec.form.is_some() || spec.multipart.is_some() || spec.body.is_some();
    let Some(method) = &spec.method else { return Some(if has_body { "POST" } else { "GET" }) };
    if has_body && matches!(method.value, Method::Get | Method::Head) {
        compiler
            .error(Code::Conflict, method.location, format!("a {} request must not have a body", method.value.as_str()))
            .help("use `query`, or another method");
        return None;
    }
    Some(method.value.as_str())
}

/// Checks the keys that go with some methods alone, and the time-out.
pub(super) fn check_spec(spec: &HttpSpec, method: &str, compiler: &mut Compiler<'_>) {
    if let Some(cache) = spec.cache.as_ref().filter(|_| !matches!(method, "GET" | "HEAD")) {
        compiler
            .error(Code::Conflict, cache.location, format!("a {method} request must not have `cache`"))
            .help("remove `cache`: only responses of GET and HEAD requests are kept");
    }
    if let Some(paginate) = spec.paginate.as_ref().filter(|_| method == "HEAD") {
        compiler
            .error(Code::Conflict, paginate.location, "a HEAD request must not have `paginate`")
            .help("remove one of them: its response has no body");
    }
    if let Some(timeout) = spec.timeout.as_ref().filter(|timeout| timeout.to_std().is_zero()) {
        compiler.error(Code::BadValue, timeout.location, "`timeout` must be greater than zero");
    }
}

/// The hosts that may be private: those that are written in the manifest.
pub(super) fn compile_host_policy(
    spec: &HttpSpec,
    connection: Option<&Connection>,
    urls: &RequestUrls,
    compiler: &mut Compiler<'_>,
) -> HostPolicy {
    let mut policy = allow_hosts(spec.allow.as_ref().or_else(|| connection?.allow.as_ref()), compiler);
    literal_url(urls.host_template(), compiler).iter().for_each(|literal| policy.allow_url(literal));
    policy
}

/// The hosts of `allow`.
pub(super) fn allow_hosts(hosts: Option<&Vec<Spanned<String>>>, compiler: &mut Compiler<'_>) -> HostPolicy {
    let mut policy = HostPolicy::default();
    for host in hosts.into_iter().flatten() {
        match host.contains("{{") {
            true => allow_variable(host, &mut policy, compiler),
            false => {
                if allows_any_host(host) {
                    warn_of_open_network(&format!("`{}` in `allow`", host.value), host, compiler);
                }
                if policy.allow(host).is_err() {
                    let message = format!("invalid host `{}`", host.value);
                    compiler.error(Code::BadValue, host.location, message).help(HOST_HELP);
                }
            }
        }
    }
    policy
}

/// The scheme, host and port of a URL, if they are written in the manifest.
pub(super) fn literal_url(url: &Template<UrlSlot>, compiler: &Compiler<'_>) -> Option<url::Url> {
    match url.url_base() {
        UrlBase::Literal => url::Url::parse(url.source().split("{{").next().unwrap_or_default()).ok(),
        UrlBase::Env(name) => {
            let variable = compiler.pack.env.variables.get(name)?;
            let default = url::Url::parse(variable.default.as_deref()?).ok()?;
            let is_same = |value: &String| url::Url::parse(value).is_ok_and(|url| url.origin() == default.origin());
            variable.value.as_ref().is_none_or(is_same).then_some(default)
        }
        _ => None,
    }
}

const HOST_HELP: &str = "write `host`, `host:port`, a network such as `10.0.0.0/8`, or `*`";

/// Whether an entry of `allow` is each address: `*`, or a network as wide.
fn allows_any_host(host: &str) -> bool {
    host == "*" || host.split_once('/').is_some_and(|(_, prefix)| matches!(prefix, "0" | "1"))
}

/// Warns of an entry that is each address.
fn warn_of_open_network(what: &str, at: &Spanned<String>, compiler: &mut Compiler<'_>) {
    compiler
        .warning(Code::Unsafe, at.location, format!("{what} opens the whole network of the server to the request"))
        .help("write the hosts or networks that it needs");
}

/// Allows the hosts in a variable, which the user of the server sets.
fn allow_variable(host: &Spanned<String>, policy: &mut HostPolicy, compiler: &mut Compiler<'_>) {
    let Some(template): Option<Template<TextSlot>> = compiler.template(host, Exposure::Private) else { return };
    let name = match template.single_path() {
        Some([env, name]) if env == "env" => Some(name),
        _ => None,
    };
    let Some(name) = name else {
        compiler
            .error(
                Code::Unsafe,
                host.location,
                "invalid entry in `allow`, expected a host, or exactly one `{{env.NAME}}`",
            )
            .help("an argument must not choose which private hosts are reached");
        return;
    };
    let value = compiler.pack.env.variables.get(name).and_then(|variable| variable.value.clone()).unwrap_or_default();
    let hosts = value.split(',').map(str::trim).filter(|host| !host.is_empty());
    let hosts: Vec<&str> = hosts.collect();
    if let Some(open) = hosts.iter().find(|host| allows_any_host(host)) {
        warn_of_open_network(&format!("`{open}` in the value of `{name}`"), host, compiler);
    }
    // The value may be a secret.
    if hosts.into_iter().map(|host| policy.allow(host)).any(|allowed| allowed.is_err()) {
        compiler
            .error(Code::BadValue, host.location, format!("invalid host in the value of `{name}`"))
            .help(format!("{HOST_HELP}, separated by commas"));
    }
}
