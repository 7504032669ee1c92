//! `csv`: the table of prompts.chat.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::naming::ArgumentNames;
use super::placeholders::{add_argument, text_argument};
use super::template_text::{Piece, Replacement, ValueCollector, split, template_of};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat, ValueSource};
use crate::action::{CsvFault, CsvFields};
use crate::diagnostic::{Code, Consequence, Report, Span, count_noun, one_line, truncate};
use crate::manifest::{Arguments, Prompt};
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// `**/*.csv` with the columns `act` and `prompt`: a prompt a row.
pub(super) struct Csv;

impl PackFormat for Csv {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*.csv"]
    }

    fn auto_globs(&self) -> &'static [&'static str] {
        &["**/prompts.csv"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        let mut prompts = Vec::new();
        for file in &folder.files {
            let left = folder.max_prompts.saturating_sub(prompts.len());
            prompts.extend(read_table(file, left, report));
        }
        prompts
    }
}

/// What no name of a marker has.
const OPERATORS: &[char] =
    &['$', '\n', '+', '*', '=', '<', '>', '?', '|', '!', ';', '(', ')', '[', ']', '"', '`', '\\'];

/// A row, and where it begins.
struct Row {
    start: usize,
    fields: Vec<String>,
}

fn read_table(file: &ImportedFile, max_prompts: usize, report: &mut Report) -> Vec<ImportedPrompt> {
    // The first row names the columns.
    let rows = rows(file, max_prompts.saturating_add(1), report);
    let column = |name: &str| rows.first()?.fields.iter().position(|field| field.trim().eq_ignore_ascii_case(name));
    let (Some(act), Some(prompt)) = (column("act"), column("prompt")) else {
        let message = "no columns `act` and `prompt` in the first row";
        report.warning(Code::MissingKey, Span::start_of(file.id), message).consequence(Consequence::FileSkipped);
        return Vec::new();
    };
    let columns = rows.first().map(|row| row.fields.len()).unwrap_or_default();
    let mut prompts = Vec::new();
    for row in rows.iter().skip(1) {
        // A comma outside of quotes ends a field.
        let mut extra = row.fields.iter().skip(columns).map(|field| field.trim());
        if let Some(first) = extra.find(|field| !field.is_empty()) {
            let (count, excerpt) = (count_noun(row.fields.len(), "field"), one_line(first));
            let excerpt = truncate(&excerpt, 40);
            let message = format!("{count} for {columns} columns: not read from `{excerpt}` on");
            report
                .warning(Code::Syntax, Span::new(file.id, row.start, row.start), message)
                .help("put a field with commas in double quotes");
        }
        let text = row.fields.get(prompt).filter(|text| !text.trim().is_empty());
        let title = row.fields.get(act).map(|title| title.trim()).unwrap_or_default();
        match text {
            Some(text) => {
                prompts.push(read_row(title, text, Location::text_from(file.id, row.start)));
            }
            None => {
                let place = Span::new(file.id, row.start, row.start);
                report.warning(Code::MissingKey, place, "no text in `prompt`").consequence(Consequence::RowSkipped);
            }
        }
    }
    prompts
}

fn read_row(title: &str, text: &str, at: Location) -> ImportedPrompt {
    let mut defaults: IndexMap<String, Option<Arc<str>>> = IndexMap::new();
    let mut names = ArgumentNames::default();
    for (start, _) in text.match_indices("${") {
        let Some((name, default, _)) = placeholder_at(text, start) else { continue };
        let first_default = defaults.entry(names.claim(name)).or_default();
        *first_default = first_default.take().or_else(|| default.map(Arc::from));
    }
    let mut arguments = Arguments::new();
    for (name, default) in &defaults {
        // Required where no marker has a default for it.
        add_argument(&mut arguments, at, name, text_argument(None, default.is_none()));
    }
    let mut values = ValueCollector::default();
    let mut expression =
        |name: &str, default: Arc<str>| values.expression(vec![ValueSource::Argument(name.to_owned())], default);
    let first = |(name, default): (&String, &Option<Arc<str>>)| {
        (name.clone(), expression(name, default.clone().unwrap_or_default()))
    };
    // A long default is looked up once, not for each marker.
    let expressions: HashMap<String, String> = defaults.iter().map(first).collect();
    let pieces = split(text, &['$'], |start| {
        let (name, default, end) = placeholder_at(text, start)?;
        let name = names.claim(name);
        let own = default.map(|default| expression(&name, default.into()));
        Some(Replacement { end, piece: Piece::Tag(own.or_else(|| expressions.get(&name).cloned())?) })
    });
    let prompt = Prompt {
        title: Some(title.to_owned()).filter(|title| !title.is_empty()),
        arguments,
        text: Some(Spanned::new(TextOrFile::Text(template_of(&pieces)), at)),
        ..Prompt::default()
    };
    let is_between_words = |character: char| !character.is_ascii_alphanumeric() && character != '_';
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower.split(is_between_words).filter(|word| !word.is_empty()).collect();
    ImportedPrompt::new(words.join("-"), at, prompt, values.into_values(&[]))
}

/// `${Name:default}` at `start`: the name of the argument, its default, which may have several lines, and where the marker
/// ends.
fn placeholder_at(text: &str, start: usize) -> Option<(&str, Option<&str>, usize)> {
    let rest = text.get(start..)?.strip_prefix("${")?;
    let length = rest.find(['{', '}'])?;
    let after = rest.get(length..)?.strip_prefix('}')?;
    let inside = rest.get(..length)?;
    let (name, default) = inside.split_once(':').map_or((inside, None), |(name, default)| (name, Some(default.trim())));
    // `${index + 1}` is code that is quoted.
    let is_name = name.chars().any(char::is_alphanumeric) && !name.contains(OPERATORS);
    is_name.then(|| (name.trim(), default, text.len() - after.len()))
}

/// The rows of a table. A quote that is not closed is reported.
fn rows(file: &ImportedFile, max_rows: usize, report: &mut Report) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut fields = Vec::new();
    let mut start = None;
    for field in CsvFields::with_bare_returns(&file.text) {
        if rows.len() >= max_rows {
            break;
        }
        let at = field.range.start;
        if field.fault == Some(CsvFault::UnclosedQuote) {
            let message = "unterminated quote: read to the end of the file";
            report.warning(Code::Syntax, Span::new(file.id, at, at + 1), message);
        }
        start = start.or(Some(at));
        fields.push(field.text);
        if field.ends_record {
            rows.push(Row { start: start.take().unwrap_or(at), fields: std::mem::take(&mut fields) });
        }
    }
    rows.retain(|row| row.fields.iter().any(|field| !field.trim().is_empty()));
    rows
}
