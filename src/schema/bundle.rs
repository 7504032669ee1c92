//! Checks a schema with its references, and bundles the files of the pack into one document.
//!
//! A `$ref` into a file becomes one into `$defs` (`definitions` in drafts up to 7), where its schema is embedded. In such
//! a file `$id` and anchors are resolved and removed, and `$dynamicRef` becomes a plain `$ref`.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::diagnostic::nearest;

use super::check::{self, MAX_DEPTH, MAX_SUBSCHEMAS};
use super::cycle::InPlaceGraph;
use super::{ReferenceLoader, SchemaError, describe, keyword, pattern};
use crate::uri::{has_scheme, percent_decode_lossy};
use crate::yaml::pointer;

/// A self-contained schema without errors, except in patterns.
pub(super) struct SchemaBundle {
    pub(super) json: Value,
    pub(super) draft: Draft,
    /// Whether the compiler cannot fail, so that it may run on first use.
    pub(super) compile_lazily: bool,
}

/// A schema in one of the documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SchemaLocation {
    document: usize,
    pointer: String,
}

struct SchemaDocument {
    /// The path, relative to the file of the root; empty for the root.
    path: String,
    json: Arc<Value>,
}

struct PendingSchema {
    node: SchemaLocation,
    depth: usize,
    /// The pointer of the schema with the nearest `$id`, the base of `#/…`.
    base: String,
    /// Where in the root document its errors are reported.
    report_at: Option<String>,
}

/// A reference into a file, to be rewritten.
struct FileReference {
    from: SchemaLocation,
    keyword: &'static str,
    to: SchemaLocation,
}

struct Bundler<'r> {
    load_reference: &'r ReferenceLoader<'r>,
    draft: Draft,
    documents: Vec<SchemaDocument>,
    seen: HashSet<SchemaLocation>,
    queue: VecDeque<PendingSchema>,
    errors: Vec<SchemaError>,
    file_references: Vec<FileReference>,
    graph: InPlaceGraph,
    compile_lazily: bool,
}

/// Bundles a schema with the files that it refers to.
///
/// # Errors
/// All errors of the schema and of what it refers to.
pub(super) fn build_bundle(
    json: &Value,
    load_reference: &ReferenceLoader<'_>,
) -> Result<SchemaBundle, Vec<SchemaError>> {
    if !check::has_depth_within(json, 2 * MAX_DEPTH) {
        return Err(vec![SchemaError::new("", format!("schema nesting exceeds {MAX_DEPTH} levels"))]);
    }
    let root = SchemaDocument { path: String::new(), json: Arc::new(json.clone()) };
    let mut bundler = Bundler {
        load_reference,
        draft: keyword::draft_of(json),
        documents: vec![root],
        seen: HashSet::new(),
        queue: VecDeque::new(),
        errors: Vec::new(),
        file_references: Vec::new(),
        graph: InPlaceGraph::default(),
        compile_lazily: true,
    };
    bundler.enqueue(PendingSchema {
        node: SchemaLocation { document: 0, pointer: String::new() },
        depth: 0,
        base: String::new(),
        report_at: None,
    });
    bundler.visit_all();
    bundler.finish()
}

