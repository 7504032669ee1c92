//! Prompts in the formats of other programs, read as they are.
//!
//! A format is one file behind [`PackFormat`]. It reads its own markers alone, and returns a prompt of folio: its text is a
//! template in which nothing but these markers is a tag, and its commands and files are steps.
//!
//! The way of a prompt: `load::imported_pack` finds the files, [`PackFormat::read`] makes an [`ImportedPrompt`] of each,
//! `catalog::prompt::imported_prompt` compiles its text and its steps, and a call renders them as those of any prompt.

mod agent_skills;
mod agents;
mod format_files;
mod claude_commands;
mod prompt_actions;
mod command_risk;
mod shell_commands;
mod shell_context;
mod csv;
mod dotprompt;
mod fabric;
mod front_matter;
mod gemini_commands;
mod placeholders;
mod naming;
mod prompt;
mod shell_words;
mod template_text;
mod unserved_files;
mod vscode_prompts;

use std::sync::Arc;

use crate::diagnostic::{FileId, Report};
use crate::manifest::PackFormatName;

pub use agent_skills::ImportedSkill;
pub use dotprompt::{DotpromptTemplate, ImportedContent, ImportedMessage};
pub use format_files::{AssignedFiles, FormatFiles, FormatMatcher, served_paths};
pub use naming::{UniqueNames, has_no_name};
pub use prompt::{ImportedAction, ImportedPrompt, ImportedUse, ImportedValue, ValueSource, add_values};
pub use prompt_actions::{IMPORTED_WORKSPACE, WORKSPACE_TEMPLATE};
pub use unserved_files::{UnservedFiles, unserved_files};

/// What is never read of a folder; a README describes it, and is not a prompt.
const EXCLUDED_GLOBS: &[&str] = &["**/.git", "**/.git/**", "**/node_modules/**", "**/[Rr][Ee][Aa][Dd][Mm][Ee].md"];

/// A file of a pack in another format.
#[derive(Debug, Clone)]
pub struct ImportedFile {
    /// The path from the folder of the pack, with `/`.
    pub path: String,
    /// Its place in messages.
    pub id: FileId,
    pub text: Arc<str>,
}

/// The files of one format in a pack.
pub struct PackFolder<'p> {
    /// The name of the folder itself.
    pub name: &'p str,
    /// The files, in the order of their paths.
    pub files: Vec<ImportedFile>,
    /// Whether the format was not named, so that other programs may mean these files.
    pub is_auto: bool,
    /// What its prompts may do.
    pub grants: PromptRights,
    /// How many prompts are read, where a file has many.
    pub max_prompts: usize,
}

/// What the prompts of a pack may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptRights {
    /// Whether their commands run.
    pub may_run_scripts: bool,
    /// Whether the files that they name are read.
    pub may_read_files: bool,
    /// Whether the user must confirm more of them.
    pub is_withheld: bool,
}

/// A format of prompts that another program defines.
pub trait PackFormat: Sync {
    /// The files that it reads, from the folder of the pack.
    fn globs(&self) -> &'static [&'static str];

    /// The files that it reads where other formats are named too, if not the same. The name of the folder itself is in their paths.
    fn globs_beside_others(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The files that it reads of a folder whose formats are not named. The name of the folder itself is in their paths.
    fn auto_globs(&self) -> &'static [&'static str] {
        self.globs()
    }

    /// What it does not read there.
    fn auto_excludes(&self) -> &'static [&'static str] {
        &[]
    }

    /// The prompts in these files. What cannot be read is left out with a warning.
    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt>;

    /// The skills in these files.
    fn skills(&self, _: &PackFolder<'_>) -> Vec<ImportedSkill> {
        Vec::new()
    }
}

/// The formats, each before those that may read its files too.
const FORMATS: &[(PackFormatName, &'static dyn PackFormat)] = &[
    (PackFormatName::AgentSkills, &agent_skills::AgentSkills),
    (PackFormatName::Fabric, &fabric::Fabric),
    (PackFormatName::VscodePrompts, &vscode_prompts::VscodePrompts),
    (PackFormatName::GeminiCommands, &gemini_commands::GeminiCommands),
    (PackFormatName::Csv, &csv::Csv),
    (PackFormatName::Dotprompt, &dotprompt::Dotprompt),
    (PackFormatName::Agents, &agents::Agents),
    (PackFormatName::ClaudeCommands, &claude_commands::ClaudeCommands),
];
