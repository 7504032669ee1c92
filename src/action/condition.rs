//! Conditions and lists of steps and argv elements: the name of an argument, or exactly one `{{…}}`.

use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{ConditionSlot, ListSlot, Shape, Template};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// Compiles a condition.
pub(super) fn compile_condition(
    text: &Spanned<String>,
    exposure: Exposure,
    compiler: &mut Compiler<'_>,
) -> Option<Template<ConditionSlot>> {
    if is_identifier(text) {
        argument_shape(text, compiler)?;
        let template = format!("{{{{arguments.{}}}}}", text.value);
        return compiler.template(&Spanned::new(template, text.location), exposure);
    }
    if let Some(template) = comparison(text) {
        let quoted = format!("\"{template}\"");
        compiler
            .error(Code::BadValue, text.location, "invalid condition, expected exactly one `{{…}}`")
            .help(format!("write `{quoted}`"))
            .fix(text.location.span(), quoted);
        return None;
    }
    compiler.template(text, exposure)
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
fn argument_shape(name: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Shape> {
    let arguments = match compiler.scope_shape.get("arguments").cloned() {
        Some(Shape::Object(arguments) | Shape::Open(arguments)) => arguments,
        Some(_) => return Some(Shape::Any),
        None => std::sync::Arc::default(),
    };
    let shape = arguments.get(&name.value).cloned();
    if shape.is_none() {
        let diagnostic =
            compiler.error(Code::UnknownVariable, name.location, format!("unknown argument `{}`", name.value));
        diagnostic.did_you_mean(name, arguments.keys().map(String::as_str));
        if diagnostic.help.is_none() {
            diagnostic.help("write the name of an argument, such as `verbose`, or exactly one `{{…}}`");
        }
    }
    shape
}

/// Compiles the list of an `each`, and returns the shape of its items.
pub(super) fn compile_list(list: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<(Template<ListSlot>, Shape)> {
    let mut text = list.clone();
    if is_identifier(list) {
        argument_shape(list, compiler)?;
        text.value = format!("{{{{{}}}}}", list.value);
    }
    let template: Template<ListSlot> = compiler.template(&text, Exposure::Private)?;
    let shape = template.single_path().and_then(|path| compiler.scope_shape.shape_at(path));
    match shape {
        Some(Shape::List(item)) => Some((template, *item)),
        None | Some(Shape::Any) => Some((template, Shape::Any)),
        Some(other) => {
            let message = format!("invalid `each`, expected a list, and `{}` is {}", text.value, other.describe());
            let help = match other {
                Shape::Text => "use `lines` or `split` to turn text into a list",
                _ => "write the value of a list, such as `{{steps.ID.json}}`",
            };
            compiler.error(Code::WrongType, text.location, message).help(help);
            None
        }
    }
}
