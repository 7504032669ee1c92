//! OAuth 2: a client of an authorization server, and the exchange of the caller's token (RFC 8693).

use crate::action::{ActionError, StepContext};
use crate::compile::{Compiler, Exposure, Grants};
use crate::diagnostic::{Code, LoadPurpose};
use crate::digest::sha256;
use crate::identity::{AccessControl, is_scope_byte};
use crate::template::{Scope, Template, TextSlot, UrlBase, UrlSlot};
use crate::value_types::{ClientAuthentication, Exchange, OAuth2};
use crate::world::{HttpRequest, SubjectToken, TokenRequest, is_loopback_host};
use crate::yaml::{Location, Spanned};

use super::compile::{compile_url_text, has_secret_host, literal_url};
use super::credentials::{credential, identifier};
use super::send::parse_url;

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
    /// Whether the token of the caller is exchanged for one.
    exchanges_token: bool,
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
        match self.is_single_scope && !text.bytes().all(is_scope_byte) {
            true => Err(ActionError::message(NOT_ONE_SCOPE.to_owned())),
            false => Ok(text),
        }
    }
}

const NOT_ONE_SCOPE: &str =
    "each element of `scopes` with a value must be one scope, without blanks, quotes and backslashes";

impl OAuth2Credentials {
    /// Compiles a client; `kind` is the key that it is written under.
    pub(super) fn compile(
        spec: &Spanned<OAuth2>,
        kind: &'static str,
        compiler: &mut Compiler<'_>,
    ) -> Option<OAuth2Credentials> {
        let at = spec.location;
        if spec.token_url.is_none() {
            compiler.error(Code::MissingKey, at, format!("missing key `tokenUrl` in `{kind}`"));
        }
        let token_url = spec.token_url.as_ref().and_then(|url| compile_token_url(url, compiler));
        let client_id = identifier(spec.client_id.as_ref(), at, &format!("`clientId` in `{kind}`"), compiler);
        let client_secret =
            credential(spec.client_secret.as_ref(), at, &format!("`clientSecret` in `{kind}`"), compiler);
        let scopes = spec.scopes.iter().flatten().map(|scope| ScopeTemplate::compile(scope, at, compiler));
        let scopes: Option<Vec<_>> = scopes.collect::<Vec<_>>().into_iter().collect();
        let fields: Vec<_> = spec
            .form
            .iter()
            .map(|(name, value)| Some((name.value.clone(), compiler.template(&value.to_text(), Exposure::Private)?)))
            .collect();
        let form = fields.into_iter().collect::<Option<_>>()?;
        let (token_url, client_secret) = (token_url?, client_secret?);
        if let Some(header) = compiler.find_caller_header(client_secret.read_paths()) {
            compiler
                .error(
                    Code::Secret,
                    at,
                    format!("{header} is no secret of this server, and cannot be its `clientSecret`"),
                )
                .help("use it in `headers` or in `auth` of another kind");
            return None;
        }
        Some(OAuth2Credentials {
            literal_url: literal_url(&token_url, compiler),
            has_secret_host: has_secret_host(&token_url, compiler),
            token_url,
            client_id: client_id?,
            client_secret,
            client_authentication: spec.client_authentication.unwrap_or_default(),
            scopes: scopes?,
            form,
            digest: digest(spec),
            exchanges_token: false,
        })
    }

