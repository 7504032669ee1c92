//! What a pack from elsewhere would do, for people.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::file_text::{indented_lines, visible_lines};
use super::project::PackProject;
use crate::catalog::build;
use crate::compile::{FileBuffers, GrantUse, PackVariable, ValueOrigin};
use crate::diagnostic::{Code, FileId, Report, Severity, SourceFile, Span, one_line};
use crate::load::LoadedPack;
use crate::manifest::Grant;
use crate::pack_source::PackLock;
use crate::yaml::{Documents, Location, entry, entry_with_lines};

/// How far the uses are indented.
pub(super) const INDENT: usize = 4;

/// The uses of grants in one pack.
#[derive(Debug, Default)]
pub(super) struct PackGrantUses {
    /// The steps that need a grant, and the settings that they use.
    grant_uses: Vec<ShownGrantUse>,
    /// A line for each variable that it reads.
    variables: Vec<String>,
    /// The paths of its manifests, of what they include, and of prompts of other programs that name commands or files.
    pub(super) acting_files: BTreeSet<String>,
    /// Whether it has errors, so that it may do more than is known.
    pub(super) has_errors: bool,
}

#[derive(Debug)]
struct ShownGrantUse {
    /// The grant that it needs, or the section of the settings.
    title: String,
    /// Its file in the pack.
    file: String,
    line: u32,
    /// The keys that lead to it, in a file of YAML.
    key_path: String,
    /// What it is, in YAML without references to other places.
    text: String,
    /// The texts in it, as they are.
    strings: Vec<String>,
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
        let mut uses = Vec::new();
        let is_of_key = |pack: &&LoadedPack| path_in_pack(&pack.pack.display_prefix, key).is_some();
        for pack in loaded.packs.iter().filter(is_of_key) {
            uses.extend(settings(pack, &loaded.load_context.documents));
            let folder = path_in_pack(&pack.pack.display_prefix, key).unwrap_or_default();
            variables
                .extend(pack.pack.env.variables.iter().map(|(name, variable)| variable_line(folder, name, variable)));
        }
        let text_only_files = loaded.load_context.text_only_files.clone();
        let documents = loaded.load_context.documents.clone();
        let built = build(loaded);
        let acting_files = acting_files(key, &built.report, &text_only_files);
        let has_errors = has_errors(key, &built.report);
        let steps = built.grant_uses.into_iter().filter(|grant_use| grant_use.key == key);
        uses.extend(steps.map(|GrantUse { grant, at, value, .. }| LocatedGrantUse {
            title: grant.to_owned(),
            at: at.span(),
            value,
        }));
        uses.sort_by(|left, right| (&left.title, left.at).cmp(&(&right.title, right.at)));
        // Two commands may have one place: where their text is not as it is in the file.
        uses.dedup_by_key(|grant_use| (grant_use.title.clone(), grant_use.at, grant_use.value.clone()));
        let shown = |grant_use| ShownGrantUse::new(grant_use, key, &documents, &built.report);
        let grant_uses = uses.into_iter().map(shown).collect();
        PackGrantUses { grant_uses, variables, acting_files, has_errors }
    }

    /// What it does, for a person who is asked for it.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for ShownGrantUse { title, file, line, key_path, text: shown, .. } in &self.grant_uses {
            let _ = writeln!(text, "{title} at {file}:{line}{key_path}\n{shown}");
        }
        if !self.variables.is_empty() {
            let lines: String = self.variables.iter().map(|line| indented_lines(line)).collect();
            let _ = writeln!(text, "variables that it reads\n{lines}");
        }
        text
    }

    /// The same for a comparison: without lines, which move.
    pub(super) fn comparable(&self) -> String {
        let lines = self.grant_uses.iter();
        let lines = lines
            .map(|ShownGrantUse { title, file, key_path, text, .. }| format!("{title} in {file}{key_path}\n{text}\n"));
        let variables = self.variables.iter().map(|line| format!("variable {line}\n"));
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

    /// Whether a use names a file.
    pub(super) fn names(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
        let names = |text: &String| text.contains(name) || text.contains("{{>") && text.contains(stem);
        // What prompts of other programs read is below another folder.
        let mut uses = self.grant_uses.iter().filter(|grant_use| grant_use.title != Grant::Read.as_str());
        uses.any(|grant_use| grant_use.strings.iter().any(names))
    }
}

/// Whether a title is that of a grant.
pub(super) fn is_grant(title: &str) -> bool {
    Grant::ALL.iter().any(|grant| grant.as_str() == title)
}

