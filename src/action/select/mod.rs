//! `select`: a JMESPath expression, evaluated within the budget of its call.

mod functions;
mod interpreter;
mod key_order;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use interpreter::Interpreter;
use jmespath::ast::Ast;
use key_order::KeyOrders;
use serde_json::Value;

use crate::budget::{Budget, BudgetExceeded, memory_size};
use crate::compile::Compiler;
use crate::diagnostic::{Code, Span};
use crate::yaml::Spanned;

/// A compiled expression.
pub struct SelectExpression {
    expression: jmespath::Expression<'static>,
}

/// How many steps, calls and brackets an expression may hold: each is a level of the recursion that evaluates it.
const MAX_EXPRESSION_STEPS: usize = 512;

/// The functions of JMESPath.
const FUNCTIONS: &[&str] = &[
    "abs", "avg", "ceil", "contains", "ends_with", "floor", "join", "keys", "length", "map", "max", "max_by", "merge",
    "min", "min_by", "not_null", "reverse", "sort", "sort_by", "starts_with", "sum", "to_array", "to_number",
    "to_string", "type", "values",
];

impl SelectExpression {
    /// Compiles an expression; a error is reported at its place.
    pub fn compile(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<SelectExpression> {
        let steps = text.bytes().filter(|byte| b"([{!.|&".contains(byte)).count();
        if steps > MAX_EXPRESSION_STEPS {
            compiler.error(
                Code::Nesting,
                text.location,
                format!("expression too complex: more than {MAX_EXPRESSION_STEPS} steps"),
            );
            return None;
        }
        let expression = match jmespath::compile(text) {
            Ok(expression) => expression,
            Err(error) => {
                report_parse_error(&error, text, compiler);
                return None;
            }
        };
        let mut called = Vec::new();
        collect_function_names(expression.as_ast(), &mut called);
        let unknown = called.into_iter().find(|name| !FUNCTIONS.contains(&name.as_str()));
        let Some(unknown) = unknown else { return Some(SelectExpression { expression }) };
        let at = text.find(&format!("{unknown}(")).unwrap_or_default();
        let span = compiler.span_within(text.location, at..at + unknown.len());
        compiler.error(Code::Select, span, format!("unknown JMESPath function `{unknown}`")).did_you_mean(
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
        let level = budget.memory_mark();
        let (found, size) = budget.run_repeatable(|| self.apply_once(value, budget))??;
        budget.release_to(level, size);
        Ok(found)
    }

    /// Selects from a value. Gives what was found, and how much it holds.
    fn apply_once(&self, value: &Value, budget: &Budget) -> Result<(Value, usize), SelectError> {
        budget.charge_memory(memory_size(value))?;
        let mut orders = KeyOrders::default();
        let data = orders.variable_of(value);
        let interpreter = Interpreter { expression: self.expression.as_str(), budget, orders: RefCell::new(orders) };
        let found = interpreter.eval(&data, self.expression.as_ast(), 0)?;
        // What is named twice is written out twice.
        let size = interpreter.charge_value(&found, Budget::charge_memory)?;
        let orders = interpreter.orders.into_inner();
        let found = orders.into_value(&found).map_err(|error| SelectError::mismatch(error.to_string()))?;
        Ok((found, size))
    }
}

/// Why an expression could not be applied to a value.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// It cannot do what it says with this value.
    #[error("`select`{place} failed: {message}")]
    Mismatch {
        /// Where it is written, such as `` of `steps.ID.NAME` ``.
        place: String,
        /// What JMESPath says.
        message: String,
    },
    /// The call may do no more.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
}

impl SelectError {
    fn mismatch(message: String) -> SelectError {
        SelectError::Mismatch { place: String::new(), message }
    }

    /// Names where it is written.
    #[must_use]
    pub fn at_path(self, path: &str) -> SelectError {
        match self {
            SelectError::Mismatch { message, .. } => SelectError::Mismatch { place: format!(" of `{path}`"), message },
            other => other,
        }
    }

    fn from_reason(reason: &jmespath::ErrorReason) -> SelectError {
        let reason = reason.to_string().to_lowercase();
        SelectError::mismatch(reason.strip_prefix("runtime error: ").unwrap_or(&reason).to_owned())
    }
}

impl std::fmt::Debug for SelectExpression {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SelectExpression({:?})", self.expression.as_str())
    }
}

fn report_parse_error(error: &jmespath::JmespathError, text: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let start = error.offset.min(text.len());
    let end = text.get(start..).and_then(|rest| rest.chars().next()).map_or(start, |next| start + next.len_utf8());
    let span: Span = compiler.span_within(text.location, start..end);
    let words = error.reason.to_string();
    let words = words.trim_start_matches("Parse error: ").split(" -- ").next().unwrap_or_default();
    let words = match words.to_lowercase() {
        parser if parser.contains("nud token") || parser.contains("led token") => "unexpected token".to_owned(),
        words => words.trim_end_matches('.').to_owned(),
    };
    let diagnostic = compiler.error(Code::Select, span, format!("invalid JMESPath: {words}"));
    if let Some(meant) = other_language(text) {
        diagnostic.help(format!("`select` is JMESPath: write `{meant}`"));
    }
}

/// A path of JSONPath (`$.items[*].name`) or jq (`.items[].name`), as JMESPath has it.
fn other_language(text: &str) -> Option<String> {
    let text = text.trim();
    let path = text.strip_prefix('$').or_else(|| text.starts_with('.').then_some(text))?.trim_start_matches('.');
    let is_simple = path.chars().all(|character| character.is_ascii_alphanumeric() || "_-.[]*".contains(character));
    let meant = path.replace(".[", "[");
    (is_simple && !path.contains("..")).then(|| if meant.is_empty() { "@".to_owned() } else { meant })
}

/// The functions that an expression calls.
fn collect_function_names(ast: &Ast, called: &mut Vec<String>) {
    match ast {
        Ast::Function { name, args, .. } => {
            called.push(name.clone());
            args.iter().for_each(|argument| collect_function_names(argument, called));
        }
        Ast::Comparison { lhs, rhs, .. }
        | Ast::Projection { lhs, rhs, .. }
        | Ast::And { lhs, rhs, .. }
        | Ast::Or { lhs, rhs, .. }
        | Ast::Subexpr { lhs, rhs, .. } => {
            collect_function_names(lhs, called);
            collect_function_names(rhs, called);
        }
        Ast::Condition { predicate, then, .. } => {
            collect_function_names(predicate, called);
            collect_function_names(then, called);
        }
        Ast::Expref { ast: node, .. }
        | Ast::Flatten { node, .. }
        | Ast::Not { node, .. }
        | Ast::ObjectValues { node, .. } => collect_function_names(node, called),
        Ast::MultiList { elements, .. } => elements.iter().for_each(|element| collect_function_names(element, called)),
        Ast::MultiHash { elements, .. } => elements.iter().for_each(|pair| collect_function_names(&pair.value, called)),
        Ast::Identity { .. } | Ast::Field { .. } | Ast::Index { .. } | Ast::Literal { .. } | Ast::Slice { .. } => {}
    }
}
