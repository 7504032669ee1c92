//! What older versions do not know: keys as a table, and blocks of content in other words. See also `output_shape`.

use std::{collections::BTreeMap, mem::take, sync::LazyLock};

use bytes::Bytes;
use rmcp::model::{ErrorData, TASKS_EXTENSION_ID};
use serde::Serialize;
use serde_json::Value;

use crate::catalog::{
    listing::ResourceListing,
    result::call_result::{BlockNotes, EmbeddedBlock, ResultBlock, ResultContents, TextBlock, TextOrBlob},
};
use crate::spec_version::SpecVersion;

use super::snapshot::ResultNotes;

/// What keys are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Tool,
    Prompt,
    PromptArgument,
    /// A resource, or a template of resources.
    Resource,
    Skill,
    /// What a resource holds.
    Contents,
    Message,
    /// A block of content, in a kind that the version knows: see [`adapt_block`].
    Block,
    Annotations,
    ServerInfo,
    Capabilities,
    Extensions,
}

/// The keys that came after the first version, each with the version that it came with.
const KEYS: [(Place, &str, SpecVersion); 21] = {
    use Place as P;
    use SpecVersion as V;
    [
        (P::Tool, "annotations", V::V2025_03_26),
        (P::Tool, "title", V::V2025_06_18),
        (P::Tool, "outputSchema", V::V2025_06_18),
        (P::Tool, "_meta", V::V2025_06_18),
        (P::Tool, "icons", V::V2025_11_25),
        (P::Prompt, "title", V::V2025_06_18),
        (P::Prompt, "_meta", V::V2025_06_18),
        (P::Prompt, "icons", V::V2025_11_25),
        (P::PromptArgument, "title", V::V2025_06_18),
        (P::Resource, "title", V::V2025_06_18),
        (P::Resource, "_meta", V::V2025_06_18),
        (P::Resource, "icons", V::V2025_11_25),
        (P::Contents, "_meta", V::V2025_06_18),
        (P::Block, "_meta", V::V2025_06_18),
        (P::Annotations, "lastModified", V::V2025_06_18),
        (P::Capabilities, "completions", V::V2025_03_26),
        (P::ServerInfo, "title", V::V2025_06_18),
        (P::ServerInfo, "description", V::V2025_11_25),
        (P::ServerInfo, "websiteUrl", V::V2025_11_25),
        (P::ServerInfo, "icons", V::V2025_11_25),
        (P::Extensions, TASKS_EXTENSION_ID, V::V2026_07_28),
    ]
};

/// What is in what: an object or a list of them, under a key.
const INNER_PLACES: [(Place, &str, Place); 6] = [
    (Place::Prompt, "arguments", Place::PromptArgument),
    (Place::Resource, "annotations", Place::Annotations),
    (Place::Block, "annotations", Place::Annotations),
    (Place::Block, "resource", Place::Contents),
    (Place::Message, "content", Place::Block),
    (Place::Capabilities, "extensions", Place::Extensions),
];

/// The places with the version since which all of their keys are known, those of what is in them too. Each answer asks.
static WHOLE_SINCE: LazyLock<BTreeMap<Place, SpecVersion>> = LazyLock::new(|| {
    let places = KEYS.iter().map(|(place, ..)| *place).chain(INNER_PLACES.iter().map(|(outer, ..)| *outer));
    places.map(|place| (place, place.whole_since())).collect()
});

impl Place {
    /// Whether a version knows all of its keys.
    pub(crate) fn is_whole_in(self, version: SpecVersion) -> bool {
        WHOLE_SINCE.get(&self).is_none_or(|since| *since <= version)
    }

    fn whole_since(self) -> SpecVersion {
        let keys = KEYS.iter().filter(|(place, ..)| *place == self).map(|(.., since)| *since);
        let inner = INNER_PLACES.iter().filter(|(outer, ..)| *outer == self).map(|(.., place)| place.whole_since());
        keys.chain(inner).max().unwrap_or(SpecVersion::V2024_11_05)
    }
}

/// A result: what it has beside its content, and that.
#[derive(Serialize)]
struct NotesAndContent<'a, C> {
    #[serde(flatten)]
    notes: ResultNotes<'a>,
    #[serde(flatten)]
    content: C,
}

