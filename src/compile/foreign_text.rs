//! Warns of what other programs expand in a text, and nothing expands here: `$NAME`, `{name}`, `$ARGUMENTS`, `!`git diff``.

use std::any::TypeId;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use memchr::memmem;

use super::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{
    EnvSlot, HeaderSlot, QuerySlot, Shape, Slot, TemplateError, TemplateSpan, TextSlot, UriSlot, UrlSlot,
    reserved_name_meaning,
};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// The text that is checked, by which it is told what its author probably expects to be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellVariableContext {
    /// `$NAME` and `${NAME}` of what is in scope, and any in capitals.
    ArgvElement,
    /// `${NAME}` of what is in scope, and any variable in capitals.
    Value,
    /// `${NAME}` of an argument, and what commands and editors expand.
    PromptText,
    /// `$NAME` of a declared variable or argument, and any `${NAME}`, in a listed text, which has no arguments.
    ListedText,
    /// The same in a text that is not a template.
    NoTemplate,
}

use ShellVariableContext::{ArgvElement, ListedText, NoTemplate, PromptText, Value};

impl ShellVariableContext {
    /// Whether a text has a sign with which one of the forms begins that are looked for.
    pub(super) fn may_find(self, text: &str) -> bool {
        FORMS.iter().any(|form| form.contexts.contains(&self) && form.may_be_in(text))
    }

    /// The check for a kind of template.
    pub(super) fn for_slot<S: Slot>(exposure: Exposure) -> Option<ShellVariableContext> {
        let slot = TypeId::of::<S>();
        let values = [
            TypeId::of::<HeaderSlot>(),
            TypeId::of::<UrlSlot>(),
            TypeId::of::<UriSlot>(),
            TypeId::of::<EnvSlot>(),
            TypeId::of::<QuerySlot>(),
        ];
        if values.contains(&slot) {
            return Some(Value);
        }
        (slot == TypeId::of::<TextSlot>() && exposure == Exposure::Client).then_some(PromptText)
    }
}

/// The longest form that is looked for, in bytes.
const MAX_FORM_BYTES: usize = 512;

/// How many places of one form are looked at: for each the text before it is read.
const MAX_PLACES: usize = 64;

const LITERAL_HELP: &str = "this text goes to clients as it is written: write the value itself";

/// A form in which another program names a value.
struct Form {
    contexts: &'static [ShellVariableContext],
    open: &'static str,
    /// What ends the name; where it is empty, the first sign that is not of a word.
    close: &'static str,
    name: FormName,
}

/// What a form has for a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormName {
    /// A variable of a shell: an argument, or a variable of the environment.
    Shell,
    Argument,
    /// An argument that no template of the text uses.
    UnusedArgument,
    /// The position of an argument, in a text without templates.
    Position,
    /// Nothing: the form is all arguments as one text.
    AllArguments,
    /// An input that an editor asks for.
    EditorInput,
    /// A variable of the environment.
    Variable,
    /// A command, whose output is meant.
    Command,
    /// What begins a template.
    Template,
}

const fn form(
    contexts: &'static [ShellVariableContext],
    (open, close): (&'static str, &'static str),
    name: FormName,
) -> Form {
    Form { contexts, open, close, name }
}

const ALL: &[ShellVariableContext] = &[ArgvElement, Value, PromptText, ListedText, NoTemplate];
// A listed text may well speak of `/users/{id}`.
const TEMPLATES: &[ShellVariableContext] = &[ArgvElement, Value, PromptText];
const PROMPTS: &[ShellVariableContext] = &[PromptText];

