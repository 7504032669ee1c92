//! A catalog that is built after another one is the same as one that is built from nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::{StubWorld, block_on, call_context, environment};
use crate::catalog::{BuildOutcome, Catalog, ReadFiles, UnacceptedCatalog, build, read_packs};
use crate::compile::{FileBuffers, LoadDependencies};
use crate::diagnostic::render_lines;
use crate::files::Folder;
use crate::load::{CommandOutputs, EnvSource, LoadedPacks, ManifestLocation, load_manifests};
use crate::store::{MemoryStore, Store};
use crate::world::World;

/// What a prompt may be, below its name. Those of the first dozen are good wherever they are.
const PROMPTS: &[&str] = &[
    "{ text: plain }",
    "{ text: other }",
    "{ text: \"hello {{who}}\", arguments: { who: { required: true } } }",
    "{ text: \"hello {{who}}\", arguments: { who: { default: \"1\" } } }",
    "{ text: \"hello {{who}}\", arguments: { who: { type: integer, default: 1 } } }",
    "{ text: \"{{who}}\", arguments: { who: { enum: [a, b] } } }",
    "{ text: \"{{who}}\", arguments: { who: { enum: [b, a], description: \"of {{server.name}}\" } } }",
    "{ text: \"in {{env.CITY}}\" }",
    "{ text: t, description: \"in {{env.CITY}}\" }",
    "{ text: \"{{server.name}} {{server.title}}\" }",
    "{ text: \"{{> part}}\" }",
    "{ text: \"{{who}} {{> part}}\", arguments: { who: {} } }",
    "{ text: { file: text.txt } }",
    "{ text: \"{{who}}\", arguments: { who: { $ref: defs.json } } }",
    "{ text: \"{{who}}\", arguments: { who: { within: roots } } }",
    "{ text: \"{{who}}\", arguments: { who: { complete: [x, y] } } }",
    "{ text: \"{{today}}\", arguments: { today: {}, now: {} } }",
    "{ text: \"{{now}}\", arguments: { now: {} } }",
    "{ text: \"{{unknown}}\" }",
    "{ text: t, timeout: 3s }",
    "{ text: t, title: T, _meta: { a: 1 } }",
    "{ messages: [{ user: \"{{env.CITY}}\" }, { assistant: b }] }",
    "{ messages: [{ user: { resource: \"r://a\" } }] }",
    "{ run: { exec: [echo, x] }, text: \"{{result.stdout}}\" }",
];

const PARTS: &[&str] = &["one {{env.CITY}}", "two", "three {{server.name}}", "4", "5", "6", "7", "8", "9", "{{#if"];
const CITIES: &[&str] =
    &["{}", "{ default: Oslo }", "{ default: Rome }", "{ default: Bern }", "{ default: Oslo-1234, secret: true }"];
const DEFINITIONS: &[&str] =
    &["{\"type\": \"string\"}", "{\"type\": \"integer\", \"default\": 1}", "{\"type\": 1}", ""];

/// The number of choices that make a folder.
const CHOICES: usize = 16;

/// The files of a server, each part by a number.
struct Written([usize; CHOICES]);

