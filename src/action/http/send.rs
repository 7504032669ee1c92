//! Builds a request from its templates, and sends it as often as it takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::action::{ActionError, ProgressUpdate, StepContext};
use crate::diagnostic::truncate;
use crate::digest::sha256;
use crate::files::mime_by_name;
use crate::template::{HeaderSlot, Scope, Slot, Template, UrlBase, is_caller_headers_path};
use crate::world::{AccessToken, HttpHeader, HttpRequest, HttpResponse, RequestBody, World, WorldError};

use super::credentials::HttpCredentials;
use super::oauth2::OAuth2Credentials;
use super::query::{QueryParameter, add_query};
use super::{HttpAction, HttpBody};
use crate::action::context::request_error::RequestError;

/// How much of its method and URL names a request in messages.
const MAX_DESCRIPTION_CHARS: usize = 500;

impl HttpAction {
    pub(super) fn build_request(&self, context: &StepContext<'_>) -> Result<HttpRequest, ActionError> {
        let scope = context.scope;
        self.credentials.check_variables_set(&self.further_credentials, context)?;
        let path = self.url.render(scope)?.text;
        let mut url = match &self.base {
            Some(base) => parse_url(&format!("{}{path}", base.render(scope)?.text.trim_end_matches('/')))?,
            None => parse_url(&path)?,
        };
        let query = QueryParameter::encode_all(&self.query, url.query().unwrap_or_default(), scope)?;
        add_query(&mut url, &query);
        let mut request = HttpRequest::new(self.method, url);
        request.secret_host = request.url.host_str().filter(|_| self.has_secret_host).map(str::to_owned);
        for (name, value) in &self.headers {
            request.headers.extend(render_header(name, value, context)?);
        }
        self.credentials.add_to(&mut request, scope)?;
        self.add_body(&mut request, context)?;
        request.timeout = self.time_limit(context);
        request.max_output = context.max_output;
        request.pack = Arc::from(context.entry.pack_folder());
        request.cache = self.cache_lifetime;
        request.cache_owner = self.cache_owner(context);
        request.follows_redirects = self.follows_redirects;
        request.host_policy = self.host_policy.clone();
        self.transport.add_to(&mut request);
        request.cancel = context.call.cancel().clone();
        request.step = context.id.map(str::to_owned);
        request.trace = context.call.trace.clone();
        let host = self.base.as_ref().unwrap_or(&self.url);
        request.shows_host = !matches!(host.url_base(), UrlBase::Value(_)) && !self.has_secret_host;
        Ok(request)
    }

    /// Whose response it is, where it depends on who calls or on what its client sends.
    fn cache_owner(&self, context: &StepContext<'_>) -> Option<String> {
        let headers = context.call.secrets.headers.as_object().filter(|headers| !headers.is_empty());
        let headers = headers.map(|headers| sha256(format!("{headers:?}").as_bytes()));
        let caller = context.call.access.identity().map(|caller| (&caller.issuer, &caller.id));
        match (caller, headers) {
            _ if !self.reads_caller => None,
            (None, None) => None,
            (Some(caller), None) => Some(format!("{caller:?}")),
            (caller, Some(headers)) => Some(format!("{:?}", (caller, headers))),
        }
    }

    fn add_body(&self, request: &mut HttpRequest, context: &StepContext<'_>) -> Result<(), ActionError> {
        let scope = context.scope;
        request.secret_body = self.has_secret_body || reads_step_outcome(&self.body_reads, context);
        let (mime_type, body) = match &self.body {
            HttpBody::None => return Ok(()),
            HttpBody::Json(value) => match value.render_present(scope)? {
                Some(value) => ("application/json", value.to_string()),
                None => return Ok(()),
            },
            HttpBody::Form(fields) => {
                ("application/x-www-form-urlencoded", QueryParameter::encode_all(fields, "", scope)?)
            }
            HttpBody::Multipart(multipart) => {
                // Its `Content-Type` has the boundary, which is new each time it is sent.
                request.headers.retain(|header| !is_content_type(header));
                request.body = Some(multipart.render(scope)?);
                return Ok(());
            }
            HttpBody::Text(text) => ("text/plain; charset=utf-8", text.render(scope)?.0),
            HttpBody::Bytes { source, .. } if source.template().is_some_and(|text| is_absent(text, scope)) => {
                return Ok(());
            }
            HttpBody::Bytes { source, folder } => {
                let by_name = source.file_name().as_deref().and_then(mime_by_name);
                request.set_body(
                    source.render("`body`", scope, folder)?.into(),
                    by_name.unwrap_or(source.default_mime_type()),
                );
                return Ok(());
            }
        };
        request.set_body(RequestBody::Bytes(body.into_bytes()), mime_type);
        Ok(())
    }

