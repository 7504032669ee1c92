//! Content blocks: compiled at load, rendered at each call.

use crate::catalog::content::blob::ByteSource;
use crate::catalog::content::pack_file::{self, PackFile};
use crate::catalog::entry::entry_references::ReferenceCollector;
use crate::catalog::listing::icons::{check_icons, listed_icons};
use crate::catalog::listing::{Annotations, ResourceInfo, ResourceListing};
use crate::catalog::none_if_invalid;
use crate::catalog::result::call_result::{
    BlockNotes, EmbeddedBlock, ResultBlock, ResultContents, TextBlock, TextOrBlob,
};
use crate::catalog::result::media_block::{contents_type, media_block};
use crate::catalog::result::refusal::Refusal;
use crate::compile::{Compiler, Exposure, MAX_FILE_BYTES, MimeType, check_mime_type};
use crate::diagnostic::Code;
use crate::files::{MediaForm, media_form, mime_of};
use crate::template::{ConditionSlot, RenderError, Scope, Shape, Template, TextSlot, UriSlot};
use crate::value_types::{self, EmbeddedBody, LinkBody, ResourceBody, ResourceLinkBody};
use crate::yaml::{Location, Spanned};

/// How much of an image is read to know its type.
const SIGNATURE_BYTES: u64 = 16;

/// A compiled block of content.
pub(in crate::catalog) struct CompiledBlock {
    kind: BlockKind,
    notes: BlockNotes,
    when: Option<Template<ConditionSlot>>,
    each: Option<Vec<String>>,
}

enum BlockKind {
    Text(Template<TextSlot>),
    Image(CompiledMedia),
    Audio(CompiledMedia),
    /// A resource of this server, read at the time of the call.
    ServerResource(Template<UriSlot>),
    EmbeddedResource(Box<CompiledEmbedded>),
    ResourceLink(Box<CompiledLink>),
}

struct CompiledMedia {
    source: ByteSource,
    mime_type: Option<MimeType>,
}

struct CompiledEmbedded {
    uri: Template<UriSlot>,
    mime_type: Option<MimeType>,
    body: CompiledEmbeddedBody,
}

enum CompiledEmbeddedBody {
    Text(Template<TextSlot>),
    Bytes(ByteSource),
}

struct CompiledLink {
    uri: Template<UriSlot>,
    name: Option<Template<TextSlot>>,
    title: Option<Template<TextSlot>>,
    description: Option<Template<TextSlot>>,
    mime_type: Option<MimeType>,
    body: LinkBody,
}

/// A block, rendered except for lookups in the catalog.
pub(in crate::catalog) enum RenderedBlock {
    Block(ResultBlock),
    /// A resource of this server that has yet to be read.
    ServerResource {
        uri: String,
        notes: BlockNotes,
    },
    /// A link whose missing description the catalog may know.
    Link(Box<ResourceListing>),
}

impl CompiledBlock {
    /// Compiles a block.
    pub(in crate::catalog) fn compile(
        block: &Spanned<value_types::Block>,
        compiler: &mut Compiler<'_>,
        references: &mut ReferenceCollector,
    ) -> Option<CompiledBlock> {
        let keys = match &block.value {
            value_types::Block::Text(text) => {
                let text = compiler.message_text(&Spanned::new(text.clone(), block.location))?;
                return Some(CompiledBlock {
                    kind: BlockKind::Text(text),
                    notes: BlockNotes::default(),
                    when: None,
                    each: None,
                });
            }
            value_types::Block::Keys(keys) => keys,
        };
        let each = keys.each.as_ref().map(|each| each_path(each, compiler));
        let names = match &each {
            Some(Some((path, item))) => {
                compiler.scope_shape.clone().with_this(item.clone(), std::slice::from_ref(path))
            }
            Some(None) => compiler.scope_shape.clone().with_this(Shape::Any, &[]),
            None => compiler.scope_shape.clone(),
        };
        let (when, kind) = compiler.with_scope_shape(names, |compiler| {
            let when = keys.when.as_ref().map(|when| compiler.template(when, Exposure::Client));
            (when, compile_kind(keys, block.location, compiler, references))
        });
        let each = none_if_invalid(each)?.map(|(path, _)| path);
        let when = none_if_invalid(when)?;
        let annotations = keys.annotations.as_ref().map(|written| listed_annotations(written, compiler));
        Some(CompiledBlock { kind: kind?, notes: BlockNotes { annotations, meta: keys.meta.clone() }, when, each })
    }

    /// The URI of the resource that it embeds or links to each time.
    pub(in crate::catalog) fn unconditional_resource_uri(&self) -> Option<&Template<UriSlot>> {
        match &self.kind {
            _ if self.when.is_some() || self.each.is_some() => None,
            BlockKind::ServerResource(uri) => Some(uri),
            BlockKind::ResourceLink(link) => Some(&link.uri),
            _ => None,
        }
    }

