//! Converts answers of the catalog into protocol types.

use rmcp::model::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, MetaObject, PromptMessage,
    ResourceContents, Role, TextContent,
};

use crate::catalog::{
    listing,
    result::call_result::{
        BlockNotes, EmbeddedBlock, MediaBlock, ResultBlock, ResultContents, ResultMessage, TextBlock, TextOrBlob,
    },
};
use crate::spec_version::SpecVersion;
use crate::value_types;

use super::{
    downgrade::{self, Downgrade},
    snapshot,
};

/// Blocks as a version knows them.
pub(crate) fn blocks(blocks: Vec<ResultBlock>, spec_version: SpecVersion) -> Vec<ContentBlock> {
    let downgraded = |(nth, result)| downgrade::downgrade_block(block(result), nth, spec_version);
    blocks.into_iter().enumerate().map(downgraded).collect()
}

/// Messages as a version knows them.
pub(crate) fn messages(messages: Vec<ResultMessage>, spec_version: SpecVersion) -> Vec<PromptMessage> {
    let downgraded = |(nth, message): (usize, ResultMessage)| {
        PromptMessage::new(role(message.role), downgrade::downgrade_block(block(message.content), nth, spec_version))
    };
    messages.into_iter().enumerate().map(downgraded).collect()
}

/// What a resource holds, as a version knows it.
pub(crate) fn resource_contents(pieces: Vec<ResultContents>, spec_version: SpecVersion) -> Vec<ResourceContents> {
    let mut pieces: Vec<ResourceContents> = pieces.into_iter().map(resource_content).collect();
    pieces.downgrade(spec_version);
    pieces
}

fn resource_content(contents: ResultContents) -> ResourceContents {
    let ResultContents { uri, mime_type, body, meta } = contents;
    let meta = meta.map(MetaObject);
    match body {
        TextOrBlob::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta },
        TextOrBlob::Blob(blob) => ResourceContents::BlobResourceContents { uri, mime_type, blob, meta },
    }
}

fn block(block: ResultBlock) -> ContentBlock {
    match block {
        ResultBlock::Text(TextBlock { text, notes }) => {
            let mut content = TextContent::new(text);
            (content.annotations, content.meta) = convert_notes(notes);
            ContentBlock::Text(content)
        }
        ResultBlock::Image(MediaBlock { data, mime_type, notes }) => {
            let mut content = ImageContent::new(data, mime_type);
            (content.annotations, content.meta) = convert_notes(notes);
            ContentBlock::Image(content)
        }
        ResultBlock::Audio(MediaBlock { data, mime_type, notes }) => {
            let mut content = AudioContent::new(data, mime_type);
            (content.annotations, content.meta) = convert_notes(notes);
            ContentBlock::Audio(content)
        }
        ResultBlock::Resource(EmbeddedBlock { resource, notes }) => {
            let mut content = EmbeddedResource::new(resource_content(resource));
            (content.annotations, content.meta) = convert_notes(notes);
            ContentBlock::Resource(content)
        }
        ResultBlock::ResourceLink(resource) => ContentBlock::ResourceLink(snapshot::resource(&resource)),
    }
}

fn convert_notes(notes: BlockNotes) -> (Option<Annotations>, Option<MetaObject>) {
    (notes.annotations.map(convert_annotations), notes.meta.map(MetaObject))
}

fn role(role: value_types::Role) -> Role {
    match role {
        value_types::Role::User => Role::User,
        value_types::Role::Assistant => Role::Assistant,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rmcp holds a priority as f32; it has a digit or two")]
fn convert_annotations(hints: listing::Annotations) -> Annotations {
    let mut annotations = Annotations::default();
    annotations.audience = (!hints.audience.is_empty()).then(|| hints.audience.into_iter().map(role).collect());
    annotations.priority = hints.priority.map(|priority| priority as f32);
    annotations.last_modified = hints.last_modified;
    annotations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two sides are written apart, so what each would send is compared.
    #[test]
    fn every_block_serializes_like_the_catalog() {
        let annotations = Some(listing::Annotations {
            audience: vec![value_types::Role::User],
            priority: Some(0.5),
            last_modified: None,
        });
        let meta = Some(serde_json::Map::from_iter([("k".to_owned(), 1.into())]));
        let notes = || BlockNotes { annotations: annotations.clone(), meta: meta.clone() };
        let media = || MediaBlock { data: "AA==".into(), mime_type: "a/b".into(), notes: notes() };
        let piece =
            |body| ResultContents { uri: "a:b".into(), mime_type: Some("a/b".into()), body, meta: meta.clone() };
        let embedded = |body| EmbeddedBlock { resource: piece(body), notes: notes() };
        let icons = vec![listing::Icon {
            src: "https://x.example/i".into(),
            theme: Some(value_types::Theme::Dark),
            ..Default::default()
        }];
        let info = listing::ResourceInfo { name: "b".into(), icons, ..Default::default() };
        let link = listing::ResourceListing { uri: "a:b".into(), info, size: Some(3) };
        let written = vec![
            ResultBlock::Text(TextBlock { text: "t".into(), notes: notes() }),
            ResultBlock::Image(media()),
            ResultBlock::Audio(media()),
            ResultBlock::Resource(embedded(TextOrBlob::Text("t".into()))),
            ResultBlock::Resource(embedded(TextOrBlob::Blob("AA==".into()))),
            ResultBlock::ResourceLink(link),
        ];
        let expected = serde_json::to_value(&written).unwrap();
        assert_eq!(serde_json::to_value(blocks(written, SpecVersion::V2026_07_28)).unwrap(), expected);
    }
}
