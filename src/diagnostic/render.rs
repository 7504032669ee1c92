//! Renders a report as text, JSON or lines.

use serde::Serialize;

use super::github::render_github;
use super::sanitize::one_line;
use super::sarif::render_sarif;
use super::{Diagnostic, Position, Report, Severity, count_noun, snippet};

/// The output formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Snippets of the source, for people.
    #[default]
    Text,
    /// A JSON list, for programs.
    Json,
    /// `path:line:column: error[code]: message`, for editors and CI.
    Lines,
    /// A log of SARIF 2.1.0, for code scanning.
    Sarif,
    /// Commands of a GitHub workflow, which annotate a pull request.
    Github,
}

impl Format {
    /// Every format.
    pub const ALL: &[Format] = &[Format::Text, Format::Json, Format::Lines, Format::Sarif, Format::Github];
}

/// The style of text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalStyle {
    /// Whether colours may be used.
    pub color: bool,
    /// The columns of the terminal, where known.
    pub width: Option<usize>,
}

/// Renders a report. Every format but an empty list of lines ends with a line feed.
pub fn render(report: &Report, format: Format, style: TerminalStyle) -> String {
    match format {
        Format::Text => render_text(report, style),
        Format::Json => render_json(report),
        Format::Lines => render_lines(report),
        Format::Sarif => render_sarif(report),
        Format::Github => render_github(report),
    }
}

/// Renders a report for people: each diagnostic with snippets of its source, and a summary line.
pub fn render_text(report: &Report, style: TerminalStyle) -> String {
    let mut out: String = render_frames(report, style).map(|frame| frame + "\n\n").collect();
    out.push_str(&summary(report));
    out.push('\n');
    out
}

/// Renders a report as a JSON list with one object for each error.
pub fn render_json(report: &Report) -> String {
    let entries: Vec<JsonDiagnostic<'_>> =
        report.diagnostics().iter().map(|diagnostic| JsonDiagnostic::new(report, diagnostic)).collect();
    let mut out = serde_json::to_string_pretty(&entries).unwrap_or_else(|_| "[]".to_owned());
    out.push('\n');
    out
}

/// Renders each diagnostic as snippets of its source.
pub fn render_frames(report: &Report, style: TerminalStyle) -> impl Iterator<Item = String> {
    let renderer = snippet::renderer(style);
    let render = move |diagnostic| snippet::render(&renderer, &report.sources, diagnostic).trim_end().to_owned();
    report.diagnostics().iter().map(render)
}

/// Renders a report as one line for each error.
pub fn render_lines(report: &Report) -> String {
    report.diagnostics().iter().map(|diagnostic| render_line(report, diagnostic)).collect()
}

/// Counts the errors: `2 errors, 1 warning`.
pub fn summary(report: &Report) -> String {
    let count = |severity| report.diagnostics().iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let clean = count(Severity::Error) + count(Severity::Warning) == 0;
    let present = counts.map(|(severity, noun)| (count(severity), noun)).into_iter().filter(|(count, _)| *count > 0);
    let parts = present.map(|(count, noun)| count_noun(count, noun));
    clean.then(|| "no errors, no warnings".to_owned()).into_iter().chain(parts).collect::<Vec<_>>().join(", ")
}

/// Renders one error as a line of [`render_lines`].
pub fn render_line(report: &Report, diagnostic: &Diagnostic) -> String {
    let place = match JsonDiagnostic::new(report, diagnostic) {
        JsonDiagnostic { file: Some(file), line: Some(line), column: Some(column), .. } => {
            format!("{}:{line}:{column}: ", one_line(&file))
        }
        _ => String::new(),
    };
    let (severity, code) = (diagnostic.severity.as_str(), diagnostic.code.as_str());
    format!("{place}{severity}[{code}]: {}\n", one_line(&diagnostic.message))
}

/// An error as programs read it. Lines and columns count from 1, columns in characters; the end is exclusive.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonDiagnostic<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    help: Option<&'a str>,
}

/// The file of a diagnostic, and where its span begins and ends.
pub(super) struct SourceRange {
    pub(super) file: String,
    pub(super) start: Position,
    pub(super) end: Position,
}

impl SourceRange {
    pub(super) fn for_diagnostic(report: &Report, diagnostic: &Diagnostic) -> Option<SourceRange> {
        let span = diagnostic.span?;
        let source = report.sources.get(span.file)?;
        Some(SourceRange {
            file: source.path().display().to_string(),
            start: source.position(span.start),
            end: source.position(span.end.max(span.start)),
        })
    }
}

impl<'a> JsonDiagnostic<'a> {
    fn new(report: &Report, diagnostic: &'a Diagnostic) -> JsonDiagnostic<'a> {
        let place = SourceRange::for_diagnostic(report, diagnostic);
        let (start, end) = (place.as_ref().map(|place| place.start), place.as_ref().map(|place| place.end));
        JsonDiagnostic {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity.as_str(),
            message: &diagnostic.message,
            file: place.map(|place| place.file),
            line: start.map(|position| position.line),
            column: start.map(|position| position.column),
            end_line: end.map(|position| position.line),
            end_column: end.map(|position| position.column),
            help: diagnostic.help.as_deref(),
        }
    }
}
