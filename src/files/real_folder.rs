//! Opens a folder by a path without links.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// To look up names in a folder, and to change to it.
#[cfg(target_os = "linux")]
const OPEN_FLAGS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const OPEN_FLAGS: OFlags = OFlags::RDONLY;

/// Opens the folder at an absolute path whose links are resolved, such as one of [`ResolvedRoots::resolve`](super::ResolvedRoots::resolve).
///
/// # Errors
/// There is not a folder, or a name on the way has become a link since.
pub fn open_real_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OPEN_FLAGS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut folder = openat(CWD, "/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        folder = openat(&folder, name, flags, Mode::empty())?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn link_on_the_way_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        symlink("a", top.join("link")).unwrap();
        symlink("b", top.join("a/link")).unwrap();
        assert!(open_real_folder(&top.join("a/b")).is_ok() && open_real_folder(Path::new("/")).is_ok());
        for refused in ["link", "link/b", "a/link", "a/../a", "gone", "file", "file/x"] {
            assert!(open_real_folder(&top.join(refused)).is_err(), "{refused}");
        }
        assert!(open_real_folder(Path::new("a")).is_err() && open_real_folder(Path::new("")).is_err());
    }
}
