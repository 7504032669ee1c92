//! The page of `folio dev`: its files, and the stream of events that it shows beside what it gets over MCP.
//!
//! The page is a client like any other: lists, results and completions come over MCP. What MCP has no words for, the
//! errors of the manifest, the reloads and the requests of other clients, are events, and what it asks of the files are
//! requests of its own. Both are carried in transport/http.

mod line_changes;
mod markdown;
mod requests;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::broadcast;

pub use line_changes::lines_around_changes;
pub use requests::{
    DevPageError, DevPageRequest, DevPageRequests, FixRequest, PageEntry, PageEntryKind, RunTestsRequest,
    SaveTestRequest, TryRequest, answer_page_request,
};

/// A file of the page.
#[derive(Debug)]
pub struct DevPageFile {
    pub path: &'static str,
    pub content_type: &'static str,
    pub text: &'static str,
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

macro_rules! page_files {
    ($($path:literal $content_type:expr, $file:literal;)*) => {
        &[$(DevPageFile { path: $path, content_type: $content_type, text: include_str!($file) }),*]
    };
}

/// The files of the page.
pub const PAGE_FILES: &[DevPageFile] = page_files! {
    "/" "text/html; charset=utf-8", "index.html";
    "/tokens.css" CSS, "tokens.css";
    "/page.css" CSS, "page.css";
    "/form.css" CSS, "form.css";
    "/result.css" CSS, "result.css";
    "/drawers.css" CSS, "drawers.css";
    "/steps.css" CSS, "steps.css";
    "/argument_copies.js" JAVASCRIPT, "argument_copies.js";
    "/call_list.js" JAVASCRIPT, "call_list.js";
    "/call_trace.js" JAVASCRIPT, "call_trace.js";
    "/client_view.js" JAVASCRIPT, "client_view.js";
    "/command_palette.js" JAVASCRIPT, "command_palette.js";
    "/copy_button.js" JAVASCRIPT, "copy_button.js";
    "/diff_view.js" JAVASCRIPT, "diff_view.js";
    "/document_view.js" JAVASCRIPT, "document_view.js";
    "/drawers.js" JAVASCRIPT, "drawers.js";
    "/elements.js" JAVASCRIPT, "elements.js";
    "/empty_view.js" JAVASCRIPT, "empty_view.js";
    "/entry_call.js" JAVASCRIPT, "entry_call.js";
    "/entry_tree.js" JAVASCRIPT, "entry_tree.js";
    "/entry_view.js" JAVASCRIPT, "entry_view.js";
    "/form_choices.js" JAVASCRIPT, "form_choices.js";
    "/form_completion.js" JAVASCRIPT, "form_completion.js";
    "/form_controls.js" JAVASCRIPT, "form_controls.js";
    "/form_files.js" JAVASCRIPT, "form_files.js";
    "/form_json.js" JAVASCRIPT, "form_json.js";
    "/form_lists.js" JAVASCRIPT, "form_lists.js";
    "/form_objects.js" JAVASCRIPT, "form_objects.js";
    "/form_rows.js" JAVASCRIPT, "form_rows.js";
    "/form_schema.js" JAVASCRIPT, "form_schema.js";
    "/line_list.js" JAVASCRIPT, "line_list.js";
    "/mcp_client.js" JAVASCRIPT, "mcp_client.js";
    "/page.js" JAVASCRIPT, "page.js";
    "/page_api.js" JAVASCRIPT, "page_api.js";
    "/page_events.js" JAVASCRIPT, "page_events.js";
    "/problem_list.js" JAVASCRIPT, "problem_list.js";
    "/question_form.js" JAVASCRIPT, "question_form.js";
    "/rendered_view.js" JAVASCRIPT, "rendered_view.js";
    "/result_tabs.js" JAVASCRIPT, "result_tabs.js";
    "/save_test.js" JAVASCRIPT, "save_test.js";
    "/schema_form.js" JAVASCRIPT, "schema_form.js";
    "/source_view.js" JAVASCRIPT, "source_view.js";
    "/step_expression.js" JAVASCRIPT, "step_expression.js";
    "/steps_view.js" JAVASCRIPT, "steps_view.js";
    "/storage.js" JAVASCRIPT, "storage.js";
    "/structured_view.js" JAVASCRIPT, "structured_view.js";
    "/tests_view.js" JAVASCRIPT, "tests_view.js";
    "/token.js" JAVASCRIPT, "token.js";
    "/tree_model.js" JAVASCRIPT, "tree_model.js";
    "/try_field.js" JAVASCRIPT, "try_field.js";
    "/value_tree.js" JAVASCRIPT, "value_tree.js";
    "/view_options.js" JAVASCRIPT, "view_options.js";
    "/wire_view.js" JAVASCRIPT, "wire_view.js";
};

/// What a browser may do for the page: nothing but what its own origin serves. No text becomes markup or script.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// How many events are kept for pages that are opened later, and their bytes.
const MAX_HISTORY_EVENTS: usize = 200;
const MAX_HISTORY_BYTES: usize = 4 << 20;

/// How many events may wait for a page that does not read.
const MAX_WAITING_EVENTS: usize = 256;

/// The events of the page. Clones are handles of the same ones.
#[derive(Clone)]
pub struct DevPageEvents {
    history: Arc<Mutex<EventHistory>>,
    sender: broadcast::Sender<Arc<str>>,
}

/// Writes the whole state, for a page that is opened.
pub type WholeState = Arc<dyn Fn() -> Arc<str> + Send + Sync>;

#[derive(Default)]
struct EventHistory {
    state: Option<WholeState>,
    /// What came of the tests.
    tests: Option<Arc<str>>,
    recent: VecDeque<Arc<str>>,
    bytes: usize,
}

impl std::fmt::Debug for DevPageEvents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PageEvents").finish_non_exhaustive()
    }
}

