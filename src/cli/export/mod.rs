//! `folio export`.

mod args;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};

use crate::catalog::build;
use crate::cli::packs::{PackProject, print_failure};
use crate::cli::{Exit, Output};
use crate::diagnostic::{count_noun, one_line};
use crate::export::{
    BundleParts, DOCKER_CONTEXT, DOCKERFILE_HEADER, DockerFiles, ExportedFile, FolderFilter, ProgramPlatform,
    ServerDescription, ServerJsonParts, cached_packs, collect_folder, docker_context, exported_variables, mcpb_bundle,
    platform_of, server_json,
};
use crate::files::{Folder, OverwritePolicy, WritableFolder};
use crate::load::{EnvSource, LoadedPack, LoadedPacks, MANIFEST_NAMES, ManifestLocation, load};
use crate::manifest::EnvEntry;
use crate::pack_source::archive_sha256;
use crate::redact::Redactor;
use args::{ExportDockerArgs, ExportMcpbArgs, ExportServerJsonArgs};

pub(crate) use args::{EXPORT_HELP, ExportTarget};

/// How large a program or a bundle may be that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// How many names a message shows.
const MAX_SHOWN: usize = 6;

/// Writes a server for other people.
pub(super) fn run(target: &ExportTarget, output: &Output) -> anyhow::Result<Exit> {
    let exported = match target {
        ExportTarget::Mcpb(arguments) => export_mcpb(arguments, output),
        ExportTarget::ServerJson(arguments) => export_server_json(arguments, output),
        ExportTarget::Docker(arguments) => export_docker(arguments, output),
    };
    match exported {
        Ok(exit) => Ok(exit),
        Err(error) => Ok(print_failure(&error, output)),
    }
}

fn export_mcpb(arguments: &ExportMcpbArgs, output: &Output) -> anyhow::Result<Exit> {
    refuse_existing(&arguments.output, arguments.force)?;
    let Some(export) = Export::open(&arguments.file, output)? else { return Ok(Exit::Failure) };
    export.check_version()?;
    if let Some((name, file)) = export.served.variable_files.first() {
        bail!(
            "`{name}` is read from `{}`, which other people do not have\nhelp: declare it without `file`: their client asks for it",
            file.display()
        );
    }
    let FolioProgram { bytes, platform } = FolioProgram::read(arguments.program.as_deref())?;
    let ServerFiles { folder, packs } = export.files(&arguments.output, output)?;
    let count = folder.len() + packs.len();
    let size = bytes.len().div_ceil(1 << 20);
    output.eprint(&format!("packing {} and the program, {size} MiB\n", count_noun(count, "file")));
    let author = arguments.author.clone().unwrap_or_else(|| export.author());
    let parts = BundleParts { program: bytes, platform, author, manifest: export.served.name.clone(), folder, packs };
    let bundle = mcpb_bundle(&export.server, parts)?;
    write_file(&arguments.output, &bundle, arguments.force)?;
    let (display_path, size) = (arguments.output.display(), bundle.len().div_ceil(1024));
    let (name, version) = (export.server.short_name(), &export.server.info.version);
    let files = count_noun(count, "file");
    output
        .print(&format!("wrote {display_path}: {name} {version} for {}, {files}, {size} KiB\n", platform.as_str()))?;
    Ok(Exit::Success)
}

fn export_server_json(arguments: &ExportServerJsonArgs, output: &Output) -> anyhow::Result<Exit> {
    if let Some(path) = &arguments.output {
        refuse_existing(path, arguments.force)?;
    }
    let Some(export) = Export::open(&arguments.file, output)? else { return Ok(Exit::Failure) };
    export.check_version()?;
    for url in arguments.url.iter().chain(&arguments.remote) {
        ensure!(
            url.starts_with("https://") && url::Url::parse(url).is_ok(),
            "invalid URL `{}`: expected `https://…`",
            one_line(url)
        );
    }
    let bundle = match (&arguments.mcpb, &arguments.url) {
        (Some(path), Some(url)) => Some((url.clone(), archive_sha256(&read_file(path)?))),
        _ => None,
    };
    let name = arguments.name.clone().unwrap_or_else(|| export.server.info.name.clone());
    let (image, remote) = (arguments.image.clone(), arguments.remote.clone());
    let is_empty = bundle.is_none() && image.is_none() && remote.is_none();
    let description = server_json(&export.server, &ServerJsonParts { name, bundle, image, remote })?;
    if is_empty {
        output
            .eprint("note: it names no way to get the server: add `--mcpb FILE --url URL`, `--image` or `--remote`\n");
    }
    let text = format!("{description:#}\n");
    match &arguments.output {
        Some(path) => {
            write_file(path, text.as_bytes(), arguments.force)?;
            output.print(&format!("wrote {}\n", path.display()))?;
        }
        None => output.print(&text)?,
    }
    Ok(Exit::Success)
}

