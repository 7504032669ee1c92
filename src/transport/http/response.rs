//! Builds responses: errors, JSON, plain text and CORS headers.

use std::{borrow::Cow, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use rmcp::model::RequestId;

use crate::{
    catalog::format_wait, redact::Redactors, store::StoreError, telemetry::RefusalReason,
    transport::message::MessageError,
};

use super::{access_guard::AccessDenial, admission::LimitReached, refusal::RefusalNote};

/// When to come again where there is no room.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Why a request is not answered by the server, and with which status.
#[derive(Debug)]
pub(super) enum RefusedRequest {
    /// In words for its sender.
    Text(StatusCode, Cow<'static, str>),
    /// In the answer to its message.
    Message(StatusCode, MessageError),
    /// There is no session of this name any more, or it is of another caller.
    SessionNotFound,
    /// It may be sent again after a while.
    Later(StatusCode, MessageError, Duration),
    /// With a response of its own, in which there is nothing to hide.
    Response(Box<Response>),
}

/// After how long a store that was away may be back.
pub(super) const STORE_RETRY_AFTER: Duration = Duration::from_secs(1);

impl RefusedRequest {
    pub(super) fn text(status: StatusCode, text: impl Into<Cow<'static, str>>) -> RefusedRequest {
        RefusedRequest::Text(status, text.into())
    }

    /// The message is invalid.
    pub(super) fn bad_message(error: MessageError) -> RefusedRequest {
        RefusedRequest::Message(StatusCode::BAD_REQUEST, error)
    }

    /// What cannot be taken now, or ever.
    pub(super) fn by_code(error: MessageError) -> RefusedRequest {
        if error.is_busy() { RefusedRequest::busy(error) } else { RefusedRequest::bad_message(error) }
    }

    /// There is no room for it.
    pub(super) fn busy(error: MessageError) -> RefusedRequest {
        RefusedRequest::Later(StatusCode::SERVICE_UNAVAILABLE, error, BUSY_RETRY_AFTER)
    }

    /// A limit is reached, by what asks this id.
    pub(super) fn limit_reached(id: Option<RequestId>, reached: LimitReached) -> RefusedRequest {
        let status = if reached.is_of_caller { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::SERVICE_UNAVAILABLE };
        let message = format!("{}; try again in {}", reached.message, format_wait(reached.retry_after));
        RefusedRequest::Later(status, MessageError::busy(id, message), reached.retry_after)
    }

    /// It needs what replicas share, and that is away.
    pub(super) fn store_is_away(id: Option<RequestId>) -> RefusedRequest {
        let error = MessageError::busy(id, "the store that replicas share is away; try again later");
        RefusedRequest::Later(StatusCode::SERVICE_UNAVAILABLE, error, STORE_RETRY_AFTER)
    }

    /// The session limit is reached.
    pub(super) fn too_many_sessions(id: Option<RequestId>) -> RefusedRequest {
        RefusedRequest::busy(MessageError::busy(id, "too many sessions; try again later"))
    }

    /// The response, without secrets, as it may repeat what it is about.
    pub(super) fn into_response(self, redactors: &Redactors) -> Response {
        let detail = match &self {
            RefusedRequest::Later(_, error, _) => Some(error.message().to_owned()),
            _ => None,
        };
        let mut response = self.response(redactors);
        if response.extensions().get::<RefusalNote>().is_none()
            && let Some(note) = RefusalNote::of_status(response.status())
        {
            let note = detail.into_iter().fold(note, RefusalNote::with_detail);
            response.extensions_mut().insert(note);
        }
        response
    }

    fn response(self, redactors: &Redactors) -> Response {
        match self {
            RefusedRequest::Text(status, text) => text_response(status, redactors.redact_text(text.into_owned())),
            RefusedRequest::Response(response) => *response,
            RefusedRequest::SessionNotFound => {
                let mut response = text_response(StatusCode::NOT_FOUND, "Not Found: Session not found");
                response.extensions_mut().insert(RefusalNote::from(RefusalReason::UnknownSession));
                response
            }
            RefusedRequest::Message(status, error) => json_response(status, error.into_message(redactors).json),
            RefusedRequest::Later(status, error, wait) => {
                let mut response = json_response(status, error.into_message(redactors).json);
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
                response
            }
        }
    }
}

impl From<Response> for RefusedRequest {
    fn from(response: Response) -> RefusedRequest {
        RefusedRequest::Response(Box::new(response))
    }
}

/// Of what has no id. A request has `store_is_away` with its own.
impl From<StoreError> for RefusedRequest {
    fn from(StoreError: StoreError) -> RefusedRequest {
        RefusedRequest::store_is_away(None)
    }
}

pub(super) fn denied_response(denied: &AccessDenial) -> Response {
    let (status, words) = match denied {
        AccessDenial::InvalidHost => (StatusCode::BAD_REQUEST, "missing or invalid `Host`\n"),
        AccessDenial::Host => {
            (StatusCode::FORBIDDEN, "unknown `Host`; name it in `publicUrl` or `allowedHosts` in the manifest\n")
        }
        AccessDenial::Origin => {
            (StatusCode::FORBIDDEN, "forbidden `Origin`; add it to `allowedOrigins` in the manifest\n")
        }
    };
    let mut response = text_response(status, words);
    response.extensions_mut().insert(RefusalNote::of_access(denied));
    response
}

/// What is at another path than the endpoint.
pub(super) fn other_path(path: &str, asked: &str) -> RefusedRequest {
    let status = if asked == "/" { StatusCode::OK } else { StatusCode::NOT_FOUND };
    RefusedRequest::text(status, format!("this is an MCP server; its endpoint is {path}\n"))
}

pub(super) fn json_response(status: StatusCode, json: Bytes) -> Response {
    build_response(status, "application/json", Body::from(json))
}

pub(super) fn method_not_allowed(allowed: &'static str) -> Response {
    let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

pub(super) fn text_response(status: StatusCode, text: impl Into<String>) -> Response {
    build_response(status, "text/plain; charset=utf-8", Body::from(text.into()))
}

pub(super) fn build_response(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The headers that a page of an allowed origin may send, beside those that the manifest declares.
const ALLOWED_HEADERS: &str =
    "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id";

/// Lets a page of an allowed origin read the response: its browser asks for that.
pub(super) fn add_cors_headers(headers: &mut HeaderMap, origin: HeaderValue, caller_headers: &[String]) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id, Retry-After, WWW-Authenticate"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let allowed = [ALLOWED_HEADERS].into_iter().chain(caller_headers.iter().map(String::as_str));
    if let Ok(allowed) = HeaderValue::from_str(&allowed.collect::<Vec<_>>().join(", ")) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
}
