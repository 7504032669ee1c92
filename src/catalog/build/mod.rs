//! Builds a catalog from loaded packs, or a report with every error.

pub(super) mod call_check;
pub(super) mod entry_digests;
pub(super) mod entry_places;
pub(super) mod included_files;
pub(super) mod serving_checks;
pub(super) mod test_checks;
pub(super) mod unused_names;
mod claim;
mod completion_checks;
mod cross_checks;
mod entry_use;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::action::{check_connection, check_folder};
use crate::catalog::build::serving_checks::UnacceptedCatalog;
use crate::catalog::build::test_checks::StepActions;
use crate::catalog::clients::KnownClient;
use crate::catalog::clients::client_checks::{self, LintedServer};
use crate::catalog::entry::entry_references::{EntryId, ReferenceCollector};
use crate::catalog::entry::{PackContext, pack_names};
use crate::catalog::listing::mcp_apps;
use crate::catalog::listing::tool_search::{self, SearchTool};
use crate::catalog::listing::{Lists, ResourceTemplateListing, ServerInfo, ToolListing};
use crate::catalog::prompt::{CompiledPrompt, PromptParts};
use crate::catalog::resource::CompiledResource;
use crate::catalog::routes::{DeclaredUri, ListedResource, Route, Routes, warn_of_overlaps};
use crate::catalog::settings::http_settings::http_settings;
use crate::catalog::settings::operation_settings::operation_settings;
use crate::catalog::settings::server_info::{server_info, trace_propagation};
use crate::catalog::settings::server_limits::server_limits;
use crate::catalog::skill::{SkillCollector, SkillLinks, SkillListings};
use crate::catalog::tool::CompiledTool;
use crate::catalog::{Catalog, ServerSettings};
use crate::compile::{Compiler, GrantUse, LoadContext, LoadCoverage, LoadDependencies, PartKind, SandboxUse};
use crate::diagnostic::{Code, Diagnostic, Report};
use crate::identity::AccessControl;
use crate::load::{EntryFile, LoadedPack, LoadedPacks};
use crate::manifest::{Prompt, ToolSearch};
use crate::redact::{Redactor, SECRET_PLACEHOLDER};
use crate::template::CoverageMarker;
use crate::uri::UriTemplate;
use crate::yaml::{Location, Spanned};
use claim::{check_resource_names, claim_name, claim_uri, start_entry};
use entry_places::EntryPlaces;
use included_files::{PlacedFile, ReadFiles, ReadPacks};
use unused_names::UnusedName;

/// The outcome of a build.
pub struct BuildOutcome {
    /// The catalog, if there are not errors. It must be accepted before it is served.
    pub catalog: Option<UnacceptedCatalog>,
    /// All diagnostics, sorted by location.
    pub report: Report,
    /// The files on which all of it depends.
    pub dependencies: LoadDependencies,
    /// Redacts the secrets of the packs, with or without a catalog.
    pub redactor: Arc<Redactor>,
    /// The programs that have a sandbox.
    pub sandboxes: Vec<SandboxUse>,
    /// The programs that the manifest names, without those of the packs themselves.
    pub programs: BTreeSet<String>,
    /// What packs from elsewhere would do.
    pub grant_uses: Vec<GrantUse>,
    /// The parts of the manifest, where it is recorded which of them are reached.
    pub coverage: Option<LoadCoverage>,
    /// The included files, for a later load.
    pub files: ReadFiles,
    /// Where the entries are.
    pub places: Arc<EntryPlaces>,
}

/// Builds the catalog of the loaded packs, or reports all of their errors.
pub fn build(packs: impl Into<ReadPacks>) -> BuildOutcome {
    build_for_clients(packs, &[])
}

