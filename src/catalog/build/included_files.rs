//! Reads the included files of packs, on all cores, and compiles those of plain prompts as soon as they are read.
//!
//! A plain prompt is a text with arguments: what it is compiled to depends on its file, and on what it sees of its pack.
//! Once that is done nothing else of the file is needed. Its tree is dropped, and a later load takes the prompts as they
//! are while the file and the pack are the same. Other files are parsed here, and compiled with the rest of their pack.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::build::unused_names::{self, UnusedName};
use crate::catalog::entry::pack_names;
use crate::catalog::listing::entry_name::check_entry_name;
use crate::catalog::prompt::PromptParts;
use crate::compile::{ALLOW_COMMENT, ArgumentScope, Compiler, LoadContext, MAX_FILE_BYTES, NamePrefix, Pack};
use crate::diagnostic::{Diagnostic, FileId, Reporting, SourceFile, SourceMap};
use crate::digest::Digest;
use crate::files::{FileStamp, Folder, map_on_all_cores};
use crate::load::{EntryFile, LoadedPack, LoadedPacks, MatchedFile, read_included, warn_of_secrets};
use crate::manifest::{Argument, Fragment, Prompt};
use crate::template::ScopeShape;
use crate::value_types::TextOrFile;
use crate::yaml::{Document, Spanned};

/// How many files one more thread must have to read to be worth its start.
const FILES_PER_THREAD: usize = 8;

/// Packs whose included files are read.
pub struct ReadPacks {
    pub(super) loaded: LoadedPacks,
    /// The files of plain prompts of each pack.
    pub(super) plain_files: Vec<Vec<PlacedFile>>,
    pub(super) files: ReadFiles,
}

/// The included files of one load, for the next one.
#[derive(Default)]
pub struct ReadFiles {
    by_path: HashMap<PathBuf, ReadFile>,
    /// Whether a pack has variables or partials, which every load looks for in all texts.
    searches_texts: bool,
}

impl ReadFiles {
    /// The same, or `others` where there are none, as of a manifest that is broken for a while.
    #[must_use]
    pub fn or_if_empty(self, others: ReadFiles) -> ReadFiles {
        if self.by_path.is_empty() { others } else { self }
    }

    /// Drops the texts that no later load searches. What is reported of an unchanged file reads its text again.
    pub fn drop_texts(&mut self) {
        if self.searches_texts {
            return;
        }
        for (path, file) in &mut self.by_path {
            let ReadFile::Plain(file) = file else { continue };
            let Some(file) = Arc::get_mut(file) else { continue };
            let path = path.clone();
            let without_text = file.source.without_text(move || Folder::read_anywhere(&path, MAX_FILE_BYTES).ok());
            file.source = without_text.map_or_else(|| file.source.clone(), Arc::new);
        }
    }

    /// Whether it has the text of this file.
    #[cfg(test)]
    pub(in crate::catalog) fn keeps_text(&self, path: &str) -> bool {
        let has_text = |file: &ReadFile| match file {
            ReadFile::Plain(file) => file.source.without_text(|| None).is_some(),
            ReadFile::Parsed(_) => true,
        };
        self.by_path.iter().any(|(known, file)| known.ends_with(path) && has_text(file))
    }

    /// Whether a later load may take this file from here.
    #[cfg(test)]
    pub(in crate::catalog) fn takes(&self, path: &str) -> bool {
        self.by_path.keys().any(|known| known.ends_with(path))
    }
}

#[derive(Clone)]
enum ReadFile {
    Plain(Arc<PlainFile>),
    Parsed(Arc<ParsedFile>),
}

/// A file of plain prompts without errors.
pub(super) struct PlainFile {
    stamp: Option<FileStamp>,
    /// What its prompts see of their pack.
    pack_digest: [u8; 32],
    /// The id that it had when it was read.
    file: FileId,
    source: Arc<SourceFile>,
    /// Each with its name in the pack.
    pub(super) prompts: Vec<(Spanned<String>, Arc<PromptParts>)>,
    /// What their compilation reports.
    diagnostics: Vec<Diagnostic>,
    pub(super) unused: Vec<UnusedName>,
}

