//! Detects changed files by their metadata, without reading them.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use indexmap::IndexSet;

use super::watch_plan::{WatchPlan, is_ignored};
use crate::compile::LoadDependencies;
use crate::files::{FileStamp, change_time, clock_granularity, map_on_all_cores};

/// How many stamps one more thread must have to read to be worth its start.
const STAMPS_PER_THREAD: usize = 128;

/// The stamps of files and folders at one moment.
#[derive(Debug, Clone)]
pub(super) struct FileStamps {
    /// The paths, whose stamps stand in the same order.
    dependencies: Arc<LoadDependencies>,
    files: Vec<Result<FileStamp, io::ErrorKind>>,
    folders: Vec<NamesFingerprint>,
    began: SystemTime,
    ended: SystemTime,
}

impl FileStamps {
    /// No stamps.
    pub(super) fn empty() -> FileStamps {
        FileStamps::read(Arc::default())
    }

    /// Reads the stamps of these paths.
    pub(super) fn read(dependencies: Arc<LoadDependencies>) -> FileStamps {
        let began = SystemTime::now();
        let names = |path: &PathBuf| names_fingerprint(path).map_err(|error| error.kind());
        let paths: Vec<&PathBuf> = dependencies.files.iter().collect();
        let files = map_on_all_cores(&paths, STAMPS_PER_THREAD, |path| {
            fs::metadata(path).map(|metadata| (&metadata).into()).map_err(|error| error.kind())
        });
        let folders = dependencies.folders.iter().map(names).collect();
        FileStamps { dependencies, files, folders, began, ended: SystemTime::now() }
    }

    /// Reads the stamps of the same paths again.
    pub(super) fn reread(&self) -> FileStamps {
        FileStamps::read(self.dependencies.clone())
    }

    /// Whether these paths have other stamps than they had `earlier`.
    pub(super) fn differ_from(&self, earlier: &FileStamps) -> bool {
        self.files != earlier.files || self.folders != earlier.folders
    }

    /// Whether a file changed so shortly before its stamp was read that a later change may not show.
    pub(super) fn are_ambiguous(&self) -> bool {
        self.files.iter().flatten().any(|stamp| stamp.is_ambiguous_between(self.began, self.ended))
    }

    /// Whether nothing changed since a load began. Paths with an `earlier` stamp are compared; for the others, nothing on
    /// the way to them may have changed since the load `began`.
    pub(super) fn unchanged_since(&self, earlier: &FileStamps, began: SystemTime) -> bool {
        if Arc::ptr_eq(&self.dependencies, &earlier.dependencies) {
            return !self.differ_from(earlier);
        }
        let (now, before) = (&self.dependencies, &earlier.dependencies);
        let files = PathStamps { paths: &now.files, stamps: &self.files }
            .paths_not_in(&PathStamps { paths: &before.files, stamps: &earlier.files });
        let folders = PathStamps { paths: &now.folders, stamps: &self.folders }
            .paths_not_in(&PathStamps { paths: &before.folders, stamps: &earlier.folders });
        let (Some(files), Some(folders)) = (files, folders) else { return false };
        let unknown = LoadDependencies { files, folders, workspace: None };
        WatchPlan::new(&unknown).path_names().all(|(folder, name)| is_older(folder, name, began))
    }
}

/// Paths, and their stamps in the same order.
struct PathStamps<'a, S> {
    paths: &'a IndexSet<PathBuf>,
    stamps: &'a [S],
}

impl<S: PartialEq> PathStamps<'_, S> {
    /// The paths that have no stamp in `earlier`; `None` if one has another there.
    fn paths_not_in(&self, earlier: &PathStamps<'_, S>) -> Option<IndexSet<PathBuf>> {
        let mut unknown = IndexSet::new();
        for (path, stamp) in self.paths.iter().zip(self.stamps) {
            match earlier.paths.get_index_of(path).and_then(|at| earlier.stamps.get(at)) {
                Some(before) if before == stamp => {}
                Some(_) => return None,
                None => _ = unknown.insert(path.clone()),
            }
        }
        Some(unknown)
    }
}

/// A hash of the names in a folder, in whatever order. Its modification time changes with every temporary file.
type NamesFingerprint = Result<u64, io::ErrorKind>;

fn names_fingerprint(path: &Path) -> io::Result<u64> {
    let mut sum: u64 = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if !is_ignored(&name) {
            let kind = entry.file_type()?;
            let mut hasher = DefaultHasher::new();
            (name, kind.is_dir(), kind.is_symlink()).hash(&mut hasher);
            sum = sum.wrapping_add(hasher.finish());
        }
    }
    Ok(sum)
}

/// Whether a directory entry is older than the load that `began`. If it is gone, its folder counts.
fn is_older(folder: &Path, name: &OsStr, began: SystemTime) -> bool {
    fs::symlink_metadata(folder.join(name)).or_else(|_| fs::metadata(folder)).is_ok_and(|metadata| {
        let changed = change_time(&metadata);
        changed.checked_add(clock_granularity(changed)).is_some_and(|latest| latest < began)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
            let (stamps, before) = (FileStamps::read(watch_set(root).into()), contents(root));
            then.iter().for_each(|act| apply_edit(root, act));
            let (later, after) = (FileStamps::read(watch_set(root).into()), contents(root));
            if before != after {
                prop_assert!(later.differ_from(&stamps) || stamps.are_ambiguous());
                prop_assert!(!later.unchanged_since(&FileStamps::empty(), began));
            }
        }
    }

    #[test]
    fn transient_file_leaves_names_unchanged() {
        let temporary = tempfile::tempdir().unwrap();
        let set = LoadDependencies { folders: [temporary.path().to_path_buf()].into(), ..LoadDependencies::default() };
        let stamps = FileStamps::read(set.into());
        fs::write(temporary.path().join("4913"), "").unwrap();
        assert!(stamps.reread().differ_from(&stamps));
        fs::remove_file(temporary.path().join("4913")).unwrap();
        fs::write(temporary.path().join(".hidden"), "").unwrap();
        assert!(!stamps.reread().differ_from(&stamps));
    }

    #[test]
    fn old_files_are_unchanged_and_new_ones_are_not() {
        let temporary = tempfile::tempdir().unwrap();
        fs::write(temporary.path().join("a"), "").unwrap();
        let set = watch_set(temporary.path());
        let stamps = FileStamps::read(set.into());
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
        for set in [folder, file].map(Arc::new) {
            assert!(FileStamps::read(set.clone()).unchanged_since(&FileStamps::empty(), later));
            fs::create_dir_all(&path).unwrap();
            let began = SystemTime::now();
            fs::remove_dir_all(temporary.path().join("gone")).unwrap();
            assert!(!FileStamps::read(set.clone()).unchanged_since(&FileStamps::empty(), began));
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
            let set = Arc::new(set);
            let mut began = SystemTime::now();
            while !FileStamps::read(set.clone()).unchanged_since(&FileStamps::empty(), began) {
                began = SystemTime::now();
            }
            swap(root);
            assert!(!FileStamps::read(set.clone()).unchanged_since(&FileStamps::empty(), began));
        }
    }
}
