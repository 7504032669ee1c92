//! What a call gives: a result, or why there is none.

pub mod call_result;
pub(super) mod media_block;
pub mod refusal;
