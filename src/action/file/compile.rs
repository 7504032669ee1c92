//! Checks and compiles `file`.

use crate::action::ActionNode;
use crate::action::sibling_keys::check_exactly_one;
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::{Code, Reporting};
use crate::files::{Globs, OverwritePolicy};
use crate::template::{JsonSlot, QuerySlot, Template, TextSlot};
use crate::value_types::{Json, OneOrMany, Scalar};
use crate::yaml::{Location, Spanned};

use super::folder::{CompiledFolder, find_folder};
use super::spec::{Create, FileOperation, FileSpec};
use super::{FileAction, FileOptions, NewContent};

/// The keys of an item of `edits`.
const EDIT_KEYS: [&str; 4] = ["old", "new", "oldText", "newText"];

impl FileAction {
    pub(super) fn compile_spec(node: &ActionNode<'_, FileSpec>, compiler: &mut Compiler<'_>) -> Option<FileAction> {
        let spec = &node.spec.value;
        let (operation, path) = single_operation(node, compiler)?;
        check_options(operation, node, compiler);
        let folder = compile_folder(operation, node, compiler);
        let path = check_path(path, compiler).and_then(|path| compiler.template(path, Exposure::Client));
        let to = match (operation, &spec.to) {
            (FileOperation::Copy | FileOperation::Move, None) => {
                compiler
                    .error(Code::MissingKey, node.key, format!("missing key `to` beside `{}`", operation.key()))
                    .help("write the new path: `to: PATH`");
                return None;
            }
            (_, Some(to)) => Some(check_path(to, compiler).and_then(|path| compiler.template(path, Exposure::Client))?),
            _ => None,
        };
        let content = compile_content(operation, node, compiler)?;
        let options = FileOptions::compile(spec, compiler)?;
        Some(FileAction { operation, folder: folder?, path: path?, to, content, options })
    }
}

/// The one operation, and its path.
fn single_operation<'a>(
    node: &ActionNode<'a, FileSpec>,
    compiler: &mut Compiler<'_>,
) -> Option<(FileOperation, &'a Spanned<String>)> {
    match node.spec.value.operations().as_slice() {
        [one] => Some(*one),
        [] => {
            compiler
                .error(Code::MissingKey, node.key, "missing operation in `file`")
                .help("write one of `read write append list tree stat find copy move remove makeDir`, with a path");
            None
        }
        [(first, _), (second, _), ..] => {
            let at = compiler.key_location(node.spec.location, second.key());
            let message = format!("multiple operations `{}` and `{}`, expected one", first.key(), second.key());
            compiler.error(Code::Conflict, at, message).help("write a step for each");
            None
        }
    }
}

fn check_options(operation: FileOperation, node: &ActionNode<'_, FileSpec>, compiler: &mut Compiler<'_>) {
    for key in node.spec.value.options() {
        if operation.options().contains(&key) {
            continue;
        }
        let at = compiler.key_location(node.spec.location, key);
        let message = format!("unexpected key `{key}` beside `{}`", operation.key());
        compiler.error(Code::Conflict, at, message).help(match operation.options() {
            [] => "remove it".to_owned(),
            allowed => format!("its keys are `{}`", allowed.join(" ")),
        });
    }
    let spec = &node.spec.value;
    let conflicts = [
        (is_literal(&spec.head) && is_literal(&spec.tail), "tail", "head"),
        (spec.edits.is_some() && spec.create.is_some(), "create", "edits"),
        (spec.edits.is_none() && spec.dry_run.is_some() && operation == FileOperation::Write, "dryRun", "text"),
    ];
    for (_, key, other) in conflicts.into_iter().filter(|(is_conflict, ..)| *is_conflict) {
        let at = compiler.key_location(node.spec.location, key);
        compiler.error(Code::Conflict, at, format!("`{key}` cannot be used with `{other}`")).help("remove one of them");
    }
}

fn compile_folder(
    operation: FileOperation,
    node: &ActionNode<'_, FileSpec>,
    compiler: &mut Compiler<'_>,
) -> Option<CompiledFolder> {
    let Some(name) = &node.spec.value.folder else {
        compiler
            .error(Code::MissingKey, node.key, "missing key `in` in `file`")
            .help("write the name of one of `folders`: `in: notes`");
        return None;
    };
    let (key, folder) = find_folder(name, compiler)?;
    // Its errors are reported once, at the folder.
    let (compiled, _) = compiler.attempt(|compiler| CompiledFolder::compile(key, folder, compiler));
    let compiled = compiled?;
    if operation.changes() && !compiled.write {
        compiler
            .error(
                Code::Conflict,
                name.location,
                format!("folder `{}` is only read: `{}` changes it", name.value, operation.key()),
            )
            .note(key.location.span(), "the folder")
            .help("write `write: true` in the folder");
        return None;
    }
    Some(compiled)
}

/// A path without values must lie below its folder as it is written.
fn check_path<'a>(path: &'a Spanned<String>, compiler: &mut Compiler<'_>) -> Option<&'a Spanned<String>> {
    if path.split('/').any(|name| name == "..") {
        compiler
            .error(Code::PathEscape, path.location, format!("path `{}` contains `..`", path.value))
            .help("write a path relative to the folder of `in`");
        return None;
    }
    Some(path)
}

