//! Paths of files: a value stays in the folder that the manifest's own text names.

use std::ops::Range;

use super::{Filled, Slot, Written, refused, sealed::Sealed};
use crate::template::fault::Fault;
use crate::template::render::{Mode, RenderError};
use crate::template::syntax::Node;

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

impl Slot for FilePath {
    type Output = PathText;
    /// The folder that the text names before its first tag.
    type Known = String;
    const MODE: Mode = Mode::Marked;

    fn inspect(written: &Written<'_>, _: &mut Vec<Fault>) -> (String, Option<Range<usize>>) {
        let own = match written.nodes.first() {
            Some(Node::Text(text)) => written.text.get(text.span.clone()).unwrap_or_default(),
            _ => "",
        };
        (own.rfind('/').map_or("", |end| own.get(..=end).unwrap_or_default()).to_owned(), None)
    }

    fn finish(filled: Filled, folder: &String) -> Result<PathText, RenderError> {
        let mut start = 0;
        for segment in filled.text.split(['/', '\\']) {
            let range = start..start + segment.len();
            start = range.end + 1;
            let reason = match segment {
                "" | "." => "is empty, where a part of a path must be",
                ".." => "leads out of its folder",
                _ if segment.contains(':') => "holds a `:`, which begins a drive in a path",
                _ => continue,
            };
            if let Some(variable) = blame(&filled, &range, segment) {
                return Err(refused(variable, reason));
            }
        }
        Ok(PathText { text: filled.text, folder: folder.clone() })
    }
}

/// The variable that made a segment what it is; `None` where it is the manifest's own.
fn blame<'f>(filled: &'f Filled, range: &Range<usize>, segment: &str) -> Option<&'f str> {
    if segment.is_empty() {
        return filled.variable_in(range);
    }
    let inside = |hole: &Range<usize>| hole.start < range.end && hole.end > range.start;
    let drive = segment.contains(':') && range.start > 0;
    let guilty = filled.holes.iter().find(|(hole, _)| inside(hole)).map(|(_, label)| label.as_str());
    guilty.filter(|_| !drive)
}
