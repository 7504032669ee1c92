//! Warnings about what works, and what some client will not take well.

use indexmap::IndexMap;

use crate::compile::Findings;
use crate::diagnostic::Code;
use crate::yaml::At;

use super::face::{Lists, Server};

/// What clients make of a tool's name: `mcp__SERVER__TOOL`, which some cut at 64 letters and others at 60.
const LONGEST: usize = 60;
/// From how many tools on some clients choose badly.
const MANY: usize = 40;

/// Warns of names and numbers that some client will not take.
pub(super) fn warn(server: &Server, lists: &Lists, (places, at): (&IndexMap<String, At>, At), findings: &mut Findings) {
    for tool in &lists.tools {
        let whole = "mcp__".len() + server.name.len() + "__".len() + tool.name.len();
        let place = places.get(&tool.name).copied().unwrap_or(at);
        if whole > LONGEST {
            let words = format!(
                "`mcp__{}__{}` has {whole} letters, and some clients cut names at {LONGEST}",
                server.name, tool.name
            );
            findings.report.warning(Code::Client, place.span(), words).help("shorten the server's name or the tool's");
        }
    }
    if lists.tools.len() > MANY {
        let words = format!(
            "there are {} tools, and from {MANY} on some clients choose badly or drop the rest",
            lists.tools.len()
        );
        findings
            .report
            .warning(Code::Client, at.span(), words)
            .help("split the server, or turn tools into prompts or resources");
    }
}
