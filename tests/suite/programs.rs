//! Programs: limits, cleanup after a call or a server, and isolation from the server.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::*;

/// As many requests as one client might send in one burst.
const CONCURRENT_CALLS: usize = 4_000;

/// What is left of a server may take this long to be gone: it takes less than a second on a machine that is not busy.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(15);

fn marker(test: &str) -> String {
    format!("folio-suite-programs-{test}-{}", std::process::id())
}

/// A server of which everything acts, by a program that sleeps.
fn sleeping_programs_folder(marker: &str, seconds: u32, timeout: &str) -> TestFolder {
    let run = format!("{{ exec: [sh, -c, \"sleep {seconds}; echo one\", {marker}] }}");
    TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: T, run: {run}, timeout: {timeout} }}\nprompts:\n  p: {{ run: {run}, text: Hi, timeout: {timeout}, arguments: {{ a: {{ complete: {{ run: {run}, timeout: {timeout} }} }} }} }}\nresources:\n  r: {{ uri: \"r://r\", run: {run}, timeout: {timeout} }}\n"
    ))
}

/// A request of each kind in turn.
fn send_all(client: &TestClient) -> Vec<i64> {
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
    let requests = [
        ("prompts/get", json!({ "name": "p" })),
        ("resources/read", json!({ "uri": "r://r" })),
        ("completion/complete", complete),
        ("tools/call", json!({ "name": "t" })),
    ];
    (0..CONCURRENT_CALLS)
        .map(|nth| requests[nth % 4].clone())
        .map(|(method, params)| client.send(method, params))
        .collect()
}

/// The processes that `pid` has started, by their arguments.
fn children(pid: i32) -> Vec<(i32, String)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<i32> =
        lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    let named = |pid: i32| (pid, fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    pids.into_iter().map(named).collect()
}

pub(crate) fn supervisor(server: &TestServer) -> Option<i32> {
    children(server.pid()).into_iter().find(|(_, line)| line.ends_with("__supervisor\0")).map(|(pid, _)| pid)
}

/// Whether a process leads a session.
fn is_session_leader(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.nth(3).is_some_and(|session| session == pid.to_string())
}

/// Whether there is such a process, and it is no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn program_limit_holds_for_every_caller() {
    let marker = marker("burst");
    let folder = sleeping_programs_folder(&marker, 1, "4s");
    let server = folder.stdio();
    let client = server.sessionless();
    let (sampled, most) = std::thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let ids = send_all(&client);
            ids.into_iter().map(|id| client.wait_for_answer(id)).collect::<Vec<Value>>()
        });
        let mut most = 0;
        while !sent.is_finished() {
            // A look at all processes takes a while: what two in a row have seen was alive all at once, between them.
            // A shell that is about to run another program is two processes for a moment: the leader of a session counts.
            let (before, after) = (processes_with_argument(&marker), processes_with_argument(&marker));
            most = most.max(before.iter().filter(|pid| after.contains(pid) && is_session_leader(**pid)).count());
        }
        (sent.join().unwrap(), most)
    });
    assert!((32..=64).contains(&most), "{most} programs were alive");
    let too_many = "program limit reached: 64 running";
    let refused = sampled.iter().filter(|answer| answer.to_string().contains(too_many)).count();
    // How many wait for long enough to be refused depends on how fast the machine starts programs.
    assert!(refused > 0, "nobody was told why");
    let is_told_why = |answer: &Value| {
        [too_many, "timed out after 4s", "too many requests"].iter().any(|why| answer.to_string().contains(why))
    };
    let is_done = |answer: &Value| answer.get("result").is_some() && answer["result"]["isError"] != true;
    let other = sampled.iter().find(|answer| !is_done(answer) && !is_told_why(answer));
    assert!(other.is_none(), "{other:?}");
    wait_until("the end of all", || processes_with_argument(&marker).is_empty());
}

#[test]
fn eof_ends_thousands_of_calls() {
    let marker = marker("eof");
    let folder = sleeping_programs_folder(&marker, 600, "5m");
    let server = folder.stdio();
    let client = server.sessionless();
    send_all(&client);
    wait_until("as many as may", || processes_with_argument(&marker).len() == 64);
    let supervisor = supervisor(&server).unwrap();
    client.pipe().close();
    let status = server.wait_for_exit(EXIT_TIMEOUT).expect("the server is still there");
    assert_eq!(status.code(), Some(0));
    wait_until("the end of all", || processes_with_argument(&marker).is_empty() && !is_alive(supervisor));
}

