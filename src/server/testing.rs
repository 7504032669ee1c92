//! Fixtures for the tests of server/ and transport/.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{ServeOptions, SharedServer};
use crate::{
    catalog::{Catalog, ServingMode, build},
    files::Folder,
    load::{ManifestLocation, load},
    world::{HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, World, WorldError},
};

/// A desk with one of everything; `wait` runs until it is cancelled.
pub(crate) const TEST_MANIFEST: &str = r#"
folio: 1
server: { name: desk, version: "1.2.3", instructions: Ask it. }
prompts:
  greet: { description: A greeting, text: Hello }
  review:
    description: A review
    arguments: { code: { required: true }, style: { enum: [plain, pretty, other] } }
    text: "Review {{code}}"
resources:
  notes: { uri: "desk://notes", text: First, mimeType: text/plain }
  page: { uri: "desk://page/{id}", text: A page }
tools:
  echo:
    description: Gives back the text
    arguments: { text: { required: true } }
    result: { text: "{{text}}" }
  list:
    description: Gives a list
    outputSchema: { type: array, items: { type: integer } }
    result: { structuredContent: [1, 2] }
  wait:
    description: Takes its time
    run: { exec: [sleep, "600"] }
"#;

pub(crate) fn build_catalog(manifest: &str) -> Arc<Catalog> {
    build_catalog_with(manifest, &[])
}

/// The same with variables.
pub(crate) fn build_catalog_with(manifest: &str, variables: &[(&str, &str)]) -> Arc<Catalog> {
    let files = BTreeMap::from([("folio.yaml".to_owned(), manifest.as_bytes().to_vec())]);
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut built = build(load(&ManifestLocation::in_memory(Folder::in_memory(files)), &variables));
    let accepted = built.accept(&ServingMode::Local);
    accepted.unwrap_or_else(|_| panic!("{:#?}", built.report.diagnostics()))
}

pub(crate) fn shared_server(manifest: &str) -> SharedServer {
    shared_server_with(manifest, ServeOptions::default())
}

pub(crate) fn shared_server_with(manifest: &str, options: ServeOptions) -> SharedServer {
    SharedServer::new(build_catalog(manifest), Arc::new(SleepingWorld::default()), options)
}

/// A world in which every program runs until it is cancelled.
#[derive(Default)]
pub(crate) struct SleepingWorld {
    sleepers: watch::Sender<usize>,
}

impl SleepingWorld {
    /// Waits until this many programs are running.
    pub(crate) async fn wait_for_programs(&self, count: usize) {
        self.sleepers.subscribe().wait_for(|sleepers| *sleepers == count).await.unwrap();
    }
}

struct ProgramGuard<'a>(&'a SleepingWorld);

impl Drop for ProgramGuard<'_> {
    fn drop(&mut self) {
        self.0.sleepers.send_modify(|sleepers| *sleepers -= 1);
    }
}

impl World for SleepingWorld {
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        Box::pin(async move {
            self.sleepers.send_modify(|sleepers| *sleepers += 1);
            let _sleeper = ProgramGuard(self);
            command.budget.cancel().cancelled().await;
            std::future::pending().await
        })
    }

    fn send_request(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        Box::pin(std::future::pending())
    }
}
