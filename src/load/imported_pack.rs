//! Loads a pack in the format of another program.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde_json::json;

use super::LoadedPack;
use super::imported_grants::{self, ImportedGrants};
use super::location::MANIFEST_NAMES;
use super::pack::{MAX_ENTRIES, MAX_PACK_ARGUMENTS};
use crate::compile::{Environment, FILES_GRANT, GrantUse, LoadContext, LockedGrants, NamePrefix, Pack};
use crate::diagnostic::{Code, Consequence, FileId, Reporting, count_noun, one_line, quote_names};
use crate::files::{FileError, Folder, Globs};
use crate::manifest::{Allow, Grant, MAX_ARGUMENTS, Manifest, PackFormatName, PackFormats, PackRef};
use crate::pack_format::{
    AssignedFiles, FormatFiles, FormatMatcher, IMPORTED_WORKSPACE, ImportedAction, ImportedFile, ImportedPrompt,
    ImportedSkill, ImportedUse, PackFolder, PromptRights, UniqueNames, WORKSPACE_TEMPLATE, has_no_name, unserved_files,
};
use crate::pack_source::{MARKETPLACE_FILES, Plugin, PluginSource, plugins};
use crate::template::Engine;
use crate::value_types::{FolderSpec, NamedMap};
use crate::yaml::Spanned;

/// How many files a pack may have.
const MAX_FILES: usize = 200_000;

/// How many folders a message lists.
const MAX_SHOWN_FOLDERS: usize = 4;
/// How many prompts without a name a message lists.
const MAX_SHOWN_NAMES: usize = 10;

/// A folder with prompts of another program.
pub(super) struct ImportedPack<'a> {
    pub(super) folder: Folder,
    /// Its name, which a skill in it may have.
    pub(super) name: String,
    /// As the importer writes it.
    pub(super) path: &'a Spanned<String>,
    /// The prefix of its paths in messages.
    pub(super) display_path: String,
    /// The prefix of its names.
    pub(super) prefix: NamePrefix,
    /// The number of the pack that imports it.
    pub(super) importer: usize,
    /// The grants of a pack from elsewhere.
    pub(super) locked: Option<LockedGrants>,
    /// Whether these are the grants of a pack of folio that it is in.
    pub(super) is_nested: bool,
}

impl ImportedPack<'_> {
    /// The grants of `allow` that are not confirmed.
    pub(super) fn withheld(&self) -> BTreeSet<String> {
        let locked = self.locked.as_ref().filter(|_| !self.is_nested);
        locked.map(|locked| locked.withheld.clone()).unwrap_or_default()
    }

    /// Its name, with that of a hidden folder around it, by which formats are found: `.codex/prompts`.
    fn place(&self) -> String {
        let outer = self.path.value.trim_end_matches('/').rsplit('/').nth(1);
        let hidden = outer.filter(|outer| outer.starts_with('.') && !matches!(*outer, "." | ".."));
        hidden.map_or_else(|| self.name.clone(), |hidden| format!("{hidden}/{}", self.name))
    }

    /// Whether it, or the pack that it is in, may do more once a person confirms it.
    pub(super) fn is_withheld(&self) -> bool {
        self.locked.as_ref().is_some_and(|locked| !locked.withheld.is_empty())
    }
}

/// The formats of a pack; `auto` where none is named and there is no manifest. `None` for a pack of folio.
pub(super) fn formats_of(
    reference: &Spanned<PackRef>,
    folder: &Folder,
    load_context: &mut LoadContext,
) -> Option<Spanned<PackFormats>> {
    if reference.format.is_some() {
        return reference.format.clone();
    }
    let mut has_manifest = false;
    for name in MANIFEST_NAMES {
        load_context.dependencies.files.insert(folder.path().join(name));
        has_manifest |= !matches!(folder.stat(Path::new(name)), Err(FileError::NotFound { .. }));
    }
    (!has_manifest).then(|| Spanned::new(PackFormats::One(PackFormatName::Auto), reference.location))
}

