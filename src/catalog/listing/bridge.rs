//! For whom prompts and resources are also offered as tools (`server.bridge`). The tools themselves are in server/.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::manifest::{Bridge, BridgeKind, BridgeMode};

/// The capability by which a client declares that it needs tools in place of lists, among `experimental`:
/// `{ "folio/bridge": { "prompts": true } }`. An empty object stands for both lists.
const CAPABILITY: &str = "folio/bridge";

/// The lists that are offered as tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BridgedLists {
    /// Prompts, as `list-prompts` and `get-prompt`.
    pub prompts: bool,
    /// Resources, as `list-resources` and `read-resource`.
    pub resources: bool,
}

/// Which clients get them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BridgePolicy {
    /// Clients that are known to lack these lists, or declare it.
    #[default]
    Auto,
    /// Every client.
    Always(BridgedLists),
}

impl BridgePolicy {
    /// The policy that a manifest writes.
    pub(in crate::catalog) fn new(bridge: &Bridge) -> BridgePolicy {
        let kinds = match bridge {
            Bridge::Mode(BridgeMode::Auto) => return BridgePolicy::Auto,
            Bridge::Mode(BridgeMode::None) => &[][..],
            Bridge::Kinds(kinds) => kinds,
        };
        let has = |kind| kinds.iter().any(|bridge| bridge.value == kind);
        BridgePolicy::Always(BridgedLists { prompts: has(BridgeKind::Prompts), resources: has(BridgeKind::Resources) })
    }

    /// What a client gets that declares nothing, and is known to lack these lists.
    pub fn lists_for_known(self, missing_lists: BridgedLists) -> BridgedLists {
        match self {
            BridgePolicy::Always(lists) => lists,
            BridgePolicy::Auto => missing_lists,
        }
    }

    /// What a client gets by its `experimental` capabilities, or else by the lists that it is known to lack.
    pub fn lists_for(self, experimental: &Map<String, Value>, missing_lists: BridgedLists) -> BridgedLists {
        let declared = experimental.get(CAPABILITY).and_then(Value::as_object);
        self.lists_for_known(declared.map_or(missing_lists, BridgedLists::declared))
    }
}

impl BridgedLists {
    /// What a client declares.
    fn declared(settings: &Map<String, Value>) -> BridgedLists {
        let wants = |key| settings.is_empty() || settings.get(key).is_some_and(|value| *value != Value::Bool(false));
        BridgedLists { prompts: wants("prompts"), resources: wants("resources") }
    }

    /// Whether there is any.
    pub fn any(self) -> bool {
        self.prompts || self.resources
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::missing_lists;
    use serde_json::json;

    fn auto(client: &str, experimental: Value) -> (bool, bool) {
        let lists = BridgePolicy::Auto.lists_for(experimental.as_object().unwrap(), missing_lists(client));
        (lists.prompts, lists.resources)
    }

    #[test]
    fn auto_follows_declaration_before_name() {
        assert_eq!(auto("codex-mcp-client", json!({})), (true, false));
        assert_eq!(auto("codex-mcp-client", json!({ "folio/bridge": { "prompts": false } })), (false, false));
        assert_eq!(auto("somebody", json!({})), (false, false));
        assert_eq!(auto("somebody", json!({ "folio/bridge": {} })), (true, true));
        assert_eq!(auto("somebody", json!({ "folio/bridge": { "resources": {} } })), (false, true));
        assert_eq!(auto("somebody", json!({ "folio/bridge": true })), (false, false));
    }

    #[test]
    fn lists_of_manifest_hold_for_every_client() {
        let lists = BridgedLists { prompts: false, resources: true };
        assert_eq!(BridgePolicy::Always(lists).lists_for(&Map::new(), missing_lists("codex-mcp-client")), lists);
    }
}
