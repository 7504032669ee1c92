//! The maps of a manifest by the keys of what they hold.

use crate::action::Step;
use crate::manifest::{Argument, EnvVariable, PackRef, Prompt, Resource, Test, Tool};
use crate::value_types::{Connection, FolderKeys};
use crate::yaml::struct_keys;

/// What a map by name holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapKind {
    Prompt,
    Resource,
    Tool,
    Test,
    Pack,
    Connection,
    Folder,
    Variable,
    Argument,
    Step,
}

impl MapKind {
    /// The sections of a manifest.
    pub(super) const SECTIONS: [MapKind; 8] = [
        MapKind::Prompt,
        MapKind::Resource,
        MapKind::Tool,
        MapKind::Test,
        MapKind::Pack,
        MapKind::Connection,
        MapKind::Folder,
        MapKind::Variable,
    ];

    /// Its key.
    pub(super) fn section(self) -> &'static str {
        match self {
            MapKind::Prompt => "prompts",
            MapKind::Resource => "resources",
            MapKind::Tool => "tools",
            MapKind::Test => "tests",
            MapKind::Pack => "packs",
            MapKind::Connection => "connections",
            MapKind::Folder => "folders",
            MapKind::Variable => "env",
            MapKind::Argument => "arguments",
            MapKind::Step => "run",
        }
    }

    /// The place of an entry (place.rs).
    pub(super) fn place(self) -> &'static str {
        match self {
            MapKind::Prompt => "prompt",
            MapKind::Tool => "tool",
            MapKind::Resource => "resource",
            _ => "",
        }
    }

    /// The keys of one entry.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            MapKind::Prompt => struct_keys::<Prompt>(),
            MapKind::Resource => struct_keys::<Resource>(),
            MapKind::Tool => struct_keys::<Tool>(),
            MapKind::Test => struct_keys::<Test>(),
            MapKind::Pack => struct_keys::<PackRef>(),
            MapKind::Connection => struct_keys::<Connection>(),
            MapKind::Folder => struct_keys::<FolderKeys>(),
            MapKind::Variable => struct_keys::<EnvVariable>(),
            MapKind::Argument => struct_keys::<Argument>(),
            MapKind::Step => struct_keys::<Step>(),
        }
    }

    /// The keys that say what an entry does, of which it needs one.
    pub(super) fn content_keys(self) -> &'static [&'static str] {
        match self {
            MapKind::Prompt => &["text", "messages"],
            MapKind::Resource => &["text", "blob", "file", "root", "run"],
            MapKind::Tool => &["run", "result"],
            _ => &[],
        }
    }
}
