//! `/livez` and `/readyz`, which Kubernetes, balancers and `folio health` ask of the listener.

use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::response::text_response;

/// The answer to a health check; `None` for any other request. It says nothing but this, and so needs neither a token nor
/// a known `Host`: probes send the address of a pod.
pub(super) fn answer_health_check(method: &Method, path: &str, is_stopping: bool) -> Option<Response> {
    let is_up = match path {
        "/livez" => true,
        "/readyz" => !is_stopping,
        _ => return None,
    };
    let response = match is_up {
        true => text_response(StatusCode::OK, "ok\n"),
        false => text_response(StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
    };
    (method == Method::GET || method == Method::HEAD).then_some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_server_is_live_and_not_ready() {
        let status = |path: &str, is_stopping| {
            answer_health_check(&Method::GET, path, is_stopping).map(|response| response.status().as_u16())
        };
        assert_eq!(
            [status("/livez", true), status("/readyz", true), status("/readyz", false)],
            [Some(200), Some(503), Some(200)]
        );
        assert_eq!(status("/mcp", false), None);
    }
}