/// The name of a pack's folder: as the manifest writes it, or else its real name.
pub(super) fn folder_name(written: &str, folder: &Folder) -> String {
    let last = written.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match last {
        "" | "." | ".." => folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        name => name.to_owned(),
    }
}

/// Loads the prompts of a folder in these formats.
pub(super) fn load(
    reference: &Spanned<PackRef>,
    formats: &Spanned<PackFormats>,
    imported_pack: ImportedPack<'_>,
    importer: &Pack,
    load_context: &mut LoadContext,
) -> Option<LoadedPack> {
    if !reference.env.is_empty() {
        let at = load_context.documents.key_at(reference.location, "/env");
        load_context
            .error(Code::Conflict, at, "`env` cannot be used with `format`")
            .help("prompts of other programs read no variables");
    }
    let allowed = imported_grants::read(reference, &imported_pack, importer, load_context);
    let names = formats.value.items();
    if names.is_empty() {
        load_context.error(Code::MissingKey, formats.location, "empty `format`");
        return None;
    }
    let is_auto = names.contains(&PackFormatName::Auto);
    // `format: auto` means all plugins of a marketplace.
    if reference.format.is_none() && report_marketplace(&imported_pack, load_context) {
        return None;
    }
    let matcher = FormatMatcher::new(names).ok()?;
    let (mut prompts, mut skills) = (Vec::new(), Vec::new());
    let paths = walk(&matcher, &imported_pack, load_context)?;
    let AssignedFiles { formats: assigned, left } = matcher.assign_paths(&imported_pack.place(), paths);
    for files in assigned {
        let (prompts_of_format, skills_of_format) =
            read_format(files, allowed.pack_grants, &imported_pack, load_context);
        prompts.extend(prompts_of_format);
        skills.extend(skills_of_format);
    }
    if is_auto {
        note_unserved(left, names.contains(&PackFormatName::Agents), &imported_pack, load_context);
    }
    // Where `auto` is written, all plugins of a marketplace were looked through.
    let is_empty = prompts.is_empty() && skills.is_empty();
    if is_empty && (is_auto || !report_marketplace(&imported_pack, load_context)) {
        report_no_prompts(&matcher, reference, &imported_pack, load_context);
    }
    let imported_prompts = name_prompts(prompts, &imported_pack, load_context);
    let (imported_prompts, imported_skills) = match &reference.only {
        Some(only) => select(imported_prompts, skills, only, load_context),
        None => (imported_prompts, skills),
    };
    Some(LoadedPack {
        pack: build_imported_pack(&imported_pack, allowed, importer),
        prefix: imported_pack.prefix,
        at: reference.location,
        manifest: Manifest::default(),
        entry_files: Vec::new(),
        included: Vec::new(),
        imported_prompts: imported_prompts.into_iter().map(|(_, prompt)| prompt).collect(),
        imported_skills,
        importer: Some(imported_pack.importer),
        unset_variables: Vec::new(),
    })
}

