//! The messages of what is rendered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::template::{JsPiece, Marker};
use crate::value_types::Role;

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedMessage {
    /// Whose it is.
    pub role: Role,
    /// What it says.
    pub content: ImportedContent,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportedContent {
    Text(String),
    /// A picture or a sound.
    Media {
        bytes: Vec<u8>,
        /// What its type is said to be.
        mime_type: String,
    },
    Link {
        /// Where to.
        uri: String,
        /// The type of what is there.
        mime_type: Option<String>,
    },
}

/// Who says what stands behind a marker. MCP knows no system and no tools: what they say is the user's.
pub(super) fn role_behind(marker: Option<&Marker>) -> Role {
    match marker {
        Some(Marker::History) => Role::Assistant,
        Some(Marker::Role(name)) if matches!(name.as_str(), "model" | "assistant") => Role::Assistant,
        Some(Marker::Role(_)) | None => Role::User,
    }
}

/// Adds what one part of a template says.
pub(super) fn add_part(messages: &mut Vec<ImportedMessage>, mut role: Role, pieces: Vec<JsPiece>) {
    let mut is_neighbour = true;
    for piece in pieces {
        let content = match piece {
            JsPiece::Marker(marker) => {
                (role, is_neighbour) = (role_behind(Some(&marker)), true);
                continue;
            }
            // Blank text between two markers is not a message.
            JsPiece::Text(text) if text.trim().is_empty() => continue,
            JsPiece::Text(text) => ImportedContent::Text(text),
            JsPiece::Media { url, content_type } => media(url, Some(content_type).filter(|name| !name.is_empty())),
        };
        match (messages.last_mut(), content) {
            (
                Some(ImportedMessage { role: before, content: ImportedContent::Text(previous) }),
                ImportedContent::Text(text),
            ) if *before == role => join(previous, &text, is_neighbour),
            (_, content) => messages.push(ImportedMessage { role, content }),
        }
        is_neighbour = false;
    }
}

/// Adds a text to one that the same speaker said, of a neighbouring message or of the same.
fn join(previous: &mut String, text: &str, is_neighbour: bool) {
    if is_neighbour {
        previous.truncate(previous.trim_end().len());
        previous.push_str("\n\n");
    }
    previous.push_str(if is_neighbour { text.trim_start_matches(['\r', '\n']) } else { text });
}

/// A picture or a sound whose bytes are in its URL, else a link.
fn media(url: String, content_type: Option<String>) -> ImportedContent {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let inline = inline.and_then(|(written, data)| Some((written, STANDARD.decode(data).ok()?)));
    if let Some((written, bytes)) = inline {
        let mime_type = content_type.clone().unwrap_or_else(|| written.to_owned());
        if mime_type.starts_with("image/") || mime_type.starts_with("audio/") {
            return ImportedContent::Media { bytes, mime_type };
        }
    }
    ImportedContent::Link { uri: url, mime_type: content_type }
}
