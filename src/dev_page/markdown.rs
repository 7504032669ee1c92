//! Markdown as a tree of nodes, from which the page makes elements. HTML in it stays text, and no picture is loaded.

use std::mem;
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};
use serde_json::{Map, Value, json};

/// How deep nodes are nested; what is deeper is text in the last of them. Readers of JSON take twice as many levels.
const MAX_DEPTH: usize = 48;

/// How many parts a text may have. One with more is shown as it is written.
const MAX_EVENTS: usize = 100_000;

/// The largest text in bytes that is read as Markdown.
const MAX_BYTES: usize = 1 << 20;

/// The schemes of links that a reader may follow.
const LINK_SCHEMES: [&str; 3] = ["http:", "https:", "mailto:"];

/// A part of a text at its top level.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkdownBlock {
    /// A string, or an object with `tag`, `children` and attributes.
    pub node: Value,
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
}

/// The blocks of a text.
#[must_use]
pub fn markdown_blocks(text: &str) -> Vec<MarkdownBlock> {
    let is_readable = text.len() <= MAX_BYTES;
    let blocks = is_readable.then(|| TreeBuilder { text, blocks: Vec::new(), open: Vec::new(), too_deep: 0 }.build());
    blocks.flatten().unwrap_or_else(|| {
        let node = json!({ "tag": "pre", "children": [text] });
        vec![MarkdownBlock { node, range: 0..text.len() }]
    })
}

/// Makes a tree of the events of a parser.
struct TreeBuilder<'t> {
    text: &'t str,
    blocks: Vec<MarkdownBlock>,
    /// The nodes that are not closed, outermost first.
    open: Vec<OpenNode>,
    /// How many nodes are open that are too deep to be nodes.
    too_deep: usize,
}

/// A node that is not closed.
struct OpenNode {
    kind: NodeKind,
    attributes: Map<String, Value>,
    children: Vec<Value>,
    range: Range<usize>,
}

