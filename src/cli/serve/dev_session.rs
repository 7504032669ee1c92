//! What `folio dev` says of reloads, calls and clients: on stderr, and to the page.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use super::dev::DevPageOptions;
use super::dev_page::{
    PageCall, PageCalls, PageState, PageTests, TestWriter, entry_source, fix_problem, set, try_result,
};
use super::manifest_reload::ReportedWarnings;
use crate::action::{CallRecorder, LogLevel};
use crate::catalog::{BuildOutcome, Catalog, Changes, ServingMode, build};
use crate::cli::Output;
use crate::cli::run_tests::TestSource;
use crate::dev_page::{DevPageError, DevPageEvents, DevPageRequest, DevPageRequests};
use crate::diagnostic::{Report, TerminalStyle, count_noun, one_line, render_text, summary};
use crate::files::Folder;
use crate::load::{EnvSource, ManifestLocation, load};
use crate::redact::Redactors;
use crate::server::{Method, SharedServer};
use crate::telemetry::{ClientName, RecordParts, RequestObserver, RequestRecord};
use crate::world::RecordedAction;

/// The name by which the page introduces itself.
const PAGE_CLIENT: &str = "folio-page";

/// The most bytes of what was sent or answered that an event holds.
const MAX_EVENT_BYTES: usize = 64 << 10;

/// How many clients of single requests are told apart.
const MAX_SEEN_CLIENTS: usize = 1000;

/// A session of an author at work.
pub(super) struct DevSession {
    pub(super) output: Output,
    pub(super) page: Option<DevPageOptions>,
    pub(super) events: DevPageEvents,
    /// Whether the last load failed.
    has_errors: AtomicBool,
    /// Whether a manifest was ever served, and not its errors alone.
    had_valid_catalog: AtomicBool,
    /// The warnings of the last load.
    reported: Mutex<ReportedWarnings>,
    /// The clients of single requests that were seen already.
    seen_clients: Mutex<HashSet<ClientName>>,
    /// The state that the page has.
    page_state: Mutex<Option<Arc<PageState>>>,
    /// The last calls of the page.
    calls: PageCalls,
    /// The tests of the manifest, once the page is served.
    tests: OnceLock<(Arc<PageTests>, EnvSource)>,
    /// What masks secrets in what is told of requests.
    redactors: OnceLock<Redactors>,
}

/// A request of a client, and how it ended, as the page shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallEvent {
    /// The id that its client gave it.
    id: Value,
    client: ClientName,
    spec_version: &'static str,
    method: &'static str,
    /// The tool, prompt or URI.
    name: String,
    params: Value,
    outcome: &'static str,
    reason: Option<String>,
    elapsed_ms: u64,
    /// The result, or the error.
    response: Value,
    /// What its steps did.
    trace: Value,
}

/// A reload that is published.
pub(super) struct PublishedReload<'a> {
    pub(super) changes: &'a Changes,
    pub(super) elapsed_ms: u128,
    /// Whether a line is due, though nothing changed for clients.
    pub(super) should_log: bool,
}

impl DevSession {
    pub(super) fn new(output: Output, page: Option<DevPageOptions>) -> DevSession {
        DevSession {
            output,
            page,
            events: DevPageEvents::default(),
            has_errors: AtomicBool::new(false),
            had_valid_catalog: AtomicBool::new(false),
            reported: Mutex::default(),
            seen_clients: Mutex::default(),
            page_state: Mutex::default(),
            calls: PageCalls::default(),
            tests: OnceLock::new(),
            redactors: OnceLock::new(),
        }
    }

    /// Reports the first load, and returns what is served: the manifest, or its errors.
    pub(super) fn start(&self, built: &BuildOutcome, catalog: Option<Arc<Catalog>>) -> anyhow::Result<Arc<Catalog>> {
        let is_good = catalog.is_some();
        let catalog = match catalog {
            Some(catalog) => catalog,
            None => problems_catalog(built)?,
        };
        self.had_valid_catalog.store(is_good, Ordering::Release);
        self.has_errors.store(!is_good, Ordering::Release);
        self.print_report(&built.report);
        if !is_good {
            tracing::error!(target: "folio::dev", "manifest has errors: serving only `{PROBLEMS_URI}` until they are fixed");
        }
        self.publish_state(built, is_good.then_some(&catalog));
        Ok(catalog)
    }

