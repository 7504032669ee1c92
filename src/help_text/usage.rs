//! The positional arguments of a usage line: `usage: git clone [<options>] [--] <repo> [<dir>]`.

use super::parse::Positional;
use crate::diagnostic::truncate;
use crate::openapi::plain_line;

/// How many forms a review shows, and how much of each.
const MAX_SHOWN_FORMS: usize = 3;
const MAX_SHOWN_BYTES: usize = 60;

/// Words of a usage that stand for what is said elsewhere.
const PLACEHOLDERS: &[&str] =
    &["options", "option", "flags", "command", "subcommand", "args", "commands", "global", "switches"];

/// The usage of a program.
pub(super) struct UsageLine {
    /// The first line, and those that begin with `or:`, each with the lines that continue it.
    forms: Vec<String>,
    /// Whether placeholders stand in `<…>`, so that words without stand for themselves.
    has_bracketed_placeholders: bool,
}

/// The first usage, or the first of a manual page's `SYNOPSIS`.
pub(super) fn usage(lines: &[&str]) -> Option<UsageLine> {
    let start = lines.iter().position(|line| is_usage_heading(line))?;
    let head = lines.get(start)?.trim_start();
    let first = head.split_once(':').map_or("", |(_, rest)| rest.trim());
    let mut below = lines.iter().skip(start + 1).peekable();
    let mut forms = Vec::new();
    if first.is_empty() {
        while below.next_if(|line| line.is_empty()).is_some() {}
        let line = below.next()?;
        forms.push(join_continuation(line.trim(), indent(line), below));
    } else {
        forms.push(join_continuation(first, 0, below));
        forms.extend(other_forms(lines.get(start + 1..).unwrap_or_default()));
    }
    let has_bracketed_placeholders = forms.iter().any(|form| form.contains('<') && form.contains('>'));
    Some(UsageLine { forms, has_bracketed_placeholders })
}

/// The forms of a usage that begin with `or:`.
fn other_forms(below: &[&str]) -> Vec<String> {
    let own = below.iter().take_while(|line| !line.is_empty());
    let heads = own.enumerate().filter_map(|(number, line)| Some((number, line, line.trim().strip_prefix("or:")?)));
    heads
        .map(|(number, line, form)| join_continuation(form.trim(), indent(line), below.iter().skip(number + 1)))
        .collect()
}

impl UsageLine {
    /// The forms that begin with the words of the command; the first where none does.
    fn matching_forms(&self, words: &[&str]) -> Vec<&str> {
        let forms = self.forms.iter().map(String::as_str);
        let begins = |form: &&str| {
            let mut groups = form.split_whitespace().skip(1);
            words.iter().skip(1).all(|word| groups.next() == Some(word))
        };
        let own: Vec<&str> = forms.clone().filter(begins).collect();
        if own.is_empty() { forms.take(1).collect() } else { own }
    }

    /// Whether a form begins with the words of the command and asks for further ones.
    fn asks_for_words(&self, form: &str, words: &[&str]) -> bool {
        let groups = split_groups(form);
        let groups: Vec<&str> = groups.iter().skip(1).map(String::as_str).filter(|one| !words.contains(one)).collect();
        self.has_bracketed_placeholders && has_literal(&groups)
    }

    /// What stands for positional arguments in the first form that asks for no further words.
    pub(super) fn positionals(&self, words: &[&str]) -> Vec<Positional> {
        let form = self.matching_forms(words).into_iter().find(|form| !self.asks_for_words(form, words));
        form.map(|form| positionals(form, words, self.has_bracketed_placeholders)).unwrap_or_default()
    }

    /// What a person must look at: forms that take something else, or words that no tool writes.
    pub(super) fn review(&self, words: &[&str]) -> Option<String> {
        let own = self.matching_forms(words);
        let used = own.iter().find(|form| !self.asks_for_words(form, words));
        let others: Vec<&str> = own.iter().filter(|form| Some(*form) != used).copied().collect();
        let is_other = |form: &&str| {
            self.asks_for_words(form, words)
                || positionals(form, words, self.has_bracketed_placeholders) != self.positionals(words)
        };
        let listed: Vec<String> = others
            .into_iter()
            .filter(is_other)
            .take(MAX_SHOWN_FORMS)
            .map(|form| format!("`{}`", plain_line(truncate(form, MAX_SHOWN_BYTES).as_ref())))
            .collect();
        let listed = Some(listed.join(", ")).filter(|listed| !listed.is_empty())?;
        Some(match used {
            Some(_) => format!("the usage has other forms, such as {listed}: write a tool for each that is needed"),
            None => {
                format!("the usage requires more words, such as in {listed}: write a tool for each that you need")
            }
        })
    }
}

