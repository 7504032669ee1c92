//! From what was written to what is true: every entry of every pack, or a report with every fault.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::action::check_connection;
use crate::compile::{Compiler, Findings, Reads};
use crate::diagnostic::{Code, Report};
use crate::load::{Loaded, LoadedPack, Written};
use crate::manifest::Skills;
use crate::notation::Named;
use crate::redact::Redactor;
use crate::uri::{Router, UriTemplate};
use crate::world::HandOn;
use crate::yaml::{At, Spanned};

use super::Catalog;
use super::accept::Candidate;
use super::apps;
use super::calls;
use super::complete::{self, Served};
use super::entry::{Home, names};
use super::face::{self, Lists};
use super::inputs::Inputs;
use super::lint;
use super::listening::{Listening, hand_on, listening, server};
use super::prompt::{Building, Prompt};
use super::reference::{Known, Node, References};
use super::resource::Resource;
use super::routes::{Listed, Route, Routes, WrittenUri, warn_of_overlaps};
use super::server_limits::{ServerLimits, server_limits};
use super::skill::Collected;
use super::tool::Tool;
use super::trial;
use super::written;

/// What a load came to.
pub struct Built {
    /// The catalog, unless something is wrong. To be served it has to be accepted.
    pub catalog: Option<Candidate>,
    /// Everything that is wrong, sorted by place.
    pub report: Report,
    /// The files on which all of it depends.
    pub reads: Reads,
    /// What keeps the secrets of what was loaded, whether there is a catalog or not.
    pub redactor: Arc<Redactor>,
}

/// Builds the catalog of what was loaded, or says everything that is wrong with it.
pub fn build(loaded: Loaded) -> Built {
    let Loaded { mut findings, packs } = loaded;
    let mut builder = Builder::default();
    for pack in &packs {
        builder.pack(pack, &mut findings);
    }
    let catalog = builder.finish(&packs, &mut findings);
    findings.report.sort();
    let catalog = catalog.filter(|_| !findings.report.has_errors()).map(Candidate);
    let redactor = catalog.as_ref().map_or_else(|| Arc::new(redactor(&packs)), |catalog| catalog.redactor().clone());
    Built { catalog, report: findings.report, reads: findings.reads, redactor }
}

/// Hides the secrets of all packs.
fn redactor(packs: &[LoadedPack]) -> Redactor {
    Redactor::new(packs.iter().flat_map(|pack| pack.pack.env.secrets()))
}

/// The longest name of a prompt or a tool.
const LONGEST: usize = 64;

#[derive(Default)]
struct Builder {
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    skills: Collected,
    /// Where each name was taken first, by kind.
    tool_places: IndexMap<String, At>,
    prompt_places: IndexMap<String, At>,
    resource_places: IndexMap<String, At>,
    /// Where each URI was taken first.
    uris: IndexMap<String, At>,
    /// What is blocked or faulty has a name all the same.
    own_names: Vec<OwnNames>,
    /// The URIs of all that was written, faulty, blocked or not.
    written_uris: Vec<WrittenUri>,
    /// The packs, in the order in which they answer.
    homes: Vec<PackHome>,
    /// Where each test was declared first, by pack and name.
    tests: IndexMap<String, At>,
    references: Vec<References>,
}

/// What the served manifest says of the server as a whole.
struct Settings {
    server: super::face::Server,
    listening: Listening,
    limits: ServerLimits,
    keys: Vec<(String, u64)>,
    partials: Vec<(String, u64)>,
    hand_on: HandOn,
    redactor: Arc<Redactor>,
}

/// What the entries of a pack see, and the number of the pack that takes it in.
struct PackHome {
    home: Arc<Home>,
    importer: Option<usize>,
}

/// The names that the entries of one pack have inside it.
#[derive(Default)]
struct OwnNames {
    tools: Vec<String>,
    prompts: Vec<String>,
    resources: Vec<String>,
}