    /// The URI of the resource that it embeds, where it does.
    pub(in crate::catalog) fn resource_uri(&self) -> Option<&Template<UriSlot>> {
        match &self.kind {
            BlockKind::ServerResource(uri) => Some(uri),
            _ => None,
        }
    }

    /// Makes the block, or the blocks, or none.
    ///
    /// # Errors
    /// What a template refuses, and files that cannot be read.
    pub(in crate::catalog) fn render(&self, scope: &Scope, rendered: &mut Vec<RenderedBlock>) -> Result<(), Refusal> {
        let Some(each) = &self.each else { return self.render_item(scope, rendered) };
        for item in scope.read(each)?.as_array().into_iter().flatten() {
            self.render_item(&scope.clone().with_this(item.clone()), rendered)?;
        }
        Ok(())
    }

    fn render_item(&self, scope: &Scope, rendered: &mut Vec<RenderedBlock>) -> Result<(), Refusal> {
        if let Some(when) = &self.when
            && !when.render(scope)?
        {
            return Ok(());
        }
        let notes = self.notes.clone();
        let block = match &self.kind {
            BlockKind::Text(text) => ResultBlock::Text(TextBlock { text: text.render(scope)?.0, notes }),
            BlockKind::Image(media) | BlockKind::Audio(media) => {
                let usual = if matches!(self.kind, BlockKind::Image(_)) { "image/png" } else { "audio/wav" };
                let block = media.render(usual, scope, notes)?;
                rendered.extend(block.map(RenderedBlock::Block));
                return Ok(());
            }
            BlockKind::ServerResource(uri) => {
                let uri = uri.render(scope)?.0;
                rendered.push(RenderedBlock::ServerResource { uri, notes });
                return Ok(());
            }
            BlockKind::EmbeddedResource(inline) => {
                ResultBlock::Resource(EmbeddedBlock { resource: inline.render(scope)?, notes })
            }
            BlockKind::ResourceLink(link) => {
                rendered.push(RenderedBlock::Link(Box::new(link.render(scope, notes)?)));
                return Ok(());
            }
        };
        rendered.push(RenderedBlock::Block(block));
        Ok(())
    }
}

impl CompiledMedia {
    /// Its block; `None` if it has no bytes.
    fn render(
        &self,
        default_mime_type: &str,
        scope: &Scope,
        notes: BlockNotes,
    ) -> Result<Option<ResultBlock>, Refusal> {
        let (bytes, guessed) = match &self.source {
            ByteSource::Blob(blob) => (blob.render_bytes(scope)?, default_mime_type.to_owned()),
            ByteSource::File(file) => {
                let bytes = pack_file::read_bytes(file.at(), MAX_FILE_BYTES, scope.budget())?;
                let guessed = mime_of(&file.path.to_string_lossy(), &bytes).to_owned();
                (bytes, guessed)
            }
        };
        let mime_type = render_mime_type(self.mime_type.as_ref(), scope)?.unwrap_or(guessed);
        Ok(media_block(&bytes, &mime_type, notes))
    }
}

impl CompiledEmbedded {
    fn render(&self, scope: &Scope) -> Result<ResultContents, Refusal> {
        let uri = self.uri.render(scope)?.0;
        let (body, guessed) = match &self.body {
            CompiledEmbeddedBody::Text(text) => (TextOrBlob::Text(text.render(scope)?.0), "text/plain".to_owned()),
            CompiledEmbeddedBody::Bytes(ByteSource::Blob(blob)) => {
                (TextOrBlob::Blob(blob.render(scope)?), "application/octet-stream".to_owned())
            }
            CompiledEmbeddedBody::Bytes(ByteSource::File(file)) => {
                pack_file::read_body(file.at(), MAX_FILE_BYTES, &uri, scope.budget())?
            }
        };
        let said = render_mime_type(self.mime_type.as_ref(), scope)?.unwrap_or(guessed);
        Ok(ResultContents { uri, mime_type: Some(contents_type(&body, said)), body, meta: None })
    }
}

impl CompiledLink {
    fn render(&self, scope: &Scope, notes: BlockNotes) -> Result<ResourceListing, Refusal> {
        let text = |template: &Option<Template<TextSlot>>| {
            template.as_ref().map(|template| template.render(scope)).transpose()
        };
        let info = ResourceInfo {
            name: text(&self.name)?.map(|text| text.0).unwrap_or_default(),
            title: text(&self.title)?.map(|text| text.0),
            description: text(&self.description)?.map(|text| text.0),
            mime_type: render_mime_type(self.mime_type.as_ref(), scope)?,
            icons: listed_icons(self.body.icons.as_deref()),
            annotations: notes.annotations,
            meta: notes.meta,
        };
        Ok(ResourceListing { uri: self.uri.render(scope)?.0, info, size: self.body.size })
    }
}

