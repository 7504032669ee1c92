use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use crate::world::supervisor::Supervisor;
use crate::world::{ProgramCommand, RealWorld, World, WorldError};

/// How often one looks whether the supervisor answers.
const PULSE: Duration = Duration::from_millis(20);

/// A world for one program, with a supervisor at the other end of a socket.
fn world(socket: UnixStream) -> RealWorld {
    let world = RealWorld { supervisor: Supervisor::with_socket(socket, PULSE), ..RealWorld::new() };
    world.set_program_limit(1);
    world
}

fn command() -> ProgramCommand {
    ProgramCommand { timeout: Duration::from_secs(60), ..ProgramCommand::new("true", "/") }
}

async fn run(world: &RealWorld, command: ProgramCommand) -> WorldError {
    tokio::time::timeout(Duration::from_secs(20), world.run_program(command)).await.expect("it hangs").unwrap_err()
}

/// The permit is free, and a new supervisor is sought, which is not there.
async fn assert_next_starts_anew(world: &RealWorld) {
    assert!(world.permits.acquire(&Arc::default()).now_or_never().is_some());
    let next = run(world, command()).await;
    assert!(matches!(&next, WorldError::SpawnFailed { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
}

#[tokio::test]
async fn unanswered_start_times_out() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let world = world(ours);
    let ended = run(&world, ProgramCommand { timeout: Duration::from_millis(100), ..command() }).await;
    assert!(matches!(ended, WorldError::TimedOut { .. }), "{ended}");
    assert_next_starts_anew(&world).await;
}

#[tokio::test]
async fn a_start_that_is_never_answered_fails() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let world = world(ours);
    let ended = run(&world, command()).await;
    assert_eq!(ended.to_string(), "program `true` was killed: its supervisor does not respond");
    assert_next_starts_anew(&world).await;
}

#[tokio::test]
async fn unanswered_start_can_be_cancelled() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let (world, command) = (world(ours), command());
    let cancel = command.budget.cancel().clone();
    let soon = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(run(&world, command), soon);
    assert!(matches!(ended, WorldError::Cancelled), "{ended}");
    assert_next_starts_anew(&world).await;
}

#[tokio::test]
async fn unanswered_start_frees_its_permit_on_drop() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let world = world(ours);
    assert!(world.run_program(command()).now_or_never().is_none());
    let deadline = Instant::now() + Duration::from_secs(20);
    while world.permits.acquire(&Arc::default()).now_or_never().is_none() {
        assert!(Instant::now() < deadline, "the permit is never free");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_next_starts_anew(&world).await;
}

#[tokio::test]
async fn start_fails_after_the_supervisor_has_exited() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let world = world(ours);
    let gone = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(theirs);
    };
    let (ended, ()) = tokio::join!(run(&world, command()), gone);
    assert_eq!(ended.to_string(), "program `true` was killed: its supervisor was killed");
    assert_next_starts_anew(&world).await;
}

#[tokio::test]
async fn start_fails_when_it_cannot_be_sent() {
    // A datagram has room for so much only, and its peer is there all the time.
    let (ours, _theirs) = UnixDatagram::pair().unwrap();
    let world = world(UnixStream::from(OwnedFd::from(ours)));
    let ended = run(&world, ProgramCommand { args: vec!["x".repeat(4 << 20).into()], ..command() }).await;
    assert_eq!(ended.to_string(), "program `true` was killed: its supervisor cannot be reached");
    assert_next_starts_anew(&world).await;
}

#[tokio::test]
async fn supervisor_is_checked_only_while_it_has_programs() {
    use std::io::{ErrorKind, Read as _, Write as _};

    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let world = world(ours);
    let mut other_end = theirs.try_clone().unwrap();
    let answering = std::thread::spawn(move || {
        assert!(other_end.read(&mut [0; 64 << 10]).unwrap() > 0);
        // The first program failed with errno 2.
        other_end.write_all(&[1, 1, 4]).unwrap();
    });
    run(&world, command()).await;
    answering.join().unwrap();
    theirs.set_nonblocking(true).unwrap();
    while theirs.read(&mut [0; 64 << 10]).is_ok() {}
    tokio::time::sleep(PULSE * 10).await;
    assert_eq!(theirs.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock, "a ping without a program");
    let ended = run(&world, command()).await;
    assert_eq!(ended.to_string(), "program `true` was killed: its supervisor does not respond");
}

#[test]
fn a_supervisor_that_does_not_end_is_given_up_at_the_end() {
    use std::io::{ErrorKind, Write as _};

    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let world = world(ours);
    theirs.write_all(&[0]).unwrap();
    world.shut_down();
    assert_eq!(theirs.write_all(&[0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
}
