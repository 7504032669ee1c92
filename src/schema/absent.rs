//! Values that mean nothing: null, of hosts that send all arguments, `""` of a form, and `[]` for an object, as PHP
//! has no other empty array.

use serde_json::{Map, Value, json};

use crate::budget::BudgetExceeded;

use super::coerce::declares_type;
use super::{Schema, Violation};

/// Whether an empty text may mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyText {
    /// It is a text like others.
    Text,
    /// It may: of a field that was left empty in a form.
    Absent,
}

impl Schema {
    /// Values with the defaults of those that are absent, and how they violate the schema. Absent is also a value that
    /// means nothing, if its property is optional and does not accept it; `[]` becomes `{}` where only that is
    /// accepted.
    ///
    /// # Errors
    /// The running call ends.
    pub fn settle(
        &self,
        mut values: Map<String, Value>,
        empty_text: EmptyText,
    ) -> Result<(Map<String, Value>, Vec<Violation>), BudgetExceeded> {
        self.fill_defaults(&mut values);
        let (mut values, violations) = self.check_values(values)?;
        if violations.is_empty() || !self.replace_empty(&mut values, empty_text) {
            return Ok((values, violations));
        }
        self.fill_defaults(&mut values);
        self.check_values(values)
    }

    fn check_values(&self, values: Map<String, Value>) -> Result<(Map<String, Value>, Vec<Violation>), BudgetExceeded> {
        let whole = Value::Object(values);
        let violations = self.violations(&whole)?;
        match whole {
            Value::Object(values) => Ok((values, violations)),
            _ => Ok((Map::new(), violations)),
        }
    }

    /// Takes what means nothing as such. False where nothing does.
    fn replace_empty(&self, values: &mut Map<String, Value>, empty_text: EmptyText) -> bool {
        let mut is_changed = false;
        values.retain(|name, value| {
            let is_nothing = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty() && empty_text == EmptyText::Absent,
                _ => false,
            };
            let is_list = value.as_array().is_some_and(Vec::is_empty);
            let Some(property) = self.property(name).filter(|_| is_nothing || is_list) else { return true };
            if self.allows_property(name, value) {
                return true;
            }
            if is_list && declares_type(self.root(), property, "object") {
                *value = json!({});
                is_changed = true;
            }
            let is_dropped = is_nothing && !self.requires(name);
            is_changed |= is_dropped;
            !is_dropped
        });
        is_changed
    }
}
