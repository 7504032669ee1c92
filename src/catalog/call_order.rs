//! The order in which the calls of one peer came: their tasks begin in any.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

/// The last call of one peer to each tool with limits.
#[derive(Default)]
pub struct CallOrder {
    last: HashMap<String, CancellationToken>,
}

/// The place of a call behind the one that came before it. It is left when the call is admitted, or this is dropped.
pub struct CallPlace {
    earlier: Option<CancellationToken>,
    left: CancellationToken,
}

impl CallOrder {
    /// The place of a call that has just come.
    pub fn place(&mut self, tool: &str) -> CallPlace {
        let left = CancellationToken::new();
        CallPlace { earlier: self.last.insert(tool.to_owned(), left.clone()), left }
    }
}

impl CallPlace {
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

impl Drop for CallPlace {
    fn drop(&mut self) {
        self.leave();
    }
}