fn export_docker(arguments: &ExportDockerArgs, output: &Output) -> anyhow::Result<Exit> {
    let dir = &arguments.output;
    check_export_folder(dir, arguments.force)?;
    let Some(export) = Export::open(&arguments.file, output)? else { return Ok(Exit::Failure) };
    let real = std::path::absolute(dir)?;
    // The folder that a link leads to is written, and the link stays.
    let real = fs::canonicalize(&real).unwrap_or(real);
    ensure!(
        !export.served.root.starts_with(&real),
        "`{}` contains the manifest\nhelp: choose another folder",
        dir.display()
    );
    ensure!(
        export.served.needs_token || arguments.insecure,
        "everyone who reaches the container could use the server\nhelp: write `http: {{ auth: … }}` or `http: {{ token: \"{{{{env.TOKEN}}}}\" }}`, or `--insecure` where something else keeps others out"
    );
    let FolioProgram { bytes, platform } = FolioProgram::read(arguments.program.as_deref())?;
    ensure!(platform == ProgramPlatform::Linux, "the program is not for Linux\nhelp: name one with `--program`");
    let ServerFiles { folder, packs } = export.files(&real, output)?;
    let programs = export.programs.iter().cloned().collect();
    let contents = DockerFiles { program: bytes, manifest: export.served.name.as_deref(), folder, packs, programs };
    let files = docker_context(&export.server, contents, !export.served.needs_token);
    write_folder(&real, &files)?;
    let (display_path, count) = (dir.display(), count_noun(files.len(), "file"));
    output.print(&format!(
        "wrote {display_path}: {count}\n\nTry it:\n  docker build -t {} {display_path}\n",
        export.server.short_name()
    ))?;
    Ok(Exit::Success)
}

/// A server that is exported.
struct Export {
    path: PathBuf,
    server: ServerDescription,
    served: ServedManifest,
    reads: BTreeSet<PathBuf>,
    /// The programs that it names.
    programs: BTreeSet<String>,
    /// Whether it has packs from elsewhere.
    has_locked_packs: bool,
    /// Finds the secrets of this machine.
    redactor: Arc<Redactor>,
}

/// The files of a server.
struct ServerFiles {
    folder: Vec<ExportedFile>,
    packs: Vec<ExportedFile>,
}

impl Export {
    /// Loads a server, without the variables of this machine. `None`, once that has been said, where it has errors.
    fn open(path: &Path, output: &Output) -> anyhow::Result<Option<Export>> {
        let path = &real_manifest_path(path);
        let location = ManifestLocation::resolve(path)?;
        // What is written says nothing of this machine, whose secrets are looked for in the files.
        let here = build(load(&location, &EnvSource::Process));
        output.set_redactor(here.redactor.clone());
        let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
        let loaded = load(&location, &EnvSource::Fixed(kept.collect()));
        let has_locked_packs = !loaded.lockable_packs.is_empty();
        let served = loaded.packs.first();
        let served = served.map(|pack| (ServedManifest::collect(pack, &loaded), exported_variables(pack)));
        let built = build(loaded);
        let (Some(catalog), Some((served, variables))) = (built.catalog.as_deref(), served) else {
            output.eprint_report(&built.report);
            output.eprint("error: nothing is exported: the manifest has errors\n");
            return Ok(None);
        };
        Ok(Some(Export {
            path: path.to_owned(),
            server: ServerDescription::new(catalog, variables),
            served,
            reads: built.dependencies.files.into_iter().collect(),
            programs: built.programs,
            has_locked_packs,
            redactor: here.redactor,
        }))
    }

    fn check_version(&self) -> anyhow::Result<()> {
        ensure!(self.served.has_version, "the manifest has no version\nhelp: write `server: {{ version: \"1.0.0\" }}`");
        Ok(())
    }

    /// Who made it, by its name: `me` of `io.github.me/desk`.
    fn author(&self) -> String {
        let namespace = self.server.info.name.split_once('/').map(|(namespace, _)| namespace);
        let last = namespace.and_then(|namespace| namespace.rsplit('.').next());
        last.unwrap_or_else(|| self.server.short_name()).to_owned()
    }

