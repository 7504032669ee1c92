//! Collects references between entries while they are built, and checks them once all entries are known.

use std::collections::{BTreeMap, HashSet};

use crate::action::{ArgumentTemplates, EntryReference, Run};
use crate::compile::LoadContext;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::manifest::{Arguments, Complete};
use crate::yaml::{Location, Spanned, flow_scalar};

/// An entry that can run, and that runs can name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::catalog) struct EntryId {
    kind: &'static str,
    name: String,
}

impl EntryId {
    pub(in crate::catalog) fn tool(name: &str) -> EntryId {
        EntryId { kind: "tool", name: name.to_owned() }
    }

    pub(in crate::catalog) fn prompt(name: &str) -> EntryId {
        EntryId { kind: "prompt", name: name.to_owned() }
    }

    /// Whether it is a tool.
    pub(in crate::catalog) fn is_tool(&self) -> bool {
        self.kind == "tool"
    }

    /// Whether it is a resource.
    pub(in crate::catalog) fn is_resource(&self) -> bool {
        self.kind == "resource"
    }

    /// Its name, as it is written where it is named.
    pub(in crate::catalog) fn name(&self) -> &str {
        &self.name
    }

    pub(in crate::catalog) fn resource(name: &str) -> EntryId {
        EntryId { kind: "resource", name: name.to_owned() }
    }
}

/// The arguments that a step or a test passes to an entry.
#[derive(Debug)]
pub(in crate::catalog) struct DeclaredCall {
    pub(in crate::catalog) entry_id: EntryId,
    /// The location of its name.
    pub(in crate::catalog) at: Location,
    pub(in crate::catalog) arguments: ArgumentTemplates,
    /// Whether its strings are templates.
    pub(in crate::catalog) has_templates: bool,
}

/// What entries of one pack refer to.
#[derive(Debug, Default)]
pub(in crate::catalog) struct ReferenceCollector {
    /// URIs of this server that are read, some of them with `{{…}}`.
    pub(in crate::catalog) uris: Vec<Spanned<String>>,
    /// URIs of links, which may lead to other servers.
    pub(in crate::catalog) links: Vec<Spanned<String>>,
    /// URIs of which clients are notified. A file may yet be written then.
    notified: Vec<Spanned<String>>,
    /// The entries of the same pack that are named.
    pub(in crate::catalog) references: Vec<(EntryId, Location)>,
    /// What entries are given, wherever they are named.
    pub(in crate::catalog) calls: Vec<DeclaredCall>,
    /// What the run of each entry names, and where.
    runs: BTreeMap<EntryId, Vec<(EntryId, Location)>>,
    /// The entries whose runs ask the client.
    entries_that_ask: HashSet<EntryId>,
    /// What repeated steps call, and where.
    calls_in_loops: Vec<(EntryId, Location)>,
}

impl ReferenceCollector {
    /// Whether no entry of the pack names another.
    pub(in crate::catalog) fn names_nothing(&self) -> bool {
        let ReferenceCollector { uris, links, notified, references, runs, calls_in_loops, calls, entries_that_ask: _ } =
            self;
        [uris, links, notified].iter().all(|uris| uris.is_empty())
            && [references, calls_in_loops].iter().all(|named| named.is_empty())
            && runs.is_empty()
            && calls.is_empty()
    }

    /// Notes what the run of an entry names.
    pub(in crate::catalog) fn record_run(&mut self, from: EntryId, run: Option<&Spanned<Run>>) {
        if run.is_some_and(|run| run.asks()) {
            self.entries_that_ask.insert(from.clone());
        }
        for mention in run.iter().flat_map(|run| run.repeated_references()) {
            match mention {
                EntryReference::Tool(name, _) => self.calls_in_loops.push((EntryId::tool(&name), name.location)),
                EntryReference::Prompt(name, _) => self.calls_in_loops.push((EntryId::prompt(&name), name.location)),
                EntryReference::Resource(_) | EntryReference::Notified(_) => {}
            }
        }
        for mention in run.iter().flat_map(|run| run.references()) {
            let (entry_id, at, given) = match mention {
                EntryReference::Tool(name, given) => (EntryId::tool(&name), name.location, given),
                EntryReference::Prompt(name, given) => (EntryId::prompt(&name), name.location, given),
                EntryReference::Resource(uri) => {
                    self.uris.push(uri);
                    continue;
                }
                EntryReference::Notified(uri) => {
                    self.notified.push(uri);
                    continue;
                }
            };
            self.references.push((entry_id.clone(), at));
            self.calls.push(DeclaredCall { entry_id: entry_id.clone(), at, arguments: given, has_templates: true });
            self.runs.entry(from.clone()).or_default().push((entry_id, at));
        }
    }

