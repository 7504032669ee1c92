mod program_run;
#[cfg(target_os = "linux")]
mod process_tree;
mod host_lookup;
mod http;
mod supervisor_start;
