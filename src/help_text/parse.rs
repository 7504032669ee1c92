//! The sections of a help text.

use super::option::{CommandOption, parse_option};

/// How many lines are read.
const MAX_LINES: usize = 5_000;

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
    pub unread: Vec<String>,
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
    let mut help = Help { about: about(&lines), positionals: positionals(&usage(&lines), words), ..Help::default() };
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
        if trimmed.starts_with('-') {
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
    let is_help =
        ["-h", "--help", "-help", "-V", "--version", "-?"].iter().any(|own| spec.split(", ").any(|s| s == *own));
    match parse_option(&spec, &about) {
        _ if is_help => {}
        Some(option) => help.options.push(option),
        None => help.unread.push(spec),
    }
}

/// The name and the description of a line, which may continue below it, deeper.
fn split_columns(lines: &[&str], number: usize) -> Option<(String, String)> {
    let line = lines.get(number)?;
    let trimmed = line.trim_start();
    let depth = line.len() - trimmed.len();
    let gap = trimmed.find("  ").into_iter().chain(trimmed.find('\t')).min();
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
    let about = about.join(" ").trim().to_owned();
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

/// The first usage line, with those that continue it.
fn usage(lines: &[&str]) -> String {
    let Some(start) = lines.iter().position(|line| line.trim_start().to_ascii_lowercase().starts_with("usage")) else {
        return String::new();
    };
    let head = lines.get(start).copied().unwrap_or_default().trim_start();
    let first = head.split_once(':').map_or("", |(_, rest)| rest.trim());
    let below: Vec<&str> = lines
        .iter()
        .skip(start + 1)
        .take_while(|line| line.starts_with([' ', '\t']) && !line.trim_start().starts_with("or:"))
        .map(|line| line.trim())
        .collect();
    match first {
        "" => below.first().copied().unwrap_or_default().to_owned(),
        _ => std::iter::once(first).chain(below).collect::<Vec<_>>().join(" "),
    }
}

/// The words of a usage that stand for positional arguments.
fn positionals(usage: &str, words: &[&str]) -> Vec<Positional> {
    let mut depth = 0_usize;
    let mut groups: Vec<String> = vec![String::new()];
    for letter in usage.chars() {
        depth = match letter {
            '[' | '<' | '{' | '(' => depth + 1,
            ']' | '>' | '}' | ')' => depth.saturating_sub(1),
            _ => depth,
        };
        match letter {
            ' ' if depth == 0 => groups.push(String::new()),
            _ => groups.last_mut().into_iter().for_each(|group| group.push(letter)),
        }
    }
    // The first is the program, whatever it calls itself.
    let others = groups.iter().skip(1).filter(|group| !words.contains(&group.as_str()));
    let mut found: Vec<Positional> = others.filter_map(|group| positional(group)).collect();
    found.dedup_by(|next, before| {
        before.is_repeated |= next.name == before.name;
        next.name == before.name
    });
    found
}

fn positional(group: &str) -> Option<Positional> {
    let is_required = !group.starts_with('[');
    let is_repeated = group.contains("...");
    let name = group.replace("...", "");
    let name = name.trim_matches(['[', ']', '<', '>', '.', ' ']);
    let first = name.split([' ', '[']).next().unwrap_or_default().trim_matches(['[', ']', '<', '>']);
    let is_word = !first.is_empty() && first.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let of_others = ["options", "option", "flags", "command", "subcommand", "args", "commands", "global"];
    let is_own = !first.starts_with('-') && !of_others.contains(&first.to_ascii_lowercase().as_str());
    (is_word && is_own).then(|| Positional { name: first.to_owned(), is_required, is_repeated })
}

/// The first line at the margin that is neither usage nor a heading.
fn about(lines: &[&str]) -> String {
    let is_prose = |line: &&&str| {
        !line.is_empty() && !line.starts_with([' ', '\t', '-']) && !line.ends_with(':') && line.contains(' ')
    };
    let is_usage = |line: &str| line.to_ascii_lowercase().starts_with("usage");
    lines.iter().filter(is_prose).find(|line| !is_usage(line)).map(|line| (*line).to_owned()).unwrap_or_default()
}
