//! The packs of a manifest that are from elsewhere: added, locked, fetched, updated and trusted.

pub(super) mod add;
mod add_source;
mod args;
pub(super) mod fetch;
mod file_text;
mod grant_uses;
pub(super) mod lock;
mod pack_contents;
mod project;
pub(super) mod remove;
pub(super) mod trust;
pub(super) mod update;

pub(crate) use args::{AddArgs, FetchArgs, LockArgs, RemoveArgs, TrustArgs, UpdateArgs};
pub(crate) use project::{PackProject, print_failure};