    pub(super) fn report_reload(&self, built: &BuildOutcome, catalog: &Arc<Catalog>, reload: &PublishedReload<'_>) {
        let was_broken = self.has_errors.swap(false, Ordering::AcqRel);
        self.had_valid_catalog.store(true, Ordering::Release);
        let PublishedReload { changes, elapsed_ms, should_log } = reload;
        if was_broken || changes.has_changes() || *should_log {
            self.print_report(&built.report);
            let words = match changes.has_changes() {
                true => changes.to_string(),
                false => "no list changed".to_owned(),
            };
            let prefix = if was_broken { "fixed, " } else { "" };
            tracing::info!(target: "folio::reload", "{prefix}reloaded in {elapsed_ms} ms: {words}");
            let event = json!({ "type": "reload", "changes": words, "fixed": was_broken, "elapsedMs": elapsed_ms });
            self.publish(event);
        }
        self.publish_state(built, Some(catalog));
        self.tests.get().into_iter().for_each(|(tests, _)| tests.manifest_loaded());
    }

    /// Reports that a manifest is broken, and serves its errors, if there was never anything else.
    pub(super) fn report_rejection(&self, built: &BuildOutcome, shared_server: &SharedServer) {
        self.has_errors.store(true, Ordering::Release);
        self.print_report(&built.report);
        let counted = summary(&built.report);
        if self.had_valid_catalog.load(Ordering::Acquire) {
            tracing::error!(target: "folio::reload", "not reloaded: keeping the last good version");
            shared_server
                .publish_log(LogLevel::Error, format!("not reloaded, keeping the last good version: {counted}"));
            self.publish_state(built, Some(&shared_server.catalog()));
        } else {
            match problems_catalog(built) {
                Ok(catalog) => drop(shared_server.replace(catalog)),
                Err(error) => self.output.eprint_error(&error),
            }
            tracing::error!(target: "folio::reload", "not reloaded: still serving `{PROBLEMS_URI}` alone");
            shared_server
                .publish_log(LogLevel::Error, format!("the manifest is broken: {counted}; read {PROBLEMS_URI}"));
            self.publish_state(built, None);
        }
        self.publish(json!({ "type": "reload", "changes": format!("broken: {counted}"), "broken": true }));
    }

    /// Prints the errors of a load, the warnings that the last load did not have, and how many it had too.
    fn print_report(&self, report: &Report) {
        let (new, old_count) = self.reported.lock().take_new(report);
        if new.has_errors() || new.has_warnings() {
            self.output.eprint_report(&new);
        }
        if old_count > 0 {
            tracing::info!(target: "folio::dev", "{} as before", count_noun(old_count, "warning"));
        }
    }

    fn publish(&self, mut event: Value) {
        if self.page.is_none() {
            return;
        }
        set(&mut event, "time", now_ms());
        self.events.publish(&event);
    }

    /// Publishes the state to the page: what is another than in the last state, or all of it to a new page.
    fn publish_state(&self, built: &BuildOutcome, catalog: Option<&Arc<Catalog>>) {
        if self.page.is_none() {
            return;
        }
        let mut shown = self.page_state.lock();
        let before = shown.take();
        let now = Arc::new(PageState::new(built, catalog, before.as_ref(), now_ms()));
        *shown = Some(now.clone());
        let whole = now.clone();
        self.events.publish_state(|| now.to_event(before.as_ref()), Arc::new(move || whole.to_event(None)));
    }

    /// What the page shows of the last load.
    pub(super) fn page_state(&self) -> Option<Arc<PageState>> {
        self.page_state.lock().clone()
    }

