//! `stream: progress`, and the progress that every running call reports.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::*;

const PROGRESS: &str = "notifications/progress";

const MANIFEST: &str = r#"
folio: 1
server: { name: s }
env: { KEY: { secret: true } }
tools:
  lines:
    description: Prints a secret in pieces, and more lines than anybody reads
    arguments: { gate: {} }
    run:
      exec:
        - sh
        - -c
        - |
          await() { while ! [ -e "gate-$1-$2" ]; do sleep 0.02; done; }
          printf 'first\n'
          await "$1" a
          printf %s "$KEY" | base64 | fold -w 8 | while read -r part; do echo "$part"; sleep 0.3; done
          echo next
          await "$1" b
          for number in $(seq 300); do echo "$number"; sleep 0.002; done
          printf end
        - lines
        - "{{gate}}"
      env: { KEY: "{{env.KEY}}" }
      stream: progress
  quiet: { description: Q, run: { exec: [sh, -c, "for number in 1 2 3; do echo $number; done"] } }
  fails: { description: F, run: { script: { shell: sh, text: "echo reason; exit 3" }, stream: progress } }
  gated: { description: G, arguments: { gate: {} }, run: { exec: [sh, -c, "while ! [ -e \"gate-$0\" ]; do sleep 0.02; done", "{{gate}}"] } }
  sleeps: { description: S, timeout: 20s, run: { sleep: 6s } }
"#;

fn begin(client: &TestClient, tool: &str, gate: &str) -> i64 {
    let params = json!({ "name": tool, "arguments": { "gate": gate }, "_meta": { "progressToken": gate } });
    client.send("tools/call", params)
}

/// Waits for progress of a call with this message, and returns what came before it, too.
fn wait_for_message(client: &TestClient, gate: &str, wanted: &str) -> Vec<Value> {
    let mut before = Vec::new();
    loop {
        let message =
            client.take(|message| message["method"] == PROGRESS && message["params"]["progressToken"] == gate);
        before.push(message["params"].clone());
        if message["params"]["message"].as_str().is_none_or(|text| text.starts_with(wanted)) {
            return before;
        }
    }
}

#[test]
fn lines_become_progress_as_they_come() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let serve = || folder.serve_command().env("KEY", "hunter22-9d41+x");
    let (calls, web) = (AtomicUsize::new(0), serve().http());
    for version in ["2025-11-25", SESSIONLESS_VERSION] {
        let pipes = serve().stdio();
        for client in [pipes.client(version), web.client(version)] {
            let gate = format!("{}", calls.fetch_add(1, Ordering::Relaxed));
            let id = begin(&client, "lines", &gate);
            let mut all = wait_for_message(&client, &gate, "first");
            folder.write(&format!("gate-{gate}-a"), "");
            all.extend(wait_for_message(&client, &gate, "next"));
            let began = Instant::now();
            folder.write(&format!("gate-{gate}-b"), "");
            let answer = client.wait_for_answer(id);
            assert_ne!(answer["result"]["isError"], true, "{answer}");
            let rest = client.notified_params(PROGRESS);
            assert!((rest.len() as f64) < began.elapsed().as_secs_f64() * 10.0 + 5.0, "{}", rest.len());
            all.extend(rest);
            let numbers: Vec<f64> = all.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
            assert_eq!(all.first().unwrap()["message"], "first", "{all:?}");
            assert_eq!(all.last().unwrap()["message"], "end", "{all:?}");
            let text = format!("{all:?}");
            assert!(!["hunter", "aHVud", "MjItO", "MSt4"].iter().any(|part| text.contains(part)), "{text}");
        }
    }
}

