//! Security schemes, as what a connection sends to say who it is.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::base_url::{warn_left_out, without_credentials};
use super::description_text;
use super::document::{ApiDocument, ApiNode, object};
use super::operation::Operation;
use super::parameter::{Parameter, ParameterLocation};
use super::template_text::TemplateText;
use crate::action::is_header_name;
use crate::diagnostic::Code;

/// Parameters that are a key where most operations take them.
const KEY_PARAMETERS: &[&str] =
    &["api_key", "apikey", "api-key", "x-api-key", "access_token", "auth_token", "key", "token"];

/// The header that holds all cookies.
pub(super) const COOKIE: &str = "Cookie";

/// How a request says who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    Bearer,
    Basic {
        /// Whether the user's name is the key.
        secret_username: bool,
    },
    Header(TemplateText),
    Query(TemplateText),
    /// The name, and `=`.
    Cookie(TemplateText),
    OAuth2 {
        token_url: TemplateText,
    },
}

/// A scheme that was translated.
#[derive(Debug, Clone)]
pub(super) struct SecurityScheme<'d> {
    /// Its name in the description.
    pub(super) name: String,
    pub(super) credentials: Credentials,
    /// What it is for, for people.
    pub(super) about: String,
    /// Whether requests are sent without it where it is not set.
    pub(super) is_optional: bool,
    /// Where its token comes from, where that is not by itself; and where it is described.
    pub(super) token_source: Option<(ApiNode<'d>, String)>,
    /// The parameter that it is.
    parameter: Option<ParameterKey>,
}

/// A variable that holds a part of a scheme's credentials.
pub(super) struct CredentialVariable {
    /// The end of its name.
    pub(super) suffix: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    pub(super) is_secret: bool,
    /// Whether requests are sent without it.
    pub(super) is_optional: bool,
}

/// What an operation asks for: all of some schemes together.
#[derive(Debug, Clone, Default)]
pub(super) struct Requirement<'d> {
    /// The first is the `auth` of the connection; others are headers, or parameters of each query.
    pub(super) schemes: Vec<SecurityScheme<'d>>,
    pub(super) scopes: Vec<TemplateText>,
    /// The parameters of the operation that hold what a scheme has.
    pub(super) held: Vec<ParameterKey>,
}

/// The name of a parameter in lower case, and its place.
type ParameterKey = (String, ParameterLocation);

fn key_of(parameter: &Parameter<'_>) -> ParameterKey {
    (parameter.name.to_ascii_lowercase(), parameter.location)
}

/// The credentials that a request has of its own, and the parameters that hold what the connection has.
#[derive(Default)]
pub(super) struct RequestCredentials<'r> {
    pub(super) query: Vec<(String, TemplateText)>,
    pub(super) schemes: &'r [SecurityScheme<'r>],
    pub(super) held: &'r [ParameterKey],
}

impl RequestCredentials<'_> {
    /// Whether the connection has a `Cookie` header, in whose place one of the request would be sent.
    pub(super) fn has_cookie_header(&self) -> bool {
        !self.schemes.first().is_some_and(SecurityScheme::is_cookie)
            && self.schemes.iter().any(SecurityScheme::is_cookie)
    }

    /// Whether a parameter is not asked for, as it holds credentials.
    pub(super) fn covers(&self, parameter: &Parameter<'_>) -> bool {
        let key = key_of(parameter);
        self.held.contains(&key) || self.schemes.iter().any(|scheme| scheme.parameter.as_ref() == Some(&key))
    }
}

/// The schemes of a description, and the keys that most of its operations take as parameters.
pub(super) struct SecuritySchemes<'d> {
    document: &'d ApiDocument,
    keys: Vec<SecurityScheme<'d>>,
}

