//! folio: an MCP server from a folder of YAML.
//!
//! # The journey of a manifest
//!
//! ```text
//!  folio.yaml, *.md, *.hbs …
//!    │ yaml::parse            bytes → a tree in which every node knows its place      fault → Report, at file:line:col
//!    ▼
//!  Manifest   (manifest::)    what was WRITTEN, key for key: serde types, read to the end whatever is wrong
//!    │ load::load             fragments, prompt files, partials and packs are taken in
//!    │ catalog::build         templates, schemas, URIs, references: checked and compiled; ONE Report with every fault, or
//!    ▼
//!  Catalog    (catalog::)     what is TRUE: immutable, behind an Arc
//!    │ server::Live::replace  one pointer is swapped; on a fault nothing is touched, and the last good one stays
//!    ▼
//!  Server     (server::)      a request takes one catalog and keeps it to its end
//!    │ transport::            a pipe, or HTTP; both generations of the protocol on each
//!    ▼
//!  the client                 which hears of exactly the lists that changed
//! ```
//!
//! # The rooms
//!
//! In the order in which data walks through them. A room uses only those above it; each foreign crate that matters has
//! one door, named in Cargo.toml. `tests/suite/architecture.rs` holds both.
//!
//! What a manifest may say is in [`notation`], [`action`] and [`manifest`]; what it means in [`compile`] and [`catalog`].
//! Whatever an action does to the world goes through [`world`], and whatever is wrong with a manifest goes into
//! [`diagnostic`]. Nothing is global: what one call needs is handed to it.

#[cfg(not(unix))]
compile_error!("folio runs on Linux and macOS");

pub mod diagnostic;
pub mod digest;
pub mod yaml;
pub mod files;
pub mod uri;
pub mod budget;
pub mod template;
pub mod schema;
pub mod notation;
pub mod compile;
pub mod redact;
pub mod world;
pub mod action;
pub mod manifest;
pub mod load;
pub mod catalog;
pub mod reload;
pub mod server;
pub mod transport;
pub mod cli;
