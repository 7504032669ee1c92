//! One program, from its start until nothing of it is left.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Real;
use super::captured::Captured;
use super::error::WorldError;
use super::permits::Permit;
use super::pipes::Pipes;
use super::program::{candidates, is_executable, names_no_interpreter};
use crate::world::supervisor::{Failure, ProcessTree, Start};

/// What every child finds in its environment, with what stands in for an unset one.
pub(super) const BASE_VARIABLES: [(&str, Option<&str>); 4] =
    [("PATH", Some("/usr/local/bin:/usr/bin:/bin")), ("HOME", None), ("LANG", None), ("TMPDIR", None)];

/// How long the pipes may outlive the program: `> >(tee log)` is still writing when its shell has ended.
const LINGER: Duration = Duration::from_millis(50);
/// How long is read when nothing is left that could write.
const REMAINS: Duration = Duration::from_millis(100);

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

/// Runs `command`. Whatever it started is gone when this returns; dropped, it is killed.
pub(super) async fn run(real: &Real, mut command: Command) -> Result<Finished, WorldError> {
    if command.cancel.is_cancelled() {
        return Err(WorldError::Cancelled);
    }
    let program = locate(&command, &command.variable(&real.environment, "PATH"))?;
    // The time until it is its turn is part of its time.
    let mut time = std::pin::pin!(tokio::time::sleep(command.timeout));
    let permit = tokio::select! {
        biased;
        () = command.cancel.cancelled() => return Err(WorldError::Cancelled),
        permit = real.permits.acquire() => permit,
        () = &mut time => None,
    };
    let Some(permit) = permit else {
        return Err(WorldError::TooManyPrograms { limit: real.permits.limit(), after: command.timeout });
    };
    let started = start(real, &program, &mut command, permit);
    let (mut tree, mut pipes) = started.map_err(|fault| not_started(fault, &command))?;
    let ended = tokio::select! {
        biased;
        () = command.cancel.cancelled() => Ended::Cancelled,
        () = time => Ended::TimedOut,
        exited = until_exit(&mut tree, &mut pipes) => match exited {
            Ok(()) => Ended::Itself,
            Err(failure) => return Err(failed(failure, &command)),
        },
    };
    let status = tree.end().await;
    // Nothing is left that could write; what the pipes still hold is read.
    let _ = tokio::time::timeout(REMAINS, pipes.flow()).await;
    let (stdout, stderr) = pipes.captured();
    match ended {
        Ended::Cancelled => Err(WorldError::Cancelled),
        Ended::TimedOut => Err(WorldError::TimedOut { after: command.timeout, said: stderr }),
        Ended::Itself => {
            status.map(|status| finished(status, stdout, stderr)).map_err(|failure| failed(failure, &command))
        }
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
        if is_executable(&candidate) && !names_no_interpreter(&candidate) {
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

fn start(real: &Real, program: &Path, command: &mut Command, permit: Permit) -> io::Result<(ProcessTree, Pipes)> {
    let (pipes, theirs) = Pipes::new(command.stdin.take(), command.max_output)?;
    let given = command.env.iter().map(|(name, value)| (name.into(), value.into()));
    let start = Start {
        program: program.into(),
        name: (&command.program).into(),
        args: command.args.clone(),
        cwd: (&command.cwd).into(),
        env: real.environment.iter().cloned().chain(given).collect(),
    };
    Ok((real.supervisor.start(&start, theirs, permit)?, pipes))
}

fn not_started(source: io::Error, command: &Command) -> WorldError {
    let program = command.program.clone();
    match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        _ if !command.cwd.is_dir() => WorldError::NoFolder { program },
        Some(rustix::io::Errno::NOEXEC | rustix::io::Errno::ACCESS) => WorldError::NotExecutable { program },
        _ => WorldError::NotStarted { program, source },
    }
}

fn failed(failure: Failure, command: &Command) -> WorldError {
    match failure {
        Failure::NotStarted(fault) => not_started(fault, command),
        Failure::Unsupervised(reason) => WorldError::Unsupervised { program: command.program.clone(), reason },
    }
}

/// Waits until a program that was started has ended by itself.
async fn until_exit(tree: &mut ProcessTree, pipes: &mut Pipes) -> Result<(), Failure> {
    let mut exited = std::pin::pin!(tree.exited());
    let mut flow = std::pin::pin!(pipes.flow());
    tokio::select! {
        outcome = &mut exited => {
            outcome?;
            let _ = tokio::time::timeout(LINGER, flow).await;
            Ok(())
        }
        () = &mut flow => exited.await,
    }
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
