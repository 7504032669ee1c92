//! `sample`: asks the client's model.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::AnswerVerdict;
use super::spec::{Sample, SampleMessage};
use crate::action::ActionError;
use crate::action::client::{ClientCapability, QuestionKind};
use crate::action::keys::check_exactly_one;
use crate::compile::{Compiler, Exposure, MAX_FILE_BYTES};
use crate::diagnostic::Code;
use crate::files::{Folder, mime_of};
use crate::notation::{Block, BlockBody, Media};
use crate::template::{Scope, Shape, Template, Text};
use crate::yaml::{Location, Spanned};

/// A compiled question to the model.
pub(super) struct SampleTemplate {
    messages: Vec<(&'static str, SampleContent)>,
    system_prompt: Option<Template<Text>>,
    /// The parameters without templates.
    static_params: Map<String, Value>,
}

/// The content of a message.
enum SampleContent {
    Text(Template<Text>),
    File { kind: &'static str, folder: Folder, path: PathBuf, mime_type: Option<String> },
    Base64 { kind: &'static str, data: Template<Text>, mime_type: String },
}

impl SampleTemplate {
    pub(super) fn compile(sample: &Spanned<Sample>, compiler: &mut Compiler<'_>) -> Option<SampleTemplate> {
        let system_prompt = compiler.optional_template(sample.system_prompt.as_ref(), Exposure::Client);
        let sources = [("prompt", sample.prompt.is_some()), ("messages", sample.messages.is_some())];
        check_exactly_one("sample", sample.location, &sources, compiler);
        if sample.max_tokens.is_none() {
            compiler.error(Code::MissingKey, sample.location, "missing key `maxTokens` in `sample`");
        }
        if sample.messages.as_ref().is_some_and(|messages| messages.is_empty()) {
            compiler.error(Code::MissingKey, sample.location, "empty `messages` in `sample`");
        }
        let prompt: Option<Template<Text>> = compiler.optional_template(sample.prompt.as_ref(), Exposure::Client);
        let mut messages: Vec<Option<(&str, SampleContent)>> =
            prompt.into_iter().map(|prompt| Some(("user", SampleContent::Text(prompt)))).collect();
        for message in sample.messages.iter().flat_map(|messages| &messages.value) {
            messages.push(compile_message(message, sample.location, compiler));
        }
        let messages = messages.into_iter().collect::<Option<Vec<_>>>()?;
        Some(SampleTemplate { messages, system_prompt, static_params: static_params(sample)? })
    }

    pub(super) fn required_capability(&self) -> ClientCapability {
        QuestionKind::Sampling(self.static_params.clone()).required_capability()
    }

    pub(super) fn render(&self, scope: &Scope) -> Result<QuestionKind, ActionError> {
        let mut params = Map::new();
        let messages: Result<Vec<Value>, ActionError> =
            self.messages.iter().map(|message| render_message(message, scope)).collect();
        params.insert("messages".to_owned(), Value::Array(messages?));
        if let Some(system) = &self.system_prompt {
            params.insert("systemPrompt".to_owned(), system.render(scope)?.0.into());
        }
        params.extend(self.static_params.clone());
        Ok(QuestionKind::Sampling(params))
    }
}

/// The shape of the answer.
pub(super) fn sample_answer_shape() -> Shape {
    Shape::object([("text", Shape::Text), ("content", Shape::Any), ("model", Shape::Text), ("stopReason", Shape::Text)])
}

/// Checks a `CreateMessageResult`.
pub(super) fn check_answer(answer: &Value) -> AnswerVerdict {
    let Some(content) = answer.get("content") else { return AnswerVerdict::Invalid("missing `content`".to_owned()) };
    let blocks: Vec<&Value> = content.as_array().map_or_else(|| vec![content], |blocks| blocks.iter().collect());
    if !blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string)) {
        return AnswerVerdict::Invalid("invalid `content`: expected content blocks".to_owned());
    }
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    AnswerVerdict::Accepted(json!({
        "text": texts.join("\n"),
        "content": content,
        "model": answer.get("model").and_then(Value::as_str),
        "stopReason": answer.get("stopReason").and_then(Value::as_str),
    }))
}

fn static_params(sample: &Sample) -> Option<Map<String, Value>> {
    let pairs = [
        ("maxTokens", Some(json!(sample.max_tokens.as_ref()?.value))),
        ("modelPreferences", sample.model_preferences.clone()),
        ("includeContext", sample.include_context.clone().map(Value::from)),
        ("temperature", sample.temperature.map(Value::from)),
        ("stopSequences", sample.stop_sequences.clone().map(Value::from)),
        ("tools", sample.tools.clone()),
        ("toolChoice", sample.tool_choice.clone()),
        ("metadata", sample.metadata.clone()),
    ];
    Some(pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

fn render_message((role, part): &(&'static str, SampleContent), scope: &Scope) -> Result<Value, ActionError> {
    let content = match part {
        SampleContent::Text(text) => json!({ "type": "text", "text": text.render(scope)?.0 }),
        SampleContent::Base64 { kind, data, mime_type } => {
            json!({ "type": kind, "data": data.render(scope)?.0.trim(), "mimeType": mime_type })
        }
        SampleContent::File { kind, folder, path, mime_type } => {
            let bytes = folder.read(path, MAX_FILE_BYTES).map_err(|error| ActionError::message(error.to_string()))?;
            let guessed = mime_of(&path.to_string_lossy(), &bytes);
            let mime_type = mime_type.as_deref().unwrap_or(guessed);
            json!({ "type": kind, "data": STANDARD.encode(bytes), "mimeType": mime_type })
        }
    };
    Ok(json!({ "role": role, "content": content }))
}

fn compile_message(
    message: &SampleMessage,
    at: Location,
    compiler: &mut Compiler<'_>,
) -> Option<(&'static str, SampleContent)> {
    let (role, block) = match (&message.user, &message.assistant) {
        (Some(block), None) => ("user", block),
        (None, Some(block)) => ("assistant", block),
        _ => {
            compiler.error(Code::Conflict, at, "expected exactly one of `user`, `assistant` in a message");
            return None;
        }
    };
    let part = match &block.value {
        Block::Text(text) => {
            compiler.template(&Spanned::new(text.clone(), block.location), Exposure::Client).map(SampleContent::Text)
        }
        Block::Keys(keys) => compile_content(keys, block.location, compiler),
    };
    part.map(|part| (role, part))
}

/// Compiles content, which is text, an image or audio.
fn compile_content(keys: &BlockBody, at: Location, compiler: &mut Compiler<'_>) -> Option<SampleContent> {
    let bare = keys.annotations.is_none() && keys.when.is_none() && keys.each.is_none() && keys.meta.is_none();
    match (&keys.text, &keys.image, &keys.audio) {
        (Some(text), None, None) if bare => {
            let text = compiler.resolve_text(text)?;
            compiler.template(&text, Exposure::Client).map(SampleContent::Text)
        }
        (None, Some(image), None) if bare => compile_media("image", image, keys, compiler),
        (None, None, Some(audio)) if bare => compile_media("audio", audio, keys, compiler),
        _ => {
            compiler
                .error(Code::Conflict, at, "expected a string, or exactly one of `text`, `image`, `audio`")
                .help("read a resource in an earlier step, and use its text in this one");
            None
        }
    }
}

fn compile_media(
    kind: &'static str,
    media: &Spanned<Media>,
    keys: &BlockBody,
    compiler: &mut Compiler<'_>,
) -> Option<SampleContent> {
    let mime_type = keys.mime_type.as_ref().map(|mime| mime.value.clone());
    let file = |path: &Spanned<String>, mime_type, compiler: &mut Compiler<'_>| {
        let path = compiler.resolve_file(path, path.location)?;
        Some(SampleContent::File { kind, folder: compiler.pack.folder.clone(), path, mime_type })
    };
    let source = match &media.value {
        Media::Path(path) => return file(&Spanned::new(path.clone(), media.location), mime_type, compiler),
        Media::Source(source) => source,
    };
    let mime_type = source.mime_type.as_ref().map(|mime| mime.value.clone()).or(mime_type);
    match (&source.file, &source.base64) {
        (Some(path), None) => file(path, mime_type, compiler),
        (None, Some(base64)) => {
            let data = compiler.template(base64, Exposure::Client)?;
            let otherwise = if kind == "image" { "image/png" } else { "audio/wav" };
            Some(SampleContent::Base64 { kind, data, mime_type: mime_type.unwrap_or_else(|| otherwise.to_owned()) })
        }
        _ => {
            compiler.error(
                Code::Conflict,
                media.location,
                format!("expected exactly one of `file`, `base64` in `{kind}`"),
            );
            None
        }
    }
}
