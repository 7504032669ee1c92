//! `tests`, which `folio test` runs.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::identity::LocalCaller;
use crate::spec_version::SpecVersion;
use crate::value_types::{Json, NamedMap, OneOrMany, yaml_kind_enum};
use crate::yaml::Spanned;

/// A test: exactly one of `prompt`, `tool`, `resource`, and the expected answer. `folio test` runs it as a client would.
/// Without a `mock` it neither runs programs nor sends requests: `{ tool: search, arguments: { pattern: x }, mock: { exec:
/// { stdout: "a.rs:1:x" } }, expect: { contains: a.rs } }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Test {
    /// The prompt to get.
    pub prompt: Option<Spanned<String>>,
    /// The tool to call.
    pub tool: Option<Spanned<String>>,
    /// The resource to read, by name; `arguments` fill in the variables of its URI.
    pub resource: Option<Spanned<String>>,
    /// The URI to read, such as `docs://policy`.
    pub uri: Option<Spanned<String>>,
    /// The arguments, such as `{ who: Ada }`.
    #[schemars(with = "IndexMap<String, Json>")]
    pub arguments: NamedMap<Spanned<Json>>,
    /// Who calls, to whom `scopes`, `roles` and `permit` apply: `{ id: ada, scopes: [desk.write], roles: [ops], claims: { team:
    /// desk } }`. They do not apply without it. `headers: { x-desk-key: key-of-ada }` are those of `http.callerHeaders`.
    pub caller: Option<Spanned<LocalCaller>>,
    /// Mocks of programs, requests and questions, by step id or by action. Programs: `{ exec: { exit: 1, stderr: not found } }`, or
    /// `script`. Requests: `{ http: { status: 404, json: { message: none } } }`. Both also take a list, one answer after
    /// the other: `{ http: [{ status: 503 }, { json: [1, 2] }] }`. Answers of the user: `{ ask: { confirm: { sure: true }
    /// } }` or `{ ask: { confirm: { action: decline } } }`; of the client's model: `{ ask: { summary: Short. } }`; its
    /// roots: `{ ask: { folders: ["file:///work"] } }`. Files: `{ file: { files: { notes/a.md: hello } } }`, the only ones
    /// that the `file` of each step then finds and changes, for this test alone. `env: { TOKEN: abc-123456 }` sets
    /// variables, beside those with a `test` of their own, `now: 2026-01-31T12:00:00Z` the time. Secrets that are not set
    /// have a made-up value.
    #[schemars(with = "IndexMap<String, Json>")]
    pub mock: NamedMap<Spanned<Json>>,
    /// Whether actions without a mock may run programs, send requests and change files. Such a test is skipped unless
    /// `folio test --live`.
    pub live: Option<bool>,
    /// The protocol versions to run under, such as `[2024-11-05, 2026-07-28]`. The newest by default.
    pub versions: Vec<SpecVersion>,
    /// Several calls, each with keys of its own beside those of the test: `[{ arguments: { n: 1 }, expect: { equals: one } },
    /// { arguments: { n: 2 }, expect: { equals: two } }]`.
    pub cases: Vec<Spanned<TestCase>>,
    /// The expected answer, which only a test with `cases` may leave out. All of its keys must hold: `{ contains: [open, closed], isError: false }`.
    pub expect: Option<Spanned<Expect>>,
}

/// One call of a test. `arguments` and `mock` are added to those of the test, and both `expect` must hold.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCase {
    /// Its name; its number by default.
    pub name: Option<Spanned<String>>,
    /// The URI to read.
    pub uri: Option<Spanned<String>>,
    /// The arguments, such as `{ who: Ada }`.
    #[schemars(with = "IndexMap<String, Json>")]
    pub arguments: NamedMap<Spanned<Json>>,
    /// Who calls, instead of the `caller` of the test: `{ id: bob, roles: [lead] }`.
    pub caller: Option<Spanned<LocalCaller>>,
    /// What stands in for the outside, such as `{ exec: { stdout: hello } }`.
    #[schemars(with = "IndexMap<String, Json>")]
    pub mock: NamedMap<Spanned<Json>>,
    /// The expected answer, such as `{ contains: hello }`.
    pub expect: Option<Spanned<Expect>>,
}

