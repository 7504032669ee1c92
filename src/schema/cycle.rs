//! Schemas that all apply to the same value: in circles, in which a validator would go round for ever, or so many
//! times over that it would not end in time.

use std::collections::{HashMap, HashSet};

use super::SchemaFault;
use super::bundle::Node;

/// How many schemas may apply to one and the same value, counted each time.
const MOST: u64 = 100_000;

/// Which schemas apply to the same value as which, and where that is written.
#[derive(Debug, Default)]
pub(super) struct Edges {
    from: HashMap<Node, Vec<(Node, String)>>,
    /// The nodes in the order in which they were found, for faults in a steady order.
    order: Vec<Node>,
}

/// How many schemas apply, by the schema at which a validator begins.
type Weights<'e> = HashMap<&'e Node, u64>;

impl Edges {
    /// Adds that `to` applies to whatever `from` applies to, as `at` in the root document says.
    pub(super) fn add(&mut self, from: &Node, to: &Node, at: String) {
        if !self.from.contains_key(from) {
            self.order.push(from.clone());
        }
        self.from.entry(from.clone()).or_default().push((to.clone(), at));
    }

    /// A fault for each reference that closes a circle, or from which on there are too many.
    pub(super) fn faults(&self) -> Vec<SchemaFault> {
        let mut weights = Weights::new();
        self.order.iter().flat_map(|start| self.faults_from(start, &mut weights)).collect()
    }

    fn faults_from<'e>(&'e self, start: &'e Node, weights: &mut Weights<'e>) -> Vec<SchemaFault> {
        if weights.contains_key(start) {
            return Vec::new();
        }
        let mut faults = Vec::new();
        let mut open: HashSet<&Node> = HashSet::from([start]);
        let mut path = vec![(start, self.next_of(start).iter())];
        while let Some((node, next)) = path.last_mut() {
            match next.next() {
                Some((to, at)) if open.contains(to) => faults.push(circle(at)),
                Some((to, _)) if !weights.contains_key(to) => {
                    open.insert(to);
                    path.push((to, self.next_of(to).iter()));
                }
                Some(_) => {}
                None => {
                    faults.extend(self.weigh(node, weights));
                    open.remove(*node);
                    path.pop();
                }
            }
        }
        faults
    }

    /// Weighs a schema of which all inner ones have been weighed; the first that is too heavy is a fault.
    fn weigh<'e>(&self, node: &'e Node, weights: &mut Weights<'e>) -> Option<SchemaFault> {
        let next = self.next_of(node);
        let inner = || next.iter().filter_map(|(to, _)| weights.get(to).copied());
        let weight = inner().fold(1, u64::saturating_add);
        let is_first = weight > MOST && inner().all(|weight| weight <= MOST);
        weights.insert(node, weight);
        next.first().filter(|_| is_first).map(|(_, at)| SchemaFault {
            pointer: at.clone(),
            message: format!("from here on more than {MOST} schemas apply to one value"),
            help: None,
        })
    }

    fn next_of(&self, node: &Node) -> &[(Node, String)] {
        self.from.get(node).map_or(&[], Vec::as_slice)
    }
}

fn circle(at: &str) -> SchemaFault {
    SchemaFault {
        pointer: at.to_owned(),
        message: "this leads back to the schema in which it stands, without a step into the value".to_owned(),
        help: Some("refer to it from `properties`, `items` or another part of the value".to_owned()),
    }
}
