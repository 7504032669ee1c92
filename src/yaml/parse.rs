//! Parses bytes into a [`Document`], with limits for hostile files.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;
use serde_yaml::granit_parser::{Event, Options, Parser, ScalarStyle, StructureStyle, Tag};

use super::document::{Document, MAX_LINEAR_KEYS, MapEntry, Node, NodeId, NodeKind, ScalarNode};
use super::missing_space::odd_blank;
use super::scalar::resolve;
use super::syntax_error::{SyntaxError, explain, merge_marker};
use crate::diagnostic::{Code, FileId, Report, Span, bytes_without_byte_order_mark};

/// The deepest nesting of a manifest.
const MAX_DEPTH: usize = 64;
/// How many nodes all aliases may expand to.
const MAX_ALIASED_NODES: u64 = 250_000;
/// How long the text of a node is at least in most manifests.
const BYTES_PER_NODE: usize = 32;
/// For how many nodes there is room at first.
const MAX_RESERVED_NODES: usize = 1 << 16;

/// Decodes UTF-8 (a byte order mark is skipped), or reports the encoding that the bytes seem to have.
pub fn decode(bytes: &[u8], path: &str, report: &mut Report) -> Option<FileId> {
    let bare = bytes_without_byte_order_mark(bytes);
    let wide_encoding = match bytes {
        [0xFF, 0xFE, ..] => Some("UTF-16 (little-endian)"),
        [0xFE, 0xFF, ..] => Some("UTF-16 (big-endian)"),
        [_, 0, _, 0, ..] => Some("UTF-16 (little-endian)"),
        [0, _, 0, _, ..] => Some("UTF-16 (big-endian)"),
        _ => None,
    };
    let (encoding, at) = match (wide_encoding, std::str::from_utf8(bare)) {
        (None, Ok(text)) => return Some(report.sources.add(path, text)),
        (Some(encoding), _) => (encoding, 0),
        (None, Err(error)) => ("Latin-1 or Windows-1252", error.valid_up_to()),
    };
    let file = report.sources.add(path, String::from_utf8_lossy(bare).into_owned());
    report
        .error(Code::Encoding, Span::new(file, at, at), format!("invalid UTF-8: the file seems to be {encoding}"))
        .help("save it as UTF-8");
    None
}

/// Parses YAML. `None` where the syntax is invalid, which is reported.
pub fn parse(file: FileId, report: &mut Report) -> Option<Document> {
    let text = report.sources.get(file)?.text().clone();
    TreeBuilder::new(file, &text, report).build(&text)
}

/// Parses the front matter of a text: the lines between its first line, `---`, and the next such line.
/// `None` where the text has none; else the tree, if it is valid, and the offset of the body.
pub fn parse_front_matter(file: FileId, report: &mut Report) -> Option<(Option<Document>, usize)> {
    parse_front_matter_at(file, 0, report)
}

/// The same from the line at `start` on.
pub fn parse_front_matter_at(file: FileId, start: usize, report: &mut Report) -> Option<(Option<Document>, usize)> {
    let text = report.sources.get(file)?.text().clone();
    let first = text.get(start..)?.split_inclusive('\n').next().filter(|line| line.trim_end() == "---")?;
    let mut at = start + first.len();
    for line in text.get(at..)?.split_inclusive('\n') {
        if line.trim_end() == "---" {
            // Of the same length as in the file, so that positions are those of the file.
            let before = " ".repeat(start) + &first.replace('-', " ");
            let front_matter = before + text.get(start + first.len()..at)?;
            return Some((TreeBuilder::new(file, &front_matter, report).build(&front_matter), at + line.len()));
        }
        at += line.len();
    }
    report
        .error(Code::Syntax, Span::new(file, start, start + 3), "unterminated front matter")
        .help("end it with a line `---`");
    Some((None, text.len()))
}

/// Front matter that is not read: it does not begin at the first character, or is TOML.
pub struct MisplacedFrontMatter {
    /// Where its first line is.
    pub range: Range<usize>,
    /// What is wrong with it.
    pub message: &'static str,
    /// How to mend it.
    pub help: &'static str,
}

