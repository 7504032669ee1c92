//! How a request says who sends it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::action::literal_credential::warn_literal_credential;
use crate::action::sibling_keys::check_exactly_one;
use crate::action::{ActionError, StepContext};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::digest::sha256;
use crate::template::{HeaderSlot, QuerySlot, Scope, Slot, Template, TextSlot, UrlBase, UrlSlot};
use crate::value_types::{Auth, ClientAuthentication, NameValue, OAuth2};
use crate::world::{HttpHeader, HttpRequest, TokenRequest};
use crate::yaml::{Location, Spanned};

use super::compile::{check_header_name, compile_url_text, has_secret_host, literal_url};
use super::query::set_query_parameter;
use super::send::parse_url;

/// How a request says who sends it.
pub(super) enum HttpCredentials {
    None,
    Bearer(Template<HeaderSlot>),
    Basic(Template<HeaderSlot>, Template<HeaderSlot>),
    Header(String, Template<HeaderSlot>),
    Query(String, Template<QuerySlot>),
    OAuth2(Box<OAuth2Credentials>),
}

/// A client of an authorization server.
pub(super) struct OAuth2Credentials {
    token_url: Template<UrlSlot>,
    /// The token endpoint, which may be private if the manifest names it. The API may not send requests there.
    literal_url: Option<url::Url>,
    has_secret_host: bool,
    client_id: Template<TextSlot>,
    client_secret: Template<TextSlot>,
    client_authentication: ClientAuthentication,
    scopes: Vec<ScopeTemplate>,
    form: Vec<(String, Template<TextSlot>)>,
    /// Identifies the client as it is written.
    digest: [u8; 32],
}

/// An element of `scopes`.
struct ScopeTemplate {
    template: Template<TextSlot>,
    /// Whether it is one scope, as a caller's value may be part of it. What is written may be several, with blanks.
    is_single_scope: bool,
}

impl ScopeTemplate {
    fn compile(text: &str, at: Location, compiler: &mut Compiler<'_>) -> Option<ScopeTemplate> {
        let template: Template<TextSlot> = compiler.template(&Spanned::new(text.to_owned(), at), Exposure::Private)?;
        let is_of_author = |path: &Vec<String>| path.first().is_some_and(|head| head == "env" || head == "server");
        let is_single_scope = !template.read_paths().iter().all(is_of_author);
        Some(ScopeTemplate { template, is_single_scope })
    }

    fn render(&self, scope: &Scope) -> Result<String, ActionError> {
        let text = self.template.render(scope)?.0;
        // RFC 6749, 3.3.
        let is_of_scope = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        match self.is_single_scope && !text.bytes().all(is_of_scope) {
            true => Err(ActionError::message(NOT_ONE_SCOPE.to_owned())),
            false => Ok(text),
        }
    }
}

const NOT_ONE_SCOPE: &str =
    "each element of `scopes` with a value must be one scope, without blanks, quotes and backslashes";