    /// Compiles the exchange of the caller's token.
    pub(super) fn compile_exchange(spec: &Spanned<Exchange>, compiler: &mut Compiler<'_>) -> Option<OAuth2Credentials> {
        check_exchange_place(spec.location, compiler)?;
        let oauth2 = OAuth2 {
            token_url: spec.token_url.clone(),
            client_id: spec.client_id.clone(),
            client_secret: spec.client_secret.clone(),
            scopes: spec.scopes.clone(),
            client_authentication: spec.client_authentication,
            ..OAuth2::default()
        };
        let compiled = OAuth2Credentials::compile(&Spanned::new(oauth2, spec.location), "exchange", compiler);
        let audience = spec.audience.as_ref().map(|audience| compiler.template(audience, Exposure::Private));
        let mut compiled = compiled?;
        check_exchange_url(&compiled.token_url, spec.token_url.as_ref()?.location, compiler)?;
        if let Some(audience) = audience {
            compiled.form.push(("audience".to_owned(), audience?));
        }
        // Its responses are those of the caller.
        compiler.reads_caller = true;
        let written = spec.audience.as_ref().map(|audience| &audience.value);
        let digest = sha256(format!("exchange {:?}", (compiled.digest, written)).as_bytes());
        Some(OAuth2Credentials { exchanges_token: true, digest, ..compiled })
    }

    /// The variables and outcomes of steps that stand in it by themselves.
    pub(super) fn plain_variables(&self) -> Vec<&[String]> {
        [self.client_id.plain_variables(), self.client_secret.plain_variables()].concat()
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
        let subject = if self.exchanges_token { Some(subject_token(context)?) } else { None };
        Ok(TokenRequest {
            url,
            subject,
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
                trace: request.trace.of_span(),
                shows_host: !matches!(self.token_url.url_base(), UrlBase::Value(_)) && !self.has_secret_host,
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

/// Where a token may be exchanged: in the served manifest, as it is the caller's, and where callers are known.
fn check_exchange_place(at: Location, compiler: &mut Compiler<'_>) -> Option<()> {
    if compiler.pack.grants != Grants::All {
        compiler
            .error(Code::Unsafe, at, "an imported pack must not exchange the token of the caller")
            .help("declare the connection in the served manifest");
        return None;
    }
    if !compiler.load_context.has_auth {
        let message =
            "`exchange` without `http.auth`: there is no token of a caller on stdio, and it is refused over HTTP";
        compiler
            .note(Code::Unsafe, at, message)
            .help("declare `http.auth`, which says who calls")
            .forbid(LoadPurpose::Http);
    }
    Some(())
}

/// The token of the caller goes to this URL: over `https`, or on this machine.
fn check_exchange_url(url: &Template<UrlSlot>, at: Location, compiler: &mut Compiler<'_>) -> Option<()> {
    let text = match url.url_base() {
        UrlBase::Env(name) => {
            let variable = compiler.pack.env.variables.get(name)?;
            variable.value.as_ref().or(variable.default.as_ref()).cloned()
        }
        _ => url.source().split("{{").next().map(str::to_owned),
    };
    let url = text.and_then(|text| url::Url::parse(&text).ok());
    if url.is_none_or(|url| url.scheme() == "https" || is_loopback_host(&url)) {
        return Some(());
    }
    compiler
        .error(
            Code::Unsafe,
            at,
            "invalid `tokenUrl` of `exchange`: the caller's token would be sent without encryption",
        )
        .help("use `https`");
    None
}

/// The token that is exchanged.
fn subject_token(context: &StepContext<'_>) -> Result<SubjectToken, ActionError> {
    let call = context.call;
    let caller = call.access.identity().map(|caller| format!("{:?}", (&caller.issuer, &caller.id)));
    if let (Some(token), Some(caller)) = (&call.secrets.token, &caller) {
        return Ok(SubjectToken { token: token.clone(), caller: caller.clone() });
    }
    if !call.world.needs_credentials() {
        return Ok(SubjectToken { token: "-".to_owned(), caller: caller.unwrap_or_default() });
    }
    let words = match (&call.access, caller) {
        (AccessControl::Unrestricted, _) => "this server knows its callers over HTTP only",
        (AccessControl::Caller(_), Some(_)) => "the one that the caller shows is of no issuer",
        (AccessControl::Caller(_), None) => "the user has to sign in to this server",
    };
    Err(ActionError::message(format!("no token of the caller to exchange: {words}")))
}