    /// Sends a request, and sends it again as its `retry` says, until `deadline`. `request_description` names it in errors.
    pub(super) async fn send_with_retries(
        &self,
        request: HttpRequest,
        request_description: &str,
        deadline: Instant,
        context: &StepContext<'_>,
    ) -> Result<HttpResponse, ActionError> {
        let mut attempt = 1;
        loop {
            let result = self.send_authorized(request.clone(), deadline, context).await;
            let remaining = deadline.saturating_duration_since(Instant::now());
            let Some(retry_delay) =
                self.retry.retry_delay(attempt, &result).filter(|retry_delay| *retry_delay < remaining)
            else {
                return result
                    .map_err(|error| self.wrap_request_error(error, &request, request_description, attempt, context));
            };
            self.wait_before_retry(retry_delay, attempt, context).await?;
            attempt += 1;
        }
    }

    /// Names the request in an error, and its time limit rather than what was left of it.
    fn wrap_request_error(
        &self,
        error: ActionError,
        request: &HttpRequest,
        description: &str,
        attempts: u32,
        context: &StepContext<'_>,
    ) -> ActionError {
        let source = match error {
            ActionError::World(WorldError::TimedOut { .. }) => WorldError::timed_out(self.time_limit(context)),
            ActionError::World(WorldError::Cancelled) => return WorldError::Cancelled.into(),
            ActionError::World(error) => error,
            error => return error,
        };
        let lacks_proxy = request.proxy.is_none() && source.is_connection_failure();
        let unused_proxy = if lacks_proxy { context.call.world.proxy_variable(request.url.scheme()) } else { None };
        let (request, is_repeatable) = (description.to_owned(), self.retry.is_repeatable);
        Box::new(RequestError { request, attempts, is_repeatable, source, unused_proxy }).into()
    }

    /// How long the request may take.
    fn time_limit(&self, context: &StepContext<'_>) -> Duration {
        self.timeout.map_or(context.timeout, |own| own.min(context.timeout))
    }

    /// Waits before another attempt, and tells the client.
    async fn wait_before_retry(
        &self,
        retry_delay: Duration,
        attempt: u32,
        context: &StepContext<'_>,
    ) -> Result<(), WorldError> {
        let (next, attempts) = (attempt + 1, self.retry.attempts);
        let message = format!("trying again in {:.1} s ({next} of {attempts})", retry_delay.as_secs_f64());
        let update = ProgressUpdate { progress: None, total: None, message: Some(message) };
        context.entry.client().progress(update).await;
        let retry_delay = if context.call.world.has_real_time() { retry_delay } else { Duration::ZERO };
        let elapsed = context.call.cancel().run_until_cancelled(tokio::time::sleep(retry_delay)).await;
        elapsed.ok_or(WorldError::Cancelled)
    }

    /// Sends a request with the access token of its client, if it is one of OAuth 2. A token that the API rejects is
    /// replaced once, but for one that just replaced another.
    async fn send_authorized(
        &self,
        request: HttpRequest,
        deadline: Instant,
        context: &StepContext<'_>,
    ) -> Result<HttpResponse, ActionError> {
        let deadline = deadline.min(Instant::now() + request.timeout);
        let HttpCredentials::OAuth2(oauth2) = self.credentials_for(&request) else {
            return Ok(context.call.world.send_request(with_deadline(deadline, request)).await?);
        };
        let token = fetch_token(oauth2, &with_deadline(deadline, request.clone()), None, context).await?;
        let response = send_with_token(with_deadline(deadline, request.clone()), &token, context).await?;
        if response.status != 401 {
            return Ok(response);
        }
        let next = fetch_token(oauth2, &with_deadline(deadline, request.clone()), Some(&token), context).await?;
        if next.authorization == token.authorization {
            return Ok(response);
        }
        send_with_token(with_deadline(deadline, request), &next, context).await
    }

