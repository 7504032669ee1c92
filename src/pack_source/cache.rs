//! The folder of fetched packs, each under its digest, where nothing is changed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::tree::{PackTree, TreeLimits};
use super::tree_digest::TreeDigest;
use crate::files::expand_home;
use crate::world::random_token;

/// The variable with the folder of the cache.
const CACHE_VARIABLE: &str = "FOLIO_CACHE";
/// How the names of unfinished folders begin.
const TEMPORARY_PREFIX: &str = ".tmp-";
/// After this time they are not finished any more.
const TEMPORARY_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The cache of fetched packs.
#[derive(Debug, Clone)]
pub struct PackCache {
    packs: PathBuf,
}

/// Why a pack cannot be taken from the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It is not there.
    #[error("not in the cache")]
    Missing,
    /// What is there has another digest.
    #[error("changed in the cache")]
    Changed,
}

impl PackCache {
    /// The folder of `FOLIO_CACHE`, else that of the system. `None` where there is no home.
    pub fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Option<PackCache> {
        let folder_of = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let from_variable =
            variable(CACHE_VARIABLE).filter(|path| !path.is_empty()).map(|path| expand_home(path.as_ref()));
        let system = || match cfg!(target_os = "macos") {
            true => Some(folder_of("HOME")?.join("Library/Caches/folio")),
            false => {
                let caches = folder_of("XDG_CACHE_HOME").or_else(|| Some(folder_of("HOME")?.join(".cache")));
                caches.map(|caches| caches.join("folio"))
            }
        };
        let folder = from_variable.or_else(system)?;
        Some(PackCache { packs: std::path::absolute(folder).ok()?.join("packs") })
    }

    /// The folder of the files with a digest, whether or not they are there.
    pub fn folder_of(&self, digest: &TreeDigest) -> PathBuf {
        self.packs.join(digest.digits())
    }

    /// The folder of the files with a digest, all of which are read for it.
    ///
    /// # Errors
    /// They are not there, or not those.
    pub fn check(&self, digest: &TreeDigest) -> Result<PathBuf, CacheError> {
        self.read(digest).map(|_| self.folder_of(digest))
    }

    /// The files with a digest.
    ///
    /// # Errors
    /// They are not there, or not those.
    pub fn read(&self, digest: &TreeDigest) -> Result<PackTree, CacheError> {
        let folder = self.folder_of(digest);
        match folder.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(CacheError::Missing),
            Ok(metadata) if metadata.is_dir() => {}
            _ => return Err(CacheError::Changed),
        }
        match read_tree(&folder) {
            Some(tree) if tree.digest() == *digest => Ok(tree),
            _ => Err(CacheError::Changed),
        }
    }

    /// Puts files under their digest, whole or not at all.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn store(&self, tree: &PackTree) -> io::Result<TreeDigest> {
        let digest = tree.digest();
        let changed = match self.check(&digest) {
            Ok(_) => return Ok(digest),
            Err(CacheError::Changed) => true,
            Err(CacheError::Missing) => false,
        };
        let temporary = self.temporary_folder()?;
        let files = temporary.join("files");
        write_tree(tree, &files)?;
        let folder = self.folder_of(&digest);
        if changed {
            fs::rename(&folder, temporary.join("changed"))?;
        }
        // Another process may have been faster.
        let renamed = fs::rename(&files, &folder);
        renamed.or_else(|error| self.check(&digest).map(|_| ()).map_err(|_| error))?;
        for_each_folder(&folder, &|path| fs::set_permissions(path, Permissions::from_mode(0o555)))?;
        // What is left of it is removed another time.
        let _ = remove_folder(&temporary);
        Ok(digest)
    }

    /// A new folder beside the packs, which only this user reads.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn temporary_folder(&self) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.packs)?;
        self.remove_abandoned();
        let token = random_token().ok_or_else(|| io::Error::other("the system has no randomness"))?;
        let folder = self.packs.join(format!("{TEMPORARY_PREFIX}{token}"));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// Removes what a process has left that was killed.
    fn remove_abandoned(&self) {
        let is_old = |path: &Path| {
            let modified = path.symlink_metadata().and_then(|metadata| metadata.modified()).ok();
            modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > TEMPORARY_MAX_AGE)
        };
        for entry in fs::read_dir(&self.packs).into_iter().flatten().flatten() {
            let is_temporary = entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY_PREFIX));
            if is_temporary && is_old(&entry.path()) {
                let _ = remove_folder(&entry.path());
            }
        }
    }
}

