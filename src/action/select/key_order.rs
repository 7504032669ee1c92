//! The order of keys, which the objects of `jmespath` do not have: they are sorted.
//!
//! Values are converted both ways here. An object whose keys are not in sorted order is noted by its address.

use std::collections::BTreeMap;
use std::sync::Arc;

use jmespath::ast::KeyValuePair;
use jmespath::{Rcvar, Variable};
use serde_json::{Map, Value};

/// The orders of the objects whose keys are not sorted.
#[derive(Default)]
pub(super) struct KeyOrders<'v> {
    orders: Vec<ObjectOrder<'v>>,
    /// The objects that expressions made, so that no other gets the address of one.
    created: Vec<Rcvar>,
    /// The keys of the last such object: an expression makes many alike.
    last_keys: Option<Arc<[String]>>,
}

/// The address of an object, and its keys.
struct ObjectOrder<'v> {
    address: usize,
    keys: Keys<'v>,
}

enum Keys<'v> {
    Input(&'v Map<String, Value>),
    Created(Arc<[String]>),
}

fn address(value: &Rcvar) -> usize {
    Arc::as_ptr(value) as usize
}

impl<'v> KeyOrders<'v> {
    /// The value for `jmespath`. The orders hold as long as it does.
    pub(super) fn variable_of(&mut self, value: &'v Value) -> Rcvar {
        match value {
            Value::Null => Rcvar::new(Variable::Null),
            Value::Bool(holds) => Rcvar::new(Variable::Bool(*holds)),
            Value::Number(number) => Rcvar::new(Variable::Number(number.clone())),
            Value::String(text) => Rcvar::new(Variable::String(text.clone())),
            Value::Array(items) => {
                Rcvar::new(Variable::Array(items.iter().map(|item| self.variable_of(item)).collect()))
            }
            Value::Object(fields) => {
                let sorted: BTreeMap<String, Rcvar> =
                    fields.iter().map(|(key, field)| (key.clone(), self.variable_of(field))).collect();
                let object = Rcvar::new(Variable::Object(sorted));
                if !fields.keys().is_sorted() {
                    self.orders.push(ObjectOrder { address: address(&object), keys: Keys::Input(fields) });
                }
                object
            }
        }
    }

    /// Notes the order of an object that an expression made.
    pub(super) fn record_created_object(&mut self, object: &Rcvar, elements: &[KeyValuePair]) {
        let keys = || elements.iter().map(|pair| &pair.key);
        if keys().is_sorted() {
            return;
        }
        let known = self.last_keys.take().filter(|known| known.iter().eq(keys()));
        let known = known.unwrap_or_else(|| keys().cloned().collect());
        self.orders.push(ObjectOrder { address: address(object), keys: Keys::Created(known.clone()) });
        self.created.push(object.clone());
        self.last_keys = Some(known);
    }

    /// The value of what was found.
    pub(super) fn into_value(mut self, found: &Rcvar) -> Result<Value, serde_json::Error> {
        self.orders.sort_by_key(|order| order.address);
        self.value_of(found)
    }

    fn value_of(&self, found: &Rcvar) -> Result<Value, serde_json::Error> {
        Ok(match &**found {
            Variable::Null => Value::Null,
            Variable::Bool(holds) => Value::Bool(*holds),
            Variable::Number(number) => Value::Number(number.clone()),
            Variable::String(text) => Value::String(text.clone()),
            Variable::Array(items) => {
                Value::Array(items.iter().map(|item| self.value_of(item)).collect::<Result<_, _>>()?)
            }
            Variable::Object(fields) => Value::Object(self.fields_of(found, fields)?),
            Variable::Expref(_) => serde_json::to_value(&**found)?,
        })
    }

    fn fields_of(
        &self,
        object: &Rcvar,
        fields: &BTreeMap<String, Rcvar>,
    ) -> Result<Map<String, Value>, serde_json::Error> {
        let place = self.orders.binary_search_by_key(&address(object), |order| order.address).ok();
        let mut ordered = Map::with_capacity(fields.len());
        let mut insert = |key: &String| -> Result<(), serde_json::Error> {
            if let Some(field) = fields.get(key) {
                ordered.insert(key.clone(), self.value_of(field)?);
            }
            Ok(())
        };
        match place.and_then(|place| self.orders.get(place)).map(|order| &order.keys) {
            Some(Keys::Input(fields)) => fields.keys().try_for_each(&mut insert)?,
            Some(Keys::Created(keys)) => keys.iter().try_for_each(&mut insert)?,
            None => fields.keys().try_for_each(&mut insert)?,
        }
        Ok(ordered)
    }
}