/// Says what of a folder is not served that people know: plugins that are elsewhere, and files of other kinds.
fn note_unserved(
    left: Vec<String>,
    serves_agents: bool,
    imported_pack: &ImportedPack<'_>,
    load_context: &mut LoadContext,
) {
    let at = imported_pack.path.location;
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let plugins = marketplace_plugins(imported_pack, load_context);
    let elsewhere = plugins.iter().filter(|plugin| !matches!(plugin.source, PluginSource::Folder(_)));
    let names: Vec<_> = elsewhere.map(|plugin| one_line(&plugin.name)).collect();
    if !names.is_empty() {
        let count = count_noun(names.len(), "plugin");
        let shown = names.get(..MAX_SHOWN_NAMES).unwrap_or(&names);
        let more = if shown.len() < names.len() { ", …" } else { "" };
        let (are, shown) = (are(names.len()), quote_names(shown));
        let message = format!("{count} of the marketplace {are} elsewhere and not served: {shown}{more}");
        load_context.note(Code::Unused, at, message).help("`folio add SOURCE NAME` adds each");
    }
    for files in unserved_files(&imported_pack.place(), left, serves_agents) {
        let folders: Vec<_> = files.folders().into_iter().take(MAX_SHOWN_FOLDERS + 1).map(one_line).collect();
        let (shown, more) = folders.split_at(folders.len().min(MAX_SHOWN_FOLDERS));
        let more = if more.is_empty() { "" } else { ", …" };
        let (count, are) = (count_noun(files.paths.len(), files.noun), are(files.paths.len()));
        let message = format!("{count} in {}{more} {are} not served", quote_names(shown));
        load_context.note(Code::Unused, at, message).help(files.help);
    }
}

/// Reports keys of a pack with a manifest that are for prompts of other programs.
pub(super) fn refuse_keys(reference: &Spanned<PackRef>, load_context: &mut LoadContext) {
    let reads = reference.allow.iter().flat_map(Allow::grants).any(|grant| grant == Grant::Read);
    for (key, word, is_written, help) in [
        ("only", "only", reference.only.is_some(), "the manifest of a pack names the prompts that it serves"),
        (
            "workspace",
            "workspace",
            reference.workspace.is_some(),
            "its own steps have `cwd`, and `folders` at its top level",
        ),
        ("allow", "read", reads, "write `files` for files outside of the pack"),
    ] {
        if is_written {
            let at = load_context.documents.key_at(reference.location, &format!("/{key}"));
            let message = format!("`{word}` cannot be used without `format`");
            load_context.error(Code::Conflict, at, message).help(help);
        }
    }
}

/// A prompt with the path of its file.
type PromptWithPath = (String, ImportedPrompt);

/// Reads all files of one format.
fn read_format(
    files: FormatFiles,
    grants: PromptRights,
    imported_pack: &ImportedPack<'_>,
    load_context: &mut LoadContext,
) -> (Vec<PromptWithPath>, Vec<ImportedSkill>) {
    let FormatFiles { format, is_auto, paths, .. } = files;
    // One more than may be, which is noticed.
    let max_prompts = if imported_pack.locked.is_some() { MAX_ENTRIES + 1 } else { usize::MAX };
    let files: Vec<_> = paths.into_iter().filter_map(|path| read_file(path, imported_pack, load_context)).collect();
    let paths: HashMap<_, _> = files.iter().map(|file| (file.id, file.path.clone())).collect();
    let mut folder = PackFolder { name: &imported_pack.name, files, is_auto, grants, max_prompts };
    let mut prompts = format.read(&folder, &mut load_context.report);
    prompts.retain(|prompt| {
        let is_small = prompt.prompt.arguments.len() <= MAX_ARGUMENTS;
        if !is_small {
            load_context
                .warning(Code::TooLarge, prompt.at(), format!("more than {MAX_ARGUMENTS} arguments"))
                .consequence(Consequence::PromptSkipped);
        }
        is_small
    });
    let skills = format.skills(&folder);
    if let Some(locked) = &imported_pack.locked {
        let acting = prompts.iter().filter(|prompt| prompt.names_actions);
        let acting: HashSet<FileId> = acting.map(|prompt| prompt.at().file()).collect();
        let texts = folder.files.extract_if(.., |file| !acting.contains(&file.id));
        load_context.text_only_files.extend(texts.map(|file| file.id));
        // What the files do with all grants.
        let all = PromptRights { may_run_scripts: true, may_read_files: true, is_withheld: false };
        let folder = PackFolder { grants: all, ..folder };
        let (prompts, _) = load_context.report.attempt(|report| format.read(&folder, report));
        let uses = prompts.iter().flat_map(|prompt| grant_uses_of(prompt, locked, imported_pack.is_nested));
        load_context.grant_uses.extend(uses);
    }
    let path = |prompt: &ImportedPrompt| paths.get(&prompt.at().file()).cloned().unwrap_or_default();
    (prompts.into_iter().map(|prompt| (path(&prompt), prompt)).collect(), skills)
}

