//! `sample`: a question to the client's model.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::Verdict;
use super::spec::{Sample, SampleMessage};
use crate::action::Failure;
use crate::action::client::{Asks, Need};
use crate::compile::{Compiler, Exposure, MAX_FILE};
use crate::diagnostic::Code;
use crate::files::{Folder, mime_of};
use crate::notation::{Block, BlockBody, Media};
use crate::template::{Scope, Shape, Template, Text};
use crate::yaml::{At, Spanned};

/// A question to the model, ready to be put.
pub(super) struct Sampled {
    messages: Vec<(&'static str, Part)>,
    system_prompt: Option<Template<Text>>,
    /// The parameters that hold no templates.
    fixed: Map<String, Value>,
}

/// What one message says.
enum Part {
    Text(Template<Text>),
    File { kind: &'static str, folder: Folder, path: PathBuf, mime_type: Option<String> },
    Base64 { kind: &'static str, data: Template<Text>, mime_type: String },
}

impl Sampled {
    pub(super) fn compile(sample: &Spanned<Sample>, compiler: &mut Compiler<'_>) -> Option<Sampled> {
        let system_prompt = compiler.optional(sample.system_prompt.as_ref(), Exposure::Client);
        if sample.prompt.is_some() == sample.messages.is_some() {
            compiler.error(Code::Conflict, sample.at, "`sample` takes exactly one of `prompt`, `messages`");
        }
        if sample.max_tokens.is_none() {
            compiler.error(Code::MissingKey, sample.at, "`sample` needs `maxTokens`");
        }
        if sample.messages.as_ref().is_some_and(|messages| messages.is_empty()) {
            compiler.error(Code::MissingKey, sample.at, "`sample` needs a message");
        }
        let prompt: Option<Template<Text>> = compiler.optional(sample.prompt.as_ref(), Exposure::Client);
        let mut messages: Vec<Option<(&str, Part)>> =
            prompt.into_iter().map(|prompt| Some(("user", Part::Text(prompt)))).collect();
        for message in sample.messages.iter().flat_map(|messages| &messages.value) {
            messages.push(message_of(message, sample.at, compiler));
        }
        let messages = messages.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Sampled { messages, system_prompt, fixed: fixed(sample)? })
    }

    pub(super) fn need(&self) -> Need {
        Asks::Sample(self.fixed.clone()).need()
    }

    pub(super) fn render(&self, scope: &Scope) -> Result<Asks, Failure> {
        let mut params = Map::new();
        let messages: Result<Vec<Value>, Failure> = self.messages.iter().map(|message| said(message, scope)).collect();
        params.insert("messages".to_owned(), Value::Array(messages?));
        if let Some(system) = &self.system_prompt {
            params.insert("systemPrompt".to_owned(), system.render(scope)?.0.into());
        }
        params.extend(self.fixed.clone());
        Ok(Asks::Sample(params))
    }
}

/// What templates may expect of the answer.
pub(super) fn shape() -> Shape {
    Shape::object([("text", Shape::Text), ("content", Shape::Any), ("model", Shape::Text), ("stopReason", Shape::Text)])
}

/// What is made of a `CreateMessageResult`.
pub(super) fn judge(answer: &Value) -> Verdict {
    let Some(content) = answer.get("content") else { return Verdict::Misfit("it has no `content`".to_owned()) };
    let blocks: Vec<&Value> = content.as_array().map_or_else(|| vec![content], |blocks| blocks.iter().collect());
    if !blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string)) {
        return Verdict::Misfit("its `content` is no content".to_owned());
    }
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    Verdict::Fits(json!({
        "text": texts.join("\n"),
        "content": content,
        "model": answer.get("model").and_then(Value::as_str),
        "stopReason": answer.get("stopReason").and_then(Value::as_str),
    }))
}

fn fixed(sample: &Sample) -> Option<Map<String, Value>> {
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

fn said((role, part): &(&'static str, Part), scope: &Scope) -> Result<Value, Failure> {
    let content = match part {
        Part::Text(text) => json!({ "type": "text", "text": text.render(scope)?.0 }),
        Part::Base64 { kind, data, mime_type } => {
            json!({ "type": kind, "data": data.render(scope)?.0.trim(), "mimeType": mime_type })
        }
        Part::File { kind, folder, path, mime_type } => {
            let bytes = folder.read(path, MAX_FILE).map_err(|error| Failure::words(error.to_string()))?;
            let guessed = mime_of(&path.to_string_lossy(), &bytes);
            let mime_type = mime_type.as_deref().unwrap_or(guessed);
            json!({ "type": kind, "data": STANDARD.encode(bytes), "mimeType": mime_type })
        }
    };
    Ok(json!({ "role": role, "content": content }))
}

fn message_of(message: &SampleMessage, at: At, compiler: &mut Compiler<'_>) -> Option<(&'static str, Part)> {
    let (role, block) = match (&message.user, &message.assistant) {
        (Some(block), None) => ("user", block),
        (None, Some(block)) => ("assistant", block),
        _ => {
            compiler.error(Code::Conflict, at, "a message is exactly one of `user`, `assistant`");
            return None;
        }
    };
    let part = match &block.value {
        Block::Text(text) => compiler.template(&Spanned::new(text.clone(), block.at), Exposure::Client).map(Part::Text),
        Block::Keys(keys) => part_of(keys, block.at, compiler),
    };
    part.map(|part| (role, part))
}

/// A model is asked with text, pictures and sound.
fn part_of(keys: &BlockBody, at: At, compiler: &mut Compiler<'_>) -> Option<Part> {
    let bare = keys.annotations.is_none() && keys.when.is_none() && keys.each.is_none() && keys.meta.is_none();
    match (&keys.text, &keys.image, &keys.audio) {
        (Some(text), None, None) if bare => {
            let text = compiler.text(text)?;
            compiler.template(&text, Exposure::Client).map(Part::Text)
        }
        (None, Some(image), None) if bare => media(("image", image), keys, compiler),
        (None, None, Some(audio)) if bare => media(("audio", audio), keys, compiler),
        _ => {
            compiler
                .error(Code::Conflict, at, "a message to a model is a text, or one of `text`, `image`, `audio` alone")
                .help("read a resource in an earlier step, and put its text into this one");
            None
        }
    }
}

fn media(
    (kind, media): (&'static str, &Spanned<Media>),
    keys: &BlockBody,
    compiler: &mut Compiler<'_>,
) -> Option<Part> {
    let mime_type = keys.mime_type.as_ref().map(|mime| mime.value.clone());
    let file = |path: &Spanned<String>, mime_type, compiler: &mut Compiler<'_>| {
        let path = compiler.file(path, path.at)?;
        Some(Part::File { kind, folder: compiler.pack.folder.clone(), path, mime_type })
    };
    let source = match &media.value {
        Media::Path(path) => return file(&Spanned::new(path.clone(), media.at), mime_type, compiler),
        Media::Source(source) => source,
    };
    let mime_type = source.mime_type.as_ref().map(|mime| mime.value.clone()).or(mime_type);
    match (&source.file, &source.base64) {
        (Some(path), None) => file(path, mime_type, compiler),
        (None, Some(base64)) => {
            let data = compiler.template(base64, Exposure::Client)?;
            let otherwise = if kind == "image" { "image/png" } else { "audio/wav" };
            Some(Part::Base64 { kind, data, mime_type: mime_type.unwrap_or_else(|| otherwise.to_owned()) })
        }
        _ => {
            compiler.error(Code::Conflict, media.at, "this takes exactly one of `file`, `base64`");
            None
        }
    }
}
