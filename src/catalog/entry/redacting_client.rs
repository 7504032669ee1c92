//! A client for steps that hides the folder of the pack in log messages and progress, and names the pack in them.

use std::path::Path;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::action::{
    AskError, ChangeNotification, ClientCapability, LogNotification, McpClient, ProgressUpdate, QuestionRound,
};
use crate::compile::NamePrefix;

/// A client that does not learn the folder of the pack.
pub(in crate::catalog) struct RedactingClient<'a> {
    pub(in crate::catalog) client: &'a dyn McpClient,
    /// The folder of the pack, which is `.` to the client.
    pub(in crate::catalog) folder: &'a Path,
    /// The prefix of the names of the pack's entries, with which its loggers begin.
    pub(in crate::catalog) prefix: &'a NamePrefix,
}

impl RedactingClient<'_> {
    fn redact_text(&self, text: &mut String) {
        let folder = self.folder.to_string_lossy();
        if folder.len() > 1 && text.contains(&*folder) {
            *text = text.replace(&*folder, ".");
        }
    }

    fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_value(field)),
            _ => {}
        }
    }
}

impl McpClient for RedactingClient<'_> {
    fn has_capability(&self, capability: ClientCapability) -> bool {
        self.client.has_capability(capability)
    }

    fn declared_capabilities(&self) -> Option<Map<String, Value>> {
        self.client.declared_capabilities()
    }

    fn allows_root(&self, root: &Path) -> bool {
        self.client.allows_root(root)
    }

    fn ask<'a>(&'a self, round: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>> {
        self.client.ask(round)
    }

    fn log(&self, mut message: LogNotification) -> BoxFuture<'_, ()> {
        self.redact_value(&mut message.data);
        if self.prefix.strip(&message.logger).is_none() {
            message.logger = self.prefix.qualify(&message.logger);
        }
        self.client.log(message)
    }

    fn wants_progress(&self) -> bool {
        self.client.wants_progress()
    }

    fn progress(&self, mut update: ProgressUpdate) -> BoxFuture<'_, ()> {
        update.message.iter_mut().for_each(|message| self.redact_text(message));
        self.client.progress(update)
    }

    fn notify(&self, notification: ChangeNotification) {
        self.client.notify(notification);
    }
}
