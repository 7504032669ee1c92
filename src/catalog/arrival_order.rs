//! The order in which the calls of one peer came: their tasks begin in any.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

/// The last call of one peer to each tool with limits.
#[derive(Default)]
pub struct ArrivalOrder {
    last: HashMap<String, CancellationToken>,
}

/// The place of a call behind the one that came before it. It is left when the call is admitted, or this is dropped.
pub struct ArrivalPlace {
    earlier: Option<CancellationToken>,
    left: CancellationToken,
}

impl ArrivalOrder {
    /// The place of a call that has just come.
    pub fn place(&mut self, tool: &str) -> ArrivalPlace {
        let left = CancellationToken::new();
        ArrivalPlace { earlier: self.last.insert(tool.to_owned(), left.clone()), left }
    }
}

impl ArrivalPlace {
    /// Waits until the call that came before has left its place.
    pub(super) async fn wait_for_earlier(&self) {
        if let Some(earlier) = &self.earlier {
            earlier.cancelled().await;
        }
    }

    /// Leaves the place, so that later calls need not wait.
    pub fn leave(&self) {
        self.left.cancel();
    }
}

impl Drop for ArrivalPlace {
    fn drop(&mut self) {
        self.leave();
    }
}
