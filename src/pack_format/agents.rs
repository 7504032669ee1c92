//! `agents`: the agents of Claude Code and of Copilot.

use super::agent_skills::SKILL_FILE;
use super::front_matter::read_markdown;
use super::template_text::{Piece, template_of};
use super::unserved_files::globs_of_other_kinds;
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat};
use crate::diagnostic::Report;
use crate::files::Globs;
use crate::manifest::Prompt;
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// How the name of an agent of Copilot ends.
const COPILOT_SUFFIX: &str = ".agent.md";

/// Where agents are in repositories that have other files too.
pub(super) const AGENT_GLOBS: &[&str] = &["**/agents/**/*.md", "**/*.agent.md"];

/// `*.agent.md`, Markdown in `agents/` whose front matter has a name, and elsewhere Markdown that also has a description: a prompt
/// with the text, which is read as it is.
pub(super) struct Agents;

impl PackFormat for Agents {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*.md"]
    }

    fn globs_beside_others(&self) -> Option<&'static [&'static str]> {
        Some(AGENT_GLOBS)
    }

    fn auto_globs(&self) -> &'static [&'static str] {
        &[]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        let globs = |globs: &[&str]| Globs::new(globs, &[]).map(Globs::with_hidden_without_links);
        let (Ok(others), Ok(agents)) = (globs(&globs_of_other_kinds()), globs(AGENT_GLOBS)) else { return Vec::new() };
        let read = |file: &ImportedFile| {
            let path = format!("{}/{}", folder.name, file.path);
            let is_agent = agents.matches(&path);
            (is_agent || !others.matches(&path)).then(|| read_agent(file, is_agent, report)).flatten()
        };
        folder.files.iter().filter_map(read).collect()
    }
}

/// The agent in a file, whose place alone may say that it is one.
fn read_agent(file: &ImportedFile, is_agent: bool, report: &mut Report) -> Option<ImportedPrompt> {
    let last = file.path.rsplit('/').next().unwrap_or(&file.path);
    if last == SKILL_FILE {
        return None;
    }
    let markdown = read_markdown(file, report)?;
    // A workflow of GitHub has a name and a description too.
    if !is_agent && (markdown.text("description").is_none() || markdown.keys.contains_key("on")) {
        return None;
    }
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
