//! What one load has found: faults, trees, and the files on which it depends.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use crate::diagnostic::{FileId, Report};
use crate::yaml::{Documents, decode};

/// Everything that a load finds, from the first file to the last entry.
#[derive(Debug, Default)]
pub struct Findings {
    /// The faults, and the texts that they stand in.
    pub report: Report,
    /// The trees.
    pub documents: Documents,
    /// The files and folders that were read or looked for.
    pub dependencies: LoadDependencies,
    /// The digests of what files held that became part of entries, in the order of reading: one that is read twice
    /// stands there twice.
    pub content_digests: Vec<[u8; 32]>,
    decoded: HashMap<String, FileId>,
    /// Whether programs were found, by their names and where they were looked for.
    programs: HashMap<(String, String), bool>,
}

impl Findings {
    /// Whether a program is on a search path; looked for once in a load.
    pub fn has_program(&mut self, program: &str, search_path: &str, find: impl FnOnce() -> bool) -> bool {
        let asked = (program.to_owned(), search_path.to_owned());
        *self.programs.entry(asked).or_insert_with(find)
    }

    /// Keeps the text of a file, once however often it is read.
    pub fn decode(&mut self, bytes: &[u8], shown: &str) -> Option<FileId> {
        if let Some(known) = self.decoded.get(shown) {
            return Some(*known);
        }
        let file = decode(bytes, shown, &mut self.report)?;
        self.decoded.insert(shown.to_owned(), file);
        Some(file)
    }
}

/// What must change for a load to come out otherwise: absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadDependencies {
    /// Files that were read, or looked for in vain.
    pub files: BTreeSet<PathBuf>,
    /// Folders whose entries matter.
    pub folders: BTreeSet<PathBuf>,
}

impl LoadDependencies {
    /// Adds a file.
    pub fn add_file(&mut self, path: PathBuf) {
        self.files.insert(path);
    }

    /// Adds a folder.
    pub fn add_folder(&mut self, path: PathBuf) {
        self.folders.insert(path);
    }
}
