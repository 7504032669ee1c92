#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod arguments;
mod completion;
mod hostile;
mod prompts;
mod resources;
mod secrets;
mod skills;
mod tools;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::answer::{Call, Completion, CompletionOf, Refusal, ToolAnswer};
use super::{Built, Catalog, build};
use crate::diagnostic::lines;
use crate::files::Folder;
use crate::load::{Place, Surroundings, load};
use crate::world::{Captured, Command, Finished, Real, Request, Response, World, WorldError};

/// A server in a folder of its own.
struct Desk {
    catalog: Catalog,
    world: Arc<dyn World>,
    _folder: TempDir,
}

fn environment(pairs: &[(&str, &str)]) -> Surroundings {
    let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).chain([path]).collect()
}

/// What a manifest in memory comes to.
fn built(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Built {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(path, text)| ((*path).to_owned(), whole(path, text).into_bytes())).collect();
    build(load(&Place::in_memory(Folder::in_memory(files)), &environment(variables)))
}

/// Every manifest begins alike.
fn whole(path: &str, text: &str) -> String {
    match path.ends_with("folio.yaml") && !text.contains("folio:") {
        true => format!("folio: 1\nserver: {{ name: t }}\n{text}"),
        false => text.to_owned(),
    }
}

impl Desk {
    fn new(manifest: &str) -> Desk {
        Desk::of(&[("folio.yaml", manifest)], &[])
    }

    fn of(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, whole(&path.to_string_lossy(), text)).unwrap();
        }
        let built = build(load(&Place::find(folder.path()).unwrap(), &environment(variables)));
        let report = lines(&built.report);
        Desk { catalog: built.catalog.expect(&report).0, world: Arc::new(Real::new()), _folder: folder }
    }

    fn context(&self) -> Call {
        Call::new(CancellationToken::new(), self.world.clone())
    }

    fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        let arguments = arguments.as_object().cloned();
        block_on(self.catalog.call_tool(tool, arguments, &self.context())).unwrap()
    }

    /// The text of a tool that did not fail.
    fn text(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error, "{answer:?}");
        texts(&answer)
    }

    /// The text of a tool that failed.
    fn failure(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.is_error, "{answer:?}");
        texts(&answer)
    }

    fn prompt(&self, name: &str, arguments: Value) -> Result<Value, Refusal> {
        let answer = block_on(self.catalog.get_prompt(name, arguments.as_object().cloned(), &self.context()))?;
        Ok(serde_json::to_value(answer.messages).unwrap())
    }

    fn read(&self, uri: &str) -> Result<Value, Refusal> {
        let answer = block_on(self.catalog.read_resource(uri, &self.context()))?;
        Ok(serde_json::to_value(answer.contents).unwrap())
    }

    fn complete(&self, of: CompletionOf, argument: &str, typed: &str, context: &[(&str, &str)]) -> Vec<String> {
        let context = context.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let wish = Completion { of, argument: argument.to_owned(), value: typed.to_owned(), context };
        block_on(self.catalog.complete(&wish, &self.context())).unwrap().values
    }
}

fn texts(answer: &ToolAnswer) -> String {
    let blocks = serde_json::to_value(&answer.content).unwrap();
    let texts: Vec<&str> = blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A world that answers every request alike and remembers what it was asked.
struct Stage {
    status: u16,
    body: &'static str,
    mime_type: &'static str,
    sent: Mutex<Vec<Value>>,
}

impl Stage {
    fn new(status: u16, mime_type: &'static str, body: &'static str) -> Arc<Stage> {
        Arc::new(Stage { status, body, mime_type, sent: Mutex::new(Vec::new()) })
    }

    fn sent(&self) -> Value {
        self.sent.lock().unwrap().last().cloned().unwrap()
    }
}

impl World for Stage {
    fn run(&self, command: Command) -> BoxFuture<'_, Result<Finished, WorldError>> {
        let argv: Vec<String> = command.args.iter().map(|element| element.to_string_lossy().into_owned()).collect();
        self.sent.lock().unwrap().push(json!({ "argv": argv, "env": command.env }));
        Box::pin(async { Err(WorldError::Cancelled) })
    }

    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WorldError>> {
        let headers: Vec<(String, String)> =
            request.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        let body = request.body.map(|body| String::from_utf8(body).unwrap());
        self.sent.lock().unwrap().push(json!({
            "method": request.method,
            "url": request.url.as_str(),
            "headers": headers,
            "body": body,
            "secretBody": request.secret_body,
        }));
        let headers = vec![("content-type".to_owned(), self.mime_type.to_owned())];
        let body = Captured::new(self.body.as_bytes().to_vec(), 0);
        let response = Response { status: self.status, headers, body, url: request.url };
        Box::pin(async move { Ok(response) })
    }
}
