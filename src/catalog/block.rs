//! Blocks of content: checked, and made anew at each call.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::compile::{Compiler, Exposure, MAX_FILE};
use crate::diagnostic::Code;
use crate::files::{Folder, mime_of};
use crate::notation::{self, EmbeddedBody, LinkBody, MediaSource, ResourceBody, ResourceLinkBody, TextOrFile};
use crate::template::{Base64, Base64Text, Condition, Scope, Shape, Template, Text, Uri};
use crate::yaml::{At, Spanned};

use super::answer::{Block, Body, Contents, Embedded, Media, Refusal, Text as TextBlock};
use super::face::{Annotations, Icon, Object, Resource};
use super::file;
use super::reference::References;
use super::told::refused;

/// A block of content that is ready to be made.
pub(super) struct BlockPlan {
    piece: Piece,
    annotations: Option<Annotations>,
    meta: Option<Object>,
    when: Option<Template<Condition>>,
    each: Option<Vec<String>>,
}

enum Piece {
    Text(Template<Text>),
    Image(Bytes),
    Audio(Bytes),
    /// A resource of this server, read at the time of the call.
    Read(Template<Uri>),
    Inline(Box<Inline>),
    Link(Box<Link>),
}

struct Bytes {
    source: Source,
    mime_type: Option<String>,
}

enum Source {
    File(Folder, PathBuf),
    Base64(BlobPlan),
}

struct Inline {
    uri: Template<Uri>,
    mime_type: Option<String>,
    body: InlineBody,
}

enum InlineBody {
    Text(Template<Text>),
    Blob(BlobPlan),
    File(Folder, PathBuf),
}

/// Bytes that are written as base64.
enum BlobPlan {
    Fixed(Base64Text),
    Template(Template<Base64>),
}

struct Link {
    uri: Template<Uri>,
    name: Option<Template<Text>>,
    title: Option<Template<Text>>,
    description: Option<Template<Text>>,
    written: LinkBody,
}

/// A block as far as it can be made without asking the catalog.
pub(super) enum Made {
    Block(Block),
    /// A resource of this server that has yet to be read.
    Read {
        uri: String,
        annotations: Option<Annotations>,
        meta: Option<Object>,
    },
    /// A link whose missing description the catalog may know.
    Link(Box<Resource>),
}

impl BlockPlan {
    /// Checks a block as it was written.
    pub(super) fn compile(
        block: &Spanned<notation::Block>,
        compiler: &mut Compiler<'_>,
        references: &mut References,
    ) -> Option<BlockPlan> {
        let keys = match &block.value {
            notation::Block::Text(text) => {
                let text = compiler.template(&Spanned::new(text.clone(), block.at), Exposure::Client)?;
                return Some(BlockPlan {
                    piece: Piece::Text(text),
                    annotations: None,
                    meta: None,
                    when: None,
                    each: None,
                });
            }
            notation::Block::Keys(keys) => keys,
        };
        let each = keys.each.as_ref().map(|each| each_path(each, compiler));
        let names = match &each {
            Some(Some((_, item))) => compiler.names.clone().with_this(item.clone()),
            Some(None) => compiler.names.clone().with_this(Shape::Any),
            None => compiler.names.clone(),
        };
        let (when, piece) = compiler.with_names(names, |compiler| {
            let when = keys.when.as_ref().map(|when| compiler.template(when, Exposure::Client));
            (when, piece(keys, block.at, compiler, references))
        });
        let each = match each {
            Some(each) => Some(each?.0),
            None => None,
        };
        let when = match when {
            Some(when) => Some(when?),
            None => None,
        };
        let annotations = keys.annotations.as_ref().map(|written| annotations(written, compiler));
        Some(BlockPlan { piece: piece?, annotations, meta: keys.meta.clone(), when, each })
    }

    /// The URI of the resource that is read for it each time.
    pub(super) fn reads(&self) -> Option<&Template<Uri>> {
        match &self.piece {
            Piece::Read(uri) if self.when.is_none() && self.each.is_none() => Some(uri),
            _ => None,
        }
    }

