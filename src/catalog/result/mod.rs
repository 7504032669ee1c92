//! What a call gives: a result, or why there is none.

pub mod arrival_order;
pub mod call_result;
pub(super) mod media_block;
pub mod refusal;
