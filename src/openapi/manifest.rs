//! The files of a server: what is emitted of a manifest stands here, and in `tool` and `request`.

use std::fmt;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::authentication::{COOKIE, RequestCredentials, Requirement, SecurityScheme};
use super::base_url::{BaseUrl, warn_no_server};
use super::description_text;
use super::document::ApiDocument;
use super::naming::{UniqueNames, variable_name};
use super::template_text::TemplateText;
use super::update::ImportChoices;
use crate::yaml::{entry, flow_scalar};

/// One entry of a file, such as a tool, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GeneratedEntry {
    pub(super) name: String,
    /// Lines of YAML, with a line feed at the end.
    pub(super) text: String,
    /// About how large a tool is in `tools/list`.
    pub(super) listed_bytes: usize,
}

/// Entries under one key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GeneratedSection {
    pub(super) key: &'static str,
    pub(super) entries: Vec<GeneratedEntry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GeneratedFile {
    /// The path, relative to the folder of the server, with `/`.
    pub(super) path: String,
    /// What stands before the sections, and behind them.
    pub(super) head: String,
    pub(super) sections: Vec<GeneratedSection>,
    pub(super) tail: String,
}

/// How large a tool is in `tools/list` without what is said of it.
const EMPTY_LISTING_BYTES: usize = 90;

/// The file of the manifest.
pub(super) const MANIFEST_PATH: &str = crate::load::NEW_MANIFEST_NAME;

impl GeneratedFile {
    /// The whole file, as it is written where none stands yet.
    pub(super) fn text(&self) -> String {
        let mut text = self.head.clone();
        for section in self.sections.iter().filter(|section| !section.entries.is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("{}:\n", section.key));
            text.push_str(&join_entries(section));
        }
        text.push_str(&self.tail);
        text
    }
}

/// The entries of a section, with an empty line between those that take several.
fn join_entries(section: &GeneratedSection) -> String {
    let texts = section.entries.iter().map(|entry| entry.text.as_str());
    texts.collect::<Vec<_>>().join(if section.key == "tools" { "\n" } else { "" })
}

/// The fragment that holds the tools of a tag.
pub(super) fn fragment(stem: &str, tag: &str, tools: Vec<GeneratedEntry>) -> GeneratedFile {
    let tag = description_text::plain_line(tag);
    let head =
        if tag.is_empty() { String::new() } else { format!("# {}\n", tag.chars().take(100).collect::<String>()) };
    let sections = vec![GeneratedSection { key: "tools", entries: tools }];
    GeneratedFile { path: format!("tools/{stem}.yaml"), head, sections, tail: String::new() }
}

/// A tool as it stands in a fragment.
pub(super) fn tool_entry(name: &str, tool: &Value) -> GeneratedEntry {
    let listed = ["description", "annotations", "arguments", "inputSchema"].iter().filter_map(|key| tool.get(*key));
    let arguments = tool.get("arguments").and_then(Value::as_object);
    // What is a text by default says so there.
    let texts = arguments.into_iter().flat_map(Map::values).filter(|argument| argument.get("type").is_none()).count();
    let listed: usize = listed.map(|value| value.to_string().len()).sum();
    let listed_bytes = name.len() + EMPTY_LISTING_BYTES + listed + texts * r#""type":"string","#.len();
    GeneratedEntry { name: name.to_owned(), text: entry(name, tool, 2), listed_bytes }
}

/// What all tools share: where the API is, and who sends requests.
pub(super) struct ConnectionDrafts<'d> {
    server: String,
    /// The names that an earlier import gave.
    earlier: ImportChoices,
    document: &'d ApiDocument,
    variables: Map<String, Value>,
    variable_names: UniqueNames,
    connection_names: UniqueNames,
    drafts: IndexMap<ConnectionKey, ConnectionDraft<'d>>,
    /// The variables of URLs.
    bases: IndexMap<Option<String>, String>,
    /// The variables of each scheme, by its name, and which of them nothing needs.
    schemes: IndexMap<String, Vec<(String, bool)>>,
    /// How many tools there are.
    tools: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ConnectionKey {
    base: BaseUrl,
    schemes: Vec<String>,
}

