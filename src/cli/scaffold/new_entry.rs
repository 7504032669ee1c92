//! The entries that `folio new` writes.

use clap::ValueEnum;
use serde_json::Value;

use crate::cli::request::EntryKind;
use crate::yaml::{entry, json_of};

/// What a tool does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum NewAction {
    /// Runs a program, without a shell
    #[default]
    Exec,
    /// Runs the text of a script
    Script,
    /// Sends an HTTP request, by the connection of the manifest if it has one
    Http,
    /// Reads a file of a folder of the manifest
    File,
}

/// An entry to write.
#[derive(Debug)]
pub(super) struct EntryDraft {
    pub(super) kind: EntryKind,
    pub(super) name: String,
    pub(super) description: String,
    /// What it does, if it is a tool.
    pub(super) action: NewAction,
    /// The name of the server.
    pub(super) server: String,
    pub(super) shared: SharedKeys,
}

/// What an entry may use of the manifest that it is added to.
#[derive(Debug, Default)]
pub(super) struct SharedKeys {
    /// The name of the only connection.
    pub(super) connection: Option<String>,
    /// The name of the first folder.
    pub(super) folder: Option<String>,
}

impl SharedKeys {
    /// Those in the text of a manifest without errors.
    pub(super) fn read(manifest: &str) -> SharedKeys {
        let json = json_of(manifest).unwrap_or_default();
        let names = |section: &str| -> Vec<String> {
            json.get(section).and_then(Value::as_object).into_iter().flat_map(|map| map.keys().cloned()).collect()
        };
        let connection =
            Some(names("connections")).filter(|names| names.len() == 1).and_then(|names| names.into_iter().next());
        SharedKeys { connection, folder: names("folders").into_iter().next() }
    }
}

impl EntryDraft {
    /// Its lines, from its name on.
    pub(super) fn text(&self) -> String {
        let description = entry("description", &Value::String(self.description.clone()), 2);
        let body = match (self.kind, self.action) {
            (EntryKind::Prompt, _) => PROMPT.to_owned(),
            (EntryKind::Resource, _) => RESOURCE.to_owned(),
            (EntryKind::Tool, NewAction::Exec) => EXEC_TOOL.to_owned(),
            (EntryKind::Tool, NewAction::Script) => SCRIPT_TOOL.to_owned(),
            (EntryKind::Tool, NewAction::Http) => {
                let url = match &self.shared.connection {
                    Some(name) => {
                        format!("{}      url: \"/items/{{{{id}}}}\"", entry("use", &Value::String(name.clone()), 6))
                    }
                    None => "      url: \"https://api.example.com/items/{{id}}\"".to_owned(),
                };
                format!("{HTTP_TOOL}{url}\n{HTTP_TOOL_ERRORS}")
            }
            (EntryKind::Tool, NewAction::File) => {
                let folder = self.shared.folder.clone().unwrap_or_default();
                format!("{FILE_TOOL}{}", entry("in", &Value::String(folder), 6))
            }
        };
        let head = entry(&self.name, &Value::Null, 0).replace(" null", "");
        let uri = match self.kind {
            EntryKind::Resource => format!("  uri: \"{}\"\n", self.uri()),
            EntryKind::Prompt | EntryKind::Tool => String::new(),
        };
        format!("{head}{uri}{description}{body}")
    }

    /// The URI of a resource.
    fn uri(&self) -> String {
        let name = &self.server;
        let is_scheme = name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains('/');
        format!("{}://{}", if is_scheme { name } else { "text" }, self.name)
    }

    /// The command that shows it, without the folder.
    pub(super) fn first_command(&self) -> String {
        match (self.kind, self.action) {
            (EntryKind::Prompt, _) => format!("get {} topic=tea", self.name),
            (EntryKind::Resource, _) => format!("read {}", self.uri()),
            (EntryKind::Tool, NewAction::Http) => format!("call {} id=1 --dry-run", self.name),
            (EntryKind::Tool, NewAction::File) => format!("call {} path=notes.txt", self.name),
            (EntryKind::Tool, _) => format!("call {} text=hello", self.name),
        }
    }
}

/// A description for who gives none: the name in words.
pub(super) fn name_in_words(name: &str) -> String {
    let words = name.replace(['-', '_'], " ");
    let mut letters = words.trim().chars();
    letters.next().map_or_else(|| name.to_owned(), |first| first.to_uppercase().chain(letters).collect())
}

const PROMPT: &str = "  arguments:
    topic: { description: What it is about, required: true }
  text: |
    Write about {{topic}}.
";

const RESOURCE: &str = "  mimeType: text/markdown
  text: |
    Write here what a client can read, or name a file: `file: notes.md`.
";

const EXEC_TOOL: &str = "  arguments:
    text: { description: What to print, required: true }
  run:
    exec: [echo, \"{{text}}\"]           # a program and its arguments: no shell reads them
";

const SCRIPT_TOOL: &str = "  arguments:
    text: { description: What to print, required: true }
  run:
    script:                           # no template: arguments arrive as environment variables
      shell: sh
      text: |
        printf '%s\\n' \"$text\"
";

const HTTP_TOOL: &str = "  arguments:
    id: { description: Which one, type: integer, minimum: 1, required: true }
  run:
    http:
";

const HTTP_TOOL_ERRORS: &str = "      onError: { 404: \"There is no item {{id}}.\" }
";

const FILE_TOOL: &str = "  annotations: { readOnlyHint: true }
  arguments:
    path: { description: The path in the folder, required: true }
  run:
    file:
      read: \"{{path}}\"
";
