//! The built program over stdio, as the benches drive it.
#![allow(dead_code, reason = "no bench does all of this")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
    next_id: u64,
}

impl Server {
    /// Serves a manifest from a folder of its own.
    pub fn start(manifest: impl FnOnce(&Path) -> Value) -> Server {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("folio.yaml"), manifest(folder.path()).to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_folio"))
            .arg("serve")
            .arg(folder.path())
            .env("FOLIO_LOG", "error")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Server { child, stdin, stdout, _folder: folder, next_id: 1 };
        server.request(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
            }),
        );
        server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn write(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// The result of a request.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server has ended");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].take();
            }
        }
    }

    /// Waits for a notification.
    pub fn wait_for(&mut self, method: &str) {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == method {
                return;
            }
        }
    }

    pub fn ping(&mut self) {
        self.request("ping", json!({}));
    }

    pub fn call(&mut self, tool: &str) {
        let result = self.request("tools/call", json!({ "name": tool, "arguments": {} }));
        assert!(result["isError"] == false, "{tool}: {result}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}
