//! The files of a server: the folder of its manifest, without what must stay on this machine, and its packs from the cache.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::earlier_exports::{exported_folders, is_exported_file};
use crate::files::{FileError, Folder, Globs};
use crate::pack_source::{CacheError, PackCache, TreeDigest};
use crate::redact::Redactor;

/// How many files are exported.
const MAX_FILES: usize = 20_000;
/// How large they are together.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// A file with patterns of what is left out, as `mcpb pack` reads it.
const IGNORE_FILE: &str = ".mcpbignore";

/// What is never exported, in lower case: what belongs to other programs, and where secrets are.
const EXCLUDED_GLOBS: [&str; 42] = [
    "**/.git",
    "**/.hg",
    "**/.svn",
    "**/.env",
    "**/.env.*",
    "**/*.env",
    "**/.netrc",
    "**/_netrc",
    "**/.npmrc",
    "**/.pypirc",
    "**/.pgpass",
    "**/.htpasswd",
    "**/.git-credentials",
    "**/.ssh",
    "**/.aws",
    "**/.docker",
    "**/.gnupg",
    "**/.kube",
    "**/.terraform",
    "**/*.tfstate",
    "**/*.tfstate.*",
    "**/*.tfvars",
    "**/id_{rsa,dsa,ecdsa,ecdsa_sk,ed25519,ed25519_sk}",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/*.jks",
    "**/*.keystore",
    "**/*.ppk",
    "**/*.kdbx",
    "**/secrets.{yml,yaml,json,toml}",
    "**/*~",
    "**/*.sw[op]",
    "**/*.bak",
    "**/node_modules",
    "**/__pycache__",
    "**/.venv",
    "**/.ds_store",
    "target",
    "**/*.mcpb",
    "**/.mcpbignore",
    "**/.vscode",
];
/// Hidden files and folders, of which those are exported that the server reads.
const HIDDEN: &str = "**/.*";

/// What private keys have in them.
const PRIVATE_KEYS: [&str; 4] =
    ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----", "PuTTY-User-Key-File-", "AGE-SECRET-KEY-1"];

/// A file that is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its path from the folder.
    pub path: String,
    pub bytes: Vec<u8>,
    /// Whether it can be started.
    pub is_program: bool,
}

/// The files of a folder.
#[derive(Debug, Default)]
pub struct FolderContents {
    /// The files, in the order of their paths.
    pub files: Vec<ExportedFile>,
    /// The paths that are left out: first links and private keys, and hidden names last.
    pub left_out: Vec<String>,
}

/// Why the files of a server cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// `.mcpbignore` has an invalid pattern.
    #[error("invalid pattern in {IGNORE_FILE}: {0}")]
    Pattern(String),
    /// They are too large together.
    #[error("the folder has more than 256 MiB\nhelp: name what is not needed in {IGNORE_FILE}")]
    TooLarge,
    /// A file has the value of a secret.
    #[error("`{0}` contains the value of a secret variable\nhelp: take it out, or name the file in {IGNORE_FILE}")]
    Secret(String),
    /// The path of a file has the value of a secret.
    #[error("`{0}` is named with the value of a secret variable\nhelp: rename it, or name the file in {IGNORE_FILE}")]
    SecretName(String),
    /// A pack is not in the cache.
    #[error("pack `{key}` is {error}\nhelp: run `folio fetch`")]
    Pack { key: String, error: CacheError },
}

/// What belongs to a folder and what does not, beside what never does.
#[derive(Debug)]
pub struct FolderFilter<'a> {
    /// The absolute paths that the server reads: hidden ones are exported too.
    pub reads: &'a BTreeSet<PathBuf>,
    /// Paths from the folder that are not exported.
    pub excluded_paths: &'a [String],
}

