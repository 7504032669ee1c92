//! `select`: a JMESPath expression.

mod functions;
mod interpreter;
mod key_order;
mod missing_field;
#[cfg(test)]
mod tests;

use std::ops::Range;

use interpreter::Interpreter;
use jmespath::ast::Ast;
use missing_field::find_missing_field;
use serde_json::Value;

use crate::budget::{self, BudgetExceeded, memory_size};
use crate::compile::Compiler;
use crate::diagnostic::{Code, one_line, truncate};
use crate::template::Shape;
use crate::yaml::Spanned;

/// A compiled expression.
pub struct SelectExpression {
    expression: jmespath::Expression<'static>,
}

/// How many steps, calls and brackets an expression may hold: each is a level of the recursion that evaluates it.
const MAX_EXPRESSION_STEPS: usize = 512;

/// How much of an expression a hint shows.
const MAX_SHOWN_CHARS: usize = 200;

/// The functions of JMESPath.
const FUNCTIONS: &[&str] = &[
    "abs", "avg", "ceil", "contains", "ends_with", "floor", "join", "keys", "length", "map", "max", "max_by", "merge",
    "min", "min_by", "not_null", "reverse", "sort", "sort_by", "starts_with", "sum", "to_array", "to_number",
    "to_string", "type", "values",
];

impl SelectExpression {
    /// Compiles an expression; a error is reported at its place.
    pub fn compile(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<SelectExpression> {
        match SelectExpression::parse(text) {
            Ok(expression) => Some(expression),
            Err(error) => {
                error.report(text, compiler);
                None
            }
        }
    }

    /// Parses an expression.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<SelectExpression, InvalidSelect> {
        let steps = text.bytes().filter(|byte| b"([{!.|&".contains(byte)).count();
        if steps > MAX_EXPRESSION_STEPS {
            let message = format!("expression too complex: more than {MAX_EXPRESSION_STEPS} steps");
            return Err(InvalidSelect { code: Code::Nesting, ..InvalidSelect::new(None, message) });
        }
        let expression = jmespath::compile(text).map_err(|error| syntax_error(&error, text))?;
        let mut called = Vec::new();
        collect_function_names(expression.as_ast(), &mut called);
        let unknown = called.into_iter().find(|name| !FUNCTIONS.contains(&name.as_str()));
        let Some(unknown) = unknown else { return Ok(SelectExpression { expression }) };
        let at = text.find(&format!("{unknown}(")).unwrap_or_default();
        let message = format!("unknown JMESPath function `{unknown}`");
        let error = InvalidSelect::new(Some(at..at + unknown.len()), message);
        Err(InvalidSelect { unknown_function: Some(unknown), ..error })
    }

    /// As it is written.
    pub fn source(&self) -> &str {
        self.expression.as_str()
    }

    /// Selects from a value. What the expression cannot do with the value gives its words.
    ///
    /// # Errors
    /// A function that is given what it cannot take, and more than the running call may hold.
    pub fn apply(&self, value: &Value) -> Result<Value, SelectError> {
        let select = || {
            budget::hold(memory_size(value))?;
            Interpreter::select(&self.expression, value)
        };
        // Expressions can double what they are given again and again.
        let selected = budget::run_long(|| budget::release_after(select))??;
        budget::hold(memory_size(&selected))?;
        Ok(selected)
    }

    /// Why nothing was found in a value, where that is because of a name of a field.
    pub fn hint(&self, value: &Value, found: &Value) -> Option<String> {
        let shape = (is_blank(found) || has_null(found)).then(|| Shape::inferred_from(value))?;
        let missing = find_missing_field(self.expression.as_ast(), &shape)?;
        let expression = truncate(self.expression.as_str(), MAX_SHOWN_CHARS);
        let what = if is_blank(found) { "nothing" } else { "null" };
        Some(format!("`{}` finds {what}: {}; {}", one_line(&expression), missing.message(), missing.help()))
    }

    /// Warns of a field that values of a shape cannot have.
    pub fn warn_of_missing_field(&self, text: &Spanned<String>, shape: &Shape, compiler: &mut Compiler<'_>) {
        let Some(missing) = find_missing_field(self.expression.as_ast(), shape) else { return };
        let at = text.get(missing.offset..).and_then(|rest| Some(missing.offset + rest.find(&missing.name)?));
        let span = match at {
            Some(at) => compiler.span_within(text.location, at..at + missing.name.len()),
            None => text.location.span(),
        };
        compiler.warning(Code::Select, span, missing.message()).help(missing.help());
    }
}

/// Whether a selection has found nothing: null, an empty list, or nothing but these.
fn is_blank(found: &Value) -> bool {
    match found {
        Value::Null => true,
        Value::Array(items) => items.iter().all(is_blank),
        Value::Object(fields) => !fields.is_empty() && fields.values().all(is_blank),
        _ => false,
    }
}

/// Whether a selection has found null for a part.
fn has_null(found: &Value) -> bool {
    match found {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
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

/// What is wrong with an expression.
#[derive(Debug)]
pub struct InvalidSelect {
    code: Code,
    /// Where, in bytes; `None` for all of it.
    pub range: Option<Range<usize>>,
    pub message: String,
    help: Option<String>,
    unknown_function: Option<String>,
}

impl InvalidSelect {
    fn new(range: Option<Range<usize>>, message: String) -> InvalidSelect {
        InvalidSelect { code: Code::Select, range, message, help: None, unknown_function: None }
    }

    fn report(self, text: &Spanned<String>, compiler: &mut Compiler<'_>) {
        let span = match self.range {
            Some(range) => compiler.span_within(text.location, range),
            None => text.location.span(),
        };
        let diagnostic = compiler.error(self.code, span, self.message);
        diagnostic.help = self.help;
        if let Some(unknown) = &self.unknown_function {
            diagnostic.did_you_mean(unknown, FUNCTIONS.iter().copied());
        }
    }
}

fn syntax_error(error: &jmespath::JmespathError, text: &str) -> InvalidSelect {
    let start = error.offset.min(text.len());
    let end = text.get(start..).and_then(|rest| rest.chars().next()).map_or(start, |next| start + next.len_utf8());
    let words = error.reason.to_string();
    let words = words.trim_start_matches("Parse error: ").split(" -- ").next().unwrap_or_default();
    let words = match words.to_lowercase() {
        parser if parser.contains("nud token") || parser.contains("led token") => "unexpected token".to_owned(),
        words => words.trim_end_matches('.').to_owned(),
    };
    let help = other_language(text).map(|meant| format!("`select` is JMESPath: write `{meant}`"));
    InvalidSelect { help, ..InvalidSelect::new(Some(start..end), format!("invalid JMESPath: {words}")) }
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
