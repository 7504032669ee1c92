//! An entry of a server, as a client writes it, and whose entry one is.

use serde_json::{Map, Value, json};

use super::client::{Client, EntryLayout, EntryValue, VariableSyntax};
use super::jsonc::{inline, wrap_in_sections};

/// How a client reaches the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// It starts `PROGRAM serve MANIFEST`.
    Program {
        /// The absolute path of folio.
        program: String,
        /// The absolute path of the manifest, or of its folder.
        manifest: String,
    },
    /// It connects to a URL.
    Url(String),
}

/// A server as a client is told of it.
#[derive(Debug, Clone)]
pub struct ServerEntry {
    pub name: String,
    /// A description, where a client wants one.
    pub description: String,
    pub launch: Launch,
    pub values: Vec<(String, String)>,
    /// Variables that the client takes from its own environment.
    pub forwarded_variables: Vec<String>,
}

impl ServerEntry {
    /// A server without variables.
    pub fn new(name: &str, launch: Launch) -> ServerEntry {
        let (name, description) = (name.to_owned(), String::new());
        ServerEntry { name, description, launch, values: Vec::new(), forwarded_variables: Vec::new() }
    }

    /// The entry as a file of JSON on one line, for a client that has one.
    pub fn to_inline_config(&self, client: &Client) -> Option<String> {
        let entry = self.render(client, &client.layout)?;
        Some(inline(&wrap_in_sections(client.layout.section, &self.name, &entry)))
    }

    /// The value of the entry; `None` for a client that cannot reach a server so.
    pub fn render(&self, client: &Client, layout: &EntryLayout) -> Option<Value> {
        let slots = match self.launch {
            Launch::Program { .. } => layout.stdio,
            Launch::Url(_) => layout.http?,
        };
        let pairs = slots.iter().filter_map(|(key, slot)| Some(((*key).to_owned(), self.fill(slot, client)?)));
        Some(Value::Object(pairs.collect()))
    }

    fn fill(&self, slot: &EntryValue, client: &Client) -> Option<Value> {
        let (program, arguments, url) = match &self.launch {
            Launch::Program { program, manifest } => (program.as_str(), json!(["serve", manifest]), ""),
            Launch::Url(url) => ("", json!([]), url.as_str()),
        };
        Some(match slot {
            EntryValue::Text(text) => json!(text),
            EntryValue::Number(number) => json!(number),
            EntryValue::True => json!(true),
            EntryValue::AllTools => json!(["*"]),
            EntryValue::Name => json!(self.name),
            EntryValue::Description => json!(self.description),
            EntryValue::Program => json!(program),
            EntryValue::Arguments => arguments,
            EntryValue::CommandLine => {
                [json!(program)].into_iter().chain(arguments.as_array().cloned().into_iter().flatten()).collect()
            }
            EntryValue::Url => json!(url),
            EntryValue::Variables => return self.variables(client.variables),
            EntryValue::VariableNames => {
                return Some(json!(self.forwarded_variables)).filter(|_| !self.forwarded_variables.is_empty());
            }
        })
    }

    /// The map of variables, unless it is empty.
    fn variables(&self, syntax: VariableSyntax) -> Option<Value> {
        let values = self.values.iter().map(|(name, value)| (name.clone(), json!(value)));
        let forwarded_variables =
            self.forwarded_variables.iter().filter_map(|name| Some((name.clone(), json!(syntax.reference(name)?))));
        let map: Map<String, Value> = values.chain(forwarded_variables).collect();
        (!map.is_empty()).then_some(Value::Object(map))
    }
}

impl EntryLayout {
    /// How an entry reaches its server, as far as it is one of folio.
    pub fn launch_of(&self, entry: &Value) -> Option<Launch> {
        self.program_of(entry).or_else(|| {
            let (key, _) = self.http?.iter().find(|(_, slot)| matches!(slot, EntryValue::Url))?;
            Some(Launch::Url(entry.get(key)?.as_str()?.to_owned()))
        })
    }

    fn program_of(&self, entry: &Value) -> Option<Launch> {
        let mut words: Vec<&str> = Vec::new();
        for (key, slot) in self.stdio {
            match slot {
                EntryValue::Program => words.push(entry.get(key)?.as_str()?),
                EntryValue::Arguments | EntryValue::CommandLine => {
                    words.extend(entry.get(key)?.as_array()?.iter().filter_map(Value::as_str));
                }
                _ => {}
            }
        }
        match words.as_slice() {
            [program, "serve", manifest, ..] => {
                Some(Launch::Program { program: (*program).to_owned(), manifest: (*manifest).to_owned() })
            }
            _ => None,
        }
    }

    /// The key of the map of variables.
    pub fn variables_key(&self) -> Option<&'static str> {
        self.stdio.iter().find(|(_, slot)| matches!(slot, EntryValue::Variables)).map(|(key, _)| *key)
    }

    /// Merges a server into an existing entry: its other keys, arguments and variables are kept, and new values replace
    /// old ones.
    pub fn update(&self, old: &Value, server: &ServerEntry, new: &Value) -> Value {
        let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return new.clone() };
        let variables = self.variables_key().and_then(|key| old.get(key)).and_then(Value::as_object);
        let is_known = |name: &str| variables.is_some_and(|variables| variables.contains_key(name));
        let is_given = |name: &str| server.values.iter().any(|(given, _)| given == name);
        let mut updated = old.clone();
        for (key, value) in new {
            let value = match value {
                // What has a value is not passed on.
                Value::Array(names) if self.is_names(key) => {
                    let is_unknown = |name: &&Value| !name.as_str().is_some_and(is_known);
                    names.iter().filter(is_unknown).cloned().collect()
                }
                value => value.clone(),
            };
            match (updated.get_mut(key.as_str()), value) {
                (Some(Value::Object(map)), Value::Object(new)) if self.variables_key() == Some(key.as_str()) => {
                    map.extend(new.into_iter().filter(|(name, _)| is_given(name) || !is_known(name)));
                }
                (Some(Value::Array(names)), Value::Array(new)) if self.is_names(key) => {
                    let news: Vec<Value> = new.into_iter().filter(|name| !names.contains(name)).collect();
                    names.extend(news);
                }
                (None, Value::Array(new)) if new.is_empty() => {}
                (None, value) => drop(updated.insert(key.clone(), value)),
                _ => {}
            }
        }
        Value::Object(updated)
    }

    /// Whether an entry has all keys of a new one but for variables, with whatever values.
    pub fn has_keys_of(&self, entry: &Value, new: &Value) -> bool {
        let is_variables = |key: &str| self.variables_key() == Some(key) || self.is_names(key);
        let keys = new.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        keys.filter(|key| !is_variables(key)).all(|key| entry.get(key).is_some())
    }

    fn is_names(&self, key: &str) -> bool {
        self.stdio.iter().any(|(name, slot)| *name == key && matches!(slot, EntryValue::VariableNames))
    }
}
