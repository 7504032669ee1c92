//! Reads comma-separated values (RFC 4180) to the end; a fault is reported with the field that has it. The `csv` crate reads
//! an open quote and text behind quotes without a word, and does not say where a field is.

/// Something that is not of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvFault {
    /// The quote at the start of a field is not closed: the field goes on to the end.
    UnclosedQuote,
    /// More follows the quotes of a field, and is read as a part of it.
    TextAfterQuotes,
}

/// A field of a record.
#[derive(Debug)]
pub struct CsvField {
    /// What stands in it, without quotes.
    pub text: String,
    /// Its bytes in the text.
    pub range: std::ops::Range<usize>,
    /// The line that it begins in, from 1 on.
    pub line: usize,
    /// Whether it is the last of its record.
    pub ends_record: bool,
    /// What is wrong with it.
    pub fault: Option<CsvFault>,
}

/// The fields of a text. Empty lines are left out.
pub struct CsvFields<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    in_record: bool,
    /// Whether a carriage return alone ends a line.
    has_bare_returns: bool,
}

impl<'t> CsvFields<'t> {
    /// Those of a text without a byte order mark.
    pub fn new(text: &'t str) -> CsvFields<'t> {
        CsvFields { text, at: 0, line: 1, in_record: false, has_bare_returns: false }
    }

    /// The same where a carriage return alone ends a line too, as spreadsheets write it for old Macs.
    pub fn with_bare_returns(text: &'t str) -> CsvFields<'t> {
        CsvFields { has_bare_returns: true, ..CsvFields::new(text) }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let is_there = self.rest().starts_with(prefix);
        self.at += if is_there { prefix.len() } else { 0 };
        is_there
    }

    fn skip_line_break(&mut self) -> bool {
        let is_there = self.skip("\r\n") || self.skip("\n") || (self.has_bare_returns && self.skip("\r"));
        self.line += usize::from(is_there);
        is_there
    }

    /// Reads what stands in quotes, behind the first of them; `""` is a quote. Returns whether they are closed.
    fn push_quoted(&mut self, field: &mut String) -> bool {
        while let Some((part, _)) = self.rest().split_once('"') {
            field.push_str(part);
            self.at += part.len() + 1;
            if !self.skip("\"") {
                return true;
            }
            field.push('"');
        }
        field.push_str(self.rest());
        self.at = self.text.len();
        false
    }
}

impl Iterator for CsvFields<'_> {
    type Item = CsvField;

    fn next(&mut self) -> Option<CsvField> {
        while !self.in_record && self.skip_line_break() {}
        if !self.in_record && self.rest().is_empty() {
            return None;
        }
        let (start, line, mut text) = (self.at, self.line, String::new());
        let is_quoted = self.skip("\"");
        let is_closed = !is_quoted || self.push_quoted(&mut text);
        let rest = self.rest();
        let ends_field = |c: char| matches!(c, ',' | '\n') || (c == '\r' && self.has_bare_returns);
        let (bare, after) = rest.split_at(rest.find(ends_field).unwrap_or(rest.len()));
        let bare = if after.starts_with('\n') { bare.strip_suffix('\r').unwrap_or(bare) } else { bare };
        let fault = match is_closed {
            false => Some(CsvFault::UnclosedQuote),
            true => (is_quoted && !bare.is_empty()).then_some(CsvFault::TextAfterQuotes),
        };
        self.line += text.matches('\n').count();
        text.push_str(bare);
        self.at += bare.len();
        let range = start..self.at;
        self.in_record = self.skip(",");
        let ends_record = !self.in_record;
        if ends_record {
            self.skip_line_break();
        }
        Some(CsvField { text, range, line, ends_record, fault })
    }
}
