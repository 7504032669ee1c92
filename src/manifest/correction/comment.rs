//! Texts that a `#` ends: after a space it begins a comment, as in `text: Fix #12`.

use super::Corrector;
use crate::diagnostic::{Code, Span};
use crate::yaml::NodeId;

/// The deepest map in which texts are looked for: the nesting of a manifest has the same limit.
const MAX_DEPTH: usize = 64;

/// Keys whose value is a text for people and models.
const TEXT_KEYS: &[&str] =
    &["text", "user", "assistant", "description", "title", "instructions", "message", "fail", "log"];

/// Words after a `#` that make a comment of it.
const COMMENT_WORDS: &[&str] = &["todo", "fixme", "xxx", "hack", "note", "noqa", "nolint", "region", "endregion"];

impl Corrector<'_> {
    /// Warns of texts that end before a `#` with a word, in a whole document.
    pub(super) fn texts_cut_by_comment(&mut self, root: NodeId) {
        let has_sign = self.report.sources.get(self.document.file()).is_some_and(|source| {
            let text = source.text();
            // One byte is found faster than two.
            let begins_comment = |at: usize| text.get(..at).is_some_and(|before| before.ends_with(' '));
            let mut signs = text.match_indices('#').filter(|(at, _)| begins_comment(*at));
            signs.any(|(at, _)| text.get(at + 1..).is_some_and(begins_text))
        });
        if has_sign {
            self.cut_texts_of(root, 0);
        }
    }

    fn cut_texts_of(&mut self, node: NodeId, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for item in self.document.items_of(node).unwrap_or_default() {
            self.cut_texts_of(item, depth + 1);
        }
        for entry in self.document.entries_of(node).unwrap_or_default() {
            if TEXT_KEYS.contains(&self.document.key_text(entry.key)) && self.document.string_of(entry.value).is_some()
            {
                self.cut_text(entry.value);
            }
            self.cut_texts_of(entry.value, depth + 1);
        }
    }

    fn cut_text(&mut self, node: NodeId) {
        let span = self.span(node);
        let is_plain = !self.raw(node).starts_with(['"', '\'', '|', '>']);
        let Some(comment) = self.comment_after(span).filter(|_| is_plain) else { return };
        let whole = Span { end: comment.end, ..span };
        let (text, shown) =
            (self.report.sources.text_of(whole).to_owned(), self.report.sources.text_of(comment).to_owned());
        let quoted = serde_json::Value::from(text.as_str()).to_string();
        let is_number =
            shown.strip_prefix('#').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        let message = format!("`{shown}` is a comment, and no part of the text");
        let raw = self.raw(node);
        if raw.rfind("{{") > raw.rfind("}}") || shown.starts_with("#{{") {
            self.report.error(Code::Syntax, comment, message).help(format!("write `{quoted}`")).fix(whole, quoted);
            let meant = self.document.add_string(&text, whole);
            return self.document.replace(node, meant);
        }
        let diagnostic = self.report.warning(Code::Unused, comment, message);
        if is_number {
            diagnostic.help(format!("write `{quoted}`")).fix(whole, quoted);
        } else {
            diagnostic.help(format!("did you mean `{quoted}`? else write a space after `#`")).suggest(whole, quoted);
        }
    }

    /// The comment on the line of a value, where it begins with a word and no space.
    fn comment_after(&self, value: Span) -> Option<Span> {
        let text = self.report.sources.get(value.file)?.text();
        let rest = text.get(value.end as usize..)?.lines().next()?;
        let comment = rest.trim_start_matches([' ', '\t']);
        let inside = comment.strip_prefix('#')?;
        let word = inside.split(|character: char| !is_word_char(character)).next()?;
        let is_cut = comment.len() < rest.len() && begins_text(inside);
        let start = value.end as usize + rest.len() - comment.len();
        let is_other = COMMENT_WORDS.contains(&word.to_lowercase().as_str());
        (is_cut && !is_other).then(|| Span::new(value.file, start, start + comment.trim_end().len()))
    }
}

/// Whether a comment begins as a text would go on: with a word, or a value.
fn begins_text(comment: &str) -> bool {
    comment.starts_with(is_word_char) || comment.starts_with("{{")
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric()
}
