//! Checks and compiles the spec of a request.

use crate::action::keys::check_exactly_one;
use crate::action::{ActionNode, Selection, unsupported};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::{Auth, Connection, NameValue, NamedMap, OAuth2, OneOrMany, Scalar};
use crate::template::{HeaderSlot, QueryValue, Slot, Template, Text, Url, UrlBase};
use crate::world::HostPolicy;
use crate::yaml::{Location, Spanned};

use super::{HttpBody, HttpCredentials, HttpSpec, Method, Part};

/// Reports unsupported keys: as errors if the request makes no sense without them, else as warnings.
pub(super) fn check_unsupported(spec: &HttpSpec, compiler: &mut Compiler<'_>) {
    if let Some(connection) = &spec.connection {
        if !compiler.pack.connections.contains_key(connection.value.as_str()) {
            let known: Vec<String> = compiler.pack.connections.keys().map(|name| name.value.clone()).collect();
            compiler
                .error(
                    Code::UnknownReference,
                    connection.location,
                    format!("unknown connection `{}`", connection.value),
                )
                .did_you_mean(connection, connection.location.span(), known.iter().map(String::as_str));
        } else {
            unsupported::report_unsupported(compiler, connection.location, "`use`");
        }
    }
    if let Some(multipart) = &spec.multipart {
        multipart.values().for_each(|part| check_part(part, multipart.location, compiler));
        unsupported::report_unsupported(compiler, multipart.location, "`multipart`");
    }
    let retry =
        spec.retry.as_ref().map(|retry| (retry.location, "`retry` is not supported yet: each request is sent once"));
    let pages = spec
        .paginate
        .as_ref()
        .map(|pages| (pages.location, "`paginate` is not supported yet: only the first page is read"));
    for (at, words) in [retry, pages].into_iter().flatten() {
        compiler.warning(Code::Unimplemented, at, words);
    }
    check_paginate(spec, compiler);
}

pub(super) fn check_part(part: &Part, at: Location, compiler: &mut Compiler<'_>) {
    match part {
        Part::Text(text) => {
            let _: Option<Template<Text>> = compiler.template(&text.to_text(), Exposure::Private);
        }
        Part::File(part) => match &part.file {
            Some(file) => {
                compiler.resolve_file(file, file.location);
            }
            None => {
                compiler.error(Code::MissingKey, at, "missing key `file` in a part of `multipart`");
            }
        },
    }
}

pub(super) fn check_paginate(spec: &HttpSpec, compiler: &mut Compiler<'_>) {
    let Some(pages) = &spec.paginate else { return };
    let keys = [("next", pages.next.is_some()), ("cursor", pages.cursor.is_some()), ("page", pages.page.is_some())];
    check_exactly_one("paginate", pages.location, &keys, compiler);
    if pages.cursor.is_some() != pages.parameter.is_some() {
        compiler.error(Code::Conflict, pages.location, "`cursor` and `parameter` require each other");
    }
    let next = pages.next.as_ref().filter(|next| next.value != "link");
    for expression in [next, pages.cursor.as_ref(), pages.items.as_ref()].into_iter().flatten() {
        Selection::compile(expression, compiler);
    }
}

pub(super) fn compile_url(node: &ActionNode<'_, HttpSpec>, compiler: &mut Compiler<'_>) -> Option<Template<Url>> {
    let spec = &node.spec.value;
    if spec.connection.is_some() {
        return None; // connections are not supported yet
    }
    let Some(text) = &spec.url else {
        compiler.error(Code::MissingKey, node.key, "missing key `url` in `http`");
        return None;
    };
    let template: Template<Url> = compiler.template(text, Exposure::Private)?;
    let own = matches!(template.url_base(), UrlBase::Literal | UrlBase::Relative);
    if own && !text.starts_with("http://") && !text.starts_with("https://") {
        compiler
            .error(Code::Uri, text.location, "missing or unsupported URL scheme")
            .help("begin the URL with `http://` or `https://`");
        return None;
    }
    Some(template)
}

pub(super) fn check_expect(spec: &HttpSpec, compiler: &mut Compiler<'_>) {
    for status in spec.expect.iter().flatten().filter(|status| !(100..600).contains(&status.value)) {
        report_status(status.value, status.location, compiler);
    }
}

