//! Tests of the module over pipes and sockets.

mod http;
mod lines;
mod parse_memory;
mod pipe;
mod reload;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::server::SharedServer;

use super::stdio;

/// Nothing here takes as long; only a error does.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A client at the other end of a pipe.
struct PipeClient {
    writer: Option<WriteHalf<DuplexStream>>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    next: i64,
}

impl PipeClient {
    fn new(shared_server: &SharedServer) -> PipeClient {
        PipeClient::with_buffer(shared_server, 1 << 20)
    }

    fn with_buffer(shared_server: &SharedServer, room: usize) -> PipeClient {
        let (near, far) = tokio::io::duplex(room);
        let (stop, shared_server) = (CancellationToken::new(), shared_server.clone());
        let serving = tokio::spawn({
            let stop = stop.clone();
            async move {
                let (reader, writer) = tokio::io::split(far);
                stdio::serve_on(&shared_server, reader, writer, stop).await;
            }
        });
        let (reader, writer) = tokio::io::split(near);
        PipeClient { writer: Some(writer), lines: BufReader::new(reader).lines(), stop, serving, next: 1 }
    }

    /// A client whose session has begun, in the version given.
    async fn session(shared_server: &SharedServer, version: &str) -> PipeClient {
        let mut client = PipeClient::new(shared_server);
        client.initialize(version).await;
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    async fn initialize(&mut self, version: &str) -> Value {
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        self.ask("initialize", params).await["result"].take()
    }

    async fn send_line(&mut self, text: impl AsRef<[u8]>) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(text.as_ref()).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
    }

    async fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send_line(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await;
        id
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send_line(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(TEST_TIMEOUT, self.lines.next_line()).await.expect("nothing comes");
        serde_json::from_str(&line.unwrap().expect("the pipe has ended")).unwrap()
    }

    /// Asks, and expects the very next message to be the answer.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Asks in the words of 2026-07-28.
    async fn ask_sessionless(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, sessionless_params(params)).await
    }

    /// Ends the input, and returns what is still said.
    async fn end(mut self) -> Vec<Value> {
        self.writer.take().unwrap().shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = tokio::time::timeout(TEST_TIMEOUT, self.lines.next_line()).await.unwrap().unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        tokio::time::timeout(TEST_TIMEOUT, self.serving).await.unwrap().unwrap();
        rest
    }
}

fn sessionless_params(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

fn error_code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}
