use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::world::{CapturedBytes, ProgramCommand, ProgramOutput, RealWorld, World, WorldError};

fn real() -> RealWorld {
    RealWorld::with_environment(|name| match name {
        "PATH" => Some("/usr/bin:/bin".into()),
        "HOME" => Some("/nowhere".into()),
        "LANG" => Some("C".into()),
        "TMPDIR" => Some("/scratch".into()),
        // Whatever else is asked for is there, so that a test sees what is handed on.
        "EXTRA" | "LD_LIBRARY_PATH" | "SSH_AUTH_SOCK" => Some("extra".into()),
        _ => None,
    })
}

fn command(line: &[&str]) -> ProgramCommand {
    let args = line[1..].iter().map(OsString::from).collect();
    ProgramCommand { args, ..ProgramCommand::new(line[0], "/") }
}

fn sh(script: &str) -> ProgramCommand {
    command(&["sh", "-c", script])
}

async fn run(command: ProgramCommand) -> ProgramOutput {
    real().run_program(command).await.unwrap()
}

fn text(captured: &CapturedBytes) -> &str {
    captured.text().unwrap()
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let odd = ["printf", "[%s]", "a b", "", "$HOME", "*", "'\"`;|&\n", "é\u{1b}"];
    let finished = run(command(&odd)).await;
    assert_eq!(text(&finished.stdout), "[a b][][$HOME][*]['\"`;|&\n][é\u{1b}]");
    assert_eq!((finished.exit_code, finished.signal), (Some(0), None));
}

#[tokio::test]
async fn environment_is_the_base_and_the_command_env() {
    let mut env = command(&["env"]);
    env.env = vec![("TOKEN".into(), "x=y".into()), ("LANG".into(), "C.UTF-8".into())];
    let finished = run(env).await;
    let mut lines: Vec<_> = text(&finished.stdout).lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["HOME=/nowhere", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TMPDIR=/scratch", "TOKEN=x=y"]);
}

#[tokio::test]
async fn program_is_found_on_its_own_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tool");
    fs::write(&program, "#!/bin/sh\necho \"$0 in $(pwd -P)\"").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let named = ProgramCommand {
        env: vec![("PATH".into(), format!("{}:/bin:/usr/bin", cwd.display()))],
        ..ProgramCommand::new("tool", &cwd)
    };
    assert_eq!(text(&run(named).await.stdout), format!("{0}/tool in {0}\n", cwd.display()));
    let relative = ProgramCommand::new("./tool", &cwd);
    assert!(text(&run(relative).await.stdout).ends_with(&format!("in {}\n", cwd.display())));
}

#[tokio::test]
async fn unrunnable_program_gives_a_precise_error() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, mode) in [("plain", "#!/bin/sh", 0o644), ("odd", "no format", 0o755), ("lost", "#!/absent", 0o755)]
    {
        fs::write(folder.path().join(name), text).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let error =
        async |program: &str| real().run_program(ProgramCommand::new(program, folder.path())).await.unwrap_err();
    assert!(
        matches!(error("no-such-program").await, WorldError::ProgramNotFound { program } if program == "no-such-program")
    );
    assert!(matches!(error("./absent").await, WorldError::ProgramNotFound { .. }));
    assert!(matches!(error("").await, WorldError::ProgramNotFound { .. }));
    assert!(matches!(error("./plain").await, WorldError::NotExecutable { .. }));
    assert!(matches!(error("./odd").await, WorldError::NoInterpreter { .. }));
    assert!(matches!(error("./lost").await, WorldError::NoInterpreter { .. }));
    let nowhere = ProgramCommand::new("true", folder.path().join("absent"));
    assert!(matches!(real().run_program(nowhere).await, Err(WorldError::InvalidWorkingDir { .. })));
    let mut nul = command(&["true"]);
    nul.args.push("a\0b".into());
    assert!(matches!(real().run_program(nul).await, Err(WorldError::SpawnFailed { .. })));
}

#[tokio::test]
async fn exit_code_and_signal_are_distinguished() {
    let failed = run(sh("echo out; echo err >&2; exit 3")).await;
    assert_eq!(
        (text(&failed.stdout), text(&failed.stderr), failed.exit_code, failed.signal),
        ("out\n", "err\n", Some(3), None)
    );
    let killed = run(sh("kill -TERM $$")).await;
    assert_eq!((killed.exit_code, killed.signal), (None, Some(15)));
}

