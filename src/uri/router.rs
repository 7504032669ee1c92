//! Finds the URI template that matches a URI.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::normalize::normalize_uri;
use super::prefix_index::PrefixIndex;
use super::template::UriTemplate;

/// Finds the entry that matches a URI, in whichever of its equivalent forms: a literal before a template, then the
/// longest literal prefix, then the order written. It tries only templates whose literal prefix and suffix match.
#[derive(Debug, Clone)]
pub struct Router<T> {
    entries: Vec<(UriTemplate, T)>,
    literals: HashMap<String, usize>,
    templates: PrefixIndex<SuffixIndex>,
}

/// The templates of one literal prefix, by their literal suffix.
#[derive(Debug, Clone, Default)]
struct SuffixIndex {
    items: Vec<(Vec<u8>, usize)>,
    by_suffix: Option<PrefixIndex<Vec<usize>>>,
}

impl<T> Router<T> {
    /// A router of entries in the order written. Of two equal literals the first matches.
    pub fn new(entries: impl IntoIterator<Item = (UriTemplate, T)>) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        let mut literals = HashMap::new();
        let mut keyed = Vec::new();
        for (at, (template, _)) in entries.iter().enumerate() {
            if template.is_literal() {
                literals.entry(template.literal_prefix().to_owned()).or_insert(at);
            } else {
                // Case may not count, in a host: templates are tried in either case.
                let prefix = template.literal_prefix().to_ascii_lowercase().into_bytes();
                keyed.push((prefix, (reversed_bytes(&template.literal_suffix().to_ascii_lowercase()), at)));
            }
        }
        let mut templates = PrefixIndex::new(keyed, |endings: &mut SuffixIndex, item| endings.items.push(item));
        templates.values_mut().for_each(SuffixIndex::build);
        Self { entries, literals, templates }
    }

    /// Finds the entry for `uri`, and the values of its variables.
    pub fn find(&self, uri: &str) -> Option<(&T, IndexMap<String, String>)> {
        let normalized = normalize_uri(uri);
        if let Some(at) = self.literals.get(normalized.as_ref()) {
            return self.entries.get(*at).map(|(_, entry)| (entry, IndexMap::new()));
        }
        let lowercase = normalized.to_ascii_lowercase();
        let end = reversed_bytes(&lowercase);
        let candidates = self.templates.matching(lowercase.as_bytes()).flat_map(|endings| endings.matching(&end));
        candidates
            .filter_map(|at| self.entries.get(at))
            .find_map(|(template, entry)| Some((entry, template.values(&normalized, uri)?)))
    }
}

impl SuffixIndex {
    fn build(&mut self) {
        self.by_suffix = Some(PrefixIndex::new(std::mem::take(&mut self.items), Vec::push));
    }

    /// The templates whose suffix matches, in the order written.
    fn matching(&self, end: &[u8]) -> Vec<usize> {
        let mut fitting: Vec<usize> =
            self.by_suffix.iter().flat_map(|by_end| by_end.matching(end)).flatten().copied().collect();
        fitting.sort_unstable();
        fitting
    }
}

fn reversed_bytes(text: &str) -> Vec<u8> {
    text.bytes().rev().collect()
}
