//! Reads a command of bash as a list of simple commands; what is more than that is not understood.

use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

/// Where the marker of a value is, and whether the value is several words if the command does not quote it.
#[derive(Debug, Clone)]
pub(super) struct ValueMarker {
    pub(super) range: Range<usize>,
    /// The variable with the value.
    pub(super) name: String,
    pub(super) is_split_into_words: bool,
}

/// A program with its arguments.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<Word>,
    /// Whether it reads what the command before it prints.
    pub(super) is_piped: bool,
}

/// A word without its quotes.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// What is written before the first value or variable.
    pub(super) prefix: String,
    /// What is written, without values, and with `${NAME}` for each variable.
    pub(super) text: String,
    /// Whether a variable of the environment is in it.
    pub(super) has_variable: bool,
    pub(super) values: Vec<WordValue>,
}

/// A value in a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordValue {
    pub(super) name: String,
    /// Whether it is split in words.
    pub(super) is_split_into_words: bool,
    /// Whether an argument may begin with it.
    pub(super) is_leading: bool,
}

impl Word {
    /// What is written, if it is all that the word is.
    pub(super) fn literal(&self) -> Option<&str> {
        (self.values.is_empty() && !self.has_variable).then_some(self.text.as_str())
    }

    pub(super) fn is_split(&self) -> bool {
        self.values.iter().any(|value| value.is_split_into_words)
    }

    fn push(&mut self, character: char) {
        if self.values.is_empty() && !self.has_variable {
            self.prefix.push(character);
        }
        self.text.push(character);
    }

    fn push_value(&mut self, marker: &ValueMarker, is_quoted: bool) {
        let (is_split_into_words, is_first) =
            (marker.is_split_into_words && !is_quoted, self.text.is_empty() || self.has_variable);
        self.values.push(WordValue {
            name: marker.name.clone(),
            is_split_into_words,
            is_leading: is_split_into_words || is_first,
        });
    }
}

/// The simple commands of a script, which `|`, `&&`, `||`, `;` and line breaks join. None if the script has anything else.
pub(super) fn simple_commands(command: &str, markers: &[ValueMarker]) -> Option<Vec<SimpleCommand>> {
    let letters = command.char_indices().peekable();
    let mut reader = ShellParser {
        command,
        markers: markers.iter().peekable(),
        letters,
        commands: Vec::new(),
        current: SimpleCommand::default(),
    };
    while let Some((at, character)) = reader.letters.peek().copied() {
        match character {
            ' ' | '\t' => reader.skip(1),
            '#' => while reader.letters.next_if(|(_, character)| *character != '\n').is_some() {},
            '\n' | ';' | '|' | '&' => reader.operator(at)?,
            _ => reader.argument(at)?,
        }
    }
    reader.end_command(false);
    Some(reader.commands)
}

/// Redirections that neither read nor write a file.
const REDIRECTIONS: &[&str] =
    &["2>&1", "1>&2", ">&2", "2>/dev/null", "2> /dev/null", "&>/dev/null", ">/dev/null", "> /dev/null"];

struct ShellParser<'c> {
    command: &'c str,
    markers: Peekable<std::slice::Iter<'c, ValueMarker>>,
    letters: Peekable<CharIndices<'c>>,
    commands: Vec<SimpleCommand>,
    current: SimpleCommand,
}

impl ShellParser<'_> {
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.letters.next();
        }
    }

    fn rest(&self, at: usize) -> &str {
        self.command.get(at..).unwrap_or_default()
    }

    fn end_command(&mut self, is_pipe: bool) {
        let ended = std::mem::take(&mut self.current);
        // A line break may follow a `|`.
        self.current.is_piped = is_pipe || ended.words.is_empty() && ended.is_piped;
        if !ended.words.is_empty() {
            self.commands.push(ended);
        }
    }

    fn operator(&mut self, at: usize) -> Option<()> {
        if self.redirection(at).is_some() {
            return Some(());
        }
        let rest = self.rest(at);
        let (length, is_pipe) = match rest {
            _ if rest.starts_with("&&") || rest.starts_with("||") => (2, false),
            _ if rest.starts_with('&') => return None,
            _ => (1, rest.starts_with('|')),
        };
        self.skip(length);
        self.end_command(is_pipe);
        Some(())
    }

    fn redirection(&mut self, at: usize) -> Option<()> {
        let rest = self.rest(at);
        let length = REDIRECTIONS.iter().find_map(|redirection| {
            let after = rest.strip_prefix(redirection)?;
            let ends = after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '|']);
            ends.then_some(redirection.len())
        })?;
        self.skip(length);
        Some(())
    }

    fn argument(&mut self, at: usize) -> Option<()> {
        if self.redirection(at).is_some() {
            return Some(());
        }
        let mut word = Word::default();
        while let Some((at, character)) = self.letters.peek().copied() {
            if self.value(at, &mut word, false) {
                continue;
            }
            match character {
                ' ' | '\t' | '\n' | ';' | '|' | '&' => break,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '$' => self.variable(at, &mut word)?,
                '`' | '\\' | '<' | '>' | '(' | ')' | '{' | '}' | '!' => return None,
                other if other.is_control() => return None,
                other => {
                    word.push(other);
                    self.skip(1);
                }
            }
        }
        self.current.words.push(word);
        Some(())
    }

    /// Takes the marker that begins at a place.
    fn value(&mut self, at: usize, word: &mut Word, is_quoted: bool) -> bool {
        while self.markers.next_if(|marker| marker.range.start < at).is_some() {}
        let Some(marker) = self.markers.next_if(|marker| marker.range.start == at) else { return false };
        word.push_value(marker, is_quoted);
        while self.letters.next_if(|(at, _)| *at < marker.range.end).is_some() {}
        true
    }

    fn single_quoted(&mut self, word: &mut Word) -> Option<()> {
        self.skip(1);
        loop {
            let (at, character) = *self.letters.peek()?;
            if self.value(at, word, true) {
                continue;
            }
            self.skip(1);
            match character {
                '\'' => return Some(()),
                other => word.push(other),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        self.skip(1);
        loop {
            let (at, character) = *self.letters.peek()?;
            if self.value(at, word, true) {
                continue;
            }
            match character {
                '$' => {
                    self.variable(at, word)?;
                    continue;
                }
                '`' => return None,
                '\\' if self.rest(at + 1).starts_with(['$', '`', '"', '\\', '\n']) => return None,
                _ => self.skip(1),
            }
            match character {
                '"' => return Some(()),
                other => word.push(other),
            }
        }
    }

    /// `$NAME` or `${NAME}` in capital letters, as variables of the environment are, or a `$` that is a letter.
    fn variable(&mut self, at: usize, word: &mut Word) -> Option<()> {
        let rest = self.rest(at + 1);
        let is_braced = rest.starts_with('{');
        let named = rest.strip_prefix('{').unwrap_or(rest);
        let is_in_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let name = named.split(|character| !is_in_name(character)).next().unwrap_or_default().to_owned();
        if !is_braced && (rest.is_empty() || rest.starts_with([' ', '\n', '|'])) {
            word.push('$');
            self.skip(1);
            return Some(());
        }
        let is_closed = !is_braced || named.get(name.len()..)?.starts_with('}');
        let is_capital =
            |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_';
        if !is_closed
            || !name.starts_with(|character: char| character.is_ascii_uppercase())
            || !name.chars().all(is_capital)
        {
            return None;
        }
        word.text.push_str(&format!("${{{name}}}"));
        word.has_variable = true;
        self.skip(1 + name.len() + if is_braced { 2 } else { 0 });
        Some(())
    }
}
