//! Programs that an interpreter runs: `python: tool.py`, and `node: [tool.js, "{{x}}"]`.

use std::path::Path;

use super::Corrector;
use super::action::ARGUMENT_KEYS;
use super::text::words;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId};

/// The extensions of files that are programs.
const PROGRAM_FILES: &[&str] = &["py", "js", "mjs", "cjs", "ts", "sh", "bash", "zsh", "ps1"];

/// Programs that have no code as an argument.
const PROGRAMS: &[&str] = &["npx", "npm", "uvx", "uv", "deno", "bun", "ruby", "git", "make", "curl", "cargo", "go"];

/// The flags for code as an argument.
const CODE_FLAGS: &[(&str, &str)] = &[("python3", "-c"), ("node", "-e")];

impl Corrector<'_> {
    /// Reads a program file with its arguments as `exec`. Returns whether the value is one.
    pub(super) fn interpreter_key(&mut self, step: NodeId, written: MapEntry, interpreter: &str) -> bool {
        let found = self.document.first_entry_of(step, ARGUMENT_KEYS);
        let arguments = found.filter(|arguments| self.document.items_of(arguments.value).is_some());
        let Some(mut items) = self.program_items(written.value, interpreter, arguments.is_some()) else {
            // What the help shows instead has the arguments as variables.
            arguments.into_iter().for_each(|arguments| self.remove_entry(step, arguments));
            return false;
        };
        items.extend(arguments.and_then(|arguments| self.document.items_of(arguments.value)).unwrap_or_default());
        let texts: Vec<String> = items.iter().map(|item| self.flow_text(*item)).collect();
        let text = format!("exec: [{}]", texts.join(", "));
        let (at, key) = (self.span(written.key), self.document.key_text(written.key).to_owned());
        let span = match arguments {
            Some(arguments) => self.span_of_pair(step, written, arguments),
            None => Some(Span { end: self.span(written.value).end, ..at }),
        };
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        diagnostic.help(format!("write `{text}`"));
        if let Some(span) = span.filter(|_| !text.contains('\n')) {
            diagnostic.fix(span, text);
        }
        // Whether the interpreter is there is another question.
        let meant = MapEntry { key: self.document.add_string("script", at), value: self.empty_script(at) };
        self.replace_entry(step, written, meant);
        arguments.into_iter().for_each(|arguments| self.remove_entry(step, arguments));
        true
    }

    /// The elements of `exec` before the arguments.
    fn program_items(&mut self, program: NodeId, interpreter: &str, has_arguments: bool) -> Option<Vec<NodeId>> {
        let span = self.span(program);
        if let Some(items) = self.document.items_of(program) {
            let name = self.document.add_string(interpreter, span);
            return Some([name].into_iter().chain(items).collect());
        }
        let text = self.document.string_of(program)?.to_owned();
        let split = words(&text).filter(|_| !text.contains('\n'));
        let is_file = split.as_ref().and_then(|words| words.first()).is_some_and(|word| is_program_file(word));
        let flag = CODE_FLAGS.iter().find(|(name, _)| *name == interpreter).map(|(_, flag)| *flag);
        let is_program = PROGRAMS.contains(&interpreter);
        let elements: Vec<String> = match (split, flag) {
            (Some(split), _) if is_file || is_program => [interpreter.to_owned()].into_iter().chain(split).collect(),
            (Some(split), None) if has_arguments => split,
            (_, Some(flag)) if has_arguments && !text.contains(['\n', '{']) => {
                vec![interpreter.to_owned(), flag.to_owned(), text]
            }
            _ => return None,
        };
        Some(elements.iter().map(|element| self.document.add_string(element, span)).collect())
    }
}

fn is_program_file(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| PROGRAM_FILES.contains(&extension)) && !word.contains("{{")
}
