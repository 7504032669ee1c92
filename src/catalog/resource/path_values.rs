//! Completes the variables of a templated file path, such as `docs/{{name}}.md`, from the files that exist.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

use crate::budget::{self, Budget};
use crate::catalog::complete::MAX_COMPLETED_FILES;
use crate::files::{FileEntry, Globs};
use crate::template::{FilePathSlot, Template, TemplatePart, value_to_text};
use crate::uri::{Operator, UriTemplate};

use super::file_template::FileTemplate;
use super::{CompiledResource, MAX_RESOURCE_BYTES};

/// A templated path of a resource, to be matched in reverse.
pub(super) struct PathValues<'a> {
    pub(super) file: &'a FileTemplate,
    pub(super) resource: &'a CompiledResource,
    pub(super) budget: &'a Budget,
}

/// How many bytes the values of other variables may have: of each file a URI is built and parsed with them.
const MAX_GIVEN_BYTES: usize = 4 << 10;

/// A piece of the path below the folder.
enum PathPiece {
    Text(String),
    /// A variable of the URI whose value is open, and whether it may hold a `/`.
    Variable {
        name: String,
        spans_segments: bool,
    },
}

/// Whether a path is turned round so as to give the values of a variable.
pub(super) fn has_variable(path: &Template<FilePathSlot>, variable: &str) -> bool {
    let is_variable =
        |part: &TemplatePart<'_>| matches!(part, TemplatePart::Variable(path) if argument_name(path) == Some(variable));
    path.parts().is_some_and(|parts| parts.iter().any(is_variable))
}

/// The argument that a path of a template reads.
fn argument_name(path: &[String]) -> Option<&str> {
    match path {
        [name] => Some(name),
        [all, name] if all == "arguments" => Some(name),
        _ => None,
    }
}

impl PathValues<'_> {
    /// The values of a variable with which the path is that of a file that can be read, those of other variables being
    /// given. `None` where the path is more than text and variables.
    pub(super) fn values(&self, variable: &str, given: &BTreeMap<String, String>) -> Option<Vec<String>> {
        let mut given = given.clone();
        given.remove(variable);
        if given.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > MAX_GIVEN_BYTES {
            return Some(Vec::new());
        }
        let pieces = self.pieces(variable, &given)?;
        let globs = Globs::new(&[&glob(&pieces)], &[]).ok()?;
        let (pattern, names) = pattern(&pieces)?;
        let entries = self.file.folder.walk(&globs, MAX_COMPLETED_FILES).unwrap_or_default();
        let value = |entry: &FileEntry| {
            let mut values = capture_values(&pattern, &names, &entry.path)?;
            values.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
            self.reads_file(&values, entry).then(|| values.remove(variable)).flatten()
        };
        Some(entries.iter().take_while(|_| budget::tick().is_ok()).filter_map(value).collect())
    }

    /// The pieces of the path, with the values of variables where they are known, or have a default.
    fn pieces(&self, variable: &str, given: &BTreeMap<String, String>) -> Option<Vec<PathPiece>> {
        let mut known = self.resource.inputs.bind_with_defaults(given);
        known.insert(variable.to_owned(), Value::Null);
        let scope = self.resource.pack_context.scope(known, self.budget);
        let mut pieces = Vec::new();
        for part in self.file.path.parts()? {
            pieces.push(match part {
                TemplatePart::Text(text) => PathPiece::Text(text.to_owned()),
                TemplatePart::Variable(path) => {
                    match (
                        scope.get(path),
                        argument_name(path).and_then(|name| variable_piece(&self.resource.template, name)),
                    ) {
                        (None | Some(Value::Null), Some(open)) => open,
                        (value, _) => PathPiece::Text(value_to_text(value.unwrap_or(&Value::Null)).into_owned()),
                    }
                }
            });
        }
        strip_literal(&mut pieces, &self.file.literal);
        Some(pieces)
    }

    /// Whether a URI of these values reads this file.
    fn reads_file(&self, values: &BTreeMap<String, String>, entry: &FileEntry) -> bool {
        let CompiledResource { template, inputs, pack_context, .. } = self.resource;
        let whole = template
            .variables()
            .iter()
            .all(|variable| values.contains_key(&variable.name) || !inputs.requires(&variable.name));
        let found = whole.then(|| template.matches(&template.expand(&|name| values.get(name).cloned())));
        let known = match found {
            Some(Some(found)) => inputs.bind_with_defaults(&found.into_iter().collect()),
            Some(None) => return false,
            // As far as it is known without the others.
            None => inputs.bind_with_defaults(values),
        };
        let Ok(rendered) = self.file.path.render(&pack_context.scope(known, self.budget)) else { return false };
        self.file.below(&rendered.text) == Path::new(&entry.path) && entry.size <= MAX_RESOURCE_BYTES
    }
}

