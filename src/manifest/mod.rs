//! The types of the manifest, key for key, without I/O and without rules.
//!
//! The doc comments here are documentation for authors: they become the JSON Schema and the hover texts of editors.
//! Required fields are optional here, so that catalog/ can report a missing one at its place. What is not here: single
//! values (value_types/) and actions (action/).

mod access;
mod argument;
mod editor;
mod examples;
mod http_auth;
mod http_server;
mod mock;
mod operation;
mod prompt;
mod language_reference;
mod null;
mod correction;
mod resource;
mod schema;
mod server;
mod test;
mod tool;

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::Run;
use crate::value_types::{Connection, FolderSpec, NamedMap, Sandbox, Scalar, yaml_kind_enum};
use crate::yaml::Spanned;

pub use access::AccessKeys;
pub use argument::{ARGUMENT_KEYWORDS, Argument, Arguments, Complete, CompleteBody, CompletionMatch, MAX_ARGUMENTS};
pub use correction::{correct_entries, correct_prompt};
pub use examples::example_of;
pub use http_auth::{ClaimPaths, HttpAuth, Introspection, IssuerSpec, Issuers};
pub use http_server::{Http, SessionHome};
pub use language_reference::reference;
pub use mock::{MOCKED_ACTIONS, Mock, MockError, ProgramMock, ResponseMock};
pub use operation::{Admin, Audit, AuditLevel, Store, Telemetry};
pub use prompt::{Message, Prompt, SYSTEM_ROLE, SYSTEM_ROLE_HELP};
pub use resource::Resource;
pub use schema::{SCHEMA, generate_schema};
pub use server::{Bridge, BridgeKind, BridgeMode, EnvEntry, EnvVariable, Server, ToolSearch, TraceKey};
pub use test::{Expect, ExpectedAction, ExpectedMessage, SentParts, Test, TestCase};
pub use tool::{Concurrency, ConcurrencyKeys, RateLimit, RateLimitBy, ResultSpec, Task, TaskSupport, Tool};

/// A folio manifest: an MCP server, written in YAML.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// The version of this language: 1.
    #[schemars(with = "i64", extend("x-required" = true, "const" = 1, "errorMessage" = "expected `1`"))]
    pub folio: Option<Spanned<i64>>,
    /// The name and the description of the server: `{ name: desk, title: My desk }`.
    #[schemars(with = "Server", extend("x-required" = true))]
    pub server: Option<Spanned<Server>>,
    /// The environment variables that the manifest may read, as `{{env.NAME}}`: `{ TOKEN: { secret: true } }`.
    #[schemars(with = "IndexMap<String, EnvVariable>")]
    pub env: NamedMap<Spanned<EnvEntry>>,
    /// More files of this manifest: fragments (`.yaml`) and prompt files (`.md`), by path or glob: `["prompts/*.md"]`. A glob
    /// skips README.md.
    #[schemars(with = "OneOrManyPaths")]
    pub include: Option<OneOrManyPaths>,
    /// Files of partials, by path or glob: `[partials/*.md]`. A partial is named after its file: `{{> house-style}}` for
    /// `house-style.md`.
    #[schemars(with = "OneOrManyPaths")]
    pub partials: Option<OneOrManyPaths>,
    /// Other folders with a manifest, and what they are allowed to do: `{ git: { path: packs/git, allow: [exec] } }`.
    #[schemars(with = "IndexMap<String, PackRef>")]
    pub packs: NamedMap<Spanned<PackRef>>,
    /// Shared settings of HTTP requests, by name: `{ api: { url: "https://api.example.com" } }`, then
    /// `http: { use: api, url: /path }`.
    #[schemars(with = "IndexMap<String, Connection>")]
    pub connections: NamedMap<Spanned<Connection>>,
    /// Folders in which `file` works, by name: `{ notes: { path: notes, write: true } }`, then
    /// `file: { read: "{{name}}.md", in: notes }`. A pack needs the grant `files` for folders outside of it and to write.
    #[schemars(with = "IndexMap<String, FolderSpec>")]
    pub folders: NamedMap<Spanned<FolderSpec>>,
    /// Prompts, by name: `{ greet: { text: Say hello. } }`.
    #[schemars(with = "IndexMap<String, Prompt>")]
    pub prompts: NamedMap<Spanned<Prompt>>,
    /// Resources, by name: `{ policy: { uri: "docs://policy", file: policy.md } }`.
    #[schemars(with = "IndexMap<String, Resource>")]
    pub resources: NamedMap<Spanned<Resource>>,
    /// Tools, by name: `{ list: { description: List files, run: { exec: [ls] } } }`.
    #[schemars(with = "IndexMap<String, Tool>")]
    pub tools: NamedMap<Spanned<Tool>>,
    /// A folder of agent skills: `{ dir: skills }`.
    pub skills: Option<Spanned<Skills>>,
    /// How the server listens over HTTP: `{ listen: "127.0.0.1:8080" }`. Command-line flags override it.
    pub http: Option<Spanned<Http>>,
    /// A second listener for operators, with metrics and readiness, over HTTP and stdio alike: `{ listen: "127.0.0.1:9464" }`.
    pub admin: Option<Spanned<Admin>>,
    /// A line of JSON for each request, in a file: `{ file: /var/log/folio/audit.jsonl, level: arguments }`.
    pub audit: Option<Spanned<Audit>>,
    /// Sends a span for each request to a collector of OpenTelemetry: `otlp`. The variables `OTEL_*` of the environment say
    /// where, and count only then. A change needs a restart.
    pub telemetry: Option<Telemetry>,
    /// What the replicas of this server share, in Redis or Valkey: `{ redis: "{{env.REDIS_URL}}" }`. Without it a server is one
    /// process.
    pub store: Option<Spanned<Store>>,
    /// Tests of the entries, by name: `{ greets: { prompt: greet, expect: { contains: hello } } }`.
    #[schemars(with = "IndexMap<String, Test>")]
    pub tests: NamedMap<Spanned<Test>>,
}

