//! Builds the requests that ask the client, in the form of each version.

use rmcp::model::{ClientCapabilities, InputRequest};
use serde_json::{Map, Value};

use crate::action::{ClientCapability, QuestionKind};
use crate::spec_version::SpecVersion;

/// Whether a client of this version with these capabilities can be asked.
pub(crate) fn is_supported(
    capability: ClientCapability,
    capabilities: Option<&ClientCapabilities>,
    spec_version: SpecVersion,
) -> bool {
    let Some(capabilities) = capabilities else { return false };
    let elicitation = capabilities.elicitation.as_ref();
    match capability {
        // One that names no mode means forms.
        ClientCapability::ElicitationForm => {
            let form = elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
            form && spec_version >= SpecVersion::V2025_06_18
        }
        ClientCapability::ElicitationUrl => {
            elicitation.is_some_and(|modes| modes.url.is_some()) && spec_version >= SpecVersion::V2025_11_25
        }
        ClientCapability::Sampling => capabilities.sampling.is_some(),
        ClientCapability::SamplingTools => {
            let tools = capabilities.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some());
            tools && spec_version >= SpecVersion::V2025_11_25
        }
        ClientCapability::Roots => capabilities.roots.is_some(),
    }
}

/// The request that asks it in this version: its method and parameters.
pub(crate) fn question_request(question: &QuestionKind, spec_version: SpecVersion) -> (&'static str, Option<Value>) {
    match question {
        QuestionKind::Form { message, schema } => {
            let mode = (spec_version >= SpecVersion::V2025_11_25).then(|| ("mode", "form".into()));
            let params = [("message", message.clone().into()), ("requestedSchema", form_schema(schema, spec_version))];
            ("elicitation/create", Some(object(mode.into_iter().chain(params))))
        }
        QuestionKind::Url { message, url } => {
            let id = (!spec_version.is_sessionless()).then(|| ("elicitationId", elicitation_id().into()));
            let params = [("mode", "url".into()), ("message", message.clone().into()), ("url", url.clone().into())];
            ("elicitation/create", Some(object(params.into_iter().chain(id))))
        }
        QuestionKind::Sampling(params) => ("sampling/createMessage", Some(sampling_params(params, spec_version))),
        QuestionKind::Roots => ("roots/list", None),
    }
}

/// The same among the input requests of 2026-07-28. `None` where its types cannot hold it.
pub(crate) fn input_request(question: &QuestionKind) -> Option<InputRequest> {
    let (method, params) = question_request(question, SpecVersion::V2026_07_28);
    let method = ("method", method.into());
    let request = object([method].into_iter().chain(params.map(|params| ("params", params))));
    serde_json::from_value(request).inspect_err(|error| tracing::error!(%error, "cannot convert question")).ok()
}

fn object(fields: impl Iterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// What a page is known by.
fn elicitation_id() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}

/// 2025-06-18 knows defaults of booleans alone, and titled choices as `enumNames`.
fn form_schema(schema: &Map<String, Value>, spec_version: SpecVersion) -> Value {
    let mut schema = schema.clone();
    if spec_version >= SpecVersion::V2025_11_25 {
        return Value::Object(schema);
    }
    for field in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Value::Object(field) = field.1 {
            downgrade_field(field);
        }
    }
    Value::Object(schema)
}

fn downgrade_field(field: &mut Map<String, Value>) {
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
        let description = field.get("description").and_then(Value::as_str).map(|text| format!("{text} "));
        let message =
            format!("{}(several of: {}; separated by commas)", description.unwrap_or_default(), choices.join(", "));
        field.retain(|key, _| key == "title");
        field.insert("type".to_owned(), "string".into());
        field.insert("description".to_owned(), message.into());
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
pub(crate) fn normalize_answer(question: &QuestionKind, mut answer: Value, spec_version: SpecVersion) -> Value {
    let QuestionKind::Form { schema, .. } = question else { return answer };
    if spec_version >= SpecVersion::V2025_11_25 {
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
fn sampling_params(params: &Map<String, Value>, spec_version: SpecVersion) -> Value {
    let mut params = params.clone();
    if spec_version < SpecVersion::V2025_11_25 {
        params.shift_remove("tools");
        params.shift_remove("toolChoice");
    }
    Value::Object(params)
}

#[cfg(test)]
mod tests {
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
    fn newest_version_form_is_verbatim() {
        let question = QuestionKind::Form { message: "m".to_owned(), schema: every_field() };
        let request = serde_json::to_value(input_request(&question).unwrap()).unwrap();
        assert_eq!(request["method"], "elicitation/create");
        assert_eq!(request["params"]["requestedSchema"], Value::Object(every_field()));
        assert_eq!(request["params"]["mode"], "form");
    }

    #[test]
    fn older_form_drops_defaults_and_titled_choices() {
        let (_, params) = question_request(
            &QuestionKind::Form { message: "m".to_owned(), schema: every_field() },
            SpecVersion::V2025_06_18,
        );
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
        let question = QuestionKind::Form { message: String::new(), schema: every_field() };
        let given = normalize_answer(
            &question,
            json!({ "content": { "many": "a, b", "text": "a, b" } }),
            SpecVersion::V2025_06_18,
        );
        assert_eq!(given["content"], json!({ "many": ["a", "b"], "text": "a, b" }));
    }

    #[test]
    fn url_elicitation_has_id_only_in_sessions() {
        let page = QuestionKind::Url { message: "m".to_owned(), url: "https://x.example/".to_owned() };
        assert!(question_request(&page, SpecVersion::V2025_11_25).1.unwrap()["elicitationId"].is_string());
        assert!(question_request(&page, SpecVersion::V2026_07_28).1.unwrap().get("elicitationId").is_none());
        let params = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "x" } }], "maxTokens": 9, "temperature": 0.5 });
        let sample = QuestionKind::Sampling(params.as_object().unwrap().clone());
        assert_eq!(serde_json::to_value(input_request(&sample).unwrap()).unwrap()["params"], params);
        assert!(input_request(&QuestionKind::Roots).is_some());
    }

    #[test]
    fn supported_needs_follow_capabilities() {
        let capabilities = |json: Value| serde_json::from_value::<ClientCapabilities>(json).unwrap();
        let table = [(json!({}), [])];
        for (json, none) in table {
            assert_eq!(supported_needs(&capabilities(json), SpecVersion::V2026_07_28), none);
        }
        let plain = capabilities(json!({ "elicitation": {} }));
        assert_eq!(supported_needs(&plain, SpecVersion::V2025_11_25), [ClientCapability::ElicitationForm]);
        assert_eq!(supported_needs(&plain, SpecVersion::V2025_03_26), []);
        let page = capabilities(json!({ "elicitation": { "url": {} }, "sampling": {}, "roots": {} }));
        assert_eq!(
            supported_needs(&page, SpecVersion::V2025_11_25),
            [ClientCapability::ElicitationUrl, ClientCapability::Sampling, ClientCapability::Roots]
        );
        assert_eq!(
            supported_needs(&page, SpecVersion::V2024_11_05),
            [ClientCapability::Sampling, ClientCapability::Roots]
        );
        let tools = capabilities(json!({ "sampling": { "tools": {} } }));
        assert_eq!(
            supported_needs(&tools, SpecVersion::V2026_07_28),
            [ClientCapability::Sampling, ClientCapability::SamplingTools]
        );
    }

    fn supported_needs(capabilities: &ClientCapabilities, spec_version: SpecVersion) -> Vec<ClientCapability> {
        ClientCapability::ALL
            .into_iter()
            .filter(|capability| is_supported(*capability, Some(capabilities), spec_version))
            .collect()
    }
}
