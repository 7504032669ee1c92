//! Commands and files in the text of a prompt: run or read if the pack may do so, otherwise left as text and listed.

use super::command_risk::guarded_values;
use super::placeholders::PlaceholderMatch;
use super::prompt::{ActionValue, ForeignAction, ForeignText, TextPiece, ValueSource};
use super::shell_commands::{ValueMarker, WordValue};
use super::shell_context::{ShellContext, shell_contexts};
use super::{ForeignFile, PromptRights};
use crate::diagnostic::{Code, Report, Span};
use crate::yaml::Location;

/// How many commands and files a prompt may have.
const MAX_ACTIONS: usize = 100;

/// The longest text of a command in a message.
const MAX_SHOWN_CHARS: usize = 60;

/// What the actions of one prompt need, as it is read.
pub(super) struct ActionReader<'r> {
    grants: PromptRights,
    file: &'r ForeignFile,
    /// Where the text begins in its file, if it stands there as it is.
    body_start: Option<usize>,
    report: &'r mut Report,
    actions: Vec<ForeignAction>,
    spans: Vec<Span>,
    /// How many commands and files the text has so far.
    action_count: usize,
    variables: Vec<ActionValue>,
}

/// A value in a command: where its marker ends, and which environment variable has it.
pub(super) struct CommandMarker {
    pub(super) end: usize,
    pub(super) variable: ActionValue,
    /// Whether the value is several words, where the command does not quote it.
    pub(super) is_split_into_words: bool,
}

/// A command in a text: its own text, and the whole with its marks.
pub(super) struct CommandText<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether markers count within single quotes too.
    pub(super) has_markers_in_single_quotes: bool,
}

impl<'r> ActionReader<'r> {
    pub(super) fn new(
        file: &'r ForeignFile,
        body_start: Option<usize>,
        grants: PromptRights,
        report: &'r mut Report,
    ) -> ActionReader<'r> {
        ActionReader {
            grants,
            file,
            body_start,
            report,
            actions: Vec::new(),
            spans: Vec::new(),
            action_count: 0,
            variables: Vec::new(),
        }
    }

    /// The place of the prompt.
    pub(super) fn file_start(&self) -> Location {
        Location::start_of(self.file.id)
    }

    /// The piece for a command of `body`. `find` knows the markers in the text of the command.
    pub(super) fn command(
        &mut self,
        body: &str,
        written: &CommandText<'_>,
        find: &mut dyn FnMut(usize) -> Option<CommandMarker>,
    ) -> PlaceholderMatch {
        if !self.admits_another() {
            return PlaceholderMatch::literal(body, written.start, written.end);
        }
        if !self.grants.may_run_scripts && !self.grants.is_withheld {
            self.report_not_run(written, true);
            return PlaceholderMatch::literal(body, written.start, written.end);
        }
        let (mut variables, mut placeholders) = (Vec::new(), Vec::new());
        let mut script = shell_script(written.text, written.has_markers_in_single_quotes, &mut |at| {
            let marker = find(at)?;
            variables.push(marker.variable.clone());
            let name = marker.variable.name.clone();
            placeholders.push(ValueMarker {
                range: at..marker.end,
                name,
                is_split_into_words: marker.is_split_into_words,
            });
            Some(marker)
        });
        let guarded = match placeholders.is_empty() {
            true => Some(Vec::new()),
            false => guarded_values(written.text, &placeholders),
        };
        let is_safe = guarded.is_some();
        let Some(guarded) = guarded.filter(|_| self.grants.may_run_scripts) else {
            self.report_not_run(written, is_safe);
            return PlaceholderMatch::literal(body, written.start, written.end);
        };
        script = split_values(&placeholders) + &guards(&guarded) + &script;
        for variable in variables {
            if !self.variables.contains(&variable) {
                self.variables.push(variable);
            }
        }
        let action = self.actions.len();
        self.actions.push(ForeignAction::Script(script));
        self.spans.push(self.span_of(written.start..written.end, written.text));
        PlaceholderMatch { end: written.end, piece: TextPiece::Outcome { action, fallback: Vec::new() } }
    }

    /// Whether the prompt may have one more command or file.
    fn admits_another(&mut self) -> bool {
        self.action_count += 1;
        if self.action_count == MAX_ACTIONS + 1 {
            let message = format!("more than {MAX_ACTIONS} commands and files: the others stay as text");
            self.report.warning(Code::TooLarge, Span::start_of(self.file.id), message);
        }
        self.action_count <= MAX_ACTIONS
    }

    /// Whether files are read. If not, `path` is listed, which stands at these places.
    pub(super) fn may_read(&mut self, path: &str, at: std::ops::Range<usize>) -> bool {
        if !self.admits_another() {
            return false;
        }
        if self.grants.may_read_files {
            self.spans.push(self.span_of(at, path));
        } else if path.contains(['/', '.']) {
            self.note(self.span_of(at, path), format!("file `{path}` not read: missing grant `read`"), "read");
        }
        self.grants.may_read_files
    }

    /// The piece for a file with this path; without the file, `fallback` stands there.
    pub(super) fn file(&mut self, path: Vec<TextPiece>, fallback: Vec<TextPiece>) -> TextPiece {
        self.actions.push(ForeignAction::Read(path));
        TextPiece::Outcome { action: self.actions.len() - 1, fallback }
    }

    /// Adds what was read to the text.
    pub(super) fn finish(self, text: ForeignText) -> ForeignText {
        ForeignText {
            actions: self.actions,
            action_spans: self.spans,
            variables: self.variables,
            names_actions: self.action_count > 0,
            ..text
        }
    }

    /// Reports a command that is not run, as a value could be read as code.
    /// Says why a command stays as text: it would read a value as code, also with the grant, or lacks that.
    fn report_not_run(&mut self, written: &CommandText<'_>, is_safe: bool) {
        let place = self.span_of(written.start..written.end, written.text);
        let command = shown_command(written.text);
        if is_safe {
            self.note(place, format!("command `{command}` not run: missing grant `script`"), "script");
            return;
        }
        let message = format!("command `{command}` not run: it may read a value as code");
        self.report
            .warning(Code::Unsafe, place, message)
            .help("write it as a `script` of a folder with a `folio.yaml`");
    }

    /// The place of a part of the text. One that does not stand in its file as it is may still be found there.
    fn span_of(&self, at: std::ops::Range<usize>, text: &str) -> Span {
        let found = || self.file.text.find(text).map(|start| Span::new(self.file.id, start, start + text.len()));
        match self.body_start {
            Some(start) => Span::new(self.file.id, start + at.start, start + at.end),
            None => found().unwrap_or(Span::start_of(self.file.id)),
        }
    }

    /// Lists what is not done.
    fn note(&mut self, span: Span, message: String, grant: &str) {
        let help = match self.grants.is_withheld {
            true => "`folio trust` shows what the pack would do, and asks".to_owned(),
            false => format!("add `allow: [{grant}]` where the pack is imported"),
        };
        self.report.note(Code::NotGranted, span, message).help(help);
    }
}

