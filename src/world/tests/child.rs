use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::world::{Captured, Command, Finished, Real, World, WorldError};

fn real() -> Real {
    Real::with_environment(|name| match name {
        "PATH" => Some("/usr/bin:/bin".into()),
        "HOME" => Some("/nowhere".into()),
        "LANG" => Some("C".into()),
        _ => None,
    })
}

fn command(line: &[&str]) -> Command {
    let args = line[1..].iter().map(OsString::from).collect();
    Command { args, ..Command::new(line[0], "/") }
}

fn sh(script: &str) -> Command {
    command(&["sh", "-c", script])
}

async fn run(command: Command) -> Finished {
    real().run(command).await.unwrap()
}

fn text(captured: &Captured) -> &str {
    captured.text().unwrap()
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let odd = ["printf", "[%s]", "a b", "", "$HOME", "*", "'\"`;|&\n", "é\u{1b}"];
    let finished = run(command(&odd)).await;
    assert_eq!(text(&finished.stdout), "[a b][][$HOME][*]['\"`;|&\n][é\u{1b}]");
    assert_eq!((finished.exit, finished.signal), (Some(0), None));
}

#[tokio::test]
async fn the_environment_is_the_base_and_what_is_given() {
    let mut env = command(&["env"]);
    env.env = vec![("TOKEN".into(), "x=y".into()), ("LANG".into(), "C.UTF-8".into())];
    let finished = run(env).await;
    let mut lines: Vec<_> = text(&finished.stdout).lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["HOME=/nowhere", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TOKEN=x=y"]);
}

#[tokio::test]
async fn a_program_is_sought_on_the_path_it_will_have_itself() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tool");
    fs::write(&program, "#!/bin/sh\necho \"$0 in $(pwd -P)\"").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let named = Command {
        env: vec![("PATH".into(), format!("{}:/bin:/usr/bin", cwd.display()))],
        ..Command::new("tool", &cwd)
    };
    assert_eq!(text(&run(named).await.stdout), format!("{0}/tool in {0}\n", cwd.display()));
    let relative = Command::new("./tool", &cwd);
    assert!(text(&run(relative).await.stdout).ends_with(&format!("in {}\n", cwd.display())));
}

#[tokio::test]
async fn a_program_that_cannot_be_run_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, mode) in [("plain", "#!/bin/sh", 0o644), ("odd", "no format", 0o755), ("lost", "#!/absent", 0o755)]
    {
        fs::write(folder.path().join(name), text).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let fault = async |program: &str| real().run(Command::new(program, folder.path())).await.unwrap_err();
    assert!(
        matches!(fault("no-such-program").await, WorldError::ProgramNotFound { program } if program == "no-such-program")
    );
    assert!(matches!(fault("./absent").await, WorldError::ProgramNotFound { .. }));
    assert!(matches!(fault("").await, WorldError::ProgramNotFound { .. }));
    assert!(matches!(fault("./plain").await, WorldError::NotExecutable { .. }));
    assert!(matches!(fault("./odd").await, WorldError::NotExecutable { .. }));
    assert!(matches!(fault("./lost").await, WorldError::NotStarted { .. }));
    let nowhere = Command::new("true", folder.path().join("absent"));
    assert!(matches!(real().run(nowhere).await, Err(WorldError::NoFolder { .. })));
    let mut nul = command(&["true"]);
    nul.args.push("a\0b".into());
    assert!(matches!(real().run(nul).await, Err(WorldError::NotStarted { .. })));
}

#[tokio::test]
async fn an_exit_code_and_a_signal_are_told_apart() {
    let failed = run(sh("echo out; echo err >&2; exit 3")).await;
    assert_eq!(
        (text(&failed.stdout), text(&failed.stderr), failed.exit, failed.signal),
        ("out\n", "err\n", Some(3), None)
    );
    let killed = run(sh("kill -TERM $$")).await;
    assert_eq!((killed.exit, killed.signal), (None, Some(15)));
}

#[tokio::test]
async fn stdin_is_empty_or_what_is_given() {
    assert_eq!(run(command(&["cat"])).await.stdout, Captured::default());
    let long = vec![b'x'; 700_000];
    let echoed = run(Command { stdin: Some(long.clone()), ..command(&["cat"]) }).await;
    assert_eq!(echoed.stdout.bytes, long);
    let unread = run(Command { stdin: Some(long), ..command(&["true"]) }).await;
    assert_eq!(unread.exit, Some(0));
}

#[tokio::test]
async fn output_is_kept_to_the_limit_and_counted_beyond() {
    let script = "head -c 300000 /dev/zero >&2; head -c 2000000 /dev/zero; head -c 300000 /dev/zero >&2";
    let finished = run(Command { max_output: 1000, ..sh(script) }).await;
    assert_eq!((finished.stdout.bytes.len(), finished.stdout.missing), (1000, 1_999_000));
    assert_eq!((finished.stderr.bytes.len(), finished.stderr.missing), (1000, 599_000));
    let exact = run(Command { max_output: 5, ..sh("printf 12345") }).await;
    assert_eq!((text(&exact.stdout), exact.stdout.missing), ("12345", 0));
    let none = run(Command { max_output: 0, ..sh("printf 12345") }).await;
    assert_eq!((none.stdout.bytes.len(), none.stdout.missing), (0, 5));
}

#[tokio::test]
async fn a_flood_ends_by_its_time() {
    let flood = Command { timeout: Duration::from_millis(300), max_output: 10, ..command(&["yes"]) };
    let ended = tokio::time::timeout(Duration::from_secs(20), real().run(flood)).await.unwrap();
    assert!(matches!(ended, Err(WorldError::TimedOut { .. })));
}

#[tokio::test]
async fn a_time_out_tells_what_was_said_last() {
    let slow =
        Command { timeout: Duration::from_millis(300), ..sh("echo '\u{1b}[31mwaiting for lock' >&2; sleep 600") };
    match real().run(slow).await.unwrap_err() {
        WorldError::TimedOut { after, said } => {
            assert_eq!((after, &*crate::world::tail(&said.to_text())), (Duration::from_millis(300), "waiting for lock"))
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn what_was_cancelled_before_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut late = Command { args: vec!["started".into()], ..Command::new("touch", folder.path()) };
    late.cancel.cancel();
    late.timeout = Duration::from_secs(60);
    assert!(matches!(real().run(late).await, Err(WorldError::Cancelled)));
    assert!(!folder.path().join("started").exists());
}

#[tokio::test]
async fn what_a_substituted_process_still_writes_is_read() {
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
            world.run(command(&["true"])).await.unwrap();
        }
    }));
    let late = async {
        for _ in 0..50 {
            let finished = world.run(sh("(sleep 0.03; echo late) & echo early")).await.unwrap();
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
async fn no_descriptor_of_ours_is_inherited() {
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
async fn many_programs_at_once_keep_their_outputs_apart() {
    let world = real();
    let calls = (0..40).map(|number| world.run(command(&["echo", &*number.to_string().leak()])));
    for (number, finished) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(text(&finished.unwrap().stdout), format!("{number}\n"));
    }
}
