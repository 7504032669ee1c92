//! Runs one program until it and all its descendants are gone.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::captured_bytes::CapturedBytes;
use super::error::WorldError;
use super::pipes::ParentPipes;
use super::program_path::{is_executable, lacks_shebang, path_candidates, shebang_fault};
use super::program_permits::ProgramPermit;
use super::sandbox::EnforcedRules;
use super::{LatestLine, RealWorld, TraceContext, sandbox};
use crate::budget::Budget;
use crate::compile::SandboxRules;
use crate::world::supervisor::{ChildDescriptors, ProcessTree, ProgramFailure, StartRequest};

/// Where programs are searched if `PATH` is not set.
pub const DEFAULT_SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The variables that every program gets, with defaults for unset ones.
pub(super) const BASE_ENV: [(&str, Option<&str>); 4] =
    [("PATH", Some(DEFAULT_SEARCH_PATH)), ("HOME", None), ("LANG", None), ("TMPDIR", None)];

/// How long to read after the program has exited: in `> >(tee log)` `tee` still writes.
const PIPE_LINGER_TIMEOUT: Duration = Duration::from_millis(50);
/// How long to read after all descendants are gone.
const FINAL_DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// A program to run, with a list of arguments.
#[derive(Debug, Clone)]
pub struct ProgramCommand {
    /// A name, found on the `PATH` of the program, or a path relative to `cwd`.
    pub program: String,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// The working folder itself, where a link must not take its place.
    pub cwd_folder: Option<Arc<OwnedFd>>,
    /// Environment variables in addition to `PATH`, `HOME`, `LANG` and `TMPDIR`; later ones win.
    pub env: Vec<(String, String)>,
    /// The stdin; empty by default.
    pub stdin: Option<Vec<u8>>,
    /// What it may reach: each of these holds.
    pub sandboxes: Vec<Arc<SandboxRules>>,
    pub timeout: Duration,
    /// How many bytes of stdout and of stderr are kept. More is read and counted: at full speed up to 64 times the limit
    /// (at least 16 MiB), then slowly, so that a flood costs no CPU.
    pub max_output: u64,
    /// The id of the step that runs it.
    pub step: Option<String>,
    /// Whether it is a shell that runs a script.
    pub is_script: bool,
    /// Whether the manifest names it, and no variable, which may be secret.
    pub is_named_by_manifest: bool,
    /// The trace that it is part of.
    pub trace: TraceContext,
    /// Takes its stdout as it comes.
    pub latest_line: Option<Arc<LatestLine>>,
    /// The limits of the call, which holds its output while it runs, and whose end is that of the program.
    pub budget: Budget,
}

impl ProgramCommand {
    /// Creates a command without arguments, limited to 30 s and 1 MiB.
    pub fn new(program: impl Into<String>, cwd: impl Into<PathBuf>) -> ProgramCommand {
        ProgramCommand::with_budget(Budget::default(), program, cwd)
    }

    /// The same with the budget of a call, which ends it.
    pub fn with_budget(budget: Budget, program: impl Into<String>, cwd: impl Into<PathBuf>) -> ProgramCommand {
        ProgramCommand {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            cwd_folder: None,
            env: Vec::new(),
            stdin: None,
            sandboxes: Vec::new(),
            timeout: Duration::from_secs(30),
            max_output: 1 << 20,
            step: None,
            is_script: false,
            is_named_by_manifest: false,
            trace: TraceContext::default(),
            latest_line: None,
            budget,
        }
    }
}

/// The output and the exit status of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    pub stdout: CapturedBytes,
    pub stderr: CapturedBytes,
    /// The exit code, unless a signal killed it.
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
}

impl ProgramOutput {
    /// How the program with a name ended, as a sentence.
    pub fn describe_end(&self, program: &str) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("`{program}` exited with code {code}"),
            (None, Some(signal)) => format!("`{program}` was killed by signal {signal}"),
            (None, None) => format!("`{program}` ended with an unknown status"),
        }
    }
}

