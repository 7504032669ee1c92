//! Sections that are a path: `prompts: ./prompts`, where `include` is due.

use super::Corrector;
use super::argument::names_file;
use super::kind::MapKind;
use crate::diagnostic::{Code, Span};
use crate::files::Globs;
use crate::yaml::{MapEntry, NodeId, flow_scalar};

impl Corrector<'_> {
    /// Reads a path, a glob, or a list of globs, as no entries.
    pub(super) fn section_path(&mut self, root: NodeId, kind: MapKind) {
        let Some(section) = self.document.entry_of(root, kind.section()) else { return };
        let Some(path) = self.path_text(section.value) else { return };
        let span = self.span(section.value);
        if self.report.diagnostics().iter().any(|diagnostic| diagnostic.span == Some(span)) {
            // A tag, which is reported.
            return self.read_section_as_empty(root, section);
        }
        let is_folder = !Globs::is_glob(&path) && !names_file(&path);
        let include = match (is_folder, kind) {
            (false, _) => path.clone(),
            (true, MapKind::Prompt) => format!("{}/*.md", path.trim_end_matches('/')),
            (true, _) => format!("{}/*.yaml", path.trim_end_matches('/')),
        };
        let is_free = self.document.entry_of(root, "include").is_none();
        let text = format!("include: {}", flow_scalar(&include));
        let help = match (is_folder && kind == MapKind::Resource, is_free) {
            (true, _) => {
                let name = path.trim_matches(['.', '/']).rsplit('/').next().unwrap_or_default();
                let name = if name.is_empty() { "files" } else { name };
                let folder = flow_scalar(&path);
                format!("write `resources: {{ {name}: {{ uri: \"{name}://{{+path}}\", root: {folder} }} }}`")
            }
            (false, true) => format!("write `{text}`"),
            (false, false) => format!("add `{include}` to `include`"),
        };
        let at = self.span(section.key);
        let message = format!("expected a map, found {}", self.describe(section.value));
        let diagnostic = self.report.error(Code::WrongType, span, message).help(help);
        if is_free && !is_folder {
            diagnostic.fix(Span { end: span.end, ..at }, text);
        }
        self.read_section_as_empty(root, section);
    }

    fn read_section_as_empty(&mut self, root: NodeId, section: MapEntry) {
        let none = self.document.add_map(Vec::new(), self.span(section.value));
        self.replace_entry(root, section, MapEntry { key: section.key, value: none });
    }

    /// A path, or the glob in a list of one.
    fn path_text(&self, node: NodeId) -> Option<String> {
        let is_path = |text: &&str| !text.is_empty() && !text.contains(char::is_whitespace);
        if let Some(text) = self.document.string_of(node) {
            return Some(text).filter(is_path).map(str::to_owned);
        }
        match self.document.items_of(node)?.as_slice() {
            [only] => self.document.string_of(*only).filter(|text| Globs::is_glob(text)).map(str::to_owned),
            _ => None,
        }
    }
}