impl<'d> SecuritySchemes<'d> {
    pub(super) fn new(operations: &[Operation<'d>], document: &'d ApiDocument) -> SecuritySchemes<'d> {
        let mut found: IndexMap<ParameterKey, (usize, usize, Parameter<'d>)> = IndexMap::new();
        for parameter in operations.iter().flat_map(|operation| operation.parameters(document)) {
            let name = parameter.name.to_ascii_lowercase();
            let in_head = matches!(parameter.location, ParameterLocation::Query | ParameterLocation::Header);
            if in_head && KEY_PARAMETERS.contains(&name.as_str()) {
                let required = usize::from(parameter.required);
                let (uses, requiring, _) = found.entry((name, parameter.location)).or_insert((0, 0, parameter));
                (*uses, *requiring) = (*uses + 1, *requiring + required);
            }
        }
        let mut keys = Vec::new();
        for (parameter, (uses, requiring, written)) in found {
            let name = TemplateText::literal(written.name);
            let Some(name) = name.filter(|_| uses * 2 > operations.len()) else { continue };
            let credentials = match written.location {
                ParameterLocation::Query => Credentials::Query(name),
                _ => Credentials::Header(name),
            };
            let about = description_text::plain(written.description, description_text::ARGUMENT_CHARS);
            keys.push(SecurityScheme {
                name: written.name.to_owned(),
                credentials,
                about: description_text::plain_line(&about),
                is_optional: requiring < uses,
                token_source: None,
                parameter: Some(parameter),
            });
        }
        SecuritySchemes { document, keys }
    }

    /// The alternatives of an operation that can be translated, the best first. Empty where it asks for nothing.
    pub(super) fn requirements(&self, operation: &Operation<'d>) -> Vec<Requirement<'d>> {
        let security = operation.node.get("security").or_else(|| self.document.root().get("security"));
        let alternatives = security.into_iter().flat_map(ApiNode::items);
        let mut accepted: Vec<Requirement<'d>> =
            alternatives.filter_map(|alternative| self.translate_alternative(alternative)).collect();
        // Who may send credentials does: an API often gives more to those that it knows.
        accepted.sort_by_key(|requirement| match requirement.schemes.first().map(|scheme| &scheme.credentials) {
            Some(Credentials::Basic { .. }) => 1,
            Some(_) => 0,
            None => 2,
        });
        let taken: Vec<ParameterKey> = operation.parameters(self.document).iter().map(key_of).collect();
        let keys = self.keys.iter().filter_map(|key| Some((key, key.parameter.as_ref()?)));
        for (key, parameter) in keys.filter(|(_, parameter)| taken.contains(parameter)) {
            if accepted.is_empty() {
                accepted.push(Requirement::default());
            }
            for requirement in &mut accepted {
                // A token goes in the header, where both are taken; of a key that may go in several places one is enough.
                let is_held = |scheme: &SecurityScheme<'_>| {
                    scheme.credentials == Credentials::Bearer && parameter.0.contains("token")
                        || is_same_key(scheme, key)
                };
                match requirement.schemes.iter().any(is_held) {
                    true => requirement.held.push(parameter.clone()),
                    false => requirement.schemes.push(key.clone()),
                }
            }
        }
        accepted
    }

    /// One alternative: all of its schemes together. `None` where one of them cannot be translated.
    fn translate_alternative(&self, alternative: ApiNode<'d>) -> Option<Requirement<'d>> {
        let mut requirement = Requirement::default();
        for (name, scopes) in alternative.entries() {
            let scheme = find_scheme(name, alternative, self.document)?;
            requirement.scopes.extend(scopes.items().filter_map(|scope| read_scope(scope, self.document)));
            requirement.schemes.push(scheme);
        }
        let is_header = |scheme: &SecurityScheme<'_>| scheme.credentials.is_header();
        // What can only be `auth` is.
        requirement.schemes.sort_by_key(|scheme| match scheme.credentials {
            Credentials::Basic { .. } | Credentials::OAuth2 { .. } => 0,
            // To the cookie in `auth`, requests add theirs.
            Credentials::Cookie(_) => 1,
            Credentials::Query(_) => 2,
            _ => 3,
        });
        let is_only_auth =
            |scheme: &&SecurityScheme<'_>| !is_header(scheme) && !matches!(scheme.credentials, Credentials::Query(_));
        if let Some(second) = requirement.schemes.iter().skip(1).find(is_only_auth) {
            let message = format!("unsupported combination of security schemes with `{}`", second.name);
            self.document.warn_with_help(
                alternative,
                message,
                "a connection has one `auth`, and any number of headers",
            );
            return None;
        }
        Some(requirement)
    }
}

/// Whether two schemes are one key in two places.
fn is_same_key(one: &SecurityScheme<'_>, other: &SecurityScheme<'_>) -> bool {
    one.parameter.as_ref().zip(other.parameter.as_ref()).is_some_and(|((one, _), (other, _))| {
        let bare = |name: &str| name.trim_start_matches("x-").replace(['-', '_'], "");
        bare(one) == bare(other)
    })
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

fn find_scheme<'d>(name: &str, at: ApiNode<'d>, document: &'d ApiDocument) -> Option<SecurityScheme<'d>> {
    let root = document.root();
    let schemes = root.get("components").and_then(|components| components.get("securitySchemes"));
    let mut schemes = schemes.into_iter().chain(root.get("securityDefinitions"));
    let Some(node) = schemes.find_map(|schemes| schemes.get(name)) else {
        let label = description_text::plain_line(crate::diagnostic::truncate(name, 40).as_ref());
        document.warn_with_help(at, format!("unknown security scheme `{label}`"), CALLED_WITHOUT_HELP);
        return None;
    };
    let node = document.resolve(node)?;
    let credentials = credentials(node, document)?;
    let about = description_text::plain(node.text("description").unwrap_or_default(), description_text::ARGUMENT_CHARS);
    let token_source = token_source(node).filter(|_| credentials == Credentials::Bearer).map(|source| (node, source));
    let place = node.text("in").and_then(ParameterLocation::parse);
    let parameter = node.text("name").map(str::to_ascii_lowercase).zip(place);
    let about = description_text::plain_line(&about);
    Some(SecurityScheme { name: name.to_owned(), credentials, about, is_optional: false, token_source, parameter })
}

fn credentials(node: ApiNode<'_>, document: &ApiDocument) -> Option<Credentials> {
    let kind = node.text("type").unwrap_or_default();
    let name = node.text("name").unwrap_or_default();
    match (kind, node.text("scheme").map(str::to_ascii_lowercase).as_deref(), node.text("in")) {
        ("http", Some("bearer"), _) | ("openIdConnect", ..) => Some(Credentials::Bearer),
        ("http", Some("basic"), _) => {
            // Many take a key as the user's name.
            let description = node.text("description").unwrap_or_default().to_ascii_lowercase();
            let secret_username = ["key", "token"].iter().any(|word| description.contains(word));
            Some(Credentials::Basic { secret_username })
        }
        ("apiKey", _, Some("header")) if is_bearer(name, node) => Some(Credentials::Bearer),
        ("apiKey", _, Some(location @ ("header" | "query" | "cookie"))) => api_key(location, node, document),
        ("oauth2", ..) => Some(client_credentials(node, document).unwrap_or(Credentials::Bearer)),
        _ => {
            let label = format!("{kind} {}", node.text("scheme").unwrap_or_default());
            warn_untranslated(
                &format!("security scheme `{}`", description_text::plain_line(label.trim())),
                node,
                document,
            );
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

/// Credentials with which folio gets tokens by itself, where there is no other way to get one.
fn client_credentials(node: ApiNode<'_>, document: &ApiDocument) -> Option<Credentials> {
    let flows: Vec<(&str, ApiNode<'_>)> = node.get("flows").into_iter().flat_map(ApiNode::entries).collect();
    let [("clientCredentials", flow)] = flows.as_slice() else { return None };
    let written = flow.text("tokenUrl")?;
    let url = url::Url::parse(written).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    let token_url = match without_credentials(url) {
        (bare, true) => {
            warn_left_out("token URL", *flow, document);
            bare.into()
        }
        _ => written.to_owned(),
    };
    TemplateText::literal(&token_url).map(|token_url| Credentials::OAuth2 { token_url })
}

/// Where a token comes from that folio does not get by itself.
fn token_source(node: ApiNode<'_>) -> Option<String> {
    let flows = node.get("flows").into_iter().flat_map(ApiNode::entries);
    let urls = flows.flat_map(|(flow, node)| {
        let keys = ["authorizationUrl", "tokenUrl"];
        keys.into_iter().filter_map(move |key| Some(format!("{flow}: {key} {}", node.text(key)?)))
    });
    let written: Vec<String> = urls.chain(node.text("openIdConnectUrl").map(str::to_owned)).collect();
    let written = description_text::plain_line(crate::diagnostic::truncate(&written.join(", "), 300).as_ref());
    match node.text("type")? {
        "oauth2" | "openIdConnect" if written.is_empty() => Some("the API's OAuth server".to_owned()),
        "oauth2" | "openIdConnect" => Some(written),
        _ => None,
    }
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
    /// Whether it is a header, so that it goes along with others.
    fn is_header(&self) -> bool {
        matches!(self, Credentials::Bearer | Credentials::Header(_) | Credentials::Cookie(_))
    }

    /// The variables that hold it.
    pub(super) fn variables(&self) -> Vec<CredentialVariable> {
        let variable = |suffix, about, is_secret| CredentialVariable { suffix, about, is_secret, is_optional: false };
        match self {
            Credentials::Bearer => vec![variable("token", "The token", true)],
            Credentials::Basic { secret_username } => {
                let password = variable("password", "The user's password", true);
                vec![
                    variable("username", "The user's name", *secret_username),
                    CredentialVariable { is_optional: true, ..password },
                ]
            }
            Credentials::Header(_) | Credentials::Query(_) | Credentials::Cookie(_) => {
                vec![variable("api_key", "The key", true)]
            }
            Credentials::OAuth2 { .. } => vec![
                variable("client_id", "The client's identifier", false),
                variable("client_secret", "The client's secret", true),
            ],
        }
    }
}

impl SecurityScheme<'_> {
    pub(super) fn is_cookie(&self) -> bool {
        matches!(self.credentials, Credentials::Cookie(_))
    }

    fn value(&self, variable: &str) -> TemplateText {
        if self.is_optional { TemplateText::variable_or(variable, "''") } else { TemplateText::variable(variable) }
    }

    /// The `auth` of a connection, from the variables that hold it. Where it is a cookie, others follow it.
    pub(super) fn auth(&self, variables: &[String], scopes: &[TemplateText], cookies: Option<&TemplateText>) -> Value {
        let name_of = |index: usize| variables.get(index).map_or("", String::as_str);
        let placeholder = |index: usize| Value::from(self.value(name_of(index)));
        let named = |name: TemplateText, value: Value| object([("name", name.into()), ("value", value)]);
        match &self.credentials {
            Credentials::Bearer => object([("bearer", placeholder(0))]),
            Credentials::Basic { .. } => {
                let password = TemplateText::variable_or(name_of(1), "''");
                object([("basic", object([("username", placeholder(0)), ("password", password.into())]))])
            }
            Credentials::Header(_) | Credentials::Cookie(_) => {
                let (name, mut value) = self.header(variables).unwrap_or_default();
                if let Some(cookies) = cookies {
                    value.push(&TemplateText::cookie_separator());
                    value.push(cookies);
                }
                object([("header", object([("name", name.into()), ("value", value.into())]))])
            }
            Credentials::Query(name) => object([("query", named(name.clone(), placeholder(0)))]),
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

    /// The header that holds it, where it is one.
    pub(super) fn header(&self, variables: &[String]) -> Option<(String, TemplateText)> {
        let name = variables.first().map_or("", String::as_str);
        let with_head = |head: &str| {
            TemplateText::literal(head).map(|mut text| {
                text.push(&self.value(name));
                text
            })
        };
        match &self.credentials {
            Credentials::Bearer => Some(("Authorization".to_owned(), with_head("Bearer ")?)),
            Credentials::Header(header) => Some((header.as_str().to_owned(), self.value(name))),
            Credentials::Cookie(head) => Some((COOKIE.to_owned(), with_head(head.as_str())?)),
            _ => None,
        }
    }

    /// The parameter of each query that holds it, where it is one.
    pub(super) fn query(&self, variables: &[String]) -> Option<(String, TemplateText)> {
        let Credentials::Query(name) = &self.credentials else { return None };
        let variable = variables.first()?;
        let value = match self.is_optional {
            true => TemplateText::variable_or(variable, "null"),
            false => TemplateText::variable(variable),
        };
        Some((name.as_str().to_owned(), value))
    }
}