    /// The URI of the resource that it embeds, where it does.
    pub(super) fn embeds(&self) -> Option<&Template<Uri>> {
        match &self.piece {
            Piece::Read(uri) => Some(uri),
            _ => None,
        }
    }

    /// Makes the block, or the blocks, or none.
    ///
    /// # Errors
    /// What a template refuses, and files that cannot be read.
    pub(super) fn make(&self, scope: &Scope, made: &mut Vec<Made>) -> Result<(), Refusal> {
        let Some(each) = &self.each else { return self.make_one(scope, made) };
        let items = scope.get(each).and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            self.make_one(&scope.clone().with_this(item.clone()), made)?;
        }
        Ok(())
    }

    fn make_one(&self, scope: &Scope, made: &mut Vec<Made>) -> Result<(), Refusal> {
        if let Some(when) = &self.when
            && !when.render(scope).map_err(refused)?
        {
            return Ok(());
        }
        let (annotations, meta) = (self.annotations.clone(), self.meta.clone());
        let block = match &self.piece {
            Piece::Text(text) => {
                Block::Text(TextBlock { text: text.render(scope).map_err(refused)?.0, annotations, meta })
            }
            Piece::Image(bytes) => Block::Image(bytes.make("image/png", scope, annotations, meta)?),
            Piece::Audio(bytes) => Block::Audio(bytes.make("audio/wav", scope, annotations, meta)?),
            Piece::Read(uri) => {
                let uri = uri.render(scope).map_err(refused)?.0;
                made.push(Made::Read { uri, annotations, meta });
                return Ok(());
            }
            Piece::Inline(inline) => Block::Resource(Embedded { resource: inline.make(scope)?, annotations, meta }),
            Piece::Link(link) => {
                made.push(Made::Link(Box::new(link.make(scope, annotations, meta)?)));
                return Ok(());
            }
        };
        made.push(Made::Block(block));
        Ok(())
    }
}

impl Bytes {
    fn make(
        &self,
        otherwise: &str,
        scope: &Scope,
        annotations: Option<Annotations>,
        meta: Option<Object>,
    ) -> Result<Media, Refusal> {
        let (data, guessed) = match &self.source {
            Source::Base64(blob) => (blob.make(scope)?, otherwise.to_owned()),
            Source::File(folder, path) => {
                let bytes = file::bytes((folder, path), MAX_FILE, scope.budget())?;
                let guessed = mime_of(&path.to_string_lossy(), &bytes).to_owned();
                (STANDARD.encode(bytes), guessed)
            }
        };
        Ok(Media { data, mime_type: self.mime_type.clone().unwrap_or(guessed), annotations, meta })
    }
}

