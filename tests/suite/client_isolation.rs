//! No caller and no pack keeps the server from its other clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{TEST_TIMEOUT, TestClient, TestFolder, TestServer};

/// How long an honest request may take while another goes on. Each of these attacks once took twenty times as long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

const MANIFEST: &str = r#"
folio: 1
server: { name: s }
prompts:
  hello: { description: Greets, text: hello }
  reads:
    description: Reads its argument anew in every round
    run: { sleep: 1ms }
    timeout: 2s
    arguments: { text: { required: true } }
    text: '{{#each (split text ",")}}{{len ../text}}{{/each}}'
  sorts:
    description: Sorts its argument anew in every round
    run: { sleep: 1ms }
    timeout: 4s
    arguments: { text: { required: true } }
    text: '{{#each (split text ",")}}{{len (sort (split @root.text ","))}}{{/each}}'
  copies:
    description: Takes a copy of its argument in every round
    run: { sleep: 1ms }
    timeout: 2s
    arguments: { text: { required: true } }
    messages: [{ user: '{{#each (split text ",")}}{{first (lines @root.text)}}{{/each}}' }]
  partial:
    description: Hands all that is in scope to a partial in every round
    run: { sleep: 1ms }
    timeout: 2s
    arguments: { text: { required: true } }
    text: '{{#*inline "p"}}x{{/inline}}{{#each (split text ",")}}{{#with @root.arguments}}{{> p}}{{/with}}{{/each}}'
  wide: { description: Has many files, arguments: { file: { complete: { glob: "many/*" } } }, text: x }
tools:
  pick:
    description: Picks one
    arguments: { colour: { enum: [red, green, blue] }, other: {} }
    result: { text: "{{colour}}" }
  limited:
    description: Takes longer than it may
    arguments: { text: { required: true } }
    run: { sleep: 1ms }
    timeout: 1s
    result: { text: '{{#each (split text ",")}}{{#if (eq @root.text (lower @root.text))}}{{/if}}{{/each}}' }
  lists: { description: D, arguments: { a: {} }, result: { select: "LISTS" } }
  hashes: { description: D, arguments: { a: {} }, result: { select: "HASHES" } }
  maps: { description: D, arguments: { a: {} }, result: { select: "[@] | MAPS" } }
  flat: { description: D, arguments: { a: {} }, result: { select: "[@] | FLAT" } }
  texts: { description: D, arguments: { a: {} }, result: { select: "TEXTS" } }
  equal: { description: D, arguments: { a: {} }, result: { select: "LISTS | @ == @" } }
  counts:
    description: D
    arguments: { text: { pattern: "(x{1,500}){1,100}y" } }
    run: { sleep: 1ms }
    timeout: 2s
  ends:
    description: D
    arguments: { text: { pattern: "z(x{1,500}){1,100}$" } }
    run: { sleep: 1ms }
    timeout: 2s
  looks: { description: D, arguments: { text: { pattern: "(?=x)x*y" } }, result: { text: x } }
  names:
    description: D
    run: { sleep: 1ms }
    timeout: 2s
    inputSchema:
      type: object
      properties: { map: { type: object, patternProperties: { "(x{1,500}){1,100}y": {} } } }
"#;

const MEMORY: &str = "memory limit exceeded: more than 128 MiB held at once; send or request less";
const LATE: &str = "timed out after 2s";

/// A folder whose expressions double what they are given, sixty times.
fn folder() -> TestFolder {
    let chain = |link: &str| vec![link; 60].join(" | ");
    let manifest = MANIFEST
        .replace("LISTS", &chain("[@, @]"))
        .replace("HASHES", &chain("{a: @, b: @}"))
        .replace("MAPS", &chain("map(&[@, @], @)"))
        .replace("FLAT", &chain("[@, @][]"))
        .replace("TEXTS", &chain("to_string([@, @])"));
    TestFolder::with_manifest(&manifest)
}

/// A request that takes long, and what it comes to.
struct Attack {
    method: &'static str,
    params: Value,
    outcome: &'static [&'static str],
}

fn prompt(name: &str, text: &str, outcome: &'static [&'static str]) -> Attack {
    Attack { method: "prompts/get", params: json!({ "name": name, "arguments": { "text": text } }), outcome }
}

fn tool(name: &str, arguments: Value, outcome: &'static [&'static str]) -> Attack {
    Attack { method: "tools/call", params: json!({ "name": name, "arguments": arguments }), outcome }
}

