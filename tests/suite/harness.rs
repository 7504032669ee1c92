//! A server as a child process, and clients of every version that speak raw JSON-RPC to it.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take before the test fails. Nothing waits for it that goes well.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The versions that begin with `initialize`.
pub const SESSION_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The version in which each request stands for itself.
pub const SESSIONLESS_VERSION: &str = "2026-07-28";

/// The program under test.
pub const FOLIO_BIN: &str = env!("CARGO_BIN_EXE_folio");

/// Tells a thread beside a test to stop when the test is over, also one that fails.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A folder with the files of a server, gone when the test is over.
pub struct TestFolder {
    temporary: TempDir,
}

impl TestFolder {
    pub fn new(files: &[(&str, &str)]) -> TestFolder {
        let folder = TestFolder { temporary: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    /// The same on a file system in memory where there is one: what is written is on such a disk at once.
    pub fn in_memory(files: &[(&str, &str)]) -> TestFolder {
        let temporary = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let folder = TestFolder { temporary };
        files.iter().for_each(|(path, text)| folder.write(path, text));
        folder
    }

    /// The folder of a server that is its manifest.
    pub fn with_manifest(manifest: &str) -> TestFolder {
        TestFolder::new(&[("folio.yaml", manifest)])
    }

    /// Writes a file in place, as the plainest of editors does.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file beside and renames it over the old one, as most editors do.
    pub fn rename_over(&self, path: &str, text: impl AsRef<[u8]>) {
        let beside = self.join(&format!("{path}.new~"));
        fs::create_dir_all(beside.parent().unwrap()).unwrap();
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.join(path)).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.join(path)).unwrap();
    }

    pub fn join(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// A server of this folder on pipes.
    pub fn stdio(&self) -> TestServer {
        ServeCommand::new(self.path()).stdio()
    }

    /// A server of this folder on a port of its own.
    pub fn http(&self) -> TestServer {
        ServeCommand::new(self.path()).http()
    }

    pub fn serve_command(&self) -> ServeCommand {
        ServeCommand::new(self.path())
    }
}

/// Things that come one after another and are waited for.
pub struct WaitQueue<T> {
    items: Mutex<VecDeque<T>>,
    pushed: Condvar,
}

impl<T> Default for WaitQueue<T> {
    fn default() -> WaitQueue<T> {
        WaitQueue { items: Mutex::new(VecDeque::new()), pushed: Condvar::new() }
    }
}

impl<T> WaitQueue<T> {
    pub fn push(&self, item: T) {
        self.items.lock().unwrap().push_back(item);
        self.pushed.notify_all();
    }

    /// Looks at what has come until `find` finds something in it.
    pub fn wait<R>(&self, within: Duration, mut find: impl FnMut(&mut VecDeque<T>) -> Option<R>) -> Option<R> {
        let deadline = Instant::now() + within;
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(found) = find(&mut items) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            items = self.pushed.wait_timeout(items, left).unwrap().0;
        }
    }

    /// Takes out the first item for which `wanted` holds.
    pub fn take(&self, within: Duration, wanted: impl Fn(&T) -> bool) -> Option<T> {
        self.wait(within, |items| {
            let place = items.iter().position(&wanted)?;
            items.remove(place)
        })
    }
}

impl<T: Clone> WaitQueue<T> {
    pub fn all(&self) -> Vec<T> {
        self.items.lock().unwrap().iter().cloned().collect()
    }
}

/// What a server wrote on stderr, line by line.
#[derive(Clone, Default)]
pub struct StderrLog(Arc<WaitQueue<String>>);

impl StderrLog {
    pub fn lines(&self) -> Vec<String> {
        self.0.all()
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// How many lines there are; what comes later stands behind it.
    pub fn line_count(&self) -> usize {
        self.0.items.lock().unwrap().len()
    }

    /// Waits for a line behind `mark`.
    pub fn wait_for_line(&self, mark: usize, wanted: impl Fn(&str) -> bool) -> String {
        let found = self.0.wait(TEST_TIMEOUT, |lines| lines.iter().skip(mark).find(|line| wanted(line)).cloned());
        found.unwrap_or_else(|| panic!("no such line on stderr after line {mark}:\n{}", self.text()))
    }

    /// Waits until the server says that it reloaded.
    pub fn wait_for_reload(&self, mark: usize) -> String {
        self.wait_for_line(mark, |line| line.contains("reloaded in "))
    }

    /// Waits until the server says that it did not reload.
    pub fn wait_for_failed_reload(&self, mark: usize) -> String {
        self.wait_for_line(mark, |line| line.contains("not reloaded"))
    }

    fn read_from(&self, stderr: impl Read + Send + 'static) {
        let log = self.clone();
        thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n') {
                let Ok(line) = line else { break };
                log.0.push(String::from_utf8_lossy(&line).into_owned());
            }
        });
    }
}

/// How a server is started.
pub struct ServeCommand {
    command: Command,
}

impl ServeCommand {
    pub fn new(path: &Path) -> ServeCommand {
        let mut command = Command::new(FOLIO_BIN);
        command.arg("serve").arg(path);
        command.env_remove("FOLIO_LOG").env_remove("NO_COLOR");
        ServeCommand { command }
    }

