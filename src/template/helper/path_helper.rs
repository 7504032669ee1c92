//! Helpers whose value is that of a path, or depends on it.

use handlebars::{Context, Handlebars, Helper, HelperDef, RenderContext, RenderError, ScopedJson};

/// The value of a path. A name on a list is an error in Handlebars; here it is a missing field.
pub(super) type ReadPath<'r, 'rc> = dyn Fn(&str) -> ScopedJson<'rc> + 'r;
pub(super) type PathHelperValue<'rc> = Result<ScopedJson<'rc>, RenderError>;

/// A helper that reads paths.
pub(super) struct PathHelper(pub(super) for<'rc> fn(&Helper<'rc>, &ReadPath<'_, 'rc>) -> PathHelperValue<'rc>);

impl HelperDef for PathHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
    ) -> PathHelperValue<'rc> {
        (self.0)(helper, &|path| rendering.evaluate(context, path).unwrap_or(ScopedJson::Missing))
    }
}
