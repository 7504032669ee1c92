//! What is the same for all formats: an entry is added and removed, and the value of the file says whether that is right.

use serde_json::{Map, Value};

use super::{jsonc, toml_tables, yaml_maps};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFormat {
    /// JSON, with comments and commas at the end where they are.
    Json,
    Toml,
    Yaml,
}

/// Why a text is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    pub message: String,
    /// The offset in the text.
    pub at: Option<usize>,
}

/// An entry of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedEntry {
    pub name: String,
    pub value: Value,
}

/// The maps around the entries of a file, from the top.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSection<'a> {
    /// How the file is written.
    pub format: ConfigFormat,
    /// The names of the maps.
    pub maps: &'a [&'a str],
}

/// One format: a text is read, and an entry is put into it and taken out again. `section` has the maps around the entry,
/// from the top.
pub(super) trait ConfigSyntax {
    /// The value of the text; that of a text without any is null.
    fn value(&self, text: &str) -> Result<Value, ConfigError>;

    /// The offset of an entry, or of one of the maps around it.
    fn offset(&self, text: &str, path: &[&str]) -> Option<usize>;

    /// The text with an entry that it does not have.
    fn insert(&self, text: &str, section: &[&str], name: &str, value: &Value) -> Result<String, ConfigError>;

    /// The text without an entry that it has, and without the maps around it that are empty then, unless it `keeps_maps`.
    fn remove(&self, text: &str, section: &[&str], name: &str, keeps_maps: bool) -> Result<String, ConfigError>;
}

impl ConfigError {
    pub(super) fn new(message: impl Into<String>, at: Option<usize>) -> ConfigError {
        ConfigError { message: message.into(), at }
    }

    /// The line and the column in the text, from 1.
    pub fn line_and_column(&self, text: &str) -> Option<(usize, usize)> {
        self.at.map(|at| line_and_column(text, at))
    }
}

/// The line and the column of an offset, from 1.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let end = (0..=at.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let before = text.get(..end).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

impl ConfigFormat {
    fn syntax(self) -> &'static dyn ConfigSyntax {
        match self {
            ConfigFormat::Json => &jsonc::Jsonc,
            ConfigFormat::Toml => &toml_tables::TomlTables,
            ConfigFormat::Yaml => &yaml_maps::YamlMaps,
        }
    }

    /// The value of a text (without a byte order mark); that of an empty one is null.
    ///
    /// # Errors
    /// The text is not of this format.
    pub fn value(self, text: &str) -> Result<Value, ConfigError> {
        self.syntax().value(text)
    }
}

impl ConfigSection<'_> {
    /// The entries of a text, in the order written.
    ///
    /// # Errors
    /// The text is not of the format, or it has something else instead of the section.
    pub fn entries(self, text: &str) -> Result<Vec<NamedEntry>, ConfigError> {
        let whole = self.format.value(text)?;
        let mut value = &whole;
        for (depth, key) in self.maps.iter().enumerate() {
            let Some(map) = as_map(value) else { return Err(self.not_a_map(text, depth)) };
            match map.get(*key) {
                Some(inner) => value = inner,
                None => return Ok(Vec::new()),
            }
        }
        let Some(map) = as_map(value) else { return Err(self.not_a_map(text, self.maps.len())) };
        let entry = |(name, value): (&String, &Value)| NamedEntry { name: name.clone(), value: value.clone() };
        Ok(map.iter().map(entry).collect())
    }

    /// The offset of an entry. The whole text is read for it.
    pub fn offset(self, text: &str, name: &str) -> Option<usize> {
        let path: Vec<&str> = self.maps.iter().copied().chain([name]).collect();
        self.format.syntax().offset(text, &path)
    }

    /// Whether a text has the maps.
    pub fn is_in(self, text: &str) -> bool {
        let whole = self.format.value(text).unwrap_or_default();
        self.maps.iter().try_fold(&whole, |map, key| map.get(*key)).is_some()
    }

    /// A text with an entry that it does not have. Every byte of the former text stays, in its order; but a map that is
    /// null becomes one.
    ///
    /// # Errors
    /// The text is not of the format, or there is no place of which it is certain that nothing else changes its value.
    pub fn insert(self, text: &str, name: &str, value: &Value) -> Result<String, ConfigError> {
        let mut expected = self.format.value(text)?;
        let after = self.format.syntax().insert(text, self.maps, name, value)?;
        put(&mut expected, self.maps, name, value);
        match self.format.value(&after) {
            Ok(found) if found == expected => Ok(after),
            _ => Err(self.no_place(text)),
        }
    }

    /// A text with another value of an entry, which becomes the last one.
    ///
    /// # Errors
    /// Those of [`remove`](Self::remove) and [`insert`](Self::insert).
    pub fn replace(self, text: &str, name: &str, value: &Value) -> Result<String, ConfigError> {
        self.insert(&self.remove(text, name, true)?, name, value)
    }

    /// A text without an entry, and without the maps around it that are empty then, unless it `keeps_maps`.
    ///
    /// # Errors
    /// The text is not of the format, or there are no bytes of which it is certain that they are the entry alone.
    pub fn remove(self, text: &str, name: &str, keeps_maps: bool) -> Result<String, ConfigError> {
        let mut expected = self.format.value(text)?;
        let after = self.format.syntax().remove(text, self.maps, name, keeps_maps)?;
        let mut left = self.format.value(&after).map_err(|_| self.no_place(text))?;
        // Empty maps stay, where they were there before or have comments.
        take(&mut expected, self.maps, name);
        take(&mut left, self.maps, name);
        let is_empty = |value: &Value| as_map(value).is_some_and(Map::is_empty);
        let is_right = left == expected || is_empty(&left) && is_empty(&expected);
        if is_right { Ok(after) } else { Err(self.no_place(text)) }
    }

    fn not_a_map(self, text: &str, depth: usize) -> ConfigError {
        match self.maps.get(..depth).unwrap_or_default() {
            [] => ConfigError::new("it is not a map", Some(0)),
            maps => {
                let at = self.format.syntax().offset(text, maps);
                ConfigError::new(format!("`{}` is not a map", maps.join(".")), at)
            }
        }
    }

    fn no_place(self, text: &str) -> ConfigError {
        let message = format!("`{}` is written in a form that cannot be edited with certainty", self.maps.join("."));
        ConfigError::new(message, self.format.syntax().offset(text, self.maps))
    }
}

/// A map; nothing is an empty one.
fn as_map(value: &Value) -> Option<&Map<String, Value>> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    if value.is_null() { Some(&EMPTY) } else { value.as_object() }
}

/// Puts an entry into a value.
fn put(value: &mut Value, section: &[&str], name: &str, entry: &Value) {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let Some(map) = value.as_object_mut() else { return };
    match section {
        [] => drop(map.insert(name.to_owned(), entry.clone())),
        [key, rest @ ..] => put(map.entry(*key).or_insert(Value::Null), rest, name, entry),
    }
}

/// Takes an entry out of a value, with the maps around it that are empty then.
fn take(value: &mut Value, section: &[&str], name: &str) {
    let Some(map) = value.as_object_mut() else { return };
    let Some((key, rest)) = section.split_first() else {
        map.shift_remove(name);
        return;
    };
    if let Some(inner) = map.get_mut(*key) {
        take(inner, rest, name);
        if as_map(inner).is_some_and(Map::is_empty) {
            map.shift_remove(*key);
        }
    }
}
