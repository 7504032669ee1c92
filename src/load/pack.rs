//! Loads the served pack and the packs that it imports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::environment::{self, PassedVariables, is_unexpanded};
use super::imported_pack::{self, ImportedPack};
use super::include;
use super::locked_pack::{LockablePack, LockedPackOpener, LockedReference, OpenedPack, join_keys};
use super::paths::{self, MatchedFile};
use super::{EntryFile, EnvSource, LoadSources, LoadedPack, ManifestLocation};
use crate::compile::{Compiler, Environment, Grants, LoadContext, LockedGrants, NamePrefix, Pack, SandboxRules};
use crate::diagnostic::{Code, FileId, Span};
use crate::files::{FileError, Folder, expand_home, normalize};
use crate::manifest::{Allow, Fragment, Manifest, PackRef, correct_entries, example_of};
use crate::pack_source::is_pack_key;
use crate::template::{Engine, ScopeShape, TemplateError, TemplateSpan};
use crate::value_types::NamedMap;
use crate::world::DEFAULT_SEARCH_PATH;
use crate::yaml::{Location, Spanned, from_document_with_examples, parse};

/// The variable with the folder that the client's user works on.
pub const WORKSPACE_VARIABLE: &str = "FOLIO_WORKSPACE";

/// The maximum nesting of packs.
const MAX_PACK_DEPTH: usize = 16;

/// How many packs a manifest may import, with those that they import.
const MAX_PACKS: usize = 256;
/// How many entries a pack from elsewhere may have, with those that it imports.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// How many arguments its entries may have together.
pub(super) const MAX_PACK_ARGUMENTS: usize = 50_000;

/// A pack to load.
pub(super) struct PackRequest<'a> {
    folder: Folder,
    manifest_names: Vec<&'a str>,
    display_path: String,
    prefix: NamePrefix,
    grants: Grants,
    /// What its programs are held to, by grant.
    sandboxes: Vec<(String, Arc<SandboxRules>)>,
    /// The variables that it may read.
    pub(super) passed: &'a PassedVariables,
    search_path: String,
    pub(super) sources: LoadSources<'a>,
    /// The packs that come from elsewhere.
    locked_packs: &'a LockedPackOpener<'a>,
    /// Its keys, from the served pack on, joined by `/`.
    key: String,
    /// What it may do, if it comes from elsewhere, or its importer does.
    locked_grants: Option<LockedGrants>,
    /// The number of the pack that imports it, if any.
    importer: Option<usize>,
    /// The place of the import.
    referenced_at: Option<Span>,
    /// The folders of its importers, outermost first.
    outer_folders: Vec<PathBuf>,
}

impl PackRequest<'_> {
    /// Whether it is the served pack, whose manifest may name files and commands.
    pub(super) fn is_served(&self) -> bool {
        self.importer.is_none()
    }
}

/// The import of a pack in the manifest of another.
#[derive(Clone, Copy)]
pub(super) struct PackImport<'a> {
    pub(super) key: &'a Spanned<String>,
    pub(super) reference: &'a Spanned<PackRef>,
}

/// Loads the served pack and all packs that it imports.
pub(super) fn load_packs(
    place: &ManifestLocation,
    sources: LoadSources<'_>,
    load_context: &mut LoadContext,
) -> (Vec<LoadedPack>, Vec<LockablePack>) {
    for name in place.manifest_names() {
        load_context.dependencies.files.insert(place.path().join(name));
    }
    let folder = match place.open() {
        Ok(folder) => folder,
        Err(error) => {
            load_context.error(Code::Unreadable, None, format!("cannot open the folder of the manifest: {error}"));
            return (Vec::new(), Vec::new());
        }
    };
    let served = PassedVariables { values: sources.environment.for_served(), ..PassedVariables::default() };
    let locked_packs = LockedPackOpener::new(&folder, place.display_prefix());
    let request = PackRequest {
        folder: folder.clone(),
        manifest_names: place.manifest_names(),
        display_path: place.display_prefix().to_owned(),
        prefix: NamePrefix::default(),
        grants: Grants::All,
        sandboxes: Vec::new(),
        passed: &served,
        search_path: sources.environment.get("PATH").unwrap_or_else(|| DEFAULT_SEARCH_PATH.to_owned()),
        sources,
        locked_packs: &locked_packs,
        key: String::new(),
        locked_grants: None,
        importer: None,
        referenced_at: None,
        outer_folders: Vec::new(),
    };
    let mut packs = Vec::new();
    load_pack(request, load_context, &mut packs);
    (packs, locked_packs.into_lockable_packs())
}

