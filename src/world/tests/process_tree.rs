use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::world::{ProgramCommand, RealWorld, World, WorldError};

/// What leaves processes behind, each of which sleeps for `$T`: by a child, a pipeline, job control, a session of its
/// own, a daemon that forked twice and closed everything, one without environment, and one that leads a tree.
const SPAWN_METHODS: [(&str, &str); 7] = [
    ("child", "sleep $T &"),
    ("pipeline", "sleep $T | sleep $T | sleep $T &"),
    ("jobs", "set -m; sleep $T & set +m"),
    ("session", "setsid sleep $T &"),
    ("daemon", "(setsid sh -c '(setsid sleep $T &)' </dev/null >/dev/null 2>&1 &)"),
    ("bare", "env -i setsid sleep $T </dev/null >/dev/null 2>&1 &"),
    ("tree", "setsid sh -c 'setsid sleep $T & setsid sh -c \"setsid sleep $T & sleep $T\" & sleep $T' &"),
];

struct SleeperCase {
    time: String,
    count: usize,
    command: ProgramCommand,
}

/// Leaves processes behind in one way; their sleeping time is found in no other process.
fn sleeper_case(spawn_method: (&str, &str), case: u32, then: &str) -> SleeperCase {
    let kind = SPAWN_METHODS.iter().position(|(name, _)| *name == spawn_method.0).unwrap();
    let time = format!("8{:07}{case}{kind}", std::process::id());
    let script = format!("{}\n{then}", spawn_method.1);
    let command = ProgramCommand {
        args: vec!["-c".into(), script.into()],
        env: vec![("T".into(), time.clone())],
        timeout: Duration::from_secs(60),
        ..ProgramCommand::new("bash", "/")
    };
    SleeperCase { time, count: spawn_method.1.matches("sleep $T").count(), command }
}

/// The sleepers of a scene that are alive: a zombie has no command line.
fn sleepers(time: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line == format!("sleep\0{time}\0").as_bytes()).count()
}

async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A script goes on only when all its sleepers are there.
const WAIT_FOR_SLEEPERS: &str =
    "until [ \"$(grep -lzxs -- \"$T\" /proc/[0-9]*/cmdline | wc -l)\" -ge $N ]; do sleep 0.01; done";

#[tokio::test(flavor = "multi_thread")]
async fn no_process_is_left_after_exit() {
    let world = RealWorld::new();
    for spawn_method in SPAWN_METHODS {
        let mut case = sleeper_case(spawn_method, 1, WAIT_FOR_SLEEPERS);
        case.command.env.push(("N".into(), case.count.to_string()));
        let finished = world.run_program(case.command).await.unwrap();
        assert_eq!((finished.exit_code, sleepers(&case.time)), (Some(0), 0), "{}: {finished:?}", spawn_method.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_is_left_after_timeout() {
    let world = RealWorld::new();
    for spawn_method in SPAWN_METHODS {
        let mut case = sleeper_case(spawn_method, 2, "sleep $T");
        case.command.timeout = Duration::from_millis(400);
        let ended = world.run_program(case.command).await;
        assert!(matches!(ended, Err(WorldError::TimedOut { .. })), "{}", spawn_method.0);
        assert_eq!(sleepers(&case.time), 0, "{}", spawn_method.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_is_left_after_cancellation() {
    let world = RealWorld::new();
    for spawn_method in SPAWN_METHODS {
        let case = sleeper_case(spawn_method, 3, "sleep $T");
        let (cancel, count) = (case.command.budget.cancel().clone(), case.count + 1);
        let seen = async {
            wait_until(spawn_method.0, || sleepers(&case.time) == count).await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(world.run_program(case.command), seen);
        assert!(matches!(ended, Err(WorldError::Cancelled)), "{}", spawn_method.0);
        assert_eq!(sleepers(&case.time), 0, "{}", spawn_method.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_is_left_after_drop() {
    let world = RealWorld::new();
    for spawn_method in SPAWN_METHODS {
        let case = sleeper_case(spawn_method, 4, "sleep $T");
        let seen = wait_until(spawn_method.0, || sleepers(&case.time) == case.count + 1);
        tokio::select! {
            ended = world.run_program(case.command) => panic!("{ended:?}"),
            () = seen => {}
        }
        wait_until(&format!("the end of {}", spawn_method.0), || sleepers(&case.time) == 0).await;
    }
}

#[test]
fn no_process_is_left_after_runtime_drop() {
    let case = sleeper_case(SPAWN_METHODS[4], 5, "sleep $T");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.spawn(async move { RealWorld::new().run_program(case.command).await });
    runtime.block_on(wait_until("the daemon", || sleepers(&case.time) == 2));
    drop(runtime);
    let after = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    after.block_on(wait_until("their end", || sleepers(&case.time) == 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_one_program_leaves_others_running() {
    let world = RealWorld::new();
    let mut long = Vec::new();
    let stop = CancellationToken::new();
    for spawn_method in SPAWN_METHODS {
        let mut case = sleeper_case(spawn_method, 6, "sleep $T");
        case.command.budget = Budget::new(stop.clone(), &Arc::default());
        long.push(case);
    }
    let expected: Vec<_> = long.iter().map(|case| (case.time.clone(), case.count + 1)).collect();
    let running = futures_util::future::join_all(long.into_iter().map(|case| world.run_program(case.command)));
    let beside = async {
        for (time, count) in &expected {
            wait_until("all sleepers", || sleepers(time) == *count).await;
        }
        for _ in 0..5 {
            world.run_program(ProgramCommand::new("true", "/")).await.unwrap();
        }
        for (time, count) in &expected {
            assert_eq!(sleepers(time), *count);
        }
        stop.cancel();
    };
    tokio::join!(running, beside);
    for (time, _) in &expected {
        assert_eq!(sleepers(time), 0);
    }
}

#[tokio::test]
async fn escaped_process_does_not_block_the_call() {
    let started = Instant::now();
    let case = sleeper_case(SPAWN_METHODS[3], 7, "echo done");
    let finished = RealWorld::new().run_program(case.command).await.unwrap();
    assert_eq!(finished.stdout.text(), Some("done\n"));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn foreign_child_is_not_killed() {
    let world = RealWorld::new();
    world.run_program(ProgramCommand::new("true", "/")).await.unwrap();
    // It comes when programs are supervised already, and something is left behind that is looked for.
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let case = sleeper_case(SPAWN_METHODS[3], 8, WAIT_FOR_SLEEPERS);
    let env = case.command.env.iter().cloned().chain([("N".into(), "1".into())]).collect();
    world.run_program(ProgramCommand { env, ..case.command }).await.unwrap();
    assert_eq!(sleepers(&case.time), 0);
    assert!(matches!(other.try_wait(), Ok(None)));
    other.kill().unwrap();
    other.wait().unwrap();
}