#[test]
fn queued_program_starts_when_reload_raises_limit() {
    let marker = marker("turn");
    let manifest = |programs: usize| {
        format!(
            "folio: 1\nserver: {{ name: s, limits: {{ programs: {programs} }} }}\ntools:\n  long: {{ description: L, run: {{ exec: [sh, -c, \"sleep 600; :\", {marker}] }}, timeout: 5m }}\n  outer: {{ description: O, run: [{{ tool: inner }}] }}\n  inner: {{ description: I, run: {{ exec: [echo, done] }}, timeout: 1s }}\n"
        )
    };
    let folder = TestFolder::with_manifest(&manifest(1));
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    // A call that runs another does not stand in its way.
    assert_eq!(client.call_text("outer", json!({})).trim_end(), "done");
    let first = client.send("tools/call", json!({ "name": "long" }));
    wait_until("the first", || processes_with_argument(&marker).len() == 1);
    let said = text_of(&client.call("inner", json!({}))["content"][0]);
    assert_eq!(
        said,
        "program limit reached: 1 running (waited 1s); try again later, or raise `server.limits.programs`"
    );
    let waiting = client.send("tools/call", json!({ "name": "long" }));
    let mark = server.log.line_count();
    folder.rename_over("folio.yaml", manifest(3));
    server.log.wait_for_reload(mark);
    wait_until("the one that waited", || processes_with_argument(&marker).len() == 2);
    assert_eq!(client.call_text("inner", json!({})).trim_end(), "done");
    for id in [first, waiting] {
        client.notify("notifications/cancelled", json!({ "requestId": id }));
    }
    wait_until("their end", || processes_with_argument(&marker).is_empty());
}

/// Starts a process that is called by its marker and sleeps, without descriptors, in a session of its own, after two
/// forks, with another limit and, where that is allowed, under another user. `$0` is the marker.
pub(crate) const ESCAPE: &str = "prlimit --pid $$ --rttime=123456789 2>/dev/null; user='setpriv --reuid=65534 --clear-groups'; $user true 2>/dev/null || user=; (setsid sh -c 'prlimit --pid $$ --rttime=7654321:7654321; (setsid $1 sh -c \\\"sleep 600; :\\\" $0 & :)' $0 \\\"$user\\\" </dev/null >/dev/null 2>&1 &)";

/// A server with `hold`, which escapes and goes on, and `assert_leave_leaves_nothing`, which escapes and ends when there is a gate.
fn escaping(marker: &str, programs: usize) -> TestFolder {
    TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s, limits: {{ programs: {programs} }} }}\ntools:\n  hold: {{ description: H, run: {{ exec: [sh, -c, \"{ESCAPE}; sleep 600\", {marker}-hold] }}, timeout: 5m }}\n  leave: {{ description: L, run: {{ exec: [sh, -c, \"{ESCAPE}; while ! [ -e gate ]; do sleep 0.02; done; echo left\", {marker}-leave] }}, timeout: 1m }}\n"
    ))
}

/// Calls `assert_leave_leaves_nothing`: when it answers, nothing of it is left.
fn assert_leave_leaves_nothing(folder: &TestFolder, client: &TestClient, marker: &str) {
    let marker = format!("{marker}-leave");
    let id = client.send("tools/call", json!({ "name": "leave" }));
    wait_until("the escape", || processes_with_argument(&marker).len() == 2);
    folder.write("gate", "");
    let answer = client.wait_for_answer(id);
    assert_eq!(processes_with_argument(&marker), [] as [i32; 0]);
    assert_eq!(text_of(&answer["result"]["content"][0]).trim_end(), "left", "{answer}");
    folder.remove("gate");
}

#[test]
fn daemonized_descendant_is_killed_with_its_call() {
    let marker = marker("hides");
    let hold = format!("{marker}-hold");
    let folder = escaping(&marker, 64);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let held: Vec<i64> = (0..10).map(|_| client.send("tools/call", json!({ "name": "hold" }))).collect();
    wait_until("all of ten", || processes_with_argument(&hold).len() == 20);
    for _ in 0..5 {
        assert_leave_leaves_nothing(&folder, &client, &marker);
    }
    assert_eq!(processes_with_argument(&hold).len(), 20);
    for id in held {
        client.notify("notifications/cancelled", json!({ "requestId": id }));
    }
    wait_until("the end of all", || processes_with_argument(&hold).is_empty());
}

#[test]
fn programs_die_when_server_is_killed() {
    let marker = marker("killed");
    let hold = format!("{marker}-hold");
    let folder = escaping(&marker, 200);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    for _ in 0..200 {
        client.send("tools/call", json!({ "name": "hold" }));
    }
    wait_until("all of them", || processes_with_argument(&hold).len() == 400);
    let supervisor = supervisor(&server);
    server.signal("KILL");
    server.wait_for_exit(EXIT_TIMEOUT).expect("the server does not end");
    let began = std::time::Instant::now();
    wait_until("the end of all", || processes_with_argument(&hold).is_empty() && !supervisor.is_some_and(is_alive));
    assert!(began.elapsed() < EXIT_TIMEOUT, "{:?}", began.elapsed());
}

#[test]
fn killed_supervisor_leaves_nothing_and_is_replaced() {
    let marker = marker("lost");
    let hold = format!("{marker}-hold");
    let folder = escaping(&marker, 64);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let id = client.send("tools/call", json!({ "name": "hold" }));
    wait_until("the program", || processes_with_argument(&hold).len() == 2);
    let first = supervisor(&server).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(first).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    let said = client.wait_for_answer(id);
    assert_eq!(said["result"]["isError"], true, "{said}");
    wait_until("the end of all", || processes_with_argument(&hold).is_empty());
    assert_leave_leaves_nothing(&folder, &client, &marker);
    assert_ne!(supervisor(&server).unwrap(), first);
}

#[test]
fn orphans_are_reaped_when_folio_is_pid_1() {
    let alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let may = std::process::Command::new(alone[0]).args(&alone[1..]).arg("true").status();
    if !may.is_ok_and(|status| status.success()) {
        return;
    }
    let marker = marker("first");
    let folder = escaping(&marker, 64);
    let server = ServeCommand::wrapped_by(&alone, folder.path()).stdio();
    let client = server.session("2025-11-25");
    assert_leave_leaves_nothing(&folder, &client, &marker);
}

/// What runs a server as a user who is not root.
fn unprivileged_wrapper() -> &'static [&'static str] {
    let root = rustix::process::getuid().is_root();
    if root { &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] } else { &["env"] }
}