    /// Runs the tests there, while a page is open; `environment` has the variables that calls see.
    pub(super) fn run_tests_of(&self, source: TestSource, environment: EnvSource) {
        let redactors = self.redactors.get_or_init(Redactors::default).clone();
        let _ = self.tests.set((Arc::new(PageTests::new(self.events.clone(), redactors, source)), environment));
    }

    fn tests(&self) -> Result<(&Arc<PageTests>, &EnvSource), DevPageError> {
        let tests = self.tests.get().map(|(tests, environment)| (tests, environment));
        tests.ok_or_else(|| DevPageError::Failed("the tests are not known yet".to_owned()))
    }

    /// Masks the secrets that these find, from now on.
    pub(super) fn mask_with(&self, redactors: Redactors) {
        let _ = self.redactors.set(redactors);
    }

    /// A call as it is told, without secrets.
    fn masked_call(&self, record: &RequestRecord<'_>) -> CallEvent {
        let redactors = self.redactors.get_or_init(Redactors::default);
        let text = |text: &str| {
            let text = record.redactor.map_or(Cow::Borrowed(text), |redactor| redactor.redact_text(text));
            redactors.redact_text(text.into_owned())
        };
        let json = |value: String| {
            let value = match record.redactor {
                Some(redactor) => redactor.redact_message(value.into_bytes()),
                None => value.into_bytes(),
            };
            serde_json::from_slice(&redactors.redact_message(value)).unwrap_or_default()
        };
        CallEvent {
            id: serde_json::to_value(record.id).unwrap_or_default(),
            client: record.client.cloned().unwrap_or_default(),
            spec_version: record.version.as_str(),
            method: record.method.unwrap_or_default(),
            name: text(record.entry.unwrap_or_default()),
            params: json(record.params.map(Value::to_string).unwrap_or_default()),
            outcome: record.outcome.as_str(),
            reason: record.reason.map(text),
            elapsed_ms: u64::try_from(record.elapsed.as_millis()).unwrap_or(u64::MAX),
            response: json(record.response.map(|response| response.get().to_owned()).unwrap_or_default()),
            trace: json(serde_json::to_string(&record.recorder.map(CallRecorder::rows)).unwrap_or_default()),
        }
    }

    /// Keeps a call of the page, which may become a test.
    fn keep_page_call(&self, record: &CallEvent, actions: Vec<RecordedAction>) {
        let CallEvent { id, method, params, response, .. } = record;
        let (id, params, response) = (id.clone(), params.clone(), response.clone());
        self.calls.add(PageCall { id, method, params, response, actions });
    }

    fn is_new(&self, client: &ClientName) -> bool {
        let mut seen_clients = self.seen_clients.lock();
        if seen_clients.len() >= MAX_SEEN_CLIENTS {
            seen_clients.clear();
        }
        seen_clients.insert(client.clone())
    }
}

impl RequestObserver for DevSession {
    fn parts(&self) -> RecordParts {
        RecordParts { client: true, params: true, response: true, steps: self.page.is_some(), ..RecordParts::default() }
    }

    fn on_request_end(&self, record: &RequestRecord<'_>) {
        if !record.method.and_then(Method::find).is_some_and(Method::is_about_entries) {
            return;
        }
        let actions = record.recorder.map(CallRecorder::actions).unwrap_or_default();
        let mut record = self.masked_call(record);
        let calls = matches!(record.method, "prompts/get" | "tools/call" | "resources/read");
        let is_preview = record.client.name == PAGE_CLIENT && record.method != "tools/call";
        if calls && !is_preview {
            tracing::info!(target: "folio::dev", "{}", call_line(&record));
        }
        if calls && record.client.name == PAGE_CLIENT && self.page.is_some() {
            self.keep_page_call(&record, actions);
        }
        // A page shows again and again what a prompt without steps renders: it knows that already.
        if self.page.is_none() || is_preview && record.trace.as_array().is_none_or(Vec::is_empty) {
            return;
        }
        truncate_value(&mut record.params);
        truncate_value(&mut record.response);
        let mut event = serde_json::to_value(record).unwrap_or_default();
        set(&mut event, "type", "call");
        if is_preview {
            set(&mut event, "preview", true);
            set(&mut event, "time", now_ms());
            return self.events.send(&event);
        }
        self.publish(event);
    }