/// What a page is sent: first what there was, then what comes.
#[derive(Debug)]
pub struct DevPageEventReader {
    pub(crate) earlier: Vec<Arc<str>>,
    pub(crate) next: broadcast::Receiver<Arc<str>>,
}

impl Default for DevPageEvents {
    fn default() -> DevPageEvents {
        DevPageEvents { history: Arc::default(), sender: broadcast::channel(MAX_WAITING_EVENTS).0 }
    }
}

impl DevPageEvents {
    /// Sends an event, and keeps it for a while.
    pub fn publish(&self, event: &Value) {
        let text: Arc<str> = event.to_string().into();
        let mut history = self.history();
        history.bytes += text.len();
        history.recent.push_back(text.clone());
        while history.recent.len() > MAX_HISTORY_EVENTS || history.bytes > MAX_HISTORY_BYTES {
            let Some(oldest) = history.recent.pop_front() else { break };
            history.bytes -= oldest.len();
        }
        let _ = self.sender.send(text);
    }

    /// Sends an event to the pages that are open, and keeps it for no other.
    pub fn send(&self, event: &Value) {
        if self.has_readers() {
            let _ = self.sender.send(event.to_string().into());
        }
    }

    /// Whether a page is open.
    pub fn has_readers(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Sends what is another in the state than in the last one, to the pages that are open. Others get the whole state.
    pub fn publish_state(&self, change: impl FnOnce() -> Arc<str>, whole: WholeState) {
        let mut history = self.history();
        history.state = Some(whole);
        if self.has_readers() {
            let _ = self.sender.send(change());
        }
    }

    /// Sends what came of the tests, and keeps it for pages that are opened later.
    pub fn publish_tests(&self, event: &str) {
        let text: Arc<str> = event.into();
        let mut history = self.history();
        history.tests = Some(text.clone());
        let _ = self.sender.send(text);
    }

    /// Begins to read. No event is lost or comes twice.
    pub fn subscribe(&self) -> DevPageEventReader {
        let (earlier, state, tests, next) = {
            let history = self.history();
            let earlier: Vec<Arc<str>> = history.recent.iter().cloned().collect();
            (earlier, history.state.clone(), history.tests.clone(), self.sender.subscribe())
        };
        let state = state.map(|write| write());
        DevPageEventReader { earlier: earlier.into_iter().chain(state).chain(tests).collect(), next }
    }

    fn history(&self) -> MutexGuard<'_, EventHistory> {
        self.history.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn last_events_and_the_state_are_kept() {
        let events = DevPageEvents::default();
        (0..300).for_each(|number| events.publish(&json!({ "number": number })));
        let state = |text: &'static str| -> WholeState { Arc::new(move || text.into()) };
        events.publish_state(|| unreachable!("no page is open"), state("one"));
        events.publish_state(|| unreachable!("no page is open"), state("two"));
        let mut reader = events.subscribe();
        assert_eq!(reader.earlier.len(), MAX_HISTORY_EVENTS + 1);
        assert_eq!(reader.earlier[0].as_ref(), r#"{"number":100}"#);
        assert_eq!(reader.earlier.last().unwrap().as_ref(), "two");
        events.publish(&json!("next"));
        assert_eq!(reader.next.try_recv().unwrap().as_ref(), r#""next""#);
        events.publish_state(|| "three is new".into(), state("three"));
        assert_eq!(reader.next.try_recv().unwrap().as_ref(), "three is new");
        assert_eq!(events.subscribe().earlier.last().unwrap().as_ref(), "three");
    }

    #[test]
    fn kept_events_are_limited_in_bytes() {
        let events = DevPageEvents::default();
        let large = "x".repeat(MAX_HISTORY_BYTES / 2);
        (0..3).for_each(|_| events.publish(&json!(large)));
        assert_eq!(events.subscribe().earlier.len(), 1);
    }
}
