//! What a rule makes of a value: the error, what to write instead, and the value as it is read.

use serde_json::Value;

use super::pattern::{self, Captures};
use super::rules::SCRIPT_STEP;
use super::{Corrector, ParsedRule};
use crate::diagnostic::{Code, Severity, Span};
use crate::yaml::{MapEntry, NodeId, entry_with_lines, flow_scalar, report_missing_space};

/// The longest text that is shown on one line.
const MAX_LINE_BYTES: usize = 160;

/// The most lines that are shown.
const MAX_LINES: usize = 16;

/// What to write.
pub(super) struct Suggestion {
    /// For the help: on one line, or over several where it is long.
    pub(super) shown: String,
    /// The text for a span, where nothing else of the file is lost with it.
    pub(super) fix: Option<(Span, String)>,
}

impl Corrector<'_> {
    /// Reports a mistake, and reads the value as what was meant.
    pub(super) fn apply(&mut self, parsed: &ParsedRule, node: NodeId, mut captures: Captures) {
        let meant = pattern::read(parsed.rule.meant);
        if parsed.written.is_object() && meant.is_object() {
            return self.replace_entries(parsed, &meant, node, &captures);
        }
        // What replaces a value may hold that value.
        captures.replace(node, self.document.add_copy(node));
        self.replace_value(parsed, &meant, node, &captures);
    }

    fn replace_value(&mut self, parsed: &ParsedRule, meant: &Value, node: NodeId, captures: &Captures) {
        let at = self.span(node);
        let Some(meant) = self.build(meant, captures, at) else { return };
        let key = captures.entries.first().map(|entry| entry.key);
        let message = match (key, self.document.items_of(meant), self.document.entries_of(meant)) {
            (Some(_), ..) => "unknown key `{key}`",
            (_, Some(_), _) => "expected a list, found {found}",
            (_, _, Some(_)) => "expected a map, found {found}",
            _ => "unexpected value {found}",
        };
        let suggestion = self.suggest_value(node, meant);
        let lacks_space = !self.is_quiet && key.is_none() && report_missing_space(at, self.report);
        if !lacks_space {
            self.report_mistake(parsed, node, key, captures, message, suggestion);
        }
        // A key without its space is not a program.
        let is_program = lacks_space && self.document.entry_of(meant, "exec").is_some();
        let reads = if is_program { Some(SCRIPT_STEP) } else { parsed.rule.reads };
        let reads = reads.and_then(|reads| self.build(&pattern::read(reads), captures, at));
        self.document.replace(node, reads.unwrap_or(meant));
        self.is_quiet = true;
    }

    fn replace_entries(&mut self, parsed: &ParsedRule, meant: &Value, map: NodeId, captures: &Captures) {
        let Some(first) = captures.entries.first().copied() else { return };
        let at = self.span(first.key);
        let meant = self.build_entries(meant, captures, at);
        let is_same = |one: &MapEntry, other: &MapEntry| {
            one.value == other.value && self.document.key_text(one.key) == self.document.key_text(other.key)
        };
        let is_new = |entry: &&MapEntry| !captures.entries.iter().any(|other| is_same(entry, other));
        let is_gone = |entry: &&MapEntry| !meant.iter().any(|other| is_same(entry, other));
        let added: Vec<MapEntry> = meant.iter().filter(is_new).copied().collect();
        let removed: Vec<MapEntry> = captures.entries.iter().filter(is_gone).copied().collect();
        let is_wrong = |entry: &&MapEntry| {
            let key = self.document.key_text(entry.key);
            !meant.iter().any(|other| self.document.key_text(other.key) == key)
        };
        let wrong = removed.iter().find(is_wrong).or(removed.first()).map_or(first.key, |entry| entry.key);
        let suggestion = self.suggest_entries(map, &removed, &added);
        self.report_mistake(parsed, map, Some(wrong), captures, "unknown key `{key}`", suggestion);
        let reads = parsed.rule.reads.map(|reads| self.build_entries(&pattern::read(reads), captures, at));
        self.put_entries(map, &removed, reads.unwrap_or(added));
    }

    /// Reads entries instead of others; what is wrong within them follows from what is reported.
    pub(super) fn put_entries(&mut self, map: NodeId, removed: &[MapEntry], added: Vec<MapEntry>) {
        let mut entries = self.document.entries_of(map).unwrap_or_default();
        let is_removed = |entry: &MapEntry| removed.iter().any(|removed| removed.key == entry.key);
        let mut at = entries.iter().position(is_removed).unwrap_or(entries.len());
        entries.retain(|entry| !is_removed(entry));
        for mut entry in added {
            self.reported.insert(entry.value);
            let name = self.document.key_text(entry.key).to_owned();
            let same = removed.iter().find(|removed| self.document.key_text(removed.key) == name);
            if let Some(same) = same.filter(|_| self.document.json(entry.value).is_null()) {
                // What is reported elsewhere points to what is written.
                self.document.replace(same.value, entry.value);
                entry = *same;
            }
            if !entries.iter().any(|other| self.document.key_text(other.key) == name) {
                entries.insert(at.min(entries.len()), entry);
                at += 1;
            }
        }
        self.set_entries(map, entries);
    }

    fn report_mistake(
        &mut self,
        parsed: &ParsedRule,
        node: NodeId,
        key: Option<NodeId>,
        captures: &Captures,
        message: &str,
        suggestion: Suggestion,
    ) {
        let rule = parsed.rule;
        if self.is_quiet || rule.is_silent {
            return;
        }
        if rule.is_foreign {
            self.report.mark_foreign(self.document.file());
        }
        let key_at = |name: &str| self.document.entry_of(node, name).map(|entry| entry.key);
        let target = match rule.at {
            Some(name) => captures.get(name).or_else(|| key_at(name)).unwrap_or(node),
            None => key.unwrap_or(node),
        };
        let fill = |text: &str| {
            let text = text.replace("{found}", &self.describe(target));
            let text = text.replace("{key}", key.map_or("", |key| self.document.key_text(key)));
            captures.iter().fold(text, |text, (name, node)| {
                text.replace(&format!("{{{name}}}"), self.document.scalar_of(node).unwrap_or_default())
            })
        };
        let words = fill(rule.message.unwrap_or(message));
        let words = rule.note.map_or(words.clone(), |note| format!("{words}: {note}"));
        let help = match (rule.help, &suggestion.shown) {
            (Some(help), shown) => fill(help).replace("{meant}", shown),
            (None, shown) if shown.contains('\n') => format!("write\n{shown}"),
            (None, shown) => format!("write `{shown}`"),
        };
        let help = self.parent.map_or(help.clone(), |parent| format!("{help}, below `{parent}`"));
        let shows_all = self.parent.is_none() && rule.help.is_none_or(|help| help.contains("{meant}"));
        let code = rule.code.unwrap_or(if key.is_some() { Code::UnknownKey } else { Code::WrongType });
        let severity = if rule.is_warning { Severity::Warning } else { Severity::Error };
        let diagnostic = self.report.add(severity, code, self.document.location(target).span(), words);
        diagnostic.help(help);
        if let Some((span, text)) = suggestion.fix.filter(|_| shows_all && !rule.is_maybe) {
            diagnostic.fix(span, text);
        }
    }

    /// What to write instead of a value.
    fn suggest_value(&self, node: NodeId, meant: NodeId) -> Suggestion {
        let (span, raw) = (self.trimmed_span(node), self.raw(node).trim_end());
        let is_block = raw.contains('\n') && self.document.scalar_of(node).is_none() && !raw.starts_with(['{', '[']);
        let (line, json) = (self.line(meant), self.document.json(meant));
        let block = json.as_object().map(block);
        let fix = match self.lines_by_name(node).filter(|_| json.is_object()) {
            Some(lines) => Some((span, lines)),
            None => {
                let lines = block.clone().filter(|_| self.begins_line(span)).map(|block| self.indented(&block, span));
                let text = if is_block { lines } else { Some(line.clone()).filter(|_| !raw.contains('\n')) };
                text.filter(|_| self.is_plain(node, span)).map(|text| (span, text))
            }
        };
        Suggestion { shown: shown(line, block), fix }
    }

    /// What to write instead of entries of a map, if they are neighbours.
    pub(super) fn suggest_entries(&self, map: NodeId, removed: &[MapEntry], added: &[MapEntry]) -> Suggestion {
        let line = self.entries_line(added);
        if let ([old], [new]) = (removed, added)
            && old.value == new.value
        {
            let name = self.document.key_text(new.key).to_owned();
            let is_shown = self.document.scalar_of(new.value).is_none() && line.len() <= MAX_LINE_BYTES;
            return Suggestion {
                shown: if is_shown { line } else { name.clone() },
                fix: Some((self.span(old.key), name)),
            };
        }
        let value = |entry: &MapEntry| (self.document.key_text(entry.key).to_owned(), self.document.json(entry.value));
        let block = block(&added.iter().map(value).collect());
        let is_whole = self.document.entries_of(map).is_some_and(|entries| entries.len() == removed.len());
        let in_braces = self.raw(map).starts_with('{');
        let span = self.span_of_run(map, removed);
        let is_plain = |span: &Span| removed.iter().all(|entry| self.is_plain(entry.value, *span));
        let fix = span.filter(is_plain).filter(|_| !added.is_empty()).map(|span| match in_braces {
            true => (span, line.clone()),
            false => (span, self.indented(&block, span)),
        });
        let line = if is_whole && in_braces && added.len() > 1 { format!("{{ {line} }}") } else { line };
        Suggestion { shown: shown(line, Some(block)), fix }
    }

    /// A value on one line, with its scalars as they are written.
    fn line(&self, node: NodeId) -> String {
        if let Some(items) = self.document.items_of(node) {
            let items: Vec<String> = items.into_iter().map(|item| self.line(item)).collect();
            return format!("[{}]", items.join(", "));
        }
        if let Some(entries) = self.document.entries_of(node) {
            return match entries.is_empty() {
                true => "{}".to_owned(),
                false => format!("{{ {} }}", self.entries_line(&entries)),
            };
        }
        let (text, raw) = (self.document.scalar_of(node).unwrap_or("null"), self.raw(node));
        let unquoted = match raw.chars().next() {
            Some('"') => serde_json::from_str(raw).ok(),
            Some('\'') => raw.get(1..raw.len() - 1).map(|inner| inner.replace("''", "'")),
            _ => None,
        };
        let is_quoted = unquoted.is_some_and(|unquoted| unquoted == text) && !raw.contains('\n');
        let is_word =
            raw == text && text.chars().all(|character| character.is_alphanumeric() || "_-./".contains(character));
        match self.document.string_of(node) {
            Some(text) if !is_quoted && !is_word => flow_scalar(text),
            Some(_) => raw.to_owned(),
            None => text.to_owned(),
        }
    }

    /// Entries on one line, without braces.
    pub(super) fn entries_line(&self, entries: &[MapEntry]) -> String {
        let line = |entry: &MapEntry| format!("{}: {}", self.line(entry.key), self.line(entry.value));
        entries.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    /// From the first to the last of entries that are neighbours.
    fn span_of_run(&self, map: NodeId, entries: &[MapEntry]) -> Option<Span> {
        let all = self.document.entries_of(map)?;
        let position = |entry: &MapEntry| all.iter().position(|other| other.key == entry.key);
        let mut positions = entries.iter().map(position).collect::<Option<Vec<usize>>>()?;
        positions.sort_unstable();
        let (first, last) = (*positions.first()?, *positions.last()?);
        let (start, end) = (self.span(all.get(first)?.key), self.trimmed_span(all.get(last)?.value));
        (last - first + 1 == entries.len()).then_some(Span { end: end.end.max(start.end), ..start })
    }

    /// Whether a value can be written anew without a loss: no comment, anchor or alias, and no number as JSON does not write it.
    fn is_plain(&self, node: NodeId, span: Span) -> bool {
        let text = self.report.sources.text_of(span);
        let is_spelled_as_json = self.document.json(node) == self.document.json_as_spelled(node);
        is_spelled_as_json && ![" #", " &", " *", "<<:", " !"].iter().any(|sign| text.contains(sign))
    }

    fn trimmed_span(&self, node: NodeId) -> Span {
        let span = self.span(node);
        let length = self.raw(node).trim_end().len();
        Span { end: span.start + u32::try_from(length).unwrap_or_default(), ..span }
    }

    fn column(&self, span: Span) -> usize {
        let source = self.report.sources.get(span.file);
        source.map_or(0, |source| (source.position(span.start).column as usize).saturating_sub(1))
    }

    /// Whether only blanks come before a span on its line.
    fn begins_line(&self, span: Span) -> bool {
        let start = span.start.saturating_sub(u32::try_from(self.column(span)).unwrap_or_default());
        self.report.sources.text_of(Span { start, end: span.start, ..span }).trim().is_empty()
    }

    /// Lines for a span, whose indentation the first one has already.
    fn indented(&self, lines: &str, span: Span) -> String {
        lines.replace('\n', &format!("\n{}", " ".repeat(self.column(span))))
    }
}

/// The entries of a map, each on a line of its own.
fn block(map: &serde_json::Map<String, Value>) -> String {
    let text: String = map.iter().map(|(key, value)| entry_with_lines(key, value, 0)).collect();
    text.trim_end().to_owned()
}

/// What the help shows: the line if it is short, else the lines.
fn shown(line: String, block: Option<String>) -> String {
    let line = line.replace("\"…\"", "…");
    if line.len() <= MAX_LINE_BYTES && !line.contains("\\n") {
        return line;
    }
    let Some(block) = block else { return line };
    let lines: Vec<&str> = block.lines().collect();
    let more = if lines.len() > MAX_LINES { "\n…" } else { "" };
    lines.iter().take(MAX_LINES).copied().collect::<Vec<_>>().join("\n") + more
}
