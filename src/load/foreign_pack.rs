//! Loads a pack in the format of another program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::LoadedPack;
use crate::compile::{Environment, Findings, Grants, Pack};
use crate::diagnostic::Code;
use crate::files::{Folder, Globs};
use crate::manifest::{Manifest, PackFormatName, PackFormats, PackRef};
use crate::notation::NamedMap;
use crate::pack_format::{EXCLUDED_GLOBS, ForeignPrompt, PackFile, PackFormat, UniqueNames, pack_format};
use crate::template::Engine;
use crate::yaml::Spanned;

/// How many files of one format a pack may have.
const MAX_FILES: usize = 200_000;
/// The plugins of a marketplace, from its root.
const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// A folder with prompts of another program.
pub(super) struct ForeignPack<'a> {
    pub(super) folder: Folder,
    /// As the importer writes it.
    pub(super) path: &'a Spanned<String>,
    /// The prefix of its paths in messages.
    pub(super) shown: String,
    /// The prefix of its names.
    pub(super) prefix: String,
    /// The number of the pack that imports it.
    pub(super) importer: usize,
}

/// A prompt, and the path of the file that has it.
struct FoundPrompt {
    path: String,
    prompt: ForeignPrompt,
}

/// Loads the prompts of a folder in these formats.
pub(super) fn load(
    (reference, formats): (&Spanned<PackRef>, &Spanned<PackFormats>),
    place: ForeignPack<'_>,
    importer: &Pack,
    findings: &mut Findings,
) -> Option<LoadedPack> {
    refuse_rights(reference, findings);
    let names = formats.value.items();
    if names.is_empty() {
        findings.report.error(Code::MissingKey, formats.location.span(), "empty `format`");
        return None;
    }
    let mut found = Vec::new();
    let is_first = |(nth, name): &(usize, &PackFormatName)| !names.iter().take(*nth).any(|known| known == *name);
    for (_, name) in names.iter().enumerate().filter(is_first) {
        found.extend(read_format(pack_format(*name), &place, findings));
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    if found.is_empty() {
        report_nothing(names.iter().flat_map(|name| pack_format(*name).globs()), &place, findings);
    }
    let mut unique = UniqueNames::new(&place.prefix);
    let named = found
        .into_iter()
        .map(|FoundPrompt { prompt, .. }| ForeignPrompt { name: unique.claim(&prompt.name), ..prompt });
    let prompts = select(named.collect(), reference, findings);
    Some(LoadedPack {
        pack: text_pack(&place, importer),
        prefix: place.prefix,
        at: reference.location,
        manifest: Manifest::default(),
        entry_files: Vec::new(),
        foreign_prompts: prompts,
        importer: Some(place.importer),
        unset_variables: Vec::new(),
    })
}

/// Reports `only` of a pack with a manifest.
pub(super) fn refuse_only(reference: &Spanned<PackRef>, findings: &mut Findings) {
    if reference.only.is_some() {
        let at = findings.documents.key_at(reference.location, "/only");
        findings
            .report
            .error(Code::Conflict, at.span(), "`only` cannot be used without `format`")
            .help("the manifest of a pack names the prompts that it serves");
    }
}

/// Reports rights that texts have no use for.
fn refuse_rights(reference: &Spanned<PackRef>, findings: &mut Findings) {
    for (key, is_written) in [("allow", reference.allow.is_some()), ("env", !reference.env.is_empty())] {
        if is_written {
            let at = findings.documents.key_at(reference.location, &format!("/{key}"));
            findings
                .report
                .error(Code::Conflict, at.span(), format!("`{key}` cannot be used with `format`"))
                .help("prompts of other programs are texts: they cannot act and read no variables");
        }
    }
}

/// Reads all files of one format.
fn read_format(format: &dyn PackFormat, place: &ForeignPack<'_>, findings: &mut Findings) -> Vec<FoundPrompt> {
    let files = read_files(format.globs(), place, findings);
    let paths: BTreeMap<_, _> = files.iter().map(|file| (file.id, file.path.clone())).collect();
    let prompts = format.read(&files, &mut findings.report);
    let path = |prompt: &ForeignPrompt| paths.get(&prompt.at.file()).cloned().unwrap_or_default();
    prompts.into_iter().map(|prompt| FoundPrompt { path: path(&prompt), prompt }).collect()
}

/// The files that `globs` match, which are watched from now on. What cannot be read is left out with a warning.
fn read_files(globs: &[&str], place: &ForeignPack<'_>, findings: &mut Findings) -> Vec<PackFile> {
    let globs = match Globs::new(globs, EXCLUDED_GLOBS) {
        Ok(globs) => globs.with_hidden_without_links(),
        Err(error) => {
            findings.report.error(Code::Glob, place.path.location.span(), error.message);
            return Vec::new();
        }
    };
    let walked = match place.folder.walk_outcome(&globs, MAX_FILES) {
        Ok(walked) => walked,
        Err(error) => {
            findings.report.error(Code::Unreadable, place.path.location.span(), error.to_string());
            return Vec::new();
        }
    };
    let root = place.folder.path().to_owned();
    findings.dependencies.folders.extend(walked.folders.iter().map(|folder| root.join(folder)));
    walked.files.into_iter().filter_map(|entry| read_file(entry.path, place, findings)).collect()
}

fn read_file(path: String, place: &ForeignPack<'_>, findings: &mut Findings) -> Option<PackFile> {
    findings.dependencies.files.insert(place.folder.path().join(&path));
    let shown = format!("{}{path}", place.shown);
    let before = findings.report.diagnostics().len();
    let id = match findings.read(&place.folder, Path::new(&path)) {
        Ok(bytes) => findings.decode(&bytes, &shown),
        Err(error) => {
            findings.report.error(Code::Unreadable, place.path.location.span(), format!("{shown}: {error}"));
            None
        }
    };
    findings.report.downgrade_from(before, "file skipped");
    let text = findings.report.sources.get(id?)?.text().clone();
    Some(PackFile { path, id: id?, text })
}

/// Says what was looked for, and where a marketplace has its plugins.
fn report_nothing<'g>(globs: impl Iterator<Item = &'g &'static str>, place: &ForeignPack<'_>, findings: &mut Findings) {
    let globs: BTreeSet<String> = globs.map(|glob| format!("`{glob}`")).collect();
    let looked_for = globs.into_iter().collect::<Vec<_>>().join(", ");
    let plugins = plugins_of(place, findings);
    let message = match plugins.is_empty() {
        true => format!("no prompts in `{}`", place.path.value),
        false => format!("`{}` is a marketplace of plugins, not a folder of prompts", place.path.value),
    };
    let help = match plugins.is_empty() {
        true => format!("looked for {looked_for}"),
        false => format!("write the path of a plugin: {}", plugins.join(", ")),
    };
    findings.report.error(Code::NotFound, place.path.location.span(), message).help(help);
}

