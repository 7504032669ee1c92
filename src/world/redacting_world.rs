//! A [`World`] whose output contains no secrets, so that no later step can cut one apart.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::Url;

use crate::budget::block_if_large_with_secrets;
use crate::redact::{InputEnd, Redactor, SECRET_PLACEHOLDER};

use super::{AccessToken, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, TokenRequest, World, WorldError};

/// Redacts the output of another world.
pub struct RedactingWorld {
    redactor: Arc<Redactor>,
    world: Arc<dyn World>,
}

impl RedactingWorld {
    /// Wraps a world, unless there is nothing to redact, or that is done: what is redacted twice is cut elsewhere.
    #[must_use]
    pub fn wrap(redactor: &Arc<Redactor>, world: &Arc<dyn World>) -> Arc<dyn World> {
        if redactor.is_empty() || world.redactor().is_some_and(|known| std::ptr::eq(known, &**redactor)) {
            return world.clone();
        }
        Arc::new(RedactingWorld { redactor: redactor.clone(), world: world.clone() })
    }

    fn redact_request_error(&self, mut error: WorldError, secret_host: Option<&str>) -> WorldError {
        if let Some(host) = error.host_mut().filter(|host| Some(host.as_str()) == secret_host) {
            *host = SECRET_PLACEHOLDER.to_owned();
        }
        let mut error = error.redact(&self.redactor);
        // The manifest alone names the proxy.
        if let Some(proxy) = error.proxy_mut().filter(|proxy| self.redactor.is_part_of_secret(proxy)) {
            *proxy = SECRET_PLACEHOLDER.to_owned();
        }
        error
    }
}

impl HttpRequest {
    /// The request, with as much more of its response as `redactor` needs to know a secret at the limit.
    pub(super) fn with_lookahead(self, redactor: &Redactor) -> HttpRequest {
        HttpRequest { lookahead: self.lookahead.saturating_add(redactor.lookahead() as u64), ..self }
    }
}

impl HttpResponse {
    /// The response without secrets, and with so many bytes of its body.
    #[must_use]
    pub(super) fn redact(self, redactor: &Redactor, limit: u64) -> HttpResponse {
        block_if_large_with_secrets(self.body.bytes.len() as u64, || self.redact_in_place(redactor, limit))
    }

    fn redact_in_place(mut self, redactor: &Redactor, limit: u64) -> HttpResponse {
        self.body.redact(redactor, limit, InputEnd::Complete);
        for (name, value) in &mut self.headers {
            redactor.redact_in_place(name);
            redactor.redact_in_place(value);
        }
        if let std::borrow::Cow::Owned(hidden) = redactor.redact_text(self.url.as_str()) {
            self.url = Url::parse(&hidden).unwrap_or_else(|_| public_origin(&self.url, redactor));
        }
        self
    }
}

/// The origin of a URL whose other parts are secret.
fn public_origin(url: &Url, redactor: &Redactor) -> Url {
    let mut origin = url.clone();
    origin.set_path("/");
    origin.set_query(None);
    origin.set_fragment(None);
    let _ = (origin.set_username(""), origin.set_password(None));
    if redactor.is_part_of_secret(origin.host_str().unwrap_or_default()) {
        let _ = origin.set_host(Some("secret.invalid"));
    }
    origin
}

impl World for RedactingWorld {
    fn inner(&self) -> Option<&dyn World> {
        Some(&*self.world)
    }

    fn run_program(&self, mut command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        Box::pin(async move {
            let limit = command.max_output;
            if let Some(latest_line) = &command.latest_line {
                latest_line.redact_with(&self.redactor);
            }
            command.max_output = limit.saturating_add(self.redactor.lookahead() as u64);
            let mut ended = self.world.run_program(command).await;
            let (outputs, end) = match &mut ended {
                Ok(ProgramOutput { signal: None, stdout, stderr, .. }) => ([stdout, stderr], InputEnd::Complete),
                Ok(ProgramOutput { stdout, stderr, .. }) | Err(WorldError::TimedOut { stdout, stderr, .. }) => {
                    ([stdout, stderr], InputEnd::Interrupted)
                }
                Err(_) => return ended,
            };
            outputs.into_iter().for_each(|output| output.redact(&self.redactor, limit, end));
            ended
        })
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        Box::pin(async move {
            let (limit, secret_host) = (request.read_limit(), request.secret_host.clone());
            let response = self.world.send_request(request.with_lookahead(&self.redactor)).await;
            response
                .map(|response| response.redact(&self.redactor, limit))
                .map_err(|error| self.redact_request_error(error, secret_host.as_deref()))
        })
    }

    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        rejected: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        Box::pin(async move {
            let secret_host = request.limits.secret_host.clone();
            let token = self.world.access_token(request, rejected).await;
            token.map_err(|error| self.redact_request_error(error, secret_host.as_deref()))
        })
    }

    fn redactor(&self) -> Option<&Redactor> {
        Some(&self.redactor)
    }

    fn redact(&self, text: String) -> String {
        self.world.redact(self.redactor.redact_text(&text).into_owned())
    }
}
