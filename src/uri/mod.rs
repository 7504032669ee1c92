//! URIs and URI templates (RFC 6570 to level 3): checked, expanded with values, and matched.
//!
//! What is not here: what a URI names (catalog/), and Handlebars templates for URLs (template/).

mod check;
mod expand;
mod file_uri;
mod normalize;
mod prefix_index;
mod parse;
mod pattern;
mod percent;
mod router;
mod template;

pub use check::{check_uri, has_scheme};
pub use file_uri::file_uri_to_path;
pub use normalize::normalize_uri;
pub use percent::{percent_decode_lossy, percent_encode, percent_encode_except};
pub use router::Router;
pub use template::{Operator, UriTemplate};

#[cfg(test)]
mod tests;

/// An error in a URI or a URI template, at a range of its bytes.
pub type UriError = crate::diagnostic::LocatedError<std::ops::Range<usize>>;
