//! The steps of a `run`: compiled to a plan, and run to their end or to a question that waits for the client.

pub(super) mod compile_run;
pub(super) mod imported_step;
pub(super) mod on_fail;
mod repeat;
pub(super) mod run_limits;
pub(super) mod run_plan;
