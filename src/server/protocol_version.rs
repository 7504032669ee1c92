//! The versions of the protocol in the type of rmcp.

use rmcp::model::{ProtocolVersion, RequestMetaObject};

use crate::spec_version::SpecVersion;

macro_rules! protocol_versions {
    ($($version:ident => $rmcp:ident,)+) => {
        /// Every version that is spoken here, oldest first.
        pub(crate) const PROTOCOL_VERSIONS: &[ProtocolVersion] = &[$(ProtocolVersion::$rmcp),+];

        /// The version in the type of rmcp.
        pub(crate) fn to_protocol_version(version: SpecVersion) -> ProtocolVersion {
            match version {
                $(SpecVersion::$version => ProtocolVersion::$rmcp,)+
            }
        }
    };
}

// rmcp makes none from a text that is known at compile time.
protocol_versions! {
    V2024_11_05 => V_2024_11_05,
    V2025_03_26 => V_2025_03_26,
    V2025_06_18 => V_2025_06_18,
    V2025_11_25 => V_2025_11_25,
    V2026_07_28 => V_2026_07_28,
}

/// The version that a request says it is of. rmcp would copy it.
pub(crate) fn stated_version(meta: &RequestMetaObject) -> Option<&str> {
    meta_text(meta, "io.modelcontextprotocol/protocolVersion")
}

/// A text in the metadata of a request, which has so few keys that comparing them is cheaper than hashing one.
pub(crate) fn meta_text<'a>(meta: &'a RequestMetaObject, key: &str) -> Option<&'a str> {
    meta.iter().find(|(name, _)| *name == key).and_then(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_types_list_the_same_versions() {
        let names = |version: &SpecVersion| version.as_str();
        assert!(SpecVersion::ALL.iter().map(names).eq(PROTOCOL_VERSIONS.iter().map(ProtocolVersion::as_str)));
    }
}
