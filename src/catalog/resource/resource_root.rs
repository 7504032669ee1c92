//! `root`: a folder of which every matching file is a resource.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::compile::{Compiler, Exposure, FILES_GRANT, not_a_folder_message};
use crate::diagnostic::Code;
use crate::files::{FileEntry, Folder, Globs, expand_home, not_utf8_message, path_value_help};
use crate::manifest;
use crate::redact::Redactor;
use crate::template::{Template, TextSlot};
use crate::uri::{Operator, UriTemplate};
use crate::yaml::{Location, Spanned};

/// How many files a root may list.
const MAX_ROOT_FILES: usize = 200_000;

/// A folder, and which of its files are resources.
pub(in crate::catalog) struct ResourceRoot {
    folder: Folder,
    globs: Globs,
    entries: Vec<FileEntry>,
    /// Finds the secrets that no path may hold.
    secrets: Arc<Redactor>,
}

impl ResourceRoot {
    /// Compiles a `root`, and lists its files.
    pub(in crate::catalog) fn build(
        resource: &Spanned<manifest::Resource>,
        root: &Spanned<String>,
        template: &UriTemplate,
        compiler: &mut Compiler<'_>,
    ) -> Option<ResourceRoot> {
        check_root_uri(resource, template, compiler)?;
        let globs = compile_globs(resource, compiler);
        let folder = resolve_folder(root, compiler)?;
        let globs = globs?;
        for watched in folder.folders_to_watch(&globs).unwrap_or_default() {
            compiler.load_context.dependencies.folders.insert(watched);
        }
        let walked = match folder.walk_outcome(&globs, MAX_ROOT_FILES) {
            Ok(walked) => walked,
            Err(error) => {
                compiler.error(Code::Unreadable, root.location, error.to_string());
                return None;
            }
        };
        report_unused_excludes(resource, root, &walked.used_excludes, compiler);
        if walked.not_utf8 > 0 {
            compiler
                .warning(Code::Glob, root.location, not_utf8_message(walked.not_utf8))
                .help("rename the file or folder");
        }
        let entries = walked.files;
        // The folder of an unset variable is empty, which was reported already.
        if entries.is_empty() && folder.path() != Path::new("/") {
            compiler.warning(Code::Glob, root.location, "no files match this `root`");
        }
        for entry in &entries {
            compiler.load_context.dependencies.files.insert(folder.path().join(&entry.path));
        }
        Some(ResourceRoot { folder, globs, entries, secrets: Arc::default() })
    }

    /// Leaves out the files whose paths hold a secret.
    pub(in crate::catalog) fn exclude_secret_files(
        &mut self,
        secrets: &Arc<Redactor>,
        at: Location,
        compiler: &mut Compiler<'_>,
    ) {
        exclude_secret_paths(&mut self.entries, secrets, at, compiler);
        self.secrets = secrets.clone();
    }

    pub(in crate::catalog) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(in crate::catalog) fn entries(&self) -> &[FileEntry] {
        &self.entries
    }

    /// Whether a path is one of its files, if it is there.
    pub(in crate::catalog) fn matches(&self, path: &str) -> bool {
        self.globs.matches(path) && !self.secrets.finds_secret(path)
    }

    /// The same, with a look at where it leads.
    pub(in crate::catalog) fn matches_resolved(&self, path: &str) -> bool {
        self.matches(path) && !self.folder.is_hidden(path, &self.globs)
    }
}

/// Leaves out the files whose paths hold a secret: their names are sent whole, and a client could find out more of a
/// hidden one by their order.
pub(in crate::catalog) fn exclude_secret_paths(
    entries: &mut Vec<FileEntry>,
    secrets: &Redactor,
    at: Location,
    compiler: &mut Compiler<'_>,
) {
    let before = entries.len();
    entries.retain(|entry| !secrets.finds_secret(&entry.path));
    let secret_count = before - entries.len();
    if secret_count > 0 {
        compiler
            .warning(Code::Secret, at, format!("files left out, as their paths hold a secret: {secret_count}"))
            .help("rename them");
    }
}

/// Reports patterns of `exclude` that leave nothing out. Of a folder that a variable names, and of hidden files, which are
/// no resources anyway, nothing is known.
fn report_unused_excludes(
    resource: &manifest::Resource,
    root: &Spanned<String>,
    used: &BTreeSet<usize>,
    compiler: &mut Compiler<'_>,
) {
    if root.contains("{{") {
        return;
    }
    for (at, pattern) in resource.exclude.iter().flatten().enumerate() {
        let is_hidden = pattern.split('/').any(|name| name.starts_with('.') && !matches!(name, "." | ".."));
        if !used.contains(&at) && !is_hidden {
            let message = format!("exclude `{}` matches no files of this `root`", pattern.value);
            compiler.note(Code::Glob, pattern.location, message);
        }
    }
}

