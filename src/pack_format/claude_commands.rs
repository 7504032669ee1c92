//! `claude-commands`: the slash commands of Claude Code.

use std::collections::BTreeSet;

use super::front_matter::{Markdown, read_markdown};
use super::naming::{ArgumentNames, path_below};
use super::placeholders::{add_argument, continues_word, text_argument};
use super::prompt_actions::{ActionReader, CommandMarker, CommandText};
use super::template_text::{Piece, Replacement, ValueCollector, split, template_of};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat, PromptRights, ValueSource};
use crate::diagnostic::Report;
use crate::manifest::{Arguments, Prompt};
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// The argument with all that a user types.
const ARGUMENTS: &str = "arguments";
/// How many positions a command may have.
const MAX_POSITIONS: usize = 100;

/// `**/*.md`: named after the path below the last `commands/`.
pub(super) struct ClaudeCommands;

impl PackFormat for ClaudeCommands {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*.md"]
    }

    fn auto_globs(&self) -> &'static [&'static str] {
        &[
            "**/commands/**/*.md",
            "**/.opencode/command/**/*.md",
            "**/.codex/prompts/**/*.md",
            "**/.windsurf/workflows/**/*.md",
            "**/.agent/workflows/**/*.md",
        ]
    }

    fn auto_excludes(&self) -> &'static [&'static str] {
        &["**/.gemini/**"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        let mut read = |file: &ImportedFile| {
            let markdown = read_markdown(file, report)?;
            let name = command_name(&file.path, folder.name);
            Some(read_command(name, file, &markdown, folder.grants, report))
        };
        folder.files.iter().filter_map(&mut read).collect()
    }
}

/// The path of a command below its folder.
fn command_name(path: &str, pack: &str) -> String {
    let whole = format!("{pack}/{path}");
    let folders = [".opencode/command", ".codex/prompts", ".windsurf/workflows", ".agent/workflows"];
    let is_in = |folder: &&&str| whole.contains(&format!("{folder}/"));
    match folders.iter().find(is_in).filter(|_| !whole.contains("/commands/")) {
        Some(folder) => path_below(&whole, folder, ".md").to_owned(),
        None => path_below(path, "commands", ".md").to_owned(),
    }
}

/// The prompt of a command with this name.
pub(super) fn read_command(
    name: String,
    file: &ImportedFile,
    markdown: &Markdown<'_>,
    grants: PromptRights,
    report: &mut Report,
) -> ImportedPrompt {
    let (at, body) = (Location::start_of(file.id), markdown.body);
    let mut actions = ActionReader::new(file, Some(markdown.start), grants, report);
    let (mut positions, mut values) = (PositionalArguments::new(markdown), ValueCollector::default());
    let mut pieces = split(body, &['$', '!', '`', '@'], |start| {
        if let Some(command) = command_at(body, start) {
            let mut find = |at| positions.variable_at(command.text, at);
            return Some(actions.command(body, &command, &mut values, &mut find));
        }
        file_at(body, start, &mut positions, &mut values, &mut actions)
            .or_else(|| positions.placeholder_at(body, start, &mut values))
    });
    if !values.is_used {
        values.append(&mut pieces, "ARGUMENTS: ", all_arguments_sources());
    }
    // The positions that the file declares or uses.
    positions.used.extend(0..positions.names.len());
    let names: Vec<String> = positions.used.iter().map(|index| positions.name(*index)).collect();
    let prompt = Prompt {
        description: markdown.text("description"),
        arguments: arguments_of(markdown, &positions, &names, at),
        text: Some(Spanned::new(TextOrFile::Text(template_of(&pieces)), at)),
        ..Prompt::default()
    };
    actions.add_to(ImportedPrompt::new(name, at, prompt, values.into_values(&names)))
}

/// All that a user types, and the positions.
fn arguments_of(markdown: &Markdown<'_>, positions: &PositionalArguments, names: &[String], at: Location) -> Arguments {
    let hint = markdown.text("argument-hint");
    let words = hint.as_deref().and_then(hint_words).unwrap_or_default();
    // A hint for other positions than those of the text may mean anything.
    let is_contiguous = positions.used.last().is_none_or(|last| last + 1 == names.len());
    let is_for_positions = positions.names.is_empty() && words.len() == names.len() && is_contiguous;
    let mut words = words.into_iter().filter(|_| is_for_positions);
    let mut arguments = Arguments::new();
    add_argument(&mut arguments, at, ARGUMENTS, text_argument(hint, false));
    for name in names {
        add_argument(&mut arguments, at, name, text_argument(words.next(), false));
    }
    arguments
}

