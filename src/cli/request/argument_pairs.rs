//! Parses the `NAME=VALUE` arguments of `get` and `call`.

use std::io::Read;

use anyhow::{Context, ensure};
use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::diagnostic::without_byte_order_mark;
use crate::files::expand_home;

/// The arguments by name, in the order written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ArgumentPairs(IndexMap<String, String>);

impl ArgumentPairs {
    /// Parses `NAME=VALUE`, `NAME=@FILE`, `NAME=@-` for `stdin`, `NAME=@@VALUE` for a value that begins with `@`.
    pub(super) fn parse(words: &[String], stdin: &mut dyn Read) -> anyhow::Result<ArgumentPairs> {
        let mut stdin = Some(stdin);
        let mut pairs = IndexMap::new();
        for word in words {
            let (name, value) = word
                .split_once('=')
                .with_context(|| format!("missing `=` in argument `{word}`: expected NAME=VALUE"))?;
            ensure!(!name.is_empty(), "missing name in argument `{word}`");
            let value = read_value(name, value, &mut stdin)?;
            ensure!(pairs.insert(name.to_owned(), value).is_none(), "duplicate argument `{name}`");
        }
        Ok(ArgumentPairs(pairs))
    }

    /// The values as strings, for a prompt.
    pub(super) fn into_strings(self) -> Map<String, Value> {
        self.0.into_iter().map(|(name, text)| (name, Value::String(text))).collect()
    }

    /// The values for a tool, typed by the `properties` of its input schema.
    pub(super) fn into_typed(self, input_schema: &Value) -> Map<String, Value> {
        let property = |name: &str| input_schema.get("properties").and_then(|all| all.get(name));
        self.0.into_iter().map(|(name, text)| (name.clone(), typed_value(text, property(&name)))).collect()
    }
}

fn read_value(name: &str, value: &str, stdin: &mut Option<&mut dyn Read>) -> anyhow::Result<String> {
    let Some(source) = value.strip_prefix('@') else { return Ok(value.to_owned()) };
    if source.starts_with('@') {
        return Ok(source.to_owned());
    }
    let unreadable =
        || format!("cannot read argument `{name}` from `{}`", if source == "-" { "stdin" } else { source });
    let text = if source == "-" {
        let stdin = stdin
            .take()
            .with_context(|| format!("cannot read argument `{name}` from stdin: already read for another argument"))?;
        let mut text = String::new();
        stdin.read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(expand_home(source.as_ref()))
    };
    Ok(without_byte_order_mark(&text.map_err(read_error).with_context(unreadable)?).to_owned())
}

/// The error of a read, in fewer words where the text is not UTF-8.
fn read_error(error: std::io::Error) -> std::io::Error {
    match error.kind() {
        std::io::ErrorKind::InvalidData => std::io::Error::new(error.kind(), "it is not UTF-8"),
        _ => error,
    }
}

/// A string if the schema allows strings only. Otherwise the text as JSON, or a string, which validation then reports.
fn typed_value(text: String, schema: Option<&Value>) -> Value {
    let types: Vec<&str> = match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let choices = schema.and_then(|schema| schema.get("enum")).and_then(Value::as_array);
    if types == ["string"] || choices.is_some_and(|choices| choices.iter().any(|value| value == &text)) {
        return Value::String(text);
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if !types.contains(&"string") || types.contains(&json_type(&value)) => value,
        _ => Value::String(text),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(words: &[&str]) -> anyhow::Result<ArgumentPairs> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        ArgumentPairs::parse(&words, &mut "from stdin".as_bytes())
    }

    #[test]
    fn value_is_all_after_the_first_equals() {
        let texts = parse(&["a=1", "b=x=y", "c=", "d=@@home"]).unwrap().into_strings();
        assert_eq!(Value::Object(texts), json!({ "a": "1", "b": "x=y", "c": "", "d": "@home" }));
    }

    #[test]
    fn a_value_may_come_from_a_file_or_stdin() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "from a file").unwrap();
        let texts = parse(&[&format!("a=@{}", file.path().display()), "b=@-"]).unwrap().into_strings();
        assert_eq!(Value::Object(texts), json!({ "a": "from a file", "b": "from stdin" }));
    }

    #[test]
    fn invalid_arguments_give_precise_errors() {
        for (words, expected) in [
            (&["x"][..], "missing `=` in argument `x`: expected NAME=VALUE"),
            (&["=1"], "missing name in argument `=1`"),
            (&["a=1", "a=2"], "duplicate argument `a`"),
            (&["a=@-", "b=@-"], "cannot read argument `b` from stdin: already read for another argument"),
        ] {
            assert_eq!(parse(words).unwrap_err().to_string(), expected);
        }
        let missing = format!("{:#}", parse(&["a=@/no/such/file"]).unwrap_err());
        let reason = missing.strip_prefix("cannot read argument `a` from `/no/such/file`: ").unwrap();
        assert_eq!(missing.matches(reason).count(), 1, "{missing}");
    }

    #[test]
    fn values_are_typed_by_the_input_schema() {
        let schema = json!({ "properties": {
            "text": { "type": "string" }, "count": { "type": "integer" }, "on": { "type": "boolean" },
            "list": { "type": "array" }, "bad": { "type": "integer" }, "maybe": { "type": ["string", "null"] },
            "choice": { "enum": ["1", "2"] }, "open": {},
        } });
        let words = ["text=3", "count=3", "on=true", "list=[1]", "bad=x", "maybe=3", "choice=1", "open={}", "other=y"];
        let expected = json!({
            "text": "3", "count": 3, "on": true, "list": [1], "bad": "x", "maybe": "3", "choice": "1", "open": {}, "other": "y"
        });
        assert_eq!(Value::Object(parse(&words).unwrap().into_typed(&schema)), expected);
        assert_eq!(parse(&["maybe=null"]).unwrap().into_typed(&schema).get("maybe"), Some(&Value::Null));
    }
}
