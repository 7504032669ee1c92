//! The partials and helpers that the templates of a pack share.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use handlebars::{Handlebars, no_escape};

use super::check::{Rules, TemplateCheck, check};
use super::coverage::{Branch, BranchRecorder};
use super::error::TemplateError;
use super::helper;
use super::limit::{MAX_IMPORTED_BYTES, MAX_TEMPLATE_BYTES};
use super::shape::ScopeShape;
use super::syntax::{TemplateNode, parse};
use super::to_handlebars::{RewriteContext, to_handlebars};

/// A parsed partial.
#[derive(Debug)]
pub(super) struct Partial {
    pub text: String,
    pub nodes: Vec<TemplateNode>,
    /// Whether it has errors, which are reported; it is then not checked again.
    pub has_errors: bool,
}

/// The partials of a pack by name.
pub(super) type Partials = BTreeMap<String, Partial>;

/// The partials of one pack.
pub struct Engine {
    pub(super) partials: Partials,
    /// Created on first use: most templates render without Handlebars.
    registry: OnceLock<Handlebars<'static>>,
    /// Records branches, where that is wanted.
    pub(super) recorder: Option<Arc<BranchRecorder>>,
    /// The branches of partials, by name, where they are recorded.
    branches: Vec<(String, Vec<Branch>)>,
    /// The largest text of one template.
    pub(super) max_template_bytes: usize,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("partials", &self.partials.keys()).finish()
    }
}

impl Engine {
    /// Parses partials by name and text. A partial with errors is known, so that templates that use it have no error. The
    /// variables of a partial are checked in each template that uses it.
    pub fn new(partials: impl IntoIterator<Item = (String, String)>) -> (Arc<Engine>, Vec<TemplateError>) {
        Engine::build(partials, None)
    }

    /// The same, and records which branches of templates are rendered.
    pub fn recording(partials: impl IntoIterator<Item = (String, String)>) -> (Arc<Engine>, Vec<TemplateError>) {
        Engine::build(partials, Some(Arc::default()))
    }

    /// Without partials, for the texts of other programs as templates, which are longer than the texts.
    pub fn imported() -> Arc<Engine> {
        Arc::new(Engine {
            partials: Partials::default(),
            registry: OnceLock::new(),
            recorder: None,
            branches: Vec::new(),
            max_template_bytes: MAX_IMPORTED_BYTES,
        })
    }

    fn build(
        partials: impl IntoIterator<Item = (String, String)>,
        recorder: Option<Arc<BranchRecorder>>,
    ) -> (Arc<Engine>, Vec<TemplateError>) {
        let mut errors = Vec::new();
        let mut known = Partials::default();
        for (name, text) in partials {
            let (nodes, wrong) = parse(&text);
            let has_errors = !wrong.is_empty();
            errors.extend(wrong.into_iter().map(|error| error.in_partial(&name)));
            known.insert(name, Partial { text, nodes, has_errors });
        }
        let mut engine = Engine {
            partials: known,
            registry: OnceLock::new(),
            recorder,
            branches: Vec::new(),
            max_template_bytes: MAX_TEMPLATE_BYTES,
        };
        engine.check(&mut errors);
        engine.register(&mut errors);
        (Arc::new(engine), errors)
    }

    /// Finds the errors of partials that do not depend on the template, such as cycles.
    fn check(&mut self, errors: &mut Vec<TemplateError>) {
        let rules = Rules { any_scope: true, ..Rules::default() };
        let names = ScopeShape::new();
        let mut wrong = Vec::new();
        for (name, partial) in &self.partials {
            let checked = check(&partial.text, &partial.nodes, &names, &self.partials, rules);
            wrong.extend(checked.errors.into_iter().map(|error| error.in_partial(name)));
        }
        for mut error in wrong {
            let super::error::TemplateSpan::Partial { name, used_at, .. } = &mut error.span else { continue };
            *used_at = 0..0;
            if let Some(partial) = self.partials.get_mut(name) {
                partial.has_errors = true;
            }
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }

    fn register(&mut self, errors: &mut Vec<TemplateError>) {
        let checked = TemplateCheck::default();
        let context = RewriteContext { partial: true, checked: &checked, raw_interpolation: None };
        let (mut registry, recorder) = (None, self.recorder.as_ref());
        for (name, partial) in self.partials.iter_mut().filter(|(_, partial)| !partial.has_errors) {
            match to_handlebars(&partial.text, &partial.nodes, &context) {
                Ok(mut tree) => {
                    tree.name = Some(name.clone());
                    if let Some(recorder) = &self.recorder {
                        self.branches.push((name.clone(), recorder.mark(&mut tree, &partial.text, &partial.nodes)));
                    }
                    registry.get_or_insert_with(|| base_registry(recorder)).register_template(name, tree);
                }
                Err(error) => {
                    partial.has_errors = true;
                    errors.push(error.in_partial(name));
                }
            }
        }
        self.registry = registry.map(OnceLock::from).unwrap_or_default();
    }

    /// The helpers, and the partials without errors.
    pub(super) fn registry(&self) -> &Handlebars<'static> {
        self.registry.get_or_init(|| base_registry(self.recorder.as_ref()))
    }

    /// Whether it records branches.
    pub fn records_branches(&self) -> bool {
        self.recorder.is_some()
    }

    /// The branches of partials, each with the name of its partial, where they are recorded.
    pub fn partial_branches(&self) -> impl Iterator<Item = (&str, &Branch)> {
        self.branches.iter().flat_map(|(name, branches)| branches.iter().map(move |branch| (name.as_str(), branch)))
    }
}

/// A registry without partials.
pub(super) fn base_registry(recorder: Option<&Arc<BranchRecorder>>) -> Handlebars<'static> {
    let mut registry = Handlebars::new();
    registry.register_escape_fn(no_escape);
    helper::register(&mut registry);
    recorder.into_iter().for_each(|recorder| BranchRecorder::register(recorder, &mut registry));
    registry
}
