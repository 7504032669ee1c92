//! How a client begins, and which version of the protocol comes of it.

use std::fmt;

use rmcp::model::{ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::ClientLifecycleMode;
use serde_json::json;

use crate::check::Outcome;

/// How a client begins.
#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    /// As `serve` does it unless told otherwise: `initialize`, offering the newest version that the SDK knows. That
    /// has no `initialize` any more, and the server answers with one that has.
    Initialize,
    /// `initialize` with an older version.
    Old,
    /// `server/discover`, and nothing else if that is unknown.
    Discover,
    /// `server/discover`, with `initialize` behind it, which nothing comes to here.
    Auto,
}

impl Mode {
    /// The version that must come of it.
    pub fn version(self) -> ProtocolVersion {
        match self {
            Mode::Initialize => ProtocolVersion::V_2025_11_25,
            Mode::Old => ProtocolVersion::V_2025_06_18,
            Mode::Discover | Mode::Auto => ProtocolVersion::V_2026_07_28,
        }
    }

    pub fn lifecycle(self) -> ClientLifecycleMode {
        // No older ones: the SDK would take one from what `server/discover` lists, and then not send its `initialize`.
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Mode::Initialize | Mode::Old => ClientLifecycleMode::Initialize,
            Mode::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Mode::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        }
    }

    pub fn config(self) -> Outcome<ClientConfig> {
        let capabilities = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
        let config = ClientConfig::new(serde_json::from_value(capabilities)?, Implementation::new("interop", "1"));
        Ok(if self == Mode::Old { config.with_protocol_version(self.version()) } else { config })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Mode::Initialize => "initialize",
            Mode::Old => "initialize with 2025-06-18",
            Mode::Discover => "discover",
            Mode::Auto => "auto",
        })
    }
}
