//! The sections of a help text.

use super::option::{CommandOption, parse_option};
use super::usage::{is_usage_heading, usage};

/// How many lines are read.
const MAX_LINES: usize = 5_000;
/// How many positional arguments are believed.
const MAX_POSITIONALS: usize = 8;
/// How many lines the description of a program has at most.
const MAX_ABOUT_LINES: usize = 4;
/// How many words the line of an option has at most; what has more is prose.
const MAX_SPEC_WORDS: usize = 6;

/// What a help text says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    /// What the program is for.
    pub about: String,
    /// Its options.
    pub options: Vec<CommandOption>,
    /// Its positional arguments, in order.
    pub positionals: Vec<Positional>,
    /// Its subcommands.
    pub subcommands: Vec<Subcommand>,
    /// Lines that look like options and could not be read.
    pub unparsed: Vec<String>,
    /// What a person must look at beyond that.
    pub review_notes: Vec<String>,
}

/// A positional argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positional {
    /// What the program calls it.
    pub name: String,
    /// Whether it must be given.
    pub is_required: bool,
    /// Whether it may be given several times.
    pub is_repeated: bool,
}

/// A subcommand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subcommand {
    /// Its name.
    pub name: String,
    /// Its description, in one line.
    pub about: String,
}

/// Reads a help text. `words` are those that the program was started with, before `--help`.
pub fn parse_help(text: &str, words: &[&str]) -> Help {
    let lines: Vec<&str> = text.lines().take(MAX_LINES).map(str::trim_end).collect();
    let review_notes = exit_status_note(&lines).into_iter().chain(abbreviation_note(&lines)).collect();
    let mut help = Help { about: about(&lines), review_notes, ..Help::default() };
    add_positionals(&lines, words, &mut help);
    let mut in_commands = false;
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        if depth == 0 && !trimmed.is_empty() {
            in_commands = is_command_heading(trimmed, in_commands);
            if !trimmed.starts_with('-') {
                continue;
            }
        }
        if is_option_line(trimmed) {
            add_option(&lines, number, &mut help);
        } else if in_commands || follows_choice_of_commands(&lines, number) {
            help.subcommands.extend(subcommand(&lines, number));
        }
    }
    let mut seen = std::collections::HashSet::new();
    help.options.retain(|option| seen.insert(option.spelling.clone()));
    help.subcommands.retain(|subcommand| seen.insert(subcommand.name.clone()));
    help
}

/// Adds the positional arguments of the usage, as far as that can be believed.
fn add_positionals(lines: &[&str], words: &[&str], help: &mut Help) {
    let Some(usage) = usage(lines) else {
        help.review_notes.push("no usage was found: add the positional arguments, if it has any".to_owned());
        return;
    };
    let found = usage.positionals(words);
    help.review_notes.extend(usage.review(words));
    match found.len() {
        0..=MAX_POSITIONALS => help.positionals = found,
        count => {
            help.review_notes.push(format!("the usage seems to name {count} positional arguments: add those it has"))
        }
    }
}

/// Whether a line begins with the name of an option, which a ruler and an item of a list do not.
fn is_option_line(line: &str) -> bool {
    let name = line.strip_prefix("--").or_else(|| line.strip_prefix('-'));
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '[' | '?' | '#')))
}

/// Whether a text is a manual page, and not what a program says of itself in short.
pub fn is_manual_page(text: &str) -> bool {
    let has = |heading: &str| text.lines().any(|line| line.trim_end() == heading);
    has("NAME") && has("SYNOPSIS") && has("DESCRIPTION")
}

/// A note if exit status 1 has a documented meaning and may not be a failure.
fn exit_status_note(lines: &[&str]) -> Option<String> {
    let speaks_of_one = |from: usize| {
        let below = lines.iter().skip(from).take(4).flat_map(|line| line.split_whitespace());
        below.into_iter().any(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()) == "1")
    };
    let is_said = |line: &str| {
        let line = line.to_ascii_lowercase();
        ["exit status", "exit code", "exits with"].iter().any(|words| line.contains(words))
    };
    let found = lines.iter().enumerate().any(|(number, line)| is_said(line) && speaks_of_one(number));
    let review = "the help speaks of exit status 1: write `okExit: [0, 1]` into `run` if that is no failure";
    found.then(|| review.to_owned())
}

/// A note if the help text is only part of the full help.
fn abbreviation_note(lines: &[&str]) -> Option<String> {
    let is_part = lines.iter().any(|line| line.to_ascii_lowercase().contains("not the full help"));
    is_part.then(|| "the help says that it is not the full one: add the options that are needed".to_owned())
}

/// Whether the lines below a line at the margin are subcommands. What is said between them does not end them.
fn is_command_heading(line: &str, before: bool) -> bool {
    let lower = line.to_ascii_lowercase();
    let is_heading = line.ends_with(':') || line.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
    let names_commands = lower.contains("command") && !lower.contains("option");
    if is_heading { names_commands } else { before && !lower.starts_with("usage") && !line.starts_with('-') }
}

