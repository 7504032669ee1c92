//! The context of one load: diagnostics, trees, and the files on which it depends.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use indexmap::IndexSet;

use super::GrantUse;
use super::MAX_FILE_BYTES;
use super::SandboxUse;
use super::coverage::LoadCoverage;
use crate::diagnostic::{Code, Diagnostic, FileId, Report, Reporting, SourceFile, SourceMap, Span};
use crate::files::{FileError, FileStamp, Folder};
use crate::yaml::{Document, Documents, Location, decode};

/// Why a program cannot be started now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFault {
    /// It is not on `PATH`.
    NotFound,
    /// What its first line names is not there, in these words.
    NoInterpreter(String),
}

/// How many entries there are, and how many arguments they have together.
#[derive(Debug, Default)]
pub struct EntryCount {
    pub entries: usize,
    pub arguments: usize,
}

/// The context of one load.
#[derive(Debug, Default)]
pub struct LoadContext {
    /// The diagnostics and their sources.
    pub report: Report,
    /// The trees.
    pub documents: Documents,
    /// The files and folders that were read or looked for.
    pub dependencies: LoadDependencies,
    /// The digests of the files that are part of entries, in the order of reading, with repetitions.
    pub content_digests: Vec<[u8; 32]>,
    /// The names of the connections that requests use.
    pub used_keys: HashSet<Location>,
    /// The commands that print values of variables, each with its arguments.
    pub commands: Vec<Vec<String>>,
    /// The programs that have a sandbox.
    pub sandboxes: Vec<SandboxUse>,
    /// What packs from elsewhere would do.
    pub grant_uses: Vec<GrantUse>,
    /// The files of prompts of other programs, in packs from elsewhere, that name neither commands nor files.
    pub text_only_files: HashSet<FileId>,
    /// Whether the load is given up.
    pub outdated: OutdatedCheck,
    /// How many packs were imported.
    pub import_count: usize,
    /// How much packs from elsewhere have with those that they import, by their keys.
    pub locked_entry_counts: HashMap<String, EntryCount>,
    /// Whether the served manifest says who calls over HTTP, so that `scopes`, `roles` and `permit` apply there.
    pub has_auth: bool,
    /// The headers that clients send for templates of the served manifest, in lower case.
    pub caller_headers: BTreeSet<String>,
    /// Whether the source of an own pack is not valid, so that it is not known which pack is meant.
    pub has_invalid_source: bool,
    /// Texts that are read instead of files.
    pub buffers: FileBuffers,
    /// The parts of the manifest, where it is recorded which of them are reached.
    pub coverage: Option<LoadCoverage>,
    files_by_path: HashMap<String, FileId>,
    /// What is wrong with programs, by name and search path.
    programs: HashMap<(String, String), Option<ProgramFault>>,
}

/// Whether a load is given up, as its files have changed since it began: it ends early, and its outcome is not used.
#[derive(Clone, Default)]
pub struct OutdatedCheck(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl OutdatedCheck {
    /// That of a load whose files have changed once `is_outdated` is true.
    pub fn new(is_outdated: impl Fn() -> bool + Send + Sync + 'static) -> OutdatedCheck {
        OutdatedCheck(Some(Arc::new(is_outdated)))
    }

    /// Whether they have. It is cheap as long as no event says so.
    pub fn is_outdated(&self) -> bool {
        self.0.as_ref().is_some_and(|is_outdated| is_outdated())
    }
}

impl std::fmt::Debug for OutdatedCheck {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OutdatedCheck").finish_non_exhaustive()
    }
}

/// How much was read and registered so far: the same before and after a compilation that depends on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadContextCounts([usize; 10]);

impl Reporting for LoadContext {
    fn report(&mut self) -> &mut Report {
        &mut self.report
    }
}

impl LoadContext {
    /// How much was read and registered so far.
    pub fn counts(&self) -> LoadContextCounts {
        let LoadContext {
            // What is said.
            report: _,
            // Each has a source.
            documents: _,
            text_only_files: _,
            outdated: _,
            // Counted before any compilation.
            import_count: _,
            locked_entry_counts: _,
            has_auth: _,
            caller_headers: _,
            // It has a diagnostic.
            has_invalid_source: _,
            dependencies: LoadDependencies { files, folders, workspace },
            content_digests,
            used_keys,
            commands,
            sandboxes,
            grant_uses,
            buffers: _,
            coverage: _,
            files_by_path,
            programs,
        } = self;
        LoadContextCounts([
            files.len(),
            folders.len(),
            usize::from(workspace.is_some()),
            content_digests.len(),
            used_keys.len(),
            commands.len(),
            sandboxes.len(),
            grant_uses.len(),
            files_by_path.len(),
            programs.len(),
        ])
    }

    /// Reports an error.
    pub fn error(&mut self, code: Code, at: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.report.error(code, at, message)
    }

    /// Reports a warning.
    pub fn warning(&mut self, code: Code, at: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.report.warning(code, at, message)
    }

    /// Reports a note.
    pub fn note(&mut self, code: Code, at: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.report.note(code, at, message)
    }

    /// Nothing found yet, with texts instead of files.
    pub fn with_buffers(buffers: FileBuffers) -> LoadContext {
        LoadContext { buffers, ..LoadContext::default() }
    }

    /// What is wrong with a program on a search path; looked at once in a load.
    pub fn program_fault(
        &mut self,
        program: &str,
        search_path: &str,
        find: impl FnOnce() -> Option<ProgramFault>,
    ) -> Option<ProgramFault> {
        let key = (program.to_owned(), search_path.to_owned());
        self.programs.entry(key).or_insert_with(find).clone()
    }

