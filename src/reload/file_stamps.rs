//! Detects changed files by their metadata, without reading them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::watch_plan::{WatchPlan, is_ignored};
use crate::compile::LoadDependencies;

/// The stamps of files and folders at one moment.
#[derive(Debug, Clone)]
pub(super) struct FileStamps {
    taken_at: SystemTime,
    files: BTreeMap<PathBuf, FileStamp>,
    folders: BTreeMap<PathBuf, NamesFingerprint>,
}

impl PartialEq for FileStamps {
    fn eq(&self, other: &FileStamps) -> bool {
        self.files == other.files && self.folders == other.folders
    }
}

impl FileStamps {
    /// No stamps.
    pub(super) fn empty() -> FileStamps {
        FileStamps { taken_at: SystemTime::UNIX_EPOCH, files: BTreeMap::new(), folders: BTreeMap::new() }
    }

    /// Reads the stamps of these paths.
    pub(super) fn read(dependencies: &LoadDependencies) -> FileStamps {
        FileStamps::read_paths(dependencies.files.iter(), dependencies.folders.iter())
    }

    /// Reads the stamps of the same paths again.
    pub(super) fn reread(&self) -> FileStamps {
        FileStamps::read_paths(self.files.keys(), self.folders.keys())
    }

    fn read_paths<'p>(
        files: impl Iterator<Item = &'p PathBuf>,
        folders: impl Iterator<Item = &'p PathBuf>,
    ) -> FileStamps {
        FileStamps {
            files: files.map(|path| (path.clone(), FileStamp::read(path))).collect(),
            folders: folders
                .map(|path| (path.clone(), names_fingerprint(path).map_err(|error| error.kind())))
                .collect(),
            taken_at: SystemTime::now(),
        }
    }

    /// Whether a file changed so shortly before its stamp was read that another change of the same size, within the same
    /// tick of the clock of the file system, would give the same stamp.
    pub(super) fn are_ambiguous(&self) -> bool {
        self.files.values().any(|stamp| match stamp {
            FileStamp::Missing(_) => false,
            FileStamp::Present { changed, .. } => abs_difference(*changed, self.taken_at) < clock_granularity(*changed),
        })
    }

    /// Whether nothing changed since a load began. Paths with an `earlier` stamp are compared; for the others, nothing on
    /// the way to them may have changed since the load `began`.
    pub(super) fn unchanged_since(&self, earlier: &FileStamps, began: SystemTime) -> bool {
        let mut unknown = LoadDependencies::default();
        for (path, stamp) in &self.files {
            match earlier.files.get(path) {
                Some(before) if before == stamp => {}
                Some(_) => return false,
                None => _ = unknown.files.insert(path.clone()),
            }
        }
        for (path, names) in &self.folders {
            match earlier.folders.get(path) {
                Some(before) if before == names => {}
                Some(_) => return false,
                None => _ = unknown.folders.insert(path.clone()),
            }
        }
        WatchPlan::new(&unknown).path_names().all(|(folder, name)| is_older(folder, name, began))
    }
}

/// The stamp of a file, with symlinks followed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileStamp {
    Missing(io::ErrorKind),
    Present { identity: FileIdentity, size: u64, modified: Option<SystemTime>, changed: SystemTime },
}

impl FileStamp {
    fn read(path: &Path) -> FileStamp {
        match fs::metadata(path) {
            Err(error) => FileStamp::Missing(error.kind()),
            Ok(metadata) => FileStamp::Present {
                identity: FileIdentity::read(&metadata),
                size: metadata.len(),
                modified: metadata.modified().ok(),
                changed: change_time(&metadata),
            },
        }
    }
}

/// A hash of the names in a folder. Its modification time changes with every temporary file.
type NamesFingerprint = Result<u64, io::ErrorKind>;

fn names_fingerprint(path: &Path) -> io::Result<u64> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !is_ignored(&entry.file_name()) {
            let kind = entry.file_type()?;
            names.push((entry.file_name(), kind.is_dir(), kind.is_symlink()));
        }
    }
    names.sort();
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Device and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl FileIdentity {
    fn read(metadata: &Metadata) -> FileIdentity {
        use std::os::unix::fs::MetadataExt;
        FileIdentity(metadata.dev(), metadata.ino())
    }
}

