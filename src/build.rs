//! Before the build: what makes a start cheap. A program of this size has tens of thousands of addresses that are put
//! right whenever it is loaded, and what it runs as it starts lies scattered among ten times as much; each start waits
//! for both. What is asked of the linker here, the program runs without as well, so nothing is asked that it refuses.

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
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(folder.join("types.txt"), types())?;
    if !is_native() {
        return Ok(());
    }
    let packed = "-Wl,-z,pack-relative-relocs".to_owned();
    let script = folder.join("start.ld");
    fs::write(&script, ordered(&fs::read_to_string(ORDER)?))?;
    let ordered = format!("-T{}", script.display());
    let wanted = if said("PROFILE") == "release" { vec![packed, ordered] } else { vec![packed] };
    for flag in wanted.into_iter().filter(|flag| works(flag, &folder)) {
        println!("cargo::rustc-link-arg-bins={flag}");
    }
    Ok(())
}

fn said(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Whether what is built here runs here, with a linker of the family that knows such flags.
fn is_native() -> bool {
    said("TARGET") == said("HOST") && said("CARGO_CFG_TARGET_OS") == "linux" && said("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// Whether a program can be linked with a flag, and runs: linkers and versions of glibc differ in what they take.
fn works(flag: &str, folder: &Path) -> bool {
    let (source, program) = (folder.join("probe.rs"), folder.join("probe"));
    let linker = env::var("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}"));
    let flags = said("CARGO_ENCODED_RUSTFLAGS");
    let built = fs::write(&source, "fn main() {}").and_then(|()| {
        Command::new(said("RUSTC"))
            .args([&source, Path::new("-o"), &program])
            .args(flags.split('\x1f').filter(|flag| !flag.is_empty()).chain(linker.as_deref().ok()))
            .arg(format!("-Clink-arg={flag}"))
            .stderr(Stdio::null())
            .status()
    });
    built.is_ok_and(|status| status.success()) && Command::new(&program).status().is_ok_and(|status| status.success())
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