fn load_pack(
    request: PackRequest<'_>,
    load_context: &mut LoadContext,
    packs: &mut Vec<LoadedPack>,
) -> Option<Location> {
    let file = read_manifest_file(&request, load_context)?;
    let mut document = parse(file, &mut load_context.report)?;
    correct_entries(&mut document, &mut load_context.report);
    let mut manifest: Manifest = from_document_with_examples(&document, example_of, &mut load_context.report)?;
    let at = load_context.documents.add(document);
    // What is not a map is reported as such.
    if load_context.documents.is_map(at) {
        check_version(&manifest, file, load_context);
    }
    let (environment, unset_variables) = environment::resolve_variables(&manifest, &request, load_context);
    let mut pack = build_pack(&request, &manifest, environment);
    load_partials(&manifest, &mut pack, load_context);
    let mut files = vec![extract_entries(&mut manifest, file)];
    let mut included = included_files(&manifest, &pack, &request, load_context);
    if let Some(locked) = &request.locked_grants {
        files.extend(read_files(std::mem::take(&mut included), &pack, load_context));
        refuse_many_entries(&files, &locked.key, load_context)?;
    }
    let inner = std::mem::take(&mut manifest.packs);
    packs.push(LoadedPack {
        pack,
        prefix: request.prefix.clone(),
        at,
        manifest,
        entry_files: files,
        included,
        imported_prompts: Vec::new(),
        imported_skills: Vec::new(),
        importer: request.importer,
        unset_variables,
    });
    load_nested(&inner, packs.len() - 1, &request, load_context, packs);
    Some(at)
}

/// Reads the manifest of a pack under the first name that exists.
fn read_manifest_file(request: &PackRequest<'_>, load_context: &mut LoadContext) -> Option<FileId> {
    let mut missing = None;
    for name in &request.manifest_names {
        load_context.dependencies.files.insert(request.folder.path().join(name));
        let display_path = format!("{}{name}", request.display_path);
        match load_context.read(&request.folder, Path::new(name)) {
            Ok(bytes) => return load_context.decode(&bytes, &display_path),
            Err(error @ FileError::NotFound { .. }) => missing = missing.or(Some(error)),
            Err(error) => {
                load_context.error(Code::Unreadable, request.referenced_at, format!("{display_path}: {error}"));
                return None;
            }
        }
    }
    let names = request.manifest_names.join("` or `");
    let folder = match request.display_path.trim_end_matches('/') {
        "" => request.folder.path().display().to_string(),
        display_path => display_path.to_owned(),
    };
    load_context.error(Code::NotFound, request.referenced_at, format!("no `{names}` in `{folder}`"));
    None
}

fn check_version(manifest: &Manifest, file: FileId, load_context: &mut LoadContext) {
    match &manifest.folio {
        None => {
            load_context
                .error(Code::MissingKey, Span::start_of(file), "missing key `folio`")
                .help("add `folio: 1`, the version of this language");
        }
        Some(version) => include::check_version(version, load_context),
    }
}

