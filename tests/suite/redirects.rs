//! Headers and secrets on a redirect to another host.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::harness::{TestFolder, text_of};

/// A server of this machine, by its origin, with every request that it was sent.
struct MockHost {
    origin: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl MockHost {
    /// Answers each path by `answer`: a status line with headers, and a body.
    fn start(answer: impl Fn(&str) -> (String, &'static str) + Send + 'static) -> MockHost {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let kept = asked.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let request = read(&mut BufReader::new(&stream));
                let (head, body) = answer(request.split(' ').nth(1).unwrap_or_default());
                kept.lock().unwrap().push(request);
                let length = body.len();
                let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        MockHost { origin, asked }
    }

    /// What it was asked since the last time.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn read(reader: &mut impl BufRead) -> String {
    let mut text = String::new();
    while reader.read_line(&mut text).unwrap_or(0) > 2 && !text.ends_with("\r\n\r\n") {}
    let length = text.to_lowercase();
    let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    text + &String::from_utf8_lossy(&body)
}

const TOOLS: &str = r#"
folio: 1
server: { name: redirected }
tools:
  header:
    description: A token in a header
    run:
      - { id: login, http: { url: "API/login" } }
      - { id: got, http: { url: "API/STATUS", headers: { X-Token: "t {{steps.login.json.token}}", X-Plain: plain } } }
    result: { text: "{{steps.got.status}}" }
  body:
    description: A token in a body
    run:
      - { id: login, http: { url: "API/login" } }
      - { id: got, http: { method: POST, url: "API/STATUS", json: { deep: [{ token: "{{steps.login.json.token}}" }] } } }
    result: { text: "{{steps.got.status}}" }
  form:
    description: A token in a form
    run:
      - { id: login, http: { url: "API/login" } }
      - http:
          { method: POST, url: "API/STATUS", form: { token: "{{#each steps.login.json.list}}{{this}}{{/each}}" } }
  repeated:
    description: A token by way of a list
    run:
      - { id: login, http: { url: "API/login" } }
      - each: "{{steps.login.json.list}}"
        http: { url: "API/STATUS", headers: { X-Token: "{{this}}" } }
  repeated-body:
    description: A token by way of a list
    run:
      - { id: login, http: { url: "API/login" } }
      - each: "{{steps.login.json.list}}"
        http: { method: POST, url: "API/STATUS", json: { token: "{{this}}" } }
  passed:
    description: A token by way of another tool
    run:
      - { id: login, http: { url: "API/login" } }
      - tool: { name: sends, arguments: { token: "{{steps.login.json.token}}" } }
  passed-body:
    description: A token by way of another tool
    run:
      - { id: login, http: { url: "API/login" } }
      - tool: { name: sends-body, arguments: { token: "{{steps.login.json.token}}" } }
  passed-uri:
    description: A token by way of a resource
    run:
      - { id: login, http: { url: "API/login" } }
      - read: "sent://{{steps.login.json.token}}"
  sends:
    description: Sends a header
    arguments: { token: { required: true } }
    run: { http: { url: "API/STATUS", headers: { X-Token: "{{token}}" } } }
  sends-body:
    description: Sends a body
    arguments: { token: { required: true } }
    run: { http: { method: POST, url: "API/STATUS", body: "{{token}}" } }
resources:
  sent: { uri: "sent://{token}", run: { http: { url: "API/STATUS", headers: { X-Token: "{{token}}" } } } }
"#;

const TOKEN: &str = "hunter2-of-the-login";

#[test]
fn step_values_are_dropped_on_cross_origin_redirect() {
    let other = MockHost::start(|_| ("200 OK".to_owned(), "elsewhere"));
    let target = other.origin.clone();
    let api = MockHost::start(move |path| match path {
        "/login" => {
            let head = "200 OK\r\nContent-Type: application/json".to_owned();
            (head, r#"{ "token": "hunter2-of-the-login", "list": ["hunter2-of-the-login"] }"#)
        }
        "/here" => ("200 OK".to_owned(), "here"),
        "/home" => ("307 Temporary Redirect\r\nLocation: /here".to_owned(), ""),
        status => (format!("{} Moved\r\nLocation: {target}/x", &status[1..]), ""),
    });
    for status in ["301", "302", "303", "307", "308"] {
        let folder = TestFolder::with_manifest(&TOOLS.replace("API", &api.origin).replace("STATUS", status));
        // The other one is reached through the very guard that keeps private hosts out.
        let allowed = other.origin.trim_start_matches("http://");
        let manifest = std::fs::read_to_string(folder.join("folio.yaml")).unwrap();
        let manifest = manifest.replace(&format!("/{status}\","), &format!("/{status}\", allow: [\"{allowed}\"],"));
        folder.write("folio.yaml", &manifest);
        let server = folder.stdio();
        let client = server.session("2025-06-18");
        for tool in ["header", "body", "form", "repeated", "repeated-body", "passed", "passed-body", "passed-uri"] {
            let answer = client.request("tools/call", json!({ "name": tool, "arguments": {} }));
            let asked = other.asked();
            assert!(asked.iter().all(|asked| !asked.contains(TOKEN)), "{status} {tool}: {asked:?}");
            let is_resent = tool.ends_with("body") || tool == "form";
            if is_resent && matches!(status, "307" | "308") {
                assert_eq!(asked.len(), 0, "{tool}: {asked:?}");
                assert!(text_of(&answer["result"]["content"][0]).contains("to another origin"), "{tool}: {answer}");
            } else {
                assert_eq!(asked.len(), 1, "{status} {tool}: {answer}");
            }
            let plain = tool == "header";
            assert!(!plain || asked[0].to_lowercase().contains("x-plain: plain"), "{asked:?}");
            let sent = api.asked();
            assert!(sent.last().unwrap().contains(TOKEN), "{tool}: it was sent where it belongs: {sent:?}");
        }
    }
}

#[test]
fn same_origin_redirect_keeps_headers() {
    let api = MockHost::start(|path| match path {
        "/login" => ("200 OK\r\nContent-Type: application/json".to_owned(), r#"{ "token": "hunter2-of-the-login" }"#),
        "/here" => ("200 OK".to_owned(), "here"),
        _ => ("307 Temporary Redirect\r\nLocation: /here".to_owned(), ""),
    });
    let folder = TestFolder::with_manifest(&TOOLS.replace("API", &api.origin).replace("STATUS", "home"));
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    for tool in ["header", "body", "passed", "passed-body"] {
        client.call("header", json!({}));
        client.call(tool, json!({}));
        let asked = api.asked();
        let last = asked.last().unwrap();
        assert!(last.contains(" /here ") && last.contains(TOKEN), "{tool}: {last}");
    }
    // What a caller gives goes where its tool sends it.
    let other = MockHost::start(|_| ("200 OK".to_owned(), "elsewhere"));
    let target = other.origin.clone();
    let api = MockHost::start(move |_| (format!("307 Temporary Redirect\r\nLocation: {target}/x"), ""));
    let allowed = other.origin.trim_start_matches("http://").to_owned();
    let manifest = TOOLS.replace("API/STATUS\",", &format!("{}/go\", allow: [\"{allowed}\"],", api.origin));
    let folder = TestFolder::with_manifest(&manifest.replace("API", &api.origin));
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    assert_eq!(client.call_text("sends-body", json!({ "token": "mine" })), "elsewhere");
    assert!(other.asked()[0].ends_with("\r\n\r\nmine"));
}

#[test]
fn server_variable_may_allow_private_hosts() {
    let api = MockHost::start(|_| ("200 OK".to_owned(), "inside"));
    let host = api.origin.trim_start_matches("http://").to_owned();
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: allowed }
env: { HOSTS: {} }
tools:
  get:
    description: Gets a page
    arguments: { url: { required: true } }
    run: { http: { url: "{{url}}", allow: ["{{env.HOSTS}}"] } }
"#,
    );
    let url = json!({ "url": format!("{}/x", api.origin) });
    for (hosts, allowed) in [
        (None, false),
        (Some(""), false),
        (Some("other.example"), false),
        (Some(host.as_str()), true),
        (Some("127.0.0.1"), true),
        (Some(&*format!("other.example, {host} ,")), true),
    ] {
        let serve = folder.serve_command();
        let serve = match hosts {
            Some(hosts) => serve.env("HOSTS", hosts),
            None => serve,
        };
        let server = serve.stdio();
        let answer = server.session("2025-06-18").call("get", url.clone());
        assert_eq!(answer["isError"] == true, !allowed, "{hosts:?}: {answer}");
        assert_eq!(api.asked().len(), usize::from(allowed), "{hosts:?}");
    }
}