/// What becomes of a node when it is closed.
enum NodeKind {
    Element(&'static str),
    /// A link that is shown as it is written.
    Plain,
    /// A picture, whose text is its description.
    Picture,
    /// HTML, which is a paragraph of text.
    Html,
    /// A table, with the alignments of its columns.
    Table(Vec<Alignment>),
    /// A row of a table, and whether it is the head.
    Row {
        is_head: bool,
    },
}

impl TreeBuilder<'_> {
    /// The blocks; `None` if there are too many parts.
    fn build(mut self) -> Option<Vec<MarkdownBlock>> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for (number, (event, range)) in Parser::new_ext(self.text, options).into_offset_iter().enumerate() {
            if number >= MAX_EVENTS {
                return None;
            }
            self.add_event(event, range);
        }
        Some(self.blocks)
    }

    fn add_event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(_) if self.too_deep > 0 || self.open.len() >= MAX_DEPTH => self.too_deep += 1,
            Event::Start(tag) => {
                let node = self.start(tag, range);
                self.open.push(node);
            }
            Event::End(_) if self.too_deep > 0 => self.too_deep -= 1,
            Event::End(_) => self.close(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.add_text(&text, range),
            Event::Code(code) => self.add(element("code", vec![Value::from(&*code)]), range),
            Event::SoftBreak => self.add_text("\n", range),
            Event::HardBreak => self.add(element("br", Vec::new()), range),
            Event::Rule => self.add(element("hr", Vec::new()), range),
            Event::TaskListMarker(checked) => self.add(json!({ "tag": "checkbox", "checked": checked }), range),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.add_text(&text, range);
            }
        }
    }

    fn start(&self, tag: Tag<'_>, range: Range<usize>) -> OpenNode {
        let mut attributes = Map::new();
        let kind = match tag {
            Tag::Heading { level, .. } => NodeKind::Element(heading_tag(level)),
            Tag::BlockQuote(_) => NodeKind::Element("blockquote"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next(),
                    CodeBlockKind::Indented => None,
                };
                attributes.extend(language.map(|language| ("language".to_owned(), language.into())));
                NodeKind::Element("pre")
            }
            Tag::HtmlBlock => NodeKind::Html,
            Tag::List(None) => NodeKind::Element("ul"),
            Tag::List(Some(start)) => {
                attributes.extend((start != 1).then(|| ("start".to_owned(), start.into())));
                NodeKind::Element("ol")
            }
            Tag::Item => NodeKind::Element("li"),
            Tag::Table(alignments) => NodeKind::Table(alignments),
            Tag::TableHead => NodeKind::Row { is_head: true },
            Tag::TableRow => NodeKind::Row { is_head: false },
            Tag::TableCell => self.cell(&mut attributes),
            Tag::Emphasis => NodeKind::Element("em"),
            Tag::Strong => NodeKind::Element("strong"),
            Tag::Strikethrough => NodeKind::Element("del"),
            Tag::Link { dest_url, .. } if is_followed(&dest_url) => {
                attributes.insert("href".to_owned(), Value::from(&*dest_url));
                NodeKind::Element("a")
            }
            Tag::Link { .. } => NodeKind::Plain,
            Tag::Image { .. } => NodeKind::Picture,
            _ => NodeKind::Element("p"),
        };
        OpenNode { kind, attributes, children: Vec::new(), range }
    }

    /// A cell of the row that is open, with the alignment of its column.
    fn cell(&self, attributes: &mut Map<String, Value>) -> NodeKind {
        let [.., OpenNode { kind: NodeKind::Table(alignments), .. }, row] = self.open.as_slice() else {
            return NodeKind::Element("td");
        };
        let align = alignments.get(row.children.len()).and_then(|alignment| match alignment {
            Alignment::None => None,
            Alignment::Left => Some("left"),
            Alignment::Center => Some("center"),
            Alignment::Right => Some("right"),
        });
        attributes.extend(align.map(|align| ("align".to_owned(), align.into())));
        NodeKind::Element(if matches!(row.kind, NodeKind::Row { is_head: true }) { "th" } else { "td" })
    }

    fn close(&mut self) {
        let Some(OpenNode { kind, attributes, mut children, range }) = self.open.pop() else { return };
        let node = match kind {
            NodeKind::Element(tag) => with_attributes(element(tag, children), attributes),
            NodeKind::Plain => {
                let written = self.text.get(range.clone()).unwrap_or_default().to_owned();
                return self.add_text(&written, range);
            }
            NodeKind::Picture => {
                json!({ "tag": "picture", "alt": children.iter().map(plain_text).collect::<String>() })
            }
            NodeKind::Html => element("p", vec![children.iter().map(plain_text).collect::<String>().trim_end().into()]),
            NodeKind::Table(_) => {
                let rows = if children.is_empty() { Vec::new() } else { children.split_off(1) };
                children.extend((!rows.is_empty()).then(|| element("tbody", rows)));
                element("table", children)
            }
            NodeKind::Row { is_head: true } => element("thead", vec![element("tr", children)]),
            NodeKind::Row { is_head: false } => element("tr", children),
        };
        self.add(node, range);
    }

    fn add(&mut self, node: Value, range: Range<usize>) {
        match self.open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => self.blocks.push(MarkdownBlock { node, range }),
        }
    }

    /// Adds text, to the text before it where there is some.
    fn add_text(&mut self, text: &str, range: Range<usize>) {
        match self.open.last_mut().and_then(|parent| parent.children.last_mut()) {
            Some(Value::String(before)) => before.push_str(text),
            _ => self.add(text.into(), range),
        }
    }
}

fn heading_tag(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h1",
        HeadingLevel::H2 => "h2",
        HeadingLevel::H3 => "h3",
        HeadingLevel::H4 => "h4",
        HeadingLevel::H5 => "h5",
        HeadingLevel::H6 => "h6",
    }
}

/// Whether a link leads to a page or to an address.
fn is_followed(url: &str) -> bool {
    let starts = |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    LINK_SCHEMES.iter().any(|scheme| starts(scheme)) && !url.contains(|character: char| character.is_control())
}

fn element(tag: &str, children: Vec<Value>) -> Value {
    json!({ "tag": tag, "children": children })
}

fn with_attributes(mut node: Value, mut attributes: Map<String, Value>) -> Value {
    if let Value::Object(fields) = &mut node {
        fields.append(&mut attributes);
    }
    node
}

/// The text of a node without its form.
fn plain_text(node: &Value) -> String {
    let mut text = String::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node {
            Value::String(part) => text.push_str(part),
            Value::Object(fields) => {
                let children = fields.get("children").and_then(Value::as_array);
                open.extend(children.into_iter().flatten().rev());
                text.push_str(fields.get("alt").and_then(Value::as_str).unwrap_or_default());
            }
            _ => {}
        }
    }
    text
}

