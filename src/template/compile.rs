//! Compiles templates and renders them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::check::{Rules, TemplateCheck, check};
use super::coverage::Branch;
use super::engine::Engine;
use super::error::{AlteredValue, ComparedValues, TemplateError, TemplateSpan, WholeOutcome};
use super::limit::MAX_OUTPUT_BYTES;
use super::missing_output;
use super::plain_expression::{PlainExpression, plain_path};
use super::render::{MARK, PrintMode, RenderError, RenderJob, value_to_text};
use super::scope::Scope;
use super::shape::ScopeShape;
use super::slot::{ParsedTemplate, RenderedText, RenderedValue, Slot};
use super::syntax::{Expression, Interpolation, TemplateNode, TextNode, parse_within};
use super::to_handlebars::{RewriteContext, label, to_handlebars};
use super::truncation_note;
use crate::budget::memory_size;
use crate::uri::percent_encode;

/// A checked template for one kind of slot.
#[derive(Debug)]
pub struct Template<S: Slot> {
    source: String,
    body: CompiledBody,
    reads: Vec<Vec<String>>,
    printed_paths: Vec<Vec<String>>,
    altered: Vec<AlteredValue>,
    compared: Vec<ComparedValues>,
    whole_outcomes: Vec<WholeOutcome>,
    is_blank: bool,
    single_path: Option<Vec<String>>,
    analysis: S::Analysis,
    slot: PhantomData<S>,
}

