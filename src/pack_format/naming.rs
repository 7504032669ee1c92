//! Names of prompts and arguments from the names that other programs allow.

use std::collections::{HashMap, HashSet};

use crate::compile::NamePrefix;

/// The longest name of a prompt.
const MAX_NAME_CHARS: usize = 64;
/// The name where nothing is left of one.
const FALLBACK_NAME: &str = "prompt";

/// The names of the prompts of one pack, each unique.
pub struct UniqueNames {
    taken: HashSet<String>,
    /// The next number to try behind a stem, by the stem and the digits of the number: names that are cut share stems.
    next_numbers: HashMap<(String, usize), usize>,
    max_chars: usize,
}

impl UniqueNames {
    /// No names yet, of a pack with this prefix.
    pub fn new(prefix: &NamePrefix) -> UniqueNames {
        let max_chars = MAX_NAME_CHARS.saturating_sub(prefix.qualify("").len()).max(1);
        UniqueNames { taken: HashSet::new(), next_numbers: HashMap::new(), max_chars }
    }

    /// The name for a prompt: the first prompt with a name keeps it; later ones get `-2`, `-3`.
    pub fn claim(&mut self, wanted: &str) -> String {
        let name = match replace_others(wanted, '-') {
            name if name.is_empty() => FALLBACK_NAME.to_owned(),
            name => name,
        };
        let whole = match cut(&name, self.max_chars) {
            first if self.taken.contains(first) => self.next_with_number(&name),
            first => first.to_owned(),
        };
        self.taken.insert(whole.clone());
        whole
    }

    /// The first name with a number that is not taken, from 2 on. No taken name is looked at twice.
    fn next_with_number(&mut self, name: &str) -> String {
        let (mut digits, mut first, mut end) = (1, 2, 10);
        loop {
            let stem = cut(name, self.max_chars.saturating_sub(1 + digits));
            let next = self.next_numbers.entry((stem.to_owned(), digits)).or_insert(first);
            while *next < end {
                let whole = format!("{stem}-{next}");
                *next += 1;
                if !self.taken.contains(&whole) {
                    return whole;
                }
            }
            (digits, first, end) = (digits + 1, end, end.saturating_mul(10));
        }
    }
}

/// Whether nothing of a text may be in a name, as of one without Latin letters and digits.
pub fn has_no_name(wanted: &str) -> bool {
    replace_others(wanted, '-').is_empty()
}

/// The beginning of a name that is too long, which does not end between two words.
fn cut(name: &str, room: usize) -> &str {
    let Some(short) = name.get(..room).filter(|short| short.len() < name.len()) else { return name };
    let stem = short.trim_end_matches('-');
    if stem.is_empty() { short } else { stem }
}

/// The names of the arguments of one prompt, each unique.
#[derive(Default)]
pub(super) struct ArgumentNames {
    /// By what the prompt calls them.
    names: HashMap<String, String>,
    taken: HashSet<String>,
    /// The next number to try behind a name.
    next_numbers: HashMap<String, usize>,
}

impl ArgumentNames {
    /// The name for an argument: others of which the same is left get `_2`, `_3`.
    pub(super) fn claim(&mut self, original: &str) -> String {
        if let Some(name) = self.names.get(original) {
            return name.clone();
        }
        let stem = argument_name(original);
        let next = self.next_numbers.entry(stem.clone()).or_insert(2);
        let mut name = stem.clone();
        while !self.taken.insert(name.clone()) {
            name = format!("{stem}_{next}");
            *next += 1;
        }
        self.names.insert(original.to_owned(), name.clone());
        name
    }
}

/// The name of an argument.
pub(super) fn argument_name(original: &str) -> String {
    match replace_others(original, '_') {
        name if name.is_empty() => FALLBACK_NAME.to_owned(),
        name => name,
    }
}