fn attacks() -> Vec<Attack> {
    let long = "x".repeat(3 << 20);
    let parts = "ab,".repeat(900_000);
    let counted = "x".repeat(200_000);
    vec![
        tool("pick", json!({ long.clone(): 1 }), &["is not a known property; expected one of `colour`, `other`"]),
        tool(
            "pick",
            json!({ "colour": long }),
            &["must be one of \"red\", \"green\", \"blue\"; got a string of 3145728"],
        ),
        prompt("reads", &parts, &[LATE, MEMORY]),
        prompt("copies", &parts, &[LATE, MEMORY, "text exceeds 16777216 bytes"]),
        prompt("partial", &parts, &[LATE, MEMORY]),
        tool("limited", json!({ "text": parts }), &["timed out after 1s", MEMORY]),
        tool("lists", json!({}), &[MEMORY]),
        tool("hashes", json!({}), &[MEMORY]),
        tool("maps", json!({}), &[MEMORY]),
        tool("flat", json!({}), &[MEMORY]),
        tool("texts", json!({}), &[MEMORY]),
        tool("equal", json!({}), &[MEMORY]),
        tool("counts", json!({ "text": counted }), &[LATE]),
        tool("ends", json!({ "text": counted }), &["must match the pattern"]),
        tool("names", json!({ "map": { counted.clone(): 1 } }), &[LATE]),
        tool("looks", json!({ "text": counted }), &["could not be matched against its pattern"]),
    ]
}

/// What the caller is told: an error, or the words of a tool that failed.
fn error_text(answer: &Value) -> String {
    let error = answer.pointer("/error/message").or_else(|| answer.pointer("/result/content/0/text"));
    error.and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// What steps hold counts until the call ends: no step holds too much alone.
#[test]
fn outcomes_of_earlier_steps_count_as_reserved_memory() {
    let values = [r#""{{text}}""#; 12].join(", ");
    let step = |number: usize| format!("      - {{ id: s{number}, set: {{ all: [{values}] }} }}\n");
    let steps: String = (0..6).map(step).collect();
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  holds:\n    description: D\n    arguments: {{ text: {{}} }}\n    run:\n\
         {steps}    result: {{ text: held }}\n"
    ));
    let server = folder.stdio();
    let client = server.client("2025-11-25");
    let call = |length: usize| json!({ "name": "holds", "arguments": { "text": "x".repeat(length) } });
    assert_eq!(error_text(&client.request("tools/call", call(1000))), "held");
    assert_eq!(error_text(&client.request("tools/call", call(1_200_000))), MEMORY);
}

#[test]
fn parsed_outputs_count_as_reserved_memory() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  numbers: { description: D, run: { exec: [cat, numbers.json] }, result: { text: '{{len result.json}}' } }\n  \
         large: { description: D, maxOutput: 60MiB, run: { exec: [head, -c, '50000000', /dev/zero] }, result: { text: large } }\n",
    );
    folder.write("numbers.json", format!("[{}0]", "0,".repeat(500_000)));
    let server = folder.stdio();
    let client = server.client("2025-11-25");
    for (tool, answer) in [("numbers", "500001"), ("large", MEMORY)] {
        let calls = (0..16).map(|_| ("tools/call", json!({ "name": tool, "arguments": {} })));
        let answers = client.request_all(calls);
        let said: Vec<String> = answers.iter().map(error_text).collect();
        assert!(said.iter().any(|said| said.starts_with(answer)), "{tool}: {said:?}");
        let busy = "the server is busy with other calls; try again later";
        assert!(
            said.iter().all(|said| [answer, busy, MEMORY].iter().any(|words| said.starts_with(words))),
            "{tool}: {said:?}"
        );
    }
    assert!(peak(&server) < 512, "{} MiB", peak(&server));
}

