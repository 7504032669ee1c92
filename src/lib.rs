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

mod diagnostic;
mod digest;
mod spec_version;
mod yaml;
mod files;
mod uri;
mod identity;
mod budget;
mod template;
mod schema;
mod value_types;
mod compile;
mod redact;
mod store;
mod world;
mod action;
mod manifest;
mod pack_format;
mod archive;
mod pack_source;
mod load;
mod catalog;
mod telemetry;
mod reload;
mod server;
mod auth;
mod dev_page;
mod transport;
mod test_run;
mod openapi;
mod export;
mod client_config;
mod cli;

// What the program is made of.
pub use cli::{Cli, run};
pub use world::{SandboxSupport, run_supervisor};

// A manifest from its files to a catalog or a report, and what the language consists of.
pub use action::ACTIONS;
pub use catalog::{BuildOutcome, build};
pub use diagnostic::{Code, Diagnostic, Format, Report, Severity, TerminalStyle, render, render_lines};
pub use files::Folder;
pub use load::{EnvSource, ManifestLocation, load};
pub use manifest::{generate_schema, reference};
pub use openapi::{Source, import};
pub use template::helpers;
pub use uri::UriTemplate;
pub use yaml::{NewEntry, decode, insert_entry, parse};
