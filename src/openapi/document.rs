//! An API description as trees: values, the files that they stand in, and where exactly.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::source::hide_user_info;
use crate::diagnostic::{Code, Report, Span};
use crate::uri::percent_decode_lossy;
use crate::yaml::pointer::push_segment;
use crate::yaml::{Documents, Location};

/// How many `$ref`s may lead from one to the next.
const MAX_REFERENCE_HOPS: usize = 32;

/// One file of a description.
pub(super) struct DocumentFile {
    /// The path, relative to the folder of the first file.
    pub(super) path: String,
    pub(super) value: Value,
    pub(super) root: Location,
}

/// A description, with the files that it refers to.
pub(super) struct ApiDocument {
    /// The first is the description itself.
    pub(super) files: Vec<DocumentFile>,
    pub(super) documents: Documents,
    warnings: RefCell<Vec<Warning>>,
    /// Descriptions in plain words, by the addresses of the values that have them.
    pub(super) prose: RefCell<HashMap<usize, String>>,
    /// The schemas that are built on others, file and name by the address of what they are built on.
    subtypes: OnceCell<HashMap<usize, Vec<(usize, String)>>>,
}

/// A value of a description.
#[derive(Debug, Clone, Copy)]
pub(super) struct ApiNode<'d> {
    pub(super) file: usize,
    pub(super) value: &'d Value,
}

/// What was found at a value. The place is looked up when all are known.
struct Warning {
    file: usize,
    address: usize,
    code: Code,
    message: String,
    help: Option<Cow<'static, str>>,
}

impl<'d> ApiNode<'d> {
    /// The value of a key.
    pub(super) fn get(self, key: &str) -> Option<ApiNode<'d>> {
        self.value.get(key).map(|value| ApiNode { value, ..self })
    }

    /// The text of a key.
    pub(super) fn text(self, key: &str) -> Option<&'d str> {
        self.value.get(key)?.as_str()
    }

    /// The flag of a key, where it is one.
    pub(super) fn flag(self, key: &str) -> Option<bool> {
        self.value.get(key)?.as_bool()
    }

    /// The items of a list; none of anything else.
    pub(super) fn items(self) -> impl Iterator<Item = ApiNode<'d>> {
        self.value.as_array().into_iter().flatten().map(move |value| ApiNode { value, ..self })
    }

    /// The entries of a map; none of anything else.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'d str, ApiNode<'d>)> {
        let map = self.value.as_object().into_iter().flatten();
        map.map(move |(key, value)| (key.as_str(), ApiNode { value, ..self }))
    }

    /// What tells this value from all others of a description.
    pub(super) fn address(self) -> usize {
        std::ptr::from_ref(self.value).addr()
    }
}

impl ApiDocument {
    pub(super) fn new(files: Vec<DocumentFile>, documents: Documents) -> ApiDocument {
        let (warnings, prose) = (RefCell::default(), RefCell::default());
        ApiDocument { files, documents, warnings, prose, subtypes: OnceCell::new() }
    }

