//! `fabric`: the patterns of fabric.

use std::collections::HashMap;

use super::front_matter::read_markdown;
use super::naming::argument_name;
use super::placeholders::{ArgumentCollector, PlaceholderMatch, split, text_in_braces};
use super::{ForeignArgument, ForeignBody, ForeignFile, ForeignPrompt, PackFolder, PackFormat, TextPiece, ValueSource};
use crate::diagnostic::Report;
use crate::yaml::Location;

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

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ForeignPrompt> {
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

fn read_pattern(file: &ForeignFile, descriptions: &HashMap<&str, &str>, report: &mut Report) -> Option<ForeignPrompt> {
    let folder = file.path.rsplit('/').nth(1)?;
    read_markdown(file, report)?;
    let body = &file.text;
    let mut arguments = ArgumentCollector::default();
    arguments.add(ForeignArgument { required: true, ..ForeignArgument::optional(INPUT) });
    let mut text = split(body, &['{'], |start| {
        let (word, end) = word_at(body, start)?;
        let name = argument_name(word);
        arguments.add(ForeignArgument::optional(name.clone()));
        let fallback = body.get(start..end)?.into();
        Some(PlaceholderMatch { end, piece: TextPiece::Value { sources: vec![ValueSource::Argument(name)], fallback } })
    });
    let is_input = |source: &ValueSource| matches!(source, ValueSource::Argument(name) if name == INPUT);
    let has_input = text
        .pieces
        .iter()
        .any(|piece| matches!(piece, TextPiece::Value { sources, .. } if sources.iter().any(is_input)));
    if !has_input {
        text.pieces.push(TextPiece::AppendedArgument {
            label: String::new(),
            sources: vec![ValueSource::Argument(INPUT.to_owned())],
        });
    }
    let prompt = ForeignPrompt {
        name: folder.to_owned(),
        title: None,
        description: descriptions.get(folder).map(|text| (*text).to_owned()),
        arguments: arguments.into_list(),
        body: ForeignBody::Text(text.into()),
        at: Location::start_of(file.id),
    };
    prompt.with_few_arguments(report)
}

/// `{{word}}` at `start`: the word, and where the marker ends.
fn word_at(body: &str, start: usize) -> Option<(&str, usize)> {
    let (word, end) = text_in_braces(body, start, "{{")?;
    let after = body.get(end..)?.strip_prefix('}')?;
    let is_of_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let is_word = !word.is_empty() && word.chars().all(is_of_word) && !after.starts_with('}');
    is_word.then(|| (word, body.len() - after.len()))
}
