//! The positional arguments of a usage line: `usage: git clone [<options>] [--] <repo> [<dir>]`.

use super::parse::Positional;

/// Words of a usage that stand for what is said elsewhere.
const PLACEHOLDERS: &[&str] =
    &["options", "option", "flags", "command", "subcommand", "args", "commands", "global", "switches"];

/// The first usage line, or the first of a manual page's `SYNOPSIS`, with those that continue it.
pub(super) fn usage(lines: &[&str]) -> Option<String> {
    let start = lines.iter().position(|line| is_usage_heading(line))?;
    let head = lines.get(start)?.trim_start();
    let first = head.split_once(':').map_or("", |(_, rest)| rest.trim());
    let mut below = lines.iter().skip(start + 1).peekable();
    if !first.is_empty() {
        return Some(continued(first, 0, below));
    }
    while below.next_if(|line| line.is_empty()).is_some() {}
    let line = below.next()?;
    Some(continued(line.trim(), indent(line), below))
}

/// Whether a line begins a usage. In prose, more words follow.
pub(super) fn is_usage_heading(line: &str) -> bool {
    let text = line.trim().to_ascii_lowercase();
    text.starts_with("usage:") || text == "usage" || text == "synopsis"
}

/// A usage with the lines below it, up to one that begins something else.
fn continued<'l>(first: &str, depth: usize, below: impl Iterator<Item = &'l &'l str>) -> String {
    let continues = |line: &&&str| {
        let text = line.trim();
        let is_other = text.is_empty() || text.starts_with('-') || text.starts_with("or:") || text.contains("  ");
        indent(line) > depth && !is_other
    };
    let rest = below.take_while(continues).map(|line| line.trim());
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The words of a usage that stand for positional arguments. `words` are those of the command itself.
pub(super) fn positionals(usage: &str, words: &[&str]) -> Vec<Positional> {
    let usage = usage.replace("[--]", " ");
    let groups = split_groups(&usage);
    // The first is the program, whatever it calls itself.
    let groups = groups.iter().skip(1).map(String::as_str).filter(|group| !words.contains(group));
    let mut found = Vec::new();
    collect(groups, Occurrence { is_required: true, is_repeated: false }, &mut found);
    found.dedup_by(|next, before| {
        before.is_repeated |= next.name == before.name;
        next.name == before.name
    });
    found
}

/// How often what stands in a bracket is given.
#[derive(Clone, Copy)]
struct Occurrence {
    is_required: bool,
    is_repeated: bool,
}

fn collect<'g>(groups: impl Iterator<Item = &'g str>, outer: Occurrence, found: &mut Vec<Positional>) {
    let (mut is_option_value, mut is_alternative) = (false, false);
    for group in groups {
        let (skipped, alternative) = (is_option_value, is_alternative);
        is_option_value = group.starts_with('-') && !group.contains('=');
        is_alternative = group == "|";
        if is_option_value || is_alternative || alternative || group.starts_with('-') {
            continue;
        }
        let own = Occurrence { is_repeated: outer.is_repeated || group.ends_with("..."), ..outer };
        let bare = group.trim_end_matches("...");
        match bracketed(bare) {
            Some((_, inner)) if inner.trim_start().starts_with('-') => {}
            Some(('<', inner)) if !skipped => found.extend(positional(inner, own)),
            Some((open @ ('[' | '('), inner)) => {
                let is_required = own.is_required && open == '(';
                let groups = split_groups(inner.trim());
                collect(groups.iter().map(String::as_str), Occurrence { is_required, ..own }, found);
            }
            None if !skipped => found.extend(positional(bare, own)),
            _ => {}
        }
    }
}

/// What stands in a bracket around a whole group, and the bracket.
fn bracketed(group: &str) -> Option<(char, &str)> {
    let open = group.chars().next()?;
    let close = match open {
        '[' => ']',
        '(' => ')',
        '<' => '>',
        '{' => '}',
        _ => return None,
    };
    Some((open, group.strip_prefix(open)?.strip_suffix(close)?))
}

/// A text at the spaces that stand in no bracket.
fn split_groups(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut groups: Vec<String> = vec![String::new()];
    for letter in text.chars() {
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
    // `FILE ...` is `FILE...`.
    let mut joined: Vec<String> = Vec::new();
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        match joined.last_mut() {
            Some(before) if group == "..." => before.push_str("..."),
            _ => joined.push(group),
        }
    }
    joined
}

fn positional(group: &str, occurrence: Occurrence) -> Option<Positional> {
    let name = group.split(['|', '[']).next().unwrap_or_default();
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).replace([' ', '/'], "-");
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let is_own = !PLACEHOLDERS.contains(&name.to_ascii_lowercase().as_str());
    let Occurrence { is_required, is_repeated } = occurrence;
    (is_word && is_own).then_some(Positional { name, is_required, is_repeated })
}
