//! Lets a step use the tools, prompts and resources of its pack.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::outcome::{ActionContext, ActionError, ActionOutcome};
use crate::value_types::{Json, NamedMap};
use crate::yaml::Spanned;

/// The tools, prompts and resources that a step may use. Each call gets the context of its step.
pub trait PackEntries: Send + Sync {
    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        context: ActionContext<'a>,
    ) -> EntryFuture<'a>;

    /// Renders a prompt.
    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        context: ActionContext<'a>,
    ) -> EntryFuture<'a>;

    fn read_resource<'a>(&'a self, uri: &'a str, context: ActionContext<'a>) -> EntryFuture<'a>;

    /// Whether the pack may notify of a resource: one of its own, or any if it is the served pack.
    fn may_notify_of(&self, uri: &str) -> bool;
}

/// The outcome of an entry as later steps see it.
pub type EntryFuture<'a> = BoxFuture<'a, Result<ActionOutcome, ActionError>>;

/// An entry of this server that a run names.
#[derive(Debug, Clone)]
pub enum EntryReference {
    /// A tool by its name, with its arguments.
    Tool(Spanned<String>, ArgumentTemplates),
    /// A prompt by its name, with its arguments.
    Prompt(Spanned<String>, ArgumentTemplates),
    /// A resource that is read, by its URI, which may be a template.
    Resource(Spanned<String>),
    /// A resource of which clients are notified, by its URI, which may be a template.
    Notified(Spanned<String>),
}

/// Arguments of an entry, whose strings are templates.
pub type ArgumentTemplates = NamedMap<Spanned<Json>>;
