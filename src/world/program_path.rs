//! Finds programs on `PATH`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
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

/// The longest first line of a script that is looked at.
const MAX_SHEBANG_BYTES: u64 = 256;

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    File::open(path)?.take(MAX_SHEBANG_BYTES).read_to_end(&mut beginning)?;
    Ok(beginning)
}

/// Whether `path` is a text without `#!`, or empty, which the system refuses to run, and the C library would run with a shell.
pub(super) fn lacks_shebang(path: &Path) -> bool {
    beginning(path).is_ok_and(|beginning| !beginning.starts_with(b"#!") && !beginning.contains(&0))
}

/// The first line of a script.
pub(super) struct Shebang {
    line: String,
    pub(super) interpreter: String,
    /// The program that an interpreter `env` looks for.
    pub(super) named: Option<String>,
}

impl Shebang {
    /// Reads the one of `path`; `None` of other files than scripts.
    pub(super) fn read(path: &Path) -> Option<Shebang> {
        let beginning = beginning(path).ok()?;
        let line = String::from_utf8_lossy(beginning.strip_prefix(b"#!")?);
        let line = line.split('\n').next().unwrap_or_default().trim_matches([' ', '\t']).to_owned();
        let mut words = line.split_whitespace().map(str::to_owned);
        let interpreter = words.next()?;
        let is_env = interpreter.ends_with("/env");
        let named = words.find(|word| is_env && !word.starts_with('-') && !word.contains('='));
        Some(Shebang { interpreter, named, line })
    }
}

/// Why a program that is there cannot start: what its first line names is not there, or the line is not.
pub fn shebang_fault(path: &Path, search_path: &OsStr) -> Option<String> {
    if lacks_shebang(path) {
        return Some("it is a text whose first line does not begin with `#!`".to_owned());
    }
    let Shebang { line, interpreter, named } = Shebang::read(path)?;
    if let Some(line) = line.strip_suffix('\r') {
        return Some(format!("its interpreter is `{line}\\r`, as its lines end in CRLF"));
    }
    if !Path::new(&interpreter).exists() {
        return Some(format!("its interpreter `{interpreter}` is not there"));
    }
    let named = named.filter(|named| find_program(named.as_ref(), search_path).is_none())?;
    Some(format!("its interpreter `{named}` is not on PATH"))
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