/// The JSON of a result of notes and content, whose parts under these keys have the keys that a version knows.
pub(crate) fn to_json(
    notes: ResultNotes<'_>,
    content: impl Serialize,
    version: SpecVersion,
    parts: &[(&str, Place)],
) -> Result<Bytes, ErrorData> {
    let result = NotesAndContent { notes, content };
    if parts.iter().all(|(_, place)| place.is_whole_in(version)) {
        // Most results are short: an allocation of this size is cheap, and does not grow.
        let mut json = Vec::with_capacity(1024);
        serde_json::to_writer(&mut json, &result).map_err(not_serialized)?;
        return Ok(json.into());
    }
    let mut result = serde_json::to_value(result).map_err(not_serialized)?;
    for (key, place) in parts {
        if let Some(part) = result.get_mut(*key) {
            remove_unknown_keys(part, *place, version);
        }
    }
    Ok(result.to_string().into())
}

fn not_serialized(error: serde_json::Error) -> ErrorData {
    tracing::error!(%error, "cannot serialize a result");
    ErrorData::internal_error("cannot serialize the result", None)
}

/// Removes the keys that a version does not know, and objects of which nothing is left.
pub(crate) fn remove_unknown_keys(value: &mut Value, place: Place, version: SpecVersion) {
    let keys = match value {
        Value::Array(items) => return items.iter_mut().for_each(|item| remove_unknown_keys(item, place, version)),
        Value::Object(keys) => keys,
        _ => return,
    };
    let is_known = |key: &str| KEYS.iter().all(|(of, name, since)| *of != place || *name != key || *since <= version);
    keys.retain(|key, _| is_known(key));
    for (_, key, inner) in INNER_PLACES.iter().filter(|(outer, ..)| *outer == place) {
        let Some(part) = keys.get_mut(*key) else { continue };
        remove_unknown_keys(part, *inner, version);
        if part.as_object().is_some_and(serde_json::Map::is_empty) {
            keys.shift_remove(*key);
        }
    }
}

/// Puts the `nth` block of an answer into a kind that the version knows: sound as a resource of bytes, a link as its text or
/// without icons.
pub(crate) fn adapt_block(block: &mut ResultBlock, nth: usize, version: SpecVersion) {
    match block {
        ResultBlock::Audio(audio) if version < SpecVersion::V2025_03_26 => {
            // A resource needs a URI, even if this one cannot be read.
            let uri = format!("content:audio-{}", nth + 1);
            let (body, notes) = (TextOrBlob::Blob(take(&mut audio.data)), take(&mut audio.notes));
            let resource = ResultContents { uri, mime_type: Some(take(&mut audio.mime_type)), body, meta: None };
            *block = ResultBlock::Resource(EmbeddedBlock { resource, notes });
        }
        ResultBlock::ResourceLink(link) if version < SpecVersion::V2025_06_18 => {
            let notes = BlockNotes { annotations: link.info.annotations.clone(), meta: None };
            *block = ResultBlock::Text(TextBlock { text: link_as_markdown(link), notes });
        }
        ResultBlock::ResourceLink(link) if version < SpecVersion::V2025_11_25 => link.info.icons.clear(),
        _ => {}
    }
}

