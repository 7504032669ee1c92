//! URIs and URI templates (RFC 6570 to level 3), forwards and backwards: from values to a URI, and back to them.
//!
//! What is not here: what a URI names (catalog/), and the templates of texts and URLs (template/).

mod check;
mod expand;
mod error;
mod file_uri;
mod prefix_index;
mod parse;
mod pattern;
mod percent;
mod router;
mod template;

pub use check::check_uri;
pub use error::UriError;
pub use file_uri::file_uri_to_path;
pub use router::Router;
pub use template::{Operator, UriTemplate, UriVariable};

#[cfg(test)]
mod tests;