fn compile_content(
    operation: FileOperation,
    node: &ActionNode<'_, FileSpec>,
    compiler: &mut Compiler<'_>,
) -> Option<Option<NewContent>> {
    let spec = &node.spec.value;
    if !matches!(operation, FileOperation::Write | FileOperation::Append) {
        return Some(None);
    }
    let mut keys = vec![("text", spec.text.is_some()), ("base64", spec.base64.is_some())];
    if operation == FileOperation::Write {
        keys.push(("edits", spec.edits.is_some()));
    }
    check_exactly_one("file", node.key, &keys, compiler)?;
    if let Some(text) = &spec.text {
        let text = compiler.resolve_text(text)?;
        return Some(Some(NewContent::Text(compiler.template(&text, Exposure::Client)?)));
    }
    if let Some(base64) = &spec.base64 {
        let template: Template<TextSlot> = compiler.template(&base64.to_text(), Exposure::Client)?;
        return Some(Some(NewContent::Base64(template)));
    }
    let Some(edits) = &spec.edits else { return Some(None) };
    compile_edits(edits, compiler).map(|edits| Some(NewContent::Edits(edits)))
}

fn compile_edits(edits: &Spanned<Json>, compiler: &mut Compiler<'_>) -> Option<JsonTemplate> {
    let is_single = |text: &str| text.starts_with("{{") && text.ends_with("}}") && text.matches("{{").count() == 1;
    let items = match &edits.value.0 {
        serde_json::Value::String(text) if is_single(text.trim()) => {
            return Some(compiler.json_template(&edits.value.0, edits.location, Exposure::Client));
        }
        serde_json::Value::Array(items) if !items.is_empty() => items,
        _ => {
            report_edits(edits.location, compiler);
            return None;
        }
    };
    for (number, item) in items.iter().enumerate() {
        let keys: Vec<&str> = item.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let are_keys_of_edits = keys.iter().all(|key| EDIT_KEYS.contains(key));
        if keys.len() != 2 || !are_keys_of_edits || !keys.iter().any(|key| key.starts_with("old")) {
            let at = compiler.load_context.documents.value_at(edits.location, &format!("/{number}"));
            report_edits(at, compiler);
            return None;
        }
    }
    Some(compiler.json_template(&edits.value.0, edits.location, Exposure::Client))
}

fn report_edits(at: Location, compiler: &mut Compiler<'_>) {
    compiler
        .error(Code::WrongType, at, "invalid `edits`, expected a list of texts to replace")
        .help("write `edits: [{ old: \"{{old}}\", new: \"{{new}}\" }]`, or exactly one `{{…}}` with such a list");
}

impl FileOptions {
    fn compile(spec: &FileSpec, compiler: &mut Compiler<'_>) -> Option<FileOptions> {
        let reads = spec.read.is_some();
        Some(FileOptions {
            existing: match spec.create {
                Some(Create::Only) => OverwritePolicy::Refuse,
                None => OverwritePolicy::Replace,
            },
            dry_run: flag("dryRun", spec.dry_run.as_ref(), compiler)?,
            recursive: flag("recursive", spec.recursive.as_ref(), compiler)?,
            base64: flag("base64", spec.base64.as_ref().filter(|_| reads), compiler)?,
            head: count("head", spec.head.as_ref(), compiler)?,
            tail: count("tail", spec.tail.as_ref(), compiler)?,
            limit: count("limit", spec.limit.as_ref(), compiler)?,
            glob: patterns(spec.glob.as_ref(), compiler)?,
            exclude: patterns(spec.exclude.as_ref(), compiler)?,
        })
    }
}

fn is_literal(option: &Option<Spanned<Scalar>>) -> bool {
    option.as_ref().is_some_and(|option| !option.value.0.contains("{{"))
}

type OptionTemplate = Option<Template<JsonSlot>>;

/// A number, or one `{{…}}`; the outer `None` if it has an error.
fn count(key: &str, option: Option<&Spanned<Scalar>>, compiler: &mut Compiler<'_>) -> Option<OptionTemplate> {
    compile_option(option, |text| text.parse::<u32>().is_ok(), &format!("invalid `{key}`, expected a number"), compiler)
}

/// True or false, or one `{{…}}`.
fn flag(key: &str, option: Option<&Spanned<Scalar>>, compiler: &mut Compiler<'_>) -> Option<OptionTemplate> {
    let message = format!("invalid `{key}`, expected true or false");
    compile_option(option, |text| matches!(text, "true" | "false"), &message, compiler)
}

fn compile_option(
    option: Option<&Spanned<Scalar>>,
    is_valid: impl Fn(&str) -> bool,
    message: &str,
    compiler: &mut Compiler<'_>,
) -> Option<OptionTemplate> {
    let Some(option) = option else { return Some(None) };
    let text = option.to_text();
    let is_template = text.trim().starts_with("{{") && text.trim().ends_with("}}");
    if !is_template && !is_valid(&text) {
        compiler.error(Code::BadValue, option.location, message).help("write it, or exactly one `{{…}}`");
        return None;
    }
    compiler.template(&text, Exposure::Client).map(Some)
}

/// Patterns; those without values are checked.
fn patterns(globs: Option<&OneOrMany>, compiler: &mut Compiler<'_>) -> Option<Vec<Template<QuerySlot>>> {
    let mut templates = Vec::new();
    for pattern in globs.into_iter().flat_map(OneOrMany::items) {
        let text = pattern.to_text();
        if !text.contains("{{")
            && let Err(error) = Globs::new(&[text.as_str()], &[])
        {
            compiler.error(Code::Glob, pattern.location, error.message);
            return None;
        }
        templates.push(compiler.template(&text, Exposure::Client));
    }
    templates.into_iter().collect()
}
