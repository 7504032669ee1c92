//! The notation of `file`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value_types::{Json, OneOrMany, Scalar, TextOrFile};
use crate::yaml::Spanned;

/// One operation on files below a folder of `folders`: exactly one of `read`, `write`, `append`, `list`, `tree`, `stat`,
/// `find`, `copy`, `move`, `remove`, `makeDir`, whose value is a path: `{ read: "{{name}}.md", in: notes }`.
///
/// A path is a template. It is relative to the folder, or absolute and inside it. No link leads out of the folder, and no
/// value names a hidden file. What is written is whole or not at all, with the owner and the permissions of what it
/// replaces. A change answers with a sentence, such as `wrote 12 bytes to a.md`, where no other step has an output.
///
/// The outcome of each operation has a `path`, that of `copy` and `move` the new one. What else it has is said at its key.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["read", "write", "append", "list", "tree", "stat", "find", "copy", "move", "remove", "makeDir"]))]
pub struct FileSpec {
    /// Reads a file, of at most `maxOutput` bytes. The outcome has `text`, or `base64` where that is not UTF-8, and
    /// `mimeType size modified`. The `text` of what is not UTF-8 is an error; ask with `{{#if steps.ID.text}}`.
    pub read: Option<Spanned<String>>,
    /// Writes a file: `text` or `base64` replaces its content, `edits` change it, and their outcome has a `diff`.
    pub write: Option<Spanned<String>>,
    /// Adds `text` or `base64` to the end of a file, or makes it. What programs add meanwhile stays.
    pub append: Option<Spanned<String>>,
    /// Lists a folder, sorted by name; with `recursive`, those in it too. The outcome has `entries`, and `truncated` where
    /// there are more than `limit`, and `notUtf8`, how many names it lacks as they are not UTF-8: then the result says so in
    /// a note, and has no structured content unless there is an `outputSchema`. An entry has `name path type modified`, and
    /// a file its `size`; the type is `file`, `directory`, `link` (which leads nowhere, or out of the folder) or `other`.
    pub list: Option<Spanned<String>>,
    /// Lists a folder as a tree: the entries are those of `list`, and those of folders have `entries`.
    pub tree: Option<Spanned<String>>,
    /// Describes a file or folder. The outcome has `type size modified created accessed mode folders`; the last are the
    /// folders of `in`.
    pub stat: Option<Spanned<String>>,
    /// Finds files and folders below a folder that `glob` matches. The outcome is that of `list`.
    pub find: Option<Spanned<String>>,
    /// Copies a file to `to`.
    pub copy: Option<Spanned<String>>,
    /// Moves a file or folder to `to`.
    pub r#move: Option<Spanned<String>>,
    /// Removes a file, an empty folder, or with `recursive` any folder.
    pub remove: Option<Spanned<String>>,
    /// Makes a folder and its parents. It is not an error if it exists.
    pub make_dir: Option<Spanned<String>>,
    /// The name of one of `folders`.
    #[serde(rename = "in")]
    #[schemars(with = "String", extend("x-required" = true))]
    pub folder: Option<Spanned<String>>,
    /// The path of the copy, or the new path, a template.
    pub to: Option<Spanned<String>>,
    /// The text to write: a template, or `{ file: new.md }` for a file that contains it.
    pub text: Option<Spanned<TextOrFile>>,
    /// For `write` and `append`, the bytes as base64, a template. For `read`, `true` for base64 even of text.
    pub base64: Option<Spanned<Scalar>>,
    /// Texts to replace, in their order: `[{ old: "{{old}}", new: "{{new}}" }]`, or exactly one `{{…}}` with such a list,
    /// whose keys may also be `oldText` and `newText`. Each `old` must be in the file exactly once. The outcome has a `diff`.
    /// A file that a program changes meanwhile is left as it is.
    pub edits: Option<Spanned<Json>>,
    /// Whether `edits` only make a `diff`: `true`, or exactly one `{{…}}`.
    pub dry_run: Option<Spanned<Scalar>>,
    /// `only` to fail where a file exists already, instead of replacing it.
    pub create: Option<Create>,
    /// How many lines to read from the beginning: a number, or exactly one `{{…}}`.
    pub head: Option<Spanned<Scalar>>,
    /// How many lines to read from the end: a number, or exactly one `{{…}}`.
    pub tail: Option<Spanned<Scalar>>,
    /// Whether folders within are listed, or removed: `true`, or exactly one `{{…}}`.
    pub recursive: Option<Spanned<Scalar>>,
    /// The paths to include, relative to what is listed, as patterns: `"**/*.md"`, `[a/*, b/*]`. `*` and `?` stop at `/`,
    /// `**` does not, `[a-z]` is one character, `{a,b}` is either, `notes/` is all in that folder. Templates.
    pub glob: Option<OneOrMany>,
    /// The paths to exclude, written like `glob`. A folder is excluded with all in it: `[node_modules, "**/target"]`.
    pub exclude: Option<OneOrMany>,
    /// How many entries to list at most: a number, or exactly one `{{…}}`. The default is 1000.
    pub limit: Option<Spanned<Scalar>>,
}

