//! Content blocks of prompts, results and samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Icon, yaml_kind_enum};
use crate::yaml::Spanned;

/// Who says a message. MCP has no `system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Annotations of content for the client.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Annotations {
    /// The intended audience, such as `[user]`.
    pub audience: Option<Vec<Role>>,
    /// The importance, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0), with = "Option<f64>")]
    pub priority: Option<Spanned<f64>>,
    /// The time of the last change (RFC 3339), such as `2026-07-28T09:30:00Z`.
    #[schemars(with = "Option<String>")]
    pub last_modified: Option<Spanned<String>>,
}

yaml_kind_enum! {
    /// A string (a template), or a content block.
    pub enum Block {
        /// A template.
        "text" => Text(String),
        /// A block with keys.
        "map" => Keys(Box<BlockBody>),
    }
}

/// One content block: exactly one of `text`, `file`, `image`, `audio`, `resource`, `resourceLink`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["text", "file", "image", "audio", "resource", "resourceLink"]))]
pub struct BlockBody {
    /// Text: a template, or `{ file: PATH }` for a file with one.
    pub text: Option<Spanned<super::TextOrFile>>,
    /// The file with the text, a template, such as `prompts/review.md`.
    pub file: Option<Spanned<String>>,
    /// An image: the path of a file, or its source: `{ base64: "{{result.stdout}}" }`. Its type is that of its bytes: PNG,
    /// JPEG, GIF or WebP. Other types are not images to a client: SVG is
    /// sent as text, other bytes as a resource.
    pub image: Option<Spanned<Media>>,
    /// Audio: the path of a file, or its source: `{ base64: "{{result.stdout}}", mimeType: audio/wav }`.
    pub audio: Option<Spanned<Media>>,
    /// The MIME type of the image or audio, a template, where its bytes do not say it.
    pub mime_type: Option<Spanned<String>>,
    /// An embedded resource: the URI of a resource of this server, or its contents: `{ uri: "note://1", text: "{{note}}" }`.
    pub resource: Option<Spanned<ResourceBody>>,
    /// A link to a resource: its URI, or a map with its name and more: `{ uri: "note://1", name: note }`.
    pub resource_link: Option<Spanned<ResourceLinkBody>>,
    /// Annotations for the client: `{ audience: [user], priority: 0.5 }`.
    pub annotations: Option<Annotations>,
    /// Includes the block only if this value is true: exactly one `{{…}}`, such as `{{flag}}`.
    pub when: Option<Spanned<String>>,
    /// Repeats the block for each item of a list in scope, such as `files`; the item is `{{this}}`.
    pub each: Option<Spanned<String>>,
    /// Metadata for the client, unchanged: `{ com.example/color: red }`.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

yaml_kind_enum! {
    /// The path of a file, or a map with the source of the bytes.
    pub enum Media {
        "text" => Path(String),
        "map" => Source(Box<MediaSource>),
    }
}

yaml_kind_enum! {
    /// Bytes: base64 (a template), or a map with their source, such as `{ base64: "{{steps.chart.stdout}}" }`.
    pub enum Blob {
        "text" => Base64(String),
        "map" => Source(Box<BlobSource>),
    }
}

/// The source of bytes: exactly one of `file`, `base64`, `text`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["file", "base64", "text"]))]
pub struct BlobSource {
    /// The path of a file, relative to this one.
    pub file: Option<Spanned<String>>,
    /// The bytes in base64, a template, such as `{{steps.chart.stdout}}`.
    pub base64: Option<Spanned<String>>,
    /// A text whose bytes (UTF-8) they are, a template, such as `{{steps.page.stdout}}`.
    pub text: Option<Spanned<String>>,
}

/// The source of the bytes of an image or audio: exactly one of `file`, `base64`, `text`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["file", "base64", "text"]))]
pub struct MediaSource {
    /// The path of the file, relative to this one.
    pub file: Option<Spanned<String>>,
    /// The bytes in base64, a template, such as `{{result.stdout}}`.
    pub base64: Option<Spanned<String>>,
    /// A text whose bytes (UTF-8) they are, a template: `{ text: "{{steps.draw.stdout}}", mimeType: image/svg+xml }`.
    pub text: Option<Spanned<String>>,
    /// Their MIME type, a template, such as `audio/aac`, where the bytes do not say it.
    pub mime_type: Option<Spanned<String>>,
}

impl MediaSource {
    /// The source of the bytes.
    pub fn blob(&self) -> BlobSource {
        BlobSource { file: self.file.clone(), base64: self.base64.clone(), text: self.text.clone() }
    }
}

yaml_kind_enum! {
    /// The URI of a resource of this server, or a resource in place.
    pub enum ResourceBody {
        "text" => Uri(String),
        "map" => Inline(EmbeddedBody),
    }
}

/// A resource in place: `uri` and exactly one of `text`, `blob`, `file`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["text", "blob", "file"]))]
pub struct EmbeddedBody {
    /// Its URI, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub uri: Option<Spanned<String>>,
    /// Its MIME type, a template, such as `text/markdown`.
    pub mime_type: Option<Spanned<String>>,
    /// Its text, a template.
    pub text: Option<Spanned<String>>,
    /// Its bytes: base64 (a template), or `{ file: PATH }`, `{ base64: "{{…}}" }`, `{ text: "{{…}}" }`.
    pub blob: Option<Spanned<Blob>>,
    /// The file with its contents, sent unchanged.
    pub file: Option<Spanned<String>>,
}

yaml_kind_enum! {
    /// The URI of a resource, or a map with its name and more.
    pub enum ResourceLinkBody {
        "text" => Uri(String),
        "map" => Link(Box<LinkBody>),
    }
}

/// A link to a resource.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkBody {
    /// Its URI, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub uri: Option<Spanned<String>>,
    /// Its name, a template.
    pub name: Option<Spanned<String>>,
    /// Its title, a template.
    pub title: Option<Spanned<String>>,
    /// Its description, a template.
    pub description: Option<Spanned<String>>,
    /// Its MIME type, a template, such as `text/markdown`.
    pub mime_type: Option<Spanned<String>>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Its icons: `[{ src: "https://example.com/icon.png" }]`.
    pub icons: Option<Vec<Icon>>,
}
