//! Prompts in the formats of other programs, read as they are.
//!
//! A format is one file behind [`PackFormat`]. Each reads its own markers alone: a value goes in once, verbatim, and
//! nothing in a foreign text is a template. What is not here: which folders are read (load/), and how a prompt is served
//! (catalog/).

mod claude_commands;
mod csv;
mod fabric;
mod front_matter;
mod gemini_commands;
mod markers;
mod naming;
mod prompt;
mod shell_words;
mod vscode_prompts;

use std::sync::Arc;

use crate::diagnostic::{FileId, Report};
use crate::manifest::PackFormatName;

pub use naming::UniqueNames;
pub use prompt::{ForeignArgument, ForeignPrompt, ForeignText, TextPiece, ValueSource};

/// What is never read of a folder.
pub const EXCLUDED_GLOBS: &[&str] = &["**/.git", "**/.git/**", "**/node_modules/**", "**/[Rr][Ee][Aa][Dd][Mm][Ee].md"];

/// A file of a pack in another format.
#[derive(Debug, Clone)]
pub struct PackFile {
    /// The path from the folder of the pack, with `/`.
    pub path: String,
    /// Its place in messages.
    pub id: FileId,
    /// Its text.
    pub text: Arc<str>,
}

/// A format of prompts that another program defines.
pub trait PackFormat: Sync {
    /// The files that it reads, from the folder of the pack.
    fn globs(&self) -> &'static [&'static str];

    /// The prompts in these files. What cannot be read is left out with a warning.
    fn read(&self, files: &[PackFile], report: &mut Report) -> Vec<ForeignPrompt>;
}

/// The format with this name.
pub fn pack_format(name: PackFormatName) -> &'static dyn PackFormat {
    match name {
        PackFormatName::ClaudeCommands => &claude_commands::ClaudeCommands,
        PackFormatName::Csv => &csv::Csv,
        PackFormatName::Fabric => &fabric::Fabric,
        PackFormatName::GeminiCommands => &gemini_commands::GeminiCommands,
        PackFormatName::VscodePrompts => &vscode_prompts::VscodePrompts,
    }
}