/// Finds front matter that [`parse_front_matter`] does not read.
pub fn find_misplaced_front_matter(text: &str) -> Option<MisplacedFrontMatter> {
    let mut rest = text.trim_start();
    let comments = [("<!--", "-->"), ("{{!--", "--}}"), ("{{!", "}}")];
    let behind_comment = |text: &'_ str, (open, close): &(&str, &str)| {
        let (_, after) = text.strip_prefix(open)?.split_once(close)?;
        Some(text.len() - after.trim_start().len())
    };
    while let Some(end) = comments.iter().find_map(|signs| behind_comment(rest, signs)) {
        rest = rest.get(end..).unwrap_or_default();
    }
    let has_comment = text.trim_start().len() > rest.len();
    let mut lines = rest.lines();
    let opening = lines.next()?.trim();
    let mut inside = lines.by_ref().take_while(|line| line.trim() != opening);
    let first = inside.by_ref().find(|line| !line.trim().is_empty() && !line.starts_with('#'))?;
    inside.for_each(drop);
    let (message, help) = match opening {
        "---" if begins_with_key(first, ':') => (
            "front matter does not begin at the first character of the file",
            match has_comment {
                true => "move the comment below the front matter",
                false => "remove the lines and spaces before `---`",
            },
        ),
        "+++" if begins_with_key(first, '=') => {
            ("front matter in TOML is not read", "write it in YAML between two lines `---`: `key: value` for each key")
        }
        _ => return None,
    };
    let start = text.len() - rest.len();
    Some(MisplacedFrontMatter { range: start..start + opening.len(), message, help })
}

/// Whether a line begins an entry of a map, as the first of front matter does.
fn begins_with_key(line: &str, sign: char) -> bool {
    let Some((key, value)) = line.split_once(sign) else { return false };
    let is_of_key = |character: char| character.is_alphanumeric() || "-_.\"'".contains(character);
    let is_apart = sign != ':' || value.is_empty() || value.starts_with(' ');
    !key.trim().is_empty() && key.trim().chars().all(is_of_key) && is_apart
}

/// Parses strict JSON, with the same positions as YAML.
pub fn parse_json(file: FileId, report: &mut Report) -> Option<Document> {
    let text = report.sources.get(file)?.text().clone();
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => {
            let lines_above = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let at = (lines_above.map(str::len).sum::<usize>() + error.column().saturating_sub(1)).min(text.len());
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            report.error(Code::Syntax, Span::new(file, at, at), format!("invalid JSON: {message}"));
            return None;
        }
    };
    // A raw tab is always outside of strings in JSON, where YAML allows only spaces.
    let spaced = text.replace('\t', " ");
    let mut silent = Report::default();
    silent.sources.add("", "");
    match TreeBuilder::new(file, &spaced, &mut silent).build(&spaced) {
        Some(document) if document.json(document.root) == value => Some(document),
        // What YAML cannot express (a surrogate pair) keeps its value and loses its inner positions.
        _ => {
            let mut document = Document::new(file);
            document.root = add_without_position(&mut document, &value);
            Some(document)
        }
    }
}

fn add_without_position(document: &mut Document, value: &Value) -> NodeId {
    let kind = match value {
        Value::Array(items) => NodeKind::List(items.iter().map(|item| add_without_position(document, item)).collect()),
        Value::Object(map) => NodeKind::Map(
            map.iter()
                .map(|(key, value)| MapEntry {
                    key: add_without_position(document, &Value::String(key.clone())),
                    value: add_without_position(document, value),
                })
                .collect(),
        ),
        Value::String(text) => NodeKind::Scalar(ScalarNode::new(text, ScalarStyle::DoubleQuoted, value.clone())),
        other => NodeKind::Scalar(ScalarNode::new(&other.to_string(), ScalarStyle::Plain, other.clone())),
    };
    push(document, kind, Span::start_of(document.file))
}

fn push(document: &mut Document, kind: NodeKind, span: Span) -> NodeId {
    document.nodes.push(Node { kind, span });
    NodeId(u32::try_from(document.nodes.len() - 1).unwrap_or(u32::MAX))
}

/// The entries of a map that is still open.
#[derive(Default)]
struct OpenMap {
    entries: Vec<MapEntry>,
    /// The key whose value comes next.
    pending_key: Option<NodeId>,
    /// All keys, once they are more than [`MAX_LINEAR_KEYS`].
    seen: HashMap<Box<str>, NodeId>,
}

