//! Handlebars templates, checked at load and escaped for the slot (URL, argv, header, …) that they render into.
//!
//! [`Template::compile`] checks a text for one [`Slot`] against a [`ScopeShape`] and reports every error at its position;
//! [`Template::render`] renders it with the values of a [`Scope`]. Unknown names are errors at load; a missing field of a
//! result is null. What is not here: positions in files (compile/), and the use of the output (action/).
//!
//! An argument that is named like a helper is the argument where it is alone. `this` at the top level needs
//! [`ScopeShape::with_this`]. Inline partials are not allowed in conditions. Lists and objects print as JSON.
//! One [`Engine`] per pack holds the partials; the helpers are the same everywhere ([`helpers`]).

mod shape;
mod scope;
mod error;
mod missing_output;
mod truncation_note;
mod limit;
mod syntax;
mod helper;
mod coverage;
mod check;
mod to_handlebars;
mod handlebars_js;
mod render;
mod engine;
mod plain_expression;
mod compile;
mod slot;
mod output_pieces;
mod partial_names;

#[cfg(test)]
mod tests;

pub use compile::{Template, TemplatePart};
pub use coverage::{Branch, CoverageMarker};
pub use engine::Engine;
pub use error::{AlteredValue, ComparedValues, TemplateError, TemplateSpan, WholeOutcome};
pub use handlebars_js::{JsPart, JsPiece, JsSource, JsTemplates, Marker};
pub use helper::{helpers, is_helper, is_helper_without_arguments};
pub use output_pieces::{OutputPiece, output_pieces};
pub use partial_names::partial_names;
pub use render::{RenderError, value_to_text};
pub use scope::{CALLER, FixedTime, Scope, ScopeConstants, is_caller_headers_path, reserved_name_meaning};
pub use shape::{ScopeShape, Shape};
pub use slot::{
    ArgvSlot, Base64Slot, Base64Text, ConditionSlot, EnvSlot, FilePathSlot, FolderPathSlot, FolderPathText, HeaderSlot,
    JsonSlot, ListItems, ListSlot, NumberSlot, QuerySlot, Slot, TextSlot, UriSlot, UrlBase, UrlSlot,
};
pub use truncation_note::{INVALID_UTF8_NOTE, truncation_note};