fn report_status(status: impl std::fmt::Display, at: Location, compiler: &mut Compiler<'_>) {
    compiler.error(Code::BadValue, at, format!("invalid HTTP status `{status}`")).help("use a number from 100 to 599");
}

pub(super) fn compile_parameters(
    written: &NamedMap<OneOrMany>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Vec<Template<QueryValue>>)>> {
    let mut all = Vec::with_capacity(written.len());
    for (name, values) in written {
        let templates: Vec<_> =
            values.items().iter().map(|value| compiler.template(&value.to_text(), Exposure::Private)).collect();
        let templates: Option<Vec<_>> = templates.into_iter().collect();
        all.push(templates.map(|templates| (name.value.clone(), templates)));
    }
    all.into_iter().collect()
}

pub(super) fn compile_headers(
    written: &NamedMap<Spanned<Scalar>>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Template<HeaderSlot>)>> {
    let mut all = Vec::with_capacity(written.len());
    for (name, value) in written {
        check_header_name(name, compiler);
        let text = value.to_text();
        if text.chars().any(|letter| letter.is_control() && letter != '\t') {
            compiler
                .error(Code::BadValue, text.location, "a header must not contain control characters")
                .help("write `|-` in place of `|`: a block after `|` ends with a line feed");
        }
        let template = compiler.template(&text, Exposure::Private);
        all.push(template.map(|template| (name.value.clone(), template)));
    }
    all.into_iter().collect()
}

pub(super) fn check_header_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        compiler.error(Code::BadName, name.location, format!("invalid header name `{}`", name.value.escape_debug()));
    }
    if matches!(name.to_lowercase().as_str(), "host" | "content-length" | "transfer-encoding" | "connection") {
        compiler.error(Code::BadName, name.location, format!("reserved header `{}`: folio sets it", name.value));
    }
}

pub(super) fn compile_credentials(auth: &Spanned<Auth>, compiler: &mut Compiler<'_>) -> Option<HttpCredentials> {
    let keys = [
        ("bearer", auth.bearer.is_some()),
        ("basic", auth.basic.is_some()),
        ("header", auth.header.is_some()),
        ("query", auth.query.is_some()),
        ("oauth2", auth.oauth2.is_some()),
    ];
    check_exactly_one("auth", auth.location, &keys, compiler)?;
    if let Some(token) = &auth.bearer {
        return compiler.template(token, Exposure::Private).map(HttpCredentials::Bearer);
    }
    if let Some(basic) = &auth.basic {
        let username = required_template(basic.username.as_ref(), basic.location, "`username` in `basic`", compiler);
        let password = required_template(basic.password.as_ref(), basic.location, "`password` in `basic`", compiler);
        return username.zip(password).map(|(username, password)| HttpCredentials::Basic(username, password));
    }
    if let Some(own) = &auth.header {
        own.name.iter().for_each(|name| check_header_name(name, compiler));
        return compile_name_value(own, "header", compiler).map(|(name, value)| HttpCredentials::Header(name, value));
    }
    if let Some(own) = &auth.query {
        return compile_name_value(own, "query", compiler).map(|(name, value)| HttpCredentials::Query(name, value));
    }
    auth.oauth2.iter().for_each(|oauth2| check_oauth2(oauth2, compiler));
    unsupported::report_unsupported(compiler, auth.location, "`oauth2`");
    None
}

pub(super) fn check_oauth2(written: &Spanned<OAuth2>, compiler: &mut Compiler<'_>) {
    let _: Option<Template<Url>> =
        required_template(written.token_url.as_ref(), written.location, "`tokenUrl` in `oauth2`", compiler);
    for (text, what) in
        [(&written.client_id, "`clientId` in `oauth2`"), (&written.client_secret, "`clientSecret` in `oauth2`")]
    {
        let _: Option<Template<Text>> = required_template(text.as_ref(), written.location, what, compiler);
    }
}

fn compile_name_value<S: Slot>(
    own: &Spanned<NameValue>,
    parent: &str,
    compiler: &mut Compiler<'_>,
) -> Option<(String, Template<S>)> {
    if own.name.is_none() {
        compiler.error(Code::MissingKey, own.location, format!("missing key `name` in `{parent}`"));
    }
    let value = required_template(own.value.value.as_ref(), own.location, &format!("`value` in `{parent}`"), compiler);
    own.name.as_ref().map(|name| name.value.clone()).zip(value)
}

