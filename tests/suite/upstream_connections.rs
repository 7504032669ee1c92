//! What requests leave behind at servers that flood, fall silent or lead elsewhere: no connection that others wait for,
//! and no descriptors.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

/// A server that gives each connection to `handler`, and counts those that are open.
fn start_server(handler: impl Fn(TcpStream) -> std::io::Result<()> + Clone + Send + 'static) -> CountedServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = CountedServer { address: listener.local_addr().unwrap(), open: Arc::default() };
    let open = server.open.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (open, handler) = (open.clone(), handler.clone());
            open.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || {
                let _ = handler(stream);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    server
}

struct CountedServer {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
}

/// A server that answers every request, and keeps connections open.
fn keep_alive_server() -> CountedServer {
    start_server(|stream| {
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = String::new();
            while reader.read_line(&mut line)? > 2 {}
            if line.is_empty() {
                return Ok(());
            }
            reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")?;
        }
    })
}

/// A server that sends interim responses without an end, each with a header of so many letters.
fn flooding_server(letters: usize) -> CountedServer {
    let hints = format!("HTTP/1.1 103 E\r\nLink: {}\r\n\r\n", "x".repeat(letters)).repeat(1_000_000 / (letters + 20));
    start_server(move |stream| {
        let mut reader = BufReader::new(stream);
        while reader.read_line(&mut String::new())? > 2 {}
        loop {
            reader.get_mut().write_all(hints.as_bytes())?;
        }
    })
}

fn tool(url: &str, timeout: &str) -> Value {
    json!({ "description": "T", "arguments": { "v": {} }, "run": { "http": { "url": url, "timeout": timeout, "allow": ["127.0.0.1"] } } })
}

fn folder(tools: Value) -> TestFolder {
    let limits = json!({ "callsPerSecond": 1_000_000 });
    TestFolder::with_manifest(
        &json!({ "folio": 1, "server": { "name": "f", "limits": limits }, "tools": tools }).to_string(),
    )
}

fn text(result: &Value) -> String {
    text_of(&result["content"][0])
}

#[test]
fn floods_are_ended_before_their_timeout() {
    // The first keep the thread of their connection within one read, which ends with many of them.
    let (small, large, good) = (flooding_server(1), flooding_server(8000), keep_alive_server());
    let flood = |server: &CountedServer| tool(&format!("http://{}/", server.address), "10m");
    let good = tool(&format!("http://{}/", good.address), "60s");
    let folder = folder(json!({ "small": flood(&small), "large": flood(&large), "good": good }));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let floods = ["small", "large"].map(|tool| client.start_call(tool, json!({})));
    assert_eq!(client.call_text("good", json!({})), "fine");
    for call in floods {
        let result = &client.wait_for_answer(call)["result"];
        let words = "failed: no response from `127.0.0.1`: it keeps sending data that is not a response";
        assert!(text(result).contains(words), "{result}");
    }
    wait_until("a flooded connection to be closed", || large.open.load(Ordering::SeqCst) == 0);
    assert_eq!(client.call_text("good", json!({})), "fine");
}

/// A server that reads each request, sends `count` interim responses, and then the response.
fn hinting_server(count: usize) -> CountedServer {
    start_server(move |stream| {
        let mut reader = BufReader::new(stream);
        while reader.read_line(&mut String::new())? > 2 {}
        reader.get_mut().write_all(&b"HTTP/1.1 103 E\r\n\r\n".repeat(count))?;
        // Longer than what a flood is known by.
        thread::sleep(Duration::from_secs(3));
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine")
    })
}

#[test]
fn interim_responses_before_a_late_response_are_allowed() {
    let hinting = hinting_server(50);
    let folder = folder(json!({ "t": tool(&format!("http://{}/", hinting.address), "60s") }));
    assert_eq!(folder.stdio().client(SESSION_VERSIONS[3]).call_text("t", json!({})), "fine");
}

#[test]
fn redirect_to_another_origin_keeps_no_connection() {
    let good = keep_alive_server();
    let next = format!("http://{}/", good.address);
    let first = Upstream::start(move |_, _| Reply::with_headers(302, &[("Location", &next)], ""));
    let folder = folder(json!({ "t": tool(&first.url(), "10s") }));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("t", json!({})), "fine");
    wait_until("the connection to be closed", || good.open.load(Ordering::SeqCst) == 0);
}

#[test]
fn connections_of_all_origins_are_bounded() {
    let servers: Vec<CountedServer> = (0..40).map(|_| keep_alive_server()).collect();
    let tools = servers.iter().enumerate();
    let tools =
        tools.map(|(number, server)| (format!("t{number}"), tool(&format!("http://{}/", server.address), "10s")));
    let folder = folder(tools.collect());
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for number in 0..servers.len() {
        assert_eq!(client.call_text(&format!("t{number}"), json!({})), "fine");
    }
    let open = || servers.iter().map(|server| server.open.load(Ordering::SeqCst)).sum::<usize>();
    wait_until("connections to be closed", || open() <= 32);
}

#[test]
#[cfg(target_os = "linux")]
fn lack_of_descriptors_is_named() {
    let silent = start_server(|_stream| {
        loop {
            thread::sleep(Duration::from_secs(60))
        }
    });
    let good = Upstream::start(|_, _| Reply::with_headers(200, &[("Connection", "close")], "fine"));
    let folder = folder(json!({
        "silent": tool(&format!("http://{}/", silent.address), "60s"),
        "good": tool(&good.url(), "10s"),
        "program": { "description": "P", "run": { "exec": ["echo", "fine"] } },
    }));
    let limited = ["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"];
    let server = ServeCommand::wrapped_by(&limited, folder.path()).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("program", json!({})), "fine\n");
    let use_up = |calls: usize| (0..calls).for_each(|_| _ = client.start_call("silent", json!({})));
    use_up(80);
    let said = |tool: &str| text(&client.call(tool, json!({})));
    wait_until("descriptors to be used up", || {
        // What failed gave some back.
        use_up(4);
        said("good").contains("`127.0.0.1`: too many open files")
    });
    use_up(20);
    let expected = "program `echo` could not be started: too many open files";
    wait_until("no program to be started", || said("program").contains(expected));
}
