//! Tests of the module: manifests built and called in memory.

mod access;
mod arguments;
mod completion;
mod file_reuse;
mod hostile;
mod prompts;
mod resources;
mod reuse;
mod secrets;
mod skills;
mod tools;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::result::call_result::{CompletionRequest, CompletionTarget, ToolResult};
use super::result::refusal::{CallError, Refusal};
use super::{BuildOutcome, Catalog, build};
use crate::action::CallContext;
use crate::diagnostic::render_lines;
use crate::files::Folder;
use crate::load::{EnvSource, ManifestLocation, load};
use crate::store::{MemoryStore, Store};
use crate::world::{
    CapturedBytes, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, RealWorld, RedactingWorld, RequestBody,
    ResponseSource, World, WorldError,
};

/// A server in a folder of its own.
pub(super) struct CatalogFixture {
    pub(super) catalog: Catalog,
    world: Arc<dyn World>,
    store: Arc<dyn Store>,
    _folder: TempDir,
}

fn environment(pairs: &[(&str, &str)]) -> EnvSource {
    let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).chain([path]).collect()
}

/// What a manifest in memory comes to.
fn built(files: &[(&str, &str)], variables: &[(&str, &str)]) -> BuildOutcome {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(path, text)| ((*path).to_owned(), with_manifest_head(path, text).into_bytes())).collect();
    build(load(&ManifestLocation::in_memory(Folder::in_memory(files)), &environment(variables)))
}

/// Every manifest begins alike.
fn with_manifest_head(path: &str, text: &str) -> String {
    match path.ends_with("folio.yaml") && !text.contains("folio:") {
        true => format!("folio: 1\nserver: {{ name: t }}\n{text}"),
        false => text.to_owned(),
    }
}

impl CatalogFixture {
    pub(super) fn new(manifest: &str) -> CatalogFixture {
        CatalogFixture::with_files(&[("folio.yaml", manifest)], &[])
    }

    fn with_files(files: &[(&str, &str)], variables: &[(&str, &str)]) -> CatalogFixture {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, with_manifest_head(&path.to_string_lossy(), text)).unwrap();
        }
        let built = build(load(&ManifestLocation::resolve(folder.path()).unwrap(), &environment(variables)));
        let report = render_lines(&built.report);
        CatalogFixture {
            catalog: built.catalog.expect(&report).0,
            world: Arc::new(RealWorld::new()),
            store: Arc::new(MemoryStore::default()),
            _folder: folder,
        }
    }

    fn call_context(&self) -> CallContext {
        call_context(&self.catalog, &self.world, &self.store)
    }

    fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let arguments = arguments.as_object().cloned();
        block_on(self.catalog.call_tool(tool, arguments, &self.call_context())).unwrap()
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
        let answer = block_on(self.catalog.get_prompt(name, arguments.as_object().cloned(), &self.call_context()));
        let answer = answer.map_err(CallError::into_refusal)?;
        Ok(serde_json::to_value(answer.messages).unwrap())
    }

    fn read(&self, uri: &str) -> Result<Value, Refusal> {
        let answer =
            block_on(self.catalog.read_resource(uri, &self.call_context())).map_err(CallError::into_refusal)?;
        Ok(serde_json::to_value(answer.contents).unwrap())
    }

    fn complete(&self, of: CompletionTarget, argument: &str, typed: &str, context: &[(&str, &str)]) -> Vec<String> {
        let context = context.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let completion =
            CompletionRequest { target: of, argument: argument.to_owned(), value: typed.to_owned(), context };
        block_on(self.catalog.complete(&completion, &self.call_context())).unwrap().values
    }
}

/// A call by whoever the manifest lets in.
fn call_context(catalog: &Catalog, world: &Arc<dyn World>, store: &Arc<dyn Store>) -> CallContext {
    let world = RedactingWorld::wrap(catalog.redactor(), world);
    let call = CallContext::new(CancellationToken::new(), world, Arc::default(), store.clone());
    CallContext { access: catalog.settings.access.clone(), ..call }
}

fn texts(answer: &ToolResult) -> String {
    let blocks = serde_json::to_value(&answer.content).unwrap();
    let texts: Vec<&str> = blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A world that answers every request alike and remembers what it was asked.
struct StubWorld {
    status: u16,
    body: &'static str,
    mime_type: &'static str,
    sent: Mutex<Vec<Value>>,
}

impl StubWorld {
    fn new(status: u16, mime_type: &'static str, body: &'static str) -> Arc<StubWorld> {
        Arc::new(StubWorld { status, body, mime_type, sent: Mutex::new(Vec::new()) })
    }

    fn last_request(&self) -> Value {
        self.sent.lock().unwrap().last().cloned().unwrap()
    }
}

impl World for StubWorld {
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        let argv: Vec<String> = command.args.iter().map(|element| element.to_string_lossy().into_owned()).collect();
        self.sent.lock().unwrap().push(json!({ "argv": argv, "env": command.env }));
        Box::pin(async { Err(WorldError::Cancelled) })
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        let headers: Vec<(String, String)> =
            request.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        let body = request.body.map(|body| match body {
            RequestBody::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            RequestBody::File { path, .. } => format!("file {}", path.display()),
            RequestBody::Multipart(parts) => format!("{} parts", parts.len()),
        });
        self.sent.lock().unwrap().push(json!({
            "method": request.method,
            "url": request.url.as_str(),
            "headers": headers,
            "body": body,
            "secretBody": request.secret_body,
            "cacheOwner": request.cache_owner,
        }));
        let headers = vec![("content-type".to_owned(), self.mime_type.to_owned())];
        let body = CapturedBytes::new(self.body.as_bytes().to_vec(), 0);
        let response =
            HttpResponse { status: self.status, headers, body, url: request.url, source: ResponseSource::Server };
        Box::pin(async move { Ok(response) })
    }
}
