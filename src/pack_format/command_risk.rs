//! Which commands take values as data: those of programs that are known to, or scripts of the pack's author. All others must
//! not get values. The table of programs is that of `exec` (action/).

use super::shell_commands::{SimpleCommand, ValueMarker, Word, WordValue, simple_commands};
use crate::action::{ValueUse, may_run_code, takes_values_behind, value_use};

/// Options of the guarded programs that may come before a value, whether they take it or not.
const HARMLESS_OPTIONS: &[&str] = &[
    "-n", "-i", "-l", "-r", "-s", "-v", "-w", "-p", "-R", "-S", "-G", "-L", "-sS", "-rn", "-sL", "-fsSL", "-I", "-u",
    "--oneline", "--stat", "--name-only", "--name-status", "--cached", "--staged", "--since", "--until", "--after",
    "--before", "--author", "--grep", "--json", "--search", "--state", "--label", "--limit", "--repo", "--no-merges",
    "--all", "--graph", "--comments", "--tail", "--namespace", "--max-count", "--patch", "--reverse", "--follow",
    "--numstat", "--shortstat", "--merge-base", "--files-with-matches", "--line-number", "--glob", "--type",
    "--ignore-case", "--fixed-strings", "--verify", "--abbrev-ref", "--short", "--file", "--path", "--input", "--name",
    "--query", "--url",
];

/// Beginnings of options that run a program or write a file.
const ACTING_OPTIONS: &[&str] =
    &["--output", "-o", "-O", "--ext-diff", "--open-files", "--pre", "--compress", "--config"];

/// Letters of options that take no value, of `sort` and others.
const SWITCHES: &[char] = &['b', 'c', 'C', 'd', 'f', 'g', 'i', 'M', 'm', 'n', 'R', 'r', 's', 'u', 'V', 'z'];

/// The folders of programs that are not scripts of a pack.
const SYSTEM_FOLDERS: &[&str] = &["/usr/bin/", "/bin/", "/usr/local/bin/"];

/// The values that must not begin with `-`, if the command takes all its values as data. None if a value may be read as
/// code, or if the command is not understood.
pub(super) fn guarded_values(command: &str, markers: &[ValueMarker]) -> Option<Vec<WordValue>> {
    let mut guarded = Vec::new();
    for simple in simple_commands(command, markers)? {
        guarded.extend(check_simple_command(&simple)?);
    }
    guarded.retain(|value| value.is_leading);
    Some(guarded)
}

/// The values of one simple command that must not begin with `-`.
fn check_simple_command(simple: &SimpleCommand) -> Option<Vec<WordValue>> {
    let (program, arguments) = simple.words.split_first()?;
    if is_local_script(program) {
        return guarded_values_of_arguments(arguments);
    }
    let path = program.literal()?;
    let name = SYSTEM_FOLDERS.iter().find_map(|folder| path.strip_prefix(folder)).unwrap_or(path);
    let has_values = arguments.iter().any(|word| !word.values.is_empty());
    let takes_values = match name {
        "printf" => prints_values(arguments),
        "[" | "test" => tests_value(name, arguments),
        "find" => {
            let folder = arguments.first().map(|folder| folder.values.clone()).unwrap_or_default();
            return finds_value(arguments).then_some(folder);
        }
        "sed" => !has_values && is_plain_sed(arguments),
        "awk" => !has_values && is_plain_awk(arguments),
        "uniq" => {
            !has_values && arguments.iter().all(|word| word.prefix.starts_with('-')) && !has_acting_option(arguments)
        }
        _ => match value_use(name) {
            ValueUse::Data => true,
            ValueUse::None => !has_values && !has_acting_option(arguments),
            ValueUse::Guarded => return check_guarded_program(name, arguments),
            ValueUse::Script => {
                let (script, arguments) = arguments.split_first()?;
                let is_script = !simple.is_piped && is_script_file(script);
                return is_script.then(|| guarded_values_of_arguments(arguments))?;
            }
            ValueUse::Refused => false,
        },
    };
    takes_values.then(Vec::new)
}