impl BlobPlan {
    fn compile(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<BlobPlan> {
        let template: Template<Base64> = compiler.template(text, Exposure::Client)?;
        let fixed = template.literal().and_then(Base64Text::read);
        Some(fixed.map_or_else(|| BlobPlan::Template(template), BlobPlan::Fixed))
    }

    fn make(&self, scope: &Scope) -> Result<String, Refusal> {
        match self {
            BlobPlan::Fixed(fixed) => Ok(fixed.0.clone()),
            BlobPlan::Template(template) => Ok(template.render(scope).map_err(refused)?.0),
        }
    }
}

impl Inline {
    fn make(&self, scope: &Scope) -> Result<Contents, Refusal> {
        let uri = self.uri.render(scope).map_err(refused)?.0;
        let (body, guessed) = match &self.body {
            InlineBody::Text(text) => (Body::Text(text.render(scope).map_err(refused)?.0), "text/plain".to_owned()),
            InlineBody::Blob(blob) => (Body::Blob(blob.make(scope)?), "application/octet-stream".to_owned()),
            InlineBody::File(folder, path) => file::body((folder, path), MAX_FILE, &uri, scope.budget())?,
        };
        Ok(Contents { uri, mime_type: Some(self.mime_type.clone().unwrap_or(guessed)), body, meta: None })
    }
}

impl Link {
    fn make(&self, scope: &Scope, annotations: Option<Annotations>, meta: Option<Object>) -> Result<Resource, Refusal> {
        let text = |template: &Option<Template<Text>>| match template {
            Some(template) => template.render(scope).map(|text| Some(text.0)).map_err(refused),
            None => Ok(None),
        };
        Ok(Resource {
            uri: self.uri.render(scope).map_err(refused)?.0,
            name: text(&self.name)?.unwrap_or_default(),
            title: text(&self.title)?,
            description: text(&self.description)?,
            mime_type: self.written.mime_type.as_ref().map(|mime| mime.value.clone()),
            size: self.written.size,
            icons: icons(self.written.icons.as_deref()),
            annotations,
            meta,
        })
    }
}

fn piece(
    keys: &notation::BlockBody,
    at: At,
    compiler: &mut Compiler<'_>,
    references: &mut References,
) -> Option<Piece> {
    check_one_kind(keys, at, compiler)?;
    if let Some(text) = &keys.text {
        let text = compiler.text(text)?;
        return compiler.template(&text, Exposure::Client).map(Piece::Text);
    }
    if let Some(file) = &keys.file {
        let text = compiler.text_file(file)?;
        return compiler.template(&text, Exposure::Client).map(Piece::Text);
    }
    check_mime_type(keys.mime_type.as_ref(), compiler);
    let mime_type = keys.mime_type.as_ref().map(|mime| mime.value.clone());
    if let Some(image) = &keys.image {
        return media(image, mime_type, compiler).map(Piece::Image);
    }
    if let Some(audio) = &keys.audio {
        return media(audio, mime_type, compiler).map(Piece::Audio);
    }
    if let Some(resource) = &keys.resource {
        return match &resource.value {
            ResourceBody::Uri(uri) => {
                own_uri(&Spanned::new(uri.clone(), resource.at), compiler, references).map(Piece::Read)
            }
            ResourceBody::Inline(inline) => embedded(inline, resource.at, compiler),
        };
    }
    link(keys.resource_link.as_ref()?, compiler, references)
}

fn check_one_kind(keys: &notation::BlockBody, at: At, compiler: &mut Compiler<'_>) -> Option<()> {
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
        .error(
            Code::Conflict,
            at,
            "a block is exactly one of `text`, `file`, `image`, `audio`, `resource`, `resourceLink`",
        )
        .help("write each as a block of its own");
    None
}

fn media(written: &Spanned<notation::Media>, mime_type: Option<String>, compiler: &mut Compiler<'_>) -> Option<Bytes> {
    match &written.value {
        notation::Media::Path(path) => media_file(&Spanned::new(path.clone(), written.at), mime_type, compiler),
        notation::Media::Source(source) => media_source(source, written.at, mime_type, compiler),
    }
}

fn media_file(path: &Spanned<String>, mime_type: Option<String>, compiler: &mut Compiler<'_>) -> Option<Bytes> {
    let file = compiler.file(path, path.at)?;
    Some(Bytes { source: Source::File(compiler.pack.folder.clone(), file), mime_type })
}

fn media_source(source: &MediaSource, at: At, mime_type: Option<String>, compiler: &mut Compiler<'_>) -> Option<Bytes> {
    check_mime_type(source.mime_type.as_ref(), compiler);
    let mime_type = source.mime_type.as_ref().map(|mime| mime.value.clone()).or(mime_type);
    match (&source.file, &source.base64) {
        (Some(file), None) => media_file(file, mime_type, compiler),
        (None, Some(base64)) => {
            BlobPlan::compile(base64, compiler).map(|blob| Bytes { source: Source::Base64(blob), mime_type })
        }
        _ => {
            compiler.error(Code::Conflict, at, "this takes exactly one of `file`, `base64`");
            None
        }
    }
}

/// Base64 may be written in lines.
pub(super) fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// A URI of this server: what it names must exist, as far as it can be told.
fn own_uri(uri: &Spanned<String>, compiler: &mut Compiler<'_>, references: &mut References) -> Option<Template<Uri>> {
    let template = compiler.template::<Uri>(uri, Exposure::Client)?;
    if template.reads().is_empty() {
        references.resource(uri.clone());
    }
    Some(template)
}

fn embedded(inline: &EmbeddedBody, at: At, compiler: &mut Compiler<'_>) -> Option<Piece> {
    let Some(uri) = &inline.uri else {
        compiler.error(Code::MissingKey, at, "a resource written here needs a `uri`");
        return None;
    };
    check_mime_type(inline.mime_type.as_ref(), compiler);
    let uri = compiler.template(uri, Exposure::Client);
    let body = match (&inline.text, &inline.blob, &inline.file) {
        (Some(text), None, None) => compiler.template(text, Exposure::Client).map(InlineBody::Text),
        (None, Some(blob), None) => blob_body(blob, compiler),
        (None, None, Some(file)) => {
            let path = compiler.file(file, file.at);
            path.map(|path| InlineBody::File(compiler.pack.folder.clone(), path))
        }
        _ => {
            compiler.error(Code::Conflict, at, "a resource written here has exactly one of `text`, `blob`, `file`");
            None
        }
    };
    let mime_type = inline.mime_type.as_ref().map(|mime| mime.value.clone());
    Some(Piece::Inline(Box::new(Inline { uri: uri?, mime_type, body: body? })))
}

fn blob_body(blob: &Spanned<TextOrFile>, compiler: &mut Compiler<'_>) -> Option<InlineBody> {
    match &blob.value {
        TextOrFile::Text(text) => {
            BlobPlan::compile(&Spanned::new(text.clone(), blob.at), compiler).map(InlineBody::Blob)
        }
        TextOrFile::File(file) => {
            let file = compiler.file_of(file, blob.at)?;
            let path = compiler.file(file, file.at)?;
            Some(InlineBody::File(compiler.pack.folder.clone(), path))
        }
    }
}

fn link(
    written: &Spanned<ResourceLinkBody>,
    compiler: &mut Compiler<'_>,
    references: &mut References,
) -> Option<Piece> {
    let body = match &written.value {
        ResourceLinkBody::Uri(uri) => {
            LinkBody { uri: Some(Spanned::new(uri.clone(), written.at)), ..LinkBody::default() }
        }
        ResourceLinkBody::Link(link) => LinkBody::clone(link),
    };
    let Some(uri) = &body.uri else {
        compiler.error(Code::MissingKey, written.at, "a link needs a `uri`");
        return None;
    };
    check_mime_type(body.mime_type.as_ref(), compiler);
    check_icons(body.icons.as_deref(), written.at, compiler);
    let template: Option<Template<Uri>> = compiler.template(uri, Exposure::Client);
    if template.as_ref().is_some_and(|template| template.reads().is_empty()) {
        references.link(uri.clone());
    }
    let name = compiler.optional(body.name.as_ref(), Exposure::Client);
    let title = compiler.optional(body.title.as_ref(), Exposure::Client);
    let description = compiler.optional(body.description.as_ref(), Exposure::Client);
    Some(Piece::Link(Box::new(Link { uri: template?, name, title, description, written: body })))
}

/// The path of a list in scope, and the shape of its items.
fn each_path(each: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<(Vec<String>, Shape)> {
    let path: Vec<String> = each.split('.').map(str::to_owned).collect();
    compiler.note_steps(std::slice::from_ref(&path));
    let head = path.first().cloned().unwrap_or_default();
    let mut shape = match compiler.names.get(&head) {
        Some(shape) => shape.clone(),
        None => {
            let known: Vec<String> = compiler.names.iter().map(str::to_owned).collect();
            compiler.error(Code::UnknownVariable, each.at, format!("there is no `{head}` here")).did_you_mean(
                &head,
                each.at.span(),
                known.iter().map(String::as_str),
            );
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
                each.at,
                format!("`each` takes a list, and `{}` is {}", each.value, other.words()),
            );
            None
        }
    }
}

/// Annotations as clients see them.
pub(super) fn annotations(written: &notation::Annotations, compiler: &mut Compiler<'_>) -> Annotations {
    if let Some(priority) = written.priority.as_ref().filter(|priority| !(0.0..=1.0).contains(&priority.value)) {
        compiler.error(Code::BadValue, priority.at, "`priority` is a number from 0 to 1");
    }
    if let Some(modified) = &written.last_modified
        && modified.parse::<jiff::Timestamp>().is_err()
    {
        compiler.error(Code::BadValue, modified.at, "expected a date and time such as `2026-01-31T12:00:00Z`");
    }
    let role = |role: &notation::Role| match role {
        notation::Role::User => super::face::Role::User,
        notation::Role::Assistant => super::face::Role::Assistant,
    };
    Annotations {
        audience: written.audience.iter().flatten().map(role).collect(),
        priority: written.priority.as_ref().map(|priority| priority.value),
        last_modified: written.last_modified.as_ref().map(|modified| modified.value.clone()),
    }
}

/// Icons as clients see them.
pub(super) fn icons(written: Option<&[notation::Icon]>) -> Vec<Icon> {
    let theme = |theme: notation::Theme| match theme {
        notation::Theme::Light => super::face::Theme::Light,
        notation::Theme::Dark => super::face::Theme::Dark,
    };
    written
        .unwrap_or_default()
        .iter()
        .map(|icon| Icon {
            src: icon.src.as_ref().map(|src| src.value.clone()).unwrap_or_default(),
            mime_type: icon.mime_type.clone(),
            sizes: icon.sizes.clone().unwrap_or_default(),
            theme: icon.theme.map(theme),
        })
        .collect()
}

/// Warns of what is no MIME type: `text/markdown` is one, `markdown` none.
pub(super) fn check_mime_type(written: Option<&Spanned<String>>, compiler: &mut Compiler<'_>) {
    let Some(written) = written.filter(|written| !is_mime_type(written)) else { return };
    compiler
        .warning(Code::BadValue, written.at, format!("`{}` is no MIME type", written.value))
        .help("it has two parts, such as `text/markdown` or `image/png`");
}

/// Whether a text is a MIME type (RFC 6838), with parameters or without.
fn is_mime_type(text: &str) -> bool {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "!#$&-^_.+".contains(letter);
    let part = |part: &str| !part.is_empty() && part.chars().all(fine);
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    essence.split_once('/').is_some_and(|(kind, name)| part(kind) && part(name))
}

/// Whether a text is a size of an icon: `48x48`, or `any`.
fn is_size(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
    text == "any" || text.split_once('x').is_some_and(|(width, height)| number(width) && number(height))
}

/// Checks where icons come from, and what is said of them.
pub(super) fn check_icons(written: Option<&[notation::Icon]>, at: At, compiler: &mut Compiler<'_>) {
    for (nth, icon) in written.unwrap_or_default().iter().enumerate() {
        let place = |key: &str, compiler: &Compiler<'_>| {
            compiler.findings.documents.value_at(at, &format!("/icons/{nth}/{key}"))
        };
        let mime_type = icon.mime_type.clone().map(|text| Spanned::new(text, place("mimeType", compiler)));
        check_mime_type(mime_type.as_ref(), compiler);
        for size in icon.sizes.iter().flatten().filter(|size| !is_size(size)) {
            let words = format!("`{size}` is no size of an icon");
            compiler.warning(Code::BadValue, place("sizes", compiler), words).help("such as `48x48`, or `any`");
        }
        match &icon.src {
            None => {
                let place = compiler.findings.documents.value_at(at, &format!("/icons/{nth}"));
                compiler.error(Code::MissingKey, place, "an icon needs a `src`");
            }
            Some(src) if !src.starts_with("https:") && !src.starts_with("data:") => {
                compiler.error(Code::BadValue, src.at, "the `src` of an icon is an `https:` or a `data:` URI");
            }
            Some(_) => {}
        }
    }
}