    /// The programs that were looked at, by name.
    pub fn programs(&self) -> BTreeSet<String> {
        self.programs.keys().map(|(program, _)| program.clone()).collect()
    }

    /// The bytes of a file, or of the text in its place.
    ///
    /// # Errors
    /// It is not there, is unreadable, or is too large.
    pub fn read(&self, folder: &Folder, path: &Path) -> Result<Vec<u8>, FileError> {
        self.read_up_to(MAX_FILE_BYTES, folder, path)
    }

    /// The same with another limit.
    ///
    /// # Errors
    /// It is not there, is unreadable, or is too large.
    pub fn read_up_to(&self, limit: u64, folder: &Folder, path: &Path) -> Result<Vec<u8>, FileError> {
        match self.buffers.get(&folder.path().join(path)) {
            Some(text) => Ok(text.to_vec()),
            None => folder.read(path, limit),
        }
    }

    /// The same with the stamp of the file, where that tells every later version from this one.
    ///
    /// # Errors
    /// It is not there, is unreadable, or is too large.
    pub fn read_with_stamp(&self, folder: &Folder, path: &Path) -> Result<(Vec<u8>, Option<FileStamp>), FileError> {
        if let Some(text) = self.buffers.get(&folder.path().join(path)) {
            return Ok((text.to_vec(), None));
        }
        let began = SystemTime::now();
        let open = folder.open_file(path)?;
        let stamp = Some(open.stamp()).filter(|stamp| !stamp.is_ambiguous_between(began, SystemTime::now()));
        Ok((open.read(MAX_FILE_BYTES)?, stamp))
    }

    /// The context of one file that is read apart from the others of this load, in which it has this id.
    pub fn for_file(&self, file: FileId) -> LoadContext {
        LoadContext {
            report: Report::with_sources(SourceMap::starting_at(file)),
            outdated: self.outdated.clone(),
            buffers: self.buffers.clone(),
            ..LoadContext::default()
        }
    }

    /// Adds what was found in a file that was read apart: the next one of this load.
    pub fn extend(&mut self, next: LoadContext) {
        let LoadContext { report, documents, dependencies, files_by_path, .. } = next;
        self.report.extend_with_files(report);
        self.documents.extend(documents);
        self.dependencies.files.extend(dependencies.files);
        self.files_by_path.extend(files_by_path);
    }

    /// Whether a file of this path is part of the load already.
    pub fn has_file(&self, display_path: &str) -> bool {
        self.files_by_path.contains_key(display_path)
    }

    /// Adds a file that an earlier load has decoded and parsed, unless this one has it already. It must get the id that
    /// it had.
    pub fn add_parsed_file(&mut self, source: &Arc<SourceFile>, document: Option<&Arc<Document>>) -> bool {
        let display_path = source.path().to_string_lossy();
        if self.files_by_path.contains_key(display_path.as_ref()) {
            return false;
        }
        let file = self.report.sources.share(source.clone());
        self.files_by_path.insert(display_path.into_owned(), file);
        if let Some(document) = document {
            self.documents.share(document.clone());
        }
        true
    }

    /// Decodes a file, once even if it is read again.
    pub fn decode(&mut self, bytes: &[u8], display_path: &str) -> Option<FileId> {
        if let Some(known) = self.files_by_path.get(display_path) {
            return Some(*known);
        }
        let file = decode(bytes, display_path, &mut self.report)?;
        self.files_by_path.insert(display_path.to_owned(), file);
        Some(file)
    }
}

/// Texts instead of files, by absolute path: what an editor has not saved yet.
#[derive(Debug, Clone, Default)]
pub struct FileBuffers {
    texts: HashMap<PathBuf, Arc<[u8]>>,
}

impl FileBuffers {
    /// Sets a text instead of a file, by its absolute path without links.
    pub fn insert(&mut self, path: PathBuf, text: impl Into<Arc<[u8]>>) {
        self.texts.insert(path, text.into());
    }

    /// Sets a text instead of a file by any path to it. Where that is a link, the text stands in for what it leads to.
    ///
    /// # Errors
    /// Its folder is not found.
    pub fn insert_file(&mut self, path: &Path, text: impl Into<Arc<[u8]>>) -> io::Result<()> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        self.insert(fs::canonicalize(folder)?.join(name), text);
        Ok(())
    }

    /// The text instead of a file.
    pub fn get(&self, path: &Path) -> Option<&Arc<[u8]>> {
        self.texts.get(path)
    }

    /// The paths of the files that have one.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.texts.keys().map(PathBuf::as_path)
    }
}

/// The absolute paths that a load depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadDependencies {
    /// Files that were read or not found.
    pub files: IndexSet<PathBuf>,
    /// Folders whose entries matter.
    pub folders: IndexSet<PathBuf>,
    /// The folder of `{{workspace}}`, if that is used.
    pub workspace: Option<PathBuf>,
}

impl LoadDependencies {
    /// What to watch after a load, which becomes `last`: a broken manifest may not reach the file with the fix, so those of
    /// the load before are watched too.
    pub fn to_watch(&self, last: &mut LoadDependencies, is_broken: bool) -> LoadDependencies {
        let earlier = std::mem::replace(last, self.clone());
        if is_broken {
            last.files.extend(earlier.files);
            last.folders.extend(earlier.folders);
        }
        last.clone()
    }
}
