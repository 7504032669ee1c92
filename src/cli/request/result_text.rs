//! Results as a person reads them: texts as they are, everything else in one line.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::diagnostic::one_line;

pub(super) fn content_text(block: &Value) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => text("text").to_owned(),
        "resource_link" => format!("[link to {}]", one_line(text("uri"))),
        "resource" => {
            let part = |key: &str| block.get("resource")?.get(key)?.as_str();
            let uri = one_line(part("uri").unwrap_or_default());
            match part("text") {
                Some(body) => format!("[resource {uri}]\n{body}"),
                None => {
                    format!("[resource {uri}, {}", describe_media(part("mimeType"), part("blob").unwrap_or_default()))
                }
            }
        }
        _ => media_line(text("mimeType"), text("data")),
    }
}

/// `[image/png, 1234 bytes]`.
pub(super) fn media_line(mime_type: &str, base64: &str) -> String {
    format!("[{}", describe_media(Some(mime_type), base64))
}

fn describe_media(mime_type: Option<&str>, base64: &str) -> String {
    let size = STANDARD.decode(base64).map_or(base64.len(), |bytes| bytes.len());
    let mime_type = mime_type.filter(|mime| !mime.is_empty()).unwrap_or("application/octet-stream");
    format!("{}, {size} bytes]", one_line(mime_type))
}

/// The text with a final newline.
pub(super) fn ensure_newline(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
