//! Helpers that encode and hash, take paths apart, and make identifiers.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use uuid::Uuid;

use super::argument::{HelperFn, HelperParams, HelperValue, check_text_size, param_or_null, param_text, text_value};
use crate::digest::sha256;
use crate::template::render::RenderError;
use crate::uri::percent_encode;

pub(super) const HELPERS: &[(&str, HelperFn)] = &[
    ("basename", basename),
    ("dirname", dirname),
    ("base64", base64),
    ("urlencode", urlencode),
    ("hash", hash),
    ("uuid", uuid),
];

/// What is behind the last `/`, without the given ending.
fn basename(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    let trimmed = text.trim_end_matches('/');
    let name = trimmed.rsplit('/').next().unwrap_or_default();
    let ending = param_text(params, 1);
    let stem = name.strip_suffix(ending.as_ref()).filter(|stem| !stem.is_empty());
    text_value(stem.unwrap_or(name))
}

/// What is before the last `/`, as POSIX says: `.` where there is none.
fn dirname(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    let trimmed = text.trim_end_matches('/');
    let folder = match trimmed.rsplit_once('/') {
        Some((folder, _)) if folder.trim_end_matches('/').is_empty() => "/",
        Some((folder, _)) => folder.trim_end_matches('/'),
        None if trimmed.is_empty() && !text.is_empty() => "/",
        None => ".",
    };
    text_value(folder)
}

fn base64(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    check_text_size((text.len() / 3 + 1).checked_mul(4))?;
    text_value(STANDARD.encode(text.as_bytes()))
}

fn urlencode(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    check_text_size(text.len().checked_mul(3))?;
    text_value(percent_encode(&text))
}

fn hash(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    let mut hex = String::with_capacity(64);
    for byte in sha256(text.as_bytes()) {
        // Writing to a `String` cannot fail.
        _ = write!(hex, "{byte:02x}");
    }
    text_value(hex)
}

fn uuid(params: &dyn HelperParams) -> HelperValue {
    let version = param_or_null(params, 0);
    match version.as_u64() {
        Some(4) => text_value(Uuid::new_v4().to_string()),
        Some(7) => text_value(Uuid::now_v7().to_string()),
        _ => Err(RenderError::Helper { helper: "uuid", reason: "expected the version 4 or 7" }),
    }
}

/// Whether `uuid` knows a version.
pub(in crate::template) fn is_uuid_version(version: &Value) -> bool {
    matches!(version.as_u64(), Some(4 | 7))
}