/// Any other file, without errors or warnings in its syntax.
struct ParsedFile {
    stamp: FileStamp,
    /// The id, which every location holds.
    file: FileId,
    source: Arc<SourceFile>,
    document: Option<Arc<Document>>,
    base: PathBuf,
    entries: Arc<Fragment>,
}

/// A file of plain prompts in its pack.
pub(super) struct PlacedFile {
    /// How many of the other files of the pack are before it.
    pub(super) files_before: usize,
    /// The id that it has in this load.
    pub(super) id: FileId,
    pub(super) file: Arc<PlainFile>,
}

impl From<LoadedPacks> for ReadPacks {
    fn from(loaded: LoadedPacks) -> ReadPacks {
        read_packs(loaded, &ReadFiles::default())
    }
}

/// Reads the included files of packs that are not read yet, or takes them from an earlier load.
pub fn read_packs(mut loaded: LoadedPacks, earlier: &ReadFiles) -> ReadPacks {
    let LoadedPacks { load_context, packs, .. } = &mut loaded;
    let searches_texts = packs.iter().any(|pack| !pack.manifest.env.is_empty() || !pack.pack.partials.is_empty());
    let mut files = ReadFiles { searches_texts, ..ReadFiles::default() };
    let plain_files = packs.iter_mut().map(|pack| read_pack(pack, earlier, &mut files, load_context)).collect();
    ReadPacks { loaded, plain_files, files }
}

fn read_pack(
    pack: &mut LoadedPack,
    earlier: &ReadFiles,
    files: &mut ReadFiles,
    load_context: &mut LoadContext,
) -> Vec<PlacedFile> {
    let included = std::mem::take(&mut pack.included);
    // Another pack of the same folder has them.
    if included.iter().any(|matched| load_context.has_file(&pack.pack.display_path(&matched.path))) {
        let mut compiler = Compiler::new(load_context, &pack.pack, Path::new(""));
        pack.entry_files.extend(included.iter().filter_map(|matched| read_included(matched, &mut compiler)));
        return Vec::new();
    }
    let first = load_context.report.sources.next_id();
    let with_ids: Vec<(MatchedFile, FileId)> = included.into_iter().zip((first.0..).map(FileId)).collect();
    let reader = FileReader::new(pack, earlier, load_context);
    let read = map_on_all_cores(&with_ids, FILES_PER_THREAD, |(matched, id)| reader.read(matched, *id));
    let mut placed = Vec::new();
    for ((matched, id), outcome) in with_ids.into_iter().zip(read) {
        let path = pack.pack.folder.path().join(&matched.path.value);
        let read_file = match outcome {
            ReadOutcome::Unchanged(read_file) => {
                load_context.dependencies.files.insert(path.clone());
                add_unchanged(&read_file, id, pack, load_context);
                Some(read_file)
            }
            ReadOutcome::Read(read) => {
                load_context.extend(read.load_context);
                pack.entry_files.extend(read.entries);
                read.file
            }
        };
        if let Some(ReadFile::Plain(file)) = &read_file {
            placed.push(PlacedFile { files_before: pack.entry_files.len(), id, file: file.clone() });
        }
        files.by_path.extend(read_file.filter(ReadFile::can_be_taken).map(|file| (path, file)));
    }
    placed
}

/// Adds a file of an earlier load to this one.
fn add_unchanged(file: &ReadFile, id: FileId, pack: &mut LoadedPack, load_context: &mut LoadContext) {
    match file {
        ReadFile::Plain(file) => {
            load_context.add_parsed_file(&file.source, None);
            let moved = file.diagnostics.iter().map(|diagnostic| diagnostic.clone().moved(file.file, id));
            load_context.report.extend(moved.collect());
        }
        ReadFile::Parsed(file) => {
            load_context.add_parsed_file(&file.source, file.document.as_ref());
            let ParsedFile { base, entries, stamp, .. } = &**file;
            let (base, entries) = (base.clone(), entries.clone());
            pack.entry_files.push(EntryFile { base, entries, file: id, stamp: Some(*stamp) });
        }
    }
}

