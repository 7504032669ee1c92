//! What the page of `folio dev` is told of the manifest, and the answers to its requests.

mod declared_entry;
mod draft_test;
mod entry_of_problem;
mod entry_source;
mod page_calls;
mod page_state;
mod page_tests;
mod partial_uses;
mod problem_fix;
mod save_test;
mod trial;

pub(super) use entry_source::entry_source;
pub(super) use page_calls::{PageCall, PageCalls};
pub(super) use page_state::{PageState, set};
pub(super) use page_tests::PageTests;
pub(super) use problem_fix::fix_problem;
pub(super) use save_test::TestWriter;
pub(super) use trial::try_result;