fn build_pack(request: &PackRequest<'_>, manifest: &Manifest, env: Environment) -> Pack {
    let server = manifest.server.as_ref();
    let text = |value: Option<&str>| value.map_or(Value::Null, Value::from);
    Pack {
        folder: request.folder.clone(),
        display_prefix: request.display_path.clone(),
        engine: new_engine(Vec::new(), request.sources.environment.records_coverage()).0,
        partials: BTreeMap::new(),
        grants: request.grants.clone(),
        locked: request.locked_grants.clone(),
        sandboxes: request.sandboxes.clone(),
        env,
        server: json!({
            "name": text(server.and_then(|server| server.name.as_ref()).map(|name| name.value.as_str())),
            "title": text(server.and_then(|server| server.title.as_deref())),
            "version": text(server.and_then(|server| server.version.as_ref()).map(|version| version.0.as_str())),
        }),
        connections: manifest.connections.clone(),
        folders: manifest.folders.clone(),
        workspace: workspace(request.sources.environment),
        fixed_time: request.sources.environment.now(),
        search_path: request.search_path.clone(),
    }
}

/// The folder that the client's user works on: that of `FOLIO_WORKSPACE`, else where the server was started.
fn workspace(environment: &EnvSource) -> PathBuf {
    let named = environment.get(WORKSPACE_VARIABLE).filter(|path| !path.is_empty() && !is_unexpanded(path));
    let path = expand_home(Path::new(named.as_deref().unwrap_or(".")));
    std::path::absolute(&path).unwrap_or(path)
}

fn extract_entries(manifest: &mut Manifest, file: FileId) -> EntryFile {
    let entries = Fragment {
        folio: None,
        prompts: std::mem::take(&mut manifest.prompts),
        resources: std::mem::take(&mut manifest.resources),
        tools: std::mem::take(&mut manifest.tools),
        tests: std::mem::take(&mut manifest.tests),
    };
    EntryFile { base: PathBuf::new(), entries: Arc::new(entries), file, stamp: None }
}

/// Reports that a pack from elsewhere has too many entries, or arguments.
fn refuse_many_entries(files: &[EntryFile], key: &str, load_context: &mut LoadContext) -> Option<()> {
    let count = load_context.locked_entry_counts.entry(key.to_owned()).or_default();
    let entries = files.iter().flat_map(|EntryFile { entries, .. }| {
        let prompts = entries.prompts.iter().map(|(name, prompt)| (name, prompt.arguments.len()));
        let resources = entries.resources.iter().map(|(name, resource)| (name, resource.arguments.len()));
        let tools = entries.tools.iter();
        let tools = tools.map(|(name, tool)| (name, tool.arguments.as_ref().map_or(0, |arguments| arguments.len())));
        prompts.chain(resources).chain(tools)
    });
    for (name, arguments) in entries {
        count.entries += 1;
        count.arguments += arguments;
        let what = match () {
            () if count.entries > MAX_ENTRIES => format!("{MAX_ENTRIES} prompts, resources and tools"),
            () if count.arguments > MAX_PACK_ARGUMENTS => format!("{MAX_PACK_ARGUMENTS} arguments"),
            () => continue,
        };
        let message = format!("more than {what} in a pack from elsewhere");
        load_context.error(Code::TooLarge, name.location, message);
        return None;
    }
    Some(())
}

/// The files that a manifest includes.
fn included_files(
    manifest: &Manifest,
    pack: &Pack,
    request: &PackRequest<'_>,
    load_context: &mut LoadContext,
) -> Vec<MatchedFile> {
    let mut compiler = Compiler::new(load_context, pack, Path::new(""));
    let include = manifest.include.as_ref();
    include.iter().flat_map(|paths| paths.items()).for_each(|path| include::refuse_readme(path, &mut compiler));
    let mut files = paths::resolve_files(include, &mut compiler);
    let is_manifest = |path: &Path| request.manifest_names.iter().any(|name| Path::new(name) == path);
    files.retain(|file| !is_manifest(&file.path) && !include::is_readme(&file.path));
    files
}

/// Reads included files, one after the other.
pub(super) fn read_files(files: Vec<MatchedFile>, pack: &Pack, load_context: &mut LoadContext) -> Vec<EntryFile> {
    let mut compiler = Compiler::new(load_context, pack, Path::new(""));
    files.iter().filter_map(|file| include::read_included(file, &mut compiler)).collect()
}

