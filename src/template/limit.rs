//! The limits of templates. Handlebars has none, and aborts the process on some inputs.

/// The largest text of one template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 1 << 20;
/// The largest text of another program as a template, in bytes.
pub(super) const MAX_IMPORTED_BYTES: usize = MAX_EXPANSION;
/// The deepest nesting of blocks, partials, `else if`, parentheses and lists together.
pub const MAX_NESTING: usize = 64;
/// The largest output of a template, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// The iterations of all loops of one rendering.
pub const MAX_ITERATIONS: u64 = 1_000_000;

/// How many syntax errors are reported before parsing stops.
pub(super) const MAX_ERRORS: usize = 64;
/// The size of a template with its partials expanded, in bytes, where each tag counts as 16 and each use of a partial as
/// 1024.
pub(super) const MAX_EXPANSION: usize = 16 << 20;
/// Bytes times tags: Handlebars counts the lines before each tag.
pub(super) const MAX_PARSE_COST: usize = 256 << 20;
