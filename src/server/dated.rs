//! What a list of 2026-07-28 says of itself: who answers, and for how long it may be kept.
//!
//! What is not here: what one resource says of its own (`resources`).

use rmcp::model::{
    GetSkillResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult,
};

use super::{served::Served, session::Era};

/// A result that may be kept for a while.
pub(crate) trait Dated {
    /// Says so, to a client that knows it.
    fn dated(self, served: &Served, era: Era) -> Self;
}

macro_rules! dated {
    ($($result:ty),+ $(,)?) => {$(
        impl Dated for $result {
            fn dated(mut self, served: &Served, era: Era) -> Self {
                if era.is_modern() {
                    self.meta = Some(served.meta.clone());
                    self.ttl_ms = Some(served.ttl_ms);
                    self.cache_scope = Some(served.cache_scope);
                }
                self
            }
        }
    )+};
}

dated! {
    GetSkillResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListSkillsResult,
    ListToolsResult,
}
