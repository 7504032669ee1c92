//! `PackTree`, the files of a pack in memory, and the limits that they have.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use icu_normalizer::ComposingNormalizerBorrowed;

use super::marketplace::MARKETPLACE_FILES;
use super::tree_digest::TreeDigest;
use crate::diagnostic::{one_line, quote_names};
use crate::digest::sha256;
use crate::pack_format::served_paths;

/// How many files a pack may have.
pub(super) const MAX_FILES: usize = 10_000;
/// How many files and folders there may be, which a few paths can have many of.
const MAX_NAMES: usize = 100_000;
/// How large they may be together.
pub(super) const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// How large each may be.
pub(super) const MAX_FILE_BYTES: u64 = 16 << 20;
/// The longest path, which every system takes.
const MAX_PATH_BYTES: usize = 1024;
/// The manifests of folio.
const MANIFEST_NAMES: [&str; 2] = ["folio.yaml", "folio.yml"];
/// How many folders a message names.
const MAX_SHOWN_FOLDERS: usize = 10;
/// The longest name in a path.
const MAX_NAME_BYTES: usize = 255;

/// Why files are not a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Too many files.
    #[error("more than {MAX_FILES} files")]
    TooManyFiles,
    /// Too many files and folders.
    #[error("more than {MAX_NAMES} files and folders")]
    TooManyNames,
    /// Too large a file.
    #[error("`{}` is larger than 16 MiB", one_line(path))]
    FileTooLarge {
        /// The file.
        path: String,
    },
    /// Too large together.
    #[error("the files are larger than 64 MiB together")]
    TooLarge,
    /// A path that escapes the folder, or that some system has no name for.
    #[error("unsafe path `{}`", one_line(path))]
    Path { path: String },
    /// Two paths that are one where letters have no case.
    #[error("`{}` and `{}` differ in case alone", one_line(path), one_line(other))]
    CaseConflict { path: String, other: String },
    /// Two paths that are one where letters have several forms (composed accents, `ß` and `ss`), or where characters do not count
    /// (a dot at the end, a joiner).
    #[error("`{}` and `{}` are the same name on some systems", one_line(path), one_line(other))]
    SameName { path: String, other: String },
    /// A file and a folder of one name, or a file twice.
    #[error("`{}` is there twice", one_line(path))]
    Duplicate { path: String },
    /// Too many or too large, even without the files that no format of prompts serves.
    #[error("{error}\nhelp: name one of its folders with `--path`: {}", quote_names(folders))]
    TooLargeAsAWhole {
        error: Box<TreeError>,
        /// The folders with prompts.
        folders: Vec<String>,
    },
    /// Nothing.
    #[error("no files")]
    Empty,
}

impl TreeError {
    /// Whether fewer files would be a pack.
    pub(super) fn is_limit(&self) -> bool {
        use TreeError::{FileTooLarge, TooLarge, TooManyFiles, TooManyNames};
        matches!(self, TooManyFiles | TooManyNames | FileTooLarge { .. } | TooLarge)
    }
}

/// Checks the files of a folder, with their sizes. Where they are more or larger than a pack may be, these are the ones that
/// a format of prompts serves, which are the pack then. A folder with a manifest of folio needs all of its files.
///
/// # Errors
/// They exceed a limit, or a path is not safe.
pub(super) fn check_files<'p>(files: &[(&'p str, u64)]) -> Result<Option<HashSet<&'p str>>, TreeError> {
    let check = |is_kept: &dyn Fn(&str) -> bool| {
        let mut limits = TreeLimits::default();
        files.iter().filter(|(path, _)| is_kept(path)).try_for_each(|(path, size)| limits.add(path, *size))
    };
    let error = match check(&|_| true) {
        Ok(()) => return Ok(None),
        Err(error) => error,
    };
    let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    if !error.is_limit() || paths.iter().any(|path| MANIFEST_NAMES.contains(path)) {
        return Err(error);
    }
    // The widest choice that fits: what a format may read where it is named, or what is found without that.
    for is_auto in [false, true] {
        let served = served_paths(&paths, is_auto);
        let is_kept = |path: &str| served.contains(path) || MARKETPLACE_FILES.contains(&path);
        if !served.is_empty() && check(&is_kept).is_ok() {
            return Ok(Some(paths.into_iter().filter(|path| is_kept(path)).collect()));
        }
    }
    let served = served_paths(&paths, true);
    let folders = served.iter().filter_map(|path| path.split_once('/')).map(|(folder, _)| folder.to_owned());
    let folders: Vec<String> = folders.collect::<BTreeSet<_>>().into_iter().take(MAX_SHOWN_FOLDERS).collect();
    Err(if folders.is_empty() { error } else { TreeError::TooLargeAsAWhole { error: Box::new(error), folders } })
}

