//! Requests as other tools write them.

use super::Corrector;
use crate::diagnostic::Code;
use crate::yaml::{Entry, NodeId};

/// Methods that are written as a key with the URL.
const METHODS: &[&str] = &["get", "head", "post", "put", "patch", "delete", "options"];

impl Corrector<'_> {
    pub(super) fn request(&mut self, request: NodeId) {
        self.text_as_key(request, "url");
        self.each(request, "allow", Corrector::scalar_as_list);
        self.each(request, "expect", Corrector::scalar_as_list);
        self.method_key(request);
        self.json_body(request);
    }

    /// `post: URL` in the place of a method and a URL.
    fn method_key(&mut self, request: NodeId) {
        let is_method = |key: &str| METHODS.contains(&key.to_lowercase().as_str());
        let mut entries = self.document.entries_of(request).unwrap_or_default();
        let has_url = ["url", "use", "method"].iter().any(|key| self.document.entry_of(request, key).is_some());
        let found = entries.iter().position(|entry| is_method(self.document.key_text(entry.key)));
        let Some(entry) = found.filter(|_| !has_url).map(|at| entries.swap_remove(at)) else { return };
        let (key, at) = (self.document.key_text(entry.key).to_owned(), self.span(entry.key));
        let method = key.to_uppercase();
        let text = format!("method: {method}, url: {}", self.flow_text(entry.value));
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        diagnostic.help(format!("write `{text}`"));
        let [method_key, method, url] = ["method", &method, "url"].map(|text| self.document.add_string(text, at));
        entries.push(Entry { key: method_key, value: method });
        entries.push(Entry { key: url, value: entry.value });
        let node = self.document.add_map(entries, self.span(request));
        self.document.replace(request, node);
    }

    /// A map or a list as `body`, which is JSON.
    fn json_body(&mut self, request: NodeId) {
        let Some(body) = self.document.entry_of(request, "body") else { return };
        let names_file = self.document.entry_of(body.value, "file").is_some();
        if self.document.scalar_of(body.value).is_some() || names_file || self.is_null(body.value) {
            return;
        }
        let found = self.describe(body.value);
        let (key, span) = (self.span(body.key), self.span(body.value));
        let message = format!("expected a string or `{{ file: … }}`, found {found}");
        let help = match self.raw(body.value) {
            written if !written.contains('\n') => format!("write `json: {written}`"),
            _ => "write `json` in the place of `body`".to_owned(),
        };
        let is_free = self.document.entry_of(request, "json").is_none();
        let diagnostic = self.report.error(Code::WrongType, span, message).help(help);
        if is_free {
            diagnostic.suggest(key, "json");
        }
        let mut entries = self.document.entries_of(request).unwrap_or_default();
        entries.retain(|entry| entry.key != body.key);
        if is_free {
            entries.push(Entry { key: self.document.add_string("json", key), value: body.value });
        }
        let node = self.document.add_map(entries, self.span(request));
        self.document.replace(request, node);
    }
}
