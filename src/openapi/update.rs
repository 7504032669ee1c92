//! What becomes of a folder: everything anew, or `--update`, which keeps what its author changed.
//!
//! `.folio-openapi.json` holds a digest of each entry as it was written. An entry that still has it is nobody's work,
//! and is written again; every other stays as it stands, to the letter.

mod outline;

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::import::Import;
use super::manifest::{GeneratedEntry, GeneratedFile};
use crate::diagnostic::Report;
use crate::digest::Digest;
use outline::Outline;

/// The file that says what was written.
pub const RECORD_PATH: &str = ".folio-openapi.json";

/// A file as it is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// The path, relative to the folder of the server, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// What happened to an entry, if it is worth reporting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryOutcome {
    /// It is new.
    Added,
    /// It was written again, as the description changed.
    Refreshed,
    /// It was changed by hand, and stays as it is.
    KeptEdited,
    /// It was deleted by hand, and is not written again.
    Deleted,
    /// The description has it no more. It stays as it is.
    Orphaned,
    /// Somebody wrote an entry of that name, which stays as it is.
    NameTaken,
}

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPlan {
    /// The files that change.
    pub files: Vec<FilePlan>,
    /// What happened to entries, as `tools/NAME`.
    pub outcomes: Vec<(EntryOutcome, String)>,
}

/// Why a folder cannot be updated.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// Nobody knows what was written here.
    #[error("missing `{RECORD_PATH}`: nothing was imported into this folder\nhelp: leave out `--update`")]
    NoRecord,
    /// The record is invalid.
    #[error("invalid `{RECORD_PATH}`")]
    InvalidRecord(#[source] serde_json::Error),
    /// A file cannot be read.
    #[error("could not read `{path}`")]
    Unreadable {
        /// The path.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is no YAML any more.
    #[error("invalid YAML in `{path}`")]
    InvalidYaml {
        /// The path.
        path: String,
        /// Where.
        report: Box<Report>,
    },
    /// What would be written could not be read again.
    #[error("`{path}` is laid out in a way that cannot be extended\nhelp: write each entry on lines of its own")]
    Layout {
        /// The path.
        path: String,
    },
}

/// Reads a file of the folder: `None` where there is none.
pub type FolderReader<'r> = dyn Fn(&str) -> std::io::Result<Option<String>> + 'r;

/// Entries by file, and by `section/name`: the digests of what was written.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ImportRecord {
    about: String,
    entries: IndexMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    choices: ImportChoices,
}

/// What an import chose and named, so that an update takes the same operations, and no name gets another meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportChoices {
    /// The patterns of `--only`; empty for all operations.
    pub(super) only: Vec<String>,
    /// The names of tools, by method and path.
    pub(super) tools: BTreeMap<String, String>,
    /// The names of connections, by their base and security schemes.
    pub(super) connections: BTreeMap<String, String>,
    /// The variables of URLs, by their default.
    pub(super) urls: BTreeMap<String, String>,
    /// The variables of security schemes.
    pub(super) schemes: BTreeMap<String, Vec<String>>,
}

/// What an earlier import chose and named. Nothing where there is no valid record.
pub fn recorded_choices(record: &str) -> ImportChoices {
    let mut record: ImportRecord = serde_json::from_str(record).unwrap_or_default();
    let mut choices = std::mem::take(&mut record.choices);
    choices.tools.retain(|_, name| record.file_of(&format!("tools/{name}")).is_some());
    choices
}

impl ImportRecord {
    fn empty() -> ImportRecord {
        let about = "What `folio init --openapi` wrote: `--update` keeps entries that differ. Keep it with the folder.";
        ImportRecord { about: about.to_owned(), entries: IndexMap::new(), choices: ImportChoices::default() }
    }

    fn insert(&mut self, file: &str, key: String, digest: String) {
        self.entries.entry(file.to_owned()).or_default().insert(key, digest);
    }

    fn digest(&self, file: &str, key: &str) -> Option<&String> {
        self.entries.get(file)?.get(key)
    }

    fn file_of(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(_, entries)| entries.contains_key(key)).map(|(file, _)| file.as_str())
    }

    /// Keeps what was chosen, with what was chosen before, and the names of tools that were written.
    fn choose(&mut self, earlier: &ImportChoices, choices: &ImportChoices) {
        let mut all = earlier.clone();
        // Once all operations were taken, all of them are updated.
        let is_narrower = *earlier != ImportChoices::default() && earlier.only.is_empty();
        let added = choices.only.iter().filter(|pattern| !is_narrower && !earlier.only.contains(pattern));
        all.only.extend(added.cloned());
        let written = choices.tools.iter().filter(|(_, name)| self.file_of(&format!("tools/{name}")).is_some());
        all.tools.extend(written.map(|(key, name)| (key.clone(), name.clone())));
        all.connections.extend(choices.connections.clone());
        all.urls.extend(choices.urls.clone());
        all.schemes.extend(choices.schemes.clone());
        self.choices = all;
    }

    fn plan(&self) -> FilePlan {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        FilePlan { path: RECORD_PATH.to_owned(), text }
    }
}

