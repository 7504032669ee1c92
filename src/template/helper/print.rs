//! What every `{{…}}` becomes before it is rendered: names that no template can write.

use handlebars::template::TemplateElement;
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, Renderable, ScopedJson, Template,
};
use serde_json::Value;

use super::argument::{failure, text, value};
use crate::template::encode::encode;
use crate::template::render::{Limited, MARK, Mode, RenderError, STEP, capture, charge_copy, charge_read, mode};

/// `{{ print label value as-it-is}}`: prints a value as the slot wants it.
pub(in crate::template) const PRINT: &str = " print";
/// `( get path)`: the value of a path, null where the way to it is barred.
pub(in crate::template) const GET: &str = " get";
/// `{{# guard}}`: limits what is collected inside.
pub(in crate::template) const GUARD: &str = " guard";

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper(PRINT, Box::new(Print));
    registry.register_helper(GET, Box::new(Get));
    registry.register_helper(GUARD, Box::new(Guard));
}

/// A guard block with nothing in it, as Handlebars' tree has it.
pub(in crate::template) fn guard_skeleton() -> Option<Box<handlebars::template::HelperTemplate>> {
    let mut template = Template::compile("{{#guard}}{{/guard}}").ok()?;
    match template.elements.pop() {
        Some(TemplateElement::HelperBlock(mut block)) => {
            block.name = handlebars::template::Parameter::Name(GUARD.to_owned());
            Some(block)
        }
        _ => None,
    }
}

struct Print;

impl HelperDef for Print {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let mode = mode();
        charge_read(STEP).map_err(failure)?;
        match mode {
            Mode::Captured => {
                charge_copy(value(helper, 1)).map_err(failure)?;
                capture(value(helper, 1));
                Ok(())
            }
            Mode::Plain => Shown.call(helper, registry, context, rendering, out),
            Mode::Marked | Mode::Encoded => {
                let label = text(helper, 0).map_err(failure)?;
                if mode == Mode::Marked && text(helper, 1).map_err(failure)?.contains(MARK) {
                    let reason = "holds a NUL character";
                    return Err(failure(RenderError::Refused { variable: label.into_owned(), reason }));
                }
                // Straight to the output: marks must not take part in indentation.
                out.write(&format!("{MARK}{label}{MARK}"))?;
                Shown.call(helper, registry, context, rendering, out)?;
                Ok(out.write("\0")?)
            }
        }
    }
}

/// The text of what is printed, which Handlebars then writes with its own rules of indentation.
struct Shown;

impl HelperDef for Shown {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        let text = text(helper, 1).map_err(failure)?;
        let as_it_is = value(helper, 2).as_bool() == Some(true);
        let text = if mode() == Mode::Encoded && !as_it_is { encode(&text) } else { text.into_owned() };
        Ok(ScopedJson::Derived(Value::String(text)))
    }
}

struct Get;

impl HelperDef for Get {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        // A name where a list has only positions is an error to Handlebars; it is a field that an answer lacks.
        Ok(rendering.evaluate(context, &text(helper, 0).map_err(failure)?).unwrap_or(ScopedJson::Missing))
    }
}

/// Charges the use of a partial, which is given a copy of all that is in scope.
fn charge_partial(context: &Context, rendering: &RenderContext<'_, '_>) -> Result<(), RenderError> {
    charge_read(STEP)?;
    match rendering.evaluate(context, "this") {
        Ok(value) => charge_copy(value.as_json()),
        Err(_) => Ok(()),
    }
}

struct Guard;

impl HelperDef for Guard {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        charge_partial(context, rendering).map_err(failure)?;
        match helper.template() {
            Some(body) => body.render(registry, context, rendering, &mut Limited::new(out)),
            None => Ok(()),
        }
    }
}
