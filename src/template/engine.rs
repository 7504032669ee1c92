//! What all templates of a pack share: its partials, and the helpers.

use std::sync::{Arc, OnceLock};

use handlebars::{Handlebars, no_escape};

use super::check::{Rules, check};
use super::error::TemplateError;
use super::helper;
use super::lower::{LowerContext, lower};
use super::partial::{Partial, Partials};
use super::shape::ScopeShape;
use super::syntax::parse;

/// The partials of one pack, ready to be used by its templates.
pub struct Engine {
    pub(super) partials: Partials,
    /// Made when the first template needs it; most need only what folio fills by itself.
    registry: OnceLock<Handlebars<'static>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("partials", &self.partials.by_name.keys()).finish()
    }
}

impl Engine {
    /// Reads partials by name and text. Each fault is placed in its partial; a faulty partial is left out, but is
    /// known: templates that use it are not blamed. What a partial's variables mean is checked for each template
    /// that uses it.
    pub fn new(partials: impl IntoIterator<Item = (String, String)>) -> (Arc<Engine>, Vec<TemplateError>) {
        let mut faults = Vec::new();
        let mut known = Partials::default();
        for (name, text) in partials {
            let (nodes, wrong) = parse(&text);
            let faulty = !wrong.is_empty();
            faults.extend(wrong.into_iter().map(|fault| fault.in_partial(&name)));
            known.by_name.insert(name, Partial { text, nodes, has_errors: faulty });
        }
        let mut engine = Engine { partials: known, registry: OnceLock::new() };
        engine.check(&mut faults);
        engine.register(&mut faults);
        (Arc::new(engine), faults)
    }

    /// Finds what is wrong with partials whoever uses them, above all circles.
    fn check(&mut self, faults: &mut Vec<TemplateError>) {
        let rules = Rules { any_scope: true, ..Rules::default() };
        let names = ScopeShape::new();
        let mut wrong = Vec::new();
        for (name, partial) in &self.partials.by_name {
            let checked = check(&partial.text, &partial.nodes, &names, (&self.partials, rules));
            wrong.extend(checked.errors.into_iter().map(|fault| fault.in_partial(name)));
        }
        for mut fault in wrong {
            let super::error::TemplateSpan::Partial { name, used_at, .. } = &mut fault.span else { continue };
            *used_at = 0..0;
            if let Some(partial) = self.partials.by_name.get_mut(name) {
                partial.has_errors = true;
            }
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }

    fn register(&mut self, faults: &mut Vec<TemplateError>) {
        let marks = LowerContext { partial: true, ..LowerContext::default() };
        let mut registry = None;
        for (name, partial) in self.partials.by_name.iter_mut().filter(|(_, partial)| !partial.has_errors) {
            match lower(&partial.text, &partial.nodes, &marks) {
                Ok(mut tree) => {
                    tree.name = Some(name.clone());
                    registry.get_or_insert_with(base_registry).register_template(name, tree);
                }
                Err(fault) => {
                    partial.has_errors = true;
                    faults.push(fault.in_partial(name));
                }
            }
        }
        self.registry = registry.map(OnceLock::from).unwrap_or_default();
    }

    /// The helpers, and the partials that have no faults.
    pub(super) fn registry(&self) -> &Handlebars<'static> {
        self.registry.get_or_init(base_registry)
    }

    /// The names of all partials, the faulty ones included.
    pub fn partials(&self) -> impl Iterator<Item = &str> {
        self.partials.by_name.keys().map(String::as_str)
    }
}

/// A registry that knows no partial yet.
fn base_registry() -> Handlebars<'static> {
    let mut registry = Handlebars::new();
    registry.register_escape_fn(no_escape);
    helper::register(&mut registry);
    registry
}
