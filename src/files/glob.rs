use glob::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::path::is_plain;

/// Patterns longer than this are refused: none that is meant is, and the compiler of patterns is recursive.
const LONGEST: usize = 1024;

/// Which files are meant: those that one pattern includes and none excludes.
///
/// `*` stops at `/`, `**` does not, `{a,b}` is either; `folder/` is all beneath it. Hidden names do not match, and
/// links are followed, until it is said otherwise.
#[derive(Debug, Clone)]
pub struct Globs {
    include: GlobSet,
    exclude: GlobSet,
    /// Folders beneath which `include` can match.
    entered: GlobSet,
    /// Folders beneath which `exclude` matches everything.
    pruned: GlobSet,
    /// Whether hidden names match.
    hidden: bool,
    /// Whether a walk follows links.
    pub(super) links: bool,
}

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GlobError {
    /// Its place in its list.
    pub pattern: usize,
    /// Whether that is the list of what is excluded.
    pub excluded: bool,
    /// What is wrong with it.
    pub message: String,
}

impl Globs {
    /// Compiles patterns, which are relative to the folder that is walked.
    pub fn new(include: &[&str], exclude: &[&str]) -> Result<Self, GlobError> {
        let include = tidied(include, false)?;
        let exclude = tidied(exclude, true)?;
        Ok(Self {
            entered: lenient(include.iter().flat_map(|pattern| ancestors(pattern))),
            pruned: lenient(exclude.iter().filter_map(|pattern| pattern.strip_suffix("/**").map(str::to_owned))),
            include: strict(&include, false)?,
            exclude: strict(&exclude, true)?,
            hidden: false,
            links: true,
        })
    }

    /// The same for every file that is really there: hidden ones match, and what only a link leads to does not.
    #[must_use]
    pub fn of_all_names(self) -> Self {
        Self { hidden: true, links: false, ..self }
    }

    /// Says whether a walk would list a file of this relative path. Only the plain spelling matches: a path with
    /// `.`, `..`, an empty part or a hidden one never does, so that nothing excluded is reached by another name.
    pub fn matches(&self, path: &str) -> bool {
        is_plain(path) && path.split('/').all(|name| self.sees(name)) && self.matches_plain(path)
    }

    /// Whether a name may be part of a path that matches.
    pub(super) fn sees(&self, name: &str) -> bool {
        self.hidden || !name.starts_with('.')
    }

    /// The pattern of exactly this text.
    pub fn escaped(text: &str) -> String {
        let mut pattern = String::with_capacity(text.len());
        for character in text.chars() {
            if is_special(character) || matches!(character, ']' | '}' | '!' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern
    }

    /// Says whether the text is a pattern, rather than the name of one file.
    pub fn is_glob(pattern: &str) -> bool {
        pattern.contains(is_special)
    }

    /// The literal folder in which all matches lie: what stands before the last `/` that is before the first
    /// character of a pattern.
    pub fn base(pattern: &str) -> &str {
        let literal = pattern.split(is_special).next().unwrap_or_default();
        literal.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    pub(super) fn matches_plain(&self, path: &str) -> bool {
        self.include.is_match(path) && !self.exclude.is_match(path)
    }

    pub(super) fn could_match_in(&self, folder: &str) -> bool {
        self.entered.is_match(folder) && !self.pruned.is_match(folder)
    }
}

fn is_special(character: char) -> bool {
    matches!(character, '*' | '?' | '[' | '{')
}

fn tidied(patterns: &[&str], excluded: bool) -> Result<Vec<String>, GlobError> {
    let tidy = |(pattern, text): (usize, &&str)| {
        tidy(text).map_err(|message| GlobError { pattern, excluded, message: message.to_owned() })
    };
    patterns.iter().enumerate().map(tidy).collect()
}

/// Resolves `.` and `..`, so that a pattern can be compared with the plain spelling of a path.
fn tidy(pattern: &str) -> Result<String, &'static str> {
    if pattern.is_empty() {
        return Err("a pattern may not be empty");
    }
    if pattern.len() > LONGEST {
        return Err("a pattern may not be longer than 1024 bytes");
    }
    if pattern.starts_with('/') {
        return Err("a pattern may not be absolute");
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.pop() {
                None => return Err("the pattern leaves its folder"),
                Some(last) if last.contains(is_special) => return Err("`..` may not follow a wildcard"),
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

/// The patterns of all folders in which a match of `pattern` can lie: `a/*/c.md` gives `a` and `a/*`.
fn ancestors(pattern: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, character) in pattern.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            // An alternative or a class that holds a `/`, or an escape: no telling how deep it reaches.
            '/' if depth != 0 => return unbounded(found, pattern, start),
            '[' | '\\' => return unbounded(found, pattern, start),
            '/' => {
                if pattern.get(start..at).is_some_and(|part| part.contains("**")) {
                    return unbounded(found, pattern, start);
                }
                found.extend(pattern.get(..at).map(str::to_owned));
                start = at + 1;
            }
            _ => {}
        }
    }
    if pattern.get(start..).is_some_and(|part| part.contains("**")) { unbounded(found, pattern, start) } else { found }
}

fn unbounded(mut found: Vec<String>, pattern: &str, start: usize) -> Vec<String> {
    found.push(format!("{}**", pattern.get(..start).unwrap_or_default()));
    found
}

fn strict(patterns: &[String], excluded: bool) -> Result<GlobSet, GlobError> {
    let mut set = GlobSetBuilder::new();
    for (pattern, text) in patterns.iter().enumerate() {
        let fail = |message| GlobError { pattern, excluded, message };
        set.add(compile(text).map_err(|error| fail(error.kind().to_string()))?);
    }
    set.build().map_err(|error| GlobError { pattern: 0, excluded, message: error.kind().to_string() })
}

/// For what only saves work: a pattern that does not compile is reported by [`strict`].
fn lenient(patterns: impl Iterator<Item = String>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in patterns.filter_map(|text| compile(&text).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

fn compile(pattern: &str) -> Result<glob::Glob, glob::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).empty_alternates(true).build()
}
