//! Helpers that render to the output, such as blocks.

use handlebars::{Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, Renderable, Template};

use crate::budget;
use crate::template::render::LimitedOutput;

/// A helper that renders to the output.
pub(super) struct RenderHelper(pub(super) for<'reg, 'rc> fn(&mut RenderCall<'_, 'reg, 'rc>) -> HelperResult);

/// One call of such a helper.
pub(super) struct RenderCall<'c, 'reg: 'rc, 'rc> {
    pub helper: &'c Helper<'rc>,
    pub registry: &'reg Handlebars<'reg>,
    pub context: &'rc Context,
    pub rendering: &'c mut RenderContext<'reg, 'rc>,
    pub out: &'c mut dyn Output,
}

impl<'reg: 'rc, 'rc> RenderCall<'_, 'reg, 'rc> {
    /// Renders a part of the block, if it has that part. The lists that it makes end with it.
    pub fn render(&mut self, body: Option<&'rc Template>) -> HelperResult {
        let Some(body) = body else { return Ok(()) };
        budget::release_after(|| body.render(self.registry, self.context, self.rendering, self.out))
    }

    /// Renders with a limit of the output, which Handlebars may collect.
    pub fn with_limit(&mut self, render: impl FnOnce(&mut RenderCall<'_, 'reg, 'rc>) -> HelperResult) -> HelperResult {
        let mut out = LimitedOutput::new(&mut *self.out);
        render(&mut RenderCall { rendering: &mut *self.rendering, out: &mut out, ..*self })
    }
}

impl HelperDef for RenderHelper {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        (self.0)(&mut RenderCall { helper, registry, context, rendering, out })
    }
}