/// Reads the partials of the pack.
fn load_partials(manifest: &Manifest, pack: &mut Pack, load_context: &mut LoadContext) {
    if manifest.partials.is_none() {
        return;
    }
    let mut texts: Vec<(String, String)> = Vec::new();
    let mut partials: BTreeMap<String, FileId> = BTreeMap::new();
    let mut compiler = Compiler::new(load_context, pack, Path::new(""));
    for file in paths::resolve_files(manifest.partials.as_ref(), &mut compiler) {
        let name = paths::file_stem(&file.path);
        let display_path = file.path.to_string_lossy().into_owned();
        let Some(text) = compiler.read_text_file(&Spanned::new(display_path, file.path.location)) else { continue };
        if let Some(first) = partials.get(&name) {
            let first = Span::start_of(*first);
            compiler
                .error(Code::Duplicate, Span::start_of(text.location.file()), format!("duplicate partial `{name}`"))
                .note(first, "first defined here");
            continue;
        }
        partials.insert(name.clone(), text.location.file());
        texts.push((name, text.value));
    }
    let (engine, errors) = new_engine(texts, pack.engine.records_branches());
    for error in dedup_cycles(errors) {
        let span = match &error.span {
            TemplateSpan::Partial { name, range, .. } => {
                partials.get(name).map(|file| Span::new(*file, range.start, range.end))
            }
            TemplateSpan::Template(_) => None,
        };
        let diagnostic = load_context.error(error.code, span, error.message);
        if let Some(help) = error.help {
            diagnostic.help(help);
        }
    }
    let mut compiler = Compiler::new(load_context, pack, Path::new(""));
    for (name, branch) in engine.partial_branches() {
        let Some(file) = partials.get(name) else { continue };
        compiler.add_branch(Span::new(*file, branch.range.start, branch.range.end), branch);
    }
    pack.engine = engine;
    pack.partials = partials;
}

fn new_engine(partials: Vec<(String, String)>, records_branches: bool) -> (Arc<Engine>, Vec<TemplateError>) {
    if records_branches { Engine::recording(partials) } else { Engine::new(partials) }
}

/// Keeps one error for each cycle, which is found from each of its partials.
fn dedup_cycles(mut errors: Vec<TemplateError>) -> Vec<TemplateError> {
    let mut in_cycles: BTreeSet<String> = BTreeSet::new();
    errors.retain_mut(|error| {
        let TemplateSpan::Partial { name, .. } = &error.span else { return true };
        let is_repeated = !error.cycle.is_empty() && in_cycles.contains(name);
        if !is_repeated {
            in_cycles.extend(std::mem::take(&mut error.cycle));
        }
        !is_repeated
    });
    errors
}

/// Loads the packs that a pack imports.
fn load_nested(
    inner: &NamedMap<Spanned<PackRef>>,
    outer: usize,
    request: &PackRequest<'_>,
    load_context: &mut LoadContext,
    packs: &mut Vec<LoadedPack>,
) {
    for (key, reference) in inner {
        let Some(importer) = packs.get(outer) else { return };
        load_context.import_count += 1;
        if load_context.import_count > MAX_PACKS {
            let message = format!("more than {MAX_PACKS} packs, with those that they import");
            load_context.error(Code::TooLarge, key.location, message);
            return;
        }
        let import = PackImport { key, reference };
        if !is_pack_key(key) {
            load_context
                .error(Code::BadName, key.location, format!("invalid name of a pack: `{}`", key.value))
                .help("use letters `a-z`, digits, `-`, `_` and `.`, and begin with a letter or a digit");
            continue;
        }
        let passed = environment::pack_environment(&reference.env, &importer.pack, request.is_served(), load_context);
        let opened = open_nested(import, &passed.values_for_review, request, &importer.pack, load_context);
        let Some(opened) = opened else { continue };
        let Some(formats) = imported_pack::formats_of(&opened.reference, &opened.folder, load_context) else {
            load_nested_manifest(import, opened, passed, outer, request, load_context, packs);
            continue;
        };
        let name = imported_pack::folder_name(&opened.path, &opened.folder);
        let OpenedPack { reference, path, folder, display_path, grants } = opened;
        let prefix = request.prefix.join(reference.prefix.as_ref().unwrap_or(key));
        let is_nested = grants.is_none();
        let locked = grants.or_else(|| request.locked_grants.clone());
        let place =
            ImportedPack { folder, name, path: &path, display_path, prefix, importer: outer, locked, is_nested };
        packs.extend(imported_pack::load(&reference, &formats, place, &importer.pack, load_context));
    }
}

