//! Words of messages: counts, lists of names, and the name that was probably meant.

/// The longest text, in characters, that a misspelt name is looked for in.
const MAX_NAME_CHARS: usize = 64;
/// How many candidates a misspelt name is compared with.
const MAX_CANDIDATES: usize = 1000;

/// The candidate that `wrong` was probably meant to be: at most a third of its letters away, at least one.
///
/// A comparison takes time by the product of both lengths, and a caller may choose `wrong`: what is longer than a name,
/// or than the candidate could be, is not compared.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name_length(wrong)?;
    let most = (length / 3).max(1);
    let lower = wrong.to_lowercase();
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| name_length(candidate).is_some_and(|other| other.abs_diff(length) <= most))
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters a name has; `None` where it is longer than any name that a person would write.
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
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}
