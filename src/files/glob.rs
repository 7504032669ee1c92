//! Include and exclude patterns.

use glob::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::path::is_normalized;

/// The longest pattern: the compiler of patterns is recursive.
const MAX_PATTERN_BYTES: usize = 1024;

/// Include and exclude patterns: a file matches if one pattern includes it and none excludes it.
///
/// `*` stops at `/`, `**` does not, `{a,b}` is either; `folder/` is everything below it. What an exclude pattern matches
/// is left out with all below it. By default hidden names do not match, and links are followed.
#[derive(Debug, Clone)]
pub struct Globs {
    include: GlobSet,
    /// The patterns, and then each with `/**`.
    exclude: GlobSet,
    exclude_count: usize,
    /// Folders below which `include` can match.
    include_ancestors: GlobSet,
    /// Folders below which `exclude` matches everything.
    pruned: GlobSet,
    /// Whether hidden names match.
    match_hidden: bool,
    /// Whether a walk follows links.
    pub(super) follow_links: bool,
}

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GlobError {
    /// Its index in its list.
    pub index: usize,
    /// Whether it is in the exclude list.
    pub excluded: bool,
    pub message: String,
}

impl Globs {
    /// Compiles patterns, which are relative to the walked folder.
    pub fn new(include: &[&str], exclude: &[&str]) -> Result<Self, GlobError> {
        let include = normalize_patterns(include, false)?;
        let mut exclude = normalize_patterns(exclude, true)?;
        let exclude_count = exclude.len();
        let pruned = exclude.iter().map(|pattern| pattern.strip_suffix("/**").unwrap_or(pattern).to_owned());
        let pruned = compile_valid(pruned);
        exclude.extend_from_within(..);
        exclude.iter_mut().skip(exclude_count).for_each(|pattern| pattern.push_str("/**"));
        Ok(Self {
            include_ancestors: compile_valid(include.iter().flat_map(|pattern| ancestors(pattern))),
            pruned,
            include: compile_all(&include, false)?,
            exclude: compile_all(&exclude, true)?,
            exclude_count,
            match_hidden: false,
            follow_links: true,
        })
    }

    /// The same for the files themselves: hidden ones match, and links are not followed.
    #[must_use]
    pub fn with_hidden_without_links(self) -> Self {
        Self { match_hidden: true, follow_links: false, ..self }
    }

    /// Whether a walk would list a file of this relative path. A path with `.`, `..`, an empty component or a hidden one
    /// never matches, so that another spelling does not reach an excluded file.
    pub fn matches(&self, path: &str) -> bool {
        is_normalized(path) && path.split('/').all(|name| self.may_match_name(name)) && self.matches_normalized(path)
    }

    /// Whether a name may be in a matching path.
    pub(super) fn may_match_name(&self, name: &str) -> bool {
        self.match_hidden || !name.starts_with('.')
    }

    /// The pattern that matches exactly this text.
    pub fn escape(text: &str) -> String {
        let mut pattern = String::with_capacity(text.len());
        for character in text.chars() {
            if is_special(character) || matches!(character, ']' | '}' | '!' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern
    }

    /// Whether a text is a pattern and not the path of one file.
    pub fn is_glob(pattern: &str) -> bool {
        pattern.contains(is_special)
    }

    pub(super) fn matches_normalized(&self, path: &str) -> bool {
        self.include.is_match(path) && !self.exclude.is_match(path)
    }

    /// The indexes of the exclude patterns that leave out this file or folder.
    pub(super) fn matching_excludes(&self, path: &str) -> Vec<usize> {
        let mut indexes = self.pruned.matches(path);
        let whole = self.exclude.matches(path).into_iter();
        indexes.extend(whole.filter_map(|at| at.checked_rem(self.exclude_count)));
        indexes
    }

    /// Whether a file or folder below this one could match.
    pub fn could_match_in(&self, folder: &str) -> bool {
        self.include_ancestors.is_match(folder) && !self.pruned.is_match(folder)
    }
}

fn is_special(character: char) -> bool {
    matches!(character, '*' | '?' | '[' | '{')
}

fn normalize_patterns(patterns: &[&str], excluded: bool) -> Result<Vec<String>, GlobError> {
    let tidy = |(pattern, text): (usize, &&str)| {
        normalize_pattern(text).map_err(|message| GlobError { index: pattern, excluded, message: message.to_owned() })
    };
    patterns.iter().enumerate().map(tidy).collect()
}

/// Resolves `.` and `..`, so that a pattern matches normalized paths.
fn normalize_pattern(pattern: &str) -> Result<String, &'static str> {
    if pattern.is_empty() {
        return Err("empty pattern");
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err("pattern exceeds 1024 bytes");
    }
    if pattern.starts_with('/') {
        return Err("absolute pattern");
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.pop() {
                None => return Err("pattern escapes its folder"),
                Some(last) if last.contains(is_special) => return Err("`..` after a wildcard"),
                Some(_) => {}
            },
            _ => parts.push(part),
        }
    }
    if parts.is_empty() || pattern.ends_with('/') {
        parts.push("**");
    }
    Ok(parts.join("/"))
}

/// The patterns of all folders around matches of `pattern`: `a` and `a/*` for `a/*/c.md`.
fn ancestors(pattern: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, character) in pattern.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            // An alternative or class with a `/`, or an escape, may match at any depth.
            '/' if depth != 0 => return with_recursive(found, pattern, start),
            '[' | '\\' => return with_recursive(found, pattern, start),
            '/' => {
                if pattern.get(start..at).is_some_and(|part| part.contains("**")) {
                    return with_recursive(found, pattern, start);
                }
                found.extend(pattern.get(..at).map(str::to_owned));
                start = at + 1;
            }
            _ => {}
        }
    }
    if pattern.get(start..).is_some_and(|part| part.contains("**")) {
        with_recursive(found, pattern, start)
    } else {
        found
    }
}

fn with_recursive(mut patterns: Vec<String>, pattern: &str, start: usize) -> Vec<String> {
    patterns.push(format!("{}**", pattern.get(..start).unwrap_or_default()));
    patterns
}

fn compile_all(patterns: &[String], excluded: bool) -> Result<GlobSet, GlobError> {
    let mut set = GlobSetBuilder::new();
    for (pattern, text) in patterns.iter().enumerate() {
        let fail = |message| GlobError { index: pattern, excluded, message };
        set.add(compile_glob(text).map_err(|error| fail(error.kind().to_string()))?);
    }
    set.build().map_err(|error| GlobError { index: 0, excluded, message: error.kind().to_string() })
}

/// Skips invalid patterns, which [`compile_all`] reports.
fn compile_valid(patterns: impl Iterator<Item = String>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in patterns.filter_map(|text| compile_glob(&text).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

fn compile_glob(pattern: &str) -> Result<glob::Glob, glob::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).empty_alternates(true).build()
}
