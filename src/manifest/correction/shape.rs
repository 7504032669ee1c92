//! The shapes that a rule may ask of a value, and the changes that it may make of one.

use serde_json::Value;

use super::Corrector;
use super::type_expression::{self, TYPE_NAMES, type_of};
use super::words::words;
use crate::diagnostic::Span;
use crate::files::Globs;
use crate::yaml::{MapEntry, NodeId};

/// What a select field of a form is called as a type.
const FORM_TYPES: &[&str] = &["select", "choice", "enum", "dropdown", "radio", "pickString"];

/// The shells of files, by extension.
const SHELLS: &[(&str, &str)] =
    &[("bash", "bash"), ("zsh", "zsh"), ("ps1", "pwsh"), ("py", "python3"), ("js", "node"), ("mjs", "node")];

/// The extensions of files with a text.
const TEXT_FILES: [&str; 8] = [".md", ".txt", ".hbs", ".prompt", ".j2", ".yaml", ".yml", ".json"];

/// The extensions of files that an interpreter runs.
const PROGRAM_FILES: [&str; 8] = [".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".ps1"];

/// Whether a text names a file.
fn names_file(text: &str, extensions: &[&str]) -> bool {
    let is_word = !text.contains(char::is_whitespace) && !text.contains("{{");
    is_word && extensions.iter().any(|extension| text.ends_with(extension))
}

/// Whether a text has a shape; `None` where the shape is not one of texts.
fn text_has_shape(shape: &str, text: &str) -> Option<bool> {
    Some(match shape {
        "text" => true,
        "file" => names_file(text, &TEXT_FILES),
        "program-file" => {
            words(text).and_then(|words| words.into_iter().next()).is_some_and(|file| names_file(&file, &PROGRAM_FILES))
        }
        "path" => !text.is_empty() && !text.contains(char::is_whitespace),
        "glob" => Globs::is_glob(text) || names_file(text, &TEXT_FILES),
        "words" => !text.trim().contains('\n') && words(text).is_some(),
        "command" => text.contains(['/', ' ']) && words(text).is_some(),
        "request" => text.split_once(' ').is_some_and(|(method, _)| {
            super::rules::METHODS.split('|').any(|known| known.eq_ignore_ascii_case(method))
        }),
        "commas" => text.contains([',', '|']),
        "foreign-type" => type_of(text).is_some_and(|name| name != text),
        "form-type" => FORM_TYPES.contains(&text),
        "type-expression" => type_expression::read(text).is_some(),
        "with-tags" => text.contains("{{"),
        "slashed" => text.len() > 4 && text.starts_with("/^") && text.ends_with("$/"),
        _ => return None,
    })
}

/// A text changed as a template says; `None` where the change is not one of texts.
fn changed_text(change: &str, text: &str) -> Option<String> {
    Some(match change {
        "upper" => text.to_uppercase(),
        "type" => type_of(text)?.to_owned(),
        "inside" => text.trim_matches('/').to_owned(),
        "method" => text.split(' ').next()?.to_uppercase(),
        "url" => text.split_once(' ')?.1.trim().to_owned(),
        "path" => text.strip_prefix("file://").unwrap_or(text).to_owned(),
        "shell" => {
            let extension = text.rsplit('.').next().unwrap_or_default();
            SHELLS.iter().find(|(known, _)| *known == extension).map_or("sh", |(_, shell)| *shell).to_owned()
        }
        // The fields of an outcome, which elsewhere are names of their own.
        "outcome" => [("stdout", "stdout"), ("output", "stdout"), ("stderr", "stderr")].into_iter().fold(
            text.to_owned(),
            |text, (name, field)| {
                let text = text.replace(&format!("{{{{{name}}}}}"), &format!("{{{{result.{field}}}}}"));
                text.replace(&format!("{{{{ {name} }}}}"), &format!("{{{{ result.{field} }}}}"))
            },
        ),
        _ => return None,
    })
}

impl Corrector<'_> {
    /// Whether a value has a shape of the table of rules.
    pub(super) fn has_shape(&self, shape: &str, node: NodeId, parent: NodeId) -> bool {
        self.shape_fits(shape, node, parent).unwrap_or_default()
    }

    /// The same; `None` where there is no such shape.
    pub(super) fn shape_fits(&self, shape: &str, node: NodeId, parent: NodeId) -> Option<bool> {
        let document = &self.document;
        if let Some(has_shape) = text_has_shape(shape, document.string_of(node).unwrap_or_default()) {
            return Some(has_shape && document.string_of(node).is_some());
        }
        let (scalar, value) = (document.scalar_of(node), document.value_of(node));
        let has = |node, keys: &[&str]| document.first_entry_of(node, keys).is_some();
        Some(match shape {
            "scalar" => scalar.is_some(),
            "number" => value.is_some_and(Value::is_number),
            "bool" => value.is_some_and(Value::is_boolean),
            "no-integer" => scalar.is_some() && !value.is_some_and(Value::is_i64),
            "first-version" => {
                !value.is_some_and(Value::is_i64) && scalar.is_some_and(|text| ["1", "1.0", "v1"].contains(&text))
            }
            "exit-code" => scalar.is_some_and(|text| text.trim().parse::<i32>().is_ok()),
            "list" => document.items_of(node).is_some(),
            "map" => document.is_map(node),
            "json-body" => scalar.is_none() && !self.is_null(node) && !has(node, &["file", "base64"]),
            "question" => !has(node, &["elicit", "sample", "roots"]),
            _ => {
                let items = document.items_of(node);
                let fits = self.items_have_shape(shape, items.as_deref().unwrap_or_default(), parent)?;
                fits && items.is_some()
            }
        })
    }

    /// Whether the items of a list have a shape; `None` where there is no such shape.
    fn items_have_shape(&self, shape: &str, items: &[NodeId], parent: NodeId) -> Option<bool> {
        let document = &self.document;
        let has = |item, key| document.entry_of(item, key).is_some();
        let all = |is: &dyn Fn(NodeId) -> bool| !items.is_empty() && items.iter().all(|item| is(*item));
        let are_texts = || all(&|item| document.string_of(item).is_some());
        let any_text = |is: &dyn Fn(&str) -> bool| items.iter().filter_map(|item| document.string_of(*item)).any(is);
        Some(match shape {
            "texts" => are_texts(),
            "with-text" => any_text(&|_| true),
            "commands" => are_texts() && any_text(&|text| text.contains(' ')),
            "assignments" => are_texts() && any_text(&|text| text.contains('=')),
            "scalars" => all(&|item| document.scalar_of(item).is_some()),
            "values" => all(&|item| {
                document.scalar_of(item).is_some_and(|text| !TYPE_NAMES.contains(&text) && type_of(text).is_none())
            }),
            "argv" => {
                let first = items.first().and_then(|item| document.string_of(*item));
                let is_program = first.is_some_and(|word| !word.contains(' '));
                items.len() > 1 && is_program && all(&|item| document.scalar_of(item).is_some())
            }
            "named" => all(&|item| self.name_of(item).is_some()),
            "paths" => all(&|item| self.path_of(item).is_some()),
            "functions" => all(&|item| has(item, "function")),
            "parameters" => all(&|item| has(item, "name") && (has(item, "in") || has(item, "schema"))),
            // The names of the other entries of the map, as `required` of a schema lists them.
            "names" => are_texts() && items.iter().all(|name| has(parent, document.key_text(*name))),
            _ => return None,
        })
    }

    /// A value changed as a template says; `None` where there is no such change.
    pub(super) fn changed(&mut self, change: &str, node: NodeId, other: Option<NodeId>) -> Option<NodeId> {
        let (at, json) = (self.span(node), self.document.json(node));
        let text = self.document.scalar_of(node).unwrap_or_default().to_owned();
        if let Some(text) = changed_text(change, &text) {
            return Some(self.document.add_string(&text, at));
        }
        Some(match change {
            "number" => self.document.add_plain(text.trim().parse::<i64>().unwrap_or_default(), at),
            "not" => self.document.add_plain(json == false, at),
            "type-of" => self.document.add_string(if json.is_i64() { "integer" } else { "number" }, at),
            "argument" => self.value(&type_expression::read(&text).unwrap_or_default(), at),
            "words" => self.words_of(node, &text),
            "split" => {
                let parts = text.split([',', '|']).map(|part| part.trim().to_owned());
                self.texts(&parts.filter(|part| !part.is_empty()).collect::<Vec<_>>(), at)
            }
            "steps" => {
                let commands = self.document.items_of(node).unwrap_or_default();
                let steps = commands.into_iter().map(|command| self.step_of(command)).collect();
                self.document.add_list(steps, at)
            }
            "keys" => {
                let entries = self.document.entries_of(node).unwrap_or_default();
                self.document.add_list(entries.into_iter().map(|entry| entry.key).collect(), at)
            }
            "by-name" => self.map_of_items(node, Self::name_of, false),
            "by-path" => self.map_of_items(node, Self::path_name_of, true),
            "by-parameter" => self.map_of_parameters(node),
            "variables" => self.map_of_assignments(node, true),
            "assigned" => self.map_of_assignments(node, false),
            "require" => self.map_with_required(node, other),
            _ => return None,
        })
    }

    /// The words of a command; of one that only a shell reads, the program. A list is one already.
    fn words_of(&mut self, command: NodeId, text: &str) -> NodeId {
        if self.document.items_of(command).is_some() {
            return command;
        }
        let program = || vec![text.split_whitespace().next().unwrap_or("true").to_owned()];
        self.texts(&words(text).unwrap_or_else(program), self.span(command))
    }

    fn texts(&mut self, texts: &[String], at: Span) -> NodeId {
        let items = texts.iter().map(|text| self.document.add_string(text, at)).collect();
        self.document.add_list(items, at)
    }

    fn map_of(&mut self, entries: &[(&str, NodeId)], at: Span) -> NodeId {
        let entry = |(key, value): &(&str, NodeId)| MapEntry { key: self.document.add_string(key, at), value: *value };
        let entries = entries.iter().map(entry).collect();
        self.document.add_map(entries, at)
    }

    /// A value of JSON as a node.
    fn value(&mut self, value: &serde_json::Value, at: Span) -> NodeId {
        self.build(value, &super::pattern::Captures::default(), at)
            .unwrap_or_else(|| self.document.add_plain(serde_json::Value::Null, at))
    }

    /// A command as a step: a program where it has no signs of a shell, else a script.
    fn step_of(&mut self, command: NodeId) -> NodeId {
        let (at, text) = (self.span(command), self.document.string_of(command).unwrap_or_default().to_owned());
        if words(&text).is_some() {
            let list = self.words_of(command, &text);
            return self.map_of(&[("exec", list)], at);
        }
        let shell = self.document.add_string("sh", at);
        // A template is an error in a script.
        let text = if text.contains("{{") { self.document.add_string("…", at) } else { command };
        let script = self.map_of(&[("shell", shell), ("text", text)], at);
        self.map_of(&[("script", script)], at)
    }

    /// The name of an item: itself, or its `name`.
    fn name_of(&self, item: NodeId) -> Option<String> {
        let name = self
            .document
            .string_of(item)
            .or_else(|| self.document.string_of(self.document.entry_of(item, "name")?.value));
        name.map(str::to_owned)
    }

    fn path_of(&self, item: NodeId) -> Option<&str> {
        let place = self.document.first_entry_of(item, &["path", "git"]);
        self.document.string_of(place.map_or(item, |place| place.value))
    }

    /// The name of a pack or a folder: its own, or the last part of its path or URL.
    fn path_name_of(&self, item: NodeId) -> Option<String> {
        if let Some(name) = self.document.entry_of(item, "name") {
            return self.document.string_of(name.value).map(str::to_owned);
        }
        let last = self.path_of(item)?.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
        let name: String = last.trim_end_matches(".git").chars().map(|c| if is_part(c) { c } else { '-' }).collect();
        Some(name.trim_matches('-').to_owned()).filter(|name| !name.is_empty()).or(Some("pack".to_owned()))
    }

    /// A list as a map by the names of its items, which may be paths or URLs themselves.
    fn map_of_items(&mut self, list: NodeId, name_of: fn(&Self, NodeId) -> Option<String>, are_paths: bool) -> NodeId {
        let at = self.span(list);
        let mut entries = Vec::new();
        for item in self.document.items_of(list).unwrap_or_default() {
            let Some(name) = name_of(self, item) else { continue };
            let span = self.span(item);
            let value = match (self.document.entries_of(item), self.document.string_of(item)) {
                (Some(mut keys), _) => {
                    keys.retain(|key| self.document.key_text(key.key) != "name");
                    self.document.add_map(keys, span)
                }
                (_, Some(text)) if are_paths => {
                    let key = if text.contains("://") { "git" } else { "path" };
                    self.map_of(&[(key, item)], span)
                }
                _ => self.document.add_map(Vec::new(), span),
            };
            entries.push(MapEntry { key: self.document.add_string(&name, span), value });
        }
        self.document.add_map(entries, at)
    }

    /// Parameters of OpenAPI as arguments.
    fn map_of_parameters(&mut self, list: NodeId) -> NodeId {
        let at = self.span(list);
        let mut entries = Vec::new();
        for item in self.document.items_of(list).unwrap_or_default() {
            let find = |key: &str| self.document.entry_of(item, key);
            let Some(name) = find("name") else { continue };
            let mut keys: Vec<MapEntry> = [find("description")].into_iter().flatten().collect();
            keys.extend(find("schema").and_then(|schema| self.document.entries_of(schema.value)).unwrap_or_default());
            keys.extend(find("required").filter(|required| self.document.json(required.value) == true));
            entries.push(MapEntry { key: name.value, value: self.document.add_map(keys, self.span(item)) });
        }
        self.document.add_map(entries, at)
    }

    /// `[A=b]` as a map: of values, or of declarations with their defaults.
    fn map_of_assignments(&mut self, list: NodeId, are_declarations: bool) -> NodeId {
        let at = self.span(list);
        let mut entries = Vec::new();
        for item in self.document.items_of(list).unwrap_or_default() {
            let text = self.document.string_of(item).unwrap_or_default().to_owned();
            let (name, value) = text.split_once('=').unwrap_or((&text, ""));
            let span = self.span(item);
            let key = self.document.add_string(name, span);
            let text = self.document.add_string(value, span);
            let value = match are_declarations {
                false => text,
                true if value.is_empty() || value.contains('$') => self.document.add_map(Vec::new(), span),
                true => self.map_of(&[("default", text)], span),
            };
            entries.push(MapEntry { key, value });
        }
        self.document.add_map(entries, at)
    }

    /// Arguments of which those in a list say `required: true`; the list itself is none.
    fn map_with_required(&mut self, arguments: NodeId, required: Option<NodeId>) -> NodeId {
        let at = self.span(arguments);
        let names = required.and_then(|list| self.document.items_of(list)).unwrap_or_default();
        let names: Vec<String> =
            names.iter().filter_map(|name| self.document.string_of(*name).map(str::to_owned)).collect();
        let mut entries = self.document.entries_of(arguments).unwrap_or_default();
        entries.retain(|entry| Some(entry.value) != required);
        for entry in &mut entries {
            let name = self.document.key_text(entry.key);
            if !names.iter().any(|required| required == name) {
                continue;
            }
            let span = self.span(entry.value);
            let mut keys = self.document.entries_of(entry.value).unwrap_or_default();
            keys.retain(|key| self.document.key_text(key.key) != "required");
            let (key, value) = (self.document.add_string("required", span), self.document.add_plain(true, span));
            keys.push(MapEntry { key, value });
            entry.value = self.document.add_map(keys, span);
        }
        self.document.add_map(entries, at)
    }
}
