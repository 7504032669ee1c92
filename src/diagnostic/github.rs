//! Renders a report as commands of a GitHub workflow.

use super::render::SourceRange;
use super::sanitize::one_line;
use super::{Diagnostic, Report, Severity};

/// Renders a report as one `::error` command for each diagnostic.
pub(super) fn render_github(report: &Report) -> String {
    report.diagnostics().iter().map(|diagnostic| command(report, diagnostic)).collect()
}

fn command(report: &Report, diagnostic: &Diagnostic) -> String {
    let kind = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let place = SourceRange::for_diagnostic(report, diagnostic).map_or_else(String::new, |place| {
        let (start, end) = (place.start, place.end);
        let columns = match start.line == end.line && end.column > start.column {
            true => format!(",col={},endColumn={}", start.column, end.column),
            false => format!(",col={}", start.column),
        };
        format!("file={},line={},endLine={}{columns},", property(&place.file), start.line, end.line)
    });
    let help = diagnostic.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
    let message = data(&format!("{}{help}", diagnostic.message));
    format!("::{kind} {place}title={}::{message}\n", property(diagnostic.code.as_str()))
}

/// Escapes the text of a command, as the runner reads it.
fn data(text: &str) -> String {
    let text: Vec<String> = text.lines().map(|line| one_line(line).replace('%', "%25")).collect();
    text.join("%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
