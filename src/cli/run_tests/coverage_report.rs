//! Prints what tests reach, as text or JSON.

use serde_json::{Map, Value, json};

use super::report::shorten;
use crate::compile::PartKind;
use crate::diagnostic::one_line;
use crate::test_run::{Coverage, ManifestPart};

/// A line for each gap, and the share of each kind.
pub(super) fn coverage_text(coverage: &Coverage) -> String {
    let gaps = coverage.gaps().map(|gap| format!("{}:{}: {}\n", shorten(&gap.file), gap.line, gap_message(gap)));
    let gaps: String = gaps.collect();
    let kinds = PartKind::ALL.into_iter().filter(|kind| coverage.total(*kind) > 0);
    let shares = kinds.map(|kind| {
        let (reached, total) = (coverage.reached_count(kind), coverage.total(kind));
        format!("{:<9} {:>3}%  {reached} of {total}\n", kind.plural(), percent(coverage, kind))
    });
    let shares: String = shares.collect();
    let between = if gaps.is_empty() || shares.is_empty() { "" } else { "\n" };
    format!("{gaps}{between}{shares}")
}

/// The shares by kind, and the gaps.
pub(super) fn coverage_json(coverage: &Coverage) -> Value {
    let mut fields: Map<String, Value> = Map::new();
    for kind in PartKind::ALL {
        let (reached, total) = (coverage.reached_count(kind), coverage.total(kind));
        let share = json!({ "reached": reached, "total": total, "percent": percent(coverage, kind) });
        fields.insert(kind.plural().to_owned(), share);
    }
    let gap = |gap: &ManifestPart| {
        json!({
            "kind": gap.kind.plural(),
            "file": gap.file.display().to_string(),
            "line": gap.line,
            "message": gap_message(gap),
        })
    };
    fields.insert("gaps".to_owned(), coverage.gaps().map(gap).collect());
    Value::Object(fields)
}

/// The share that is reached, rounded down: it is 100 where all is.
fn percent(coverage: &Coverage, kind: PartKind) -> usize {
    (coverage.reached_count(kind) * 100).checked_div(coverage.total(kind)).unwrap_or(100)
}

pub(super) fn gap_message(gap: &ManifestPart) -> String {
    let label = one_line(&gap.label);
    match gap.kind {
        PartKind::Prompt => format!("no test reaches prompt {label}"),
        PartKind::Resource => format!("no test reaches resource {label}"),
        PartKind::Tool => format!("no test reaches tool {label}"),
        PartKind::Step => format!("no test runs {label}"),
        PartKind::Branch => format!("no test renders {label}"),
    }
}