impl Builder {
    fn pack(&mut self, pack: &LoadedPack, findings: &mut Findings) {
        let home = Home::of(pack, self.own_names.is_empty(), &findings.report.sources);
        let mut references = References::default();
        let mut own = OwnNames::default();
        self.tests.clear();
        let steps = steps(pack);
        for file in &pack.files {
            own.prompts.extend(file.prompts.keys().map(|name| name.value.clone()));
            own.tools.extend(file.tools.keys().map(|name| name.value.clone()));
            own.resources.extend(file.resources.keys().map(|name| name.value.clone()));
            let uris = file.resources.values().filter_map(|resource| resource.uri.as_ref());
            let pack_number = self.own_names.len();
            self.written_uris.extend(uris.filter_map(|uri| {
                Some(WrittenUri { pack: pack_number, template: UriTemplate::parse(uri).ok()?, at: uri.at })
            }));
            self.file(file, pack, (&home, &mut references, &steps), findings);
        }
        let mut compiler = Compiler::new(findings, &pack.pack, std::path::Path::new(""));
        compiler.names = home.names.clone();
        pack.pack.connections.iter().for_each(|(name, written)| check_connection(name, written, &mut compiler));
        pack.skills.iter().for_each(|written| self.skills(written, &home, &mut compiler));
        self.own_names.push(own);
        self.homes.push(PackHome { home, importer: pack.importer });
        self.references.push(references);
    }

    fn file(
        &mut self,
        file: &Written,
        pack: &LoadedPack,
        shared: (&Arc<Home>, &mut References, &HashSet<&str>),
        findings: &mut Findings,
    ) {
        let (home, references, steps) = shared;
        let mut compiler = Compiler::new(findings, &pack.pack, &file.base);
        for (name, prompt) in &file.prompts {
            let (building, fresh) = begin(name, (home, references), &mut compiler, &mut self.prompt_places);
            building.references.runs(Node::prompt(name), prompt.run.as_ref());
            building.references.completions(&Node::prompt(name), &prompt.arguments);
            self.prompts.extend(Prompt::build(prompt, building).filter(|_| fresh));
        }
        for (name, resource) in &file.resources {
            let taken = &mut self.resource_places;
            let (building, fresh) = begin(name, (home, references), &mut compiler, taken);
            building.references.runs(Node::resource(name), resource.run.as_ref());
            building.references.completions(&Node::resource(name), &resource.arguments);
            let built = Resource::build(resource, building).filter(|_| fresh);
            self.resources.extend(built.filter(|built| unique_uri(built, resource, &mut self.uris, &mut compiler)));
        }
        for (name, tool) in &file.tools {
            let (building, fresh) = begin(name, (home, references), &mut compiler, &mut self.tool_places);
            building.references.runs(Node::tool(name), tool.run.as_ref());
            self.tools.extend(Tool::build(tool, building).filter(|_| fresh));
        }
        for (name, test) in &file.tests {
            if let Some(first) = self.tests.insert(name.value.clone(), name.at) {
                let words = format!("a second test is named `{}`", name.value);
                compiler.error(Code::Duplicate, name.at, words).note(first.span(), "the first");
            }
            trial::check(name, test, &mut compiler, (references, steps));
        }
        unknown_to_resources(&file.resources, &mut compiler);
    }

    /// Takes the skills of a pack: each of their files is a resource, whose URI must be its own.
    fn skills(&mut self, written: &Spanned<Skills>, home: &Arc<Home>, compiler: &mut Compiler<'_>) {
        self.skills.take(written, home, compiler);
        let at = written.dir.as_ref().map_or(written.at, |dir| dir.at);
        for uri in self.skills.uris_of(home) {
            match self.uris.get(uri) {
                Some(first) => {
                    let words = format!("a file of these skills has the URI `{uri}`, which is taken");
                    compiler.error(Code::Duplicate, at, words).note(first.span(), "taken here");
                }
                None => {
                    self.uris.insert(uri.to_owned(), at);
                    let pack = self.own_names.len();
                    let template = UriTemplate::parse(uri);
                    self.written_uris.extend(template.map(|template| WrittenUri { pack, template, at }));
                }
            }
        }
    }

    /// Checks what can be told only when every entry is known, and makes the catalog.
    fn finish(mut self, packs: &[LoadedPack], findings: &mut Findings) -> Option<Catalog> {
        let first = packs.first()?;
        let base = std::path::Path::new("");
        let mut compiler = Compiler::new(findings, &first.pack, base);
        let said = server(first, &mut compiler);
        compiler.names = names(&first.pack);
        let listening = listening(first, &mut compiler);
        let limits = server_limits(first, &mut compiler);
        let skills = self.skills.listed();
        let homes = self.homes.iter().map(|pack| pack.home.clone()).collect();
        let routes = Routes::new(homes, &self.resources, std::mem::take(&mut self.skills).finish());
        let lists = self.lists(skills, &routes);
        self.check_references(&lists, &routes, findings);
        self.check_calls(findings);
        self.check_completions(&routes, findings);
        warn_of_overlaps(&self.written_uris, findings);
        let answered = |uri: &str| match routes.find(uri)? {
            Route::Resource(nth, _) => self.resources.get(nth).map(|resource| resource.face(uri.to_owned()).mime_type),
            Route::Skill(_) => None,
        };
        packs.iter().for_each(|pack| apps::check(pack, &answered, findings));
        let said = said?;
        lint::warn(&said, &lists, (&self.tool_places, first.at), findings);
        let (keys, partials) = (written::keys(first, findings), written::partials(packs, findings));
        let redactor = Arc::new(redactor(packs).sparing(lists.names()));
        let hand_on = hand_on(first);
        let settings = Settings { server: said, listening: listening?, limits, hand_on, keys, partials, redactor };
        self.catalog(settings, lists, routes)
    }