/// Together they need several times what all calls may hold.
#[test]
fn calls_with_large_outputs_take_turns() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  large: { description: D, maxOutput: 32MiB, timeout: 5m, \
         run: { exec: [sh, -c, \"head -c 17000000 /dev/zero | tr '\\\\0' x; sleep 0.3\"] }, result: { text: '{{len result.stdout}}' } }\n",
    );
    let server = folder.stdio();
    let client = server.client("2025-11-25");
    let answers = client.request_all((0..10).map(|_| ("tools/call", json!({ "name": "large", "arguments": {} }))));
    assert_eq!(answers.iter().map(error_text).collect::<Vec<_>>(), vec!["17000000"; 10]);
    assert!(peak(&server) < 512, "{} MiB", peak(&server));
}

/// Attacks with one client while another one goes on, until the first has its answer.
fn assert_undelayed_during(attacker: &TestClient, honest: &TestClient, attack: &Attack) {
    let shown = attack.params["name"].clone();
    let id = attacker.send(attack.method, attack.params.clone());
    let began = Instant::now();
    let mut first = true;
    while !attacker.has_answer(id) {
        let asked = Instant::now();
        let hello = honest.result("prompts/get", json!({ "name": "hello" }));
        assert_eq!(hello["messages"][0]["content"]["text"], "hello");
        // A request behind a long one on the same pipe is read behind it.
        assert!(first || asked.elapsed() < ANSWER_TIMEOUT, "{shown}: {:?}", asked.elapsed());
        first = false;
        assert!(began.elapsed() < 6 * TEST_TIMEOUT, "{shown} goes on and on");
    }
    let error_text = error_text(&attacker.wait_for_answer(id));
    // On a machine that stands still the time is over first.
    let mut outcomes = attack.outcome.iter().chain(&["timed out after 30s"]);
    assert!(outcomes.any(|words| error_text.contains(words)), "{shown}: {error_text}");
    assert!(error_text.len() < 1000, "{shown}: {} bytes", error_text.len());
}

/// The most memory that the server has held, in MiB.
fn peak(server: &TestServer) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn attack_on_same_pipe_does_not_delay_others() {
    let folder = folder();
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    for attack in attacks() {
        assert_undelayed_during(&client, &client, &attack);
    }
    #[cfg(target_os = "linux")]
    assert!(peak(&server) < 1024, "{} MiB", peak(&server));
}

#[test]
fn attack_in_other_session_does_not_delay_others() {
    let folder = folder();
    let server = folder.http();
    let (attacker, honest) = (server.session("2025-11-25"), server.session("2025-11-25"));
    for attack in attacks() {
        assert_undelayed_during(&attacker, &honest, &attack);
    }
    #[cfg(target_os = "linux")]
    assert!(peak(&server) < 1024, "{} MiB", peak(&server));
}

/// The arguments of calls of nearly as many bytes as may be sent, which take long to read.
fn large_arguments() -> Vec<String> {
    const MOST: usize = 500_000;
    let of = |item: &str, bytes| format!("{{\"a\":[{item}{}]}}", format!(",{item}").repeat(bytes / (item.len() + 1)));
    let list = |item: &str| of(item, MOST);
    let keys: String = (0..MOST / 14).map(|nth| format!(",\"k{nth:07}\":0")).collect();
    vec![
        list("1"),
        list("\"\\u00e9\""),
        list("{}"),
        // More of them would take more memory than one message may.
        of(&("[".repeat(60) + &"]".repeat(60)), MOST / 4),
        format!("{{\"a\":0{keys}}}"),
        format!("{{\"a\":0{}}}", ",\"k\":0".repeat(MOST / 6)),
        format!("{{\"a\":\"{}\"}}", "\\n".repeat(MOST / 2)),
    ]
}

/// Sends a request, and waits for its answer for longer than others do.
fn post_without_deadline(server: &TestServer, headers: &[(&str, &str)], body: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(6 * TEST_TIMEOUT)).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends what takes long to read, and asks for what takes long to write.
fn send_large(server: &TestServer, sent: &AtomicUsize) {
    let client = server.session("2025-11-25");
    let headers = client.headers("", &Value::Null);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let call = |arguments: &String| format!("\"tools/call\",\"params\":{{\"name\":\"any\",\"arguments\":{arguments}}}");
    let read = "\"resources/read\",\"params\":{\"uri\":\"f://large\"}".to_owned();
    for (id, asked) in large_arguments().iter().map(call).chain([read]).enumerate() {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{asked}}}");
        let answer = post_without_deadline(server, &headers, &body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{}", &answer[..answer.len().min(300)]);
        sent.fetch_add(1, Relaxed);
    }
}

#[test]
fn large_messages_hold_up_nobody_else() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  large: { uri: \"f://large\", file: large.txt }\ntools:\n  any: { description: A, inputSchema: { type: object }, result: { text: fine } }\n",
    );
    folder.write("large.txt", "\"\n".repeat(1_500_000));
    let server = folder.http();
    let (honest, sent) = (server.session("2025-11-25"), AtomicUsize::new(0));
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let attacks: Vec<_> = (0..2).map(|_| scope.spawn(|| send_large(&server, &sent))).collect();
        while !attacks.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let asked = Instant::now();
            honest.round_trip();
            longest = longest.max(asked.elapsed());
        }
    });
    assert_eq!(sent.load(Relaxed), 2 * 8, "all of it was answered");
    assert!(longest < ANSWER_TIMEOUT, "{longest:?}");
}

