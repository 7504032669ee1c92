//! What prompts, tools and resources are made of: texts, files, media and what a run gives.

pub(super) mod blob;
pub(super) mod block;
pub(super) mod compiled_result;
pub(super) mod pack_file;
