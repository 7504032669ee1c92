//! References: followed through the document and the files of the pack, checked on the way, and gathered into one
//! document that stands for itself.
//!
//! A `$ref` into a file becomes one into `$defs` (`definitions` in drafts up to 7), where the schema that it names is
//! put. Paths are relative to the file that writes them. In such a file `$id` and anchors are resolved here and left
//! out, and `$dynamicRef` becomes a plain `$ref`.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::diagnostic::nearest;

use super::check::{self, MAX_DEPTH, MAX_SUBSCHEMAS};
use super::cycle::InPlaceGraph;
use super::{ReferenceLoader, SchemaError, describe, keyword, pattern, pointer};

/// Gives a schema that needs no other document: what clients are sent, and what [`super::Schema`] compiles.
///
/// # Errors
/// All mistakes of the schema and of what it refers to.
pub fn bundle(json: &Value, refs: &ReferenceLoader<'_>) -> Result<Value, Vec<SchemaError>> {
    build_bundle(json, refs).map(|bundled| bundled.json)
}

/// A schema that was found right, but for what only the compiler of its patterns can tell.
pub(super) struct SchemaBundle {
    pub(super) json: Value,
    pub(super) draft: Draft,
    /// Whether nothing stands in it that the compiler could still refuse: it may be compiled when it is needed.
    pub(super) compile_lazily: bool,
}

/// A schema in one of the documents: the document's index, and the pointer there.
pub(super) type SchemaLocation = (usize, String);

struct SchemaDocument {
    /// The path, relative to the file of the root; empty for the root.
    path: String,
    json: Arc<Value>,
}

struct PendingSchema {
    node: SchemaLocation,
    depth: usize,
    /// The pointer of the schema with the nearest `$id`, to which `#/…` is relative.
    base: String,
    /// Where in the root document its mistakes are reported, and as what.
    report_at: Option<String>,
}

/// A reference that has to be written anew.
struct FileReference {
    from: SchemaLocation,
    keyword: &'static str,
    to: SchemaLocation,
}

struct Bundler<'r> {
    refs: &'r ReferenceLoader<'r>,
    draft: Draft,
    documents: Vec<SchemaDocument>,
    seen: HashSet<SchemaLocation>,
    queue: VecDeque<PendingSchema>,
    faults: Vec<SchemaError>,
    links: Vec<FileReference>,
    edges: InPlaceGraph,
    compile_lazily: bool,
}

pub(super) fn build_bundle(json: &Value, refs: &ReferenceLoader<'_>) -> Result<SchemaBundle, Vec<SchemaError>> {
    let fault = |message: String| vec![SchemaError { pointer: String::new(), message, help: None }];
    if !check::has_depth_within(json, 2 * MAX_DEPTH) {
        return Err(fault(format!("schema nesting exceeds {MAX_DEPTH} levels")));
    }
    let root = SchemaDocument { path: String::new(), json: Arc::new(json.clone()) };
    let mut gathering = Bundler {
        refs,
        draft: keyword::draft_of(json),
        documents: vec![root],
        seen: HashSet::new(),
        queue: VecDeque::new(),
        faults: Vec::new(),
        links: Vec::new(),
        edges: InPlaceGraph::default(),
        compile_lazily: true,
    };
    gathering.enqueue(PendingSchema { node: (0, String::new()), depth: 0, base: String::new(), report_at: None });
    gathering.visit_all();
    gathering.finish()
}

