//! Packs, their grants and environments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::SandboxRules;
use crate::diagnostic::FileId;
use crate::files::Folder;
use crate::template::{Engine, FixedTime, Shape};
use crate::value_types::{Connection, FolderSpec, NamedMap};
use crate::yaml::{Location, Spanned};

/// The grant that a pack needs to change files, and to read outside of itself.
pub const FILES_GRANT: &str = "files";

/// One pack: a folder with a manifest, its grants and its environment.
pub struct Pack {
    /// The folder, which no path escapes.
    pub folder: Folder,
    /// The prefix of its paths in messages, ending with `/`; empty for the served pack.
    pub display_prefix: String,
    /// Partials and helpers.
    pub engine: Arc<Engine>,
    /// The files of the partials, by their names.
    pub partials: BTreeMap<String, FileId>,
    /// The actions that it may use.
    pub grants: Grants,
    /// What is withheld from it, if it comes from elsewhere.
    pub locked: Option<LockedGrants>,
    /// What its importers hold its programs to, by grant.
    pub sandboxes: Vec<(String, Arc<SandboxRules>)>,
    /// The variables that it may read.
    pub env: Environment,
    /// The `server` of templates: `name`, `title` and `version`.
    pub server: Value,
    /// Shared bases of HTTP requests.
    pub connections: NamedMap<Spanned<Connection>>,
    /// Folders in which `file` works.
    pub folders: NamedMap<Spanned<FolderSpec>>,
    /// The folder that the client's user works on, `{{workspace}}`.
    pub workspace: PathBuf,
    /// The time of `now`, if it is fixed.
    pub fixed_time: Option<FixedTime>,
    /// The search path for programs.
    pub search_path: String,
}

impl Pack {
    /// A path of this pack as messages show it.
    pub fn display_path(&self, path: &Path) -> String {
        format!("{}{}", self.display_prefix, path.display())
    }
}

/// What a pack from elsewhere may not do, as its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedGrants {
    /// Its key in the lock.
    pub key: String,
    /// The grants that its importer allows, and that are not confirmed for these files.
    pub withheld: BTreeSet<String>,
}

/// Something in a pack from elsewhere that needs a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantUse {
    /// The key of the pack in the lock.
    pub key: String,
    pub grant: &'static str,
    /// The place.
    pub at: Location,
    /// What is there, without references to other places.
    pub value: Value,
    /// Whether its importer allows it, and that is not confirmed.
    pub is_withheld: bool,
}

/// The actions that a pack may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// All actions: the served pack.
    All,
    /// Only these actions.
    Only(BTreeSet<String>),
}

impl Grants {
    /// Whether an action is granted.
    pub fn allows(&self, action: &str) -> bool {
        match self {
            Grants::All => true,
            Grants::Only(granted) => granted.contains(action),
        }
    }

    /// The actions of `wanted` that these grants include.
    #[must_use]
    pub fn restrict(&self, wanted: BTreeSet<String>) -> Grants {
        Grants::Only(wanted.into_iter().filter(|action| self.allows(action)).collect())
    }
}

/// The variables of a pack.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// By name.
    pub variables: BTreeMap<String, PackVariable>,
}

/// One variable.
#[derive(Debug, Clone, Default)]
pub struct PackVariable {
    /// Its value; `None` where it is not set.
    pub value: Option<String>,
    /// Whether it must be redacted.
    pub secret: bool,
    /// Its default in the manifest.
    pub default: Option<String>,
    /// Who chose the value.
    pub origin: ValueOrigin,
}

/// Who chose the value of a variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The one who serves: in the environment of the process, or in the served manifest.
    #[default]
    Operator,
    /// An imported pack, by a default, or by what it passes to a pack of its own. This is what it wrote, with
    /// `{{env.NAME}}` for what the operator chose.
    Pack(String),
}

impl Environment {
    /// The shape of `env` in templates.
    pub fn shape(&self) -> Shape {
        Shape::object(self.variables.keys().map(|name| (name.clone(), Shape::Text)))
    }

    /// The values of `env` in templates; unset variables are null.
    pub fn values(&self) -> Value {
        self.variables.iter().map(|(name, variable)| (name.clone(), Value::from(variable.value.clone()))).collect()
    }

    /// What packs wrote of the values, with `{{env.NAME}}` for those that the operator chose.
    pub fn values_for_review(&self) -> Value {
        let text = |(name, variable): (&String, &PackVariable)| {
            let text = match &variable.origin {
                ValueOrigin::Pack(text) => text.clone(),
                ValueOrigin::Operator => format!("{{{{env.{name}}}}}"),
            };
            (name.clone(), Value::from(variable.value.as_ref().map(|_| text)))
        };
        self.variables.iter().map(text).collect()
    }

    /// Whether a path of a template is that of a variable whose value the operator chose.
    pub fn is_set_by_operator(&self, path: Option<&[String]>) -> bool {
        let Some([env, name]) = path else { return false };
        let variable = self.variables.get(name).filter(|_| env == "env");
        variable.is_some_and(|variable| variable.origin == ValueOrigin::Operator)
    }

    /// Whether a variable is a secret.
    pub fn is_secret(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|variable| variable.secret)
    }

    /// Whether any variable is a secret, set or not.
    pub fn has_secrets(&self) -> bool {
        self.variables.values().any(|variable| variable.secret)
    }

    /// The secret that a template reads, for messages.
    pub fn find_secret(&self, reads: &[Vec<String>]) -> Option<String> {
        // An empty path is all of the scope.
        let mut of_env = reads.iter().filter(|path| path.first().is_none_or(|head| head == "env"));
        of_env.find_map(|path| match path.get(1) {
            Some(name) => self.is_secret(name).then(|| format!("secret `{name}`")),
            None => self.has_secrets().then(|| "`env` with its secrets".to_owned()),
        })
    }

    /// The values that must be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.variables.values().filter(|variable| variable.secret).filter_map(|variable| variable.value.as_deref())
    }
}
