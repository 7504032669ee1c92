//! The listing of `check --access`: who may use what.

use std::fmt::Write as _;

use serde::Serialize;

use crate::catalog::{AccessRow, BuildOutcome};
use crate::diagnostic::sanitize;

/// Who may use the entries of one manifest.
#[derive(Serialize)]
pub(super) struct ManifestAccess {
    server: String,
    /// What every request over HTTP needs, whatever it is about.
    scopes: Vec<String>,
    entries: Vec<AccessRow>,
}

/// The titles of the columns.
const COLUMNS: [&str; 5] = ["entry", "scopes, all", "roles, any", "permit", "its steps add"];

impl ManifestAccess {
    /// That of a manifest without errors.
    pub(super) fn of(built: &BuildOutcome) -> Option<ManifestAccess> {
        let catalog = built.catalog.as_ref()?;
        let scopes = catalog.scopes_of_every_request().to_vec();
        Some(ManifestAccess { server: catalog.server().name.clone(), scopes, entries: catalog.access_rows() })
    }

    /// A table for people; entries that ask nothing of their callers are named below it.
    pub(super) fn to_text(&self) -> String {
        let is_open = |row: &&AccessRow| row.scopes.is_empty() && row.roles.is_empty() && row.permit.is_none();
        let (open, limited): (Vec<&AccessRow>, Vec<&AccessRow>) =
            self.entries.iter().partition(|row| is_open(row) && row.steps_need.is_empty());
        let mut rows = vec![COLUMNS.map(str::to_owned)];
        rows.extend(limited.into_iter().map(cells));
        let width =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..COLUMNS.len()).map(|column| width(column).unwrap_or_default()).collect();
        let mut text = format!("access of `{}`\n", self.server);
        if !self.scopes.is_empty() {
            let _ = writeln!(text, "  every request needs: {}", self.scopes.join(", "));
        }
        for row in rows.iter().filter(|_| rows.len() > 1) {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        let names: Vec<String> = open.iter().map(|row| format!("{} {}", row.kind, row.name)).collect();
        if !names.is_empty() {
            let _ = writeln!(text, "  open to every caller: {}", names.join(", "));
        }
        sanitize(&text).into_owned()
    }
}

fn cells(row: &AccessRow) -> [String; 5] {
    let list = |items: &[String]| if items.is_empty() { "-".to_owned() } else { items.join(", ") };
    [
        format!("{} {}", row.kind, row.name),
        list(&row.scopes),
        list(&row.roles),
        row.permit.clone().unwrap_or_else(|| "-".to_owned()),
        list(&row.steps_need),
    ]
}
