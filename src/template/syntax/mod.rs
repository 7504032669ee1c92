//! A template's text as a tree with the exact place of every name. It reads the same language as Handlebars,
//! less what folio refuses, and says what is wrong in words for people.
//! What is not here: what names mean (check/) and rendering, which Handlebars does from its own tree (to_handlebars.rs).

mod tree;
mod cursor;
mod expression;
mod parse;
mod open_block;

pub(super) use parse::{INVERSE_SECTION, SECTION, SectionTemplate, parse, parse_with_sections, parse_within};
pub(super) use tree::{
    BlockNode, CallArguments, CallNode, Expression, Ident, InlineNode, Interpolation, PartialCall, PathNode,
    TemplateNode, TextNode,
};
