//! What a filter of system calls refuses a program.

use serde::{Deserialize, Serialize};

use crate::compile::{NetworkRules, SandboxRules};

/// The sockets that a program may make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SocketRules {
    /// All but those that no sandbox has.
    #[default]
    Any,
    /// Those of this machine, of TCP to connect, and of UDP.
    TcpAndUdp,
    /// Those of this machine.
    Local,
}

/// What a filter refuses in addition to what every filter does, of all sandboxes of a program together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyscallRules {
    /// The sockets that it may make.
    pub sockets: SocketRules,
    /// Whether it changes no mode, owner, times or extended attributes of files, as it may write none.
    pub keeps_attributes: bool,
}

impl SyscallRules {
    /// The strictest of these rules.
    pub fn strictest<'a>(rules: impl IntoIterator<Item = &'a SandboxRules>) -> SyscallRules {
        rules.into_iter().fold(SyscallRules::default(), |strictest, rules| SyscallRules {
            sockets: strictest.sockets.max(SocketRules::from_network(&rules.network)),
            keeps_attributes: strictest.keeps_attributes || rules.write.is_empty(),
        })
    }
}

impl SocketRules {
    fn from_network(network: &NetworkRules) -> SocketRules {
        match network {
            NetworkRules::Any => SocketRules::Any,
            NetworkRules::Ports(ports) if ports.is_empty() => SocketRules::Local,
            NetworkRules::Ports(_) => SocketRules::TcpAndUdp,
        }
    }
}
