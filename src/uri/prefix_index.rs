//! An index of keys by the texts that start with them.

/// Finds the keys that a text starts with, in the time of a binary search.
#[derive(Debug, Clone)]
pub(super) struct PrefixIndex<T> {
    /// Sorted by key, each key once.
    nodes: Vec<PrefixNode<T>>,
}

#[derive(Debug, Clone)]
struct PrefixNode<T> {
    key: Vec<u8>,
    /// The node with the longest other key that this key starts with. All keys that a text starts with are on one such
    /// chain, and the last node not after the text is on that chain or below it.
    parent: Option<usize>,
    value: T,
}

impl<T: Default> PrefixIndex<T> {
    /// Groups `items` by key; `add` adds one to its group.
    pub(super) fn new<I>(items: impl IntoIterator<Item = (Vec<u8>, I)>, add: impl Fn(&mut T, I)) -> Self {
        let mut items: Vec<_> = items.into_iter().collect();
        // Stable: items of one key keep their order.
        items.sort_by(|a, b| a.0.cmp(&b.0));
        let mut nodes: Vec<PrefixNode<T>> = Vec::new();
        for (key, item) in items {
            if nodes.last().is_none_or(|last| last.key != key) {
                let parent = first_prefix(&nodes, nodes.len().checked_sub(1), &key);
                nodes.push(PrefixNode { key, parent, value: T::default() });
            }
            if let Some(last) = nodes.last_mut() {
                add(&mut last.value, item);
            }
        }
        Self { nodes }
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.nodes.iter_mut().map(|node| &mut node.value)
    }

    /// The values of all keys that `text` starts with, the longest key first.
    pub(super) fn matching(&self, text: &[u8]) -> impl Iterator<Item = &T> {
        let after = self.nodes.partition_point(|node| node.key.as_slice() <= text);
        let first = first_prefix(&self.nodes, after.checked_sub(1), text);
        let next = |at: &usize| self.nodes.get(*at).and_then(|node| node.parent);
        std::iter::successors(first, next).filter_map(|at| self.nodes.get(at)).map(|node| &node.value)
    }
}

/// The first node from `start` upwards whose key `text` starts with.
fn first_prefix<T>(nodes: &[PrefixNode<T>], start: Option<usize>, text: &[u8]) -> Option<usize> {
    let mut at = start?;
    loop {
        let node = nodes.get(at)?;
        if text.starts_with(&node.key) {
            return Some(at);
        }
        at = node.parent?;
    }
}
