//! Computes the folders to watch for a set of paths, and the names in them that matter.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind};

use crate::compile::LoadDependencies;

/// How many symlinks are followed: as many as on Linux.
const MAX_SYMLINKS: usize = 40;

/// The folders to watch, without symlinks, and the names that matter in each. Files are watched through their folders:
/// a watch on a file would end with the first editor that saves by renaming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WatchPlan {
    folders: BTreeMap<PathBuf, FolderWatch>,
}

/// The names that matter in one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FolderWatch {
    names: BTreeSet<OsString>,
    all_names: bool,
    required: bool,
}

impl WatchPlan {
    /// Resolves every path from the root, through its symlinks, as far as it exists.
    pub(super) fn new(dependencies: &LoadDependencies) -> WatchPlan {
        let mut survey = PlanBuilder::default();
        for file in &dependencies.files {
            survey.add_file(file);
        }
        for folder in &dependencies.folders {
            survey.add_folder(folder);
        }
        survey.plan
    }

    /// The folders to watch, required ones first. The others are ancestors, which report a move or a replacement far above;
    /// they are only watched on Linux, as other systems watch whole trees.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&Path, bool)> {
        let needed = |wanted: bool| self.folders.iter().filter(move |(_, place)| place.required == wanted);
        let on_the_way = needed(false).filter(|_| cfg!(target_os = "linux"));
        needed(true).chain(on_the_way).map(|(path, place)| (path.as_path(), place.required))
    }

    /// Every name on the way to the watched paths, with symlinks and their targets.
    pub(super) fn path_names(&self) -> impl Iterator<Item = (&Path, &OsStr)> {
        self.folders
            .iter()
            .flat_map(|(path, place)| place.names.iter().map(move |name| (path.as_path(), name.as_os_str())))
    }

    /// Whether the event may have changed a watched path.
    pub(super) fn is_relevant(&self, event: &Event) -> bool {
        let content_only = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
            EventKind::Access(_) => return false,
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => true,
            _ => false,
        };
        event.paths.iter().any(|path| self.matches_path(path, content_only))
    }

    fn matches_path(&self, path: &Path, content_only: bool) -> bool {
        if !content_only && self.folders.contains_key(path) {
            return true;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Some(place) = self.folders.get(folder) else { return false };
        place.names.contains(name) || (place.all_names && !content_only && !is_ignored(name))
    }
}

/// Whether no glob matches the name, as for swap files and `.git`.
pub(super) fn is_ignored(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[derive(Default)]
struct PlanBuilder {
    plan: WatchPlan,
    /// Resolved folders, by their path as written; `None` if they do not exist.
    resolved: HashMap<PathBuf, Option<PathBuf>>,
}

impl PlanBuilder {
    fn add_file(&mut self, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        if let Some(folder) = self.resolve_folder(parent) {
            self.folder_watch(&folder).required = true;
            self.resolve(folder, Path::new(name));
        }
    }

    fn add_folder(&mut self, path: &Path) {
        if let Some(folder) = self.resolve_folder(path).filter(|folder| folder.is_dir()) {
            let place = self.folder_watch(&folder);
            place.all_names = true;
            place.required = true;
        }
    }

    fn resolve_folder(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.resolved.get(path) {
            return known.clone();
        }
        let real = self.resolve(PathBuf::new(), path);
        self.resolved.insert(path.to_path_buf(), real.clone());
        real
    }

    /// Resolves `path` from `real`, which has no symlinks, and records every name on the way.
    fn resolve(&mut self, mut real: PathBuf, path: &Path) -> Option<PathBuf> {
        let mut ahead = reversed_parts(path);
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            let name = match part {
                PathPart::Parent => {
                    real.pop();
                    continue;
                }
                PathPart::Root(root) => {
                    real.push(root);
                    continue;
                }
                PathPart::Name(name) => name,
            };
            self.folder_watch(&real).names.insert(name.clone());
            match PathEntry::new(&real.join(&name)) {
                PathEntry::Existing => real.push(&name),
                PathEntry::Link(target) if links < MAX_SYMLINKS => {
                    links += 1;
                    self.folder_watch(&real).required = true;
                    ahead.extend(reversed_parts(&target));
                }
                PathEntry::Link(_) | PathEntry::Missing => {
                    self.folder_watch(&real).required = true;
                    return None;
                }
            }
        }
        Some(real)
    }

    fn folder_watch(&mut self, folder: &Path) -> &mut FolderWatch {
        self.plan.folders.entry(folder.to_path_buf()).or_default()
    }
}

enum PathEntry {
    Existing,
    Link(PathBuf),
    Missing,
}

impl PathEntry {
    fn new(path: &Path) -> PathEntry {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => fs::read_link(path).map_or(PathEntry::Missing, PathEntry::Link),
            Ok(_) => PathEntry::Existing,
            Err(_) => PathEntry::Missing,
        }
    }
}

enum PathPart {
    Root(OsString),
    Parent,
    Name(OsString),
}

