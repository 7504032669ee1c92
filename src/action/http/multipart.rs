//! `multipart`: the parts of a body, which are texts or files of the pack.

use std::path::PathBuf;

use crate::action::ActionError;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::files::{Folder, is_mime_type, mime_by_name};
use crate::notation::NamedMap;
use crate::template::{QueryValue, Scope, Template, Text};
use crate::world::{BodyPart, PartContent, RequestBody};
use crate::yaml::{Location, Spanned};

use super::send::is_absent;
use super::spec::{FilePart, Part};

/// The compiled parts of a body.
pub(super) struct Multipart {
    folder: Folder,
    parts: Vec<(String, PartTemplate)>,
}

enum PartTemplate {
    Text(Template<QueryValue>),
    File { path: PathBuf, filename: Option<Template<Text>>, mime_type: String },
}

impl Multipart {
    /// Compiles `multipart`.
    pub(super) fn compile(written: &Spanned<NamedMap<Part>>, compiler: &mut Compiler<'_>) -> Option<Multipart> {
        let parts: Vec<_> = written
            .iter()
            .map(|(name, part)| Some((name.value.clone(), PartTemplate::compile(part, name.location, compiler)?)))
            .collect();
        let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Multipart { folder: compiler.pack.folder.clone(), parts })
    }

    /// The paths that its templates read.
    pub(super) fn reads(&self) -> Vec<Vec<String>> {
        let reads = self.parts.iter().filter_map(|(_, part)| match part {
            PartTemplate::Text(text) => Some(text.read_paths()),
            PartTemplate::File { filename, .. } => filename.as_ref().map(Template::read_paths),
        });
        reads.flatten().cloned().collect()
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
    fn compile(part: &Part, at: Location, compiler: &mut Compiler<'_>) -> Option<PartTemplate> {
        match part {
            Part::Text(text) => compiler.template(&text.to_text(), Exposure::Private).map(PartTemplate::Text),
            Part::File(part) => PartTemplate::compile_file(part, at, compiler),
        }
    }

    fn compile_file(part: &FilePart, at: Location, compiler: &mut Compiler<'_>) -> Option<PartTemplate> {
        let Some(file) = &part.file else {
            compiler.error(Code::MissingKey, at, "missing key `file` in a part of `multipart`");
            return None;
        };
        if let Some(written) = part.mime_type.as_ref().filter(|written| !is_mime_type(written)) {
            compiler
                .error(Code::BadValue, written.location, format!("invalid MIME type `{}`", written.value))
                .help("use two parts, such as `text/csv` or `image/png`");
        }
        let filename = match &part.filename {
            Some(filename) => Some(compiler.template(filename, Exposure::Private)?),
            None => None,
        };
        let guessed = || mime_by_name(file).unwrap_or("application/octet-stream").to_owned();
        Some(PartTemplate::File {
            path: compiler.resolve_file(file, file.location)?,
            filename,
            mime_type: part.mime_type.as_ref().map_or_else(guessed, |written| written.value.clone()),
        })
    }

    fn render(&self, name: &str, scope: &Scope, folder: &Folder) -> Result<Vec<BodyPart>, ActionError> {
        match self {
            PartTemplate::Text(text) if is_absent(text, scope) => Ok(Vec::new()),
            PartTemplate::Text(text) => {
                Ok(text.render(scope)?.0.into_iter().map(|text| text_part(name, text)).collect())
            }
            PartTemplate::File { path, filename, mime_type } => {
                let own = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let filename = match filename {
                    Some(filename) => Some(filename.render(scope)?.0),
                    None => own,
                };
                let content = PartContent::File { folder: folder.clone(), path: path.clone() };
                Ok(vec![BodyPart { name: name.to_owned(), filename, mime_type: Some(mime_type.clone()), content }])
            }
        }
    }
}

fn text_part(name: &str, text: String) -> BodyPart {
    BodyPart { name: name.to_owned(), filename: None, mime_type: None, content: PartContent::Bytes(text.into_bytes()) }
}
