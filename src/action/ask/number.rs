//! Numbers of questions: fixed, or exactly one `{{…}}`.

use serde_json::{Map, Value};

use crate::action::ActionError;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, one_line, truncate};
use crate::schema::normalize_integers;
use crate::template::{NumberSlot, RenderError, Scope, Template};
use crate::yaml::Spanned;

/// Which numbers a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    /// A whole number, as of tokens.
    Count,
    /// Any number.
    Any,
    /// A number from 0 to 1.
    Fraction,
}

/// A key that takes a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberKey {
    pub(super) name: &'static str,
    pub(super) kind: NumberKind,
}

/// A number that is known at the call.
pub(super) struct NumberTemplate {
    key: &'static str,
    kind: NumberKind,
    template: Template<NumberSlot>,
}

/// The numbers of a question that have templates.
#[derive(Default)]
pub(super) struct NumberTemplates(Vec<NumberTemplate>);

impl NumberKind {
    fn describe(self) -> &'static str {
        match self {
            NumberKind::Count => "a whole number from 0 to 4294967295",
            NumberKind::Any => "a number",
            NumberKind::Fraction => "a number from 0 to 1",
        }
    }

    fn allows(self, value: &Value) -> bool {
        match self {
            NumberKind::Count => value.as_u64().is_some_and(|count| u32::try_from(count).is_ok()),
            NumberKind::Any => value.is_number(),
            NumberKind::Fraction => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
        }
    }
}

impl NumberTemplates {
    /// Compiles the number of a key: `Some(None)` for a template, which is kept, and `None` after an error.
    pub(super) fn compile(
        &mut self,
        NumberKey { name: key, kind }: NumberKey,
        written: &Spanned<&Value>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Option<Value>> {
        let (value, at) = (written.value, written.location);
        if let Value::String(text) = value
            && text.contains("{{")
        {
            let template = compiler.template(&Spanned::new(text.clone(), at), Exposure::Client)?;
            self.0.push(NumberTemplate { key, kind, template });
            return Some(None);
        }
        let mut number = value.clone();
        normalize_integers(&mut number);
        if kind.allows(&number) {
            return Some(Some(number));
        }
        let shown = value.to_string();
        compiler
            .error(
                Code::WrongType,
                at,
                format!("invalid `{key}` `{}`, expected {}", truncate(&shown, 64), kind.describe()),
            )
            .help(format!("write a number, or exactly one `{{{{…}}}}` with one: `{key}: \"{{{{limit}}}}\"`"));
        None
    }

    /// Adds the numbers of a call to the parameters. Those that are absent are left out.
    pub(super) fn render_into(&self, params: &mut Map<String, Value>, scope: &Scope) -> Result<(), ActionError> {
        for number in &self.0 {
            let Some(value) = number.render(scope)? else { continue };
            match number.kind {
                NumberKind::Fraction => {
                    let preferences = params.entry("modelPreferences").or_insert_with(|| Value::Object(Map::new()));
                    if let Value::Object(preferences) = preferences {
                        preferences.insert(number.key.to_owned(), value);
                    }
                }
                NumberKind::Count | NumberKind::Any => drop(params.insert(number.key.to_owned(), value)),
            }
        }
        Ok(())
    }
}

impl NumberTemplate {
    fn render(&self, scope: &Scope) -> Result<Option<Value>, ActionError> {
        let expected = self.kind.describe();
        let value = self.template.render(scope).map_err(|error| match error {
            RenderError::Refused { .. } => {
                ActionError::message(format!("invalid `{}`: {error}, expected {expected}", self.key))
            }
            error => error.into(),
        })?;
        match value {
            Some(number) => {
                let mut value = Value::Number(number);
                normalize_integers(&mut value);
                if self.kind.allows(&value) {
                    return Ok(Some(value));
                }
                let shown = value.to_string();
                let words = format!("invalid `{}` `{}`, expected {expected}", self.key, one_line(&shown));
                Err(ActionError::message(words))
            }
            // A question must have it.
            None if self.kind == NumberKind::Count => {
                Err(ActionError::message(format!("invalid `{}`: no value, expected {expected}", self.key)))
            }
            None => Ok(None),
        }
    }
}