/// The parts of a path in reverse order.
fn reversed_parts(path: &Path) -> Vec<PathPart> {
    let part = |component: Component<'_>| match component {
        Component::CurDir => None,
        Component::ParentDir => Some(PathPart::Parent),
        Component::Normal(name) => Some(PathPart::Name(name.to_os_string())),
        Component::Prefix(_) | Component::RootDir => Some(PathPart::Root(component.as_os_str().to_os_string())),
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use notify::{RecursiveMode, Watcher};

    use super::*;

    fn watch_set(files: &[&Path], folders: &[&Path]) -> LoadDependencies {
        let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
        LoadDependencies { files: owned(files), folders: owned(folders), workspace: None }
    }

    fn required_folders(plan: &WatchPlan) -> Vec<&Path> {
        plan.folders().filter_map(|(path, needed)| needed.then_some(path)).collect()
    }

    #[test]
    fn file_is_watched_through_its_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let plan = WatchPlan::new(&watch_set(&[&root.join("a"), &root.join("b")], &[]));
        assert_eq!(required_folders(&plan), [root]);
    }

    #[test]
    fn missing_path_is_watched_in_its_nearest_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let plan = WatchPlan::new(&watch_set(&[&root.join("new/sub/a")], &[&root.join("other/folder")]));
        assert_eq!(required_folders(&plan), [root.as_path()]);
        assert!(plan.matches_path(&root.join("new"), false));
        assert!(plan.matches_path(&root.join("other"), false));
        assert!(!plan.matches_path(&root.join("sub"), false));
    }

    #[test]
    fn every_symlink_is_watched_and_cycles_end() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("mount/v1")).unwrap();
        fs::write(root.join("mount/v1/a"), "").unwrap();
        std::os::unix::fs::symlink("v1", root.join("mount/..data")).unwrap();
        std::os::unix::fs::symlink("..data/a", root.join("mount/a")).unwrap();
        std::os::unix::fs::symlink("../mount/a", root.join("circle")).unwrap();
        std::os::unix::fs::symlink("circle2", root.join("circle1")).unwrap();
        std::os::unix::fs::symlink("circle1", root.join("circle2")).unwrap();
        fs::create_dir(root.join("links")).unwrap();
        std::os::unix::fs::symlink("../mount/v1", root.join("links/folder")).unwrap();
        let plan = WatchPlan::new(&watch_set(&[&root.join("mount/a"), &root.join("circle1")], &[]));
        let linked = WatchPlan::new(&watch_set(&[&root.join("links/folder/a")], &[]));
        assert_eq!(required_folders(&linked), [root.join("links"), root.join("mount/v1")]);
        for name in ["mount/a", "mount/..data", "mount/v1/a", "mount/v1", "mount", "circle1", "circle2"] {
            assert!(plan.matches_path(&root.join(name), true), "{name}");
        }
        assert!(!plan.matches_path(&root.join("mount/v1/b"), false));
        assert!(!plan.matches_path(&root.join("mount/b"), false));
    }

    #[test]
    fn only_writes_to_watched_files_are_relevant() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let file = root.join("folio.yaml");
        fs::write(&file, "one").unwrap();
        fs::create_dir(root.join("prompts")).unwrap();
        fs::write(root.join("prompts/unmatched.txt"), "one").unwrap();
        let plan = WatchPlan::new(&watch_set(&[&file], &[&root.join("prompts")]));

        let (tell, told) = mpsc::channel();
        let mut watcher = notify::recommended_watcher(move |event| tell.send(event).unwrap()).unwrap();
        for folder in [&root, &root.join("prompts")] {
            watcher.watch(folder, RecursiveMode::NonRecursive).unwrap();
        }
        fs::read(&file).unwrap();
        fs::read_dir(root.join("prompts")).unwrap().for_each(drop);
        for name in ["server.log", "4913", ".folio.yaml.swp", "folio.yaml~", "prompts/.git", "prompts/unmatched.txt"] {
            fs::write(root.join(name), "noise").unwrap();
        }
        fs::remove_file(root.join("4913")).unwrap();
        fs::write(&file, "two").unwrap();

        let mut noise = 0;
        loop {
            let event = told.recv_timeout(Duration::from_secs(10)).unwrap().unwrap();
            if plan.is_relevant(&event) {
                assert!(event.paths.iter().eq([&file]), "{event:?}");
                break;
            }
            noise += 1;
        }
        assert!(noise >= 8, "{noise}");
    }

    #[test]
    fn created_and_removed_names_are_relevant() {
        use notify::event::{CreateKind, RemoveKind, RenameMode};
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let plan = WatchPlan::new(&watch_set(&[], &[&root]));
        for kind in [
            EventKind::Create(CreateKind::File),
            EventKind::Remove(RemoveKind::Folder),
            EventKind::Modify(ModifyKind::Name(RenameMode::To)),
        ] {
            assert!(plan.is_relevant(&Event::new(kind).add_path(root.join("new"))), "{kind:?}");
            assert!(!plan.is_relevant(&Event::new(kind).add_path(root.join(".new"))), "{kind:?}");
            assert!(plan.is_relevant(&Event::new(kind).add_path(root.clone())), "{kind:?}");
        }
    }
}
