//! Opens packs that come from elsewhere: as `folio.lock` has them, and from the cache alone.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};

use crate::compile::{LoadContext, LockedGrants};
use crate::diagnostic::{Code, Span};
use crate::files::{FileError, Folder};
use crate::manifest::{Allow, Grant, PackRef};
use crate::pack_source::{
    ArchiveSource, CacheError, GitSource, LOCK_NAME, LockMismatch, LockedPack, PackCache, PackHosts, PackLock,
    PackSource, SourceError, check_archive_folder, check_archive_url, check_folder, check_revision, check_sha256,
    check_url,
};
use crate::yaml::{Documents, Location, Spanned};

/// How many digits of a commit, or of the SHA-256 of an archive, messages show.
const SHORT_COMMIT_CHARS: usize = 8;

/// A pack that comes from elsewhere, as its importer has it.
#[derive(Debug, Clone)]
pub struct LockablePack {
    /// Its key in the lock.
    pub key: String,
    /// Where it comes from.
    pub source: PackSource,
    /// Which hosts it may come from: public ones, if only another pack from elsewhere names its host.
    pub hosts: PackHosts,
    /// The place of `sha256`, if the served manifest has it.
    pub sha256_at: Option<Span>,
    /// What it is allowed, if it is granted that.
    pub allow: BTreeSet<Grant>,
    /// The settings of its import that decide what it does with its grants: an object of YAML values, or null.
    pub settings: Value,
    /// Whether it can be loaded.
    pub state: PackState,
}

/// Whether a pack from elsewhere can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackState {
    /// The lock does not have it, or has it from elsewhere.
    Unlocked,
    /// It is not in the cache.
    Missing,
    /// What is in the cache has another digest.
    Changed,
    /// It is what the lock says.
    Cached,
}

/// The packs of the lock beside the served manifest.
pub(super) struct LockedPackOpener<'a> {
    folder: &'a Folder,
    /// The folder in messages.
    display_path: &'a str,
    /// Read when the first pack needs it; `None` inside if it is not valid.
    lock: OnceCell<Option<PackLock>>,
    lockable_packs: RefCell<Vec<LockablePack>>,
}

pub(super) struct OpenedPack {
    /// The reference, with what is granted alone.
    pub(super) reference: Spanned<PackRef>,
    /// The path as written, or what is shown for it.
    pub(super) path: Spanned<String>,
    pub(super) folder: Folder,
    /// The prefix of its paths in messages.
    pub(super) display_path: String,
    /// What it may do, if it comes from elsewhere.
    pub(super) grants: Option<LockedGrants>,
}

/// A reference to a pack that comes from elsewhere.
pub(super) struct LockedReference<'r> {
    pub(super) name: &'r Spanned<String>,
    pub(super) reference: &'r Spanned<PackRef>,
    pub(super) url: &'r Spanned<String>,
    /// The key of its importer, if that comes from elsewhere or is imported itself.
    pub(super) outer_key: &'r str,
    /// Whether the importer comes from elsewhere itself.
    pub(super) is_foreign: bool,
    /// What packs chose of the variables that are passed to it.
    pub(super) values_for_review: &'r BTreeMap<String, String>,
}