/// Whether one of the groups stands for itself: `list` in `git stash list [<options>]`.
fn has_literal(groups: &[&str]) -> bool {
    let mut groups = groups.iter().peekable();
    while let Some(group) = groups.next() {
        let is_option = group.starts_with('-') && *group != "--";
        let is_value = |next: &str| next.starts_with('<') || next.starts_with(|c: char| c.is_ascii_uppercase());
        if is_option && groups.next_if(|next| is_value(next)).is_some() || group.contains("=<") {
            continue;
        }
        let in_choice = strip_bracket(group.trim_end_matches("..."))
            .is_some_and(|(open, inner)| open == '(' && !inner.contains('<') && inner.split('|').any(is_literal));
        if is_option || is_literal(group) || in_choice {
            return true;
        }
    }
    false
}

/// Whether a word stands for itself where placeholders are marked.
fn is_literal(word: &str) -> bool {
    let word = word.trim();
    let is_word = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    is_word && !PLACEHOLDERS.contains(&word)
}

/// Whether a line begins a usage. In prose, more words follow.
pub(super) fn is_usage_heading(line: &str) -> bool {
    let text = line.trim().to_ascii_lowercase();
    text.starts_with("usage:") || text == "usage" || text == "synopsis"
}

/// A usage with the lines below it, up to one that begins something else.
fn join_continuation<'l>(first: &str, depth: usize, below: impl Iterator<Item = &'l &'l str>) -> String {
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
fn positionals(usage: &str, words: &[&str], has_bracketed_placeholders: bool) -> Vec<Positional> {
    let usage = usage.replace("[--]", " ");
    let groups = split_groups(&usage);
    // The first is the program, whatever it calls itself.
    let groups = groups.iter().skip(1).map(String::as_str).filter(|group| !words.contains(group));
    let mut found = Vec::new();
    collect(groups, Occurrence { is_required: true, is_repeated: false, has_bracketed_placeholders }, &mut found);
    found.dedup_by(|next, before| {
        before.is_repeated |= next.name == before.name;
        next.name == before.name
    });
    found
}

/// How often a group in brackets may occur.
#[derive(Clone, Copy)]
struct Occurrence {
    is_required: bool,
    is_repeated: bool,
    /// Whether placeholders stand in `<…>`.
    has_bracketed_placeholders: bool,
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
        match strip_bracket(bare) {
            Some((_, inner)) if inner.trim_start().starts_with('-') => {}
            Some(('<', inner)) if !skipped => found.extend(positional(inner, own)),
            Some((open @ ('[' | '('), inner)) => {
                let is_required = own.is_required && open == '(';
                let groups = split_groups(inner.trim());
                // What follows an optional word belongs to it.
                if own.has_bracketed_placeholders && groups.first().is_some_and(|first| is_literal(first)) {
                    continue;
                }
                collect(groups.iter().map(String::as_str), Occurrence { is_required, ..own }, found);
            }
            None if !(skipped || own.has_bracketed_placeholders && is_literal(bare)) => {
                found.extend(positional(bare, own))
            }
            _ => {}
        }
    }
}

/// What stands in a bracket around a whole group, and the bracket.
fn strip_bracket(group: &str) -> Option<(char, &str)> {
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
    for character in text.chars() {
        depth = match character {
            '[' | '<' | '{' | '(' => depth + 1,
            ']' | '>' | '}' | ')' => depth.saturating_sub(1),
            _ => depth,
        };
        match character {
            ' ' if depth == 0 => groups.push(String::new()),
            _ => groups.last_mut().into_iter().for_each(|group| group.push(character)),
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
    let Occurrence { is_required, is_repeated, .. } = occurrence;
    (is_word && is_own).then_some(Positional { name, is_required, is_repeated })
}
