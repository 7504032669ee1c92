//! Renders the reference of the language as Markdown, from the schema and the tables of actions, helpers and codes.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::action::ACTIONS;
use crate::diagnostic::Code;
use crate::template::helpers;

const INTRODUCTION: &str = "\
# Reference of the manifest language

Every key of a `folio.yaml`. This page is generated from the types that parse a manifest, and a test keeps it in step \
with them; [folio.schema.json](folio.schema.json) is the same for editors.

A manifest is a [Manifest](#manifest). A file that it includes is a [Fragment](#fragment) (`.yaml`), or has the keys of \
a [Prompt](#prompt) between two lines of `---` and the text of the prompt below them (`.md`). Keys that begin with `x-` \
are ignored everywhere.

- [Scope](#scope): the names in `{{…}}`
- [Actions](#actions): the keys of `run`
- [Helpers](#helpers): the helpers of `{{…}}`
- [Diagnostics](#diagnostics): the codes of `folio check`
- [Tables](#tables): every key
";

/// The names in scope; the template checks enforce them.
const SCOPE_SECTION: &str = "
## Scope

Templates are texts, messages and blocks, and every string inside `run` and `result`. A `title`, a `description` and \
`instructions` are rendered at load, with `env` (no secrets) and `server` only. Names, schemas and the text of a script \
are not templates.

| in scope | where |
|---|---|
| the arguments, by name and as `arguments.NAME` | wherever there are arguments; an absent one is null |
| `env.NAME` | if it is declared under `env` |
| `server.name`, `server.title`, `server.version` | everywhere |
| `steps.ID`, with the fields of the step's [action](#actions) | in later steps, `when`, `result` and the text of a prompt |
| `result` | in `result`: the value of `select`, else the outcome; in the text of a prompt: the outcome of its action |
| `this` | in `each`: the item |

A string that is exactly one `{{…}}` keeps the type of the value in JSON.
";

/// The severities, above the codes.
const DIAGNOSTICS_SECTION: &str = "
## Diagnostics

An error means that the manifest cannot be served; a warning that it can, but probably not as intended; a note is \
information, such as a variable that is not set. `folio check --strict` fails on warnings, and never on notes.

| code | meaning |
|---|---|
";

/// The notation of values that JSON has no type for.
const VALUES_NOTE: &str = "\
**Durations** are written `250ms`, `10s`, `5m` or `1h`; **sizes** `64KiB` or `1MiB`. A **template** is a string that may \
contain `{{…}}`; a **scalar** is a string, a number, `true` or `false`, used as it is written.
";

/// The names of quantities, by the ends of their patterns.
const QUANTITY_PATTERNS: [(&str, &str); 2] = [("|m|h)$", "duration"), ("|MiB|GiB)$", "size")];

/// The reference of the manifest language, as Markdown with a final newline.
pub fn reference() -> String {
    let schema: Value = super::schema::typed_schema();
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut page = [INTRODUCTION, SCOPE_SECTION].concat();
    write_actions(&mut page);
    write_helpers(&mut page);
    write_codes(&mut page);
    let _ = write!(page, "\n## Tables\n\n{VALUES_NOTE}");
    for (name, definition) in &definitions {
        if let Some(properties) = definition.get("properties").and_then(Value::as_object) {
            write_table(&mut page, name, definition, properties, &TypeFormatter { definitions: &definitions });
        }
    }
    page
}

fn write_actions(page: &mut String) {
    page.push_str("\n## Actions\n\n`run` is one of these, or a list of steps.\n\n| action | description | fields of its outcome |\n|---|---|---|\n");
    for row in ACTIONS {
        let fields = (row.outcome_fields)();
        let _ = writeln!(page, "| `{}` | {} | {fields} |", row.key, table_cell(row.description));
    }
}

fn write_helpers(page: &mut String) {
    page.push_str("\n## Helpers\n\n| helper | usage | description |\n|---|---|---|\n");
    for helper in helpers() {
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} |",
            helper.name,
            escape_pipes(helper.usage),
            table_cell(helper.description)
        );
    }
}

fn write_codes(page: &mut String) {
    page.push_str(DIAGNOSTICS_SECTION);
    for code in Code::ALL {
        let _ = writeln!(page, "| `{}` | {} |", code.as_str(), table_cell(code.explanation()));
    }
}

fn write_table(
    page: &mut String,
    name: &str,
    definition: &Value,
    properties: &Map<String, Value>,
    types: &TypeFormatter<'_>,
) {
    let _ = write!(page, "\n### {name}\n\n");
    if let Some(description) = description(definition) {
        let _ = write!(page, "{description}\n\n");
    }
    let required: Vec<&str> =
        definition.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let (described, undescribed): (Vec<_>, Vec<_>) =
        properties.iter().partition(|(_, property)| description(property).is_some());
    page.push_str("| key | value | |\n|---|---|---|\n");
    for (key, property) in described {
        let must = if required.contains(&key.as_str()) { "**Required.** " } else { "" };
        let description = table_cell(description(property).unwrap_or_default());
        let _ = writeln!(page, "| `{key}` | {} | {must}{description} |", types.describe(property));
    }
    if !undescribed.is_empty() {
        let keys: Vec<String> = undescribed.iter().map(|(key, _)| format!("`{key}`")).collect();
        let _ = write!(page, "\nAs in JSON Schema: {}.\n", keys.join(", "));
    }
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

/// Describes the type of a schema.
struct TypeFormatter<'a> {
    definitions: &'a Map<String, Value>,
}

impl TypeFormatter<'_> {
    fn describe(&self, schema: &Value) -> String {
        let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
        if let Some((_, name)) = QUANTITY_PATTERNS.iter().find(|(end, _)| pattern.ends_with(end)) {
            return (*name).to_owned();
        }
        let mut description = self.describe_kind(schema);
        for (key, sign) in [("minimum", "≥"), ("maximum", "≤"), ("pattern", "as")] {
            match schema.get(key) {
                Some(Value::String(pattern)) => drop(write!(description, " {sign} `{}`", escape_pipes(pattern))),
                Some(bound) => drop(write!(description, " {sign} {bound}")),
                None => {}
            }
        }
        description
    }

    fn describe_kind(&self, schema: &Value) -> String {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            return self.describe_reference(name.rsplit('/').next().unwrap_or_default());
        }
        if let Some(choices) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)).and_then(Value::as_array) {
            let description: Vec<String> = choices.iter().map(|choice| self.describe(choice)).collect();
            return description.join(" or ");
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.iter().map(literal).collect::<Vec<_>>().join(" or ");
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.describe_simple(kind, schema),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                let (scalar, kinds) = match kinds.strip_prefix(&["string", "number", "boolean"]) {
                    Some(others) => (Some("scalar".to_owned()), others),
                    None => (None, kinds.as_slice()),
                };
                let kinds = kinds.iter().map(|kind| self.describe_simple(kind, schema));
                scalar.into_iter().chain(kinds).collect::<Vec<_>>().join(" or ")
            }
            _ => "anything".to_owned(),
        }
    }

    fn describe_simple(&self, kind: &str, schema: &Value) -> String {
        match kind {
            "string" => "string".to_owned(),
            "boolean" => "true or false".to_owned(),
            "array" => match schema.get("items").map(|items| self.describe(items)) {
                Some(items) if items.contains(" or ") => format!("list of ({items})"),
                Some(items) => format!("list of {items}"),
                None => "list".to_owned(),
            },
            "object" => match schema.get("additionalProperties") {
                Some(values @ Value::Object(_)) => format!("map of {}", self.describe(values)),
                Some(Value::Bool(false)) => "`{}`".to_owned(),
                _ => "map".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    /// A link to a type with keys of its own; other types are described in place.
    fn describe_reference(&self, name: &str) -> String {
        match self.definitions.get(name) {
            Some(definition) if definition.get("properties").is_some() => {
                format!("[{name}](#{})", name.to_ascii_lowercase())
            }
            Some(definition) => self.describe(definition),
            None => name.to_owned(),
        }
    }
}

fn literal(value: &Value) -> String {
    format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// One line of a table.
fn table_cell(text: &str) -> String {
    escape_pipes(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn escape_pipes(text: &str) -> String {
    text.replace('|', "\\|")
}