impl LockedReference<'_> {
    /// Its key in the lock.
    fn key(&self) -> String {
        join_keys(self.outer_key, self.name)
    }

    /// The settings that decide what it does with its grants. What the one who serves chooses for its variables is not one
    /// of them.
    fn settings(&self, documents: &Documents) -> Value {
        let at = |key: &str| documents.json_as_spelled(documents.value_at(self.reference.location, &format!("/{key}")));
        let has_limits = matches!(self.reference.allow, Some(Allow::Limited(_)));
        let written = [
            ("format", self.reference.format.is_some()),
            ("workspace", self.reference.workspace.is_some()),
            ("allow", has_limits),
        ];
        let keys = written.into_iter().filter(|(_, is_written)| *is_written);
        let mut settings: Map<String, Value> = keys.map(|(key, _)| (key.to_owned(), at(key))).collect();
        if self.is_foreign && !self.values_for_review.is_empty() {
            let texts = self.values_for_review.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
            settings.insert("env".to_owned(), texts.collect());
        }
        if settings.is_empty() { Value::Null } else { Value::Object(settings) }
    }

    /// Where it comes from; reports what is wrong with that.
    fn source(&self, load_context: &mut LoadContext) -> Option<PackSource> {
        if self.is_foreign && !self.url.starts_with("https://") {
            let message = "a pack of another repository has its own packs over `https://` only";
            load_context.error(Code::Unsafe, self.url.location, message);
            return None;
        }
        match self.reference.git {
            Some(_) => self.repository(load_context).map(PackSource::Git),
            None => self.archive(load_context).map(PackSource::Archive),
        }
    }

    fn repository(&self, load_context: &mut LoadContext) -> Option<GitSource> {
        let PackRef { rev, path, .. } = &self.reference.value;
        let mut report = |at: Location, error: SourceError| report_source(at, &error, load_context);
        check_url(self.url).map_err(|error| report(self.url.location, error)).ok()?;
        let valid_rev = rev.as_ref().map(|rev| check_revision(rev).map_err(|error| report(rev.location, error)));
        let valid_path = path.as_ref().map(|path| check_folder(path).map_err(|error| report(path.location, error)));
        valid_rev.transpose().ok()?;
        valid_path.transpose().ok()?;
        GitSource::new(self.url, rev.as_ref().map(|rev| rev.as_str()), path.as_ref().map(|path| path.as_str())).ok()
    }

    fn archive(&self, load_context: &mut LoadContext) -> Option<ArchiveSource> {
        let PackRef { sha256, path, .. } = &self.reference.value;
        let Some(sha256) = sha256 else {
            let message = format!("missing key `sha256` in the pack `{}`", self.name.value);
            let help = "write what `sha256sum` prints for the archive; `folio add URL` writes it too";
            load_context.error(Code::MissingKey, self.reference.location, message).help(help);
            return None;
        };
        let mut report = |at: Location, error: SourceError| report_source(at, &error, load_context);
        check_archive_url(self.url).map_err(|error| report(self.url.location, error)).ok()?;
        check_sha256(sha256).map_err(|error| report(sha256.location, error)).ok()?;
        let folder = path.as_ref().map(|path| check_archive_folder(path).map_err(|error| report(path.location, error)));
        folder.transpose().ok()?;
        ArchiveSource::new(self.url, sha256, path.as_ref().map(|path| path.as_str())).ok()
    }
}

fn report_source(at: Location, error: &SourceError, load_context: &mut LoadContext) {
    let diagnostic = load_context.error(Code::BadValue, at, error.to_string());
    if let Some(help) = error.help() {
        diagnostic.help(help);
    }
}

/// The key of a pack in a pack.
pub(super) fn join_keys(outer: &str, inner: &str) -> String {
    if outer.is_empty() { inner.to_owned() } else { format!("{outer}/{inner}") }
}

impl<'a> LockedPackOpener<'a> {
    pub(super) fn new(folder: &'a Folder, display_path: &'a str) -> LockedPackOpener<'a> {
        LockedPackOpener { folder, display_path, lock: OnceCell::new(), lockable_packs: RefCell::default() }
    }

    /// The packs that were asked for.
    pub(super) fn into_lockable_packs(self) -> Vec<LockablePack> {
        let mut packs = self.lockable_packs.into_inner();
        let (own, mut others): (Vec<_>, Vec<_>) =
            packs.iter_mut().partition(|pack: &&mut LockablePack| pack.hosts == PackHosts::Any);
        for pack in &mut others {
            if own.iter().any(|own| own.source.is_at_host_of(&pack.source)) {
                pack.hosts = PackHosts::Any;
            }
        }
        packs
    }

    /// Opens a pack in the cache; reports one that is not locked or not there.
    pub(super) fn open(&self, written: &LockedReference<'_>, load_context: &mut LoadContext) -> Option<OpenedPack> {
        let Some(source) = written.source(load_context) else {
            load_context.has_invalid_source |= !written.is_foreign;
            return None;
        };
        let (key, at) = (written.key(), written.url.location);
        let allow: BTreeSet<Grant> = written.reference.allow.iter().flat_map(Allow::grants).collect();
        let settings = written.settings(&load_context.documents);
        let sha256 = written.reference.sha256.as_ref();
        let used = |state: PackState| {
            self.lockable_packs.borrow_mut().push(LockablePack {
                key: key.clone(),
                source: source.clone(),
                hosts: if written.is_foreign { PackHosts::Public } else { PackHosts::Any },
                sha256_at: sha256.filter(|_| written.outer_key.is_empty()).map(|sha256| sha256.location.span()),
                allow: allow.clone(),
                settings: settings.clone(),
                state,
            });
        };
        let Some(locked) = self.locked(&key, &source, at, load_context) else {
            used(PackState::Unlocked);
            return None;
        };
        let folder = open_cached(&key, locked, at, load_context);
        used(*folder.as_ref().map_or_else(|state| state, |_| &PackState::Cached));
        let folder = folder.ok()?;
        let granted = locked.grants(&settings);
        let withheld: BTreeSet<&str> = allow.difference(&granted).map(|grant| grant.as_str()).collect();
        warn_of_withheld(&key, locked, &withheld, &settings, written.reference, load_context);
        let mut reference = written.reference.clone();
        reference.value.allow = reference.allow.as_ref().map(|allow| allow.restricted_to(&granted));
        let path = written.reference.path.clone().unwrap_or_else(|| written.url.clone());
        let short = locked.revision().get(..SHORT_COMMIT_CHARS).unwrap_or_default();
        let display_path = format!("{key}@{short}/");
        Some(OpenedPack {
            reference,
            path,
            folder,
            display_path,
            grants: Some(LockedGrants { key, withheld: withheld.into_iter().map(str::to_owned).collect() }),
        })
    }
}

