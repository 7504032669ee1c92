//! The built program, asked over real pipes and sockets as a client would ask it.
//!
//! Each module is one promise. What is not here: tests of a room from within, which stand in that room.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs
)]

mod acceptance;
mod api;
mod check;
mod harness;
mod pages;

mod architecture;
mod argv;
mod asking;
mod batch;
mod busy;
mod cli;
mod completion;
mod conversation;
mod examples;
mod flood;
mod hostile;
mod http;
mod hundred_edits;
mod limits;
mod load;
mod packs;
mod programs;
mod readme;
mod redirects;
mod reference;
mod reload;
mod results;
mod same_everywhere;
mod safety;
mod schema;
mod secrets;
mod shutdown;
mod skills;
mod sse;
mod speaking;
mod specification;
mod stdio;
mod steps;
mod streams;
mod supervisor;
mod tasks;
mod versions;
mod within;
