//! The configuration files of MCP clients: where each client keeps them, what an entry looks like there, and how one is
//! added and removed so that every other byte stays.
//!
//! [`Client`] is a client that starts servers, as a row of a table. [`ConfigFormat`](format::ConfigFormat) is how its file is written. What is not
//! here: reading and writing the files (cli/), and what clients make of prompts, resources and tools (catalog/).

mod entry;
mod format;
mod client;
mod inline_syntax;
mod jsonc;
mod config_location;
mod project;
mod toml_tables;
mod yaml_maps;
#[cfg(test)]
mod tests;

pub use client::{CLIENTS, Client, ConfigScope, EntryLayout, UnsupportedFeatures, VariableSyntax};
pub use config_location::Platform;
pub use entry::{Launch, ServerEntry};
pub use format::{ConfigError, ConfigSection, NamedEntry};
pub use project::ProjectPaths;
