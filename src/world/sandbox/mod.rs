//! Holds programs to the rules of their sandboxes, by the operating system: Landlock on Linux, nothing elsewhere.
//!
//! A ruleset is made here for each start, and applied by the new process before it becomes the program. Several rulesets
//! hold together, each for itself, so the stricter one counts.

#[cfg(target_os = "linux")]
mod landlock;
mod needs;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::error::WorldError;
use super::program_run::ProgramCommand;
use crate::compile::{NetworkRules, SandboxRules};

pub use needs::{NeedAccess, ProgramNeed, program_needs};

/// How many sandboxes may hold one program: that of its step, and those of the importers of its pack.
pub const MAX_SANDBOXES: usize = 8;

/// What the system can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The version of Landlock; 0 for none.
    version: u32,
}

impl SandboxSupport {
    /// That of this system.
    pub fn detect() -> SandboxSupport {
        #[cfg(target_os = "linux")]
        let version = landlock::version();
        #[cfg(not(target_os = "linux"))]
        let version = 0;
        SandboxSupport { version }
    }

    /// In words.
    pub fn describe(self) -> String {
        match self.version {
            0 => "nothing: this system has no Landlock".to_owned(),
            version => format!("Landlock, version {version}"),
        }
    }

    /// What it cannot enforce of these rules, in words.
    pub fn gaps<'a>(self, rules: impl IntoIterator<Item = &'a SandboxRules>) -> Vec<&'static str> {
        let holds_network = rules.into_iter().any(|rules| rules.network != NetworkRules::Any);
        let since = [
            (1, true, "files"),
            (3, true, "truncating files"),
            (4, holds_network, "TCP"),
            (5, true, "device commands"),
            (6, true, "signals and abstract sockets"),
        ];
        since.iter().filter(|(version, asked, _)| *asked && self.version < *version).map(|(_, _, what)| *what).collect()
    }
}

/// The rulesets that a program is started with. Empty without a sandbox, and where the system has none.
pub(super) fn rulesets(
    command: &ProgramCommand,
    program: &Path,
    search_path: &OsStr,
) -> Result<Vec<OwnedFd>, WorldError> {
    if command.sandboxes.is_empty() {
        return Ok(Vec::new());
    }
    let support = SandboxSupport::detect();
    refuse_gaps(command, support)?;
    #[cfg(target_os = "linux")]
    if support.version > 0 {
        let needs = program_needs(program, search_path);
        let cwd = command.cwd_folder.as_deref();
        return command.sandboxes.iter().map(|rules| landlock::ruleset(rules, &needs, cwd)).collect();
    }
    let _ = (program, search_path);
    Ok(Vec::new())
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

/// Holds the calling process, which is about to become a program, to these rulesets.
#[cfg(target_os = "linux")]
pub(super) fn enforce(rulesets: &[OwnedFd]) -> std::io::Result<()> {
    landlock::enforce(rulesets)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
            refuse_gaps(&command(required), SandboxSupport { version }).err().map(|error| error.to_string())
        };
        assert_eq!(
            refused(true, 5).unwrap(),
            "sandbox required for `sh`, and this system cannot enforce: signals and abstract sockets"
        );
        assert!(refused(true, 0).is_some() && refused(true, 6).is_none() && refused(false, 0).is_none());
    }

    #[test]
    fn older_kernels_leave_gaps() {
        let gaps = |version, network| SandboxSupport { version }.gaps([&rules(network)]);
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
}