/// A fragment: entries of the manifest that includes it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Fragment {
    /// The version of this language: 1. Optional in a fragment.
    #[schemars(with = "Option<i64>", extend("const" = 1, "errorMessage" = "expected `1`"))]
    pub folio: Option<Spanned<i64>>,
    /// Prompts, by name: `{ greet: { text: Say hello. } }`.
    #[schemars(with = "IndexMap<String, Prompt>")]
    pub prompts: NamedMap<Spanned<Prompt>>,
    /// Resources, by name: `{ policy: { uri: "docs://policy", file: policy.md } }`.
    #[schemars(with = "IndexMap<String, Resource>")]
    pub resources: NamedMap<Spanned<Resource>>,
    /// Tools, by name: `{ list: { description: List files, run: { exec: [ls] } } }`.
    #[schemars(with = "IndexMap<String, Tool>")]
    pub tools: NamedMap<Spanned<Tool>>,
    /// Tests of the entries, by name: `{ greets: { prompt: greet, expect: { contains: hello } } }`.
    #[schemars(with = "IndexMap<String, Test>")]
    pub tests: NamedMap<Spanned<Test>>,
}

impl Fragment {
    /// The runs of its entries.
    pub fn runs(&self) -> impl Iterator<Item = &Spanned<Run>> {
        let tools = self.tools.values().filter_map(|tool| tool.run.as_ref());
        let prompts = self.prompts.values().filter_map(|prompt| prompt.run.as_ref());
        let resources = self.resources.values().filter_map(|resource| resource.run.as_ref());
        tools.chain(prompts).chain(resources)
    }
}

yaml_kind_enum! {
    /// A path or a glob, or several.
    pub enum OneOrManyPaths {
        "text" => One(Spanned<String>),
        "list" => Many(Vec<Spanned<String>>),
    }
}

impl OneOrManyPaths {
    /// The paths.
    pub fn items(&self) -> &[Spanned<String>] {
        match self {
            OneOrManyPaths::One(one) => std::slice::from_ref(one),
            OneOrManyPaths::Many(many) => many,
        }
    }
}