/// What a prompt of a pack from elsewhere does with all grants.
fn grant_uses_of(prompt: &ImportedPrompt, locked: &LockedGrants, is_nested: bool) -> impl Iterator<Item = GrantUse> {
    let act = move |ImportedUse { at, action }: &ImportedUse| {
        let (grant, value) = match action {
            ImportedAction::Script(script) => (Grant::Script.as_str(), json!({ "script": script })),
            ImportedAction::Read(path) => {
                let grant = if is_nested { FILES_GRANT } else { Grant::Read.as_str() };
                (grant, json!({ "read": path, "below": "the workspace" }))
            }
        };
        let is_withheld = locked.withheld.contains(grant);
        GrantUse { key: locked.key.clone(), grant, at: *at, value, is_withheld }
    };
    prompt.uses.iter().map(act)
}

/// The files that any format may read, whose folders are watched from now on.
fn walk(
    matcher: &FormatMatcher,
    imported_pack: &ImportedPack<'_>,
    load_context: &mut LoadContext,
) -> Option<Vec<String>> {
    let walked = matcher
        .walk_globs()
        .map_err(|error| error.message)
        .and_then(|globs| imported_pack.folder.walk_outcome(&globs, MAX_FILES).map_err(|error| error.to_string()));
    let walked = match walked {
        Ok(walked) => walked,
        Err(error) => {
            load_context.error(Code::Unreadable, imported_pack.path.location, error);
            return None;
        }
    };
    let root = imported_pack.folder.path();
    load_context.dependencies.folders.extend(walked.folders.iter().map(|folder| root.join(folder)));
    Some(walked.files.into_iter().map(|entry| entry.path).collect())
}

fn read_file(path: String, imported_pack: &ImportedPack<'_>, load_context: &mut LoadContext) -> Option<ImportedFile> {
    load_context.dependencies.files.insert(imported_pack.folder.path().join(&path));
    let display_path = format!("{}{path}", imported_pack.display_path);
    let (id, reported) =
        load_context.attempt(|load_context| match load_context.read(&imported_pack.folder, Path::new(&path)) {
            Ok(bytes) => load_context.decode(&bytes, &display_path),
            Err(error) => {
                let at = imported_pack.path.location.span();
                load_context.error(Code::Unreadable, at, format!("{display_path}: {error}"));
                None
            }
        });
    load_context.report.extend_as_warnings(reported, Consequence::FileSkipped);
    let text = load_context.report.sources.get(id?)?.text().clone();
    Some(ImportedFile { path, id: id?, text })
}

/// Says what was looked for.
fn report_no_prompts(
    matcher: &FormatMatcher,
    reference: &Spanned<PackRef>,
    imported_pack: &ImportedPack<'_>,
    load_context: &mut LoadContext,
) {
    if reference.format.as_ref().is_some_and(|formats| load_context.report.has_unread(formats.location.span())) {
        return;
    }
    let manifest = reference.format.is_none().then_some("folio.yaml");
    let expected_globs: Vec<_> =
        manifest.into_iter().chain(matcher.expected_globs()).map(|glob| format!("`{glob}`")).collect();
    let (display_path, message) =
        (&imported_pack.path.value, if manifest.is_some() { "no `folio.yaml` or prompts" } else { "no prompts" });
    let help = match manifest.and_then(|_| manifest_below(&imported_pack.folder)) {
        Some(below) => format!("there is `{below}`: give its folder as `path`"),
        None => format!(
            "looked for {}; `format` names the format of other files: `agents` reads Markdown with a `name` and a `description`, `claude-commands` any",
            expected_globs.join(", ")
        ),
    };
    load_context
        .error(Code::NotFound, imported_pack.path.location, format!("{message} in `{display_path}`"))
        .help(help);
}

