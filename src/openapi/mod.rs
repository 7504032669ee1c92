//! OpenAPI import: from a description of an HTTP API to the files of a server that calls it.
//!
//! ```text
//! source       bytes of a file or a URL, and of the files that it refers to
//! document     trees in which every value finds its place again; `$ref` is followed here
//! dialect      Swagger 2.0 and OpenAPI 3.0, as OpenAPI 3.1
//! operation    Operations: what is asked, and where
//! tool         an operation → a Tool: its arguments, its request, its schemas
//! manifest     Tools → the files' entries, as YAML text
//! update       what stands in a folder, and what becomes of it
//! ```
//!
//! What cannot be translated is a warning at its place in the description. What is not here: who calls it (cli/), and
//! whether the result is right (catalog/).

mod argument;
mod authentication;
mod body;
mod dialect;
mod document;
mod fetch;
mod import;
mod manifest;
mod naming;
mod operation;
mod pagination;
mod parameter;
mod description_text;
mod schema_repair;
mod schema;
mod slice;
mod request;
mod operation_filter;
mod base_url;
mod source;
mod template_text;
mod tool;
mod update;

#[cfg(test)]
mod tests;

pub use fetch::{Fetcher, fetch};
pub use import::{Import, ImportError, ImportOptions, TagSize, import};
pub use source::{MAX_DESCRIPTION_BYTES, MAX_PARTIAL_BYTES, Source};
pub use update::{EntryOutcome, FilePlan, FolderPlan, RECORD_PATH, UpdateError, recorded_choices};
