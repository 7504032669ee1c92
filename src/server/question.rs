//! Questions to the client in the words of each version: what one does not know is left out, or made its older form.

use rmcp::model::{ClientCapabilities, InputRequest};
use serde_json::{Map, Value};

use crate::action::{Asks, Need};

use super::session::Era;

/// Whether a client of this version with these capabilities can be asked.
pub(crate) fn can(need: Need, capabilities: Option<&ClientCapabilities>, era: Era) -> bool {
    let Some(capabilities) = capabilities else { return false };
    let elicitation = capabilities.elicitation.as_ref();
    match need {
        // One that names no mode means forms.
        Need::Form => {
            let form = elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
            form && era >= Era::V2025_06_18
        }
        Need::Page => elicitation.is_some_and(|modes| modes.url.is_some()) && era >= Era::V2025_11_25,
        Need::Sampling => capabilities.sampling.is_some(),
        Need::SamplingTools => {
            let tools = capabilities.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some());
            tools && era >= Era::V2025_11_25
        }
        Need::Roots => capabilities.roots.is_some(),
    }
}

/// The request that asks it in this version: its method and parameters.
pub(crate) fn request(asks: &Asks, era: Era) -> (&'static str, Option<Value>) {
    match asks {
        Asks::Form { message, schema } => {
            let mode = (era >= Era::V2025_11_25).then(|| ("mode", "form".into()));
            let params = [("message", message.clone().into()), ("requestedSchema", form(schema, era))];
            ("elicitation/create", Some(object(mode.into_iter().chain(params))))
        }
        Asks::Page { message, url } => {
            let id = (!era.is_modern()).then(|| ("elicitationId", fresh_id().into()));
            let params = [("mode", "url".into()), ("message", message.clone().into()), ("url", url.clone().into())];
            ("elicitation/create", Some(object(params.into_iter().chain(id))))
        }
        Asks::Sample(params) => ("sampling/createMessage", Some(sample(params, era))),
        Asks::Roots => ("roots/list", None),
    }
}

/// The same among the input requests of 2026-07-28. `None` where its types cannot hold it.
pub(crate) fn input_request(asks: &Asks) -> Option<InputRequest> {
    let (method, params) = request(asks, Era::V2026_07_28);
    let method = ("method", method.into());
    let request = object([method].into_iter().chain(params.map(|params| ("params", params))));
    serde_json::from_value(request)
        .inspect_err(|error| tracing::error!(%error, "the protocol's types cannot hold a question"))
        .ok()
}

fn object(fields: impl Iterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// What a page is known by.
fn fresh_id() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}

/// 2025-06-18 knows defaults of booleans alone, and titled choices as `enumNames`.
fn form(schema: &Map<String, Value>, era: Era) -> Value {
    let mut schema = schema.clone();
    if era >= Era::V2025_11_25 {
        return Value::Object(schema);
    }
    for field in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Value::Object(field) = field.1 {
            older(field);
        }
    }
    Value::Object(schema)
}

fn older(field: &mut Map<String, Value>) {
    if field.get("type").is_none_or(|kind| kind != "boolean") {
        field.shift_remove("default");
    }
    field.shift_remove("pattern");
    if let Some(Value::Array(choices)) = field.shift_remove("oneOf") {
        let column = |key: &str| choices.iter().filter_map(|choice| choice.get(key).cloned()).collect::<Vec<_>>();
        field.insert("enum".to_owned(), column("const").into());
        field.insert("enumNames".to_owned(), column("title").into());
    }
    // Several choices at once are a list of texts, which no form of that version has: they are typed, with commas.
    if field.get("type").is_some_and(|kind| kind == "array") {
        let choices = choices_of(field);
        let told = field.get("description").and_then(Value::as_str).map(|text| format!("{text} "));
        let words = format!("{}(several of: {}; separated by commas)", told.unwrap_or_default(), choices.join(", "));
        field.retain(|key, _| key == "title");
        field.insert("type".to_owned(), "string".into());
        field.insert("description".to_owned(), words.into());
    }
}

fn choices_of(field: &Map<String, Value>) -> Vec<String> {
    let items = field.get("items");
    let plain = items.and_then(|items| items.get("enum")?.as_array());
    let titled = items.and_then(|items| items.get("anyOf")?.as_array());
    let of = |choice: &Value| choice.get("const").unwrap_or(choice).as_str().map(str::to_owned);
    plain.into_iter().chain(titled).flatten().filter_map(of).collect()
}

/// An answer in the newest version's form: texts with commas become the lists that were asked for.
pub(crate) fn answer(asks: &Asks, mut answer: Value, era: Era) -> Value {
    let Asks::Form { schema, .. } = asks else { return answer };
    if era >= Era::V2025_11_25 {
        return answer;
    }
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, value) in answer.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        let list = fields.and_then(|fields| fields.get(name)?.get("type")).is_some_and(|kind| kind == "array");
        if let (true, Some(text)) = (list, value.as_str()) {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            *value = parts.map(Value::from).collect();
        }
    }
    answer
}

