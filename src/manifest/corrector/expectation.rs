//! What a test expects, as other test runners write it.

use super::Corrector;
use super::kind::MapKind;
use crate::diagnostic::{Code, Span};
use crate::manifest::Expect;
use crate::yaml::{MapEntry, NodeId, struct_keys};

impl Corrector<'_> {
    /// A test, and its cases: what is expected is most often a text that the answer contains.
    pub(super) fn test(&mut self, test: NodeId) {
        for (wrong, meant) in [("call", "tool"), ("get", "prompt"), ("read", "resource")] {
            let is_free = self.document.entry_of(test, meant).is_none();
            if let Some(written) = self.document.entry_of(test, wrong).filter(|_| is_free) {
                self.rename_key(test, written, meant);
            }
        }
        let known = MapKind::Test.keys();
        let expected: Vec<&str> = struct_keys::<Expect>().iter().copied().filter(|key| !known.contains(key)).collect();
        self.nest_keys(test, "expect", &expected);
        let is_tool = self.document.entry_of(test, "tool").is_some();
        self.with_value_of(test, "expect", |corrector, expect| corrector.expectation(expect, is_tool));
        self.with_value_of(test, "cases", |corrector, cases| {
            for case in corrector.document.items_of(cases).unwrap_or_default() {
                corrector.with_value_of(case, "expect", |corrector, expect| corrector.expectation(expect, is_tool));
            }
        });
    }

    fn expectation(&mut self, expect: NodeId, is_tool: bool) {
        let items = self.document.items_of(expect);
        let is_list = items.is_some_and(|items| items.iter().all(|item| self.document.scalar_of(*item).is_some()));
        if self.document.scalar_of(expect).is_some() || is_list {
            return self.wrap(expect, "contains", false);
        }
        if let Some(error) = self.document.entry_of(expect, "error")
            && let Some(is_expected) = self.document.json(error.value).as_bool()
        {
            self.error_flag(expect, error, is_expected && is_tool);
        }
    }

    /// `error: true`, where a part of the message is due.
    fn error_flag(&mut self, expect: NodeId, error: MapEntry, becomes_flag: bool) {
        let (at, span) = (self.span(error.value), self.span(error.key));
        let found = self.describe(error.value);
        let is_free = self.document.entry_of(expect, "isError").is_none();
        let diagnostic =
            self.report.error(Code::WrongType, at, format!("expected a text that the error contains, found {found}"));
        if becomes_flag && is_free {
            let place = Span { end: at.end, ..span };
            diagnostic.help("write `isError: true`").fix(place, "isError: true");
        } else if becomes_flag {
            diagnostic.help("remove it: `isError` says the same");
        } else {
            diagnostic.help("write `error: …` with words of the error, or leave it out where none is expected");
        }
        let (key, value) = (self.document.add_string("isError", span), self.document.add_plain(becomes_flag, at));
        let meant = MapEntry { key, value };
        self.replace_entry(expect, error, meant);
    }
}
