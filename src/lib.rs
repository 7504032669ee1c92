//! folio: an MCP server from a folder of YAML.
//!
//! # From manifest to server
//!
//! ```text
//!  folio.yaml, *.md, *.hbs …
//!    │ yaml::parse            bytes → a tree whose nodes have source positions        errors → Report, at file:line:col
//!    ▼
//!  Manifest   (manifest::)    the keys as written, in serde types; parsed to the end in spite of errors
//!    │ load::load             fragments, prompt files, partials and packs are included
//!    │ catalog::build         templates, schemas, URIs, references: checked and compiled; one Report with all errors, or
//!    ▼
//!  Catalog    (catalog::)     the checked entries: immutable, behind an Arc
//!    │ server::SharedServer::replace  one pointer is swapped; after an error the last good catalog stays
//!    ▼
//!  Server     (server::)      a request uses one catalog to its end
//!    │ transport::            stdio or HTTP; both generations of the protocol on each
//!    ▼
//!  the client                 is notified of the lists that changed
//! ```
//!
//! # Modules
//!
//! In the order of the data flow. A module uses only those above it; each important foreign crate is used in one module,
//! which Cargo.toml names. `tests/suite/architecture.rs` checks both.
//!
//! [`value_types`], [`action`] and [`manifest`] define the keys of a manifest, [`compile`] and [`catalog`] their meaning. All
//! processes and network access go through [`world`], all errors of a manifest into [`diagnostic`]. Nothing is global: a
//! call gets what it needs.

#[cfg(not(unix))]
compile_error!("folio runs on Linux and macOS");

pub mod diagnostic;
pub mod digest;
pub mod spec_version;
pub mod yaml;
pub mod files;
pub mod uri;
pub mod budget;
pub mod template;
pub mod schema;
pub mod value_types;
pub mod compile;
pub mod redact;
pub mod world;
pub mod action;
pub mod manifest;
pub mod pack_format;
pub mod archive;
pub mod pack_source;
pub mod load;
pub mod catalog;
pub mod reload;
pub mod server;
pub mod dev_page;
pub mod transport;
pub mod test_run;
pub mod openapi;
pub mod export;
pub mod client_config;
pub mod cli;
