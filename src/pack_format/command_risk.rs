//! Commands in which a shell or another program reads the value of a variable as code, so that they must not get values.

use std::ops::Range;

use super::shell_context::{ShellContext, shell_contexts};

/// Words of bash that evaluate an expression, or the name of a variable with its subscript.
const EVALUATING_WORDS: &[&str] =
    &["eval", "let", "declare", "typeset", "local", "export", "readonly", "read", "unset", "source", "trap", "-v"];

/// Words behind which the name of a program stands.
const PREFIX_WORDS: &[&str] = &[
    "exec", "command", "builtin", "sudo", "doas", "env", "nohup", "nice", "time", "timeout", "then", "do", "else",
    "if", "while", "until", "xargs",
];

/// Parts of expressions of bash, in which a value is evaluated, subscripts with commands among it.
const EXPRESSION_PARTS: &[&str] = &["((", "[[", "$[", "[$", "[\"$", "[{{", "<<", "$'"];

/// Programs that read one of their arguments as code, whatever their options are.
const CODE_PROGRAMS: &[&str] =
    &["awk", "gawk", "mawk", "nawk", "sed", "ssh", "psql", "mysql", "mariadb", "sqlite3", "jq", "yq", "osascript"];

/// Programs that read code behind one of [`CODE_OPTIONS`].
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "pwsh",
    "powershell",
    "su",
    "env",
    "script",
    "watch",
    "xargs",
    "parallel",
];

/// Options of which the value is code, alone or as the last of several letters.
const CODE_OPTIONS: &[&str] = &["-c", "-e", "-E", "-p", "-r", "-S", "--eval", "--print", "--command", "-Command"];

/// Whether a value at one of these places of a command may be read as code.
pub(super) fn reads_values_as_code(command: &str, positions: &[usize]) -> bool {
    let has_value = |range: &Range<usize>| positions.iter().any(|position| range.contains(position));
    let simple = simple_commands(command).into_iter().filter(has_value);
    EXPRESSION_PARTS.iter().any(|part| command.contains(part))
        || has_complex_expansion(command)
        || positions.iter().any(|position| names_program(command, *position))
        || simple.filter_map(|range| command.get(range)).any(runs_code)
}

/// The simple commands of a script: what stands between line breaks, `;`, `|` and `&` outside of quotes.
fn simple_commands(command: &str) -> Vec<Range<usize>> {
    let (mut ranges, mut start) = (Vec::new(), 0);
    for (at, letter, context) in shell_contexts(command) {
        if context == ShellContext::Plain && "\n;|&".contains(letter) {
            ranges.push(start..at);
            start = at + 1;
        }
    }
    ranges.push(start..command.len());
    ranges
}

/// Whether what stands at a place is itself the name of a program: at the beginning of a command, or behind a word that
/// runs another.
fn names_program(command: &str, position: usize) -> bool {
    let written = command.get(..position).unwrap_or_default();
    let before = written.strip_suffix(['"', '\'']).unwrap_or(written).trim_end_matches([' ', '\t']);
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let last = shell_contexts(before).last().map(|(_, letter, context)| (letter, context));
    let begins_command = match last {
        None => true,
        Some((letter, ShellContext::Plain)) => "\n;|&(`{!".contains(letter),
        Some((letter, ShellContext::Double)) => letter == '`' || before.ends_with("$("),
        Some(_) => false,
    };
    begins_command || PREFIX_WORDS.contains(&word)
}

/// Whether a program of a simple command reads code from its arguments.
fn runs_code(command: &str) -> bool {
    let words: Vec<&str> = words(command).collect();
    let is_among = |list: &[&str]| words.iter().any(|word| list.contains(&program_name(word)));
    words.iter().any(|word| EVALUATING_WORDS.contains(word))
        || is_among(CODE_PROGRAMS)
        || is_among(INTERPRETERS) && words.iter().any(|word| is_code_option(word))
}

/// The words of a command, whatever quotes stand around them.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&()<>".contains(letter);
    command.split(is_between).filter(|word| !word.is_empty())
}

/// A program without its folder and its version.
fn program_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
}

fn is_code_option(word: &str) -> bool {
    let is_cluster = |option: &str| {
        let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
        let letters =
            word.strip_prefix('-').filter(|letters| letters.chars().all(|letter| letter.is_ascii_alphabetic()));
        letter.zip(letters).is_some_and(|(letter, letters)| letters.ends_with(letter))
    };
    CODE_OPTIONS.iter().any(|option| word == *option || word.starts_with(&format!("{option}=")) || is_cluster(option))
}

/// Whether an expansion is more than `${NAME}`.
fn has_complex_expansion(command: &str) -> bool {
    command.split("${").skip(1).any(|rest| {
        let name = rest.split('}').next().unwrap_or_default();
        !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::reads_values_as_code;

    /// Where the first marker stands.
    fn value_in(command: &str) -> usize {
        ["$ARGUMENTS", "$1", "{{args}}"].iter().find_map(|marker| command.find(marker)).unwrap_or_default()
    }

    #[test]
    fn commands_that_evaluate_values_are_found() {
        for command in [
            "echo $(( $ARGUMENTS ))",
            "[[ $1 -eq 1 ]] && echo one",
            "echo $[ $1 + 1 ]",
            "echo ${list[$1]}",
            "echo ${name:$1}",
            "eval \"$ARGUMENTS\"",
            "let x=$1",
            "declare -i x=$1",
            "[ -v \"$1\" ]",
            "bash -c \"echo $ARGUMENTS\"",
            "/usr/bin/python3.12 -c \"print($1)\"",
            "sh -lc \"ls {{args}}\"",
            "perl -ne \"print if /$1/\"",
            "awk \"BEGIN { print \\\"{{args}}\\\" }\"",
            "ssh host ls $1",
            "cat <<END\n$1\nEND",
            "$ARGUMENTS --version",
            "echo \"$($1)\"",
            "true && $1",
            "if $1; then echo yes; fi",
            "sudo \"$1\"",
            "# it's\nawk \"it's; $1\"",
            "echo $'it\\'s' $1",
        ] {
            assert!(reads_values_as_code(command, &[value_in(command)]), "{command}");
        }
    }

    #[test]
    fn ordinary_commands_take_values() {
        for command in [
            "git log --oneline $ARGUMENTS",
            "gh pr view $1 --json title",
            "python3 scripts/check.py \"$1\"",
            "bash ${CLAUDE_PLUGIN_ROOT}/run.sh $1",
            "[ -f \"$1\" ] && cat \"$1\"",
            "grep -rn \"{{args}}\" src | head -5",
            "find . -name \"$1\"",
            "cat \"$1\" | sed 's/a/b/'",
        ] {
            assert!(!reads_values_as_code(command, &[value_in(command)]), "{command}");
        }
    }
}