/// A part of a template of text and plain variables only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePart<'t> {
    Text(&'t str),
    /// The path of a variable.
    Variable(&'t [String]),
}

/// A template that is ready to render.
#[derive(Debug)]
enum CompiledBody {
    /// Text, plain variables and plain helpers, without Handlebars.
    Pieces(Box<[CompiledPiece]>),
    /// Any template, by Handlebars.
    Handlebars(Box<HandlebarsBody>),
}

#[derive(Debug)]
struct HandlebarsBody {
    engine: Arc<Engine>,
    tree: handlebars::Template,
    /// The shortest paths that cover everything that is read.
    required_paths: Vec<Vec<String>>,
    /// The label, where the template is exactly one expression.
    label: Option<String>,
    /// The paths that read an output as JSON.
    output_paths: Vec<Vec<String>>,
    /// Its branches, where they are recorded.
    branches: Vec<Branch>,
}

#[derive(Debug)]
enum CompiledPiece {
    /// A range of the source.
    Text(Range<usize>),
    /// Text without the backslashes that escape tags.
    Unescaped(String),
    Interpolation {
        plain_expression: PlainExpression,
        label: String,
        is_verbatim: bool,
    },
}

impl CompiledPiece {
    /// Its text, where it is text alone.
    fn text<'t>(&'t self, source: &'t str) -> Option<&'t str> {
        match self {
            CompiledPiece::Text(range) => source.get(range.clone()),
            CompiledPiece::Unescaped(text) => Some(text),
            CompiledPiece::Interpolation { .. } => None,
        }
    }
}

impl<S: Slot> Template<S> {
    /// Parses a text and checks it against the names in scope.
    ///
    /// # Errors
    /// All errors, in the order of the text.
    pub fn compile(engine: &Arc<Engine>, text: &str, names: &ScopeShape) -> Result<Template<S>, Vec<TemplateError>> {
        Template::compile_with(engine, text, names, true)
    }

    /// [`Template::compile`]; without `simple`, always for Handlebars.
    pub(super) fn compile_with(
        engine: &Arc<Engine>,
        text: &str,
        names: &ScopeShape,
        simple: bool,
    ) -> Result<Template<S>, Vec<TemplateError>> {
        let (nodes, mut errors) = parse_within(text, engine.max_template_bytes);
        let rules = Rules {
            rejects_nul: S::PRINT_MODE != PrintMode::Plain,
            encoded: S::PRINT_MODE == PrintMode::Encoded,
            any_scope: false,
        };
        let mut checked = check(text, &nodes, names, &engine.partials, rules);
        errors.append(&mut checked.errors);
        let variable = single_interpolation(&nodes).and_then(|interpolation| match &interpolation.expression {
            Expression::Path(path) => plain_path(path, &checked),
            _ => None,
        });
        let template = ParsedTemplate { text, nodes: &nodes, variable: variable.as_deref() };
        let (analysis, base) = S::analyze(&template, &mut errors);
        if !errors.is_empty() {
            return Err(sort_errors(errors));
        }
        let base = base.map(|span: Range<usize>| span.start);
        let pieces = simple.then(|| pieces(&template, &checked, base)).flatten();
        let body = match pieces {
            Some(pieces) => CompiledBody::Pieces(pieces),
            None => CompiledBody::Handlebars(Box::new(
                handlebars_body(engine, &template, &checked, base).map_err(|error| vec![*error])?,
            )),
        };
        let reads = checked.read_paths.into_iter().collect();
        let printed_paths = checked.printed_paths.into_iter().collect();
        let (altered, compared) = (checked.altered, checked.compared);
        let keeps_objects = S::KEEPS_OBJECTS && single_interpolation(&nodes).is_some();
        let whole_outcomes = if keeps_objects { Vec::new() } else { checked.whole_outcomes };
        Ok(Template {
            source: text.to_owned(),
            body,
            reads,
            printed_paths,
            altered,
            compared,
            whole_outcomes,
            is_blank: is_always_blank(text, &nodes),
            single_path: variable,
            analysis,
            slot: PhantomData,
        })
    }

    /// Renders the template.
    ///
    /// # Errors
    /// A limit is exceeded, or the slot rejects a value.
    pub fn render(&self, scope: &Scope) -> Result<S::Output, RenderError> {
        scope.budget().nested().run(|| {
            self.check_output_notes(scope)?;
            if let Some(output) = self.render_value(scope)? {
                return Ok(output);
            }
            let rendered = match &self.body {
                CompiledBody::Pieces(pieces) => render_pieces(pieces, &self.source, scope, S::PRINT_MODE)?,
                CompiledBody::Handlebars(tree) => {
                    let (text, _) = tree.render(S::PRINT_MODE, scope)?;
                    match S::PRINT_MODE {
                        PrintMode::Plain => RenderedText { text, values: Vec::new() },
                        _ => split_marks(&text),
                    }
                }
            };
            S::output_from_text(rendered, &self.analysis)
        })?
    }

    /// Checks that no value is the text of an output with a note at its end, where the scope refuses those.
    ///
    /// # Errors
    /// A value is.
    pub fn check_output_notes(&self, scope: &Scope) -> Result<(), RenderError> {
        // Whether there is a text does not depend on its end.
        let may_depend_on_end = S::OUTPUT_INCLUDES_TEXT || S::IS_CONDITION && self.single_path.is_none();
        if !scope.refuses_notes() || !may_depend_on_end {
            return Ok(());
        }
        self.reads.iter().try_for_each(|path| truncation_note::check(scope, path))
    }

    /// The output from a value and not from its text.
    fn render_value(&self, scope: &Scope) -> Result<Option<S::Output>, RenderError> {
        let (label, value) = match &self.body {
            _ if !S::RENDERS_FROM_VALUE => return Ok(None),
            CompiledBody::Pieces(pieces) => match &**pieces {
                [CompiledPiece::Interpolation { plain_expression, label, .. }] => {
                    (label, plain_expression.value(scope))
                }
                _ => return Ok(None),
            },
            CompiledBody::Handlebars(tree) => match &tree.label {
                Some(label) => (label, tree.render(PrintMode::Captured, scope).map(|(_, value)| Cow::Owned(value))),
                None => return Ok(None),
            },
        };
        let value = match value {
            Err(RenderError::OutputMismatch { .. }) if S::IS_CONDITION => Cow::Owned(Value::Null),
            value => value?,
        };
        if value.is_null()
            && let Some(output) = S::output_from_present_null()
            && self.single_path().is_some_and(|path| scope.is_null_output(path) || scope.is_null_argument(path))
        {
            return Ok(Some(output));
        }
        if S::OUTPUT_COPIES_VALUE {
            scope.budget().hold(memory_size(&value))?;
        }
        S::output_from_value(&value, label, &self.analysis).transpose()
    }

    /// The paths of the values that its output contains, whole or in part: fewer than it reads.
    pub fn printed_paths(&self) -> &[Vec<String>] {
        &self.printed_paths
    }

    /// The paths that it reads, its partials included: `["env", "TOKEN"]`, `["steps", "a", "json"]`. They are as written:
    /// an argument is `["diff"]` or `["arguments", "diff"]`. A path ends at a list, and at an object that is read as a
    /// whole or by a computed name.
    pub fn read_paths(&self) -> &[Vec<String>] {
        &self.reads
    }

    /// The values that cannot be redacted in its output.
    pub fn altered_values(&self) -> &[AlteredValue] {
        &self.altered
    }

    /// Its comparisons of `env` with what is not constant.
    pub fn comparisons(&self) -> &[ComparedValues] {
        &self.compared
    }

    /// The outcomes that its output shows as JSON.
    pub fn whole_outcomes(&self) -> &[WholeOutcome] {
        &self.whole_outcomes
    }

    /// Whether its output is never more than white space.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// The path, when the text is exactly one `{{path}}`.
    pub fn single_path(&self) -> Option<&[String]> {
        self.single_path.as_deref()
    }

    /// The text, where it has no interpolation.
    pub fn literal(&self) -> Option<&str> {
        match &self.body {
            CompiledBody::Pieces(pieces) => match &**pieces {
                [] => Some(""),
                [only] => only.text(&self.source),
                _ => None,
            },
            CompiledBody::Handlebars(_) => None,
        }
    }

    /// Its parts in order, where it has only text and plain variables.
    pub fn parts(&self) -> Option<Vec<TemplatePart<'_>>> {
        let CompiledBody::Pieces(pieces) = &self.body else { return None };
        let parts = pieces.iter().map(|piece| match piece {
            CompiledPiece::Interpolation { plain_expression: PlainExpression::Path(path), .. } => {
                Some(TemplatePart::Variable(path))
            }
            text_or_other => text_or_other.text(&self.source).map(TemplatePart::Text),
        });
        parts.collect()
    }

    /// The variables that it prints by themselves, if it has no blocks: not as arguments of helpers.
    pub fn plain_variables(&self) -> Vec<&[String]> {
        let CompiledBody::Pieces(pieces) = &self.body else { return Vec::new() };
        let variables = pieces.iter().filter_map(|piece| match piece {
            CompiledPiece::Interpolation { plain_expression: PlainExpression::Path(path), .. } => Some(path.as_slice()),
            _ => None,
        });
        variables.collect()
    }

    /// The branches of its blocks, where the engine records them.
    pub fn branches(&self) -> &[Branch] {
        match &self.body {
            CompiledBody::Pieces(_) => &[],
            CompiledBody::Handlebars(tree) => &tree.branches,
        }
    }

    /// Its source text.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn analysis(&self) -> &S::Analysis {
        &self.analysis
    }
}

