//! A file as the lines of its entries, and the lines between them: nothing is read that is not written back.

use std::collections::BTreeMap;

use super::UpdateError;
use crate::diagnostic::Report;
use crate::yaml::{Documents, Location, decode, parse};

/// The keys of a file under which entries stand.
const SECTIONS: &[&str] = &["server", "env", "connections", "tools"];

/// Some lines of a file.
struct OutlineSection {
    /// `section/name` of the entry that they are; `None` for all else.
    key: Option<String>,
    text: String,
}

/// A file in pieces.
pub(super) struct Outline {
    pieces: Vec<OutlineSection>,
    /// By section: behind which piece something can be added.
    ends: BTreeMap<String, usize>,
}

/// Where an entry or a key of the file begins: the number of a line.
struct SectionStart {
    line: usize,
    key: Option<String>,
    section: Option<&'static str>,
}

impl Outline {
    /// Takes a file apart.
    pub(super) fn parse(path: &str, text: &str) -> Result<Outline, UpdateError> {
        let mut report = Report::default();
        let starts = find_starts(path, text, &mut report)
            .ok_or_else(|| UpdateError::InvalidYaml { path: path.to_owned(), report: Box::new(report) })?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut outline = Outline { pieces: Vec::new(), ends: BTreeMap::new() };
        let mut at = 0;
        let mut section = None;
        let mut key = None;
        for start in starts {
            let line = with_comments(start.line, &lines).max(at);
            outline.push(key.take(), section, lines.get(at..line).unwrap_or_default().concat());
            (at, section, key) = (line, start.section, start.key);
        }
        outline.push(key, section, lines.get(at..).unwrap_or_default().concat());
        Ok(outline)
    }

    fn push(&mut self, key: Option<String>, section: Option<&'static str>, text: String) {
        self.pieces.push(OutlineSection { key, text });
        if let Some(section) = section {
            self.ends.insert(section.to_owned(), self.pieces.len() - 1);
        }
    }

    /// The entries, as `section/name`.
    pub(super) fn keys(&self) -> Vec<String> {
        self.pieces.iter().filter_map(|piece| piece.key.clone()).collect()
    }

    /// The entry that a line belongs to, counted from 1.
    pub(super) fn key_at(&self, line: usize) -> Option<String> {
        let mut end = 0;
        let holds = |piece: &&OutlineSection| {
            end += piece.text.matches('\n').count();
            line <= end
        };
        self.pieces.iter().find(holds)?.key.clone()
    }

    /// The lines of an entry.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.pieces.iter().find(|piece| piece.key.as_deref() == Some(key)).map(|piece| piece.text.as_str())
    }

    /// Puts other lines in the place of an entry's; empty lines behind it stay.
    pub(super) fn replace(&mut self, key: &str, text: &str) {
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.key.as_deref() == Some(key)) {
            let blank = piece.text.len() - piece.text.trim_end().len();
            let trailing = piece.text.get(piece.text.len() - blank..).unwrap_or_default();
            let trailing =
                trailing.strip_prefix("\r\n").or_else(|| trailing.strip_prefix('\n')).unwrap_or(trailing).to_owned();
            piece.text = format!("{text}{trailing}");
        }
    }

    /// Adds an entry at the end of its section, or a section at the end of the file.
    pub(super) fn append(&mut self, key: &str, text: &str) {
        let section = key.split('/').next().unwrap_or_default();
        let spaced = if section == "tools" { "\n" } else { "" };
        let new = OutlineSection { key: Some(key.to_owned()), text: text.to_owned() };
        let Some(end) = self.ends.get(section).copied() else {
            self.pieces.push(OutlineSection { key: None, text: format!("\n{section}:\n") });
            self.pieces.push(new);
            self.ends.insert(section.to_owned(), self.pieces.len() - 1);
            return;
        };
        let Some(last) = self.pieces.get_mut(end) else { return };
        // Empty lines that ended the section end it again.
        let body = last.text.trim_end().len();
        let trailing = last.text.get(body..).unwrap_or_default().trim_start_matches(['\r', '\n']).to_owned();
        let blank = if last.text.get(body..).unwrap_or_default().matches('\n').count() > 1 { "\n" } else { "" };
        let is_entry = last.key.is_some();
        last.text.truncate(body);
        last.text.push('\n');
        last.text.push_str(if is_entry { spaced } else { "" });
        self.pieces.insert(end + 1, OutlineSection { text: format!("{}{blank}{trailing}", new.text), ..new });
        self.ends.values_mut().filter(|other| **other > end).for_each(|other| *other += 1);
        self.ends.insert(section.to_owned(), end + 1);
    }

    pub(super) fn to_text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Makes sure that a text holds exactly these entries, in lines of their own.
    pub(super) fn check(&self, path: &str, text: &str) -> Result<(), UpdateError> {
        let layout = || UpdateError::Layout { path: path.to_owned() };
        let again = Outline::parse(path, text).map_err(|_| layout())?;
        if again.keys() == self.keys() { Ok(()) } else { Err(layout()) }
    }
}

/// The lines at which the keys of a file, and the entries of its sections, begin.
fn find_starts(path: &str, text: &str, report: &mut Report) -> Option<Vec<SectionStart>> {
    let file = decode(text.as_bytes(), path, report)?;
    let document = parse(file, report).filter(|_| !report.has_errors())?;
    let mut documents = Documents::default();
    let root = documents.add(document);
    let line = |at: Location| {
        report.sources.get(file).map_or(0, |source| source.position(at.span().start).line as usize).saturating_sub(1)
    };
    let mut starts = Vec::new();
    for (key, at) in documents.keys_of(root) {
        let section = SECTIONS.iter().copied().find(|section| *section == key);
        starts.push(SectionStart { line: line(at), key: None, section });
        let Some(section) = section else { continue };
        for (name, at) in documents.keys_of(documents.value_at(root, &format!("/{section}"))) {
            starts.push(SectionStart {
                line: line(at),
                key: Some(format!("{section}/{name}")),
                section: Some(section),
            });
        }
    }
    starts.sort_by_key(|start| start.line);
    Some(starts)
}

/// The line of the first comment right above a line.
fn with_comments(line: usize, lines: &[&str]) -> usize {
    let above = lines.get(..line).unwrap_or_default().iter().rev();
    line - above.take_while(|text| text.trim_start().starts_with('#')).count()
}
