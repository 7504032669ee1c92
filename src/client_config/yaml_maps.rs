//! YAML: an entry is added to a map at the top of the file, and taken out of it, by the reader of manifests.

use serde_json::Value;

use super::format::{ConfigError, ConfigSyntax};
use crate::diagnostic::{Report, Severity};
use crate::yaml::{self, NewEntry, decode, parse};

pub(super) struct YamlMaps;

impl ConfigSyntax for YamlMaps {
    fn value(&self, text: &str) -> Result<Value, ConfigError> {
        let mut report = Report::default();
        let document = decode(text.as_bytes(), "", &mut report).and_then(|file| parse(file, &mut report));
        let error = report.diagnostics().iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        match (document, error) {
            (Some(document), None) => Ok(document.json(document.root())),
            (_, error) => {
                let at = error.and_then(|error| error.span).map(|span| span.start as usize);
                let message = error.map_or("it is not valid YAML", |error| error.message.as_str());
                Err(ConfigError::new(message, Some(at.unwrap_or_default())))
            }
        }
    }

    fn offset(&self, text: &str, path: &[&str]) -> Option<usize> {
        let mut report = Report::default();
        let file = decode(text.as_bytes(), "", &mut report)?;
        let document = parse(file, &mut report)?;
        let (mut node, mut start) = (document.root(), None);
        for key in path {
            let entries = document.entries_of(node)?;
            let Some(entry) = entries.iter().find(|entry| document.key_text(entry.key) == *key) else { break };
            start = Some(document.location(entry.key).span().start as usize);
            node = entry.value;
        }
        start
    }

    fn insert(&self, text: &str, section: &[&str], name: &str, value: &Value) -> Result<String, ConfigError> {
        let (text, section) = (without_null(text, section), top(section)?);
        let (lines, flow) = (lines(name, value), yaml::flow_entry(name, value));
        let entry = NewEntry { section, name, text: &lines, flow: Some(&flow) };
        let insertion = yaml::insert_entry(&text, &entry).map_err(|why| self.error(&text, section, &why))?;
        let mut after = text.clone();
        after.insert_str(insertion.at.min(text.len()), &insertion.text);
        Ok(after)
    }

    fn remove(&self, text: &str, section: &[&str], name: &str, keeps_maps: bool) -> Result<String, ConfigError> {
        let section = top(section)?;
        let after =
            yaml::remove_entry(text, section, name, keeps_maps).map_err(|why| self.error(text, section, &why))?;
        after.ok_or_else(|| ConfigError::new(format!("`{name}` is not there"), None))
    }
}

impl YamlMaps {
    fn error(&self, text: &str, section: &str, why: &yaml::InsertError) -> ConfigError {
        ConfigError::new(why.to_string(), self.offset(text, &[section]).or(Some(0)))
    }
}

/// The text with nothing where a section is written as null.
fn without_null(text: &str, section: &[&str]) -> String {
    let mut report = Report::default();
    let document = decode(text.as_bytes(), "", &mut report).and_then(|file| parse(file, &mut report));
    let null = document.and_then(|document| {
        let entries = document.entries_of(document.root())?;
        let entry = entries.iter().find(|entry| section.contains(&document.key_text(entry.key)))?;
        let span = document.location(entry.value).span();
        Some(span.start as usize..span.end as usize).filter(|_| document.json(entry.value).is_null())
    });
    let mut after = text.to_owned();
    if let Some(null) = null.filter(|null| matches!(text.get(null.clone()), Some("~" | "null" | "Null" | "NULL"))) {
        after.replace_range(null, "");
    }
    after
}

/// The map at the top.
fn top<'a>(section: &[&'a str]) -> Result<&'a str, ConfigError> {
    match section {
        [section] => Ok(section),
        other => Err(ConfigError::new(format!("`{}` is not at the top", other.join(".")), None)),
    }
}

/// An entry with a key on each line.
fn lines(name: &str, value: &Value) -> String {
    let pairs = value.as_object().into_iter().flatten();
    let pairs = pairs.map(|(key, value)| match value.as_object().filter(|map| !map.is_empty()) {
        Some(map) => {
            let inner = map.iter().map(|(key, value)| format!("    {}: {}\n", yaml::scalar(key), yaml::flow(value)));
            format!("  {}:\n{}", yaml::scalar(key), inner.collect::<String>())
        }
        None => format!("  {}: {}\n", yaml::scalar(key), yaml::flow(value)),
    });
    format!("{}:\n{}", yaml::scalar(name), pairs.collect::<String>())
}