/// A link as Markdown writes one, with what is known of it.
fn link_as_markdown(link: &ResourceListing) -> String {
    let ResourceListing { uri, info, .. } = link;
    let mut message = format!("[{}]({uri})", info.title.as_ref().unwrap_or(&info.name));
    if let Some(mime_type) = &info.mime_type {
        message += &format!(" ({mime_type})");
    }
    if let Some(description) = &info.description {
        message += &format!(": {description}");
    }
    message
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::{listing, result::call_result::MediaBlock};

    /// What each key came with: 0 for the first version, 4 for the last.
    type Since = &'static [(&'static str, usize)];

    /// A value with every key that there is, and what is left of it in each version.
    fn keys_come_with_their_version(place: Place, whole: &Value, since: Since) {
        assert_eq!(keys(whole), keys_of(since, 4), "the table has every key");
        for (number, version) in SpecVersion::ALL.iter().copied().enumerate() {
            let mut one = json!([whole]);
            remove_unknown_keys(&mut one, place, version);
            assert_eq!(keys(&one[0]), keys_of(since, number), "{version:?}");
            assert_eq!(place.is_whole_in(version), keys(&one[0]).len() == since.len(), "{version:?}");
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
        keys_come_with_their_version(
            Place::Tool,
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
        keys_come_with_their_version(
            Place::Prompt,
            &json!({
                "name": "n", "title": "T", "description": "D", "arguments": [], "icons": icons(), "_meta": { "k": 1 }
            }),
            &[("name", 0), ("description", 0), ("arguments", 0), ("title", 2), ("_meta", 2), ("icons", 3)],
        );
        keys_come_with_their_version(
            Place::Resource,
            &json!({
                "uri": "a:b", "uriTemplate": "a:{b}", "name": "n", "title": "T", "description": "D", "mimeType": "a/b",
                "size": 1,
                "annotations": annotations, "icons": icons(), "_meta": { "k": 1 }
            }),
            &[
                ("uri", 0),
                ("uriTemplate", 0),
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
        keys_come_with_their_version(
            Place::Contents,
            &json!({ "uri": "a:b", "mimeType": "a/b", "text": "t", "_meta": { "k": 1 } }),
            &[("uri", 0), ("mimeType", 0), ("text", 0), ("_meta", 2)],
        );
    }

    #[test]
    fn content_blocks_are_adapted() {
        let annotations = json!({ "priority": 0.5, "lastModified": "2026-01-31T12:00:00Z" });
        let hints = listing::Annotations {
            priority: Some(0.5),
            last_modified: Some("2026-01-31T12:00:00Z".into()),
            ..Default::default()
        };
        let notes = |meta| BlockNotes { annotations: Some(hints.clone()), meta };
        let media = MediaBlock { data: "AA==".into(), mime_type: "audio/wav".into(), notes: notes(None) };
        let written = ResultBlock::Audio(media);
        let audio = json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": annotations });
        let link = json!({
            "type": "resource_link", "uri": "a:b", "name": "b", "title": "B", "mimeType": "a/b", "description": "D",
            "icons": icons(), "annotations": { "lastModified": "2026-01-31T12:00:00Z" }
        });
        let info = listing::ResourceInfo {
            name: "b".into(),
            title: Some("B".into()),
            description: Some("D".into()),
            mime_type: Some("a/b".into()),
            icons: vec![listing::Icon { src: "https://x.example/i.png".into(), ..Default::default() }],
            annotations: Some(listing::Annotations { priority: None, ..hints.clone() }),
            meta: None,
        };
        let written_link = ResultBlock::ResourceLink(ResourceListing { uri: "a:b".into(), info, size: None });
        let text = json!({ "type": "text", "text": "t", "annotations": annotations, "_meta": { "k": 1 } });
        let meta = Some(serde_json::Map::from_iter([("k".to_owned(), 1.into())]));
        let written_text = ResultBlock::Text(TextBlock { text: "t".into(), notes: notes(meta) });
        let said = |block: &ResultBlock, version: SpecVersion| {
            let mut block = block.clone();
            adapt_block(&mut block, 2, version);
            let result = json!({ "content": [block] });
            let json = to_json(ResultNotes::default(), &result, version, &[("content", Place::Block)]).unwrap();
            serde_json::from_slice::<Value>(&json).unwrap()["content"][0].take()
        };
        let bytes = json!({
            "type": "resource", "annotations": { "priority": 0.5 },
            "resource": { "uri": "content:audio-3", "mimeType": "audio/wav", "blob": "AA==" }
        });
        assert_eq!(said(&written, SpecVersion::V2024_11_05), bytes);
        let undated =
            json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": { "priority": 0.5 } });
        assert_eq!(said(&written, SpecVersion::V2025_03_26), undated);
        let message = json!({ "type": "text", "text": "[B](a:b) (a/b): D" });
        for spec_version in [SpecVersion::V2024_11_05, SpecVersion::V2025_03_26] {
            assert_eq!(said(&written_link, spec_version), message);
            assert_eq!(
                said(&written_text, spec_version),
                json!({ "type": "text", "text": "t", "annotations": { "priority": 0.5 } })
            );
        }
        assert!(said(&written_link, SpecVersion::V2025_06_18).get("icons").is_none());
        assert_eq!(said(&written_link, SpecVersion::V2025_06_18)["type"], "resource_link");
        for spec_version in [SpecVersion::V2025_06_18, SpecVersion::V2025_11_25, SpecVersion::V2026_07_28] {
            assert_eq!(
                (said(&written, spec_version), said(&written_text, spec_version)),
                (audio.clone(), text.clone())
            );
        }
        for spec_version in [SpecVersion::V2025_11_25, SpecVersion::V2026_07_28] {
            assert_eq!(said(&written_link, spec_version), link);
        }
    }
}
