//! A description, made into the files of a server.

use std::collections::{BTreeSet, HashSet};

use indexmap::IndexMap;
use url::Url;

use super::authentication::{RequestCredentials, Requirement, SecuritySchemes};
use super::base_url::{BaseUrl, base_url, is_foreign_private, warn_private_server};
use super::description_text;
use super::document::ApiDocument;
use super::manifest::{ConnectionDrafts, ConnectionKey, GeneratedEntry, GeneratedFile, fragment, manifest, tool_entry};
use super::naming::{file_stem, max_tool_chars, server_name, tool_names};
use super::operation::{Operation, read_operations};
use super::operation_filter::{FilterMatch, InvalidPattern, OperationFilter};
use super::slice::slice;
use super::source::{MAX_DESCRIPTION_BYTES, Source, load};
use super::tool::build_tool;
use super::update::ImportChoices;
use crate::diagnostic::{Code, Report, nearest};

/// How many operations become tools at most.
const MAX_OPERATIONS: usize = 2000;
/// How many fragments are written; tags beyond that share one.
const MAX_FRAGMENTS: usize = 200;
/// From which size on a fragment takes no further tools.
const MAX_FRAGMENT_BYTES: usize = 8 << 20;
/// How much is written: a schema that many tools share stands in each of them.
const MAX_WRITTEN_BYTES: usize = 16 << 20;
/// How many names a message shows.
const MAX_SHOWN_NAMES: usize = 8;
/// From how many tools on clients choose badly.
const MANY_TOOLS: usize = 40;

/// What to import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Tags, `operationId`s, names of tools, or globs of these and of paths. Everything, where there are none.
    pub only: Vec<String>,
    /// The name of the server; by default it comes from the title.
    pub server: Option<String>,
    /// What an earlier import chose and named, which stays.
    pub earlier: ImportChoices,
    /// Names of tools that cannot be written, which are left out.
    pub left_out: HashSet<String>,
}

/// What came of a description.
pub struct Import {
    pub(super) files: Vec<GeneratedFile>,
    /// The names of all tools that the description could become, those that were left out too.
    pub(super) known_tools: Vec<String>,
    /// What was chosen and named.
    pub(super) choices: ImportChoices,
    /// What the tags have, in the order of the description.
    pub tags: Vec<TagSize>,
    /// How many operations there are.
    pub operations: usize,
    /// How many became tools.
    pub tools: usize,
    /// How many are out of use, and were left out for that.
    pub deprecated: usize,
    /// What could not be translated.
    pub report: Report,
}

/// The operations of a tag, and what becomes of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagSize {
    /// Its name; empty for operations without one.
    pub tag: String,
    /// How many operations it has.
    pub operations: usize,
    /// How many tools are imported of them.
    pub tools: usize,
    /// About how large these are in `tools/list`.
    pub bytes: usize,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The description cannot be read; the report says why.
    #[error("the description cannot be read")]
    Unreadable(Box<Report>),
    /// There is nothing in it.
    #[error("the description has no operations")]
    NoOperations,
    /// What was asked for is not in it.
    #[error("nothing matches `{pattern}`\nhelp: {help}")]
    NoMatch {
        /// The pattern of `--only`.
        pattern: String,
        /// What may have been meant, or what there is.
        help: String,
    },
    /// A pattern is invalid.
    #[error("invalid pattern `{pattern}`: {reason}")]
    InvalidPattern {
        /// The pattern of `--only`.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No client could use so many tools.
    #[error("too many operations ({count}): at most {MAX_OPERATIONS} are imported\nhelp: choose some with `--only`")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// The tools would be too large.
    #[error("tools too large: more than {MAX_WRITTEN_BYTES} bytes would be written\nhelp: choose some with `--only`")]
    TooLarge,
}

impl From<InvalidPattern> for ImportError {
    fn from(InvalidPattern { pattern, reason }: InvalidPattern) -> ImportError {
        ImportError::InvalidPattern { pattern, reason }
    }
}