impl ReadFile {
    fn can_be_taken(&self) -> bool {
        match self {
            ReadFile::Plain(file) => {
                file.stamp.is_some() && file.diagnostics.iter().all(|diagnostic| diagnostic.is_within(file.file))
            }
            ReadFile::Parsed(_) => true,
        }
    }
}

enum ReadOutcome {
    Unchanged(ReadFile),
    Read(Box<FreshFile>),
}

/// A file that was read apart from the others.
struct FreshFile {
    load_context: LoadContext,
    /// Its entries, unless they are compiled already.
    entries: Option<EntryFile>,
    file: Option<ReadFile>,
}

/// Reads the files of one pack.
struct FileReader<'a> {
    pack: &'a Pack,
    prefix: &'a NamePrefix,
    load_context: &'a LoadContext,
    earlier: &'a ReadFiles,
    pack_digest: [u8; 32],
    names: ScopeShape,
    /// The texts of the partials.
    partials: Vec<&'a str>,
}

impl<'a> FileReader<'a> {
    fn new(loaded: &'a LoadedPack, earlier: &'a ReadFiles, load_context: &'a LoadContext) -> FileReader<'a> {
        let (pack, sources) = (&loaded.pack, &load_context.report.sources);
        let partials = pack.partials.values().filter_map(|file| sources.get(*file)).map(|source| &**source.text());
        FileReader {
            pack,
            prefix: &loaded.prefix,
            load_context,
            earlier,
            pack_digest: pack_digest(loaded, sources),
            names: pack_names(pack),
            partials: partials.collect(),
        }
    }

    fn read(&self, matched: &MatchedFile, id: FileId) -> ReadOutcome {
        if let Some(same) = self.unchanged(matched, id) {
            return ReadOutcome::Unchanged(same);
        }
        let mut load_context = self.load_context.for_file(id);
        let mut compiler = Compiler::new(&mut load_context, self.pack, Path::new(""));
        let is_outdated = compiler.load_context.outdated.is_outdated();
        let mut entries = if is_outdated { None } else { read_included(matched, &mut compiler) };
        warn_of_secrets(id, &[], &mut load_context);
        let is_sound = load_context.report.diagnostics().is_empty();
        if load_context.report.sources.next_id() == id {
            // Each file has an id, even if it cannot be read.
            load_context.report.sources.add(self.pack.display_path(&matched.path), "");
        }
        let plain = entries.as_ref().and_then(|entries| self.compile(entries, &mut load_context));
        let file = match plain {
            Some(plain) => {
                load_context.documents.remove(id);
                entries = None;
                // What its syntax is reported for is found again.
                let stamp = plain.stamp.filter(|_| is_sound);
                Some(ReadFile::Plain(Arc::new(PlainFile { stamp, ..plain })))
            }
            None => entries.as_ref().filter(|_| is_sound).and_then(|entries| parsed_file(entries, &load_context)),
        };
        ReadOutcome::Read(Box::new(FreshFile { load_context, entries, file }))
    }

    /// The file of the earlier load, if it is the same.
    fn unchanged(&self, matched: &MatchedFile, id: FileId) -> Option<ReadFile> {
        let path = self.pack.folder.path().join(&matched.path.value);
        let known = self.earlier.by_path.get(&path)?;
        let (stamp, is_same) = match known {
            ReadFile::Plain(file) => (file.stamp, file.pack_digest == self.pack_digest),
            ReadFile::Parsed(file) => (Some(file.stamp), file.file == id),
        };
        let is_saved = self.load_context.buffers.get(&path).is_none();
        (is_same && is_saved && stamp.is_some() && stamp == matched.stamp).then(|| known.clone())
    }

    /// Compiles the prompts of a file, if all of it are plain prompts without errors.
    fn compile(&self, file: &EntryFile, load_context: &mut LoadContext) -> Option<PlainFile> {
        let Fragment { folio: _, prompts, resources, tools, tests } = &*file.entries;
        let source = load_context.report.sources.get(file.file)?.clone();
        let is_plain = !prompts.is_empty()
            && resources.is_empty()
            && tools.is_empty()
            && tests.is_empty()
            && prompts.values().all(|prompt| is_plain_prompt(prompt))
            && self.load_context.coverage.is_none()
            && !source.text().contains(ALLOW_COMMENT);
        if !is_plain {
            return None;
        }
        let before = load_context.counts();
        let (prompts, diagnostics) = load_context.attempt(|load_context| {
            let mut compiler = Compiler::new(load_context, self.pack, &file.base);
            let compiled = prompts.iter().map(|(name, prompt)| {
                compiler.scope_shape = self.names.clone();
                compiler.arguments = ArgumentScope::default();
                compiler.reads_caller = false;
                let qualified = self.prefix.qualify(name);
                check_entry_name(&qualified).ok()?;
                Some((name.clone(), Arc::new(PromptParts::build_plain(prompt, qualified, &mut compiler)?)))
            });
            compiled.collect::<Option<Vec<_>>>()
        });
        let prompts = prompts.filter(|_| load_context.counts() == before)?;
        let unused = unused_names::of_plain_prompts(file, &source, &self.partials);
        load_context.report.extend(diagnostics.clone());
        let (stamp, file) = (file.stamp, file.file);
        Some(PlainFile { stamp, pack_digest: self.pack_digest, file, source, prompts, diagnostics, unused })
    }
}

fn parsed_file(entries: &EntryFile, load_context: &LoadContext) -> Option<ReadFile> {
    let EntryFile { base, entries, file, stamp } = entries;
    let source = load_context.report.sources.get(*file)?.clone();
    let document = load_context.documents.get(*file).cloned();
    let (base, entries) = (base.clone(), entries.clone());
    Some(ReadFile::Parsed(Arc::new(ParsedFile { stamp: (*stamp)?, file: *file, source, document, base, entries })))
}

/// Whether a prompt is a text with arguments.
fn is_plain_prompt(prompt: &Prompt) -> bool {
    let Prompt {
        title: _,
        description: _,
        arguments,
        text,
        messages,
        run,
        timeout: _,
        max_output: _,
        scopes,
        roles,
        permit,
        icons,
        meta: _,
    } = prompt;
    let is_text = text.as_ref().is_some_and(|text| matches!(text.value, TextOrFile::Text(_)));
    let is_simple = |argument: &Argument| argument.complete.is_none() && argument.within.is_none();
    is_text
        && messages.is_none()
        && run.is_none()
        && scopes.is_none()
        && roles.is_none()
        && permit.is_none()
        && icons.is_none()
        && arguments.values().all(|argument| is_simple(argument))
}

/// What plain prompts see of their pack. Runs alone see what is left out, and the engine is made of the partials.
fn pack_digest(loaded: &LoadedPack, sources: &SourceMap) -> [u8; 32] {
    let Pack {
        folder: _,
        display_prefix,
        engine: _,
        partials,
        grants,
        // Confirms grants, which are those above.
        locked: _,
        sandboxes: _,
        env,
        server,
        connections: _,
        folders: _,
        workspace,
        fixed_time,
        search_path,
    } = &loaded.pack;
    let prefix = loaded.prefix.as_str();
    let seen = format!("{:?}", (prefix, display_prefix, grants, env, server, workspace, fixed_time, search_path));
    let mut digest = Digest::new("prompts of a pack").chain_update(seen.as_bytes());
    for (name, file) in partials {
        digest.update(name.as_bytes());
        digest.update(sources.get(*file).map_or(b"", |source| source.text().as_bytes()));
    }
    digest.finish()
}
