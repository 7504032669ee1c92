//! The location of a manifest: a folder or a file, on disk or in memory.

use std::path::{Path, PathBuf};

use crate::files::{FileError, Folder};
use crate::world::shell_quote;

/// The names of a manifest, in order of preference.
pub const MANIFEST_NAMES: &[&str] = &[NEW_MANIFEST_NAME, "folio.yml"];

/// What it is called where folio writes it.
pub const NEW_MANIFEST_NAME: &str = "folio.yaml";

/// The folder and the name of a manifest.
#[derive(Debug, Clone)]
pub struct ManifestLocation {
    source: ManifestFolder,
    /// The name of the manifest, if a file was given.
    manifest: Option<String>,
    /// The folder in messages: empty, or with a `/` at its end.
    display_path: String,
}

#[derive(Debug, Clone)]
enum ManifestFolder {
    Disk(PathBuf),
    Memory(Folder),
}

/// Why there is no manifest at a path.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// The path does not exist.
    #[error("no such file or folder: `{path}`")]
    Missing {
        /// Made absolute: clients start servers in folders of their own.
        path: String,
    },
    /// It cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// As it was given.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A folder without a manifest.
    #[error("no folio.yaml in `{path}`\nhelp: write a server with `folio init{argument}`, or name the folder of one")]
    NoManifest {
        /// Made absolute.
        path: String,
        /// As it was given, for a shell; empty for the current folder.
        argument: String,
    },
}

impl LocationError {
    fn from_io(path: &Path, source: std::io::Error) -> LocationError {
        match source.kind() {
            std::io::ErrorKind::NotFound => {
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                LocationError::Missing { path: absolute.display().to_string() }
            }
            _ => LocationError::Unreadable { path: path.display().to_string(), source },
        }
    }
}

/// The argument that names a folder to a command, after a space; empty for the current one.
pub fn folder_argument(dir: &Path) -> String {
    if dir.as_os_str() == "." { String::new() } else { format!(" {}", shell_quote(dir.as_os_str())) }
}

impl ManifestLocation {
    /// Resolves a path to a manifest, or to a folder with one.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub fn resolve(path: &Path) -> Result<ManifestLocation, LocationError> {
        let missing = |source| LocationError::from_io(path, source);
        let metadata = std::fs::metadata(path).map_err(missing)?;
        // Absolute, as the working directory may change; not canonical, as symlinks may be swapped.
        let absolute = std::path::absolute(path).map_err(missing)?;
        if metadata.is_dir() {
            let has_manifest = MANIFEST_NAMES.iter().any(|name| absolute.join(name).symlink_metadata().is_ok());
            if !has_manifest {
                return Err(LocationError::NoManifest {
                    path: absolute.display().to_string(),
                    argument: folder_argument(path),
                });
            }
            return Ok(ManifestLocation {
                source: ManifestFolder::Disk(absolute),
                manifest: None,
                display_path: display_prefix(path),
            });
        }
        std::fs::File::open(path).map_err(missing)?;
        let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let display_path = display_prefix(path.parent().unwrap_or(Path::new("")));
        Ok(ManifestLocation { source: ManifestFolder::Disk(folder), manifest: name, display_path })
    }

    /// The manifest that a file belongs to, which need not exist: that of the nearest folder around it, or itself.
    ///
    /// # Errors
    /// Its folder does not exist, or cannot be read.
    pub fn from_file(file: &Path) -> Result<ManifestLocation, LocationError> {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !MANIFEST_NAMES.contains(&name.as_str()) {
            let around = parent.ancestors().filter(|folder| !folder.as_os_str().is_empty());
            for folder in around.chain([Path::new(".")].into_iter().filter(|_| parent.is_relative())) {
                if MANIFEST_NAMES.iter().any(|name| folder.join(name).is_file()) {
                    return ManifestLocation::resolve(folder);
                }
            }
        }
        let absolute = std::fs::canonicalize(parent).map_err(|source| LocationError::from_io(file, source))?;
        Ok(ManifestLocation {
            source: ManifestFolder::Disk(absolute),
            manifest: Some(name),
            display_path: display_prefix(file.parent().unwrap_or(Path::new(""))),
        })
    }

    /// A folder in memory, such as a pack that was fetched.
    pub fn in_memory(folder: Folder) -> ManifestLocation {
        ManifestLocation { source: ManifestFolder::Memory(folder), manifest: None, display_path: String::new() }
    }

    /// Opens the folder as it is now.
    pub(super) fn open(&self) -> Result<Folder, FileError> {
        match &self.source {
            ManifestFolder::Disk(path) => Folder::open(path),
            ManifestFolder::Memory(folder) => Ok(folder.clone()),
        }
    }

    /// The absolute path of the folder, whether or not it exists.
    pub fn path(&self) -> &Path {
        match &self.source {
            ManifestFolder::Disk(path) => path,
            ManifestFolder::Memory(folder) => folder.path(),
        }
    }

    /// The possible names of the manifest.
    pub(super) fn manifest_names(&self) -> Vec<&str> {
        match &self.manifest {
            Some(name) => vec![name],
            None => MANIFEST_NAMES.to_vec(),
        }
    }

    /// The folder in messages.
    pub(super) fn display_prefix(&self) -> &str {
        &self.display_path
    }
}

fn display_prefix(folder: &Path) -> String {
    let text = folder.display().to_string();
    let text = text.strip_prefix("./").unwrap_or(&text).trim_end_matches('/');
    match text {
        "" | "." if folder.is_absolute() => "/".to_owned(),
        "" | "." => String::new(),
        text => format!("{text}/"),
    }
}