/// The same, with warnings of what these clients do not take.
pub fn build_for_clients(packs: impl Into<ReadPacks>, clients: &[KnownClient]) -> BuildOutcome {
    let ReadPacks { loaded: LoadedPacks { mut load_context, packs, .. }, plain_files, files } = packs.into();
    load_context.has_auth = packs.first().is_some_and(has_auth);
    load_context.caller_headers = packs.first().map(caller_headers).unwrap_or_default();
    let secrets = Arc::new(build_redactor(&packs, &load_context.report));
    let mut builder = CatalogBuilder { secrets: secrets.clone(), ..CatalogBuilder::default() };
    for (pack, plain_files) in packs.iter().zip(&plain_files) {
        builder.add_pack(pack, plain_files, &mut load_context);
    }
    let unused = std::mem::take(&mut builder.unused);
    let catalog = builder.finish(&packs, clients, &mut load_context);
    let places = Arc::new(builder.into_places(&packs));
    unused_names::warn(&packs, unused, &mut load_context);
    load_context.report.sort_and_dedup();
    load_context.apply_allow_comments();
    let catalog = catalog.filter(|_| !load_context.report.has_errors()).map(UnacceptedCatalog);
    let redactor = catalog.as_ref().map_or(secrets, |catalog| catalog.redactor().clone());
    BuildOutcome {
        catalog,
        programs: load_context.programs(),
        report: load_context.report,
        dependencies: load_context.dependencies,
        redactor,
        sandboxes: load_context.sandboxes,
        grant_uses: load_context.grant_uses,
        coverage: load_context.coverage,
        files,
        places,
    }
}

/// Whether the served manifest says who calls over HTTP.
fn has_auth(pack: &LoadedPack) -> bool {
    pack.manifest.http.as_ref().is_some_and(|http| http.auth.is_some())
}

/// The headers that clients send for templates, as these name them.
fn caller_headers(pack: &LoadedPack) -> BTreeSet<String> {
    let headers = pack.manifest.http.iter().flat_map(|http| http.caller_headers.iter().flatten());
    headers.map(|name| name.to_ascii_lowercase()).collect()
}

/// Hides the secrets of all packs, but not in what `report` says of them.
fn build_redactor(packs: &[LoadedPack], report: &Report) -> Redactor {
    let of_secrets = report.diagnostics().iter().filter(|diagnostic| diagnostic.code == Code::Secret);
    let words = of_secrets.flat_map(|diagnostic| {
        let Diagnostic { severity, code, message, help, .. } = diagnostic;
        let line = format!("{}[{}]: {message}", severity.as_str(), code.as_str());
        [Some(line), Some(message.clone()), help.clone()].into_iter().flatten()
    });
    let words = words.chain([SECRET_PLACEHOLDER.to_owned()]);
    Redactor::new(packs.iter().flat_map(|pack| pack.pack.env.secrets())).with_own_words(words)
}

#[derive(Default)]
struct CatalogBuilder<'a> {
    tools: IndexMap<String, CompiledTool>,
    prompts: IndexMap<String, CompiledPrompt>,
    resources: Vec<CompiledResource>,
    skills: SkillCollector,
    /// The first location of each name, by kind.
    tool_locations: IndexMap<String, Location>,
    prompt_locations: IndexMap<String, Location>,
    resource_locations: IndexMap<String, Location>,
    /// The first location of each URI.
    uris: IndexMap<String, Location>,
    /// Names of all entries, with errors or without grants too.
    names_by_pack: Vec<EntryNames<&'a str>>,
    /// The URIs of all declared resources, with errors or without grants too.
    declared_uris: Vec<DeclaredUri>,
    /// Finds the secrets of all packs.
    secrets: Arc<Redactor>,
    /// The packs, in order of precedence.
    pack_nodes: Vec<PackNode>,
    /// Where each name of a resource for clients was used first.
    resource_names: IndexMap<String, Location>,
    /// Where each test was declared first, by pack and name.
    tests: IndexMap<String, Location>,
    references: Vec<ReferenceCollector>,
    /// What is unused in files of plain prompts.
    unused: Vec<UnusedName>,
}

