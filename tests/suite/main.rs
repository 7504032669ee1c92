//! End-to-end tests of the program over real pipes and sockets.
//!
//! Each module tests one feature. Unit tests are in their rooms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs
)]

mod serving_checks;
mod example_api;
mod bridge;
mod check;
mod check_formats;
mod harness;
mod doc_tables;

mod archives;
mod architecture;
mod argv;
mod arguments;
mod client_lints;
mod client_questions;
mod command_requests;
mod batch;
mod blobs;
mod isolation;
mod cli;
mod completion;
mod completion_scripts;
mod conversation;
mod coverage;
mod dev;
mod explain;
mod export;
mod examples;
mod upstream_errors;
mod file_paths;
mod files;
mod flood;
mod hostile;
mod hostile_upstreams;
mod hostile_values;
mod http;
mod http_cache;
mod upstream_connections;
mod http_requests;
mod init_command;
mod init_templates;
mod install;
mod install_faults;
mod json_outputs;
mod reload_under_load;
mod limits;
mod load;
mod pack_format_forms;
mod pack_formats;
mod pack_sources;
mod packs;
mod programs;
mod progress_lines;
mod parse;
mod path_arguments;
mod path_corpus;
mod random_edits;
mod readme;
mod recorded_mocks;
mod redirects;
mod reference;
mod reload;
mod repeated_steps;
mod results;
mod wire_parity;
mod workspace;
mod safety;
mod sandbox;
mod schema;
mod secrets;
mod shutdown;
mod skills;
mod sse;
mod suggested_fixes;
mod documented_mistakes;
mod multipart;
mod manifest_tests;
mod entry_names;
mod new;
mod notifications;
mod numbers;
mod observability;
mod openapi;
mod specification;
mod stdio;
mod step_stdin;
mod step_values;
mod steps;
mod streams;
mod supervisor;
mod tasks;
mod terminal;
mod tls;
mod http2;
mod proxy;
mod pseudo_terminal;
mod upstream;
mod variables;
mod versions;
mod client_roots;
