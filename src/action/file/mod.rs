//! `file`: reads, lists and changes files below a folder of the manifest.
//!
//! What is not here: how paths are kept below a folder, and how files are written whole (files/).

mod compile;
mod edit;
mod folder;
mod operation_result;
mod list;
mod path;
mod read;
mod spec;

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, StepContext};
use crate::budget::{self, Budget};
use crate::compile::{Compiler, FILES_GRANT, JsonTemplate, Pack};
use crate::files::{FileError, Globs, OverwritePolicy, RemovalStep, WritableFolder};
use crate::template::{FolderPathSlot, JsonSlot, QuerySlot, Scope, Shape, Template, TextSlot};

use edit::FileText;
pub use folder::check_folder;
use folder::{CompiledFolder, needs_grant};
use list::{DEFAULT_ENTRIES, Listing, MAX_ENTRIES};
use operation_result::{OperationResult, ResultBody};
use path::ResolvedPath;
use read::{Lines, ReadOptions, ReadableFile};
use spec::FileOperation;
pub use spec::FileSpec;

/// The largest file that is made by adding to it or by copying.
const MAX_COPIED_BYTES: u64 = 1 << 30;
/// How many bytes are copied at a time.
const COPY_CHUNK_BYTES: usize = 256 << 10;

/// One operation on files.
pub struct FileAction {
    operation: FileOperation,
    folder: CompiledFolder,
    path: Template<FolderPathSlot>,
    to: Option<Template<FolderPathSlot>>,
    content: Option<NewContent>,
    options: FileOptions,
}

/// What is written.
enum NewContent {
    Text(Template<TextSlot>),
    Base64(Template<TextSlot>),
    Edits(JsonTemplate),
}

/// The options of the operations.
struct FileOptions {
    existing: OverwritePolicy,
    dry_run: Option<Template<JsonSlot>>,
    recursive: Option<Template<JsonSlot>>,
    base64: Option<Template<JsonSlot>>,
    head: Option<Template<JsonSlot>>,
    tail: Option<Template<JsonSlot>>,
    limit: Option<Template<JsonSlot>>,
    glob: Vec<Template<QuerySlot>>,
    exclude: Vec<Template<QuerySlot>>,
}

impl From<FileError> for ActionError {
    fn from(error: FileError) -> ActionError {
        ActionError::message(error.to_string())
    }
}

impl ActionKind for FileAction {
    type Spec = FileSpec;

    fn outcome_shape() -> Shape {
        outcome_shape(FileOperation::ALL.into_iter().flat_map(|operation| operation.outcome_fields(true)))
    }

    fn outcome_shape_of(spec: &FileSpec) -> Shape {
        match spec.operations().as_slice() {
            [(operation, _)] => outcome_shape(operation.outcome_fields(spec.edits.is_some())),
            _ => Self::outcome_shape(),
        }
    }

    fn required_grant(spec: &FileSpec, pack: &Pack) -> Option<&'static str> {
        let changes = spec.operations().iter().any(|(operation, _)| operation.changes());
        let folder = spec.folder.as_ref().and_then(|name| pack.folders.get(name.value.as_str()));
        (changes || folder.is_some_and(|folder| needs_grant(folder))).then_some(FILES_GRANT)
    }

    fn compile(node: ActionNode<'_, FileSpec>, compiler: &mut Compiler<'_>) -> Option<FileAction> {
        FileAction::compile_spec(&node, compiler)
    }

    fn has_side_effects(&self) -> bool {
        self.operation.changes()
    }

    fn client_use(&self) -> ClientUse {
        if self.folder.asks_client() { ClientUse::Asks } else { ClientUse::None }
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        if let Some(mocked) = context.call.world.mocked_folder(context.id) {
            return self.perform(&[WritableFolder::open(&mocked)?], context);
        }
        let paths = self.folder.locate(context).await?;
        self.perform(&self.folder.open(&paths, context.entry.pack_folder())?, context)
    }
}

/// The shape of an outcome with these fields.
fn outcome_shape(fields: impl Iterator<Item = &'static str>) -> Shape {
    Shape::object(fields.map(|name| {
        let shape = match name {
            "size" | "notUtf8" => Shape::Number,
            "truncated" => Shape::Boolean,
            "entries" => Shape::list(Shape::Any),
            "folders" => Shape::list(Shape::Text),
            _ => Shape::Text,
        };
        (name, shape)
    }))
}