/// Loads a pack that has a manifest, and the packs that it imports.
fn load_nested_manifest(
    import: PackImport<'_>,
    opened: OpenedPack,
    mut passed: PassedVariables,
    outer: usize,
    request: &PackRequest<'_>,
    load_context: &mut LoadContext,
    packs: &mut Vec<LoadedPack>,
) {
    let Some(importer) = packs.get(outer) else { return };
    let OpenedPack { reference, path, folder, display_path, grants: locked_grants } = opened;
    let reference = &reference;
    imported_pack::refuse_keys(reference, load_context);
    let Some(outer_folders) = check_nesting(request, &folder, path.location, load_context) else { return };
    let locked_grants = locked_grants.or_else(|| request.locked_grants.clone());
    if locked_grants.is_some() {
        // A pack from elsewhere writes its tests itself.
        passed.values_for_review.extend(request.sources.environment.mocked_variables(packs.len()));
    }
    let values = request.sources.environment.for_pack(packs.len(), passed.values);
    let passed = PassedVariables { values, ..passed };
    let allowed = reference.allow.iter().flat_map(Allow::grants);
    let nested = PackRequest {
        display_path,
        manifest_names: super::location::MANIFEST_NAMES.to_vec(),
        prefix: request.prefix.join(reference.prefix.as_ref().unwrap_or(import.key)),
        grants: importer.pack.grants.restrict(allowed.map(|grant| grant.as_str().to_owned()).collect()),
        sandboxes: pack_sandboxes(reference, &importer.pack, load_context),
        passed: &passed,
        search_path: request.search_path.clone(),
        sources: request.sources,
        locked_packs: request.locked_packs,
        key: join_keys(&request.key, import.key),
        locked_grants,
        importer: Some(outer),
        referenced_at: Some(path.location.span()),
        outer_folders,
        folder,
    };
    let at = packs.len();
    let manifest = load_pack(nested, load_context, packs);
    if let (Some(pack), Some(manifest)) = (packs.get(at), manifest) {
        environment::warn_undeclared(&reference.env, &pack.pack.env, manifest, load_context);
        environment::report_not_passed(import, &pack.pack.env, request.sources.environment, load_context);
    }
}

/// The folders of all importers of a pack, outermost first; `None` if it imports itself, or is nested too deep.
fn check_nesting(
    importer: &PackRequest<'_>,
    folder: &Folder,
    at: Location,
    load_context: &mut LoadContext,
) -> Option<Vec<PathBuf>> {
    let mut outer_folders = importer.outer_folders.clone();
    outer_folders.push(importer.folder.path().to_owned());
    if outer_folders.iter().any(|outer| outer == folder.path()) {
        load_context.error(Code::Cycle, at, "cyclic pack: it imports itself");
        return None;
    }
    if outer_folders.len() > MAX_PACK_DEPTH {
        let message = format!("packs nested deeper than {MAX_PACK_DEPTH} levels");
        load_context.error(Code::Cycle, at, message);
        return None;
    }
    Some(outer_folders)
}

