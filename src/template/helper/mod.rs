//! The helpers: one table of all, and what each does.

mod table;
mod argument;
mod block;
mod text;
mod list;
mod time;
mod print;

use handlebars::Handlebars;

pub(super) use print::{GET, PRINT, guard_skeleton};
pub(super) use table::{Form, Kind, Signature, TABLE, signature};
pub use table::{HelperDoc, helpers};
pub(super) use time::NOW_UNLESS;
pub(super) use time::check_format;

/// Whether a name is that of a helper. An argument of that name still means the argument; callers may warn.
pub fn is_helper(name: &str) -> bool {
    signature(name).is_some()
}

/// Puts every helper of the table, and nothing else, into a registry.
pub(super) fn register(registry: &mut Handlebars<'static>) {
    for foreign in ["log", "raw"] {
        registry.unregister_helper(foreign);
    }
    block::register(registry);
    text::register(registry);
    list::register(registry);
    time::register(registry);
    print::register(registry);
}
