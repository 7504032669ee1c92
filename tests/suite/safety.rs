//! `tests/safety.md` lists the tests for each sentence of docs/safety.md.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

use crate::doc_tables::{missing_tests, quoted, read};
use crate::harness::{TestFolder, TestServer};

/// One sentence of the page, and what holds it.
struct SafetyRow {
    sentence: String,
    tests: String,
}

impl SafetyRow {
    /// Reads a line of the table. The line of headings and the one below it are none.
    fn read(line: &str) -> Option<SafetyRow> {
        let (sentence, tests) = line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | ")?;
        (sentence != "sentence").then(|| SafetyRow { sentence: sentence.replace("\\|", "|"), tests: tests.into() })
    }

    fn tests(&self) -> impl Iterator<Item = &str> {
        quoted(&self.tests).filter(|name| name.contains("::"))
    }
}

fn rows() -> Vec<SafetyRow> {
    read("tests/safety.md").lines().filter_map(SafetyRow::read).collect()
}

/// The sentences in the lists of docs/safety.md, in its order, but for those on what is not stopped.
fn sentences() -> Vec<String> {
    let page = read("docs/safety.md").replace("**", "");
    let promises = page.split("\n## What is not stopped").next().unwrap();
    let items = promises.split("\n- ").skip(1).map(|item| item.split("\n\n").next().unwrap());
    items.flat_map(|item| split(&item.split_whitespace().collect::<Vec<_>>().join(" "))).collect()
}

/// Splits a paragraph behind each full stop that is not within backticks.
fn split(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut code = false;
    for word in paragraph.split(' ').filter(|word| !word.is_empty()) {
        let sentence = sentences.last_mut().unwrap();
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
        code ^= word.matches('`').count() % 2 == 1;
        if !code && word.ends_with('.') {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

#[test]
fn every_safety_sentence_has_a_row() {
    let rows = rows();
    let written: Vec<&str> = rows.iter().map(|row| row.sentence.as_str()).collect();
    let sentences = sentences();
    assert!(sentences.len() > 20, "{sentences:#?}");
    assert_eq!(written, sentences, "tests/safety.md repeats docs/safety.md");
}

#[test]
fn every_safety_row_names_existing_tests() {
    let rows = rows();
    for row in &rows {
        assert!(row.tests().count() > 0, "nothing holds this: {}", row.sentence);
    }
    let missing = missing_tests(rows.iter().flat_map(SafetyRow::tests));
    assert!(missing.is_empty(), "there are no such tests: {missing:#?}");
}

/// What the server has open, but for its standard streams, as the system names it.
#[cfg(target_os = "linux")]
fn open_sockets(server: &TestServer) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().flatten();
    let beyond = entries.filter(|entry| !["0", "1", "2"].contains(&entry.file_name().to_str().unwrap()));
    let names = beyond.filter_map(|entry| fs::read_link(entry.path()).ok()).map(|name| name.display().to_string());
    names.filter(|name| name.starts_with("socket:")).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn start_makes_no_connections_or_writes() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    upstream.set_nonblocking(true).unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: d, run: {{ http: {{ url: \"{url}/\" }} }} }}\n"
    );
    let (folder, scratch) = (TestFolder::with_manifest(&manifest), TestFolder::new(&[]));
    let mut command = folder.serve_command();
    for name in ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        command = command.env(name, scratch.path().to_str().unwrap());
    }
    for name in ["HTTPS_PROXY", "ALL_PROXY", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
        command = command.env(name, &url);
    }
    let server = command.stdio();
    let client = server.session("2025-11-25");
    client.result("tools/list", serde_json::json!({}));
    assert_eq!(upstream.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "a connection at the start");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "a file at the start");
    // The runtime tells itself of signals over a pair of sockets of its own, which are in no table of the network.
    let sockets = open_sockets(&server);
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let Ok(table) = fs::read_to_string(format!("/proc/{}/net/{table}", server.pid())) else { continue };
        let inodes = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(9));
        let own: Vec<String> = inodes.map(|inode| format!("socket:[{inode}]")).collect();
        assert!(!sockets.iter().any(|socket| own.contains(socket)), "{table}");
    }
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(files, ["folio.yaml"]);
    assert_eq!(fs::read_to_string(folder.path().join("folio.yaml")).unwrap(), manifest);
    // A call does connect, where the test would see it.
    client.start_call("t", serde_json::json!({}));
    upstream.set_nonblocking(false).unwrap();
    upstream.accept().unwrap();
}