impl HttpCredentials {
    /// Compiles `auth`.
    pub(super) fn compile(auth: &Spanned<Auth>, compiler: &mut Compiler<'_>) -> Option<HttpCredentials> {
        let keys = [
            ("bearer", auth.bearer.is_some()),
            ("basic", auth.basic.is_some()),
            ("header", auth.header.is_some()),
            ("query", auth.query.is_some()),
            ("oauth2", auth.oauth2.is_some()),
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
            let username = identifier(basic.username.as_ref(), at, "`username` in `basic`", compiler);
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
        let oauth2 = OAuth2Credentials::compile(auth.oauth2.as_ref()?, compiler)?;
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
        if matches!(self, HttpCredentials::None) || !context.call.world.needs_credentials() {
            return Ok(());
        }
        let is_unset = |path: &&[String]| context.scope.get(path).is_none_or(serde_json::Value::is_null);
        let further = further.iter().map(Vec::as_slice);
        match self.required_variables().into_iter().chain(further).find(is_unset) {
            Some([head, name]) if head == "env" => {
                Err(ActionError::message(format!("missing credential: variable `{name}` is not set")))
            }
            Some(path) => Err(ActionError::message(format!("missing credential: `{}` has no value", path.join(".")))),
            None => Ok(()),
        }
    }

    /// The variables and outcomes of steps that stand in it by themselves.
    fn required_variables(&self) -> Vec<&[String]> {
        let mut variables = match self {
            HttpCredentials::None => Vec::new(),
            HttpCredentials::Bearer(value) | HttpCredentials::Header(_, value) => value.plain_variables(),
            HttpCredentials::Query(_, value) => value.plain_variables(),
            HttpCredentials::Basic(username, password) => {
                [username.plain_variables(), password.plain_variables()].concat()
            }
            HttpCredentials::OAuth2(client) => {
                [client.client_id.plain_variables(), client.client_secret.plain_variables()].concat()
            }
        };
        variables.retain(|path| path.first().is_some_and(|head| head == "env" || head == "steps"));
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

impl OAuth2Credentials {
    fn compile(spec: &Spanned<OAuth2>, compiler: &mut Compiler<'_>) -> Option<OAuth2Credentials> {
        let at = spec.location;
        if spec.token_url.is_none() {
            compiler.error(Code::MissingKey, at, "missing key `tokenUrl` in `oauth2`");
        }
        let token_url = spec.token_url.as_ref().and_then(|url| compile_token_url(url, compiler));
        let client_id = identifier(spec.client_id.as_ref(), at, "`clientId` in `oauth2`", compiler);
        let client_secret = credential(spec.client_secret.as_ref(), at, "`clientSecret` in `oauth2`", compiler);
        let scopes = spec.scopes.iter().flatten().map(|scope| ScopeTemplate::compile(scope, at, compiler));
        let scopes: Option<Vec<_>> = scopes.collect::<Vec<_>>().into_iter().collect();
        let fields: Vec<_> = spec
            .form
            .iter()
            .map(|(name, value)| Some((name.value.clone(), compiler.template(&value.to_text(), Exposure::Private)?)))
            .collect();
        let form = fields.into_iter().collect::<Option<_>>()?;
        let token_url = token_url?;
        Some(OAuth2Credentials {
            literal_url: literal_url(&token_url, compiler),
            has_secret_host: has_secret_host(&token_url, compiler),
            token_url,
            client_id: client_id?,
            client_secret: client_secret?,
            client_authentication: spec.client_authentication.unwrap_or_default(),
            scopes: scopes?,
            form,
            digest: digest(spec),
        })
    }

    /// The request for a token that authorizes `request`.
    pub(super) fn token_request(
        &self,
        request: &HttpRequest,
        context: &StepContext<'_>,
    ) -> Result<TokenRequest, ActionError> {
        let scope = context.scope;
        let mut form = Vec::with_capacity(self.form.len());
        for (name, value) in &self.form {
            form.push((name.clone(), value.render(scope)?.0));
        }
        if !self.scopes.is_empty() {
            let scopes = self.scopes.iter().map(|template| template.render(scope));
            let scopes: Vec<String> = scopes.collect::<Result<_, _>>()?;
            let scopes: Vec<&str> = scopes.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
            form.push(("scope".to_owned(), scopes.join(" ")));
        }
        let mut host_policy = request.host_policy.clone();
        self.literal_url.iter().for_each(|url| host_policy.allow_url(url));
        let url = parse_url(&self.token_url.render(scope)?.text)?;
        let token_host = url.host_str().filter(|_| self.has_secret_host).map(str::to_owned);
        Ok(TokenRequest {
            url,
            client: self.digest,
            client_id: self.client_id.render(scope)?.0,
            client_secret: self.client_secret.render(scope)?.0,
            credentials_in_form: self.client_authentication == ClientAuthentication::Post,
            form,
            limits: HttpRequest {
                host_policy,
                body: None,
                cache: None,
                headers: Vec::new(),
                secret_host: token_host.or_else(|| request.secret_host.clone()),
                secret_parameters: Vec::new(),
                ..request.clone()
            },
        })
    }
}

/// Equal for clients that are written alike.
fn digest(spec: &OAuth2) -> [u8; 32] {
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let form: Vec<(&str, String)> =
        spec.form.iter().map(|(name, value)| (name.value.as_str(), value.to_text().value)).collect();
    let client = (text(&spec.client_id), text(&spec.client_secret), spec.client_authentication);
    sha256(format!("{:?}", (text(&spec.token_url), client, &spec.scopes, form)).as_bytes())
}

/// The client's secret goes to this URL, so the manifest or the environment must name its host.
fn compile_token_url(url: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Template<UrlSlot>> {
    let template = compile_url_text(url, compiler)?;
    if matches!(template.url_base(), UrlBase::Literal | UrlBase::Env(_)) {
        return Some(template);
    }
    compiler
        .error(Code::Unsafe, url.location, "the client secret would be sent wherever a value points")
        .help("write the scheme and the host of `tokenUrl` in the manifest");
    None
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
fn identifier<S: Slot>(
    text: Option<&Spanned<String>>,
    at: Location,
    what: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Template<S>> {
    require(text, at, what, compiler);
    compiler.optional_template(text, Exposure::Private)
}

/// A template that must be there, and whose variables must be secret.
fn credential<S: Slot>(
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
