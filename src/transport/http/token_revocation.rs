//! Ends streams whose token is no longer valid.

use std::sync::Arc;

use axum::{body::Body, http::HeaderValue, response::Response};
use futures_util::StreamExt;

use super::{HttpServer, redact};

/// Ends a stream as soon as what was shown for it is not the token any more.
pub(super) fn end_on_revocation(
    response: Response,
    http_server: &Arc<HttpServer>,
    authorization: Option<HeaderValue>,
) -> Response {
    if !redact::is_event_stream(response.headers()) {
        return response;
    }
    let denied = wait_for_revocation(http_server.clone(), authorization);
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(denied))))
}

/// Returns when what is shown is not the token.
async fn wait_for_revocation(http_server: Arc<HttpServer>, authorization: Option<HeaderValue>) {
    let mut catalogs = http_server.shared_server.subscribe();
    loop {
        // What is changed from here on is noticed below.
        catalogs.mark_unchanged();
        let catalog = http_server.shared_server.catalog();
        if http_server.guard.check_token(authorization.as_ref(), http_server.access(&catalog)).is_err() {
            return;
        }
        drop(catalog);
        if catalogs.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}