#[test]
fn lines_are_sent_only_where_asked_for() {
    on_every_version_and_wire(&TestFolder::with_manifest(MANIFEST), &json!({}), |client| {
        assert_eq!(client.call_text("quiet", json!({})).trim(), "1\n2\n3");
        assert_eq!(client.call("fails", json!({}))["isError"], true);
        let params = json!({ "name": "quiet", "_meta": { "progressToken": "q" } });
        client.result("tools/call", params);
        assert_eq!(client.notified_params(PROGRESS), [Value::Null; 0]);
        // The line of a program that fails arrives, too; 2024-11-05 knows no message.
        client.result("tools/call", json!({ "name": "fails", "_meta": { "progressToken": "f" } }));
        let told = client.notified_params(PROGRESS);
        let shown = if client.version == "2024-11-05" { Value::Null } else { json!("reason") };
        assert_eq!(told.iter().map(|params| &params["message"]).collect::<Vec<_>>(), [&shown], "{told:?}");
    });
}

#[test]
fn messages_advance_progress_by_a_visible_step() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  told:\n    description: T\n    run:\n\
         \x20     - progress: { progress: 2, total: 4, message: two }\n\
         \x20     - progress: { progress: 1, total: 4, message: one }\n\
         \x20     - progress: { progress: 1, message: again }\n\
         \x20     - progress: { progress: 2 }\n\
         \x20     - progress: { progress: 3, message: three }\n",
    );
    let server = folder.stdio();
    let client = server.client("2025-11-25");
    client.result("tools/call", json!({ "name": "told", "_meta": { "progressToken": "t" } }));
    let told = client.notified_params(PROGRESS);
    let told: Vec<_> = told
        .iter()
        .map(|one| (one["progress"].to_string(), one["total"].to_string(), one["message"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [("2.0", "two"), ("2.001", "one"), ("2.002", "again"), ("3.0", "three")];
    assert_eq!(told, expected.map(|(value, message)| (value.to_owned(), "4.0".to_owned(), message.to_owned())));
}

/// Two reports of a call that waits for them, and none where nobody asked or after the end.
fn expect_heartbeats(client: &TestClient, folder: &TestFolder, gate: &str) {
    let id = begin(client, "gated", gate);
    let silent = client.start_call("gated", json!({ "gate": gate }));
    let mut told = wait_for_message(client, gate, "running for ");
    told.extend(wait_for_message(client, gate, "running for "));
    folder.write(&format!("gate-{gate}"), "");
    for id in [id, silent] {
        assert_ne!(client.wait_for_answer(id)["result"]["isError"], true);
    }
    let numbers: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
    assert!(numbers.len() == 2 && numbers[0] < numbers[1], "{told:?}");
    client.round_trip();
    assert_eq!(client.notified_params(PROGRESS), [Value::Null; 0]);
}

#[test]
fn running_calls_report_that_they_run() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let web = folder.http();
    let pipes: Vec<TestServer> = (0..2).map(|_| folder.stdio()).collect();
    thread::scope(|scope| {
        for (version, pipes) in ["2025-11-25", SESSIONLESS_VERSION].into_iter().zip(&pipes) {
            for (server, wire) in [(&web, "web"), (pipes, "pipes")] {
                let folder = &folder;
                let client = server.client(version);
                scope.spawn(move || expect_heartbeats(&client, folder, &format!("{version}-{wire}")));
            }
        }
        let client = web.session("2025-06-18");
        scope.spawn(move || {
            client.result("tools/call", json!({ "name": "sleeps", "_meta": { "progressToken": 1 } }));
            let told = client.notified_params(PROGRESS);
            assert!(told.len() == 1 && told[0]["message"].as_str().unwrap().starts_with("running for "), "{told:?}");
        });
    });
}

#[test]
fn unknown_stream_is_an_error_at_its_place() {
    for (step, message) in [
        ("{ exec: [ls], stream: log }", "expected one of `progress`"),
        ("{ exec: [ls], stream: [progress] }", "expected"),
        ("{ http: { url: 'https://a.example' }, stream: progress }", "unexpected key `stream` for action `http`"),
    ] {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: D, run: {step} }}\n"
        ));
        let ran = run_folio(folder.path(), &["check"]);
        assert!(ran.code == Some(1) && ran.out.contains(message), "{step}: {}", ran.out);
        assert!(ran.out.contains("folio.yaml:4:"), "{step}: {}", ran.out);
    }
}
