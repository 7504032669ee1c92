//! The connections of a pack: bases that requests share.

use std::path::Path;

use crate::action::ActionKind;
use crate::action::literal_credential::warn_literal_in_url;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{CALLER, ScopeShape, Template, UrlSlot};
use crate::value_types::Connection;
use crate::yaml::Spanned;

use super::compile::{allow_hosts, compile_fail_if, compile_headers, compile_url_text};
use super::credentials::HttpCredentials;
use super::retry::RetryPolicy;
use super::tls_and_proxy::TlsAndProxy;
use super::{HttpAction, HttpSpec};

/// The connection that a request names in `use`; the outer `None` if there is no such connection, which is reported.
pub(super) fn find_connection<'a>(spec: &HttpSpec, compiler: &mut Compiler<'a>) -> Option<Option<&'a Connection>> {
    let Some(name) = &spec.connection else { return Some(None) };
    let pack = compiler.pack;
    if let Some((key, connection)) = pack.connections.get_key_value(name.value.as_str()) {
        compiler.load_context.used_keys.insert(key.location);
        return Some(Some(&connection.value));
    }
    let known = pack.connections.keys().map(|name| name.value.as_str());
    compiler
        .error(Code::UnknownReference, name.location, format!("unknown connection `{}`", name.value))
        .did_you_mean(name, known);
    None
}

/// Compiles what is part of a connection: its templates see who calls, and no arguments.
///
/// Its files are relative to the manifest, even if a request in another file uses it.
pub(super) fn in_connection_scope<'a, R>(compiler: &mut Compiler<'a>, work: impl FnOnce(&mut Compiler<'a>) -> R) -> R {
    let base = std::mem::replace(&mut compiler.base, Path::new(""));
    let names = ["env", "server"].into_iter().fold(ScopeShape::new(), |names, name| {
        match compiler.scope_shape.get(name).cloned() {
            Some(shape) => names.with_name(name, shape),
            None => names,
        }
    });
    // An argument of that name is not who calls.
    let is_argument =
        compiler.scope_shape.get(CALLER).is_some() && !compiler.scope_shape.is_of_caller(&[CALLER.to_owned()]);
    let names = if is_argument { names } else { names.with_caller(&compiler.caller_headers()) };
    let result = compiler.with_scope_shape(names, work);
    compiler.base = base;
    result
}

/// The URL of a connection, to which requests append theirs.
pub(super) fn compile_base(connection: &Connection, compiler: &mut Compiler<'_>) -> Option<Template<UrlSlot>> {
    let text = connection.url.as_ref()?;
    let template = in_connection_scope(compiler, |compiler| compile_url_text(text, compiler))?;
    if text.contains(['?', '#']) {
        compiler
            .error(Code::Uri, text.location, "the `url` of a connection must not contain a query or a fragment")
            .help("write the parameters in `query` of each request");
        return None;
    }
    Some(template)
}

/// The URL of a request below that of its connection.
pub(super) fn compile_path(spec: &HttpSpec, compiler: &mut Compiler<'_>) -> Option<Template<UrlSlot>> {
    let empty = Spanned::new(String::new(), spec.connection.as_ref()?.location);
    let text = spec.url.as_ref().unwrap_or(&empty);
    if !text.is_empty() && !text.starts_with(['/', '?', '#']) {
        compiler
            .error(Code::Uri, text.location, "expected a path: the request uses a connection")
            .help("begin it with `/`, or remove `use`");
        return None;
    }
    warn_literal_in_url(text, compiler);
    compiler.template(text, Exposure::Private)
}

/// Checks a connection by itself.
pub fn check_connection(name: &Spanned<String>, connection: &Spanned<Connection>, compiler: &mut Compiler<'_>) {
    if connection.url.is_none() {
        let message = format!("missing key `url` in connection `{}`", name.value);
        compiler.error(Code::MissingKey, name.location, message);
    }
    compile_base(connection, compiler);
    in_connection_scope(compiler, |compiler| {
        compile_headers(connection.headers.iter(), compiler);
        connection.auth.as_ref().map(|auth| HttpCredentials::compile(auth, compiler))
    });
    compile_fail_if(&HttpSpec::default(), Some(connection), &HttpAction::outcome_shape(), compiler);
    TlsAndProxy::compile(Some(connection), compiler);
    RetryPolicy::compile(None, connection.retry.as_ref(), "GET", compiler);
    allow_hosts(connection.allow.as_ref(), compiler);
    // Where something is wrong, what uses it may not have been read.
    if !compiler.load_context.used_keys.contains(&name.location) && !compiler.load_context.report.has_errors() {
        compiler
            .warning(Code::Unused, name.location, format!("connection `{}` is never used", name.value))
            .help(format!("write `use: {}` in a request", name.value));
    }
}