impl LockedPackOpener<'_> {
    /// What the lock says of a pack; reports one that it does not have.
    fn locked(
        &self,
        key: &str,
        source: &PackSource,
        at: Location,
        load_context: &mut LoadContext,
    ) -> Option<&LockedPack> {
        let lock = self.lock.get_or_init(|| read_lock(self.folder, self.display_path, load_context)).as_ref()?;
        let mismatch = match lock.pack_from(source, key) {
            Ok(locked) => return Some(locked),
            Err(mismatch) => mismatch,
        };
        let is_missing = matches!(mismatch, LockMismatch::Missing { .. });
        let help = if is_missing { "`folio lock` adds it" } else { "`folio lock` replaces it" };
        load_context.error(Code::NotFound, at, mismatch.to_string()).help(help);
        None
    }
}

/// Reads the lock; no file is an empty one. `None` if it is not valid.
fn read_lock(folder: &Folder, display_path: &str, load_context: &mut LoadContext) -> Option<PackLock> {
    load_context.dependencies.files.insert(folder.path().join(LOCK_NAME));
    let display_path = format!("{display_path}{LOCK_NAME}");
    match load_context.read(folder, Path::new(LOCK_NAME)) {
        Ok(bytes) => {
            let file = load_context.decode(&bytes, &display_path)?;
            PackLock::parse(file, &mut load_context.report)
        }
        Err(FileError::NotFound(_)) => Some(PackLock::default()),
        Err(error) => {
            load_context.error(Code::Unreadable, None::<Span>, format!("{display_path}: {error}"));
            None
        }
    }
}

/// Opens the folder of a pack in the cache, and takes its texts from what was checked.
fn open_cached(
    key: &str,
    locked: &LockedPack,
    at: Location,
    load_context: &mut LoadContext,
) -> Result<Folder, PackState> {
    let Some(cache) = PackCache::locate(|name| std::env::var_os(name)) else {
        load_context.error(Code::NotFound, at, "no folder for the cache of packs").help("set FOLIO_CACHE to a folder");
        return Err(PackState::Missing);
    };
    let path = cache.folder_of(&locked.digest);
    load_context.dependencies.files.insert(path.clone());
    let opened =
        cache.read(&locked.digest).and_then(|tree| Ok((tree, Folder::open(&path).map_err(|_| CacheError::Changed)?)));
    let (code, message, state) = match opened {
        Ok((tree, folder)) => {
            for (file, bytes) in tree.into_files() {
                load_context.buffers.insert(folder.path().join(file), bytes);
            }
            return Ok(folder);
        }
        Err(CacheError::Missing) => (Code::NotFound, format!("pack `{key}` is not fetched"), PackState::Missing),
        Err(CacheError::Changed) => {
            let mismatch = LockMismatch::ChangedInCache { key: key.to_owned() };
            (Code::Unsafe, mismatch.to_string(), PackState::Changed)
        }
    };
    load_context.error(code, at.span(), message).help("`folio fetch` fetches it");
    Err(state)
}

/// Warns of a pack that is allowed more than it is granted as it is.
fn warn_of_withheld(
    key: &str,
    locked: &LockedPack,
    withheld: &BTreeSet<&str>,
    settings: &Value,
    reference: &Spanned<PackRef>,
    load_context: &mut LoadContext,
) {
    if withheld.is_empty() {
        return;
    }
    let names = withheld.iter().copied().collect::<Vec<_>>().join("`, `");
    let why = match &locked.trust {
        None => "is not trusted",
        Some(granted) if granted.digest != locked.digest => "changed since it was trusted",
        Some(granted) if granted.settings != *settings => "has other settings than when it was trusted",
        Some(_) => "is not trusted with all of its grants",
    };
    let at = load_context.documents.key_at(reference.location, "/allow");
    load_context
        .warning(Code::NotGranted, at, format!("pack `{key}` {why}: `{names}` not granted"))
        .help(format!("`folio trust {key}` shows what it would do, and asks"));
}
