//! Questions of `ask` without a name.

use super::{Correction, Corrector};
use crate::diagnostic::Code;
use crate::yaml::{MapEntry, NodeId};

/// What a question asks with, in the place of its name.
const KINDS: &[&str] = &["elicit", "sample", "roots"];
/// The keys of a form.
const FORM_KEYS: &[&str] = &["message", "schema", "url"];

impl Corrector<'_> {
    /// `ask: { message: …, schema: … }`, `ask: { elicit: … }` and `ask: Sure?`.
    pub(super) fn unnamed_question(&mut self, ask: NodeId) {
        let is_text = self.document.string_of(ask).is_some();
        let has = |keys: &[&str]| keys.iter().any(|key| self.has_direct(ask, key));
        let (is_form, is_kind) = (has(FORM_KEYS), has(KINDS));
        if !is_text && !is_form && !is_kind {
            return;
        }
        let at = self.span(ask);
        let written = self.flow_text(ask);
        let (mut text, mut node) = (written, self.document.add_copy(ask));
        if is_text {
            let message = self.document.add_string("message", at);
            (text, node) = (format!("{{ message: {text} }}"), self.map_of(message, node));
        }
        if !is_kind {
            let elicit = self.document.add_string("elicit", at);
            (text, node) = (format!("{{ elicit: {text} }}"), self.map_of(elicit, node));
        }
        let answer = self.document.add_string("answer", at);
        let node = self.map_of(answer, node);
        let text = format!("{{ answer: {text} }}");
        let is_certain = !is_text && !text.contains('\n');
        let diagnostic = self.report.error(Code::WrongType, at, "missing name of a question");
        super::suggest(diagnostic, at, &Correction { text: text.clone(), is_certain, node }, &help(&text, is_certain));
        self.document.replace(ask, node);
    }

    /// Whether a key of a question stands where its name is due: its value is no question.
    fn has_direct(&self, ask: NodeId, key: &str) -> bool {
        let Some(entry) = self.document.entry_of(ask, key) else { return false };
        let is_question = KINDS.iter().any(|kind| self.document.entry_of(entry.value, kind).is_some());
        !is_question
    }

    fn map_of(&mut self, key: NodeId, value: NodeId) -> NodeId {
        let at = self.span(value);
        self.document.add_map(vec![MapEntry { key, value }], at)
    }
}

fn help(text: &str, fits_on_line: bool) -> String {
    match fits_on_line {
        true => format!("write `{text}`: later steps read it as `steps.ID.answer`"),
        false => {
            "write `ask: { answer: { elicit: { message: … } } }`: later steps read it as `steps.ID.answer`".to_owned()
        }
    }
}
