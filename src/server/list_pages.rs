//! Pages of lists, and their cursors.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::model::{ErrorData, PaginatedRequestParams};
use serde::Serialize;

use crate::digest::Digest;

/// A list with the fingerprint of its value.
pub(crate) struct PagedList<T> {
    items: Arc<[T]>,
    fingerprint: u64,
}

/// Some entries, and the cursor of the next ones.
#[derive(Debug, PartialEq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

impl<T: Clone + Serialize> PagedList<T> {
    /// The list with more entries at its end.
    pub(crate) fn with(&self, more: Vec<T>) -> PagedList<T> {
        let fingerprint = list_fingerprint(&[self.fingerprint, list_fingerprint(&more)]);
        PagedList::new(self.items.iter().cloned().chain(more).collect(), fingerprint)
    }
}

impl<T> PagedList<T> {
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// A number for its value.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl<T: Clone> PagedList<T> {
    pub(crate) fn new(items: Vec<T>, fingerprint: u64) -> PagedList<T> {
        PagedList { items: items.into(), fingerprint }
    }

    /// Returns the page that the request asks for. A cursor is only valid for the list that it was issued for: another
    /// would skip or repeat entries.
    pub(crate) fn page(&self, request: Option<PaginatedRequestParams>, size: usize) -> Result<Page<T>, ErrorData> {
        // Clients pass an empty cursor for none.
        let from = match request.and_then(|request| request.cursor).filter(|cursor| !cursor.is_empty()) {
            Some(cursor) => self.parse_cursor(&cursor)?,
            None => 0,
        };
        let to = from.saturating_add(size).min(self.items.len());
        let items = self.items.get(from..to).ok_or_else(invalid_cursor)?.to_vec();
        Ok(Page { items, next: (to < self.items.len()).then(|| self.cursor(to)) })
    }

    /// The first entry that is the one sought.
    pub(crate) fn find(&self, predicate: impl Fn(&T) -> bool) -> Option<&T> {
        self.items.iter().find(|item| predicate(item))
    }

    fn cursor(&self, at: usize) -> String {
        URL_SAFE_NO_PAD.encode(format!("{:x}:{at}", self.fingerprint))
    }

    fn parse_cursor(&self, cursor: &str) -> Result<usize, ErrorData> {
        let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(invalid_cursor)?;
        let (fingerprint, at) = text.split_once(':').ok_or_else(invalid_cursor)?;
        let fingerprint = u64::from_str_radix(fingerprint, 16).map_err(|_| invalid_cursor())?;
        let at = at.parse().map_err(|_| invalid_cursor())?;
        if fingerprint != self.fingerprint {
            return Err(ErrorData::invalid_params(
                "expired `cursor`: the list has changed; start again without one",
                None,
            ));
        }
        if at == 0 || at >= self.items.len() { Err(invalid_cursor()) } else { Ok(at) }
    }
}

/// A number for the value of a list, the same in every process: a cursor belongs to it.
pub(crate) fn list_fingerprint<T: Serialize>(list: &[T]) -> u64 {
    Digest::new("list").chain_update(&serde_json::to_vec(list).unwrap_or_default()).finish_u64()
}

impl<T> Clone for PagedList<T> {
    fn clone(&self) -> PagedList<T> {
        PagedList { items: self.items.clone(), fingerprint: self.fingerprint }
    }
}

fn invalid_cursor() -> ErrorData {
    ErrorData::invalid_params("invalid `cursor`", None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(cursor: &str) -> Option<PaginatedRequestParams> {
        Some(PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())))
    }

    proptest! {
        #[test]
        fn pages_hold_every_entry_once_and_in_order(count in 0_usize..50, size in 1_usize..20) {
            let listing = PagedList::new((0..count).collect(), 7);
            let mut seen = Vec::new();
            let mut page = listing.page(None, size).unwrap();
            loop {
                prop_assert!(page.items.len() <= size);
                seen.append(&mut page.items);
                let Some(next) = page.next else { break };
                page = listing.page(at(&next), size).unwrap();
            }
            prop_assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn forged_cursor_is_refused(cursor in ".+") {
            let listing = PagedList::new(vec![1, 2, 3], 7);
            prop_assert!(listing.page(at(&cursor), 1).is_err());
        }
    }

    #[test]
    fn cursor_of_changed_list_is_refused() {
        let next = PagedList::new(vec![1, 2, 3], 7).page(None, 1).unwrap().next.unwrap();
        let refused = PagedList::new(vec![1, 2, 3], 8).page(at(&next), 1).unwrap_err();
        assert_eq!(refused.code.0, -32602);
        assert!(refused.message.contains("has changed"));
    }
}
