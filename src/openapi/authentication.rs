//! Security schemes, as what a connection sends to say who it is.

use serde_json::{Map, Value};

use super::base_url::{warn_left_out, without_credentials};
use super::description_text;
use super::document::{ApiDocument, ApiNode, DescriptionVersion, object};
use super::operation::Operation;
use super::template_text::TemplateText;
use crate::action::is_header_name;
use crate::diagnostic::Code;

/// How a request says who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    Bearer,
    Basic,
    Header(TemplateText),
    Query(TemplateText),
    /// The name, and `=`.
    Cookie(TemplateText),
    OAuth2 {
        token_url: TemplateText,
    },
}

/// A scheme that was translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecurityScheme {
    /// Its name in the description.
    pub(super) name: String,
    pub(super) credentials: Credentials,
    /// What it is for, for people.
    pub(super) about: String,
}

/// A variable that holds a part of a scheme's credentials.
pub(super) struct CredentialVariable {
    /// The end of its name.
    pub(super) suffix: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Whether nobody else may see it.
    pub(super) is_secret: bool,
}

const fn secret_variable(suffix: &'static str, about: &'static str) -> CredentialVariable {
    CredentialVariable { suffix, about, is_secret: true }
}

const fn plain_variable(suffix: &'static str, about: &'static str) -> CredentialVariable {
    CredentialVariable { suffix, about, is_secret: false }
}

/// What an operation asks for: a scheme, and what else goes along with it in headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Requirement {
    pub(super) scheme: Option<SecurityScheme>,
    pub(super) others: Vec<SecurityScheme>,
    pub(super) scopes: Vec<TemplateText>,
}

/// The alternatives of an operation that can be translated, the first first. Empty where it asks for nothing.
pub(super) fn requirements(operation: &Operation<'_>, document: &ApiDocument) -> Vec<Requirement> {
    let Some(security) = operation.node.get("security").or_else(|| document.root().get("security")) else {
        return Vec::new();
    };
    security.items().filter_map(|alternative| translate_alternative(alternative, document)).collect()
}

/// One alternative: all of its schemes together. `None` where one of them cannot be translated.
fn translate_alternative(alternative: ApiNode<'_>, document: &ApiDocument) -> Option<Requirement> {
    let mut requirement = Requirement::default();
    for (name, scopes) in alternative.entries() {
        let scheme = find_scheme(name, alternative, document)?;
        requirement.scopes.extend(scopes.items().filter_map(|scope| read_scope(scope, document)));
        match (&requirement.scheme, &scheme.credentials) {
            (None, _) => requirement.scheme = Some(scheme),
            (Some(_), Credentials::Header(_)) => requirement.others.push(scheme),
            (Some(_), _) => {
                let message = format!("unsupported combination of security schemes with `{name}`");
                document.warn_with_help(alternative, message, "a connection has one `auth`, and any number of headers");
                return None;
            }
        }
    }
    Some(requirement)
}

/// A scope. `None` where it has letters that RFC 6749 does not allow.
fn read_scope(scope: ApiNode<'_>, document: &ApiDocument) -> Option<TemplateText> {
    let text = scope.value.as_str()?;
    let is_scope = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
    let literal = is_scope.then(|| TemplateText::literal(text)).flatten();
    if literal.is_none() {
        document.warn(scope, Code::WrongType, "invalid OAuth scope: it is left out");
    }
    literal
}

fn find_scheme(name: &str, at: ApiNode<'_>, document: &ApiDocument) -> Option<SecurityScheme> {
    let schemes = match document.version {
        DescriptionVersion::Swagger2 => document.root().get("securityDefinitions"),
        _ => document.root().get("components").and_then(|components| components.get("securitySchemes")),
    };
    let Some(node) = schemes.and_then(|schemes| schemes.get(name)) else {
        let label = description_text::plain_line(crate::diagnostic::truncate(name, 40).as_ref());
        document.warn_with_help(at, format!("unknown security scheme `{label}`"), CALLED_WITHOUT_HELP);
        return None;
    };
    let node = document.resolve(node)?;
    let credentials = credentials(node, document)?;
    let about = description_text::plain(node.text("description").unwrap_or_default(), description_text::ARGUMENT_CHARS);
    let about = description_text::plain_line(&about);
    Some(SecurityScheme { name: name.to_owned(), credentials, about })
}

fn credentials(node: ApiNode<'_>, document: &ApiDocument) -> Option<Credentials> {
    let kind = node.text("type").unwrap_or_default();
    let name = node.text("name").unwrap_or_default();
    match (kind, node.text("scheme").map(str::to_ascii_lowercase).as_deref(), node.text("in")) {
        ("http", Some("bearer"), _) => Some(Credentials::Bearer),
        ("http", Some("basic"), _) | ("basic", ..) => Some(Credentials::Basic),
        ("apiKey", _, Some("header")) if is_bearer(name, node) => Some(Credentials::Bearer),
        ("apiKey", _, Some(location @ ("header" | "query" | "cookie"))) => api_key(location, node, document),
        ("oauth2", ..) => client_credentials(node, document),
        _ => {
            let label = format!("{kind} {}", node.text("scheme").unwrap_or_default());
            warn_untranslated(&format!("security scheme `{}`", description_text::plain_line(&label)), node, document);
            None
        }
    }
}

