//! `ServerDescription`, what is said of a server outside of it.

use crate::catalog::Catalog;
use crate::catalog::listing::{Lists, ServerInfo};
use crate::load::LoadedPack;
use crate::manifest::{EnvEntry, EnvVariable};

/// What is said of a server outside of it. No value of the environment is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerDescription {
    /// What clients learn of it.
    pub info: ServerInfo,
    pub lists: Lists,
    /// The variables that its user sets.
    pub variables: Vec<ExportedVariable>,
}

/// A variable that the user of a server sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedVariable {
    pub name: String,
    pub description: Option<String>,
    /// Whether the server does not start without it.
    pub is_required: bool,
    /// Whether no one else may see it.
    pub is_secret: bool,
    /// Its value where it is not set; never that of a secret.
    pub default: Option<String>,
}

impl ServerDescription {
    /// What is said of a server that was built without variables.
    pub fn new(catalog: &Catalog, variables: Vec<ExportedVariable>) -> ServerDescription {
        ServerDescription { info: catalog.server().clone(), lists: catalog.lists().clone(), variables }
    }

    /// The name without the namespace before it: `desk` of `io.github.me/desk`.
    pub fn short_name(&self) -> &str {
        self.info.name.rsplit('/').next().unwrap_or(&self.info.name)
    }

    /// Its description, which is never empty.
    pub fn summary(&self) -> String {
        let text = self.info.description.as_deref().or(self.info.title.as_deref()).map(str::trim);
        text.filter(|text| !text.is_empty()).unwrap_or_else(|| self.short_name()).to_owned()
    }
}

/// The variables that the user of a served manifest sets. A value that is read from a file or from a command is not theirs.
pub fn exported_variables(served: &LoadedPack) -> Vec<ExportedVariable> {
    let declared = served.manifest.env.iter().map(|(name, entry)| (&name.value, &entry.value));
    let keys = |entry: &EnvEntry| match entry {
        EnvEntry::Keys(variable) => variable.clone(),
        EnvEntry::Null(()) | EnvEntry::Bare(_) => EnvVariable::default(),
    };
    let declared = declared.map(|(name, entry)| (name, keys(entry)));
    let own = declared.filter(|(_, variable)| variable.file.is_none() && variable.command.is_none());
    own.map(|(name, variable)| {
        let is_secret = variable.secret == Some(true);
        let default = variable.default.map(|default| default.value.0).filter(|_| !is_secret);
        ExportedVariable {
            name: name.clone(),
            description: variable.description,
            is_required: variable.required == Some(true) && default.is_none(),
            is_secret,
            default,
        }
    })
    .collect()
}
