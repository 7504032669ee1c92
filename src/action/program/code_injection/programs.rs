//! The programs that run code from their arguments, and those that start another program.

use std::sync::LazyLock;

use super::program_table::read_programs;
use super::syntax::{Operands, ProgramSyntax, ValueUse};

const TABLE: &str = include_str!("programs.txt");

static PROGRAMS: LazyLock<Vec<ProgramSyntax>> = LazyLock::new(|| read_or_refuse(TABLE));

/// The rows of a table; one that cannot be read refuses every value, whatever the program.
fn read_or_refuse(table: &'static str) -> Vec<ProgramSyntax> {
    read_programs(table).unwrap_or_else(|_| vec![UNREADABLE_PROGRAM.clone()])
}

/// Programs whose options named like those for code take none.
pub(super) const PATTERN_PROGRAMS: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"];

/// What is known of a program that is not in the table.
pub(super) static UNKNOWN_PROGRAM: LazyLock<ProgramSyntax> = LazyLock::new(|| ProgramSyntax {
    only_warns: true,
    program_options: vec![
        "--exec-path", "--rsh", "--pager", "--editor", "--askpass", "--shell", "--upload-pack", "--receive-pack",
        "--compress-program", "--use-compress-program",
    ],
    ..ProgramSyntax::default()
});

/// A program of which no value is safe, for no one knows how it reads its words.
pub(super) static UNREADABLE_PROGRAM: LazyLock<ProgramSyntax> =
    LazyLock::new(|| ProgramSyntax { operands: Operands::Unreadable, ..ProgramSyntax::default() });

/// The syntax of a program, by its name or path.
pub(super) fn syntax_of(program: &str) -> Option<&'static ProgramSyntax> {
    find_syntax(&PROGRAMS, program)
}

fn find_syntax<'a>(programs: &'a [ProgramSyntax], program: &str) -> Option<&'a ProgramSyntax> {
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
    let is_named = |syntax: &&ProgramSyntax| syntax.names.contains(&plain) || syntax.names.contains(&name);
    programs.iter().find(|syntax| syntax.operands == Operands::Unreadable || is_named(syntax))
}

/// How a command of a pack may have values among the arguments of a program, which is named as it is without a path.
pub fn value_use(program: &str) -> ValueUse {
    let syntax = syntax_of(program).filter(|syntax| is_exact(syntax, program));
    syntax.map(|syntax| syntax.values).unwrap_or_default()
}

/// Whether a program takes values behind these words; `word` gives each that is fixed.
pub fn takes_values_behind<'w>(program: &str, word: impl Fn(usize) -> Option<&'w str>) -> bool {
    let begins = |command: &str| command.split('_').enumerate().all(|(nth, part)| word(nth) == Some(part));
    syntax_of(program)
        .is_some_and(|syntax| syntax.commands.is_empty() || syntax.commands.iter().any(|command| begins(command)))
}

/// Whether a program of this name may run code of its arguments, or start another program, whatever its version is.
pub fn may_run_code(program: &str) -> bool {
    syntax_of(program).is_some_and(|syntax| syntax.operands != Operands::Data)
}

/// Whether a name has no version but that of an interpreter: `cat2` may be any program.
fn is_exact(syntax: &ProgramSyntax, program: &str) -> bool {
    !program.contains('/') && (syntax.names.contains(&program) || syntax.values == ValueUse::Script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        assert_eq!(read_programs(TABLE).err(), None);
    }

    #[test]
    fn table_that_cannot_be_read_refuses_every_program() {
        let programs = read_or_refuse("sh: code-flag=c");
        let operands = find_syntax(&programs, "cat").map(|syntax| &syntax.operands);
        assert_eq!(operands, Some(&Operands::Unreadable));
    }
}
