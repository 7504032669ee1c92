//! The context of a call.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::call_recorder::CallRecorder;
use super::checkpoint::Checkpoint;
use super::client::{McpClient, NoClient};
use super::outcome::ActionError;
use crate::budget::{Budget, Reservation};
use crate::identity::{AccessControl, CallerSecrets};
use crate::store::Store;
use crate::world::{TraceContext, World};

/// The maximum depth of nested calls.
const MAX_CALL_DEPTH: usize = 8;

/// A call of an entry, by a client or by a step: what is the same for all that runs in it.
#[derive(Clone)]
pub struct CallContext {
    /// Runs programs and sends requests.
    pub world: Arc<dyn World>,
    /// The trace that its programs and requests are part of.
    pub trace: TraceContext,
    /// The client that called, where it can be asked or notified.
    pub client: Option<Arc<dyn McpClient>>,
    /// Who calls, and whether that decides what may be done. Steps call for the same caller.
    pub access: AccessControl,
    /// What the client sent beside the request, for requests that act upstream as the caller.
    pub secrets: Arc<CallerSecrets>,
    /// The scopes that the request is known to need so far: where one is missing, its refusal names all.
    pub needed_scopes: Option<Arc<BTreeSet<String>>>,
    /// The limits of the call, which its token of cancellation ends too.
    pub budget: Budget,
    /// What the replicas of the server share.
    pub store: Arc<dyn Store>,
    /// What the request holds of the memory that all callers share.
    pub memory: Arc<Reservation>,
    /// The time that is left to the run of its entry.
    pub time_left: Duration,
    /// Where to resume the entry, if it waited for the client.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// How many calls are around it.
    pub depth: usize,
    /// Whether a tool may continue as a task after the step that it names.
    pub may_detach: bool,
    /// What records its steps, where an observer wants them.
    pub recorder: Option<Arc<CallRecorder>>,
}

impl CallContext {
    /// A call by a client that `cancel` ends, whose actions happen in `world`. It begins now.
    pub fn new(
        cancel: CancellationToken,
        world: Arc<dyn World>,
        memory: Arc<Reservation>,
        store: Arc<dyn Store>,
    ) -> CallContext {
        CallContext {
            world,
            trace: TraceContext::default(),
            client: None,
            access: AccessControl::default(),
            secrets: CallerSecrets::none(),
            needed_scopes: None,
            budget: Budget::new(cancel, memory.caller()),
            store,
            memory,
            time_left: Duration::MAX,
            checkpoint: None,
            depth: 0,
            may_detach: false,
            recorder: None,
        }
    }

    /// The client that called; without one, a client that answers nothing.
    pub fn client(&self) -> &dyn McpClient {
        self.client.as_deref().unwrap_or(&NoClient)
    }

    /// Cancelled when the caller no longer wants the result.
    pub fn cancel(&self) -> &CancellationToken {
        self.budget.cancel()
    }

    /// Whether a step made it, whose arguments may contain the outcome of a step.
    pub fn is_nested(&self) -> bool {
        self.depth > 0
    }

    /// The call of an entry that the entry of this one calls or embeds.
    ///
    /// # Errors
    /// Calls are nested too deeply.
    pub fn nested(&self) -> Result<CallContext, ActionError> {
        if self.depth >= MAX_CALL_DEPTH {
            return Err(ActionError::message(format!("call depth exceeds {MAX_CALL_DEPTH} entries")));
        }
        Ok(CallContext { checkpoint: None, depth: self.depth + 1, may_detach: false, ..self.clone() })
    }

    /// Checks that an entry without a run is not resumed.
    ///
    /// # Errors
    /// It is resumed.
    pub fn ensure_not_resumed(&self) -> Result<(), ActionError> {
        if self.checkpoint.is_some() { Err(ActionError::RunChanged) } else { Ok(()) }
    }
}