    /// `folio dev` in the place of `folio serve`.
    pub fn dev(path: &Path) -> ServeCommand {
        let mut command = Command::new(FOLIO_BIN);
        command.arg("dev").arg(path);
        command.env_remove("FOLIO_LOG").env_remove("NO_COLOR");
        ServeCommand { command }
    }

    /// The same by means of another program, whose arguments end with those of this one.
    pub fn wrapped_by(program: &[&str], path: &Path) -> ServeCommand {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(FOLIO_BIN).arg("serve").arg(path);
        command.env_remove("FOLIO_LOG").env_remove("NO_COLOR");
        ServeCommand { command }
    }

    pub fn flag(mut self, flag: &str) -> ServeCommand {
        self.command.arg(flag);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> ServeCommand {
        self.command.env(name, value);
        self
    }

    pub fn stdio(self) -> TestServer {
        self.start(false)
    }

    pub fn http(mut self) -> TestServer {
        self.command.args(["--http", "127.0.0.1:0"]);
        self.start(true)
    }

    /// Starts it on an address that is given among the flags, or in the manifest.
    pub fn http_as_configured(self) -> TestServer {
        self.start(true)
    }

    fn start(mut self, http: bool) -> TestServer {
        let command = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = StderrLog::default();
        log.read_from(child.stderr.take().unwrap());
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let mut server = TestServer { child: Mutex::new(child), log, port: 0, pipe: None };
        if http {
            server.port = server.log_port();
        } else {
            server.pipe = Some(Arc::new(StdioPipes::new(stdin, stdout)));
        }
        server
    }
}

/// A server that runs; it is killed when the test lets go of it.
pub struct TestServer {
    child: Mutex<Child>,
    pub log: StderrLog,
    pub port: u16,
    pipe: Option<Arc<StdioPipes>>,
}

/// The path that the first event of HTTP+SSE names.
fn endpoint_path(event: &str) -> String {
    let data = event.strip_prefix("event: endpoint\ndata: ").unwrap_or_else(|| panic!("{event:?}"));
    data.trim_end().to_owned()
}

impl TestServer {
    fn log_port(&self) -> u16 {
        let line =
            self.log.wait_for_line(0, |line| line.contains("listening on http://") || line.starts_with("error: "));
        let port = line.split_once("listening on http://").and_then(|(_, rest)| {
            let (authority, path) = rest.split_once('/')?;
            assert!(path.starts_with("mcp") || !path.is_empty(), "{line}");
            authority.rsplit_once(':')?.1.parse().ok()
        });
        port.unwrap_or_else(|| panic!("the server does not listen:\n{}", self.log.text()))
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.lock().unwrap().id()).unwrap()
    }

    pub fn signal(&self, name: &str) {
        // The shell's own, as there need be no other.
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).status().unwrap();
        assert!(status.success());
    }

    /// The wire of a server on pipes.
    pub fn pipe(&self) -> Arc<StdioPipes> {
        self.pipe.clone().unwrap()
    }

    pub fn http_client(&self) -> HttpClient {
        HttpClient::new(self.port)
    }

    /// A client that has begun a session, on whatever wire the server has.
    pub fn session(&self, version: &str) -> TestClient {
        let client = self.uninitialized(version);
        client.notify("notifications/initialized", Value::Null);
        client
    }

    /// The same before it has said that it is ready.
    pub fn uninitialized(&self, version: &str) -> TestClient {
        let mut client = TestClient::new(self.wire(), version);
        client.initialize();
        client
    }

    /// A client of any version that has these capabilities.
    pub fn client_with(&self, version: &str, capabilities: Value) -> TestClient {
        let mut client = TestClient::new(self.wire(), version);
        client.capabilities = capabilities;
        client.begin();
        client
    }

    /// A client of any version that calls itself so.
    pub fn client_named(&self, version: &str, name: &str) -> TestClient {
        let mut client = TestClient::new(self.wire(), version);
        client.name = name.to_owned();
        client.begin();
        client
    }

    /// A client of 2026-07-28, which needs no session.
    pub fn sessionless(&self) -> TestClient {
        TestClient::new(self.wire(), SESSIONLESS_VERSION)
    }

    /// One client of each version: sessions, then the stateless one. On pipes, where there is one peer, each
    /// gets a server of its own from `make`.
    pub fn client(&self, version: &str) -> TestClient {
        if version == SESSIONLESS_VERSION { self.sessionless() } else { self.session(version) }
    }

    /// A client of HTTP+SSE, for which the server must have been started.
    pub fn sse_client(&self, version: &str) -> TestClient {
        self.sse_client_with(version, json!({}))
    }

    /// The same with these capabilities.
    pub fn sse_client_with(&self, version: &str, capabilities: Value) -> TestClient {
        let mut client = self.open_sse_client("/sse", &[], version);
        client.capabilities = capabilities;
        if !client.is_sessionless() {
            client.initialize();
            client.notify("notifications/initialized", Value::Null);
        }
        client
    }

    /// The same, where there is room for it.
    pub fn try_sse_client(&self) -> Option<TestClient> {
        let mut http = self.http_client();
        http.path = "/sse".to_owned();
        let mut response = http.send("GET", &[], b"");
        if response.status != 200 {
            return None;
        }
        http.path = endpoint_path(&response.first_event());
        let stream = Arc::new(response.stream(Arc::default()));
        Some(TestClient::new(ClientWire::Sse { http, stream }, "2024-11-05"))
    }

    /// One that has opened its stream there, and not begun.
    pub fn open_sse_client(&self, path: &str, headers: &[(&str, &str)], version: &str) -> TestClient {
        let mut http = self.http_client();
        http.path = path.to_owned();
        let mut response = http.send("GET", headers, b"");
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, Some("text/event-stream")),
            "{response:?}"
        );
        http.path = endpoint_path(&response.first_event());
        let news = Arc::<WaitQueue<Value>>::default();
        let stream = Arc::new(response.stream(news.clone()));
        TestClient { received: news, ..TestClient::new(ClientWire::Sse { http, stream }, version) }
    }

    fn wire(&self) -> ClientWire {
        match &self.pipe {
            Some(pipe) => ClientWire::Pipe(pipe.clone()),
            None => ClientWire::Http { http: self.http_client(), session: None },
        }
    }

    /// Waits for the end of the process.
    pub fn wait_for_exit(&self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.lock().unwrap().try_wait().unwrap() {
                return Some(status);
            }
            if Instant::now() > deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn is_alive(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_none()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
        if thread::panicking() {
            eprintln!("--- stderr of the server\n{}", self.log.text());
        }
    }
}

