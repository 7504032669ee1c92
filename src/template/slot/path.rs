//! File paths: no value escapes the folder of the template.

use std::ops::Range;

use serde_json::Value;

use super::{ParsedTemplate, RenderedText, Slot, refused_value};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError};
use crate::template::syntax::TemplateNode;

/// The path of a file, such as `docs/{{name}}.md`.
#[derive(Debug)]
pub enum FilePathSlot {}

/// The path of a file, inside its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathText {
    /// The path.
    pub text: String,
    /// The part before the first value, up to its last `/`.
    pub folder: String,
}

/// The literal parts of a path.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct LiteralPath {
    /// The folder before the first tag.
    folder: String,
    /// The whole names with a leading `.`.
    hidden: Vec<String>,
}

impl Slot for FilePathSlot {
    type Output = PathText;
    type Analysis = LiteralPath;
    const PRINT_MODE: PrintMode = PrintMode::Marked;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> (LiteralPath, Option<Range<usize>>) {
        errors.extend(hidden_name_errors(template));
        let own = match template.nodes.first() {
            Some(TemplateNode::Text(text)) => template.text.get(text.span.clone()).unwrap_or_default(),
            _ => "",
        };
        let folder = own.rfind('/').map_or("", |end| own.get(..=end).unwrap_or_default()).to_owned();
        (LiteralPath { folder, hidden: literal_hidden_names(template) }, None)
    }

    fn output_from_text(rendered: RenderedText, own: &LiteralPath) -> Result<PathText, RenderError> {
        let mut start = 0;
        for segment in rendered.text.split(['/', '\\']) {
            let range = start..start + segment.len();
            start = range.end + 1;
            let reason = match segment {
                "" | "." => "is an empty path segment",
                ".." => "escapes its folder",
                _ if segment.starts_with('.') => HIDDEN_NAME_REASON,
                _ if segment.contains(':') => "contains `:` (a drive prefix)",
                _ => continue,
            };
            let variable = || {
                // An empty value also causes what the text after it starts with.
                if segment.is_empty() || segment.starts_with('.') {
                    return rendered.variable_in(&range);
                }
                let is_drive = segment.contains(':') && range.start > 0;
                rendered.find_label(|value| !is_drive && value.start < range.end && value.end > range.start)
            };
            let whole_path = || {
                (reason == HIDDEN_NAME_REASON && !own.hidden.iter().any(|name| name == segment)).then_some("the path")
            };
            if let Some(variable) = variable().or_else(whole_path) {
                return Err(refused_value(variable, reason));
            }
        }
        Ok(PathText { text: rendered.text, folder: own.folder.clone() })
    }
}

/// A path below a folder for `file`, such as `notes/{{name}}.md`, or exactly one `{{path}}`.
#[derive(Debug)]
pub enum FolderPathSlot {}

/// A path below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPathText {
    /// The path.
    pub text: String,
    /// Whether all of it is one value, which is not checked.
    pub is_value: bool,
}

impl Slot for FolderPathSlot {
    type Output = FolderPathText;
    type Analysis = LiteralPath;
    const PRINT_MODE: PrintMode = PrintMode::Marked;
    const RENDERS_FROM_VALUE: bool = true;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> (LiteralPath, Option<Range<usize>>) {
        FilePathSlot::analyze(template, errors)
    }

    fn output_from_value(value: &Value, label: &str, _: &LiteralPath) -> Option<Result<FolderPathText, RenderError>> {
        let text = match value {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            _ => Err(refused_value(label, "is not the text of a path")),
        };
        Some(text.map(|text| FolderPathText { text, is_value: true }))
    }

    fn output_from_text(rendered: RenderedText, own: &LiteralPath) -> Result<FolderPathText, RenderError> {
        FilePathSlot::output_from_text(rendered, own).map(|path| FolderPathText { text: path.text, is_value: false })
    }
}

const HIDDEN_NAME_REASON: &str = "makes a hidden file name (leading `.`), which is not served";

/// The whole names with a leading `.` in the text. Other such names come from an empty value or block.
fn literal_hidden_names(template: &ParsedTemplate<'_>) -> Vec<String> {
    let last = template.nodes.len().saturating_sub(1);
    let mut names = Vec::new();
    for (nth, node) in template.nodes.iter().enumerate() {
        let TemplateNode::Text(text) = node else { continue };
        let parts: Vec<&str> = template.text.get(text.span.clone()).unwrap_or_default().split('/').collect();
        let whole = usize::from(nth > 0)..parts.len() - usize::from(nth < last);
        let own = parts.get(whole).unwrap_or_default().iter().filter(|part| part.starts_with('.'));
        names.extend(own.map(|part| (*part).to_owned()));
    }
    names
}

/// Errors for names that start with a literal `.` and continue with a value: such paths are always rejected.
fn hidden_name_errors<'w>(template: &'w ParsedTemplate<'_>) -> impl Iterator<Item = TemplateError> + 'w {
    let pairs = template.nodes.iter().zip(template.nodes.iter().skip(1));
    pairs.filter_map(|(text, next)| {
        let (TemplateNode::Text(text), TemplateNode::Interpolation(_)) = (text, next) else { return None };
        let shown = template.text.get(text.span.clone())?;
        let name = shown.rsplit('/').next().unwrap_or_default();
        let begins = name.starts_with('.') && (name.len() < shown.len() || text.span.start == 0);
        let words = "file name with a value must not start with `.`";
        let span = text.span.end - name.len()..text.span.end;
        let help = "hidden files are served only where the path names them in full";
        begins.then(|| TemplateError::at_range(span, Code::Unsafe, words).help(help))
    })
}
