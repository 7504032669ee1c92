//! Schemas that all apply to the same value: in circles, in which a validator would go round for ever, or so many
//! times over that it would not end in time.

use std::collections::{HashMap, HashSet};

use super::SchemaError;
use super::bundle::SchemaLocation;

/// How many schemas may apply to one and the same value, counted each time.
const MAX_APPLIED_SCHEMAS: u64 = 100_000;

/// Which schemas apply to the same value as which, and where that is written.
#[derive(Debug, Default)]
pub(super) struct InPlaceGraph {
    from: HashMap<SchemaLocation, Vec<(SchemaLocation, String)>>,
    /// The nodes in the order in which they were found, for faults in a steady order.
    order: Vec<SchemaLocation>,
}

/// How many schemas apply, by the schema at which a validator begins.
type Weights<'e> = HashMap<&'e SchemaLocation, u64>;

impl InPlaceGraph {
    /// Adds that `to` applies to whatever `from` applies to, as `at` in the root document says.
    pub(super) fn add(&mut self, from: &SchemaLocation, to: &SchemaLocation, at: String) {
        if !self.from.contains_key(from) {
            self.order.push(from.clone());
        }
        self.from.entry(from.clone()).or_default().push((to.clone(), at));
    }

    /// A fault for each reference that closes a circle, or from which on there are too many.
    pub(super) fn errors(&self) -> Vec<SchemaError> {
        let mut weights = Weights::new();
        self.order.iter().flat_map(|start| self.errors_from(start, &mut weights)).collect()
    }

    fn errors_from<'e>(&'e self, start: &'e SchemaLocation, weights: &mut Weights<'e>) -> Vec<SchemaError> {
        if weights.contains_key(start) {
            return Vec::new();
        }
        let mut faults = Vec::new();
        let mut open: HashSet<&SchemaLocation> = HashSet::from([start]);
        let mut path = vec![(start, self.successors(start).iter())];
        while let Some((node, next)) = path.last_mut() {
            match next.next() {
                Some((to, at)) if open.contains(to) => faults.push(cycle_error(at)),
                Some((to, _)) if !weights.contains_key(to) => {
                    open.insert(to);
                    path.push((to, self.successors(to).iter()));
                }
                Some(_) => {}
                None => {
                    faults.extend(self.count_applied(node, weights));
                    open.remove(*node);
                    path.pop();
                }
            }
        }
        faults
    }

    /// Weighs a schema of which all inner ones have been weighed; the first that is too heavy is a fault.
    fn count_applied<'e>(&self, node: &'e SchemaLocation, weights: &mut Weights<'e>) -> Option<SchemaError> {
        let next = self.successors(node);
        let inner = || next.iter().filter_map(|(to, _)| weights.get(to).copied());
        let weight = inner().fold(1, u64::saturating_add);
        let is_first = weight > MAX_APPLIED_SCHEMAS && inner().all(|weight| weight <= MAX_APPLIED_SCHEMAS);
        weights.insert(node, weight);
        next.first().filter(|_| is_first).map(|(_, at)| SchemaError {
            pointer: at.clone(),
            message: format!("schema expands to more than {MAX_APPLIED_SCHEMAS} subschemas for one value"),
            help: None,
        })
    }

    fn successors(&self, node: &SchemaLocation) -> &[(SchemaLocation, String)] {
        self.from.get(node).map_or(&[], Vec::as_slice)
    }
}

fn cycle_error(at: &str) -> SchemaError {
    SchemaError {
        pointer: at.to_owned(),
        message: "cyclic reference: the schema applies to itself".to_owned(),
        help: Some("refer to it from `properties`, `items` or another part of the value".to_owned()),
    }
}
