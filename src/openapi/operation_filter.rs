//! `--only`: which operations are meant.

use super::operation::Operation;
use crate::files::Globs;

/// What to import: all, or what one of some patterns names.
pub(super) struct OperationFilter {
    patterns: Vec<FilterPattern>,
}

struct FilterPattern {
    text: String,
    globs: Option<Globs>,
}

/// How an operation was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterMatch {
    /// By its own name: its `operationId`, or that of its tool.
    ByName,
    /// With others.
    ByPattern,
    Excluded,
}

/// What patterns name an operation by.
pub(super) struct OperationNames<'n> {
    pub(super) id: Option<&'n str>,
    pub(super) tool: &'n str,
    pub(super) tag: Option<&'n str>,
    pub(super) path: &'n str,
}

/// An invalid pattern.
#[derive(Debug)]
pub(super) struct InvalidPattern {
    pub(super) pattern: String,
    pub(super) reason: String,
}

impl OperationFilter {
    pub(super) fn new(patterns: &[String]) -> Result<OperationFilter, InvalidPattern> {
        let compile = |text: &String| {
            let globs = match Globs::is_glob(text) {
                true => Some(
                    Globs::new(&[text.trim_start_matches('/')], &[])
                        .map_err(|error| InvalidPattern { pattern: text.clone(), reason: error.to_string() })?,
                ),
                false => None,
            };
            Ok(FilterPattern { text: text.clone(), globs })
        };
        Ok(OperationFilter { patterns: patterns.iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// Whether an operation is meant, and how.
    pub(super) fn choose(&self, operation: &Operation<'_>, tool: &str) -> FilterMatch {
        self.choose_by(&OperationNames { id: operation.id, tool, tag: operation.tag, path: operation.path })
    }

    pub(super) fn choose_by(&self, names: &OperationNames<'_>) -> FilterMatch {
        let choices: Vec<FilterMatch> = self.patterns.iter().map(|pattern| pattern.choose(names)).collect();
        match choices.as_slice() {
            [] => FilterMatch::ByPattern,
            some if some.contains(&FilterMatch::ByName) => FilterMatch::ByName,
            some if some.contains(&FilterMatch::ByPattern) => FilterMatch::ByPattern,
            _ => FilterMatch::Excluded,
        }
    }

    /// The patterns that name nothing.
    pub(super) fn unmatched<'s>(&'s self, operations: &[(&Operation<'_>, &str)]) -> Vec<&'s str> {
        let matches_nothing = |pattern: &&FilterPattern| {
            operations.iter().all(|(operation, tool)| {
                let names = OperationNames { id: operation.id, tool, tag: operation.tag, path: operation.path };
                pattern.choose(&names) == FilterMatch::Excluded
            })
        };
        self.patterns.iter().filter(matches_nothing).map(|pattern| pattern.text.as_str()).collect()
    }
}

impl FilterPattern {
    fn choose(&self, operation: &OperationNames<'_>) -> FilterMatch {
        let names = [operation.id, Some(operation.tool)];
        if names.into_iter().flatten().any(|name| name == self.text) {
            return FilterMatch::ByName;
        }
        let all = [operation.id, Some(operation.tool), operation.tag, Some(operation.path)];
        let matched = all.into_iter().flatten().any(|name| match &self.globs {
            Some(globs) => globs.matches(name.trim_start_matches('/')),
            None => name == self.text,
        });
        if matched { FilterMatch::ByPattern } else { FilterMatch::Excluded }
    }
}