/// The files of the folder of a manifest.
///
/// # Errors
/// One cannot be read, or has a secret.
pub fn collect_folder(
    folder: &Folder,
    choice: &FolderFilter<'_>,
    redactor: &Redactor,
) -> Result<FolderContents, ContentsError> {
    let mut patterns = EXCLUDED_GLOBS.map(case_insensitive_glob).to_vec();
    patterns.extend(ignored_patterns(folder)?);
    patterns.extend(choice.excluded_paths.iter().map(|path| Globs::escape(path)));
    let shared = file_globs(&patterns)?;
    patterns.push(HIDDEN.to_owned());
    let walked = folder.walk_outcome(&file_globs(&patterns)?, MAX_FILES)?;
    let mut paths: BTreeSet<String> = walked.files.into_iter().map(|entry| entry.path).collect();
    paths.extend(hidden_reads(folder.path(), choice.reads).filter(|path| shared.matches(path)));
    let is_read = |path: &str| choice.reads.contains(&folder.path().join(path));
    let exports = exported_folders(folder, &paths)?;
    paths.retain(|path| is_read(path) || !is_below_any(path, &exports));
    let mut contents = FolderContents { left_out: walked.skipped, ..FolderContents::default() };
    contents.left_out.extend(exports);
    let is_kept = |path: &String| paths.contains(path) || choice.excluded_paths.contains(path) || path == IGNORE_FILE;
    let mut excluded = Vec::new();
    for path in walked.excluded.into_iter().filter(|path| !is_kept(path)) {
        excluded.extend(paths_not_exported(folder, path, &paths)?);
    }
    excluded.sort_by_cached_key(|path| (is_hidden(path), path.clone()));
    let mut left = MAX_TOTAL_BYTES;
    for path in paths {
        let bytes = folder.read(Path::new(&path), left).map_err(|error| match error {
            FileError::TooLarge { .. } => ContentsError::TooLarge,
            other => other.into(),
        })?;
        left = left.checked_sub(bytes.len() as u64).ok_or(ContentsError::TooLarge)?;
        if redactor.finds_secret(&path) {
            return Err(ContentsError::SecretName(path));
        }
        let text = readable_text(&bytes);
        let is_earlier_export = !is_read(&path) && is_exported_file(&path, &bytes);
        if is_earlier_export || PRIVATE_KEYS.iter().any(|words| text.contains(words)) {
            contents.left_out.push(path);
        } else if redactor.finds_secret(&text) {
            return Err(ContentsError::Secret(path));
        } else {
            let is_program = is_program(&folder.path().join(&path));
            contents.files.push(ExportedFile { path, bytes, is_program });
        }
    }
    contents.left_out.append(&mut excluded);
    Ok(contents)
}

/// The text of a file for a search, also that of UTF-16, whose ASCII letters each have a zero byte.
fn readable_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    match bytes.contains(&0) {
        true => {
            let without_zeros: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
            format!("{text}\n{}", String::from_utf8_lossy(&without_zeros))
        }
        false => text,
    }
}

fn is_below_any(path: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')))
}

/// What is left out of an excluded path: all of it, or the files in it that are not exported.
fn paths_not_exported(
    folder: &Folder,
    path: String,
    exported: &BTreeSet<String>,
) -> Result<Vec<String>, ContentsError> {
    let below = format!("{path}/");
    if !exported.range(below.clone()..).next().is_some_and(|first| first.starts_with(&below)) {
        return Ok(vec![path]);
    }
    let files = folder.subfolder(Path::new(&path))?.walk(&file_globs(&[])?, MAX_FILES)?;
    let files = files.into_iter().map(|entry| format!("{below}{}", entry.path));
    Ok(files.filter(|file| !exported.contains(file)).collect())
}

fn file_globs(excluded: &[String]) -> Result<Globs, ContentsError> {
    let excluded: Vec<&str> = excluded.iter().map(String::as_str).collect();
    let globs = Globs::new(&["**"], &excluded).map_err(|error| ContentsError::Pattern(error.to_string()))?;
    Ok(globs.with_hidden_without_links())
}

/// A pattern in lower case, for names in any: file systems of other people make no difference.
fn case_insensitive_glob(pattern: &str) -> String {
    let mut glob = String::new();
    let mut is_class = false;
    for character in pattern.chars() {
        is_class = character == '[' || is_class && character != ']';
        match character {
            'a'..='z' if is_class => glob.extend([character, character.to_ascii_uppercase()]),
            'a'..='z' => glob.extend(['[', character, character.to_ascii_uppercase(), ']']),
            other => glob.push(other),
        }
    }
    glob
}

/// The hidden files among those that a server reads, from its folder, but for links.
fn hidden_reads<'a>(root: &'a Path, reads: &'a BTreeSet<PathBuf>) -> impl Iterator<Item = String> + 'a {
    let is_own = |path: &&PathBuf| path.is_file() && fs::canonicalize(path).is_ok_and(|real| real == **path);
    let below = reads.iter().filter(is_own).filter_map(move |path| path.strip_prefix(root).ok()?.to_str());
    below.filter(|path| is_hidden(path)).map(str::to_owned)
}

fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
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
        let exported: BTreeSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let is_known = |path: &Path| {
            let below = path.strip_prefix(root).ok().and_then(Path::to_str);
            below.is_some_and(|below| exported.contains(below))
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
