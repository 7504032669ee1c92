//! The other entries of the server, as far as a step may use them.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{Checkpoint, Doing, Failure, Outcome};
use crate::budget::Budget;

/// What a step may name: the tools, prompts and resources of its own pack.
pub trait Entries: Send + Sync {
    /// Calls a tool.
    fn call<'a>(&'a self, name: &'a str, arguments: Map<String, Value>, visit: Visit<'a>) -> Visited<'a>;

    /// Renders a prompt.
    fn get<'a>(&'a self, name: &'a str, arguments: Map<String, Value>, visit: Visit<'a>) -> Visited<'a>;

    /// Whether it may tell of a resource: one of its own, or any for the pack that is served.
    fn may_tell_of(&self, uri: &str) -> bool;

    /// Reads a resource.
    fn read<'a>(&'a self, uri: &'a str, visit: Visit<'a>) -> Visited<'a>;
}

/// What comes of using an entry: its outcome as later steps see it.
pub type Visited<'a> = BoxFuture<'a, Result<Outcome, Failure>>;

/// What goes along when a step uses an entry.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// What the call may use.
    pub budget: &'a Budget,
    /// How much of the caller's time is left.
    pub timeout: Duration,
    /// Where the entry stood when it waited for the client.
    pub resume: Option<&'a Checkpoint>,
}

impl<'a> Visit<'a> {
    /// A visit on behalf of a step.
    pub(super) fn of(doing: &Doing<'a>) -> Visit<'a> {
        Visit { budget: doing.scope.budget(), timeout: doing.timeout, resume: doing.resume }
    }
}
