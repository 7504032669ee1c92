//! A [`World`] whose output contains no secrets, so that no later step can cut one apart.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::Url;

use crate::redact::{InputEnd, Redactor, SECRET_PLACEHOLDER};

use super::{
    AccessToken, CapturedBytes, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, TokenRequest, World,
    WorldError,
};

/// Redacts the output of another world.
pub struct RedactingWorld {
    redactor: Arc<Redactor>,
    world: Arc<dyn World>,
}

impl RedactingWorld {
    /// Wraps a world, unless there is nothing to redact.
    #[must_use]
    pub fn wrap(redactor: &Arc<Redactor>, world: &Arc<dyn World>) -> Arc<dyn World> {
        if redactor.is_empty() {
            return world.clone();
        }
        Arc::new(RedactingWorld { redactor: redactor.clone(), world: world.clone() })
    }

    fn redact_captured(&self, captured: &mut CapturedBytes, end: InputEnd) {
        redact_captured(captured, end, &self.redactor);
    }

    fn redact_output(&self, mut finished: ProgramOutput) -> ProgramOutput {
        let end = if finished.signal.is_some() { InputEnd::Interrupted } else { InputEnd::Complete };
        self.redact_captured(&mut finished.stdout, end);
        self.redact_captured(&mut finished.stderr, end);
        finished
    }

    fn redact_error(&self, mut error: WorldError) -> WorldError {
        if let WorldError::TimedOut { stderr, .. } = &mut error {
            self.redact_captured(stderr, InputEnd::Interrupted);
        }
        if let WorldError::Token { reason, .. } = &mut error {
            self.redactor.redact_in_place(reason);
            *reason = reason.chars().take(300).collect();
        }
        // The host may be a part of a secret URL.
        for host in [WorldError::host_mut, WorldError::proxy_mut] {
            if let Some(host) = host(&mut error).filter(|host| self.redactor.is_part_of_secret(host)) {
                *host = SECRET_PLACEHOLDER.to_owned();
            }
        }
        error
    }
}

fn redact_captured(captured: &mut CapturedBytes, end: InputEnd, redactor: &Redactor) {
    let end = if captured.is_truncated() { InputEnd::Truncated } else { end };
    captured.missing_bytes += redactor.redact_bytes(&mut captured.bytes, end) as u64;
}

impl HttpResponse {
    /// The response without secrets.
    #[must_use]
    pub fn redact(mut self, redactor: &Redactor) -> HttpResponse {
        redact_captured(&mut self.body, InputEnd::Complete, redactor);
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
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        Box::pin(async move {
            let finished = self.world.run_program(command).await;
            finished.map(|finished| self.redact_output(finished)).map_err(|error| self.redact_error(error))
        })
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        Box::pin(async move {
            let response = self.world.send_request(request).await;
            response.map(|response| response.redact(&self.redactor)).map_err(|error| self.redact_error(error))
        })
    }

    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        rejected: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        Box::pin(async move {
            let token = self.world.access_token(request, rejected).await;
            token.map_err(|error| self.redact_error(error))
        })
    }

    fn redact(&self, text: String) -> String {
        self.world.redact(self.redactor.redact_text(&text).into_owned())
    }

    fn set_program_limit(&self, limit: usize) {
        self.world.set_program_limit(limit);
    }
}
