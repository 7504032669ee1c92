//! One template: from text to something that can be filled.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::check::{Checked, Rules, check};
use super::engine::Engine;
use super::fault::{Altered, Fault, Place};
use super::lower::{Marks, label, lower};
use super::render::{Job, MARK, Mode, RenderError, text_of};
use super::scope::Scope;
use super::shape::Names;
use super::slot::{Filled, Slot, Written};
use super::syntax::{Expression, Hole, Node, Text, parse};
use super::term::{Term, plain_path};
use super::{encode, limit::MAX_OUTPUT};
use crate::budget::weight;

/// A text with holes, checked, for one kind of place.
#[derive(Debug)]
pub struct Template<S: Slot> {
    source: String,
    body: Body,
    reads: Vec<Vec<String>>,
    altered: Vec<Altered>,
    sole: Option<Vec<String>>,
    known: S::Known,
    slot: PhantomData<S>,
}

/// A part of a template that is nothing but text and plain variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text.
    Text(&'t str),
    /// The path of a variable.
    Variable(&'t [String]),
}

/// How a template is filled.
#[derive(Debug)]
enum Body {
    /// Text, plain variables and plain helpers, by ourselves.
    Pieces(Vec<Piece>),
    /// Anything, by Handlebars.
    Tree(Box<Tree>),
}

#[derive(Debug)]
struct Tree {
    engine: Arc<Engine>,
    tree: handlebars::Template,
    /// The smallest set of paths under which lies everything that is read.
    needs: Vec<Vec<String>>,
    /// The label of the only expression, where there is nothing else.
    only: Option<String>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Hole { term: Term, label: String, keeps: bool },
}

impl<S: Slot> Template<S> {
    /// Reads and checks a text against what will be in scope.
    ///
    /// # Errors
    /// Every fault there is, in the order of the text.
    pub fn compile(engine: &Arc<Engine>, text: &str, names: &Names) -> Result<Template<S>, Vec<Fault>> {
        Template::compile_as(engine, text, (names, true))
    }

    /// As `compile`; `simple: false` leaves even the simplest template to Handlebars.
    pub(super) fn compile_as(
        engine: &Arc<Engine>,
        text: &str,
        (names, simple): (&Names, bool),
    ) -> Result<Template<S>, Vec<Fault>> {
        let (nodes, mut faults) = parse(text);
        let rules = Rules { marked: S::MODE != Mode::Plain, encoded: S::MODE == Mode::Encoded, open: false };
        let mut checked = check(text, &nodes, names, (&engine.partials, rules));
        faults.append(&mut checked.faults);
        let sole = sole(&nodes).and_then(|hole| match &hole.expression {
            Expression::Path(path) => plain_path(path, &checked),
            _ => None,
        });
        let written = Written { text, nodes: &nodes, variable: sole.as_deref() };
        let (known, base) = S::inspect(&written, &mut faults);
        if !faults.is_empty() {
            return Err(sorted(faults));
        }
        let base = base.map(|span: Range<usize>| span.start);
        let pieces = if simple { pieces(text, &nodes, (&checked, base)) } else { None };
        let body = match pieces {
            Some(pieces) => Body::Pieces(pieces),
            None => Body::Tree(Box::new(tree(engine, &written, (&checked, base)).map_err(|fault| vec![*fault])?)),
        };
        let reads = checked.reads.into_iter().collect();
        let altered = checked.altered;
        Ok(Template { source: text.to_owned(), body, reads, altered, sole, known, slot: PhantomData })
    }

    /// Fills the template.
    ///
    /// # Errors
    /// A [`RenderError`] where a limit is passed, or where the place refuses a value.
    pub fn render(&self, scope: &Scope) -> Result<S::Output, RenderError> {
        let level = scope.budget().level();
        let (made, size) = scope.budget().run(|| self.render_once(scope))??;
        scope.budget().release(level, size);
        Ok(made)
    }

    /// Fills the template. Gives the outcome, and how much it holds.
    fn render_once(&self, scope: &Scope) -> Result<(S::Output, usize), RenderError> {
        if let Some(made) = self.typed(scope)? {
            return Ok(made);
        }
        let filled = match &self.body {
            Body::Pieces(pieces) => fill(pieces, scope, S::MODE)?,
            Body::Tree(tree) => {
                let text = tree.job(S::MODE, scope).text(scope.excerpt(&tree.needs)?)?;
                if S::MODE == Mode::Plain { Filled::unmarked(text) } else { unmark(&text) }
            }
        };
        let size = filled.text.len();
        S::finish(filled, &self.known).map(|made| (made, size))
    }

    /// The outcome that is made of a value rather than of its text, and how much it holds.
    fn typed(&self, scope: &Scope) -> Result<Option<(S::Output, usize)>, RenderError> {
        let Some(label) = self.only().filter(|_| S::TYPED) else { return Ok(None) };
        let value = self.value(scope)?;
        let size = if S::KEEPS_VALUE { weight(&value) } else { 0 };
        scope.budget().hold(size)?;
        let made = S::finish_value(&value, label, &self.known).transpose()?;
        Ok(made.map(|made| (made, size)))
    }

    /// What messages call the expression that the whole template is.
    fn only(&self) -> Option<&str> {
        match &self.body {
            Body::Pieces(pieces) => match pieces.as_slice() {
                [Piece::Hole { label, .. }] => Some(label),
                _ => None,
            },
            Body::Tree(tree) => tree.only.as_deref(),
        }
    }

    fn value<'v>(&'v self, scope: &'v Scope) -> Result<Cow<'v, Value>, RenderError> {
        match &self.body {
            Body::Pieces(pieces) => match pieces.as_slice() {
                [Piece::Hole { term, .. }] => term.value(scope),
                _ => Ok(Cow::Owned(Value::Null)),
            },
            Body::Tree(tree) => tree.job(Mode::Captured, scope).value(scope.excerpt(&tree.needs)?).map(Cow::Owned),
        }
    }

    /// The paths that it reads: `["env", "TOKEN"]`, `["steps", "a", "json"]`; as written, so an argument read by
    /// its bare name is `["diff"]`, else `["arguments", "diff"]`. A path ends where a list is gone into, and
    /// where an object is read as a whole or by a computed name. What partials read is among them.
    pub fn reads(&self) -> &[Vec<String>] {
        &self.reads
    }

    /// The values that cannot be recognised in what it makes of them.
    pub fn altered(&self) -> &[Altered] {
        &self.altered
    }

    /// The path, when the text is exactly one `{{path}}`.
    pub fn sole(&self) -> Option<&[String]> {
        self.sole.as_deref()
    }

    /// The text, when there is no hole in it.
    pub fn literal(&self) -> Option<&str> {
        match &self.body {
            Body::Pieces(pieces) => match pieces.as_slice() {
                [] => Some(""),
                [Piece::Text(text)] => Some(text),
                _ => None,
            },
            Body::Tree(_) => None,
        }
    }

    /// Its parts in order, where it is nothing but text and plain variables.
    pub fn parts(&self) -> Option<Vec<Part<'_>>> {
        let Body::Pieces(pieces) = &self.body else { return None };
        let parts = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Some(Part::Text(text)),
            Piece::Hole { term: Term::Path(path), .. } => Some(Part::Variable(path)),
            Piece::Hole { .. } => None,
        });
        parts.collect()
    }

    /// The text that it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn known(&self) -> &S::Known {
        &self.known
    }
}

