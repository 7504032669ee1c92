//! Compiles resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::catalog::CallTraits;
use crate::catalog::access::EntryAccess;
use crate::catalog::complete::{MAX_COMPLETED_FILES, compile_sources};
use crate::catalog::content::blob::ByteSource;
use crate::catalog::content::block::{listed_annotations, strip_whitespace};
use crate::catalog::content::compiled_result::CompiledResult;
use crate::catalog::content::pack_file::{KeptFile, PackFile};
use crate::catalog::entry::entry_references::ReferenceCollector;
use crate::catalog::entry::listed_text::listed_text;
use crate::catalog::entry::{EntryBuildContext, RunKeys, check_limits, entry_digest};
use crate::catalog::inputs::{Inputs, check_argument, check_name, refuse_many_arguments_of_pack};
use crate::catalog::listing::ResourceInfo;
use crate::catalog::listing::icons::{check_icons, listed_icons};
use crate::catalog::resource::resource_root::ResourceRoot;
use crate::compile::{Compiler, Exposure, check_mime_type};
use crate::diagnostic::{Code, Severity};
use crate::files::Globs;
use crate::manifest;
use crate::template::{FilePathSlot, Template, reserved_name_meaning};
use crate::uri::{Operator, UriTemplate, check_uri};
use crate::value_types::{Blob, is_identifier};
use crate::yaml::{Location, Spanned};

use super::file_template::FileTemplate;
use super::path_values::reachable_glob;
use super::{CompiledResource, ResourceContent, ResourceRun};

impl CompiledResource {
    /// Compiles a resource. `None` if it has errors, or its pack lacks a grant.
    pub(in crate::catalog) fn build(
        resource: &Spanned<manifest::Resource>,
        build_context: EntryBuildContext<'_, '_>,
    ) -> Option<CompiledResource> {
        let EntryBuildContext { compiler, references, pack_context, name, contents_before } = build_context;
        check_icons(resource.icons.as_deref(), resource.location, compiler);
        check_mime_type(resource.mime_type.as_ref(), compiler);
        let template = compile_uri(resource, compiler)?;
        let inputs = variable_inputs(resource, &template, compiler);
        let access = EntryAccess::build(resource, compiler);
        let title = listed_text(resource.title.as_deref(), resource.location, "title", compiler);
        let description = listed_text(resource.description.as_deref(), resource.location, "description", compiler);
        let sources = compile_sources(&resource.arguments, inputs.as_ref(), compiler);
        let mut content = compile_content(resource, &template, compiler, references);
        if let (Some(ResourceContent::Root(root)), Some(at)) = (&mut content, &resource.root) {
            root.exclude_secret_files(&pack_context.secrets, at.location, compiler);
        }
        let hints = resource.annotations.as_ref().map(|hints| listed_annotations(hints, compiler));
        let digest = entry_digest(resource.location, contents_before, compiler);
        if let Some(ResourceContent::Run(run)) = &mut content {
            run.plan.set_outcome_reads(&compiler.outcome_reads, pack_context.entry_digest(digest));
        }
        let inputs = inputs?;
        Some(CompiledResource {
            template,
            key: name.clone(),
            completions: sources?,
            pack_context: pack_context.clone(),
            access: access?,
            reads_caller: compiler.reads_caller,
            is_private: false,
            ttl_ms: resource.ttl_ms,
            cache_scope: resource.cache_scope,
            info: ResourceInfo {
                name: resource.name.as_ref().map_or(name, |name| name.value.clone()),
                title,
                description,
                mime_type: resource.mime_type.as_ref().map(|mime| mime.value.clone()),
                icons: listed_icons(resource.icons.as_deref()),
                annotations: hints,
                meta: resource.meta.clone(),
            },
            size: resource.size,
            inputs,
            content: content?,
            traits: CallTraits::default(),
            digest,
        })
    }
}