fn sort_errors(mut errors: Vec<TemplateError>) -> Vec<TemplateError> {
    errors.sort_by_key(|error| match &error.span {
        TemplateSpan::Template(range) => (range.start, range.end, None),
        TemplateSpan::Partial { name, range, used_at } => {
            (used_at.start, used_at.end, Some((name.clone(), range.start)))
        }
    });
    errors.dedup();
    errors
}

fn handlebars_body(
    engine: &Arc<Engine>,
    template: &ParsedTemplate<'_>,
    checked: &TemplateCheck,
    base: Option<usize>,
) -> Result<HandlebarsBody, Box<TemplateError>> {
    let context = RewriteContext { partial: false, checked, raw_interpolation: base };
    let mut tree = to_handlebars(template.text, template.nodes, &context)?;
    let recorder = engine.recorder.as_ref();
    let branches = recorder.map(|recorder| recorder.mark(&mut tree, template.text, template.nodes));
    let label = template.single_interpolation().map(|interpolation| label(template.text, &interpolation.expression));
    let output_paths: BTreeSet<Vec<String>> = checked.output_paths.values().cloned().collect();
    Ok(HandlebarsBody {
        engine: Arc::clone(engine),
        tree,
        required_paths: minimal_paths(checked),
        label,
        output_paths: output_paths.into_iter().collect(),
        branches: branches.unwrap_or_default(),
    })
}

/// The paths that are not below another path.
fn minimal_paths(checked: &TemplateCheck) -> Vec<Vec<String>> {
    let mut paths: Vec<Vec<String>> = Vec::new();
    // The set is sorted: a path is right before those below it.
    for path in checked.required_paths.iter().filter(|path| !path.is_empty()) {
        if !paths.last().is_some_and(|last| path.starts_with(last)) {
            paths.push(path.clone());
        }
    }
    paths
}

impl HandlebarsBody {
    /// The text, or where it is captured the value of the only expression.
    fn render(&self, mode: PrintMode, scope: &Scope) -> Result<(String, Value), RenderError> {
        let (registry, template) = (self.engine.registry(), &self.tree);
        let missing_value = |path: &Vec<String>| Some((path.join("."), missing_output::missing_value(scope, path)?));
        let missing_values = self.output_paths.iter().filter_map(missing_value).collect();
        let job = RenderJob { registry, template, mode, now: scope.now(), budget: scope.budget(), missing_values };
        job.run(scope.pick(&self.required_paths))
    }
}

/// The pieces of a template of text, plain variables and plain helpers only.
fn pieces(template: &ParsedTemplate<'_>, checked: &TemplateCheck, base: Option<usize>) -> Option<Box<[CompiledPiece]>> {
    let source = template.text;
    if source.contains("{{!") {
        return None;
    }
    let piece = |node: &TemplateNode| match node {
        TemplateNode::Text(text) if text.escapes.is_empty() => Some(CompiledPiece::Text(text.span.clone())),
        TemplateNode::Text(text) => Some(CompiledPiece::Unescaped(unescape(source, text))),
        TemplateNode::Interpolation(interpolation) if !interpolation.trims => {
            piece(source, interpolation, checked, base)
        }
        _ => None,
    };
    template.nodes.iter().map(piece).collect()
}