/// Whether a program is named by a path within the workspace or the pack, and does not have another name elsewhere.
fn is_local_script(program: &Word) -> bool {
    let path = program.text.as_str();
    let is_relative = path.starts_with("./") || path.starts_with("scripts/") || path.starts_with(".claude/");
    // Where the variable is not set, this is a path from the root.
    let below = path.strip_prefix("${CLAUDE_").and_then(|rest| Some(rest.split_once("}/")?.1));
    let is_in_pack = program.prefix.is_empty()
        && below.is_some_and(|below| ["/", "./", "usr/"].iter().all(|root| !below.starts_with(root)));
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_own = is_in_pack || is_relative && !program.has_variable;
    program.values.is_empty()
        && is_own
        && !path.contains("..")
        && !path.contains(['*', '?', '['])
        && !may_run_code(name)
}

/// Whether the first argument of an interpreter is a file, and neither an option nor what is piped to it.
fn is_script_file(word: &Word) -> bool {
    let path = word.text.as_str();
    let is_outside = path.starts_with('/') || path.contains("..");
    let is_device = is_outside && path.split('/').any(|folder| matches!(folder, "dev" | "proc"));
    word.values.is_empty() && !path.starts_with('-') && !is_device && path.contains(['.', '/'])
}

/// Whether the format of `printf` is fixed, and assigns no variable as `%n` does.
fn prints_values(arguments: &[Word]) -> bool {
    let Some(format) = arguments.first().and_then(Word::literal) else { return false };
    let conversions = format.split('%').skip(1);
    let is_harmless = |rest: &str| {
        let kind = rest.trim_start_matches(|character: char| character.is_ascii_digit() || ".-+ #".contains(character));
        kind.is_empty() || kind.starts_with(['s', 'd', 'q', 'b', 'c', 'x', 'i', 'u', 'f', 'g', 'e'])
    };
    // `%%` leaves an empty part, and what follows it is text, which is judged all the same.
    !format.starts_with('-') && conversions.into_iter().all(is_harmless)
}

/// Whether a test is `-f VALUE` or `VALUE = VALUE`: others evaluate a name.
fn tests_value(name: &str, arguments: &[Word]) -> bool {
    let operands = match (name, arguments.split_last()) {
        ("[", Some((last, operands))) if last.literal() == Some("]") => operands,
        ("[", _) => return false,
        _ => arguments,
    };
    let is_single = operands.iter().all(|word| !word.is_split() && !word.has_variable);
    is_single
        && match operands {
            [operator, _] => operator
                .literal()
                .is_some_and(|operator| ["-f", "-d", "-e", "-s", "-r", "-n", "-z"].contains(&operator)),
            [_, operator, _] => operator.literal().is_some_and(|operator| ["=", "!="].contains(&operator)),
            _ => false,
        }
}

/// Whether values of `find` are the first folder or a pattern, and it runs and writes nothing.
fn finds_value(arguments: &[Word]) -> bool {
    let has_acting_option =
        |word: &Word| ["-exec", "-ok", "-delete", "-fprint", "-fls"].iter().any(|act| word.text.starts_with(act));
    let is_pattern =
        |word: &Word| ["-name", "-iname", "-path", "-ipath"].iter().any(|name| word.literal() == Some(name));
    let holds = |index: usize, word: &Word| {
        let before = index.checked_sub(1).and_then(|before| arguments.get(before));
        word.values.is_empty() || !word.is_split() && before.is_none_or(is_pattern)
    };
    !arguments.iter().any(has_acting_option) && arguments.iter().enumerate().all(|(index, word)| holds(index, word))
}