/// The ctime of a file, which programs cannot set, unlike the mtime.
fn change_time(metadata: &Metadata) -> SystemTime {
    use std::os::unix::fs::MetadataExt;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
    let since = Duration::new(u64::try_from(metadata.ctime()).unwrap_or(0), nanoseconds);
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Whether a directory entry is older than the load that `began`. If it is gone, its folder counts.
fn is_older(folder: &Path, name: &OsStr, began: SystemTime) -> bool {
    fs::symlink_metadata(folder.join(name)).or_else(|_| fs::metadata(folder)).is_ok_and(|metadata| {
        let changed = change_time(&metadata);
        changed.checked_add(clock_granularity(changed)).is_some_and(|latest| latest < began)
    })
}

/// How far the clock of the file system may lag behind: the tick of the kernel, or that of file systems with whole
/// seconds (on FAT, even ones).
fn clock_granularity(time: SystemTime) -> Duration {
    let fraction = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    if fraction == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) }
}

fn abs_difference(one: SystemTime, other: SystemTime) -> Duration {
    one.duration_since(other).unwrap_or_else(|error| error.duration())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use proptest::prelude::{Strategy, prop_oneof};
    use proptest::{prop_assert, proptest};

    use super::*;

    #[derive(Debug, Clone)]
    enum FileEdit {
        Write(usize, u8),
        Remove(usize),
        Move(usize, usize),
        Folder(usize),
    }

    const NAMES: [&str; 4] = ["a", "b", "sub/a", "sub/b"];

    fn acts() -> impl Strategy<Value = Vec<FileEdit>> {
        let act = prop_oneof![
            (0..4_usize, 0..3_u8).prop_map(|(name, byte)| FileEdit::Write(name, byte)),
            (0..4_usize).prop_map(FileEdit::Remove),
            (0..4_usize, 0..4_usize).prop_map(|(from, to)| FileEdit::Move(from, to)),
            (0..4_usize).prop_map(FileEdit::Folder),
        ];
        proptest::collection::vec(act, 0..6)
    }

    fn apply_edit(root: &Path, act: &FileEdit) {
        // Whether it works does not matter: what counts is what is there afterwards.
        let _ = match act {
            FileEdit::Write(name, byte) => fs::write(root.join(NAMES[*name]), [*byte]),
            FileEdit::Remove(name) => {
                fs::remove_file(root.join(NAMES[*name])).or_else(|_| fs::remove_dir_all(root.join(NAMES[*name])))
            }
            FileEdit::Move(from, to) => fs::rename(root.join(NAMES[*from]), root.join(NAMES[*to])),
            FileEdit::Folder(name) => fs::create_dir(root.join(NAMES[*name])),
        };
    }

    fn contents(root: &Path) -> Vec<Option<Vec<u8>>> {
        NAMES.iter().map(|name| fs::read(root.join(name)).ok()).collect()
    }

    fn watch_set(root: &Path) -> LoadDependencies {
        LoadDependencies {
            workspace: None,
            files: NAMES.iter().map(|name| root.join(name)).collect(),
            folders: [root.to_path_buf(), root.join("sub")].into(),
        }
    }

    proptest! {
        #[test]
        fn changed_contents_change_the_stamps(first in acts(), then in acts()) {
            let temporary = tempfile::tempdir().unwrap();
            let root = temporary.path();
            fs::create_dir(root.join("sub")).unwrap();
            first.iter().for_each(|act| apply_edit(root, act));
            let began = SystemTime::now();
            let (stamps, before) = (FileStamps::read(&watch_set(root)), contents(root));
            then.iter().for_each(|act| apply_edit(root, act));
            let (later, after) = (FileStamps::read(&watch_set(root)), contents(root));
            if before != after {
                prop_assert!(stamps != later || stamps.are_ambiguous());
                prop_assert!(!later.unchanged_since(&FileStamps::empty(), began));
            }
        }
    }

    #[test]
    fn transient_file_leaves_names_unchanged() {
        let temporary = tempfile::tempdir().unwrap();
        let set = LoadDependencies { folders: [temporary.path().to_path_buf()].into(), ..LoadDependencies::default() };
        let stamps = FileStamps::read(&set);
        fs::write(temporary.path().join("4913"), "").unwrap();
        assert_ne!(stamps, FileStamps::read(&set));
        fs::remove_file(temporary.path().join("4913")).unwrap();
        fs::write(temporary.path().join(".hidden"), "").unwrap();
        assert_eq!(stamps, FileStamps::read(&set));
    }

    #[test]
    fn stamps_are_ambiguous_within_clock_granularity() {
        let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let fresh = |changed, taken| {
            let stamp = FileStamp::Present { identity: FileIdentity(1, 1), size: 0, modified: None, changed };
            FileStamps { taken_at: taken, files: [(PathBuf::from("/a"), stamp)].into(), folders: BTreeMap::new() }
                .are_ambiguous()
        };
        let fine = second + Duration::from_millis(1);
        assert!(fresh(fine, fine + Duration::from_millis(4)));
        assert!(!fresh(fine, fine + Duration::from_millis(50)));
        assert!(fresh(second, second + Duration::from_secs(1)));
        assert!(!fresh(second, second + Duration::from_secs(3)));
        assert!(!fresh(second + Duration::from_secs(3600), second), "a clock that runs ahead");
    }

    #[test]
    fn old_files_are_unchanged_and_new_ones_are_not() {
        let temporary = tempfile::tempdir().unwrap();
        fs::write(temporary.path().join("a"), "").unwrap();
        let set = watch_set(temporary.path());
        let stamps = FileStamps::read(&set);
        let later = SystemTime::now() + Duration::from_secs(5);
        assert!(stamps.unchanged_since(&FileStamps::empty(), later));
        assert!(!stamps.unchanged_since(&FileStamps::empty(), SystemTime::UNIX_EPOCH));
        assert!(stamps.unchanged_since(&stamps, SystemTime::UNIX_EPOCH));
    }

    #[test]
    fn removed_path_counts_as_changed() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("gone/a");
        let folder = LoadDependencies { folders: [path.clone()].into(), ..LoadDependencies::default() };
        let file = LoadDependencies { files: [path.clone()].into(), ..LoadDependencies::default() };
        let later = SystemTime::now() + Duration::from_secs(5);
        for set in [&folder, &file] {
            assert!(FileStamps::read(set).unchanged_since(&FileStamps::empty(), later));
            fs::create_dir_all(&path).unwrap();
            let began = SystemTime::now();
            fs::remove_dir_all(temporary.path().join("gone")).unwrap();
            assert!(!FileStamps::read(set).unchanged_since(&FileStamps::empty(), began));
        }
    }

    #[test]
    fn swapped_parent_folder_counts_as_changed() {
        use std::os::unix::fs::symlink;
        let swap_link: fn(&Path) = |root| {
            symlink("b", root.join("new")).unwrap();
            fs::rename(root.join("new"), root.join("link")).unwrap();
        };
        let swap_folders: fn(&Path) = |root| {
            fs::rename(root.join("a"), root.join("away")).unwrap();
            fs::rename(root.join("b"), root.join("a")).unwrap();
        };
        for swap in [swap_link, swap_folders] {
            let temporary = tempfile::tempdir().unwrap();
            let root = temporary.path();
            for name in ["a/sub", "b/sub"] {
                fs::create_dir_all(root.join(name)).unwrap();
                fs::write(root.join(name).join("file"), "").unwrap();
            }
            symlink("a", root.join("link")).unwrap();
            let set = LoadDependencies { files: [root.join("link/sub/file")].into(), ..LoadDependencies::default() };
            let mut began = SystemTime::now();
            while !FileStamps::read(&set).unchanged_since(&FileStamps::empty(), began) {
                began = SystemTime::now();
            }
            swap(root);
            assert!(!FileStamps::read(&set).unchanged_since(&FileStamps::empty(), began));
        }
    }
}
