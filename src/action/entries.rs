//! The other entries of the server, as far as a step may use them.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{ActionContext, ActionError, ActionOutcome, Checkpoint};
use crate::budget::Budget;

/// What a step may name: the tools, prompts and resources of its own pack.
pub trait PackEntries: Send + Sync {
    /// Calls a tool.
    fn call_tool<'a>(&'a self, name: &'a str, arguments: Map<String, Value>, visit: EntryCall<'a>) -> EntryFuture<'a>;

    /// Renders a prompt.
    fn get_prompt<'a>(&'a self, name: &'a str, arguments: Map<String, Value>, visit: EntryCall<'a>) -> EntryFuture<'a>;

    /// Whether it may tell of a resource: one of its own, or any for the pack that is served.
    fn may_tell_of(&self, uri: &str) -> bool;

    /// Reads a resource.
    fn read_resource<'a>(&'a self, uri: &'a str, visit: EntryCall<'a>) -> EntryFuture<'a>;
}

/// What comes of using an entry: its outcome as later steps see it.
pub type EntryFuture<'a> = BoxFuture<'a, Result<ActionOutcome, ActionError>>;

/// What goes along when a step uses an entry.
#[derive(Debug, Clone, Copy)]
pub struct EntryCall<'a> {
    /// What the call may use.
    pub budget: &'a Budget,
    /// How much of the caller's time is left.
    pub timeout: Duration,
    /// Where the entry stood when it waited for the client.
    pub resume: Option<&'a Checkpoint>,
}

impl<'a> EntryCall<'a> {
    /// A visit on behalf of a step.
    pub(super) fn from_context(doing: &ActionContext<'a>) -> EntryCall<'a> {
        EntryCall { budget: doing.scope.budget(), timeout: doing.timeout, resume: doing.resume }
    }
}
