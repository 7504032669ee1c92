//! The state of a run that waits for its client, enough to continue it in this process or in another.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::client::ClientQuestion;
use super::outcome::{ActionError, ActionOutcome};
use crate::template::Scope;
use crate::world::CapturedBytes;

/// How many bytes of outcomes a checkpoint may carry.
pub(in crate::action) const MAX_CARRIED_OUTCOME_BYTES: usize = 64 << 10;

/// A position between the steps of a run, with the outcomes that later steps need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The fingerprint of the definition of the run.
    #[serde(rename = "p", default)]
    pub digest: u64,
    /// The number of the step that waits.
    #[serde(rename = "n")]
    pub step: usize,
    /// Whether that step has not begun, so that its condition is evaluated.
    #[serde(rename = "f", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_step_start: bool,
    /// The outcomes of earlier steps that later steps use.
    #[serde(rename = "o", default, skip_serializing_if = "Map::is_empty")]
    pub outcomes: Map<String, Value>,
    /// The valid answers of this round.
    #[serde(rename = "a", default, skip_serializing_if = "Map::is_empty")]
    pub answers: Map<String, Value>,
    /// Whether a step with side effects has run.
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    pub had_side_effects: bool,
    /// The checkpoint of the entry that the waiting step calls.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<Checkpoint>>,
    /// Whether the call only waits for the client's roots.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_roots: bool,
    /// The client's roots, if an argument must be within them.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// The last outcome with a body, if the run continues in this process.
    #[serde(skip)]
    pub last_outcome: Option<ActionOutcome>,
    /// The stdout that later steps read, if the run continues in this process.
    #[serde(skip)]
    pub stdouts: StepStdouts,
}

impl Checkpoint {
    /// Whether a step with side effects has run, here or in an entry that it calls.
    #[must_use]
    pub fn any_side_effects(&self) -> bool {
        self.had_side_effects || self.inner.as_ref().is_some_and(|inner| inner.any_side_effects())
    }
}

/// The stdout of the steps whose bytes a later step reads, by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepStdouts(BTreeMap<String, Arc<CapturedBytes>>);

impl StepStdouts {
    /// Keeps the stdout of a step, which the call holds.
    pub(in crate::action) fn insert(
        &mut self,
        id: &str,
        stdout: CapturedBytes,
        scope: &Scope,
    ) -> Result<(), ActionError> {
        scope.budget().hold(stdout.bytes.len())?;
        self.0.insert(id.to_owned(), Arc::new(stdout));
        Ok(())
    }

    pub(in crate::action) fn get(&self, id: &str) -> Option<&CapturedBytes> {
        self.0.get(id).map(Arc::as_ref)
    }
}

/// The questions that a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingQuestions {
    pub questions: Vec<ClientQuestion>,
    /// Where the run continues.
    pub checkpoint: Checkpoint,
}