impl Bundler<'_> {
    fn enqueue(&mut self, visit: PendingSchema) {
        if self.seen.insert(visit.node.clone()) {
            self.queue.push_back(visit);
        }
    }

    fn visit_all(&mut self) {
        while let Some(visit) = self.queue.pop_front() {
            if visit.depth > MAX_DEPTH {
                self.push_error(&visit, "", format!("schema nesting exceeds {MAX_DEPTH} levels"), None);
                return;
            }
            if self.seen.len() > MAX_SUBSCHEMAS {
                self.push_error(&visit, "", format!("schema has more than {MAX_SUBSCHEMAS} subschemas"), None);
                return;
            }
            self.visit(&visit);
        }
    }

    fn visit(&mut self, visit: &PendingSchema) {
        let Some(json) = self.documents.get(visit.node.0).map(|document| Arc::clone(&document.json)) else { return };
        let Some(value) = pointer::get(&json, &visit.node.1) else { return };
        for mistake in check::keyword_errors(value, self.draft) {
            self.push_error(visit, &mistake.tail, mistake.message, mistake.help);
        }
        let Some(schema) = value.as_object() else { return };
        self.note_compiler_keywords(schema);
        let has_id = schema.get("$id").and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
        let base = if has_id { visit.node.1.clone() } else { visit.base.clone() };
        let visit =
            &PendingSchema { node: visit.node.clone(), depth: visit.depth, base, report_at: visit.report_at.clone() };
        for child in keyword::direct_subschemas(schema, self.draft) {
            let node = (visit.node.0, format!("{}{}", visit.node.1, child.tail));
            if child.applies == keyword::Applicator::InPlace {
                let at = self.report_pointer(visit, &child.tail);
                self.edges.add(&visit.node, &node, at);
            }
            let (base, blame) = (visit.base.clone(), visit.report_at.clone());
            self.enqueue(PendingSchema { node, depth: visit.depth + 1, base, report_at: blame });
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = schema.get(keyword).and_then(Value::as_str) {
                self.follow_reference(visit, keyword, reference);
            }
        }
    }

    /// Remembers whether only the compiler can tell if this schema is right.
    fn note_compiler_keywords(&mut self, schema: &Map<String, Value>) {
        const PECULIAR: &[&str] = &["$id", "id", "$anchor", "$dynamicAnchor", "$vocabulary", "$schema"];
        let peculiar = schema.keys().any(|name| PECULIAR.contains(&name.as_str()) || name.ends_with("Ref"))
            || schema.contains_key("$ref")
            || pattern::has_patterns(schema);
        self.compile_lazily &= !peculiar;
    }

    fn follow_reference(&mut self, visit: &PendingSchema, keyword: &'static str, reference: &str) {
        let found = match self.resolve_reference(visit, reference) {
            Ok(found) => found,
            Err((message, help)) => {
                return self.push_error(visit, &format!("/{keyword}"), message, help);
            }
        };
        let Some((to, base)) = found else { return };
        let at = self.report_pointer(visit, &format!("/{keyword}"));
        self.edges.add(&visit.node, &to, at.clone());
        if to.0 != 0 {
            if visit.node.0 == 0 && !visit.base.is_empty() {
                let message = "unsupported reference to a file from a schema with its own `$id`".to_owned();
                return self.push_error(visit, &format!("/{keyword}"), message, None);
            }
            self.links.push(FileReference { from: visit.node.clone(), keyword, to: to.clone() });
        }
        let blame = (to.0 != 0).then_some(at);
        self.enqueue(PendingSchema { node: to, depth: 0, base, report_at: blame });
    }

    /// What a reference leads to, and to what `#/…` is relative there. `None` for a meta-schema, which every
    /// validator has.
    fn resolve_reference(
        &mut self,
        visit: &PendingSchema,
        reference: &str,
    ) -> Result<Option<(SchemaLocation, String)>, MessageAndHelp> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if keyword::draft_from_uri(uri).is_some() {
            return Ok(None);
        }
        let (document, base) = if uri.is_empty() {
            (visit.node.0, visit.base.clone())
        } else if let Some(inside) = self.find_by_id(visit.node.0, uri) {
            (visit.node.0, inside)
        } else {
            (self.load_document(visit.node.0, uri)?, String::new())
        };
        let Some(json) = self.documents.get(document).map(|document| &document.json) else { return Ok(None) };
        let pointer =
            resolve_fragment(json, &base, fragment).ok_or_else(|| unresolved_reference(json, reference, fragment))?;
        Ok(Some(((document, pointer), base)))
    }

    /// The place in a document whose `$id` is `uri`, as written.
    fn find_by_id(&self, document: usize, uri: &str) -> Option<String> {
        let json = &self.documents.get(document)?.json;
        let is_it = |schema: &Map<String, Value>| {
            let id = schema.get("$id").or_else(|| schema.get("id")).and_then(Value::as_str);
            id.is_some_and(|id| id.trim_end_matches('#') == uri)
        };
        find_object(json, &is_it)
    }

    fn load_document(&mut self, from: usize, uri: &str) -> Result<usize, MessageAndHelp> {
        let base = self.documents.get(from).map_or("", |document| document.path.as_str());
        let path = relative_to(base, uri);
        if let Some(known) = self.documents.iter().skip(1).position(|document| document.path == path) {
            return Ok(known + 1);
        }
        let Some(json) = (self.refs)(&path) else { return Err(missing_document(&path)) };
        if !check::has_depth_within(&json, 2 * MAX_DEPTH) {
            return Err((format!("nesting of {} exceeds {MAX_DEPTH} levels", describe::quote_name(&path)), None));
        }
        if let Some(draft) = json.get("$schema").and_then(Value::as_str)
            && keyword::draft_from_uri(draft) != Some(self.draft)
        {
            let message =
                format!("mismatched draft of {}: {}", describe::quote_name(&path), describe::quote_name(draft));
            return Err((message, Some("use the same `$schema` in both".to_owned())));
        }
        self.documents.push(SchemaDocument { path, json: Arc::new(json) });
        Ok(self.documents.len() - 1)
    }

    fn report_pointer(&self, visit: &PendingSchema, tail: &str) -> String {
        visit.report_at.clone().unwrap_or_else(|| format!("{}{tail}", visit.node.1))
    }

    fn push_error(&mut self, visit: &PendingSchema, tail: &str, message: String, help: Option<String>) {
        let pointer = self.report_pointer(visit, tail);
        let message = match self.documents.get(visit.node.0).filter(|_| visit.node.0 != 0) {
            Some(document) => format!("in `{}` at `{}{tail}`: {message}", document.path, visit.node.1),
            None => message,
        };
        self.faults.push(SchemaError { pointer, message, help });
    }

    fn finish(mut self) -> Result<SchemaBundle, Vec<SchemaError>> {
        self.faults.extend(self.edges.errors());
        if !self.faults.is_empty() {
            let patterns = self.documents.first().map(|root| pattern::pattern_errors(&root.json, self.draft));
            self.faults.extend(patterns.unwrap_or_default());
            return Err(self.faults);
        }
        let Some(root) = self.documents.first().map(|root| root.json.as_ref().clone()) else { return Err(self.faults) };
        Ok(SchemaBundle { json: self.embed_documents(root), draft: self.draft, compile_lazily: self.compile_lazily })
    }

    /// The root with every schema of a file that is referred to under `$defs`.
    fn embed_documents(&self, mut root: Value) -> Value {
        if self.links.is_empty() {
            return root;
        }
        let key = if self.draft <= Draft::Draft7 { "definitions" } else { "$defs" };
        let names = self.definition_names(root.get(key).and_then(Value::as_object));
        let references: BTreeMap<&SchemaLocation, String> =
            names.iter().map(|(node, name)| (*node, pointer::join(&format!("#/{key}"), name))).collect();
        self.rewrite_references(&mut root, 0, "", &references);
        let mut entries = Map::new();
        for (node, name) in names {
            let Some(document) = self.documents.get(node.0) else { continue };
            let mut entry = pointer::get(&document.json, &node.1).cloned().unwrap_or_default();
            self.rewrite_references(&mut entry, node.0, &node.1, &references);
            strip_identifiers(&mut entry, self.draft);
            entries.insert(name, entry);
        }
        if let Value::Object(map) = &mut root
            && let Value::Object(definitions) = map.entry(key).or_insert_with(|| Value::Object(Map::new()))
        {
            definitions.extend(entries);
        }
        root
    }

    fn definition_names(&self, taken: Option<&Map<String, Value>>) -> Vec<(&SchemaLocation, String)> {
        let mut named: BTreeMap<&SchemaLocation, String> = BTreeMap::new();
        let mut used: HashSet<String> = taken.into_iter().flat_map(Map::keys).cloned().collect();
        let mut order = Vec::new();
        for FileReference { to, .. } in &self.links {
            if named.contains_key(to) {
                continue;
            }
            let stem = self.documents.get(to.0).map_or("", |document| file_stem(&document.path));
            let wanted = pointer::segments(&to.1).last().unwrap_or_else(|| stem.to_owned());
            let name = unused_name(&wanted, &used);
            used.insert(name.clone());
            named.insert(to, name.clone());
            order.push((to, name));
        }
        order
    }

    fn rewrite_references(
        &self,
        json: &mut Value,
        document: usize,
        within: &str,
        references: &BTreeMap<&SchemaLocation, String>,
    ) {
        for link in self.links.iter().filter(|link| link.from.0 == document) {
            let place = link.from.1.strip_prefix(within).filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let schema = place.and_then(|place| json.pointer_mut(place)).and_then(Value::as_object_mut);
            if let (Some(schema), Some(reference)) = (schema, references.get(&link.to)) {
                if link.keyword != "$ref" {
                    schema.remove(link.keyword);
                }
                schema.insert("$ref".to_owned(), Value::String(reference.clone()));
            }
        }
    }
}

