//! `agent-skills`: folders with a SKILL.md.

use super::claude_commands::read_command;

use super::front_matter::read_markdown;
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat};
use crate::diagnostic::{FileId, Report};

/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// `**/SKILL.md`: named after its folder, with the markers of commands.
pub(super) struct AgentSkills;

/// A skill of a pack, with a prompt or without.
#[derive(Debug, Clone)]
pub struct ImportedSkill {
    /// The name of its folder.
    pub name: String,
    /// The path of its folder in the pack; empty for the pack's own.
    pub folder: String,
    /// Its SKILL.md.
    pub file: FileId,
}

impl ImportedSkill {
    /// The path of its SKILL.md in the pack.
    pub fn path(&self) -> String {
        format!("{}/{SKILL_FILE}", self.folder).trim_start_matches('/').to_owned()
    }
}

impl PackFormat for AgentSkills {
    fn globs(&self) -> &'static [&'static str] {
        &["**/SKILL.md"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        let mut read = |file: &ImportedFile| {
            let markdown = read_markdown(file, report)?;
            if markdown.text("user-invocable").is_some_and(|value| value.eq_ignore_ascii_case("false")) {
                return None;
            }
            let name = skill_name(folder_of(&file.path), folder.name);
            Some(read_command(name, file, &markdown, folder.grants, report))
        };
        folder.files.iter().filter_map(&mut read).collect()
    }

    fn skills(&self, folder: &PackFolder<'_>) -> Vec<ImportedSkill> {
        let skill = |file: &ImportedFile| {
            let path = folder_of(&file.path);
            ImportedSkill { name: skill_name(path, folder.name), folder: path.to_owned(), file: file.id }
        };
        folder.files.iter().map(skill).collect()
    }
}

/// The folder of the skill whose SKILL.md this is.
pub(super) fn folder_of(path: &str) -> &str {
    path.strip_suffix(SKILL_FILE).unwrap_or(path).trim_end_matches('/')
}

/// The name of a skill, which is that of its folder.
fn skill_name(folder: &str, pack: &str) -> String {
    let name = folder.rsplit('/').next().filter(|name| !name.is_empty());
    name.unwrap_or(pack).to_owned()
}
