//! Values of a shape that other formats give them: lists of what has a name, a text where a map is due, messages with a
//! `role`. Each is reported once, with what to write, and then read as what it was meant to be, so that nothing follows
//! from it.
//!
//! The mistakes are rows of tables: `rules` (another shape), `nests` (keys one level too high) and `files` (the file of
//! another program). What is not here: keys with another name, and values of no known form, which the deserializer
//! reports.

mod comment;
mod files;
mod indentation;
mod kind;
mod layout;
mod named_list;
mod nests;
mod pattern;
mod place;
mod rules;
mod shape;
mod suggestion;
mod type_expression;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::Value;

use crate::diagnostic::{Code, Report, Reporting, Span};
use crate::value_types::is_identifier;
use crate::yaml::{Document, MapEntry, NodeId};

/// Reads the entries of a manifest or a fragment.
pub fn correct_entries(document: &mut Document, report: &mut Report) {
    let root = document.root();
    let mut corrector = Corrector::new(document, report);
    corrector.foreign_file(root);
    corrector.texts_cut_by_comment(root);
    corrector.indentation(root);
    corrector.visit("manifest", root);
}

/// Reads the front matter of a prompt file.
pub fn correct_prompt(document: &mut Document, report: &mut Report) {
    let root = document.root();
    let mut corrector = Corrector::new(document, report);
    corrector.texts_cut_by_comment(root);
    corrector.visit("prompt", root);
}

struct Corrector<'a> {
    document: &'a mut Document,
    report: &'a mut Report,
    /// Values that a mistake already reported is about: what else is wrong within them follows from it.
    reported: HashSet<NodeId>,
    is_quiet: bool,
    /// The key below which the values that are read belong, where they are written beside it.
    parent: Option<&'static str>,
}

/// A row of the table of mistakes.
pub(super) struct Rule {
    /// The places where it is looked for, separated by spaces (place.rs).
    places: &'static str,
    written: &'static str,
    meant: &'static str,
    /// What the value is read as, where that is not what the help shows.
    reads: Option<&'static str>,
    /// The message instead of `unknown key` or `expected a map`. `{key}` is the wrong key, `{found}` the kind of value
    /// at the place of the error, `{x}` the text of a capture.
    message: Option<&'static str>,
    /// What is added to `unknown key`.
    note: Option<&'static str>,
    /// The help instead of `` write `{meant}` ``.
    help: Option<&'static str>,
    code: Option<Code>,
    /// The capture or the key that the error points to, instead of the first wrong key; the value itself where it is
    /// empty.
    at: Option<&'static str>,
    is_maybe: bool,
    is_warning: bool,
    /// Whether something else reports it.
    is_silent: bool,
    /// Whether the file is written for another program.
    is_foreign: bool,
}

const fn rule(places: &'static str, written: &'static str, meant: &'static str) -> Rule {
    Rule {
        places,
        written,
        meant,
        reads: None,
        message: None,
        note: None,
        help: None,
        code: None,
        at: None,
        is_maybe: false,
        is_warning: false,
        is_silent: false,
        is_foreign: false,
    }
}

impl Rule {
    const fn reads(self, reads: &'static str) -> Rule {
        Rule { reads: Some(reads), ..self }
    }

    const fn message(self, message: &'static str) -> Rule {
        Rule { message: Some(message), ..self }
    }

    const fn note(self, note: &'static str) -> Rule {
        Rule { note: Some(note), ..self }
    }

    const fn help(self, help: &'static str) -> Rule {
        Rule { help: Some(help), ..self }
    }

    const fn code(self, code: Code) -> Rule {
        Rule { code: Some(code), ..self }
    }

    const fn at(self, at: &'static str) -> Rule {
        Rule { at: Some(at), ..self }
    }

    const fn maybe(self) -> Rule {
        Rule { is_maybe: true, ..self }
    }

    const fn silent(self) -> Rule {
        Rule { is_silent: true, ..self }
    }

