//! The files of `--args` and `--caller`, in JSON or YAML.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};

use crate::cli::Output;
use crate::diagnostic::Report;
use crate::identity::LocalCaller;
use crate::yaml::{self, Document};

/// How messages name a file.
pub(super) fn source_name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// The value in the file that `option` names; `-` is stdin. What is wrong with it is printed.
pub(super) fn read_document(path: &Path, option: &str, output: &Output) -> anyhow::Result<Document> {
    let mut report = Report::default();
    let document = parse(path, option, &mut report)?;
    document.filter(|_| !report.has_errors()).ok_or_else(|| {
        output.eprint_report(&report);
        anyhow!("invalid `{option}`: `{}` is neither JSON nor YAML", source_name(path))
    })
}

/// The caller in the file of `--caller`. What is wrong with it is printed.
pub(super) fn read_caller(path: &Path, output: &Output) -> anyhow::Result<LocalCaller> {
    let mut report = Report::default();
    let document = parse(path, "--caller", &mut report)?;
    let caller = document.and_then(|document| yaml::from_document(&document, &mut report));
    caller.filter(|_| !report.has_errors()).ok_or_else(|| {
        output.eprint_report(&report);
        anyhow!("invalid `--caller`: `{}` is no caller, such as `{{ id: ada, roles: [ops] }}`", source_name(path))
    })
}

fn parse(path: &Path, option: &str, report: &mut Report) -> anyhow::Result<Option<Document>> {
    let source_name = source_name(path);
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes).map(|_| ()),
        false => std::fs::read(path).map(|read| bytes = read),
    };
    read.with_context(|| format!("cannot read `{option}` from `{source_name}`"))?;
    Ok(yaml::decode(&bytes, &source_name, report).and_then(|file| yaml::parse(file, report)))
}
