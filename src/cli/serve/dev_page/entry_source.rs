//! The source of an entry: its YAML, and the files that it consists of.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::declared_entry::{entry_around, parsed_file};
use super::page_state::{PageState, redacted};
use super::partial_uses::partials_of_texts;
use crate::catalog::PackPlace;
use crate::dev_page::{DevPageError, PageEntry};
use crate::diagnostic::{FileId, Report, SourceFile};
use crate::files::normalize;
use crate::yaml::{Document, Location, parse_front_matter};

/// The largest file in bytes that is shown.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// How many files of an entry are shown.
const MAX_FILES: usize = 50;

/// A text that an entry consists of.
#[derive(Debug, Serialize)]
struct SourcePart {
    role: SourceRole,
    title: String,
    /// As messages show it.
    file: String,
    /// The same, absolute.
    path: PathBuf,
    /// The line in the file at which the text begins.
    line: u32,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum SourceRole {
    /// What is written in the manifest.
    Entry,
    Template,
    Partial,
    File,
    Script,
}

/// Answers `source`.
///
/// # Errors
/// There is no such entry.
pub(in crate::cli::serve) fn entry_source(state: &Arc<PageState>, entry: &PageEntry) -> Result<Value, DevPageError> {
    let found = |state: &Arc<PageState>| Some((state.clone(), state.location_of(entry)?));
    let (state, at) =
        found(state).or_else(|| found(state.served())).ok_or_else(|| DevPageError::UnknownEntry(entry.clone()))?;
    let parts = EntryFiles::find(&state, at, entry).map(EntryFiles::into_parts);
    let answer = json!({ "parts": parts.ok_or_else(|| DevPageError::UnknownEntry(entry.clone()))? });
    redacted(&answer, &state.redactor)
}

/// Collects the files of an entry.
struct EntryFiles<'s> {
    state: &'s PageState,
    pack: Option<(&'s PackPlace, &'s Path)>,
    parts: Vec<SourcePart>,
}

/// A file that an entry names.
struct NamedFile {
    path: String,
    is_script: bool,
}

impl<'s> EntryFiles<'s> {
    fn find(state: &'s PageState, at: Location, entry: &PageEntry) -> Option<EntryFiles<'s>> {
        let source = state.report.sources.get(at.file())?;
        let mut files = EntryFiles { state, pack: state.places.pack_of(source.path()), parts: Vec::new() };
        let document = parsed_file(&state.report, at.file());
        let written = document.as_ref().and_then(|document| {
            let (_, found) = entry_around(document, at.span().start)?;
            let text = written_lines(source.text(), document.location(found.key), document.location(found.value))?;
            Some((text, document.json(found.value)))
        });
        let (range, value) = written.unwrap_or_else(|| {
            let value = front_matter(state, at.file()).map(|document| document.json(document.root()));
            (0..source.text().len(), value.unwrap_or_default())
        });
        let text = source.text().get(range.clone())?.trim_end().to_owned();
        let line = source.position(u32::try_from(range.start).unwrap_or(u32::MAX)).line;
        files.add(SourceRole::Entry, entry.id.clone(), source, line, text);
        let mut named = Vec::new();
        find_files(&value, false, &mut named);
        named.into_iter().take(MAX_FILES).for_each(|file| files.add_named(file));
        files.add_partials();
        Some(files)
    }

    fn into_parts(self) -> Vec<SourcePart> {
        self.parts
    }

    fn add(&mut self, role: SourceRole, title: String, source: &SourceFile, line: u32, text: String) {
        let (file, path) = (source.path().display().to_string(), self.state.absolute_path(source));
        self.parts.push(SourcePart { role, title, file, path, line, text });
    }

    /// Adds a file that the entry names, if it is a text of its pack.
    fn add_named(&mut self, NamedFile { path, is_script }: NamedFile) {
        let Some((pack, manifest)) = self.pack else { return };
        let base = manifest.parent().unwrap_or(Path::new(""));
        let Ok(relative) = normalize(&base.join(&path).to_string_lossy()) else { return };
        let shown = format!("{}{}", pack.display_prefix, relative.display());
        if self.parts.iter().any(|part| part.file == shown) {
            return;
        }
        let known = self.state.report.sources.iter().find(|source| source.path() == Path::new(&shown));
        let text = known.map(|source| source.text().to_string());
        let role = match (is_script, &text) {
            (true, _) => SourceRole::Script,
            (false, Some(_)) => SourceRole::Template,
            (false, None) => SourceRole::File,
        };
        let read = || String::from_utf8(pack.folder.read(&relative, MAX_FILE_BYTES).ok()?).ok();
        let Some(text) = text.or_else(read) else { return };
        let absolute = pack.absolute(&relative);
        self.parts.push(SourcePart { role, title: path, file: shown, path: absolute, line: 1, text });
    }

    fn add_partials(&mut self) {
        let Some((pack, _)) = self.pack else { return };
        let is_template = |part: &&SourcePart| matches!(part.role, SourceRole::Entry | SourceRole::Template);
        let texts: Vec<String> = self.parts.iter().filter(is_template).map(|part| part.text.clone()).collect();
        for (name, file) in partials_of_texts(self.state, pack, &texts) {
            if let Some(source) = self.state.report.sources.get(file) {
                self.add(SourceRole::Partial, name.to_owned(), source, 1, source.text().to_string());
            }
        }
    }
}

/// The lines of an entry, or its bytes where other entries are on them.
fn written_lines(text: &str, key: Location, value: Location) -> Option<std::ops::Range<usize>> {
    let (start, end) = (key.span().start as usize, (value.span().end as usize).max(key.span().end as usize));
    let line_start = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let is_alone = text.get(line_start..start)?.trim().is_empty();
    let line_end = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at);
    let ends_line = text.get(..end)?.ends_with('\n');
    match (is_alone, ends_line) {
        (true, true) => Some(line_start..end),
        (true, false) => Some(line_start..line_end),
        (false, _) => Some(start..end),
    }
}

fn front_matter(state: &PageState, file: FileId) -> Option<Document> {
    let mut of_file = Report::with_sources(state.report.sources.clone());
    parse_front_matter(file, &mut of_file)?.0
}

/// Keys whose value is the path of a file.
const FILE_KEYS: [&str; 3] = ["file", "image", "audio"];

/// The files that a value of the manifest names, and not by a template.
fn find_files(value: &Value, in_script: bool, found: &mut Vec<NamedFile>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| find_files(item, in_script, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_script = in_script || key == "script";
                match value {
                    Value::String(path) if FILE_KEYS.contains(&key.as_str()) && !path.contains("{{") => {
                        found.push(NamedFile { path: path.clone(), is_script });
                    }
                    Value::Array(argv) if key == "exec" => {
                        let words = argv.iter().filter_map(Value::as_str);
                        let paths = words.filter(|word| is_path_of_program(word));
                        found.extend(paths.map(|path| NamedFile { path: path.to_owned(), is_script: true }));
                    }
                    other => find_files(other, is_script, found),
                }
            }
        }
        _ => {}
    }
}

/// Whether a word of a command may be a file of the pack.
fn is_path_of_program(word: &str) -> bool {
    !word.contains("{{") && !word.starts_with(['-', '/']) && Path::new(word).extension().is_some()
}