impl Bundler<'_> {
    fn enqueue(&mut self, pending: PendingSchema) {
        if self.seen.insert(pending.node.clone()) {
            self.queue.push_back(pending);
        }
    }

    fn visit_all(&mut self) {
        while let Some(pending) = self.queue.pop_front() {
            if pending.depth > MAX_DEPTH {
                self.push_error(&pending, SchemaError::new("", format!("schema nesting exceeds {MAX_DEPTH} levels")));
                return;
            }
            if self.seen.len() > MAX_SUBSCHEMAS {
                self.push_error(
                    &pending,
                    SchemaError::new("", format!("schema has more than {MAX_SUBSCHEMAS} subschemas")),
                );
                return;
            }
            self.visit(pending);
        }
    }

    fn visit(&mut self, mut pending: PendingSchema) {
        let Some(json) = self.documents.get(pending.node.document).map(|document| Arc::clone(&document.json)) else {
            return;
        };
        let Some(value) = json.pointer(&pending.node.pointer) else { return };
        for error in check::keyword_errors(value, self.draft) {
            self.push_error(&pending, error);
        }
        let Some(schema) = value.as_object() else { return };
        self.note_compiler_keywords(schema);
        let has_id = schema.get("$id").and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
        if has_id {
            pending.base.clone_from(&pending.node.pointer);
        }
        for child in keyword::direct_subschemas(schema, self.draft) {
            let pointer = format!("{}{}", pending.node.pointer, child.pointer_suffix);
            let node = SchemaLocation { document: pending.node.document, pointer };
            if child.application == keyword::Applicator::InPlace {
                let at = self.report_pointer(&pending, &child.pointer_suffix);
                self.graph.add(&pending.node, &node, at);
            }
            let (base, report_at) = (pending.base.clone(), pending.report_at.clone());
            self.enqueue(PendingSchema { node, depth: pending.depth + 1, base, report_at });
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = schema.get(keyword).and_then(Value::as_str) {
                self.follow_reference(&pending, keyword, reference);
            }
        }
    }

    /// Notes keywords that only the compiler can check.
    fn note_compiler_keywords(&mut self, schema: &Map<String, Value>) {
        const KEYWORDS_NEEDING_EAGER_COMPILE: &[&str] =
            &["$id", "id", "$anchor", "$dynamicAnchor", "$vocabulary", "$schema"];
        let peculiar =
            schema.keys().any(|name| KEYWORDS_NEEDING_EAGER_COMPILE.contains(&name.as_str()) || name.ends_with("Ref"))
                || schema.contains_key("$ref")
                || pattern::has_patterns(schema);
        self.compile_lazily &= !peculiar;
    }

    fn follow_reference(&mut self, pending: &PendingSchema, keyword: &'static str, reference: &str) {
        let resolved = match self.resolve_reference(pending, reference) {
            Ok(resolved) => resolved,
            Err(error) => return self.push_error(pending, error.map_position(|_| format!("/{keyword}"))),
        };
        let Some((to, base)) = resolved else { return };
        let at = self.report_pointer(pending, &format!("/{keyword}"));
        self.graph.add(&pending.node, &to, at.clone());
        if to.document != 0 {
            if pending.node.document == 0 && !pending.base.is_empty() {
                let message = "unsupported reference to a file from a schema with its own `$id`";
                return self.push_error(pending, SchemaError::new(format!("/{keyword}"), message));
            }
            self.file_references.push(FileReference { from: pending.node.clone(), keyword, to: to.clone() });
        }
        let report_at = (to.document != 0).then_some(at);
        self.enqueue(PendingSchema { node: to, depth: 0, base, report_at });
    }

    /// The target of a reference, and the base of `#/…` there. `None` for a meta-schema, which every validator has.
    fn resolve_reference(
        &mut self,
        pending: &PendingSchema,
        reference: &str,
    ) -> Result<Option<(SchemaLocation, String)>, SchemaError> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if keyword::draft_from_uri(uri).is_some() {
            return Ok(None);
        }
        let (document, base) = if uri.is_empty() {
            (pending.node.document, pending.base.clone())
        } else if let Some(inside) = self.find_by_id(pending.node.document, uri) {
            (pending.node.document, inside)
        } else {
            (self.load_document(pending.node.document, uri)?, String::new())
        };
        let Some(json) = self.documents.get(document).map(|document| &document.json) else { return Ok(None) };
        let pointer =
            resolve_fragment(json, &base, fragment).ok_or_else(|| unresolved_reference(json, reference, fragment))?;
        Ok(Some((SchemaLocation { document, pointer }, base)))
    }

    /// The schema of a document whose `$id` is `uri`.
    fn find_by_id(&self, document: usize, uri: &str) -> Option<String> {
        let json = &self.documents.get(document)?.json;
        let predicate = |schema: &Map<String, Value>| {
            let id = schema.get("$id").or_else(|| schema.get("id")).and_then(Value::as_str);
            id.is_some_and(|id| id.trim_end_matches('#') == uri)
        };
        find_object(json, &predicate)
    }

    fn load_document(&mut self, from: usize, uri: &str) -> Result<usize, SchemaError> {
        let base = self.documents.get(from).map_or("", |document| document.path.as_str());
        let path = relative_to(base, uri);
        if let Some(position) = self.documents.iter().skip(1).position(|document| document.path == path) {
            return Ok(position + 1);
        }
        let Some(json) = (self.load_reference)(&path) else { return Err(missing_document(&path)) };
        if !check::has_depth_within(&json, 2 * MAX_DEPTH) {
            let message = format!("nesting of {} exceeds {MAX_DEPTH} levels", describe::quote_name(&path));
            return Err(SchemaError::new("", message));
        }
        if let Some(draft) = json.get("$schema").and_then(Value::as_str)
            && keyword::draft_from_uri(draft) != Some(self.draft)
        {
            let message =
                format!("mismatched draft of {}: {}", describe::quote_name(&path), describe::quote_name(draft));
            return Err(SchemaError::new("", message).help("use the same `$schema` in both"));
        }
        self.documents.push(SchemaDocument { path, json: Arc::new(json) });
        Ok(self.documents.len() - 1)
    }

    fn report_pointer(&self, pending: &PendingSchema, pointer_suffix: &str) -> String {
        pending.report_at.clone().unwrap_or_else(|| format!("{}{pointer_suffix}", pending.node.pointer))
    }

    /// Adds an error whose pointer is relative to the schema.
    fn push_error(&mut self, pending: &PendingSchema, mut error: SchemaError) {
        if let Some(document) = self.documents.get(pending.node.document).filter(|_| pending.node.document != 0) {
            error.message =
                format!("in `{}` at `{}{}`: {}", document.path, pending.node.pointer, error.at, error.message);
        }
        self.errors.push(error.map_position(|pointer_suffix| self.report_pointer(pending, &pointer_suffix)));
    }

    fn finish(mut self) -> Result<SchemaBundle, Vec<SchemaError>> {
        self.errors.extend(self.graph.errors());
        if !self.errors.is_empty() {
            let patterns = self.documents.first().map(|root| pattern::pattern_errors(&root.json, self.draft));
            self.errors.extend(patterns.unwrap_or_default());
            return Err(self.errors);
        }
        let Some(root) = self.documents.first().map(|root| root.json.as_ref().clone()) else { return Err(self.errors) };
        Ok(SchemaBundle { json: self.embed_documents(root), draft: self.draft, compile_lazily: self.compile_lazily })
    }

    /// The root with the referenced schemas of files under `$defs`.
    fn embed_documents(&self, mut root: Value) -> Value {
        if self.file_references.is_empty() {
            return root;
        }
        let key = if self.draft <= Draft::Draft7 { "definitions" } else { "$defs" };
        let names = self.definition_names(root.get(key).and_then(Value::as_object));
        let references = names.iter().map(|(node, name)| (*node, pointer::join(&format!("#/{key}"), name))).collect();
        self.rewrite_references(&mut root, 0, "", &references);
        let mut entries = Map::new();
        for (node, name) in names {
            let Some(document) = self.documents.get(node.document) else { continue };
            let mut entry = document.json.pointer(&node.pointer).cloned().unwrap_or_default();
            self.rewrite_references(&mut entry, node.document, &node.pointer, &references);
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

    fn definition_names(&self, names: Option<&Map<String, Value>>) -> IndexMap<&SchemaLocation, String> {
        let mut named: IndexMap<&SchemaLocation, String> = IndexMap::new();
        let mut used: HashSet<String> = names.into_iter().flat_map(Map::keys).cloned().collect();
        for FileReference { to, .. } in &self.file_references {
            if named.contains_key(to) {
                continue;
            }
            let stem = self.documents.get(to.document).map_or("", |document| file_stem(&document.path));
            let wanted = pointer::segments(&to.pointer).last().unwrap_or_else(|| stem.into());
            let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
            let plain: String = wanted.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
            let base = if plain.is_empty() { "schema".to_owned() } else { plain };
            let mut names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}-{number}")));
            let name = names.find(|name| !used.contains(name)).unwrap_or_default();
            used.insert(name.clone());
            named.insert(to, name);
        }
        named
    }

    fn rewrite_references(
        &self,
        json: &mut Value,
        document: usize,
        within: &str,
        references: &BTreeMap<&SchemaLocation, String>,
    ) {
        for link in self.file_references.iter().filter(|link| link.from.document == document) {
            let pointer =
                link.from.pointer.strip_prefix(within).filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let schema = pointer.and_then(|pointer| json.pointer_mut(pointer)).and_then(Value::as_object_mut);
            if let (Some(schema), Some(reference)) = (schema, references.get(&link.to)) {
                if link.keyword != "$ref" {
                    schema.remove(link.keyword);
                }
                schema.insert("$ref".to_owned(), Value::String(reference.clone()));
            }
        }
    }
}