impl OpenMap {
    /// The entry with this key.
    fn find_key(&self, key: &str, document: &Document) -> Option<NodeId> {
        match self.entries.len() {
            0..=MAX_LINEAR_KEYS => {
                self.entries.iter().map(|entry| entry.key).find(|other| document.key_text(*other) == key)
            }
            _ => self.seen.get(key).copied(),
        }
    }

    fn add(&mut self, entry: MapEntry, document: &Document) {
        self.entries.push(entry);
        let unseen = match self.entries.len() {
            0..=MAX_LINEAR_KEYS => &[],
            many if many == MAX_LINEAR_KEYS + 1 => self.entries.as_slice(),
            _ => std::slice::from_ref(&entry),
        };
        for entry in unseen {
            self.seen.insert(document.key_text(entry.key).into(), entry.key);
        }
    }
}

/// A collection that is still open.
struct OpenCollection {
    /// `Some` in a map.
    map: Option<OpenMap>,
    items: Vec<NodeId>,
    start: usize,
    anchor: usize,
    /// Its number of nodes, aliases expanded.
    node_count: u64,
    flow: bool,
}

impl OpenCollection {
    fn new(map: Option<OpenMap>, range: &Range<usize>, anchor: usize, style: StructureStyle) -> OpenCollection {
        let flow = style == StructureStyle::Flow;
        OpenCollection { map, items: Vec::new(), start: range.start, anchor, node_count: 1, flow }
    }
}

struct TreeBuilder<'a> {
    document: Document,
    text: &'a str,
    report: &'a mut Report,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, (NodeId, u64)>,
    aliased: u64,
    root: Option<NodeId>,
}

impl<'a> TreeBuilder<'a> {
    fn new(file: FileId, text: &'a str, report: &'a mut Report) -> Self {
        let document = Document::new(file);
        TreeBuilder { document, text, report, open: Vec::new(), anchors: HashMap::new(), aliased: 0, root: None }
    }