    fn lists(&self, (skills, files): (Vec<face::Skill>, Vec<face::Resource>), routes: &Routes) -> Lists {
        let own = self.resources.iter().enumerate().flat_map(|(nth, resource)| {
            let of_served = resource.home.is_served();
            resource.listed().into_iter().map(move |face| Listed { face, resource: Some(nth), of_served })
        });
        let files = files.into_iter().map(|face| Listed { face, resource: None, of_served: false });
        Lists {
            tools: self.tools.iter().map(|tool| tool.face.clone()).collect(),
            prompts: self.prompts.iter().map(|prompt| prompt.face.clone()).collect(),
            resources: routes.answered(own.chain(files).collect()),
            skills,
            resource_templates: self.resources.iter().filter_map(Resource::listed_template).collect(),
        }
    }

    /// Checks what completes arguments by way of resources.
    fn check_completions(&self, routes: &Routes, findings: &mut Findings) {
        let served = Served { resources: &self.resources, routes };
        for prompt in &self.prompts {
            complete::check(prompt.completed(), &self.resources, findings);
            served.check(prompt.completed(), &|argument, value| prompt.uris_with(argument, value), findings);
        }
        for resource in &self.resources {
            complete::check(resource.completed(), &self.resources, findings);
            let uri_with = |variable: &str, value: &str| resource.uri_with(variable, value).into_iter().collect();
            served.check(resource.completed(), &uri_with, findings);
        }
    }

    /// Checks what entries refer to: their own pack, and the packs that it takes in.
    fn check_references(&self, lists: &Lists, routes: &Routes, findings: &mut Findings) {
        let has = |uri: &str| match routes.find(uri)? {
            Route::Resource(nth, values) => self.resources.get(nth).map(|resource| resource.has(&values)),
            Route::Skill(_) => None,
        };
        let uris: Vec<String> = lists.resources.iter().map(|resource| resource.uri.clone()).collect();
        for (number, references) in self.references.iter().enumerate() {
            let in_reach = |pack: usize| number == 0 || pack == number;
            let written = self.written_uris.iter().filter(|written| in_reach(written.pack));
            let router = Router::new(written.map(|written| (written.template.clone(), ())));
            let answers = |uri: &str| router.find(uri).is_some();
            let OwnNames { tools, prompts, resources } = &self.names_in_reach(number);
            references.check(&Known { answers: &answers, has: &has, uris: &uris, tools, prompts, resources }, findings);
        }
    }

    /// The names by which the entries of a pack can call others: its own, and those of the packs that it takes in.
    fn names_in_reach(&self, number: usize) -> OwnNames {
        let mut reach = OwnNames::default();
        for (other, own) in self.own_names.iter().enumerate().filter(|(other, _)| self.takes_in(number, *other)) {
            let (Some(PackHome { home, .. }), Some(inner)) = (self.homes.get(number), self.homes.get(other)) else {
                continue;
            };
            let name = |name: &String| home.own_name(&inner.home.whole_name(name));
            reach.tools.extend(own.tools.iter().filter_map(name));
            reach.prompts.extend(own.prompts.iter().filter_map(name));
            reach.resources.extend(own.resources.iter().filter_map(name));
        }
        reach
    }

    /// Whether a pack is another, or takes it in, directly or around.
    fn takes_in(&self, outer: usize, inner: usize) -> bool {
        let importer = |pack: &usize| self.homes.get(*pack).and_then(|pack| pack.importer);
        std::iter::successors(Some(inner), importer).any(|pack| pack == outer)
    }

