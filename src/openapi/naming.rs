//! Names of tools, files, arguments and variables, from whatever a description calls them.

use std::collections::{HashMap, HashSet};

use crate::template::{is_helper_without_arguments, reserved_name_meaning};
use crate::value_types::is_identifier;

/// The longest name that any client takes.
const MAX_NAME_CHARS: usize = 64;
/// The longest name of a server: `mcp__SERVER__TOOL` is cut at 60 letters by some clients.
const MAX_SERVER_CHARS: usize = 24;
/// What those clients leave for the names of server and tool.
const MAX_NAMES_CHARS: usize = 60 - "mcp____".len();

/// Names of which none is given twice.
#[derive(Default)]
pub struct UniqueNames {
    existing: HashSet<String>,
    /// The last number that was put behind a name.
    numbers: HashMap<String, usize>,
}

impl UniqueNames {
    /// Takes the first name that is free, or else the last one with a number behind it.
    pub fn claim(&mut self, candidates: &[String], max_chars: usize) -> String {
        for name in candidates {
            if !name.is_empty() && self.existing.insert(name.clone()) {
                return name.clone();
            }
        }
        let stem = candidates.last().cloned().unwrap_or_default();
        let number = self.numbers.entry(stem.clone()).or_insert(1);
        loop {
            *number += 1;
            let end = format!("-{number}");
            let name = format!("{}{end}", truncate_name(&stem, max_chars.saturating_sub(end.len())));
            if self.existing.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A name in lower case with dashes: `listPets` and `list pets` are `list-pets`. Empty where nothing is left of it.
pub fn kebab(text: &str, max_chars: usize) -> String {
    let mut name = String::new();
    let letters: Vec<char> = text.chars().take(4 * MAX_NAME_CHARS).collect();
    for (at, character) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| letters.get(before)).copied().unwrap_or(' ');
        let after = letters.get(at + 1).copied().unwrap_or(' ');
        if !character.is_ascii_alphanumeric() {
            push_dash(&mut name);
            continue;
        }
        // `listPets` and `HTTPServer` have a word that begins here.
        let begins = character.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        let ends_capitals = character.is_ascii_uppercase() && before.is_ascii_uppercase() && after.is_ascii_lowercase();
        if begins || ends_capitals {
            push_dash(&mut name);
        }
        name.push(character.to_ascii_lowercase());
    }
    truncate_name(&name, max_chars).to_owned()
}

fn push_dash(name: &mut String) {
    if !name.is_empty() && !name.ends_with('-') {
        name.push('-');
    }
}

/// The beginning of a name of ASCII letters, in whole words where that leaves most of it.
fn truncate_name(name: &str, max_chars: usize) -> &str {
    let name = name.trim_matches('-');
    if name.len() <= max_chars {
        return name;
    }
    let head = name.get(..max_chars).unwrap_or_default();
    let whole = name.as_bytes().get(max_chars) == Some(&b'-');
    let end = head.rfind('-').filter(|end| !whole && end * 2 > max_chars).unwrap_or(head.len());
    head.get(..end).unwrap_or_default().trim_matches('-')
}

/// Words of a title that say nothing of what is described.
const FILLER_WORDS: &[&str] = &[
    "the", "a", "an", "of", "for", "and", "api", "apis", "rest", "http", "openapi", "swagger", "spec", "specification",
    "official", "public", "documentation", "docs", "reference", "definition", "description",
];
/// How many words of a title make a name.
const MAX_TITLE_WORDS: usize = 3;

/// The name of a server.
pub(super) fn server_name(title: &str) -> String {
    let title = title.to_ascii_lowercase().replace("'s ", " ");
    let words: Vec<String> = title.split_whitespace().take(64).map(|word| kebab(word, MAX_NAME_CHARS)).collect();
    let significant = words.iter().map(String::as_str).filter(|word| !word.is_empty() && !FILLER_WORDS.contains(word));
    let name = significant.take(MAX_TITLE_WORDS).collect::<Vec<_>>().join("-");
    let name = if name.is_empty() {
        kebab(&title, MAX_SERVER_CHARS)
    } else {
        truncate_name(&name, MAX_SERVER_CHARS).to_owned()
    };
    if name.is_empty() { "api".to_owned() } else { name }
}

/// How long the names of a server's tools may be.
pub(super) fn max_tool_chars(server: &str) -> usize {
    MAX_NAMES_CHARS.saturating_sub(server.len()).min(MAX_NAME_CHARS)
}

/// What a tool may be called, the best name first.
pub(super) fn tool_names(id: Option<&str>, method: &str, path: &str, max_chars: usize) -> Vec<String> {
    let by_id = kebab(id.unwrap_or_default(), max_chars);
    let path = if path == "/" { "root" } else { path };
    let by_path = kebab(&format!("{} {path}", method.to_ascii_lowercase()), max_chars);
    [by_id, by_path].into_iter().filter(|name| !name.is_empty()).collect()
}

/// The name of the file for a tag.
pub(super) fn file_stem(tag: &str) -> String {
    let stem = kebab(tag, 48);
    // Names that Windows keeps for devices are no files there.
    let device = ["con", "prn", "aux", "nul"].contains(&stem.as_str())
        || ["com", "lpt"].iter().any(|head| stem.strip_prefix(head).is_some_and(|rest| rest.len() == 1));
    match stem.as_str() {
        "" => "default".to_owned(),
        _ if device => format!("tag-{stem}"),
        _ => stem,
    }
}

/// The name of an environment variable.
pub(super) fn variable_name(parts: &[&str]) -> String {
    let words: Vec<String> = parts.iter().map(|part| kebab(part, MAX_NAME_CHARS).replace('-', "_")).collect();
    let name = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_").to_ascii_uppercase();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() { format!("API_{name}") } else { name }
}

/// The names of one tool's arguments.
#[derive(Default)]
pub struct ArgumentNames {
    existing: HashSet<String>,
    last_number: usize,
}

impl ArgumentNames {
    /// The name under which templates and clients know a parameter: its own, wherever that can be.
    pub fn claim(&mut self, wire_name: &str, location: &str) -> String {
        let base = identifier(wire_name);
        for name in [base.clone(), format!("{location}_{base}").trim_end_matches('_').to_owned()] {
            if is_free(&name) && self.existing.insert(name.clone()) {
                return name;
            }
        }
        loop {
            self.last_number += 1;
            let name = format!("{location}_{base}_{}", self.last_number + 1).replace("__", "_");
            if self.existing.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Whether a template that says this name means the argument.
fn is_free(name: &str) -> bool {
    is_identifier(name) && reserved_name_meaning(name).is_none() && !is_helper_without_arguments(name)
}

/// A name in the letters that a variable may have.
fn identifier(name: &str) -> String {
    if is_identifier(name) && name.len() <= MAX_NAME_CHARS {
        return name.to_owned();
    }
    let spaced: String =
        name.chars().take(MAX_NAME_CHARS - 16).map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("_")
}