fn compile_kind(
    keys: &value_types::BlockBody,
    at: Location,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<BlockKind> {
    check_one_kind(keys, at, compiler)?;
    if let Some(text) = &keys.text {
        let text = compiler.resolve_text(text)?;
        return compiler.message_text(&text).map(BlockKind::Text);
    }
    if let Some(file) = &keys.file {
        let text = compiler.read_text_file(file)?;
        return compiler.message_text(&text).map(BlockKind::Text);
    }
    if let Some(image) = &keys.image {
        let media = compile_media(image, keys.mime_type.as_ref(), compiler)?;
        warn_unless_image(&media, image.location, compiler);
        return Some(BlockKind::Image(media));
    }
    if let Some(audio) = &keys.audio {
        return compile_media(audio, keys.mime_type.as_ref(), compiler).map(BlockKind::Audio);
    }
    if let Some(resource) = &keys.resource {
        return match &resource.value {
            ResourceBody::Uri(uri) => {
                compile_server_uri(&Spanned::new(uri.clone(), resource.location), compiler, references)
                    .map(BlockKind::ServerResource)
            }
            ResourceBody::Inline(inline) => compile_embedded(inline, resource.location, compiler),
        };
    }
    compile_link(keys.resource_link.as_ref()?, compiler, references)
}

fn check_one_kind(keys: &value_types::BlockBody, at: Location, compiler: &mut Compiler<'_>) -> Option<()> {
    let kinds = [
        keys.text.is_some(),
        keys.file.is_some(),
        keys.image.is_some(),
        keys.audio.is_some(),
        keys.resource.is_some(),
        keys.resource_link.is_some(),
    ];
    if kinds.into_iter().filter(|there| *there).count() == 1 {
        return Some(());
    }
    compiler
        .not_exactly_one(at, "`text`, `file`, `image`, `audio`, `resource`, `resourceLink`")
        .help("write one block for each");
    None
}

fn compile_media(
    media: &Spanned<value_types::Media>,
    mime_type: Option<&Spanned<String>>,
    compiler: &mut Compiler<'_>,
) -> Option<CompiledMedia> {
    let source = match &media.value {
        value_types::Media::Path(path) => {
            let mime_type = compile_mime_type(mime_type, compiler);
            let file = PackFile::compile(&Spanned::new(path.clone(), media.location), compiler)?;
            return Some(CompiledMedia { source: ByteSource::File(file), mime_type: mime_type? });
        }
        value_types::Media::Source(source) => source,
    };
    let mime_type = compile_mime_type(source.mime_type.as_ref().or(mime_type), compiler);
    let source = ByteSource::from_source(&source.blob(), "base64", media.location, compiler);
    Some(CompiledMedia { source: source?, mime_type: mime_type? })
}

/// Warns of an image that no client takes as one, where its bytes are known.
fn warn_unless_image(media: &CompiledMedia, at: Location, compiler: &mut Compiler<'_>) {
    let (head, what) = match &media.source {
        ByteSource::File(file) => {
            let opened = file.folder.open_file(&file.path).and_then(|file| file.read_head(SIGNATURE_BYTES));
            (opened.ok(), format!("`{}`", file.path.display()))
        }
        ByteSource::Blob(blob) => (blob.fixed_bytes(), "this".to_owned()),
    };
    let Some(head) = head.filter(|head| !matches!(media_form(head, ""), MediaForm::Image(_))) else { return };
    let message = if head.is_empty() { "is empty: it is left out" } else { "is no PNG, JPEG, GIF or WebP" };
    compiler
        .warning(Code::ClientCompatibility, at, format!("{what} {message}"))
        .help("convert it: clients take no other images, so a text is sent as text, and other bytes as a resource");
}

/// Compiles a MIME type, and warns of an invalid one.
fn compile_mime_type(mime_type: Option<&Spanned<String>>, compiler: &mut Compiler<'_>) -> Option<Option<MimeType>> {
    check_mime_type(mime_type.filter(|mime_type| !MimeType::is_template(mime_type)), compiler);
    MimeType::compile(mime_type, compiler)
}

fn render_mime_type(mime_type: Option<&MimeType>, scope: &Scope) -> Result<Option<String>, RenderError> {
    Ok(mime_type.map(|mime_type| mime_type.render(scope)).transpose()?.flatten())
}

/// Base64 may be written in lines.
pub(in crate::catalog) fn strip_whitespace(text: &str) -> String {
    text.split_whitespace().collect()
}

/// A URI of this server; an entry must answer it, as far as its text is known at load.
fn compile_server_uri(
    uri: &Spanned<String>,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<Template<UriSlot>> {
    let template = compiler.template::<UriSlot>(uri, Exposure::Client)?;
    references.uris.push(uri.clone());
    Some(template)
}

fn compile_embedded(inline: &EmbeddedBody, at: Location, compiler: &mut Compiler<'_>) -> Option<BlockKind> {
    let Some(uri) = &inline.uri else {
        compiler.error(Code::MissingKey, at, "missing key `uri` in `resource`");
        return None;
    };
    let mime_type = compile_mime_type(inline.mime_type.as_ref(), compiler);
    let uri = compiler.template(uri, Exposure::Client);
    let body = match (&inline.text, &inline.blob, &inline.file) {
        (Some(text), None, None) => compiler.template(text, Exposure::Client).map(CompiledEmbeddedBody::Text),
        (None, Some(blob), None) => ByteSource::compile(blob, compiler).map(CompiledEmbeddedBody::Bytes),
        (None, None, Some(file)) => {
            PackFile::compile(file, compiler).map(|file| CompiledEmbeddedBody::Bytes(ByteSource::File(file)))
        }
        _ => {
            compiler.not_exactly_one(at, "`text`, `blob`, `file`");
            None
        }
    };
    Some(BlockKind::EmbeddedResource(Box::new(CompiledEmbedded { uri: uri?, mime_type: mime_type?, body: body? })))
}

fn compile_link(
    written: &Spanned<ResourceLinkBody>,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<BlockKind> {
    let body = match &written.value {
        ResourceLinkBody::Uri(uri) => {
            LinkBody { uri: Some(Spanned::new(uri.clone(), written.location)), ..LinkBody::default() }
        }
        ResourceLinkBody::Link(link) => LinkBody::clone(link),
    };
    let Some(uri) = &body.uri else {
        compiler.error(Code::MissingKey, written.location, "missing key `uri` in `resourceLink`");
        return None;
    };
    let mime_type = compile_mime_type(body.mime_type.as_ref(), compiler);
    check_icons(body.icons.as_deref(), written.location, compiler);
    let template: Option<Template<UriSlot>> = compiler.template(uri, Exposure::Client);
    if template.is_some() {
        references.links.push(uri.clone());
    }
    let name = compiler.optional_template(body.name.as_ref(), Exposure::Client);
    let title = compiler.optional_template(body.title.as_ref(), Exposure::Client);
    let description = compiler.optional_template(body.description.as_ref(), Exposure::Client);
    let (uri, mime_type) = (template?, mime_type?);
    Some(BlockKind::ResourceLink(Box::new(CompiledLink { uri, name, title, description, mime_type, body })))
}

/// The path of a list in scope, and the shape of its items.
fn each_path(each: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<(Vec<String>, Shape)> {
    let path: Vec<String> = each.split('.').map(str::to_owned).collect();
    compiler.record_reads(std::slice::from_ref(&path));
    let head = path.first().cloned().unwrap_or_default();
    let mut shape = match compiler.scope_shape.get(&head) {
        Some(shape) => shape.clone(),
        None => {
            let known: Vec<String> = compiler.scope_shape.iter().map(str::to_owned).collect();
            compiler
                .error(Code::UnknownVariable, each.location, format!("unknown variable `{head}`"))
                .did_you_mean(&head, known.iter().map(String::as_str));
            return None;
        }
    };
    for step in path.iter().skip(1) {
        shape = match &shape {
            Shape::Object(fields) => fields.get(step).cloned().unwrap_or(Shape::Any),
            Shape::Map(value) => (**value).clone(),
            _ => Shape::Any,
        };
    }
    match shape {
        Shape::List(item) => Some((path, *item)),
        Shape::Any => Some((path, Shape::Any)),
        other => {
            compiler.error(
                Code::WrongType,
                each.location,
                format!("invalid type for `each`: `{}` is {}, expected a list", each.value, other.describe()),
            );
            None
        }
    }
}

/// Annotations as clients see them.
pub(in crate::catalog) fn listed_annotations(
    annotations: &value_types::Annotations,
    compiler: &mut Compiler<'_>,
) -> Annotations {
    if let Some(priority) = annotations.priority.as_ref().filter(|priority| !(0.0..=1.0).contains(&priority.value)) {
        let message = format!("invalid `priority` `{}`, expected a number from 0 to 1", priority.value);
        compiler.error(Code::BadValue, priority.location, message);
    }
    if let Some(modified) = &annotations.last_modified
        && modified.parse::<jiff::Timestamp>().is_err()
    {
        let message = format!("invalid `lastModified` `{}`, expected a date and time", modified.value);
        compiler.error(Code::BadValue, modified.location, message).help("such as `2026-01-31T12:00:00Z`");
    }
    Annotations {
        audience: annotations.audience.clone().unwrap_or_default(),
        priority: annotations.priority.as_ref().map(|priority| priority.value),
        last_modified: annotations.last_modified.as_ref().map(|modified| modified.value.clone()),
    }
}