/// A pack whose entries are being added.
struct PackBuild<'a> {
    pack: &'a LoadedPack,
    pack_context: &'a Arc<PackContext>,
    references: &'a mut ReferenceCollector,
    /// The steps of its entries.
    steps: &'a StepActions<'a>,
}

/// A pack, and the number of the pack that imports it.
struct PackNode {
    pack_context: Arc<PackContext>,
    importer: Option<usize>,
}

/// The names that the entries of one pack have inside it.
#[derive(Default)]
struct EntryNames<N> {
    tools: Vec<N>,
    prompts: Vec<N>,
    resources: Vec<N>,
}

impl<'a> CatalogBuilder<'a> {
    fn add_pack(&mut self, pack: &'a LoadedPack, plain_files: &'a [PlacedFile], load_context: &mut LoadContext) {
        let pack_context =
            PackContext::new(pack, self.names_by_pack.is_empty(), &load_context.report.sources, &self.secrets);
        let mut references = ReferenceCollector::default();
        let mut entry_names = EntryNames::default();
        self.tests.clear();
        let steps = step_actions(pack);
        let plain_count = plain_files.iter().map(|placed| placed.file.prompts.len()).sum();
        self.prompts.reserve(plain_count);
        self.prompt_locations.reserve(plain_count);
        let mut plain_files = plain_files.iter().peekable();
        for (number, file) in pack.entry_files.iter().enumerate() {
            while let Some(placed) = plain_files.next_if(|placed| placed.files_before <= number) {
                self.add_plain_file(placed, &pack_context, &mut entry_names, load_context);
            }
            entry_names.prompts.extend(file.entries.prompts.keys().map(|name| name.as_str()));
            entry_names.tools.extend(file.entries.tools.keys().map(|name| name.as_str()));
            entry_names.resources.extend(file.entries.resources.keys().map(|name| name.as_str()));
            let uris = file.entries.resources.values().filter_map(|resource| resource.uri.as_ref());
            let pack_number = self.names_by_pack.len();
            self.declared_uris.extend(uris.filter_map(|uri| {
                Some(DeclaredUri { pack: pack_number, template: UriTemplate::parse(uri).ok()?, at: uri.location })
            }));
            let mut pack_build =
                PackBuild { pack, pack_context: &pack_context, references: &mut references, steps: &steps };
            self.add_file(file, &mut pack_build, load_context);
        }
        plain_files.for_each(|placed| self.add_plain_file(placed, &pack_context, &mut entry_names, load_context));
        let mut compiler = Compiler::new(load_context, &pack.pack, std::path::Path::new(""));
        entry_names.prompts.extend(pack.imported_prompts.iter().map(|prompt| prompt.name.as_str()));
        let mut pack_build =
            PackBuild { pack, pack_context: &pack_context, references: &mut references, steps: &steps };
        let links = self.skills.add_imported_pack(pack, &pack_context, &mut compiler);
        self.claim_skill_uris(pack.at, &pack_context, &mut compiler);
        self.add_imported_prompts(links, &mut pack_build, &mut compiler);
        compiler.scope_shape = pack_context.names.clone();
        pack.pack.connections.iter().for_each(|(name, written)| check_connection(name, written, &mut compiler));
        pack.pack.folders.iter().for_each(|(name, written)| check_folder(name, written, &mut compiler));
        if let Some(skills) = &pack.manifest.skills {
            self.skills.add_pack(skills, &pack_context, &mut compiler);
            let at = skills.dir.as_ref().map_or(skills.location, |dir| dir.location);
            self.claim_skill_uris(at, &pack_context, &mut compiler);
        }
        self.names_by_pack.push(entry_names);
        self.pack_nodes.push(PackNode { pack_context, importer: pack.importer });
        self.references.push(references);
    }