/// The words of a hint that is nothing but words in brackets: `[issue] <priority>`.
fn hint_words(hint: &str) -> Option<Vec<String>> {
    let (mut words, mut rest) = (Vec::new(), hint.trim());
    while !rest.is_empty() {
        let (close, inner) = match rest.strip_prefix('[') {
            Some(inner) => (']', inner),
            None => ('>', rest.strip_prefix('<')?),
        };
        let (word, behind) = inner.split_once(close).filter(|(word, _)| !word.contains(['[', '<']))?;
        words.push(word.trim().to_owned());
        rest = behind.trim_start();
    }
    words.iter().all(|word| !word.is_empty()).then_some(words)
}

/// How a file counts its arguments.
struct PositionalArguments {
    /// The names that the file declares, in order.
    names: Vec<String>,
    /// Those of their arguments.
    arguments: Vec<String>,
    /// Whether `$1` is an argument at all, and not money, or awk's.
    has_digits: bool,
    /// The number of the first one.
    first: usize,
    /// The positions of the markers.
    used: BTreeSet<usize>,
}

impl PositionalArguments {
    fn new(markdown: &Markdown<'_>) -> PositionalArguments {
        let mut names = markdown.words("arguments");
        names.truncate(MAX_POSITIONS);
        // `arguments: $QUERY` declares `QUERY`.
        names.iter_mut().for_each(|name| *name = name.trim_start_matches('$').to_owned());
        let has_index = markdown.body.match_indices("$ARGUMENTS[").any(|(at, _)| index_at(markdown.body, at).is_some());
        let has_digits =
            has_index || markdown.keys.contains_key("arguments") || markdown.keys.contains_key("argument-hint");
        let has_zero = || markdown.body.match_indices("$0").any(|(at, _)| digit_at(markdown.body, at).is_some());
        let from_zero = has_index || markdown.keys.contains_key("arguments") || has_zero();
        let mut unique = ArgumentNames::default();
        unique.claim(ARGUMENTS);
        let arguments = names.iter().map(|name| unique.claim(name)).collect();
        let first = usize::from(!from_zero);
        PositionalArguments { names, arguments, has_digits, first, used: BTreeSet::new() }
    }

    /// The marker at `start`, if one is there.
    fn placeholder_at(&mut self, body: &str, start: usize, values: &mut ValueCollector) -> Option<Replacement> {
        let (end, expression) = match self.position_at(body, start) {
            Some((index, end)) => {
                self.used.insert(index);
                (end, values.expression(self.sources(index), body.get(start..end)?.into()))
            }
            None => (all_arguments_at(body, start)?, values.expression(all_arguments_sources(), "".into())),
        };
        Some(Replacement { end, piece: Piece::Tag(expression) })
    }

    fn name(&self, index: usize) -> String {
        self.arguments.get(index).cloned().unwrap_or_else(|| format!("arg{}", index + 1))
    }

    /// The marker at `start` of a command.
    fn variable_at(&mut self, command: &str, start: usize) -> Option<CommandMarker> {
        if let Some((index, end)) = self.position_at(command, start) {
            self.used.insert(index);
            // Not the name that is declared, which may be that of a variable of the system.
            let variable = format!("arg{}", index + 1);
            return Some(CommandMarker { end, variable, sources: self.sources(index), is_split_into_words: false });
        }
        let (end, variable) = (all_arguments_at(command, start)?, ARGUMENTS.to_owned());
        Some(CommandMarker { end, variable, sources: all_arguments_sources(), is_split_into_words: true })
    }

    /// Where the value of a position comes from.
    fn sources(&self, index: usize) -> Vec<ValueSource> {
        let word = ValueSource::Word { argument: ARGUMENTS.to_owned(), index };
        vec![ValueSource::Argument(self.name(index)), word]
    }

    /// The position that is named at `start`, counted from 0, and where its marker ends.
    fn position_at(&self, body: &str, start: usize) -> Option<(usize, usize)> {
        let digit = || {
            let (number, end) = digit_at(body, start).filter(|_| self.has_digits)?;
            Some((number.checked_sub(self.first)?, end))
        };
        index_at(body, start).or_else(digit).or_else(|| self.name_at(body, start))
    }

