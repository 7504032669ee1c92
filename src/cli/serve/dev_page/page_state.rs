//! The state of a load, as the page shows it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::entry_of_problem::ProblemEntries;
use super::partial_uses::entries_with_partials;
use crate::catalog::{BridgePolicy, BridgedLists, BuildOutcome, Catalog, ClientProfile, EntryPlaces, KnownClient};
use crate::cli::manifest::load_fingerprint;
use crate::dev_page::{DevPageError, PageEntry, PageEntryKind};
use crate::diagnostic::{Fix, Report, SourceFile, TerminalStyle, render_frames, render_json, summary};
use crate::redact::Redactor;
use crate::yaml::Location;

/// How many problems the page lists; the summary counts them all.
const MAX_SHOWN_PROBLEMS: usize = 200;

/// One load, and what is served after it. What the page is told of it is made when a page is open.
pub(in crate::cli::serve) struct PageState {
    pub(super) report: Report,
    /// What is served, if it is a manifest and not its errors.
    pub(super) catalog: Option<Arc<Catalog>>,
    /// Where the entries of the load are.
    pub(super) places: Arc<EntryPlaces>,
    pub(super) redactor: Arc<Redactor>,
    /// The load that is served, if that is an earlier one.
    served: Option<Arc<PageState>>,
    place_map: OnceLock<BTreeMap<String, EntryPlace>>,
    time: u64,
}

/// Where an entry is declared.
#[derive(Debug, PartialEq, Serialize)]
struct EntryPlace {
    #[serde(skip_serializing_if = "Option::is_none")]
    pack: Option<String>,
    /// As messages show it.
    file: String,
    /// The same, absolute.
    path: PathBuf,
    line: u32,
}

impl PageState {
    /// The state after a load; `earlier` is the one before, whose catalog may still be served.
    pub(in crate::cli::serve) fn new(
        built: &BuildOutcome,
        catalog: Option<&Arc<Catalog>>,
        earlier: Option<&Arc<PageState>>,
        time: u64,
    ) -> PageState {
        let served = earlier.filter(|_| built.report.has_errors()).map(|earlier| earlier.served().clone());
        PageState {
            report: built.report.clone(),
            catalog: catalog.cloned(),
            places: built.places.clone(),
            redactor: built.redactor.clone(),
            served,
            place_map: OnceLock::new(),
            time,
        }
    }

    /// The load whose catalog is served.
    pub(super) fn served(self: &Arc<PageState>) -> &Arc<PageState> {
        self.served.as_ref().unwrap_or(self)
    }

    /// Tells this state from others.
    pub(super) fn digest(&self) -> String {
        format!("{:016x}", load_fingerprint(&self.report, None))
    }

    /// The event: what is another than `before`, or all of it.
    pub(in crate::cli::serve) fn to_event(self: &Arc<PageState>, before: Option<&Arc<PageState>>) -> Arc<str> {
        let catalog = self.catalog.as_deref();
        let bridge = catalog.map(|catalog| catalog.server().bridge).unwrap_or_default();
        let clients: Vec<ClientView> = KnownClient::ALL.iter().map(|client| ClientView::new(*client, bridge)).collect();
        let event = json!({
            "type": "state",
            "clients": clients,
            "server": catalog.map(|catalog| &catalog.server().name),
            "broken": self.report.has_errors(),
            "problems": self.problems(),
            "summary": summary(&self.report),
            "digest": self.digest(),
            "time": self.time,
            "schemas": schema_changes(before.and_then(|before| before.catalog.as_deref()), catalog),
            "places": self.place_changes(before),
            "edited": before.map(|before| self.edited_since(before)).unwrap_or_default(),
        });
        let message = self.redactor.redact_message(event.to_string().into_bytes());
        String::from_utf8_lossy(&message).into()
    }

