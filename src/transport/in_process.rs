//! Sends one request to the server within the process, on the same path as a client's, and answers its questions.

use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::server::SharedServer;
use crate::spec_version::SpecVersion;

use super::stdio;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InProcessError {
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
    /// The client has no answer to a question of the server.
    #[error("{0}")]
    Unanswered(String),
}

impl InProcessError {
    /// Whether the client lacks a capability that the request needs.
    pub fn lacks_capability(&self) -> bool {
        let lacking = i64::from(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0);
        matches!(self, InProcessError::Refused { code, .. } if *code == lacking)
    }
}

/// A question of the server.
#[derive(Debug, Clone, Copy)]
pub struct ServerQuestion<'a> {
    /// Its key, which the newest version alone tells.
    pub key: Option<&'a str>,
    /// Its method, such as `elicitation/create`.
    pub method: &'a str,
    /// Its parameters.
    pub params: &'a Value,
}

/// Answers the questions of the server with results of their methods, or says why it cannot.
pub type AnswerQuestion<'a> = dyn Fn(&ServerQuestion<'_>) -> Result<Value, String> + Send + Sync + 'a;

/// A client of one version.
pub struct InProcessClient<'a> {
    /// The version that it speaks.
    pub version: SpecVersion,
    pub capabilities: Value,
    /// Answers questions.
    pub answer: &'a AnswerQuestion<'a>,
    /// Is shown the progress of a request that stands for itself, if it is wanted.
    pub progress: Option<&'a ShowProgress<'a>>,
}

/// Shows progress: the parameters of `notifications/progress`.
pub type ShowProgress<'a> = dyn Fn(&Value) + Send + Sync + 'a;

impl InProcessClient<'_> {
    /// A client of the newest version, which is asked nothing.
    pub fn without_answers() -> InProcessClient<'static> {
        InProcessClient {
            version: SpecVersion::NEWEST,
            capabilities: json!({}),
            answer: &|_| Err(String::new()),
            progress: None,
        }
    }

    fn receive_notification(&self, message: &Value) {
        let is_progress = message.get("method").is_some_and(|method| method == "notifications/progress");
        if let (true, Some(show), Some(params)) = (is_progress, self.progress, message.get("params")) {
            show(params);
        }
    }
}

/// Asks one request as `client`, and returns its result as a client would get it. `params` is an object. Dropping the
/// future cancels the request.
pub async fn ask(
    client: &InProcessClient<'_>,
    shared_server: &SharedServer,
    method: &str,
    mut params: Value,
) -> Result<Value, InProcessError> {
    if !client.version.is_sessionless() {
        return InProcessConnection::open(shared_server).ask_in_session(client, method, params).await;
    }
    for _ in 0..MAX_ROUNDS {
        let result = InProcessConnection::open(shared_server).request(client, method, params.clone()).await?;
        let Some(questions) = result.get("inputRequests").and_then(Value::as_object) else { return Ok(result) };
        let Some(params) = params.as_object_mut() else { return Ok(result) };
        params.insert("inputResponses".to_owned(), answer_round(client, questions)?);
        params.insert("requestState".to_owned(), result.get("requestState").cloned().unwrap_or_default());
    }
    Err(InProcessError::Unanswered(format!("the server asked more than {MAX_ROUNDS} times")))
}

/// How often a call may ask.
const MAX_ROUNDS: usize = 50;

/// The answers of one round, by key.
fn answer_round(client: &InProcessClient<'_>, questions: &Map<String, Value>) -> Result<Value, InProcessError> {
    let mut answers = Map::new();
    for (key, request) in questions {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = request.get("params").unwrap_or(&Value::Null);
        let answer = (client.answer)(&ServerQuestion { key: Some(key), method, params });
        answers.insert(key.clone(), answer.map_err(InProcessError::Unanswered)?);
    }
    Ok(Value::Object(answers))
}

/// A connection to the server.
struct InProcessConnection {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server_task: tokio::task::JoinHandle<()>,
    _stop: DropGuard,
}

impl InProcessConnection {
    fn open(shared_server: &SharedServer) -> InProcessConnection {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let stop = CancellationToken::new();
        let guard = stop.clone().drop_guard();
        let shared_server = shared_server.clone();
        let server_task = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            stdio::serve_on(&shared_server, reader, writer, stop).await;
        });
        let (reader, writer) = tokio::io::split(near);
        InProcessConnection { writer, lines: BufReader::new(reader).lines(), server_task, _stop: guard }
    }

    /// Sends a request that stands for itself.
    async fn request(
        mut self,
        client: &InProcessClient<'_>,
        method: &str,
        params: Value,
    ) -> Result<Value, InProcessError> {
        self.send(&request(client, method, params)).await?;
        let answer = loop {
            let message = self.receive().await?;
            if message.get("id").is_some() {
                break message;
            }
            client.receive_notification(&message);
        };
        self.close().await;
        result(answer)
    }

    /// Begins a session, and sends a request in it.
    async fn ask_in_session(
        mut self,
        client: &InProcessClient<'_>,
        method: &str,
        params: Value,
    ) -> Result<Value, InProcessError> {
        let hello = json!({
            "protocolVersion": client.version.as_str(),
            "capabilities": client.capabilities,
            "clientInfo": client_info(),
        });
        self.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })).await?;
        self.answer_until(client, 0).await?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await?;
        let answer = self.answer_until(client, 1).await?;
        self.close().await;
        result(answer)
    }

    /// Answers the server until it answers the request `id`.
    async fn answer_until(&mut self, client: &InProcessClient<'_>, id: i64) -> Result<Value, InProcessError> {
        loop {
            let message = self.receive().await?;
            let Some(method) = message.get("method").and_then(Value::as_str) else {
                match message.get("id") == Some(&json!(id)) {
                    true => return Ok(message),
                    false => continue,
                }
            };
            let Some(asked) = message.get("id") else { continue };
            let params = message.get("params").unwrap_or(&Value::Null);
            let answer = (client.answer)(&ServerQuestion { key: None, method, params });
            let result = answer.map_err(InProcessError::Unanswered)?;
            self.send(&json!({ "jsonrpc": "2.0", "id": asked, "result": result })).await?;
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), InProcessError> {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).await.map_err(|_| InProcessError::NoAnswer)
    }

    async fn receive(&mut self) -> Result<Value, InProcessError> {
        let line = self.lines.next_line().await.ok().flatten().ok_or(InProcessError::NoAnswer)?;
        serde_json::from_str(&line).map_err(|_| InProcessError::NoAnswer)
    }

    async fn close(self) {
        drop((self.writer, self.lines));
        let _ = self.server_task.await;
    }
}

fn client_info() -> Value {
    json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") })
}

fn request(client: &InProcessClient<'_>, method: &str, mut params: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": client.version.as_str(),
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": client.capabilities,
    });
    if let (Some(_), Some(meta)) = (client.progress, meta.as_object_mut()) {
        meta.insert("progressToken".to_owned(), 1.into());
    }
    if let Some(params) = params.as_object_mut() {
        params.insert("_meta".to_owned(), meta);
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn result(mut answer: Value) -> Result<Value, InProcessError> {
    let Some(error) = answer.get("error") else {
        return Ok(answer.get_mut("result").map(Value::take).unwrap_or_default());
    };
    Err(InProcessError::Refused {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.get("data").cloned(),
    })
}