const FORMS: &[Form] = &[
    form(ALL, ("$", ""), FormName::Shell),
    form(ALL, ("${", "}"), FormName::Shell),
    form(&[NoTemplate], ("{{", "}}"), FormName::Template),
    form(TEMPLATES, ("{", "}"), FormName::Argument),
    form(PROMPTS, ("$ARGUMENTS", ""), FormName::AllArguments),
    form(PROMPTS, ("$", ""), FormName::Position),
    form(PROMPTS, ("$", ""), FormName::UnusedArgument),
    form(PROMPTS, ("<", ">"), FormName::UnusedArgument),
    form(PROMPTS, ("%", "%"), FormName::UnusedArgument),
    form(PROMPTS, ("%(", ")s"), FormName::UnusedArgument),
    form(PROMPTS, ("<%= ", " %>"), FormName::UnusedArgument),
    form(PROMPTS, ("<%=", "%>"), FormName::UnusedArgument),
    form(PROMPTS, ("${args.", "}"), FormName::UnusedArgument),
    form(PROMPTS, ("${input:", "}"), FormName::EditorInput),
    form(PROMPTS, ("${env:", "}"), FormName::Variable),
    form(PROMPTS, ("!`", "`"), FormName::Command),
];

impl Form {
    /// Whether a text has the sign with which it begins: cheaper than to look for all of it.
    fn may_be_in(&self, text: &str) -> bool {
        self.open.as_bytes().first().is_some_and(|sign| memchr::memchr(*sign, text.as_bytes()).is_some())
    }

    /// Each place of a text that has this form, with its name.
    fn matches<'t>(&self, text: &'t str) -> impl Iterator<Item = (Range<usize>, &'t str)> {
        // What is escaped, and the braces of templates and of other forms.
        let before: &[char] = if self.open == "{" { &['{', '$', '\\', '#', '%'] } else { &['$', '\\'] };
        memmem::find_iter(text.as_bytes(), self.open).filter_map(move |start| {
            let inner = first_bytes(text.get(start + self.open.len()..)?, MAX_FORM_BYTES);
            let length = match self.close {
                "" => inner.len() - inner.trim_start_matches(is_word_char).len(),
                close => inner.find(close)?,
            };
            let end = start + self.open.len() + length + self.close.len();
            let is_escaped = text.get(..start)?.ends_with(before);
            let is_doubled = self.open == "{" && text.get(end..)?.starts_with('}');
            (!is_escaped && !is_doubled).then_some((start..end, inner.get(..length)?))
        })
    }
}

/// A text that is looked through.
struct ScannedText<'t> {
    text: &'t str,
    context: ShellVariableContext,
    names_in_tags: OnceCell<HashSet<&'t str>>,
}

impl<'t> ScannedText<'t> {
    /// The names that the templates of the text use.
    fn names_in_tags(&self) -> &HashSet<&'t str> {
        self.names_in_tags.get_or_init(|| {
            let tags = self.text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
            tags.flat_map(|(tag, _)| tag.split(|character: char| !is_word_char(character))).collect()
        })
    }

    fn before(&self, range: &Range<usize>) -> Option<char> {
        self.text.get(..range.start)?.chars().next_back()
    }

    /// Whether a number goes on after this range, as an amount does: `$1.50`, `$1,000`.
    fn is_amount(&self, range: &Range<usize>) -> bool {
        let mut after = self.text.get(range.end..).unwrap_or_default().chars();
        after.next().is_some_and(|sign| sign == '.' || sign == ',') && after.next().is_some_and(|c| c.is_ascii_digit())
    }
}

/// What a form of another program means here.
struct Meaning {
    help: String,
    /// What to write in its place, where that is certain.
    fix: Option<String>,
}

impl Meaning {
    fn help(help: impl Into<String>) -> Option<Meaning> {
        Some(Meaning { help: help.into(), fix: None })
    }

    fn written(template: String) -> Option<Meaning> {
        Some(Meaning { help: format!("write `{template}`"), fix: Some(template) })
    }
}