/// What tells an entry from an edited one, whatever lines end with.
fn digest(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    format!("{:016x}", Digest::new("openapi entry").chain_update(text.trim_end().as_bytes()).finish_u64())
}

impl Import {
    /// The files of a folder in which nothing stands yet.
    pub fn plan_new(&self) -> FolderPlan {
        let mut record = ImportRecord::empty();
        for (file, key, entry) in self.entries() {
            record.insert(&file.path, key, digest(&entry.text));
        }
        record.choose(&ImportChoices::default(), &self.choices);
        let files = self.files.iter().map(|file| FilePlan { path: file.path.clone(), text: file.text() });
        FolderPlan { files: files.chain([record.plan()]).collect(), outcomes: Vec::new() }
    }

    /// The files that change in a folder into which a description was imported before. `fragments` are the paths of
    /// those that stand there, from whatever hand.
    ///
    /// # Errors
    /// What stands there cannot be read, so that nobody could tell what would be lost.
    pub fn plan_update(&self, fragments: &[String], read: &FolderReader<'_>) -> Result<FolderPlan, UpdateError> {
        let record = read_file(RECORD_PATH, read)?.ok_or(UpdateError::NoRecord)?;
        let record: ImportRecord = serde_json::from_str(&record).map_err(UpdateError::InvalidRecord)?;
        let mut paths: Vec<&str> = record.entries.keys().map(String::as_str).collect();
        paths.extend(
            self.files.iter().map(|file| file.path.as_str()).filter(|path| !record.entries.contains_key(*path)),
        );
        paths.extend(fragments.iter().map(String::as_str));
        let mut updater = Updater::new(self, &record);
        for path in paths.iter().copied().filter(|path| is_import_path(path)) {
            if updater.outlines.contains_key(path) {
                continue;
            }
            if let Some(text) = read_file(path, read)? {
                updater.outlines.insert(path.to_owned(), (Outline::parse(path, &text)?, text));
            }
        }
        updater.refresh_all();
        updater.add_new();
        updater.finish()
    }

    /// The tool of this import that a line of a file belongs to, counted from 1.
    pub fn tool_at(&self, path: &str, text: &str, line: usize) -> Option<String> {
        let key = Outline::parse(path, text).ok()?.key_at(line)?;
        let name = key.strip_prefix("tools/")?;
        self.choices.tools.values().any(|tool| tool == name).then(|| name.to_owned())
    }

    /// Every entry with its file, and its section and name as one key.
    fn entries(&self) -> impl Iterator<Item = (&GeneratedFile, String, &GeneratedEntry)> {
        let sections = self.files.iter().flat_map(|file| file.sections.iter().map(move |section| (file, section)));
        sections.flat_map(|(file, section)| {
            section.entries.iter().map(move |entry| (file, format!("{}/{}", section.key, entry.name), entry))
        })
    }
}

fn read_file(path: &str, read: &FolderReader<'_>) -> Result<Option<String>, UpdateError> {
    read(path).map_err(|source| UpdateError::Unreadable { path: path.to_owned(), source })
}