fn compile_uri(resource: &Spanned<manifest::Resource>, compiler: &mut Compiler<'_>) -> Option<UriTemplate> {
    let Some(uri) = &resource.uri else {
        let diagnostic = compiler.error(Code::MissingKey, resource.location, "missing key `uri`");
        diagnostic.help(match &resource.run {
            Some(_) => "such as `issue://{id}`; or write a tool below `tools:`, where it needs none",
            None => "such as `docs://policy` or `issue://{id}`",
        });
        return None;
    };
    let error = match UriTemplate::parse(uri) {
        Ok(template) if template.is_literal() => match check_uri(uri) {
            Ok(()) => return warn_of_http_uri(uri, template, compiler),
            Err(error) => error,
        },
        Ok(template) => return warn_of_http_uri(uri, template, compiler),
        Err(error) => error,
    };
    let span = compiler.span_within(uri.location, error.at.clone());
    compiler.load_context.report.add_located(Severity::Error, Code::Uri, span, error);
    None
}

fn warn_of_http_uri(uri: &Spanned<String>, template: UriTemplate, compiler: &mut Compiler<'_>) -> Option<UriTemplate> {
    let lower = uri.to_lowercase();
    if lower.starts_with("http:") || lower.starts_with("https:") {
        compiler
            .warning(
                Code::ClientCompatibility,
                uri.location,
                "clients fetch `http(s):` URIs from the web, not from this server",
            )
            .help("use a custom scheme, such as `docs://`");
    }
    Some(template)
}

/// The variables of the URI: those that `arguments` does not describe are required texts.
fn variable_inputs(
    resource: &Spanned<manifest::Resource>,
    template: &UriTemplate,
    compiler: &mut Compiler<'_>,
) -> Option<Inputs> {
    refuse_many_arguments_of_pack(&resource.arguments, compiler)?;
    let mut arguments = resource.arguments.clone();
    let names: Vec<&str> = template.variables().iter().map(|variable| variable.name.as_str()).collect();
    for name in arguments.keys().filter(|name| !names.contains(&name.value.as_str())) {
        compiler
            .error(Code::UnknownVariable, name.location, format!("unknown URI variable `{}`", name.value))
            .did_you_mean(name, names.iter().copied());
    }
    for (name, argument) in &resource.arguments {
        check_name(name, compiler);
        check_argument(name, argument, compiler);
    }
    for variable in template.variables() {
        if !arguments.contains_key(variable.name.as_str()) {
            let optional = matches!(variable.operator, Operator::Query | Operator::Continuation);
            let argument = manifest::Argument { required: Some(!optional), ..manifest::Argument::default() };
            let nowhere = Location::start_of(resource.location.file());
            // That some names are helpers too, such as `path`, is not an error for a variable that only the URI declares.
            if !is_identifier(&variable.name) || reserved_name_meaning(&variable.name).is_some() {
                let at = resource.uri.as_ref().map_or(resource.location, |uri| uri.location);
                compiler
                    .error(Code::BadName, at, format!("invalid URI variable name `{}`", variable.name))
                    .help("use letters, digits and `_`, and none of `env`, `server`, `steps`, `result`, `arguments`");
            }
            arguments.insert(Spanned::new(variable.name.clone(), nowhere), Spanned::new(argument, nowhere));
        }
    }
    Inputs::from_checked_arguments(&arguments, compiler)
}

fn compile_content(
    resource: &Spanned<manifest::Resource>,
    template: &UriTemplate,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<ResourceContent> {
    check_content_keys(resource, compiler)?;
    if let Some(text) = &resource.text {
        let text = compiler.resolve_text(text)?;
        return compiler.template(&text, Exposure::Client).map(ResourceContent::Text);
    }
    if let Some(blob) = &resource.blob {
        return blob_content(blob, compiler);
    }
    if let Some(file) = &resource.file {
        return match file.contains("{{") {
            true => file_template(file, template, compiler).map(ResourceContent::FileTemplate),
            false => PackFile::compile(file, compiler).map(KeptFile::new).map(ResourceContent::File),
        };
    }
    if let Some(root) = &resource.root {
        return ResourceRoot::build(resource, root, template, compiler).map(ResourceContent::Root);
    }
    let ready = run_keys(resource).compile(compiler);
    let result = compiler.with_scope_shape(ready.names, |compiler| {
        CompiledResult::compile(resource.result.as_ref(), compiler, references)
    });
    Some(ResourceContent::Run(Box::new(ResourceRun { plan: ready.plan?, result: result? })))
}

fn run_keys(resource: &manifest::Resource) -> RunKeys<'_> {
    RunKeys {
        run: resource.run.as_ref(),
        timeout: resource.timeout,
        max_output: resource.max_output,
        wants_json: false,
    }
}

