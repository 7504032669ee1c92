//! The folders that `file` works in: compiled at load, opened at each call.

use std::path::{Path, PathBuf};

use crate::action::{ActionError, ClientCapability, StepContext, ask_roots};
use crate::compile::{Compiler, FolderVariable, Grants, MAX_NAMED_FOLDERS};
use crate::diagnostic::{Code, Reporting};
use crate::files::{FileError, WritableFolder};
use crate::uri::file_uri_to_path;
use crate::value_types::{FolderKeys, FolderSpec};
use crate::yaml::Spanned;

/// One of `folders`.
#[derive(Debug, Clone)]
pub(super) struct CompiledFolder {
    pub(super) name: String,
    source: FolderLocation,
    /// Whether the client names the folders, if it can.
    pub(super) client_roots: bool,
    pub(super) write: bool,
    pub(super) hidden: bool,
}

#[derive(Debug, Clone)]
enum FolderLocation {
    /// A folder of the pack, by its path there.
    Pack(PathBuf),
    /// Folders anywhere, by their absolute paths.
    Outside(Vec<PathBuf>),
    /// Nothing, as this variable is not set.
    Unset(String),
    /// The client's roots alone.
    None,
}

/// The folder of that name, which is then in use.
pub(super) fn find_folder<'a>(
    name: &Spanned<String>,
    compiler: &mut Compiler<'a>,
) -> Option<(&'a Spanned<String>, &'a Spanned<FolderSpec>)> {
    let pack = compiler.pack;
    if let Some((key, folder)) = pack.folders.get_key_value(name.value.as_str()) {
        compiler.load_context.used_keys.insert(key.location);
        return Some((key, folder));
    }
    let names: Vec<&str> = pack.folders.keys().map(|name| name.value.as_str()).collect();
    let place = name.location.span();
    let diagnostic = compiler.error(Code::UnknownReference, place, format!("unknown folder `{}`", name.value));
    diagnostic.did_you_mean(name, names.iter().copied());
    let expected = match names.as_slice() {
        [] => "write `folders: { notes: { path: notes } }` at the top level".to_owned(),
        names => format!("expected one of `{}`", names.join("`, `")),
    };
    match diagnostic.help.take() {
        Some(near) => diagnostic.help(format!("{near} {expected}")),
        None => diagnostic.help(expected),
    };
    None
}

/// Checks a folder by itself.
pub fn check_folder(name: &Spanned<String>, folder: &Spanned<FolderSpec>, compiler: &mut Compiler<'_>) {
    let (compiled, reported) = compiler.attempt(|compiler| CompiledFolder::compile(name, folder, compiler));
    let is_explained = !reported.is_empty();
    compiler.load_context.report.extend(reported);
    if compiled.is_none() && !is_explained {
        compiler.error(Code::BadValue, folder.location, format!("invalid folder `{}`", name.value));
    }
    if let Some(CompiledFolder { source: FolderLocation::Unset(variable), client_roots, .. }) = &compiled {
        let whom = if *client_roots { " of clients without roots" } else { "" };
        let message = format!("variable `{variable}` is not set, so there is no folder `{}`{whom}", name.value);
        compiler
            .note(Code::UnsetVariable, folder.location, message)
            .help("set it to a folder where the server is started");
    }
    // Where something is wrong, what uses it may not have been read.
    if !compiler.load_context.used_keys.contains(&name.location) && !compiler.load_context.report.has_errors() {
        compiler
            .warning(Code::Unused, name.location, format!("folder `{}` is never used", name.value))
            .help(format!("write `in: {}` in a `file`", name.value));
    }
}

/// Whether a pack without the grant may not work in a folder.
pub(super) fn needs_grant(folder: &FolderSpec) -> bool {
    let is_outside = |path: &str| path.contains("{{") || Path::new(path).is_absolute();
    match folder {
        FolderSpec::Path(path) => is_outside(path),
        FolderSpec::Keys(keys) => keys.roots.is_some() || keys.path.as_deref().is_some_and(|path| is_outside(path)),
    }
}

impl CompiledFolder {
    /// Compiles a folder; reports what is wrong with it.
    pub(super) fn compile(
        name: &Spanned<String>,
        folder: &Spanned<FolderSpec>,
        compiler: &mut Compiler<'_>,
    ) -> Option<CompiledFolder> {
        let compiled = |source, client_roots, keys: &FolderKeys| CompiledFolder {
            name: name.value.clone(),
            source,
            client_roots,
            write: keys.write == Some(true),
            hidden: keys.hidden == Some(true),
        };
        let keys = match &folder.value {
            FolderSpec::Path(path) => {
                let path = Spanned::new(path.clone(), folder.location);
                return Some(compiled(FolderLocation::compile(&path, compiler)?, false, &FolderKeys::default()));
            }
            FolderSpec::Keys(keys) => keys,
        };
        match (&keys.path, &keys.roots, &keys.otherwise) {
            (Some(path), None, None) => Some(compiled(FolderLocation::compile(path, compiler)?, false, keys)),
            (None, Some(_), None) => Some(compiled(FolderLocation::None, true, keys)),
            (None, Some(_), Some(path)) => Some(compiled(FolderLocation::compile(path, compiler)?, true, keys)),
            _ => {
                compiler
                    .not_exactly_one(name.location, &format!("`path` and `roots` in folder `{}`", name.value))
                    .help("write `path: notes`, or `roots: client` with `else`");
                None
            }
        }
    }

