//! A manifest with packs from elsewhere, with its lock and the cache.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};

use crate::catalog::build;
use crate::cli::process::{build_runtime, new_world};
use crate::cli::text_file::{check_replaceable, create_text, remove_text, replace_text};
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::{Code, Report, Severity, count_noun, nearest, one_line, quote_names};
use crate::load::{EnvSource, LoadedPacks, LockablePack, ManifestLocation, NEW_MANIFEST_NAME, load_buffers};
use crate::pack_source::{
    ArchiveDownloads, ArchivePackError, ArchiveSource, GitAccess, GitSource, LOCK_NAME, LockedPack, PackCache,
    PackHosts, PackLock, PackSource, PackTree, RepositoryListing, UnpackedArchive, archive_sha256, fetch_pack,
    list_repository, remote_commit, suspicious_files, unpack_archive,
};
use crate::world::{ProxyVariables, RealWorld};

/// How many names a message shows.
const MAX_SHOWN: usize = 10;

/// A manifest, its lock, and the cache.
pub(crate) struct PackProject<'o> {
    pub(crate) location: ManifestLocation,
    /// The lock as it is on disk.
    pub(crate) lock: PackLock,
    /// Its text without a byte order mark, if there is one.
    lock_text: Option<String>,
    pub(crate) cache: PackCache,
    world: RealWorld,
    runtime: tokio::runtime::Runtime,
    downloads: ArchiveDownloads,
    pub(crate) output: &'o Output,
}

/// Which packs are resolved to the current commit of their revision.
pub(crate) enum PacksToResolve<'k> {
    /// None: each is in the lock.
    Nothing,
    /// Those that are not in the lock.
    New,
    /// Those too, and the one with a key, and those in it; all without a key.
    Updated(Option<&'k str>),
}

impl PacksToResolve<'_> {
    fn includes(&self, key: &str) -> bool {
        match self {
            PacksToResolve::Nothing | PacksToResolve::New => false,
            PacksToResolve::Updated(None) => true,
            PacksToResolve::Updated(Some(chosen)) => is_within(key, chosen),
        }
    }
}

