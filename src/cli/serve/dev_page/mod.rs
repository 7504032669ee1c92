//! What the page of `folio dev` is told of the manifest, and the answers to its requests.

mod declared_entry;
mod entry_of_problem;
mod entry_source;
mod page_state;
mod page_tests;
mod partial_uses;

pub(super) use entry_source::entry_source;
pub(super) use page_state::{PageState, set};
pub(super) use page_tests::PageTests;