    /// Whether the client is asked for the folders.
    pub(super) fn asks_client(&self) -> bool {
        self.client_roots
    }

    /// The absolute paths of the folders for this call.
    pub(super) async fn locate(&self, context: &StepContext<'_>) -> Result<Vec<PathBuf>, ActionError> {
        let has_roots = context.entry.client().has_capability(ClientCapability::Roots);
        if let (true, false, FolderLocation::Unset(variable)) = (self.client_roots, has_roots, &self.source) {
            let message = format!("there is no folder `{}`: set `{variable}`, or use a client with roots", self.name);
            return Err(ActionError::message(message));
        }
        if self.client_roots && (has_roots || self.source.is_empty()) {
            let roots = match ask_roots(context.entry.client(), context.scope.budget(), context.timeout).await {
                // A silent client is as one without roots.
                Err(ActionError::RootsUnanswered) if !self.source.is_empty() => Vec::new(),
                roots => roots.map_err(clear_wants_roots)?,
            };
            let roots: Vec<PathBuf> =
                roots.iter().filter_map(|root| file_uri_to_path(root)).take(MAX_NAMED_FOLDERS).collect();
            if !roots.is_empty() || self.source.is_empty() {
                return Ok(roots);
            }
        }
        match &self.source {
            FolderLocation::Pack(path) => Ok(vec![context.entry.pack_folder().join(path)]),
            FolderLocation::Outside(paths) => Ok(paths.clone()),
            FolderLocation::Unset(variable) => {
                Err(ActionError::message(format!("there is no folder `{}`: `{variable}` is not set", self.name)))
            }
            FolderLocation::None => Ok(Vec::new()),
        }
    }

    /// Opens the folders. A folder that does not exist is left out, unless it is the only one.
    pub(super) fn open(&self, paths: &[PathBuf], pack: &Path) -> Result<Vec<WritableFolder>, ActionError> {
        let open = |path: &PathBuf| match &self.source {
            FolderLocation::Pack(inside) => WritableFolder::open(pack)?.into_subfolder(&inside.to_string_lossy()),
            _ => WritableFolder::open(path).map_err(|error| match error {
                // The whole path, so that a `$NAME` or a quote in it shows.
                FileError::NotFound(_) => FileError::NotFound(display_value(path, pack)),
                FileError::NotAFolder(_) => FileError::NotAFolder(display_value(path, pack)),
                other => other,
            }),
        };
        let opened: Vec<_> = paths.iter().map(open).collect();
        for (path, opened) in paths.iter().zip(&opened) {
            if let Err(error) = opened {
                tracing::warn!(target: "folio::call", "cannot open `{}` of folder `{}`: {error}", path.display(), self.name);
            }
        }
        let mut failed = None;
        let folders: Vec<WritableFolder> =
            opened.into_iter().filter_map(|folder| folder.map_err(|error| failed = Some(error)).ok()).collect();
        match (folders.is_empty(), failed) {
            (false, _) => Ok(folders),
            (true, Some(error)) => Err(ActionError::message(format!("folder `{}`: {error}", self.name))),
            (true, None) => Err(ActionError::message(format!("the client has no roots for folder `{}`", self.name))),
        }
    }
}

impl FolderLocation {
    /// Whether it names no folder.
    fn is_empty(&self) -> bool {
        matches!(self, FolderLocation::None | FolderLocation::Unset(_))
    }

    fn compile(path: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<FolderLocation> {
        if path.contains("{{") {
            return FolderLocation::from_variable(path, compiler);
        }
        if Path::new(path.as_str()).is_absolute() && compiler.pack.grants == Grants::All {
            return Some(FolderLocation::Outside(vec![PathBuf::from(path.as_str())]));
        }
        let inside = compiler.resolve_path(path, path.location)?;
        match compiler.pack.folder.stat(&inside) {
            Ok(stat) if stat.is_dir => Some(FolderLocation::Pack(inside)),
            Ok(_) => {
                compiler.error(Code::NotFound, path.location, format!("`{}` is not a folder", path.value));
                None
            }
            Err(error) => {
                compiler.error(Code::NotFound, path.location, error.to_string()).help("make the folder");
                None
            }
        }
    }

    fn from_variable(path: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<FolderLocation> {
        let message = "invalid folder, expected a path of the pack, or exactly one `{{env.NAME}}` or `{{workspace}}`";
        let help = "an argument must not choose a folder; it may be a path beneath one";
        compiler.named_folders(path, message, help).map(|named| match named {
            FolderVariable::Paths(paths) => FolderLocation::Outside(paths),
            FolderVariable::Unset(variable) => FolderLocation::Unset(variable),
        })
    }
}

/// A path as a variable names it: relative to the manifest, or absolute.
fn display_value(path: &Path, pack: &Path) -> String {
    path.strip_prefix(pack).unwrap_or(path).to_string_lossy().into_owned()
}

/// The question for roots, as one that a step asks.
fn clear_wants_roots(error: ActionError) -> ActionError {
    match error {
        ActionError::InputRequired(mut pending) => {
            pending.checkpoint.wants_roots = false;
            ActionError::InputRequired(pending)
        }
        other => other,
    }
}
