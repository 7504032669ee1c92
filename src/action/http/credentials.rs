//! How a request says who sends it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::action::literal_credential::warn_literal_credential;
use crate::action::sibling_keys::check_exactly_one;
use crate::action::{ActionError, StepContext};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{HeaderSlot, QuerySlot, Scope, Slot, Template, is_caller_headers_path};
use crate::value_types::{Auth, NameValue};
use crate::world::{HttpHeader, HttpRequest};
use crate::yaml::{Location, Spanned};

use super::compile::check_header_name;
use super::oauth2::OAuth2Credentials;
use super::query::set_query_parameter;

/// How a request says who sends it.
pub(super) enum HttpCredentials {
    None,
    Bearer(Template<HeaderSlot>),
    Basic(Template<HeaderSlot>, Template<HeaderSlot>),
    Header(String, Template<HeaderSlot>),
    Query(String, Template<QuerySlot>),
    OAuth2(Box<OAuth2Credentials>),
}

impl HttpCredentials {
    /// Compiles `auth`.
    pub(super) fn compile(auth: &Spanned<Auth>, compiler: &mut Compiler<'_>) -> Option<HttpCredentials> {
        let keys = [
            ("bearer", auth.bearer.is_some()),
            ("basic", auth.basic.is_some()),
            ("header", auth.header.is_some()),
            ("query", auth.query.is_some()),
            ("oauth2", auth.oauth2.is_some()),
            ("exchange", auth.exchange.is_some()),
        ];
        check_exactly_one("auth", auth.location, &keys, compiler)?;
        if let Some(token) = &auth.bearer {
            warn_literal_credential(token, compiler);
            return compiler.template(token, Exposure::Credential).map(HttpCredentials::Bearer);
        }
        if let Some(basic) = &auth.basic {
            let at = basic.location;
            let literal = basic.username.as_ref().filter(|username| !username.contains("{{"));
            if let Some(username) = literal.filter(|username| username.contains(':')) {
                compiler.error(Code::BadValue, username.location, COLON_IN_USERNAME);
            }
            require(basic.username.as_ref(), at, "`username` in `basic`", compiler);
            let username = compiler.optional_template(basic.username.as_ref(), Exposure::Request);
            let password = credential(basic.password.as_ref(), at, "`password` in `basic`", compiler);
            return username.zip(password).map(|(username, password)| HttpCredentials::Basic(username, password));
        }
        if let Some(pair) = &auth.header {
            pair.name.iter().for_each(|name| check_header_name(name, compiler));
            return compile_name_value(pair, "header", compiler)
                .map(|(name, value)| HttpCredentials::Header(name, value));
        }
        if let Some(pair) = &auth.query {
            return compile_name_value(pair, "query", compiler)
                .map(|(name, value)| HttpCredentials::Query(name, value));
        }
        let oauth2 = match &auth.exchange {
            Some(exchange) => OAuth2Credentials::compile_exchange(exchange, compiler)?,
            None => OAuth2Credentials::compile(auth.oauth2.as_ref()?, "oauth2", compiler)?,
        };
        Some(HttpCredentials::OAuth2(Box::new(oauth2)))
    }

    /// Refuses a request whose credentials are not set: an API may answer it all the same, but as to a stranger.
    ///
    /// What an optional argument is, or a block or a helper such as `default` makes of a variable, may be empty.
    pub(super) fn check_variables_set(
        &self,
        further: &[Vec<String>],
        context: &StepContext<'_>,
    ) -> Result<(), ActionError> {
        // Where the outside is made up, its credentials may be missing, but not what a caller of a test does not send.
        let is_real = context.call.world.needs_credentials();
        let has_caller = context.call.access.identity().is_some();
        // Beside no credentials, a variable in a header may be anything; a header of the caller is one itself.
        let has_credentials = !matches!(self, HttpCredentials::None);
        let is_unset = |path: &&[String]| context.scope.get(path).is_none_or(serde_json::Value::is_null);
        let further = further.iter().map(Vec::as_slice);
        let further = further.filter(|path| has_credentials || is_caller_headers_path(path));
        let is_checked = |path: &&[String]| is_real || has_caller && is_caller_headers_path(path);
        match self.required_variables().into_iter().chain(further).filter(is_checked).find(is_unset) {
            Some([head, name]) if head == "env" => {
                Err(ActionError::message(format!("missing credential: variable `{name}` is not set")))
            }
            Some(path) if is_caller_headers_path(path) => {
                let name = path.last().map(String::as_str).unwrap_or_default();
                Err(ActionError::message(format!(
                    "missing credential: the client of this server sends no header `{name}`"
                )))
            }
            Some(path) => Err(ActionError::message(format!("missing credential: `{}` has no value", path.join(".")))),
            None => Ok(()),
        }
    }

    /// The paths that it reads.
    pub(super) fn read_paths(&self) -> Vec<Vec<String>> {
        match self {
            HttpCredentials::None | HttpCredentials::OAuth2(_) => Vec::new(),
            HttpCredentials::Bearer(value) | HttpCredentials::Header(_, value) => value.read_paths().to_vec(),
            HttpCredentials::Query(_, value) => value.read_paths().to_vec(),
            HttpCredentials::Basic(username, password) => [username.read_paths(), password.read_paths()].concat(),
        }
    }

