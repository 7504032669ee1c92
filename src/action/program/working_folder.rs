//! `cwd`: the working folder of a program.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::action::{ActionError, StepContext};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, truncate};
use crate::files::{expand_home, open_real_folder};
use crate::template::{Template, TextSlot};
use crate::yaml::Spanned;

/// How much of the value of a variable an error shows.
const MAX_SHOWN_CHARS: usize = 200;

/// Where a program runs.
pub(super) enum WorkingFolder {
    /// A folder that is known at load.
    Folder(PathBuf),
    /// That of a variable.
    Variable(String),
    /// That of an argument with `within`.
    Argument(String),
}

/// The folder of one call.
pub(super) struct LocatedFolder {
    pub(super) path: PathBuf,
    /// The folder itself, where a path could lead elsewhere by now.
    pub(super) open: Option<Arc<OwnedFd>>,
}

impl WorkingFolder {
    pub(super) fn compile(cwd: Option<&Spanned<String>>, compiler: &mut Compiler<'_>) -> Option<WorkingFolder> {
        let Some(cwd) = cwd else {
            return Some(WorkingFolder::Folder(compiler.pack.folder.path().join(compiler.base)));
        };
        if let Some(workspace) = compiler.workspace(cwd) {
            return Some(WorkingFolder::Folder(workspace));
        }
        if cwd.contains("{{") {
            return WorkingFolder::from_template(cwd, compiler);
        }
        let path = compiler.resolve_path(cwd, cwd.location)?;
        let folder = compiler.pack.folder.path().join(&path);
        match compiler.pack.folder.stat(&path) {
            Ok(stat) if stat.is_dir => Some(WorkingFolder::Folder(folder)),
            _ => {
                let message = format!("folder `{}` not found", cwd.value);
                compiler.report_missing_path(cwd, cwd.location, message);
                None
            }
        }
    }

    fn from_template(cwd: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<WorkingFolder> {
        let template: Template<TextSlot> = compiler.template(cwd, Exposure::Private)?;
        if let Some([env, name]) = template.single_path()
            && env == "env"
        {
            compiler.check_folder_variable(name, cwd.location)?;
            let value = compiler.pack.env.variables.get(name).and_then(|variable| variable.value.clone());
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                compiler.folder_of_value(name, Path::new(&value), cwd.location);
            }
            return Some(WorkingFolder::Variable(name.clone()));
        }
        if let Some(name) = path_argument(template.single_path(), compiler) {
            check_has_value(&name, cwd, compiler)?;
            return Some(WorkingFolder::Argument(name));
        }
        let message = "invalid `cwd`, expected a path of the pack, or exactly one `{{env.NAME}}`, `{{workspace}}`, or an \
                       argument with `within`";
        let argument = template.single_path().and_then(|path| declared_argument(path, compiler));
        compiler.error(Code::Unsafe, cwd.location, message).help(match argument {
            Some(name) => format!("write `within: \"{{{{workspace}}}}\"` in the argument `{name}`"),
            None => "an argument must not choose where a program runs, unless it has a `within`".to_owned(),
        });
        None
    }

    pub(super) fn locate(&self, context: &StepContext<'_>) -> Result<LocatedFolder, ActionError> {
        match self {
            WorkingFolder::Folder(path) => Ok(LocatedFolder { path: path.clone(), open: None }),
            WorkingFolder::Variable(name) => {
                let value = context.scope.get(&["env", name]).and_then(Value::as_str).unwrap_or_default();
                let path = context.entry.pack_folder().join(expand_home(Path::new(value)));
                if value.is_empty() || !path.is_dir() {
                    let shown = truncate(value, MAX_SHOWN_CHARS);
                    return Err(ActionError::message(format!("the value of `{name}` is not a folder: `{shown}`")));
                }
                Ok(LocatedFolder { path, open: None })
            }
            WorkingFolder::Argument(name) => {
                let value = context.scope.arguments().and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
                let path = Path::new(value.unwrap_or_default());
                // The caller knows what it gave, and need not know where that is.
                let not_a_folder = |_| ActionError::message(format!("the value of `{name}` is not a folder"));
                let open = open_real_folder(path).map_err(not_a_folder)?;
                Ok(LocatedFolder { path: path.to_owned(), open: Some(Arc::new(open)) })
            }
        }
    }
}

/// The argument with `within` that is at a path of a template.
fn path_argument(path: Option<&[String]>, compiler: &Compiler<'_>) -> Option<String> {
    declared_argument(path?, compiler).filter(|name| compiler.arguments.paths.contains_key(name))
}

fn declared_argument(path: &[String], compiler: &Compiler<'_>) -> Option<String> {
    let name = match path {
        [name] => name,
        [arguments, name] if arguments == "arguments" => name,
        _ => return None,
    };
    compiler.arguments.locations.contains_key(name).then(|| name.clone())
}

/// Reports an argument that a call may leave out, so that there is not a folder.
fn check_has_value(name: &str, cwd: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<()> {
    if compiler.arguments.paths.get(name) == Some(&true) {
        return Some(());
    }
    compiler
        .error(Code::Unsafe, cwd.location, format!("a call without `{name}` has no folder for `cwd`"))
        .help("add `required: true` to the argument, or `default: .` where its `within` is exactly one `{{…}}`");
    None
}

/// Whether `cwd` is an argument with `within`.
pub(super) fn is_argument(cwd: &Spanned<String>, compiler: &Compiler<'_>) -> bool {
    let name = cwd.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
    let path: Vec<String> = name.into_iter().flat_map(|name| name.split('.')).map(str::to_owned).collect();
    path_argument(Some(&path), compiler).is_some()
}