impl Test {
    /// The name of the call of a case, by which its snapshot is called; the name of the test if it has no cases.
    pub fn case_name(&self, test: &str, number: usize) -> String {
        match self.cases.get(number).map(|case| &case.value) {
            Some(TestCase { name: Some(name), .. }) => format!("{test} ({})", name.value),
            Some(_) => format!("{test} ({})", number + 1),
            None => test.to_owned(),
        }
    }
}

/// The expected answer. A call that fails fails the test, unless `isError: true` or `error` expects it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// A text that the text of the answer contains, or several: `[open, closed]`.
    pub contains: Option<OneOrMany>,
    /// The whole text of the answer, but for line breaks at its end; or its whole JSON: `{ open: 2 }`.
    pub equals: Option<Spanned<Json>>,
    /// A regular expression that the text of the answer matches, such as `^\d+ issues`.
    pub matches: Option<Spanned<String>>,
    /// What the JSON of the answer has. Of maps only these keys are compared, of lists all items: `{ total: 2, items: [{ id:
    /// 1 }, { id: 2 }] }`.
    pub json: Option<Spanned<Json>>,
    /// Whether the tool reports an error.
    pub is_error: Option<Spanned<bool>>,
    /// A text that the error contains, or several, such as `[unknown, prompt]`.
    pub error: Option<OneOrMany>,
    /// The messages of the prompt, all of them: `[{ user: Triage issue 7. }, { assistant: I will. }]`. A message that is not a
    /// text is written as MCP has it: `{ user: { type: image, mimeType: image/png } }`.
    pub messages: Option<Spanned<Vec<Spanned<ExpectedMessage>>>>,
    /// Whether the answer equals the one in `__snapshots__`, which `folio test --update` records.
    pub snapshot: Option<Spanned<bool>>,
    /// A program that was run or a request that was sent, or a list of all: `{ method: PATCH, json: { state: closed } }`.
    pub sent: Option<Spanned<ExpectedAction>>,
}

/// A message of a prompt: one of `user` and `assistant`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["user", "assistant"]))]
pub struct ExpectedMessage {
    /// The content of a message of the user.
    pub user: Option<Spanned<Json>>,
    /// The content of a message of the assistant.
    pub assistant: Option<Spanned<Json>>,
}

yaml_kind_enum! {
    /// One action among those that were sent, or all of them in order.
    pub enum ExpectedAction {
        "map" => One(Box<Spanned<SentParts>>),
        "list" => Many(Vec<Spanned<SentParts>>),
    }
}

impl ExpectedAction {
    /// What is expected, each with its place.
    pub fn parts(&self) -> &[Spanned<SentParts>] {
        match self {
            ExpectedAction::One(one) => std::slice::from_ref(one),
            ExpectedAction::Many(many) => many,
        }
    }
}

/// The parts of a program or a request that are compared.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SentParts {
    /// The program and its arguments: `[git, log, "v1..HEAD"]`.
    pub argv: Option<Spanned<Vec<Spanned<String>>>>,
    /// The stdin of the program.
    pub stdin: Option<Spanned<String>>,
    /// The URL of the request, with its query.
    pub url: Option<Spanned<String>>,
    /// Its method, such as `POST`.
    pub method: Option<Spanned<String>>,
    /// Some of its headers: `{ Accept: application/json }`. A secret is `[secret]`.
    #[schemars(with = "IndexMap<String, String>")]
    pub headers: NamedMap<Spanned<String>>,
    /// What its JSON body has, compared as `json` of an answer: `{ state: closed }`.
    pub json: Option<Spanned<Json>>,
    /// Its whole body as text; in base64 where it is not text.
    pub body: Option<Spanned<String>>,
}