    /// The declared name at `start`.
    fn name_at(&self, body: &str, start: usize) -> Option<(usize, usize)> {
        let rest = body.get(start..)?.strip_prefix('$')?;
        let named = self.names.iter().enumerate().find_map(|(index, name)| {
            let after = rest.strip_prefix(name.as_str()).filter(|after| !continues_word(after))?;
            Some((index, body.len() - after.len()))
        });
        named.filter(|(_, end)| *end > start + 1)
    }
}

/// `$ARGUMENTS[N]` at `start`: the number, and where it ends.
fn index_at(body: &str, start: usize) -> Option<(usize, usize)> {
    let rest = body.get(start..)?.strip_prefix("$ARGUMENTS[")?;
    let (digits, rest) = rest.split_at_checked(rest.bytes().take_while(u8::is_ascii_digit).count())?;
    let after = rest.strip_prefix(']')?;
    let number: usize = digits.parse().ok().filter(|number| *number < MAX_POSITIONS)?;
    Some((number, body.len() - after.len()))
}

/// `$N` with one digit at `start`: the number, and where it ends. `$1,500` is an amount.
fn digit_at(body: &str, start: usize) -> Option<(usize, usize)> {
    let rest = body.get(start..)?.strip_prefix('$')?;
    let number = rest.chars().next()?.to_digit(10)?;
    let after = rest.get(1..)?;
    let is_amount =
        after.strip_prefix([',', '.']).is_some_and(|more| more.starts_with(|next: char| next.is_ascii_digit()));
    let is_position = !continues_word(after) && !is_amount;
    is_position.then(|| (usize::try_from(number).unwrap_or_default(), body.len() - after.len()))
}

/// `$ARGUMENTS` at `start`: where it ends.
fn all_arguments_at(body: &str, start: usize) -> Option<usize> {
    let rest = body.get(start..)?.strip_prefix("$ARGUMENTS").filter(|rest| !continues_word(rest))?;
    Some(body.len() - rest.len())
}

/// All that a user types, or else the positions.
fn all_arguments_sources() -> Vec<ValueSource> {
    vec![ValueSource::Argument(ARGUMENTS.to_owned()), ValueSource::JoinedArguments(Vec::new())]
}

/// The command that begins at `start`: `` !`cmd` ``, or a block that is fenced by ```` ```! ````.
fn command_at(body: &str, start: usize) -> Option<CommandText<'_>> {
    let rest = body.get(start..)?;
    if let Some(block) = rest.strip_prefix("```!") {
        let length = block.find("\n```");
        let end = length.map_or(body.len(), |length| start + 4 + length + 4);
        let text = block.get(..length.unwrap_or(block.len()))?;
        return Some(CommandText { text, start, end, has_markers_in_single_quotes: false });
    }
    let is_apart = body.get(..start)?.chars().next_back().is_none_or(char::is_whitespace);
    let command = rest.strip_prefix("!`").filter(|_| is_apart)?;
    let length =
        command.find(['`', '\n']).filter(|length| command.get(*length..).is_some_and(|end| end.starts_with('`')))?;
    let end = start + 2 + length + 1;
    Some(CommandText { text: command.get(..length)?, start, end, has_markers_in_single_quotes: false })
}

/// The file that `@path` at `start` names, if it may be read.
fn file_at(
    body: &str,
    start: usize,
    positions: &mut PositionalArguments,
    values: &mut ValueCollector,
    actions: &mut ActionReader<'_>,
) -> Option<Replacement> {
    let is_apart = body.get(..start)?.chars().next_back().is_none_or(char::is_whitespace);
    let rest = body.get(start..)?.strip_prefix('@').filter(|_| is_apart)?;
    let path = rest.split(|character: char| character.is_whitespace() || character == '`').next()?;
    let path = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '*', '>']);
    let at = start..start + 1 + path.len();
    if path.is_empty() || !actions.may_read(path, &at) {
        return None;
    }
    let pieces = split(path, &['$'], |at| positions.placeholder_at(path, at, values));
    let otherwise: Vec<Piece> = [Piece::Text("@".to_owned())].into_iter().chain(pieces.iter().cloned()).collect();
    Some(actions.file(path, at, &pieces, &otherwise))
}
