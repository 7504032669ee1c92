//! The programs that run code from their arguments, and those that start another program.

mod interpreters;
mod wrappers;
mod tools;

use super::Language;
use super::syntax::{DEFAULT_SYNTAX, ProgramSyntax};
use interpreters::INTERPRETERS;
use tools::TOOLS;
use wrappers::WRAPPERS;

/// Programs whose options named like those for code take none.
pub(super) const PATTERN_PROGRAMS: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"];

/// What is known of a program that is not in the table.
pub(super) const UNKNOWN_PROGRAM: &ProgramSyntax = &ProgramSyntax {
    language: Language::Unknown,
    program_options: &[
        "--exec-path", "--rsh", "--pager", "--editor", "--askpass", "--shell", "--upload-pack", "--receive-pack",
        "--compress-program", "--use-compress-program",
    ],
    ..DEFAULT_SYNTAX
};

/// The syntax of a program, by its name or path.
pub(super) fn syntax_of(program: &str) -> Option<&'static ProgramSyntax> {
    let name = program.rsplit('/').next()?.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain =
        name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.').trim_end_matches('-');
    let plain = if plain.is_empty() { name } else { plain };
    // `perl5.36-x86_64-linux-gnu`, `python3-dbg`, `bash-static`
    let before_version =
        name.split(|character: char| character.is_ascii_digit()).next().filter(|stem| !stem.is_empty());
    let plain = before_version.filter(|stem| stem.len() < name.len()).unwrap_or(plain);
    let plain = plain.strip_suffix("-static").unwrap_or(plain).trim_end_matches('-');
    [INTERPRETERS, WRAPPERS, TOOLS]
        .into_iter()
        .flatten()
        .find(|syntax| syntax.names.contains(&plain) || syntax.names.contains(&name))
}
