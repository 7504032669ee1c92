//! Before the build: what makes a start cheap. A program of this size has tens of thousands of addresses that are put
//! right whenever it is loaded, and what it runs as it starts lies scattered; each start waits for both. What is asked
//! of the linker here, the program runs without as well, so nothing is asked that it refuses.

#![allow(clippy::print_stdout, reason = "it is how a build is told anything")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// The code that runs as folio starts and serves; `.ci/order` says how it is found.
const ORDER: &str = "src/start.order";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    let linker = format!("CARGO_TARGET_{}_LINKER", said("TARGET").replace('-', "_").to_uppercase());
    println!("cargo::rerun-if-env-changed={linker}");
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(folder.join("types.txt"), types())?;
    let flags = if runs_here() { flags(&folder) } else { Vec::new() };
    flags.iter().for_each(|flag| println!("cargo::rustc-link-arg-bins={flag}"));
    Ok(())
}

/// What is asked of the linker.
fn flags(folder: &Path) -> Vec<String> {
    let mut taken = Vec::new();
    // glibc reads packed addresses since 2.36, and what is built with them needs one of these.
    try_flag("-Wl,-z,pack-relative-relocs".to_owned(), &mut taken, folder);
    if said("PROFILE") != "release" {
        return taken;
    }
    let script = folder.join("start.ld");
    let ordered = fs::read_to_string(ORDER).map(|list| ordered(&list)).and_then(|text| fs::write(&script, text));
    if ordered.is_err() || !try_flag(format!("-T{}", script.display()), &mut taken, folder) {
        println!("cargo::warning=the linker takes no order of the code: an idle server will hold half as much again");
    }
    taken
}

fn said(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Whether what is built here runs here, on glibc.
fn runs_here() -> bool {
    said("TARGET") == said("HOST") && said("CARGO_CFG_TARGET_OS") == "linux" && said("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// Takes a flag, if a program can be linked with it and those that are taken, and runs: linkers and versions of glibc
/// differ in what they know.
fn try_flag(flag: String, taken: &mut Vec<String>, folder: &Path) -> bool {
    taken.push(flag);
    let works = links_and_runs(taken, folder);
    if !works {
        taken.pop();
    }
    works
}

fn links_and_runs(flags: &[String], folder: &Path) -> bool {
    let (source, program) = (folder.join("probe.rs"), folder.join("probe"));
    let linker = env::var("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}"));
    let own = said("CARGO_ENCODED_RUSTFLAGS");
    let built = fs::write(&source, "fn main() {}").and_then(|()| {
        Command::new(said("RUSTC"))
            .args([&source, Path::new("-o"), &program])
            .args(own.split('\x1f').filter(|flag| !flag.is_empty()).chain(linker.as_deref().ok()))
            .args(flags.iter().map(|flag| format!("-Clink-arg={flag}")))
            .stderr(Stdio::null())
            .status()
    });
    let runs = || Command::new(&program).current_dir(folder).status().is_ok_and(|status| status.success());
    built.is_ok_and(|status| status.success()) && runs()
}

/// The linker's script that puts the functions of a list side by side, before all others.
fn ordered(list: &str) -> String {
    let names = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let sections: String = names.map(|name| format!("    *(.text.{name} .text.unlikely.{name})\n")).collect();
    format!("SECTIONS\n{{\n  .text.start :\n  {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n")
}

/// What extensions mean, one of them a line, in their order: one text has no addresses in it, a table has thousands.
fn types() -> String {
    let extensions = mime_guess::get_mime_extensions_str("*/*").unwrap_or_default();
    let extensions: BTreeSet<String> = extensions.iter().map(|extension| extension.to_ascii_lowercase()).collect();
    let line = |extension: &String| Some(format!("{extension}\t{}\n", mime_guess::from_ext(extension).first_raw()?));
    extensions.iter().filter_map(line).collect()
}
