//! Checks variables.

use std::borrow::Cow;

use super::Checker;
use super::frame::{ScopeFrame, TypedValue};
use crate::diagnostic::{Code, quote_names};
use crate::template::error::{TemplateError, WholeOutcome};
use crate::template::helper::is_helper;
use crate::template::missing_output::may_mismatch;
use crate::template::shape::{Shape, field_shape};
use crate::template::syntax::{Ident, PathNode};

/// How many fields an error lists.
const MAX_LISTED_FIELDS: usize = 12;

const LOCAL_NAMES: [&str; 4] = ["index", "key", "first", "last"];

const CALLER_HEADERS_HELP: &str =
    "list the headers that clients send in `http` of the served manifest: `callerHeaders: [X-Desk-Key]`";

impl<'a> Checker<'a> {
    /// The value of a variable; unknown after an error, which is reported.
    pub(super) fn path(&mut self, path: &'a PathNode) -> TypedValue<'a> {
        let value = if path.local { self.local_variable(path) } else { self.variable(path) };
        value.unwrap_or_else(|error| {
            self.report(*error);
            TypedValue::computed(Shape::Any)
        })
    }

    /// Whether a plain name is a variable here.
    pub(super) fn is_variable(&self, name: &str) -> bool {
        let bound = self.frames.iter().any(|frame| frame.params.iter().any(|(bound, _)| *bound == name));
        let this = self.frames.last().map(|frame| &frame.this.shape);
        bound || this.is_some_and(|shape| **shape != Shape::Any && field_shape(shape, name).is_some())
    }

    /// Whether any name may be a variable here.
    pub(super) fn scope_is_unknown(&self) -> bool {
        self.frames.last().is_none_or(|frame| *frame.this.shape == Shape::Any)
    }

    /// Records that a value is read as a whole.
    pub(super) fn mark_read(&mut self, value: &TypedValue<'a>) {
        self.outcome.read_paths.extend(value.paths().cloned());
        self.mark_required(value);
    }

    /// Records what the output contains.
    pub(super) fn mark_printed(&mut self, value: &TypedValue<'a>) {
        self.outcome.printed_paths.extend(value.paths().cloned());
    }

    /// Records an outcome that the output contains as JSON.
    pub(super) fn mark_whole_outcome(&mut self, path: &PathNode, value: &TypedValue<'a>) {
        let (one, is_list) = match value.shape.as_ref() {
            Shape::List(item) => (item.as_ref(), true),
            shape => (shape, false),
        };
        let Some(fields) = one.fields().filter(|fields| !fields.is_empty()) else { return };
        if value.paths().any(|path| self.names.is_of_outcome(path)) {
            let name = self.current_text.text.get(path.span.clone()).unwrap_or_default().to_owned();
            let (fields, span) = (fields.keys().cloned().collect(), self.span(path.span.clone()));
            self.outcome.whole_outcomes.push(WholeOutcome { name, fields, is_list, span });
        }
    }

    /// Records that rendering needs a value, or parts of it.
    pub(super) fn mark_required(&mut self, value: &TypedValue<'a>) {
        if let Some(origin) = &value.origin {
            self.outcome.required_paths.insert(origin.clone());
        }
    }

    fn frame_above(&self, ups: usize) -> Option<(usize, &ScopeFrame<'a>)> {
        let index = self.frames.len().checked_sub(1 + ups)?;
        Some((index, self.frames.get(index)?))
    }

    fn local_variable(&mut self, path: &'a PathNode) -> Result<TypedValue<'a>, Box<TemplateError>> {
        let Some(name) = path.names.first() else { return Ok(TypedValue::computed(Shape::Any)) };
        let (locals, loop_key) =
            self.frame_above(path.parent_steps).map(|(_, frame)| (frame.locals, frame.key.clone())).unzip();
        let (locals, loop_key) = (locals.unwrap_or_default(), loop_key.map(|key| key.source_paths).unwrap_or_default());
        let is_key = name.text == "key";
        let shape = match name.text.as_str() {
            "index" if locals.index => Shape::Number,
            "first" | "last" if locals.index => Shape::Boolean,
            "key" if locals.key => Shape::Text,
            _ if self.rules.any_scope => Shape::Any,
            _ => return Err(Box::new(self.unknown_local(path, &name.text, locals.index))),
        };
        let source_paths = if is_key { loop_key } else { Vec::new() };
        Ok(TypedValue { source_paths, ..TypedValue::computed(shape) })
    }

    fn unknown_local(&mut self, path: &PathNode, name: &str, in_loop: bool) -> TemplateError {
        let error = self.error(&path.span, Code::UnknownVariable, format!("unknown variable `@{name}`"));
        match (LOCAL_NAMES.contains(&name), in_loop) {
            (true, true) => error.help("a list has `@index`; only an object has `@key`").replacement("@index"),
            (true, false) => error.help(format!("`@{name}` is only defined inside `{{{{#each …}}}}`")),
            (false, _) => match crate::diagnostic::nearest(name, LOCAL_NAMES) {
                Some(near) => error.help(format!("did you mean `@{near}`?")).replacement(format!("@{near}")),
                None => error.help("expected one of `@index`, `@key`, `@first`, `@last`, `@root.…`"),
            },
        }
    }

    fn variable(&mut self, path: &'a PathNode) -> Result<TypedValue<'a>, Box<TemplateError>> {
        let (mut value, names) = self.path_start(path)?;
        for name in names {
            if value.shape.has_unknown_field(&name.text) && self.in_template() {
                self.outcome.unchecked_paths.insert(path.span.start);
            }
            value = match self.field_of(&value, name) {
                Some(next) => next,
                None if self.is_optional_parameter(path, name, &value.shape) => {
                    if self.in_template() {
                        self.outcome.unchecked_paths.insert(path.span.start);
                    }
                    return Ok(TypedValue::computed(Shape::Any));
                }
                None => return Err(Box::new(self.unknown_field(path, name, &value))),
            };
        }
        if let Some(origin) = value.origin.as_ref().filter(|_| self.in_template())
            && may_mismatch(origin)
        {
            self.outcome.output_paths.insert(path.span.start, origin.clone());
        }
        Ok(value)
    }

    /// The value at the start of a path, and the names after it.
    fn path_start(&mut self, path: &'a PathNode) -> Result<(TypedValue<'a>, &'a [Ident]), Box<TemplateError>> {
        let names = path.names.as_slice();
        if path.root {
            let root = self.frames.first().map(|frame| frame.this.clone());
            return Ok((root.unwrap_or_else(|| TypedValue::computed(Shape::Any)), names));
        }
        // Handlebars resolves block parameters first, in every scope, even after `this` and `../`.
        if let Some((first, rest)) = names.split_first() {
            let bound = |frame: &ScopeFrame<'a>| frame.params.iter().find(|(name, _)| *name == first.text).cloned();
            if let Some((_, value)) = self.frames.iter().rev().find_map(bound) {
                return Ok((value, rest));
            }
        }
        let Some((index, frame)) = self.frame_above(path.parent_steps) else { return self.resolve_above_root(path) };
        let this = frame.this.clone();
        if let (true, Some(shape)) = (index == 0 && path.this, self.names.this()) {
            if self.in_template() {
                self.outcome.outer_this_paths.insert(path.span.start);
            }
            let origin = Some(vec!["this".to_owned()]);
            let source_paths = self.names.this_source_paths().to_vec();
            return Ok((TypedValue { source_paths, ..TypedValue::with_origin(Cow::Borrowed(shape), origin) }, names));
        }
        if this.is_root() && names.is_empty() && !self.rules.any_scope {
            let message = "`this` is not a value at the top level";
            let error = self.error(&path.span, Code::UnknownVariable, message);
            return Err(Box::new(error.help("name a variable; `this` is the element inside `{{#each …}}`")));
        }
        Ok((this, names))
    }

    fn resolve_above_root(&mut self, path: &'a PathNode) -> Result<(TypedValue<'a>, &'a [Ident]), Box<TemplateError>> {
        if self.rules.any_scope {
            return Ok((TypedValue::computed(Shape::Any), path.names.as_slice()));
        }
        let message = "`../` without a parent scope";
        let error = self.error(&path.span, Code::UnknownVariable, message);
        let error = error.help("use `../` inside `{{#each}}`, `{{#with}}` or a partial, or `@root.` for the top level");
        Err(Box::new(error))
    }

    fn field_of(&mut self, value: &TypedValue<'a>, name: &Ident) -> Option<TypedValue<'a>> {
        let shape = field_shape(&value.shape, &name.text)?;
        if matches!(value.shape.as_ref(), Shape::List(_)) {
            self.mark_read(value);
            return Some(TypedValue::derived_from(shape, value));
        }
        Some(TypedValue::field_of(shape, value, &name.text))
    }

    fn unknown_field(&mut self, path: &PathNode, name: &Ident, value: &TypedValue<'a>) -> TemplateError {
        let earlier = path.names.iter().filter(|other| other.span.start < name.span.start);
        let before: Vec<&str> = earlier.map(|name| name.text.as_str()).collect();
        let owner = if before.is_empty() { "this".to_owned() } else { before.join(".") };
        let wrong = &name.text;
        if self.is_full() {
            return self.error(&name.span, Code::UnknownVariable, format!("unknown field `{wrong}`"));
        }
        if value.is_root() {
            if let Some(error) = self.foreign_name(path, name) {
                return error;
            }
            return self.unknown_variable(name, path.single_name().is_some());
        }
        let message = match value.shape.as_ref() {
            Shape::List(_) => format!("unknown field `{wrong}`: `{owner}` is a list"),
            Shape::Object(_) => format!("unknown field `{wrong}` of `{owner}`"),
            other => format!("unknown field `{wrong}`: `{owner}` is {}", other.describe()),
        };
        if let Some((message, help)) = self.names.unfinished_step(wrong).filter(|_| before == ["steps"]) {
            return self.error(&name.span, Code::UnknownVariable, message).help(help);
        }
        if let Some(error) = self.foreign_name(path, name) {
            return error;
        }
        let error = self.error(&name.span, Code::UnknownVariable, message);
        if before.is_empty() && self.names.get(wrong).is_some() && !self.rules.any_scope {
            let help = format!("inside this block names are fields of `this`; write `@root.{wrong}`");
            let error = error.help(help);
            return if path.single_name().is_some() { error.replacement(format!("@root.{wrong}")) } else { error };
        }
        match value.shape.as_ref() {
            Shape::Object(fields) => {
                let error = error.did_you_mean(wrong, fields.keys().map(String::as_str));
                if before == ["arguments"] && fields.is_empty() {
                    return error.help(format!("declare it: `arguments: {{ {wrong}: {{}} }}`"));
                }
                if before == ["caller"] && wrong == "headers" {
                    return error.help(CALLER_HEADERS_HELP);
                }
                if before == ["caller", "headers"] && error.help.is_none() {
                    let known = quote_names(&fields.keys().collect::<Vec<_>>());
                    return error.help(format!("{CALLER_HEADERS_HELP}; declared are {known}"));
                }
                if before == ["env"] && error.help.is_none() {
                    return error.help(format!("declare it at the top of the manifest: `env: {{ {wrong}: {{}} }}`"));
                }
                with_field_list(error, &fields.keys().map(String::as_str).collect::<Vec<_>>())
            }
            Shape::List(_) => {
                error.help("loop over it with `{{#each …}}`, or take one element with `{{first …}}` or an index")
            }
            _ => error,
        }
    }

    fn unknown_variable(&mut self, name: &Ident, plain: bool) -> TemplateError {
        let wrong = name.text.as_str();
        let error = self.error(&name.span, Code::UnknownVariable, format!("unknown variable `{wrong}`"));
        for owner in ["env", "steps", "server", "result", "arguments"] {
            let there = self.names.get(owner).and_then(Shape::fields).is_some_and(|fields| fields.contains_key(wrong));
            if there {
                let known = self.names.get("arguments").and_then(Shape::fields).filter(|_| owner == "server");
                let known: Vec<&str> = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
                let near = format!("did you mean `{owner}.{wrong}`?");
                let error = error.replacement(format!("{owner}.{wrong}"));
                return match known.is_empty() || known.len() > MAX_LISTED_FIELDS {
                    true => error.help(near),
                    false => error.help(format!("{near} the arguments here are {}", quote_names(&known))),
                };
            }
        }
        if let ("result", Some(steps)) = (wrong, self.names.get("steps").and_then(Shape::fields)) {
            return with_step_help(error, &steps.keys().map(String::as_str).collect::<Vec<_>>());
        }
        if wrong == "steps" && self.names.get("result").is_some() {
            return error.help("the outcome of a single action is `result`; steps in a list have an `id`");
        }
        if wrong == "now" && plain {
            return error.help("write `(now)`: it is a helper").certain("(now)");
        }
        let bound = self.frames.iter().flat_map(|frame| frame.params.iter().map(|(name, _)| *name));
        let candidates: Vec<&str> = self.names.iter().chain(bound).collect();
        if candidates.is_empty() {
            return error.help("no variables are in scope");
        }
        let error = error.did_you_mean(wrong, candidates);
        match (&error.help, is_helper(wrong)) {
            (Some(_), _) => error,
            (None, true) => error.help(format!("`{wrong}` is a helper")),
            (None, false) => self.with_declared_arguments(error),
        }
    }
}

impl Checker<'_> {
    /// Adds how to declare an argument, where there are any.
    fn with_declared_arguments(&self, error: TemplateError) -> TemplateError {
        let known = self.names.get("arguments").and_then(Shape::fields);
        let known: Vec<&str> = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
        match known.as_slice() {
            [] => error.help("no argument is declared here: add it under `arguments`"),
            [..] if known.len() > MAX_LISTED_FIELDS => error.help("declare it under `arguments`"),
            _ => error.help(format!("declare it under `arguments`, or write one of {}", quote_names(&known))),
        }
    }
}

/// Adds what to write for the outcome of an earlier step.
fn with_step_help(error: TemplateError, ids: &[&str]) -> TemplateError {
    match ids {
        [] => error.help("give the earlier step an `id`, and write `{{steps.ID.stdout}}` for its output"),
        [only] => {
            error.help(format!("write `steps.{only}`, the outcome of that step")).replacement(format!("steps.{only}"))
        }
        _ => error.help(format!("name the step, as in `{{{{steps.{}.stdout}}}}`", ids.last().unwrap_or(&"ID"))),
    }
}

/// Adds the list of fields, where it is short.
fn with_field_list(mut error: TemplateError, fields: &[&str]) -> TemplateError {
    if fields.is_empty() || fields.len() > MAX_LISTED_FIELDS {
        return error;
    }
    let all = format!("available fields: {}", quote_names(fields));
    error.help = Some(match error.help {
        Some(near) => format!("{near} {all}"),
        None => all,
    });
    error
}
