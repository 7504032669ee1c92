//! Renders a report as a log of SARIF 2.1.0.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::render::SourceRange;
use super::{Code, Diagnostic, Report, Severity};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Renders a report as a log with one run.
pub(super) fn render_sarif(report: &Report) -> String {
    let used: BTreeSet<Code> = report.diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
    let rules: Vec<Value> = used.iter().map(|code| rule(*code)).collect();
    let results: Vec<Value> = report.diagnostics().iter().map(|diagnostic| result(report, diagnostic, &used)).collect();
    let driver = json!({ "name": "folio", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let run = json!({ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results });
    let log = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    format!("{log:#}\n")
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.explanation().trim() },
        "help": { "text": code.page(), "markdown": code.page() },
    })
}

fn result(report: &Report, diagnostic: &Diagnostic, rules: &BTreeSet<Code>) -> Value {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let help = diagnostic.help.as_ref().map_or_else(String::new, |help| format!("\n{help}"));
    let mut result = Map::from_iter([
        ("ruleId".to_owned(), json!(diagnostic.code.as_str())),
        ("ruleIndex".to_owned(), json!(rules.iter().position(|code| *code == diagnostic.code))),
        ("level".to_owned(), json!(level)),
        ("message".to_owned(), json!({ "text": format!("{}{help}", diagnostic.message) })),
    ]);
    if let Some(place) = SourceRange::for_diagnostic(report, diagnostic) {
        result.insert("locations".to_owned(), json!([{ "physicalLocation": physical_location(&place) }]));
    }
    Value::Object(result)
}

fn physical_location(place: &SourceRange) -> Value {
    json!({
        "artifactLocation": { "uri": uri_reference(&place.file) },
        "region": {
            "startLine": place.start.line,
            "startColumn": place.start.column,
            "endLine": place.end.line,
            "endColumn": place.end.column,
        },
    })
}

/// A path as a URI reference.
fn uri_reference(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte);
    let encoded: String = path
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    if path.starts_with('/') { format!("file://{encoded}") } else { encoded }
}
