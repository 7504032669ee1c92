//! Commands and files in the text of a prompt: run or read if the pack may do so, otherwise left as text and listed.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::command_risk::guarded_values;
use super::prompt::{ImportedAction, ImportedPrompt, ImportedUse, ValueSource};
use super::shell_commands::{ValueMarker, WordValue};
use super::shell_context::{ShellContext, shell_contexts};
use super::template_text::{Piece, Replacement, ValueCollector, shown_text, template_of};
use super::{ImportedFile, PromptRights};
use crate::action::ImportedRunBuilder;
use crate::diagnostic::{Code, Report, Span};
use crate::files::mime_by_name;
use crate::yaml::{Location, Spanned};

/// The name of the folder below which prompts of other programs read files.
pub const IMPORTED_WORKSPACE: &str = "workspace";
/// The template of its path.
pub const WORKSPACE_TEMPLATE: &str = "{{workspace}}";

/// How many commands and files a prompt may have.
const MAX_ACTIONS: usize = 100;

/// The longest text of a command in a message.
const MAX_SHOWN_CHARS: usize = 60;

/// What one prompt does, as it is read.
pub(super) struct ActionReader<'r> {
    grants: PromptRights,
    file: &'r ImportedFile,
    /// Where the text begins in its file, if it is there unchanged.
    body_start: Option<usize>,
    report: &'r mut Report,
    steps: ImportedRunBuilder,
    uses: Vec<ImportedUse>,
    /// How many commands and files the text has so far.
    action_count: usize,
}