fn piece(
    source: &str,
    interpolation: &Interpolation,
    checked: &TemplateCheck,
    base: Option<usize>,
) -> Option<CompiledPiece> {
    let encodes_itself = match &interpolation.expression {
        Expression::Path(_) => false,
        // Handlebars has no `{{&helper …}}`.
        Expression::Call(call) if !interpolation.raw => call.helper.text == "path",
        _ => return None,
    };
    let plain_expression = PlainExpression::compile(source, &interpolation.expression, checked)?;
    let is_verbatim = encodes_itself || base == Some(interpolation.span.start);
    Some(CompiledPiece::Interpolation {
        plain_expression,
        label: label(source, &interpolation.expression),
        is_verbatim,
    })
}

/// Whether nodes print nothing but white space, whatever the values.
fn is_always_blank(source: &str, nodes: &[TemplateNode]) -> bool {
    nodes.iter().all(|node| match node {
        TemplateNode::Text(text) => source.get(text.span.clone()).unwrap_or_default().trim().is_empty(),
        TemplateNode::Block(block) => {
            is_always_blank(source, &block.body) && is_always_blank(source, &block.else_nodes)
        }
        TemplateNode::Inline(_) => true,
        TemplateNode::Interpolation(_) | TemplateNode::Partial(_) => false,
    })
}

/// Text without the backslashes that escape tags.
fn unescape(source: &str, text: &TextNode) -> String {
    let mut out = String::with_capacity(text.span.len());
    let mut from = text.span.start;
    for escape in &text.escapes {
        out.push_str(source.get(from..*escape).unwrap_or_default());
        from = escape + 1;
    }
    out.push_str(source.get(from..text.span.end).unwrap_or_default());
    out
}

/// The room for a value in an output, which grows for a longer one.
const EXPECTED_VALUE_BYTES: usize = 32;

fn render_pieces(
    pieces: &[CompiledPiece],
    source: &str,
    scope: &Scope,
    mode: PrintMode,
) -> Result<RenderedText, RenderError> {
    let text_bytes = pieces.iter().map(|piece| piece.text(source).map_or(EXPECTED_VALUE_BYTES, str::len));
    let text = String::with_capacity(text_bytes.sum());
    let mut rendered = RenderedText { text, values: Vec::new() };
    for piece in pieces {
        match piece {
            CompiledPiece::Text(_) | CompiledPiece::Unescaped(_) => {
                rendered.text.push_str(piece.text(source).unwrap_or_default());
            }
            CompiledPiece::Interpolation { plain_expression, label, is_verbatim } => {
                let value = plain_expression.value(scope)?;
                let value = match value.is_null() && plain_expression.is_null_output(scope) {
                    true => Cow::Borrowed("null"),
                    false => value_to_text(&value),
                };
                let start = rendered.text.len();
                match mode {
                    PrintMode::Encoded if !is_verbatim => rendered.text.push_str(&percent_encode(&value)),
                    PrintMode::Marked if value.contains(MARK) => {
                        let reason = "contains a NUL character";
                        return Err(RenderError::Refused { variable: label.clone(), reason });
                    }
                    _ => rendered.text.push_str(&value),
                }
                if mode != PrintMode::Plain {
                    rendered.values.push(RenderedValue { range: start..rendered.text.len(), label: label.clone() });
                }
            }
        }
        if rendered.text.len() > MAX_OUTPUT_BYTES {
            return Err(RenderError::TooLarge { limit: MAX_OUTPUT_BYTES });
        }
    }
    scope.budget().hold(rendered.text.len())?;
    Ok(rendered)
}

/// Removes the marks from a rendered text, and returns the spans between them.
fn split_marks(marked: &str) -> RenderedText {
    let mut rendered = RenderedText::default();
    let mut parts = marked.split(MARK);
    rendered.text.push_str(parts.next().unwrap_or_default());
    while let (Some(label), Some(value), Some(text)) = (parts.next(), parts.next(), parts.next()) {
        let start = rendered.text.len();
        rendered.text.push_str(value);
        rendered.values.push(RenderedValue { range: start..rendered.text.len(), label: label.to_owned() });
        rendered.text.push_str(text);
    }
    rendered
}

/// The interpolation, where the template is exactly one.
pub(super) fn single_interpolation(nodes: &[TemplateNode]) -> Option<&Interpolation> {
    match nodes {
        [TemplateNode::Interpolation(interpolation)] => Some(interpolation),
        _ => None,
    }
}
