//! Adds `_meta` and cache hints to the results of 2026-07-28. Hints of one resource are in `resources`.

use rmcp::model::{
    GetSkillResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult,
};

use crate::spec_version::SpecVersion;

use super::snapshot::CatalogSnapshot;

/// A result that may be kept for a while.
pub(crate) trait CacheHints {
    /// Says so, to a client that knows it.
    fn with_cache_hints(self, served: &CatalogSnapshot, spec_version: SpecVersion) -> Self;
}

macro_rules! impl_cache_hints {
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

impl_cache_hints! {
    GetSkillResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListSkillsResult,
    ListToolsResult,
}