#[test]
fn program_cannot_ptrace_server() {
    let look = "server=$(cut -d' ' -f4 /proc/$PPID/stat); for pid in $PPID $server; do for file in environ mem maps fd/0 fd/1; do head -c 1 /proc/$pid/$file >/dev/null 2>&1 && echo $file of $(cat /proc/$pid/comm); done; done; echo | cat 2>/dev/null >/proc/$server/fd/1 && echo wrote; echo end";
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\nenv: {{ SECRET: {{ secret: true }} }}\ntools:\n  look: {{ description: L, run: {{ exec: [sh, -c, \"{look}\"] }} }}\n"
    ));
    make_world_readable(&folder);
    let server =
        ServeCommand::wrapped_by(unprivileged_wrapper(), folder.path()).env("SECRET", "hunter2-hunter2").stdio();
    let client = server.session("2025-11-25");
    assert_eq!(client.call_text("look", json!({})).trim_end(), "end");
    client.pipe().assert_only_messages();
}

fn make_world_readable(folder: &TestFolder) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_has_no_terminal() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  tty: { description: T, run: { exec: [sh, -c, \"(: </dev/tty) 2>/dev/null && echo terminal || echo none\"] } }\n",
    );
    let call = format!("'{FOLIO_BIN}' call tty -f '{}'", folder.path().display());
    let ran = std::process::Command::new("script").args(["-qec", &call, "/dev/null"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains("none") && !said.contains("terminal"), "{said}");
}

#[test]
fn a_program_inherits_no_descriptor() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nhttp: { sse: true }\ntools:\n  fds: { description: F, run: { exec: [ls, /proc/self/fd] } }\n",
    );
    // The client has left something open that it did not mean to give away.
    let leaking = ["sh", "-c", "exec 7</etc/passwd 9</etc/passwd \"$@\"", "sh"];
    // The last is the folder that is listed.
    let none = "0\n1\n2\n3";
    let server = ServeCommand::wrapped_by(&leaking, folder.path()).stdio();
    assert_eq!(server.session("2025-11-25").call_text("fds", json!({})).trim_end(), none);
    let server = ServeCommand::wrapped_by(&leaking, folder.path()).http();
    let sessions: Vec<TestClient> = (0..20).map(|_| server.session("2025-11-25")).collect();
    let _streams: Vec<SseStream> = sessions.iter().map(TestClient::open_stream).collect();
    for session in &sessions {
        assert_eq!(session.call_text("fds", json!({})).trim_end(), none);
    }
}

#[test]
fn supervisor_command_is_hidden_from_help() {
    let folder = TestFolder::new(&[]);
    for arguments in [&["--help"] as &[&str], &["completions", "bash"], &["completions", "zsh"]] {
        let ran = run_folio(folder.path(), arguments);
        assert!(ran.code == Some(0) && !ran.out.contains("supervisor"), "{}", ran.out);
    }
    assert_eq!(run_folio(folder.path(), &["__supervisor"]).code, Some(1));
}

/// What a process holds: memory in KiB, and descriptors where it may be asked.
fn process_usage(pid: i32) -> (u64, usize) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let resident = resident.trim().trim_end_matches(" kB").parse().unwrap();
    (resident, fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count))
}

/// Fewer than a long run has, but more than a leak of a descriptor or of a page each would hide in. `FOLIO_CALLS` is
/// another number, such as 10000.
#[test]
fn thousands_of_calls_leave_nothing_behind() {
    const AT_ONCE: usize = 16;
    let calls = std::env::var("FOLIO_CALLS").map_or(3_000, |calls| calls.parse().unwrap());
    let marker = marker("many");
    let tool = |name: &str, rest: &str| {
        format!("  {name}: {{ description: D, run: {{ exec: [sh, -c, 'true & wait', {marker}]{rest} }} }}\n")
    };
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s, limits: {{ callsPerSecond: 100000 }} }}\ntools:\n{}{}{}",
        tool("plain", ""),
        tool("held", ", sandbox: {}"),
        tool("streamed", ", stream: progress, stdin: some")
    ));
    let server = folder.stdio();
    let client = server.sessionless();
    let call_all = |calls: usize| {
        std::thread::scope(|scope| {
            for nth in 0..AT_ONCE {
                let client = &client;
                scope.spawn(move || {
                    for _ in 0..calls / AT_ONCE {
                        let tool = ["plain", "held", "plain", "streamed"][nth % 4];
                        let params = json!({ "name": tool, "_meta": { "progressToken": nth } });
                        assert_ne!(client.result("tools/call", params)["isError"], true);
                    }
                });
            }
        });
    };
    call_all(calls / 10);
    let pids = [server.pid(), supervisor(&server).unwrap()];
    let before = pids.map(process_usage);
    let began = std::time::Instant::now();
    call_all(calls);
    eprintln!("{calls} calls in {:?}", began.elapsed());
    for ((pid, before), name) in pids.into_iter().zip(before).zip(["server", "supervisor"]) {
        let after = process_usage(pid);
        eprintln!("{name}, KiB and descriptors: {before:?} before, {after:?} after");
        assert!(after.0 < before.0 + (12 << 10), "{name}: {before:?} {after:?}");
        assert!(after.1 <= before.1 + 4, "{name}: {before:?} {after:?}");
    }
    assert_eq!((processes_with_argument(&marker), children(pids[1])), (vec![], vec![]));
}