    /// Checks what entries are given where steps and tests name them.
    fn check_calls(&self, findings: &mut Findings) {
        // What is not there, and is no fault, may not do what it would.
        let all_sound = !findings.report.has_errors();
        for (number, (references, PackHome { home, .. })) in self.references.iter().zip(&self.homes).enumerate() {
            for call in references.calls() {
                match self.inputs_of(&call.node, &home.whole_name(call.node.name())) {
                    Some(inputs) => calls::check(call, inputs, findings),
                    None if all_sound && number == 0 => calls::not_granted(call, findings),
                    None => {}
                }
            }
        }
    }

    fn inputs_of(&self, node: &Node, name: &str) -> Option<&Inputs> {
        match node.is_tool() {
            true => self.tools.iter().find(|tool| tool.face.name == name).map(Tool::inputs),
            false => self.prompts.iter().find(|prompt| prompt.face.name == name).map(Prompt::inputs),
        }
    }

    fn catalog(self, settings: Settings, lists: Lists, routes: Routes) -> Option<Catalog> {
        let by_name = |names: Vec<&String>| -> HashMap<String, usize> {
            names.into_iter().enumerate().map(|(nth, name)| (name.clone(), nth)).collect()
        };
        let tool_names = by_name(self.tools.iter().map(|tool| &tool.face.name).collect());
        let prompt_names = by_name(self.prompts.iter().map(|prompt| &prompt.face.name).collect());
        Some(Catalog {
            server: settings.server,
            listening: settings.listening,
            limits: settings.limits,
            hand_on: settings.hand_on,
            lists,
            tools: self.tools,
            tool_names,
            prompts: self.prompts,
            prompt_names,
            resources: self.resources,
            routes,
            keys: settings.keys,
            partials: settings.partials,
            redactor: settings.redactor,
        })
    }
}

/// The names of all steps of a pack.
fn steps(pack: &LoadedPack) -> HashSet<&str> {
    let runs = pack.files.iter().flat_map(|file| {
        let tools = file.tools.values().filter_map(|tool| tool.run.as_ref());
        let prompts = file.prompts.values().filter_map(|prompt| prompt.run.as_ref());
        let resources = file.resources.values().filter_map(|resource| resource.run.as_ref());
        tools.chain(prompts).chain(resources)
    });
    runs.flat_map(|run| run.ids()).collect()
}

/// Takes an entry's name, and says whether it is the first that has it.
fn begin<'a, 'c>(
    name: &Spanned<String>,
    shared: (&'a Arc<Home>, &'a mut References),
    compiler: &'a mut Compiler<'c>,
    taken: &mut IndexMap<String, At>,
) -> (Building<'a, 'c>, bool) {
    let whole = shared.0.whole_name(name);
    let fine = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if whole.is_empty() || whole.len() > LONGEST || !whole.chars().all(fine) {
        let words = format!("`{whole}` is no name of an entry");
        compiler.error(Code::BadName, name.at, words).help(format!("use 1 to {LONGEST} letters, digits, `_` and `-`"));
    }
    let first = taken.get(&whole).copied();
    match first {
        Some(first) => {
            compiler
                .error(Code::Duplicate, name.at, format!("the name `{whole}` is taken"))
                .note(first.span(), "taken here");
        }
        None => {
            taken.insert(whole.clone(), name.at);
        }
    }
    compiler.names = shared.0.names.clone();
    compiler.allow_dash.clear();
    compiler.declared.clear();
    let before = compiler.findings.contents.len();
    (Building { compiler, references: shared.1, home: shared.0, name: whole, before }, first.is_none())
}

fn unique_uri(
    built: &Resource,
    written: &Spanned<crate::manifest::Resource>,
    uris: &mut IndexMap<String, At>,
    compiler: &mut Compiler<'_>,
) -> bool {
    let at = written.uri.as_ref().map_or(written.at, |uri| uri.at);
    let key = built.template.key();
    match uris.get(key.as_ref()) {
        Some(first) => {
            compiler
                .error(Code::Duplicate, at, format!("a second resource has the URI `{}`", built.template.as_str()))
                .note(first.span(), "the first");
            false
        }
        None => {
            uris.insert(key.into_owned(), at);
            true
        }
    }
}

/// Names of resources are for people, and take no part in URIs: nothing to check but that they are there.
fn unknown_to_resources(resources: &Named<Spanned<crate::manifest::Resource>>, compiler: &mut Compiler<'_>) {
    for name in resources.keys().filter(|name| name.trim().is_empty()) {
        compiler.error(Code::BadName, name.at, "a resource needs a name");
    }
}
