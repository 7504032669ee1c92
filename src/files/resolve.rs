//! Checks whether a path is inside given folders, with all links resolved.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Why a path is not accepted as inside the roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RootPathError {
    /// It is relative, or contains a NUL.
    #[error("must be an absolute path or a `file:` URI")]
    NotAbsolute,
    /// It contains `..`, which is ambiguous after a link.
    #[error("must not contain `..`")]
    ParentDir,
    /// It cannot be resolved: a dangling link, a cycle of links, a file as a folder, or an unreadable folder.
    #[error("cannot be resolved (dangling link, link loop or unreadable folder)")]
    Unresolved,
    /// It is outside.
    #[error("must be inside one of the folders")]
    OutsideRoots,
    /// The resolved path is not UTF-8.
    #[error("resolves to a path that is not UTF-8")]
    NotUtf8,
}

/// Folders with all links resolved.
#[derive(Debug)]
pub struct ResolvedRoots {
    real: HashSet<PathBuf>,
    /// Their lengths: comparing all ancestors of a long path takes the square of its length.
    lengths: HashSet<usize>,
}

impl ResolvedRoots {
    /// Resolves the links of each root; roots that cannot be resolved contain nothing.
    pub fn follow<'p>(roots: impl IntoIterator<Item = &'p Path>) -> ResolvedRoots {
        let roots = roots.into_iter().filter(|root| root.is_absolute() && !has_parent_dir(root));
        let real: HashSet<PathBuf> = roots.filter_map(|root| resolve_links(root).ok()).collect();
        ResolvedRoots { lengths: real.iter().map(|root| root.as_os_str().len()).collect(), real }
    }

    /// Resolves the links of `path`, which must then be inside one of the roots. It need not exist: the components after
    /// the last existing one are kept.
    ///
    /// # Errors
    /// The path is not inside, or not resolvable.
    pub fn resolve(&self, path: &Path) -> Result<String, RootPathError> {
        let real = resolve_checked(path)?;
        let is_root = |folder: &Path| self.lengths.contains(&folder.as_os_str().len()) && self.real.contains(folder);
        if !real.ancestors().any(is_root) {
            return Err(RootPathError::OutsideRoots);
        }
        real.into_os_string().into_string().map_err(|_| RootPathError::NotUtf8)
    }
}

/// The resolved path, if it is absolute and unambiguous.
fn resolve_checked(path: &Path) -> Result<PathBuf, RootPathError> {
    if !path.is_absolute() || path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(RootPathError::NotAbsolute);
    }
    if has_parent_dir(path) {
        return Err(RootPathError::ParentDir);
    }
    resolve_links(path).map_err(|_| RootPathError::Unresolved)
}

