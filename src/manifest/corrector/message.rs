//! Messages of a prompt as MCP and the APIs of models write them: with `role` and `content`.

use super::text::scalar_as_written;
use super::{Correction, Corrector, suggest};
use crate::diagnostic::Code;
use crate::manifest::prompt::{SYSTEM_ROLE, SYSTEM_ROLE_HELP};
use crate::yaml::{MapEntry, NodeId};

impl Corrector<'_> {
    /// `messages`: a list, or the one message alone.
    pub(super) fn messages(&mut self, messages: NodeId) {
        if self.document.string_of(messages).is_some() {
            return self.one_text(messages);
        }
        if self.document.entries_of(messages).is_some() {
            self.one_message(messages);
        }
        for message in self.document.items_of(messages).unwrap_or_default() {
            if self.document.string_of(message).is_some() {
                self.wrap(message, "user", true);
            }
            self.message(message);
        }
    }

    /// The text of a single message.
    fn one_text(&mut self, text: NodeId) {
        let (span, written) = (self.span(text), self.raw(text).to_owned());
        let content = self.document.string_of(text).unwrap_or_default().to_owned();
        let (key, value) = (self.document.add_string("user", span), self.document.add_string(&content, span));
        let item = self.document.add_map(vec![MapEntry { key, value }], span);
        let list = self.document.add_list(vec![item], span);
        let text_of_list = format!("[{{ user: {} }}]", scalar_as_written(&written, &content));
        self.replace(
            text,
            "a list",
            Correction { text: text_of_list, is_certain: !written.contains('\n'), node: list },
        );
    }

    /// A single message, without its list.
    fn one_message(&mut self, message: NodeId) {
        let (span, written) = (self.span(message), self.raw(message).to_owned());
        let entries = self.document.entries_of(message).unwrap_or_default();
        let item = self.document.add_map(entries, span);
        let list = self.document.add_list(vec![item], span);
        let is_certain = written.starts_with('{') && !written.contains('\n');
        let text = if is_certain { format!("[{written}]") } else { "- user: …".to_owned() };
        self.replace(message, "a list", Correction { text, is_certain, node: list });
    }

    fn message(&mut self, message: NodeId) {
        for (written, role) in [("human", "user"), ("ai", "assistant"), ("model", "assistant")] {
            if let Some(entry) = self.document.entry_of(message, written) {
                self.rename_key(message, entry, role);
            }
        }
        self.block_alone(message);
        let Some(role) = self.document.entry_of(message, "role") else { return };
        let body = self.document.first_entry_of(message, &["content", "text"]);
        let name = self.document.string_of(role.value).unwrap_or_default().to_owned();
        let is_known = ["user", "assistant"].contains(&name.as_str());
        let key = if name == "assistant" { "assistant" } else { "user" };
        let span = self.span(role.key);
        let Some(body) = body.filter(|_| is_known || name == "system") else { return };
        let content = self.text_of_content(body.value);
        let entries = self.document.entries_of(message).map_or(0, |entries| entries.len());
        let text = content.map(|content| self.message_yaml(message, content, key));
        let is_certain = is_known && entries == 2 && text.is_some();
        let key_node = self.document.add_string(key, span);
        let value = content.unwrap_or_else(|| self.document.add_string("", span));
        let node = self.document.add_map(vec![MapEntry { key: key_node, value }], span);
        let whole = self.span(message);
        if name == "system" {
            self.report.error(Code::Role, self.span(role.value), SYSTEM_ROLE).help(SYSTEM_ROLE_HELP);
        } else {
            let words = "unexpected key `role`: a message is named after its role";
            let text = text.unwrap_or_else(|| format!("{key}: …"));
            let suggestion_text = self.suggestion(message, &text);
            let diagnostic = self.report.error(Code::UnknownKey, span, words);
            suggest(diagnostic, whole, &Correction { text, is_certain, node }, &suggestion_text);
        }
        self.document.replace(message, node);
    }

    /// `{ type: text, text: Hello }`, which has no role.
    fn block_alone(&mut self, message: NodeId) {
        let has_role = ["role", "user", "assistant"].iter().any(|key| self.document.entry_of(message, key).is_some());
        let (Some(kind), Some(text)) =
            (self.document.entry_of(message, "type"), self.document.entry_of(message, "text"))
        else {
            return;
        };
        let is_text = self.document.string_of(kind.value) == Some("text");
        if has_role || !is_text {
            return;
        }
        let (at, written) = (self.span(kind.key), self.raw(text.value).to_owned());
        let help =
            if written.contains('\n') { "write `user: …`".to_owned() } else { format!("write `user: {written}`") };
        self.report.error(Code::UnknownKey, at, "unknown key `type`: a message is named after its role").help(help);
        let key = self.document.add_string("user", at);
        let node = self.document.add_map(vec![MapEntry { key, value: text.value }], self.span(message));
        self.document.replace(message, node);
    }

    /// The text of `content`: itself, or that of `{ type: text, text: … }`.
    fn text_of_content(&self, content: NodeId) -> Option<NodeId> {
        if self.document.string_of(content).is_some() {
            return Some(content);
        }
        let text = self.document.entry_of(content, "text")?.value;
        let is_text = self
            .document
            .entry_of(content, "type")
            .is_none_or(|kind| self.document.string_of(kind.value) == Some("text"));
        (is_text && self.document.string_of(text).is_some()).then_some(text)
    }

    /// The message as it should be written.
    fn message_yaml(&self, message: NodeId, content: NodeId, key: &str) -> String {
        let (whole, written) = (self.raw(message), self.raw(content));
        if whole.starts_with('{') {
            let text = self.document.string_of(content).unwrap_or_default();
            return format!("{{ {key}: {} }}", scalar_as_written(written, text));
        }
        format!("{key}: {written}")
    }
}