impl Written {
    fn pick<'t>(&self, choice: usize, texts: &[&'t str]) -> &'t str {
        texts[self.0[choice] % texts.len()]
    }

    fn lines(&self, choice: usize) -> String {
        "# a line\n".repeat(self.0[choice] % 3)
    }

    /// A prompt, more often a good one.
    fn prompt(&self, choice: usize) -> &'static str {
        let number = self.0[choice];
        PROMPTS[if number < 150 { number % 12 } else { number % PROMPTS.len() }]
    }

    /// Prompts as a map; some are missing.
    fn prompts(&self, names: &[(&str, usize)]) -> String {
        let mut text = String::from("prompts:\n");
        for (name, choice) in names {
            if !self.0[*choice].is_multiple_of(7) {
                let _ = writeln!(text, "{}  {name}: {}", self.lines(*choice), self.prompt(*choice));
            }
        }
        // A map is never empty, and no name is that of another file.
        let first = names.first().map_or("x", |(name, _)| name);
        text + &format!("  last-{first}: {{ text: last }}\n")
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let server = self.pick(0, &["{ name: s }", "{ name: t }", "{ name: s, title: \"T of {{env.CITY}}\" }"]);
        let prefix = self.pick(1, &["k", "l"]);
        let order = self.pick(2, &["ab", "ba"]);
        let own = if order == "ab" { [("a", 3), ("b", 4)] } else { [("b", 4), ("a", 3)] };
        let root = format!(
            "{}folio: 1\nserver: {server}\nenv: {{ CITY: {} }}\npartials: parts/*.hbs\ninclude: [more.yaml, files/*.md]\n\
             packs: {{ p: {{ path: p, prefix: {prefix}, env: {{ CITY: \"{{{{env.CITY}}}}\" }} }} }}\n\
             resources: {{ r: {{ uri: \"r://a\", text: r }} }}\n{}",
            self.lines(5),
            self.pick(6, CITIES),
            self.prompts(&own),
        );
        let pack = format!(
            "folio: 1\nserver: {{ name: p }}\nenv: {{ CITY: {{}} }}\npartials: parts/*.hbs\n{}",
            self.prompts(&[("a", 7), ("c", 8)])
        );
        let body = self.pick(9, &["hello", "hello {{who}}", "hello {{who}}\n{{> part}}", "{{env.CITY}}"]);
        let argument = self.pick(10, &["{}", "{ type: number }", "{ default: x }"]);
        let front = format!("---\narguments: {{ who: {argument} }}\n---\n");
        let more = format!("{}{}", self.lines(11), self.prompts(&[("d", 11)]));
        let md = if self.0[12].is_multiple_of(3) { "files/e.md" } else { "files/f.md" };
        let files = [
            ("folio.yaml", root),
            ("more.yaml", more),
            (md, format!("{front}{body}\n")),
            ("parts/part.hbs", self.pick(13, PARTS).to_owned()),
            ("p/folio.yaml", pack),
            ("p/parts/part.hbs", self.pick(14, PARTS).to_owned()),
            ("text.txt", self.pick(15, &["t", "u", "{{env.CITY}}"]).to_owned()),
            ("defs.json", self.pick(15, DEFINITIONS).to_owned()),
        ];
        files.into_iter().map(|(path, text)| (path.to_owned(), text.into_bytes())).collect()
    }

    fn load(&self) -> LoadedPacks {
        let variables: EnvSource = environment(&[("CITY", self.pick(2, &["", "Lima", "Bern"]))]);
        let place = ManifestLocation::in_memory(Folder::in_memory(self.files()));
        load_manifests(&place, &variables, &CommandOutputs::default(), &FileBuffers::default())
    }
}

/// All that an author and a client see of a load.
pub(super) fn describe(built: &BuildOutcome) -> String {
    let mut text = render_lines(&built.report);
    let LoadDependencies { files, folders, workspace } = &built.dependencies;
    // A set: files that are taken from the earlier load come before what others read.
    let files: BTreeSet<_> = files.iter().collect();
    let _ = writeln!(text, "{files:?}{folders:?}{workspace:?}");
    let Some(UnacceptedCatalog(catalog)) = &built.catalog else { return text };
    let lists = catalog.lists();
    let _ = writeln!(text, "{}", json!([lists.prompts, lists.resources, lists.tools]));
    let digests = catalog.digests();
    let _ = writeln!(text, "{:?}{:?}{:?}", digests.prompts, digests.partials, digests.keys);
    for (name, schema) in catalog.prompt_schemas() {
        let _ = writeln!(text, "{name}: {}", json!(schema));
    }
    for (prompt, arguments) in
        lists.prompts.iter().flat_map(|prompt| [(prompt, json!({})), (prompt, json!({ "who": "7" }))])
    {
        let world: Arc<dyn World> = StubWorld::new(200, "text/plain", "fine");
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let context = call_context(catalog, &world, &store);
        let answer = block_on(catalog.get_prompt(&prompt.name, arguments.as_object().cloned(), &context));
        let _ = match answer {
            Ok(answer) => writeln!(text, "{}: {}", prompt.name, json!(answer.messages)),
            Err(refusal) => writeln!(text, "{}: {refusal:?}", prompt.name),
        };
    }
    text
}

/// The prompts of a catalog that are those of the earlier one.
pub(super) fn shared(earlier: &Catalog, later: &Catalog) -> Vec<String> {
    let same = later.prompts.iter().filter(|(name, prompt)| {
        earlier.prompts.get(*name).is_some_and(|earlier| Arc::ptr_eq(&earlier.parts, &prompt.parts))
    });
    same.map(|(name, _)| name.clone()).collect()
}

#[test]
fn catalog_after_edits_is_that_of_a_fresh_load() {
    let first = prop::array::uniform16(0..200_usize);
    let edits = prop::collection::vec((0..CHOICES, 0..200_usize), 1..10);
    proptest!(ProptestConfig::with_cases(32), |(first in first, edits in edits)| {
        let mut written = Written(first);
        let mut files = ReadFiles::default();
        for (choice, value) in std::iter::once((0, first[0])).chain(edits) {
            written.0[choice] = value;
            let mut fresh = written.load();
            fresh.read_included();
            let mut built = build(read_packs(written.load(), &files));
            files = std::mem::take(&mut built.files);
            prop_assert_eq!(describe(&built), describe(&build(fresh)));
        }
    });
}