/// The files of a folder; `None` where anything in it is not a file or a folder, or there is too much. Their names were
/// checked before they got their digest.
fn read_tree(root: &Path) -> Option<PackTree> {
    let (mut tree, mut limits) = (PackTree::default(), TreeLimits::default());
    let mut pending = vec![String::new()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(root.join(&folder)).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                pending.push(path);
                continue;
            }
            let bytes = read_file(&entry.path(), &path, &mut limits)?;
            tree.insert(path, bytes);
        }
    }
    Some(tree)
}

/// Reads as much as the file has when it is opened, in one call. What is added later has no part in the digest, nor in what
/// is loaded. Never waits for the writer of a pipe.
fn read_file(absolute: &Path, path: &str, limits: &mut TreeLimits) -> Option<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).ok()?).open(absolute).ok()?;
    let size = file.metadata().ok().filter(Metadata::is_file)?.len();
    limits.count(path, size).ok()?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Writes files that are not to change. Programs can be started.
fn write_tree(tree: &PackTree, root: &Path) -> io::Result<()> {
    fs::create_dir(root)?;
    for (path, bytes) in tree.files() {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mode = if is_program(bytes) { 0o555 } else { 0o444 };
        OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)?;
    }
    Ok(())
}

/// Whether a file is a script or a program. The mode in the repository is not part of the digest.
fn is_program(bytes: &[u8]) -> bool {
    [b"#!".as_slice(), b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"].iter().any(|head| bytes.starts_with(head))
}

/// Removes a folder, read-only ones in it too.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    for_each_folder(folder, &|path| fs::set_permissions(path, Permissions::from_mode(0o700)))?;
    fs::remove_dir_all(folder)
}

/// Visits a folder and those in it, the outer ones first. Links are not followed.
fn for_each_folder(folder: &Path, visit: &dyn Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    visit(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            for_each_folder(&entry.path(), visit)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let find = |name: &str| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into());
        PackCache::locate(find).map(|cache| cache.packs)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn cache_is_that_of_the_variable_or_the_system() {
        let all = [("FOLIO_CACHE", "/f"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(located(&all).unwrap(), Path::new("/f/packs"));
        assert_eq!(located(&all[1..]).unwrap(), Path::new("/x/folio/packs"));
        assert_eq!(located(&all[2..]).unwrap(), Path::new("/h/.cache/folio/packs"));
        assert_eq!(located(&[("FOLIO_CACHE", ""), ("XDG_CACHE_HOME", "relative")]), None);
    }

    #[test]
    fn stored_pack_is_read_only_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackCache { packs: folder.path().join("packs") };
        let mut tree = PackTree::default();
        tree.insert("a/x.md".to_owned(), b"text".to_vec());
        tree.insert("run.sh".to_owned(), b"#!/bin/sh\n".to_vec());
        let digest = tree.digest();
        assert!(matches!(cache.check(&digest), Err(CacheError::Missing)));
        assert_eq!(cache.store(&tree).unwrap(), digest);
        let stored = cache.check(&digest).unwrap();
        let mode = |path: &str| stored.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!([mode("a/x.md"), mode("run.sh"), mode("a"), mode("")], [0o444, 0o555, 0o555, 0o555]);
        assert_eq!(fs::read_dir(&cache.packs).unwrap().count(), 1, "nothing is left beside it");
        fs::set_permissions(stored.join("a"), Permissions::from_mode(0o755)).unwrap();
        fs::write(stored.join("a/y.md"), "more").unwrap();
        assert!(matches!(cache.check(&digest), Err(CacheError::Changed)));
        cache.store(&tree).unwrap();
        assert!(cache.check(&digest).is_ok());
    }

    #[test]
    fn changed_folder_is_found_whatever_is_in_it() {
        type Change = fn(&Path);
        let changes: [Change; 4] = [
            |root| std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap(),
            |root| fs::write(root.join("x.md"), "other").unwrap(),
            |root| fs::remove_file(root.join("x.md")).unwrap(),
            |root| fs::rename(root.join("x.md"), root.join("y.md")).unwrap(),
        ];
        for change in changes {
            let folder = tempfile::tempdir().unwrap();
            let cache = PackCache { packs: folder.path().to_owned() };
            let mut tree = PackTree::default();
            tree.insert("x.md".to_owned(), b"text".to_vec());
            let digest = cache.store(&tree).unwrap();
            let root = cache.folder_of(&digest);
            fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
            fs::set_permissions(root.join("x.md"), Permissions::from_mode(0o644)).unwrap();
            change(&root);
            assert!(matches!(cache.check(&digest), Err(CacheError::Changed)));
        }
    }
}
