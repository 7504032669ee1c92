//! The programs that run code from their arguments, and those that start another program.

use std::sync::LazyLock;

use super::Language;
use super::program_table::read_programs;
use super::syntax::ProgramSyntax;

const TABLE: &str = include_str!("programs.txt");

static PROGRAMS: LazyLock<Vec<ProgramSyntax>> = LazyLock::new(|| read_programs(TABLE).unwrap_or_default());

/// Programs whose options named like those for code take none.
pub(super) const PATTERN_PROGRAMS: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"];

/// What is known of a program that is not in the table.
pub(super) static UNKNOWN_PROGRAM: LazyLock<ProgramSyntax> = LazyLock::new(|| ProgramSyntax {
    language: Language::Unknown,
    program_options: vec![
        "--exec-path", "--rsh", "--pager", "--editor", "--askpass", "--shell", "--upload-pack", "--receive-pack",
        "--compress-program", "--use-compress-program",
    ],
    ..ProgramSyntax::default()
});

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
    PROGRAMS.iter().find(|syntax| syntax.names.contains(&plain) || syntax.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        assert_eq!(read_programs(TABLE).err(), None);
    }
}
