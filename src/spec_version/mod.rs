//! The versions of the specification of MCP that are spoken here.

use schemars::JsonSchema;
use serde::Deserialize;

macro_rules! spec_versions {
    ($($(#[doc = $doc:literal])+ $version:ident = $date:literal,)+) => {
        /// A version of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
        pub enum SpecVersion {
            $($(#[doc = $doc])+ #[serde(rename = $date)] $version,)+
        }

        impl SpecVersion {
            /// Every version, oldest first.
            pub const ALL: &[SpecVersion] = &[$(SpecVersion::$version),+];

            /// The version as the protocol writes it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(SpecVersion::$version => $date,)+
                }
            }
        }
    };
}

spec_versions! {
    /// Of November 2024.
    V2024_11_05 = "2024-11-05",
    /// Of March 2025.
    V2025_03_26 = "2025-03-26",
    /// Of June 2025.
    V2025_06_18 = "2025-06-18",
    /// Of November 2025.
    V2025_11_25 = "2025-11-25",
    /// Of July 2026, without sessions.
    V2026_07_28 = "2026-07-28",
}

impl SpecVersion {
    pub const NEWEST: SpecVersion = SpecVersion::V2026_07_28;
    /// The newest version that has sessions.
    pub const NEWEST_WITH_SESSIONS: SpecVersion = SpecVersion::V2025_11_25;

    /// The version that the protocol writes so.
    pub fn parse(text: &str) -> Option<SpecVersion> {
        SpecVersion::ALL.iter().copied().find(|version| version.as_str() == text)
    }

    /// Whether requests stand for themselves, without a session.
    pub const fn is_sessionless(self) -> bool {
        matches!(self, SpecVersion::V2026_07_28)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_versions_are_the_last_of_each_kind() {
        assert!(SpecVersion::ALL.is_sorted());
        assert_eq!(SpecVersion::ALL.last(), Some(&SpecVersion::NEWEST));
        let with_sessions = SpecVersion::ALL.iter().rfind(|version| !version.is_sessionless());
        assert_eq!(with_sessions, Some(&SpecVersion::NEWEST_WITH_SESSIONS));
    }
}
