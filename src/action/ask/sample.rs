//! `sample`: asks the client's model.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::AnswerVerdict;
use super::number::{NumberKey, NumberKind, NumberTemplates};
use super::spec::{Sample, SampleMessage};
use crate::action::ActionError;
use crate::action::context::client::{ClientCapability, QuestionKind};
use crate::action::sibling_keys::check_exactly_one;
use crate::compile::{Compiler, Exposure, MAX_FILE_BYTES, MimeType};
use crate::diagnostic::Code;
use crate::files::{Folder, MediaForm, media_form, mime_of};
use crate::template::{Base64Slot, Scope, Template, TextSlot};
use crate::value_types::{Block, BlockBody, Json, Media};
use crate::yaml::{Location, Spanned};

/// A message of a question.
struct CompiledMessage {
    role: &'static str,
    content: SampleContent,
}

/// A compiled question to the model.
pub(super) struct SampleTemplate {
    messages: Vec<CompiledMessage>,
    system_prompt: Option<Template<TextSlot>>,
    /// The parameters without templates.
    static_params: Map<String, Value>,
    numbers: NumberTemplates,
}

/// The numbers among the preferences for the model.
const PRIORITIES: [&str; 3] = ["costPriority", "speedPriority", "intelligencePriority"];

/// The content of a message.
enum SampleContent {
    Text(Template<TextSlot>),
    Media { kind: &'static str, source: Box<MediaBytes>, mime_type: Option<MimeType> },
}

/// The bytes of an image or audio.
enum MediaBytes {
    File(Folder, PathBuf),
    Base64(Template<Base64Slot>),
    /// The bytes of a text.
    Text(Template<TextSlot>),
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
        let prompt = sample.prompt.as_ref().and_then(|prompt| compiler.message_text(prompt));
        let mut messages: Vec<Option<CompiledMessage>> = prompt
            .into_iter()
            .map(|prompt| Some(CompiledMessage { role: "user", content: SampleContent::Text(prompt) }))
            .collect();
        for message in sample.messages.iter().flat_map(|messages| &messages.value) {
            messages.push(compile_message(message, sample.location, compiler));
        }
        let messages = messages.into_iter().collect::<Option<Vec<_>>>()?;
        let mut numbers = NumberTemplates::default();
        let static_params = static_params(sample, &mut numbers, compiler)?;
        Some(SampleTemplate { messages, system_prompt, static_params, numbers })
    }

    pub(super) fn required_capability(&self) -> ClientCapability {
        QuestionKind::Sampling(self.static_params.clone()).required_capability()
    }

    pub(super) fn render(&self, scope: &Scope) -> Result<QuestionKind, ActionError> {
        let mut params = Map::new();
        let messages = self.messages.iter().filter_map(|message| render_message(message, scope).transpose());
        let messages = messages.collect::<Result<Vec<Value>, ActionError>>()?;
        if messages.is_empty() {
            return Err(ActionError::message("every message of `sample` is empty".to_owned()));
        }
        params.insert("messages".to_owned(), Value::Array(messages));
        let system = self.system_prompt.as_ref().map(|system| system.render(scope)).transpose()?;
        if let Some(system) = system.filter(|system| !system.0.trim().is_empty()) {
            params.insert("systemPrompt".to_owned(), system.0.into());
        }
        params.extend(self.static_params.clone());
        self.numbers.render_into(&mut params, scope)?;
        Ok(QuestionKind::Sampling(params))
    }
}

/// Checks a `CreateMessageResult`.
pub(super) fn check_answer(answer: &Value) -> AnswerVerdict {
    let Some(content) = answer.get("content") else { return AnswerVerdict::Invalid("missing `content`".to_owned()) };
    let blocks: Vec<&Value> = content.as_array().map_or_else(|| vec![content], |blocks| blocks.iter().collect());
    if !blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string)) {
        return AnswerVerdict::Invalid("invalid `content`, expected content blocks".to_owned());
    }
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    AnswerVerdict::Accepted(json!({
        "text": texts.join("\n"),
        "content": content,
        "model": answer.get("model").and_then(Value::as_str),
        "stopReason": answer.get("stopReason").and_then(Value::as_str),
    }))
}

