//! Checks the names in a template: walks its tree in the order of rendering, through its partials, with the scopes of
//! Handlebars. What is not here: syntax (syntax/), and checks of a template as a whole (slot/).

mod foreign_name;
mod frame;
mod path;
mod call;
mod walk;
mod include;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use crate::diagnostic::Code;

use super::engine::Partials;
use super::error::{AlteredValue, ComparedValues, TemplateError, TemplateSpan, WholeOutcome};
use super::limit::{MAX_ERRORS, MAX_EXPANSION};
use super::shape::ScopeShape;
use super::syntax::TemplateNode;
use frame::{ScopeFrame, SourceText};

/// The rules for all templates of one slot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// The text must not contain a NUL.
    pub rejects_nul: bool,
    /// Values are percent-encoded, so `{{{x}}}` is not allowed.
    pub encoded: bool,
    /// The scope is unknown: any name may exist.
    pub any_scope: bool,
}

/// The result of the check.
#[derive(Debug, Default)]
pub(super) struct TemplateCheck {
    pub errors: Vec<TemplateError>,
    /// The paths whose values are used.
    pub read_paths: BTreeSet<Vec<String>>,
    /// The paths of the values that the output contains, whole or in part.
    pub printed_paths: BTreeSet<Vec<String>>,
    /// The values that cannot be redacted in the output.
    pub altered: Vec<AlteredValue>,
    /// The comparisons of `env` with what is not constant.
    pub compared: Vec<ComparedValues>,
    /// The outcomes that the output shows as JSON.
    pub whole_outcomes: Vec<WholeOutcome>,
    /// The paths whose values rendering needs: the read paths, and objects around them.
    pub required_paths: BTreeSet<Vec<String>>,
    /// The positions of variables with paths through values of unknown shape.
    pub unchecked_paths: HashSet<usize>,
    /// The paths of variables that read an output as JSON, by their positions.
    pub output_paths: BTreeMap<usize, Vec<String>>,
    /// The positions of variables that mean the `this` of a loop around the template.
    pub outer_this_paths: HashSet<usize>,
    /// The positions where `{{now}}` is the helper.
    pub now_helpers: HashSet<usize>,
}

/// Checks a parsed template.
pub(super) fn check(
    source: &str,
    nodes: &[TemplateNode],
    names: &ScopeShape,
    partials: &Partials,
    rules: Rules,
) -> TemplateCheck {
    let mut check = Checker {
        names,
        partials,
        rules,
        outcome: TemplateCheck::default(),
        frames: vec![ScopeFrame::root(names, rules.any_scope)],
        current_text: SourceText { partial: None, text: source },
        used_at: 0..0,
        active: Vec::new(),
        optional: include::OptionalParameters::default(),
        block_size: None,
        depth: 0,
        walked: 0,
        size: 0,
    };
    check.nodes(nodes, false);
    check.outcome
}

struct Checker<'a> {
    names: &'a ScopeShape,
    partials: &'a Partials,
    rules: Rules,
    outcome: TemplateCheck,
    /// The scopes around, innermost last.
    frames: Vec<ScopeFrame<'a>>,
    /// The text that is walked.
    current_text: SourceText<'a>,
    /// The use of the walked partial in the template.
    used_at: Range<usize>,
    /// The partials that are walked, by their text and position there.
    active: Vec<include::PartialKey<'a>>,
    /// What the callers of the walked partial need not give.
    optional: include::OptionalParameters<'a>,
    /// The size of the block argument of the walked partial.
    block_size: Option<usize>,
    depth: usize,
    /// The size of the walked nodes.
    walked: usize,
    /// The size of the output, without values and loops.
    size: usize,
}

impl<'a> Checker<'a> {
    fn span(&self, range: Range<usize>) -> TemplateSpan {
        match self.current_text.partial {
            None => TemplateSpan::Template(range),
            Some(name) => TemplateSpan::Partial { name: name.to_owned(), range, used_at: self.used_at.clone() },
        }
    }

    fn error(&self, range: &Range<usize>, code: Code, message: impl Into<String>) -> TemplateError {
        TemplateError::new(self.span(range.clone()), code, message)
    }

    /// Whether further errors are dropped, so that what they would suggest need not be searched.
    fn is_full(&self) -> bool {
        self.outcome.errors.len() >= MAX_ERRORS
    }

    fn report(&mut self, error: TemplateError) {
        if !self.is_full() && !self.outcome.errors.contains(&error) {
            self.outcome.errors.push(error);
        }
    }

    fn in_template(&self) -> bool {
        self.current_text.partial.is_none()
    }

    /// Adds to the walked and the output size; `false` where a limit is exceeded.
    fn charge(&mut self, walked: usize, size: usize, at: &Range<usize>) -> bool {
        if self.walked.max(self.size) > MAX_EXPANSION {
            return false;
        }
        self.walked = self.walked.saturating_add(walked);
        self.size = self.size.saturating_add(size);
        let fits = self.walked.max(self.size) <= MAX_EXPANSION;
        if !fits {
            let message = format!("template exceeds {MAX_EXPANSION} bytes with its partials expanded");
            self.report(self.error(at, Code::TooLarge, message));
        }
        fits
    }
}
