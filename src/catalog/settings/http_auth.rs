//! Checks `http.auth`: who may call over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::http_access::TokenDigest;
use super::http_settings::secret_variable;
use crate::action::SelectExpression;
use crate::catalog::entry::listed_text::render_at_load;
use crate::catalog::none_if_invalid;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::digest::sha256;
use crate::identity::{Identity, is_scope};
use crate::load::LoadedPack;
use crate::manifest::{self, Issuers};
use crate::value_types;
use crate::world::is_loopback_host;
use crate::yaml::{Location, Spanned};

/// Who may call over HTTP.
#[derive(Debug, Default)]
pub struct AuthSettings {
    /// Who issues tokens.
    pub issuers: Vec<IssuerSettings>,
    /// The scopes that every request needs.
    pub scopes: Vec<String>,
    /// Tokens without an issuer.
    pub tokens: Vec<ListedToken>,
    /// Whether requests without a token are accepted.
    pub optional: bool,
    /// What the identity of a caller depends on: equal for settings that make the same of a token.
    pub fingerprint: [u8; 32],
    /// The scopes that each scope includes, and those that these include.
    implies: BTreeMap<String, BTreeSet<String>>,
}

/// An authorization server, and how its tokens are verified.
pub struct IssuerSettings {
    /// Its URL, as tokens name it.
    pub issuer: String,
    /// What tokens must be issued for; `None` for the URL of the endpoint.
    pub audience: Option<String>,
    /// Where its keys are; `None` if its metadata says so.
    pub jwks_uri: Option<Url>,
    /// Where to ask about tokens that are not JWTs.
    pub introspect: Option<IntrospectionSettings>,
    claims: ClaimExpressions,
}

/// How an issuer is asked about a token (RFC 7662).
pub struct IntrospectionSettings {
    /// The introspection endpoint.
    pub url: Url,
    /// The id of this server; `None` if it has none.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: String,
    /// How long an answer is used.
    pub cache: Duration,
}

/// A token that the manifest lists, by its digest.
pub struct ListedToken {
    pub digest: TokenDigest,
    pub identity: Arc<Identity>,
}

/// Where claims say who calls.
struct ClaimExpressions {
    id: SelectExpression,
    client: SelectExpression,
    scopes: SelectExpression,
    roles: SelectExpression,
}

impl AuthSettings {
    /// These scopes and all that they include.
    pub fn granted(&self, scopes: BTreeSet<String>) -> BTreeSet<String> {
        let implied = scopes.iter().filter_map(|scope| self.implies.get(scope)).flatten().cloned();
        let implied: Vec<String> = implied.collect();
        scopes.into_iter().chain(implied).collect()
    }
}

impl IssuerSettings {
    /// All that it is made of, in an order of its own.
    fn read_parts(&self) -> impl fmt::Debug + '_ {
        let introspect = self.introspect.as_ref();
        let introspect = introspect.map(|asked| (&asked.url, &asked.client_id, &asked.client_secret, asked.cache));
        let claims = &self.claims;
        let claims = [&claims.id, &claims.client, &claims.scopes, &claims.roles].map(SelectExpression::source);
        (&self.issuer, &self.audience, &self.jwks_uri, introspect, claims)
    }

    /// Who calls, as the claims of a token of this issuer say; `None` where they name nobody.
    pub fn identity(&self, claims: Map<String, Value>, settings: &AuthSettings) -> Option<Identity> {
        let claims = Value::Object(claims);
        let select = |expression: &SelectExpression| expression.apply(&claims).unwrap_or_default();
        let text = |value: Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let identity = Identity {
            id: text(select(&self.claims.id))?,
            issuer: self.issuer.clone(),
            client: text(select(&self.claims.client)),
            scopes: settings.granted(words(&select(&self.claims.scopes))),
            roles: words(&select(&self.claims.roles)),
            claims: Map::new(),
        };
        let Value::Object(claims) = claims else { return None };
        Some(Identity { claims, ..identity })
    }
}

/// The words of a text, or of a list of texts: issuers write scopes in both ways.
fn words(value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

impl fmt::Debug for IssuerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuerSettings({})", self.issuer)
    }
}

impl fmt::Debug for ListedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListedToken({})", self.identity.id)
    }
}