/// The path in a pack with a key of a path in messages, which is `KEY@COMMIT/PATH`.
fn path_in_pack<'p>(display_path: &'p str, key: &str) -> Option<&'p str> {
    let (_, path) = display_path.strip_prefix(key)?.strip_prefix('@')?.split_once('/')?;
    Some(path)
}

/// Whether a pack has errors of its own. A step that is only not allowed is not an error.
fn has_errors(key: &str, report: &Report) -> bool {
    let mut errors = report.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.any(|error| {
        let source = error.span.and_then(|span| report.sources.get(span.file));
        let is_inside = source.is_some_and(|source| path_in_pack(&source.path().to_string_lossy(), key).is_some());
        is_inside && error.code != Code::NotGranted
    })
}

/// The connections, folders and packs of a pack, which act by what is set there.
fn settings(pack: &LoadedPack, documents: &Documents) -> Vec<LocatedGrantUse> {
    if pack.is_imported() {
        return Vec::new();
    }
    let section = |(kind, key): (&'static str, &str)| {
        let at = Some(documents.value_at(pack.at, &format!("/{key}"))).filter(|at| at.span() != pack.at.span());
        let entries = at.map(|at| documents.values_of(at)).unwrap_or_default();
        entries.into_iter().map(move |(name, at)| (kind, name, at))
    };
    let setting = |(kind, name, at): (&str, String, Location)| LocatedGrantUse {
        title: format!("{kind} `{}`", one_line(&name)),
        at: at.span(),
        value: documents.json_as_spelled(at),
    };
    let sections = [("connection", "connections"), ("folder", "folders"), ("pack", "packs")];
    sections.into_iter().flat_map(section).map(setting).collect()
}

/// A variable with its value, and who chose that.
fn variable_line(folder: &str, name: &str, variable: &PackVariable) -> String {
    let PackVariable { value, secret, origin, .. } = variable;
    let shown = |text: &str| entry(name, &Value::from(text), 0).trim_end().to_owned();
    let line = match (value, origin) {
        (None, _) => format!("{name}: # not passed"),
        (Some(_), ValueOrigin::Pack(text)) if *secret => format!("{} # set by the pack", shown(text)),
        (Some(value), ValueOrigin::Pack(_)) => format!("{} # set by the pack", shown(value)),
        (Some(_), ValueOrigin::Operator) if *secret => format!("{name}: # a secret of yours"),
        (Some(value), ValueOrigin::Operator) => format!("{} # set by you", shown(value)),
    };
    let place = if folder.is_empty() { String::new() } else { format!(", in {folder}") };
    one_line(&format!("{line}{place}")).into_owned()
}

/// The files of a pack with a key that folio reads, apart from those that are texts only.
fn acting_files(key: &str, report: &Report, text_only_files: &HashSet<FileId>) -> BTreeSet<String> {
    let acting = report.sources.iter_with_ids().filter(|(id, _)| !text_only_files.contains(id));
    let path = |source: &SourceFile| {
        let display_path = source.path().to_string_lossy();
        let path = path_in_pack(&display_path, key)?;
        Some(path.split('/').filter(|name| *name != ".").collect::<Vec<_>>().join("/"))
    };
    acting.filter_map(|(_, source)| path(source)).collect()
}

impl ShownGrantUse {
    fn new(grant_use: LocatedGrantUse, key: &str, documents: &Documents, report: &Report) -> ShownGrantUse {
        let LocatedGrantUse { title, at, value } = grant_use;
        let source = report.sources.get(at.file);
        let path = source.map(|source| source.path().to_string_lossy().into_owned()).unwrap_or_default();
        let file = one_line(path_in_pack(&path, key).unwrap_or(&path)).into_owned();
        let line = source.map(|source| source.position(at.start).line).unwrap_or_default();
        let mut strings = Vec::new();
        add_strings(&value, &mut strings);
        let text = match &value {
            Value::Object(keys) => {
                let lines: String = keys.iter().map(|(key, value)| entry_with_lines(key, value, INDENT)).collect();
                visible_lines(&lines)
            }
            Value::Null => {
                strings.push(report.sources.text_of(at).to_owned());
                indented_lines(report.sources.text_of(at))
            }
            other => format!("{:INDENT$}{other}\n", ""),
        };
        let key_path = match documents.key_path(at) {
            path if path.is_empty() => path,
            path => format!(", {}", one_line(&path)),
        };
        ShownGrantUse { title, file, line, key_path, text, strings }
    }
}

/// Adds all texts in a value.
fn add_strings(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_strings(item, strings)),
        Value::Object(keys) => keys.values().for_each(|value| add_strings(value, strings)),
        _ => {}
    }
}
