//! Streams that end when whoever reads them may no longer ask: the token was changed meanwhile.

use std::sync::Arc;

use axum::{body::Body, http::HeaderValue, response::Response};
use futures_util::StreamExt;

use super::{HttpServer, redact};

/// Ends a stream as soon as what was shown for it is not the token any more.
pub(super) fn until_denied(response: Response, desk: &Arc<HttpServer>, shown: Option<HeaderValue>) -> Response {
    if !redact::is_event_stream(response.headers()) {
        return response;
    }
    let denied = denied(desk.clone(), shown);
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(denied))))
}

/// Returns when what is shown is not the token.
async fn denied(desk: Arc<HttpServer>, shown: Option<HeaderValue>) {
    let mut catalogs = desk.live.subscribe();
    loop {
        // What is changed from here on is noticed below.
        catalogs.mark_unchanged();
        let catalog = desk.live.catalog();
        if desk.guard.check_token(shown.as_ref(), &catalog.http_settings().access).is_err() {
            return;
        }
        drop(catalog);
        if catalogs.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}
