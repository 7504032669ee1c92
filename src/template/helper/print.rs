//! Internal helpers of lowered templates; no template can contain their names.

use handlebars::template::TemplateElement;
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, Renderable, ScopedJson, Template,
};
use serde_json::Value;

use super::argument::{param_or_null, param_text, wrap_error};
use crate::template::render::{
    LimitedOutput, MARK, PrintMode, RenderError, STEP_COST, capture, charge_copy, charge_work, mode,
};
use crate::uri::percent_encode;

/// `{{ print label value raw}}`: prints a value for the slot.
pub(in crate::template) const PRINT: &str = " print";
/// `( get path)`: the value of a path, null where it is missing.
pub(in crate::template) const GET: &str = " get";
/// `{{# guard}}`: limits the output inside.
pub(in crate::template) const GUARD: &str = " guard";

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper(PRINT, Box::new(PrintHelper));
    registry.register_helper(GET, Box::new(GetHelper));
    registry.register_helper(GUARD, Box::new(GuardHelper));
}

/// An empty guard block in the tree of Handlebars.
pub(in crate::template) fn empty_guard_block() -> Option<Box<handlebars::template::HelperTemplate>> {
    let mut template = Template::compile("{{#guard}}{{/guard}}").ok()?;
    match template.elements.pop() {
        Some(TemplateElement::HelperBlock(mut block)) => {
            block.name = handlebars::template::Parameter::Name(GUARD.to_owned());
            Some(block)
        }
        _ => None,
    }
}

struct PrintHelper;

impl HelperDef for PrintHelper {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let mode = mode();
        charge_work(STEP_COST).map_err(wrap_error)?;
        match mode {
            PrintMode::Captured => {
                charge_copy(param_or_null(helper, 1)).map_err(wrap_error)?;
                capture(param_or_null(helper, 1));
                Ok(())
            }
            PrintMode::Plain => PrintText.call(helper, registry, context, rendering, out),
            PrintMode::Marked | PrintMode::Encoded => {
                let label = param_text(helper, 0).map_err(wrap_error)?;
                if mode == PrintMode::Marked && param_text(helper, 1).map_err(wrap_error)?.contains(MARK) {
                    let reason = "contains a NUL character";
                    return Err(wrap_error(RenderError::Refused { variable: label.into_owned(), reason }));
                }
                // Straight to the output, so that marks are not indented.
                out.write(&format!("{MARK}{label}{MARK}"))?;
                PrintText.call(helper, registry, context, rendering, out)?;
                Ok(out.write("\0")?)
            }
        }
    }
}

/// The printed text, which Handlebars indents.
struct PrintText;

impl HelperDef for PrintText {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        let text = param_text(helper, 1).map_err(wrap_error)?;
        let raw = param_or_null(helper, 2).as_bool() == Some(true);
        let text = if mode() == PrintMode::Encoded && !raw { percent_encode(&text) } else { text.into_owned() };
        Ok(ScopedJson::Derived(Value::String(text)))
    }
}

struct GetHelper;

impl HelperDef for GetHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        // A name on a list is an error in Handlebars; here it is a missing field.
        Ok(rendering.evaluate(context, &param_text(helper, 0).map_err(wrap_error)?).unwrap_or(ScopedJson::Missing))
    }
}

/// Charges for the use of a partial, which gets a copy of the scope.
fn charge_partial(context: &Context, rendering: &RenderContext<'_, '_>) -> Result<(), RenderError> {
    charge_work(STEP_COST)?;
    match rendering.evaluate(context, "this") {
        Ok(value) => charge_copy(value.as_json()),
        Err(_) => Ok(()),
    }
}

struct GuardHelper;

impl HelperDef for GuardHelper {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        charge_partial(context, rendering).map_err(wrap_error)?;
        match helper.template() {
            Some(body) => body.render(registry, context, rendering, &mut LimitedOutput::new(out)),
            None => Ok(()),
        }
    }
}
