//! Actions that are written as a text.

use super::kind::MapKind;
use super::text::words;
use super::{Correction, Corrector, suggest};
use crate::diagnostic::Code;
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// How a program is called, here and elsewhere.
pub(super) const PROGRAM_KEYS: &[&str] = &["exec", "command", "cmd", "program"];

/// How its arguments are called elsewhere.
pub(super) const ARGUMENT_KEYS: &[&str] = &["args", "arguments", "argv", "params"];

/// Keys of a tool, a prompt or a resource that its actions have not.
const ENTRY_KEYS: &[&str] = &["maxOutput", "outputSchema", "result", "select"];

/// Keys of a tool, a prompt or a resource that nothing in a run is called.
const LISTED_KEYS: &[&str] =
    &["title", "description", "annotations", "inputSchema", "rateLimit", "concurrency", "hidden"];

/// What a command needs that a program without a shell does not read.
const SCRIPT_HELP: &str =
    "no shell reads it: write `script: { shell: sh, text: … }`, where arguments are variables, as in \"$x\"";

/// The program of a command that only a shell reads.
fn first_word(command: &str) -> String {
    command.split_whitespace().next().unwrap_or("true").to_owned()
}

impl Corrector<'_> {
    /// `run`: an action, a list of steps, or a command as a text.
    pub(super) fn run(&mut self, run: NodeId) {
        if self.document.string_of(run).is_some() {
            return self.command(run, true);
        }
        self.steps_key(run);
        self.parallel_steps(run);
        self.bare_argv(run);
        match self.document.items_of(run) {
            Some(steps) => steps.into_iter().for_each(|step| match self.document.string_of(step) {
                Some(_) => self.command(step, true),
                None => self.step(step),
            }),
            None => self.step(run),
        }
    }

    /// `run: [ls, -l]`.
    fn bare_argv(&mut self, run: NodeId) {
        let items = self.document.items_of(run).unwrap_or_default();
        let is_word = |item: &NodeId| self.document.string_of(*item).is_some_and(|text| !text.contains(' '));
        let is_argv = items.len() > 1 && items.iter().all(|item| self.document.scalar_of(*item).is_some());
        if !is_argv || !items.first().is_some_and(is_word) {
            return;
        }
        let (span, raw) = (self.span(run), self.raw(run).to_owned());
        let is_flow = raw.starts_with('[') && !raw.contains(['\n', '#']);
        let texts: Vec<String> = items.iter().map(|item| self.flow_text(*item)).collect();
        let text = format!("{{ exec: [{}] }}", texts.join(", "));
        let (key, value) = (self.document.add_string("exec", span), self.document.add_list(items, span));
        let node = self.document.add_map(vec![MapEntry { key, value }], span);
        self.replace(run, "a map or a list of maps", Correction { text, is_certain: is_flow, node });
    }

    fn step(&mut self, step: NodeId) {
        self.misplaced_keys(step);
        self.run_key(step);
        self.call(step);
        self.shell_key(step);
        self.program_with_arguments(step, None);
        self.with_value_of(step, "exec", |corrector, exec| {
            corrector.program_with_arguments(exec, Some(exec));
            for element in corrector.document.items_of(exec).unwrap_or_default() {
                corrector.with_value_of(element, "then", Corrector::scalar_as_list);
                corrector.with_value_of(element, "else", Corrector::scalar_as_list);
            }
            if corrector.document.string_of(exec).is_some() {
                corrector.command(exec, false);
            }
        });
        self.with_value_of(step, "http", Corrector::misplaced_keys);
        self.with_value_of(step, "http", Corrector::request);
        self.with_value_of(step, "script", Corrector::script);
        self.with_value_of(step, "env", Corrector::assigned_values);
        self.with_value_of(step, "okExit", Corrector::exit_code);
        self.with_value_of(step, "ask", Corrector::unnamed_question);
        if self.document.entry_of(step, "ask").is_none() {
            self.with_value_of(step, "timeout", Corrector::misplaced_timeout);
        }
    }

    /// What describes the entry, and stands in its action.
    pub(super) fn nested_in_run(&mut self, entry: NodeId, kind: MapKind) {
        let Some(run) = self.document.entry_of(entry, "run") else { return };
        self.nested_keys(entry, run, run.value, |corrector, key| {
            let key = corrector.document.key_text(key.key);
            let is_free = corrector.document.entry_of(entry, key).is_none();
            is_free && LISTED_KEYS.contains(&key) && kind.keys().contains(&key)
        });
    }

    /// Keys of the entry that stand in its action.
    fn misplaced_keys(&mut self, step: NodeId) {
        let Some(mut entries) = self.document.entries_of(step) else { return };
        let count = entries.len();
        entries.retain(|entry| {
            let key = self.document.key_text(entry.key);
            let is_misplaced = ENTRY_KEYS.contains(&key);
            if is_misplaced {
                let at = self.document.location(entry.key).span();
                let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
                diagnostic.help(match key {
                    "select" => "write `result: { select: … }` beside `run`".to_owned(),
                    key => format!("write `{key}` beside `run`"),
                });
            }
            !is_misplaced
        });
        if entries.len() < count {
            let rest = self.document.add_map(entries, self.span(step));
            self.document.replace(step, rest);
        }
    }

    /// `steps` in `run`, which is the list itself.
    fn steps_key(&mut self, run: NodeId) {
        let Some(entry) = self.document.entry_of(run, "steps") else { return };
        if self.document.items_of(entry.value).is_none() {
            return;
        }
        let at = self.span(entry.key);
        self.report
            .error(Code::UnknownKey, at, "unknown key `steps`")
            .help("write the list of steps as the value of `run`");
        self.document.replace(run, entry.value);
    }

    /// `parallel: [ … ]`, which is no list of steps.
    fn parallel_steps(&mut self, run: NodeId) {
        let Some(entry) = self.document.entry_of(run, "parallel") else { return };
        if self.document.items_of(entry.value).is_none() {
            return;
        }
        self.report
            .error(Code::WrongType, self.span(entry.key), "expected a number in `parallel`, found a list of steps")
            .help("write the list as the value of `run`: steps run one after the other, and `parallel` is for `each`");
        self.document.replace(run, entry.value);
    }

    /// A time limit beside an action that has none: its place is reported, and so its unit is not.
    fn misplaced_timeout(&mut self, timeout: NodeId) {
        let none = self.document.add_plain(serde_json::Value::Null, self.span(timeout));
        self.document.replace(timeout, none);
    }

    /// An exit code without its list.
    fn exit_code(&mut self, code: NodeId) {
        let Some(number) = self.document.scalar_of(code).and_then(|text| text.trim().parse::<i32>().ok()) else {
            return;
        };
        let span = self.span(code);
        let item = self.document.add_plain(number, span);
        let list = self.document.add_list(vec![item], span);
        self.replace(code, "a list", Correction { text: format!("[{number}]"), is_certain: true, node: list });
    }

    /// `command: ls` with `args: [-l]`, as the configuration of clients has it: in a step, or in the place of the list
    /// of `exec`.
    fn program_with_arguments(&mut self, map: NodeId, exec: Option<NodeId>) {
        let find = |keys: &[&str]| self.document.first_entry_of(map, keys);
        let Some(program) = find(PROGRAM_KEYS) else { return };
        let arguments = find(ARGUMENT_KEYS);
        let is_text = self.document.key_text(program.key) != "exec" && self.document.string_of(program.value).is_some();
        let is_whole = exec.is_some() || arguments.is_some() || is_text;
        let Some(elements) = self.program_words(program.value).filter(|_| is_whole) else { return };
        let more = match arguments {
            Some(arguments) => self.document.items_of(arguments.value),
            None => Some(Vec::new()),
        };
        let Some(items) = more.map(|more| elements.into_iter().chain(more).collect::<Vec<_>>()) else { return };
        let texts: Vec<String> = items.iter().map(|item| self.flow_text(*item)).collect();
        let list = format!("[{}]", texts.join(", "));
        let text = if exec.is_some() { list.clone() } else { format!("exec: {list}") };
        let wrong = if self.document.key_text(program.key) == "exec" { arguments.unwrap_or(program) } else { program };
        let (at, key) = (self.span(wrong.key), self.document.key_text(wrong.key).to_owned());
        let needs_shell = self.document.string_of(program.value).is_some_and(|text| words(text).is_none());
        let help = if needs_shell { SCRIPT_HELP.to_owned() } else { format!("write `{text}`") };
        self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`")).help(help);
        let list = self.document.add_list(items, self.span(program.value));
        let correction = match exec {
            Some(_) => list,
            None => {
                let written = [Some(program.key), arguments.map(|arguments| arguments.key)];
                self.exec_step(map, list, &written)
            }
        };
        self.document.replace(map, correction);
    }

    /// A step with `exec` in the place of these keys.
    fn exec_step(&mut self, step: NodeId, list: NodeId, written: &[Option<NodeId>]) -> NodeId {
        let mut entries = self.document.entries_of(step).unwrap_or_default();
        entries.retain(|entry| !written.contains(&Some(entry.key)));
        let key = self.document.add_string("exec", self.span(list));
        entries.push(MapEntry { key, value: list });
        self.document.add_map(entries, self.span(step))
    }

    /// A program as a text, with what stands after it, or as a list.
    fn program_words(&mut self, program: NodeId) -> Option<Vec<NodeId>> {
        if let Some(items) = self.document.items_of(program) {
            return Some(items);
        }
        let (text, span) = (self.document.string_of(program)?.to_owned(), self.span(program));
        let split = words(&text).unwrap_or_else(|| vec![first_word(&text)]);
        Some(split.iter().map(|word| self.document.add_string(word, span)).collect())
    }

    /// A program with its arguments in one text.
    fn command(&mut self, node: NodeId, is_run: bool) {
        let command = self.document.string_of(node).unwrap_or_default().to_owned();
        // Lines are commands of a shell.
        let is_one_line = !command.trim().contains('\n');
        let (span, split) = (self.span(node), words(&command).filter(|_| is_one_line));
        let elements = split.clone().unwrap_or_else(|| vec![first_word(&command)]);
        let items = elements.iter().map(|word| self.document.add_string(word, span)).collect();
        let mut correction = self.document.add_list(items, span);
        if is_run {
            let key = self.document.add_string("exec", span);
            correction = self.document.add_map(vec![MapEntry { key, value: correction }], span);
        }
        let expected = if is_run { "a map or a list" } else { "a list" };
        let diagnostic = self.report.error(Code::WrongType, span, format!("expected {expected}, found a string"));
        match split {
            None => {
                diagnostic.help(SCRIPT_HELP);
            }
            Some(words) => {
                let list = format!("[{}]", words.iter().map(|word| flow_scalar(word)).collect::<Vec<_>>().join(", "));
                let text = if is_run { format!("{{ exec: {list} }}") } else { list };
                let suggestion_text = format!("write `{text}`");
                suggest(
                    diagnostic,
                    span,
                    &Correction { text, is_certain: !command.contains('\n'), node: correction },
                    &suggestion_text,
                );
            }
        }
        self.document.replace(node, correction);
    }
}
