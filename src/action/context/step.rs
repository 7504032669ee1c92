//! The context of a step, and what it may use of the entry that it belongs to.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::call::CallContext;
use super::checkpoint::{Checkpoint, StepStdouts};
use super::client::McpClient;
use super::outcome::{ActionError, ActionOutcome};
use crate::template::Scope;

/// What one action is run with.
#[derive(Clone, Copy)]
pub struct StepContext<'a> {
    /// The call that it is a step of.
    pub call: &'a CallContext,
    /// The entry that it is a step of.
    pub entry: &'a dyn StepEntry,
    /// The values that its templates see.
    pub scope: &'a Scope,
    /// How long it may take.
    pub timeout: Duration,
    /// How many bytes of output it may keep.
    pub max_output: u64,
    /// The state in which it waited for the client, if it did.
    pub checkpoint: Option<&'a Checkpoint>,
    /// The stdout of earlier steps that later ones read.
    pub stdouts: Option<&'a StepStdouts>,
    /// The id of the step.
    pub id: Option<&'a str>,
    /// What is read of its outcome.
    pub reads: &'a OutcomeReads,
}

/// What is read of an outcome beside its body. Fields that may be large are made only where they are read.
#[derive(Debug, Clone)]
pub struct OutcomeReads {
    /// The names of fields; `None` for all of them.
    fields: Option<BTreeSet<String>>,
    /// Whether a later step reads its stdout.
    pub(in crate::action) stdout: bool,
}

impl OutcomeReads {
    /// Whatever fields there are.
    pub const ALL: OutcomeReads = OutcomeReads { fields: None, stdout: false };

    /// The fields of the outcome with this name in scope, such as `steps.ID`, that these paths read.
    pub(in crate::action) fn of(outcome: &[&str], paths: &[Vec<String>]) -> Option<BTreeSet<String>> {
        let mut fields = BTreeSet::new();
        for path in paths.iter().filter(|path| path.iter().zip(outcome).all(|(part, name)| part == name)) {
            fields.insert(path.get(outcome.len())?.clone());
        }
        Some(fields)
    }

    /// The same with all fields, for who follows the call.
    pub(in crate::action) fn with_all_fields(&self) -> OutcomeReads {
        OutcomeReads { fields: None, ..*self }
    }

    /// Sets which fields are read; `None` for all of them.
    pub(in crate::action) fn set_fields(&mut self, fields: Option<BTreeSet<String>>) {
        self.fields = fields;
    }

    /// Whether a field is read.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.contains(name))
    }

    /// Whether any field is read.
    pub fn has_fields(&self) -> bool {
        self.fields.as_ref().is_none_or(|fields| !fields.is_empty())
    }

    /// Whether the text of an output is read: as the field of this name, or to say why it is not JSON.
    pub(in crate::action) fn has_text(&self, field: &str, json: Option<&Value>) -> bool {
        self.has_field(field) || self.has_field("json") && json.is_none_or(Value::is_null)
    }
}

impl StepContext<'_> {
    /// The call of another entry by this step.
    ///
    /// # Errors
    /// Calls are nested too deeply.
    pub fn nested_call(&self) -> Result<CallContext, ActionError> {
        Ok(CallContext {
            budget: self.scope.budget().clone(),
            time_left: self.timeout,
            checkpoint: self.checkpoint.cloned().map(Arc::new),
            ..self.call.nested()?
        })
    }
}

/// The entry whose run a step belongs to, and the tools, prompts and resources that the step may use.
pub trait StepEntry: Send + Sync {
    fn name(&self) -> &str;

    /// The folder of its pack.
    fn pack_folder(&self) -> &Path;

    /// The client of the call, which does not learn where the pack is.
    fn client(&self) -> &dyn McpClient;

    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        context: StepContext<'a>,
    ) -> EntryFuture<'a>;

    /// Renders a prompt.
    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        context: StepContext<'a>,
    ) -> EntryFuture<'a>;

    fn read_resource<'a>(&'a self, uri: &'a str, context: StepContext<'a>) -> EntryFuture<'a>;

    /// Whether the pack may notify of a resource: one of its own, or any if it is the served pack.
    fn may_notify_of(&self, uri: &str) -> bool;
}

/// The outcome of an entry as later steps see it.
pub type EntryFuture<'a> = BoxFuture<'a, Result<ActionOutcome, ActionError>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(paths: &[&str]) -> OutcomeReads {
        let paths: Vec<Vec<String>> = paths.iter().map(|path| path.split('.').map(str::to_owned).collect()).collect();
        OutcomeReads { fields: OutcomeReads::of(&["steps", "one"], &paths), stdout: false }
    }

    #[test]
    fn fields_are_read_by_the_paths_that_name_them() {
        for (paths, has_json, has_stdout, has_fields) in [
            (&[][..], false, false, false),
            (&["steps.two.json", "steps.two", "result"], false, false, false),
            (&["steps.one.json.name", "steps.two"], true, false, true),
            (&["steps.one.exit", "steps.one.stdout"], false, true, true),
            (&["steps.one.json", "steps.one"], true, true, true),
            (&["steps"], true, true, true),
        ] {
            let reads = reads(paths);
            let found = (reads.has_field("json"), reads.has_field("stdout"), reads.has_fields());
            assert_eq!(found, (has_json, has_stdout, has_fields), "{paths:?}");
        }
    }

    /// An error shows how output begins that is not JSON, and `null` is told from that.
    #[test]
    fn text_is_read_for_json_that_is_not_there() {
        let reads = reads(&["steps.one.json"]);
        assert!(reads.has_text("stdout", None) && reads.has_text("stdout", Some(&Value::Null)));
        assert!(!reads.has_text("stdout", Some(&Value::Bool(false))));
    }
}
