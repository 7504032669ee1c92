//! Finds cycles of schemas that apply to the same value, and schemas that expand too much: both would keep a validator
//! busy for too long.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::SchemaError;
use super::bundle::SchemaLocation;

/// How many schemas may apply to one value, counted each time.
const MAX_APPLIED_SCHEMAS: u64 = 100_000;

/// Which schemas apply to the same value, and the pointers by which they do.
#[derive(Debug, Default)]
pub(super) struct InPlaceGraph {
    /// In the order of discovery, for errors in a stable order.
    edges: IndexMap<SchemaLocation, Vec<(SchemaLocation, String)>>,
}

/// How many schemas apply, by the schema where a validator starts.
type AppliedCounts<'e> = HashMap<&'e SchemaLocation, u64>;

impl InPlaceGraph {
    /// Adds that `to` applies to the same value as `from`, by `at` in the root document.
    pub(super) fn add(&mut self, from: &SchemaLocation, to: &SchemaLocation, at: String) {
        self.edges.entry(from.clone()).or_default().push((to.clone(), at));
    }

    /// An error for each reference that closes a cycle or expands too much.
    pub(super) fn errors(&self) -> Vec<SchemaError> {
        let mut applied_counts = AppliedCounts::new();
        self.edges.keys().flat_map(|start| self.errors_from(start, &mut applied_counts)).collect()
    }

    fn errors_from<'e>(
        &'e self,
        start: &'e SchemaLocation,
        applied_counts: &mut AppliedCounts<'e>,
    ) -> Vec<SchemaError> {
        if applied_counts.contains_key(start) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        let mut open: HashSet<&SchemaLocation> = HashSet::from([start]);
        let mut path = vec![(start, self.successors(start).iter())];
        while let Some((node, next)) = path.last_mut() {
            match next.next() {
                Some((to, at)) if open.contains(to) => errors.push(
                    SchemaError::new(at.as_str(), "cyclic reference: the schema applies to itself")
                        .help("refer to it from `properties`, `items` or another part of the value"),
                ),
                Some((to, _)) if !applied_counts.contains_key(to) => {
                    open.insert(to);
                    path.push((to, self.successors(to).iter()));
                }
                Some(_) => {}
                None => {
                    errors.extend(self.count_applied(node, applied_counts));
                    open.remove(*node);
                    path.pop();
                }
            }
        }
        errors
    }

    /// Counts the schemas that apply with this one; the first over the limit is an error.
    fn count_applied<'e>(
        &self,
        node: &'e SchemaLocation,
        applied_counts: &mut AppliedCounts<'e>,
    ) -> Option<SchemaError> {
        let next = self.successors(node);
        let inner = || next.iter().filter_map(|(to, _)| applied_counts.get(to).copied());
        let size = inner().fold(1, u64::saturating_add);
        let is_first = size > MAX_APPLIED_SCHEMAS && inner().all(|size| size <= MAX_APPLIED_SCHEMAS);
        applied_counts.insert(node, size);
        next.first().filter(|_| is_first).map(|(_, at)| {
            let message = format!("schema expands to more than {MAX_APPLIED_SCHEMAS} subschemas for one value");
            SchemaError::new(at.as_str(), message)
        })
    }

    fn successors(&self, node: &SchemaLocation) -> &[(SchemaLocation, String)] {
        self.edges.get(node).map_or(&[], Vec::as_slice)
    }
}
