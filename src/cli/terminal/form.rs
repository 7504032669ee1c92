//! The fields that a caller fills in: the arguments of an entry, or the form of a question.

use serde_json::{Map, Value};

use crate::schema::{Coercion, Schema};
use crate::template::value_to_text;

/// Fields by their JSON Schema.
pub(crate) struct Form {
    schema: Schema,
}

/// A field of a form.
pub(crate) struct FormField<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_required: bool,
    json: &'a Value,
    form: &'a Form,
}

/// A value that a field may have.
pub(crate) struct EnumValue {
    pub(crate) value: String,
    pub(crate) title: Option<String>,
}

impl Form {
    /// The fields of the schema of an object; `None` if it is not a schema.
    pub(crate) fn new(schema: &Map<String, Value>) -> Option<Form> {
        Schema::compile(Value::Object(schema.clone()), &|_| None).ok().map(|schema| Form { schema })
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = FormField<'_>> {
        let fields = self.schema.json().get("properties").and_then(Value::as_object);
        let required = self.schema.json().get("required").and_then(Value::as_array);
        fields.into_iter().flatten().map(move |(name, json)| {
            let is_required = required.is_some_and(|required| required.iter().any(|required| required == name));
            FormField { name, is_required, json, form: self }
        })
    }

    pub(crate) fn field(&self, name: &str) -> Option<FormField<'_>> {
        self.fields().find(|field| field.name == name)
    }

    /// What is wrong with the values of all fields, those with defaults filled in.
    pub(crate) fn check(&self, values: &Map<String, Value>) -> Result<(), String> {
        let mut values = values.clone();
        self.schema.fill_defaults(&mut values);
        self.messages(&Value::Object(values), |_| true)
    }

    fn messages(&self, values: &Value, counts: impl Fn(Option<&str>) -> bool) -> Result<(), String> {
        let Ok(violations) = self.schema.violations(values) else { return Ok(()) };
        let counted = violations.into_iter().filter(|violation| counts(violation.name.as_deref()));
        let messages: Vec<String> = counted.map(|violation| violation.message).collect();
        if messages.is_empty() { Ok(()) } else { Err(messages.join("; ")) }
    }
}

impl FormField<'_> {
    /// The value that is written so, or what is wrong with it. `None` for an empty text that leaves the field out.
    pub(crate) fn parse(&self, text: &str) -> Result<Option<Value>, String> {
        let yes_or_no = match (self.keyword("type"), text.to_lowercase().as_str()) {
            (Some(Value::String(kind)), "y" | "yes") if kind == "boolean" => Some(Value::Bool(true)),
            (Some(Value::String(kind)), "n" | "no") if kind == "boolean" => Some(Value::Bool(false)),
            _ => None,
        };
        let value = match yes_or_no {
            Some(value) => value,
            None => match self.form.schema.coerce_property(self.name, text) {
                Coercion::Value(value) => value,
                Coercion::Absent => return Ok(None),
            },
        };
        let alone = Value::Object(Map::from_iter([(self.name.to_owned(), value.clone())]));
        self.form.messages(&alone, |name| name == Some(self.name)).map(|()| Some(value))
    }

    /// What may be written: the choices, or the type.
    pub(crate) fn hint(&self) -> String {
        let choices = self.choices();
        if !choices.is_empty() {
            let values: Vec<String> = choices.into_iter().map(|choice| choice.value).collect();
            let list = if self.is_list() { "list of " } else { "" };
            return format!("{list}{}", values.join("|"));
        }
        match (self.keyword("type"), self.keyword("format").and_then(Value::as_str)) {
            (Some(Value::String(kind)), Some(format)) if kind == "string" => format.to_owned(),
            (Some(Value::String(kind)), _) if kind == "array" => "list".to_owned(),
            (Some(Value::String(kind)), _) => kind.clone(),
            (Some(Value::Array(kinds)), _) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
            _ => "string".to_owned(),
        }
    }

    /// The values that it may have, or that its items may have.
    pub(crate) fn choices(&self) -> Vec<EnumValue> {
        let titled = |holder: &Value| {
            let branches = ["oneOf", "anyOf"].iter().find_map(|key| holder.get(*key)?.as_array());
            let choice = |branch: &Value| {
                let title = branch.get("title").and_then(Value::as_str).map(str::to_owned);
                Some(EnumValue { value: value_to_text(branch.get("const")?).into_owned(), title })
            };
            branches.into_iter().flatten().filter_map(choice).collect::<Vec<_>>()
        };
        let items = self.keyword("items").filter(|_| self.is_list());
        let choices = titled(items.unwrap_or(self.json));
        if !choices.is_empty() {
            return choices;
        }
        let listed = items.and_then(|items| Some(items.get("enum")?.as_array()?.iter().collect()));
        let listed: Vec<&Value> = listed.or_else(|| self.form.schema.property_choices(self.name)).unwrap_or_default();
        if listed.is_empty() && self.keyword("type").is_some_and(|kind| kind == "boolean") {
            return ["true", "false"].map(EnumValue::without_title).into();
        }
        listed.into_iter().map(|value| EnumValue::without_title(&value_to_text(value))).collect()
    }

    pub(crate) fn is_list(&self) -> bool {
        self.keyword("type").is_some_and(|kind| kind == "array")
    }

    pub(crate) fn default_value(&self) -> Option<&Value> {
        self.keyword("default")
    }

    /// Whether its value must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.keyword("writeOnly") == Some(&Value::Bool(true))
            || self.keyword("format").is_some_and(|format| format == "password")
    }

    /// What it is, in the author's words.
    pub(crate) fn description(&self) -> Option<&str> {
        ["description", "title"].iter().find_map(|key| self.keyword(key)?.as_str())
    }

    fn keyword(&self, keyword: &str) -> Option<&Value> {
        self.form.schema.property_keyword(self.name, keyword)
    }
}

impl EnumValue {
    fn without_title(value: &str) -> EnumValue {
        EnumValue { value: value.to_owned(), title: None }
    }
}
