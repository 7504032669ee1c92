//! Text with holes: Handlebars, checked whole before it is served and escaped by where each value lands.
//!
//! [`Template::compile`] reads a text for one [`Slot`] against the [`ScopeShape`] in scope and reports every fault
//! with its exact place. [`Template::render`] fills it from a [`Scope`]. Strictness lies in the check: what is
//! unknown is a fault at load, so that at run a field which an answer lacks is simply null.
//! What is not here: where the text stood in a file (load/), and what is done with what was rendered (action/).
//!
//! A few rules that the types do not say: an argument that bears a helper's name means the argument where it
//! stands alone ([`is_helper_without_arguments`] lets callers warn), `this` at the top is nothing unless [`ScopeShape::with_this`] gives
//! it, partials written inside a template stay out of conditions, and lists and objects print as JSON.
//!
//! One [`Engine`] per pack holds the partials; helpers are the same everywhere ([`helpers`]).

mod shape;
mod scope;
mod error;
mod limit;
mod syntax;
mod partial;
mod helper;
mod check;
mod lower;
mod render;
mod encode;
mod engine;
mod term;
mod compile;
mod slot;
mod output;

#[cfg(test)]
mod tests;

pub use compile::{Template, TemplatePart};
pub use engine::Engine;
pub use error::{Altered, TemplateError, TemplateSpan};
pub use helper::{HelperDoc, helpers, is_helper, is_helper_without_arguments};
pub use limit::{MAX_ITERATIONS, MAX_NESTING, MAX_OUTPUT, MAX_TEMPLATE};
pub use output::{OutputPiece, output_pieces};
pub use render::{RenderError, is_truthy, value_to_text};
pub use scope::{Scope, ScopeConstants, reserved_name_meaning};
pub use shape::{ScopeShape, Shape};
pub use slot::{
    Argv, ArgvElement, Base64, Base64Text, Condition, EnvText, EnvValue, FilePath, HeaderSlot, HeaderText, JsonLeaf,
    JsonValue, PathText, PlainText, QueryValue, QueryValues, Slot, Text, Uri, UriText, Url, UrlBase, UrlText,
};
