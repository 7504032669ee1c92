//! Which folders have to be listened to for a set of paths, and which names in them matter.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind};

use super::WatchSet;

/// Links that lead to links: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Folders, free of links, and what matters in each. A file's own watch would die with the first editor that saves
/// by renaming, so only folders are ever listened to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    places: BTreeMap<PathBuf, Place>,
}

/// What matters in one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Place {
    names: BTreeSet<OsString>,
    every_name: bool,
    needed: bool,
}

impl Plan {
    /// Follows every path of `set` from the root, through its links and as far as it exists.
    pub(super) fn of(set: &WatchSet) -> Plan {
        let mut survey = Survey::default();
        for file in &set.files {
            survey.file(file);
        }
        for folder in &set.folders {
            survey.every_name_in(folder);
        }
        survey.plan
    }

    /// The folders to listen to, those that cannot be done without first. The others, on the way there, tell of a
    /// folder that is moved away or replaced far above; where the system listens to whole trees that is too dear.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&Path, bool)> {
        let needed = |wanted: bool| self.places.iter().filter(move |(_, place)| place.needed == wanted);
        let on_the_way = needed(false).filter(|_| cfg!(target_os = "linux"));
        needed(true).chain(on_the_way).map(|(path, place)| (path.as_path(), place.needed))
    }

    /// Every name that is passed on the way to the watched paths, links and what they lead to included.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&Path, &OsStr)> {
        self.places
            .iter()
            .flat_map(|(path, place)| place.names.iter().map(move |name| (path.as_path(), name.as_os_str())))
    }

    /// Whether the event may have changed anything that is watched. Reading does not.
    pub(super) fn concerns(&self, event: &Event) -> bool {
        let content_only = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
            EventKind::Access(_) => return false,
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => true,
            _ => false,
        };
        event.paths.iter().any(|path| self.touches(path, content_only))
    }

    fn touches(&self, path: &Path, content_only: bool) -> bool {
        if !content_only && self.places.contains_key(path) {
            return true;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Some(place) = self.places.get(folder) else { return false };
        place.names.contains(name) || (place.every_name && !content_only && !is_hidden(name))
    }
}

/// Whether a name is one that no glob matches: editors' swap files, `.git`.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[derive(Default)]
struct Survey {
    plan: Plan,
    /// Folders already followed, as written, and what they are without links; `None` if they do not exist.
    followed: HashMap<PathBuf, Option<PathBuf>>,
}

impl Survey {
    fn file(&mut self, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        if let Some(folder) = self.folder(parent) {
            self.place(&folder).needed = true;
            self.follow(folder, Path::new(name));
        }
    }

    fn every_name_in(&mut self, path: &Path) {
        if let Some(folder) = self.folder(path).filter(|folder| folder.is_dir()) {
            let place = self.place(&folder);
            place.every_name = true;
            place.needed = true;
        }
    }

    fn folder(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.followed.get(path) {
            return known.clone();
        }
        let real = self.follow(PathBuf::new(), path);
        self.followed.insert(path.to_path_buf(), real.clone());
        real
    }

    /// Goes from `real`, which is free of links, along `path`, noting every name that is passed.
    fn follow(&mut self, mut real: PathBuf, path: &Path) -> Option<PathBuf> {
        let mut ahead = parts(path);
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            let name = match part {
                Part::Up => {
                    real.pop();
                    continue;
                }
                Part::Root(root) => {
                    real.push(root);
                    continue;
                }
                Part::Name(name) => name,
            };
            self.place(&real).names.insert(name.clone());
            match Step::of(&real.join(&name)) {
                Step::Onward => real.push(&name),
                Step::Link(target) if links < MOST_LINKS => {
                    links += 1;
                    self.place(&real).needed = true;
                    ahead.extend(parts(&target));
                }
                Step::Link(_) | Step::Nothing => {
                    self.place(&real).needed = true;
                    return None;
                }
            }
        }
        Some(real)
    }

    fn place(&mut self, folder: &Path) -> &mut Place {
        self.plan.places.entry(folder.to_path_buf()).or_default()
    }
}