/// The two pipes of a server.
pub struct StdioPipes {
    stdin: Mutex<Option<ChildStdin>>,
    incoming: Arc<WaitQueue<Value>>,
    invalid_lines: Arc<WaitQueue<String>>,
    next: AtomicI64,
}

impl StdioPipes {
    fn new(stdin: Option<ChildStdin>, stdout: impl Read + Send + 'static) -> StdioPipes {
        let (incoming, faults) = (Arc::<WaitQueue<Value>>::default(), Arc::<WaitQueue<String>>::default());
        let (heard, wrong) = (incoming.clone(), faults.clone());
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                let Ok(line) = line else { break };
                match serde_json::from_slice::<Value>(&line) {
                    Ok(message) if is_message(&message) || is_batch(&message) => heard.push(message),
                    _ => wrong.push(String::from_utf8_lossy(&line).into_owned()),
                }
            }
            heard.push(Value::Null);
        });
        StdioPipes { stdin: Mutex::new(stdin), incoming, invalid_lines: faults, next: AtomicI64::new(1) }
    }

    /// Writes a line as it is.
    pub fn write_line(&self, line: impl AsRef<[u8]>) {
        let mut bytes = line.as_ref().to_vec();
        bytes.push(b'\n');
        self.write_bytes(&bytes);
    }

    pub fn write_bytes(&self, bytes: &[u8]) {
        let mut stdin = self.stdin.lock().unwrap();
        let stdin = stdin.as_mut().expect("the input is closed");
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// Ends the input.
    pub fn close(&self) {
        self.stdin.lock().unwrap().take();
    }

    pub fn take(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.incoming.take(TEST_TIMEOUT, wanted);
        self.assert_only_messages();
        found.unwrap_or_else(|| panic!("no such message came; there are {:?}", self.incoming.all()))
    }

    /// The next message, whatever it is.
    pub fn next(&self) -> Value {
        self.take(|_| true)
    }

    /// Fails if anything on stdout was no message.
    pub fn assert_only_messages(&self) {
        let faults = self.invalid_lines.all();
        assert!(faults.is_empty(), "lines on stdout that are no JSON-RPC: {faults:?}");
    }
}

fn is_message(message: &Value) -> bool {
    let kinds = ["method", "result", "error"];
    message["jsonrpc"] == "2.0" && kinds.iter().filter(|kind| message.get(**kind).is_some()).count() == 1
}

/// Whether it answers a batch.
fn is_batch(message: &Value) -> bool {
    message.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_message))
}

/// What a client speaks on.
#[derive(Clone)]
enum ClientWire {
    Pipe(Arc<StdioPipes>),
    Http {
        http: HttpClient,
        session: Option<String>,
    },
    /// HTTP+SSE: where to post to, and the stream.
    Sse {
        http: HttpClient,
        stream: Arc<SseStream>,
    },
}

/// A client of one version.
pub struct TestClient {
    wire: ClientWire,
    pub version: String,
    pub initialize_result: Value,
    /// What it calls itself.
    pub name: String,
    /// What it says that it can.
    pub capabilities: Value,
    /// Notifications, and over HTTP whatever else came on streams.
    received: Arc<WaitQueue<Value>>,
    next: AtomicI64,
    /// The connections of requests that were sent over Streamable HTTP and not waited for.
    open_sockets: Mutex<HashMap<i64, TcpStream>>,
}

