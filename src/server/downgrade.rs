//! Removes or rewrites fields and blocks that older versions do not know. See also `structured_content`.

use rmcp::model::{
    Annotations, ContentBlock, EmbeddedResource, Prompt, Resource, ResourceContents, ResourceTemplate, ServerConfig,
    TASKS_EXTENSION_ID, TextContent, Tool,
};

use crate::spec_version::SpecVersion;

/// Something that older versions know less of.
pub(crate) trait Downgrade {
    /// Leaves out what a version does not know.
    fn downgrade(&mut self, spec_version: SpecVersion);
}

impl<T: Downgrade> Downgrade for Vec<T> {
    fn downgrade(&mut self, spec_version: SpecVersion) {
        if spec_version < SpecVersion::V2025_11_25 {
            self.iter_mut().for_each(|part| part.downgrade(spec_version));
        }
    }
}

impl Downgrade for Tool {
    fn downgrade(&mut self, spec_version: SpecVersion) {
        if spec_version < SpecVersion::V2025_11_25 {
            self.icons = None;
        }
        if spec_version < SpecVersion::V2025_06_18 {
            self.title = None;
            self.output_schema = None;
            self.meta = None;
        }
        if spec_version < SpecVersion::V2025_03_26 {
            self.annotations = None;
        }
    }
}

impl Downgrade for Prompt {
    fn downgrade(&mut self, spec_version: SpecVersion) {
        if spec_version < SpecVersion::V2025_11_25 {
            self.icons = None;
        }
        if spec_version < SpecVersion::V2025_06_18 {
            self.title = None;
            self.meta = None;
            self.arguments.iter_mut().flatten().for_each(|argument| argument.title = None);
        }
    }
}

/// A resource and a template of resources have the same keys, but for the URI.
macro_rules! impl_downgrade_for_resources {
    ($($listed:ty),+) => {$(
        impl Downgrade for $listed {
            fn downgrade(&mut self, spec_version: SpecVersion) {
                if spec_version < SpecVersion::V2025_11_25 {
                    self.icons = None;
                }
                if spec_version < SpecVersion::V2025_06_18 {
                    self.title = None;
                    self.meta = None;
                    remove_last_modified(&mut self.annotations);
                }
            }
        }
    )+};
}

impl_downgrade_for_resources!(Resource, ResourceTemplate);

impl Downgrade for ResourceContents {
    fn downgrade(&mut self, spec_version: SpecVersion) {
        if spec_version < SpecVersion::V2025_06_18 {
            match self {
                ResourceContents::TextResourceContents { meta, .. }
                | ResourceContents::BlobResourceContents { meta, .. } => *meta = None,
                _ => {}
            }
        }
    }
}

impl Downgrade for ServerConfig {
    fn downgrade(&mut self, spec_version: SpecVersion) {
        if spec_version < SpecVersion::V2026_07_28
            && let Some(extensions) = &mut self.capabilities.extensions
        {
            extensions.remove(TASKS_EXTENSION_ID);
        }
        self.capabilities.extensions.take_if(|extensions| extensions.is_empty());
        if spec_version < SpecVersion::V2025_11_25 {
            self.server_info.icons = None;
            self.server_info.website_url = None;
            self.server_info.description = None;
        }
        if spec_version < SpecVersion::V2025_06_18 {
            self.server_info.title = None;
        }
        if spec_version < SpecVersion::V2025_03_26 {
            self.capabilities.completions = None;
        }
    }
}

impl Downgrade for ContentBlock {
    fn downgrade(&mut self, spec_version: SpecVersion) {
        if spec_version >= SpecVersion::V2025_06_18 {
            if let ContentBlock::ResourceLink(link) = self {
                link.downgrade(spec_version);
            }
            return;
        }
        let (annotations, meta) = match self {
            ContentBlock::Text(text) => (&mut text.annotations, &mut text.meta),
            ContentBlock::Image(image) => (&mut image.annotations, &mut image.meta),
            ContentBlock::Audio(audio) => (&mut audio.annotations, &mut audio.meta),
            ContentBlock::Resource(embedded) => {
                embedded.resource.downgrade(spec_version);
                (&mut embedded.annotations, &mut embedded.meta)
            }
            _ => return,
        };
        remove_last_modified(annotations);
        *meta = None;
    }
}

