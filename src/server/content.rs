//! Answers in the protocol's own types.

use rmcp::model::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, MetaObject, PromptMessage,
    ResourceContents, Role, TextContent,
};

use crate::catalog::{
    answer::{Block, Body, Contents, Embedded, Media, Message, Text},
    face,
};

use super::{
    older::{self, Older},
    served,
    session::Era,
};

/// Blocks as a version knows them.
pub(crate) fn blocks(blocks: Vec<Block>, era: Era) -> Vec<ContentBlock> {
    let known = |(nth, one)| older::known(block(one), nth, era);
    blocks.into_iter().enumerate().map(known).collect()
}

/// Messages as a version knows them.
pub(crate) fn messages(messages: Vec<Message>, era: Era) -> Vec<PromptMessage> {
    let known = |(nth, message): (usize, Message)| {
        PromptMessage::new(role(message.role), older::known(block(message.content), nth, era))
    };
    messages.into_iter().enumerate().map(known).collect()
}

/// What a resource holds, as a version knows it.
pub(crate) fn all(pieces: Vec<Contents>, era: Era) -> Vec<ResourceContents> {
    let mut pieces: Vec<ResourceContents> = pieces.into_iter().map(contents).collect();
    pieces.leave_out(era);
    pieces
}

fn contents(contents: Contents) -> ResourceContents {
    let Contents { uri, mime_type, body, meta } = contents;
    let meta = meta.map(MetaObject);
    match body {
        Body::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta },
        Body::Blob(blob) => ResourceContents::BlobResourceContents { uri, mime_type, blob, meta },
    }
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text(Text { text, annotations, meta }) => {
            let mut content = TextContent::new(text);
            content.annotations = annotations.map(hints);
            content.meta = meta.map(MetaObject);
            ContentBlock::Text(content)
        }
        Block::Image(Media { data, mime_type, annotations, meta }) => {
            let mut content = ImageContent::new(data, mime_type);
            content.annotations = annotations.map(hints);
            content.meta = meta.map(MetaObject);
            ContentBlock::Image(content)
        }
        Block::Audio(Media { data, mime_type, annotations, meta }) => {
            let mut content = AudioContent::new(data, mime_type);
            content.annotations = annotations.map(hints);
            content.meta = meta.map(MetaObject);
            ContentBlock::Audio(content)
        }
        Block::Resource(Embedded { resource, annotations, meta }) => {
            let mut content = EmbeddedResource::new(contents(resource));
            content.annotations = annotations.map(hints);
            content.meta = meta.map(MetaObject);
            ContentBlock::Resource(content)
        }
        Block::ResourceLink(resource) => ContentBlock::ResourceLink(served::resource(&resource)),
    }
}

fn role(role: face::Role) -> Role {
    match role {
        face::Role::User => Role::User,
        face::Role::Assistant => Role::Assistant,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rmcp holds a priority as f32; it has a digit or two")]
fn hints(hints: face::Annotations) -> Annotations {
    let mut annotations = Annotations::default();
    annotations.audience = (!hints.audience.is_empty()).then(|| hints.audience.into_iter().map(role).collect());
    annotations.priority = hints.priority.map(|priority| priority as f32);
    annotations.last_modified = hints.last_modified;
    annotations
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    /// The two sides are written apart, so what each would send is compared.
    #[test]
    fn every_block_is_sent_as_it_was_written() {
        let annotations =
            Some(face::Annotations { audience: vec![face::Role::User], priority: Some(0.5), last_modified: None });
        let meta = Some(serde_json::Map::from_iter([("k".to_owned(), 1.into())]));
        let media = || Media {
            data: "AA==".into(),
            mime_type: "a/b".into(),
            annotations: annotations.clone(),
            meta: meta.clone(),
        };
        let piece = |body| Contents { uri: "a:b".into(), mime_type: Some("a/b".into()), body, meta: meta.clone() };
        let embedded = |body| Embedded { resource: piece(body), annotations: annotations.clone(), meta: meta.clone() };
        let icons = vec![face::Icon {
            src: "https://x.example/i".into(),
            theme: Some(face::Theme::Dark),
            ..Default::default()
        }];
        let link = face::Resource { uri: "a:b".into(), name: "b".into(), size: Some(3), icons, ..Default::default() };
        let written = vec![
            Block::Text(Text { text: "t".into(), annotations: annotations.clone(), meta: meta.clone() }),
            Block::Image(media()),
            Block::Audio(media()),
            Block::Resource(embedded(Body::Text("t".into()))),
            Block::Resource(embedded(Body::Blob("AA==".into()))),
            Block::ResourceLink(link),
        ];
        let expected = serde_json::to_value(&written).unwrap();
        assert_eq!(serde_json::to_value(blocks(written, Era::V2026_07_28)).unwrap(), expected);
    }
}
