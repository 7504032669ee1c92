//! Names of tools, files, arguments and variables, from whatever a description calls them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::operation::Operation;
use crate::template::{is_helper_without_arguments, reserved_name_meaning};
use crate::value_types::is_identifier;

/// The longest name that any client takes.
const MAX_NAME_CHARS: usize = 64;
/// The longest name of a server that its author did not choose.
const MAX_SERVER_CHARS: usize = 16;
/// What clients leave for the names of server and tool: some cut `mcp__SERVER__TOOL` at 60 letters.
const MAX_NAMES_CHARS: usize = 60 - "mcp____".len();
/// The longest name of a tool.
const MAX_TOOL_CHARS: usize = 42;
/// How much of a name is read.
const MAX_READ_CHARS: usize = 256;

/// Names of which none is given twice.
#[derive(Default)]
pub struct UniqueNames {
    existing: HashSet<String>,
    /// The last number that was put behind a name.
    numbers: HashMap<String, usize>,
}

impl UniqueNames {
    /// Whether a name is given.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.existing.contains(name)
    }

    /// Takes a name that is there already.
    pub(super) fn reserve(&mut self, name: &str) {
        self.existing.insert(name.to_owned());
    }

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
    let letters: Vec<char> = text.chars().take(MAX_READ_CHARS).collect();
    for (at, character) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| letters.get(before)).copied().unwrap_or(' ');
        let after = letters.get(at + 1).copied().unwrap_or(' ');
        if !character.is_ascii_alphanumeric() {
            push_dash(&mut name);
            continue;
        }
        // `listPets` and `HTTPServer` have a word that begins here.
        let begins = character.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        // The plural of `IP` is `IPs`.
        let is_plural = after == 's' && !letters.get(at + 2).is_some_and(char::is_ascii_lowercase);
        let is_last_capital = after.is_ascii_lowercase() && !is_plural;
        let ends_capitals = character.is_ascii_uppercase() && before.is_ascii_uppercase() && is_last_capital;
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
    MAX_NAMES_CHARS.saturating_sub(server.len()).clamp(12, MAX_TOOL_CHARS)
}

/// Words of a name without which it says the same.
const SMALL_WORDS: &[&str] =
    &["the", "a", "an", "of", "for", "and", "to", "in", "by", "with", "from", "on", "at", "via"];

/// The names of the tools of all operations. What has a name already keeps it. Where one is too long, the words that all
/// begin with go first; then small words and the middle, and the end stays.
pub(super) fn tool_names(
    operations: &[Operation<'_>],
    kept: &BTreeMap<String, String>,
    max_chars: usize,
) -> Vec<String> {
    let words: Vec<[Vec<String>; 2]> =
        operations.iter().map(|operation| operation_words(operation.id, operation.method, operation.path)).collect();
    let is_long = |[id, _]: &[Vec<String>; 2]| id.iter().map(|word| word.len() + 1).sum::<usize>() > max_chars + 1;
    let shared = if words.iter().any(is_long) { shared_words(words.iter().map(|[id, _]| id.as_slice())) } else { 0 };
    let mut names = UniqueNames::default();
    let mut found: Vec<Option<String>> =
        operations.iter().map(|operation| kept.get(&operation.key()).cloned()).collect();
    found.iter().flatten().for_each(|name| names.reserve(name));
    for fits in [true, false] {
        for (name, [id, path]) in found.iter_mut().zip(&words).filter(|(name, _)| name.is_none()) {
            let whole = id.get(shared..).unwrap_or_default().join("-");
            if (!whole.is_empty() && whole.len() <= max_chars) == fits {
                *name = Some(names.claim(&name_candidates([id, path], shared, max_chars), max_chars));
            }
        }
    }
    found.into_iter().map(Option::unwrap_or_default).collect()
}

/// The words of an operation's id, and those of its method and path.
fn operation_words(id: Option<&str>, method: &str, path: &str) -> [Vec<String>; 2] {
    let path = if path == "/" { "root" } else { path };
    let words = |text: &str| -> Vec<String> {
        kebab(text, MAX_READ_CHARS).split('-').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    [words(id.unwrap_or_default()), words(&format!("{} {path}", method.to_ascii_lowercase()))]
}

/// How many words all of some names begin with, each with a word behind them.
fn shared_words<'w>(names: impl Iterator<Item = &'w [String]>) -> usize {
    let names: Vec<&[String]> = names.filter(|words| !words.is_empty()).collect();
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else { return 0 };
    let same = |at: usize| others.iter().all(|words| words.len() > at + 1 && words.get(at) == first.get(at));
    (0..first.len().saturating_sub(1)).take_while(|at| same(*at)).count()
}

/// What a tool may be called, the best name first.
fn name_candidates(words: [&Vec<String>; 2], shared: usize, max_chars: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (words, shared) in words.into_iter().zip([shared, 0]).filter(|(words, _)| !words.is_empty()) {
        let own = words.get(shared..).unwrap_or_default();
        let telling: Vec<String> = own.iter().filter(|word| !SMALL_WORDS.contains(&word.as_str())).cloned().collect();
        let cut = [1, 2, 3, 0].iter().map(|head| with_end(&telling, *head, max_chars));
        let whole = [own.join("-"), telling.join("-")];
        found.extend(whole.into_iter().chain(cut).filter(|name| !name.is_empty() && name.len() <= max_chars));
    }
    found
}

/// The first words of a name, and as many of the last ones as there is room for.
fn with_end(words: &[String], head: usize, max_chars: usize) -> String {
    let (head, rest) = words.split_at(head.min(words.len()));
    let mut room = max_chars.saturating_sub(head.iter().map(|word| word.len() + 1).sum());
    let fits = |word: &&String| room.checked_sub(word.len() + 1).map(|left| room = left).is_some();
    let mut tail: Vec<&String> = rest.iter().rev().take_while(fits).collect();
    tail.reverse();
    let name = head.iter().chain(tail).map(String::as_str).collect::<Vec<_>>().join("-");
    // One word may be longer than any name.
    truncate_name(&name, max_chars).to_owned()
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
    // `{{else}}` belongs to a block.
    is_identifier(name) && name != "else" && reserved_name_meaning(name).is_none() && !is_helper_without_arguments(name)
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
