//! The partials of a pack: `_NAME.prompt`, in the nearest folder.

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::{Code, Consequence, Report, Span};
use crate::pack_format::ImportedFile;
use crate::pack_format::front_matter::split_leading_front_matter;
use crate::template::{JsSource, TemplateError, TemplateSpan};

/// How deep partials may use one another.
const MAX_DEPTH: usize = 12;

/// The partials of a pack, each parsed once, when a prompt uses it.
pub(super) struct Partials<'f> {
    files: HashMap<&'f str, &'f ImportedFile>,
    /// The names of those that were parsed, by path; `None` for those with errors, which are reported.
    names: HashMap<&'f str, Option<String>>,
    /// Those that were parsed, by name.
    pub(super) sources: BTreeMap<String, JsSource>,
    /// Those that are being parsed.
    open: Vec<&'f str>,
}

/// Whether a file is a partial.
pub(super) fn is_partial(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('_'))
}

/// Where an error of a template is that begins at `start` of its file.
pub(super) fn span_of(error: &TemplateError, file: &ImportedFile, start: usize) -> Span {
    match &error.span {
        TemplateSpan::Template(range) => Span::new(file.id, start + range.start, start + range.end),
        TemplateSpan::Partial { .. } => Span::new(file.id, start, start),
    }
}

impl<'f> Partials<'f> {
    pub(super) fn new(files: &'f [ImportedFile]) -> Partials<'f> {
        let files = files.iter().filter(|file| is_partial(&file.path)).map(|file| (file.path.as_str(), file));
        Partials { files: files.collect(), names: HashMap::new(), sources: BTreeMap::new(), open: Vec::new() }
    }

    /// Parses a template that stands in this file, and its partials.
    pub(super) fn parse(
        &mut self,
        path: &str,
        text: &str,
        report: &mut Report,
    ) -> Result<JsSource, Box<TemplateError>> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut source = JsSource::parse(text)?;
        source.resolve_partials(&mut |name| self.find(name, folder, report))?;
        Ok(source)
    }

    /// The name under which a partial is kept.
    fn find(&mut self, name: &str, folder: &str, report: &mut Report) -> Result<String, String> {
        let file = self.file(name, folder).ok_or_else(|| format!("unknown partial `{name}`"))?;
        let path = file.path.as_str();
        if self.open.contains(&path) {
            return Err(format!("cyclic partial `{name}`"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("partials nested deeper than {MAX_DEPTH} levels"));
        }
        if !self.names.contains_key(path) {
            self.open.push(path);
            let parsed = self.load(file, report);
            self.open.pop();
            let kept = parsed.map(|source| {
                let kept = format!("partial{}", self.sources.len());
                self.sources.insert(kept.clone(), source);
                kept
            });
            self.names.insert(path, kept);
        }
        self.names.get(path).cloned().flatten().ok_or_else(|| format!("partial `{name}` has errors"))
    }

    fn load(&mut self, file: &'f ImportedFile, report: &mut Report) -> Option<JsSource> {
        let (_, body) = split_leading_front_matter(file, report);
        let parsed = self.parse(&file.path, file.text.get(body..)?, report);
        match parsed.and_then(|source| source.split().map(|_| source)) {
            Ok(source) => Some(source),
            Err(error) => {
                report
                    .warning(Code::Syntax, span_of(&error, file, body), &error.message)
                    .consequence(Consequence::PartialSkipped);
                None
            }
        }
    }

    /// The file of a partial, from this folder outwards.
    fn file(&self, name: &str, folder: &str) -> Option<&'f ImportedFile> {
        let (inner, last) = name.rsplit_once('/').map_or(("", name), |(inner, last)| (inner, last));
        let mut folder = Some(folder);
        while let Some(here) = folder {
            let parts = [here, inner].into_iter().filter(|part| !part.is_empty()).map(|part| format!("{part}/"));
            let path = format!("{}_{last}.prompt", parts.collect::<String>());
            if let Some(file) = self.files.get(path.as_str()) {
                return Some(file);
            }
            folder = (!here.is_empty()).then(|| here.rsplit_once('/').map_or("", |(outer, _)| outer));
        }
        None
    }
}