/// A message and what to do.
type MessageAndHelp = (String, Option<String>);

fn resolve_fragment(json: &Value, base: &str, fragment: &str) -> Option<String> {
    let fragment = pointer::percent_decode_lossy(fragment);
    if fragment.is_empty() || fragment.starts_with('/') {
        let pointer = format!("{base}{fragment}");
        return pointer::get(json, &pointer).is_some().then_some(pointer);
    }
    let hashed = format!("#{fragment}");
    find_object(json, &|schema| {
        let is = |key: &str, wanted: &str| schema.get(key).and_then(Value::as_str) == Some(wanted);
        is("$anchor", &fragment) || is("$dynamicAnchor", &fragment) || is("$id", &hashed) || is("id", &hashed)
    })
}

/// The pointer of the first object for which `is_it` holds.
fn find_object(json: &Value, is_it: &dyn Fn(&Map<String, Value>) -> bool) -> Option<String> {
    let mut queue = VecDeque::from([(String::new(), json)]);
    while let Some((place, value)) = queue.pop_front() {
        match value {
            Value::Object(map) if is_it(map) => return Some(place),
            Value::Object(map) => queue.extend(map.iter().map(|(key, value)| (pointer::join(&place, key), value))),
            Value::Array(list) => {
                queue.extend(list.iter().enumerate().map(|(index, value)| (format!("{place}/{index}"), value)));
            }
            _ => {}
        }
    }
    None
}