/// The plugins of a marketplace, each with its place.
fn plugins_of(place: &ForeignPack<'_>, findings: &mut Findings) -> Vec<String> {
    findings.dependencies.files.insert(place.folder.path().join(MARKETPLACE));
    let Ok(bytes) = findings.read(&place.folder, Path::new(MARKETPLACE)) else { return Vec::new() };
    let marketplace: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let plugins = marketplace.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let plugin = |plugin: &Value| {
        let name = plugin.get("name")?.as_str()?;
        let source = plugin.get("source").and_then(Value::as_str).unwrap_or("elsewhere");
        Some(format!("`{name}` ({source})"))
    };
    plugins.filter_map(plugin).collect()
}

/// The prompts that `only` names.
fn select(prompts: Vec<ForeignPrompt>, reference: &Spanned<PackRef>, findings: &mut Findings) -> Vec<ForeignPrompt> {
    let Some(only) = &reference.only else { return prompts };
    let globs: Vec<Globs> = only.iter().filter_map(|glob| name_glob(glob, findings)).collect();
    for (written, glob) in only.iter().zip(&globs) {
        if globs.len() == only.len() && !prompts.iter().any(|prompt| glob.matches(&prompt.name)) {
            let message = format!("glob `{}` matches no prompts", written.value);
            findings.report.warning(Code::Glob, written.location.span(), message);
        }
    }
    prompts.into_iter().filter(|prompt| globs.iter().any(|glob| glob.matches(&prompt.name))).collect()
}

fn name_glob(written: &Spanned<String>, findings: &mut Findings) -> Option<Globs> {
    match Globs::new(&[written.as_str()], &[]) {
        Ok(globs) => Some(globs),
        Err(error) => {
            findings.report.error(Code::Glob, written.location.span(), error.message);
            None
        }
    }
}

/// A pack that has texts only: no grants, no variables, no partials.
fn text_pack(place: &ForeignPack<'_>, importer: &Pack) -> Pack {
    Pack {
        folder: place.folder.clone(),
        display_prefix: place.shown.clone(),
        engine: Engine::new(Vec::new()).0,
        partials: BTreeMap::new(),
        grants: Grants::Only(BTreeSet::new()),
        locked: None,
        sandboxes: Vec::new(),
        env: Environment::default(),
        server: json!({ "name": null, "title": null, "version": null }),
        connections: NamedMap::new(),
        folders: NamedMap::new(),
        workspace: importer.workspace.clone(),
        now: importer.now,
        search_path: None,
    }
}