#[tokio::test]
async fn stdin_is_empty_by_default() {
    assert_eq!(run(command(&["cat"])).await.stdout, CapturedBytes::default());
    let long = vec![b'x'; 700_000];
    let echoed = run(ProgramCommand { stdin: Some(long.clone()), ..command(&["cat"]) }).await;
    assert_eq!(echoed.stdout.bytes, long);
    let unread = run(ProgramCommand { stdin: Some(long), ..command(&["true"]) }).await;
    assert_eq!(unread.exit_code, Some(0));
}

#[tokio::test]
async fn output_is_truncated_and_counted() {
    let script = "head -c 300000 /dev/zero >&2; head -c 2000000 /dev/zero; head -c 300000 /dev/zero >&2";
    let finished = run(ProgramCommand { max_output: 1000, ..sh(script) }).await;
    assert_eq!((finished.stdout.bytes.len(), finished.stdout.missing_bytes), (1000, 1_999_000));
    assert_eq!((finished.stderr.bytes.len(), finished.stderr.missing_bytes), (1000, 599_000));
    let exact = run(ProgramCommand { max_output: 5, ..sh("printf 12345") }).await;
    assert_eq!((text(&exact.stdout), exact.stdout.missing_bytes), ("12345", 0));
    let none = run(ProgramCommand { max_output: 0, ..sh("printf 12345") }).await;
    assert_eq!((none.stdout.bytes.len(), none.stdout.missing_bytes), (0, 5));
}

#[tokio::test]
async fn endless_output_ends_at_the_timeout() {
    let flood = ProgramCommand { timeout: Duration::from_millis(300), max_output: 10, ..command(&["yes"]) };
    let ended = tokio::time::timeout(Duration::from_secs(20), real().run_program(flood)).await.unwrap();
    assert!(matches!(ended, Err(WorldError::TimedOut { .. })));
}

#[tokio::test]
async fn timeout_error_holds_both_outputs() {
    for (script, said) in [
        ("echo '\u{1b}[31mwaiting for lock' >&2; sleep 600", "timed out after 300ms:\nwaiting for lock"),
        ("echo listening; sleep 600", "timed out after 300ms:\nlistening"),
        ("echo listening; echo waiting >&2; sleep 600", "timed out after 300ms:\nstderr:\nwaiting\nstdout:\nlistening"),
        ("sleep 600", "timed out after 300ms"),
    ] {
        let slow = ProgramCommand { timeout: Duration::from_millis(300), ..sh(script) };
        assert_eq!(real().run_program(slow).await.unwrap_err().to_string(), said);
    }
}

#[tokio::test]
async fn cancelled_command_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut late = ProgramCommand { args: vec!["started".into()], ..ProgramCommand::new("touch", folder.path()) };
    late.budget.cancel().cancel();
    late.timeout = Duration::from_secs(60);
    assert!(matches!(real().run_program(late).await, Err(WorldError::Cancelled)));
    assert!(!folder.path().join("started").exists());
}

#[tokio::test]
async fn output_of_a_background_process_is_read() {
    // On a busy machine the moment that it is given may pass unused; without one it would always be.
    for _ in 0..50 {
        let finished = run(sh("(sleep 0.01; echo late) & echo early")).await;
        if text(&finished.stdout) == "early\nlate\n" {
            return;
        }
    }
    panic!("in fifty calls nothing was read after the program's end");
}

#[tokio::test]
async fn what_one_call_still_writes_is_read_while_others_end() {
    let world = real();
    let others = futures_util::future::join_all((0..4).map(|_| async {
        loop {
            world.run_program(command(&["true"])).await.unwrap();
        }
    }));
    let late = async {
        for _ in 0..50 {
            let finished = world.run_program(sh("(sleep 0.03; echo late) & echo early")).await.unwrap();
            if text(&finished.stdout) == "early\nlate\n" {
                return true;
            }
        }
        false
    };
    tokio::select! {
        late = late => assert!(late, "in fifty calls nothing was read after the program's end"),
        _ = others => {}
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_file_descriptor_is_inherited() {
    use std::os::fd::AsRawFd;

    let file = tempfile::tempfile().unwrap();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = [file.as_raw_fd(), socket.as_raw_fd()].map(|fd| fs::read_link(format!("/proc/self/fd/{fd}")).unwrap());
    let listed = run(sh("for fd in /proc/$$/fd/*; do readlink $fd; done")).await;
    for link in ours {
        assert!(!text(&listed.stdout).contains(link.to_str().unwrap()), "{link:?} in {}", text(&listed.stdout));
    }
}

#[tokio::test]
async fn concurrent_programs_keep_their_outputs_apart() {
    let world = real();
    let calls = (0..40).map(|number| world.run_program(command(&["echo", &*number.to_string().leak()])));
    for (number, finished) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(text(&finished.unwrap().stdout), format!("{number}\n"));
    }
}