fn resolve_fragment(json: &Value, base: &str, fragment: &str) -> Option<String> {
    let fragment = percent_decode_lossy(fragment);
    if fragment.is_empty() || fragment.starts_with('/') {
        let pointer = format!("{base}{fragment}");
        return json.pointer(&pointer).is_some().then_some(pointer);
    }
    let hashed = format!("#{fragment}");
    find_object(json, &|schema| {
        let is = |key: &str, wanted: &str| schema.get(key).and_then(Value::as_str) == Some(wanted);
        is("$anchor", &fragment) || is("$dynamicAnchor", &fragment) || is("$id", &hashed) || is("id", &hashed)
    })
}

/// The pointer of the first object that matches.
fn find_object(json: &Value, predicate: &dyn Fn(&Map<String, Value>) -> bool) -> Option<String> {
    let mut queue = VecDeque::from([(String::new(), json)]);
    while let Some((pointer, value)) = queue.pop_front() {
        match value {
            Value::Object(map) if predicate(map) => return Some(pointer),
            Value::Object(map) => queue.extend(map.iter().map(|(key, value)| (pointer::join(&pointer, key), value))),
            Value::Array(list) => {
                queue.extend(list.iter().enumerate().map(|(index, value)| (format!("{pointer}/{index}"), value)));
            }
            _ => {}
        }
    }
    None
}