    /// Notes the resources and runs that complete the arguments of an entry.
    pub(in crate::catalog) fn record_completions(&mut self, from: &EntryId, arguments: &Arguments) {
        for complete in arguments.values().filter_map(|argument| argument.complete.as_ref()) {
            if let Complete::From(body) = &complete.value {
                self.record_run(from.clone(), body.run.as_ref());
                self.references.extend(body.resource.iter().map(|name| (EntryId::resource(name), name.location)));
            }
        }
    }

    /// Reports what does not exist, and runs that come back to themselves.
    pub(in crate::catalog) fn check(&self, known: &KnownEntries<'_>, load_context: &mut LoadContext) {
        for uri in self.uris.iter().filter(|uri| !(known.has_route)(uri)) {
            let (message, span) = (format!("unknown resource `{}`", **uri), uri.location.span());
            let diagnostic = load_context.error(Code::UnknownReference, span, message);
            known.suggest_uri(uri, diagnostic);
        }
        self.warn_of_links(known, load_context);
        for (kind, names) in known.names {
            let set: HashSet<&str> = names.iter().map(String::as_str).collect();
            for (entry_id, at) in self.references.iter().filter(|(entry_id, _)| entry_id.kind == kind) {
                if !set.contains(entry_id.name.as_str()) {
                    let name = entry_id.name.as_str();
                    let other_kind = known.names.iter().find(|(_, names)| names.iter().any(|known| known == name));
                    let message = format!("unknown {kind} `{name}`");
                    let diagnostic = load_context.error(Code::UnknownReference, *at, message);
                    match other_kind {
                        Some((other_kind, _)) => diagnostic.help(format!("`{name}` is a {other_kind}")),
                        None => diagnostic.did_you_mean(name, names.iter().map(String::as_str)),
                    };
                }
            }
        }
        self.check_cycles(load_context);
        self.check_repeated_questions(load_context);
    }

    /// Reports repeated steps whose entries ask the client, directly or by what they call.
    fn check_repeated_questions(&self, load_context: &mut LoadContext) {
        for (entry_id, at) in &self.calls_in_loops {
            let mut seen: HashSet<&EntryId> = HashSet::new();
            let mut open = vec![entry_id];
            while let Some(next) = open.pop() {
                if !seen.insert(next) {
                    continue;
                }
                if self.entries_that_ask.contains(next) {
                    let message = format!("`{}` asks the client, and cannot be repeated by `each`", next.name);
                    load_context
                        .error(Code::Conflict, *at, message)
                        .help("ask for everything in one step, before the step with `each`");
                    break;
                }
                open.extend(self.references_of(next).iter().map(|(entry_id, _)| entry_id));
            }
        }
    }

    /// Warns of missing files, which may yet appear, and of unknown links, which may belong to another server.
    fn warn_of_links(&self, known: &KnownEntries<'_>, load_context: &mut LoadContext) {
        let mut warn = |uri: &Spanned<String>, message: String| {
            let diagnostic = load_context.warning(Code::UnknownReference, uri.location, message);
            known.suggest_uri(uri, diagnostic);
        };
        let exists = |uri: &str| match uri.contains("{{") {
            true => (known.has_route)(uri).then_some(true),
            false => (known.resource_exists)(uri),
        };
        for uri in self.uris.iter().chain(&self.links).filter(|uri| exists(uri) == Some(false)) {
            warn(uri, format!("file not found for `{}`", **uri));
        }
        let named = self.links.iter().chain(&self.notified);
        for uri in named.filter(|uri| exists(uri).is_none()) {
            let scheme = scheme_of(uri);
            let is_own = known.schemes().any(|known| known.eq_ignore_ascii_case(scheme));
            let is_of_web = matches!(scheme, "http" | "https" | "file");
            let is_near = scheme.len() > 3 && !is_of_web && nearest(scheme, known.schemes()).is_some();
            if (is_own || is_near) && !known.uris.contains(uri) {
                warn(uri, format!("unknown resource `{}`", **uri));
            }
        }
    }