fn sorted(mut faults: Vec<Fault>) -> Vec<Fault> {
    faults.sort_by_key(|fault| match &fault.place {
        Place::Here(range) => (range.start, range.end, None),
        Place::Partial { name, range, used_at } => (used_at.start, used_at.end, Some((name.clone(), range.start))),
    });
    faults.dedup();
    faults
}

fn tree(engine: &Arc<Engine>, written: &Written<'_>, found: (&Checked, Option<usize>)) -> Result<Tree, Box<Fault>> {
    let (checked, base) = found;
    let marks = Marks {
        partial: false,
        lenient: checked.lenient.clone(),
        this: checked.this.clone(),
        now: checked.now.clone(),
        base,
    };
    let tree = lower(written.text, written.nodes, &marks)?;
    let only = written.sole().map(|hole| label(written.text, &hole.expression));
    Ok(Tree { engine: Arc::clone(engine), tree, needs: smallest(checked), only })
}

/// The paths that no other path leads to.
fn smallest(checked: &Checked) -> Vec<Vec<String>> {
    let mut needs: Vec<Vec<String>> = Vec::new();
    // In the order of the set a path comes right before those that it leads to.
    for path in checked.needs.iter().filter(|path| !path.is_empty()) {
        if !needs.last().is_some_and(|last| path.starts_with(last)) {
            needs.push(path.clone());
        }
    }
    needs
}

