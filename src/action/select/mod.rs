//! `select`: a JMESPath expression, in the budget of its call.

mod function;
mod interpret;
#[cfg(test)]
mod tests;

use interpret::Interpreter;
use jmespath::ast::Ast;
use jmespath::{Rcvar, Variable};
use serde_json::Value;

use crate::budget::{Budget, Exhausted, weight};
use crate::compile::Compiler;
use crate::diagnostic::{Code, Span};
use crate::yaml::Spanned;

/// A compiled expression.
pub struct Selection {
    expression: jmespath::Expression<'static>,
}

/// How many steps, calls and brackets an expression may hold: each is a level of the recursion that evaluates it.
const STEPS: usize = 512;

/// The functions of JMESPath.
const FUNCTIONS: &[&str] = &[
    "abs",
    "avg",
    "ceil",
    "contains",
    "ends_with",
    "floor",
    "join",
    "keys",
    "length",
    "map",
    "max",
    "max_by",
    "merge",
    "min",
    "min_by",
    "not_null",
    "reverse",
    "sort",
    "sort_by",
    "starts_with",
    "sum",
    "to_array",
    "to_number",
    "to_string",
    "type",
    "values",
];

impl Selection {
    /// Compiles an expression; a fault is reported at its place.
    pub fn compile(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Selection> {
        let steps = text.bytes().filter(|byte| b"([{!.|&".contains(byte)).count();
        if steps > STEPS {
            compiler.error(Code::Nesting, text.at, format!("this expression takes more than {STEPS} steps"));
            return None;
        }
        let expression = match jmespath::compile(text) {
            Ok(expression) => expression,
            Err(error) => {
                report(&error, text, compiler);
                return None;
            }
        };
        let mut called = Vec::new();
        calls(expression.as_ast(), &mut called);
        let unknown = called.into_iter().find(|name| !FUNCTIONS.contains(&name.as_str()));
        let Some(unknown) = unknown else { return Some(Selection { expression }) };
        let at = text.find(&format!("{unknown}(")).unwrap_or_default();
        let span = compiler.span_within(text.at, at..at + unknown.len());
        compiler.error(Code::Select, span, format!("JMESPath has no function `{unknown}`")).did_you_mean(
            &unknown,
            span,
            FUNCTIONS.iter().copied(),
        );
        None
    }

    /// Selects from a value. What the expression cannot do with the value gives its words.
    ///
    /// # Errors
    /// A function that is given what it cannot take, and more than the call may do or hold.
    pub fn apply(&self, value: &Value, budget: &Budget) -> Result<Value, SelectError> {
        let level = budget.level();
        let (found, size) = budget.run(|| self.apply_once(value, budget))??;
        budget.release(level, size);
        Ok(found)
    }

    /// Selects from a value. Gives what was found, and how much it holds.
    fn apply_once(&self, value: &Value, budget: &Budget) -> Result<(Value, usize), SelectError> {
        let failed = |error: jmespath::JmespathError| SelectError::of_reason(&error.reason);
        let interpreter = Interpreter { expression: self.expression.as_str(), budget };
        budget.hold(weight(value))?;
        let data = Rcvar::new(Variable::from_serializable(value).map_err(failed)?);
        let found = interpreter.find(&data, self.expression.as_ast(), 0)?;
        // What is named twice is written out twice.
        let size = interpreter.weigh(&found, Budget::hold)?;
        let found = serde_json::to_value(&*found).map_err(|error| SelectError::misfit(error.to_string()))?;
        Ok((found, size))
    }
}

/// Why an expression could not be applied to a value.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// It cannot do what it says with this value.
    #[error("`select` does not fit the answer: {message}")]
    Misfit {
        /// What JMESPath says.
        message: String,
    },
    /// The call may do no more.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

impl SelectError {
    fn misfit(message: String) -> SelectError {
        SelectError::Misfit { message }
    }

    fn of_reason(reason: &jmespath::ErrorReason) -> SelectError {
        SelectError::misfit(reason.to_string().to_lowercase())
    }
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Selection({:?})", self.expression.as_str())
    }
}

fn report(error: &jmespath::JmespathError, text: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let start = error.offset.min(text.len());
    let end = text.get(start..).and_then(|rest| rest.chars().next()).map_or(start, |next| start + next.len_utf8());
    let span: Span = compiler.span_within(text.at, start..end);
    let words = error.reason.to_string();
    let words = words.trim_start_matches("Parse error: ").split(" -- ").next().unwrap_or_default();
    let words = match words.to_lowercase() {
        parser if parser.contains("nud token") || parser.contains("led token") => "this cannot stand here".to_owned(),
        words => words.trim_end_matches('.').to_owned(),
    };
    compiler.error(Code::Select, span, format!("this is not JMESPath: {words}"));
}

/// The functions that an expression calls.
fn calls(ast: &Ast, called: &mut Vec<String>) {
    match ast {
        Ast::Function { name, args, .. } => {
            called.push(name.clone());
            args.iter().for_each(|argument| calls(argument, called));
        }
        Ast::Comparison { lhs, rhs, .. }
        | Ast::Projection { lhs, rhs, .. }
        | Ast::And { lhs, rhs, .. }
        | Ast::Or { lhs, rhs, .. }
        | Ast::Subexpr { lhs, rhs, .. } => {
            calls(lhs, called);
            calls(rhs, called);
        }
        Ast::Condition { predicate, then, .. } => {
            calls(predicate, called);
            calls(then, called);
        }
        Ast::Expref { ast: node, .. }
        | Ast::Flatten { node, .. }
        | Ast::Not { node, .. }
        | Ast::ObjectValues { node, .. } => calls(node, called),
        Ast::MultiList { elements, .. } => elements.iter().for_each(|element| calls(element, called)),
        Ast::MultiHash { elements, .. } => elements.iter().for_each(|pair| calls(&pair.value, called)),
        Ast::Identity { .. } | Ast::Field { .. } | Ast::Index { .. } | Ast::Literal { .. } | Ast::Slice { .. } => {}
    }
}
