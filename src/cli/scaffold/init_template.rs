//! The servers that `folio init --template` writes: the files in `templates/`, in which `my-server` is replaced by the
//! name of the folder.

use clap::ValueEnum;

/// A server to begin with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum InitTemplate {
    /// A prompt, a resource and a tool
    #[default]
    Hello,
    /// A library of prompts, one file each
    Prompts,
    /// A folder of documents, to read and to search
    Docs,
    /// Tools for an HTTP API, with a token
    Api,
    /// Tools for a machine: logs, runbooks, and a restart that a person confirms
    Ops,
    /// What a team shares: prompts, tools, a skill and a pack
    Team,
}

/// A file of a template.
#[derive(Debug, Clone, Copy)]
pub(super) struct TemplateFile {
    /// Its path below the folder.
    pub(super) path: &'static str,
    pub(super) text: &'static str,
}

macro_rules! files {
    ($folder:literal: $($path:literal)*) => {
        &[$(TemplateFile { path: $path, text: include_str!(concat!("templates/", $folder, "/", $path)) }),*]
    };
}

impl InitTemplate {
    pub(super) fn files(self) -> &'static [TemplateFile] {
        match self {
            InitTemplate::Hello => files!("hello": "folio.yaml" "README.md"),
            InitTemplate::Prompts => files!("prompts":
                "folio.yaml" "prompts/review.md" "prompts/plain-words.md" "partials/house-style.hbs" "README.md"),
            InitTemplate::Docs => files!("docs":
                "folio.yaml" "docs/index.md" "docs/guide/first-steps.md" "README.md"),
            InitTemplate::Api => files!("api": "folio.yaml" "README.md"),
            InitTemplate::Ops => files!("ops": "folio.yaml" "runbooks/restart.md" "logs/app.log" "README.md"),
            InitTemplate::Team => files!("team":
                "folio.yaml" "prompts/review.md" "prompts/standup.md" "partials/house-rules.hbs" "tools/names.yaml"
                "packs/style/folio.yaml" "skills/write-changelog/SKILL.md" "README.md"),
        }
    }

    /// Commands that show something of it, without the folder.
    pub(super) fn first_commands(self) -> &'static [&'static str] {
        match self {
            InitTemplate::Hello => &["get greet who=Ada", "call list-files"],
            InitTemplate::Prompts => &["get brainstorm topic=tea", "get plain-words 'text=We utilize synergies.'"],
            InitTemplate::Docs => &["read docs://index.md", "call search-docs text=steps"],
            InitTemplate::Api => &[],
            InitTemplate::Ops => &["call disk-space", "call tail-log log=app.log"],
            InitTemplate::Team => &["get standup", "call branch-name 'title=Mend the door'"],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn every_file_of_a_template_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/scaffold/templates");
        let embedded = InitTemplate::value_variants().iter().flat_map(|template| {
            let name = template.to_possible_value().unwrap().get_name().to_owned();
            template.files().iter().map(move |file| Path::new(&name).join(file.path))
        });
        let written = files_below(&root).into_iter().map(|path| path.strip_prefix(&root).unwrap().to_owned());
        assert_eq!(embedded.collect::<BTreeSet<_>>(), written.collect());
    }
}
