//! `fabric`: the patterns of fabric.

use std::collections::HashMap;

use super::front_matter::read_markdown;
use super::naming::argument_name;
use super::placeholders::{add_argument, text_argument, text_in_braces};
use super::template_text::{Piece, Replacement, ValueCollector, split, template_of};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat, ValueSource};
use crate::diagnostic::Report;
use crate::manifest::{Arguments, Prompt};
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// The argument with the text to work on.
const INPUT: &str = "input";
/// The file with a description of every pattern.
const DESCRIPTIONS_FILE: &str = "pattern_explanations.md";

/// `**/X/system.md`: named after its folder.
pub(super) struct Fabric;

impl PackFormat for Fabric {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*/system.md", "**/pattern_explanations.md"]
    }

    fn auto_globs(&self) -> &'static [&'static str] {
        &["**/patterns/**/*/system.md", "**/pattern_explanations.md"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        let (explained, patterns): (Vec<_>, Vec<_>) =
            folder.files.iter().partition(|file| file.path.rsplit('/').next() == Some(DESCRIPTIONS_FILE));
        let descriptions: HashMap<&str, &str> =
            explained.into_iter().flat_map(|file| file.text.lines().filter_map(description_in)).collect();
        patterns.into_iter().filter_map(|file| read_pattern(file, &descriptions, report)).collect()
    }
}

/// The pattern and its description in a line such as `1. **name**: What it does.`
fn description_in(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("**")?;
    let (name, description) = rest.split_once("**")?;
    let description = description.trim().trim_start_matches([':', '-', '–', '—']).trim();
    (!description.is_empty()).then_some((name.trim().trim_end_matches(':'), description))
}

fn read_pattern(
    file: &ImportedFile,
    descriptions: &HashMap<&str, &str>,
    report: &mut Report,
) -> Option<ImportedPrompt> {
    let folder = file.path.rsplit('/').nth(1)?;
    read_markdown(file, report)?;
    let (body, at) = (&file.text, Location::start_of(file.id));
    let (mut arguments, mut values) = (Arguments::new(), ValueCollector::default());
    add_argument(&mut arguments, at, INPUT, text_argument(None, true));
    let mut has_input = false;
    let mut pieces = split(body, &['{'], |start| {
        let (word, end) = word_at(body, start)?;
        let name = argument_name(word);
        has_input |= name == INPUT;
        add_argument(&mut arguments, at, &name, text_argument(None, false));
        let expression = values.expression(vec![ValueSource::Argument(name)], body.get(start..end)?.into());
        Some(Replacement { end, piece: Piece::Tag(expression) })
    });
    if !has_input {
        values.append(&mut pieces, "", vec![ValueSource::Argument(INPUT.to_owned())]);
    }
    let prompt = Prompt {
        description: descriptions.get(folder).map(|text| (*text).to_owned()),
        arguments,
        text: Some(Spanned::new(TextOrFile::Text(template_of(&pieces)), at)),
        ..Prompt::default()
    };
    Some(ImportedPrompt::new(folder.to_owned(), at, prompt, values.into_values(&[])))
}

/// `{{word}}` at `start`: the word, and where the marker ends.
fn word_at(body: &str, start: usize) -> Option<(&str, usize)> {
    let (word, end) = text_in_braces(body, start, "{{")?;
    let after = body.get(end..)?.strip_prefix('}')?;
    let is_of_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let is_word = !word.is_empty() && word.chars().all(is_of_word) && !after.starts_with('}');
    is_word.then(|| (word, body.len() - after.len()))
}