impl ActionValue {
    /// The variable with the value of an argument, under its name.
    pub(super) fn from_argument(name: &str) -> ActionValue {
        ActionValue { name: name.to_owned(), sources: vec![ValueSource::Argument(name.to_owned())] }
    }
}

/// The beginning of a command, for messages.
fn shown_command(text: &str) -> String {
    let shown: String = text.trim().chars().take(MAX_SHOWN_CHARS).collect();
    shown.replace('\n', " ")
}

/// A command with a variable of the shell in the place of each marker. A shell expands it after it has parsed the command,
/// so that no value becomes code.
fn shell_script(command: &str, in_single_quotes: bool, find: &mut dyn FnMut(usize) -> Option<CommandMarker>) -> String {
    let mut script = String::with_capacity(command.len());
    let mut done = 0;
    for (at, character, context) in shell_contexts(command) {
        if at < done {
            continue;
        }
        let may_find = match context {
            ShellContext::Plain | ShellContext::DoubleQuoted => true,
            ShellContext::SingleQuoted => in_single_quotes,
            ShellContext::Escaped | ShellContext::Comment => false,
        };
        let Some(marker) = may_find.then(|| find(at)).flatten() else {
            script.push(character);
            continue;
        };
        script.push_str(&reference(&marker, context));
        done = marker.end;
    }
    script
}

/// What splits the values that are several words, and takes none of them as a glob.
fn split_values(placeholders: &[ValueMarker]) -> String {
    let mut names: Vec<&str> =
        placeholders.iter().filter(|place| place.is_split_into_words).map(|place| place.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().map(|name| format!("set -f; {name}_words=(${{{name}}}); set +f\n")).collect()
}

/// What fails if one of these values begins with `-`, so that the program could read it as an option.
fn guards(guarded: &[WordValue]) -> String {
    let mut lines = Vec::new();
    for WordValue { name, is_split_into_words, .. } in guarded {
        let value = if *is_split_into_words { format!("{name}_words[@]") } else { name.clone() };
        let line = format!(
            "for {name}_word in \"${{{value}}}\"; do case \"${{{name}_word}}\" in -*) \
             echo 'a value begins with `-`: it could be an option' >&2; exit 2;; esac; done\n"
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// A variable of the shell, as it must be written at a place.
fn reference(marker: &CommandMarker, context: ShellContext) -> String {
    let name = &marker.variable.name;
    match context {
        ShellContext::DoubleQuoted => format!("${{{name}}}"),
        ShellContext::SingleQuoted => format!("'\"${{{name}}}\"'"),
        _ if marker.is_split_into_words => format!("\"${{{name}_words[@]}}\""),
        _ => format!("\"${{{name}}}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::{ActionValue, CommandMarker, shell_script};

    #[test]
    fn markers_become_variables_of_the_shell() {
        for (command, in_single_quotes, script) in [
            ("git log % x", false, "git log \"${args}\" x"),
            ("git log \"a % b\"", false, "git log \"a ${args} b\""),
            ("awk '{print %}' %", false, "awk '{print %}' \"${args}\""),
            ("grep 'a%'", true, "grep 'a'\"${args}\"''"),
            ("# don't %\necho %", false, "# don't %\necho \"${args}\""),
            ("echo \\% \\\" %", false, "echo \\% \\\" \"${args}\""),
            ("echo \"it's %\" '\"' %", false, "echo \"it's ${args}\" '\"' \"${args}\""),
        ] {
            let mut find = |at: usize| {
                let is_marker = command.as_bytes().get(at) == Some(&b'%');
                is_marker.then(|| CommandMarker {
                    end: at + 1,
                    variable: ActionValue::from_argument("args"),
                    is_split_into_words: false,
                })
            };
            assert_eq!(shell_script(command, in_single_quotes, &mut find), script);
        }
    }
}
