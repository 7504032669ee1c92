//! `ask`: one round of questions to the client. Checked whole; not yet put.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::{Block, Json, Named, is_identifier};
use crate::template::{Shape, Template, Text, Url};
use crate::yaml::Spanned;

/// The questions of one round, by their keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Ask")]
pub struct Spec(#[schemars(with = "IndexMap<String, Question>")] pub Named<Question>);

/// One question: exactly one of `elicit`, `sample`, `roots`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// Asks the person: a form, or a page to visit.
    pub elicit: Option<Spanned<Elicit>>,
    /// Asks the client's model.
    pub sample: Option<Spanned<Sample>>,
    /// Asks for the folders that the client works on.
    pub roots: Option<Spanned<Roots>>,
    /// Goes on when the person says no.
    pub on_decline: Option<OnDecline>,
    /// Goes on when the client cannot be asked.
    pub optional: Option<bool>,
}

/// What happens when the person says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnDecline {
    /// The steps go on.
    Continue,
    /// The tool ends with a plain sentence.
    End,
}

/// A question to the person.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Elicit {
    /// What is asked, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub message: Option<Spanned<String>>,
    /// The fields of the form: flat, each a text, a number, a boolean or a choice, like `arguments`.
    #[schemars(with = "Option<IndexMap<String, Json>>")]
    pub schema: Option<Spanned<Named<Spanned<Json>>>>,
    /// The form as raw JSON Schema.
    pub requested_schema: Option<Spanned<Json>>,
    /// A page to visit instead of a form, a template.
    pub url: Option<Spanned<String>>,
}

/// A question to the client's model, in MCP's words.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Sample {
    /// One message of the user, a template.
    pub prompt: Option<Spanned<String>>,
    /// Several messages, as in a prompt.
    pub messages: Option<Spanned<Vec<SampleMessage>>>,
    /// How long the answer may be, in tokens.
    pub max_tokens: Option<Spanned<u32>>,
    /// What the model is told first, a template.
    pub system_prompt: Option<Spanned<String>>,
    /// Which model is wished for.
    pub model_preferences: Option<Value>,
    /// What context the client should add.
    pub include_context: Option<String>,
    /// How freely the model should answer.
    pub temperature: Option<f64>,
    /// Texts at which the answer ends.
    pub stop_sequences: Option<Vec<String>>,
    /// Tools that the model may call.
    pub tools: Option<Value>,
    /// Whether it must call one.
    pub tool_choice: Option<Value>,
    /// Metadata for the client.
    pub metadata: Option<Value>,
}

/// One message: `user` or `assistant`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SampleMessage {
    /// What the person says.
    pub user: Option<Spanned<Block>>,
    /// What the model says.
    pub assistant: Option<Spanned<Block>>,
}

/// The folders that the client works on; nothing to say about them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Roots {}

pub struct Ask;

/// Words in the name of a field that ask for what a form must never ask for.
const SECRETS: &[&str] = &["password", "passwd", "token", "secret", "apikey", "api_key", "credential"];

impl Act for Ask {
    type Spec = Spec;
    const BESIDE: &'static [&'static str] = &["timeout"];
    const GRANT: Option<&'static str> = Some("ask");
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::Map(Box::new(Shape::Any))
    }

    fn compile(written: Written<'_, Spec>, compiler: &mut Compiler<'_>) -> Option<Ask> {
        if written.spec.value.0.is_empty() {
            compiler
                .error(Code::MissingKey, written.key, "`ask` needs a question")
                .help("write `ask: { KEY: { elicit: … } }`");
        }
        for (key, question) in &written.spec.value.0 {
            check_question(key, question, compiler);
        }
        Some(Ask)
    }
}

fn check_question(key: &Spanned<String>, question: &Question, compiler: &mut Compiler<'_>) {
    if !is_identifier(key) {
        compiler
            .error(Code::BadName, key.at, format!("`{}` is no name of a question", key.value))
            .help("use letters, digits and `_`");
    }
    match (&question.elicit, &question.sample, &question.roots) {
        (Some(elicit), None, None) => check_form(elicit, compiler),
        (None, Some(sample), None) => check_sample(sample, compiler),
        (None, None, Some(_)) => {}
        _ => {
            compiler
                .error(Code::Conflict, key.at, "a question is exactly one of `elicit`, `sample`, `roots`")
                .help("put each question under a key of its own");
        }
    }
}

fn check_form(elicit: &Spanned<Elicit>, compiler: &mut Compiler<'_>) {
    let Some(message) = &elicit.message else {
        compiler.error(Code::MissingKey, elicit.at, "`elicit` needs a `message`");
        return;
    };
    let _: Option<Template<Text>> = compiler.template(message, Exposure::Client);
    let _: Option<Template<Url>> = compiler.optional(elicit.url.as_ref(), Exposure::Client);
    let ways = [elicit.schema.is_some(), elicit.requested_schema.is_some(), elicit.url.is_some()];
    if ways.into_iter().filter(|way| *way).count() != 1 {
        compiler.error(Code::Conflict, elicit.at, "`elicit` takes exactly one of `schema`, `requestedSchema`, `url`");
    }
    for (name, field) in elicit.schema.iter().flat_map(|fields| &fields.value) {
        check_field(name, field, compiler);
    }
    if let Some(placed) = elicit.requested_schema.as_ref().and_then(|schema| compiler.json_value(schema)) {
        compiler.schema(&placed);
    }
}

/// A field of a form: flat, and never for a secret.
fn check_field(name: &Spanned<String>, field: &Spanned<Json>, compiler: &mut Compiler<'_>) {
    let lower = name.to_lowercase();
    if SECRETS.iter().any(|secret| lower.contains(secret)) {
        compiler
            .error(Code::Secret, name.at, format!("a form must not ask for a secret such as `{}`", name.value))
            .help("send the person to a page with `url`");
    }
    if name.value == "action" {
        compiler
            .error(Code::BadName, name.at, "`action` is the answer's own")
            .help("it is `accept`, `decline` or `cancel`");
    }
    let kind = field.0.get("type").and_then(Value::as_str).unwrap_or("string");
    let list_of_choices = kind == "array" && field.0.get("items").is_some();
    if !matches!(kind, "string" | "number" | "integer" | "boolean") && !list_of_choices {
        compiler
            .error(
                Code::BadValue,
                field.at,
                format!("a form's field is a text, a number, a boolean or a choice, not `{kind}`"),
            )
            .help("MCP's forms are flat");
    }
}

fn check_sample(sample: &Spanned<Sample>, compiler: &mut Compiler<'_>) {
    let _: Option<Template<Text>> = compiler.optional(sample.prompt.as_ref(), Exposure::Client);
    let _: Option<Template<Text>> = compiler.optional(sample.system_prompt.as_ref(), Exposure::Client);
    if sample.prompt.is_some() == sample.messages.is_some() {
        compiler.error(Code::Conflict, sample.at, "`sample` takes exactly one of `prompt`, `messages`");
    }
    if sample.max_tokens.is_none() {
        compiler.error(Code::MissingKey, sample.at, "`sample` needs `maxTokens`");
    }
    for message in sample.messages.iter().flat_map(|messages| &messages.value) {
        let blocks = [&message.user, &message.assistant];
        if let [Some(_), Some(_)] | [None, None] = blocks {
            compiler.error(Code::Conflict, sample.at, "a message is exactly one of `user`, `assistant`");
        }
        for block in blocks.into_iter().flatten() {
            if let Block::Text(text) = &block.value {
                let _: Option<Template<Text>> =
                    compiler.template(&Spanned::new(text.clone(), block.at), Exposure::Client);
            }
        }
    }
}
