//! Where a run stands that waits for its client: what it needs to go on, in this process or in another.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ActionOutcome;
use super::client::ClientQuestion;

/// How many bytes of outcomes may travel while a client is asked.
pub(super) const MAX_CARRIED_OUTCOME_BYTES: usize = 64 << 10;

/// A place between the steps of a run, with what was found on the way and is needed later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// What the run was written like.
    #[serde(rename = "p", default)]
    pub fingerprint: u64,
    /// The number of the step that waits.
    #[serde(rename = "n")]
    pub step: usize,
    /// Whether that step has yet to be come to: then its condition is asked.
    #[serde(rename = "f", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_step_start: bool,
    /// The outcomes of earlier steps that later ones name.
    #[serde(rename = "o", default, skip_serializing_if = "Map::is_empty")]
    pub outcomes: Map<String, Value>,
    /// The answers of this round that were given and fit.
    #[serde(rename = "a", default, skip_serializing_if = "Map::is_empty")]
    pub answers: Map<String, Value>,
    /// Whether a step was taken that may have changed the world.
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    pub had_side_effects: bool,
    /// Where the entry stands that the waiting step runs.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<Checkpoint>>,
    /// Whether nothing has begun but to ask for the client's roots.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_roots: bool,
    /// The client's roots, where an argument has to be within them.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// What the steps so far would speak with, where the run goes on in this process.
    #[serde(skip)]
    pub last_outcome: Option<ActionOutcome>,
}

impl Checkpoint {
    /// Whether a step was taken, here or in an entry that it runs, that may have changed the world.
    #[must_use]
    pub fn any_side_effects(&self) -> bool {
        self.had_side_effects || self.inner.as_ref().is_some_and(|inner| inner.any_side_effects())
    }
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingQuestions {
    /// What the client is to answer.
    pub questions: Vec<ClientQuestion>,
    /// Where the run goes on.
    pub checkpoint: Checkpoint,
}
