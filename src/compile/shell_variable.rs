//! Warns of `$NAME` and `${NAME}`, which nothing expands.

use std::any::TypeId;
use std::ops::Range;

use super::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{EnvSlot, HeaderSlot, QuerySlot, Shape, Slot, TextSlot, UriSlot, UrlSlot, reserved_name_meaning};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// Which shell variables are probably mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellVariableContext {
    /// `$NAME` and `${NAME}` of what is in scope, and any in capitals.
    ArgvElement,
    /// `${NAME}` of what is in scope, and any variable in capitals.
    Value,
    /// `${NAME}` of an argument.
    PromptText,
    /// `$NAME` of a declared variable or argument, and any `${NAME}`, in a listed text, which has no arguments.
    ListedText,
    /// The same in a text that is no template.
    NoTemplate,
}

impl ShellVariableContext {
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
            return Some(ShellVariableContext::Value);
        }
        (slot == TypeId::of::<TextSlot>() && exposure == Exposure::Client).then_some(ShellVariableContext::PromptText)
    }
}

const LITERAL_HELP: &str = "this text goes to clients as it is written: write the value itself";

/// A `$NAME` or `${NAME}` in a string.
struct ShellVariable<'t> {
    range: Range<usize>,
    name: &'t str,
    braces: bool,
}

impl Compiler<'_> {
    /// Warns of every shell variable, and of what other languages expand, that the author probably expects to be expanded.
    pub fn warn_shell_variables(&mut self, text: &Spanned<String>, check: ShellVariableContext) {
        // A listed text may well speak of `/users/{id}`.
        if !matches!(check, ShellVariableContext::NoTemplate | ShellVariableContext::ListedText) {
            self.warn_other_placeholders(text, check);
        }
        if check == ShellVariableContext::PromptText {
            self.warn_foreign_arguments(text);
        }
        for variable in variables(text) {
            let Some(replacement) = self.suggest_template(&variable, check) else { continue };
            let span = self.span_within(text.location, variable.range.clone());
            let declared = replacement.starts_with("{{env.") && self.pack.env.variables.contains_key(variable.name);
            let message = format!("shell variable `{}` is not expanded", text.get(variable.range).unwrap_or_default());
            let diagnostic = self.warning(Code::Unused, span, message);
            if check == ShellVariableContext::NoTemplate {
                diagnostic.help(LITERAL_HELP);
            } else if declared || !replacement.starts_with("{{env.") {
                diagnostic.help(format!("write `{replacement}`")).fix(span, replacement);
            } else {
                diagnostic.help(format!("declare `{}` under `env`, and write `{replacement}`", variable.name));
            }
        }
    }

    /// Warns of what looks like a template or a shell variable in a text that goes out as it is written.
    pub fn warn_unexpanded(&mut self, text: &Spanned<String>) {
        self.warn_shell_variables(text, ShellVariableContext::NoTemplate);
        for (start, _) in text.match_indices("{{") {
            let Some((inner, _)) = text.get(start + 2..).and_then(|rest| rest.split_once("}}")) else { return };
            let name = inner.trim().split(['.', ' ']).next().unwrap_or_default();
            let is_known = self.is_argument(name)
                || self.arguments.locations.contains_key(name)
                || reserved_name_meaning(name).is_some();
            if is_known {
                let span = self.span_within(text.location, start..start + inner.len() + 4);
                self.warning(Code::Unused, span, format!("template `{{{{{inner}}}}}` is not expanded"))
                    .help(LITERAL_HELP);
            }
        }
    }

    /// The template that replaces a variable; `None` where the variable is probably text.
    fn suggest_template(&self, variable: &ShellVariable<'_>, check: ShellVariableContext) -> Option<String> {
        let name = variable.name;
        let any_form = variable.braces
            || matches!(
                check,
                ShellVariableContext::ArgvElement | ShellVariableContext::ListedText | ShellVariableContext::NoTemplate
            );
        if any_form && (self.is_argument(name) || self.arguments.locations.contains_key(name)) {
            return Some(format!("{{{{{name}}}}}"));
        }
        let capitals = name.len() > 1 && name.chars().all(|character| !character.is_ascii_lowercase());
        let variable = match check {
            ShellVariableContext::PromptText => false,
            ShellVariableContext::ListedText | ShellVariableContext::NoTemplate => {
                variable.braces || self.pack.env.variables.contains_key(name)
            }
            ShellVariableContext::ArgvElement | ShellVariableContext::Value => {
                self.pack.env.variables.contains_key(name) || capitals
            }
        };
        variable.then(|| format!("{{{{env.{name}}}}}"))
    }

    pub(super) fn is_argument(&self, name: &str) -> bool {
        let arguments = self.scope_shape.get("arguments").and_then(Shape::fields);
        arguments.is_some_and(|arguments| arguments.contains_key(name))
    }
}

/// Every `$NAME` and `${NAME}` of a string that does not follow `$` or a backslash.
fn variables(text: &str) -> impl Iterator<Item = ShellVariable<'_>> {
    text.match_indices('$').filter_map(move |(start, _)| {
        let rest = text.get(start + 1..)?;
        if text.get(..start)?.ends_with(['$', '\\']) {
            return None;
        }
        let braces = rest.starts_with('{');
        let from = usize::from(braces);
        let word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let name = rest.get(from..)?.split(|character| !word(character)).next().filter(|name| is_identifier(name))?;
        let end = from + name.len();
        if braces && !rest.get(end..)?.starts_with('}') {
            return None;
        }
        Some(ShellVariable { range: start..start + 1 + end + usize::from(braces), name, braces })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_variables_are_recognized() {
        let text = "$A ${b} $5 ${{ x }} $$C \\$D ${e:-f} $ ${} $g-h a$i";
        let found: Vec<&str> = variables(text).map(|variable| &text[variable.range]).collect();
        assert_eq!(found, ["$A", "${b}", "$g", "$i"]);
    }
}