/// Another folder with a manifest, whose entries are added to this one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PackRef {
    /// The folder, relative to this file: `packs/review`. The served manifest may name any, such as `../shared` or
    /// `/home/you/.claude/commands`; that of a pack names those below its own folder. With `git` or `url`, a folder of the
    /// repository or the archive. Required without them.
    pub path: Option<Spanned<String>>,
    /// The repository that it comes from: `https://…`, `ssh://…` or `file://…`. `folio lock` writes its commit and the digest
    /// of its files to folio.lock, `folio fetch` puts these files into the cache, and nothing else is ever loaded:
    /// `{ git: "https://github.com/acme/docs", rev: v1.2.0, path: prompts }`.
    pub git: Option<Spanned<String>>,
    /// With `git`, a branch, a tag or a commit of 40 digits. The default is the default branch.
    pub rev: Option<Spanned<String>>,
    /// The archive that it comes from, `.tar.gz`, `.tar` or `.zip`: `https://…` or `file:///…`. `folio add URL` writes it with its
    /// `sha256`, and folio.lock and the cache are as with `git`. An archive of a repository has one folder around everything, which
    /// `path` names too: `{ url: "https://example.com/docs-1.2.0.tar.gz", sha256: 3f2a…, path: docs-1.2.0/prompts }`.
    pub url: Option<Spanned<String>>,
    /// With `url`, the SHA-256 of the archive. Required there: nothing else is ever loaded.
    pub sha256: Option<Spanned<String>>,
    /// For a folder of prompts of another program: their format, or several. The default is `auto` for a folder without a
    /// `folio.yaml`. Their texts are served as they are: only the markers of the format are replaced. Commands in them run with
    /// `allow: [script]`, and files that they name are read with `allow: [read]`. `{ path: fabric/data/patterns, format: fabric }`.
    #[schemars(with = "PackFormats")]
    pub format: Option<Spanned<PackFormats>>,
    /// For prompts of another program, those to serve, by globs of their names without the prefix, `[review-*]`, or, with `/` or
    /// `.`, of the paths of their files, `["skills/pdf/**"]`. The default is all.
    #[schemars(with = "Vec<String>")]
    pub only: Option<Vec<Spanned<String>>>,
    /// For prompts of another program, the folder where their commands run and below which they read files: a path relative
    /// to this file, or exactly one `{{env.NAME}}` or `{{workspace}}`.
    #[schemars(with = "String")]
    pub workspace: Option<Spanned<String>>,
    /// The prefix of its names, joined by `-`. The default is its key; `""` for none.
    pub prefix: Option<Spanned<String>>,
    /// What it may do: `[exec, http]`. Without a grant it has texts only, and cannot act. With `git` or `url`, `folio trust` must
    /// have confirmed it for the files as they are.
    /// A map holds its programs to a sandbox in addition to their own: `{ exec: { sandbox: { write: [out] } } }`. Paths are
    /// relative to this file; the pack may read its own folder.
    pub allow: Option<Allow>,
    /// The variables that it may read, templates by name: `{ TOKEN: "{{env.MY_TOKEN}}" }`.
    #[schemars(with = "IndexMap<String, Scalar>")]
    pub env: NamedMap<Spanned<Scalar>>,
}

yaml_kind_enum! {
    /// A format of prompts, or several.
    pub enum PackFormats {
        "text" => One(PackFormatName),
        "list" => Many(Vec<PackFormatName>),
    }
}

impl PackFormats {
    /// The formats.
    pub fn items(&self) -> &[PackFormatName] {
        match self {
            PackFormats::One(one) => std::slice::from_ref(one),
            PackFormats::Many(many) => many,
        }
    }
}

