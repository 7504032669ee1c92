//! `tls` and `proxy` of a connection.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::compile::{Compiler, Grants};
use crate::diagnostic::Code;
use crate::template::{Scope, ScopeConstants, Template, UrlSlot};
use crate::value_types::{Connection, ConnectionTls};
use crate::world::{Certificates, ClientIdentity, HttpRequest, Proxy, TlsFileError, TlsOptions};
use crate::yaml::Spanned;

use super::compile::{allow_hosts, compile_url_text, literal_url};
use super::connection::in_connection_scope;

/// How the servers of a connection are reached.
#[derive(Default)]
pub(super) struct TlsAndProxy {
    tls: TlsOptions,
    proxy: Option<Arc<Proxy>>,
}

impl TlsAndProxy {
    /// Compiles `tls` and `proxy` of a connection, if there is one.
    pub(super) fn compile(connection: Option<&Connection>, compiler: &mut Compiler<'_>) -> Option<TlsAndProxy> {
        let Some(connection) = connection else { return Some(TlsAndProxy::default()) };
        in_connection_scope(compiler, |compiler| {
            let tls = match &connection.tls {
                Some(tls) => compile_tls(tls, compiler),
                None => Some(TlsOptions::default()),
            };
            let proxy = match &connection.proxy {
                Some(proxy) => compile_proxy(proxy, connection, compiler),
                None => Some(None),
            };
            Some(TlsAndProxy { tls: tls?, proxy: proxy? })
        })
    }

    pub(super) fn add_to(&self, request: &mut HttpRequest) {
        request.tls = self.tls.clone();
        request.proxy = self.proxy.clone();
    }
}

fn compile_tls(tls: &Spanned<ConnectionTls>, compiler: &mut Compiler<'_>) -> Option<TlsOptions> {
    if let (Some(_), None) | (None, Some(_)) = (&tls.client_cert, &tls.client_key) {
        compiler.error(Code::Conflict, tls.location, "`clientCert` and `clientKey` require each other");
        return None;
    }
    let authorities = match &tls.ca {
        Some(ca) => Some(read_certificates(ca, compiler)?),
        None => None,
    };
    let identity = match tls.client_cert.as_ref().zip(tls.client_key.as_ref()) {
        Some((certificate, key)) => {
            let certificates = read_certificates(certificate, compiler)?;
            let pem = compiler.read_trusted_file(key)?;
            Some(ClientIdentity::parse(certificates, &pem).map_err(|error| report(key, error, compiler)).ok()?)
        }
        None => None,
    };
    Some(TlsOptions::new(authorities, identity))
}

fn read_certificates(file: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Certificates> {
    let pem = compiler.read_trusted_file(file)?;
    Certificates::parse(&pem).map_err(|error| report(file, error, compiler)).ok()
}

fn report(file: &Spanned<String>, error: TlsFileError, compiler: &mut Compiler<'_>) {
    let help = match error {
        TlsFileError::NoCertificate | TlsFileError::MalformedCertificate => {
            "a certificate in PEM begins with `-----BEGIN CERTIFICATE-----`"
        }
        TlsFileError::NoKey | TlsFileError::UnsupportedKey => {
            "use an RSA, ECDSA or Ed25519 key in PEM, which begins with `-----BEGIN PRIVATE KEY-----`"
        }
        TlsFileError::EncryptedKey => "remove its passphrase: `openssl pkey -in OLD -out NEW`",
        TlsFileError::KeyMismatch => {
            "use the key that `clientCert` was issued for, which must be its first certificate"
        }
    };
    compiler.error(Code::BadValue, file.location, format!("`{}`: {error}", file.value)).help(help);
}

/// The proxy; an absent or empty URL means no proxy. Its values are known when the manifest is loaded.
fn compile_proxy(
    written: &Spanned<String>,
    connection: &Connection,
    compiler: &mut Compiler<'_>,
) -> Option<Option<Arc<Proxy>>> {
    let template = compile_url_text(written, compiler)?;
    let constants =
        ScopeConstants { env: compiler.pack.env.values(), server: compiler.pack.server.clone(), fixed_time: None };
    let scope = Scope::new(Map::new(), Arc::new(constants));
    let rendered = template.render(&scope).map(|url| url.text);
    if is_empty(&template, &scope) || rendered.as_ref().is_ok_and(String::is_empty) {
        return Some(None);
    }
    let url = rendered.ok().and_then(|text| url::Url::parse(&text).ok()).filter(url::Url::has_host);
    if url.as_ref().is_some_and(|url| url.password().is_some()) {
        template.read_paths().iter().for_each(|path| compiler.check_is_secret(path, written.location));
    }
    let proxy = url.and_then(|url| proxy_at(url, &template, connection, compiler));
    if proxy.is_none() {
        // The value may be a secret.
        compiler
            .error(Code::Uri, written.location, "invalid URL of a proxy")
            .help("such as `http://proxy.example:3128`, or `http://user:password@proxy.example:3128`");
    }
    Some(Some(proxy?))
}

/// Whether the proxy is written with variables that are all absent or empty.
fn is_empty(template: &Template<UrlSlot>, scope: &Scope) -> bool {
    let mut values =
        template.read_paths().iter().map(|path| scope.get(path).and_then(Value::as_str).unwrap_or_default());
    !template.read_paths().is_empty() && values.all(str::is_empty)
}

fn proxy_at(
    url: url::Url,
    template: &Template<UrlSlot>,
    connection: &Connection,
    compiler: &mut Compiler<'_>,
) -> Option<Arc<Proxy>> {
    let mut policy = allow_hosts(connection.allow.as_ref(), compiler);
    match compiler.pack.grants {
        // Whoever serves the manifest chose the proxy.
        Grants::All => policy.allow_url(&url),
        Grants::Only(_) => literal_url(template, compiler).iter().for_each(|literal| policy.allow_url(literal)),
    }
    Proxy::new(url, policy).ok().map(Arc::new)
}
