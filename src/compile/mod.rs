//! Compiles the values of a manifest: templates, JSON Schemas and files.
//!
//! A [`Compiler`] holds the scope, files and grants of one entry, and reports into the context of the load.
//! What is not here: the parts of an entry (catalog/, action/).

mod allow_comment;
mod coverage;
mod load_context;
mod folder_variable;
mod foreign_tag;
mod foreign_text;
mod mime_type;
mod missing_path;
mod name_prefix;
mod pack;
mod sandbox;
mod schema;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use allow_comment::ALLOW_COMMENT;
pub use coverage::{LoadCoverage, PartKind};
pub use folder_variable::{FolderVariable, MAX_NAMED_FOLDERS, not_a_folder_message};
pub use foreign_text::ShellVariableContext;
pub use load_context::{FileBuffers, LoadContext, LoadDependencies, OutdatedCheck, ProgramFault};
pub use mime_type::{MimeType, check_mime_type};
use missing_path::FIXED_PATH_HELP;
pub use missing_path::TILDE_HELP;
pub use name_prefix::NamePrefix;
pub use pack::{Environment, FILES_GRANT, GrantUse, Grants, LockedGrants, Pack, PackVariable, ValueOrigin};
pub use sandbox::{NetworkRules, SandboxPath, SandboxRules, SandboxTarget, SandboxUse};
pub use schema::{LocatedJson, shape_of};
pub use template::{Exposure, JsonTemplate};

use crate::diagnostic::{Code, Diagnostic, FileId, Report, Reporting, Span};
use crate::digest::sha256;
use crate::files::{FileError, FileStamp, Folder, normalize};
use crate::template::ScopeShape;
use crate::value_types::{FileRef, TextOrFile};
use crate::yaml::{Location, Spanned};

/// The largest file that can be part of a manifest.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// Compiles the values of one entry.
pub struct Compiler<'a> {
    /// The context of the load.
    pub load_context: &'a mut LoadContext,
    /// The pack that the entry belongs to.
    pub pack: &'a Pack,
    /// The folder of the file of the entry, relative to the pack.
    pub base: &'a Path,
    /// The names in scope of templates.
    pub scope_shape: ScopeShape,
    /// What is known of the arguments in scope.
    pub arguments: ArgumentScope,
    /// The paths that read outcomes, in order: each begins with `steps` or `result`.
    pub outcome_reads: Vec<Vec<String>>,
    /// Whether a template of the entry has read who calls.
    pub reads_caller: bool,
}

/// What is known of the arguments of an entry, by their names.
#[derive(Debug, Clone, Default)]
pub struct ArgumentScope {
    /// Those whose values may start with `-` in an argv element.
    pub dash_allowed: BTreeSet<String>,
    /// Those whose values are all known at load, or numbers or booleans.
    pub fixed_values: BTreeSet<String>,
    /// Those with `within`, and whether every call has a value for them.
    pub paths: BTreeMap<String, bool>,
    /// The locations of all that are declared.
    pub locations: BTreeMap<String, Location>,
}

impl ArgumentScope {
    /// The same without an argument whose name means something else.
    pub fn without(mut self, name: &str) -> ArgumentScope {
        self.dash_allowed.remove(name);
        self.fixed_values.remove(name);
        self.paths.remove(name);
        self.locations.remove(name);
        self
    }
}

impl Reporting for Compiler<'_> {
    fn report(&mut self) -> &mut Report {
        &mut self.load_context.report
    }
}

