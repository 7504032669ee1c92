//! The helpers of templates.

mod signature;
mod signatures;
mod argument;
mod path_helper;
mod render_call;
mod block;
mod compare;
mod text;
mod list;
mod collection;
mod encoding;
mod number;
mod time;
mod print;
mod js;

use handlebars::Handlebars;

pub(super) use argument::{HelperFn, HelperParams, HelperValue};
pub(super) use collection::compile_pattern;
pub(super) use encoding::is_uuid_version;
pub(super) use js::{MARK, MEDIA, ROLE, TEXT, register_js};
pub(super) use print::{GUARD, PRINT, READ_PATH, REQUIRE_PATH, empty_guard_block};
pub(super) use signature::{HelperForm, ParamKind, SecretUse, Signature};
pub use signatures::helpers;
pub(super) use signatures::{SIGNATURES, find_signature};
pub(super) use time::NOW_FALLBACK;
pub(super) use time::{is_time_zone, is_valid_format};

/// Whether a name is that of a helper without required parameters, which is ambiguous as the name of an argument.
pub fn is_helper_without_arguments(name: &str) -> bool {
    find_signature(name).is_some_and(|signature| signature.required.is_empty() && signature.form != HelperForm::Block)
}

/// Whether a name is that of a helper. An argument of that name takes precedence.
pub fn is_helper(name: &str) -> bool {
    find_signature(name).is_some()
}

/// Whether a helper asks whether there is a value: an output of another form is null to it, and no error.
pub(super) fn checks_presence(name: &str) -> bool {
    matches!(name, "if" | "unless" | "with" | "default") || compare::is_predicate(name)
}

/// Registers exactly the helpers of the table.
pub(super) fn register(registry: &mut Handlebars<'static>) {
    for foreign in ["log", "raw"] {
        registry.unregister_helper(foreign);
    }
    for (name, helper) in helper_fns() {
        registry.register_helper(name, Box::new(argument::FnHelper(helper)));
    }
    block::register(registry);
    compare::register(registry);
    time::register(registry);
    print::register(registry);
}

/// The plain helper of a name, which depends only on its arguments.
pub(super) fn helper_fn(name: &str) -> Option<HelperFn> {
    helper_fns().find_map(|(known, helper)| (known == name).then_some(helper))
}

fn helper_fns() -> impl Iterator<Item = (&'static str, HelperFn)> {
    [text::HELPERS, list::HELPERS, collection::HELPERS, number::HELPERS, encoding::HELPERS, time::HELPERS]
        .into_iter()
        .flatten()
        .copied()
}
