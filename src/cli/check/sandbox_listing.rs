//! What the sandboxes of a manifest allow, and what the system enforces of them.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::catalog::BuildOutcome;
use crate::compile::{NetworkRules, SandboxPath, SandboxRules, SandboxUse};
use crate::diagnostic::sanitize;
use crate::world::{DEFAULT_SEARCH_PATH, NeedAccess, SandboxSupport, find_program, program_needs};

/// Warns of what the system does not enforce, if any program has a sandbox.
pub(crate) fn warn_of_gaps(built: &BuildOutcome) {
    let rules = built.sandboxes.iter().flat_map(|listed| &listed.rules).map(AsRef::as_ref);
    let gaps = SandboxSupport::detect().gaps(rules);
    if !built.sandboxes.is_empty() && !gaps.is_empty() {
        let gaps = gaps.join(", ");
        tracing::warn!(target: "folio::sandbox", "sandboxes are not fully enforced by this system, which lacks: {gaps}");
    }
}

/// The listing of `check --verbose`; empty without sandboxes.
pub(super) fn list_sandboxes(built: &BuildOutcome) -> String {
    let mut text = String::new();
    for listed in &built.sandboxes {
        write_program(&mut text, listed, built);
    }
    if !built.sandboxes.is_empty() {
        let _ = writeln!(text, "sandboxes are enforced by {}", SandboxSupport::detect().describe());
    }
    sanitize(&text).into_owned()
}

fn write_program(text: &mut String, listed: &SandboxUse, built: &BuildOutcome) {
    let span = listed.at.span();
    let place = built.report.sources.get(span.file).map(|source| {
        let line = source.position(span.start).line;
        format!("{}:{line}", source.path().display())
    });
    let program = listed.program.as_deref().unwrap_or("a program that the environment names");
    let _ = writeln!(text, "sandbox of `{program}` at {}", place.unwrap_or_default());
    for rules in &listed.rules {
        write_rules(text, rules);
    }
    let search_path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_SEARCH_PATH.into());
    let path = listed.program.as_ref().and_then(|program| find_program(program.as_ref(), &search_path));
    write_needs(text, path.as_deref(), &search_path);
}

fn write_rules(text: &mut String, rules: &SandboxRules) {
    let paths = |paths: &[SandboxPath]| match paths {
        [] => "nothing".to_owned(),
        paths => paths.iter().map(|path| path.display_path.as_str()).collect::<Vec<_>>().join(", "),
    };
    let network = match &rules.network {
        NetworkRules::Any => "any".to_owned(),
        NetworkRules::Ports(ports) if ports.is_empty() => "none".to_owned(),
        NetworkRules::Ports(ports) => ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", "),
    };
    let required = if rules.required { ", required" } else { "" };
    let _ = writeln!(text, "  read: {}", paths(&rules.read));
    let _ = writeln!(text, "  write: {}", paths(&rules.write));
    let _ = writeln!(text, "  network: {network}{required}");
}

/// What the program needs beyond its rules, as far as it exists here.
fn write_needs(text: &mut String, program: Option<&Path>, search_path: &OsString) {
    let needs = program_needs(program.unwrap_or(Path::new("")), search_path);
    for (access, title) in
        [(NeedAccess::Execute, "also run and read"), (NeedAccess::Read, "also read"), (NeedAccess::Write, "also write")]
    {
        let paths: Vec<&PathBuf> =
            needs.iter().filter(|need| need.access == access && need.path.exists()).map(|need| &need.path).collect();
        let display_path: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let _ = writeln!(text, "  {title}: {}", display_path.join(" "));
    }
}
