//! Keys at the top of a manifest: its version, and what belongs to `server`.

use super::Corrector;
use crate::diagnostic::{Code, Span};
use crate::manifest::{Manifest, Server};
use crate::yaml::{MapEntry, NodeId, struct_keys};

const VERSION_HELP: &str =
    "write `folio: 1`, the version of this language; that of your server is `server: { version: … }`";

impl Corrector<'_> {
    /// Reads the keys of `server` and a version of this language where they are written at the top.
    pub(super) fn top_level(&mut self, root: NodeId) {
        self.with_value_of(root, "folio", Corrector::language_version);
        self.version_key(root);
        self.server_keys(root);
        if let Some(server) = self.document.entry_of(root, "server") {
            self.keys_of_client(server.value);
        }
    }

    /// `command` with `args`, and `host` with `port`, in `server`: the second of each is part of the first.
    fn keys_of_client(&mut self, server: NodeId) {
        for (first, second) in [("command", "args"), ("host", "port"), ("transport", "command"), ("transport", "port")]
        {
            let find = |key: &str| self.document.entry_of(server, key);
            if let (Some(_), Some(second)) = (find(first), find(second)) {
                self.remove_entry(server, second);
            }
        }
    }

    /// `folio: 1.0` and `folio: "1"`.
    fn language_version(&mut self, version: NodeId) {
        let Some(text) = self.document.scalar_of(version).map(str::to_owned) else { return };
        if self.document.json(version).is_i64() {
            return;
        }
        let (span, found) = (self.span(version), self.describe(version));
        let is_one = ["1", "1.0", "v1"].contains(&text.as_str());
        let diagnostic = self.report.error(Code::WrongType, span, format!("expected an integer, found {found}"));
        if is_one {
            diagnostic.help("write `1`").fix(span, "1");
        } else {
            diagnostic.help(VERSION_HELP).suggest(span, "1");
        }
        let one = self.document.add_plain(1, span);
        self.document.replace(version, one);
    }

    /// `version: 1` in the place of `folio: 1`.
    fn version_key(&mut self, root: NodeId) {
        let Some(version) = self.document.entry_of(root, "version") else { return };
        let is_other = ["folio", "name"].iter().any(|key| self.document.entry_of(root, key).is_some());
        if is_other {
            return;
        }
        let at = self.span(version.key);
        let is_one = self.document.scalar_of(version.value) == Some("1");
        let span = Span { end: self.span(version.value).end, ..at };
        let diagnostic = self.report.error(Code::UnknownKey, at, "unknown key `version`").help(VERSION_HELP);
        if is_one {
            diagnostic.fix(span, "folio: 1");
        }
        let (key, value) = (self.document.add_string("folio", at), self.document.add_plain(1, at));
        self.replace_entry(root, version, MapEntry { key, value });
    }

    /// `name`, `version` and others beside `server`.
    fn server_keys(&mut self, root: NodeId) {
        let known = struct_keys::<Manifest>();
        let of_server: Vec<&str> = struct_keys::<Server>().iter().copied().filter(|key| !known.contains(key)).collect();
        let lacks_name = ["server", "name"].iter().all(|key| self.document.entry_of(root, key).is_none());
        self.nest_keys(root, "server", &of_server);
        if let Some(server) = self.document.entry_of(root, "server").filter(|_| lacks_name) {
            // The name is what the help shows.
            let name =
                ["name", "my-server"].map(|text| self.document.add_string(text, self.document.location(root).span()));
            let [key, value] = name;
            let mut entries = self.document.entries_of(server.value).unwrap_or_default();
            entries.push(MapEntry { key, value });
            let map = self.document.add_map(entries, self.span(server.value));
            self.document.replace(server.value, map);
        }
    }
}