impl FileAction {
    /// Does it, where it may block; a small file is read where it is opened, like a resource.
    fn perform(&self, folders: &[WritableFolder], context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let call = FileOperationRun { action: self, folders, context };
        let path = call.resolve(&self.path)?;
        let folder = call.folder(&path)?;
        match self.operation {
            FileOperation::Read => {
                let file = ReadableFile::open(folder, &path, call.read_options()?)?;
                call.budget().run_sized(file.size(), || file.read(folders, context)?.into_outcome(context))?
            }
            FileOperation::Stat => call.run_io(|| Ok(read::stat(folder, &path, folders)?)),
            FileOperation::List | FileOperation::Tree | FileOperation::Find => call.run_io(|| call.list(folder, &path)),
            FileOperation::Write | FileOperation::Append => call.run_io(|| call.write(folder, &path)),
            FileOperation::Copy | FileOperation::Move => call.run_io(|| call.transfer(folder, &path)),
            FileOperation::Remove => call.run_io(|| call.remove(folder, &path)),
            FileOperation::MakeDir => call.run_io(|| {
                call.announce_change(&path)?;
                if !path.relative.is_empty() {
                    folder.create_folder(&path.relative)?;
                }
                Ok(call.change_result(&path, |shown| format!("made the folder {shown}")))
            }),
        }
    }
}

/// One call, with its folders open.
struct FileOperationRun<'a> {
    action: &'a FileAction,
    folders: &'a [WritableFolder],
    context: &'a StepContext<'a>,
}

