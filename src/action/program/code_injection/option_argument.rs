//! Reads one option of a program: whether what stands behind it is code, a program or something else.

use super::scan::VALUE_MARKER;
use super::syntax::{Operands, ProgramSyntax};

/// What one option asks for.
pub(super) enum OptionArgument {
    /// So many of the next words, none of which is code.
    Skip(usize),
    /// Code: from this byte of the word on, or the next word.
    Code(Option<usize>),
    /// A program, or a file of code: from this byte of the word on, or the next word.
    Program(Option<usize>),
    /// A value says which option it is.
    Unknown,
}

pub(super) fn is_option(text: &str, syntax: &ProgramSyntax) -> bool {
    let plus = syntax.operands == Operands::Shell && text.starts_with('+');
    text.len() > 1 && (text.starts_with('-') || plus)
}

/// The letters of a short option, up to a value.
pub(super) fn short_flags(text: &str) -> &str {
    let known = text.split(VALUE_MARKER).next().unwrap_or_default();
    if known.starts_with("--") { "" } else { known }
}

/// The letter of a short option that takes what stands behind it.
pub(super) fn value_flag(syntax: &ProgramSyntax, text: &str) -> Option<char> {
    short_flags(text).chars().skip(1).find(|&character| {
        [syntax.code_flags, syntax.program_flags, syntax.value_flags, syntax.attached_value_flags]
            .iter()
            .any(|all| all.contains(character))
    })
}

/// The letters of short options in a word, less what is attached to one of them.
pub(super) fn option_letters<'a>(syntax: &ProgramSyntax, text: &'a str) -> &'a str {
    let letters = short_flags(text);
    // The options of a shell take the next word.
    let last = value_flag(syntax, text).filter(|_| syntax.operands != Operands::Shell);
    last.and_then(|letter| letters.split_once(letter)).map_or(letters, |(before, _)| before)
}

pub(super) fn option_argument(syntax: &ProgramSyntax, text: &str) -> OptionArgument {
    // A name with one dash is written with two as well, where a parser takes both: `go build --toolexec=…`.
    let is_listed = |list: &[&str], name: &str| {
        list.contains(&name) || name.strip_prefix('-').is_some_and(|name| name.len() > 2 && list.contains(&name))
    };
    if is_listed(&syntax.code_options, text) {
        return OptionArgument::Code(None);
    }
    // A name with one dash is not a cluster of letters.
    let (name, given) = text.split_once('=').map_or((text, None), |(name, _)| (name, Some(name.len() + 1)));
    if is_listed(&syntax.program_options, name) {
        return OptionArgument::Program(given);
    }
    match text.strip_prefix("--") {
        Some(long) => long_option_argument(syntax, long),
        None => short_option_argument(syntax, text),
    }
}

fn long_option_argument(syntax: &ProgramSyntax, long: &str) -> OptionArgument {
    let (name, given) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
    if name.contains(VALUE_MARKER) {
        return OptionArgument::Unknown;
    }
    let is = |whole: &str| !name.is_empty() && whole.starts_with(name);
    if syntax.code_options.iter().filter_map(|whole| whole.strip_prefix("--")).any(is) {
        return OptionArgument::Code(given.then_some(name.len() + 3));
    }
    if syntax.program_options.iter().filter_map(|whole| whole.strip_prefix("--")).any(is) {
        return OptionArgument::Program(given.then_some(name.len() + 3));
    }
    match name {
        _ if given => OptionArgument::Skip(0),
        _ if syntax.value_options.iter().chain(&syntax.setting_options).copied().any(is) => OptionArgument::Skip(1),
        _ if syntax.two_value_options.contains(&name) => OptionArgument::Skip(2),
        _ => OptionArgument::Skip(0),
    }
}

fn short_option_argument(syntax: &ProgramSyntax, text: &str) -> OptionArgument {
    let has_long_names = syntax.program_options.iter().any(|name| !name.starts_with("--") && name.len() > 2);
    if has_long_names && is_assignment(text) {
        // `-run=NAME` is one option, and no cluster of letters.
        return OptionArgument::Skip(0);
    }
    for (at, character) in text.char_indices().skip(1) {
        let rest = at + character.len_utf8();
        if character == VALUE_MARKER {
            return OptionArgument::Unknown;
        }
        if syntax.code_flags.contains(character) {
            return OptionArgument::Code((rest < text.len()).then_some(rest));
        }
        if syntax.program_flags.contains(character) {
            return OptionArgument::Program((rest < text.len()).then_some(rest));
        }
        if syntax.value_flags.contains(character) {
            return OptionArgument::Skip(usize::from(rest == text.len()));
        }
        if syntax.attached_value_flags.contains(character) {
            break;
        }
    }
    OptionArgument::Skip(0)
}

/// Whether an option says which file holds the code.
pub(super) fn is_file_option(syntax: &ProgramSyntax, text: &str) -> bool {
    text.starts_with("--file") || text.starts_with("--from-file") || value_flag(syntax, text) == Some('f')
}

/// Whether a word gives a variable a value.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split(VALUE_MARKER).next().is_some_and(|known| known.contains('='))
}
