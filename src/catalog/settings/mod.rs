//! What the served manifest says of the server: its info, its limits and how HTTP is served.

mod caller_headers;
pub(super) mod http_access;
pub(super) mod http_auth;
pub(super) mod http_limits;
pub(super) mod http_settings;
pub(super) mod operation_settings;
pub(super) mod server_info;
pub(super) mod server_limits;