    const fn foreign(self) -> Rule {
        Rule { is_foreign: true, ..self }
    }

    const fn warning(self) -> Rule {
        Rule { is_warning: true, ..self }
    }
}

/// A rule with its shape read. What is meant is read where it applies, which is rare.
struct ParsedRule {
    rule: &'static Rule,
    written: Value,
    /// Where it is a map, the bits of keys of which a value has at least one.
    key_bits: Option<u64>,
}

static PARSED_RULES: LazyLock<Vec<ParsedRule>> = LazyLock::new(|| {
    let parsed = |rule: &'static Rule| {
        let written = pattern::read(rule.written);
        let key_bits = written.as_object().map(|shape| bits_of(pattern::named_keys(shape)));
        ParsedRule { rule, written, key_bits }
    };
    rules::RULES.iter().map(parsed).collect()
});

/// The rules of each place, in the order of the table.
static RULES_BY_PLACE: LazyLock<HashMap<&'static str, Vec<&'static ParsedRule>>> = LazyLock::new(|| {
    let mut by_place: HashMap<&str, Vec<&ParsedRule>> = HashMap::new();
    for rule in PARSED_RULES.iter() {
        rule.rule.places.split(' ').for_each(|place| by_place.entry(place).or_default().push(rule));
    }
    by_place
});

/// A bit for each of these keys. Several keys have the same one.
fn bits_of<'k>(keys: impl Iterator<Item = &'k str>) -> u64 {
    let number = |key: &str| key.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    keys.fold(0, |bits, key| bits | 1 << (number(key) % 64))
}

impl Reporting for Corrector<'_> {
    fn report(&mut self) -> &mut Report {
        self.report
    }
}

/// How often one value may be corrected: rules that undo each other are a mistake of the table.
const MAX_CORRECTIONS: usize = 8;

