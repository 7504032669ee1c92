//! URIs and URI templates (RFC 6570 to level 3), forwards and backwards: from values to a URI, and back to them.
//!
//! What is not here: what a URI names (catalog/), and the templates of texts and URLs (template/).

mod check;
mod expand;
mod fault;
mod file;
mod index;
mod parse;
mod pattern;
mod percent;
mod router;
mod template;

pub use check::check_uri;
pub use fault::UriFault;
pub use file::path_of_file_uri;
pub use router::Router;
pub use template::{Operator, UriTemplate, Variable};

#[cfg(test)]
mod tests;