fn check_content_keys(resource: &Spanned<manifest::Resource>, compiler: &mut Compiler<'_>) -> Option<()> {
    check_limits(&run_keys(resource), resource.location, compiler);
    if let (Some(result), None) = (&resource.result, &resource.run) {
        compiler.error(Code::Conflict, result.location, "`result` requires `run`");
    }
    if let Some(result) = &resource.result
        && result.structured_content.is_some()
        && (result.text.is_some() || result.content.is_some())
    {
        let key = compiler.key_location(result.location, "structuredContent");
        compiler
            .error(Code::Conflict, key, "a resource has no `structuredContent` beside its `text` or `content`")
            .help("remove it, or serve it as a resource of its own");
    }
    for (name, there) in [("include", resource.include.is_some()), ("exclude", resource.exclude.is_some())] {
        if there && resource.root.is_none() {
            let key = compiler.key_location(resource.location, name);
            compiler.error(Code::Conflict, key, format!("`{name}` requires `root`"));
        }
    }
    let ways = [
        resource.text.is_some(),
        resource.blob.is_some(),
        resource.file.is_some(),
        resource.root.is_some(),
        resource.run.is_some(),
    ];
    if ways.into_iter().filter(|way| *way).count() == 1 {
        return Some(());
    }
    let names = ["text", "blob", "file", "root", "run"];
    let second = names.iter().zip(ways).filter(|(_, there)| *there).nth(1);
    let (code, at) = match second {
        Some((name, _)) => (Code::Conflict, compiler.key_location(resource.location, name)),
        None => (Code::MissingKey, resource.location),
    };
    compiler.not_exactly_one(at, "`text`, `blob`, `file`, `root`, `run`").code = code;
    None
}

fn blob_content(blob: &Spanned<Blob>, compiler: &mut Compiler<'_>) -> Option<ResourceContent> {
    let text = match &blob.value {
        Blob::Base64(text) => text,
        Blob::Source(_) => {
            return Some(match ByteSource::compile(blob, compiler)? {
                ByteSource::File(file) => ResourceContent::File(KeptFile::new(file)),
                ByteSource::Blob(plan) => ResourceContent::BlobTemplate(plan),
            });
        }
    };
    match STANDARD.decode(strip_whitespace(text)) {
        Ok(bytes) => Some(ResourceContent::Blob(bytes)),
        Err(_) => {
            let (message, help) = match text.contains("{{") {
                true => (
                    "invalid base64: the `blob` of a resource is not a template",
                    "write `blob: { base64: \"{{…}}\" }` or `blob: { text: \"{{…}}\" }`",
                ),
                false => ("invalid base64", "write `blob: { file: … }` for a file"),
            };
            compiler.error(Code::BadValue, blob.location, message).help(help);
            None
        }
    }
}

/// A path that depends on the URI: the literal part before its first `{{` is the folder that it never leaves.
fn file_template(file: &Spanned<String>, template: &UriTemplate, compiler: &mut Compiler<'_>) -> Option<FileTemplate> {
    let path: Template<FilePathSlot> = compiler.template(file, Exposure::Client)?;
    let before = file.split("{{").next().unwrap_or_default();
    let literal = before.rfind('/').map_or("", |slash| before.get(..slash).unwrap_or_default());
    let folder = compiler.resolve_path(literal, file.location)?;
    compiler.load_context.dependencies.folders.insert(compiler.pack.folder.path().join(&folder));
    match compiler.pack.folder.subfolder(&folder) {
        Ok(folder) => {
            let file = FileTemplate { folder, literal: literal.into(), path };
            // Clients may subscribe to any file that a URI leads to; too many are not watched.
            let globs = Globs::new(&[&reachable_glob(&file, template)], &[]).ok();
            let walked = globs.and_then(|globs| file.folder.walk_outcome(&globs, MAX_COMPLETED_FILES).ok());
            if let Some(walked) = walked {
                let dependencies = &mut compiler.load_context.dependencies;
                dependencies.folders.extend(walked.folders.iter().map(|below| file.folder.path_of(below)));
                dependencies.files.extend(walked.files.iter().map(|entry| file.folder.path().join(&entry.path)));
            }
            Some(file)
        }
        Err(error) => {
            compiler.report_missing_path(file, file.location, error.to_string());
            None
        }
    }
}