/// Marks the blocks that an earlier text has not.
pub fn mark_changed(blocks: &mut [MarkdownBlock], text: &str, changed: impl Fn(&[&str]) -> Vec<bool>) {
    let sources: Vec<&str> = blocks.iter().map(|block| block_source(text, block)).collect();
    let changed = changed(&sources);
    for (block, _) in blocks.iter_mut().zip(changed).filter(|(_, is_changed)| *is_changed) {
        if let Value::String(text) = &mut block.node {
            block.node = element("p", vec![mem::take(text).into()]);
        }
        if let Value::Object(fields) = &mut block.node {
            fields.insert("changed".to_owned(), true.into());
        }
    }
}

/// A block as it is written.
pub fn block_source<'t>(text: &'t str, block: &MarkdownBlock) -> &'t str {
    text.get(block.range.clone()).unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str) -> Value {
        markdown_blocks(text).into_iter().map(|block| block.node).collect()
    }

    #[test]
    fn texts_become_trees() {
        for (text, expected) in [
            ("# A *b*", json!([{ "tag": "h1", "children": ["A ", { "tag": "em", "children": ["b"] }] }])),
            ("```js x\na < b\n```", json!([{ "tag": "pre", "children": ["a < b\n"], "language": "js" }])),
            (
                "3. a\n4. b",
                json!([{ "tag": "ol", "children": [{ "tag": "li", "children": ["a"] }, { "tag": "li", "children": ["b"] }], "start": 3 }]),
            ),
            (
                "- [x] a",
                json!([{ "tag": "ul", "children": [{ "tag": "li", "children": [{ "tag": "checkbox", "checked": true }, "a"] }] }]),
            ),
            (
                "|a|b|\n|-|:-:|\n|1|2|",
                json!([{ "tag": "table", "children": [
                    { "tag": "thead", "children": [{ "tag": "tr", "children": [
                        { "tag": "th", "children": ["a"] }, { "tag": "th", "children": ["b"], "align": "center" }] }] },
                    { "tag": "tbody", "children": [{ "tag": "tr", "children": [
                        { "tag": "td", "children": ["1"] }, { "tag": "td", "children": ["2"], "align": "center" }] }] },
                ] }]),
            ),
        ] {
            assert_eq!(nodes(text), expected, "{text}");
        }
    }

    #[test]
    fn html_and_links_that_lead_elsewhere_are_text() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "<script>alert(1)</script>"),
            ("<img src=x onerror=y>", "<img src=x onerror=y>"),
            ("[a](javascript:alert(1))", "[a](javascript:alert(1))"),
            ("[a](/etc/passwd \"t\")", "[a](/etc/passwd \"t\")"),
            ("<data:text/html,x>", "<data:text/html,x>"),
        ] {
            assert_eq!(nodes(text), json!([{ "tag": "p", "children": [expected] }]), "{text}");
        }
        let link = json!({ "tag": "a", "children": ["a"], "href": "HTTPS://x.example/?q=1" });
        assert_eq!(nodes("[a](HTTPS://x.example/?q=1)"), json!([{ "tag": "p", "children": [link] }]));
        let picture = json!({ "tag": "picture", "alt": "a b" });
        assert_eq!(nodes("![a *b*](https://x.example/p.png)"), json!([{ "tag": "p", "children": [picture] }]));
    }

    #[test]
    fn depth_and_parts_are_limited() {
        let deep = markdown_blocks(&format!("{} x", ">".repeat(50_000)));
        let depth = |mut node: &Value| {
            let mut depth = 0;
            while let Some(child) = node.get("children").and_then(|children| children.get(0)) {
                (node, depth) = (child, depth + 1);
            }
            depth
        };
        assert!(depth(&deep[0].node) <= MAX_DEPTH, "{}", depth(&deep[0].node));
        let long = "*a* ".repeat(MAX_EVENTS);
        assert_eq!(nodes(&long), json!([{ "tag": "pre", "children": [long] }]));
        let wide = format!("{}\n{}\n{}", "|a".repeat(2000), "|-".repeat(2000), "|b\n".repeat(20_000));
        assert_eq!(markdown_blocks(&wide)[0].node["tag"], "pre");
    }
}