fn check_root_uri(
    resource: &Spanned<manifest::Resource>,
    template: &UriTemplate,
    compiler: &mut Compiler<'_>,
) -> Option<()> {
    let whole_path = template.variables().len() == 1
        && template
            .variables()
            .iter()
            .all(|variable| matches!(variable.operator, Operator::Simple | Operator::Reserved));
    if whole_path {
        return Some(());
    }
    let at = resource.uri.as_ref().map_or(resource.location, |uri| uri.location);
    compiler
        .error(Code::Uri, at, "invalid `uri` of a `root`, expected exactly one variable, the file path")
        .help("write it as `{+path}`, such as `src://{+path}`");
    None
}

fn compile_globs(resource: &manifest::Resource, compiler: &mut Compiler<'_>) -> Option<Globs> {
    let texts = |patterns: Option<&Vec<Spanned<String>>>| -> Vec<String> {
        patterns.into_iter().flatten().map(|pattern| pattern.value.clone()).collect()
    };
    let mut include = texts(resource.include.as_ref());
    if include.is_empty() {
        include.push("**/*".to_owned());
    }
    let exclude = texts(resource.exclude.as_ref());
    let include: Vec<&str> = include.iter().map(String::as_str).collect();
    let exclude: Vec<&str> = exclude.iter().map(String::as_str).collect();
    match Globs::new(&include, &exclude) {
        Ok(globs) => Some(globs),
        Err(error) => {
            let list = if error.excluded { &resource.exclude } else { &resource.include };
            if let Some(pattern) = list.as_ref().and_then(|list| list.get(error.index)) {
                compiler.error(Code::Glob, pattern.location, error.message);
            }
            None
        }
    }
}

/// The folder: a path of the pack, or what exactly one variable names, so that a server can work on its user's folder.
fn resolve_folder(root: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Folder> {
    if !root.contains("{{") {
        let path = compiler.resolve_path(root, root.location)?;
        compiler.load_context.dependencies.folders.insert(compiler.pack.folder.path().join(&path));
        let opened = compiler.pack.folder.subfolder(&path);
        return opened.map_err(|error| compiler.report_missing_path(root, root.location, error.to_string())).ok();
    }
    if let Some(workspace) = compiler.workspace(root) {
        return open_workspace(&workspace, root, compiler);
    }
    let template: Template<TextSlot> = compiler.template(root, Exposure::Client)?;
    let variable = match template.single_path() {
        Some([env, name]) if env == "env" => name.clone(),
        _ => {
            compiler
                .error(
                    Code::Unsafe,
                    root.location,
                    "invalid `root`, expected a path of the pack or exactly one `{{env.NAME}}` or `{{workspace}}`",
                )
                .help("write a pattern under `include` for a folder inside it");
            return None;
        }
    };
    compiler.check_folder_variable(&variable, root.location)?;
    let value = compiler.pack.env.variables.get(&variable).and_then(|variable| variable.value.clone());
    let Some(value) = value else {
        compiler
            .note(
                Code::UnsetVariable,
                root.location,
                format!("variable `{variable}` is not set, so this `root` is empty"),
            )
            .help("set it to a folder where the server is started");
        return Some(Folder::in_memory(std::collections::BTreeMap::new()));
    };
    let path: PathBuf = compiler.pack.folder.path().join(compiler.base).join(expand_home(Path::new(&value)));
    compiler.load_context.dependencies.folders.insert(path.clone());
    if !path.is_dir() {
        compiler
            .error(Code::NotFound, root.location, not_a_folder_message(&variable, &value))
            .help(path_value_help(&value));
        return None;
    }
    open_outside(&path, root, compiler)
}

/// The folder that the client's user works on, which a pack reads only where it may.
fn open_workspace(workspace: &Path, root: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Folder> {
    if !compiler.has_grant(FILES_GRANT, root.location) {
        let help = compiler.grant_help(FILES_GRANT);
        let message = "missing grant `files`: this `root` is outside of the pack";
        if compiler.is_withheld(FILES_GRANT) {
            compiler.warning(Code::NotGranted, root.location, format!("{message}, so it is empty")).help(help);
            return Some(Folder::in_memory(std::collections::BTreeMap::new()));
        }
        compiler.error(Code::NotGranted, root.location, message).help(help);
        return None;
    }
    compiler.load_context.dependencies.folders.insert(workspace.to_owned());
    open_outside(workspace, root, compiler)
}

/// Opens a folder that the operator chose, whose whole path the manifest does not say.
fn open_outside(path: &Path, root: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Folder> {
    match Folder::open(path) {
        Ok(folder) => Some(folder),
        Err(error) => {
            let at = format!("the folder is `{}`", path.display());
            compiler.error(Code::NotFound, root.location, error.to_string()).help(at);
            None
        }
    }
}