/// A value in a command: where its marker ends, and the environment variable that has it.
pub(super) struct CommandMarker {
    pub(super) end: usize,
    /// The name of the variable.
    pub(super) variable: String,
    /// Where the value may come from.
    pub(super) sources: Vec<ValueSource>,
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
        file: &'r ImportedFile,
        body_start: Option<usize>,
        grants: PromptRights,
        report: &'r mut Report,
    ) -> ActionReader<'r> {
        let steps = ImportedRunBuilder::default();
        ActionReader { grants, file, body_start, report, steps, uses: Vec::new(), action_count: 0 }
    }

    /// What replaces a command of `body`. `find` knows the markers in the text of the command.
    pub(super) fn command(
        &mut self,
        body: &str,
        command_text: &CommandText<'_>,
        values: &mut ValueCollector,
        find: &mut dyn FnMut(usize) -> Option<CommandMarker>,
    ) -> Replacement {
        let literal = Replacement::literal(body, command_text.start, command_text.end);
        if !self.admits_another() {
            return literal;
        }
        if !self.grants.may_run_scripts && !self.grants.is_withheld {
            self.report_not_run(command_text, true);
            return literal;
        }
        let command = shell_command(command_text, find);
        let guarded = match command.placeholders.is_empty() {
            true => Some(Vec::new()),
            false => guarded_values(command_text.text, &command.placeholders),
        };
        let is_safe = guarded.is_some();
        let Some(guarded) = guarded.filter(|_| self.grants.may_run_scripts) else {
            self.report_not_run(command_text, is_safe);
            return literal;
        };
        let split = command.placeholders.iter().filter(|place| place.is_split_into_words);
        let split: BTreeSet<&str> = split.map(|place| place.name.as_str()).collect();
        // Takes none of the words as a glob.
        let split = split.iter().map(|name| format!("set -f; {name}_words=(${{{name}}}); set +f\n"));
        let script = split.collect::<String>() + &guards(&guarded) + &command.script;
        let variable = |(name, sources)| (name, template_of(&[Piece::Tag(values.expression(sources, "".into()))]));
        let variables: Vec<(String, String)> = command.variables.into_iter().map(variable).collect();
        let at = self.location_of(command_text.start..command_text.end, command_text.text);
        let output = self.steps.add_command(&script, &variables, WORKSPACE_TEMPLATE, at);
        self.uses.push(ImportedUse { at, action: ImportedAction::Script(script) });
        Replacement { end: command_text.end, piece: Piece::Tag(output) }
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

    /// Whether files are read. If not, `path` is listed, which is at these places.
    pub(super) fn may_read(&mut self, path: &str, at: &std::ops::Range<usize>) -> bool {
        if !self.admits_another() {
            return false;
        }
        if !self.grants.may_read_files && looks_like_file(path) {
            let span = self.span_of(at.clone(), path);
            self.note(span, format!("file `{path}` not read: missing grant `read`"), "read");
        }
        self.grants.may_read_files
    }

    /// What replaces the file whose path is `path_text` at these places; where it cannot be read, `otherwise` does.
    pub(super) fn file(
        &mut self,
        path_text: &str,
        at: std::ops::Range<usize>,
        path: &[Piece],
        otherwise: &[Piece],
    ) -> Replacement {
        let end = at.end;
        let at = self.location_of(at, path_text);
        let text = self.steps.add_file(&template_of(path), &template_of(otherwise), IMPORTED_WORKSPACE, at);
        self.uses.push(ImportedUse { at, action: ImportedAction::Read(shown_text(path)) });
        Replacement { end, piece: Piece::Tag(text) }
    }

    /// The prompt with these actions.
    pub(super) fn add_to(self, mut prompt: ImportedPrompt) -> ImportedPrompt {
        let at = prompt.at();
        prompt.prompt.value.run = self.steps.into_run().map(|run| Spanned::new(run, at));
        ImportedPrompt { uses: self.uses, names_actions: self.action_count > 0, ..prompt }
    }

    /// Says why a command stays as text: it would read a value as code, also with the grant, or lacks that.
    fn report_not_run(&mut self, command_text: &CommandText<'_>, is_safe: bool) {
        let place = self.span_of(command_text.start..command_text.end, command_text.text);
        let command: String = command_text.text.trim().chars().take(MAX_SHOWN_CHARS).collect();
        let command = command.replace('\n', " ");
        if is_safe {
            self.note(place, format!("command `{command}` not run: missing grant `script`"), "script");
            return;
        }
        let message = format!("command `{command}` not run: it may read a value as code");
        self.report
            .warning(Code::Unsafe, place, message)
            .help("write it as a `script` of a folder with a `folio.yaml`");
    }

    /// The place of a part of the text. One that its file does not have unchanged may still be found there.
    fn span_of(&self, at: std::ops::Range<usize>, text: &str) -> Span {
        let in_file = || self.file.text.find(text).map(|start| Span::new(self.file.id, start, start + text.len()));
        match self.body_start {
            Some(start) => Span::new(self.file.id, start + at.start, start + at.end),
            None => in_file().unwrap_or(Span::start_of(self.file.id)),
        }
    }

    fn location_of(&self, at: std::ops::Range<usize>, text: &str) -> Location {
        Location::text_from(self.file.id, self.span_of(at, text).start as usize)
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

/// What ends hosts, such as that of `@sitespeed.io/sitespeed.io`, and decorators: `@workflow.run`.
const NO_EXTENSIONS: &[&str] = &["com", "io", "run"];

/// Whether a path has the extension of a file: `@scope/package` and `@app.route("/")` are no files.
fn looks_like_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    let is_word = !extension.is_empty() && extension.chars().all(|letter| letter.is_ascii_alphanumeric());
    is_word
        && !path.contains("://")
        && !NO_EXTENSIONS.contains(&extension)
        && (path.contains('/') || mime_by_name(name).is_some())
}

/// A command with a variable of the shell instead of each marker. A shell expands it after it has parsed the command,
/// so that no value becomes code.
struct ShellCommand {
    script: String,
    placeholders: Vec<ValueMarker>,
    /// Where the values of its variables come from.
    variables: IndexMap<String, Vec<ValueSource>>,
}

fn shell_command(command_text: &CommandText<'_>, find: &mut dyn FnMut(usize) -> Option<CommandMarker>) -> ShellCommand {
    let mut command = ShellCommand { script: String::new(), placeholders: Vec::new(), variables: IndexMap::new() };
    let mut done = 0;
    for (at, character, context) in shell_contexts(command_text.text) {
        if at < done {
            continue;
        }
        let may_find = match context {
            ShellContext::Plain | ShellContext::DoubleQuoted => true,
            ShellContext::SingleQuoted => command_text.has_markers_in_single_quotes,
            ShellContext::Escaped | ShellContext::Comment => false,
        };
        let Some(marker) = may_find.then(|| find(at)).flatten() else {
            command.script.push(character);
            continue;
        };
        command.script.push_str(&reference(&marker, context));
        done = marker.end;
        let CommandMarker { end, variable: name, sources, is_split_into_words } = marker;
        command.variables.insert(name.clone(), sources);
        command.placeholders.push(ValueMarker { range: at..end, name, is_split_into_words });
    }
    command
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
    let name = &marker.variable;
    match context {
        ShellContext::DoubleQuoted => format!("${{{name}}}"),
        ShellContext::SingleQuoted => format!("'\"${{{name}}}\"'"),
        _ if marker.is_split_into_words => format!("\"${{{name}_words[@]}}\""),
        _ => format!("\"${{{name}}}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandMarker, CommandText, shell_command};

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
                    variable: "args".to_owned(),
                    sources: Vec::new(),
                    is_split_into_words: false,
                })
            };
            let end = command.len();
            let text = CommandText { text: command, start: 0, end, has_markers_in_single_quotes: in_single_quotes };
            assert_eq!(shell_command(&text, &mut find).script, script);
        }
    }
}