impl Tree {
    fn job<'j>(&'j self, mode: Mode, scope: &'j Scope) -> Job<'j> {
        Job { registry: self.engine.registry(), template: &self.tree, mode, now: scope.now(), budget: scope.budget() }
    }
}

/// The template as text, plain variables and plain helpers, if it is nothing more.
fn pieces(source: &str, nodes: &[Node], found: (&Checked, Option<usize>)) -> Option<Vec<Piece>> {
    let comments = source.contains("{{!");
    if comments {
        return None;
    }
    let piece = |node: &Node| match node {
        Node::Text(text) => Some(Piece::Text(unescaped(source, text))),
        Node::Hole(hole) if !hole.trims => piece(source, hole, found),
        _ => None,
    };
    nodes.iter().map(piece).collect()
}

fn piece(source: &str, hole: &Hole, (checked, base): (&Checked, Option<usize>)) -> Option<Piece> {
    let encodes_itself = match &hole.expression {
        Expression::Path(_) => false,
        // Handlebars has no `{{&helper …}}`.
        Expression::Call(call) if !hole.raw => call.helper.text == "path",
        _ => return None,
    };
    let term = Term::of(source, &hole.expression, checked)?;
    let keeps = encodes_itself || base == Some(hole.span.start);
    Some(Piece::Hole { term, label: label(source, &hole.expression), keeps })
}

/// Text without the backslashes that only keep tags from being tags.
fn unescaped(source: &str, text: &Text) -> String {
    let mut out = String::with_capacity(text.span.len());
    let mut from = text.span.start;
    for escape in &text.escapes {
        out.push_str(source.get(from..*escape).unwrap_or_default());
        from = escape + 1;
    }
    out.push_str(source.get(from..text.span.end).unwrap_or_default());
    out
}

/// What a hole costs beside its value.
const HOLE: usize = 16;

fn fill(pieces: &[Piece], scope: &Scope, mode: Mode) -> Result<Filled, RenderError> {
    let mut filled = Filled::default();
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                scope.budget().hold(text.len())?;
                filled.text.push_str(text);
            }
            Piece::Hole { term, label, keeps } => {
                let value = term.value(scope)?;
                // A text is added; what is none is written out first.
                scope.budget().hold(value.as_str().map_or_else(|| weight(&value), str::len) + HOLE)?;
                let value = text_of(&value);
                let start = filled.text.len();
                match mode {
                    Mode::Encoded if !keeps => filled.text.push_str(&encode::encode(&value)),
                    Mode::Marked if value.contains(MARK) => {
                        let reason = "holds a NUL character";
                        return Err(RenderError::Refused { variable: label.clone(), reason });
                    }
                    _ => filled.text.push_str(&value),
                }
                filled.holes.push((start..filled.text.len(), label.clone()));
            }
        }
        if filled.text.len() > MAX_OUTPUT {
            return Err(RenderError::TooLarge { limit: MAX_OUTPUT });
        }
    }
    Ok(filled)
}

/// Takes the marks out of what was rendered, and notes what stood between them.
fn unmark(marked: &str) -> Filled {
    let mut filled = Filled::default();
    let mut parts = marked.split(MARK);
    filled.text.push_str(parts.next().unwrap_or_default());
    while let (Some(label), Some(value), Some(text)) = (parts.next(), parts.next(), parts.next()) {
        let start = filled.text.len();
        filled.text.push_str(value);
        filled.holes.push((start..filled.text.len(), label.to_owned()));
        filled.text.push_str(text);
    }
    filled
}

/// The only hole of a template that is nothing else.
pub(super) fn sole(nodes: &[Node]) -> Option<&Hole> {
    match nodes {
        [Node::Hole(hole)] => Some(hole),
        _ => None,
    }
}
