//! A world whose answers hold no secret: nothing that comes after it can cut one apart.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::Url;

use crate::redact::{End, HIDDEN, Redactor};

use super::{Captured, Command, Finished, Request, Response, World, WorldError};

/// Hides secrets in whatever a world answers.
pub struct Redacting {
    redactor: Arc<Redactor>,
    world: Arc<dyn World>,
}

impl Redacting {
    /// The world in which `redactor` hides what it knows.
    #[must_use]
    pub fn around(redactor: &Arc<Redactor>, world: &Arc<dyn World>) -> Arc<dyn World> {
        if redactor.is_empty() {
            return world.clone();
        }
        Arc::new(Redacting { redactor: redactor.clone(), world: world.clone() })
    }

    fn captured(&self, captured: &mut Captured, end: End) {
        let end = if captured.is_cut() { End::Cut } else { end };
        captured.missing += self.redactor.hide(&mut captured.bytes, end) as u64;
    }

    fn finished(&self, mut finished: Finished) -> Finished {
        let end = if finished.signal.is_some() { End::Broken } else { End::Whole };
        self.captured(&mut finished.stdout, end);
        self.captured(&mut finished.stderr, end);
        finished
    }

    fn response(&self, mut response: Response) -> Response {
        self.captured(&mut response.body, End::Whole);
        for (name, value) in &mut response.headers {
            self.redactor.replace(name);
            self.redactor.replace(value);
        }
        if let std::borrow::Cow::Owned(hidden) = self.redactor.text(response.url.as_str()) {
            let origin = || response.url.join("/").ok();
            response.url = Url::parse(&hidden).ok().or_else(origin).unwrap_or(response.url);
        }
        response
    }

    fn error(&self, mut error: WorldError) -> WorldError {
        if let WorldError::TimedOut { said, .. } = &mut error {
            self.captured(said, End::Broken);
        }
        // Of a URL that is a secret, the host is a part.
        if let Some(host) = error.host_mut().filter(|host| self.redactor.has_part(host)) {
            *host = HIDDEN.to_owned();
        }
        error
    }
}

impl World for Redacting {
    fn run(&self, command: Command) -> BoxFuture<'_, Result<Finished, WorldError>> {
        Box::pin(async move {
            let finished = self.world.run(command).await;
            finished.map(|finished| self.finished(finished)).map_err(|error| self.error(error))
        })
    }

    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WorldError>> {
        Box::pin(async move {
            let response = self.world.send(request).await;
            response.map(|response| self.response(response)).map_err(|error| self.error(error))
        })
    }
}
