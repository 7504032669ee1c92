//! Files of other programs in the place of a manifest, each of which is one mistake.

use super::Corrector;
use crate::diagnostic::Code;
use crate::yaml::{MapEntry, NodeId};

/// A file, and how it is known.
struct ForeignFormat {
    /// Keys, of which it has one.
    keys: &'static [&'static str],
    /// Another key that it has too; empty where one of the first is enough.
    required_key: &'static str,
    description: &'static str,
    help: &'static str,
}

const CLIENT_HELP: &str =
    "write it in the file of the client; `folio init` writes a manifest, and shows what the client needs";
const PROMPT_HELP: &str = "write `prompts: { NAME: { arguments: { who: {} }, text: \"Hello {{who}}\" } }`";
const INIT_HELP: &str = "a manifest is a file of its own: `folio init DIR` writes one";
const OPENAPI_HELP: &str = "`folio init DIR --openapi FILE` writes tools from it";

const FILES: &[ForeignFormat] = &[
    ForeignFormat {
        keys: &["mcpServers", "context_servers", "servers"],
        required_key: "",
        description: "configures a client",
        help: CLIENT_HELP,
    },
    ForeignFormat {
        keys: &["openapi", "swagger"],
        required_key: "paths",
        description: "describes an API",
        help: OPENAPI_HELP,
    },
    ForeignFormat { keys: &["jobs"], required_key: "", description: "belongs to a workflow", help: INIT_HELP },
    ForeignFormat { keys: &["services"], required_key: "", description: "belongs to a Compose file", help: INIT_HELP },
    ForeignFormat {
        keys: &["dependencies", "devDependencies", "scripts"],
        required_key: "name",
        description: "belongs to a package",
        help: INIT_HELP,
    },
    ForeignFormat {
        keys: &["packages", "remotes"],
        required_key: "$schema",
        description: "belongs to an entry of a registry",
        help: INIT_HELP,
    },
    ForeignFormat {
        keys: &["input_variables"],
        required_key: "template",
        description: "belongs to a prompt",
        help: PROMPT_HELP,
    },
];

impl Corrector<'_> {
    /// Reads the file of another program as an empty manifest.
    pub(super) fn foreign_file(&mut self, root: NodeId) {
        if self.document.items_of(root).is_some() {
            return self.list_of_plays(root);
        }
        let find = |key: &str| self.document.entry_of(root, key);
        let is_manifest = find("folio").is_some();
        let mut keys = FILES.iter().flat_map(|file| file.keys.iter().map(move |key| (file, *key)));
        let known = keys.find_map(|(file, key)| {
            let found = find(key)?;
            let is_certain = !is_manifest || key == "mcpServers";
            let has_beside = file.required_key.is_empty() || find(file.required_key).is_some();
            let has_value =
                self.document.entries_of(found.value).is_some() || self.document.scalar_of(found.value).is_some();
            let has_value = has_value || self.document.items_of(found.value).is_some();
            (is_certain && has_beside && has_value).then_some((file, key, found))
        });
        let Some((file, key, found)) = known else { return };
        let message = format!("unknown key `{key}`: it {}", file.description);
        self.report.error(Code::UnknownKey, self.span(found.key), message).help(file.help);
        match is_manifest {
            true => self.remove_entry(root, found),
            false => self.read_as_empty(root),
        }
    }

    /// A list of plays or of steps.
    fn list_of_plays(&mut self, root: NodeId) {
        let items = self.document.items_of(root).unwrap_or_default();
        let is_play = |item: &NodeId| {
            ["hosts", "tasks", "name", "uses", "run"].iter().any(|key| self.document.entry_of(*item, key).is_some())
        };
        if !items.iter().any(is_play) {
            return;
        }
        let (at, found) = (self.span(root), self.describe(root));
        self.report.error(Code::WrongType, at, format!("expected a map, found {found}")).help(INIT_HELP);
        self.read_as_empty(root);
    }

    fn read_as_empty(&mut self, root: NodeId) {
        let at = self.span(root);
        let [folio, server, name, value] =
            ["folio", "server", "name", "my-server"].map(|text| self.document.add_string(text, at));
        let one = self.document.add_plain(1, at);
        let named = self.document.add_map(vec![MapEntry { key: name, value }], at);
        let entries = vec![MapEntry { key: folio, value: one }, MapEntry { key: server, value: named }];
        let map = self.document.add_map(entries, at);
        self.document.replace(root, map);
    }
}
