//! `claude-commands`: the slash commands of Claude Code.

use super::front_matter::{Markdown, read_markdown};
use super::markers::{FoundArguments, Marker, continues_word, split};
use super::naming::{argument_name, path_below};
use super::{ForeignArgument, ForeignBody, ForeignPrompt, PackFile, PackFolder, PackFormat, TextPiece, ValueSource};
use crate::diagnostic::Report;
use crate::yaml::Location;

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
        &["**/commands/**/*.md"]
    }

    fn auto_excludes(&self) -> &'static [&'static str] {
        &["**/.gemini/**"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ForeignPrompt> {
        let name = |file: &PackFile| path_below(&file.path, "commands", ".md").to_owned();
        folder.files.iter().filter_map(|file| read_command(file, &read_markdown(file, report)?, name(file))).collect()
    }
}

/// The prompt of a command with this name.
pub(super) fn read_command(file: &PackFile, markdown: &Markdown<'_>, name: String) -> Option<ForeignPrompt> {
    let positions = Positions::of(markdown);
    let mut used = Vec::new();
    let mut text = split(markdown.body, &['$', '!', '`'], |start| {
        let command = command_end(markdown.body, start).map(|end| Marker::untouched(markdown.body, start, end));
        command.or_else(|| positions.marker_at(markdown.body, start, &mut used))
    });
    let used = if positions.names.is_empty() { used } else { (0..positions.names.len()).chain(used).collect() };
    let names: Vec<String> = sorted(used).into_iter().map(|index| positions.name(index)).collect();
    name_positions(&mut text.pieces, &names);
    if !text.has_values() {
        text.pieces.push(TextPiece::Appended { label: "ARGUMENTS: ".to_owned(), argument: ARGUMENTS.to_owned() });
    }
    let whole = ForeignArgument { description: markdown.text("argument-hint"), ..ForeignArgument::optional(ARGUMENTS) };
    let mut arguments = FoundArguments::default();
    arguments.add(whole);
    names.into_iter().for_each(|name| arguments.add(ForeignArgument::optional(name)));
    Some(ForeignPrompt {
        name,
        title: None,
        description: markdown.text("description"),
        arguments: arguments.into_list(),
        body: ForeignBody::Text(text),
        at: Location::start_of(file.id),
    })
}

fn sorted(mut positions: Vec<usize>) -> Vec<usize> {
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// Tells `$ARGUMENTS` the names of all positions.
fn name_positions(pieces: &mut [TextPiece], names: &[String]) {
    for piece in pieces {
        if let TextPiece::Value { sources, .. } = piece {
            for source in sources {
                if let ValueSource::Joined(joined) = source {
                    *joined = names.to_vec();
                }
            }
        }
    }
}

/// How a file counts its arguments.
struct Positions {
    /// The names that the file declares, in order.
    names: Vec<String>,
    /// Whether `$1` is an argument at all, and not money, or awk's.
    has_digits: bool,
    /// The number of the first one.
    first: usize,
}

impl Positions {
    fn of(markdown: &Markdown<'_>) -> Positions {
        let mut names = markdown.words("arguments");
        names.truncate(MAX_POSITIONS);
        let has_index = markdown.body.match_indices("$ARGUMENTS[").any(|(at, _)| index_at(markdown.body, at).is_some());
        let has_digits =
            has_index || markdown.keys.contains_key("arguments") || markdown.keys.contains_key("argument-hint");
        let has_zero = || markdown.body.match_indices("$0").any(|(at, _)| digit_at(markdown.body, at).is_some());
        let from_zero = has_index || markdown.keys.contains_key("arguments") || has_zero();
        Positions { names, has_digits, first: usize::from(!from_zero) }
    }

    fn name(&self, index: usize) -> String {
        self.names.get(index).map_or_else(|| format!("arg{}", index + 1), |name| argument_name(name))
    }

    /// The marker at `start`, if one is there. The positions that are used are added to `used`.
    fn marker_at(&self, body: &str, start: usize, used: &mut Vec<usize>) -> Option<Marker> {
        if let Some((index, end)) = self.position_at(body, start) {
            used.push(index);
            let word = ValueSource::Word { argument: ARGUMENTS.to_owned(), index };
            let sources = vec![ValueSource::Argument(self.name(index)), word];
            let absent = body.get(start..end)?.to_owned();
            return Some(Marker { end, piece: TextPiece::Value { sources, absent } });
        }
        let rest = body.get(start..)?.strip_prefix("$ARGUMENTS").filter(|rest| !continues_word(rest))?;
        let sources = vec![ValueSource::Argument(ARGUMENTS.to_owned()), ValueSource::Joined(Vec::new())];
        Some(Marker { end: body.len() - rest.len(), piece: TextPiece::Value { sources, absent: String::new() } })
    }

    /// The position that is named at `start`, counted from 0, and where its marker ends.
    fn position_at(&self, body: &str, start: usize) -> Option<(usize, usize)> {
        let digit = || {
            let (number, end) = digit_at(body, start).filter(|_| self.has_digits)?;
            Some((number.checked_sub(self.first)?, end))
        };
        index_at(body, start).or_else(digit).or_else(|| self.name_at(body, start))
    }

    /// The declared name that stands at `start`.
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

/// Where a command that begins at `start` ends: `` !`cmd` ``, or a block that is fenced by ```` ```! ````.
fn command_end(body: &str, start: usize) -> Option<usize> {
    let rest = body.get(start..)?;
    if let Some(block) = rest.strip_prefix("```!") {
        let end = block.find("\n```").map_or(body.len(), |length| start + 4 + length + 4);
        return Some(end);
    }
    let is_apart = body.get(..start)?.chars().next_back().is_none_or(char::is_whitespace);
    let command = rest.strip_prefix("!`").filter(|_| is_apart)?;
    let length =
        command.find(['`', '\n']).filter(|length| command.get(*length..).is_some_and(|end| end.starts_with('`')))?;
    Some(start + 2 + length + 1)
}
