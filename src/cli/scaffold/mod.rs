//! Writes manifests, and entries of them, for their author to begin with.

mod args;
mod client_setup;
pub(super) mod init;
mod init_openapi;
mod init_template;
pub(super) mod new;
mod new_entry;

pub(crate) use args::{InitArgs, NewArgs};
pub(crate) use init_template::InitTemplate;
pub(crate) use new_entry::NewAction;