fn remove_last_modified(annotations: &mut Option<Annotations>) {
    if let Some(hints) = annotations {
        hints.last_modified = None;
    }
    annotations.take_if(|hints| hints.audience.is_none() && hints.priority.is_none());
}

/// The `nth` block of an answer in a kind that the version knows: sound as a resource of bytes, a link as its text.
pub(crate) fn downgrade_block(block: ContentBlock, nth: usize, spec_version: SpecVersion) -> ContentBlock {
    let mut block = match block {
        ContentBlock::Audio(audio) if spec_version < SpecVersion::V2025_03_26 => {
            // A resource needs a URI, even if this one cannot be read.
            let uri = format!("content:audio-{}", nth + 1);
            let (mime_type, blob) = (Some(audio.mime_type), audio.data);
            let bytes = ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None };
            let mut embedded = EmbeddedResource::new(bytes);
            embedded.annotations = audio.annotations;
            ContentBlock::Resource(embedded)
        }
        ContentBlock::ResourceLink(link) if spec_version < SpecVersion::V2025_06_18 => {
            let mut text = TextContent::new(link_as_markdown(&link));
            text.annotations = link.annotations;
            ContentBlock::Text(text)
        }
        other => other,
    };
    if spec_version < SpecVersion::V2025_11_25 {
        block.downgrade(spec_version);
    }
    block
}

/// A link as Markdown writes one, with what is known of it.
fn link_as_markdown(link: &Resource) -> String {
    let name = link.title.as_ref().unwrap_or(&link.name);
    let mut message = format!("[{name}]({})", link.uri);
    if let Some(mime_type) = &link.mime_type {
        message += &format!(" ({mime_type})");
    }
    if let Some(description) = &link.description {
        message += &format!(": {description}");
    }
    message
}

#[cfg(test)]
mod tests {
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::{Value, json};

    use super::*;