    fn check_cycles(&self, load_context: &mut LoadContext) {
        let mut seen = BTreeMap::new();
        for start in self.runs.keys() {
            let Some((cycle, at)) = self.find_cycle(start, &mut seen) else { continue };
            let names: Vec<String> =
                cycle.iter().chain(cycle.first()).map(|entry_id| format!("`{}`", entry_id.name)).collect();
            let message = format!("cyclic run: {}", names.join(" → "));
            load_context.error(Code::Cycle, at, message).help("remove one of these steps; the run would never end");
        }
    }

    /// Follows unvisited runs from `start`, and returns the first cycle with the location that closes it. Iterative,
    /// since a chain may be as long as there are entries.
    fn find_cycle<'a>(
        &'a self,
        start: &'a EntryId,
        seen: &mut BTreeMap<&'a EntryId, VisitState>,
    ) -> Option<(Vec<&'a EntryId>, Location)> {
        if seen.contains_key(start) {
            return None;
        }
        seen.insert(start, VisitState::InProgress(0));
        let mut path = vec![(start, self.references_of(start).iter())];
        while let Some((entry_id, open)) = path.last_mut() {
            let Some((next, at)) = open.next() else {
                seen.insert(entry_id, VisitState::Done);
                path.pop();
                continue;
            };
            match seen.get(next) {
                Some(VisitState::Done) => {}
                Some(VisitState::InProgress(first)) => {
                    let circle = path.iter().skip(*first).map(|(entry_id, _)| *entry_id).collect();
                    path.iter().for_each(|(entry_id, _)| _ = seen.insert(entry_id, VisitState::Done));
                    return Some((circle, *at));
                }
                None => {
                    seen.insert(next, VisitState::InProgress(path.len()));
                    path.push((next, self.references_of(next).iter()));
                }
            }
        }
        None
    }

    /// What the run of an entry names.
    fn references_of(&self, entry_id: &EntryId) -> &[(EntryId, Location)] {
        self.runs.get(entry_id).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The state of an entry in the search for cycles.
enum VisitState {
    /// On the current path, at this distance from its start.
    InProgress(usize),
    /// Completely visited.
    Done,
}

/// The entries that references may name.
pub(in crate::catalog) struct KnownEntries<'a> {
    /// Whether the pack has a route for a URI, or may have one for each value of its `{{…}}`.
    pub(in crate::catalog) has_route: &'a dyn Fn(&str) -> bool,
    /// Whether the resource of a URI exists, if known; `None` if no pack serves it.
    pub(in crate::catalog) resource_exists: &'a dyn Fn(&str) -> Option<bool>,
    /// The URIs without variables.
    pub(in crate::catalog) uris: &'a [String],
    /// The texts with which the URIs of the pack's templates begin.
    pub(in crate::catalog) uri_beginnings: &'a [&'a str],
    /// The names of each kind of entry: the pack's own, and of packs that it takes in as it lists them.
    pub(in crate::catalog) names: [(&'static str, &'a [String]); 3],
}

impl KnownEntries<'_> {
    /// The schemes of the URIs of this server.
    fn schemes(&self) -> impl Iterator<Item = &str> {
        self.uris.iter().map(String::as_str).chain(self.uri_beginnings.iter().copied()).map(scheme_of)
    }

    /// Adds what was probably meant by an unknown URI: a URI like it, the beginning of a template, or a scheme.
    fn suggest_uri(&self, uri: &Spanned<String>, diagnostic: &mut Diagnostic) {
        let near = match uri.split_once("{{") {
            None => nearest(uri, self.uris.iter().map(String::as_str)).map(str::to_owned),
            Some((beginning, rest)) => {
                nearest(beginning, self.uri_beginnings.iter().copied()).map(|near| format!("{near}{{{{{rest}"))
            }
        };
        let near = near.or_else(|| {
            let scheme = scheme_of(uri);
            let near = nearest(scheme, self.schemes()).filter(|near| *near != scheme)?;
            Some(format!("{near}{}", uri.get(scheme.len()..)?))
        });
        if let Some(near) = near {
            diagnostic.help(format!("did you mean `{near}`?")).suggest(uri.location.span(), flow_scalar(&near));
        }
    }
}

fn scheme_of(uri: &str) -> &str {
    uri.split(':').next().unwrap_or_default()
}