/// The time on a processor that the server has used.
#[cfg(target_os = "linux")]
fn cpu_time(server: &TestServer) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Waits until the server rests, then gives the time on a processor that it has used.
#[cfg(target_os = "linux")]
fn cpu_time_until_idle(server: &TestServer) -> Duration {
    let deadline = Instant::now() + TEST_TIMEOUT;
    let mut last = cpu_time(server);
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = cpu_time(server);
        if now.saturating_sub(last) < Duration::from_millis(50) {
            return now;
        }
        assert!(Instant::now() < deadline, "it works on and on");
        last = now;
    }
}

#[test]
#[cfg(target_os = "linux")]
fn cancelled_call_stops_using_cpu() {
    let folder = folder();
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    // Ends with its time.
    let words: Vec<String> = (0..3000).map(|number| format!("b{}", number * 7919 % 3000)).collect();
    let params = json!({ "name": "sorts", "arguments": { "text": words.join(",") } });
    let before = cpu_time_until_idle(&server);
    let whole = client.send("prompts/get", params.clone());
    client.wait_for_answer(whole);
    let after_whole = cpu_time_until_idle(&server);
    let given_up = client.send("prompts/get", params);
    client.result("prompts/get", json!({ "name": "hello" }));
    client.cancel(given_up);
    let (whole, cancelled) = (after_whole - before, cpu_time_until_idle(&server) - after_whole);
    assert!(cancelled < whole / 2, "{cancelled:?} of {whole:?}");
    assert!(!client.has_answer(given_up), "what is given up is not answered");
}

#[test]
fn unknown_name_is_truncated_in_error() {
    let folder = folder();
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let long = "x".repeat(1000);
    let shown = format!("{}…", "x".repeat(64));
    for (method, params, words) in [
        ("tools/call", json!({ "name": long }), format!("Unknown tool: {shown}")),
        ("prompts/get", json!({ "name": long }), format!("Unknown prompt: {shown}")),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "wide" }, "argument": { "name": long, "value": "" } }),
            format!("unknown argument `{shown}` of prompt `wide`"),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": long }, "argument": { "name": "a", "value": "" } }),
            format!("Unknown prompt: {shown}"),
        ),
        (&long, json!({}), format!("unknown method `{shown}`")),
    ] {
        let id = client.send(method, params);
        let answer = client.wait_for_answer(id);
        assert_eq!(answer["error"]["message"], words);
        assert!(answer.to_string().len() < 2000);
    }
}

#[test]
fn a_completion_with_much_filled_in_ends() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  r: { uri: \"f://{b}{?a}\", arguments: { a: {}, b: {} }, file: \"docs/{{b}}.md\" }\n",
    );
    for number in 0..1000 {
        folder.write(&format!("docs/file-{number}.md"), "");
    }
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let complete = |filled: String| {
        let of = json!({ "type": "ref/resource", "uri": "f://{b}{?a}" });
        let argument = json!({ "name": "b", "value": "file-9" });
        let context = json!({ "arguments": { "a": filled } });
        client.result("completion/complete", json!({ "ref": of, "argument": argument, "context": context }))
    };
    assert_eq!(complete("x".to_owned())["completion"]["total"], 271);
    // Whatever it comes to, it does so while somebody still waits.
    complete("x".repeat(100_000));
}

#[test]
fn completion_over_many_files_delays_nobody() {
    let folder = folder();
    for number in 0..3000 {
        folder.write(&format!("many/file-{number}.txt"), "");
    }
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let complete = |value: &str| {
        let of = json!({ "type": "ref/prompt", "name": "wide" });
        client.send("completion/complete", json!({ "ref": of, "argument": { "name": "file", "value": value } }))
    };
    let id = complete("file-29");
    client.result("ping", json!({}));
    let found = client.wait_for_answer(id);
    assert_eq!(found["result"]["completion"]["hasMore"], true, "{found}");
    let typed = "f ".repeat(1 << 20);
    let none = client.wait_for_answer(complete(&typed));
    assert_eq!(none["result"]["completion"]["total"], 0, "{none}");
}