    fn on_client_connected(&self, client: &ClientName) {
        tracing::info!(target: "folio::dev", "client {} connected", client_label(client));
        self.publish(json!({ "type": "client", "client": client, "state": "connected" }));
    }

    fn on_client_request(&self, client: &ClientName) {
        if client.name != PAGE_CLIENT && self.is_new(client) {
            self.on_client_connected(client);
        }
    }

    fn on_client_disconnected(&self, client: &ClientName) {
        tracing::info!(target: "folio::dev", "client {} disconnected", client_label(client));
        self.publish(json!({ "type": "client", "client": client, "state": "disconnected" }));
    }
}

impl DevPageRequests for DevSession {
    fn answer(&self, request: DevPageRequest) -> Result<Value, DevPageError> {
        let state = self.page_state().ok_or_else(|| DevPageError::Failed("nothing is loaded yet".to_owned()))?;
        match request {
            DevPageRequest::Source(entry) => entry_source(&state, &entry),
            DevPageRequest::RunTests(request) => {
                self.tests()?.0.request(request);
                Ok(json!({}))
            }
            DevPageRequest::Try(request) => try_result(&state, &request),
            DevPageRequest::Fix(request) => fix_problem(&state, &self.tests()?.0.source().location, &request),
            DevPageRequest::SaveTest(request) => {
                let (tests, environment) = self.tests()?;
                TestWriter { state: &state, tests, calls: &self.calls, environment }.save(&request)
            }
        }
    }

    fn on_page_opened(&self) {
        self.tests.get().into_iter().for_each(|(tests, _)| tests.start());
    }
}

/// The line of a call: `claude-code: get greet: ok, 3 ms`.
fn call_line(record: &CallEvent) -> String {
    let verb = match record.method {
        "tools/call" => "call",
        "prompts/get" => "get",
        _ => "read",
    };
    let reason = record.reason.as_deref().and_then(|reason| reason.lines().next());
    let reason = reason.map(|reason| format!(": {}", crate::diagnostic::truncate(reason, 300))).unwrap_or_default();
    let client = one_line(crate::diagnostic::truncate(&record.client.name, 64).as_ref()).into_owned();
    let name = crate::diagnostic::truncate(&record.name, 256);
    format!("{client}: {verb} {name}: {}, {} ms{reason}", record.outcome, record.elapsed_ms)
}

fn client_label(client: &ClientName) -> String {
    let label = format!("{} {}", client.name, client.version);
    crate::diagnostic::truncate(label.trim(), 128).into_owned()
}

/// Replaces what is too large for an event by a note.
fn truncate_value(value: &mut Value) {
    let bytes = value.to_string().len();
    if bytes > MAX_EVENT_BYTES {
        *value = json!({ "omitted": format!("{bytes} bytes") });
    }
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// Where the errors of a manifest are that cannot be served.
const PROBLEMS_URI: &str = "folio://problems";

/// A catalog of one resource: what is wrong.
fn problems_catalog(built: &BuildOutcome) -> anyhow::Result<Arc<Catalog>> {
    let text = render_text(&built.report, TerminalStyle::default());
    let manifest = json!({
        "folio": 1,
        "server": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
        "resources": { "problems": {
            "uri": PROBLEMS_URI,
            "description": "What is wrong with the manifest; its entries appear once it is fixed",
            "mimeType": "text/plain",
            "file": "problems.txt",
        } },
    });
    let files = BTreeMap::from([
        ("folio.yaml".to_owned(), manifest.to_string().into_bytes()),
        ("problems.txt".to_owned(), built.redactor.redact_text(&text).into_owned().into_bytes()),
    ]);
    let location = ManifestLocation::in_memory(Folder::in_memory(files));
    build(load(&location, &EnvSource::Process)).accept(&ServingMode::Local).ok().context("the errors cannot be served")
}
