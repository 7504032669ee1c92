//! How much of everything a template may ask for. Handlebars itself has no limits, and ends the process on some.

/// The largest text of one template, in bytes.
pub const MAX_TEMPLATE: usize = 1 << 20;
/// The deepest nesting of blocks, partials, `else if`, parentheses and lists, all taken together.
pub const MAX_NESTING: usize = 64;
/// The largest text that a template may become, in bytes.
pub const MAX_OUTPUT: usize = 16 << 20;
/// How often all loops of one rendering may go round.
pub const MAX_ITERATIONS: u64 = 1_000_000;

/// How many errors of syntax are reported before the rest of a text is left unread.
pub(super) const MAX_ERRORS: usize = 64;
/// The size of a template with all its partials written out, in bytes, where each tag counts as 16 and each
/// use of a partial as 1024.
pub(super) const MAX_EXPANSION: usize = 16 << 20;
/// Bytes times tags: Handlebars counts the lines before each tag anew.
pub(super) const MAX_PARSE_COST: usize = 256 << 20;
