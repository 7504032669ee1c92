//! Folders that `file` works in.

use schemars::JsonSchema;
use serde::Deserialize;

use super::yaml_kind_enum;
use crate::yaml::Spanned;

yaml_kind_enum! {
    /// A folder in which `file` reads, by its path; with keys, one in which it writes too: `{ path: notes, write: true }`.
    pub enum FolderSpec {
        "text" => Path(String),
        "map" => Keys(Box<FolderKeys>),
    }
}

/// A folder, or the folders that the client's user works on: exactly one of `path` and `roots`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["path", "roots"]))]
pub struct FolderKeys {
    /// The folder: a path relative to the manifest, such as `notes`, or exactly one `{{env.NAME}}` with one folder, or
    /// several separated by `:` as in `PATH`, each of which may begin with `~/`, or `{{workspace}}`, the folder that the client's user works on. An absolute path is allowed in the served manifest only. It must exist when it
    /// is used.
    pub path: Option<Spanned<String>>,
    /// `client` for the roots of the client, which is asked for them: it has the time limit of the call, 10 s at most. Roots
    /// that are not folders of this machine are left out.
    pub roots: Option<Spanned<RootsSource>>,
    /// The folder, written like `path`, for clients without roots, or that do not say them: `{ roots: client, else:
    /// "{{env.DIRS}}" }`.
    #[serde(rename = "else")]
    pub otherwise: Option<Spanned<String>>,
    /// Whether files may be changed: `true`. By default they are only read.
    pub write: Option<bool>,
    /// Whether values may name hidden files (with a leading `.`), and lists show them: `true`.
    pub hidden: Option<bool>,
}

/// Who names the folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RootsSource {
    /// The client, by its roots.
    Client,
}