impl Compiler<'_> {
    /// Warns of what another program expands, and the author probably expects to be expanded.
    pub fn warn_shell_variables(&mut self, text: &Spanned<String>, context: ShellVariableContext) {
        if context == ArgvElement && (text.as_str() == "~" || text.starts_with("~/")) {
            let rest = text.trim_start_matches('~');
            self.warning(Code::Unused, text.location, "`~` is not expanded")
                .help(format!("declare `HOME` under `env`, and write `{{{{env.HOME}}}}{rest}`"));
        }
        if TEMPLATES.contains(&context) {
            self.warn_tag(text);
        }
        let scanned = ScannedText { text, context, names_in_tags: OnceCell::new() };
        let is_foreign = self.load_context.report.is_foreign(text.location.file());
        for form in FORMS.iter().filter(|form| form.contexts.contains(&context) && form.may_be_in(text)) {
            let may_be_code = form.contexts == PROMPTS;
            let kind = match form.name {
                FormName::Shell => "shell variable ",
                FormName::Template => "template ",
                _ => "",
            };
            for (range, name) in form.matches(text).take(MAX_PLACES) {
                let Some(Meaning { help, fix }) = self.meaning(form, name, &range, &scanned) else { continue };
                if may_be_code && (is_foreign || is_code(text, range.start)) {
                    continue;
                }
                let message = format!("{kind}`{}` is not expanded", text.get(range.clone()).unwrap_or_default());
                let span = self.span_within(text.location, range);
                let diagnostic = self.warning(Code::Unused, span, message).help(help);
                fix.into_iter().for_each(|fix| _ = diagnostic.fix(span, fix));
            }
        }
    }

    /// What to write for a form; `None` where it is probably text.
    fn meaning(&self, form: &Form, name: &str, range: &Range<usize>, scanned: &ScannedText<'_>) -> Option<Meaning> {
        match form.name {
            FormName::Shell => self.shell_variable(name, !form.close.is_empty(), scanned.context),
            FormName::Template => {
                let name = name.trim().split(['.', ' ']).next().unwrap_or_default();
                let is_argument = self.is_argument(name) || self.arguments.locations.contains_key(name);
                let is_known = is_argument || reserved_name_meaning(name).is_some();
                Meaning::help(LITERAL_HELP).filter(|_| is_known)
            }
            FormName::Argument if self.is_argument(name) => match scanned.names_in_tags().contains(name) {
                true => Meaning::help(format!("did you mean `{{{{{name}}}}}`?")),
                false => Meaning::written(format!("{{{{{name}}}}}")),
            },
            FormName::UnusedArgument if self.is_argument(name) && !scanned.names_in_tags().contains(name) => {
                let is_element = form.open == "<" && scanned.text.contains(&format!("</{name}>"));
                Meaning::written(format!("{{{{{name}}}}}")).filter(|_| !is_element)
            }
            FormName::Position if scanned.names_in_tags().is_empty() && !scanned.is_amount(range) => {
                let name = self.argument_names().into_iter().nth(name.parse::<usize>().ok()?.checked_sub(1)?)?;
                Meaning::written(format!("{{{{{name}}}}}"))
            }
            FormName::AllArguments if name.is_empty() => match self.argument_names().as_slice() {
                [only] => Meaning::written(format!("{{{{{only}}}}}")),
                [] => Meaning::help("declare an argument, as in `arguments: { task: {} }`, and write `{{task}}`"),
                [first, ..] => Meaning::help(format!("write each argument by its name, as in `{{{{{first}}}}}`")),
            },
            FormName::EditorInput => {
                let name = name.split(':').next().filter(|name| is_identifier(name))?;
                match self.is_argument(name) {
                    true => Meaning::written(format!("{{{{{name}}}}}")),
                    false => Meaning::help(format!("declare `{name}` under `arguments`, and write `{{{{{name}}}}}`")),
                }
            }
            FormName::Variable if is_identifier(name) => self.variable(name),
            FormName::Command if !name.is_empty() && !name.contains('\n') => {
                let is_free = scanned.before(range).is_none_or(|before| before.is_whitespace() || before == ':');
                is_free.then_some(())?;
                Meaning::help("give the prompt a `run` with the program, and write `{{result.stdout}}`")
            }
            _ => None,
        }
    }

    fn shell_variable(&self, name: &str, has_braces: bool, context: ShellVariableContext) -> Option<Meaning> {
        if !is_identifier(name) {
            return None;
        }
        let is_declared = self.pack.env.variables.contains_key(name);
        let is_in_capitals = name.len() > 1 && name.chars().all(|character| !character.is_ascii_lowercase());
        let (takes_any_form, is_variable) = match context {
            ArgvElement => (true, is_declared || is_in_capitals),
            Value => (false, is_declared || is_in_capitals),
            PromptText => (false, false),
            ListedText | NoTemplate => (true, is_declared || has_braces),
        };
        let is_argument =
            (takes_any_form || has_braces) && (self.is_argument(name) || self.arguments.locations.contains_key(name));
        match (is_argument || is_variable, context) {
            (false, _) => None,
            (true, NoTemplate) => Meaning::help(LITERAL_HELP),
            (true, _) if is_argument => Meaning::written(format!("{{{{{name}}}}}")),
            (true, _) => self.variable(name),
        }
    }

    /// A variable of the environment, which may have to be declared.
    fn variable(&self, name: &str) -> Option<Meaning> {
        let template = format!("{{{{env.{name}}}}}");
        match self.pack.env.variables.contains_key(name) {
            true => Meaning::written(template),
            false => Meaning::help(format!("declare `{name}` under `env`, and write `{template}`")),
        }
    }

    /// Errors of names in `${{ … }}`, whose fix takes the `$` away.
    pub(super) fn with_dollar_tags(&self, text: &str, mut errors: Vec<TemplateError>) -> Vec<TemplateError> {
        for error in &mut errors {
            let TemplateSpan::Template(range) = &error.span else { continue };
            let Some(tag) = dollar_tag(text, range) else { continue };
            let Some(name) = error.replacement.take() else { continue };
            let meant = format!("{{{{{name}}}}}");
            error.help = Some(format!("write `{meant}`, without the `$`"));
            error.is_certain = true;
            error.replacement = Some(meant);
            error.span = TemplateSpan::Template(tag);
        }
        errors
    }

    fn is_argument(&self, name: &str) -> bool {
        let arguments = self.scope_shape.get("arguments").and_then(Shape::fields);
        arguments.is_some_and(|arguments| arguments.contains_key(name))
    }

    /// The names of the arguments, in the order written.
    fn argument_names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.arguments.locations.iter().collect();
        names.sort_by_key(|(_, location)| location.span().start);
        names.into_iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// The range of the `${{ … }}` that holds nothing but this range.