/// Whether a path is one that an import writes: a record that was edited leads nowhere else.
fn is_import_path(path: &str) -> bool {
    let fragment = path.strip_prefix("tools/").and_then(|name| name.strip_suffix(".yaml"));
    path == super::manifest::MANIFEST_PATH
        || fragment.is_some_and(|stem| {
            !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
}

struct Updater<'i> {
    import: &'i Import,
    old: &'i ImportRecord,
    new: ImportRecord,
    generated: HashMap<String, &'i GeneratedEntry>,
    /// The files that stand there, with what they held.
    outlines: IndexMap<String, (Outline, String)>,
    new_files: Vec<GeneratedFile>,
    outcomes: Vec<(EntryOutcome, String)>,
}

impl<'i> Updater<'i> {
    fn new(import: &'i Import, old: &'i ImportRecord) -> Updater<'i> {
        // Records of earlier versions do not say what stood in `server`.
        let is_recorded = |key: &str| !key.starts_with("server/") || old.file_of("server/name").is_some();
        let entries = import.entries().filter(|(_, key, _)| is_recorded(key));
        let generated = entries.map(|(_, key, entry)| (key, entry)).collect();
        let (outlines, new_files, outcomes) = (IndexMap::new(), Vec::new(), Vec::new());
        Updater { import, old, new: ImportRecord::empty(), generated, outlines, new_files, outcomes }
    }

    /// Writes again what nobody has touched.
    fn refresh_all(&mut self) {
        let keys = |(path, (outline, _)): (&String, &(Outline, String))| {
            outline.keys().into_iter().map(|key| (path.clone(), key)).collect::<Vec<_>>()
        };
        let all: Vec<(String, String)> = self.outlines.iter().flat_map(keys).collect();
        for (path, key) in all {
            let text =
                self.outlines.get(&path).and_then(|(outline, _)| outline.text(&key)).unwrap_or_default().to_owned();
            let replacement = self.refresh(&path, &key, &text);
            if let (Some(replacement), Some((outline, _))) = (replacement, self.outlines.get_mut(&path)) {
                outline.replace(&key, &replacement);
            }
        }
    }

    /// Whether an entry stands in a file.
    fn contains_entry(&self, path: &str, key: &str) -> bool {
        self.outlines.get(path).is_some_and(|(outline, _)| outline.text(key).is_some())
    }

    /// What takes the place of an entry; `None` where it stays.
    fn refresh(&mut self, path: &str, key: &str, text: &str) -> Option<String> {
        let generated = self.generated.get(key).copied();
        // An entry may have been moved from where it was written.
        let moved = || self.old.file_of(key).filter(|from| !self.contains_entry(from, key));
        let recorded = self.old.digest(path, key).or_else(|| self.old.digest(moved()?, key));
        let Some(recorded) = recorded else {
            if generated.is_some() && self.old.file_of(key).is_none() {
                self.outcomes.push((EntryOutcome::NameTaken, key.to_owned()));
            }
            return None;
        };
        let untouched = digest(text) == *recorded;
        let Some(generated) = generated else {
            self.new.insert(path, key.to_owned(), recorded.clone());
            let name = key.strip_prefix("tools/");
            if name.is_some_and(|name| !self.import.known_tools.iter().any(|known| known == name)) {
                self.outcomes.push((EntryOutcome::Orphaned, key.to_owned()));
            }
            return None;
        };
        if untouched || digest(text) == digest(&generated.text) {
            self.new.insert(path, key.to_owned(), digest(&generated.text));
            let changed = digest(text) != digest(&generated.text);
            self.outcomes.extend(changed.then(|| (EntryOutcome::Refreshed, key.to_owned())));
            return changed.then(|| generated.text.clone());
        }
        self.new.insert(path, key.to_owned(), recorded.clone());
        self.outcomes.push((EntryOutcome::KeptEdited, key.to_owned()));
        None
    }

    /// Adds what is new, at the end of its section.
    fn add_new(&mut self) {
        let import = self.import;
        for (file, key, entry) in import.entries() {
            let stands = self.outlines.values().any(|(outline, _)| outline.text(&key).is_some());
            if stands || !self.generated.contains_key(&key) {
                continue;
            }
            if let Some(path) = self.old.file_of(&key) {
                let recorded = self.old.digest(path, &key).cloned().unwrap_or_default();
                self.new.insert(path, key.clone(), recorded);
                self.outcomes.push((EntryOutcome::Deleted, key));
                continue;
            }
            self.new.insert(&file.path, key.clone(), digest(&entry.text));
            match self.outlines.get_mut(&file.path) {
                Some((outline, _)) => outline.append(&key, &entry.text),
                None => self.add_to_new_file(file, &key, entry),
            }
            self.outcomes.push((EntryOutcome::Added, key));
        }
    }

    /// Adds an entry to a file that is not there yet.
    fn add_to_new_file(&mut self, file: &GeneratedFile, key: &str, entry: &GeneratedEntry) {
        if !self.new_files.iter().any(|new_file| new_file.path == file.path) {
            let mut new_file = file.clone();
            new_file.sections.iter_mut().for_each(|section| section.entries.clear());
            self.new_files.push(new_file);
        }
        let new_file = self.new_files.iter_mut().find(|new_file| new_file.path == file.path);
        let section = key.split('/').next().unwrap_or_default();
        let section = new_file.and_then(|new_file| new_file.sections.iter_mut().find(|known| known.key == section));
        if let Some(section) = section {
            section.entries.push(entry.clone());
        }
    }

    fn finish(mut self) -> Result<FolderPlan, UpdateError> {
        // What was recorded of files that are gone stays known to be deleted.
        let old = self.old.entries.iter();
        let all = old.flat_map(|(path, entries)| entries.iter().map(move |(key, digest)| (path, key, digest)));
        for (path, key, digest) in all {
            if self.new.file_of(key).is_none() {
                self.new.insert(path, key.clone(), digest.clone());
            }
        }
        self.new.choose(&self.old.choices, &self.import.choices);
        let mut files = Vec::new();
        for (path, (outline, before)) in &self.outlines {
            let text = outline.to_text();
            if text != *before {
                outline.check(path, &text)?;
                files.push(FilePlan { path: path.clone(), text });
            }
        }
        files.extend(self.new_files.iter().map(|file| FilePlan { path: file.path.clone(), text: file.text() }));
        files.push(self.new.plan());
        Ok(FolderPlan { files, outcomes: self.outcomes })
    }
}
