//! The client as steps see it: what they tell it holds not where on the machine the server is.

use std::path::Path;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::action::{Client, Message, Need, Notice, Progressed, Round, Unanswered};

/// A client that is not told where the server is.
pub(super) struct Discreet<'a> {
    pub(super) client: &'a dyn Client,
    /// The folder of the pack, which is `.` to the client.
    pub(super) folder: &'a Path,
}

impl Discreet<'_> {
    fn text(&self, text: &mut String) {
        let folder = self.folder.to_string_lossy();
        if folder.len() > 1 && text.contains(&*folder) {
            *text = text.replace(&*folder, ".");
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.value(field)),
            _ => {}
        }
    }
}

impl Client for Discreet<'_> {
    fn can(&self, need: Need) -> bool {
        self.client.can(need)
    }

    fn declared(&self) -> Option<Map<String, Value>> {
        self.client.declared()
    }

    fn ask<'a>(&'a self, round: &'a Round) -> BoxFuture<'a, Result<Map<String, Value>, Unanswered>> {
        self.client.ask(round)
    }

    fn log(&self, mut message: Message) -> BoxFuture<'_, ()> {
        self.value(&mut message.data);
        self.client.log(message)
    }

    fn progress(&self, mut progressed: Progressed) -> BoxFuture<'_, ()> {
        progressed.message.iter_mut().for_each(|message| self.text(message));
        self.client.progress(progressed)
    }

    fn notify(&self, notice: Notice) {
        self.client.notify(notice);
    }
}