fn unresolved_reference(json: &Value, reference: &str, fragment: &str) -> MessageAndHelp {
    let fragment = pointer::percent_decode_lossy(fragment);
    let wanted = pointer::segments(&fragment).last().unwrap_or_default();
    let beside = pointer::get(json, pointer::parent(&fragment)).and_then(Value::as_object);
    let near = beside.and_then(|map| nearest(&wanted, map.keys().map(String::as_str)));
    let help = near.map(|near| format!("did you mean `{}`?", pointer::join(pointer::parent(&fragment), near)));
    (format!("unresolved reference {}", describe::quote_name(reference)), help)
}

fn missing_document(path: &str) -> MessageAndHelp {
    let name = describe::quote_name(path);
    if has_scheme(path) {
        let help = "schemas are never fetched; save it as a file in the pack and refer to its path".to_owned();
        return (format!("unsupported remote reference {name}"), Some(help));
    }
    (
        format!("schema file {name} not found"),
        Some("paths are relative to the file that contains the reference".to_owned()),
    )
}

fn has_scheme(uri: &str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    })
}

/// A path written in the file `base`, relative to what `base` is relative to.
fn relative_to(base: &str, uri: &str) -> String {
    if has_scheme(uri) || uri.starts_with('/') {
        return uri.to_owned();
    }
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in uri.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn file_stem(path: &str) -> &str {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.split_once('.').map_or(file, |(stem, _)| stem)
}

fn unused_name(wanted: &str, used: &HashSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
    let base: String = wanted.chars().map(plain).collect();
    let base = if base.is_empty() { "schema".to_owned() } else { base };
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| !used.contains(name)).unwrap_or(base)
}

/// Takes out what would give an embedded schema another base or a second anchor.
fn strip_identifiers(entry: &mut Value, draft: Draft) {
    let places: Vec<String> = keyword::subschemas(entry, draft).into_iter().map(|(place, _)| place).collect();
    for place in places {
        if let Some(schema) = entry.pointer_mut(&place).and_then(Value::as_object_mut) {
            for key in ["$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor"] {
                schema.remove(key);
            }
        }
    }
}
