//! Wording of messages: counts, lists of names, and near matches.

use super::sanitize::one_line;

/// The longest name, in characters, that is compared.
const MAX_NAME_CHARS: usize = 64;
/// How many candidates a name is compared with.
const MAX_CANDIDATES: usize = 1000;

/// The candidate that `misspelled` was probably meant to be: at most a third of its letters away, at least one.
///
/// A comparison takes the product of both lengths, and a caller may choose `misspelled`: overlong names are not compared.
pub fn nearest<'a>(misspelled: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name_length(misspelled)?;
    let max_distance = (length / 3).max(1);
    let lower = misspelled.to_lowercase();
    let candidates: Vec<&str> = candidates.into_iter().take(MAX_CANDIDATES).collect();
    let near = candidates
        .iter()
        .copied()
        .filter(|candidate| name_length(candidate).is_some_and(|other| other.abs_diff(length) <= max_distance))
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    near.or_else(|| only_with_part(&lower, &candidates))
}

/// The only candidate that ends with this word, as the name of a pack's entry does, or has it between its hyphens:
/// `claude-commands` for `claude`.
fn only_with_part<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let only = |has_word: &dyn Fn(&str) -> bool| {
        let mut matching = candidates.iter().copied().filter(|candidate| has_word(candidate));
        let first = matching.next();
        first.filter(|_| matching.next().is_none())
    };
    only(&|candidate| candidate.strip_suffix(word).is_some_and(|prefix| prefix.ends_with('-')))
        .or_else(|| only(&|candidate| candidate.contains('-') && candidate.split('-').any(|part| part == word)))
}

/// The number of characters of a name; `None` where it is too long to compare.
fn name_length(name: &str) -> Option<usize> {
    let length = name.chars().take(MAX_NAME_CHARS + 1).count();
    (length <= MAX_NAME_CHARS).then_some(length)
}

/// A count with its noun: `1 item`, `2 items`.
pub fn count_noun(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Names in backticks, separated by commas.
pub fn quote_names<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", one_line(name.as_ref()))).collect::<Vec<_>>().join(", ")
}