impl FileOperationRun<'_> {
    fn scope(&self) -> &Scope {
        self.context.scope
    }

    fn budget(&self) -> &Budget {
        self.context.scope.budget()
    }

    fn run_io(
        &self,
        work: impl FnOnce() -> Result<OperationResult, ActionError>,
    ) -> Result<ActionOutcome, ActionError> {
        self.budget().run_io(|| work()?.into_outcome(self.context))?
    }

    fn resolve(&self, path: &Template<FolderPathSlot>) -> Result<ResolvedPath, ActionError> {
        ResolvedPath::resolve(&path.render(self.scope())?, self.folders, &self.action.folder)
    }

    fn folder(&self, path: &ResolvedPath) -> Result<&WritableFolder, ActionError> {
        self.folders.get(path.folder).ok_or_else(|| ActionError::message("the folder is gone".to_owned()))
    }

    fn read_options(&self) -> Result<ReadOptions, ActionError> {
        let options = &self.action.options;
        let (head, tail) = (self.count("head", &options.head)?, self.count("tail", &options.tail)?);
        let lines = match (head, tail) {
            (Some(_), Some(_)) => return Err(ActionError::message("`head` and `tail` exclude each other".to_owned())),
            (Some(head), None) => Lines::Head(head),
            (None, Some(tail)) => Lines::Tail(tail),
            (None, None) => Lines::All,
        };
        Ok(ReadOptions { lines, as_base64: self.flag(&options.base64)? })
    }

    fn list(&self, folder: &WritableFolder, path: &ResolvedPath) -> Result<OperationResult, ActionError> {
        let options = &self.action.options;
        let limit = self.count("limit", &options.limit)?.unwrap_or(DEFAULT_ENTRIES).min(MAX_ENTRIES);
        let recursive = self.flag(&options.recursive)?;
        let (folders, hidden) = (self.folders, self.action.folder.hidden);
        let globs = self.globs()?;
        let globs = if hidden { globs.with_hidden_without_links() } else { globs };
        let redactor = self.context.call.world.redactor();
        let mut listing = Listing {
            folders,
            folder,
            path,
            globs,
            hidden,
            redactor,
            remaining: limit,
            is_truncated: false,
            not_utf8: 0,
        };
        let entries = Value::from(listing.entries(self.action.operation, recursive)?);
        let fields = [
            ("entries", entries),
            ("truncated", listing.is_truncated.into()),
            ("notUtf8", listing.not_utf8.into()),
            ("path", path.display_path(folders, "").into()),
        ];
        Ok(OperationResult {
            body: ResultBody::Json("entries"),
            note: listing.note(limit),
            ..OperationResult::fields(fields)
        })
    }

    fn globs(&self) -> Result<Globs, ActionError> {
        let texts = |templates: &[Template<QuerySlot>]| -> Result<Vec<String>, ActionError> {
            let mut texts = Vec::new();
            for template in templates {
                texts.extend(template.render(self.scope())?.0);
            }
            Ok(texts)
        };
        let mut include = texts(&self.action.options.glob)?;
        if include.is_empty() {
            include.push("**/*".to_owned());
        }
        let exclude = texts(&self.action.options.exclude)?;
        let include: Vec<&str> = include.iter().map(String::as_str).collect();
        let exclude: Vec<&str> = exclude.iter().map(String::as_str).collect();
        Globs::new(&include, &exclude).map_err(|error| {
            let key = if error.excluded { "exclude" } else { "glob" };
            ActionError::message(format!("invalid `{key}`: {}", error.message))
        })
    }

    fn write(&self, folder: &WritableFolder, path: &ResolvedPath) -> Result<OperationResult, ActionError> {
        let existing = self.action.options.existing;
        let bytes = match &self.action.content {
            Some(NewContent::Edits(edits)) => return self.edit(folder, path, edits),
            Some(NewContent::Text(text)) => text.render(self.scope())?.0.into_bytes(),
            Some(NewContent::Base64(text)) => {
                let text = text.render(self.scope())?.0;
                self.budget().hold(text.len())?;
                let decoded = STANDARD.decode(text.trim());
                decoded.map_err(|_| ActionError::message("`base64` is not base64".to_owned()))?
            }
            None => Vec::new(),
        };
        self.announce_change(path)?;
        let failed = |source| ActionError::from(FileError::write_failed(&path.relative, source));
        let append = self.action.operation == FileOperation::Append;
        let mut is_new = false;
        if append {
            is_new = folder.append(&path.relative, &bytes)?;
        } else {
            folder.write(&path.relative, existing, |old, file| {
                is_new = old.is_none();
                file.write_all(&bytes).map_err(failed)
            })?;
        }
        let size = if bytes.len() == 1 { "1 byte".to_owned() } else { format!("{} bytes", bytes.len()) };
        Ok(self.change_result(path, |shown| match (is_new, append) {
            (true, _) => format!("created {shown} with {size}"),
            (false, true) => format!("added {size} to {shown}"),
            (false, false) => format!("wrote {size} to {shown}"),
        }))
    }

    fn edit(
        &self,
        folder: &WritableFolder,
        path: &ResolvedPath,
        edits: &JsonTemplate,
    ) -> Result<OperationResult, ActionError> {
        let edits = edit::parse_edits(&edits.render(self.scope())?)?;
        let shown = path.display_path(self.folders, "");
        let redactor = self.context.call.world.redactor();
        let edited = |old: Vec<u8>| -> Result<(String, String), ActionError> {
            // The old text, the new one, and what differs.
            self.budget().hold(old.len().saturating_mul(4))?;
            let not_text = |_| ActionError::message(format!("`{shown}` is not UTF-8, so it cannot be edited"));
            let mut text = FileText::new(&String::from_utf8(old).map_err(not_text)?, redactor);
            let old = text.to_redacted_string();
            text.apply(&edits)?;
            Ok((edit::unified_diff(&shown, &old, &text.to_redacted_string()), text.into_string()))
        };
        let mut diff = String::new();
        if self.flag(&self.action.options.dry_run)? {
            diff = edited(folder.open_file(&path.relative)?.read(edit::MAX_EDITED_BYTES)?)?.0;
        } else {
            self.announce_change(path)?;
            // What is not there is found out before anything is made.
            folder.open_file(&path.relative)?;
            folder.write(
                &path.relative,
                OverwritePolicy::ReplaceUnchanged,
                |old, file| -> Result<(), ActionError> {
                    let old = old.ok_or_else(|| FileError::NotFound(shown.clone()))?;
                    let (changes, new) = edited(old.read(edit::MAX_EDITED_BYTES)?)?;
                    diff = changes;
                    Ok(file.write_all(new.as_bytes()).map_err(|source| FileError::write_failed(&shown, source))?)
                },
            )?;
        }
        let note = diff.is_empty().then(|| format!("nothing to change in {shown}"));
        let body = if diff.is_empty() { ResultBody::None } else { ResultBody::Text("diff") };
        let fields = [("path", shown.into()), ("diff", diff.into())];
        Ok(OperationResult { body, note, ..OperationResult::fields(fields) })
    }

    fn transfer(&self, folder: &WritableFolder, path: &ResolvedPath) -> Result<OperationResult, ActionError> {
        let Some(to) = &self.action.to else { return Ok(OperationResult::fields([])) };
        let (to, existing) = (self.resolve(to)?, self.action.options.existing);
        self.announce_change(path)?;
        match self.action.operation {
            FileOperation::Copy => {
                let from = folder.open_file(&path.relative)?;
                self.folder(&to)?
                    .copy(from, &to.relative, existing, |from, file| self.copy_limited(from, file, &to.relative))?;
            }
            _ => folder.rename(&path.relative, self.folder(&to)?, &to.relative, existing)?,
        }
        let verb = if self.action.operation == FileOperation::Copy { "copied" } else { "moved" };
        let from = path.display_path(self.folders, "");
        Ok(self.change_result(&to, |to| format!("{verb} {from} to {to}")))
    }

    fn remove(&self, folder: &WritableFolder, path: &ResolvedPath) -> Result<OperationResult, ActionError> {
        let recursive = self.flag(&self.action.options.recursive)?;
        self.announce_change(path)?;
        if recursive {
            self.remove_all(folder, &path.relative)?;
        } else {
            folder.remove(&path.relative)?;
        }
        Ok(self.change_result(path, |shown| format!("removed {shown}")))
    }

    /// Removes a folder as long as the call may, and says what is gone where it may not.
    fn remove_all(&self, folder: &WritableFolder, path: &str) -> Result<(), ActionError> {
        let mut begun: usize = 0;
        let outcome = folder.remove_all(path, &mut |step| -> Result<(), ActionError> {
            begun += usize::from(step == RemovalStep::Remove);
            Ok(budget::tick()?)
        });
        let removed = begun.saturating_sub(1);
        outcome.map_err(|error| match removed {
            0 => error,
            1 => ActionError::message(format!("{error}; 1 file or folder was removed before")),
            count => ActionError::message(format!("{error}; {count} files and folders were removed before")),
        })
    }

    /// Copies what a file has, as long as the call may.
    fn copy_limited(&self, from: &mut dyn Read, to: &mut dyn Write, path: &str) -> Result<(), ActionError> {
        let mut chunk = vec![0; COPY_CHUNK_BYTES];
        let mut copied: u64 = 0;
        loop {
            let count = from.read(&mut chunk).map_err(|source| FileError::write_failed(path, source))?;
            let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
            copied += count as u64;
            if copied > MAX_COPIED_BYTES {
                return Err(FileError::TooLarge { path: path.to_owned(), limit: MAX_COPIED_BYTES, size: copied }.into());
            }
            budget::tick()?;
            to.write_all(bytes).map_err(|source| FileError::write_failed(path, source))?;
        }
    }

    /// Says what is about to be changed.
    fn announce_change(&self, path: &ResolvedPath) -> Result<(), ActionError> {
        if self.context.call.world.mocked_folder(self.context.id).is_some() {
            return Ok(());
        }
        let shown = path.display_path(self.folders, "");
        Ok(self.context.call.world.approve_file_change(&format!("{} {shown:?}", self.action.operation.key()))?)
    }

    /// What a change found: the path that is there now, or was, and what was done to it in words.
    fn change_result(&self, path: &ResolvedPath, words: impl FnOnce(&str) -> String) -> OperationResult {
        let shown = path.display_path(self.folders, "");
        let note = Some(words(if shown.is_empty() { "." } else { &shown }));
        OperationResult { note, ..OperationResult::fields([("path", shown.into())]) }
    }

    /// A flag; nothing is false.
    fn flag(&self, option: &Option<Template<JsonSlot>>) -> Result<bool, ActionError> {
        let Some(option) = option else { return Ok(false) };
        match option.render(self.scope())?.0 {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(Value::String(text)) if matches!(text.as_str(), "true" | "false") => Ok(text == "true"),
            Some(_) => Err(ActionError::message("expected true or false in `file`".to_owned())),
        }
    }

    /// A number of lines or entries.
    fn count(&self, key: &str, option: &Option<Template<JsonSlot>>) -> Result<Option<usize>, ActionError> {
        let Some(option) = option else { return Ok(None) };
        let number = match option.render(self.scope())?.0 {
            None => return Ok(None),
            Some(Value::String(text)) => text.parse::<u32>().ok(),
            Some(Value::Number(number)) => {
                let whole = number.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
                whole.map(|number| number.min(f64::from(u32::MAX)) as u32)
            }
            Some(_) => None,
        };
        let number = number.ok_or_else(|| ActionError::message(format!("`{key}` must be a whole number")))?;
        Ok(usize::try_from(number).ok())
    }
}
