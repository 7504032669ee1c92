//! Expressions that are evaluated without Handlebars: variables, literals and plain helpers.

use std::borrow::Cow;

use serde_json::Value;

use super::check::TemplateCheck;
use super::helper::{HelperFn, HelperParams, HelperValue, checks_presence, helper_fn};
use super::render::RenderError;
use super::scope::Scope;
use super::syntax::{Expression, PathNode};

/// An expression.
#[derive(Debug)]
pub(super) enum PlainExpression {
    /// A path for [`Scope::get`].
    Path(Vec<String>),
    Literal(Box<Value>),
    Call(Box<Call>),
}

/// A call of a helper.
#[derive(Debug)]
pub(super) struct Call {
    helper: HelperFn,
    params: Vec<PlainExpression>,
    options: Vec<(String, PlainExpression)>,
    /// Whether an output of another form is null.
    tests: bool,
}

impl PlainExpression {
    /// Compiles an expression; `None` where it needs Handlebars.
    pub fn compile(source: &str, expression: &Expression, checked: &TemplateCheck) -> Option<PlainExpression> {
        let of = |expression| PlainExpression::compile(source, expression, checked);
        match expression {
            Expression::Path(path) => plain_path(path, checked).map(PlainExpression::Path),
            Expression::Literal(value, span) => {
                // Whether Handlebars parses it in the same way.
                let is_portable = match value {
                    Value::Null | Value::Bool(_) => true,
                    Value::Number(number) => number.is_i64(),
                    Value::String(_) => !source.get(span.clone())?.contains('\\'),
                    Value::Array(_) | Value::Object(_) => false,
                };
                is_portable.then(|| PlainExpression::Literal(Box::new(value.clone())))
            }
            Expression::Call(call) => Some(PlainExpression::Call(Box::new(Call {
                helper: helper_fn(&call.helper.text)?,
                tests: checks_presence(&call.helper.text),
                params: call.arguments.params.iter().map(of).collect::<Option<_>>()?,
                options: call
                    .arguments
                    .options
                    .iter()
                    .map(|(name, value)| Some((name.text.clone(), of(value)?)))
                    .collect::<Option<_>>()?,
            }))),
        }
    }

    /// Whether it is the `json` of an output that is `null`.
    pub fn is_null_output(&self, scope: &Scope) -> bool {
        matches!(self, PlainExpression::Path(path) if scope.is_null_output(path))
    }

    /// Its value; null where it is absent.
    pub fn value<'v>(&'v self, scope: &'v Scope) -> Result<Cow<'v, Value>, RenderError> {
        match self {
            PlainExpression::Path(path) => scope.read(path).map(Cow::Borrowed),
            PlainExpression::Literal(value) => Ok(Cow::Borrowed(value)),
            PlainExpression::Call(call) => call.evaluate(scope).map(Cow::Owned),
        }
    }
}

impl Call {
    fn evaluate(&self, scope: &Scope) -> HelperValue {
        let params = self.params.iter().map(|plain_expression| match plain_expression.value(scope) {
            Err(RenderError::OutputMismatch { .. }) if self.tests => Ok(Cow::Owned(Value::Null)),
            value => value,
        });
        let options = self
            .options
            .iter()
            .map(|(name, plain_expression)| plain_expression.value(scope).map(|value| (name.as_str(), value)));
        let values =
            HelperArguments { params: params.collect::<Result<_, _>>()?, options: options.collect::<Result<_, _>>()? };
        (self.helper)(&values)
    }
}

/// The values of the arguments of a helper.
struct HelperArguments<'v> {
    params: Vec<Cow<'v, Value>>,
    options: Vec<(&'v str, Cow<'v, Value>)>,
}

impl HelperParams for HelperArguments<'_> {
    fn param(&self, index: usize) -> Option<&Value> {
        self.params.get(index).map(Cow::as_ref)
    }

    fn option(&self, name: &str) -> Option<&Value> {
        self.options.iter().find_map(|(known, value)| (*known == name).then_some(value.as_ref()))
    }
}

/// The path of a variable for [`Scope::get`]; `None` where it needs Handlebars.
pub(super) fn plain_path(path: &PathNode, checked: &TemplateCheck) -> Option<Vec<String>> {
    let PathNode { span, local, parent_steps, names, .. } = path;
    if *local || *parent_steps > 0 || checked.now_helpers.contains(&span.start) {
        return None;
    }
    let this = checked.outer_this_paths.contains(&span.start).then(|| "this".to_owned());
    let path: Vec<String> = this.into_iter().chain(names.iter().map(|name| name.text.clone())).collect();
    (!path.is_empty()).then_some(path)
}
