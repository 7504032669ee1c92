//! The helpers: one table of all, and what each does.

mod table;
mod argument;
mod block;
mod compare;
mod text;
mod list;
mod time;
mod print;

use handlebars::Handlebars;

pub(super) use argument::{Answer, Given, Plain};
pub(super) use print::{GET, PRINT, guard_skeleton};
pub(super) use table::{Form, Gives, Kind, Signature, TABLE, signature};
pub use table::{HelperDoc, helpers};
pub(super) use time::NOW_UNLESS;
pub(super) use time::check_format;

/// Whether a name is that of a helper that needs nothing given: as an argument's, it could be read both ways.
pub fn stands_alone(name: &str) -> bool {
    signature(name).is_some_and(|row| row.required.is_empty() && row.form != Form::Block)
}

/// Whether a name is that of a helper. An argument of that name still means the argument.
pub fn is_helper(name: &str) -> bool {
    signature(name).is_some()
}

/// Puts every helper of the table, and nothing else, into a registry.
pub(super) fn register(registry: &mut Handlebars<'static>) {
    for foreign in ["log", "raw"] {
        registry.unregister_helper(foreign);
    }
    for (name, helper) in plain_helpers() {
        registry.register_helper(name, Box::new(argument::Called(helper)));
    }
    block::register(registry);
    compare::register(registry);
    time::register(registry);
    print::register(registry);
}

/// The helper of a name, where it needs nothing but what it is given.
pub(super) fn plain(name: &str) -> Option<Plain> {
    plain_helpers().find_map(|(known, helper)| (known == name).then_some(helper))
}

fn plain_helpers() -> impl Iterator<Item = (&'static str, Plain)> {
    [text::HELPERS, list::HELPERS, time::HELPERS].into_iter().flatten().copied()
}
