//! Names that other languages give to arguments, variables of the environment, outcomes and items of a loop.

use super::Checker;
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::shape::Shape;
use crate::template::syntax::{Ident, PathNode};

/// What holds the arguments elsewhere; here they have their own names.
const ARGUMENT_OWNERS: &[&str] = &[
    "args", "arg", "params", "param", "parameters", "inputs", "input", "vars", "variables", "kwargs", "data", "prompt",
];

/// What holds the variables of the environment elsewhere.
const ENVIRONMENT_NAMES: &[&str] = &["secrets", "secret", "process", "environ", "ENV", "environment"];

/// What an action prints elsewhere.
const OUTPUT_NAMES: &[&str] = &["output", "out", "stdout", "response", "answer", "body", "data"];

/// The fields of an outcome that hold it, the best first.
const OUTPUT_FIELDS: &[&str] = &["stdout", "json", "text", "body", "structured"];

/// What the item of a loop is called elsewhere.
const ITEM_NAMES: &[&str] = &["item", "it", "element", "elem", "el", "self"];

impl<'a> Checker<'a> {
    /// The error of a name that another language has; `None` for any other name.
    pub(super) fn foreign_name(&mut self, path: &PathNode, name: &Ident) -> Option<TemplateError> {
        let is_first = path.names.first().is_some_and(|first| first.span.start == name.span.start);
        let is_plain = is_first && !path.local && !path.root && !path.this && path.parent_steps == 0;
        if !is_plain || self.names.get(&name.text).is_some() {
            return None;
        }
        self.item(path, name)
            .or_else(|| self.argument_of(path, name))
            .or_else(|| self.output(path, name))
            .or_else(|| self.environment_variable(path, name))
    }

    /// `{{secrets.TOKEN}}` and `{{process.env.TOKEN}}`.
    fn environment_variable(&mut self, path: &PathNode, name: &Ident) -> Option<TemplateError> {
        let variable = path.names.iter().skip(1).find(|name| name.text != "env")?;
        if !ENVIRONMENT_NAMES.contains(&name.text.as_str()) {
            return None;
        }
        let meant = format!("env.{}", variable.text);
        let is_declared =
            self.names.get("env").and_then(Shape::fields).is_some_and(|env| env.contains_key(&variable.text));
        let range = name.span.start..variable.span.end;
        let error = self.error(&range, Code::UnknownVariable, format!("unknown variable `{}`", name.text));
        Some(match is_declared {
            true => error.help(format!("write `{meant}`")).certain(meant),
            false => error.help(format!("declare `{}` under `env`, and write `{{{{{meant}}}}}`", variable.text)),
        })
    }

    /// `{{item}}` and `{{item.name}}` in a loop.
    fn item(&mut self, path: &PathNode, name: &Ident) -> Option<TemplateError> {
        let is_loop = self.frames.len() > 1 || self.names.this().is_some();
        if !is_loop || !ITEM_NAMES.contains(&name.text.as_str()) {
            return None;
        }
        let error = self.error(&name.span, Code::UnknownVariable, format!("unknown variable `{}`", name.text));
        let fields = path.names.iter().skip(1).map(|field| field.text.as_str());
        let meant = std::iter::once("this").chain(fields).collect::<Vec<_>>().join(".");
        Some(error.help(format!("write `{meant}`: the item of a loop is `this`")).certain("this"))
    }

    /// `{{args.who}}`, and `{{input}}` where there is one argument.
    fn argument_of(&mut self, path: &PathNode, name: &Ident) -> Option<TemplateError> {
        if !ARGUMENT_OWNERS.contains(&name.text.as_str()) {
            return None;
        }
        let arguments = self.names.get("arguments").and_then(Shape::fields)?;
        let message = format!("unknown variable `{}`", name.text);
        let Some(field) = path.names.get(1) else {
            let only = arguments.keys().next().filter(|_| arguments.len() == 1)?;
            let error = self.error(&name.span, Code::UnknownVariable, message);
            return Some(error.help(format!("did you mean `{only}`?")).replacement(only.as_str()));
        };
        let argument = arguments.contains_key(&field.text).then_some(field.text.as_str())?;
        let error = self.error(&(name.span.start..field.span.end), Code::UnknownVariable, message);
        Some(error.help(format!("write `{argument}`: an argument has its own name")).certain(argument))
    }

    /// `{{output}}` of an action.
    fn output(&mut self, path: &PathNode, name: &Ident) -> Option<TemplateError> {
        let fields = self.names.get("result").filter(|_| OUTPUT_NAMES.contains(&name.text.as_str()))?.fields()?;
        let own = fields.get_key_value(name.text.as_str()).map(|(own, _)| own.as_str());
        let field = own.or_else(|| OUTPUT_FIELDS.iter().find(|field| fields.contains_key(**field)).copied())?;
        let meant = format!("result.{field}");
        let error = self.error(&name.span, Code::UnknownVariable, format!("unknown variable `{}`", name.text));
        let error = error.help(format!("write `{meant}`: `result` is the outcome of `run`"));
        Some(if path.names.len() == 1 { error.certain(meant) } else { error })
    }
}