fn has_parent_dir(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// The path with the links of its existing part resolved, and the rest as written.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    // From the top down, so that a long path that does not exist costs little.
    let (mut there, mut parts) = (PathBuf::new(), path.components().peekable());
    while let Some(part) = parts.peek() {
        there.push(part);
        match fs::symlink_metadata(&there) {
            // A dangling link exists, and fails below.
            Ok(_) => parts.next(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                there.pop();
                break;
            }
            Err(error) => return Err(error),
        };
    }
    let mut real = fs::canonicalize(&there)?;
    real.extend(parts);
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    /// A root with links of every kind, and what lies beside it.
    fn tree() -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["root/sub/deep", "other/inner", "real"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["root/file", "root/sub/file", "other/secret", "secret"] {
            fs::write(at(file), "x").unwrap();
        }
        for (target, link) in [
            ("sub", "root/inside"),
            ("../other", "root/outside"),
            ("../other/secret", "root/secret"),
            ("../other/gone", "root/dangling"),
            ("nowhere", "root/nowhere"),
            ("circle", "root/circle"),
            ("../root/sub", "root/around"),
            ("../../other/inner", "root/sub/inner"),
            ("root", "link"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        dir
    }

    fn resolve_within(path: &Path, roots: &[PathBuf]) -> Result<String, RootPathError> {
        ResolvedRoots::follow(roots.iter().map(PathBuf::as_path)).resolve(path)
    }

    fn within(dir: &TempDir, root: &str, path: &str) -> Result<String, RootPathError> {
        resolve_within(&dir.path().join(path), &[dir.path().join(root)])
    }

    #[test]
    fn path_inside_resolves_to_its_target() {
        let dir = tree();
        let real = fs::canonicalize(dir.path()).unwrap();
        for (path, to) in [
            ("root", "root"),
            ("root/", "root"),
            ("root/./sub//file", "root/sub/file"),
            ("root/inside/file", "root/sub/file"),
            ("root/around/deep/.", "root/sub/deep"),
            ("root/new/folder/file", "root/new/folder/file"),
            ("root/inside/new", "root/sub/new"),
            ("link/file", "root/file"),
        ] {
            for root in ["root", "link", "root/.", "root/around/../../root", "link/"] {
                let taken = within(&dir, root, path);
                let climbs = root.contains("..");
                let expected = if climbs { Err(RootPathError::OutsideRoots) } else { Ok(real.join(to)) };
                assert_eq!(taken.map(PathBuf::from), expected, "{path} in {root}");
            }
        }
    }

    #[test]
    fn escaping_or_dangling_path_is_refused() {
        let dir = tree();
        for (path, error) in [
            ("root/../secret", RootPathError::ParentDir),
            ("root/outside/../secret", RootPathError::ParentDir),
            ("root/sub/..", RootPathError::ParentDir),
            ("root/outside", RootPathError::OutsideRoots),
            ("root/outside/secret", RootPathError::OutsideRoots),
            ("root/outside/new", RootPathError::OutsideRoots),
            ("root/secret", RootPathError::OutsideRoots),
            ("root/sub/inner/new", RootPathError::OutsideRoots),
            ("other", RootPathError::OutsideRoots),
            ("roots", RootPathError::OutsideRoots),
            ("", RootPathError::OutsideRoots),
            ("root/dangling", RootPathError::Unresolved),
            ("root/dangling/", RootPathError::Unresolved),
            ("root/dangling/.", RootPathError::Unresolved),
            ("root/dangling/new", RootPathError::Unresolved),
            ("root/nowhere", RootPathError::Unresolved),
            ("root/circle/x", RootPathError::Unresolved),
            ("root/file/x", RootPathError::Unresolved),
        ] {
            assert_eq!(within(&dir, "root", path), Err(error), "{path}");
        }
        assert_eq!(within(&dir, "gone", "root/file"), Err(RootPathError::OutsideRoots));
        assert_eq!(within(&dir, "root/dangling", "root/dangling"), Err(RootPathError::Unresolved));
        for path in ["root", "./root", "", "/srv/a\0"] {
            assert_eq!(resolve_within(Path::new(path), &["/".into()]), Err(RootPathError::NotAbsolute), "{path}");
        }
        assert_eq!(resolve_within(dir.path(), &[]), Err(RootPathError::OutsideRoots));
        assert_eq!(resolve_within(dir.path(), &["".into(), "tmp".into()]), Err(RootPathError::OutsideRoots));
    }

    #[test]
    fn missing_roots_are_compared_by_name() {
        let roots = [PathBuf::from("/srv/of another/machine")];
        let within = |path: &str| resolve_within(Path::new(path), &roots);
        assert_eq!(within("/srv/of another/machine//a/./b").as_deref(), Ok("/srv/of another/machine/a/b"));
        for outside in ["/srv/of another", "/srv/of another/machines", "/"] {
            assert_eq!(within(outside), Err(RootPathError::OutsideRoots), "{outside}");
        }
    }

    /// Where the system itself says that something is.
    fn place(path: &Path) -> Option<PathBuf> {
        let opened = fs::File::open(path).ok()?;
        fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()
    }

    const NAMES: &[&str] = &["a", "b", "c", "d"];

    /// How deep a tree stands below its temporary folder: all its links together climb less far, so that nothing is made
    /// outside of it.
    const DEPTH: usize = 50;

    /// A relative path: an absolute one would lead out of the temporary folder.
    fn walk() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec!["a", "b", "c", "d", "a", "b", "c", "d", ".", "..", "", "new"]);
        prop::collection::vec(parts, 1..6).prop_map(|parts| parts.join("/").trim_start_matches('/').to_owned())
    }

    /// Folders, files and links: names below the whole tree, in which `a` is the root, and where links lead.
    fn trees() -> impl Strategy<Value = Vec<(u8, String, String)>> {
        let name = prop::collection::vec(prop::sample::select(NAMES), 1..4).prop_map(|parts| parts.join("/"));
        prop::collection::vec((0..5u8, name, walk()), 3..9)
    }

    fn grow(base: &Path, tree: &[(u8, String, String)]) {
        let _ = fs::create_dir(base.join("a"));
        for (kind, name, target) in tree {
            // What cannot be made, as something else stands in its place, is left out.
            let _ = match kind {
                0 => fs::create_dir_all(base.join(name)),
                1 => fs::write(base.join(name), "x"),
                2 => symlink(base.join(target), base.join(name)),
                _ => symlink(target, base.join(name)),
            };
        }
    }

    /// How many paths are tried in each tree: a tree costs as much as all of them.
    const PATHS: usize = 50;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        #[cfg(target_os = "linux")]
        fn no_links_escape_and_inner_paths_resolve(
            tree in trees(),
            walks in prop::collection::vec(walk(), PATHS),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let base = fs::canonicalize(dir.path()).unwrap().join("x/".repeat(DEPTH));
            fs::create_dir_all(&base).unwrap();
            grow(&base, &tree);
            let root = base.join("a");
            let Some(real) = place(&root) else { return Ok(()) };
            let roots = [root.clone()];
            for walk in &walks {
                let path = if walk.len() % 5 == 0 { base.join(walk) } else { root.join(walk) };
                // A `/` or `/.` behind a file is not an error here.
                let there = place(&path.components().collect::<PathBuf>());
                match resolve_within(&path, &roots) {
                    Ok(taken) => {
                        let taken = PathBuf::from(taken);
                        prop_assert!(taken.starts_with(&real), "{} for {}", taken.display(), path.display());
                        prop_assert_eq!(&there, &place(&taken), "another place than was named");
                        if there.is_none() {
                            // It is made, as a program would make it, and lies where it was said to lie.
                            fs::create_dir_all(taken.parent().unwrap()).unwrap();
                            fs::write(&taken, "x").unwrap();
                            prop_assert_eq!(place(&taken), Some(taken.clone()));
                            fs::remove_file(&taken).unwrap();
                        } else {
                            prop_assert_eq!(there.as_deref(), Some(&*taken));
                        }
                    }
                    Err(error) => {
                        let inside = there.is_some_and(|there| there.starts_with(&real));
                        prop_assert!(!inside || error == RootPathError::ParentDir, "{error} of {}", path.display());
                    }
                }
            }
        }
    }
}
