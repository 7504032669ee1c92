//! The partials of a pack: `_NAME.prompt`, in the nearest folder.

use std::collections::HashMap;
use std::sync::Arc;

use super::parse::parse;
use super::token::SyntaxError;
use super::tree::Node;
use crate::diagnostic::{Code, Report, Span};
use crate::pack_format::ForeignFile;
use crate::pack_format::front_matter::split_leading_front_matter;

/// How deep partials may use one another.
const MAX_DEPTH: usize = 12;

/// The partials of a pack, each parsed once.
pub(super) struct Partials<'f> {
    files: HashMap<&'f str, &'f ForeignFile>,
    /// Those that were parsed; `None` for those with errors, which are reported.
    parsed: HashMap<&'f str, Option<Arc<Vec<Node>>>>,
    /// Those that are being parsed.
    open: Vec<&'f str>,
}

/// Whether a file is a partial.
pub(super) fn is_partial(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('_'))
}

impl<'f> Partials<'f> {
    pub(super) fn new(files: &'f [ForeignFile]) -> Partials<'f> {
        let files = files.iter().filter(|file| is_partial(&file.path)).map(|file| (file.path.as_str(), file));
        Partials { files: files.collect(), parsed: HashMap::new(), open: Vec::new() }
    }

    /// Parses a template that stands in this file.
    pub(super) fn parse(&mut self, path: &str, text: &str, report: &mut Report) -> Result<Vec<Node>, SyntaxError> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        parse(text, &mut |name| self.find(name, folder, report))
    }

    fn find(&mut self, name: &str, folder: &str, report: &mut Report) -> Result<Arc<Vec<Node>>, String> {
        let file = self.file(name, folder).ok_or_else(|| format!("unknown partial `{name}`"))?;
        let path = file.path.as_str();
        if self.open.contains(&path) {
            return Err(format!("cyclic partial `{name}`"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("partials nested deeper than {MAX_DEPTH} levels"));
        }
        if !self.parsed.contains_key(path) {
            self.open.push(path);
            let parsed = self.load(file, report);
            self.open.pop();
            self.parsed.insert(path, parsed);
        }
        let parsed = self.parsed.get(path).cloned().flatten();
        parsed.ok_or_else(|| format!("partial `{name}` has errors"))
    }

    fn load(&mut self, file: &'f ForeignFile, report: &mut Report) -> Option<Arc<Vec<Node>>> {
        let (_, body) = split_leading_front_matter(file, report);
        let text = file.text.get(body..)?;
        match self.parse(&file.path, text, report) {
            Ok(nodes) => Some(Arc::new(nodes)),
            Err(error) => {
                let place = Span::new(file.id, body + error.at.start, body + error.at.end);
                report.warning(Code::Syntax, place, format!("{}: partial skipped", error.message));
                None
            }
        }
    }

    /// The file of a partial, from this folder outwards.
    fn file(&self, name: &str, folder: &str) -> Option<&'f ForeignFile> {
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