impl TestClient {
    fn new(wire: ClientWire, version: &str) -> TestClient {
        let received = match &wire {
            ClientWire::Pipe(pipe) => pipe.incoming.clone(),
            ClientWire::Http { .. } | ClientWire::Sse { .. } => Arc::default(),
        };
        TestClient {
            wire,
            version: version.to_owned(),
            initialize_result: Value::Null,
            name: "suite".to_owned(),
            capabilities: json!({}),
            received,
            next: AtomicI64::new(1),
            open_sockets: Mutex::default(),
        }
    }

    pub fn is_sessionless(&self) -> bool {
        self.version == SESSIONLESS_VERSION
    }

    /// Begins a session, in versions that have one.
    fn begin(&mut self) {
        if !self.is_sessionless() {
            self.initialize();
            self.notify("notifications/initialized", Value::Null);
        }
    }

    fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "clientInfo": { "name": self.name, "version": "1" },
        });
        match &mut self.wire {
            ClientWire::Pipe(_) | ClientWire::Sse { .. } => self.initialize_result = self.result("initialize", params),
            ClientWire::Http { http, session } => {
                let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
                let response = http.post(&[], &body);
                assert_eq!(response.status, 200, "{response:?}");
                *session = Some(response.header("mcp-session-id").expect("a session id").to_owned());
                self.initialize_result = response.answer(&json!(0), |_| {})["result"].clone();
            }
        }
        assert_eq!(self.initialize_result["protocolVersion"], self.version, "{}", self.initialize_result);
    }

    /// The id of the session, over HTTP.
    pub fn session_id(&self) -> &str {
        match &self.wire {
            ClientWire::Http { session: Some(session), .. } => session,
            _ => panic!("no session over HTTP"),
        }
    }

    pub fn next_id(&self) -> i64 {
        match &self.wire {
            ClientWire::Pipe(pipe) => pipe.next.fetch_add(1, Ordering::Relaxed),
            ClientWire::Http { .. } | ClientWire::Sse { .. } => self.next.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The parameters as this version wants them.
    pub fn params(&self, params: Value) -> Value {
        let mut params = if params.is_null() { json!({}) } else { params };
        if self.is_sessionless() && params.is_object() {
            for (key, value) in sessionless_meta().as_object().unwrap() {
                params["_meta"][key] = value.clone();
            }
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!(self.name);
        }
        params
    }

    /// The headers that go with a request over HTTP.
    pub fn headers(&self, method: &str, params: &Value) -> Vec<(String, String)> {
        let mut headers = vec![("MCP-Protocol-Version".to_owned(), self.version.clone())];
        if let ClientWire::Http { session: Some(session), .. } = &self.wire {
            headers.push(("Mcp-Session-Id".to_owned(), session.clone()));
        }
        if self.is_sessionless() {
            headers.push(("Mcp-Method".to_owned(), method.to_owned()));
            let name = match method.split('/').next() {
                Some("resources") => &params["uri"],
                Some("tasks") => &params["taskId"],
                _ => &params["name"],
            };
            if let Some(name) = name.as_str() {
                headers.push(("Mcp-Name".to_owned(), name.to_owned()));
            }
        }
        headers
    }

    /// Sends a request and waits for its answer: the whole message.
    pub fn request(&self, method: &str, params: Value) -> Value {
        let id = self.next_id();
        let params = self.params(params);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        match &self.wire {
            ClientWire::Pipe(pipe) => {
                pipe.write_line(body.to_string());
                pipe.take(|message| message["id"] == id && message.get("method").is_none())
            }
            ClientWire::Http { http, .. } => {
                let headers = self.headers(method, &params);
                let response = http.post(&borrow_headers(&headers), &body);
                response.answer(&json!(id), |message| self.received.push(message))
            }
            ClientWire::Sse { .. } => match self.post(&body.to_string()) {
                Some(refused) => refused,
                None => self.wait_for_answer(id),
            },
        }
    }

    /// Posts a message as a client of HTTP+SSE, and returns the error, where it is none.
    pub fn post(&self, body: &str) -> Option<Value> {
        let response = self.http_client().post_bytes(&[], body.as_bytes());
        match response.status {
            202 => None,
            400 => Some(response.json()),
            _ => panic!("{response:?}"),
        }
    }

    /// Sends a request without waiting.
    pub fn send(&self, method: &str, params: Value) -> i64 {
        let id = self.next_id();
        let params = self.params(params);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        match &self.wire {
            ClientWire::Sse { .. } => assert_eq!(self.post(&body.to_string()), None),
            ClientWire::Pipe(pipe) => pipe.write_line(body.to_string()),
            ClientWire::Http { http, .. } => {
                let socket = http.start_post(&borrow_headers(&self.headers(method, &params)), &body);
                self.open_sockets.lock().unwrap().insert(id, socket.try_clone().unwrap());
                let news = self.received.clone();
                // What is given up on the way has no answer.
                thread::spawn(move || {
                    HttpResponse::try_read(socket).map(|response| response.for_each_message(|said| news.push(said)))
                });
            }
        }
        id
    }

    /// Calls a tool without waiting.
    pub fn start_call(&self, name: &str, arguments: Value) -> i64 {
        self.send("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Sends requests with 16 of them under way at a time; the answers, in order.
    pub fn request_all(&self, requests: impl Iterator<Item = (&'static str, Value)>) -> Vec<Value> {
        let (mut waiting, mut answers) = (VecDeque::new(), Vec::new());
        for (method, params) in requests {
            waiting.push_back(self.send(method, params));
            if waiting.len() == 16 {
                answers.push(self.wait_for_answer(waiting.pop_front().unwrap()));
            }
        }
        answers.extend(waiting.into_iter().map(|id| self.wait_for_answer(id)));
        answers
    }

    /// No longer wants the answer to what was sent, in the way of the version and the wire.
    pub fn cancel(&self, id: i64) {
        match &self.wire {
            ClientWire::Http { session: None, .. } => {
                let socket = self.open_sockets.lock().unwrap().remove(&id).expect("such a request");
                socket.shutdown(Shutdown::Both).unwrap();
            }
            _ => self.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" })),
        }
    }

    /// Waits for a message for which `wanted` holds: a request of the server's, a notification, or an answer.
    pub fn take(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.received.take(TEST_TIMEOUT, wanted);
        found.unwrap_or_else(|| panic!("no such message came in {}; there are {:?}", self.version, self.received.all()))
    }

    /// Waits for a request of the server's.
    pub fn next_question(&self) -> Value {
        self.take(is_question)
    }

    /// Answers a request of the server's.
    pub fn answer_question(&self, question: &Value, result: &Value) {
        self.send_raw(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
    }

    /// Sends a message that has no answer, as it is.
    pub fn send_raw(&self, message: &Value) {
        match &self.wire {
            ClientWire::Pipe(pipe) => pipe.write_line(message.to_string()),
            ClientWire::Http { http, .. } => {
                let response = http.post(&borrow_headers(&self.headers("", &Value::Null)), message);
                assert_eq!(response.status, 202, "{response:?}");
            }
            ClientWire::Sse { .. } => assert_eq!(self.post(&message.to_string()), None),
        }
    }

    /// Sends a request, and answers what the client is asked on the way by its method and parameters: in place in a
    /// session, with the next request in 2026-07-28. Returns the last answer.
    pub fn request_with_answers(
        &self,
        method: &str,
        mut params: Value,
        mut answer: impl FnMut(&str, &Value) -> Value,
    ) -> Value {
        if self.is_sessionless() {
            loop {
                let said = self.request(method, params.clone());
                let result = &said["result"];
                if result["resultType"] != "input_required" {
                    return said;
                }
                let asked = result["inputRequests"].as_object().unwrap_or_else(|| panic!("{result}")).iter();
                let mut responses = json!({});
                for (key, request) in asked {
                    responses[key] = answer(request["method"].as_str().unwrap(), &request["params"]);
                }
                params["inputResponses"] = responses;
                params["requestState"] = result["requestState"].clone();
            }
        }
        let id = self.send(method, params);
        loop {
            let said = self.take(|said| is_question(said) || said["id"] == id && said.get("method").is_none());
            if !is_question(&said) {
                return said;
            }
            self.answer_question(&said, &answer(said["method"].as_str().unwrap(), &said["params"]));
        }
    }

    /// Calls a tool and answers on the way: its result.
    pub fn call_with_answers(&self, tool: &str, arguments: Value, answer: impl FnMut(&str, &Value) -> Value) -> Value {
        let said = self.request_with_answers("tools/call", json!({ "name": tool, "arguments": arguments }), answer);
        assert!(said.get("result").is_some(), "{tool} in {}: {said}", self.version);
        said["result"].clone()
    }

    /// What was notified so far by this method, and not waited for: its parameters.
    pub fn notified_params(&self, method: &str) -> Vec<Value> {
        let all = self.received.all();
        all.iter().filter(|message| message["method"] == method).map(|message| message["params"].clone()).collect()
    }

    /// Waits for the answer to what was sent.
    pub fn wait_for_answer(&self, id: i64) -> Value {
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        match &self.wire {
            ClientWire::Pipe(pipe) => pipe.take(is_answer),
            _ => self
                .received
                .take(TEST_TIMEOUT, is_answer)
                .unwrap_or_else(|| panic!("no answer to {id}: {:?}", self.received.all())),
        }
    }

    /// The next message that comes, whatever it is, on pipes and over HTTP+SSE.
    pub fn next_message(&self) -> Value {
        self.received.take(TEST_TIMEOUT, |_| true).expect("nothing comes")
    }

    /// Whether an answer to what was sent has come.
    pub fn has_answer(&self, id: i64) -> bool {
        self.received.all().iter().any(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Closes the stream of HTTP+SSE.
    pub fn close_stream(&self) {
        match &self.wire {
            ClientWire::Sse { stream, .. } => stream.close(),
            _ => panic!("there is no stream"),
        }
    }

    /// Waits until the server has closed the stream of HTTP+SSE.
    pub fn wait_for_stream_end(&self) -> bool {
        matches!(&self.wire, ClientWire::Sse { stream, .. } if stream.wait_for_end())
    }

    pub fn is_on_pipes(&self) -> bool {
        matches!(self.wire, ClientWire::Pipe(_))
    }

    pub fn pipe(&self) -> &StdioPipes {
        match &self.wire {
            ClientWire::Pipe(pipe) => pipe,
            _ => panic!("it speaks over HTTP"),
        }
    }

    pub fn http_client(&self) -> &HttpClient {
        match &self.wire {
            ClientWire::Http { http, .. } | ClientWire::Sse { http, .. } => http,
            ClientWire::Pipe(_) => panic!("it speaks over pipes"),
        }
    }

    /// The result of a request that must succeed.
    pub fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params);
        assert!(answer.get("result").is_some(), "{method} in {}: {answer}", self.version);
        answer["result"].clone()
    }

    /// The error of a request that must fail.
    pub fn error(&self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params);
        assert!(answer.get("error").is_some(), "{method} in {}: {answer}", self.version);
        answer["error"].clone()
    }

    /// The code of a request that must fail.
    pub fn error_code(&self, method: &str, params: Value) -> i64 {
        self.error(method, params)["code"].as_i64().unwrap()
    }

    pub fn notify(&self, method: &str, params: Value) {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": self.params(params) });
        match &self.wire {
            ClientWire::Pipe(pipe) => pipe.write_line(body.to_string()),
            ClientWire::Http { http, .. } => {
                let headers = self.headers(method, &Value::Null);
                let response = http.post(&borrow_headers(&headers), &body);
                assert_eq!(response.status, 202, "{response:?}");
            }
            ClientWire::Sse { .. } => assert_eq!(self.post(&body.to_string()), None),
        }
    }

    /// Calls a tool.
    pub fn call(&self, name: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// The text of what a tool answered.
    pub fn call_text(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_ne!(result["isError"], true, "{result}");
        text_of(&result["content"][0])
    }

    /// The text of a prompt of one message.
    pub fn get_text(&self, name: &str, arguments: Value) -> String {
        let result = self.result("prompts/get", json!({ "name": name, "arguments": arguments }));
        text_of(&result["messages"][0]["content"])
    }

    /// The text of a resource.
    pub fn read_text(&self, uri: &str) -> String {
        text_of(&self.result("resources/read", json!({ "uri": uri }))["contents"][0])
    }

    /// Every entry of a list, through all its pages.
    pub fn list(&self, of: &str) -> Vec<Value> {
        let (method, key) = match of {
            "resourceTemplates" => ("resources/templates/list".to_owned(), of),
            _ => (format!("{of}/list"), of),
        };
        let mut entries = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.result(&method, params);
            entries.extend(page[key].as_array().unwrap_or_else(|| panic!("{page}")).iter().cloned());
            let Some(cursor) = page["nextCursor"].as_str() else { return entries };
            params = json!({ "cursor": cursor });
        }
    }

    /// The names in a list.
    pub fn names(&self, of: &str) -> Vec<String> {
        self.list(of).iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Opens what a client has for word of changes: on pipes nothing, over HTTP the stream of a session.
    pub fn open_stream(&self) -> SseStream {
        let headers = self.headers("", &Value::Null);
        let mut headers = borrow_headers(&headers);
        headers.push(("Accept", "text/event-stream"));
        let response = self.http_client().send("GET", &headers, b"");
        assert_eq!(response.status, 200, "{response:?}");
        response.stream(self.received.clone())
    }

    /// Listens for changes as 2026-07-28 does, and waits for the acknowledgement.
    pub fn listen(&self, filter: Value) -> Subscription {
        assert!(self.is_sessionless());
        let id = self.next_id();
        let params = self.params(json!({ "notifications": filter }));
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params });
        let stream = match &self.wire {
            ClientWire::Pipe(pipe) => {
                pipe.write_line(body.to_string());
                None
            }
            ClientWire::Http { http, .. } => {
                let headers = self.headers("subscriptions/listen", &params);
                let response = http.post(&borrow_headers(&headers), &body);
                assert_eq!(response.status, 200, "{response:?}");
                Some(response.stream(self.received.clone()))
            }
            ClientWire::Sse { .. } => {
                assert_eq!(self.post(&body.to_string()), None);
                None
            }
        };
        let listening = Subscription { id, received: self.received.clone(), _stream: stream };
        listening.wait_for("notifications/subscriptions/acknowledged");
        listening
    }

    /// Waits for a notification that is not tagged for a stream.
    pub fn wait_for(&self, method: &str) -> Value {
        let found = self
            .received
            .take(TEST_TIMEOUT, |message| message["method"] == method && subscription_id(message).is_null());
        found.unwrap_or_else(|| panic!("no {method} came; there are {:?}", self.received.all()))
    }

    /// What was notified so far outside of streams, and not waited for.
    pub fn untagged_notifications(&self) -> Vec<String> {
        let all = self.received.all();
        let plain = all.iter().filter(|message| message.get("method").is_some() && subscription_id(message).is_null());
        plain.map(|message| message["method"].as_str().unwrap().to_owned()).collect()
    }

    /// Fails if a notification came before the answer to a round trip that begins now.
    pub fn assert_silent(&self) {
        self.round_trip();
        assert_eq!(self.untagged_notifications(), Vec::<String>::new());
    }

    /// Asks for something that every server answers.
    pub fn round_trip(&self) {
        if self.is_sessionless() {
            self.result("server/discover", Value::Null);
        } else {
            self.result("ping", Value::Null);
        }
    }
}

/// Whether a message is a request of the server's.
fn is_question(message: &Value) -> bool {
    message.get("method").is_some() && message.get("id").is_some()
}

/// Goes through `part` with a client of each version that has these capabilities, on each wire.
pub fn on_every_version_and_wire(folder: &TestFolder, capabilities: &Value, part: impl Fn(&TestClient)) {
    // So that each root counts.
    let web = folder.serve_command().env("FOLIO_WORKSPACE", "/").http();
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let pipes = folder.stdio();
        part(&pipes.client_with(version, capabilities.clone()));
        pipes.pipe().assert_only_messages();
        part(&web.client_with(version, capabilities.clone()));
    }
}

/// What each request of 2026-07-28 says about itself.
pub fn sessionless_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": SESSIONLESS_VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "suite", "version": "1" },
    })
}