    /// The variables, outcomes of steps and headers of the caller that stand in it by themselves.
    fn required_variables(&self) -> Vec<&[String]> {
        let mut variables = match self {
            HttpCredentials::None => Vec::new(),
            HttpCredentials::Bearer(value) | HttpCredentials::Header(_, value) => value.plain_variables(),
            HttpCredentials::Query(_, value) => value.plain_variables(),
            HttpCredentials::Basic(username, password) => {
                [username.plain_variables(), password.plain_variables()].concat()
            }
            HttpCredentials::OAuth2(client) => client.plain_variables(),
        };
        let is_of_author = |head: &String| head == "env" || head == "steps";
        variables.retain(|path| path.first().is_some_and(is_of_author) || is_caller_headers_path(path));
        variables
    }

    /// Adds what can be added without another request.
    pub(super) fn add_to(&self, request: &mut HttpRequest, scope: &Scope) -> Result<(), ActionError> {
        // An empty value is none.
        let text = |template: &Template<HeaderSlot>| {
            Ok::<_, ActionError>(template.render(scope)?.map(|text| text.0).filter(|text| !text.is_empty()))
        };
        let (name, value) = match self {
            HttpCredentials::None | HttpCredentials::OAuth2(_) => return Ok(()),
            HttpCredentials::Query(name, value) => return set_parameter(name, value, request, scope),
            HttpCredentials::Bearer(token) => ("Authorization", text(token)?.map(|token| format!("Bearer {token}"))),
            HttpCredentials::Basic(user, password) => {
                let (name, secret) = (text(user)?.unwrap_or_default(), text(password)?.unwrap_or_default());
                if name.is_empty() && secret.is_empty() {
                    return Err(ActionError::message(NO_BASIC_CREDENTIALS.to_owned()));
                }
                ("Authorization", Some(basic_credentials(&name, &secret)?))
            }
            HttpCredentials::Header(name, value) => (name.as_str(), text(value)?),
        };
        if let Some(mut value) = value {
            // A request has one such header, which holds all of its cookies (RFC 6265, 5.4).
            let is_cookie =
                |header: &&HttpHeader| name.eq_ignore_ascii_case("cookie") && header.name.eq_ignore_ascii_case(name);
            for own in request.headers.iter().filter(is_cookie) {
                value = format!("{value}; {}", own.value);
            }
            request.headers.retain(|header| !header.name.eq_ignore_ascii_case(name));
            request.headers.push(HttpHeader::new_secret(name, value));
        }
        Ok(())
    }
}

/// The password would begin at the first colon (RFC 7617, 2).
const COLON_IN_USERNAME: &str = "`username` in `basic` must not contain `:`";

/// No one is known by an empty name and password.
const NO_BASIC_CREDENTIALS: &str = "neither `username` nor `password` of `basic` has a value";

/// The value of `Authorization`.
fn basic_credentials(user: &str, password: &str) -> Result<String, ActionError> {
    if user.contains(':') {
        return Err(ActionError::message(COLON_IN_USERNAME.to_owned()));
    }
    Ok(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// Sets a parameter. A URL that the API gave may have it already, without its secret value.
fn set_parameter(
    name: &str,
    value: &Template<QuerySlot>,
    request: &mut HttpRequest,
    scope: &Scope,
) -> Result<(), ActionError> {
    request.secret_parameters.push(name.to_owned());
    let values = value.render(scope)?.0.into_iter().filter(|value| !value.is_empty());
    set_query_parameter(&mut request.url, name, values);
    Ok(())
}

fn compile_name_value<S: Slot>(
    pair: &Spanned<NameValue>,
    kind: &str,
    compiler: &mut Compiler<'_>,
) -> Option<(String, Template<S>)> {
    if pair.name.is_none() {
        compiler.error(Code::MissingKey, pair.location, format!("missing key `name` in `{kind}`"));
    }
    let value = credential(pair.value.value.as_ref(), pair.location, &format!("`value` in `{kind}`"), compiler);
    pair.name.as_ref().map(|name| name.value.clone()).zip(value)
}

/// A template that must be there, and whose variables may be known.
pub(super) fn identifier<S: Slot>(
    text: Option<&Spanned<String>>,
    at: Location,
    what: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Template<S>> {
    require(text, at, what, compiler);
    compiler.optional_template(text, Exposure::Private)
}

/// A template that must be there, and whose variables must be secret.
pub(super) fn credential<S: Slot>(
    text: Option<&Spanned<String>>,
    at: Location,
    what: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Template<S>> {
    require(text, at, what, compiler);
    text.into_iter().for_each(|text| warn_literal_credential(text, compiler));
    compiler.optional_template(text, Exposure::Credential)
}

fn require(text: Option<&Spanned<String>>, at: Location, what: &str, compiler: &mut Compiler<'_>) {
    if text.is_none() {
        compiler.error(Code::MissingKey, at, format!("missing key {what}"));
    }
}
