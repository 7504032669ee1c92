//! Parses pages that name the tests of their claims.

use std::fs;
use std::path::{Path, PathBuf};

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Reads a file of the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Those of the tests, named as `cargo test` takes them, that do not exist or are not run.
pub fn missing_tests<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let exists = |test: &&str| {
        let (module, name) = test.rsplit_once("::").unwrap();
        files(module).iter().any(|file| has_test(&read(file), name))
    };
    names.filter(|test| !exists(test)).collect()
}

/// What stands in backticks.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The files in which a module of tests may be, as `cargo test` names it: one of the suite, or `tests` of a room, in
/// files of their own or at the end of what they test.
fn files(module: &str) -> Vec<String> {
    if read("tests/suite/main.rs").contains(&format!("\nmod {module};\n")) {
        return vec![format!("tests/suite/{module}.rs")];
    }
    let path = module.replace("::", "/");
    if !path.split('/').any(|part| part == "tests") {
        return Vec::new();
    }
    let tested = path.strip_suffix("/tests").unwrap_or(&path);
    let beneath = |path: &str| [format!("src/{path}.rs"), format!("src/{path}/mod.rs")];
    beneath(&path).into_iter().chain(beneath(tested)).filter(|file| at(file).exists()).collect()
}

/// Whether a file has a test of this name, which is run.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declares = |line: &str| line.trim_start_matches("async ").starts_with(&format!("fn {name}("));
    lines.iter().enumerate().filter(|(_, line)| declares(line)).any(|(at, _)| {
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with('#') || line.starts_with("//"));
        let attributes: Vec<&&str> = above.filter(|line| line.starts_with('#')).collect();
        attributes.iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
            && !attributes.iter().any(|line| line.starts_with("#[ignore"))
    })
}