    /// The schemas of a file, by their names.
    pub(super) fn schemas_of(&self, file: usize) -> Option<ApiNode<'_>> {
        let root = ApiNode { file, value: &self.files.get(file)?.value };
        root.get("components").and_then(|components| components.get("schemas")).or_else(|| root.get("definitions"))
    }

    /// What a reference at a value names.
    pub(super) fn target<'d>(&'d self, at: ApiNode<'d>, reference: &str) -> Option<ApiNode<'d>> {
        self.find(at.file, reference)
    }

    /// The schemas that are built on one by `allOf`, and those that are built on these.
    pub(super) fn subtypes(&self, base: ApiNode<'_>, max_subtypes: usize) -> Vec<(String, ApiNode<'_>)> {
        let known = self.subtypes.get_or_init(|| self.find_subtypes());
        let (mut found, mut addresses, mut next) = (Vec::new(), vec![base.address()], 0);
        while let Some(address) = addresses.get(next).copied() {
            next += 1;
            for (file, name) in known.get(&address).cloned().unwrap_or_default() {
                let Some(node) = self.schemas_of(file).and_then(|schemas| schemas.get(&name)) else { continue };
                if found.len() < max_subtypes && !addresses.contains(&node.address()) {
                    addresses.push(node.address());
                    found.push((name, node));
                }
            }
        }
        found
    }

    fn find_subtypes(&self) -> HashMap<usize, Vec<(usize, String)>> {
        let mut found: HashMap<usize, Vec<(usize, String)>> = HashMap::new();
        for file in 0..self.files.len() {
            for (name, schema) in self.schemas_of(file).into_iter().flat_map(ApiNode::entries) {
                let parts = schema.get("allOf").into_iter().flat_map(ApiNode::items);
                for target in parts.filter_map(|part| self.target(part, part.text("$ref")?)) {
                    found.entry(target.address()).or_default().push((file, name.to_owned()));
                }
            }
        }
        found
    }

    /// The description's own root.
    pub(super) fn root(&self) -> ApiNode<'_> {
        const NOTHING: &Value = &Value::Null;
        ApiNode { file: 0, value: self.files.first().map_or(NOTHING, |file| &file.value) }
    }

    /// Warns of something at a value.
    pub(super) fn warn(&self, at: ApiNode<'_>, code: Code, message: impl Into<String>) {
        self.push_warning(at, code, message.into(), None);
    }

    /// Warns of something at a value, and says what to do.
    pub(super) fn warn_with_help(
        &self,
        at: ApiNode<'_>,
        message: impl Into<String>,
        help: impl Into<Cow<'static, str>>,
    ) {
        self.push_warning(at, Code::Unimplemented, message.into(), Some(help.into()));
    }

    fn push_warning(&self, at: ApiNode<'_>, code: Code, message: String, help: Option<Cow<'static, str>>) {
        let message = hide_user_info(&message).unwrap_or(message);
        let help = help.map(|help| hide_user_info(&help).map_or(help, Cow::Owned));
        self.warnings.borrow_mut().push(Warning { file: at.file, address: at.address(), code, message, help });
    }

    /// Follows `$ref`s from a node to what they stand for. `None`, and a warning, where they lead nowhere.
    pub(super) fn resolve<'d>(&'d self, node: ApiNode<'d>) -> Option<ApiNode<'d>> {
        let mut at = node;
        for _ in 0..MAX_REFERENCE_HOPS {
            let Some(reference) = at.text("$ref") else { return Some(at) };
            match self.find(at.file, reference) {
                Some(target) => at = target,
                None => {
                    self.warn_unresolved(at, reference);
                    return None;
                }
            }
        }
        self.warn(node, Code::Cycle, "circular `$ref`");
        None
    }

    fn warn_unresolved(&self, at: ApiNode<'_>, reference: &str) {
        let truncated = crate::diagnostic::truncate(reference, 120);
        let at = at.get("$ref").unwrap_or(at);
        match reference.contains("://") {
            true => self.warn_with_help(
                at,
                format!("remote `$ref` `{truncated}` is not fetched"),
                "save the file beside the description, and refer to it by its name",
            ),
            false => self.warn(at, Code::UnknownReference, format!("unresolved `$ref` `{truncated}`")),
        }
    }

    /// What a reference in a file names.
    fn find<'d>(&'d self, file: usize, reference: &str) -> Option<ApiNode<'d>> {
        let (path, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let file = match path {
            "" => file,
            path => {
                let path = referenced_path(&self.files.get(file)?.path, path)?;
                self.files.iter().position(|known| known.path == path)?
            }
        };
        let pointer = percent_decode_lossy(pointer);
        self.files.get(file)?.value.pointer(&pointer).map(|value| ApiNode { file, value })
    }

    /// Puts the warnings into a report, each at its place. Those that say the same are told once.
    pub(super) fn report_warnings(&self, report: &mut Report) {
        let warnings = group(self.warnings.take());
        let mut pointers: HashMap<usize, Option<String>> =
            warnings.iter().map(|(warning, _)| (warning.address, None)).collect();
        self.files.iter().for_each(|file| find_pointers(&file.value, &mut String::new(), &mut pointers));
        for (warning, others) in warnings {
            let pointer = pointers.get(&warning.address).cloned().flatten();
            let span = self.span(warning.file, pointer.as_deref());
            let message = match others {
                0 => warning.message,
                1 => format!("{} (and at 1 more place)", warning.message),
                _ => format!("{} (and at {others} more places)", warning.message),
            };
            let diagnostic = report.warning(warning.code, span, message);
            if let Some(help) = warning.help {
                diagnostic.help(help);
            }
        }
    }

    /// The place of a key or an item: its first line alone.
    fn span(&self, file: usize, pointer: Option<&str>) -> Option<Span> {
        let root = self.files.get(file)?.root;
        Some(self.documents.key_at(root, pointer?).span())
    }
}

/// Warnings with the same words, together, and at how many more places each was found.
fn group(warnings: Vec<Warning>) -> Vec<(Warning, usize)> {
    let mut found: Vec<(Warning, usize)> = Vec::new();
    let mut by_words: HashMap<(String, Option<Cow<'static, str>>), usize> = HashMap::new();
    let mut places = HashSet::new();
    for warning in warnings {
        // What several operations share is one place.
        if !places.insert((warning.address, warning.message.clone())) {
            continue;
        }
        let words = (warning.message.clone(), warning.help.clone());
        match by_words.get(&words).and_then(|index| found.get_mut(*index)) {
            Some((_, others)) => *others += 1,
            None => {
                by_words.insert(words, found.len());
                found.push((warning, 0));
            }
        }
    }
    found
}

/// Fills in the JSON pointers of the values that are asked for by their addresses.
fn find_pointers(value: &Value, pointer: &mut String, wanted: &mut HashMap<usize, Option<String>>) {
    if let Some(found) = wanted.get_mut(&std::ptr::from_ref(value).addr()) {
        *found = Some(pointer.clone());
    }
    let mut visit = |key: &str, inner: &Value| {
        let length = pointer.len();
        push_segment(pointer, key);
        find_pointers(inner, pointer, wanted);
        pointer.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| visit(&index.to_string(), item)),
        Value::Object(map) => map.iter().for_each(|(key, inner)| visit(key, inner)),
        _ => {}
    }
}

/// The path of a file that another refers to, relative to the folder of the description. `None` where it leaves that,
/// or is no path.
pub(super) fn referenced_path(from: &str, reference: &str) -> Option<String> {
    let reference = percent_decode_lossy(reference);
    if reference.contains("://") || reference.starts_with(['/', '\\']) || reference.contains('\0') {
        return None;
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in reference.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// A map with these entries.
pub(super) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}
