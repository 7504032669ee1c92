//! The messages of what is rendered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::render::Segment;
use super::tree::DotpromptRole;
use crate::pack_format::{ForeignContent, ForeignMessage};
use crate::value_types::Role;

/// A message of the template: a role, and what it says.
struct MessageDraft {
    role: DotpromptRole,
    parts: Vec<Segment>,
}

/// The messages of these segments. MCP knows no system and no tools: what they say is the user's.
pub(super) fn messages(segments: Vec<Segment>) -> Vec<ForeignMessage> {
    let mut messages: Vec<ForeignMessage> = Vec::new();
    for draft in drafts(segments) {
        let role = if draft.role == DotpromptRole::Model { Role::Assistant } else { Role::User };
        let mut is_neighbour = true;
        for part in draft.parts {
            let content = match part {
                Segment::Text(text) => ForeignContent::Text(text),
                Segment::Media { url, content_type } => media(url, content_type),
                Segment::Role(_) | Segment::History | Segment::Section => continue,
            };
            match (messages.last_mut(), content) {
                (
                    Some(ForeignMessage { role: before, content: ForeignContent::Text(previous) }),
                    ForeignContent::Text(text),
                ) if *before == role => {
                    join(previous, &text, is_neighbour);
                }
                (_, content) => messages.push(ForeignMessage { role, content }),
            }
            is_neighbour = false;
        }
    }
    messages
}

/// Adds a text to one that the same speaker said, of a neighbouring message or of the same.
fn join(previous: &mut String, text: &str, is_neighbour: bool) {
    if is_neighbour {
        previous.truncate(previous.trim_end().len());
        previous.push_str("\n\n");
    }
    previous.push_str(if is_neighbour { text.trim_start_matches(['\r', '\n']) } else { text });
}

/// The messages of the template. Blank text between two markers is not a message.
fn drafts(segments: Vec<Segment>) -> Vec<MessageDraft> {
    let mut drafts = Vec::new();
    let mut draft = MessageDraft { role: DotpromptRole::User, parts: Vec::new() };
    for segment in segments {
        let next = match segment {
            Segment::Role(role) => role,
            Segment::History => DotpromptRole::Model,
            Segment::Text(text) if text.trim().is_empty() => continue,
            part => {
                draft.parts.push(part);
                continue;
            }
        };
        drafts.push(std::mem::replace(&mut draft, MessageDraft { role: next, parts: Vec::new() }));
    }
    drafts.push(draft);
    drafts
}

/// A picture or a sound whose bytes are in its URL, else a link.
fn media(url: String, content_type: Option<String>) -> ForeignContent {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let inline = inline.and_then(|(written, data)| Some((written, STANDARD.decode(data).ok()?)));
    if let Some((written, bytes)) = inline {
        let mime_type = content_type.clone().unwrap_or_else(|| written.to_owned());
        if mime_type.starts_with("image/") || mime_type.starts_with("audio/") {
            return ForeignContent::Media { bytes, mime_type };
        }
    }
    ForeignContent::Link { uri: url, mime_type: content_type }
}