/// Makes a description into files. What it cannot translate is in the report.
///
/// # Errors
/// There is nothing that could be written.
pub fn import(source: &Source, options: &ImportOptions) -> Result<Import, ImportError> {
    let mut report = Report::default();
    let earlier = &options.earlier;
    let only = if options.only.is_empty() { &earlier.only } else { &options.only };
    let filter = OperationFilter::new(only)?;
    let part = (source.bytes.len() as u64 > MAX_DESCRIPTION_BYTES).then(|| slice(&source.bytes, &filter));
    let bytes = part.as_ref().unwrap_or(&source.bytes);
    let Some(document) = load(source, bytes, &mut report) else {
        return Err(ImportError::Unreadable(Box::new(report)));
    };
    let api = server_name(document.root().get("info").and_then(|info| info.text("title")).unwrap_or_default());
    let server = options.server.clone().unwrap_or_else(|| api.clone());
    let operations = read_operations(&document);
    let names = tool_names(&operations, &earlier.tools, max_tool_chars(&server));
    let named: Vec<(&Operation<'_>, String)> = operations.iter().zip(names).collect();
    // What was chosen before may be gone from the description.
    let SelectedOperations { tools, deprecated } = choose(&named, &filter, !options.only.is_empty())?;
    let connections = ConnectionDrafts::new(&api, earlier, &document);
    let mut builder = ImportBuilder::new(&document, connections, source.url.as_ref(), &operations);
    for (operation, name) in tools {
        match options.left_out.contains(name) {
            true => warn_left_out(operation, name, &document),
            false => builder.add(operation, name),
        }
        if builder.bytes > MAX_WRITTEN_BYTES {
            return Err(ImportError::TooLarge);
        }
    }
    let tools = builder.tools;
    let mut choices = builder.connections.choices();
    choices.only.clone_from(&options.only);
    choices.tools = named.iter().map(|(operation, name)| (operation.key(), name.clone())).collect();
    let (files, tags) = builder.finish(&server, &source.name);
    document.report_warnings(&mut report);
    warn_many_tools(tools, &mut report);
    let known_tools = named.iter().map(|(_, name)| name.clone()).collect();
    Ok(Import { files, known_tools, choices, tags, operations: operations.len(), tools, deprecated, report })
}

fn warn_left_out(operation: &Operation<'_>, name: &str, document: &ApiDocument) {
    let words = format!("`{name}` is left out: folio would not load with it");
    document.warn_with_help(operation.node, words, "write it by hand, and please report it");
}

fn warn_many_tools(tools: usize, report: &mut Report) {
    if tools > MANY_TOOLS {
        let words =
            format!("too many tools ({tools}): from {MANY_TOOLS} on, some clients choose poorly or ignore the rest");
        report.warning(Code::ClientCompatibility, None, words).help("choose some with `--only`");
    }
}

struct SelectedOperations<'o, 'd> {
    tools: Vec<(&'o Operation<'d>, &'o str)>,
    deprecated: usize,
}

fn choose<'o, 'd>(
    named: &'o [(&'o Operation<'d>, String)],
    operation_filter: &OperationFilter,
    needs_matches: bool,
) -> Result<SelectedOperations<'o, 'd>, ImportError> {
    if named.is_empty() {
        return Err(ImportError::NoOperations);
    }
    let all: Vec<(&Operation<'_>, &str)> = named.iter().map(|(operation, name)| (*operation, name.as_str())).collect();
    if let Some(pattern) = operation_filter.unmatched(&all).first().filter(|_| needs_matches) {
        return Err(ImportError::NoMatch { pattern: (*pattern).to_owned(), help: suggest(pattern, &all) });
    }
    let (mut tools, mut deprecated) = (Vec::new(), 0);
    for (operation, name) in named {
        match operation_filter.choose(operation, name) {
            FilterMatch::Excluded => {}
            FilterMatch::ByPattern if operation.deprecated => deprecated += 1,
            FilterMatch::ByPattern | FilterMatch::ByName => tools.push((*operation, name.as_str())),
        }
    }
    if tools.len() > MAX_OPERATIONS {
        return Err(ImportError::TooMany { count: tools.len() });
    }
    Ok(SelectedOperations { tools, deprecated })
}

/// What may be meant by a pattern, or else what there is.
fn suggest(pattern: &str, all: &[(&Operation<'_>, &str)]) -> String {
    let tags: BTreeSet<&str> = all.iter().filter_map(|(operation, _)| operation.tag).collect();
    let ids: Vec<&str> = all.iter().map(|(operation, name)| operation.id.unwrap_or(name)).collect();
    if let Some(near) = nearest(pattern, tags.iter().copied().chain(ids.iter().copied())) {
        return format!("did you mean `{}`?", description_text::plain_line(near));
    }
    let wanted = pattern.trim_matches(['*', '/']).to_lowercase();
    let has_part = |name: &&str| !wanted.is_empty() && name.to_lowercase().contains(&wanted);
    let parts: Vec<&str> = tags.iter().chain(&ids).copied().filter(has_part).collect();
    match (parts.is_empty(), tags.is_empty()) {
        (false, _) => format!("did you mean one of {}?", display_names(&parts)),
        (_, false) => format!("there are the tags {}", display_names(&tags.into_iter().collect::<Vec<_>>())),
        _ => format!("there are the operations {}", display_names(&ids)),
    }
}

/// The first of some names, and how many more there are.
fn display_names(names: &[&str]) -> String {
    let first = names.iter().take(MAX_SHOWN_NAMES).map(|name| format!("`{}`", description_text::plain_line(name)));
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The tools of a file.
struct ToolFile<'d> {
    tag: &'d str,
    bytes: usize,
    tools: Vec<GeneratedEntry>,
}

struct ImportBuilder<'d, 's> {
    document: &'d ApiDocument,
    source: Option<&'s Url>,
    security: SecuritySchemes<'d>,
    connections: ConnectionDrafts<'d>,
    /// Tools by the file that they go into, with the tag.
    fragments: IndexMap<String, ToolFile<'d>>,
    tags: IndexMap<&'d str, TagSize>,
    tools: usize,
    /// How much is written of them.
    bytes: usize,
    /// The bases that were warned of.
    private_bases: HashSet<String>,
}

impl<'d, 's> ImportBuilder<'d, 's> {
    fn new(
        document: &'d ApiDocument,
        connections: ConnectionDrafts<'d>,
        source: Option<&'s Url>,
        operations: &[Operation<'d>],
    ) -> ImportBuilder<'d, 's> {
        let mut tags: IndexMap<&str, TagSize> = IndexMap::new();
        for operation in operations {
            let tag = operation.tag.unwrap_or_default();
            let new = || TagSize { tag: tag.to_owned(), ..TagSize::default() };
            tags.entry(tag).or_insert_with(new).operations += 1;
        }
        ImportBuilder {
            document,
            source,
            security: SecuritySchemes::new(operations, document),
            connections,
            fragments: IndexMap::new(),
            tags,
            tools: 0,
            bytes: 0,
            private_bases: HashSet::new(),
        }
    }

    fn add(&mut self, operation: &Operation<'d>, name: &str) {
        let base = base_url(operation, self.document, self.source);
        let requirement = self.requirement(operation, &base);
        self.check_base(operation, &base);
        let held = requirement.held.clone();
        let key = self.connections.add(&base, requirement);
        let (connection, credentials) = self.connections.connection(&key);
        let credentials = RequestCredentials { held: &held, ..credentials };
        let Some(tool) = build_tool(operation, &base, connection, &credentials, self.document) else { return };
        let entry = tool_entry(name, &tool);
        self.tools += 1;
        self.connections.add_tool(&key);
        let tag = operation.tag.unwrap_or_default();
        if let Some(size) = self.tags.get_mut(tag) {
            size.tools += 1;
            size.bytes += entry.listed_bytes;
        }
        let stem = file_stem(tag);
        let too_many = self.fragments.len() >= MAX_FRAGMENTS && !self.fragments.contains_key(&stem);
        let (stem, tag) = if too_many { ("more".to_owned(), "") } else { (stem, tag) };
        self.push(&stem, tag, entry);
    }

    /// Warns once of each base that is in a private network.
    fn check_base(&mut self, operation: &Operation<'d>, base: &BaseUrl) {
        let Some(base) = base.url.as_deref().filter(|base| is_foreign_private(base, self.source)) else { return };
        if self.private_bases.insert(base.to_owned()) {
            warn_private_server(operation, base, self.document);
        }
    }

    /// Adds a tool to a fragment, or to the next of that name where the first ones are full.
    fn push(&mut self, stem: &str, tag: &'d str, entry: GeneratedEntry) {
        let is_full =
            |stem: &String| self.fragments.get(stem).is_some_and(|fragment| fragment.bytes > MAX_FRAGMENT_BYTES);
        let numbered = (2..).map(|number: usize| format!("{stem}-part-{number}"));
        let stem = std::iter::once(stem.to_owned()).chain(numbered).find(|stem| !is_full(stem)).unwrap_or_default();
        let fragment = self.fragments.entry(stem).or_insert_with(|| ToolFile { tag, bytes: 0, tools: Vec::new() });
        fragment.bytes += entry.text.len();
        self.bytes += entry.text.len();
        fragment.tools.push(entry);
    }

    /// Of what an operation accepts, what others use already; else the first.
    fn requirement(&self, operation: &Operation<'d>, base: &BaseUrl) -> Requirement<'d> {
        let accepted = self.security.requirements(operation);
        let is_known = |requirement: &Requirement<'_>| {
            !requirement.schemes.is_empty() && self.connections.has(&ConnectionKey::new(base, requirement))
        };
        let best = accepted.iter().position(is_known).unwrap_or(0);
        accepted.into_iter().nth(best).unwrap_or_default()
    }

    fn finish(self, server: &str, source: &str) -> (Vec<GeneratedFile>, Vec<TagSize>) {
        let name = description_text::plain_line(source);
        let manifest = manifest(server, &name, &self.connections, self.document);
        let fragments =
            self.fragments.into_iter().map(|(stem, ToolFile { tag, tools, .. })| fragment(&stem, tag, tools));
        (std::iter::once(manifest).chain(fragments).collect(), self.tags.into_values().collect())
    }
}
