//! What folio adds to a program, a file and a step, as ratios within one run. Nothing here asserts a time.
//!
//! ```text
//! cargo bench --bench programs
//! ```
//!
//! Calls of the built program over stdio alternate with what they are compared with, so that whatever else the machine does
//! meets both. A call crosses two pipes and two processes, which it would without any action: that is what a `ping` costs,
//! and it is subtracted where the other side has no call. Hence
//!
//! ```text
//! exec / bare spawn        = (median of calls - median of pings) / median of spawns
//! file read / resource     = median of calls / median of reads of the same file as a resource
//! a step beyond the first  = (median of calls with 65 steps - median of calls with one) / 64
//! ```
//!
//! The first is to stay below 1.10 for a program of 10 ms, the second near 1, the third below 5 µs. The bare spawn is that of
//! the standard library, which reads the output of the same program to its end; a program that does nothing shows what the
//! supervisor adds to it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, missing_docs)]

mod server;

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use server::Server;

/// The programs: one that does nothing, and one that takes as long as a quick tool.
const PROGRAMS: [(&str, &[&str]); 2] = [("true", &["true"]), ("sleep 10 ms", &["sleep", "0.01"])];

/// How often each is measured: enough for a median, and no more than a minute in all.
const ROUNDS: usize = 600;
const WARM_UP_ROUNDS: usize = 50;

/// The steps beyond the first.
const MORE_STEPS: usize = 64;

fn main() {
    let mut server = Server::start(manifest);
    println!("median, in µs");
    let [pings] = medians([&mut |server: &mut Server| server.ping()], &mut server);
    print_time("ping", pings);
    for (name, argv) in PROGRAMS {
        let [calls, spawns] = medians([&mut |server| server.call(&tool_name(name)), &mut |_| spawn(argv)], &mut server);
        print_time(&format!("bare spawn, {name}"), spawns);
        print_time(&format!("exec, {name}"), calls);
        print_ratio("  (exec - ping) / bare spawn", calls.saturating_sub(pings).as_secs_f64() / spawns.as_secs_f64());
    }
    for name in ["small", "large"] {
        let uri = format!("file://{name}");
        let [calls, reads] =
            medians([&mut |server| server.call(&tool_name(name)), &mut |server| read(server, &uri)], &mut server);
        print_time(&format!("resource, {name} file"), reads);
        print_time(&format!("file: read, {name} file"), calls);
        print_ratio("  file: read / resource", calls.as_secs_f64() / reads.as_secs_f64());
    }
    let [one, many] = medians(
        [&mut |server| server.call(&tool_name("one")), &mut |server| server.call(&tool_name("many"))],
        &mut server,
    );
    print_time("one step", one);
    print_time(&format!("{} steps", MORE_STEPS + 1), many);
    print_ratio("  a step beyond the first, µs", many.saturating_sub(one).as_secs_f64() * 1e6 / MORE_STEPS as f64);
}

fn print_time(name: &str, time: Duration) {
    println!("{name:<32}{:>10.0}", time.as_secs_f64() * 1e6);
}

fn print_ratio(name: &str, ratio: f64) {
    println!("{name:<32}{ratio:>10.3}");
}

/// The medians of works that alternate.
fn medians<const N: usize>(mut works: [&mut dyn FnMut(&mut Server); N], server: &mut Server) -> [Duration; N] {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..WARM_UP_ROUNDS + ROUNDS {
        for (work, times) in works.iter_mut().zip(&mut times) {
            let began = Instant::now();
            work(server);
            times.push(began.elapsed());
        }
    }
    times.map(|mut times| {
        let mut times = times.split_off(WARM_UP_ROUNDS);
        times.sort();
        times[times.len() / 2]
    })
}

/// Runs a program and reads its output, as any program would.
fn spawn(argv: &[&str]) {
    let output = Command::new(argv[0]).args(&argv[1..]).stdin(Stdio::null()).output().unwrap();
    assert!(black_box(output).status.success());
}

fn manifest(folder: &std::path::Path) -> Value {
    let tool = |run: Value| json!({ "description": "T", "run": run });
    let steps = |count: usize| -> Value {
        (0..count).map(|nth| json!({ "id": format!("s{nth}"), "set": { "value": "{{arguments.word}}" } })).collect()
    };
    let worded = |run: Value| json!({ "description": "T", "arguments": { "word": { "default": "w" } }, "run": run });
    let mut tools: serde_json::Map<String, Value> =
        PROGRAMS.iter().map(|(name, argv)| (tool_name(name), tool(json!({ "exec": argv })))).collect();
    let mut resources = serde_json::Map::new();
    for (name, size) in [("small", 2_000), ("large", 200_000)] {
        std::fs::write(folder.join(format!("{name}.txt")), "x".repeat(size)).unwrap();
        let file = format!("{name}.txt");
        tools.insert(name.to_owned(), tool(json!({ "file": { "read": file, "in": "here" } })));
        resources.insert(name.to_owned(), json!({ "uri": format!("file://{name}"), "file": file }));
    }
    tools.insert("one".to_owned(), worded(steps(1)));
    tools.insert("many".to_owned(), worded(steps(MORE_STEPS + 1)));
    json!({
        "folio": 1,
        "server": { "name": "bench", "limits": { "callsPerSecond": 1_000_000 } },
        "folders": { "here": { "path": "." } },
        "tools": tools,
        "resources": resources,
    })
}

/// The name of a tool that measures `what`.
fn tool_name(what: &str) -> String {
    what.replace([' ', '.'], "-")
}

fn read(server: &mut Server, uri: &str) {
    let result = server.request("resources/read", json!({ "uri": uri }));
    assert!(result["contents"][0]["text"].is_string(), "{uri}: {result}");
}