/// Checks `http.auth`. `None` if it has errors.
pub(super) fn auth_settings(
    auth: &Spanned<manifest::HttpAuth>,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<AuthSettings> {
    let scopes = check_scopes(auth.scopes.as_deref().unwrap_or_default(), compiler);
    let implies = implied_scopes(auth, compiler);
    let is_valid = scopes.is_some() && implies.is_some();
    let (scopes, implies) = (scopes.unwrap_or_default(), implies.unwrap_or_default());
    let settings = AuthSettings { implies, scopes, optional: auth.optional, ..Default::default() };
    let tokens = listed_tokens(auth, &settings, compiler);
    let issuers = issuers(auth, pack, compiler);
    let (tokens, issuers) = (tokens?, issuers.filter(|_| is_valid)?);
    if issuers.is_empty() && tokens.is_empty() {
        compiler
            .error(Code::MissingKey, auth.location, "missing `issuer` or `tokens`: nobody could call")
            .help("name the authorization server, such as `issuer: https://id.example`");
        return None;
    }
    let read: Vec<_> = issuers.iter().map(IssuerSettings::read_parts).collect();
    let fingerprint = sha256(format!("{:?}", (read, &settings.implies)).as_bytes());
    Some(AuthSettings { tokens, issuers, fingerprint, ..settings })
}

fn issuers(
    auth: &Spanned<manifest::HttpAuth>,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<IssuerSettings>> {
    let shared = |issuer: Option<Spanned<String>>| manifest::IssuerSpec {
        issuer,
        audience: auth.audience.clone(),
        jwks_uri: auth.jwks_uri.clone(),
        introspect: auth.introspect.clone(),
        claims: auth.claims.clone(),
    };
    let specs: Vec<(manifest::IssuerSpec, Location)> = match auth.issuer.as_ref().map(|issuer| &issuer.value) {
        None => Vec::new(),
        Some(Issuers::One(issuer)) => vec![(shared(Some(issuer.clone())), issuer.location)],
        Some(Issuers::Many(specs)) => {
            specs.iter().map(|spec| (with_shared(spec, &shared(None)), spec.location)).collect()
        }
    };
    let mut issuers: Vec<IssuerSettings> = Vec::new();
    let mut is_valid = true;
    for (spec, at) in specs {
        match issuer_settings(&spec, at, pack, compiler) {
            Some(issuer) if issuers.iter().any(|other| other.issuer == issuer.issuer) => {
                compiler.error(Code::Duplicate, at, format!("duplicate issuer `{}`", issuer.issuer));
                is_valid = false;
            }
            Some(issuer) => issuers.push(issuer),
            None => is_valid = false,
        }
    }
    if issuers.iter().filter(|issuer| issuer.introspect.is_some()).count() > 1 {
        // Any other would see tokens that are not its own.
        compiler
            .error(
                Code::Conflict,
                auth.location,
                "several issuers with `introspect`: only one can be asked about a token",
            )
            .help("such a token does not say who issued it: write `introspect` in the issuer whose tokens are no JWTs");
        is_valid = false;
    }
    is_valid.then_some(issuers)
}

/// What an issuer of a list does not say is as in `auth`.
fn with_shared(spec: &manifest::IssuerSpec, shared: &manifest::IssuerSpec) -> manifest::IssuerSpec {
    manifest::IssuerSpec {
        issuer: spec.issuer.clone(),
        audience: spec.audience.clone().or_else(|| shared.audience.clone()),
        jwks_uri: spec.jwks_uri.clone().or_else(|| shared.jwks_uri.clone()),
        introspect: spec.introspect.clone().or_else(|| shared.introspect.clone()),
        claims: spec.claims.clone().or_else(|| shared.claims.clone()),
    }
}

fn issuer_settings(
    spec: &manifest::IssuerSpec,
    at: Location,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<IssuerSettings> {
    let Some(issuer) = &spec.issuer else {
        compiler.error(Code::MissingKey, at, "missing `issuer`").help("write its URL, as tokens name it in `iss`");
        return None;
    };
    let url = protected_url(issuer, "issuer", compiler);
    if let Some((base, _)) = issuer.split_once("/.well-known/") {
        compiler
            .error(Code::BadValue, issuer.location, "invalid `issuer`: this is the URL of its metadata")
            .help(format!("write the issuer itself, as tokens name it in `iss`, such as `{base}`"));
        return None;
    }
    let audience = spec.audience.as_ref().map(|audience| render_at_load(audience, compiler));
    let jwks_uri = spec.jwks_uri.as_ref().map(|url| protected_url(url, "jwksUri", compiler));
    let introspect = spec.introspect.as_ref().map(|introspect| introspection_settings(introspect, pack, compiler));
    let claims = claim_expressions(spec.claims.as_ref(), at, compiler);
    Some(IssuerSettings {
        issuer: url?.0,
        audience: none_if_invalid(audience)?,
        jwks_uri: none_if_invalid(jwks_uri)?.map(|(_, url)| url),
        introspect: none_if_invalid(introspect)?,
        claims: claims?,
    })
}

fn introspection_settings(
    introspect: &Spanned<manifest::Introspection>,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<IntrospectionSettings> {
    let Some(url) = &introspect.url else {
        compiler.error(Code::MissingKey, introspect.location, "missing `url` of the introspection endpoint");
        return None;
    };
    let url = protected_url(url, "url", compiler);
    let client_id = introspect.client_id.as_ref().map(|id| render_at_load(id, compiler));
    let client_secret = introspect
        .client_secret
        .as_ref()
        .map(|secret| secret_variable(secret, "clientSecret", "issuer is not asked about tokens", pack, compiler));
    Some(IntrospectionSettings {
        url: url?.1,
        client_id: none_if_invalid(client_id)?,
        client_secret: none_if_invalid(client_secret)?.flatten().map(|(_, secret)| secret).unwrap_or_default(),
        cache: introspect.cache.map_or(Duration::from_secs(30), value_types::Duration::to_std),
    })
}

/// A URL over https, or of this machine: whoever could answer in its place could issue tokens.
fn protected_url(text: &Spanned<String>, key: &str, compiler: &mut Compiler<'_>) -> Option<(String, Url)> {
    let rendered = render_at_load(text, compiler)?;
    let url = Url::parse(&rendered).ok().filter(|url| url.has_host() && url.fragment().is_none());
    let Some(url) = url.filter(|url| matches!(url.scheme(), "https" | "http")) else {
        compiler
            .error(Code::BadValue, text.location, format!("invalid `{key}`, expected a URL"))
            .help("such as `https://id.example`");
        return None;
    };
    if url.scheme() == "http" && !is_loopback_host(&url) {
        compiler
            .error(
                Code::Unsafe,
                text.location,
                format!("invalid `{key}`: `{}` is not `https`", url.origin().ascii_serialization()),
            )
            .help("tokens are only as safe as the keys that verify them: use `https`");
        return None;
    }
    Some((rendered, url))
}

fn claim_expressions(
    claims: Option<&manifest::ClaimPaths>,
    at: Location,
    compiler: &mut Compiler<'_>,
) -> Option<ClaimExpressions> {
    let written = claims.cloned().unwrap_or_default();
    let mut compile = |text: Option<Spanned<String>>, default: &str| {
        let text = text.unwrap_or_else(|| Spanned::new(default.to_owned(), at));
        SelectExpression::compile(&text, compiler)
    };
    let id = compile(written.id, "sub");
    let client = compile(written.client, "client_id || azp");
    let scopes = compile(written.scopes, "scope || scp");
    let roles = compile(written.roles, "roles");
    Some(ClaimExpressions { id: id?, client: client?, scopes: scopes?, roles: roles? })
}

/// The scopes of a list.
fn check_scopes(scopes: &[Spanned<String>], compiler: &mut Compiler<'_>) -> Option<Vec<String>> {
    let mut is_valid = true;
    for scope in scopes.iter().filter(|scope| !is_scope(scope)) {
        compiler
            .error(Code::BadValue, scope.location, format!("invalid scope `{}`", scope.value))
            .help("a scope has no spaces, quotes and backslashes, such as `desk.read`");
        is_valid = false;
    }
    is_valid.then(|| scopes.iter().map(|scope| scope.value.clone()).collect())
}

/// The scopes that each scope includes, at any remove.
fn implied_scopes(
    auth: &manifest::HttpAuth,
    compiler: &mut Compiler<'_>,
) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut implied = BTreeMap::new();
    let mut is_valid = true;
    for (scope, others) in &auth.implies {
        match (check_scopes(std::slice::from_ref(scope), compiler), check_scopes(others, compiler)) {
            (Some(_), Some(others)) => drop(implied.insert(scope.value.clone(), BTreeSet::from_iter(others))),
            _ => is_valid = false,
        }
    }
    let direct = implied.clone();
    for scopes in implied.values_mut() {
        let mut waiting: Vec<String> = scopes.iter().cloned().collect();
        while let Some(scope) = waiting.pop() {
            let more = direct.get(&scope).into_iter().flatten();
            waiting.extend(more.filter(|scope| scopes.insert((*scope).clone())).cloned());
        }
    }
    is_valid.then_some(implied)
}

fn listed_tokens(
    auth: &manifest::HttpAuth,
    settings: &AuthSettings,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<ListedToken>> {
    let mut tokens = Vec::new();
    let mut is_valid = true;
    for (name, token) in &auth.tokens {
        let scopes = check_scopes(token.scopes.as_deref().unwrap_or_default(), compiler);
        let digest = token.sha256.as_ref().map(|digits| (digits.location, TokenDigest::from_hex(digits)));
        match (digest, scopes) {
            (Some((_, Some(digest))), Some(scopes)) => {
                let roles = token.roles.iter().flatten().map(|role| role.value.clone());
                let scopes = settings.granted(scopes.into_iter().collect());
                let identity =
                    Identity { id: name.value.clone(), scopes, roles: roles.collect(), ..Identity::default() };
                tokens.push(ListedToken { digest, identity: Arc::new(identity) });
                continue;
            }
            (Some((_, Some(_))), None) => {}
            (digest, _) => {
                let at = digest.map_or(token.location, |(at, _)| at);
                compiler
                    .error(
                        Code::BadValue,
                        at,
                        format!("invalid `sha256` of token `{}`, expected 64 hexadecimal digits", name.value),
                    )
                    .help("print it with `printf %s \"$TOKEN\" | sha256sum`");
            }
        }
        is_valid = false;
    }
    is_valid.then_some(tokens)
}
