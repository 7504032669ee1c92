//! What a filter of system calls refuses a program.

use crate::compile::{NetworkRules, SandboxRules};

/// The sockets that a program may make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SocketRules {
    /// All.
    #[default]
    Any,
    /// Those of this machine, of TCP to connect, and of UDP.
    TcpAndUdp,
    /// Those of this machine.
    Local,
}

/// What a filter refuses, of all sandboxes of a program together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallRules {
    /// The sockets that it may make.
    pub sockets: SocketRules,
    /// Whether it changes no mode, owner, times or extended attributes of files, as it may write none.
    pub keeps_attributes: bool,
}

impl CallRules {
    /// The strictest of these rules.
    pub fn strictest<'a>(rules: impl IntoIterator<Item = &'a SandboxRules>) -> CallRules {
        rules.into_iter().fold(CallRules::default(), |strictest, rules| CallRules {
            sockets: strictest.sockets.max(SocketRules::from_network(&rules.network)),
            keeps_attributes: strictest.keeps_attributes || rules.write.is_empty(),
        })
    }

    /// Whether it refuses nothing.
    pub fn is_empty(self) -> bool {
        self == CallRules::default()
    }

    /// As it travels to the supervisor.
    pub fn to_byte(self) -> u8 {
        let sockets = match self.sockets {
            SocketRules::Any => 0,
            SocketRules::TcpAndUdp => 1,
            SocketRules::Local => 2,
        };
        (sockets << 1) | u8::from(self.keeps_attributes)
    }

    /// The reverse; what is not known is the strictest.
    pub fn from_byte(byte: u8) -> CallRules {
        let sockets = match byte >> 1 {
            0 => SocketRules::Any,
            1 => SocketRules::TcpAndUdp,
            _ => SocketRules::Local,
        };
        CallRules { sockets, keeps_attributes: byte & 1 != 0 }
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