fn unresolved_reference(json: &Value, reference: &str, fragment: &str) -> SchemaError {
    let fragment = percent_decode_lossy(fragment);
    let wanted = pointer::segments(&fragment).last().unwrap_or_default();
    let beside = json.pointer(pointer::parent(&fragment)).and_then(Value::as_object);
    let near = beside.and_then(|map| nearest(&wanted, map.keys().map(String::as_str)));
    let help = near.map(|near| format!("did you mean `{}`?", pointer::join(pointer::parent(&fragment), near)));
    SchemaError::new("", format!("unresolved reference {}", describe::quote_name(reference))).optional_help(help)
}

fn missing_document(path: &str) -> SchemaError {
    let name = describe::quote_name(path);
    if has_scheme(path) {
        return SchemaError::new("", format!("unsupported remote reference {name}"))
            .help("schemas are never fetched; save it as a file in the pack and refer to its path");
    }
    SchemaError::new("", format!("schema file {name} not found"))
        .help("paths are relative to the file that contains the reference")
}

/// The path `uri` of the file `base`, relative to the base of `base`.
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

/// Removes the identifiers and anchors of an embedded schema.
fn strip_identifiers(entry: &mut Value, draft: Draft) {
    let pointers: Vec<String> = keyword::subschemas(entry, draft).into_iter().map(|(pointer, _)| pointer).collect();
    for pointer in pointers {
        if let Some(schema) = entry.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            for key in ["$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor"] {
                schema.remove(key);
            }
        }
    }
}
