//! What an action is run with, and what becomes of it: its client, the entries of its pack, its outcome or its error.

pub(super) mod checkpoint;
pub(super) mod client;
pub(super) mod outcome;
pub(super) mod pack_entries;
pub(super) mod request_error;