/// A key in a place. `None` where no request can hold its name.
fn api_key(location: &str, node: ApiNode<'_>, document: &ApiDocument) -> Option<Credentials> {
    let name = node.text("name").unwrap_or_default();
    let text = match location {
        "query" => TemplateText::literal(name).filter(|_| !name.is_empty()).map(Credentials::Query),
        _ if !is_header_name(name) => None,
        // The names of cookies have the letters of those of headers.
        "cookie" => TemplateText::literal(&format!("{name}=")).map(Credentials::Cookie),
        _ => TemplateText::literal(name).map(Credentials::Header),
    };
    if text.is_none() {
        let label = description_text::plain_line(crate::diagnostic::truncate(name, 40).as_ref());
        warn_untranslated(&format!("name `{label}` of a security scheme"), node, document);
    }
    text
}

/// Whether a key in `Authorization` is what everybody calls a bearer token.
fn is_bearer(name: &str, node: ApiNode<'_>) -> bool {
    let description = node.text("description").unwrap_or_default().to_ascii_lowercase();
    name.eq_ignore_ascii_case("authorization") && description.contains("bearer")
}

fn client_credentials(node: ApiNode<'_>, document: &ApiDocument) -> Option<Credentials> {
    let flow = match document.version {
        DescriptionVersion::Swagger2 => Some(node).filter(|node| node.text("flow") == Some("application")),
        _ => node.get("flows").and_then(|flows| flows.get("clientCredentials")),
    };
    let token_url = flow.and_then(|flow| flow.text("tokenUrl")).filter(|url| is_plain_url(url));
    let token_url = token_url.map(|written| match url::Url::parse(written).map(without_credentials) {
        Ok((bare, true)) => {
            warn_left_out("token URL", node, document);
            bare.into()
        }
        _ => written.to_owned(),
    });
    let token_url = token_url.and_then(|url| TemplateText::literal(&url));
    if token_url.is_none() {
        let flows: Vec<&str> = match document.version {
            DescriptionVersion::Swagger2 => node.text("flow").into_iter().collect(),
            _ => node.get("flows").into_iter().flat_map(ApiNode::entries).map(|(name, _)| name).collect(),
        };
        let label = description_text::plain_line(&flows.join("`, `"));
        warn_untranslated(&format!("OAuth flow `{label}`"), node, document);
    }
    Some(Credentials::OAuth2 { token_url: token_url? })
}

/// Whether a URL can stand in a manifest as it is.
fn is_plain_url(url: &str) -> bool {
    let http = url.starts_with("https://") || url.starts_with("http://");
    http && url::Url::parse(url).is_ok()
}

fn warn_untranslated(what: &str, at: ApiNode<'_>, document: &ApiDocument) {
    let help = match at.text("type") {
        Some("mutualTLS") => "write `tls: { clientCert: FILE, clientKey: FILE }` into the connection by hand",
        _ => CALLED_WITHOUT_HELP,
    };
    document.warn_with_help(at, format!("unsupported {what}"), help);
}

const CALLED_WITHOUT_HELP: &str =
    "operations that require it are called without credentials: write `auth` into the connection";

impl Credentials {
    /// The variables that hold it.
    pub(super) fn variables(&self) -> &'static [CredentialVariable] {
        match self {
            Credentials::Bearer => &const { [secret_variable("token", "The token")] },
            Credentials::Basic => {
                &const { [plain_variable("username", "The user's name"), secret_variable("password", "The user's password")] }
            }
            Credentials::Header(_) | Credentials::Query(_) | Credentials::Cookie(_) => {
                &const { [secret_variable("api_key", "The key")] }
            }
            Credentials::OAuth2 { .. } => {
                &const {
                    [
                        plain_variable("client_id", "The client's identifier"),
                        secret_variable("client_secret", "The client's secret"),
                    ]
                }
            }
        }
    }

    /// The `auth` of a connection, from the variables that hold it.
    pub(super) fn auth(&self, variables: &[String], scopes: &[TemplateText]) -> Value {
        let variable = |index: usize| TemplateText::variable(variables.get(index).map_or("", String::as_str));
        let placeholder = |index: usize| Value::from(variable(index));
        let named = |name: TemplateText, value: Value| object([("name", name.into()), ("value", value)]);
        match self {
            Credentials::Bearer => object([("bearer", placeholder(0))]),
            Credentials::Basic => {
                object([("basic", object([("username", placeholder(0)), ("password", placeholder(1))]))])
            }
            Credentials::Header(name) => object([("header", named(name.clone(), placeholder(0)))]),
            Credentials::Query(name) => object([("query", named(name.clone(), placeholder(0)))]),
            Credentials::Cookie(head) => {
                let mut value = head.clone();
                value.push(&variable(0));
                object([("header", object([("name", "Cookie".into()), ("value", value.into())]))])
            }
            Credentials::OAuth2 { token_url } => {
                let mut keys = Map::new();
                keys.insert("tokenUrl".to_owned(), token_url.clone().into());
                keys.insert("clientId".to_owned(), placeholder(0));
                keys.insert("clientSecret".to_owned(), placeholder(1));
                if !scopes.is_empty() {
                    keys.insert("scopes".to_owned(), scopes.iter().cloned().map(Value::from).collect());
                }
                object([("oauth2", Value::Object(keys))])
            }
        }
    }
}
