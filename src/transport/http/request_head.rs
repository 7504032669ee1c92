//! Reads what the head of a request says of its body and its version.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use rmcp::model::ProtocolVersion;

use super::response::{RefusedRequest, text_response};

const PROTOCOL_VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Refuses a body that is not JSON as it stands.
pub(super) fn check_body_type(headers: &HeaderMap) -> Result<(), RefusedRequest> {
    let value = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_plain = |coding: &HeaderValue| {
        let coding = coding.as_bytes().trim_ascii();
        coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")
    };
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        let words = "unsupported `Content-Encoding`; send the body as it is\n";
        let mut response = text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, words);
        response.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        return Err(response.into());
    }
    let essence = value(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    let is_json = essence.eq_ignore_ascii_case("application/json");
    let words = "unsupported `Content-Type`; send `application/json`\n";
    if is_json { Ok(()) } else { Err(RefusedRequest::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, words)) }
}

/// Whether a request of this version in its head is of one without sessions.
pub(super) fn is_sessionless(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Refuses a version that is not spoken (basic/transports, `MCP-Protocol-Version`).
pub(super) fn check_known_version(version: Option<&str>) -> Result<(), RefusedRequest> {
    let is_known = |version: &&str| ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == *version);
    let Some(unknown) = version.filter(|version| !is_known(version)) else { return Ok(()) };
    let message = format!("Bad Request: Unsupported MCP-Protocol-Version: {unknown}");
    Err(RefusedRequest::text(StatusCode::BAD_REQUEST, message))
}

/// Refuses a version that is no text: it would count as none. Of several the first counts, as in the official SDK.
pub(super) fn check_version_header(headers: &HeaderMap) -> Result<(), RefusedRequest> {
    let is_text = headers.get(PROTOCOL_VERSION_HEADER).is_none_or(|version| version.to_str().is_ok());
    let refusal = || RefusedRequest::text(StatusCode::BAD_REQUEST, "Bad Request: invalid MCP-Protocol-Version");
    if is_text { Ok(()) } else { Err(refusal()) }
}

/// The version that the head of a request names.
pub(super) fn protocol_version(headers: &HeaderMap) -> Option<&str> {
    headers.get(PROTOCOL_VERSION_HEADER).and_then(|value| value.to_str().ok())
}