    /// Adds the prompts of a pack in another format.
    fn add_imported_prompts(
        &mut self,
        mut links: SkillLinks,
        pack_build: &mut PackBuild<'_>,
        compiler: &mut Compiler<'_>,
    ) {
        // The folder that they may read is not a key of the author's, who need not use it.
        compiler.load_context.used_keys.extend(
            pack_build.pack.pack.folders.keys().map(|name| name.location).filter(|_| pack_build.pack.is_imported()),
        );
        let outdated = compiler.load_context.outdated.clone();
        for prompt in pack_build.pack.imported_prompts.iter().take_while(|_| !outdated.is_outdated()) {
            let name = Spanned::new(prompt.name.clone(), prompt.at());
            let (building, is_first) = start_entry(&name, pack_build, compiler, &mut self.prompt_locations);
            let links = links.remove(&prompt.at().file()).unwrap_or_default();
            if let Some(parts) = PromptParts::from_imported(prompt, links, building).filter(|_| is_first) {
                self.insert_prompt(Arc::new(parts), pack_build.pack_context);
            }
        }
    }

    fn add_file(&mut self, file: &EntryFile, pack_build: &mut PackBuild<'_>, load_context: &mut LoadContext) {
        let outdated = load_context.outdated.clone();
        let mut compiler = Compiler::new(load_context, &pack_build.pack.pack, &file.base);
        for (name, prompt) in file.entries.prompts.iter().take_while(|_| !outdated.is_outdated()) {
            self.add_prompt(name, prompt, pack_build, &mut compiler);
        }
        for (name, resource) in file.entries.resources.iter().take_while(|_| !outdated.is_outdated()) {
            let taken = &mut self.resource_locations;
            let (building, is_first) = start_entry(name, pack_build, &mut compiler, taken);
            building.references.record_run(EntryId::resource(name), resource.run.as_ref());
            building.references.record_completions(&EntryId::resource(name), &resource.arguments);
            let built = CompiledResource::build(resource, building).filter(|_| is_first);
            let built = built.filter(|built| claim_uri(built, resource, &mut self.uris, &mut compiler));
            if let Some(mut built) = built {
                built.inputs.marker = mark_entry(PartKind::Resource, name, &mut compiler);
                self.warn_of_equal_names(&built, name, resource.name.as_ref(), &mut compiler);
                self.resources.push(built);
            }
        }
        for (name, tool) in file.entries.tools.iter().take_while(|_| !outdated.is_outdated()) {
            let (building, is_first) = start_entry(name, pack_build, &mut compiler, &mut self.tool_locations);
            building.references.record_run(EntryId::tool(name), tool.run.as_ref());
            let built = CompiledTool::build(tool, building).filter(|_| is_first);
            let built = built.map(|mut tool| {
                tool.inputs.marker = mark_entry(PartKind::Tool, name, &mut compiler);
                tool
            });
            self.tools.extend(built.map(|tool| (tool.listing.name.clone(), tool)));
        }
        for (name, test) in file.entries.tests.iter().take_while(|_| !outdated.is_outdated()) {
            test_checks::claim_names(name, test, &mut self.tests, &mut compiler);
            test_checks::check(name, test, &mut compiler, pack_build.references, pack_build.steps);
        }
        check_resource_names(&file.entries.resources, &mut compiler);
    }

    fn add_prompt(
        &mut self,
        name: &Spanned<String>,
        prompt: &Spanned<Prompt>,
        pack_build: &mut PackBuild<'_>,
        compiler: &mut Compiler<'_>,
    ) {
        let (building, is_first) = start_entry(name, pack_build, compiler, &mut self.prompt_locations);
        building.references.record_run(EntryId::prompt(name), prompt.run.as_ref());
        building.references.record_completions(&EntryId::prompt(name), &prompt.arguments);
        if let Some(mut parts) = PromptParts::build(prompt, building).filter(|_| is_first) {
            parts.inputs.marker = mark_entry(PartKind::Prompt, name, compiler);
            self.insert_prompt(Arc::new(parts), pack_build.pack_context);
        }
    }

