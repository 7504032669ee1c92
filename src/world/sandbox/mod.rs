//! Holds programs to the rules of their sandboxes, by the operating system: Landlock and a filter of system calls on
//! Linux, nothing elsewhere.
//!
//! A ruleset is made here for each start, and applied by the new process before it becomes the program. Several rulesets
//! hold together, each for itself, so the stricter one counts; the one filter is that of the strictest.

#[cfg(target_os = "linux")]
mod landlock;
mod needs;
mod rules;
#[cfg(target_os = "linux")]
mod seccomp;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::error::WorldError;
use super::program_run::ProgramCommand;
use crate::compile::SandboxRules;

pub use needs::{NeedAccess, program_needs};
pub(in crate::world) use rules::{SocketRules, SyscallRules};
#[cfg(target_os = "linux")]
pub(in crate::world) use seccomp::SyscallFilter;

/// How many sandboxes may hold one program: that of its step, and those of the importers of its pack.
pub const MAX_SANDBOXES: usize = 8;

/// What the system can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The version of Landlock; 0 for none.
    version: u32,
    /// Whether it filters system calls.
    filters_calls: bool,
}

impl SandboxSupport {
    /// That of this system.
    pub fn detect() -> SandboxSupport {
        #[cfg(target_os = "linux")]
        let (version, filters_calls) = (landlock::version(), seccomp::is_supported());
        #[cfg(not(target_os = "linux"))]
        let (version, filters_calls) = (0, false);
        SandboxSupport { version, filters_calls }
    }

    /// In words.
    pub fn describe(self) -> String {
        match (self.version, self.filters_calls) {
            (0, _) => "nothing of files: this system has no Landlock".to_owned(),
            (version, true) => format!("Landlock, version {version}, and seccomp"),
            (version, false) => format!("Landlock, version {version}"),
        }
    }

    /// What it cannot enforce of these rules, in words.
    pub fn gaps<'a>(self, rules: impl IntoIterator<Item = &'a SandboxRules>) -> Vec<&'static str> {
        let calls = SyscallRules::strictest(rules);
        let holds_network = calls.sockets != SocketRules::Any;
        let gaps = [
            (self.version < 1, "files"),
            (self.version < 3, "truncating files"),
            (self.version < 4 && holds_network, "TCP"),
            (self.version < 5, "device commands"),
            (self.version < 6, "signals and abstract sockets"),
            (!self.filters_calls && holds_network, "sockets other than those of TCP"),
            (!self.filters_calls && calls.keeps_attributes, "modes and owners of files"),
            (!self.filters_calls, "shared memory, keys and other calls that name no file"),
        ];
        gaps.iter().filter(|(lacks, _)| *lacks).map(|(_, what)| *what).collect()
    }
}

/// What holds a program from its start: nothing without a sandbox, and where the system has none.
#[derive(Default)]
pub(super) struct EnforcedRules {
    /// Its Landlock rulesets.
    pub(super) rulesets: Vec<OwnedFd>,
    /// What its filter of system calls refuses.
    pub(super) calls: Option<SyscallRules>,
}

/// The rules that a program is started with.
///
/// # Errors
/// Its sandbox is required, and the system cannot hold it.
pub(super) fn enforced_rules(
    command: &ProgramCommand,
    program: &Path,
    search_path: &OsStr,
) -> Result<EnforcedRules, WorldError> {
    if command.sandboxes.is_empty() {
        return Ok(EnforcedRules::default());
    }
    let support = SandboxSupport::detect();
    refuse_gaps(command, support)?;
    let sandboxes = command.sandboxes.iter().map(AsRef::as_ref);
    let calls = support.filters_calls.then(|| SyscallRules::strictest(sandboxes));
    #[cfg(target_os = "linux")]
    if support.version > 0 {
        let needs = program_needs(program, search_path);
        let cwd = command.cwd_folder.as_deref();
        let rulesets = command.sandboxes.iter().map(|rules| landlock::ruleset(rules, &needs, cwd));
        return Ok(EnforcedRules { rulesets: rulesets.collect::<Result<_, _>>()?, calls });
    }
    let _ = (program, search_path);
    Ok(EnforcedRules { calls, ..EnforcedRules::default() })
}