/// The files of a pack, by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackTree {
    files: BTreeMap<String, Vec<u8>>,
}

impl PackTree {
    /// Adds a file whose path and size [`TreeLimits::add`] has taken.
    pub fn insert(&mut self, path: String, bytes: Vec<u8>) {
        self.files.insert(path, bytes);
    }

    /// The files, in the order of the bytes of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The files with their bytes.
    pub fn into_files(self) -> impl Iterator<Item = (String, Vec<u8>)> {
        self.files.into_iter()
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// The digest of all files.
    pub fn digest(&self) -> TreeDigest {
        TreeDigest::from_files(self.files().map(|(path, bytes)| (path, sha256(bytes))))
    }
}

/// What the files of a pack have in common: they are not too many, not too large, and have names on every system.
#[derive(Debug, Default)]
pub struct TreeLimits {
    files: usize,
    bytes: u64,
    /// The paths of files and folders as written, by what they are where letters have no case and one form.
    names: HashMap<String, ClaimedPath>,
}

#[derive(Debug)]
struct ClaimedPath {
    path: String,
    is_file: bool,
}

impl TreeLimits {
    /// Takes one more file.
    ///
    /// # Errors
    /// It exceeds a limit, or its path is not safe.
    pub fn add(&mut self, path: &str, size: u64) -> Result<(), TreeError> {
        check_path(path)?;
        self.count(path, size)?;
        self.claim_path(path)
    }

    /// Takes the path of a file, which is safe, and those of its folders.
    ///
    /// # Errors
    /// It is there already, or differs from another in case alone.
    pub(super) fn claim_path(&mut self, path: &str) -> Result<(), TreeError> {
        self.claim_folders_around(path)?;
        self.claim(path, true)
    }

    /// Takes the path of a folder, which is safe, and those around it.
    ///
    /// # Errors
    /// A file is there already, or it differs from another in case alone.
    pub(super) fn claim_folder(&mut self, path: &str) -> Result<(), TreeError> {
        self.claim_folders_around(path)?;
        self.claim(path, false)
    }

    fn claim_folders_around(&mut self, path: &str) -> Result<(), TreeError> {
        path.match_indices('/').filter_map(|(end, _)| path.get(..end)).try_for_each(|folder| self.claim(folder, false))
    }

    /// Counts one more file.
    ///
    /// # Errors
    /// It exceeds a limit.
    pub(super) fn count(&mut self, path: &str, size: u64) -> Result<(), TreeError> {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        if self.files > MAX_FILES {
            return Err(TreeError::TooManyFiles);
        }
        if size > MAX_FILE_BYTES {
            return Err(TreeError::FileTooLarge { path: path.to_owned() });
        }
        if self.bytes > MAX_TOTAL_BYTES { Err(TreeError::TooLarge) } else { Ok(()) }
    }