    fn build(mut self, text: &str) -> Option<Document> {
        if let Some(error) = merge_marker(text) {
            self.report_syntax_error(error);
            return None;
        }
        self.document.nodes.reserve((text.len() / BYTES_PER_NODE).min(MAX_RESERVED_NODES));
        let mut options = Options::default();
        options.set_emit_comments(false);
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    let open = self.open.iter().rev().find(|open| open.flow).map(|open| open.start);
                    let at = error.marker().byte_offset().unwrap_or(0);
                    self.report_syntax_error(explain(self.text, error.kind(), at, open));
                    return None;
                }
            };
            let range = span.byte_range().unwrap_or(0..0);
            if matches!(event, Event::DocumentStart(..)) && self.root.is_some() {
                self.report
                    .error(Code::Syntax, self.span(range), "unexpected second YAML document")
                    .help("move the second document into its own file");
                break;
            }
            self.handle_event(event, range)?;
        }
        self.document.root = match self.root {
            Some(root) => root,
            None => self.scalar("", ScalarStyle::Plain, Value::Null, 0..0),
        };
        self.document.nodes.shrink_to_fit();
        Some(self.document)
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.document.file, range.start, range.end)
    }

    fn report_syntax_error(&mut self, error: SyntaxError) {
        let SyntaxError { range, message, help, replacement, suggestion, noticed_at } = error;
        let suggestion = suggestion.map(|(range, text)| (self.span(range), text));
        let (span, noticed_at) = (self.span(range), noticed_at.map(|at| self.span(at..at)));
        let diagnostic = self.report.error(Code::Syntax, span, message);
        diagnostic.help = help;
        if let Some(text) = replacement {
            diagnostic.fix(span, text);
        }
        if let Some((span, text)) = suggestion {
            diagnostic.suggest(span, text);
        }
        if let Some(noticed_at) = noticed_at {
            diagnostic.note(noticed_at, "noticed here");
        }
    }

    /// Adds one event to the tree. `None` where a limit is exceeded.
    fn handle_event(&mut self, event: Event<'_>, range: Range<usize>) -> Option<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.as_deref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix() == "str");
                let value = match style {
                    ScalarStyle::Plain if !is_text => resolve(&text),
                    _ => Value::String(text.to_string()),
                };
                self.refuse_tag(tag.as_deref(), range.clone());
                let node = self.scalar(&text, style, value, range);
                self.attach(node, 1, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.open_collection(OpenCollection::new(None, &range, anchor, style), range, tag.as_deref())
            }
            Event::MappingStart(style, anchor, tag) => {
                let map = Some(OpenMap::default());
                self.open_collection(OpenCollection::new(map, &range, anchor, style), range, tag.as_deref())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(range),
            Event::Alias(anchor) => self.expand_alias(anchor, range),
            _ => Some(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, value: Value, range: Range<usize>) -> NodeId {
        let span = self.span(range);
        push(&mut self.document, NodeKind::Scalar(ScalarNode::new(text, style, value)), span)
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, range: Range<usize>) {
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            let span = self.span(range);
            self.report
                .error(Code::Syntax, span, format!("unsupported YAML tag `{tag}`"))
                .help(tag_help(&tag.to_string()));
        }
    }

    fn open_collection(&mut self, collection: OpenCollection, range: Range<usize>, tag: Option<&Tag>) -> Option<()> {
        self.refuse_tag(tag, range.clone());
        if self.open.len() >= MAX_DEPTH {
            let span = self.span(range);
            self.report.error(Code::Nesting, span, format!("nesting exceeds {MAX_DEPTH} levels"));
            return None;
        }
        self.open.push(collection);
        Some(())
    }

    fn close_collection(&mut self, range: Range<usize>) -> Option<()> {
        let open = self.open.pop()?;
        let end = if open.flow { range.end } else { self.block_end(&open).unwrap_or(range.start) };
        let span = self.span(open.start..end.max(open.start));
        let kind = match open.map {
            Some(entries) => NodeKind::Map(self.resolve_merges(entries.entries)),
            None => NodeKind::List(open.items),
        };
        let kind = match self.unquoted_template(&kind, span) {
            Some(text) => NodeKind::Scalar(ScalarNode::new("", ScalarStyle::Plain, Value::String(text))),
            None => kind,
        };
        let node = push(&mut self.document, kind, span);
        self.attach(node, open.node_count, open.anchor)
    }

    /// The end of a block collection: the parser's own end mark is at the next token.
    fn block_end(&self, open: &OpenCollection) -> Option<usize> {
        let last = match &open.map {
            Some(entries) => entries.entries.last()?.value,
            None => *open.items.last()?,
        };
        self.document.node(last).map(|node| node.span.end as usize)
    }

    /// `key: {{name}}` is a map in YAML whose key is a map, meant as a template: read as one, and reported.
    fn unquoted_template(&mut self, kind: &NodeKind, span: Span) -> Option<String> {
        let source = self.text.get(span.start as usize..span.end as usize)?;
        if !matches!(kind, NodeKind::Map(_))
            || !source.starts_with("{{")
            || self.open.iter().any(|outer| outer.start + 1 == span.start as usize)
        {
            return None;
        }
        let rest = self.text.get(span.end as usize..)?.lines().next().unwrap_or_default().trim_start();
        if !(rest.is_empty() || rest.starts_with(['#', ',', '}', ']'])) {
            return None; // more text follows, which the parser reports
        }
        let text = source.to_owned();
        self.report
            .error(Code::Syntax, span, "unquoted template: YAML reads `{{` as a map")
            .help(format!("write \"{text}\", or use a block after `|`"))
            .fix(span, format!("\"{text}\""));
        Some(text)
    }

    fn expand_alias(&mut self, anchor: usize, range: Range<usize>) -> Option<()> {
        let Some((node, node_count)) = self.anchors.get(&anchor).copied() else {
            let span = self.span(range.clone());
            self.report.error(Code::Cycle, span, "recursive alias: it is inside the value that it refers to");
            let null = self.scalar("", ScalarStyle::Plain, Value::Null, range);
            return self.attach(null, 1, 0);
        };
        self.aliased = self.aliased.saturating_add(node_count);
        if self.aliased > MAX_ALIASED_NODES {
            let span = self.span(range);
            self.report.error(Code::TooLarge, span, format!("aliases expand to more than {MAX_ALIASED_NODES} values"));
            return None;
        }
        self.attach(node, node_count, 0)
    }

    /// Adds a finished node to the innermost open collection.
    fn attach(&mut self, node: NodeId, node_count: u64, anchor: usize) -> Option<()> {
        if anchor != 0 {
            self.anchors.insert(anchor, (node, node_count));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        open.node_count = open.node_count.saturating_add(node_count);
        match &mut open.map {
            None => open.items.push(node),
            Some(OpenMap { pending_key: waiting @ None, .. }) => *waiting = Some(node),
            Some(entries) => {
                if let Some(key) = entries.pending_key.take() {
                    self.refuse_odd_blank(key)?;
                    self.add_entry(MapEntry { key, value: node });
                }
            }
        }
        Some(())
    }

    /// Refuses a key with a blank that YAML takes for a letter: it is not the key that its author sees.
    fn refuse_odd_blank(&mut self, key: NodeId) -> Option<()> {
        let span = self.document.location(key).span();
        let raw = self.text.get(span.start as usize..span.end as usize).filter(|raw| !raw.is_ascii());
        let is_plain = |raw: &&str| *raw == self.document.key_text(key) && !raw.starts_with(['"', '\'']);
        let Some(blank) = raw.filter(is_plain).and_then(|raw| odd_blank(&format!("{raw}:"))) else {
            return Some(());
        };
        self.report_syntax_error(blank.moved_by(span.start as usize));
        None
    }

    /// Adds an entry to the open map, or reports an invalid or duplicate key.
    fn add_entry(&mut self, entry: MapEntry) {
        let Some(key) = self.document.node(entry.key) else { return };
        let NodeKind::Scalar(scalar) = &key.kind else {
            let braces =
                self.text.get((key.span.start as usize).saturating_sub(1)..).is_some_and(|rest| rest.starts_with("{{"));
            if !braces {
                self.report.error(Code::Syntax, key.span, "invalid key, expected a string");
            }
            return;
        };
        let text = scalar.text();
        let Some(entries) = self.open.last_mut().and_then(|open| open.map.as_mut()) else { return };
        // `<<` may be repeated.
        let is_merge = |key| self.document.is_merge_key(key);
        let first = entries.find_key(text, &self.document).filter(|first| !is_merge(*first) && !is_merge(entry.key));
        if let Some(first) = first.and_then(|first| self.document.node(first)) {
            let message = format!("duplicate key `{text}`");
            let diagnostic = self.report.error(Code::Duplicate, key.span, message);
            diagnostic.note(first.span, "first defined here").help("rename one of them, or remove it");
            return;
        }
        entries.add(entry, &self.document);
    }

    /// Resolves `<<`: the entries of the merged maps follow the map's own, which win.
    fn resolve_merges(&mut self, entries: Vec<MapEntry>) -> Vec<MapEntry> {
        if !entries.iter().any(|entry| self.document.is_merge_key(entry.key)) {
            return entries;
        }
        let (merges, mut all): (Vec<MapEntry>, Vec<MapEntry>) =
            entries.into_iter().partition(|entry| self.document.is_merge_key(entry.key));
        let sources: Vec<MapEntry> = merges.into_iter().flat_map(|merge| self.merge_sources(merge)).collect();
        let mut keys: HashSet<&str> = all.iter().map(|own| self.document.key_text(own.key)).collect();
        all.extend(sources.into_iter().filter(|source| keys.insert(self.document.key_text(source.key))));
        all
    }

    fn merge_sources(&mut self, merge: MapEntry) -> Vec<MapEntry> {
        let list = match self.document.node(merge.value).map(|node| &node.kind) {
            Some(NodeKind::List(items)) => items.clone(),
            _ => vec![merge.value],
        };
        let mut entries_of_all = Vec::new();
        for source in list {
            match self.document.node(source).map(|node| &node.kind) {
                Some(NodeKind::Map(entries)) => entries_of_all.extend(entries.iter().copied()),
                _ => {
                    let span = self.document.location(merge.key).span();
                    self.report.error(
                        Code::WrongType,
                        span,
                        "invalid merge key `<<`, expected a map or a list of maps",
                    );
                }
            }
        }
        entries_of_all
    }
}

/// What to write instead of a tag of another program.
fn tag_help(tag: &str) -> &'static str {
    match tag.trim_start_matches('!') {
        "include" | "import" => "write `include: [FILE]` at the top for entries, and `{ file: FILE }` for a text",
        "file" | "path" => "write `{ file: FILE }`",
        "env" | "ENV" | "env_var" | "secret" | "vault" => {
            "declare the variable under `env`, and write `\"{{env.NAME}}\"`"
        }
        "ref" | "reference" => "write an anchor `&NAME` there, and `*NAME` here",
        _ => "remove the tag",
    }
}