    /// Its files, but for those that are written themselves.
    fn files(&self, target: &Path, output: &Output) -> anyhow::Result<ServerFiles> {
        let folder = Folder::open(&self.served.root)?;
        let target = std::path::absolute(target)?;
        let parent = target.parent().and_then(|parent| fs::canonicalize(parent).ok());
        let real = parent.zip(target.file_name()).map(|(parent, name)| parent.join(name));
        let below = real.as_ref().and_then(|real| real.strip_prefix(&self.served.root).ok()).and_then(Path::to_str);
        let excluded_paths: Vec<String> = below.map(str::to_owned).into_iter().collect();
        let variable_files: Vec<PathBuf> = self.served.variable_files.iter().map(|(_, file)| file.clone()).collect();
        let reads = self.reads.iter().filter(|path| !variable_files.contains(path)).cloned().collect();
        let choice = FolderFilter { reads: &reads, excluded_paths: &excluded_paths };
        let contents = collect_folder(&folder, &choice, &self.redactor)?;
        let (packs, mut elsewhere) = self.packs(output)?;
        elsewhere.extend(variable_files);
        let missing = contents.missing(&self.served.root, &self.reads, &elsewhere);
        if let Some(first) = missing.first() {
            bail!(
                "the server reads `{}`, which is not exported\nhelp: move it into the folder of the manifest, under a name that is not left out",
                first.display()
            );
        }
        if !contents.left_out.is_empty() {
            let (shown, rest) = contents.left_out.split_at(contents.left_out.len().min(MAX_SHOWN));
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            output.eprint(&format!("left out: `{}`{more}\n", one_line(&shown.join("`, `"))));
        }
        Ok(ServerFiles { folder: contents.files, packs })
    }

    /// The files of its packs from elsewhere, and the folders in the cache.
    fn packs(&self, output: &Output) -> anyhow::Result<(Vec<ExportedFile>, Vec<PathBuf>)> {
        if !self.has_locked_packs {
            return Ok((Vec::new(), Vec::new()));
        }
        let project = PackProject::open(&self.path, output)?;
        let packs = project.lock.packs.iter().map(|(key, pack)| (key.as_str(), pack.digest));
        let files = cached_packs(packs, &project.cache)?;
        let folders = project.lock.packs.values().map(|pack| project.cache.folder_of(&pack.digest));
        let folders = folders.map(|folder| fs::canonicalize(&folder).unwrap_or(folder)).collect();
        Ok((files, folders))
    }
}

/// What an export needs to know of the served manifest.
struct ServedManifest {
    /// Its folder, with all links resolved.
    root: PathBuf,
    /// Its name, if that is another than `folio.yaml`.
    name: Option<String>,
    has_version: bool,
    /// Whether callers over HTTP must show who they are.
    needs_token: bool,
    /// Variables that are read from files, and those.
    variable_files: Vec<(String, PathBuf)>,
}

impl ServedManifest {
    fn collect(served: &LoadedPack, loaded: &LoadedPacks) -> ServedManifest {
        let source = loaded.load_context.report.sources.get(served.at.file());
        let name = source.and_then(|source| source.path().file_name()).map(|name| name.to_string_lossy().into_owned());
        let keys = &served.manifest;
        let files = keys.env.iter().filter_map(|(name, entry)| match &entry.value {
            EnvEntry::Keys(variable) => Some((name.value.clone(), PathBuf::from(&variable.file.as_ref()?.value))),
            _ => None,
        });
        ServedManifest {
            root: served.pack.folder.path().to_owned(),
            name: name.filter(|name| !MANIFEST_NAMES.contains(&name.as_str())),
            has_version: keys.server.as_ref().is_some_and(|server| server.version.is_some()),
            needs_token: keys.http.as_ref().is_some_and(|http| http.token.is_some() || http.auth.is_some()),
            variable_files: files.collect(),
        }
    }
}

/// A folio that is exported.
struct FolioProgram {
    bytes: Vec<u8>,
    platform: ProgramPlatform,
}

impl FolioProgram {
    fn read(path: Option<&Path>) -> anyhow::Result<FolioProgram> {
        let own = || std::env::current_exe().context("cannot find the program");
        let path = path.map_or_else(own, |path| Ok(path.to_owned()))?;
        let bytes = read_file(&path)?;
        let platform = platform_of(&bytes).with_context(|| format!("cannot export `{}`", path.display()))?;
        Ok(FolioProgram { bytes, platform })
    }
}

fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("cannot read `{}`", path.display());
    ensure!(fs::metadata(path).with_context(failed)?.is_file(), "cannot read `{}`: it is not a file", path.display());
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)).with_context(failed)?;
    Ok(bytes)
}

fn refuse_existing(path: &Path, force: bool) -> anyhow::Result<()> {
    let is_there = path.symlink_metadata().is_ok();
    ensure!(force || !is_there, "`{}` is there already\nhelp: overwrite it with `--force`", path.display());
    Ok(())
}

/// Writes a file, whole or not at all.
fn write_file(path: &Path, bytes: &[u8], force: bool) -> anyhow::Result<()> {
    let failed = || format!("cannot write `{}`", path.display());
    let name = path.file_name().and_then(|name| name.to_str()).with_context(failed)?;
    let parent = path.parent().map_or(Path::new("."), parent_or_here);
    let existing = if force { OverwritePolicy::Replace } else { OverwritePolicy::Refuse };
    let folder = WritableFolder::open(parent).with_context(failed)?;
    let fill = |_, file: &mut dyn Write| -> anyhow::Result<()> { Ok(file.write_all(bytes)?) };
    folder.write(name, existing, fill).with_context(failed)
}

/// The path of a manifest or of its folder without `..` and links in that of the folder, by which all its files are known.
fn real_manifest_path(path: &Path) -> PathBuf {
    let real = match (path.is_dir(), path.parent(), path.file_name()) {
        (false, Some(parent), Some(name)) => {
            std::path::absolute(parent_or_here(parent)).and_then(fs::canonicalize).map(|parent| parent.join(name))
        }
        _ => fs::canonicalize(path),
    };
    let is_same = |real: &PathBuf| std::path::absolute(path).is_ok_and(|absolute| absolute == *real);
    real.ok().filter(|real| !is_same(real)).unwrap_or_else(|| path.to_owned())
}

fn parent_or_here(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// Checks that a folder is not there, is empty, or is what an export has written.
fn check_export_folder(dir: &Path, force: bool) -> anyhow::Result<()> {
    let shown = dir.display();
    let is_empty = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ensure!(dir.symlink_metadata().is_err(), "`{shown}` is a link that leads nowhere");
            true
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read `{shown}`")),
        Ok(mut entries) => entries.next().is_none(),
    };
    if is_empty {
        return Ok(());
    }
    ensure!(force, "`{shown}` is not empty\nhelp: replace an earlier export with `--force`");
    let is_ours = fs::read_to_string(dir.join("Dockerfile")).is_ok_and(|text| text.starts_with(DOCKERFILE_HEADER));
    let foreign = fs::read_dir(dir)?.find_map(|entry| {
        let name = entry.ok()?.file_name();
        (!DOCKER_CONTEXT.iter().any(|own| name == *own)).then_some(name)
    });
    let example = foreign.map(|name| format!(": `{}`", one_line(&name.to_string_lossy())));
    ensure!(
        is_ours && example.is_none(),
        "`{shown}` has files that no export has written{}\nhelp: choose another folder, or move them out of it",
        example.unwrap_or_default()
    );
    Ok(())
}

/// Writes a folder, whole or not at all, instead of one that may be replaced.
fn write_folder(dir: &Path, files: &[ExportedFile]) -> anyhow::Result<()> {
    let dir = std::path::absolute(dir)?;
    let failed = || format!("cannot write `{}`", dir.display());
    let (parent, name) = dir.parent().zip(dir.file_name()).with_context(failed)?;
    fs::create_dir_all(parent).with_context(failed)?;
    let beside = |end: &str| parent.join(format!(".{}.{}.{end}", name.to_string_lossy(), std::process::id()));
    let (new, old) = (beside("new"), beside("old"));
    let outcome = write_files(&new, files).and_then(|()| {
        if dir.exists() {
            fs::rename(&dir, &old)?;
        }
        fs::rename(&new, &dir)
    });
    if outcome.is_err() {
        _ = fs::remove_dir_all(&new);
    }
    _ = fs::remove_dir_all(&old);
    outcome.with_context(failed)
}

fn write_files(root: &Path, files: &[ExportedFile]) -> io::Result<()> {
    for ExportedFile { path, bytes, is_program } in files {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, bytes)?;
        let mode = if *is_program { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
