//! Programs that attack the supervisor affect only their own call, and nothing outlives the server.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::harness::*;
use crate::programs::{ESCAPE, EXIT_TIMEOUT, lives, supervisor};

/// What a stopped supervisor may delay others by: half a second is what it takes on a machine that is not busy.
const DELAY: Duration = Duration::from_secs(8);

/// A server with `act`, a shell that runs `script`, with `hold`, which escapes and goes on, and with `quick`.
fn attacked(marker: &str, script: &str) -> TestFolder {
    TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  act: {{ description: A, run: {{ exec: [sh, -c, \"{script}\", {marker}] }}, timeout: 5m }}\n  hold: {{ description: H, run: {{ exec: [sh, -c, \"{ESCAPE}; sleep 600\", {marker}] }}, timeout: 5m }}\n  quick: {{ description: Q, run: {{ exec: [echo, done] }}, timeout: 1m }}\n"
    ))
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn state(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).unwrap_or('-')
}

fn stop(pid: i32) {
    send(pid, Signal::STOP);
    wait_until("a stop", || state(pid) != 'R' && state(pid) != 'S');
}

#[test]
fn a_program_that_stops_its_supervisor_delays_others_briefly() {
    let marker = format!("folio-suite-stops-{}", std::process::id());
    let folder = attacked(&marker, "kill -STOP $PPID; echo stopped");
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.call_text("quick", json!({}));
    let first = supervisor(&server).unwrap();
    let began = Instant::now();
    let stopping = client.send("tools/call", json!({ "name": "act" }));
    assert_eq!(client.call_text("quick", json!({})).trim_end(), "done");
    assert_eq!(text_of(&client.wait_for_answer(stopping)["result"]["content"][0]).trim_end(), "stopped");
    assert!(began.elapsed() < DELAY, "{:?}", began.elapsed());
    assert_eq!(supervisor(&server), Some(first));
}

#[test]
fn a_program_that_stops_its_supervisor_for_ever_ends_with_it() {
    let marker = format!("folio-suite-stopping-{}", std::process::id());
    let folder = attacked(&marker, "while :; do kill -STOP $PPID || exit; done");
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let stopping = client.send("tools/call", json!({ "name": "act" }));
    let answer = client.wait_for_answer(stopping);
    let said = text_of(&answer["result"]["content"][0]);
    assert_eq!(said, "program `sh` was killed: its supervisor was stopped repeatedly", "{answer}");
    assert_eq!(processes_with_argument(&marker), [] as [i32; 0]);
    assert_eq!(client.call_text("quick", json!({})).trim_end(), "done");
}

#[test]
fn a_program_that_kills_its_supervisor_ends_with_it() {
    let marker = format!("folio-suite-kills-{}", std::process::id());
    let folder = attacked(&marker, &format!("{ESCAPE}; sleep 600 & kill -KILL $PPID; sleep 600"));
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let held = client.send("tools/call", json!({ "name": "hold" }));
    wait_until("the other", || processes_with_argument(&marker).len() == 2);
    let killing = client.send("tools/call", json!({ "name": "act" }));
    for id in [killing, held] {
        let answer = client.wait_for_answer(id);
        let said = text_of(&answer["result"]["content"][0]);
        assert_eq!(said, "program `sh` was killed: its supervisor was killed", "{answer}");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    assert_eq!(processes_with_argument(&marker), [] as [i32; 0]);
    assert_eq!(client.call_text("quick", json!({})).trim_end(), "done");
}

/// Ends a server whose supervisor is stopped, and has a program that escapes.
fn assert_ends_while_stopped(name: &str, end: impl FnOnce(&TestServer, i32)) {
    let marker = format!("folio-suite-stopped-{name}-{}", std::process::id());
    let folder = attacked(&marker, ":");
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.send("tools/call", json!({ "name": "hold" }));
    wait_until("the program", || processes_with_argument(&marker).len() == 2);
    let supervisor = supervisor(&server).unwrap();
    end(&server, supervisor);
    server.wait_for_exit(EXIT_TIMEOUT).expect("the server does not end");
    wait_until("the end of all", || processes_with_argument(&marker).is_empty() && !lives(supervisor));
}

#[test]
fn nothing_outlives_a_killed_server_whose_supervisor_is_stopped() {
    assert_ends_while_stopped("kill", |server, supervisor| {
        // The server does nothing about it any more.
        stop(server.pid());
        stop(supervisor);
        server.signal("KILL");
    });
}

#[test]
fn nothing_outlives_sigterm_with_a_stopped_supervisor() {
    assert_ends_while_stopped("term", |server, supervisor| {
        stop(supervisor);
        server.signal("TERM");
    });
}

#[test]
fn nothing_outlives_end_of_input_with_a_stopped_supervisor() {
    assert_ends_while_stopped("eof", |server, supervisor| {
        stop(supervisor);
        server.pipe().close();
    });
}

#[test]
fn stuck_supervisor_is_killed_at_exit() {
    let marker = format!("folio-suite-kept-{}", std::process::id());
    let folder = attacked(&marker, "while :; do kill -STOP $PPID || exit; done");
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.call_text("quick", json!({}));
    let supervisor = supervisor(&server).unwrap();
    client.send("tools/call", json!({ "name": "act" }));
    wait_until("the program", || processes_with_argument(&marker).len() == 1 && state(supervisor) == 'T');
    server.signal("TERM");
    server.wait_for_exit(EXIT_TIMEOUT).expect("the server does not end");
    assert_eq!(processes_with_argument(&marker), [] as [i32; 0]);
    assert!(!lives(supervisor));
}

#[test]
fn a_program_dies_with_server_and_supervisor_killed_at_once() {
    let marker = format!("folio-suite-both-{}", std::process::id());
    // The shell waits in itself for somebody to write.
    let folder = attacked(&marker, "mkfifo gate; read nothing <gate");
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.send("tools/call", json!({ "name": "act" }));
    wait_until("the program", || processes_with_argument(&marker).len() == 1);
    let supervisor = supervisor(&server).unwrap();
    stop(server.pid());
    stop(supervisor);
    send(supervisor, Signal::KILL);
    server.signal("KILL");
    server.wait_for_exit(EXIT_TIMEOUT).expect("the server does not end");
    wait_until("the end of all", || processes_with_argument(&marker).is_empty());
}
