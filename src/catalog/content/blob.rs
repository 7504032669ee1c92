//! Bytes of blocks and resources: of a file, of base64, or of a text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::catalog::content::pack_file::PackFile;
use crate::catalog::result::refusal::Refusal;
use crate::compile::{Compiler, Exposure};
use crate::template::{Base64Slot, Base64Text, RenderError, Scope, Template, TextSlot};
use crate::value_types::{Blob, BlobSource};
use crate::yaml::{Location, Spanned};

/// The source of bytes.
pub(in crate::catalog) enum ByteSource {
    File(PackFile),
    Blob(CompiledBlob),
}

/// Bytes that are written in place, which a call sends as base64.
pub(in crate::catalog) enum CompiledBlob {
    Fixed(Base64Text),
    /// Base64, and the key that it is the value of.
    Base64(Template<Base64Slot>, &'static str),
    /// A text, whose bytes they are.
    Text(Template<TextSlot>),
}

impl ByteSource {
    /// Compiles `blob`.
    pub(in crate::catalog) fn compile(blob: &Spanned<Blob>, compiler: &mut Compiler<'_>) -> Option<ByteSource> {
        match &blob.value {
            Blob::Base64(text) => CompiledBlob::compile(&Spanned::new(text.clone(), blob.location), "blob", compiler)
                .map(ByteSource::Blob),
            Blob::Source(source) => ByteSource::from_source(source, "blob", blob.location, compiler),
        }
    }

    /// Compiles the source of bytes that is the value of a key.
    pub(in crate::catalog) fn from_source(
        source: &BlobSource,
        key: &'static str,
        at: Location,
        compiler: &mut Compiler<'_>,
    ) -> Option<ByteSource> {
        match (&source.file, &source.base64, &source.text) {
            (Some(file), None, None) => PackFile::compile(file, compiler).map(ByteSource::File),
            (None, Some(base64), None) => CompiledBlob::compile(base64, key, compiler).map(ByteSource::Blob),
            (None, None, Some(text)) => {
                compiler.template(text, Exposure::Client).map(|text| ByteSource::Blob(CompiledBlob::Text(text)))
            }
            _ => {
                compiler.not_exactly_one(at, "`file`, `base64`, `text`");
                None
            }
        }
    }
}

impl CompiledBlob {
    fn compile(text: &Spanned<String>, key: &'static str, compiler: &mut Compiler<'_>) -> Option<CompiledBlob> {
        let template: Template<Base64Slot> = compiler.template(text, Exposure::Client)?;
        let fixed = template.literal().and_then(Base64Text::parse);
        Some(fixed.map_or_else(|| CompiledBlob::Base64(template, key), CompiledBlob::Fixed))
    }

    /// The bytes, if they are known when the manifest is loaded.
    pub(in crate::catalog) fn fixed_bytes(&self) -> Option<Vec<u8>> {
        match self {
            CompiledBlob::Fixed(fixed) => STANDARD.decode(&fixed.0).ok(),
            _ => None,
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// As [`CompiledBlob::render`].
    pub(in crate::catalog) fn render_bytes(&self, scope: &Scope) -> Result<Vec<u8>, Refusal> {
        let base64 = self.render(scope)?;
        scope.budget().hold(base64.len() / 4 * 3)?;
        // It was encoded here.
        Ok(STANDARD.decode(base64).unwrap_or_default())
    }

    /// The bytes as base64.
    ///
    /// # Errors
    /// A template fails, or gives what is not base64.
    pub(in crate::catalog) fn render(&self, scope: &Scope) -> Result<String, Refusal> {
        match self {
            CompiledBlob::Fixed(fixed) => Ok(fixed.0.clone()),
            CompiledBlob::Base64(template, key) => {
                let in_key = |error| {
                    let of_value = matches!(error, RenderError::Refused { .. });
                    let mut refusal = Refusal::from(error);
                    if of_value {
                        refusal.message = format!("invalid `{key}`: {}", refusal.message);
                    }
                    refusal
                };
                Ok(template.render(scope).map_err(in_key)?.0)
            }
            CompiledBlob::Text(template) => {
                let text = template.render(scope)?.0;
                scope.budget().hold(text.len() / 3 * 4)?;
                Ok(STANDARD.encode(text))
            }
        }
    }
}