/// What the programs of a pack are held to: by this importer, and by its own importers.
pub(super) fn pack_sandboxes(
    reference: &PackRef,
    importer: &Pack,
    load_context: &mut LoadContext,
) -> Vec<(String, Arc<SandboxRules>)> {
    let mut compiler = Compiler::new(load_context, importer, Path::new(""));
    compiler.scope_shape = ScopeShape::new().with_name("env", importer.env.shape());
    let mut sandboxes = importer.sandboxes.clone();
    if let Some(Allow::Limited(limits)) = &reference.allow {
        for (grant, sandbox) in limits.sandboxes() {
            let rules = compiler.sandbox(sandbox).map(Arc::new);
            sandboxes.extend(rules.map(|rules| (grant.as_str().to_owned(), rules)));
        }
    }
    sandboxes
}

fn open_nested(
    import: PackImport<'_>,
    values_for_review: &BTreeMap<String, String>,
    request: &PackRequest<'_>,
    importer: &Pack,
    load_context: &mut LoadContext,
) -> Option<OpenedPack> {
    let PackImport { key, reference } = import;
    report_misplaced(reference, load_context);
    if let Some(url) = reference.git.as_ref().or(reference.url.as_ref()) {
        let is_foreign = request.locked_grants.is_some();
        let written =
            LockedReference { name: key, reference, url, outer_key: &request.key, is_foreign, values_for_review };
        return request.locked_packs.open(&written, load_context);
    }
    let mut compiler = Compiler::new(load_context, importer, Path::new(""));
    let Some(path) = &reference.path else {
        compiler
            .error(Code::MissingKey, reference.location, format!("missing key `path` in the pack `{}`", key.value))
            .help("write the folder that contains its folio.yaml, or `git` or `url` with that of a repository or an archive");
        return None;
    };
    match open_folder(path, request.is_served(), &mut compiler)? {
        Ok(folder) => {
            let written = path.trim_start_matches("./").trim_end_matches('/');
            let outer = if Path::new(path.as_str()).is_absolute() { "" } else { &request.display_path };
            let display_path = format!("{outer}{written}/");
            Some(OpenedPack { reference: reference.clone(), path: path.clone(), folder, display_path, grants: None })
        }
        Err(error) => {
            let message = match error {
                // An absolute path is named by its last part elsewhere; this one is what the manifest says itself.
                FileError::NotFound(_) => format!("no such file or folder: `{}`", path.value),
                other => other.to_string(),
            };
            compiler.error(Code::NotFound, path.location, message);
            None
        }
    }
}

/// Opens the folder of a pack: any that the served manifest names, and one below its own that a pack names.
fn open_folder(
    path: &Spanned<String>,
    is_served: bool,
    compiler: &mut Compiler<'_>,
) -> Option<Result<Folder, FileError>> {
    if path.is_empty() {
        compiler
            .error(Code::BadValue, path.location, "empty `path` of a pack")
            .help("write the folder that contains its folio.yaml");
        return None;
    }
    let importer = &compiler.pack.folder;
    if is_served && (Path::new(path.as_str()).is_absolute() || normalize(path).is_err()) {
        let opened = importer.open_outside(Path::new(path.as_str()));
        let real = opened.iter().map(|folder| folder.path().to_owned());
        compiler.load_context.dependencies.files.extend(real.chain([importer.path().join(path.as_str())]));
        return Some(opened);
    }
    let relative = compiler.resolve_path(path, path.location)?;
    compiler.load_context.dependencies.files.insert(importer.path().join(&relative));
    Some(importer.subfolder(&relative))
}

/// Reports keys of one source of a pack beside those of another.
fn report_misplaced(reference: &PackRef, load_context: &mut LoadContext) {
    let PackRef { git, rev, url, sha256, .. } = reference;
    let misplaced = [
        (rev.as_ref().filter(|_| git.is_none()), "`rev` cannot be used without `git`"),
        (sha256.as_ref().filter(|_| url.is_none()), "`sha256` cannot be used without `url`"),
        (url.as_ref().filter(|_| git.is_some()), "`url` cannot be used with `git`"),
    ];
    for (value, message) in misplaced.into_iter().filter_map(|(value, message)| Some((value?, message))) {
        load_context.error(Code::Conflict, value.location, message);
    }
}