enum Step {
    Onward,
    Link(PathBuf),
    Nothing,
}

impl Step {
    fn of(path: &Path) -> Step {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => fs::read_link(path).map_or(Step::Nothing, Step::Link),
            Ok(_) => Step::Onward,
            Err(_) => Step::Nothing,
        }
    }
}

enum Part {
    Root(OsString),
    Up,
    Name(OsString),
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<Part> {
    let part = |component: Component<'_>| match component {
        Component::CurDir => None,
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_os_string())),
        Component::Prefix(_) | Component::RootDir => Some(Part::Root(component.as_os_str().to_os_string())),
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use std::sync::mpsc;
    use std::time::Duration;

    use notify::{RecursiveMode, Watcher};

    use super::*;

    fn set(files: &[&Path], folders: &[&Path]) -> WatchSet {
        let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
        WatchSet { files: owned(files), folders: owned(folders) }
    }

    fn needed(plan: &Plan) -> Vec<&Path> {
        plan.folders().filter_map(|(path, needed)| needed.then_some(path)).collect()
    }

    #[test]
    fn a_file_is_heard_through_its_folder_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let plan = Plan::of(&set(&[&root.join("a"), &root.join("b")], &[]));
        assert_eq!(needed(&plan), [root]);
    }

    #[test]
    fn a_missing_path_is_awaited_in_the_nearest_folder_there_is() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let plan = Plan::of(&set(&[&root.join("new/sub/a")], &[&root.join("other/folder")]));
        assert_eq!(needed(&plan), [root.as_path()]);
        assert!(plan.touches(&root.join("new"), false));
        assert!(plan.touches(&root.join("other"), false));
        assert!(!plan.touches(&root.join("sub"), false));
    }

    #[cfg(unix)]
    #[test]
    fn every_link_on_the_way_matters_and_a_circle_of_links_ends() {
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
        let plan = Plan::of(&set(&[&root.join("mount/a"), &root.join("circle1")], &[]));
        let linked = Plan::of(&set(&[&root.join("links/folder/a")], &[]));
        assert_eq!(needed(&linked), [root.join("links"), root.join("mount/v1")]);
        for name in ["mount/a", "mount/..data", "mount/v1/a", "mount/v1", "mount", "circle1", "circle2"] {
            assert!(plan.touches(&root.join(name), true), "{name}");
        }
        assert!(!plan.touches(&root.join("mount/v1/b"), false));
        assert!(!plan.touches(&root.join("mount/b"), false));
    }

    #[test]
    fn noise_beside_a_file_and_reading_it_do_not_concern_while_writing_it_does() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let file = root.join("folio.yaml");
        fs::write(&file, "one").unwrap();
        fs::create_dir(root.join("prompts")).unwrap();
        fs::write(root.join("prompts/unmatched.txt"), "one").unwrap();
        let plan = Plan::of(&set(&[&file], &[&root.join("prompts")]));

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
            if plan.concerns(&event) {
                assert!(event.paths.iter().eq([&file]), "{event:?}");
                break;
            }
            noise += 1;
        }
        assert!(noise >= 8, "{noise}");
    }

    #[test]
    fn a_name_that_comes_or_goes_in_a_watched_folder_concerns() {
        use notify::event::{CreateKind, RemoveKind, RenameMode};
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let plan = Plan::of(&set(&[], &[&root]));
        for kind in [
            EventKind::Create(CreateKind::File),
            EventKind::Remove(RemoveKind::Folder),
            EventKind::Modify(ModifyKind::Name(RenameMode::To)),
        ] {
            assert!(plan.concerns(&Event::new(kind).add_path(root.join("new"))), "{kind:?}");
            assert!(!plan.concerns(&Event::new(kind).add_path(root.join(".new"))), "{kind:?}");
            assert!(plan.concerns(&Event::new(kind).add_path(root.clone())), "{kind:?}");
        }
    }
}
