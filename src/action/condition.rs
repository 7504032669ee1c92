//! Conditions of steps and argv elements: the name of an argument, or exactly one `{{…}}`.

use crate::action::ActionError;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{ConditionSlot, Scope, Shape, Template, is_truthy};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

pub(super) enum CompiledCondition {
    /// The name of an argument.
    Argument(String),
    /// Exactly one `{{…}}`.
    Template(Template<ConditionSlot>),
}

impl CompiledCondition {
    /// Compiles a condition.
    pub(super) fn compile(text: &Spanned<String>, exposure: Exposure, compiler: &mut Compiler<'_>) -> Option<Self> {
        if is_identifier(text) {
            return argument_shape(text, compiler).map(|_| CompiledCondition::Argument(text.value.clone()));
        }
        if let Some(template) = comparison(text) {
            let quoted = format!("\"{template}\"");
            compiler
                .error(Code::BadValue, text.location, "invalid condition, expected exactly one `{{…}}`")
                .help(format!("write `{quoted}`"))
                .fix(text.location.span(), quoted);
            return None;
        }
        compiler.template(text, exposure).map(CompiledCondition::Template)
    }

    pub(super) fn holds(&self, scope: &Scope) -> Result<bool, ActionError> {
        match self {
            CompiledCondition::Argument(name) => Ok(scope.get(&["arguments", name]).is_some_and(is_truthy)),
            CompiledCondition::Template(template) => Ok(template.render(scope)?),
        }
    }
}

/// The template that compares as `x == 'a'` and `x != 'a'` do elsewhere.
fn comparison(text: &str) -> Option<String> {
    let (helper, (left, right)) = match (text.split_once("=="), text.split_once("!=")) {
        (Some(sides), _) => ("eq", sides),
        (None, Some(sides)) => ("ne", sides),
        (None, None) => return None,
    };
    let (left, right) = (left.trim(), right.trim());
    let value = right.trim_matches(['\'', '"']);
    let is_plain = !value.contains(['\'', '"', '\\', '{', '}', '&', '|', '=']) && left.split('.').all(is_identifier);
    let right = if value == right { right.to_owned() } else { format!("'{value}'") };
    (is_plain && !right.is_empty()).then(|| format!("{{{{{helper} {left} {right}}}}}"))
}

/// The shape of an argument that is referenced by its bare name, as in `if: NAME`.
pub(super) fn argument_shape(name: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Shape> {
    let arguments = match compiler.scope_shape.get("arguments").cloned() {
        Some(Shape::Object(arguments) | Shape::Open(arguments)) => arguments,
        Some(_) => return Some(Shape::Any),
        None => std::sync::Arc::default(),
    };
    let found = arguments.get(&name.value).cloned();
    if found.is_none() {
        let diagnostic =
            compiler.error(Code::UnknownVariable, name.location, format!("unknown argument `{}`", name.value));
        diagnostic.did_you_mean(name, name.location.span(), arguments.keys().map(String::as_str));
        if diagnostic.help.is_none() {
            diagnostic.help("write the name of an argument, such as `verbose`, or exactly one `{{…}}`");
        }
    }
    found
}
