//! `within`: the folders that the path in an argument must be inside of.

use std::path::PathBuf;

use crate::compile::{Compiler, FILES_GRANT, FolderVariable};
use crate::diagnostic::Code;
use crate::manifest::Argument;
use crate::yaml::Spanned;

/// The value of `within` for the client's roots.
const ROOTS: &str = "roots";

/// An argument with `within`.
#[derive(Debug)]
pub(in crate::catalog) struct ConfinedArgument {
    pub(in crate::catalog) name: String,
    pub(in crate::catalog) confinement: PathConfinement,
}

/// What a path must be inside of.
#[derive(Debug)]
pub(in crate::catalog) enum PathConfinement {
    /// The client's roots.
    Roots,
    /// Folders; `folder_list` is how messages name them.
    Folders { paths: Vec<PathBuf>, folder_list: String },
    /// Nothing, as this variable is not set.
    Unset(String),
}

/// Reports that a pack may not know what is outside of it. Where no one has confirmed its grant yet, no path is inside.
fn report_outside(outside: &str, within: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<PathConfinement> {
    let (is_withheld, help) = (compiler.is_withheld(FILES_GRANT), compiler.grant_help(FILES_GRANT));
    let message = format!("missing grant `files`: the {outside} outside the pack");
    if is_withheld {
        compiler.warning(Code::NotGranted, within.location, format!("{message}, so no path is inside")).help(help);
        return Some(PathConfinement::Folders {
            paths: Vec::new(),
            folder_list: "a folder of a trusted pack".to_owned(),
        });
    }
    compiler.error(Code::NotGranted, within.location, message).help(help);
    None
}

impl ConfinedArgument {
    /// The limit of an argument, if it has one; reports what is wrong with it.
    pub(in crate::catalog) fn compile(
        name: &Spanned<String>,
        argument: &Argument,
        compiler: &mut Compiler<'_>,
    ) -> Option<ConfinedArgument> {
        let within = argument.within.as_ref()?;
        let is_given =
            argument.required == Some(true) || argument.default.as_ref().is_some_and(|value| !value.is_null());
        compiler.arguments.paths.insert(name.value.clone(), is_given);
        Some(ConfinedArgument { name: name.value.clone(), confinement: PathConfinement::compile(within, compiler)? })
    }

    /// Whether it must be inside the client's roots.
    pub(in crate::catalog) fn needs_roots(&self) -> bool {
        matches!(self.confinement, PathConfinement::Roots)
    }
}

impl PathConfinement {
    fn compile(within: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<PathConfinement> {
        if within.value == ROOTS {
            if !compiler.has_grant(FILES_GRANT, within.location) {
                return report_outside("roots of the client are", within, compiler);
            }
            return Some(PathConfinement::Roots);
        }
        let message = "invalid `within`, expected `roots`, or exactly one `{{env.NAME}}` or `{{workspace}}`";
        let help = "write `within: \"{{workspace}}\"` for the folder that the client's user works on";
        if !within.contains("{{") {
            compiler.error(Code::BadValue, within.location, message).help(help);
            return None;
        }
        let is_workspace = compiler.workspace(within).is_some();
        if is_workspace && !compiler.has_grant(FILES_GRANT, within.location) {
            return report_outside("workspace is", within, compiler);
        }
        match compiler.named_folders(within, message, help)? {
            FolderVariable::Paths(paths) => {
                let variable = within.trim_matches(['{', '}', ' ']);
                let folder_list =
                    if is_workspace { "the workspace".to_owned() } else { format!("the folder of `{variable}`") };
                Some(PathConfinement::Folders { paths, folder_list })
            }
            FolderVariable::Unset(variable) => {
                let message = format!("variable `{variable}` is not set, so every path is rejected");
                compiler
                    .note(Code::UnsetVariable, within.location, message)
                    .help("set it to a folder where the server is started");
                Some(PathConfinement::Unset(variable))
            }
        }
    }
}
