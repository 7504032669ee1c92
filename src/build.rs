//! Before the build: what makes a start cheap. A program of this size has tens of thousands of addresses that are put
//! right whenever it is loaded; each start waits for that.

#![allow(clippy::print_stdout, reason = "it is how a build is told anything")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/build.rs");
    if packs_addresses() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&folder).join("types.txt"), types())
}

/// Whether the system here reads packed addresses: glibc does since 2.36, and what is built with them needs one of
/// these. What is built elsewhere, or for elsewhere, does without.
fn packs_addresses() -> bool {
    let said = |name: &str| env::var(name).unwrap_or_default();
    let here = said("TARGET") == said("HOST") && said("CARGO_CFG_TARGET_ENV") == "gnu";
    here && said("CARGO_CFG_TARGET_OS") == "linux" && glibc().is_some_and(|version| version >= (2, 36))
}

/// The version of glibc, where that is the library.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What extensions mean, one of them a line, in their order: one text has no addresses in it, a table has thousands.
fn types() -> String {
    let extensions = mime_guess::get_mime_extensions_str("*/*").unwrap_or_default();
    let extensions: BTreeSet<String> = extensions.iter().map(|extension| extension.to_ascii_lowercase()).collect();
    let line = |extension: &String| Some(format!("{extension}\t{}\n", mime_guess::from_ext(extension).first_raw()?));
    extensions.iter().filter_map(line).collect()
}