/// Tools, and several blocks in one message, are of 2025-11-25; sound is of 2025-03-26.
fn sample(params: &Map<String, Value>, era: Era) -> Value {
    let mut params = params.clone();
    if era < Era::V2025_11_25 {
        params.shift_remove("tools");
        params.shift_remove("toolChoice");
    }
    Value::Object(params)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    fn every_field() -> Map<String, Value> {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 9, "default": "x" },
                "mail": { "type": "string", "format": "email" },
                "number": { "type": "number", "minimum": 0.5, "maximum": 95.5, "default": 1.5 },
                "integer": { "type": "integer", "minimum": 1, "maximum": 9, "default": 3 },
                "boolean": { "type": "boolean", "default": true },
                "one": { "type": "string", "enum": ["a", "b"], "default": "a" },
                "titled": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }], "default": "b" },
                "legacy": { "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] },
                "many": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "minItems": 1, "maxItems": 2, "default": ["a"] },
                "manyTitled": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] } },
            },
            "required": ["text"],
        });
        schema.as_object().unwrap().clone()
    }

    #[test]
    fn the_newest_version_is_asked_with_every_field_as_it_is_written() {
        let asks = Asks::Form { message: "m".to_owned(), schema: every_field() };
        let request = serde_json::to_value(input_request(&asks).unwrap()).unwrap();
        assert_eq!(request["method"], "elicitation/create");
        assert_eq!(request["params"]["requestedSchema"], Value::Object(every_field()));
        assert_eq!(request["params"]["mode"], "form");
    }

    #[test]
    fn the_version_before_knows_defaults_of_booleans_alone_and_no_titled_choices() {
        let (_, params) = request(&Asks::Form { message: "m".to_owned(), schema: every_field() }, Era::V2025_06_18);
        let params = params.unwrap();
        assert!(params.get("mode").is_none());
        let fields = &params["requestedSchema"]["properties"];
        let defaults: Vec<_> = fields
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, field)| field.get("default").is_some())
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(defaults, ["boolean"]);
        assert_eq!(fields["titled"], json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] }));
        assert_eq!(fields["many"]["type"], "string");
        let asks = Asks::Form { message: String::new(), schema: every_field() };
        let given = answer(&asks, json!({ "content": { "many": "a, b", "text": "a, b" } }), Era::V2025_06_18);
        assert_eq!(given["content"], json!({ "many": ["a", "b"], "text": "a, b" }));
    }

    #[test]
    fn a_page_has_an_id_in_sessions_and_samples_keep_their_words() {
        let page = Asks::Page { message: "m".to_owned(), url: "https://x.example/".to_owned() };
        assert!(request(&page, Era::V2025_11_25).1.unwrap()["elicitationId"].is_string());
        assert!(request(&page, Era::V2026_07_28).1.unwrap().get("elicitationId").is_none());
        let params = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "x" } }], "maxTokens": 9, "temperature": 0.5 });
        let sample = Asks::Sample(params.as_object().unwrap().clone());
        assert_eq!(serde_json::to_value(input_request(&sample).unwrap()).unwrap()["params"], params);
        assert!(input_request(&Asks::Roots).is_some());
    }

    #[test]
    fn a_client_is_asked_only_what_it_says_that_it_can() {
        let capabilities = |json: Value| serde_json::from_value::<ClientCapabilities>(json).unwrap();
        let table = [(json!({}), [])];
        for (json, none) in table {
            assert_eq!(able(&capabilities(json), Era::V2026_07_28), none);
        }
        let plain = capabilities(json!({ "elicitation": {} }));
        assert_eq!(able(&plain, Era::V2025_11_25), [Need::Form]);
        assert_eq!(able(&plain, Era::V2025_03_26), []);
        let page = capabilities(json!({ "elicitation": { "url": {} }, "sampling": {}, "roots": {} }));
        assert_eq!(able(&page, Era::V2025_11_25), [Need::Page, Need::Sampling, Need::Roots]);
        assert_eq!(able(&page, Era::V2024_11_05), [Need::Sampling, Need::Roots]);
        let tools = capabilities(json!({ "sampling": { "tools": {} } }));
        assert_eq!(able(&tools, Era::V2026_07_28), [Need::Sampling, Need::SamplingTools]);
    }

    fn able(capabilities: &ClientCapabilities, era: Era) -> Vec<Need> {
        let all = [Need::Form, Need::Page, Need::Sampling, Need::SamplingTools, Need::Roots];
        all.into_iter().filter(|need| can(*need, Some(capabilities), era)).collect()
    }
}