    /// Adds a file whose prompts are compiled already.
    fn add_plain_file(
        &mut self,
        placed: &'a PlacedFile,
        pack_context: &Arc<PackContext>,
        entry_names: &mut EntryNames<&'a str>,
        load_context: &mut LoadContext,
    ) {
        let PlacedFile { id, file, .. } = placed;
        for (name, parts) in &file.prompts {
            entry_names.prompts.push(name);
            let at = name.location.in_file(*id);
            if claim_name(&parts.listing.name, at, &mut self.prompt_locations, load_context) {
                self.insert_prompt(parts.clone(), pack_context);
            }
        }
        self.unused.extend(file.unused.iter().map(|unused| unused.clone().in_file(*id)));
    }

    fn insert_prompt(&mut self, parts: Arc<PromptParts>, pack_context: &Arc<PackContext>) {
        let name = parts.listing.name.clone();
        self.prompts.insert(name, CompiledPrompt::new(parts, pack_context.clone()));
    }

    /// Runs the checks that need all entries, and creates the catalog.
    fn finish(
        &mut self,
        packs: &[LoadedPack],
        clients: &[KnownClient],
        load_context: &mut LoadContext,
    ) -> Option<Catalog> {
        let served = packs.first()?;
        let mut compiler = Compiler::new(load_context, &served.pack, std::path::Path::new(""));
        let info = server_info(served, &mut compiler);
        compiler.scope_shape = pack_names(&served.pack);
        let (http, limits) = (http_settings(served, &mut compiler), server_limits(served, &mut compiler));
        let operation = operation_settings(served, &mut compiler);
        let (lists, routes) = self.list_entries();
        self.check_search_names(info.as_ref(), &lists, load_context);
        self.check_entries(packs, &lists, &routes, load_context);
        let info = info?;
        let search_tools = tool_search::search_tools(info.tool_search, &lists.tools);
        let visible_tools = search_tools.as_deref().unwrap_or(&lists.tools);
        client_checks::warn(clients, &self.linted_server(&info, &lists, visible_tools, packs), load_context);
        let settings = ServerSettings {
            info,
            search_tools,
            http: http?,
            operation,
            limits,
            trace_propagation: trace_propagation(served),
            access: AccessControl::default(),
            caller_secrets: Arc::default(),
            key_digests: entry_digests::key_digests(served, load_context),
            partial_digests: entry_digests::partial_digests(packs, load_context),
            digest: OnceLock::new(),
        };
        let redactor = Arc::new(self.redactor(&lists));
        let (tools, prompts) = (std::mem::take(&mut self.tools), std::mem::take(&mut self.prompts));
        let resources = std::mem::take(&mut self.resources);
        let mut catalog = Catalog { settings, lists, tools, prompts, resources, routes, redactor };
        catalog.set_call_traits();
        Some(catalog)
    }

    /// Where the entries are.
    fn into_places(self, packs: &[LoadedPack]) -> EntryPlaces {
        let CatalogBuilder { tool_locations, prompt_locations, uris, .. } = self;
        let mut places =
            EntryPlaces { tools: tool_locations, prompts: prompt_locations, uris, ..EntryPlaces::default() };
        places.add_packs(packs);
        places
    }

    /// The entries in lists for clients, and the ways to resources and skills.
    fn list_entries(&mut self) -> (Lists, Routes) {
        let skills = std::mem::take(&mut self.skills);
        let listings = skills.listings();
        let pack_contexts = self.pack_nodes.iter().map(|pack| pack.pack_context.clone()).collect();
        let mut routes = Routes::new(pack_contexts, &self.resources, skills.finish());
        let lists = self.build_lists(listings, &routes);
        routes.add_listed(&lists.resources);
        self.add_step_needs(&routes);
        (lists, routes)
    }

