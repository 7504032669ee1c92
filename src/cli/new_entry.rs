//! The entries that `folio new` writes.

use clap::ValueEnum;
use serde_json::Value;

use super::EntryKind;
use crate::openapi::entry;

/// What a tool does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum NewAction {
    /// Runs a program, without a shell
    #[default]
    Exec,
    /// Runs the text of a script
    Script,
    /// Sends an HTTP request
    Http,
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
}

impl EntryDraft {
    /// Its lines, from its name on.
    pub(super) fn text(&self) -> String {
        let description = entry("description", &Value::String(self.description.clone()), 2);
        let body = match (self.kind, self.action) {
            (EntryKind::Prompt, _) => PROMPT,
            (EntryKind::Resource, _) => RESOURCE,
            (EntryKind::Tool, NewAction::Exec) => EXEC_TOOL,
            (EntryKind::Tool, NewAction::Script) => SCRIPT_TOOL,
            (EntryKind::Tool, NewAction::Http) => HTTP_TOOL,
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
      url: \"https://api.example.com/items/{{id}}\"
      onError: { 404: \"There is no item {{id}}.\" }
";