#[test]
fn stdin_takes_big_texts() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  given: { description: G, arguments: { text: {} }, run: { exec: [wc, -c], stdin: \"{{text}}\" } }\n  made: { description: M, maxOutput: 32MiB, run: [{ id: big, exec: [sh, -c, \"yes | head -c 25165824\"] }, { exec: [wc, -c], stdin: \"{{steps.big.stdout}}\" }] }\n  mixed: { description: M, maxOutput: 32MiB, run: [{ id: big, exec: [sh, -c, \"yes | head -c 25165824\"] }, { exec: [wc, -c], stdin: \"{{steps.big.stdout}}.\" }] }\n  large: { description: L, maxOutput: 192MiB, timeout: 5m, arguments: { bytes: {} }, run: [{ id: big, exec: [sh, -c, \"head -c $0 /dev/zero | tr '\\\\0' x\", \"{{bytes}}\"] }, { exec: [wc, -c], stdin: \"{{steps.big.stdout}}\" }] }\n  argument: { description: A, arguments: { text: {} }, run: { exec: [wc, \"{{text}}\"] } }\n",
    );
    let server = folder.stdio();
    let client = server.sessionless();
    let text = "x".repeat(15 << 20);
    assert_eq!(client.call_text("given", json!({ "text": text })).trim(), (15 << 20).to_string());
    // All but the final newline, which a text loses.
    assert_eq!(client.call_text("made", json!({})).trim(), (25_165_824 - 1).to_string());
    let refused = text_of(&client.call("mixed", json!({}))["content"][0]);
    assert!(refused.starts_with("invalid `stdin`: text exceeds 16777216 bytes"), "{refused}");
    let large = |bytes: usize| run_folio(folder.path(), &["call", "large", &format!("bytes={bytes}")]);
    assert_eq!(large(24 << 20).out.trim(), (24 << 20).to_string());
    let refused = large(130 << 20).err;
    assert!(refused.contains("memory limit exceeded") || refused.contains("is busy with other calls"), "{refused}");
    let refused = text_of(&client.call("argument", json!({ "text": text }))["content"][0]);
    assert!(refused.starts_with("`text` is too long") && refused.contains("pass it by `stdin`"), "{refused}");
}