    /// The credentials that a request may carry: none once it has left the origin of the first page.
    pub(super) fn credentials_for(&self, request: &HttpRequest) -> &HttpCredentials {
        if request.is_authorized { &self.credentials } else { &HttpCredentials::None }
    }

    /// A request as messages describe it: `GET https://api.example/items`, without what is a credential.
    pub(super) fn describe_request(&self, request: &HttpRequest, world: &dyn World) -> String {
        let request_description = match self.has_secret_query {
            true => request.describe_without_query(),
            false => request.describe(),
        };
        truncate(&world.redact(request_description), MAX_DESCRIPTION_CHARS).into_owned()
    }
}

impl HttpRequest {
    /// Sets its body, and the type of that unless a header says it.
    fn set_body(&mut self, body: RequestBody, mime_type: &str) {
        if !self.headers.iter().any(is_content_type) {
            self.headers.push(HttpHeader::new("Content-Type", mime_type));
        }
        self.body = Some(body);
    }
}

/// Limits a request to the time that is left.
fn with_deadline(deadline: Instant, mut request: HttpRequest) -> HttpRequest {
    request.timeout = request.timeout.min(deadline.saturating_duration_since(Instant::now()));
    request
}

async fn fetch_token(
    credentials: &OAuth2Credentials,
    request: &HttpRequest,
    rejected: Option<&AccessToken>,
    context: &StepContext<'_>,
) -> Result<AccessToken, ActionError> {
    Ok(context.call.world.access_token(credentials.token_request(request, context)?, rejected).await?)
}

async fn send_with_token(
    mut request: HttpRequest,
    token: &AccessToken,
    context: &StepContext<'_>,
) -> Result<HttpResponse, ActionError> {
    request.headers.retain(|header| !header.name.eq_ignore_ascii_case("authorization"));
    request.headers.push(token.authorization.clone());
    request.access_token = Some(token.clone());
    Ok(context.call.world.send_request(request).await?)
}

/// Parses a rendered URL.
pub(super) fn parse_url(text: &str) -> Result<Url, ActionError> {
    Url::parse(text).map_err(|_| {
        let shown = text.split('?').next().unwrap_or_default();
        let shown = truncate(shown, MAX_DESCRIPTION_CHARS);
        ActionError::message(format!("invalid URL `{shown}`: it must begin with `https://` or `http://`"))
    })
}

/// A header, unless every value in it is absent.
fn render_header(
    name: &str,
    value: &Template<HeaderSlot>,
    context: &StepContext<'_>,
) -> Result<Option<HttpHeader>, ActionError> {
    if is_absent(value, context.scope) {
        return Ok(None);
    }
    let of_env = value
        .read_paths()
        .iter()
        .any(|path| path.first().is_some_and(|head| head == "env") || is_caller_headers_path(path));
    let secret = of_env || reads_step_outcome(value.read_paths(), context);
    let Some(text) = value.render(context.scope)? else { return Ok(None) };
    Ok(Some(if secret { HttpHeader::new_secret(name, text.0) } else { HttpHeader::new(name, text.0) }))
}

/// Whether a value may be the outcome of a step, such as a token, which redirects must not send to another origin.
fn reads_step_outcome(reads: &[Vec<String>], context: &StepContext<'_>) -> bool {
    reads.iter().filter_map(|path| path.first()).any(|head| match head.as_str() {
        // The item of a repeated step mostly is of an earlier one.
        "steps" | "this" => true,
        "env" | "server" => false,
        _ => context.call.is_nested(),
    })
}

fn is_content_type(header: &HttpHeader) -> bool {
    header.name.eq_ignore_ascii_case("content-type")
}

/// Whether a template reads values, and all of them are absent.
pub(super) fn is_absent<S: Slot>(template: &Template<S>, scope: &Scope) -> bool {
    let mut values = template.read_paths().iter().map(|path| scope.get(path).is_none_or(serde_json::Value::is_null));
    !template.read_paths().is_empty() && values.all(|absent| absent)
}
