//! Finds programs on `PATH`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Finds the program `name` on the `PATH` of `path_variable`.
///
/// A name with a slash is a path. Relative folders in `PATH` are skipped, as they depend on the working folder.
pub fn find_program(name: &OsStr, path_variable: &OsStr) -> Option<PathBuf> {
    path_candidates(name, path_variable).find(|path| is_executable(path))
}

/// The possible paths of `name`, in the order of `PATH`.
pub(super) fn path_candidates<'a>(name: &'a OsStr, path_variable: &'a OsStr) -> Box<dyn Iterator<Item = PathBuf> + 'a> {
    if name.is_empty() {
        return Box::new(std::iter::empty());
    }
    if name.as_encoded_bytes().contains(&b'/') {
        return Box::new(std::iter::once(PathBuf::from(name)));
    }
    let folders = std::env::split_paths(path_variable).filter(|folder| folder.is_absolute());
    Box::new(folders.map(move |folder| folder.join(name)))
}

/// Whether a path is a file that may be run.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Whether `path` is a text without `#!`, which the system refuses to run, and the C library would run with a shell.
pub(super) fn lacks_shebang(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut beginning));
    read.is_ok() && !beginning.starts_with(b"#!") && !beginning.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::find_program;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_first_executable_file_on_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir_all(first.join("folder")).unwrap();
        fs::create_dir(&second).unwrap();
        fs::write(first.join("plain"), "").unwrap();
        for name in ["plain", "folder"] {
            fs::write(second.join(name), "").unwrap();
            fs::set_permissions(second.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths([&first, &second]).unwrap();
        for name in ["plain", "folder"] {
            assert_eq!(find_program(OsStr::new(name), &path), Some(second.join(name)));
        }
        assert_eq!(find_program(OsStr::new("absent"), &path), None);
        assert_eq!(find_program(OsStr::new(""), &path), None);
    }

    #[test]
    fn relative_path_entries_are_skipped() {
        assert_eq!(find_program(OsStr::new("Cargo.toml"), OsStr::new(".:")), None);
    }

    #[test]
    fn a_name_with_a_slash_is_a_path() {
        assert!(find_program(OsStr::new("/bin/sh"), OsStr::new("")).is_some());
        assert_eq!(find_program(OsStr::new("./sh"), OsStr::new("/bin")), None);
    }
}