/// Whether `sed` substitutes once, or prints or deletes lines by their numbers.
fn is_plain_sed(arguments: &[Word]) -> bool {
    let mut scripts = arguments.iter().filter(|word| !["-n", "-E", "-r"].contains(&word.text.as_str()));
    let Some(script) = scripts.next().and_then(Word::literal) else { return false };
    let by_number = script.chars().all(|character| character.is_ascii_digit() || ",$pd".contains(character));
    let substitutes = script.strip_prefix('s').and_then(|rest| {
        let mark = rest.chars().next().filter(char::is_ascii_punctuation)?;
        let parts: Vec<&str> = rest.split(mark).collect();
        let flags = parts.get(3).filter(|_| {
            parts.len() == 4 && !rest.contains([';', '\n']) && mark != '\\' && !rest.contains(&format!("\\{mark}"))
        })?;
        Some(flags.chars().all(|flag| "gpiI0123456789".contains(flag)))
    });
    scripts.next().is_none() && !script.is_empty() && (by_number || substitutes == Some(true))
}

/// Whether `awk` has one program, which neither runs a command nor writes a file.
fn is_plain_awk(arguments: &[Word]) -> bool {
    let mut programs = arguments.iter().filter(|word| !word.text.starts_with("-F") || word.text.len() < 3);
    let program = programs.next().and_then(Word::literal);
    let runs =
        |program: &str| ["system", "getline", "|", ">", "@", "ENVIRON"].iter().any(|part| program.contains(part));
    program.is_some_and(|program| !program.starts_with('-') && !runs(program)) && programs.next().is_none()
}

/// The values that must not begin with `-`, if the program is a guarded one and its values follow no option that could
/// run a program or write a file.
fn check_guarded_program(name: &str, arguments: &[Word]) -> Option<Vec<WordValue>> {
    let arguments = match arguments.split_first() {
        Some((first, rest)) if name == "git" && first.literal() == Some("--no-pager") => rest,
        _ => arguments,
    };
    if !takes_values_behind(name, |nth| arguments.get(nth).and_then(Word::literal)) {
        return None;
    }
    if has_acting_option(arguments) { None } else { guarded_values_of_arguments(arguments) }
}

/// Whether an option is known to run a program or to write a file, also one that is shortened, or behind letters that take
/// no value.
fn has_acting_option(arguments: &[Word]) -> bool {
    let is_acting = |word: &Word| {
        let name = word.prefix.split('=').next().unwrap_or_default();
        let is_short_for = |option: &str| name.len() > 2 && option.starts_with(name);
        let letters = word.prefix.strip_prefix('-').unwrap_or_default().trim_start_matches(SWITCHES);
        letters.starts_with(['o', 'O'])
            || ACTING_OPTIONS.iter().any(|option| word.prefix.starts_with(option) || is_short_for(option))
    };
    arguments.iter().any(is_acting)
}

/// The values among these arguments, if they are at harmless places.
fn guarded_values_of_arguments(arguments: &[Word]) -> Option<Vec<WordValue>> {
    let mut guarded = Vec::new();
    for (index, word) in arguments.iter().enumerate().filter(|(_, word)| !word.values.is_empty()) {
        let before = index.checked_sub(1).and_then(|before| arguments.get(before));
        if !is_harmless_position(before, word) {
            return None;
        }
        guarded.extend(word.values.iter().cloned());
    }
    Some(guarded)
}

/// Whether a value is neither in an option nor behind one, except for harmless ones.
fn is_harmless_position(before: Option<&Word>, word: &Word) -> bool {
    let in_option = !word.prefix.starts_with('-')
        || word.prefix.split_once('=').is_some_and(|(option, _)| HARMLESS_OPTIONS.contains(&option));
    let is_harmless = |before: &Word| {
        let option = before.text.as_str();
        let is_number = option.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let is_known = option == "--" || is_number || option.contains('=') || HARMLESS_OPTIONS.contains(&option);
        !option.starts_with('-') || is_known && before.values.is_empty()
    };
    in_option && before.is_none_or(is_harmless)
}

#[cfg(test)]
mod tests;