/// Whether a key is another, or that of a pack in it.
pub(crate) fn is_within(key: &str, outer: &str) -> bool {
    key.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<'o> PackProject<'o> {
    /// Opens the manifest at a path, with its lock.
    ///
    /// # Errors
    /// It cannot be read, or the lock is invalid.
    pub(crate) fn open(path: &Path, output: &'o Output) -> anyhow::Result<PackProject<'o>> {
        PackProject::at(ManifestLocation::resolve(path)?, output)
    }

    /// The same, for what needs no manifest.
    ///
    /// # Errors
    /// The folder does not exist, or the lock is invalid.
    pub(crate) fn open_for_listing(path: &Path, output: &'o Output) -> anyhow::Result<PackProject<'o>> {
        let location = ManifestLocation::resolve(path);
        let location = location.or_else(|_| ManifestLocation::from_file(&path.join(NEW_MANIFEST_NAME)));
        PackProject::at(location?, output)
    }

    fn at(location: ManifestLocation, output: &'o Output) -> anyhow::Result<PackProject<'o>> {
        let (lock, lock_text) = read_lock(&location.path().join(LOCK_NAME), output)?;
        let cache = PackCache::locate(|name| std::env::var_os(name));
        let cache = cache.context("no folder for the cache of packs\nhelp: set FOLIO_CACHE to a folder")?;
        let proxies = ProxyVariables::read(|name| std::env::var(name).ok());
        let (world, runtime, downloads) = (new_world(), build_runtime()?, ArchiveDownloads::new(proxies));
        Ok(PackProject { location, lock, lock_text, cache, world, runtime, downloads, output })
    }

    /// Loads the manifest with a lock, and with texts instead of files.
    pub(crate) fn load(&self, lock: &PackLock, mut buffers: FileBuffers) -> LoadedPacks {
        if let Ok(folder) = fs::canonicalize(self.location.path()) {
            buffers.insert(folder.join(LOCK_NAME), lock.to_yaml().into_bytes());
        }
        load_buffers(&self.location, &EnvSource::Process, &buffers)
    }

    /// The packs that the manifest has from elsewhere, as far as a lock and the cache have those around them.
    ///
    /// # Errors
    /// The manifest cannot be read.
    pub(crate) fn lockable_packs(&self, lock: &PackLock, buffers: &FileBuffers) -> anyhow::Result<Vec<LockablePack>> {
        let loaded = self.load(lock, buffers.clone());
        let Some(served) = loaded.packs.first() else {
            self.output.eprint_report(&loaded.load_context.report);
            bail!("cannot read the manifest");
        };
        // Such a pack is hidden, and what it is granted must not be lost for that.
        let is_hidden = loaded.load_context.has_invalid_source;
        if is_hidden || is_unreadable(&loaded.load_context.report, served.at.file()) {
            self.output.eprint_report(&loaded.load_context.report);
            bail!("the manifest has errors");
        }
        Ok(loaded.lockable_packs)
    }

    /// The lock with all packs of the manifest, each of which is in the cache then.
    ///
    /// # Errors
    /// One cannot be fetched, or is not what the lock says.
    pub(crate) fn resolve_lock(
        &self,
        to_resolve: &PacksToResolve<'_>,
        buffers: &FileBuffers,
    ) -> anyhow::Result<PackLock> {
        let (mut lock, mut done) = (self.lock.clone(), BTreeSet::new());
        loop {
            let lockable_packs = self.lockable_packs(&lock, buffers)?;
            let due: Vec<&LockablePack> =
                lockable_packs.iter().filter(|lockable| !done.contains(&lockable.key)).collect();
            if due.is_empty() {
                lock.packs.retain(|key, _| lockable_packs.iter().any(|lockable| lockable.key == *key));
                return Ok(lock);
            }
            for lockable in due {
                let pack = self.resolve(lockable, lock.packs.get(&lockable.key), to_resolve);
                let pack = pack.with_context(|| format!("pack `{}`", lockable.key))?;
                lock.packs.insert(lockable.key.clone(), pack);
                done.insert(lockable.key.clone());
            }
        }
    }

    /// What the lock says of a pack, which is in the cache then.
    fn resolve(
        &self,
        lockable: &LockablePack,
        locked: Option<&LockedPack>,
        to_resolve: &PacksToResolve<'_>,
    ) -> anyhow::Result<LockedPack> {
        let same = locked.filter(|locked| locked.source == lockable.source);
        let Some(same) = same else {
            let why = if locked.is_none() {
                format!("it is not in {LOCK_NAME}")
            } else {
                format!("{LOCK_NAME} has another source for it")
            };
            ensure!(!matches!(to_resolve, PacksToResolve::Nothing), "{why}\nhelp: run `folio lock`");
            // Another release of an archive: what it was granted counts for the same files alone.
            let trust = locked.filter(|locked| locked.source.is_same_apart_from_sha256(&lockable.source));
            let trust = trust.and_then(|locked| locked.trust.clone());
            return Ok(LockedPack { trust, ..self.fetch(lockable, None)? });
        };
        // The revision of an archive is in the manifest.
        let has_moved = match &same.source {
            PackSource::Git(source) if to_resolve.includes(&lockable.key) => {
                self.remote_commit(source, lockable.hosts)? != same.commit
            }
            _ => false,
        };
        if has_moved {
            let fetched = self.fetch(lockable, None)?;
            return Ok(LockedPack { trust: same.trust.clone(), ..fetched });
        }
        if self.cache.check(&same.digest).is_ok() {
            return Ok(same.clone());
        }
        let fetched = self.fetch(lockable, same.commit.as_deref())?;
        ensure!(
            fetched.digest == same.digest,
            "{} has other files than {LOCK_NAME} says: {} and not {}",
            same.version(),
            fetched.digest,
            same.digest
        );
        Ok(same.clone())
    }

    /// The commit of a revision now; `None` where it is gone.
    pub(super) fn remote_commit(&self, source: &GitSource, hosts: PackHosts) -> anyhow::Result<Option<String>> {
        Ok(self.runtime.block_on(remote_commit(self.git(hosts), source))?)
    }

    fn git(&self, hosts: PackHosts) -> GitAccess<'_> {
        GitAccess { world: &self.world, cache: &self.cache, proxies: self.downloads.proxies(), hosts }
    }

    /// The SHA-256 of what is under a URL now; `None` where nothing is.
    pub(crate) fn remote_sha256(&self, url: &str, hosts: PackHosts) -> anyhow::Result<Option<String>> {
        match self.runtime.block_on(self.downloads.get(url, hosts, &self.world)) {
            Ok(bytes) => Ok(Some(archive_sha256(&bytes))),
            Err(ArchivePackError::Status(404 | 410)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes of an archive that the command line names.
    pub(crate) fn download(&self, url: &str) -> anyhow::Result<Arc<Vec<u8>>> {
        self.output.eprint(&format!("looking into {}\n", one_line(url)));
        Ok(self.runtime.block_on(self.downloads.get(url, PackHosts::Any, &self.world))?)
    }

    /// The paths of all files of a repository, and the text of the first of `files` that is there.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(crate) fn list_repository(&self, source: &GitSource, files: &[&str]) -> anyhow::Result<RepositoryListing> {
        self.output.eprint(&format!("looking into {}\n", one_line(&source.url)));
        Ok(self.runtime.block_on(list_repository(self.git(PackHosts::Any), source, files))?)
    }

    /// Fetches a pack into the cache, and warns of what is suspicious in it.
    fn fetch(&self, lockable: &LockablePack, commit: Option<&str>) -> anyhow::Result<LockedPack> {
        let (key, url) = (one_line(&lockable.key), one_line(lockable.source.url()));
        self.output.eprint(&format!("fetching `{key}` from {url}\n"));
        let fetched = match &lockable.source {
            PackSource::Git(source) => {
                let fetched = self.runtime.block_on(fetch_pack(self.git(lockable.hosts), source, commit))?;
                let skipped_noun = "links and submodules";
                FetchedFiles {
                    commit: Some(fetched.commit),
                    tree: fetched.tree,
                    skipped: fetched.skipped,
                    skipped_noun,
                    unserved: fetched.unserved,
                }
            }
            PackSource::Archive(source) => self.fetch_archive(lockable, source)?,
        };
        self.warn_of_fetched_files(&lockable.key, &fetched);
        let digest = self.cache.store(&fetched.tree).context("cannot write the cache")?;
        let FetchedFiles { commit, tree, .. } = fetched;
        Ok(LockedPack { source: lockable.source.clone(), commit, digest, files: tree.len() as u64, trust: None })
    }

    /// Downloads an archive, which must be that of the manifest, and unpacks it.
    fn fetch_archive(&self, lockable: &LockablePack, source: &ArchiveSource) -> anyhow::Result<FetchedFiles> {
        let bytes = self.runtime.block_on(self.downloads.get(&source.url, lockable.hosts, &self.world))?;
        let sha256 = archive_sha256(&bytes);
        ensure!(
            sha256 == source.sha256,
            "the archive has sha256 {sha256} and not {}\nhelp: if you expect the change, run `folio update {}`",
            source.sha256,
            lockable.key
        );
        let unpacked = unpack_archive(&bytes, source.path.as_deref())?;
        let UnpackedArchive { tree, skipped, unserved } = unpacked;
        Ok(FetchedFiles { commit: None, tree, skipped, skipped_noun: "links", unserved })
    }

    fn warn_of_fetched_files(&self, key: &str, fetched: &FetchedFiles) {
        if !fetched.skipped.is_empty() {
            let names: Vec<_> = fetched.skipped.iter().take(MAX_SHOWN).map(|path| one_line(path)).collect();
            let more = if fetched.skipped.len() > MAX_SHOWN { ", …" } else { "" };
            let names = names.join("`, `");
            let noun = fetched.skipped_noun;
            self.output.eprint(&format!("warning: pack `{key}`: left out {noun}: `{names}`{more}\n"));
        }
        if fetched.unserved > 0 {
            let (kept, left_out) = (count_noun(fetched.tree.len(), "file"), count_noun(fetched.unserved, "file"));
            self.output.eprint(&format!(
                "note: pack `{key}` is larger than a pack may be: it has {kept} that may be prompts or belong to skills, and {left_out} left out\n"
            ));
        }
        let suspicious = suspicious_files(&fetched.tree);
        for line in suspicious.iter().take(MAX_SHOWN) {
            self.output.eprint(&format!("warning: pack `{key}`: {}\n", one_line(line)));
        }
        if let Some(more) = suspicious.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            self.output.eprint(&format!("warning: pack `{key}`: {more} more such files\n"));
        }
    }

    /// The report of the manifest with another lock and other texts, where it has errors that it had not.
    pub(crate) fn new_errors(&self, before: &PackLock, after: &PackLock, texts: &FileBuffers) -> Option<Report> {
        let report = |lock: &PackLock, texts: FileBuffers| build(self.load(lock, texts)).report;
        let after = report(after, texts.clone());
        let is_worse = after.first_new(&report(before, FileBuffers::default()), Severity::Error).is_some();
        is_worse.then_some(after)
    }

    /// Writes the lock, if it is another one; a lock without packs is removed.
    ///
    /// # Errors
    /// The file has changed since it was read, or cannot be written.
    pub(crate) fn write_lock(&self, lock: &PackLock) -> anyhow::Result<bool> {
        let path = self.lock_path();
        let is_new = *lock != self.lock || (!lock.packs.is_empty() && !path.exists());
        if is_new {
            let outcome = match &self.lock_text {
                Some(before) if lock.packs.is_empty() && !path.is_symlink() => remove_text(&path, before),
                Some(before) => replace_text(&path, before, &lock.to_yaml()),
                None => create_text(&path, &lock.to_yaml()),
            };
            outcome.with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(is_new)
    }

    /// Whether the lock could be written, if it is another one.
    ///
    /// # Errors
    /// It could not.
    pub(crate) fn check_lock_writable(&self, lock: &PackLock) -> anyhow::Result<()> {
        let path = self.lock_path();
        if *lock != self.lock && self.lock_text.is_some() {
            check_replaceable(&path).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(())
    }

    fn lock_path(&self) -> PathBuf {
        self.location.path().join(LOCK_NAME)
    }
}

/// The help for a key that no pack has: the nearest, else all of them, else `otherwise`.
pub(crate) fn unknown_key_help(key: &str, keys: &[&str], otherwise: &str) -> String {
    if let Some(near) = nearest(key, keys.iter().copied()) {
        return format!("did you mean `{}`?", one_line(near));
    }
    let listed: Vec<_> = keys.iter().take(MAX_SHOWN).map(|key| one_line(key)).collect();
    let more = if keys.len() > MAX_SHOWN { ", …" } else { "" };
    if listed.is_empty() { otherwise.to_owned() } else { format!("expected one of {}{more}", quote_names(&listed)) }
}

/// The files of a pack, as fetched.
struct FetchedFiles {
    commit: Option<String>,
    tree: PackTree,
    /// What is left out, and what that is.
    skipped: Vec<String>,
    skipped_noun: &'static str,
    /// How many files are left out because no format serves them.
    unserved: usize,
}

/// Says why packs are not what they should be.
pub(crate) fn print_failure(error: &anyhow::Error, output: &Output) -> Exit {
    output.eprint_error(error);
    Exit::Failure
}

/// Whether the served manifest has errors of its own, so that packs in it may be hidden.
fn is_unreadable(report: &Report, manifest: crate::diagnostic::FileId) -> bool {
    let hides =
        |code| matches!(code, Code::Syntax | Code::WrongType | Code::UnknownKey | Code::Duplicate | Code::Version);
    report.diagnostics().iter().any(|diagnostic| {
        let is_of_manifest = diagnostic.span.is_some_and(|span| span.file == manifest);
        diagnostic.severity == Severity::Error && is_of_manifest && hides(diagnostic.code)
    })
}

/// How large a lock may be.
const MAX_LOCK_BYTES: u64 = 16 << 20;

/// The lock with its text.
fn read_lock(path: &Path, output: &Output) -> anyhow::Result<(PackLock, Option<String>)> {
    // A clone may have a link or a pipe instead.
    let is_file = fs::symlink_metadata(path).map(|file| file.is_file() && file.len() <= MAX_LOCK_BYTES);
    ensure!(is_file.unwrap_or(true), "cannot read `{}`: not a regular file of at most 16 MiB", path.display());
    let text = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((PackLock::default(), None)),
        read => read.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    let mut report = Report::default();
    let file = crate::yaml::decode(&text, LOCK_NAME, &mut report);
    match file.and_then(|file| PackLock::parse(file, &mut report)) {
        Some(lock) => {
            let bare = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
            Ok((lock, Some(String::from_utf8_lossy(bare).into_owned())))
        }
        None => {
            output.eprint_report(&report);
            bail!("invalid {LOCK_NAME}");
        }
    }
}
