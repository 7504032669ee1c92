//! What a pack from elsewhere would do, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::catalog::build;
use crate::compile::FileBuffers;
use crate::diagnostic::{Report, Span};
use crate::pack_source::{PackLock, PackTree};

use super::pack_project::PackProject;

/// The acts of one pack.
#[derive(Debug, Default)]
pub(super) struct PackActs {
    /// The steps that need a grant, and the settings that they use.
    acts: Vec<Act>,
    /// The variables that it reads.
    variables: Vec<String>,
}

#[derive(Debug)]
struct Act {
    /// The grant that it needs, or the section of the settings.
    title: String,
    /// Its file in the pack.
    file: String,
    line: u32,
    /// As it is written.
    text: String,
}

impl PackActs {
    /// The acts of a pack with a lock, whether or not they are granted.
    pub(super) fn of(project: &PackProject<'_>, lock: &PackLock, key: &str) -> PackActs {
        let loaded = project.load(lock, FileBuffers::default());
        let mut places: Vec<(String, Span)> = Vec::new();
        let mut variables = Vec::new();
        let is_of_key = |locked: &crate::compile::LockedGrants| locked.key == key;
        for pack in loaded.packs.iter().filter(|pack| pack.pack.locked.as_ref().is_some_and(is_of_key)) {
            let connections =
                pack.pack.connections.iter().map(|(name, connection)| ("connection", name, connection.location));
            let folders = pack.pack.folders.iter().map(|(name, folder)| ("folder", name, folder.location));
            places.extend(
                connections.chain(folders).map(|(kind, name, at)| (format!("{kind} `{}`", name.value), at.span())),
            );
            variables.extend(pack.pack.env.variables.keys().cloned());
        }
        let built = build(loaded);
        let steps = built.acts.iter().filter(|act| act.key == key);
        places.extend(steps.map(|act| (act.grant.to_owned(), act.at.span())));
        places.sort();
        places.dedup();
        let acts = places.into_iter().map(|(title, at)| Act::at(title, at, &built.report)).collect();
        PackActs { acts, variables }
    }

    /// What it does, for a person who is asked for it.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for act in &self.acts {
            let _ = writeln!(text, "{} at {}:{}\n{}", act.title, act.file, act.line, act.indented());
        }
        if !self.variables.is_empty() {
            let _ = writeln!(text, "variables that it may read: {}\n", self.variables.join(", "));
        }
        text
    }

    /// The same for a comparison: without lines, which move.
    pub(super) fn comparable(&self) -> String {
        let lines = self.acts.iter().map(|act| format!("{} in {}\n{}\n", act.title, act.file, act.indented()));
        let variables = self.variables.iter().map(|name| format!("variable {name}\n"));
        lines.chain(variables).collect()
    }

    /// How many steps need each grant.
    pub(super) fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.acts.iter().for_each(|act| *counts.entry(act.title.as_str()).or_default() += 1);
        counts
    }

    /// The files of a pack that its acts name, such as scripts.
    pub(super) fn named_files<'t>(&self, tree: &'t PackTree) -> Vec<(&'t str, &'t [u8])> {
        let is_named = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            self.acts.iter().any(|act| act.file != path && act.text.contains(name))
        };
        tree.files().filter(|(path, _)| is_named(path)).collect()
    }
}

impl Act {
    fn at(title: String, at: Span, report: &Report) -> Act {
        let source = report.sources.get(at.file);
        let path = source.map(|source| source.path().display().to_string()).unwrap_or_default();
        // Messages have `KEY@COMMIT/PATH`.
        let file = match path.split_once('@').and_then(|(_, rest)| rest.split_once('/')) {
            Some((_, file)) => file.to_owned(),
            None => path,
        };
        let line = source.map(|source| source.position(at.start).line).unwrap_or_default();
        Act { title, file, line, text: report.sources.text_of(at).to_owned() }
    }

    /// Its text, each line four spaces from the left.
    fn indented(&self) -> String {
        let rest = || self.text.lines().skip(1).filter(|line| !line.trim().is_empty());
        let common = rest().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let cut = |line: &str| format!("    {}\n", line.get(common..).unwrap_or(line.trim_start()));
        let first = self.text.lines().next().unwrap_or_default();
        format!("    {first}\n{}", rest().map(cut).collect::<String>())
    }
}
