//! `multipart`: the parts of a body, which are texts, files of the pack, and values sent as files.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::action::ActionError;
use crate::action::sibling_keys::check_exactly_one;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::files::{Folder, is_mime_type, mime_by_name};
use crate::template::{QuerySlot, Scope, Template, TextSlot};
use crate::value_types::NamedMap;
use crate::world::{BodyPart, PartContent, RequestBody};
use crate::yaml::{Location, Spanned};

use super::send::is_absent;
use super::spec::{BodyBytes, FilePart, MultipartPart};

/// The compiled parts of a body.
pub(super) struct Multipart {
    folder: Folder,
    parts: Vec<(String, PartTemplate)>,
}

enum PartTemplate {
    Text(Template<QuerySlot>),
    File { contents: FilePartSource, filename: Option<Template<TextSlot>>, mime_type: Option<String> },
}

/// Where the contents of a file come from.
pub(super) enum FilePartSource {
    File(PathBuf),
    Text(Template<TextSlot>),
    Base64(Template<TextSlot>),
}

impl Multipart {
    /// Compiles `multipart`.
    pub(super) fn compile(parts: &Spanned<NamedMap<MultipartPart>>, compiler: &mut Compiler<'_>) -> Option<Multipart> {
        let parts: Vec<_> = parts
            .iter()
            .map(|(name, part)| Some((name.value.clone(), PartTemplate::compile(part, name.location, compiler)?)))
            .collect();
        let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Multipart { folder: compiler.pack.folder.clone(), parts })
    }

    /// The paths that its templates read.
    pub(super) fn read_paths(&self) -> Vec<Vec<String>> {
        let reads = self.parts.iter().flat_map(|(_, part)| match part {
            PartTemplate::Text(text) => text.read_paths().to_vec(),
            PartTemplate::File { contents, filename, .. } => {
                let templates = [contents.template(), filename.as_ref()];
                templates.into_iter().flatten().flat_map(Template::read_paths).cloned().collect()
            }
        });
        reads.collect()
    }

    /// The body. A text of which every value is absent is left out; a text that is exactly a list is a part for each item.
    pub(super) fn render(&self, scope: &Scope) -> Result<RequestBody, ActionError> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for (name, part) in &self.parts {
            parts.extend(part.render(name, scope, &self.folder)?);
        }
        Ok(RequestBody::Multipart(parts))
    }
}

impl PartTemplate {
    fn compile(part: &MultipartPart, at: Location, compiler: &mut Compiler<'_>) -> Option<PartTemplate> {
        match part {
            MultipartPart::Text(text) => compiler.template(&text.to_text(), Exposure::Private).map(PartTemplate::Text),
            MultipartPart::File(part) => PartTemplate::compile_file(part, at, compiler),
        }
    }

    fn compile_file(part: &FilePart, at: Location, compiler: &mut Compiler<'_>) -> Option<PartTemplate> {
        let contents = FilePartSource::compile(part, at, compiler)?;
        if let Some(mime_type) = part.mime_type.as_ref().filter(|mime_type| !is_mime_type(mime_type)) {
            compiler
                .error(Code::BadValue, mime_type.location, format!("invalid MIME type `{}`", mime_type.value))
                .help("use two parts, such as `text/csv` or `image/png`");
        }
        let filename = match &part.filename {
            Some(filename) => Some(compiler.template(filename, Exposure::Private)?),
            None => None,
        };
        let guessed = || part.file.as_ref().and_then(|file| mime_by_name(file)).map(str::to_owned);
        let mime_type = part.mime_type.as_ref().map(|mime_type| mime_type.value.clone()).or_else(guessed);
        Some(PartTemplate::File { contents, filename, mime_type })
    }

