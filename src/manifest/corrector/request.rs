//! Requests as other tools write them.

use super::{Correction, Corrector};
use crate::diagnostic::Code;
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// Methods that are written as a key with the URL.
const METHODS: &[&str] = &["get", "head", "post", "put", "patch", "delete", "options"];

impl Corrector<'_> {
    pub(super) fn request(&mut self, request: NodeId) {
        self.method_and_url(request);
        self.text_as_key(request, "url");
        self.with_value_of(request, "auth", Corrector::typed_auth);
        self.nest_keys(request, "auth", &["bearer", "basic", "oauth2"]);
        self.with_value_of(request, "allow", Corrector::allowed_hosts);
        self.with_value_of(request, "expect", Corrector::scalar_as_list);
        self.method_key(request);
        self.json_body(request);
    }

    /// `allow: all`, and a host without its list.
    fn allowed_hosts(&mut self, allow: NodeId) {
        let is_all = self.document.scalar_of(allow).is_some_and(|text| ["all", "any", "true"].contains(&text));
        if !is_all {
            return self.scalar_as_list(allow);
        }
        let (span, found) = (self.span(allow), self.describe(allow));
        self.report
            .error(Code::WrongType, span, format!("expected a list, found {found}"))
            .help("name the hosts, as in `[localhost, 10.0.0.0/8]`; `[\"*\"]` is every host");
        let list = self.document.add_list(Vec::new(), span);
        self.document.replace(allow, list);
    }

    /// `GET https://…`.
    fn method_and_url(&mut self, request: NodeId) {
        let Some(text) = self.document.string_of(request).map(str::to_owned) else { return };
        let Some((method, url)) = text.split_once(' ') else { return };
        if !METHODS.contains(&method.to_lowercase().as_str()) {
            return;
        }
        let (method, url, span) = (method.to_uppercase(), url.trim(), self.span(request));
        let texts = ["method", &method, "url", url].map(|text| self.document.add_string(text, span));
        let [method_key, method_node, url_key, url_node] = texts;
        let entries =
            vec![MapEntry { key: method_key, value: method_node }, MapEntry { key: url_key, value: url_node }];
        let node = self.document.add_map(entries, span);
        let text = format!("{{ method: {method}, url: {} }}", flow_scalar(url));
        self.replace(request, "a map", Correction { text, is_certain: true, node });
    }

    /// `{ type: bearer, token: … }`.
    fn typed_auth(&mut self, auth: NodeId) {
        let find = |key: &str| self.document.entry_of(auth, key);
        let (Some(kind), Some(token)) = (find("type"), find("token").or_else(|| find("value"))) else { return };
        if !self.document.string_of(kind.value).is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return;
        }
        let (at, span) = (self.span(kind.key), self.span(auth));
        let text = format!("{{ bearer: {} }}", self.flow_text(token.value));
        let is_short = self.raw(auth).starts_with('{') && !text.contains('\n');
        let diagnostic = self.report.error(Code::UnknownKey, at, "unknown key `type`");
        diagnostic.help(format!("write `auth: {text}`"));
        if is_short {
            diagnostic.fix(span, text);
        }
        let key = self.document.add_string("bearer", at);
        let node = self.document.add_map(vec![MapEntry { key, value: token.value }], span);
        self.document.replace(auth, node);
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
        entries.push(MapEntry { key: method_key, value: method });
        entries.push(MapEntry { key: url, value: entry.value });
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
        let help = match self.flow_text(body.value) {
            written if !written.contains('\n') => format!("write `json: {written}`"),
            _ => "write `json` in the place of `body`".to_owned(),
        };
        let is_free = self.document.entry_of(request, "json").is_none();
        let diagnostic = self.report.error(Code::WrongType, span, message).help(help);
        if is_free {
            diagnostic.fix(key, "json");
        }
        let mut entries = self.document.entries_of(request).unwrap_or_default();
        entries.retain(|entry| entry.key != body.key);
        if is_free {
            entries.push(MapEntry { key: self.document.add_string("json", key), value: body.value });
        }
        let node = self.document.add_map(entries, self.span(request));
        self.document.replace(request, node);
    }
}