    /// The first problems, each with its frame, its entry, and the path by which an editor opens its file.
    fn problems(&self) -> Value {
        let mut problems: Vec<Value> = serde_json::from_str(&render_json(&self.report)).unwrap_or_default();
        problems.truncate(MAX_SHOWN_PROBLEMS);
        let mut entries = ProblemEntries::new(&self.report, &self.places);
        let frames = render_frames(&self.report, TerminalStyle::default());
        for ((problem, diagnostic), frame) in problems.iter_mut().zip(self.report.diagnostics()).zip(frames) {
            set(problem, "frame", frame);
            set(problem, "fixable", diagnostic.fix.as_ref().is_some_and(|fix| is_fixable(&self.report, fix)));
            let path = problem.get("file").and_then(Value::as_str).and_then(|file| std::path::absolute(file).ok());
            if let Some(path) = path {
                set(problem, "path", path.to_string_lossy());
            }
            if let Some(entry) = diagnostic.span.and_then(|span| entries.find(span)) {
                set(problem, "entry", entry);
            }
        }
        problems.into()
    }

    /// The places that are others than before, and the entries that are gone.
    fn place_changes(self: &Arc<PageState>, before: Option<&Arc<PageState>>) -> Value {
        let now = self.served().place_map();
        let before = before.map(|before| before.served().place_map());
        let known = |key: &String| before.and_then(|before| before.get(key));
        let changed: BTreeMap<_, _> = now.iter().filter(|(key, place)| known(key) != Some(*place)).collect();
        let gone: Vec<&String> =
            before.into_iter().flatten().map(|(key, _)| key).filter(|key| !now.contains_key(*key)).collect();
        json!({ "whole": before.is_none(), "changed": changed, "gone": gone })
    }

    fn place_map(&self) -> &BTreeMap<String, EntryPlace> {
        self.place_map.get_or_init(|| {
            let all = self.entries().into_iter();
            all.filter_map(|entry| Some((entry.kind.key(&entry.id), self.entry_place(self.location_of(&entry)?)?)))
                .collect()
        })
    }

    /// The entries that are served.
    fn entries(&self) -> Vec<PageEntry> {
        let Some(lists) = self.catalog.as_ref().map(|catalog| catalog.lists()) else { return Vec::new() };
        let entry = |kind: PageEntryKind, id: &str| PageEntry { kind, id: id.to_owned() };
        let tools = lists.tools.iter().map(|tool| entry(PageEntryKind::Tool, &tool.name));
        let prompts = lists.prompts.iter().map(|prompt| entry(PageEntryKind::Prompt, &prompt.name));
        let resources = lists.resources.iter().map(|resource| entry(PageEntryKind::Resource, &resource.uri));
        let templates = lists.resource_templates.iter();
        let templates = templates.map(|template| entry(PageEntryKind::Template, &template.uri_template));
        tools.chain(prompts).chain(resources).chain(templates).collect()
    }

    /// Where an entry of this load is.
    pub(super) fn location_of(&self, entry: &PageEntry) -> Option<Location> {
        match entry.kind {
            PageEntryKind::Tool => self.places.tools.get(&entry.id).copied(),
            PageEntryKind::Prompt => self.places.prompts.get(&entry.id).copied(),
            PageEntryKind::Resource | PageEntryKind::Template => self.places.uri(&entry.id, self.catalog.as_deref()),
        }
    }

    fn entry_place(&self, at: Location) -> Option<EntryPlace> {
        let source = self.report.sources.get(at.file())?;
        let file = source.path().display().to_string();
        Some(EntryPlace {
            pack: self.places.pack_of(source.path()).and_then(|(pack, _)| pack.name.clone()),
            path: self.absolute_path(source),
            line: source.position(at.span().start).line,
            file,
        })
    }

    /// The path of a file by which an editor opens it.
    pub(super) fn absolute_path(&self, source: &SourceFile) -> PathBuf {
        let in_pack = self.places.pack_of(source.path()).map(|(pack, path)| pack.absolute(path));
        in_pack.unwrap_or_else(|| std::path::absolute(source.path()).unwrap_or_else(|_| source.path().to_owned()))
    }