/// Whether a line is below argparse's `{build,clean}` of positional arguments.
fn follows_choice_of_commands(lines: &[&str], number: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let here = lines.get(number).map_or(0, |line| indent(line));
    let above = lines.iter().take(number).rev().find(|line| indent(line) < here);
    above.is_some_and(|line| line.trim_start().starts_with('{') && line.contains('}') && line.contains(','))
}

/// A line of an option, and the lines that continue its description.
fn add_option(lines: &[&str], number: usize, help: &mut Help) {
    let Some((spec, about)) = split_columns(lines, number) else { return };
    let (spec, about) = split_after_value(&spec).map_or((spec.clone(), about.clone()), |(spec, head)| {
        (spec.to_owned(), format!("{head} {about}").trim().to_owned())
    });
    let is_help =
        ["-h", "--help", "-help", "-V", "--version", "-?"].iter().any(|own| spec.split(", ").any(|s| s == *own));
    match parse_option(&spec, &about) {
        _ if is_help => {}
        Some(option) => help.options.push(option),
        None if spec.split_whitespace().count() <= MAX_SPEC_WORDS => help.unparsed.push(spec),
        // A sentence that begins with the name of an option.
        None => {}
    }
}

/// A long option whose description stands one space behind its value: `--user <user:password> Server user`.
fn split_after_value(spec: &str) -> Option<(&str, &str)> {
    let ends = spec.match_indices(['>', ']']).map(|(at, _)| at + 1);
    let mut columns = ends.filter_map(|end| spec.split_at_checked(end));
    columns.find_map(|(spec, rest)| {
        let about = rest.strip_prefix(' ')?;
        about.starts_with(|c: char| c.is_ascii_alphabetic()).then_some((spec, about))
    })
}

/// The name and the description of a line, which may continue below it, deeper.
fn split_columns(lines: &[&str], number: usize) -> Option<(String, String)> {
    let line = lines.get(number)?;
    let trimmed = line.trim_start();
    let depth = line.len() - trimmed.len();
    let gap = ["  ", "\t", " : "].iter().filter_map(|gap| trimmed.find(gap)).min();
    let (left, right) = trimmed.split_at_checked(gap.unwrap_or(trimmed.len()))?;
    let mut about = vec![right.trim()];
    for below in lines.iter().skip(number + 1).take(20) {
        let text = below.trim_start();
        let is_deeper = below.len() - text.len() > depth + 1 || below.starts_with('\t') && !line.starts_with('\t');
        if text.is_empty() && about.iter().any(|part| !part.is_empty()) || !text.is_empty() && !is_deeper {
            break;
        }
        if text.starts_with('-') && text.get(1..2).is_some_and(|next| next != " ") {
            break;
        }
        about.push(text);
    }
    // Python's own options have a colon between the columns.
    let about = about.join(" ").trim().trim_start_matches(": ").to_owned();
    Some((left.trim().to_owned(), about))
}

/// A line of a list of subcommands: `build, b    Compile the package`.
fn subcommand(lines: &[&str], number: usize) -> Option<Subcommand> {
    let (left, about) = split_columns(lines, number)?;
    let name = left.split([',', ' ']).next()?.trim_end_matches(['*', ':']);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let is_alone = left.split(", ").all(|alias| !alias.contains(' ')) || left.contains(" [") || left.contains(" <");
    let is_own = !["help", "completion", "completions"].contains(&name);
    (is_name && is_alone && is_own && !about.is_empty()).then(|| Subcommand { name: name.to_owned(), about })
}

/// The first sentences at the margin that are neither usage nor a heading; of a manual page, what its `NAME` says.
fn about(lines: &[&str]) -> String {
    if let Some(name) = lines.iter().position(|line| *line == "NAME") {
        let name_line = lines.get(name + 1).and_then(|line| line.split_once(" - "));
        return name_line.map(|(_, about)| about.trim().to_owned()).unwrap_or_default();
    }
    let is_prose = |line: &&&str| {
        !line.is_empty()
            && !line.starts_with([' ', '\t', '-'])
            && !line.ends_with(':')
            && !line.contains(" : ")
            && line.contains(' ')
    };
    let is_of_program = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        let is_usage = is_usage_heading(line) || lower.starts_with("usage");
        let is_of_help =
            lower.contains("--help") || lower.contains("not the full help") || lower.starts_with("for all options");
        !is_usage && !is_of_help
    };
    let Some(start) = lines.iter().position(|line| is_prose(&line) && is_of_program(line)) else {
        return String::new();
    };
    // A sentence may go on below, up to an empty line.
    let rest = lines.iter().skip(start).take_while(|line| is_prose(line)).take(MAX_ABOUT_LINES);
    rest.copied().collect::<Vec<_>>().join(" ")
}