impl<'a> Compiler<'a> {
    /// A compiler for the entries of one file.
    pub fn new(load_context: &'a mut LoadContext, pack: &'a Pack, base: &'a Path) -> Compiler<'a> {
        Compiler {
            load_context,
            pack,
            base,
            scope_shape: ScopeShape::new(),
            arguments: ArgumentScope::default(),
            outcome_reads: Vec::new(),
            reads_caller: false,
        }
    }

    /// Whether the pack has a grant for what is at `at`. What one from elsewhere needs it for is recorded.
    pub fn has_grant(&mut self, grant: &'static str, at: Location) -> bool {
        if let Some(locked) = &self.pack.locked {
            let is_withheld = locked.withheld.contains(grant);
            let value = self.load_context.documents.json_as_spelled(at);
            self.load_context.grant_uses.push(GrantUse { key: locked.key.clone(), grant, at, value, is_withheld });
        }
        self.pack.grants.allows(grant)
    }

    /// How the pack gets a grant that it does not have, for messages.
    pub fn grant_help(&self, grant: &str) -> String {
        match self.pack.locked.as_ref().filter(|locked| locked.withheld.contains(grant)) {
            Some(locked) => format!("`folio trust {}` shows what the pack would do, and asks", locked.key),
            None => format!("add `allow: [{grant}]` where the pack is imported"),
        }
    }

    /// Whether a pack from elsewhere may not do what its importer allows, until a person confirms it.
    pub fn is_withheld(&self, grant: &str) -> bool {
        self.pack.locked.as_ref().is_some_and(|locked| locked.withheld.contains(grant))
    }

    /// Runs `work` with other names in scope.
    pub fn with_scope_shape<R>(&mut self, names: ScopeShape, work: impl FnOnce(&mut Compiler<'a>) -> R) -> R {
        let outer = std::mem::replace(&mut self.scope_shape, names);
        let result = work(self);
        self.scope_shape = outer;
        result
    }

    /// Records the outcomes that paths read, and whether they read who calls.
    pub fn record_reads(&mut self, paths: &[Vec<String>]) {
        self.reads_caller |= paths.iter().any(|path| self.scope_shape.is_of_caller(path));
        let of_outcomes = |path: &&Vec<String>| path.first().is_some_and(|head| head == "steps" || head == "result");
        self.outcome_reads.extend(paths.iter().filter(of_outcomes).cloned());
    }

    /// Records that every outcome is read: what a selection picks only shows when it is applied.
    pub fn record_all_outcome_reads(&mut self) {
        self.outcome_reads.extend([vec!["steps".to_owned()], vec!["result".to_owned()]]);
    }

    /// The location of a key of the map at `at`, or that of the map.
    pub fn key_location(&self, at: Location, key: &str) -> Location {
        self.load_context.documents.key_at(at, &format!("/{key}"))
    }

    /// Reports an error.
    pub fn error(&mut self, code: Code, at: impl Into<Span>, message: impl Into<String>) -> &mut Diagnostic {
        self.load_context.report.error(code, at.into(), message)
    }

    /// Reports that a map has not exactly one of these keys, such as `` `text`, `file` ``.
    pub fn not_exactly_one(&mut self, at: impl Into<Span>, keys: &str) -> &mut Diagnostic {
        self.load_context.report.not_exactly_one(at.into(), keys)
    }

    /// Reports a warning.
    pub fn warning(&mut self, code: Code, at: impl Into<Span>, message: impl Into<String>) -> &mut Diagnostic {
        self.load_context.report.warning(code, at.into(), message)
    }

    /// Reports a note.
    pub fn note(&mut self, code: Code, at: impl Into<Span>, message: impl Into<String>) -> &mut Diagnostic {
        self.load_context.report.note(code, at.into(), message)
    }

    /// A path of this file, relative to the pack; reports one that escapes the pack, or begins with `~`.
    pub fn resolve_path(&mut self, text: &str, at: Location) -> Option<PathBuf> {
        if Path::new(text).starts_with("~") && self.pack.folder.stat(&self.base.join("~")).is_err() {
            self.error(Code::NotFound, at, format!("no such file or folder: `{text}`")).help(TILDE_HELP);
            return None;
        }
        let joined = self.base.join(text);
        let absolute = Path::new(text).is_absolute();
        match normalize(&joined.to_string_lossy()) {
            Ok(path) if !absolute => Some(path),
            _ => {
                let message = match absolute {
                    true => format!("absolute path `{text}`"),
                    false => format!("path `{text}` escapes the pack folder"),
                };
                self.error(Code::PathEscape, at, message).help("write a path relative to this file, inside its pack");
                None
            }
        }
    }

    /// Checks a variable that names a folder: its value must come from the one who serves, and not from the pack or from
    /// one that imports it.
    pub fn check_folder_variable(&mut self, name: &str, at: Location) -> Option<()> {
        let variable = self.pack.env.variables.get(name).filter(|variable| variable.value.is_some());
        if variable.is_none_or(|variable| variable.origin == ValueOrigin::Operator) {
            return Some(());
        }
        self.error(Code::PathEscape, at, format!("variable `{name}` is set by a pack and must not name a folder"))
            .help(format!(
                "pass it from the served manifest, through each pack alone: `env: {{ {name}: \"{{{{env.{name}}}}}\" }}`"
            ));
        None
    }

    /// The folder that the client's user works on, where that is what is written: exactly `{{workspace}}`.
    pub fn workspace(&mut self, path: &str) -> Option<PathBuf> {
        let name = path.trim().strip_prefix("{{")?.strip_suffix("}}")?;
        if name.trim() != "workspace" {
            return None;
        }
        self.load_context.dependencies.workspace = Some(self.pack.workspace.clone());
        Some(self.pack.workspace.clone())
    }

    /// The bytes of a file of the pack, which is then watched.
    pub fn read_file(&mut self, file: &str, at: Location) -> Option<Vec<u8>> {
        let path = self.resolve_path(file, at)?;
        self.load_context.dependencies.files.insert(self.pack.folder.path().join(&path));
        match self.load_context.read(&self.pack.folder, &path) {
            Ok(bytes) => {
                self.load_context.content_digests.push(sha256(&bytes));
                Some(bytes)
            }
            Err(error) => {
                self.report_file_error(&error, file, at);
                None
            }
        }
    }

    /// Reads and decodes a text of the pack by its path from there, which is then watched. Gives its stamp too, where that
    /// tells every later version from this one.
    pub fn read_source(&mut self, path: &Spanned<PathBuf>) -> Option<(FileId, Option<FileStamp>)> {
        self.load_context.dependencies.files.insert(self.pack.folder.path().join(&path.value));
        match self.load_context.read_with_stamp(&self.pack.folder, path) {
            Ok((bytes, stamp)) => {
                let shown = self.pack.display_path(path);
                Some((self.load_context.decode(&bytes, &shown)?, stamp))
            }
            Err(error) => {
                self.report_file_error(&error, &path.to_string_lossy(), path.location);
                None
            }
        }
    }

    /// The bytes of a file that the served manifest may also name by an absolute path, such as a certificate.
    pub fn read_trusted_file(&mut self, file: &Spanned<String>) -> Option<Vec<u8>> {
        let path = Path::new(file.as_str());
        if !path.is_absolute() || self.pack.grants != Grants::All {
            return self.read_file(file, file.location);
        }
        self.load_context.dependencies.files.insert(path.to_owned());
        match Folder::read_anywhere(path, MAX_FILE_BYTES) {
            Ok(bytes) => {
                self.load_context.content_digests.push(sha256(&bytes));
                Some(bytes)
            }
            Err(error) => {
                self.report_file_error(&error, file, file.location);
                None
            }
        }
    }

    /// The path of a regular file of the pack; reports one that is not.
    pub fn resolve_file(&mut self, text: &str, at: Location) -> Option<PathBuf> {
        let path = self.resolve_path(text, at)?;
        let absolute = self.pack.folder.path().join(&path);
        let is_buffer = self.load_context.buffers.get(&absolute).is_some();
        self.load_context.dependencies.files.insert(absolute);
        match self.pack.folder.stat(&path) {
            Err(_) if is_buffer => Some(path),
            Ok(stat) if stat.is_dir => {
                self.error(Code::NotFound, at, format!("`{text}` is a folder")).help("write the path of a file");
                None
            }
            Ok(_) => Some(path),
            Err(error) => {
                self.report_file_error(&error, text, at);
                None
            }
        }
    }

    fn report_file_error(&mut self, error: &FileError, path: &str, at: Location) {
        let code = match error {
            FileError::NotFound { .. } | FileError::IsFolder { .. } | FileError::NotAFile { .. } => Code::NotFound,
            FileError::EscapesFolder { .. } | FileError::BadName { .. } => Code::PathEscape,
            FileError::TooLarge { .. } => Code::TooLarge,
            _ => Code::Unreadable,
        };
        match code {
            Code::NotFound if path.contains("{{") => {
                self.error(code, at, error.to_string()).help(FIXED_PATH_HELP);
            }
            Code::NotFound => self.report_missing_path(path, at, error.to_string()),
            _ => _ = self.error(code, at, error.to_string()),
        }
    }

    /// A string that is written in place, or the content of the file that it names.
    pub fn resolve_text(&mut self, text: &Spanned<TextOrFile>) -> Option<Spanned<String>> {
        match &text.value {
            TextOrFile::Text(inline) => Some(Spanned::new(inline.clone(), text.location)),
            TextOrFile::File(FileRef { file: Some(path) }) => self.read_text_file(path),
            TextOrFile::File(FileRef { file: None }) => {
                self.error(Code::MissingKey, text.location, "expected a string or `{ file: … }`");
                None
            }
        }
    }

    /// The text of a file of the pack, located in that file.
    pub fn read_text_file(&mut self, path: &Spanned<String>) -> Option<Spanned<String>> {
        let bytes = self.read_file(path, path.location)?;
        let shown = self.pack.display_path(&self.resolve_path(path, path.location)?);
        let file = self.load_context.decode(&bytes, &shown)?;
        let text = self.load_context.report.sources.get(file)?.text().to_string();
        Some(Spanned::new(text, Location::start_of(file)))
    }
}