struct ConnectionDraft<'d> {
    name: String,
    /// How many tools use it.
    tools: usize,
    base_variable: String,
    requirement: Requirement<'d>,
    /// The variables of each scheme.
    variables: Vec<Vec<String>>,
}

impl ConnectionKey {
    pub(super) fn new(base: &BaseUrl, requirement: &Requirement<'_>) -> ConnectionKey {
        ConnectionKey {
            base: base.clone(),
            schemes: requirement.schemes.iter().map(|scheme| scheme.name.clone()).collect(),
        }
    }
}

impl fmt::Display for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BaseUrl { url, path, query } = &self.base;
        write!(f, "{}{path}", url.as_deref().unwrap_or_default())?;
        query.iter().try_for_each(|(name, value)| write!(f, "&{name}={value}"))?;
        write!(f, " {}", self.schemes.join(" "))
    }
}

impl<'d> ConnectionDrafts<'d> {
    pub(super) fn new(server: &str, earlier: &ImportChoices, document: &'d ApiDocument) -> ConnectionDrafts<'d> {
        let (mut variable_names, mut connection_names) = (UniqueNames::default(), UniqueNames::default());
        earlier.urls.values().chain(earlier.schemes.values().flatten()).for_each(|name| variable_names.reserve(name));
        earlier.connections.values().for_each(|name| connection_names.reserve(name));
        ConnectionDrafts {
            server: server.to_owned(),
            earlier: earlier.clone(),
            document,
            variables: Map::new(),
            variable_names,
            connection_names,
            drafts: IndexMap::new(),
            bases: IndexMap::new(),
            schemes: IndexMap::new(),
            tools: 0,
        }
    }

    /// Whether requests to a base with these credentials have a connection already.
    pub(super) fn has(&self, key: &ConnectionKey) -> bool {
        self.drafts.contains_key(key)
    }

    /// Adds the connection for requests to a base with these credentials, where there is none.
    pub(super) fn add(&mut self, base: &BaseUrl, requirement: Requirement<'d>) -> ConnectionKey {
        let key = ConnectionKey::new(base, &requirement);
        if let Some(known) = self.drafts.get_mut(&key) {
            for scope in requirement.scopes {
                if !known.requirement.scopes.contains(&scope) {
                    known.requirement.scopes.push(scope);
                }
            }
            return key;
        }
        let base_variable = self.base_variable(base.url.as_deref());
        let name = match self.earlier.connections.get(&key.to_string()) {
            Some(name) => name.clone(),
            None => {
                let names = [self.server.clone(), self.distinct_name(base, &requirement)];
                self.connection_names.claim(&names, 64)
            }
        };
        let variables = requirement.schemes.iter().map(|scheme| self.scheme_variables(scheme)).collect();
        let draft = ConnectionDraft { name, tools: 0, base_variable, requirement, variables };
        self.drafts.insert(key.clone(), draft);
        key
    }

    /// The name of a connection, and the credentials that its requests have besides.
    pub(super) fn connection(&self, key: &ConnectionKey) -> (&str, RequestCredentials<'_>) {
        let Some(draft) = self.drafts.get(key) else { return Default::default() };
        let schemes = draft.requirement.schemes.iter().zip(&draft.variables).skip(1);
        let query = schemes.filter_map(|(scheme, variables)| scheme.query(variables)).collect();
        (&draft.name, RequestCredentials { query, schemes: &draft.requirement.schemes, held: &[] })
    }

    /// Counts a tool that uses a connection: its credentials are required where all tools need them.
    pub(super) fn add_tool(&mut self, key: &ConnectionKey) {
        self.tools += 1;
        self.drafts.get_mut(key).into_iter().for_each(|draft| draft.tools += 1);
    }

    /// Whether every tool needs a variable of credentials.
    fn is_required(&self, variable: &str) -> bool {
        let uses = |known: &&ConnectionDraft<'_>| known.variables.iter().flatten().any(|name| name == variable);
        self.drafts.values().filter(uses).map(|known| known.tools).sum::<usize>() == self.tools
    }

    /// The variables, with `required` where no tool can do without.
    fn final_variables(&self) -> Map<String, Value> {
        let mut variables = self.variables.clone();
        for (name, is_optional) in self.schemes.values().flatten() {
            if *is_optional || !self.is_required(name) {
                let variable = variables.get_mut(name).and_then(Value::as_object_mut);
                variable.and_then(|map| map.shift_remove("required"));
            }
        }
        variables
    }

    /// A name for a further connection: by its host where that is another one, else by its credentials.
    fn distinct_name(&self, base: &BaseUrl, requirement: &Requirement<'_>) -> String {
        let is_first = self.bases.first().is_none_or(|(first, _)| *first == base.url);
        let scheme = requirement.schemes.first().map_or("public", |scheme| scheme.name.as_str());
        let what = if is_first { scheme } else { host_label(base.url.as_deref()) };
        super::naming::kebab(&format!("{} {what}", self.server), 64)
    }

    fn base_variable(&mut self, base: Option<&str>) -> String {
        let key = base.map(str::to_owned);
        if let Some(known) = self.bases.get(&key) {
            return known.clone();
        }
        let is_first = self.bases.is_empty() && self.earlier.urls.is_empty();
        let name = match self.earlier.urls.get(base.unwrap_or_default()) {
            Some(name) => name.clone(),
            None => {
                let label = if is_first { "" } else { host_label(base) };
                self.claim_variable(&[self.server.clone(), label.to_owned(), "url".to_owned()])
            }
        };
        let mut variable = Map::new();
        variable.insert("description".to_owned(), "The base of the API's URLs".into());
        match base {
            Some(base) => _ = variable.insert("default".to_owned(), base.into()),
            None => {
                variable.insert("required".to_owned(), true.into());
                warn_no_server(self.document, &name);
            }
        }
        self.variables.insert(name.clone(), Value::Object(variable));
        self.bases.insert(key, name.clone());
        name
    }

    fn scheme_variables(&mut self, scheme: &SecurityScheme<'_>) -> Vec<String> {
        if let Some(known) = self.schemes.get(&scheme.name) {
            return known.iter().map(|(name, _)| name.clone()).collect();
        }
        let mut names = Vec::new();
        let parts = scheme.credentials.variables();
        let earlier = self.earlier.schemes.get(&scheme.name).filter(|names| names.len() == parts.len()).cloned();
        for (index, part) in parts.into_iter().enumerate() {
            let short = [self.server.clone(), part.suffix.to_owned()];
            let is_taken = self.variable_names.contains(&variable_name(&[&self.server, part.suffix]));
            let name = match earlier.as_ref().and_then(|names| names.get(index)) {
                Some(name) => name.clone(),
                None if is_taken => {
                    self.claim_variable(&[self.server.clone(), scheme.name.clone(), part.suffix.to_owned()])
                }
                None => self.claim_variable(&short),
            };
            let about = match scheme.about.is_empty() {
                true => format!("{} that the API asks for", part.about),
                false => scheme.about.clone(),
            };
            let mut variable = Map::new();
            variable.insert("description".to_owned(), about.into());
            variable.insert("required".to_owned(), true.into());
            variable.extend(part.is_secret.then(|| ("secret".to_owned(), true.into())));
            self.variables.insert(name.clone(), Value::Object(variable));
            names.push((name, part.is_optional || scheme.is_optional));
        }
        if let (Some((node, source)), Some((name, _))) = (&scheme.token_source, names.first()) {
            let words = format!(
                "folio does not get tokens of the security scheme `{}`",
                description_text::plain_line(&scheme.name)
            );
            self.document.warn_with_help(*node, words, format!("set `{name}` to an access token, from {source}"));
        }
        self.schemes.insert(scheme.name.clone(), names.clone());
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// The names that were given.
    pub(super) fn choices(&self) -> ImportChoices {
        let names = |variables: &[(String, bool)]| variables.iter().map(|(name, _)| name.clone()).collect();
        ImportChoices {
            connections: self.drafts.iter().map(|(key, draft)| (key.to_string(), draft.name.clone())).collect(),
            urls: self.bases.iter().map(|(base, name)| (base.clone().unwrap_or_default(), name.clone())).collect(),
            schemes: self.schemes.iter().map(|(scheme, variables)| (scheme.clone(), names(variables))).collect(),
            ..ImportChoices::default()
        }
    }

    fn claim_variable(&mut self, parts: &[String]) -> String {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.variable_names.claim(&[variable_name(&parts)], 128).replace('-', "_")
    }

    fn sections(&self) -> Vec<GeneratedSection> {
        let variables = self.final_variables();
        let variables = variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let used = self.drafts.iter().filter(|(_, draft)| draft.tools > 0 || self.tools == 0);
        let connections = used.map(|(key, draft)| (draft.name.as_str(), draft.value(&key.base)));
        vec![section("env", variables), section("connections", connections)]
    }
}

/// Entries under one key of the manifest.
fn section<'e>(key: &'static str, entries: impl Iterator<Item = (&'e str, Value)>) -> GeneratedSection {
    let written = |(name, value): (&str, Value)| GeneratedEntry {
        name: name.to_owned(),
        text: entry(name, &value, 2),
        listed_bytes: 0,
    };
    GeneratedSection { key, entries: entries.map(written).collect() }
}

/// The first part of a host's name.
fn host_label(base: Option<&str>) -> &str {
    base.and_then(|base| base.split("://").nth(1)?.split(['.', '/', ':']).next()).unwrap_or("other")
}

impl ConnectionDraft<'_> {
    fn value(&self, base: &BaseUrl) -> Value {
        let mut keys = Map::new();
        let mut url = TemplateText::variable(&self.base_variable);
        url.push(&super::request::encode_literal(&base.path));
        keys.insert("url".to_owned(), url.into());
        let mut headers = Map::new();
        // Some servers answer in XML or HTML unless they are asked for JSON.
        headers.insert("Accept".to_owned(), "application/json, */*;q=0.5".into());
        let mut schemes = self.requirement.schemes.iter().zip(&self.variables);
        let first = schemes.next();
        let mut further: IndexMap<String, TemplateText> = IndexMap::new();
        for (name, value) in schemes.filter_map(|(scheme, variables)| scheme.header(variables)) {
            match further.get_mut(&name).filter(|_| name == COOKIE) {
                Some(cookies) => {
                    cookies.push(&TemplateText::cookie_separator());
                    cookies.push(&value);
                }
                None => _ = further.insert(name, value),
            }
        }
        if let Some((scheme, variables)) = first {
            let cookies = if scheme.is_cookie() { further.shift_remove(COOKIE) } else { None };
            keys.insert("auth".to_owned(), scheme.auth(variables, &self.requirement.scopes, cookies.as_ref()));
        }
        headers.extend(further.into_iter().map(|(name, value)| (name, value.into())));
        keys.insert("headers".to_owned(), Value::Object(headers));
        Value::Object(keys)
    }
}

/// The manifest: what the server is, its variables and connections, and where its tools are.
pub(super) fn manifest(
    server: &str,
    source: &str,
    connections: &ConnectionDrafts<'_>,
    document: &ApiDocument,
) -> GeneratedFile {
    let info = document.root().get("info");
    let field = |key: &str| info.and_then(|info| info.text(key)).unwrap_or_default();
    let texts = [
        ("name", server.to_owned()),
        ("title", description_text::plain_line(&description_text::plain(field("title"), 80))),
        ("version", description_text::plain_line(field("version"))),
        ("description", description_text::as_template(&description_text::summarize("", field("description")))),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut sections = vec![section("server", texts.map(|(key, text)| (key, text.into())))];
    sections.extend(connections.sections());
    let source = description_text::plain_line(source.rsplit(['/', '\\']).next().unwrap_or_default());
    let head = format!(
        "# yaml-language-server: $schema=./folio.schema.json\n\
         # From {}. What you change here and in `tools/`, `folio init --openapi … --update` keeps.\n\
         folio: 1\n",
        source.chars().take(80).collect::<String>()
    );
    let tail = format!("\ninclude: [{}]\n", flow_scalar("tools/*.yaml"));
    GeneratedFile { path: MANIFEST_PATH.to_owned(), head, sections, tail }
}
