//! Sends one request to the server within the process, on the same path as a client's.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::server::LiveCatalog;

use super::stdio;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// The server refuses it.
    #[error("{message}")]
    Refused {
        /// The code that JSON-RPC or MCP has for it.
        code: i64,
        /// What was wrong.
        message: String,
        /// More of it.
        data: Option<Value>,
    },
    /// The server ended without an answer.
    #[error("no response from the server")]
    NoAnswer,
}

/// Asks one request, in the words of 2026-07-28, and returns its result as a client would get it. `params` is an
/// object. Dropping the future cancels the request.
pub async fn ask(live: &LiveCatalog, method: &str, params: Value) -> Result<Value, RequestError> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    let serving = {
        let live = live.clone();
        tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            stdio::serve_on(&live, reader, writer, stop).await;
        })
    };
    let (reader, mut writer) = tokio::io::split(near);
    let mut line = request(method, params).to_string();
    line.push('\n');
    writer.write_all(line.as_bytes()).await.map_err(|_| RequestError::NoAnswer)?;
    let mut lines = BufReader::new(reader).lines();
    let answer = loop {
        let line = lines.next_line().await.ok().flatten().ok_or(RequestError::NoAnswer)?;
        let message: Value = serde_json::from_str(&line).map_err(|_| RequestError::NoAnswer)?;
        if message.get("id").is_some() {
            break message;
        }
    };
    drop((writer, lines));
    let _ = serving.await;
    result(answer)
}

fn request(method: &str, mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(params) = params.as_object_mut() {
        params.insert("_meta".to_owned(), meta);
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn result(mut answer: Value) -> Result<Value, RequestError> {
    let Some(error) = answer.get("error") else {
        return Ok(answer.get_mut("result").map(Value::take).unwrap_or_default());
    };
    Err(RequestError::Refused {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.get("data").cloned(),
    })
}