/// The path below its last folder `folder`, or else the whole path, without `extension`.
pub(super) fn path_below<'p>(path: &'p str, folder: &str, extension: &str) -> &'p str {
    let whole = path.strip_suffix(extension).unwrap_or(path);
    let inside = format!("/{folder}/");
    match whole.rsplit_once(&inside) {
        Some((_, below)) => below,
        None => whole.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(whole),
    }
}

/// A text with one `filler` instead of what names may not have, and none at its ends.
fn replace_others(text: &str, filler: char) -> String {
    let mut name = String::with_capacity(text.len());
    let mut replaced = false;
    for character in text.chars() {
        if !character.is_ascii_alphanumeric() && character != '-' && character != '_' {
            replaced = true;
            continue;
        }
        let is_filler_at_an_end = replaced && character == filler && name.is_empty();
        if replaced && character != filler && !name.is_empty() && !name.ends_with(filler) {
            name.push(filler);
        }
        replaced &= is_filler_at_an_end;
        if !is_filler_at_an_end {
            name.push(character);
        }
    }
    if replaced {
        name.truncate(name.trim_end_matches(filler).len());
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{UniqueNames, argument_name, path_below};
    use crate::compile::NamePrefix;
    use crate::diagnostic::FileId;
    use crate::yaml::{Location, Spanned};

    proptest! {
        /// The name is the first that is free, whatever was claimed before.
        #[test]
        fn names_get_the_first_free_number(
            wanted in prop::collection::vec("[ab](-[12]?[0-9])?|x{0,3}[ab]{0,2}", 0..60),
            max_chars in 1_usize..6,
        ) {
            let mut names = UniqueNames { max_chars, ..UniqueNames::new(&NamePrefix::default()) };
            let mut taken = HashSet::new();
            for name in wanted.iter().map(|name| if name.is_empty() { "prompt" } else { name.as_str() }) {
                let candidate = |number: usize| {
                    let suffix = if number == 1 { String::new() } else { format!("-{number}") };
                    let room = max_chars.saturating_sub(suffix.len());
                    let short = name.get(..room).filter(|short| short.len() < name.len()).unwrap_or(name);
                    let stem = if short == name { name } else { short.trim_end_matches('-') };
                    format!("{}{suffix}", if stem.is_empty() { short } else { stem })
                };
                let first = (1..).map(candidate).find(|name| !taken.contains(name)).unwrap();
                prop_assert_eq!(names.claim(name), first.clone());
                taken.insert(first);
            }
        }
    }

    #[test]
    fn names_have_letters_that_names_may_have() {
        let mut names = UniqueNames::new(&NamePrefix::default());
        for (wanted, name) in [
            ("git/commit", "git-commit"),
            ("a - b", "a-b"),
            ("a--b", "a--b"),
            ("  .hidden (draft)", "hidden-draft"),
            ("日本", "prompt"),
            ("日本-go", "go"),
            ("🚀 - ship-🚀", "ship"),
            ("-as-written-", "-as-written-"),
            ("", "prompt-2"),
            ("git commit", "git-commit-2"),
            ("git-commit-2", "git-commit-2-2"),
        ] {
            assert_eq!(names.claim(wanted), name, "{wanted}");
        }
        assert_eq!(argument_name("First name (short)"), "First_name_short");
    }

    #[test]
    fn names_fit_with_prefix_and_number() {
        let prefix = Spanned::new("four".to_owned(), Location::start_of(FileId(0)));
        let mut names = UniqueNames::new(&NamePrefix::default().join(&prefix));
        let long = "x".repeat(80);
        assert_eq!(names.claim(&long), "x".repeat(59));
        assert_eq!(names.claim(&long), format!("{}-2", "x".repeat(57)));
        let words = format!("{}-words", "y".repeat(58));
        assert_eq!(names.claim(&words), "y".repeat(58));
    }

    #[test]
    fn path_begins_below_the_last_folder() {
        assert_eq!(path_below("commands/a/commands/git/x.md", "commands", ".md"), "git/x");
        assert_eq!(path_below("commands/x.md", "commands", ".md"), "x");
        assert_eq!(path_below("my-commands/x.md", "commands", ".md"), "my-commands/x");
    }
}