impl<'a> Corrector<'a> {
    fn new(document: &'a mut Document, report: &'a mut Report) -> Corrector<'a> {
        Corrector { document, report, reported: HashSet::new(), is_quiet: false, parent: None }
    }

    /// Corrects the value at a place, and those within it.
    fn visit(&mut self, place: &'static str, node: NodeId) {
        let outer = self.is_quiet;
        self.is_quiet |= self.reported.contains(&node);
        self.indentation_of(place, node);
        let rules = RULES_BY_PLACE.get(place).map(Vec::as_slice).unwrap_or_default();
        for _ in 0..MAX_CORRECTIONS {
            // Most values have no key of most rules.
            let present = bits_of(self.document.keys_of(node));
            let match_of = |rule: &&'static ParsedRule| {
                rule.key_bits.is_none_or(|bits| bits & present != 0).then_some(())?;
                Some((*rule, self.capture(&rule.written, node)?))
            };
            let Some((rule, captures)) = rules.iter().find_map(match_of) else { break };
            self.apply(rule, node, captures);
        }
        if place == "arguments" {
            self.optional_names(node);
        }
        self.nest_keys_of(place, node);
        for (child, value, is_named) in self.children(place, node) {
            let is_quiet = self.is_quiet;
            self.is_quiet |= !is_named;
            self.visit(child, value);
            self.is_quiet = is_quiet;
        }
        self.is_quiet = outer;
    }

    /// `who?: …`, as some languages write what is optional.
    fn optional_names(&mut self, arguments: NodeId) {
        for entry in self.document.entries_of(arguments).unwrap_or_default() {
            let key = self.document.key_text(entry.key).to_owned();
            let Some(name) = key.strip_suffix('?').filter(|name| is_identifier(name)) else { continue };
            if self.document.entry_of(arguments, name).is_some() {
                continue;
            }
            let at = self.span(entry.key);
            let meant =
                MapEntry { key: self.document.add_string(name, at), value: self.corrected("argument", entry.value) };
            let fix = self.suggest_entries(arguments, &[entry], &[meant]).fix.unwrap_or((at, name.to_owned()));
            if !self.is_quiet {
                self.report
                    .error(Code::BadName, at, format!("invalid argument name `{key}`"))
                    .help(format!("write `{name}`: an argument is optional unless it says `required: true`"))
                    .fix(fix.0, fix.1);
            }
            self.put_entries(arguments, &[entry], vec![meant]);
        }
    }

    /// A value as it was meant, without a word; the value itself if nothing is wrong with it.
    fn corrected(&mut self, place: &'static str, node: NodeId) -> NodeId {
        let (before, copy) = (self.document.json(node), self.document.add_copy(node));
        let outer = std::mem::replace(&mut self.is_quiet, true);
        self.visit(place, copy);
        self.is_quiet = outer;
        if self.document.json(copy) == before { node } else { copy }
    }

    fn is_null(&self, node: NodeId) -> bool {
        !self.document.is_map(node) && self.document.items_of(node).is_none() && self.document.scalar_of(node).is_none()
    }

    fn span(&self, node: NodeId) -> Span {
        self.document.location(node).span()
    }

    /// The text of a node as it is written.
    fn raw(&self, node: NodeId) -> &str {
        self.report.sources.text_of(self.span(node))
    }

    fn describe(&self, node: NodeId) -> String {
        match (self.document.items_of(node), self.document.entries_of(node)) {
            (Some(_), _) => "a list".to_owned(),
            (_, Some(_)) => "a map".to_owned(),
            _ if self.document.string_of(node).is_some() => "a string".to_owned(),
            _ => format!("`{}`", self.document.scalar_of(node).unwrap_or("null")),
        }
    }

    /// Replaces the entries of a map.
    fn set_entries(&mut self, map: NodeId, entries: Vec<MapEntry>) {
        let node = self.document.add_map(entries, self.span(map));
        self.document.replace(map, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_templates_of_all_rules_can_be_read() {
        for rule in PARSED_RULES.iter() {
            let (written, meant) = (rule.rule.written, rule.rule.meant);
            assert!(!rule.written.is_null() && !pattern::read(meant).is_null(), "{written} → {meant}");
            for place in rule.rule.places.split(' ') {
                assert!(place::is_place(place), "{place}");
            }
        }
    }

    #[test]
    fn shapes_and_changes_of_all_rules_are_known() {
        let mut report = Report::default();
        let file = report.sources.add("value", "[string, GET /x]");
        let mut document = crate::yaml::parse(file, &mut report).unwrap();
        let node = document.root();
        let texts = document.items_of(node).unwrap();
        let mut corrector = Corrector::new(&mut document, &mut report);
        let files = files::FILES.iter().map(|file| pattern::read(file.shape));
        for pattern in PARSED_RULES.iter().map(|rule| rule.written.clone()).chain(files) {
            for shape in names_after_colons(&pattern) {
                assert!(corrector.shape_fits(&shape, node, node).is_some(), "unknown shape `{shape}`: {pattern}");
            }
        }
        for template in rules::RULES.iter().flat_map(|rule| [Some(rule.meant), rule.reads]).flatten() {
            for change in names_after_colons(&pattern::read(template)) {
                let is_known = texts.iter().any(|text| corrector.changed(&change, *text, None).is_some());
                assert!(is_known, "unknown change `{change}`: {template}");
            }
        }
    }

    /// The shapes of a pattern, or the changes of a template: `text` of `$x:text`.
    fn names_after_colons(value: &Value) -> Vec<String> {
        let of_text = |text: &str| {
            let name = text.strip_prefix('$')?.split_once(':')?.1.trim_end_matches("...");
            Some(name.split('(').next().unwrap_or_default().to_owned())
        };
        match value {
            Value::String(text) => of_text(text).into_iter().collect(),
            Value::Array(items) => items.iter().flat_map(names_after_colons).collect(),
            Value::Object(entries) => entries
                .iter()
                .flat_map(|(key, value)| of_text(key).into_iter().chain(names_after_colons(value)))
                .collect(),
            _ => Vec::new(),
        }
    }
}
