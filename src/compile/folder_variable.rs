//! Folders outside of a pack, which a variable of its manifest names.

use std::path::{Path, PathBuf};

use super::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::files::{expand_home, path_value_help};
use crate::template::{ScopeShape, Shape, Template, TextSlot};
use crate::yaml::{Location, Spanned};

/// How many folders one variable may name.
pub const MAX_NAMED_FOLDERS: usize = 64;

/// What a variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderVariable {
    /// Folders, by their absolute paths.
    Paths(Vec<PathBuf>),
    /// Nothing, as this variable is not set.
    Unset(String),
}

/// What is wrong with the value of a variable where no folder is.
pub fn not_a_folder_message(name: &str, value: &str) -> String {
    format!("the value of `{name}` is not a folder: `{value}`")
}

impl Compiler<'_> {
    /// The folders of exactly one `{{env.NAME}}`, several separated as in `PATH`, or of `{{workspace}}`. Anything else is
    /// reported with this message and its help.
    pub fn named_folders(&mut self, text: &Spanned<String>, message: &str, help: &str) -> Option<FolderVariable> {
        if let Some(workspace) = self.workspace(text) {
            return Some(FolderVariable::Paths(vec![workspace]));
        }
        // Where `{{workspace}}` is not all that is written, it is known, and the message says what is wrong.
        let names = ScopeShape::new().with_name("env", self.pack.env.shape()).with_name("workspace", Shape::Text);
        let template: Template<TextSlot> =
            self.with_scope_shape(names, |compiler| compiler.template(text, Exposure::Client))?;
        let name = match template.single_path() {
            Some([env, name]) if env == "env" => name,
            _ => {
                self.error(Code::Unsafe, text.location, message).help(help);
                return None;
            }
        };
        self.check_folder_variable(name, text.location)?;
        let value = self.pack.env.variables.get(name).and_then(|variable| variable.value.clone());
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Some(FolderVariable::Unset(name.clone()));
        };
        let values = std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).take(MAX_NAMED_FOLDERS);
        let paths = values.map(|path| self.folder_of_value(name, &path, text.location)).collect();
        Some(FolderVariable::Paths(paths))
    }

    /// The folder that the value of a variable names. Warns where there is none; it must be there when it is used.
    pub fn folder_of_value(&mut self, name: &str, value: &Path, at: Location) -> PathBuf {
        let path = self.pack.folder.path().join(expand_home(value));
        if !path.is_dir() {
            let value = value.to_string_lossy();
            self.warning(Code::NotFound, at, not_a_folder_message(name, &value)).help(path_value_help(&value));
        }
        path
    }
}