#[test]
fn script_without_its_interpreter_is_named() {
    let scripts = [
        ("crlf", "#!/bin/sh\r\necho hi\r\n", "its interpreter is `/bin/sh\\r`, as its lines end in CRLF"),
        ("option", "#!/bin/sh -e\r\necho hi\r\n", "its interpreter is `/bin/sh -e\\r`, as its lines end in CRLF"),
        ("missing", "#! /no/such/interpreter -x\necho hi\n", "its interpreter `/no/such/interpreter` is not there"),
        (
            "env",
            "#!/usr/bin/env -S no-such-interpreter -x\necho hi\n",
            "its interpreter `no-such-interpreter` is not on PATH",
        ),
        ("bare", "echo hi\n", "it is a text whose first line does not begin with `#!`"),
        ("empty", "", "it is a text whose first line does not begin with `#!`"),
    ];
    let tools: String = scripts
        .iter()
        .map(|(name, ..)| format!("  {name}: {{ description: D, run: {{ exec: [./{name}] }} }}\n"))
        .collect();
    let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\ntools:\n{tools}"));
    for (name, text, _) in scripts {
        folder.write(name, text);
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let checked = run_folio(folder.path(), &["check"]).out;
    for (name, _, fault) in scripts {
        let warning = format!("warning[missing-program]: `./{name}` cannot be started: {fault}");
        assert!(checked.contains(&warning), "{warning}: {checked}");
        if matches!(name, "crlf" | "missing" | "bare" | "empty") {
            let called = run_folio(folder.path(), &["call", name]);
            assert!(called.err.contains(&format!("could not be started: {fault}")), "{}", called.err);
        }
    }
    folder.write("text.sh", "if true; then\r\n  echo hi\r\nfi\r\n");
    for (shell, warned) in [("sh", true), ("bash", true), ("python3", false)] {
        folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\ntools: {{ t: {{ description: D, run: {{ script: {{ shell: {shell}, text: {{ file: text.sh }} }} }} }} }}\n"));
        let checked = run_folio(folder.path(), &["check"]).out;
        assert_eq!(checked.contains("the lines of this script end in CRLF"), warned, "{shell}: {checked}");
    }
    folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\ntools:\n{tools}"));
    // An ELF file with a loader of another system.
    let mut program = fs::read("/bin/true").unwrap();
    let loader = b"/lib64/ld-linux-x86-64.so.2";
    if let Some(at) = program.windows(loader.len()).position(|bytes| bytes == loader) {
        program[at..at + 6].copy_from_slice(b"/lib00");
        folder.write("crlf", program);
        let called = run_folio(folder.path(), &["call", "crlf"]);
        assert!(called.err.contains("its loader is not there: it was built for another system"), "{}", called.err);
    }
}

#[test]
fn check_searches_programs_where_calls_do() {
    let manifest = "folio: 1\nserver: { name: s }\ntools:\n  t: { description: D, run: { exec: [true] } }\n  s: { description: D, run: { script: { shell: sh, text: 'true' } } }\n  own: { description: D, run: { exec: [tool], env: { PATH: PLACE } } }\n";
    let folder = TestFolder::new(&[("bin/tool", "#!/bin/sh\n")]);
    fs::set_permissions(folder.join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    folder.write("folio.yaml", manifest.replace("PLACE", folder.join("bin").to_str().unwrap()));
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(FOLIO_BIN);
        let output = command.args(arguments).current_dir(folder.path()).env_clear().output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, checked) = run(&["check", "--strict"]);
    assert!(code == Some(0) && checked.contains("no warnings"), "{checked}");
    for tool in ["t", "s", "own"] {
        assert_eq!(run(&["call", tool]).0, Some(0), "{tool}");
    }
    // Not on the `PATH` of its step.
    folder.write("folio.yaml", manifest.replace("exec: [tool]", "exec: [sh]").replace("PLACE", "/no/such"));
    let (_, checked) = run(&["check"]);
    assert_eq!(checked.matches("program `sh` not found on PATH").count(), 1, "{checked}");
}
