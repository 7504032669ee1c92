//! Commands and files in the text of a prompt: done with a right, else left untouched and listed.

use super::markers::PlaceholderMatch;
use super::prompt::{ActionValue, ForeignAction, ForeignText, TextPiece, ValueSource};
use super::{ForeignFile, PackRights};
use crate::diagnostic::{Code, Report, Span};
use crate::yaml::Location;

/// The longest text of a command in a message.
const MAX_SHOWN_CHARS: usize = 60;

/// What the actions of one prompt need, as it is read.
pub(super) struct ActionReader<'r> {
    rights: PackRights,
    file: &'r ForeignFile,
    /// Where the text begins in its file, if it stands there as it is.
    body_start: Option<usize>,
    report: &'r mut Report,
    actions: Vec<ForeignAction>,
    variables: Vec<ActionValue>,
}

/// A value in a command: where its marker ends, and which environment variable has it.
pub(super) struct CommandMarker {
    pub(super) end: usize,
    pub(super) variable: ActionValue,
    /// Whether the value is several words, where the command does not quote it.
    pub(super) is_words: bool,
}

/// A command in a text: its own text, and the whole with its marks.
pub(super) struct WrittenCommand<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'r> ActionReader<'r> {
    pub(super) fn new(
        file: &'r ForeignFile,
        body_start: Option<usize>,
        rights: PackRights,
        report: &'r mut Report,
    ) -> ActionReader<'r> {
        ActionReader { rights, file, body_start, report, actions: Vec::new(), variables: Vec::new() }
    }

    /// The place of the prompt.
    pub(super) fn file_start(&self) -> Location {
        Location::start_of(self.file.id)
    }

    /// The piece for a command of `body`. `find` knows the markers in the text of the command; `in_single` says whether they
    /// are markers within single quotes too.
    pub(super) fn command(
        &mut self,
        body: &str,
        written: &WrittenCommand<'_>,
        (in_single, find): (bool, &mut dyn FnMut(usize) -> Option<CommandMarker>),
    ) -> PlaceholderMatch {
        if !self.rights.scripts {
            let shown: String = written.text.trim().chars().take(MAX_SHOWN_CHARS).collect();
            let message = format!("command `{}` not run: missing grant `script`", shown.replace('\n', " "));
            self.note(written.start..written.end, written.text, (message, "script"));
            return PlaceholderMatch::literal(body, written.start, written.end);
        }
        let variables = &mut self.variables;
        let script = shell_script(written.text, in_single, &mut |at| {
            let marker = find(at)?;
            if !variables.contains(&marker.variable) {
                variables.push(marker.variable.clone());
            }
            Some(marker)
        });
        let action = self.actions.len();
        self.actions.push(ForeignAction::Script(script));
        PlaceholderMatch { end: written.end, piece: TextPiece::Outcome { action, absent: Vec::new() } }
    }

    /// Whether files are read. If not, `path` is listed, which stands at these places.
    pub(super) fn may_read(&mut self, path: &str, at: std::ops::Range<usize>) -> bool {
        if !self.rights.reads && (path.contains(['/', '.'])) {
            self.note(at, path, (format!("file `{path}` not read: missing grant `read`"), "read"));
        }
        self.rights.reads
    }

    /// The piece for a file with this path; without the file, `absent` stands there.
    pub(super) fn file(&mut self, path: Vec<TextPiece>, absent: Vec<TextPiece>) -> TextPiece {
        self.actions.push(ForeignAction::Read(path));
        TextPiece::Outcome { action: self.actions.len() - 1, absent }
    }

    /// Adds what was read to the text.
    pub(super) fn finish(self, text: ForeignText) -> ForeignText {
        ForeignText { actions: self.actions, variables: self.variables, ..text }
    }

    /// Lists what is not done. A text that does not stand in its file as it is may still be found there.
    fn note(&mut self, at: std::ops::Range<usize>, text: &str, (message, grant): (String, &str)) {
        let found = || self.file.text.find(text).map(|start| Span::new(self.file.id, start, start + text.len()));
        let place = match self.body_start {
            Some(start) => Span::new(self.file.id, start + at.start, start + at.end),
            None => found().unwrap_or(Span::start_of(self.file.id)),
        };
        let help = match self.rights.is_withheld {
            true => "`folio trust` shows what the pack would do, and asks".to_owned(),
            false => format!("add `allow: [{grant}]` where the pack is imported"),
        };
        self.report.note(Code::NotGranted, place, message).help(help);
    }
}

impl ActionValue {
    /// The variable with the value of an argument, under its name.
    pub(super) fn of_argument(name: &str) -> ActionValue {
        ActionValue { name: name.to_owned(), sources: vec![ValueSource::Argument(name.to_owned())] }
    }
}

/// How a place in a command is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// A command with a variable of the shell in the place of each marker. A shell expands it after it has parsed the command,
/// so that no value becomes code.
fn shell_script(command: &str, in_single: bool, find: &mut dyn FnMut(usize) -> Option<CommandMarker>) -> String {
    let mut script = String::with_capacity(command.len());
    let mut quotes = Quotes::None;
    let mut letters = command.char_indices();
    let mut done = 0;
    while let Some((at, letter)) = letters.next() {
        if at < done {
            continue;
        }
        let marker = if quotes == Quotes::Single && !in_single { None } else { find(at) };
        if let Some(marker) = marker {
            script.push_str(&reference(&marker, quotes));
            done = marker.end;
            continue;
        }
        script.push(letter);
        quotes = match (quotes, letter) {
            (Quotes::None, '\'') => Quotes::Single,
            (Quotes::None, '"') => Quotes::Double,
            (Quotes::Single, '\'') | (Quotes::Double, '"') => Quotes::None,
            (Quotes::None | Quotes::Double, '\\') => {
                script.extend(letters.next().map(|(_, escaped)| escaped));
                quotes
            }
            (quotes, _) => quotes,
        };
    }
    script
}

/// A variable of the shell, as it must be written at a place.
fn reference(marker: &CommandMarker, quotes: Quotes) -> String {
    let name = &marker.variable.name;
    match quotes {
        Quotes::None if marker.is_words => format!("${{{name}}}"),
        Quotes::None => format!("\"${{{name}}}\""),
        Quotes::Double => format!("${{{name}}}"),
        Quotes::Single => format!("'\"${{{name}}}\"'"),
    }
}

#[cfg(test)]
mod tests {
    use super::{ActionValue, CommandMarker, shell_script};

    #[test]
    fn markers_become_variables_of_the_shell() {
        for (command, in_single, script) in [
            ("git log % x", false, "git log \"${args}\" x"),
            ("git log \"a % b\"", false, "git log \"a ${args} b\""),
            ("awk '{print %}' %", false, "awk '{print %}' \"${args}\""),
            ("grep 'a%'", true, "grep 'a'\"${args}\"''"),
            ("echo \\% \\\" %", false, "echo \\% \\\" \"${args}\""),
            ("echo \"it's %\" '\"' %", false, "echo \"it's ${args}\" '\"' \"${args}\""),
        ] {
            let mut find = |at: usize| {
                let is_marker = command.as_bytes().get(at) == Some(&b'%');
                is_marker.then(|| CommandMarker {
                    end: at + 1,
                    variable: ActionValue::of_argument("args"),
                    is_words: false,
                })
            };
            assert_eq!(shell_script(command, in_single, &mut find), script);
        }
    }
}
