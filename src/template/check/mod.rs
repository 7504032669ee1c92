//! What the names in a template mean, and whether they mean anything: a walk over its tree in the order in which
//! it will be rendered, through every partial that it uses, with the scopes that Handlebars will have there.
//! What is not here: syntax (syntax/), and what a place asks of its template as a whole (slot/).

mod frame;
mod path;
mod call;
mod walk;
mod include;

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use crate::diagnostic::Code;

use super::error::{Altered, TemplateError, TemplateSpan};
use super::limit::{MAX_ERRORS, MAX_EXPANSION};
use super::partial::Partials;
use super::shape::ScopeShape;
use super::syntax::TemplateNode;
use frame::{ScopeFrame, TextRef};

/// What is asked of the text of every template of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// The text may hold no NUL.
    pub rejects_nul: bool,
    /// What is printed is percent-encoded, so `{{{x}}}` is refused.
    pub encoded: bool,
    /// Nothing is known of the scope: any name may be there.
    pub any_scope: bool,
}

/// What the check found out.
#[derive(Debug, Default)]
pub(super) struct TemplateCheck {
    pub errors: Vec<TemplateError>,
    /// The paths whose values are used.
    pub read_paths: BTreeSet<Vec<String>>,
    /// The values that cannot be recognised in what is made of them.
    pub altered: Vec<Altered>,
    /// The paths whose values must be there for the template to be rendered: `reads`, and objects gone into.
    pub required_paths: BTreeSet<Vec<String>>,
    /// Where variables begin whose way leads through values of unknown shape.
    pub lenient_paths: HashSet<usize>,
    /// Where variables begin that mean the `this` of a loop around the template.
    pub outer_this_paths: HashSet<usize>,
    /// Where `{{now}}` stands for the helper.
    pub now_helpers: HashSet<usize>,
}

/// Checks a template that has been read.
pub(super) fn check(
    source: &str,
    nodes: &[TemplateNode],
    names: &ScopeShape,
    context: (&Partials, Rules),
) -> TemplateCheck {
    let (partials, rules) = context;
    let mut check = Checker {
        names,
        partials,
        rules,
        outcome: TemplateCheck::default(),
        frames: vec![ScopeFrame::root(names, rules.any_scope)],
        current_text: TextRef { partial: None, text: source },
        used_at: 0..0,
        active: Vec::new(),
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
    /// The text that is being walked.
    current_text: TextRef<'a>,
    /// Where the template uses the partial that is being walked.
    used_at: Range<usize>,
    /// The partials that are being walked, by the text they stand in and the place there.
    active: Vec<(Option<&'a str>, usize)>,
    /// How large the block is that was given to the partial being walked.
    block_size: Option<usize>,
    depth: usize,
    /// How much has been walked.
    walked: usize,
    /// How large that will be when it is rendered, values and loops aside.
    size: usize,
}

impl<'a> Checker<'a> {
    fn span(&self, range: Range<usize>) -> TemplateSpan {
        match self.current_text.partial {
            None => TemplateSpan::Template(range),
            Some(name) => TemplateSpan::Partial { name: name.to_owned(), range, used_at: self.used_at.clone() },
        }
    }

    fn error(&mut self, range: &Range<usize>, code: Code, message: impl Into<String>) -> TemplateError {
        TemplateError::new(self.span(range.clone()), code, message)
    }

    fn report(&mut self, error: TemplateError) {
        if self.outcome.errors.len() < MAX_ERRORS && !self.outcome.errors.contains(&error) {
            self.outcome.errors.push(error);
        }
    }

    fn in_template(&self) -> bool {
        self.current_text.partial.is_none()
    }

    /// Counts what is walked and what is rendered of it; `false` once either is too much.
    fn charge(&mut self, walked: usize, size: usize, at: &Range<usize>) -> bool {
        if self.walked.max(self.size) > MAX_EXPANSION {
            return false;
        }
        self.walked = self.walked.saturating_add(walked);
        self.size = self.size.saturating_add(size);
        let fits = self.walked.max(self.size) <= MAX_EXPANSION;
        if !fits {
            let message = format!("template exceeds {MAX_EXPANSION} bytes with its partials expanded");
            let error = self.error(at, Code::TooLarge, message);
            self.report(error);
        }
        fits
    }
}