    fn render(&self, name: &str, scope: &Scope, folder: &Folder) -> Result<Vec<BodyPart>, ActionError> {
        match self {
            PartTemplate::Text(text) if is_absent(text, scope) => Ok(Vec::new()),
            PartTemplate::Text(text) => {
                let contents = text.render(scope)?.0.into_iter().map(|text| PartContent::Bytes(text.into_bytes()));
                let name = name.to_owned();
                let part = |content| BodyPart { name: name.clone(), filename: None, mime_type: None, content };
                Ok(contents.map(part).collect())
            }
            PartTemplate::File { contents, .. } if contents.template().is_some_and(|text| is_absent(text, scope)) => {
                Ok(Vec::new())
            }
            PartTemplate::File { contents, filename, mime_type } => {
                let filename = match filename {
                    Some(filename) => filename.render(scope)?.0,
                    None => contents.file_name().unwrap_or_else(|| name.to_owned()),
                };
                let guessed = || mime_by_name(&filename).unwrap_or(contents.default_mime_type()).to_owned();
                let mime_type = mime_type.clone().unwrap_or_else(guessed);
                let content = contents.render(&format!("the part `{name}` of `multipart`"), scope, folder)?;
                let part =
                    BodyPart { name: name.to_owned(), filename: Some(filename), mime_type: Some(mime_type), content };
                Ok(vec![part])
            }
        }
    }
}

impl FilePartSource {
    fn compile(part: &FilePart, at: Location, compiler: &mut Compiler<'_>) -> Option<FilePartSource> {
        let keys = [("file", part.file.is_some()), ("text", part.text.is_some()), ("base64", part.base64.is_some())];
        check_exactly_one("multipart", at, &keys, compiler)?;
        if let Some(file) = &part.file {
            return compiler.resolve_file(file, file.location).map(FilePartSource::File);
        }
        if let Some(text) = &part.text {
            return compiler.template(text, Exposure::Private).map(FilePartSource::Text);
        }
        compiler.template(part.base64.as_ref()?, Exposure::Private).map(FilePartSource::Base64)
    }

    /// The bytes of `body`.
    pub(super) fn compile_body(body: &BodyBytes, at: Location, compiler: &mut Compiler<'_>) -> Option<FilePartSource> {
        let keys = [("file", body.file.is_some()), ("base64", body.base64.is_some())];
        check_exactly_one("body", at, &keys, compiler)?;
        match &body.file {
            Some(file) => compiler.resolve_file(file, file.location).map(FilePartSource::File),
            None => compiler.template(body.base64.as_ref()?, Exposure::Private).map(FilePartSource::Base64),
        }
    }

    pub(super) fn template(&self) -> Option<&Template<TextSlot>> {
        match self {
            FilePartSource::File(_) => None,
            FilePartSource::Text(text) | FilePartSource::Base64(text) => Some(text),
        }
    }

    /// The name of the file, if it is one.
    pub(super) fn file_name(&self) -> Option<String> {
        match self {
            FilePartSource::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            FilePartSource::Text(_) | FilePartSource::Base64(_) => None,
        }
    }

    pub(super) fn default_mime_type(&self) -> &'static str {
        match self {
            FilePartSource::Text(_) => "text/plain; charset=utf-8",
            FilePartSource::File(_) | FilePartSource::Base64(_) => "application/octet-stream",
        }
    }

    /// The bytes, or the file; `label` names them in errors.
    pub(super) fn render(&self, label: &str, scope: &Scope, folder: &Folder) -> Result<PartContent, ActionError> {
        Ok(match self {
            FilePartSource::File(path) => PartContent::File { folder: folder.clone(), path: path.clone() },
            FilePartSource::Text(text) => PartContent::Bytes(text.render(scope)?.0.into_bytes()),
            FilePartSource::Base64(text) => {
                let text = text.render(scope)?.0;
                scope.budget().hold(text.len())?;
                let invalid = |_| ActionError::message(format!("{label} is not base64"));
                PartContent::Bytes(STANDARD.decode(text.trim()).map_err(invalid)?)
            }
        })
    }
}
