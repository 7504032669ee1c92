//! Which names a header may have.

/// Whether a text is a token (RFC 9110, 5.6.2), as the name of a header is.
pub fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

/// Whether folio sets a header itself, as it says how the message is framed.
pub fn is_reserved_header(name: &str) -> bool {
    let reserved = ["host", "content-length", "transfer-encoding", "connection"];
    reserved.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}