pub(super) fn required_template<S: Slot>(
    text: Option<&Spanned<String>>,
    at: Location,
    what: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Template<S>> {
    if text.is_none() {
        compiler.error(Code::MissingKey, at, format!("missing key {what}"));
    }
    compiler.optional_template(text, Exposure::Private)
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
        return Some(HttpBody::Json(compiler.json_template(&placed.value, placed.location, Exposure::Private)));
    }
    if let Some(form) = &spec.form {
        return compile_parameters(form, compiler).map(HttpBody::Form);
    }
    match &spec.body {
        Some(body) => {
            let text = compiler.resolve_text(body)?;
            compiler.template(&text, Exposure::Private).map(HttpBody::Text)
        }
        None => Some(HttpBody::None),
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

pub(super) fn compile_on_error(spec: &HttpSpec, compiler: &mut Compiler<'_>) -> Option<Vec<(u16, Template<Text>)>> {
    let mut all = Vec::with_capacity(spec.on_error.len());
    for (status, words) in &spec.on_error {
        let number = status.parse::<u16>().ok().filter(|number| (100..600).contains(number));
        if number.is_none() {
            report_status(&status.value, status.location, compiler);
        }
        let template = compiler.template(words, Exposure::Client);
        all.push(number.zip(template));
    }
    all.into_iter().collect()
}

/// The hosts that may be private: those that are written in the manifest.
pub(super) fn compile_host_policy(
    spec: &HttpSpec,
    url: Option<&Template<Url>>,
    compiler: &mut Compiler<'_>,
) -> Option<HostPolicy> {
    let mut policy = HostPolicy::default();
    for host in spec.allow.iter().flatten() {
        match host.contains("{{") {
            true => allow_variable(host, &mut policy, compiler),
            false => allow_host(host, &mut policy, compiler),
        }
    }
    let literal = match url.map(|url| (url.url_base(), url.source())) {
        Some((UrlBase::Literal, text)) => url::Url::parse(text.split("{{").next().unwrap_or_default()).ok(),
        Some((UrlBase::Env(name), _)) => {
            let default = compiler.pack.env.variables.get(name).and_then(|variable| variable.default.as_deref());
            default.and_then(|default| url::Url::parse(default).ok())
        }
        _ => None,
    };
    if let Some(literal) = literal {
        policy.allow_url(&literal);
    }
    Some(policy)
}

fn allow_host(host: &Spanned<String>, policy: &mut HostPolicy, compiler: &mut Compiler<'_>) {
    if policy.allow(host).is_err() {
        compiler
            .error(Code::BadValue, host.location, format!("invalid host `{}`", host.value))
            .help("write `host` or `host:port`");
    }
}

/// Allows the hosts in a variable, which the user of the server sets.
fn allow_variable(host: &Spanned<String>, policy: &mut HostPolicy, compiler: &mut Compiler<'_>) {
    let Some(template): Option<Template<Text>> = compiler.template(host, Exposure::Private) else { return };
    let name = match template.single_path() {
        Some([env, name]) if env == "env" => Some(name),
        _ => None,
    };
    let Some(name) = name else {
        compiler
            .error(
                Code::Unsafe,
                host.location,
                "invalid entry in `allow`: expected a host, or exactly one `{{env.NAME}}`",
            )
            .help("an argument must not choose which private hosts are reached");
        return;
    };
    let value = compiler.pack.env.variables.get(name).and_then(|variable| variable.value.clone()).unwrap_or_default();
    let hosts = value.split(',').map(str::trim).filter(|host| !host.is_empty());
    // The value may be a secret.
    if hosts.map(|host| policy.allow(host)).any(|allowed| allowed.is_err()) {
        compiler
            .error(Code::BadValue, host.location, format!("invalid host in the value of `{name}`"))
            .help("write `host` or `host:port`, separated by commas");
    }
}

/// Checks a connection, which is not supported yet.
pub fn check_connection(name: &Spanned<String>, written: &Spanned<Connection>, compiler: &mut Compiler<'_>) {
    match &written.url {
        None => {
            compiler.error(
                Code::MissingKey,
                name.location,
                format!("missing key `url` in connection `{}`", name.value),
            );
        }
        Some(url) => {
            let _: Option<Template<Url>> = compiler.template(url, Exposure::Private);
        }
    }
    compile_headers(&written.headers, compiler);
    let _ = written.auth.as_ref().map(|auth| compile_credentials(auth, compiler));
}
