//! Paths of files: a value stays in the folder that the manifest's own text names.

use std::ops::Range;

use super::{ParsedTemplate, RenderedText, Slot, refused_value, sealed::Sealed};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError};
use crate::template::syntax::TemplateNode;

/// The path of a file, such as `docs/{{name}}.md`.
#[derive(Debug)]
pub enum FilePath {}

/// The path of a file, which no value has led out of its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathText {
    /// The path.
    pub text: String,
    /// The part that stands before the first value, up to its last `/`.
    pub folder: String,
}

impl Sealed for FilePath {}

/// What the text of a template says of its path, whatever the values.
#[doc(hidden)]
#[derive(Debug)]
pub struct LiteralPath {
    /// The folder that it names before its first tag.
    folder: String,
    /// The names beginning with `.` that stand in it whole.
    hidden: Vec<String>,
}

impl Slot for FilePath {
    type Output = PathText;
    type Analysis = LiteralPath;
    const MODE: PrintMode = PrintMode::Marked;

    fn analyze(written: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> (LiteralPath, Option<Range<usize>>) {
        errors.extend(hidden_name_errors(written));
        let own = match written.nodes.first() {
            Some(TemplateNode::Text(text)) => written.text.get(text.span.clone()).unwrap_or_default(),
            _ => "",
        };
        let folder = own.rfind('/').map_or("", |end| own.get(..=end).unwrap_or_default()).to_owned();
        (LiteralPath { folder, hidden: literal_hidden_names(written) }, None)
    }

    fn output_from_text(filled: RenderedText, own: &LiteralPath) -> Result<PathText, RenderError> {
        let mut start = 0;
        for segment in filled.text.split(['/', '\\']) {
            let range = start..start + segment.len();
            start = range.end + 1;
            let reason = match segment {
                "" | "." => "is an empty path segment",
                ".." => "escapes its folder",
                _ if segment.starts_with('.') => HIDDEN_NAME_REASON,
                _ if segment.contains(':') => "contains `:` (a drive prefix)",
                _ => continue,
            };
            let made = || responsible_variable(&filled, &range, segment);
            let left_over = || {
                (reason == HIDDEN_NAME_REASON && !own.hidden.iter().any(|name| name == segment)).then_some("the path")
            };
            if let Some(variable) = made().or_else(left_over) {
                return Err(refused_value(variable, reason));
            }
        }
        Ok(PathText { text: filled.text, folder: own.folder.clone() })
    }
}

const HIDDEN_NAME_REASON: &str = "makes a hidden file name (leading `.`), which is not served";

/// The names beginning with `.` that the text has whole, from a `/` to the next. What begins with `.` beside them does
/// so only where a value or a block before it came to nothing.
fn literal_hidden_names(written: &ParsedTemplate<'_>) -> Vec<String> {
    let last = written.nodes.len().saturating_sub(1);
    let mut names = Vec::new();
    for (nth, node) in written.nodes.iter().enumerate() {
        let TemplateNode::Text(text) = node else { continue };
        let parts: Vec<&str> = written.text.get(text.span.clone()).unwrap_or_default().split('/').collect();
        let whole = usize::from(nth > 0)..parts.len() - usize::from(nth < last);
        let own = parts.get(whole).unwrap_or_default().iter().filter(|part| part.starts_with('.'));
        names.extend(own.map(|part| (*part).to_owned()));
    }
    names
}

/// The places where a `.` of the text begins a name that a value goes on with: such a path would always be refused.
fn hidden_name_errors<'w>(written: &'w ParsedTemplate<'_>) -> impl Iterator<Item = TemplateError> + 'w {
    let pairs = written.nodes.iter().zip(written.nodes.iter().skip(1));
    pairs.filter_map(|(text, next)| {
        let (TemplateNode::Text(text), TemplateNode::Interpolation(_)) = (text, next) else { return None };
        let shown = written.text.get(text.span.clone())?;
        let name = shown.rsplit('/').next().unwrap_or_default();
        let begins = name.starts_with('.') && (name.len() < shown.len() || text.span.start == 0);
        let words = "file name with a value must not start with `.`";
        let span = text.span.end - name.len()..text.span.end;
        let help = "hidden files are served only where the path names them in full";
        begins.then(|| TemplateError::at_range(span, Code::Unsafe, words).help(help))
    })
}

/// The variable that made a segment what it is; `None` where it is the manifest's own.
fn responsible_variable<'f>(filled: &'f RenderedText, range: &Range<usize>, segment: &str) -> Option<&'f str> {
    // An empty value is guilty too of what the text behind it begins with.
    if segment.is_empty() || segment.starts_with('.') {
        return filled.variable_in(range);
    }
    let inside = |interpolation: &Range<usize>| interpolation.start < range.end && interpolation.end > range.start;
    let drive = segment.contains(':') && range.start > 0;
    let guilty =
        filled.value_spans.iter().find(|(interpolation, _)| inside(interpolation)).map(|(_, label)| label.as_str());
    guilty.filter(|_| !drive)
}