/// When a file may be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Create {
    /// Only where there is none.
    Only,
}

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOperation {
    Read,
    Write,
    Append,
    List,
    Tree,
    Stat,
    Find,
    Copy,
    Move,
    Remove,
    MakeDir,
}

impl FileOperation {
    pub(super) const ALL: [FileOperation; 11] = [
        FileOperation::Read,
        FileOperation::Write,
        FileOperation::Append,
        FileOperation::List,
        FileOperation::Tree,
        FileOperation::Stat,
        FileOperation::Find,
        FileOperation::Copy,
        FileOperation::Move,
        FileOperation::Remove,
        FileOperation::MakeDir,
    ];

    /// The fields of its outcome.
    pub(super) fn outcome_fields(self, has_edits: bool) -> impl Iterator<Item = &'static str> {
        let fields: &[&str] = match self {
            FileOperation::Read => &["path", "text", "base64", "mimeType", "size", "modified"],
            FileOperation::List | FileOperation::Tree | FileOperation::Find => {
                &["path", "entries", "truncated", "notUtf8"]
            }
            FileOperation::Stat => &["path", "type", "size", "modified", "created", "accessed", "mode", "folders"],
            FileOperation::Write if has_edits => &["path", "diff"],
            FileOperation::Write | FileOperation::Append | FileOperation::Copy => &["path"],
            FileOperation::Move | FileOperation::Remove | FileOperation::MakeDir => &["path"],
        };
        fields.iter().copied()
    }

    /// Its key.
    pub(super) fn key(self) -> &'static str {
        match self {
            FileOperation::Read => "read",
            FileOperation::Write => "write",
            FileOperation::Append => "append",
            FileOperation::List => "list",
            FileOperation::Tree => "tree",
            FileOperation::Stat => "stat",
            FileOperation::Find => "find",
            FileOperation::Copy => "copy",
            FileOperation::Move => "move",
            FileOperation::Remove => "remove",
            FileOperation::MakeDir => "makeDir",
        }
    }

    /// Whether it changes files.
    pub(super) fn changes(self) -> bool {
        !matches!(
            self,
            FileOperation::Read | FileOperation::List | FileOperation::Tree | FileOperation::Stat | FileOperation::Find
        )
    }

    /// The keys that may stand beside it.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            FileOperation::Read => &["head", "tail", "base64"],
            FileOperation::Write => &["text", "base64", "edits", "dryRun", "create"],
            FileOperation::Append => &["text", "base64"],
            FileOperation::List => &["recursive", "glob", "exclude", "limit"],
            FileOperation::Tree | FileOperation::Find => &["glob", "exclude", "limit"],
            FileOperation::Copy | FileOperation::Move => &["to", "create"],
            FileOperation::Remove => &["recursive"],
            FileOperation::Stat | FileOperation::MakeDir => &[],
        }
    }
}

impl FileSpec {
    /// The operations that are written, with their paths.
    pub(super) fn operations(&self) -> Vec<(FileOperation, &Spanned<String>)> {
        let operations = [
            (FileOperation::Read, &self.read),
            (FileOperation::Write, &self.write),
            (FileOperation::Append, &self.append),
            (FileOperation::List, &self.list),
            (FileOperation::Tree, &self.tree),
            (FileOperation::Stat, &self.stat),
            (FileOperation::Find, &self.find),
            (FileOperation::Copy, &self.copy),
            (FileOperation::Move, &self.r#move),
            (FileOperation::Remove, &self.remove),
            (FileOperation::MakeDir, &self.make_dir),
        ];
        operations.into_iter().filter_map(|(operation, path)| Some((operation, path.as_ref()?))).collect()
    }

    /// The options that are written.
    pub(super) fn options(&self) -> Vec<&'static str> {
        let options = [
            ("to", self.to.is_some()),
            ("text", self.text.is_some()),
            ("base64", self.base64.is_some()),
            ("edits", self.edits.is_some()),
            ("dryRun", self.dry_run.is_some()),
            ("create", self.create.is_some()),
            ("head", self.head.is_some()),
            ("tail", self.tail.is_some()),
            ("recursive", self.recursive.is_some()),
            ("glob", self.glob.is_some()),
            ("exclude", self.exclude.is_some()),
            ("limit", self.limit.is_some()),
        ];
        options.into_iter().filter_map(|(key, is_written)| is_written.then_some(key)).collect()
    }
}
