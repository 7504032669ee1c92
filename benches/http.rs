//! What folio adds to a request, as ratios within one run. Nothing here asserts a time.
//!
//! ```text
//! cargo bench --bench http
//! ```
//!
//! The upstream is a server on the loopback that answers 2 KB of JSON on connections that stay open, at once or after as
//! long as a fast API takes (20 ms). Requests to it are sent in turn by a bare `reqwest` client and by a tool of the built
//! program over stdio, so that whatever else the machine does meets both. A tool's call also crosses two pipes and two
//! processes, which it would without any request: that is what a `ping` costs, and it is subtracted. Hence
//!
//! ```text
//! http tool / reqwest = (median of calls - median of pings) / median of bare requests
//! ```
//!
//! is to stay below 1.10 for the slow upstream, and says how much work folio does where the upstream does none. Medians of
//! calls to a cached tool, a tool with a text, and a prompt, which all answer the same 2 KB, are compared as they are.
#![allow(
    clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout,
    missing_docs
)]

mod server;

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use server::Server;

/// What the cached response, the text and the prompt consist of, so that they answer the same.
const TEXT: &str = "x";

/// How long the slow upstream thinks.
const SLOW: Duration = Duration::from_millis(20);

/// How often each is measured: enough for a median, and no more than a minute in all.
const FAST_ROUNDS: usize = 2_000;
const SLOW_ROUNDS: usize = 250;
const WARM_UP_ROUNDS: usize = 100;

fn main() {
    let address = start_upstream();
    let mut server = Server::start(|_| manifest(address));
    let bare = BareClient::new(address);
    println!("median, in µs");
    let pings = median(FAST_ROUNDS, || server.ping());
    println!("{:<28}{:>10.0}", "ping", micros(pings));
    for (name, rounds) in [("fast", FAST_ROUNDS), ("slow", SLOW_ROUNDS)] {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for _ in 0..WARM_UP_ROUNDS.min(rounds) + rounds {
            own.push(time(|| server.call(name)));
            others.push(time(|| bare.get(name)));
        }
        let (own, bare) = (middle(own), middle(others));
        println!("{:<28}{:>10.0}", format!("reqwest, {name} upstream"), micros(bare));
        println!("{:<28}{:>10.0}", format!("http tool, {name} upstream"), micros(own));
        let ratio = own.saturating_sub(pings).as_secs_f64() / bare.as_secs_f64();
        println!("{:<28}{ratio:>10.3}", "  (tool - ping) / reqwest");
    }
    let cached = median(FAST_ROUNDS, || server.call("cached"));
    let text = median(FAST_ROUNDS, || server.call("text"));
    let prompt = median(FAST_ROUNDS, || get_prompt(&mut server));
    for (name, time) in [("cached http tool", cached), ("text tool", text), ("prompt", prompt)] {
        println!("{name:<28}{:>10.0}", micros(time));
    }
    println!("{:<28}{:>10.3}", "  cached / text tool", cached.as_secs_f64() / text.as_secs_f64());
    println!("{:<28}{:>10.3}", "  cached / prompt", cached.as_secs_f64() / prompt.as_secs_f64());
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn time(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// The median of what is left without the first times, in which connections are opened and caches are filled.
fn middle(mut times: Vec<Duration>) -> Duration {
    let mut times = times.split_off(WARM_UP_ROUNDS.min(times.len() / 2));
    times.sort();
    times[times.len() / 2]
}

fn median(rounds: usize, mut work: impl FnMut()) -> Duration {
    middle((0..WARM_UP_ROUNDS + rounds).map(|_| time(&mut work)).collect())
}

/// The upstream: `/slow` takes its time.
fn start_upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || drop(serve(stream)));
        }
    });
    address
}

fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let items: Vec<Value> =
        (0..32).map(|id| json!({ "id": id, "title": "An item with a title of a few words" })).collect();
    let body = json!({ "items": items }).to_string();
    let (items, text) = (response("application/json", &body), response("text/plain", &TEXT.repeat(2_000)));
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (is_slow, is_text) = (line.contains(" /slow "), line.contains(" /cached "));
        while line.trim_end() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        if is_slow {
            thread::sleep(SLOW);
        }
        reader.get_mut().write_all(if is_text { &text } else { &items }.as_bytes())?;
    }
}

fn response(content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A client that does nothing but requests.
struct BareClient {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    address: SocketAddr,
}

impl BareClient {
    fn new(address: SocketAddr) -> BareClient {
        _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        BareClient { runtime, client: reqwest::Client::builder().no_proxy().build().unwrap(), address }
    }

    fn get(&self, path: &str) {
        let url = format!("http://{}/{path}", self.address);
        let request = async { self.client.get(url).send().await.unwrap().bytes().await.unwrap() };
        black_box(serde_json::from_slice::<Value>(&self.runtime.block_on(request)).unwrap());
    }
}

/// Tools that get the same text from an upstream, from the cache and from the manifest.
fn manifest(address: SocketAddr) -> Value {
    let tool = |http: Value| json!({ "description": "T", "run": { "http": http } });
    json!({
        "folio": 1,
        "server": { "name": "bench", "limits": { "callsPerSecond": 1_000_000 } },
        "tools": {
            "fast": tool(json!({ "url": format!("http://{address}/fast") })),
            "slow": tool(json!({ "url": format!("http://{address}/slow") })),
            "cached": tool(json!({ "url": format!("http://{address}/cached"), "cache": "1h" })),
            "text": { "description": "T", "result": { "text": TEXT.repeat(2_000) } },
        },
        "prompts": { "p": { "text": TEXT.repeat(2_000) } },
    })
}

fn get_prompt(server: &mut Server) {
    let result = server.request("prompts/get", json!({ "name": "p" }));
    assert!(result["messages"].is_array(), "{result}");
}
