//! One program, from its start until nothing of it is left.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::captured::Captured;
use super::error::WorldError;
use super::family::{Families, Family};
use super::pipes::Pipes;
use super::program::{candidates, is_executable};

/// What every child finds in its environment, with what stands in for an unset one.
pub(super) const BASE_VARIABLES: [(&str, Option<&str>); 4] =
    [("PATH", Some("/usr/local/bin:/usr/bin:/bin")), ("HOME", None), ("LANG", None), ("TMPDIR", None)];

/// How long the pipes may outlive the program: `> >(tee log)` is still writing when its shell has ended.
const LINGER: Duration = Duration::from_millis(50);
/// How long is read when nothing is left that could write.
const REMAINS: Duration = Duration::from_millis(100);
/// How long a killed program may take to be gone.
const BURIAL: Duration = Duration::from_secs(2);

/// A program to be run: argv elements, never a shell's line.
#[derive(Debug, Clone)]
pub struct Command {
    /// A name, sought on `PATH` of the child's environment, or a path, relative to `cwd`.
    pub program: String,
    /// The elements after the program.
    pub args: Vec<OsString>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Its environment besides `PATH`, `HOME`, `LANG` and `TMPDIR`; a later one stands before an earlier.
    pub env: Vec<(String, String)>,
    /// What it reads; without it, stdin is empty.
    pub stdin: Option<Vec<u8>>,
    /// How long it may take.
    pub timeout: Duration,
    /// How many bytes of stdout are kept, and of stderr. What comes after is read and counted: at full speed up to 64
    /// times the limit (16 MiB at least), then slowly, so that a flood costs no CPU until its time is up.
    pub max_output: u64,
    /// Ends it early.
    pub cancel: CancellationToken,
}

impl Command {
    /// Makes a command without arguments, with 30 s and 1 MiB.
    pub fn new(program: impl Into<String>, cwd: impl Into<PathBuf>) -> Command {
        Command {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: None,
            timeout: Duration::from_secs(30),
            max_output: 1 << 20,
            cancel: CancellationToken::new(),
        }
    }

    fn variable(&self, base: &[(OsString, OsString)], name: &str) -> OsString {
        let given = self.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| OsString::from(value));
        let inherited = || base.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        given.or_else(inherited).unwrap_or_default()
    }
}

/// How a program ended, and what it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// What it wrote to stdout.
    pub stdout: Captured,
    /// What it wrote to stderr.
    pub stderr: Captured,
    /// Its exit code, unless a signal ended it.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Runs `command`. Whatever it started is gone when this returns or is dropped.
pub(super) async fn run(
    base: &[(OsString, OsString)],
    families: &Families,
    command: Command,
) -> Result<Finished, WorldError> {
    if command.cancel.is_cancelled() {
        return Err(WorldError::Cancelled);
    }
    let program = locate(&command, &command.variable(base, "PATH"))?;
    let mut family = families.begin();
    let child = spawn(&mut family, || prepared(&program, base, &command)).await;
    let mut child = child.map_err(|fault| not_started(fault, &command))?;
    let mut pipes = Pipes::take(&mut child, command.stdin, command.max_output);
    let ended = tokio::select! {
        biased;
        () = command.cancel.cancelled() => Ended::Cancelled,
        () = tokio::time::sleep(command.timeout) => Ended::TimedOut,
        () = until_exit(&mut child, &mut pipes) => Ended::Itself,
    };
    let status = bury(family, &mut child).await;
    // Nothing is left that could write; what the pipes still hold is read.
    let _ = tokio::time::timeout(REMAINS, pipes.flow()).await;
    let (stdout, stderr) = pipes.captured();
    match ended {
        Ended::Cancelled => Err(WorldError::Cancelled),
        Ended::TimedOut => Err(WorldError::TimedOut { after: command.timeout, said: stderr }),
        Ended::Itself => Ok(finished(status, stdout, stderr)),
    }
}

enum Ended {
    Itself,
    TimedOut,
    Cancelled,
}

fn locate(command: &Command, path: &OsStr) -> Result<PathBuf, WorldError> {
    let mut found = None;
    for candidate in candidates(OsStr::new(&command.program), path) {
        let candidate = command.cwd.join(candidate);
        if is_executable(&candidate) {
            return Ok(candidate);
        }
        found = found.or_else(|| candidate.exists().then_some(candidate));
    }
    let program = command.program.clone();
    match found {
        Some(_) => Err(WorldError::NotExecutable { program }),
        None if !command.cwd.is_dir() => Err(WorldError::NoFolder { program }),
        None => Err(WorldError::ProgramNotFound { program }),
    }
}

async fn spawn(family: &mut Family, prepared: impl Fn() -> tokio::process::Command) -> io::Result<Child> {
    for _ in 0..10 {
        match family.found(|| prepared().spawn()) {
            // A file just written, which a process that is being started elsewhere still holds open.
            Err(fault) if fault.kind() == io::ErrorKind::ExecutableFileBusy => {}
            outcome => return outcome,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    family.found(|| prepared().spawn())
}

fn prepared(program: &Path, base: &[(OsString, OsString)], command: &Command) -> tokio::process::Command {
    let mut prepared = tokio::process::Command::new(program);
    prepared
        .arg0(&command.program)
        .args(&command.args)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(base.iter().map(|(name, value)| (name, value)))
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    prepared
}

fn not_started(source: io::Error, command: &Command) -> WorldError {
    let program = command.program.clone();
    match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        _ if !command.cwd.is_dir() => WorldError::NoFolder { program },
        Some(rustix::io::Errno::NOEXEC | rustix::io::Errno::ACCESS) => WorldError::NotExecutable { program },
        _ => WorldError::NotStarted { program, source },
    }
}

async fn until_exit(child: &mut Child, pipes: &mut Pipes) {
    let mut exit = std::pin::pin!(exited(child));
    let mut flow = std::pin::pin!(pipes.flow());
    tokio::select! {
        () = &mut exit => { let _ = tokio::time::timeout(LINGER, flow).await; }
        () = &mut flow => exit.await,
    }
}

/// Waits for the end of the program without reaping it, so that its number is still its own when its group is killed.
#[cfg(target_os = "linux")]
async fn exited(child: &mut Child) {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use tokio::io::unix::AsyncFd;

    let number = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let handle = number.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    #[expect(deprecated, reason = "its successor is unsafe, for types whose descriptor changes; an OwnedFd's does not")]
    let watched = handle.and_then(|handle| AsyncFd::with_interest(handle, tokio::io::Interest::READABLE).ok());
    match &watched {
        Some(handle) => drop(handle.readable().await),
        None => drop(child.wait().await),
    }
}

#[cfg(not(target_os = "linux"))]
async fn exited(child: &mut Child) {
    drop(child.wait().await);
}

/// Kills whatever is left and waits until it is gone.
async fn bury(mut family: Family, child: &mut Child) -> Option<ExitStatus> {
    family.kill();
    let status = tokio::time::timeout(BURIAL, child.wait()).await;
    family.end().await;
    status.ok().and_then(Result::ok)
}

fn finished(status: Option<ExitStatus>, stdout: Captured, stderr: Captured) -> Finished {
    use std::os::unix::process::ExitStatusExt;

    Finished {
        stdout,
        stderr,
        exit: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
    }
}
