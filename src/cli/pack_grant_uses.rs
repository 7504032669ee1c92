//! What a pack from elsewhere would do, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::pack_project::PackProject;
use crate::catalog::build;
use crate::compile::{FileBuffers, GrantUse, LockedGrants, PackVariable};
use crate::diagnostic::{Report, Span};
use crate::load::LoadedPack;
use crate::manifest::Grant;
use crate::openapi::entry;
use crate::pack_source::{PackLock, PackTree};
use crate::yaml::{Documents, Location, Spanned};

/// How far the uses are indented.
const INDENT: usize = 4;

/// The uses of grants in one pack.
#[derive(Debug, Default)]
pub(super) struct PackGrantUses {
    /// The steps that need a grant, and the settings that they use.
    grant_uses: Vec<ShownGrantUse>,
    /// The variables that it reads.
    variables: Vec<String>,
}

#[derive(Debug)]
struct ShownGrantUse {
    /// The grant that it needs, or the section of the settings.
    title: String,
    /// Its file in the pack.
    file: String,
    line: u32,
    /// What it is, in YAML without references to other places.
    text: String,
}

/// Something that a pack does, and its place.
struct LocatedGrantUse {
    title: String,
    at: Span,
    value: Value,
}

impl PackGrantUses {
    /// The uses in a pack with a lock, and with texts in place of files, whether or not they are granted.
    pub(super) fn load(project: &PackProject<'_>, lock: &PackLock, key: &str, texts: &FileBuffers) -> PackGrantUses {
        let loaded = project.load(lock, texts.clone());
        let mut variables = Vec::new();
        let mut found = Vec::new();
        let is_of_key = |locked: &LockedGrants| locked.key == key;
        for pack in loaded.packs.iter().filter(|pack| pack.pack.locked.as_ref().is_some_and(is_of_key)) {
            found.extend(settings(pack, &loaded.load_context.documents));
            let default =
                |variable: &PackVariable| variable.default.as_ref().map(|value| format!(" (default `{value}`)"));
            let of_pack = pack.pack.env.variables.iter();
            variables
                .extend(of_pack.map(|(name, variable)| format!("{name}{}", default(variable).unwrap_or_default())));
        }
        let built = build(loaded);
        let steps = built.grant_uses.into_iter().filter(|grant_use| grant_use.key == key);
        found.extend(steps.map(|GrantUse { grant, at, value, .. }| LocatedGrantUse {
            title: grant.to_owned(),
            at: at.span(),
            value,
        }));
        found.sort_by(|one, other| (&one.title, one.at).cmp(&(&other.title, other.at)));
        // Two commands may have one place: where their text is not as it stands in the file.
        let parts = |found: &LocatedGrantUse| (found.title.clone(), found.at, found.value.clone());
        found.dedup_by(|one, other| parts(one) == parts(other));
        let grant_uses = found.into_iter().map(|grant_use| ShownGrantUse::new(grant_use, &built.report)).collect();
        PackGrantUses { grant_uses, variables }
    }

    /// What it does, for a person who is asked for it.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for grant_use in &self.grant_uses {
            let _ = writeln!(text, "{} at {}:{}\n{}", grant_use.title, grant_use.file, grant_use.line, grant_use.text);
        }
        if !self.variables.is_empty() {
            let _ = writeln!(text, "variables that it may read: {}\n", self.variables.join(", "));
        }
        text
    }

    /// The same for a comparison: without lines, which move.
    pub(super) fn comparable(&self) -> String {
        let lines = self
            .grant_uses
            .iter()
            .map(|grant_use| format!("{} in {}\n{}\n", grant_use.title, grant_use.file, grant_use.text));
        let variables = self.variables.iter().map(|name| format!("variable {name}\n"));
        lines.chain(variables).collect()
    }

    /// How many steps need each grant.
    pub(super) fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.grant_uses.iter().for_each(|grant_use| *counts.entry(grant_use.title.as_str()).or_default() += 1);
        counts
    }

    /// The grants that the uses need.
    pub(super) fn grants(&self) -> Vec<&str> {
        self.counts().into_keys().filter(|title| is_grant(title)).collect()
    }

    /// Whether a file is shown whole.
    pub(super) fn shows(&self, path: &str, tree: &PackTree) -> bool {
        self.named_files(tree).iter().any(|(named, _)| *named == path)
    }

    /// The files of a pack that its uses name, such as scripts and partials.
    pub(super) fn named_files<'t>(&self, tree: &'t PackTree) -> Vec<(&'t str, &'t [u8])> {
        let is_named = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
            let names = |text: &str| text.contains(name) || text.contains("{{>") && text.contains(stem);
            // What prompts of other programs read is below another folder.
            self.grant_uses.iter().filter(|grant_use| grant_use.title != "read").any(|grant_use| names(&grant_use.text))
        };
        tree.files().filter(|(path, _)| is_named(path)).collect()
    }
}

/// Whether a title is that of a grant.
pub(super) fn is_grant(title: &str) -> bool {
    Grant::ALL.iter().any(|grant| grant.as_str() == title)
}

/// The connections and folders of a pack, which its steps use by name.
fn settings(pack: &LoadedPack, documents: &Documents) -> Vec<LocatedGrantUse> {
    let connections = pack.pack.connections.iter().map(|(name, setting)| ("connection", name, setting.location));
    let folders = pack.pack.folders.iter().map(|(name, setting)| ("folder", name, setting.location));
    let found = |(kind, name, at): (&str, &Spanned<String>, Location)| LocatedGrantUse {
        title: format!("{kind} `{}`", name.value),
        at: at.span(),
        value: documents.json(at),
    };
    connections.chain(folders).map(found).collect()
}

impl ShownGrantUse {
    fn new(grant_use: LocatedGrantUse, report: &Report) -> ShownGrantUse {
        let LocatedGrantUse { title, at, value } = grant_use;
        let source = report.sources.get(at.file);
        let path = source.map(|source| source.path().display().to_string()).unwrap_or_default();
        // Messages have `KEY@COMMIT/PATH`.
        let file = match path.split_once('@').and_then(|(_, rest)| rest.split_once('/')) {
            Some((_, file)) => file.to_owned(),
            None => path,
        };
        let line = source.map(|source| source.position(at.start).line).unwrap_or_default();
        let text = match value {
            Value::Object(keys) => keys.iter().map(|(key, value)| entry(key, value, INDENT)).collect(),
            Value::Null => format!("{:INDENT$}{}\n", "", report.sources.text_of(at)),
            other => format!("{:INDENT$}{other}\n", ""),
        };
        ShownGrantUse { title, file, line, text }
    }
}