/// A format of prompts that another program defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PackFormatName {
    /// Skills, `**/NAME/SKILL.md`: the text, then links to the files of the skill, which are resources under
    /// `skill://PREFIX/`. Markers as in `claude-commands`. Skills with `user-invocable: false` are not listed as prompts.
    AgentSkills,
    /// Agents of Claude Code and Copilot: `agents/**/*.md` with a `name` in the front matter, and `*.agent.md`. Where no other format
    /// is named, also `**/*.md` with a `name` and a `description`. Prompts with the text of the agent.
    Agents,
    /// All that is found, but agents: skills, commands below `commands/`, `*.prompt.md`, patterns below `patterns/`, `*.prompt` with front
    /// matter, and `prompts.csv`.
    Auto,
    /// Slash commands of Claude Code, `**/*.md`, named after the path below the last `commands/`. `$ARGUMENTS` and `$1` are
    /// replaced; without them, the argument `arguments` is appended.
    ClaudeCommands,
    /// Tables such as that of prompts.chat, `**/*.csv`: a prompt for each row, named after its column `act`, with the text in
    /// `prompt`. `${Name:default}` is replaced.
    Csv,
    /// Prompts of Genkit, `**/*.prompt`, named after the path below the last `prompts/`: a template with the variables of
    /// `input.schema` and others that it uses. `{{role "model"}}` is the assistant's, `{{> NAME}}` is `_NAME.prompt` of the
    /// nearest folder.
    Dotprompt,
    /// Patterns of fabric, `**/NAME/system.md`. `{{input}}` and `{{NAME}}` are replaced; without `{{input}}`, the argument
    /// `input` is appended.
    Fabric,
    /// Custom commands of Gemini CLI, `**/*.toml`, named after the path below the last `commands/`. `{{args}}` is replaced;
    /// without it, the argument `args` is appended.
    GeminiCommands,
    /// Prompt files of VS Code, `**/NAME.prompt.md`. `${input:NAME:HINT}`, `${file}` and the like are replaced.
    VscodePrompts,
}

impl PackFormatName {
    /// The format as a manifest names it.
    pub fn as_str(self) -> &'static str {
        match self {
            PackFormatName::AgentSkills => "agent-skills",
            PackFormatName::Agents => "agents",
            PackFormatName::Auto => "auto",
            PackFormatName::ClaudeCommands => "claude-commands",
            PackFormatName::Csv => "csv",
            PackFormatName::Dotprompt => "dotprompt",
            PackFormatName::Fabric => "fabric",
            PackFormatName::GeminiCommands => "gemini-commands",
            PackFormatName::VscodePrompts => "vscode-prompts",
        }
    }
}

yaml_kind_enum! {
    /// Permissions: a list, or a map from each permission to its restrictions.
    pub enum Allow {
        "list" => List(Vec<Spanned<Grant>>),
        "map" => Limited(Box<GrantLimits>),
    }
}

impl Allow {
    /// The permissions.
    pub fn grants(&self) -> Vec<Grant> {
        match self {
            Allow::List(grants) => grants.iter().map(|grant| grant.value).collect(),
            Allow::Limited(limits) => limits.grants(),
        }
    }

    /// The same without the permissions that are not among these.
    #[must_use]
    pub fn restricted_to(&self, granted: &BTreeSet<Grant>) -> Allow {
        match self {
            Allow::List(grants) => {
                Allow::List(grants.iter().filter(|grant| granted.contains(&grant.value)).cloned().collect())
            }
            Allow::Limited(limits) => Allow::Limited(Box::new(limits.restricted_to(granted))),
        }
    }
}

/// Permissions to act, each with what it is held to: `{ exec: { sandbox: { network: none } }, http: {} }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantLimits {
    /// Runs programs: `{ sandbox: { write: [out] } }`.
    pub exec: Option<ProgramGrant>,
    /// Runs scripts: `{ sandbox: { network: none } }`.
    pub script: Option<ProgramGrant>,
    /// Sends HTTP requests: `{}`.
    pub http: Option<PlainGrant>,
    /// Asks the client questions: `{}`.
    pub ask: Option<PlainGrant>,
    /// Changes files, and reads outside of the pack: `{}`.
    pub files: Option<PlainGrant>,
    /// For prompts of another program, reads files below `workspace`: `{}`.
    pub read: Option<PlainGrant>,
}

