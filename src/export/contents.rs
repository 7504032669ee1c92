//! The files of a server: the folder of its manifest without what is nobody else's, and its packs from the cache.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::files::{FileError, Folder, Globs};
use crate::pack_source::{CacheError, PackCache, TreeDigest};
use crate::redact::Redactor;

/// How many files are exported.
const MAX_FILES: usize = 20_000;
/// How large they are together.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// A file with patterns of what is left out, as `mcpb pack` reads it.
const IGNORE_FILE: &str = ".mcpbignore";

/// What is never exported: what belongs to other programs, and where secrets are.
const LEFT_OUT: [&str; 24] = [
    "**/.git",
    "**/.hg",
    "**/.svn",
    "**/.env",
    "**/.env.*",
    "**/*.env",
    "**/.netrc",
    "**/.npmrc",
    "**/.pypirc",
    "**/.ssh",
    "**/id_rsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/node_modules",
    "**/__pycache__",
    "**/.venv",
    "**/.DS_Store",
    "target",
    "**/*.mcpb",
    "**/.mcpbignore",
    "**/.vscode",
];

/// How private keys begin, behind the name of their kind.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// A file that is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its path from the folder.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it can be started.
    pub is_program: bool,
}

/// The files of a folder.
#[derive(Debug, Default)]
pub struct FolderContents {
    /// The files, in the order of their paths.
    pub files: Vec<ExportedFile>,
    /// What is left out: patterns, and paths of links and private keys.
    pub left_out: Vec<String>,
}

/// Why the files of a server cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// `.mcpbignore` has a pattern that is none.
    #[error("invalid pattern in {IGNORE_FILE}: {0}")]
    Pattern(String),
    /// They are too large together.
    #[error("the folder has more than 256 MiB\nhelp: name what is not needed in {IGNORE_FILE}")]
    TooLarge,
    /// A file has the value of a secret.
    #[error("`{0}` contains the value of a secret variable\nhelp: take it out, or name the file in {IGNORE_FILE}")]
    Secret(String),
    /// A pack is not in the cache.
    #[error("pack `{key}` is {error}\nhelp: run `folio fetch`")]
    Pack {
        /// Its key.
        key: String,
        /// Why.
        error: CacheError,
    },
}

/// The files of the folder of a manifest.
///
/// # Errors
/// One cannot be read, or has a secret.
pub fn collect_folder(
    folder: &Folder,
    unwanted: &[String],
    redactor: &Redactor,
) -> Result<FolderContents, ContentsError> {
    let mut patterns = LEFT_OUT.map(str::to_owned).to_vec();
    patterns.extend(ignored_patterns(folder)?);
    patterns.extend(unwanted.iter().map(|path| Globs::escape(path)));
    let excluded: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let globs = Globs::new(&["**"], &excluded).map_err(|error| ContentsError::Pattern(error.to_string()))?;
    let walked = folder.walk_outcome(&globs.with_hidden_without_links(), MAX_FILES)?;
    let mut contents = FolderContents { left_out: walked.skipped, ..FolderContents::default() };
    contents.left_out.extend(walked.used_excludes.iter().filter_map(|nth| patterns.get(*nth)).map(|it| shown(it)));
    let mut left = MAX_TOTAL_BYTES;
    for entry in walked.files {
        left = left.checked_sub(entry.size).ok_or(ContentsError::TooLarge)?;
        let bytes = folder.read(Path::new(&entry.path), MAX_TOTAL_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        if text.contains(PRIVATE_KEY) {
            contents.left_out.push(entry.path);
        } else if redactor.finds_secret(&text) {
            return Err(ContentsError::Secret(entry.path));
        } else {
            let is_program = is_program(&folder.path().join(&entry.path));
            contents.files.push(ExportedFile { path: entry.path, bytes, is_program });
        }
    }
    Ok(contents)
}

/// A pattern as people write it.
fn shown(pattern: &str) -> String {
    pattern.strip_prefix("**/").unwrap_or(pattern).to_owned()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o100 != 0)
}

/// The patterns of `.mcpbignore`, one on a line. One without `/` is for every folder, as in `.gitignore`.
fn ignored_patterns(folder: &Folder) -> Result<Vec<String>, ContentsError> {
    let text = match folder.read(Path::new(IGNORE_FILE), 1 << 20) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(FileError::NotFound(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.trim_end_matches('/') {
            "" => Err(ContentsError::Pattern(line.to_owned())),
            negated if negated.starts_with('!') => {
                Err(ContentsError::Pattern(format!("`{line}`: `!` is not supported")))
            }
            inner if inner.contains('/') => Ok(inner.trim_start_matches('/').to_owned()),
            name => Ok(format!("**/{name}")),
        })
        .collect()
}

impl FolderContents {
    /// The paths that a server reads and that are not among its files, nor in one of these folders.
    pub fn missing<'a>(&self, root: &Path, reads: &'a BTreeSet<PathBuf>, elsewhere: &[PathBuf]) -> Vec<&'a Path> {
        let known: BTreeSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let is_known = |path: &Path| {
            let below = path.strip_prefix(root).ok().and_then(Path::to_str);
            below.is_some_and(|below| known.contains(below))
        };
        let is_elsewhere = |path: &Path| elsewhere.iter().any(|folder| path.starts_with(folder));
        let needed = reads.iter().map(PathBuf::as_path).filter(|path| path.is_file());
        needed.filter(|path| !is_known(path) && !is_elsewhere(path)).collect()
    }
}

/// The files of packs as the cache has them, by their digests, below `packs/`.
///
/// # Errors
/// One is not there, or was changed.
pub fn cached_packs<'a>(
    packs: impl IntoIterator<Item = (&'a str, TreeDigest)>,
    cache: &PackCache,
) -> Result<Vec<ExportedFile>, ContentsError> {
    let mut files = Vec::new();
    let mut done = BTreeSet::new();
    for (key, digest) in packs {
        if !done.insert(digest) {
            continue;
        }
        let tree = cache.read(&digest).map_err(|error| ContentsError::Pack { key: key.to_owned(), error })?;
        let folder = cache.folder_of(&digest);
        files.extend(tree.into_files().map(|(path, bytes)| ExportedFile {
            is_program: is_program(&folder.join(&path)),
            path: format!("packs/{}/{path}", digest.digits()),
            bytes,
        }));
    }
    Ok(files)
}