    /// The entries whose source is another than it was.
    fn edited_since(self: &Arc<PageState>, before: &Arc<PageState>) -> Vec<String> {
        let (Some(now), Some(then)) = (&self.catalog, &before.catalog) else { return Vec::new() };
        if Arc::ptr_eq(now, then) {
            return Vec::new();
        }
        let (now, then) = (now.digests(), then.digests());
        let kinds = [
            (PageEntryKind::Prompt, &now.prompts, &then.prompts),
            (PageEntryKind::Tool, &now.tools, &then.tools),
            (PageEntryKind::Resource, &now.resources, &then.resources),
            (PageEntryKind::Template, &now.resource_templates, &then.resource_templates),
        ];
        let mut edited: Vec<String> = kinds
            .into_iter()
            .flat_map(|(kind, now, then)| changed_names(now, then).into_iter().map(move |name| kind.key(name)))
            .collect();
        let partials = changed_names(&now.partials, &then.partials);
        if !partials.is_empty() {
            edited.extend(entries_with_partials(self, &partials));
            edited.sort_unstable();
            edited.dedup();
        }
        edited
    }
}

/// The names whose digest is another than before, or that are new.
fn changed_names<'n>(now: &[(&'n str, u64)], then: &[(&str, u64)]) -> Vec<&'n str> {
    let then: std::collections::HashMap<&str, u64> = then.iter().copied().collect();
    now.iter().filter(|(name, digest)| then.get(name) != Some(digest)).map(|(name, _)| *name).collect()
}

/// Whether a fix may be applied without a look, and changes something.
pub(super) fn is_fixable(report: &Report, fix: &Fix) -> bool {
    fix.is_certain && report.sources.text_of(fix.span) != fix.text
}

/// A client of the page's switch.
#[derive(Serialize)]
struct ClientView {
    #[serde(flatten)]
    profile: &'static ClientProfile,
    bridged: BridgedLists,
}

impl ClientView {
    fn new(client: KnownClient, bridge: BridgePolicy) -> ClientView {
        ClientView { profile: client.profile(), bridged: bridge.lists_for_known(client.missing_lists()) }
    }
}

/// The schemas of a catalog that are others than `before`, and the names of those that are gone. Where there is nothing
/// before, all of them.
fn schema_changes(before: Option<&Catalog>, now: Option<&Catalog>) -> Value {
    let change = |select: fn(&Catalog) -> Schemas<'_>| {
        let before = before.map(select).unwrap_or_default();
        let mut now = now.map(select).unwrap_or_default();
        let removed: Vec<&str> = before.keys().filter(|name| !now.contains_key(*name)).copied().collect();
        now.retain(|name, schema| before.get(name).is_none_or(|old| !std::ptr::eq(*old, *schema) && *old != *schema));
        json!({ "changed": now, "gone": removed })
    };
    json!({ "whole": before.is_none(), "prompts": change(prompt_schemas), "templates": change(template_schemas) })
}

/// Schemas by name or template.
type Schemas<'c> = BTreeMap<&'c str, &'c Map<String, Value>>;

fn prompt_schemas(catalog: &Catalog) -> Schemas<'_> {
    catalog.prompt_schemas().filter(|(_, schema)| schema.contains_key("properties")).collect()
}

fn template_schemas(catalog: &Catalog) -> Schemas<'_> {
    catalog.template_schemas().collect()
}

/// An answer without secrets.
pub(super) fn redacted(answer: &Value, redactor: &Redactor) -> Result<Value, DevPageError> {
    let message = redactor.redact_message(answer.to_string().into_bytes());
    serde_json::from_slice(&message).map_err(|error| DevPageError::Failed(error.to_string()))
}

/// Sets a key of an object.
pub(in crate::cli::serve) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value.into());
    }
}