/// The stream for which a message is.
pub fn subscription_id(message: &Value) -> Value {
    message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone()
}

/// The text of a result, which has no content where the text is empty.
pub fn all_text_of(result: &Value) -> String {
    result["content"].as_array().unwrap().first().map(text_of).unwrap_or_default()
}

pub fn text_of(content: &Value) -> String {
    content["text"].as_str().unwrap_or_else(|| panic!("no text: {content}")).to_owned()
}

fn borrow_headers(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// A `subscriptions/listen` that is open.
pub struct Subscription {
    pub id: i64,
    received: Arc<WaitQueue<Value>>,
    _stream: Option<SseStream>,
}

impl Subscription {
    fn is_for_this(&self, message: &Value) -> bool {
        subscription_id(message) == self.id
    }

    pub fn wait_for(&self, method: &str) -> Value {
        let found =
            self.received.take(TEST_TIMEOUT, |message| message["method"] == method && self.is_for_this(message));
        found.unwrap_or_else(|| panic!("no {method} came on the stream; there are {:?}", self.received.all()))
    }

    /// What came on the stream and was not waited for.
    pub fn notifications(&self) -> Vec<String> {
        let all = self.received.all();
        let mine = all.iter().filter(|message| message.get("method").is_some() && self.is_for_this(message));
        mine.map(|message| message["method"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for the result with which the server ends the stream.
    pub fn wait_for_result(&self) -> Value {
        let found =
            self.received.take(TEST_TIMEOUT, |message| message["id"] == self.id && message.get("result").is_some());
        found.unwrap_or_else(|| panic!("the stream did not end; there are {:?}", self.received.all()))
    }
}

/// A client of HTTP/1.1 that holds no connection open.
#[derive(Clone)]
pub struct HttpClient {
    pub port: u16,
    pub path: String,
    pub host: String,
    pub token: Option<String>,
}

impl HttpClient {
    pub fn new(port: u16) -> HttpClient {
        HttpClient { port, path: "/mcp".to_owned(), host: format!("127.0.0.1:{port}"), token: None }
    }

    /// Posts a message.
    pub fn post(&self, headers: &[(&str, &str)], body: &Value) -> HttpResponse {
        self.post_bytes(headers, body.to_string().as_bytes())
    }

    pub fn post_bytes(&self, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        let mut all = vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        all.extend_from_slice(headers);
        self.send("POST", &all, body)
    }

    pub fn send(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        HttpResponse::read(self.start_request(method, headers, body))
    }

    /// Posts a message without waiting for the response.
    pub fn start_post(&self, headers: &[(&str, &str)], body: &Value) -> TcpStream {
        let mut all = vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        all.extend_from_slice(headers);
        self.start_request("POST", &all, body.to_string().as_bytes())
    }

    fn start_request(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut head = format!("{method} {} HTTP/1.1\r\nConnection: close\r\n", self.path);
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {}\r\n", self.host);
        }
        if let Some(token) = &self.token {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has refused already reads no more; what it said is what matters.
        let _ = stream.write_all(body);
        stream
    }
}

/// A response of which the head is read.
pub struct HttpResponse {
    pub status: u16,
    headers: Vec<(String, String)>,
    body: ResponseBody,
}

impl std::fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.status, self.headers)
    }
}

impl HttpResponse {
    /// Reads the head of a response; the body is left on the wire until it is asked for.
    pub fn read(stream: TcpStream) -> HttpResponse {
        HttpResponse::try_read(stream).expect("a response with a status")
    }

    /// The same, where one comes.
    fn try_read(stream: TcpStream) -> Option<HttpResponse> {
        let mut reader = BufReader::new(stream);
        let status_line = read_line(&mut reader);
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok())?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(&mut reader);
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let find = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        let length = if find("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            BodyLength::Chunked(0)
        } else {
            BodyLength::Known(find("content-length").map_or(0, |length| length.parse().unwrap()))
        };
        Some(HttpResponse { status, headers, body: ResponseBody { reader, length } })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).unwrap();
        text
    }

    pub fn json(self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    /// The answer to a request, be it the body or an event on a stream; other events go to `also`.
    pub fn answer(self, id: &Value, mut also: impl FnMut(Value)) -> Value {
        if !self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let said = format!("{self:?}");
            let text = self.text();
            return serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {said} {text:?}"));
        }
        for message in SseMessages(BufReader::new(self.body)) {
            if message["id"] == *id && message.get("method").is_none() {
                return message;
            }
            also(message);
        }
        panic!("the stream ended without an answer to {id}");
    }

    /// Every message of the response, be it the body or events on a stream.
    fn for_each_message(self, mut take: impl FnMut(Value)) {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            SseMessages(BufReader::new(self.body)).for_each(take);
        } else if let Ok(message) = serde_json::from_str(&self.text()) {
            take(message);
        }
    }

    /// Reads an event as it is written.
    pub fn first_event(&mut self) -> String {
        let (mut text, mut byte) = (Vec::new(), [0]);
        while !text.ends_with(b"\n\n") {
            self.body.read_exact(&mut byte).unwrap();
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads the events of a stream in a thread of its own.
    pub fn stream(self, news: Arc<WaitQueue<Value>>) -> SseStream {
        let socket = self.body.reader.get_ref().try_clone().unwrap();
        socket.set_read_timeout(None).unwrap();
        let ended = Arc::new(WaitQueue::default());
        let over = ended.clone();
        let body = BufReader::new(self.body);
        thread::spawn(move || {
            for message in SseMessages(body) {
                news.push(message);
            }
            over.push(());
        });
        SseStream { socket, ended }
    }
}

/// A stream of events that somebody reads; closed when the test lets go of it.
pub struct SseStream {
    socket: TcpStream,
    ended: Arc<WaitQueue<()>>,
}

impl SseStream {
    /// Waits until the server has closed it.
    pub fn wait_for_end(&self) -> bool {
        self.ended.wait(TEST_TIMEOUT, |ended| ended.pop_front()).is_some()
    }

    /// Whether it is closed by now; not to be asked for after [`Stream::ended`].
    pub fn has_exited(&self) -> bool {
        !self.ended.all().is_empty()
    }
}

impl SseStream {
    pub fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Drop for SseStream {
    fn drop(&mut self) {
        self.close();
    }
}

struct ResponseBody {
    reader: BufReader<TcpStream>,
    length: BodyLength,
}

enum BodyLength {
    Known(usize),
    /// What is left of the chunk.
    Chunked(usize),
    Done,
}

impl Read for ResponseBody {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if let BodyLength::Chunked(0) = self.length {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.reader.read_line(&mut line)?;
            }
            let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            self.length = if size == 0 { BodyLength::Done } else { BodyLength::Chunked(size) };
        }
        let (BodyLength::Known(left) | BodyLength::Chunked(left)) = &mut self.length else { return Ok(0) };
        let most = into.len().min(*left);
        if most == 0 {
            return Ok(0);
        }
        let count = self.reader.read(&mut into[..most])?;
        *left -= count;
        Ok(count)
    }
}