/// The first manifest in a folder below, where a repository often has it.
fn manifest_below(folder: &Folder) -> Option<String> {
    let globs = Globs::new(&["*/folio.yaml", "*/*/folio.yaml"], &[]).ok()?;
    Some(folder.walk(&globs, MAX_FILES).ok()?.into_iter().next()?.path)
}

/// The plugins of a folder that is a marketplace.
fn marketplace_plugins(imported_pack: &ImportedPack<'_>, load_context: &mut LoadContext) -> Vec<Plugin> {
    let text = MARKETPLACE_FILES.iter().find_map(|file| {
        load_context.dependencies.files.insert(imported_pack.folder.path().join(file));
        load_context.read(&imported_pack.folder, Path::new(file)).ok()
    });
    text.map(|text| plugins(&text)).unwrap_or_default()
}

/// Reports the root of a marketplace, and where its plugins are. A root that is itself a plugin is not a marketplace.
fn report_marketplace(imported_pack: &ImportedPack<'_>, load_context: &mut LoadContext) -> bool {
    let plugins = marketplace_plugins(imported_pack, load_context);
    if plugins.is_empty() || plugins.iter().any(|plugin| plugin.source.is_root()) {
        return false;
    }
    let named = |Plugin { name, source, .. }: &Plugin| match source {
        PluginSource::Folder(path) => format!("`{name}` ({path})"),
        PluginSource::Repository { .. } | PluginSource::Other(_) => format!("`{name}` (elsewhere)"),
    };
    let plugins: Vec<_> = plugins.iter().map(named).collect();
    let message = format!("`{}` is a marketplace of plugins, not a folder of prompts", imported_pack.path.value);
    load_context.error(Code::NotFound, imported_pack.path.location, message).help(format!(
        "write `format: auto` for all of them (`folio add` with `--all`), or the path of one: {}",
        plugins.join(", ")
    ));
    true
}

/// Names all prompts, in the order of their paths.
fn name_prompts(
    mut prompts: Vec<PromptWithPath>,
    imported_pack: &ImportedPack<'_>,
    load_context: &mut LoadContext,
) -> Vec<PromptWithPath> {
    prompts.sort_by(|(left, _), (right, _)| left.cmp(right));
    if let Some(locked) = &imported_pack.locked {
        let count = load_context.locked_entry_counts.entry(locked.key.clone()).or_default();
        let is_within = |(_, prompt): &&PromptWithPath| {
            count.entries += 1;
            count.arguments += prompt.prompt.value.arguments.len();
            count.entries <= MAX_ENTRIES && count.arguments <= MAX_PACK_ARGUMENTS
        };
        let kept = prompts.iter().take_while(is_within).count();
        if prompts.len() > kept {
            prompts.truncate(kept);
            let what = format!("{MAX_ENTRIES} prompts or {MAX_PACK_ARGUMENTS} arguments");
            let message = format!("more than {what} in a pack from elsewhere: the others are left out");
            load_context.warning(Code::TooLarge, imported_pack.path.location, message);
        }
    }
    let mut unique = UniqueNames::new(&imported_pack.prefix);
    let mut nameless = Vec::new();
    let named = prompts.into_iter().map(|(path, prompt)| {
        let name = unique.claim(&prompt.name);
        if has_no_name(&prompt.name) {
            // A row of a table is known by its title.
            let title = prompt.prompt.title.as_deref().filter(|_| path.ends_with(".csv"));
            nameless.push(format!("`{}` is `{name}`", title.unwrap_or(&path)));
        }
        (path, ImportedPrompt { name, ..prompt })
    });
    let named: Vec<PromptWithPath> = named.collect();
    note_made_up_names(&nameless, imported_pack, load_context);
    named
}