impl GrantLimits {
    fn grants(&self) -> Vec<Grant> {
        let given = [
            (Grant::Exec, self.exec.is_some()),
            (Grant::Script, self.script.is_some()),
            (Grant::Http, self.http.is_some()),
            (Grant::Ask, self.ask.is_some()),
            (Grant::Files, self.files.is_some()),
            (Grant::Read, self.read.is_some()),
        ];
        given.into_iter().filter_map(|(grant, given)| given.then_some(grant)).collect()
    }

    fn restricted_to(&self, granted: &BTreeSet<Grant>) -> GrantLimits {
        let has = |grant| granted.contains(&grant);
        GrantLimits {
            exec: self.exec.clone().filter(|_| has(Grant::Exec)),
            script: self.script.clone().filter(|_| has(Grant::Script)),
            http: self.http.clone().filter(|_| has(Grant::Http)),
            ask: self.ask.clone().filter(|_| has(Grant::Ask)),
            files: self.files.clone().filter(|_| has(Grant::Files)),
            read: self.read.clone().filter(|_| has(Grant::Read)),
        }
    }

    /// The sandboxes, by grant.
    pub fn sandboxes(&self) -> impl Iterator<Item = (Grant, &Spanned<Sandbox>)> {
        let programs = [(Grant::Exec, &self.exec), (Grant::Script, &self.script)];
        programs.into_iter().filter_map(|(grant, limits)| Some((grant, limits.as_ref()?.sandbox.as_ref()?)))
    }
}

/// A permission to run programs, and what they are held to: `{ sandbox: { write: [out] } }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramGrant {
    /// What every program of the pack is held to, in addition to its own `sandbox`: `{ write: [out], network: [443] }`.
    pub sandbox: Option<Spanned<Sandbox>>,
}

/// A permission that is held to nothing: `{}`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlainGrant {}

/// A permission to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    /// Runs programs.
    Exec,
    /// Runs scripts.
    Script,
    /// Sends HTTP requests.
    Http,
    /// Asks the client questions.
    Ask,
    /// Changes files, and reads those outside of the pack.
    Files,
    /// For prompts of another program: reads files below `workspace`.
    Read,
}

impl Grant {
    /// Every grant.
    pub const ALL: [Grant; 6] = [Grant::Exec, Grant::Script, Grant::Http, Grant::Ask, Grant::Files, Grant::Read];

    /// Its name in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Grant::Exec => "exec",
            Grant::Script => "script",
            Grant::Http => "http",
            Grant::Ask => "ask",
            Grant::Files => "files",
            Grant::Read => "read",
        }
    }
}

/// A folder of agent skills.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Skills {
    /// The folder. Each folder in it with a SKILL.md is a skill, served by the skills extension of MCP and, file by file, as
    /// resources under `skill://`. A skill that violates the Agent Skills format is left out. Hidden folders and files are
    /// included: `skills/.curated/review/SKILL.md` is `skill://.curated/review/SKILL.md`. Excluded are links, `.git` and
    /// similar folders, `node_modules`, `.env`, `.netrc`, `.npmrc`, `.DS_Store` and swap files.
    #[schemars(with = "String", extend("x-required" = true))]
    pub dir: Option<Spanned<String>>,
    /// The scopes that a caller needs, all of them: `[desk.read]`. Skills are listed for callers without them,
    /// who are told what is missing. Requires `http.auth`.
    #[schemars(with = "Option<Vec<String>>")]
    pub scopes: Option<Spanned<Vec<Spanned<String>>>>,
    /// The roles of which a caller needs one: `[ops, lead]`. Others neither see the skills nor find them. Requires `http.auth`.
    #[schemars(with = "Option<Vec<String>>")]
    pub roles: Option<Spanned<Vec<Spanned<String>>>>,
    /// Whether reading is permitted: exactly one `{{…}}` over `caller`, such as
    /// `"{{eq caller.claims.team 'desk'}}"`. A claim that a caller lacks is null. Requires `http.auth`.
    pub permit: Option<Spanned<String>>,
}