fn read_line(reader: &mut impl BufRead) -> String {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).unwrap();
    String::from_utf8_lossy(&line).trim_end().to_owned()
}

/// The messages of a `text/event-stream`; events without one are passed over.
struct SseMessages<R>(R);

impl<R: BufRead> Iterator for SseMessages<R> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let mut data = String::new();
        loop {
            let mut line = String::new();
            if !matches!(self.0.read_line(&mut line), Ok(1..)) {
                return None;
            }
            let line = line.trim_end_matches(['\r', '\n']);
            if let Some(text) = line.strip_prefix("data:") {
                data.push_str(text.strip_prefix(' ').unwrap_or(text));
            } else if line.is_empty() && !data.is_empty() {
                return Some(
                    serde_json::from_str(&data).unwrap_or_else(|_| panic!("an event that is no JSON: {data:?}")),
                );
            }
        }
    }
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs `folio` to its end, in `folder`.
pub fn run_folio(folder: &Path, arguments: &[&str]) -> CommandOutput {
    run_folio_with_input(folder, arguments, b"")
}

/// The same with something to read on stdin.
pub fn run_folio_with_input(folder: &Path, arguments: &[&str], input: &[u8]) -> CommandOutput {
    let mut command = Command::new(FOLIO_BIN);
    command.args(arguments).current_dir(folder).env_remove("FOLIO_LOG").env_remove("NO_COLOR");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Fails if what takes this long takes a second or more: in the middle of three times, so that one hiccup of the machine
/// decides nothing.
pub fn assert_within_a_second(takes: impl FnMut(usize) -> Duration) {
    let mut took: Vec<Duration> = (0..3).map(takes).collect();
    took.sort();
    assert!(took[1] < Duration::from_secs(1), "{took:?}");
}

/// Waits until `holds` does.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come to be");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that have `marker` among their arguments.
#[cfg(not(target_os = "linux"))]
pub fn processes_with_argument(marker: &str) -> Vec<i32> {
    let listed = Command::new("ps").args(["-axo", "pid=,args="]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let having = listed.lines().filter(|line| line.split_whitespace().any(|word| word == marker));
    having.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// Processes that have `marker` among their arguments.
#[cfg(target_os = "linux")]
pub fn processes_with_argument(marker: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
        if words.contains(&marker.as_bytes()) {
            found.push(pid);
        }
    }
    found
}
