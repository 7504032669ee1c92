//! What the edit of one prompt among 10,000 costs, as ratios to a load of all within one run. Nothing here asserts a time.
//!
//! ```text
//! cargo bench --bench reload
//! ```
//!
//! A client waits from the rename over a file until it is told of the change, and gets the new text. The quiet period for
//! which the watch waits after the last change is subtracted. Hence
//!
//! ```text
//! edit / load   = (median of edits - quiet period) / median of runs of `folio check`
//! ```
//!
//! It is to stay below 0.5 for files of their own. One file is read and compiled as a whole, so there it is about 1.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, missing_docs)]

mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use server::Server;

const PROMPTS: usize = 10_000;
const ROUNDS: usize = 15;

/// For how long the watch waits after the last change.
const QUIET_PERIOD: Duration = Duration::from_millis(50);

fn main() {
    println!("{PROMPTS} prompts, median, in ms");
    measure(
        "files of their own",
        write_prompt_file,
        |_| json!({ "folio": 1, "server": { "name": "bench" }, "include": "prompts/*.md" }),
    );
    measure("one file", |_, _, _| {}, manifest_of_all);
}

/// Measures edits of a folder whose prompts `write` writes, or else the manifest of a round.
fn measure(name: &str, write: fn(&Path, usize, usize), manifest: fn(usize) -> Value) {
    let mut folder = PathBuf::new();
    let mut server = Server::start(|at| {
        folder = at.to_owned();
        fs::create_dir(at.join("prompts")).unwrap();
        (0..PROMPTS).for_each(|number| write(at, number, 0));
        manifest(0)
    });
    let (mut edits, mut loads) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        loads.push(time(|| check(&folder)));
        let text = manifest(round).to_string();
        edits.push(time(|| {
            write(&folder, 0, round);
            replace(&folder.join("folio.yaml"), &text);
            server.wait_for("notifications/prompts/list_changed");
            let result = server.request("prompts/get", json!({ "name": "p0", "arguments": { "who": "x" } }));
            let answer = result["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
            assert!(answer.starts_with(&format!("Round {round}:")), "{answer}");
        }));
    }
    let (edit, load) = (median(edits), median(loads));
    println!("{name}\n  edit     {:>8.0}\n  load     {:>8.0}", edit.as_secs_f64() * 1e3, load.as_secs_f64() * 1e3);
    println!("  ratio    {:>8.2}", edit.saturating_sub(QUIET_PERIOD).as_secs_f64() / load.as_secs_f64());
}

/// A prompt; that of number 0 is another in each round.
fn prompt(number: usize, round: usize) -> (String, String) {
    let round = if number == 0 { round } else { 0 };
    (
        format!("The prompt {number} in round {round}"),
        format!("Round {round}: review the change {number} of {{{{who}}}}."),
    )
}

fn write_prompt_file(folder: &Path, number: usize, round: usize) {
    let (description, text) = prompt(number, round);
    let front = format!("---\ndescription: {description}\narguments:\n  who: {{ required: true }}\n---\n");
    replace(&folder.join(format!("prompts/p{number}.md")), &format!("{front}{text}\n"));
}

fn manifest_of_all(round: usize) -> Value {
    let prompts: serde_json::Map<String, Value> = (0..PROMPTS)
        .map(|number| {
            let (description, text) = prompt(number, round);
            let arguments = json!({ "who": { "required": true } });
            (format!("p{number}"), json!({ "description": description, "arguments": arguments, "text": text }))
        })
        .collect();
    json!({ "folio": 1, "server": { "name": "bench" }, "prompts": prompts })
}

/// Saves as editors do.
fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("tmp");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

fn check(folder: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folio"));
    assert!(command.arg("check").arg(folder).stdout(Stdio::null()).status().unwrap().success());
}

fn time(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