    /// Checks what entries say of one another.
    fn check_entries(&self, packs: &[LoadedPack], lists: &Lists, routes: &Routes, load_context: &mut LoadContext) {
        self.check_references(lists, routes, load_context);
        self.check_calls(load_context);
        self.warn_of_unused_tools(load_context);
        self.check_completions(routes, load_context);
        warn_of_overlaps(&self.declared_uris, load_context);
        let mime_type = |uri: &str| match routes.find(uri)? {
            Route::Resource(nth, _) => {
                self.resources.get(nth).map(|resource| resource.listing(uri.to_owned()).info.mime_type)
            }
            Route::Skill(_) => None,
        };
        packs.iter().for_each(|pack| mcp_apps::check(pack, &mime_type, load_context));
    }

    /// Refuses tools with the name of one that finds or calls others, even if `auto` does not list that yet.
    fn check_search_names(&self, info: Option<&ServerInfo>, lists: &Lists, load_context: &mut LoadContext) {
        let setting = info.and_then(|info| info.tool_search).filter(|setting| *setting != ToolSearch::Never);
        let taken = lists.tools.iter().filter(|tool| setting.is_some() && SearchTool::from_name(&tool.name).is_some());
        for (tool, at) in taken.filter_map(|tool| Some((tool, self.tool_locations.get(&tool.name)?))) {
            let message = format!("tool `{}` has the name of one of `server.toolSearch`", tool.name);
            let diagnostic = load_context.error(Code::Duplicate, *at, message);
            diagnostic.help("rename it, or write `toolSearch: never`");
        }
    }

    /// Hides the secrets of all packs, but not in the names of entries.
    fn redactor(&self, lists: &Lists) -> Redactor {
        // What is found in folders is named by whoever writes there.
        let declared = self
            .resources
            .iter()
            .flat_map(|resource| [resource.template.as_str().to_owned(), resource.info.name.clone()]);
        Redactor::clone(&self.secrets).with_public_names(lists.names().chain(declared))
    }

    /// What limits of clients are about.
    fn linted_server<'s>(
        &'s self,
        info: &'s ServerInfo,
        lists: &'s Lists,
        visible_tools: &'s [ToolListing],
        packs: &'s [LoadedPack],
    ) -> LintedServer<'s> {
        LintedServer {
            info,
            lists,
            visible_tools,
            packs,
            tool_locations: &self.tool_locations,
            prompt_locations: &self.prompt_locations,
        }
    }

    fn build_lists(&self, from_skills: SkillListings, routes: &Routes) -> Lists {
        let SkillListings { skills, files } = from_skills;
        let from_resources = self.resources.iter().enumerate().flat_map(|(nth, resource)| {
            let in_root_pack = resource.pack_context.is_root_pack();
            resource.listings().into_iter().map(move |listing| ListedResource {
                listing,
                resource: Some(nth),
                in_root_pack,
            })
        });
        let files = files.into_iter().map(|listing| ListedResource { listing, resource: None, in_root_pack: false });
        let templates = self.resources.iter().filter(|resource| !resource.template.is_literal());
        let resource_templates = templates.map(|resource| ResourceTemplateListing {
            uri_template: resource.template.as_str().to_owned(),
            info: resource.info.clone(),
        });
        Lists {
            tools: self.tools.values().filter(|tool| !tool.is_hidden).map(|tool| tool.listing.clone()).collect(),
            prompts: self.prompts.values().map(|prompt| prompt.listing.clone()).collect(),
            resources: routes.retain_reachable(from_resources.chain(files).collect()),
            skills,
            resource_templates: resource_templates.collect(),
        }
    }
}

/// The names of all steps of a pack.
fn step_actions(pack: &LoadedPack) -> StepActions<'_> {
    let runs = pack.entry_files.iter().flat_map(|file| file.entries.runs());
    let mut actions = StepActions::new();
    runs.flat_map(|run| run.actions_by_id()).for_each(|(id, action)| actions.entry(id).or_default().push(action));
    actions
}

/// Marks an entry where it is recorded which are reached.
fn mark_entry(kind: PartKind, name: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<CoverageMarker> {
    compiler.mark(kind, name.location, format!("`{}`", name.value))
}
