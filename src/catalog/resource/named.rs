//! The files that the path of a resource template can name: `docs/{{name}}.md` turned round, for completion.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

use crate::budget::Budget;
use crate::catalog::complete::MOST_FILES;
use crate::files::{Entry, Folder, Globs};
use crate::template::{FilePath, Part, Template, text_of};
use crate::uri::Operator;

use super::{MAX_RESOURCE, Resource};

/// A path with variables, of a resource whose URI has them.
pub(super) struct Named<'a> {
    pub(super) folder: &'a Folder,
    /// Where the folder stands in the pack.
    pub(super) literal: &'a Path,
    pub(super) path: &'a Template<FilePath>,
    pub(super) resource: &'a Resource,
    pub(super) budget: &'a Budget,
}

/// What it costs to hold a file against each byte of the values that are given: a URI is made of them, and taken apart.
const OF_BYTE: usize = 256;

/// A piece of the path below the folder.
enum Piece {
    Text(String),
    /// A variable of the URI whose value is open, and whether it may hold a `/`.
    Open {
        name: String,
        crosses: bool,
    },
}

/// Whether a path is turned round so as to give the values of a variable.
pub(super) fn names(path: &Template<FilePath>, variable: &str) -> bool {
    let is_variable = |part: &Part<'_>| matches!(part, Part::Variable(path) if argument(path) == Some(variable));
    path.parts().is_some_and(|parts| parts.iter().any(is_variable))
}

/// The argument that a path of a template reads.
fn argument(path: &[String]) -> Option<&str> {
    match path {
        [name] => Some(name),
        [all, name] if all == "arguments" => Some(name),
        _ => None,
    }
}

impl Named<'_> {
    /// The values of a variable with which the path is that of a file that can be read, those of other variables being
    /// given. `None` where the path is more than text and variables.
    pub(super) fn values(&self, variable: &str, given: &BTreeMap<String, String>) -> Option<Vec<String>> {
        let mut given = given.clone();
        given.remove(variable);
        let pieces = self.pieces(variable, &given)?;
        let globs = Globs::new(&[&glob(&pieces)], &[]).ok()?;
        let (pattern, names) = pattern(&pieces)?;
        let entries = self.folder.walk(&globs, MOST_FILES).unwrap_or_default();
        let value = |entry: &Entry| {
            let mut values = captured(&pattern, &names, &entry.path)?;
            values.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
            self.reads(&values, entry).then(|| values.remove(variable)).flatten()
        };
        let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
        let affordable = |entry: &Entry| self.budget.work((bytes + entry.path.len()).saturating_mul(OF_BYTE)).ok();
        Some(entries.iter().map_while(|entry| affordable(entry).map(|()| value(entry))).flatten().collect())
    }

    /// The pieces of the path, with the values of variables where they are known, or have a default.
    fn pieces(&self, variable: &str, given: &BTreeMap<String, String>) -> Option<Vec<Piece>> {
        let mut known = self.resource.inputs.bind_known(given, self.budget);
        known.insert(variable.to_owned(), Value::Null);
        let scope = self.resource.home.scope(known, self.budget);
        let mut pieces = Vec::new();
        for part in self.path.parts()? {
            pieces.push(match part {
                Part::Text(text) => Piece::Text(text.to_owned()),
                Part::Variable(path) => match (scope.get(path), argument(path).and_then(|name| self.open(name))) {
                    (None | Some(Value::Null), Some(open)) => open,
                    (value, _) => Piece::Text(text_of(value.unwrap_or(&Value::Null)).into_owned()),
                },
            });
        }
        if let Some(Piece::Text(first)) = pieces.first_mut() {
            let below = first.strip_prefix(&*self.literal.to_string_lossy()).unwrap_or(first);
            *first = below.trim_start_matches('/').to_owned();
        }
        Some(pieces)
    }

    /// A variable of the URI, as far as its value is not known. What a query names is encoded whole by every client, and
    /// `{id}` is one segment to its author.
    fn open(&self, name: &str) -> Option<Piece> {
        let variable = self.resource.template.variables().iter().find(|variable| variable.name == name)?;
        let one = [Operator::Simple, Operator::Label, Operator::Path, Operator::Parameter];
        Some(Piece::Open { name: name.to_owned(), crosses: !one.contains(&variable.operator) })
    }

    /// Whether a URI of these values reads this file.
    fn reads(&self, values: &BTreeMap<String, String>, entry: &Entry) -> bool {
        let Resource { template, inputs, home, .. } = self.resource;
        let whole = template
            .variables()
            .iter()
            .all(|variable| values.contains_key(&variable.name) || !inputs.requires(&variable.name));
        let found = whole.then(|| template.matches(&template.expand(&|name| values.get(name).cloned())));
        let known = match found {
            Some(Some(found)) => inputs.bind_known(&found.into_iter().collect(), self.budget),
            Some(None) => return false,
            // As far as it is known without the others.
            None => inputs.bind_known(values, self.budget),
        };
        let Ok(rendered) = self.path.render(&home.scope(known, self.budget)) else { return false };
        let rendered = Path::new(&rendered.text);
        let below = rendered.strip_prefix(self.literal).unwrap_or(rendered);
        below == Path::new(&entry.path) && entry.size <= MAX_RESOURCE
    }
}

/// The glob of all files that the pieces can name.
fn glob(pieces: &[Piece]) -> String {
    let mut glob = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => glob += &Globs::escaped(text),
            Piece::Open { crosses: false, .. } => glob.push('*'),
            Piece::Open { crosses: true, .. } => {
                glob.truncate(glob.rfind('/').map_or(0, |slash| slash + 1));
                glob += "**/*";
                break;
            }
        }
    }
    glob
}

/// The expression that a path matches, and the names of what it captures.
fn pattern(pieces: &[Piece]) -> Option<(Regex, Vec<&str>)> {
    let mut text = "^".to_owned();
    let mut names = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(literal) => text += &regex::escape(literal),
            Piece::Open { name, crosses } => {
                text += if *crosses { "(.+)" } else { "([^/]+)" };
                names.push(name.as_str());
            }
        }
    }
    text.push('$');
    Some((Regex::new(&text).ok()?, names))
}

/// The values that a path gives; a variable that stands twice has one.
fn captured(pattern: &Regex, names: &[&str], path: &str) -> Option<BTreeMap<String, String>> {
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