/// The parameters without templates; the numbers with one are added to `numbers`.
fn static_params(
    sample: &Sample,
    numbers: &mut NumberTemplates,
    compiler: &mut Compiler<'_>,
) -> Option<Map<String, Value>> {
    let mut number = |key, option: &Option<Spanned<Json>>, compiler: &mut Compiler<'_>| match option {
        Some(option) => numbers.compile(key, &Spanned::new(&option.value.0, option.location), compiler),
        None => Some(None),
    };
    let max_tokens = number(NumberKey { name: "maxTokens", kind: NumberKind::Count }, &sample.max_tokens, compiler);
    let temperature = number(NumberKey { name: "temperature", kind: NumberKind::Any }, &sample.temperature, compiler);
    let preferences = match &sample.model_preferences {
        Some(preferences) => static_preferences(preferences, numbers, compiler).map(Some),
        None => Some(None),
    };
    sample.max_tokens.as_ref()?;
    let pairs = [
        ("maxTokens", max_tokens?),
        ("modelPreferences", preferences?),
        ("includeContext", sample.include_context.clone().map(Value::from)),
        ("temperature", temperature?),
        ("stopSequences", sample.stop_sequences.clone().map(Value::from)),
        ("tools", sample.tools.clone()),
        ("toolChoice", sample.tool_choice.clone()),
        ("metadata", sample.metadata.clone()),
    ];
    Some(pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

/// The preferences for the model without priorities that are templates.
fn static_preferences(
    preferences: &Spanned<Json>,
    numbers: &mut NumberTemplates,
    compiler: &mut Compiler<'_>,
) -> Option<Value> {
    let Value::Object(mut fields) = preferences.value.0.clone() else { return Some(preferences.value.0.clone()) };
    let mut sound = true;
    for key in PRIORITIES {
        let Some(value) = fields.get(key) else { continue };
        let at = compiler.load_context.documents.value_at(preferences.location, &format!("/{key}"));
        let share = NumberKey { name: key, kind: NumberKind::Fraction };
        match numbers.compile(share, &Spanned::new(value, at), compiler) {
            Some(None) => drop(fields.shift_remove(key)),
            Some(Some(number)) => drop(fields.insert(key.to_owned(), number)),
            None => sound = false,
        }
    }
    sound.then_some(Value::Object(fields))
}

/// A message, unless it is an empty text.
fn render_message(message: &CompiledMessage, scope: &Scope) -> Result<Option<Value>, ActionError> {
    let content = match &message.content {
        SampleContent::Text(text) => match text.render(scope)?.0 {
            text if text.trim().is_empty() => return Ok(None),
            text => json!({ "type": "text", "text": text }),
        },
        SampleContent::Media { kind, source, mime_type } => {
            let (bytes, guessed) = source.render(kind, scope)?;
            let mime_type = mime_type.as_ref().map(|mime_type| mime_type.render(scope)).transpose()?.flatten();
            media_content(kind, &bytes, &mime_type.unwrap_or(guessed))?
        }
    };
    Ok(Some(json!({ "role": message.role, "content": content })))
}

/// Bytes as a model takes them.
fn media_content(kind: &str, bytes: &[u8], said: &str) -> Result<Value, ActionError> {
    let media = |kind: &str, mime_type: &str| {
        Ok(json!({ "type": kind, "data": STANDARD.encode(bytes), "mimeType": mime_type }))
    };
    match media_form(bytes, said) {
        MediaForm::Image(mime_type) => media("image", mime_type),
        MediaForm::Audio(mime_type) => media("audio", mime_type),
        MediaForm::Text(text) => Ok(json!({ "type": "text", "text": text })),
        MediaForm::Empty => Err(ActionError::message(format!("`{kind}` of `sample` is empty"))),
        MediaForm::Bytes(_) => Err(ActionError::message(format!(
            "`{kind}` of `sample` is neither a PNG, JPEG, GIF or WebP nor a sound: no model takes it"
        ))),
    }
}

fn compile_message(message: &SampleMessage, at: Location, compiler: &mut Compiler<'_>) -> Option<CompiledMessage> {
    let (role, block) = match (&message.user, &message.assistant) {
        (Some(block), None) => ("user", block),
        (None, Some(block)) => ("assistant", block),
        _ => {
            compiler.not_exactly_one(at, "`user`, `assistant` in a message");
            return None;
        }
    };
    let content = match &block.value {
        Block::Text(text) => {
            compiler.message_text(&Spanned::new(text.clone(), block.location)).map(SampleContent::Text)
        }
        Block::Keys(keys) => compile_content(keys, block.location, compiler),
    };
    content.map(|content| CompiledMessage { role, content })
}

/// Compiles content, which is text, an image or audio.
fn compile_content(keys: &BlockBody, at: Location, compiler: &mut Compiler<'_>) -> Option<SampleContent> {
    let bare = keys.annotations.is_none() && keys.when.is_none() && keys.each.is_none() && keys.meta.is_none();
    match (&keys.text, &keys.image, &keys.audio) {
        (Some(text), None, None) if bare => {
            let text = compiler.resolve_text(text)?;
            compiler.message_text(&text).map(SampleContent::Text)
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
    let source = match &media.value {
        Media::Path(path) => {
            let source = MediaBytes::file(&Spanned::new(path.clone(), media.location), compiler);
            let mime_type = MimeType::compile(keys.mime_type.as_ref(), compiler)?;
            return Some(SampleContent::Media { kind, source: Box::new(source?), mime_type });
        }
        Media::Source(source) => source,
    };
    let mime_type = MimeType::compile(source.mime_type.as_ref().or(keys.mime_type.as_ref()), compiler);
    let source = match (&source.file, &source.base64, &source.text) {
        (Some(path), None, None) => MediaBytes::file(path, compiler),
        (None, Some(base64), None) => compiler.template(base64, Exposure::Client).map(MediaBytes::Base64),
        (None, None, Some(text)) => compiler.template(text, Exposure::Client).map(MediaBytes::Text),
        _ => {
            compiler.not_exactly_one(media.location, &format!("`file`, `base64`, `text` in `{kind}`"));
            None
        }
    };
    Some(SampleContent::Media { kind, source: Box::new(source?), mime_type: mime_type? })
}

impl MediaBytes {
    fn file(path: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<MediaBytes> {
        let path = compiler.resolve_file(path, path.location)?;
        Some(MediaBytes::File(compiler.pack.folder.clone(), path))
    }

    /// The bytes, and a guess of their MIME type.
    fn render(&self, kind: &str, scope: &Scope) -> Result<(Vec<u8>, String), ActionError> {
        let usual = if kind == "image" { "image/png" } else { "audio/wav" }.to_owned();
        Ok(match self {
            // What the slot renders to is base64.
            MediaBytes::Base64(template) => (STANDARD.decode(template.render(scope)?.0).unwrap_or_default(), usual),
            MediaBytes::Text(template) => (template.render(scope)?.0.into_bytes(), usual),
            MediaBytes::File(folder, path) => {
                let bytes =
                    folder.read(path, MAX_FILE_BYTES).map_err(|error| ActionError::message(error.to_string()))?;
                let guessed = mime_of(&path.to_string_lossy(), &bytes).to_owned();
                (bytes, guessed)
            }
        })
    }
}
