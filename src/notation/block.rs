//! Blocks of content, as prompts, results and samples hold them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Icon, kind_enum};
use crate::yaml::Spanned;

/// Who says a message. MCP has no `system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints for the client about a piece of content.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Annotations {
    /// Whom it is meant for.
    pub audience: Option<Vec<Role>>,
    /// How much it matters, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0), with = "Option<f64>")]
    pub priority: Option<Spanned<f64>>,
    /// When it was changed last: a date and time as in RFC 3339.
    #[schemars(with = "Option<String>")]
    pub last_modified: Option<Spanned<String>>,
}

kind_enum! {
    /// A text (a template), or a block of content.
    pub enum Block {
        /// A template.
        "text" => Text(String),
        /// A block with keys.
        "map" => Keys(Box<BlockBody>),
    }
}

/// One block of content: exactly one of `text`, `file`, `image`, `audio`, `resource`, `resourceLink`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockBody {
    /// A text: a template, or `{ file: … }` for the file that holds one.
    pub text: Option<Spanned<super::TextOrFile>>,
    /// The file that holds the text, a template.
    pub file: Option<Spanned<String>>,
    /// A picture: the path of a file, or its source.
    pub image: Option<Spanned<Media>>,
    /// A sound: the path of a file, or its source.
    pub audio: Option<Spanned<Media>>,
    /// The type of the picture or the sound, where the file's name does not tell.
    pub mime_type: Option<Spanned<String>>,
    /// A resource with its content: the URI of one of this server, or one written here.
    pub resource: Option<Spanned<ResourceBody>>,
    /// A link to a resource: its URI, or a description of it.
    pub resource_link: Option<Spanned<ResourceLinkBody>>,
    /// Hints for the client.
    pub annotations: Option<Annotations>,
    /// The block is there only when this holds: exactly one `{{…}}`.
    pub when: Option<Spanned<String>>,
    /// One block for each item: the name of a list in scope, whose items are `{{this}}`.
    pub each: Option<Spanned<String>>,
    /// Metadata for the client, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

kind_enum! {
    /// The path of a file, or where the bytes come from.
    pub enum Media {
        "text" => Path(String),
        "map" => Source(MediaSource),
    }
}

/// Where the bytes of a picture or a sound come from: exactly one of `file`, `base64`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaSource {
    /// The path of the file, relative to this one.
    pub file: Option<Spanned<String>>,
    /// The bytes in base64, a template (such as what an action put out).
    pub base64: Option<Spanned<String>>,
    /// Their type, such as `image/png`.
    pub mime_type: Option<Spanned<String>>,
}

kind_enum! {
    /// The URI of a resource of this server, or a resource written here.
    pub enum ResourceBody {
        "text" => Uri(String),
        "map" => Inline(EmbeddedBody),
    }
}

/// A resource written in place: `uri` and exactly one of `text`, `blob`, `file`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddedBody {
    /// Its URI, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub uri: Option<Spanned<String>>,
    /// Its type.
    pub mime_type: Option<Spanned<String>>,
    /// Its text, a template.
    pub text: Option<Spanned<String>>,
    /// Its bytes in base64, a template, or `{ file: … }`.
    pub blob: Option<Spanned<super::TextOrFile>>,
    /// The file that holds it, sent as it is.
    pub file: Option<Spanned<String>>,
}

kind_enum! {
    /// The URI of a resource, or a description of one.
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
    /// What it is, a template.
    pub description: Option<Spanned<String>>,
    /// Its type.
    pub mime_type: Option<Spanned<String>>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Pictures of it.
    pub icons: Option<Vec<Icon>>,
}
