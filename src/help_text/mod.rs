//! Tools from the text that a program prints for `--help`.
//!
//! ```text
//! parse    text → Help: options, positional arguments, subcommands
//! usage    the usage line → positional arguments
//! option   one line of an option → its spellings, and the value that it takes
//! draft    Help → the YAML of a tool, with comments on what a person must look at
//! ```
//!
//! The formats are those of clap, argparse, click, cobra, Go's `flag`, GNU getopt and manual pages. A help text is prose: what comes of
//! it is a draft. What is not here: who runs the program and writes the files (cli/).

mod draft;
mod option;
mod parse;
mod usage;

#[cfg(test)]
mod tests;

pub use draft::{ToolSource, draft_tool};
pub use parse::{Help, Subcommand, is_manual_page, parse_help};