/// The glob of all files below the folder that a URI can lead to.
pub(super) fn reachable_glob(file: &FileTemplate, template: &UriTemplate) -> String {
    let any = || PathPiece::Variable { name: String::new(), spans_segments: true };
    let piece = |part: TemplatePart<'_>| match part {
        TemplatePart::Text(text) => PathPiece::Text(text.to_owned()),
        TemplatePart::Variable(path) => {
            argument_name(path).and_then(|name| variable_piece(template, name)).unwrap_or_else(any)
        }
    };
    let mut pieces: Vec<PathPiece> = match file.path.parts() {
        Some(parts) => parts.into_iter().map(piece).collect(),
        None => vec![any()],
    };
    strip_literal(&mut pieces, &file.literal);
    glob(&pieces)
}

/// Leaves the part of a path that is below the folder.
fn strip_literal(pieces: &mut [PathPiece], literal: &Path) {
    if let Some(PathPiece::Text(first)) = pieces.first_mut() {
        let below = first.strip_prefix(&*literal.to_string_lossy()).unwrap_or(first);
        *first = below.trim_start_matches('/').to_owned();
    }
}

/// A variable of the URI without a known value. Query values are fully encoded, so they may span segments; `{id}` is one
/// segment.
fn variable_piece(template: &UriTemplate, name: &str) -> Option<PathPiece> {
    let variable = template.variables().iter().find(|variable| variable.name == name)?;
    let single_valued = [Operator::Simple, Operator::Label, Operator::Path, Operator::Parameter];
    Some(PathPiece::Variable { name: name.to_owned(), spans_segments: !single_valued.contains(&variable.operator) })
}

/// The glob of all files that the pieces can name.
fn glob(pieces: &[PathPiece]) -> String {
    let mut glob = String::new();
    for piece in pieces {
        match piece {
            PathPiece::Text(text) => glob += &Globs::escape(text),
            PathPiece::Variable { spans_segments: false, .. } => glob.push('*'),
            PathPiece::Variable { spans_segments: true, .. } => {
                glob.truncate(glob.rfind('/').map_or(0, |slash| slash + 1));
                glob += "**/*";
                break;
            }
        }
    }
    glob
}

/// The expression that a path matches, and the names of what it captures.
fn pattern(pieces: &[PathPiece]) -> Option<(Regex, Vec<&str>)> {
    let mut text = "^".to_owned();
    let mut names = Vec::new();
    for piece in pieces {
        match piece {
            PathPiece::Text(literal) => text += &regex::escape(literal),
            PathPiece::Variable { name, spans_segments } => {
                text += if *spans_segments { "(.+)" } else { "([^/]+)" };
                names.push(name.as_str());
            }
        }
    }
    text.push('$');
    Some((Regex::new(&text).ok()?, names))
}

/// The values captured from a path; a repeated variable has one value.
fn capture_values(pattern: &Regex, names: &[&str], path: &str) -> Option<BTreeMap<String, String>> {
    let captures = pattern.captures(path)?;
    let mut values = BTreeMap::new();
    for (name, group) in names.iter().zip(captures.iter().skip(1)) {
        let value = group?.as_str();
        let before = values.insert((*name).to_owned(), value.to_owned());
        if before.is_some_and(|before| before != value) {
            return None;
        }
    }
    Some(values)
}
