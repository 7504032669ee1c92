//! What a program needs to start and to run, whatever its sandbox allows.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::world::program_path::{Shebang, find_program};

/// Folders of the system's programs, libraries, locales and time zones.
const SYSTEM_FOLDERS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// What the loader, the C library and TLS read.
const SYSTEM_FILES: &[&str] = &[
    "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/ssl/certs", "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust",
    "/etc/crypto-policies", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
    "/etc/services", "/etc/protocols", "/etc/passwd", "/etc/group", "/dev/random", "/dev/urandom",
];
/// Devices that keep nothing.
const WRITABLE_DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// A path that a program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramNeed {
    /// The path, which need not exist.
    pub path: PathBuf,
    /// What it may do with it.
    pub access: NeedAccess,
}

/// What a program may do with what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedAccess {
    /// Read it, and run programs in it.
    Execute,
    Read,
    /// Read and write it.
    Write,
}

/// What `program` needs: itself with its libraries and its interpreter, and what belongs to the system.
pub fn program_needs(program: &Path, search_path: &OsStr) -> Vec<ProgramNeed> {
    let need = |path: PathBuf, access| ProgramNeed { path, access };
    let mut executables = vec![program.to_owned()];
    executables.extend(interpreters(program, search_path));
    let libraries: Vec<PathBuf> = executables.iter().filter_map(|program| library_folder(program)).collect();
    executables.extend(libraries);
    let mut needs: Vec<ProgramNeed> = Vec::new();
    needs.extend(executables.into_iter().map(|path| need(path, NeedAccess::Execute)));
    needs.extend(SYSTEM_FOLDERS.iter().map(|path| need(path.into(), NeedAccess::Execute)));
    needs.extend(SYSTEM_FILES.iter().map(|path| need(path.into(), NeedAccess::Read)));
    needs.extend(WRITABLE_DEVICES.iter().map(|path| need(path.into(), NeedAccess::Write)));
    needs
}

/// The programs in the first line of a script: its interpreter, and what `env` looks for.
fn interpreters(program: &Path, search_path: &OsStr) -> Vec<PathBuf> {
    let Some(Shebang { interpreter, named, .. }) = Shebang::read(program) else { return Vec::new() };
    let mut programs = vec![PathBuf::from(interpreter)];
    programs.extend(named.and_then(|name| find_program(name.as_ref(), search_path)));
    programs
}

/// The folder `lib` beside the `bin` of a program.
fn library_folder(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let folder = real.parent().filter(|folder| folder.ends_with("bin"))?;
    Some(folder.parent()?.join("lib")).filter(|lib| lib.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn script_needs_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh -e\n").unwrap();
        assert_eq!(interpreters(&script, OsStr::new("")), [PathBuf::from("/bin/sh")]);
        fs::write(&script, "#!/usr/bin/env -S A=1 sh\n").unwrap();
        assert_eq!(
            interpreters(&script, OsStr::new("/bin")),
            [PathBuf::from("/usr/bin/env"), PathBuf::from("/bin/sh")]
        );
        fs::write(&script, b"\x7fELF").unwrap();
        assert!(interpreters(&script, OsStr::new("/bin")).is_empty());
    }

    #[test]
    fn library_folder_is_beside_bin() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("bin/tool"), "").unwrap();
        assert_eq!(library_folder(&root.join("bin/tool")), None);
        fs::create_dir_all(root.join("lib")).unwrap();
        assert_eq!(library_folder(&root.join("bin/tool")), Some(root.join("lib")));
    }
}
