//! `list`, `tree` and `find`: the entries of a folder.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::action::ActionError;
use crate::budget;
use crate::files::{FileInfo, FileKind, FolderEntries, FolderEntry, Globs, WritableFolder, not_utf8_message, rfc3339};
use crate::redact::Redactor;

use super::path::ResolvedPath;
use super::spec::FileOperation;

/// How many entries are listed where nothing else is said, and at most.
pub(super) const DEFAULT_ENTRIES: usize = 1000;
pub(super) const MAX_ENTRIES: usize = 10_000;
/// How deep folders are listed.
const MAX_DEPTH: usize = 64;

/// A listing on its way.
pub(super) struct Listing<'a> {
    pub(super) folders: &'a [WritableFolder],
    pub(super) folder: &'a WritableFolder,
    pub(super) path: &'a ResolvedPath,
    pub(super) globs: Globs,
    pub(super) hidden: bool,
    /// Hides secrets in names before patterns or the order of a listing can tell of them.
    pub(super) redactor: Option<&'a Redactor>,
    /// How many entries may still be added.
    pub(super) remaining: usize,
    /// Whether there were more.
    pub(super) is_truncated: bool,
    /// How many names are left out, as they are not UTF-8.
    pub(super) not_utf8: usize,
}

impl Listing<'_> {
    pub(super) fn entries(&mut self, operation: FileOperation, recursive: bool) -> Result<Vec<Value>, ActionError> {
        let mut entries = Vec::new();
        match operation {
            FileOperation::Tree => entries = self.list_tree("", 0)?,
            FileOperation::Find => self.list_flat("", true, 0, &mut entries)?,
            _ => self.list_flat("", recursive, 0, &mut entries)?,
        }
        Ok(entries)
    }

    /// What it lacks, in words.
    pub(super) fn note(&self, limit: usize) -> Option<String> {
        let cut = self.is_truncated.then(|| format!("[cut: there are more than {limit} entries]"));
        let left_out = (self.not_utf8 > 0).then(|| format!("[{}]", not_utf8_message(self.not_utf8)));
        let notes: Vec<String> = cut.into_iter().chain(left_out).collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }

    fn list_flat(
        &mut self,
        below: &str,
        recursive: bool,
        depth: usize,
        entries: &mut Vec<Value>,
    ) -> Result<(), ActionError> {
        for entry in self.names(below, depth)? {
            budget::tick()?;
            let path = join(below, &entry.name);
            if self.globs.matches(&self.redact(&path)) {
                if !self.count_entry()? {
                    return Ok(());
                }
                entries.push(self.entry(&entry, &path));
            }
            if recursive && self.should_descend(&entry, &path, depth) {
                self.list_flat(&path, recursive, depth + 1, entries)?;
            }
        }
        Ok(())
    }

    fn list_tree(&mut self, below: &str, depth: usize) -> Result<Vec<Value>, ActionError> {
        let mut entries = Vec::new();
        for entry in self.names(below, depth)? {
            budget::tick()?;
            let path = join(below, &entry.name);
            let is_folder = entry.kind == FileKind::Directory;
            let shown = self.redact(&path);
            if !is_folder && !self.globs.matches(&shown) || is_folder && !self.globs.could_match_in(&shown) {
                continue;
            }
            if !self.count_entry()? {
                break;
            }
            let mut value = self.entry(&entry, &path);
            if let (true, Some(value)) = (is_folder, value.as_object_mut()) {
                let inner = if self.should_descend(&entry, &path, depth) {
                    self.list_tree(&path, depth + 1)?
                } else {
                    Vec::new()
                };
                value.insert("entries".to_owned(), inner.into());
            }
            entries.push(value);
        }
        Ok(entries)
    }

    /// The names in a folder; none in one that cannot be read, but for the listed one itself.
    fn names(&mut self, below: &str, depth: usize) -> Result<Vec<FolderEntry>, ActionError> {
        let folder = join(&self.path.relative, below);
        let FolderEntries { entries: mut names, not_utf8 } = match self.folder.entries(&folder, self.hidden) {
            Err(_) if depth > 0 => FolderEntries::default(),
            names => names?,
        };
        self.not_utf8 += not_utf8.iter().filter(|entry| self.may_match_below(entry, below)).count();
        if self.redactor.is_some() {
            names.sort_by_cached_key(|entry| self.redact(&entry.name).into_owned());
        }
        Ok(names)
    }

    /// Whether a name, or one below it, would be listed.
    fn may_match_below(&self, entry: &FolderEntry, below: &str) -> bool {
        let path = join(below, &entry.name);
        let path = self.redact(&path);
        self.globs.matches(&path) || entry.kind == FileKind::Directory && self.globs.could_match_in(&path)
    }

    /// Links are listed and not entered, so that a listing ends.
    fn should_descend(&self, entry: &FolderEntry, path: &str, depth: usize) -> bool {
        let is_folder = entry.kind == FileKind::Directory && !entry.is_link;
        is_folder && depth < MAX_DEPTH && self.remaining > 0 && self.globs.could_match_in(&self.redact(path))
    }

    /// A path without secrets.
    fn redact<'t>(&self, path: &'t str) -> Cow<'t, str> {
        self.redactor.map_or(Cow::Borrowed(path), |redactor| redactor.redact_text(path))
    }

    fn count_entry(&mut self) -> Result<bool, ActionError> {
        if self.remaining == 0 {
            self.is_truncated = true;
            return Ok(false);
        }
        self.remaining -= 1;
        Ok(true)
    }

    fn entry(&self, entry: &FolderEntry, below: &str) -> Value {
        let mut value = Map::new();
        value.insert("name".to_owned(), entry.name.clone().into());
        value.insert("path".to_owned(), self.path.display_path(self.folders, below).into());
        value.insert("type".to_owned(), entry.kind.as_str().into());
        if let Ok(info) = self.folder.info(&join(&self.path.relative, below)) {
            insert_size(&mut value, &info);
        }
        Value::Object(value)
    }
}

/// The size of a file, and when it was written.
pub(super) fn insert_size(value: &mut Map<String, Value>, info: &FileInfo) {
    if info.kind == FileKind::File {
        value.insert("size".to_owned(), info.size.into());
    }
    value.insert("modified".to_owned(), json!(info.modified.map(rfc3339)));
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}