/// Refuses a program whose sandbox is required, and cannot be had.
fn refuse_gaps(command: &ProgramCommand, support: SandboxSupport) -> Result<(), WorldError> {
    let required: Vec<&SandboxRules> =
        command.sandboxes.iter().map(AsRef::as_ref).filter(|rules: &&SandboxRules| rules.required).collect();
    let gaps = if required.is_empty() { Vec::new() } else { support.gaps(required) };
    match gaps.as_slice() {
        [] => Ok(()),
        gaps => Err(WorldError::SandboxUnsupported { program: command.program.clone(), gaps: gaps.join(", ") }),
    }
}

/// The filter of these rules, made before the new process is; empty without any.
#[cfg(target_os = "linux")]
pub(super) fn call_filter(rules: Option<SyscallRules>) -> SyscallFilter {
    rules.map(seccomp::filter).unwrap_or_default()
}

/// Holds the calling process, which is about to become a program, to these rulesets and this filter.
#[cfg(target_os = "linux")]
pub(super) fn enforce(rulesets: &[OwnedFd], filter: &SyscallFilter) -> std::io::Result<()> {
    landlock::enforce(rulesets)?;
    seccomp::enforce(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::NetworkRules;

    fn rules(network: NetworkRules) -> SandboxRules {
        SandboxRules { read: Vec::new(), write: Vec::new(), network, required: true }
    }

    #[test]
    fn required_sandbox_is_refused_where_it_has_gaps() {
        let command = |required| ProgramCommand {
            sandboxes: vec![SandboxRules { required, ..rules(NetworkRules::Ports(Vec::new())) }.into()],
            ..ProgramCommand::new("sh", "/")
        };
        let refused = |required, version| {
            refuse_gaps(&command(required), SandboxSupport { version, filters_calls: true })
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            refused(true, 5).unwrap(),
            "sandbox required for `sh`, and this system cannot enforce: signals and abstract sockets"
        );
        assert!(refused(true, 0).is_some() && refused(true, 6).is_none() && refused(false, 0).is_none());
    }

    #[test]
    fn older_kernels_leave_gaps() {
        let gaps = |version, network| SandboxSupport { version, filters_calls: true }.gaps([&rules(network)]);
        let none = || NetworkRules::Ports(Vec::new());
        assert_eq!(
            gaps(0, none()),
            ["files", "truncating files", "TCP", "device commands", "signals and abstract sockets"]
        );
        assert_eq!(gaps(2, none()).first(), Some(&"truncating files"));
        assert_eq!(gaps(3, none()), ["TCP", "device commands", "signals and abstract sockets"]);
        assert_eq!(gaps(3, NetworkRules::Any), ["device commands", "signals and abstract sockets"]);
        assert!(gaps(6, none()).is_empty() && gaps(9, none()).is_empty());
    }

    #[test]
    fn system_without_call_filters_leaves_gaps() {
        let gaps = |network| SandboxSupport { version: 9, filters_calls: false }.gaps([&rules(network)]);
        assert_eq!(
            gaps(NetworkRules::Ports(vec![443])),
            [
                "sockets other than those of TCP",
                "modes and owners of files",
                "shared memory, keys and other calls that name no file"
            ]
        );
        assert_eq!(
            gaps(NetworkRules::Any),
            ["modes and owners of files", "shared memory, keys and other calls that name no file"]
        );
    }

    #[test]
    fn strictest_call_rules_count() {
        let (any, ports) = (rules(NetworkRules::Any), rules(NetworkRules::Ports(vec![443])));
        let none = rules(NetworkRules::Ports(Vec::new()));
        assert_eq!(SyscallRules::strictest([&any, &ports]).sockets, SocketRules::TcpAndUdp);
        assert_eq!(SyscallRules::strictest([&none, &ports]).sockets, SocketRules::Local);
    }
}
