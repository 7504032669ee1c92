//! What an action is run with, and what becomes of it: its client, the entries of its pack, its outcome or its error.

pub(super) mod call;
pub(super) mod call_recorder;
pub(super) mod checkpoint;
pub(super) mod client;
pub(super) mod entry_reference;
pub(super) mod outcome;
pub(super) mod request_error;
pub(super) mod step;
