//! Files for other programs that are no prompts, or are none unless their format is named.

use std::collections::BTreeSet;

use super::agents::AGENT_GLOBS;
use crate::files::Globs;

/// A kind of file that `auto` passes over.
struct UnservedKind {
    noun: &'static str,
    globs: &'static [&'static str],
    /// Why they are not served.
    help: &'static str,
}

const NO_PROMPTS: &str = "they tell a program how to work in its project, and are not prompts";

const KINDS: &[UnservedKind] = &[
    UnservedKind { noun: "agent", globs: AGENT_GLOBS, help: "`format: [auto, agents]` serves them too" },
    UnservedKind {
        noun: "rule",
        globs: &[
            "**/*.mdc", "**/.cursor/rules/**", "**/.windsurf/rules/**", "**/.clinerules/**", "**/.roo/rules*/**",
            "**/.claude/rules/**", "**/.cursorrules", "**/.windsurfrules",
        ],
        help: NO_PROMPTS,
    },
    UnservedKind {
        noun: "instruction",
        globs: &["**/*.instructions.md", "**/copilot-instructions.md", "**/AGENTS.md", "**/CLAUDE.md", "**/GEMINI.md"],
        help: NO_PROMPTS,
    },
    UnservedKind { noun: "chat mode", globs: &["**/*.chatmode.md"], help: NO_PROMPTS },
    UnservedKind { noun: "output style", globs: &["**/output-styles/**/*.md"], help: NO_PROMPTS },
    UnservedKind { noun: "hook", globs: &["**/hooks/hooks.json"], help: "folio runs no hooks of other programs" },
];

/// What is for other programs, and is no agent where Markdown of any name may be one.
pub(super) fn globs_of_other_kinds() -> Vec<&'static str> {
    KINDS.iter().flat_map(|kind| kind.globs).copied().filter(|glob| !AGENT_GLOBS.contains(glob)).collect()
}

/// The files of one kind.
pub struct UnservedFiles {
    pub noun: &'static str,
    pub paths: Vec<String>,
    pub help: &'static str,
}

/// What a walk looks for, to tell of it.
pub(super) fn unserved_globs() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.globs).copied()
}

/// The files that no format reads, by their kind, of a folder with this name.
pub fn unserved_files(folder: &str, mut paths: Vec<String>, serves_agents: bool) -> Vec<UnservedFiles> {
    let kinds = KINDS.iter().filter(|kind| !(serves_agents && kind.globs == AGENT_GLOBS));
    let files = kinds.filter_map(|kind| {
        let globs = Globs::new(kind.globs, &[]).ok()?.with_hidden_without_links();
        let (taken, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut paths).into_iter().partition(|path| globs.matches(&format!("{folder}/{path}")));
        paths = rest;
        (!taken.is_empty()).then_some(UnservedFiles { noun: kind.noun, paths: taken, help: kind.help })
    });
    files.collect()
}

impl UnservedFiles {
    /// The folders that they are in, `.` for that of the pack.
    pub fn folders(&self) -> BTreeSet<&str> {
        self.paths.iter().map(|path| path.rsplit_once('/').map_or(".", |(folder, _)| folder)).collect()
    }
}
