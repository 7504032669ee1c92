//! What git runs from its settings. Its options are in `programs.txt`.

use super::scan::VALUE_MARKER;
use super::syntax::ProgramSyntax;

/// The word of `git config WORDS` that could make git run code: a name that a value chooses, or what such a setting
/// is set to.
pub(super) fn config_code_word(git: &ProgramSyntax, words: &[&str]) -> Option<usize> {
    const OPTIONS_WITH_OPERAND: &[&str] =
        &["-f", "--file", "--type", "--blob", "--default", "--comment", "--value", "--url"];
    let text = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_operand = |at: usize| at > 0 && OPTIONS_WITH_OPERAND.contains(&text(at - 1));
    let mut names = (0..words.len()).filter(|&at| !text(at).starts_with('-') && !is_operand(at));
    let first = names.next()?;
    let reads = |word: &str| ["get", "list", "unset"].iter().any(|verb| word.trim_start_matches('-').starts_with(verb));
    if reads(text(first)) || words.iter().any(|word| word.starts_with("--") && reads(word)) {
        return None;
    }
    let name = if matches!(text(first), "set" | "edit") { names.next()? } else { first };
    let value = names.next();
    if text(name).contains(VALUE_MARKER) {
        return Some(name);
    }
    value.filter(|_| git.is_code_setting(text(name)))
}