fn dollar_tag(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let (before, after) = (text.get(..range.start)?.trim_end(), text.get(range.end..)?);
    let start = before.strip_suffix("${{")?.len();
    let rest = after.trim_start().strip_prefix("}}")?;
    Some(start..text.len() - rest.len())
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// A text up to so many bytes, without a part of a character.
pub(super) fn first_bytes(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Whether a place is inside of backticks, where a text speaks of what it quotes.
fn is_code(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    before.matches("```").count() % 2 == 1 || line.replace("```", "").matches('`').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_variables_are_recognized() {
        let text = "$A ${b} $5 ${{ x }} $$C \\$D ${e:-f} $ ${} $g-h a$i";
        let shell = FORMS.iter().filter(|form| form.name == FormName::Shell);
        let mut found: Vec<_> = shell.flat_map(|form| form.matches(text)).collect();
        found.retain(|(_, name)| is_identifier(name));
        found.sort_by_key(|(range, _)| range.start);
        let found: Vec<&str> = found.into_iter().map(|(range, _)| &text[range]).collect();
        assert_eq!(found, ["$A", "${b}", "$g", "$i"]);
    }

    #[test]
    fn code_is_between_backticks() {
        let text = "a `b` c `d\n```\ne\n```\nf";
        let found: String =
            "abcdef".chars().filter(|character| is_code(text, text.find(*character).unwrap_or(0))).collect();
        assert_eq!(found, "bde");
    }

    #[test]
    fn tag_with_dollar_holds_the_name_alone() {
        let text = "x ${{ inputs.n }} y";
        assert_eq!(dollar_tag(text, &(6..14)), Some(2..17));
        assert_eq!(dollar_tag("x {{ inputs.n }}", &(5..13)), None);
    }
}
