//! Warns of `{name}`, `{% if %}` and `~`, which nothing expands.

use super::{Compiler, ShellVariableCheck};
use crate::diagnostic::Code;
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// What to write instead of `~`.
pub const TILDE_HELP: &str = "`~` is not expanded: write a path relative to this file";

/// The words that begin a tag of Jinja or Liquid.
const TAG_WORDS: &[&str] = &["if", "for", "else", "elif", "endif", "endfor", "set", "include", "block", "raw"];

impl Compiler<'_> {
    pub(super) fn warn_other_placeholders(&mut self, text: &Spanned<String>, check: ShellVariableCheck) {
        self.warn_single_braces(text);
        self.warn_tag(text);
        if check == ShellVariableCheck::ArgvElement && (text.as_str() == "~" || text.starts_with("~/")) {
            let rest = text.trim_start_matches('~');
            self.warning(Code::Unused, text.location, "`~` is not expanded")
                .help(format!("declare `HOME` under `env`, and write `{{{{env.HOME}}}}{rest}`"));
        }
    }

    /// `{who}` of an argument.
    fn warn_single_braces(&mut self, text: &Spanned<String>) {
        for (start, _) in text.match_indices('{') {
            let Some((name, after)) = text.get(start + 1..).and_then(|rest| rest.split_once('}')) else { return };
            let is_other = text.get(..start).is_some_and(|before| before.ends_with(['{', '$', '\\', '#', '%']));
            if is_other || after.starts_with('}') || !is_identifier(name) || !self.is_argument(name) {
                continue;
            }
            let span = self.span_within(text.location, start..start + name.len() + 2);
            self.warning(Code::Unused, span, format!("`{{{name}}}` is not expanded"))
                .help(format!("write `{{{{{name}}}}}`"))
                .suggest(span, format!("{{{{{name}}}}}"));
        }
    }

    /// The first `{% if x %}`.
    fn warn_tag(&mut self, text: &Spanned<String>) {
        let Some((before, rest)) = text.split_once("{%") else { return };
        let Some((tag, _)) = rest.split_once("%}") else { return };
        let word = tag.trim_matches(['-', ' ']).split(' ').next().unwrap_or_default();
        if TAG_WORDS.contains(&word) {
            let span = self.span_within(text.location, before.len()..before.len() + tag.len() + 4);
            self.warning(Code::Unused, span, format!("`{{%{tag}%}}` is not expanded"))
                .help("write `{{#if x}}…{{else}}…{{/if}}`, or `{{#each items}}…{{/each}}`");
        }
    }
}