    /// What each key came with: 0 for the first version, 4 for the last.
    type Since = &'static [(&'static str, usize)];

    /// A value with every key that there is, and what is left of it in each version.
    fn keys_come_with_their_version<T: Downgrade + Serialize + DeserializeOwned + Clone>(whole: &Value, since: Since) {
        let whole: T = serde_json::from_value(whole.clone()).unwrap();
        assert_eq!(keys(&serde_json::to_value(&whole).unwrap()), keys_of(since, 4), "the table has every key");
        for (number, spec_version) in SpecVersion::ALL.iter().copied().enumerate() {
            let mut one = vec![whole.clone()];
            one.downgrade(spec_version);
            assert_eq!(keys(&serde_json::to_value(&one[0]).unwrap()), keys_of(since, number), "{spec_version:?}");
        }
    }

    fn keys(value: &Value) -> Vec<String> {
        let mut keys = Vec::new();
        for (key, value) in value.as_object().unwrap() {
            keys.push(key.clone());
            if key == "annotations" && value.get("lastModified").is_some() {
                keys.push("lastModified".to_owned());
            }
        }
        keys.sort();
        keys
    }

    fn keys_of(since: Since, number: usize) -> Vec<String> {
        let mut keys: Vec<String> =
            since.iter().filter(|(_, from)| *from <= number).map(|(key, _)| (*key).to_owned()).collect();
        keys.sort();
        keys
    }

    fn icons() -> Value {
        json!([{ "src": "https://x.example/i.png" }])
    }

    #[test]
    fn listed_entries_have_keys_of_their_version() {
        let annotations = json!({ "priority": 0.5, "lastModified": "2026-01-31T12:00:00Z" });
        keys_come_with_their_version::<Tool>(
            &json!({
                "name": "n", "title": "T", "description": "D", "inputSchema": { "type": "object" }, "icons": icons(),
                "outputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true }, "_meta": { "k": 1 }
            }),
            &[
                ("name", 0),
                ("description", 0),
                ("inputSchema", 0),
                ("annotations", 1),
                ("title", 2),
                ("outputSchema", 2),
                ("_meta", 2),
                ("icons", 3),
            ],
        );
        keys_come_with_their_version::<Prompt>(
            &json!({
                "name": "n", "title": "T", "description": "D", "arguments": [], "icons": icons(), "_meta": { "k": 1 }
            }),
            &[("name", 0), ("description", 0), ("arguments", 0), ("title", 2), ("_meta", 2), ("icons", 3)],
        );
        keys_come_with_their_version::<Resource>(
            &json!({
                "uri": "a:b", "name": "n", "title": "T", "description": "D", "mimeType": "a/b", "size": 1,
                "annotations": annotations, "icons": icons(), "_meta": { "k": 1 }
            }),
            &[
                ("uri", 0),
                ("name", 0),
                ("description", 0),
                ("mimeType", 0),
                ("size", 0),
                ("annotations", 0),
                ("lastModified", 2),
                ("title", 2),
                ("_meta", 2),
                ("icons", 3),
            ],
        );
        keys_come_with_their_version::<ResourceTemplate>(
            &json!({
                "uriTemplate": "a:{b}", "name": "n", "title": "T", "description": "D", "mimeType": "a/b",
                "annotations": annotations, "icons": icons(), "_meta": { "k": 1 }
            }),
            &[
                ("uriTemplate", 0),
                ("name", 0),
                ("description", 0),
                ("mimeType", 0),
                ("annotations", 0),
                ("lastModified", 2),
                ("title", 2),
                ("_meta", 2),
                ("icons", 3),
            ],
        );
        keys_come_with_their_version::<ResourceContents>(
            &json!({ "uri": "a:b", "mimeType": "a/b", "text": "t", "_meta": { "k": 1 } }),
            &[("uri", 0), ("mimeType", 0), ("text", 0), ("_meta", 2)],
        );
    }

    #[test]
    fn content_blocks_are_downgraded() {
        let annotations = json!({ "priority": 0.5, "lastModified": "2026-01-31T12:00:00Z" });
        let audio = json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": annotations });
        let link = json!({
            "type": "resource_link", "uri": "a:b", "name": "b", "title": "B", "mimeType": "a/b", "description": "D",
            "icons": icons(), "annotations": { "lastModified": "2026-01-31T12:00:00Z" }
        });
        let text = json!({ "type": "text", "text": "t", "annotations": annotations, "_meta": { "k": 1 } });
        let said = |block: &Value, spec_version: SpecVersion| {
            serde_json::to_value(downgrade_block(serde_json::from_value(block.clone()).unwrap(), 2, spec_version))
                .unwrap()
        };
        let bytes = json!({
            "type": "resource", "annotations": { "priority": 0.5 },
            "resource": { "uri": "content:audio-3", "mimeType": "audio/wav", "blob": "AA==" }
        });
        assert_eq!(said(&audio, SpecVersion::V2024_11_05), bytes);
        let undated =
            json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": { "priority": 0.5 } });
        assert_eq!(said(&audio, SpecVersion::V2025_03_26), undated);
        let message = json!({ "type": "text", "text": "[B](a:b) (a/b): D" });
        for spec_version in [SpecVersion::V2024_11_05, SpecVersion::V2025_03_26] {
            assert_eq!(said(&link, spec_version), message);
            assert_eq!(
                said(&text, spec_version),
                json!({ "type": "text", "text": "t", "annotations": { "priority": 0.5 } })
            );
        }
        assert!(said(&link, SpecVersion::V2025_06_18).get("icons").is_none());
        assert_eq!(said(&link, SpecVersion::V2025_06_18)["type"], "resource_link");
        for spec_version in [SpecVersion::V2025_06_18, SpecVersion::V2025_11_25, SpecVersion::V2026_07_28] {
            assert_eq!((said(&audio, spec_version), said(&text, spec_version)), (audio.clone(), text.clone()));
        }
        for spec_version in [SpecVersion::V2025_11_25, SpecVersion::V2026_07_28] {
            assert_eq!(said(&link, spec_version), link);
        }
    }
}
