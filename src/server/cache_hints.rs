//! What a list of 2026-07-28 says of itself: who answers, and for how long it may be kept.
//!
//! What is not here: what one resource says of its own (`resources`).

use rmcp::model::{
    GetSkillResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult,
};

use super::{session::SpecVersion, snapshot::CatalogSnapshot};

/// A result that may be kept for a while.
pub(crate) trait CacheHints {
    /// Says so, to a client that knows it.
    fn with_cache_hints(self, served: &CatalogSnapshot, spec_version: SpecVersion) -> Self;
}

macro_rules! dated {
    ($($result:ty),+ $(,)?) => {$(
        impl CacheHints for $result {
            fn with_cache_hints(mut self, served: &CatalogSnapshot, spec_version: SpecVersion) -> Self {
                if spec_version.is_sessionless() {
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
