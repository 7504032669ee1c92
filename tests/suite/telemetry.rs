//! `telemetry: otlp`: what a collector of OpenTelemetry gets, and what programs and other servers get of a trace.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use prost::Message;
use serde_json::{Value, json};

use crate::harness::*;
use crate::tls::{Authority, start_server};
use crate::upstream_server::{RecordedRequest, Reply, Upstream};

const SECRET: &str = "sesame-open-4711";
/// A secret of the collector, which folio does not know to be one.
const COLLECTOR_KEY: &str = "collector-key-8264";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// The numbers of kinds in the protocol.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

/// How long a server that has nothing to wait for may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector of spans.
struct Collector(Upstream);

impl Collector {
    fn start() -> Collector {
        Collector(Upstream::start(|_, _| Reply::with_headers(200, &[("Content-Type", "application/x-protobuf")], "")))
    }

    /// A server that sends its spans here, soon.
    fn serve(&self, folder: &TestFolder) -> ServeCommand {
        let command = folder.serve_command().env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.0.url());
        command.env("OTEL_BSP_SCHEDULE_DELAY", "20")
    }

    fn batches(&self) -> Vec<ExportTraceServiceRequest> {
        let decode = |request: &RecordedRequest| ExportTraceServiceRequest::decode(&*request.bytes).unwrap();
        self.0.requests().iter().map(decode).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let resources = self.batches().into_iter().flat_map(|batch| batch.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).map(Span::new).collect()
    }

    /// Waits for a span with a name.
    fn span(&self, name: &str) -> Span {
        self.find(name, |span| span.name == name)
    }

    fn find(&self, what: &str, wanted: impl Fn(&Span) -> bool) -> Span {
        let mut found = None;
        wait_until(what, || {
            found = self.spans().into_iter().find(&wanted);
            found.is_some()
        });
        found.unwrap()
    }
}

/// A span, with its ids and values as text.
#[derive(Debug, Clone)]
struct Span {
    name: String,
    kind: i32,
    trace: String,
    id: String,
    parent: String,
    attributes: BTreeMap<String, String>,
    is_error: bool,
    state: String,
    links: Vec<(String, String)>,
}

impl Span {
    fn new(span: opentelemetry_proto::tonic::trace::v1::Span) -> Span {
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        let status = span.status.unwrap_or_default();
        assert_eq!(status.message, "");
        Span {
            name: span.name,
            kind: span.kind,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            attributes: attributes(span.attributes),
            is_error: status.code == 2,
            state: span.trace_state,
            links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        }
    }

    fn get(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }

    fn assert_attributes(&self, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        assert_eq!(self.attributes, expected.collect(), "{}", self.name);
    }

    fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.id)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(list: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: KeyValue| match value.value.unwrap().value.unwrap() {
        AnyValue::StringValue(text) => text,
        AnyValue::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    list.into_iter().map(|value| (value.key.clone(), text(value))).collect()
}

/// A server with entries of each kind, which asks an upstream server.
fn manifest(upstream: &str) -> String {
    format!(
        r#"folio: 1
server: {{ name: traced }}
telemetry: otlp
env: {{ KEY: {{ secret: true }} }}
prompts: {{ greet: {{ text: Hello. }} }}
resources: {{ policy: {{ uri: "docs://policy-4711", text: Be kind. }} }}
tools:
  say: {{ description: T, arguments: {{ word: {{}} }}, result: {{ text: "said {{{{word}}}}" }} }}
  fail: {{ description: T, run: {{ exec: ["false"] }} }}
  slow: {{ description: T, run: {{ exec: [sleep, "61.8214"] }} }}
  own: {{ description: T, run: {{ exec: [printenv, TRACEPARENT], env: {{ TRACEPARENT: mine }} }} }}
  chosen: {{ description: T, arguments: {{ url: {{}} }}, run: {{ http: {{ url: "{{{{url}}}}", allow: ["127.0.0.1"] }} }} }}
  secret-program: {{ description: T, run: {{ exec: ["{{{{env.KEY}}}}"] }} }}
  unreachable: {{ description: T, run: {{ http: {{ url: "http://127.0.0.1:1/x" }} }} }}
  missing: {{ description: T, run: {{ http: {{ url: "{upstream}/missing" }} }} }}
  moved: {{ description: T, run: {{ http: {{ url: "{upstream}/moved" }} }} }}
  many:
    description: T
    arguments: {{ word: {{}} }}
    run:
      - id: first
        http: {{ url: "{upstream}/ask-4711", query: {{ q: "{{{{word}}}}" }}, headers: {{ x-key: "{{{{env.KEY}}}}" }} }}
      - exec: [sh, -c, 'printf %s "$TRACEPARENT $TRACESTATE"; : "$1"', sh, "{{{{word}}}}"]
        sandbox: {{ write: [] }}
"#
    )
}

fn upstream() -> Upstream {
    Upstream::start(|request, _| match request.target.as_str() {
        "/missing" => Reply::json(404, &json!({})),
        "/moved" => Reply::with_headers(302, &[("Location", "/here")], ""),
        _ => Reply::json(200, &json!({ "ok": true })),
    })
}

/// The parameters of a call within a trace.
fn traced_call(name: &str, arguments: Value, flags: &str) -> Value {
    let meta = json!({ "traceparent": format!("00-{TRACE}-{PARENT}-{flags}") });
    json!({ "name": name, "arguments": arguments, "_meta": meta })
}

#[test]
fn request_is_a_span_within_its_trace() {
    let (collector, upstream) = (Collector::start(), upstream());
    let folder = TestFolder::with_manifest(&manifest(&upstream.url()));
    let server = collector.serve(&folder).env("KEY", SECRET).http();
    let client = server.session("2025-11-25");
    client.request("tools/call", traced_call("say", json!({ "word": "hi" }), "01"));
    let span = collector.span("tools/call say");
    assert_eq!((span.kind, &*span.trace, &*span.parent), (SERVER, TRACE, PARENT));
    let id = span.get("jsonrpc.request.id").to_owned();
    assert!(id.parse::<i64>().is_ok(), "{id}");
    let common =
        [("mcp.protocol.version", "2025-11-25"), ("mcp.session.id", client.session_id()), ("network.transport", "tcp")];
    let tool = [("mcp.method.name", "tools/call"), ("gen_ai.operation.name", "execute_tool")];
    let expected = [&common[..], &tool, &[("gen_ai.tool.name", "say"), ("jsonrpc.request.id", &id)]].concat();
    span.assert_attributes(&expected);
    assert!(!span.is_error);

    client.get_text("greet", json!({}));
    let span = collector.span("prompts/get greet");
    assert_eq!((span.kind, &*span.parent, span.get("gen_ai.prompt.name")), (SERVER, "", "greet"));
    assert_eq!(span.get("gen_ai.operation.name"), "");

    client.call("fail", json!({}));
    let span = collector.span("tools/call fail");
    assert_eq!((span.get("error.type"), span.is_error), ("tool_error", true));
    assert_eq!(span.get("rpc.response.status_code"), "");

    // Names that clients make up are not for those who count names.
    client.request("tools/call", json!({ "name": "made-up-4711", "arguments": {} }));
    let span = collector.span("tools/call");
    let codes = (span.get("error.type"), span.get("rpc.response.status_code"), span.get("gen_ai.tool.name"));
    assert_eq!((codes, span.is_error), (("-32602", "-32602", ""), true));
    client.read_text("docs://policy-4711");
    collector.span("resources/read");
    client.request("made/up-4711", json!({}));
    assert_eq!(collector.span("_OTHER").get("mcp.method.name"), "_OTHER");

    let call = client.start_call("slow", json!({}));
    wait_until("the program", || !processes_with_argument("61.8214").is_empty());
    client.cancel(call);
    assert_eq!(collector.span("tools/call slow").get("error.type"), "cancelled");
    assert_eq!(collector.span("sleep").get("error.type"), "cancelled");

    let text = collector.0.requests().iter().map(|request| request.body.clone()).collect::<String>();
    assert!(!text.contains("4711"), "{text}");
    assert!(collector.0.targets().iter().all(|target| target == "POST /v1/traces"));
    assert_eq!(server.log.lines().iter().filter(|line| line.contains("telemetry")).count(), 0);
}

#[test]
fn steps_programs_and_requests_are_spans_within_it() {
    let (collector, upstream) = (Collector::start(), upstream());
    let folder = TestFolder::with_manifest(&manifest(&upstream.url()));
    let server = collector.serve(&folder).env("KEY", SECRET).http();
    let client = server.sessionless();
    let result = client.call("many", json!({ "word": "argument-4711" }));
    let request = collector.span("tools/call many");
    let [ask, second] = ["step first", "step 2"].map(|name| collector.span(name));
    for step in [&ask, &second] {
        assert_eq!((step.kind, &step.trace, &step.parent), (INTERNAL, &request.trace, &request.id));
        step.assert_attributes(&[]);
    }
    let port = upstream.url().rsplit(':').next().unwrap().to_owned();
    let http = collector.span("GET");
    assert_eq!((http.kind, &http.trace, &http.parent), (CLIENT, &request.trace, &ask.id));
    let address = [("server.address", "127.0.0.1"), ("server.port", &*port)];
    let method = [("http.request.method", "GET"), ("http.response.status_code", "200")];
    http.assert_attributes(&[&address[..], &method].concat());
    let program = collector.span("sh");
    assert_eq!((program.kind, &program.trace, &program.parent), (CLIENT, &request.trace, &second.id));
    program.assert_attributes(&[("process.executable.name", "sh"), ("process.exit.code", "0")]);

    // Each is told of its own span.
    assert_eq!(upstream.requests()[0].header("traceparent"), Some(&*http.traceparent()));
    assert_eq!(all_text_of(&result), format!("{} ", program.traceparent()));
    assert_eq!(client.call_text("own", json!({})).trim(), "mine");

    let text = collector.0.requests().iter().map(|request| request.body.clone()).collect::<String>();
    for hidden in ["4711", "ask-", "argument"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

#[test]
fn spans_say_how_programs_and_requests_failed() {
    let (collector, upstream) = (Collector::start(), upstream());
    let folder = TestFolder::with_manifest(&manifest(&upstream.url()));
    let server = collector.serve(&folder).env("KEY", SECRET).stdio();
    let client = server.sessionless();
    for (tool, error) in [("fail", "1"), ("unreachable", "connect"), ("missing", "404")] {
        client.call(tool, json!({}));
        let request = collector.span(&format!("tools/call {tool}"));
        let inner = collector.find(tool, |span| span.parent == request.id);
        assert_eq!((inner.get("error.type"), inner.is_error, inner.kind), (error, true, CLIENT), "{tool}");
    }
    // Each request that a redirect makes has a span, and is told of that.
    client.call("moved", json!({}));
    let request = collector.span("tools/call moved");
    let hops: Vec<Span> = collector.spans().into_iter().filter(|span| span.parent == request.id).collect();
    let statuses: Vec<&str> = hops.iter().map(|hop| hop.get("http.response.status_code")).collect();
    assert_eq!(statuses, ["302", "200"]);
    let told = upstream
        .requests()
        .iter()
        .rev()
        .take(2)
        .rev()
        .map(|request| request.header("traceparent").unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(told, hops.iter().map(Span::traceparent).collect::<Vec<_>>());
    // What an argument names is not in a span.
    client.call("chosen", json!({ "url": format!("{}/chosen", upstream.url()) }));
    let request = collector.span("tools/call chosen");
    let inner = collector.find("the request", |span| span.parent == request.id);
    inner.assert_attributes(&[("http.request.method", "GET"), ("http.response.status_code", "200")]);
    client.call("secret-program", json!({}));
    let request = collector.span("tools/call secret-program");
    let inner = collector.find("the program", |span| span.parent == request.id);
    assert_eq!((&*inner.name, inner.get("error.type")), ("_OTHER", "program_not_found"));
}

/// The trace of the message is the parent, and that of HTTP is a link; where there is only that, it is the parent.
#[test]
fn header_of_http_is_a_link_or_the_parent() {
    let collector = Collector::start();
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    let server = collector.serve(&folder).env("KEY", SECRET).http();
    let (other, other_parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let header = format!("00-{other}-{other_parent}-01");
    let send = |session: Option<&str>, id: i64, mut params: Value| {
        let mut headers = vec![("traceparent", header.as_str())];
        match session {
            Some(session) => headers.push(("Mcp-Session-Id", session)),
            None => {
                let meta = sessionless_meta();
                let traceparent = params["_meta"]["traceparent"].clone();
                params["_meta"] = meta;
                if traceparent.is_string() {
                    params["_meta"]["traceparent"] = traceparent;
                }
                headers.push(("MCP-Protocol-Version", SESSIONLESS_VERSION));
                headers.push(("Mcp-Method", "tools/call"));
                headers.push(("Mcp-Name", "say"));
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        assert_eq!(server.http_client().post(&headers, &message).status, 200);
        collector.find("the span", |span| span.get("jsonrpc.request.id") == id.to_string())
    };
    let client = server.session("2025-11-25");
    for (session, id) in [(Some(client.session_id()), 701), (None, 711)] {
        let span = send(session, id, traced_call("say", json!({ "word": "a" }), "01"));
        let link = (other.to_owned(), other_parent.to_owned());
        assert_eq!((&*span.trace, &*span.parent, span.links), (TRACE, PARENT, vec![link]));
        let span = send(session, id + 1, json!({ "name": "say", "arguments": { "word": "a" } }));
        assert_eq!((&*span.trace, &*span.parent, span.links), (other, other_parent, Vec::new()));
    }
}

#[test]
fn unsampled_trace_passes_through() {
    let collector = Collector::start();
    let folder = TestFolder::with_manifest(&format!(
        "{}  env: {{ description: T, run: {{ exec: [sh, -c, 'printf %s \"$TRACEPARENT\"'] }} }}\n",
        manifest("http://127.0.0.1:1")
    ));
    let printed = |client: &TestClient, flags: &str| {
        all_text_of(&client.result("tools/call", traced_call("env", json!({}), flags)))
    };
    let server = collector.serve(&folder).env("KEY", SECRET).stdio();
    let client = server.session("2025-11-25");
    let unsampled = printed(&client, "00");
    assert!(unsampled.starts_with(&format!("00-{TRACE}-")) && unsampled.ends_with("-00"), "{unsampled}");
    assert!(!unsampled.contains(PARENT), "{unsampled}");
    let sampled = printed(&client, "01");
    assert!(sampled.starts_with(&format!("00-{TRACE}-")) && sampled.ends_with("-01"), "{sampled}");
    collector.span("sh");
    assert_eq!(collector.spans().iter().filter(|span| span.trace == TRACE).count(), 2);

    // Without a parent the sampler decides, and parents go before it.
    let quiet = Collector::start();
    let command = quiet.serve(&folder).env("KEY", SECRET).env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
    let server = command.env("OTEL_TRACES_SAMPLER_ARG", "0").stdio();
    let client = server.session("2025-11-25");
    assert!(client.call_text("env", json!({})).ends_with("-00"));
    assert!(printed(&client, "01").ends_with("-01"));
    quiet.span("tools/call env");
    quiet.span("sh");
    assert_eq!(quiet.spans().len(), 2);
}

#[test]
fn tracestate_is_passed_on_where_the_manifest_says_so() {
    for (key, state) in [("[]", ""), ("[tracestate]", "rojo=1,congo=2")] {
        let collector = Collector::start();
        let manifest = manifest("http://127.0.0.1:1").replace("name: traced", &format!("name: traced, trace: {key}"));
        let folder = TestFolder::with_manifest(&format!(
            "{manifest}  env: {{ description: T, run: {{ exec: [sh, -c, 'printf %s \"$TRACESTATE\"'] }} }}\n"
        ));
        let server = collector.serve(&folder).env("KEY", SECRET).stdio();
        let mut params = traced_call("env", json!({}), "01");
        params["_meta"]["tracestate"] = json!("rojo=1,congo=2");
        let printed = all_text_of(&server.session("2025-11-25").result("tools/call", params));
        assert_eq!((printed.as_str(), collector.span("tools/call env").state.as_str()), (state, state), "{key}");
    }
}

/// Steps that run once the request has ended are still within its trace.
#[test]
fn task_goes_on_within_the_trace_of_its_request() {
    let collector = Collector::start();
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntelemetry: otlp\ntools:\n  t: { description: T, task: required, run: { exec: [printenv, TRACEPARENT] } }\n",
    );
    let server = collector.serve(&folder).stdio();
    let pipe = server.pipe();
    let mut params = json!({ "name": "t", "_meta": sessionless_meta() });
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = tasks;
    pipe.write_line(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string());
    pipe.take(|message| message["id"] == 1);
    let (request, program) = (collector.span("tools/call t"), collector.span("printenv"));
    assert_eq!((&program.trace, &program.parent), (&request.trace, &request.id));
}

#[test]
fn variables_count_only_with_the_key() {
    let (collector, upstream) = (Collector::start(), upstream());
    let without = manifest(&upstream.url()).replace("telemetry: otlp\n", "");
    let folder = TestFolder::with_manifest(&without);
    let server = collector.serve(&folder).env("KEY", SECRET).env("OTEL_EXPORTER_OTLP_COMPRESSION", "brotli").stdio();
    let client = server.session("2025-11-25");
    assert_eq!(all_text_of(&client.call("many", json!({ "word": "a" }))), "");
    assert_eq!(upstream.requests()[0].header("traceparent"), None);
    server.pipe().close();
    assert!(server.wait_for_exit(END_TIMEOUT).is_some());
    assert!(!server.log.text().contains("telemetry"), "{}", server.log.text());

    // Nor with the key where a variable says so, or for one call from the command line.
    let folder = TestFolder::with_manifest(&manifest(&upstream.url()));
    let server = collector.serve(&folder).env("KEY", SECRET).env("OTEL_SDK_DISABLED", "true").stdio();
    let client = server.session("2025-11-25");
    assert_eq!(all_text_of(&client.call("many", json!({ "word": "a" }))), "");
    server.pipe().close();
    assert!(server.wait_for_exit(END_TIMEOUT).is_some());
    let called = std::process::Command::new(FOLIO_BIN)
        .args(["call", "say", "word=a"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.0.url())
        .env("KEY", SECRET)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(called.status.success(), "{called:?}");
    assert_eq!(collector.0.targets(), Vec::<String>::new());
}

#[test]
fn variables_say_where_and_as_what_spans_are_sent() {
    let collector = Collector::start();
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    let resource = |variables: &[(&str, &str)]| {
        let before = collector.0.requests().len();
        let mut command = collector.serve(&folder).env("KEY", SECRET);
        for (name, value) in variables {
            command = command.env(name, value);
        }
        let server = command.stdio();
        server.session("2025-11-25").call("say", json!({ "word": "a" }));
        wait_until("a batch", || collector.0.requests().len() > before);
        let batch = ExportTraceServiceRequest::decode(&*collector.0.requests()[before].bytes).unwrap();
        let scope = batch.resource_spans[0].scope_spans[0].scope.clone().unwrap();
        assert_eq!((&*scope.name, &*scope.version), ("folio", env!("CARGO_PKG_VERSION")));
        attributes(batch.resource_spans[0].resource.clone().unwrap().attributes)
    };
    assert_eq!(resource(&[])["service.name"], "traced");
    let given = resource(&[("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")]);
    assert_eq!((&*given["service.name"], &*given["deployment.environment.name"]), ("traced", "test"));
    assert_eq!(resource(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine")])["service.name"], "mine");
    assert_eq!(resource(&[("OTEL_SERVICE_NAME", "other")])["service.name"], "other");

    let (elsewhere, key) = (Collector::start(), "api-key-4711");
    let command = collector.serve(&folder).env("KEY", SECRET);
    let command = command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/at/it", elsewhere.0.url()));
    let command = command.env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
    let server = command.env("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-api-key={key}")).stdio();
    server.session("2025-11-25").call("say", json!({ "word": "a" }));
    wait_until("a batch", || !elsewhere.0.requests().is_empty());
    let sent = elsewhere.0.requests()[0].clone();
    assert_eq!(sent.header("content-encoding"), Some("gzip"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*sent.bytes).read_to_end(&mut bytes).unwrap();
    assert_eq!(ExportTraceServiceRequest::decode(&*bytes).unwrap().resource_spans.len(), 1);
    assert_eq!(elsewhere.0.targets()[0], "POST /at/it");
    assert_eq!(sent.header("x-api-key"), Some(key));
}

/// The trace in the audit file is that of the span, also where none came.
#[test]
fn audit_names_the_trace_of_the_span() {
    let collector = Collector::start();
    let manifest =
        manifest("http://127.0.0.1:1").replace("telemetry: otlp", "telemetry: otlp\naudit: { file: a.jsonl }");
    let folder = TestFolder::with_manifest(&manifest);
    let server = collector.serve(&folder).env("KEY", SECRET).http();
    let client = server.session("2025-11-25");
    client.call("say", json!({ "word": "a" }));
    client.request("tools/call", traced_call("fail", json!({}), "01"));
    for tool in ["say", "fail"] {
        let span = collector.span(&format!("tools/call {tool}"));
        let mut trace = Value::Null;
        wait_until("the line", || {
            let text = std::fs::read_to_string(folder.join("a.jsonl")).unwrap_or_default();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let line = lines.into_iter().find(|line| line["entry"] == tool);
            trace = line.map(|line| line["trace"].clone()).unwrap_or_default();
            !trace.is_null()
        });
        assert_eq!(trace, span.trace, "{tool}");
    }
    assert_eq!(collector.span("tools/call fail").trace, TRACE);
}

/// On pipes stdout stays the wire, and what is left is sent at the end.
#[test]
fn server_on_pipes_sends_the_last_spans_when_it_ends() {
    let collector = Collector::start();
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    for dev in [false, true] {
        let command = if dev { ServeCommand::dev(folder.path()) } else { folder.serve_command() };
        let command = command.env("KEY", SECRET).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.0.url());
        // Nothing is sent before the end.
        let server = command.env("OTEL_BSP_SCHEDULE_DELAY", "600000").stdio();
        let client = server.session("2025-11-25");
        client.call("say", json!({ "word": "a" }));
        assert_eq!(collector.0.requests().len(), usize::from(dev));
        server.pipe().close();
        assert!(server.wait_for_exit(END_TIMEOUT).is_some());
        assert_eq!(collector.0.requests().len(), 1 + usize::from(dev));
        server.pipe().assert_only_messages();
    }
    assert_eq!(collector.span("tools/call say").get("network.transport"), "pipe");
}

#[test]
fn collector_that_is_away_is_said_once() {
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    // Nobody listens, and nobody answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://user:{COLLECTOR_KEY}@{}", silent.local_addr().unwrap());
    for endpoint in [&format!("http://user:{COLLECTOR_KEY}@127.0.0.1:1"), &silent] {
        let command = folder.serve_command().env("KEY", SECRET).env("OTEL_BSP_SCHEDULE_DELAY", "20");
        let command = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_EXPORTER_OTLP_TIMEOUT", "300");
        let server = command.env("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-api-key={COLLECTOR_KEY}")).http();
        let client = server.session("2025-11-25");
        let call = || client.call("say", json!({ "word": "a" }));
        call();
        server.log.wait_for_line(0, |line| line.contains("folio::telemetry") || line.contains("spans are lost"));
        // As many batches as there can be in the time of some requests.
        for _ in 0..50 {
            call();
        }
        server.signal("TERM");
        assert!(server.wait_for_exit(END_TIMEOUT).is_some());
        let text = server.log.text();
        assert_eq!(text.matches("spans are lost").count(), 1, "{text}");
        assert!(!text.contains(COLLECTOR_KEY) && !text.contains("panicked"), "{text}");
    }
}

#[test]
fn variables_that_cannot_be_read_are_said_without_their_values() {
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    let command = folder.serve_command().env("KEY", SECRET);
    let server = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("ht tp://{COLLECTOR_KEY}")).stdio();
    assert_eq!(server.session("2025-11-25").get_text("greet", json!({})), "Hello.");
    server.log.wait_for_line(0, |line| line.contains("no spans are sent: invalid value of a variable"));
    assert!(!server.log.text().contains(COLLECTOR_KEY), "{}", server.log.text());
}

/// The authorities are those of the system.
#[test]
fn collector_may_speak_tls() {
    let authority = Authority::new();
    let config = authority.issue("localhost").server_config(None);
    let reply = "HTTP/1.1 418 -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let address = start_server(config, reply.to_owned());
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    folder.write("ca.pem", &authority.pem);
    let other = Authority::new();
    folder.write("other.pem", &other.pem);
    for (file, error) in [("ca.pem", "status code: 418"), ("other.pem", "network error")] {
        let command = folder.serve_command().env("KEY", SECRET).env("OTEL_BSP_SCHEDULE_DELAY", "20");
        let command = command.env("SSL_CERT_FILE", folder.join(file).to_str().unwrap()).env("SSL_CERT_DIR", "");
        let endpoint = format!("https://localhost:{}", address.port());
        let server = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).stdio();
        server.session("2025-11-25").call("say", json!({ "word": "a" }));
        let line = server.log.wait_for_line(0, |line| line.contains("spans are lost"));
        assert!(line.contains(error), "{line}");
    }
}

#[test]
fn change_of_the_key_needs_a_restart() {
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:1"));
    let server = Collector::start().serve(&folder).env("KEY", SECRET).stdio();
    server.session("2025-11-25").round_trip();
    let mark = server.log.line_count();
    folder.rename_over("folio.yaml", manifest("http://127.0.0.1:1").replace("telemetry: otlp\n", ""));
    let warning = server.log.wait_for_line(mark, |line| line.contains("requires a restart"));
    assert!(warning.contains("change of `telemetry` requires a restart"), "{warning}");
    folder.write("folio.yaml", "folio: 1\nserver: { name: s }\ntelemetry: zipkin\n");
    let checked = run_folio(folder.path(), &["check"]);
    assert!(checked.code == Some(1) && checked.out.contains("folio.yaml:3:12"), "{checked:?}");
}
