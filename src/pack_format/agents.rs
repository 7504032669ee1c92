//! `agents`: the agents of Claude Code and of Copilot.

use super::front_matter::read_markdown;
use super::template_text::{Piece, template_of};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat};
use crate::diagnostic::Report;
use crate::manifest::Prompt;
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// How the name of an agent of Copilot ends.
const COPILOT_SUFFIX: &str = ".agent.md";

/// Where agents are in repositories that have other files too.
pub(super) const AGENT_GLOBS: &[&str] = &["**/agents/**/*.md", "**/*.agent.md"];

/// Markdown whose front matter has a name, and `*.agent.md`: a prompt with the text, which is read as it is.
pub(super) struct Agents {
    /// The files that it reads.
    pub(super) globs: &'static [&'static str],
}

impl PackFormat for Agents {
    fn globs(&self) -> &'static [&'static str] {
        self.globs
    }

    fn auto_globs(&self) -> &'static [&'static str] {
        &[]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        folder.files.iter().filter_map(|file| read_agent(file, report)).collect()
    }
}

fn read_agent(file: &ImportedFile, report: &mut Report) -> Option<ImportedPrompt> {
    let markdown = read_markdown(file, report)?;
    let last = file.path.rsplit('/').next().unwrap_or(&file.path);
    let name = match (markdown.text("name"), last.strip_suffix(COPILOT_SUFFIX)) {
        (Some(name), _) => name,
        (None, Some(stem)) => stem.to_owned(),
        (None, None) => return None,
    };
    let at = Location::start_of(file.id);
    let text = template_of(&[Piece::Text(markdown.body.to_owned())]);
    let prompt = Prompt {
        description: markdown.text("description"),
        text: Some(Spanned::new(TextOrFile::Text(text), at)),
        ..Prompt::default()
    };
    Some(ImportedPrompt::new(name, at, prompt, Vec::new()))
}