    /// Takes the path of a file, or of a folder around it.
    fn claim(&mut self, path: &str, is_file: bool) -> Result<(), TreeError> {
        let folded = folded_name(path);
        let Some(claimed) = self.names.get(&folded) else {
            if self.names.len() >= MAX_NAMES {
                return Err(TreeError::TooManyNames);
            }
            self.names.insert(folded, ClaimedPath { path: path.to_owned(), is_file });
            return Ok(());
        };
        if claimed.path != path {
            let (path, other) = (path.to_owned(), claimed.path.clone());
            let differs_in_case = path.to_lowercase() == other.to_lowercase();
            return Err(match differs_in_case {
                true => TreeError::CaseConflict { path, other },
                false => TreeError::SameName { path, other },
            });
        }
        let is_taken = is_file || claimed.is_file;
        if is_taken { Err(TreeError::Duplicate { path: path.to_owned() }) } else { Ok(()) }
    }
}

/// A path without case and in one form, as file systems compare names.
fn folded_name(path: &str) -> String {
    let folded = if path.is_ascii() {
        path.to_ascii_lowercase()
    } else {
        let visible: String = path.chars().filter(|c| !is_ignored_by_hfs(*c)).collect();
        let folded = visible.to_uppercase().to_lowercase();
        ComposingNormalizerBorrowed::new_nfc().normalize(&folded).into_owned()
    };
    folded.split('/').map(name_on_windows).collect::<Vec<_>>().join("/")
}

/// Joiners and marks of direction, which do not count in names on HFS+.
fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// The file that Windows opens under a name in lower case: without dots and spaces at its end, and without the names of the
/// content itself.
fn name_on_windows(name: &str) -> &str {
    let content = ["::$data", "::$index_allocation", ":$i30:$index_allocation"];
    let file = content.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    match file.trim_end_matches(['.', ' ']) {
        "" => name,
        trimmed => trimmed,
    }
}

/// Checks that a path stays below its folder, and is one line of what `sha256sum` prints.
pub(super) fn check_path(path: &str) -> Result<(), TreeError> {
    let is_safe_name = |name: &str| {
        let is_special = matches!(name, "" | "." | "..") || name.eq_ignore_ascii_case(".git");
        !is_special && name.len() <= MAX_NAME_BYTES && !name.eq_ignore_ascii_case("git~1")
    };
    let is_safe_char = |c: char| !c.is_control() && c != '\\' && c != '\u{fffd}';
    let is_safe = path.len() <= MAX_PATH_BYTES && path.chars().all(is_safe_char) && path.split('/').all(is_safe_name);
    if is_safe { Ok(()) } else { Err(TreeError::Path { path: path.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(paths: &[&str]) -> Result<(), TreeError> {
        let mut limits = TreeLimits::default();
        paths.iter().try_for_each(|path| limits.add(path, 1))
    }

    #[test]
    fn unsafe_paths_are_refused() {
        assert_eq!(add(&["a", "b/c", "b/d", ".hidden/x", "-x", "ü", "a b", "..."]), Ok(()));
        for path in [
            "",
            "/a",
            "a/",
            "a//b",
            "..",
            "../a",
            "a/../b",
            "./a",
            ".git/config",
            "a/.GIT/hooks/x",
            "GIT~1",
            "a\\b",
            "a\nb",
            "a\0",
            &"a".repeat(256),
            &"a/".repeat(600),
        ] {
            assert_eq!(add(&[path]), Err(TreeError::Path { path: path.to_owned() }), "{path}");
        }
    }

    #[test]
    fn paths_that_are_one_on_some_systems_are_refused() {
        let case =
            |path: &str, other: &str| Err(TreeError::CaseConflict { path: path.to_owned(), other: other.to_owned() });
        assert_eq!(add(&["README", "readme"]), case("readme", "README"));
        assert_eq!(add(&["A/x", "a/y"]), case("a", "A"));
        assert_eq!(add(&["É", "é"]), case("é", "É"));
        let same =
            |path: &str, other: &str| Err(TreeError::SameName { path: path.to_owned(), other: other.to_owned() });
        assert_eq!(add(&["caf\u{e9}", "cafe\u{301}"]), same("cafe\u{301}", "caf\u{e9}"));
        assert_eq!(add(&["CAF\u{c9}/a", "cafe\u{301}/b"]), same("cafe\u{301}", "CAF\u{c9}"));
        assert_eq!(add(&["stra\u{df}e", "STRASSE"]), same("STRASSE", "stra\u{df}e"));
        assert_eq!(add(&["\u{212a}", "k"]), case("k", "\u{212a}"));
        assert_eq!(add(&["cafe", "caf\u{e9}"]), Ok(()));
        for (one, other) in [("a.md", "a.md."), ("a", "A. ."), ("a\u{200d}b", "ab"), ("x", "x::$DATA"), ("a./b", "a/c")]
        {
            assert!(matches!(add(&[one, other]), Err(TreeError::SameName { .. })), "{one} {other}");
        }
        assert_eq!(add(&["sc:build.md", "sc:test.md", "sc", "...", "....", " "]), Ok(()));
        assert_eq!(add(&["a", "a/b"]), Err(TreeError::Duplicate { path: "a".to_owned() }));
        assert_eq!(add(&["a/b", "a"]), Err(TreeError::Duplicate { path: "a".to_owned() }));
    }

    #[test]
    fn sizes_and_counts_are_limited() {
        let mut limits = TreeLimits::default();
        assert_eq!(limits.add("a", MAX_FILE_BYTES), Ok(()));
        assert_eq!(limits.add("b", MAX_FILE_BYTES + 1), Err(TreeError::FileTooLarge { path: "b".to_owned() }));
        let mut limits = TreeLimits::default();
        let sizes = (0..5).map(|nth| limits.add(&nth.to_string(), MAX_FILE_BYTES)).collect::<Vec<_>>();
        assert_eq!(sizes, [Ok(()), Ok(()), Ok(()), Ok(()), Err(TreeError::TooLarge)]);
        let mut limits = TreeLimits::default();
        let admitted = (0..=MAX_FILES).map(|nth| limits.add(&nth.to_string(), 0)).collect::<Vec<_>>();
        assert_eq!(admitted.iter().filter(|outcome| outcome.is_ok()).count(), MAX_FILES);
        assert_eq!(admitted.last(), Some(&Err(TreeError::TooManyFiles)));
        let mut limits = TreeLimits::default();
        let names_each = 20;
        let mut paths = (0..).map(|nth| nth.to_string() + &"/x".repeat(names_each - 1));
        assert_eq!(paths.find_map(|path| limits.add(&path, 0).err()), Some(TreeError::TooManyNames));
        assert_eq!(paths.next(), Some((MAX_NAMES / names_each + 1).to_string() + &"/x".repeat(names_each - 1)));
    }
}
