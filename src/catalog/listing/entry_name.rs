//! The names of prompts and tools, as clients take them.

/// The longest name of a prompt or a tool.
const MAX_ENTRY_NAME_CHARS: usize = 64;

/// A name as it could be written, with `-` instead of other letters; `None` if that would say less.
pub(in crate::catalog) fn suggest_name(name: &str) -> Option<String> {
    let words = name.split(|character: char| !character.is_alphanumeric() && character != '_' && character != '-');
    let plain = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let fits = !plain.is_empty() && plain.len() <= MAX_ENTRY_NAME_CHARS && plain != name;
    (fits && plain.is_ascii()).then_some(plain)
}

/// Why a name is refused, as its help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to {MAX_ENTRY_NAME_CHARS} letters, digits, `_` and `-`")]
pub struct InvalidEntryName;

/// Checks the name of a prompt or a tool as clients see it.
///
/// # Errors
/// It is empty, too long, or has other characters than clients take.
pub fn check_entry_name(name: &str) -> Result<(), InvalidEntryName> {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    let is_right = !name.is_empty() && name.len() <= MAX_ENTRY_NAME_CHARS && name.chars().all(is_allowed);
    if is_right { Ok(()) } else { Err(InvalidEntryName) }
}