/// The prompts and skills that `only` names: by their names, or by the paths of their files, which `/` and `.` tell apart.
fn select(
    prompts: Vec<PromptWithPath>,
    skills: Vec<ImportedSkill>,
    only: &[Spanned<String>],
    load_context: &mut LoadContext,
) -> (Vec<PromptWithPath>, Vec<ImportedSkill>) {
    let read = |glob: &Spanned<String>| match Globs::new(&[glob.as_str()], &[]) {
        Ok(globs) => Some((glob.contains(['/', '.']), globs.with_hidden_without_links())),
        Err(error) => {
            load_context.error(Code::Glob, glob.location, error.message);
            None
        }
    };
    let globs: Vec<(bool, Globs)> = only.iter().filter_map(read).collect();
    let matches =
        |(is_path, glob): &(bool, Globs), name: &str, path: &str| glob.matches(if *is_path { path } else { name });
    let is_named = |name: &str, path: &str| globs.iter().any(|glob| matches(glob, name, path));
    // A skill is named by its prompt, or by its folder where it is none.
    let names: HashMap<_, _> = prompts.iter().map(|(_, prompt)| (prompt.at().file(), prompt.name.clone())).collect();
    let name = |skill: &ImportedSkill| names.get(&skill.file).unwrap_or(&skill.name).clone();
    for (pattern, glob) in only.iter().zip(&globs).filter(|_| globs.len() == only.len()) {
        let is_used = prompts.iter().any(|(path, prompt)| matches(glob, &prompt.name, path));
        if !is_used && !skills.iter().any(|skill| matches(glob, &name(skill), &skill.path())) {
            let message = format!("glob `{}` matches no prompts", pattern.value);
            load_context.warning(Code::Glob, pattern.location, message);
        }
    }
    let skills = skills.into_iter().filter(|skill| is_named(&name(skill), &skill.path())).collect();
    (prompts.into_iter().filter(|(path, prompt)| is_named(&prompt.name, path)).collect(), skills)
}

/// Says which prompts have names that no author gave them.
fn note_made_up_names(nameless: &[String], imported_pack: &ImportedPack<'_>, load_context: &mut LoadContext) {
    if nameless.is_empty() {
        return;
    }
    let mut shown = nameless.iter().take(MAX_SHOWN_NAMES).map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    if let Some(more) = nameless.len().checked_sub(MAX_SHOWN_NAMES).filter(|more| *more > 0) {
        shown.push_str(&format!(", and {more} more"));
    }
    let message = format!("nothing in a name that a prompt may have: {shown}");
    load_context
        .note(Code::BadName, imported_pack.path.location, message)
        .help("give the file, or the row of a table, a name with letters `a-z` or digits");
}

/// A pack without a manifest: no variables and no partials, and at most one folder to work in.
fn build_imported_pack(imported_pack: &ImportedPack<'_>, allowed: ImportedGrants, importer: &Pack) -> Pack {
    let folder = allowed.workspace.is_some().then(|| {
        let named = |text: &str| Spanned::new(text.to_owned(), imported_pack.path.location);
        let path = FolderSpec::Path(WORKSPACE_TEMPLATE.to_owned());
        (named(IMPORTED_WORKSPACE), Spanned::new(path, imported_pack.path.location))
    });
    Pack {
        folder: imported_pack.folder.clone(),
        display_prefix: imported_pack.display_path.clone(),
        engine: Engine::imported(),
        partials: BTreeMap::new(),
        grants: allowed.grants,
        locked: None,
        sandboxes: allowed.sandboxes,
        env: Environment::default(),
        server: json!({ "name": null, "title": null, "version": null }),
        connections: NamedMap::new(),
        folders: folder.into_iter().collect(),
        workspace: allowed.workspace.unwrap_or_else(|| importer.workspace.clone()),
        fixed_time: importer.fixed_time,
        search_path: importer.search_path.clone(),
    }
}
