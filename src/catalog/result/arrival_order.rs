//! Keeps the calls of one peer in the order of their arrival, though their tasks may start in any.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

/// The last call of one peer to each tool with limits.
#[derive(Default)]
pub struct ArrivalOrder {
    last: HashMap<String, CancellationToken>,
}

/// The place of a call behind the one that came before it. It is left when the call is admitted, or this is dropped.
pub struct ArrivalTurn {
    earlier: Option<CancellationToken>,
    admitted: CancellationToken,
}

impl ArrivalOrder {
    /// The place of a call that has just come.
    pub fn join_queue(&mut self, tool: &str) -> ArrivalTurn {
        let admitted = CancellationToken::new();
        ArrivalTurn { earlier: self.last.insert(tool.to_owned(), admitted.clone()), admitted }
    }
}

impl ArrivalTurn {
    /// Waits until the call that came before has left its place.
    pub(in crate::catalog) async fn wait_for_earlier(&self) {
        if let Some(earlier) = &self.earlier {
            earlier.cancelled().await;
        }
    }

    /// Leaves the place, so that later calls need not wait.
    pub fn leave(&self) {
        self.admitted.cancel();
    }
}

impl Drop for ArrivalTurn {
    fn drop(&mut self) {
        self.leave();
    }
}