/// Runs `command`. All its descendants are killed when this returns or is dropped.
pub(super) async fn run_program(real: &RealWorld, mut command: ProgramCommand) -> Result<ProgramOutput, WorldError> {
    if command.budget.cancel().is_cancelled() {
        return Err(WorldError::Cancelled);
    }
    let own_path = command.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| OsString::from(value));
    let inherited = || real.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let search_path = own_path.or_else(inherited).unwrap_or_default();
    let program = locate_program(&command, &search_path)?;
    // Waiting for a permit counts towards the timeout.
    let mut deadline = std::pin::pin!(tokio::time::sleep(command.timeout));
    let permit = tokio::select! {
        biased;
        () = command.budget.cancel().cancelled() => return Err(WorldError::Cancelled),
        permit = real.permits.acquire(command.budget.caller()) => permit,
        () = &mut deadline => None,
    };
    let Some(permit) = permit else {
        let limit = real.permits.reached_limit(command.budget.caller());
        return Err(WorldError::ProgramLimit { limit, after: command.timeout });
    };
    let sandbox = sandbox::enforced_rules(&command, &program, &search_path)?;
    let started = start_program(real, &mut command, &program, sandbox, permit);
    let to_error = |failure| program_error(failure, &command, &program, &search_path);
    let (mut tree, mut pipes) = started.map_err(|error| to_error(ProgramFailure::NotStarted(error)))?;
    let ended = tokio::select! {
        biased;
        () = command.budget.cancel().cancelled() => ExitCause::Cancelled,
        () = deadline => ExitCause::TimedOut,
        exited = pump_until_exit(&mut tree, &mut pipes) => exited.map(|()| ExitCause::Exited).map_err(to_error)?,
    };
    let status = tree.kill().await;
    // All writers are gone; read what is left in the pipes.
    let _ = tokio::time::timeout(FINAL_DRAIN_TIMEOUT, pipes.pump()).await;
    let budget_error = pipes.budget_error();
    let (stdout, stderr) = pipes.into_captured();
    match ended {
        ExitCause::Cancelled => Err(WorldError::Cancelled),
        ExitCause::TimedOut => Err(WorldError::TimedOut { after: command.timeout, stdout, stderr }),
        ExitCause::Exited => {
            budget_error.map_or(Ok(()), |why| Err(WorldError::BudgetExceeded(why)))?;
            let status = status.map_err(to_error)?;
            let (exit_code, signal) =
                (status.and_then(|status| status.code()), status.and_then(|status| status.signal()));
            Ok(ProgramOutput { stdout, stderr, exit_code, signal })
        }
    }
}

enum ExitCause {
    Exited,
    TimedOut,
    Cancelled,
}

fn locate_program(command: &ProgramCommand, path: &OsStr) -> Result<PathBuf, WorldError> {
    let mut found = None;
    for candidate in path_candidates(OsStr::new(&command.program), path) {
        let candidate = command.cwd.join(candidate);
        if is_executable(&candidate) && !lacks_shebang(&candidate) {
            return Ok(candidate);
        }
        found = found.or_else(|| candidate.exists().then_some(candidate));
    }
    let program = command.program.clone();
    match found {
        Some(found) if is_executable(&found) => {
            let reason = shebang_fault(&found, path).unwrap_or_default();
            Err(WorldError::NoInterpreter { program, reason })
        }
        Some(_) => Err(WorldError::NotExecutable { program }),
        None if !command.cwd.is_dir() => Err(WorldError::InvalidWorkingDir { program }),
        None => Err(WorldError::ProgramNotFound { program }),
    }
}

/// Starts the program at a path, which the rules of its sandbox hold.
fn start_program(
    real: &RealWorld,
    command: &mut ProgramCommand,
    path: &Path,
    EnforcedRules { rulesets, calls }: EnforcedRules,
    permit: ProgramPermit,
) -> io::Result<(ProcessTree, ParentPipes)> {
    let (pipes, child_stdio) = ParentPipes::new(command)?;
    let cwd_folder = command.cwd_folder.as_ref().map(|folder| folder.try_clone()).transpose()?;
    // The path would be followed again.
    let cwd: &Path = if cwd_folder.is_some() { Path::new("/") } else { &command.cwd };
    let child_stdio = ChildDescriptors { sandbox: rulesets, cwd: cwd_folder, ..child_stdio };
    let own_env = command.env.iter().map(|(name, value)| (name.into(), value.into()));
    let start = StartRequest {
        program: path.into(),
        arg0: (&command.program).into(),
        args: command.args.clone(),
        cwd: cwd.into(),
        env: real.environment.iter().cloned().chain(own_env).collect(),
        calls,
    };
    Ok((real.supervisor.client()?.start(start, child_stdio, permit), pipes))
}

/// Why the program at `path`, which was searched on a `PATH`, was not started, or its end is not known.
fn program_error(failure: ProgramFailure, command: &ProgramCommand, path: &Path, search_path: &OsStr) -> WorldError {
    let program = command.program.clone();
    let source = match failure {
        ProgramFailure::NotStarted(source) => source,
        ProgramFailure::Unsupervised(reason) => return WorldError::Unsupervised { program, reason },
    };
    match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        _ if !command.cwd.is_dir() => WorldError::InvalidWorkingDir { program },
        Some(rustix::io::Errno::NOEXEC | rustix::io::Errno::ACCESS) => WorldError::NotExecutable { program },
        // The system says so of what the program needs.
        Some(rustix::io::Errno::NOENT) if path.exists() => {
            let fault = shebang_fault(path, search_path);
            let reason = fault.unwrap_or_else(|| "its loader is not there: it was built for another system".to_owned());
            WorldError::NoInterpreter { program, reason }
        }
        _ => WorldError::SpawnFailed { program, source },
    }
}

/// Moves what goes through the pipes until the program has exited by itself.
async fn pump_until_exit(tree: &mut ProcessTree, pipes: &mut ParentPipes) -> Result<(), ProgramFailure> {
    let mut exited = std::pin::pin!(tree.wait_exited());
    let mut flow = std::pin::pin!(pipes.pump());
    tokio::select! {
        outcome = &mut exited => {
            outcome?;
            let _ = tokio::time::timeout(PIPE_LINGER_TIMEOUT, flow).await;
            Ok(())
        }
        () = &mut flow => exited.await,
    }
}
