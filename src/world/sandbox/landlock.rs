//! Landlock: rulesets of the kernel.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, open, openat2};

use super::needs::{NeedAccess, ProgramNeed};
use crate::compile::{NetworkRules, SandboxPath, SandboxRules, SandboxTarget};
use crate::world::error::WorldError;

/// The rights that programs are held to. The kernel holds those that it knows.
const RIGHTS: ABI = ABI::V7;
/// The same where nothing of the network is allowed: also UDP, and sockets that are files.
const RIGHTS_WITHOUT_NETWORK: ABI = ABI::V10;
/// Asks for the version instead of a ruleset.
const CREATE_RULESET_VERSION: u32 = 1;

/// The version of the kernel; 0 for none.
pub(super) fn version() -> u32 {
    // SAFETY: with this flag the kernel reads no memory, and returns a number.
    #[allow(unsafe_code, reason = "the version of Landlock is known to its system call alone")]
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, CREATE_RULESET_VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// Holds the calling process to these rulesets. It makes system calls only, as it runs between fork and exec.
pub(super) fn enforce(rulesets: &[OwnedFd]) -> io::Result<()> {
    if rulesets.is_empty() {
        return Ok(());
    }
    rustix::thread::set_no_new_privs(true)?;
    for ruleset in rulesets {
        // SAFETY: the kernel reads no memory.
        #[allow(unsafe_code, reason = "a ruleset that another process has made is only known by its descriptor")]
        let outcome = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The ruleset of a sandbox, and of what its program needs.
pub(super) fn ruleset(
    rules: &SandboxRules,
    needs: &[ProgramNeed],
    cwd: Option<&OwnedFd>,
) -> Result<OwnedFd, WorldError> {
    let rights = rights_of(&rules.network);
    let mut ruleset = create(&rules.network).map_err(|error| to_error(&error))?;
    for need in needs {
        // What is not there is not needed.
        let Ok(file) = open(&need.path, path_flags(), Mode::empty()) else { continue };
        ruleset = allow(ruleset, file, need_rights(need.access)).map_err(|error| to_error(&error))?;
    }
    let read = rules.read.iter().map(|path| (path, read_rights()));
    let write = rules.write.iter().map(|path| (path, write_rights(rights)));
    for (path, rights) in read.chain(write) {
        let file = open_path(path, cwd)?;
        ruleset = allow(ruleset, file, rights).map_err(|error| to_error(&error))?;
    }
    Option::<OwnedFd>::from(ruleset).ok_or_else(|| to_error(&"the kernel has no Landlock"))
}

/// The rights that a ruleset holds.
fn rights_of(network: &NetworkRules) -> ABI {
    match network {
        NetworkRules::Ports(ports) if ports.is_empty() => RIGHTS_WITHOUT_NETWORK,
        _ => RIGHTS,
    }
}

fn create(network: &NetworkRules) -> Result<RulesetCreated, RulesetError> {
    let rights = rights_of(network);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(AccessFs::from_all(rights))?.scope(Scope::from_all(rights))?;
    let NetworkRules::Ports(ports) = network else { return ruleset.create() };
    let mut created = ruleset.handle_access(AccessNet::from_all(rights))?.create()?;
    for port in ports {
        created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    Ok(created)
}

fn allow(ruleset: RulesetCreated, file: OwnedFd, rights: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let is_folder = fstat(&file).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir());
    let rights = if is_folder { rights } else { rights & AccessFs::from_file(RIGHTS_WITHOUT_NETWORK) };
    ruleset.add_rule(PathBeneath::new(file, rights))
}

fn need_rights(access: NeedAccess) -> BitFlags<AccessFs> {
    match access {
        NeedAccess::Execute => read_rights(),
        NeedAccess::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        NeedAccess::Write => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
    }
}

/// Programs that may be read may be run: an interpreter would run them anyway.
fn read_rights() -> BitFlags<AccessFs> {
    AccessFs::from_read(RIGHTS)
}

/// All but devices, which lead out of the folder that they are in.
fn write_rights(supported: ABI) -> BitFlags<AccessFs> {
    AccessFs::from_all(supported) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

fn path_flags() -> OFlags {
    OFlags::PATH | OFlags::CLOEXEC
}

fn open_path(path: &SandboxPath, cwd: Option<&OwnedFd>) -> Result<OwnedFd, WorldError> {
    let unset = || WorldError::SandboxPath { path: path.display_path.clone(), reason: "not set".into() };
    let opened = match &path.target {
        SandboxTarget::Anywhere(place) => open(place, path_flags(), Mode::empty()).map_err(io::Error::from),
        SandboxTarget::BelowFolder(root, relative) => open_beneath(root, relative).map_err(io::Error::from),
        SandboxTarget::WorkingFolder => cwd.ok_or_else(unset)?.try_clone(),
        SandboxTarget::Unset => return Err(unset()),
    };
    opened
        .map_err(|error| WorldError::SandboxPath { path: path.display_path.clone(), reason: error.kind().to_string() })
}

/// Opens a path below a folder, which no link leaves, whatever a program has made of it.
fn open_beneath(root: &Path, relative: &Path) -> rustix::io::Result<OwnedFd> {
    let root = open(root, path_flags() | OFlags::DIRECTORY, Mode::empty())?;
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    openat2(root, relative, path_flags(), Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

fn to_error(error: &dyn std::fmt::Display) -> WorldError {
    WorldError::Sandbox { reason: error.to_string() }
}
