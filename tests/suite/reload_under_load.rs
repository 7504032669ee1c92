//! A hundred edits under load, a third of them broken, before the eyes of a client of each kind.
//!
//! Two servers serve one folder: one on pipes, with a session and a client of 2026-07-28 on the same pipe; one on
//! sockets, with a session and a client of 2026-07-28. After each edit every client finds exactly the lists that are
//! due, has heard exactly the notices that are due, and nobody's request has failed meanwhile.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

const EDITS: usize = 100;
const SEED: u64 = 0x00f0_110f;

/// Numbers that are the same in every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

#[derive(Clone, Debug, PartialEq)]
struct EditedEntry {
    description: String,
    body: String,
}

/// What the author means: what is written is made of it, and so is what clients must find.
#[derive(Clone, Debug, PartialEq)]
struct ManifestEditor {
    prompts: BTreeMap<String, EditedEntry>,
    /// Prompts of the fragment.
    fragment: BTreeMap<String, EditedEntry>,
    /// Tools by the names of their second arguments.
    tools: BTreeMap<String, String>,
    resources: BTreeMap<String, EditedEntry>,
    /// Files beneath the root, with their content.
    files: BTreeMap<String, String>,
    comment: usize,
    next: usize,
}

impl ManifestEditor {
    fn begin() -> ManifestEditor {
        let entry = |word: &str| EditedEntry { description: format!("{word} described"), body: format!("{word} body") };
        ManifestEditor {
            // These two are there to the end: the load asks for them.
            prompts: [("steady".to_owned(), entry("steady"))].into(),
            fragment: [("part".to_owned(), entry("part"))].into(),
            tools: [("tool".to_owned(), "extra".to_owned())].into(),
            resources: [("kept".to_owned(), entry("kept"))].into(),
            files: [("first.txt".to_owned(), "first".to_owned())].into(),
            comment: 0,
            next: 0,
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    /// The manifest; it ends in the middle of a word's quotes wherever it is cut.
    fn manifest(&self) -> String {
        let mut text =
            format!("# edit {}\nfolio: 1\nserver: {{ name: hundred }}\ninclude: [part.yaml]\n", self.comment);
        text += "prompts:\n";
        text += &prompts(&self.prompts);
        text += "tools:\n";
        for (name, argument) in &self.tools {
            text += &format!(
                "  {name}:\n    description: Says it\n    arguments: {{ text: {{ required: true }}, {argument}: {{ }} }}\n    result: {{ text: \"{{{{text}}}}\" }}\n"
            );
        }
        text += "resources:\n  files: { uri: \"root://{+path}\", root: files }\n";
        for (name, EditedEntry { description, body }) in &self.resources {
            text +=
                &format!("  {name}: {{ uri: \"own://{name}\", description: \"{description}\", text: \"{body}\" }}\n");
        }
        text
    }

    fn part(&self) -> String {
        format!("prompts:\n{}", prompts(&self.fragment))
    }

    /// The lists as clients must find them, without what a size or a time adds.
    fn lists(&self) -> Lists {
        let described = |(name, entry): (&String, &EditedEntry)| format!("{name}: {}", entry.description);
        let prompts = self.prompts.iter().chain(&self.fragment).map(described).collect();
        let tools = self.tools.iter().map(|(name, argument)| format!("{name}({argument},text)")).collect();
        let files = self.files.keys().map(|path| format!("root://{path}: "));
        let own = self.resources.iter().map(|(name, entry)| format!("own://{name}: {}", entry.description));
        let mut resources: Vec<String> = files.chain(own).collect();
        resources.sort();
        Lists { prompts, tools, resources }
    }
}

fn prompts(prompts: &BTreeMap<String, EditedEntry>) -> String {
    let line = |(name, entry): (&String, &EditedEntry)| {
        format!("  {name}: {{ description: \"{}\", text: \"{}\" }}\n", entry.description, entry.body)
    };
    prompts.iter().map(line).collect()
}

/// The lists, an entry a line.
#[derive(Clone, Debug, PartialEq, Default)]
struct Lists {
    prompts: Vec<String>,
    tools: Vec<String>,
    resources: Vec<String>,
}

impl Lists {
    fn seen_by(client: &TestClient) -> Lists {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let prompts = client
            .list("prompts")
            .iter()
            .map(|entry| format!("{}: {}", text(&entry["name"]), text(&entry["description"])))
            .collect();
        let tools = client.list("tools");
        let tools = tools.iter().map(|tool| {
            let mut names: Vec<&str> =
                tool["inputSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            names.sort_unstable();
            format!("{}({})", text(&tool["name"]), names.join(","))
        });
        let resources = client.list("resources");
        let mut resources: Vec<String> =
            resources.iter().map(|entry| format!("{}: {}", text(&entry["uri"]), text(&entry["description"]))).collect();
        resources.sort();
        Lists { prompts, tools: tools.collect(), resources }
    }

    /// The kinds of which there must be word.
    fn changed_kinds(&self, other: &Lists) -> Vec<&'static str> {
        [
            ("prompts", self.prompts != other.prompts),
            ("resources", self.resources != other.resources),
            ("tools", self.tools != other.tools),
        ]
        .into_iter()
        .filter_map(|(kind, differs)| differs.then_some(kind))
        .collect()
    }
}

/// A client and where it hears of changes.
struct ClientWatcher<'a> {
    who: &'static str,
    client: TestClient,
    listening: Option<Subscription>,
    server: &'a TestServer,
}

impl ClientWatcher<'_> {
    fn notification_methods(&self) -> Vec<String> {
        match &self.listening {
            Some(listening) => listening.notifications(),
            None => self.client.untagged_notifications(),
        }
    }

    fn wait_for(&self, method: &str) -> Value {
        match &self.listening {
            Some(listening) => listening.wait_for(method),
            None => self.client.wait_for(method),
        }
    }

    /// Takes every notice that is due; then there must be no other.
    fn assert_receives_exactly(&self, due: &[String], edit: &str) {
        for method in due {
            self.wait_for(method);
        }
        self.client.round_trip();
        let more = self.notification_methods();
        assert!(more.is_empty(), "{}: {edit}: undue {more:?} beside {due:?}", self.who);
    }
}

/// What an edit is, and what must come of it.
struct Edit {
    what: String,
    /// What the servers say on stderr.
    said: LogEvent,
    /// Files of which content changed, by URI: word for those who subscribed.
    updated: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum LogEvent {
    Reloaded,
    Refused,
    /// Nothing: they are asked by a signal.
    Nothing,
    /// Nothing but that a resource changed.
    Updated,
}

/// The folder, the author, and what was written last that could be served.
struct ReloadScenario<'a> {
    folder: &'a TestFolder,
    dice: Rng,
    author: ManifestEditor,
    /// Whether what is on the disk cannot be served.
    broken: bool,
}

impl ReloadScenario<'_> {
    /// Saves the manifest in one of the ways of editors.
    fn save(&mut self, path: &str, text: &str) -> &'static str {
        match self.dice.below(4) {
            0 => {
                self.folder.rename_over(path, text);
                "renamed over"
            }
            1 => {
                self.folder.remove(path);
                self.folder.write(path, text);
                "made anew"
            }
            2 if path == "folio.yaml" => {
                let mut file = std::fs::File::create(self.folder.join(path)).unwrap();
                for piece in text.as_bytes().chunks(text.len() / 5 + 1) {
                    file.write_all(piece).unwrap();
                    file.flush().unwrap();
                }
                "in pieces"
            }
            _ => {
                self.folder.write(path, text);
                "in place"
            }
        }
    }

    fn edit(&mut self, number: usize) -> Edit {
        self.author.comment = number;
        if self.broken {
            // With one good edit in three followed by a broken one, a third of all are broken.
            return if self.dice.below(3) == 0 { self.break_manifest(number) } else { self.fix_manifest() };
        }
        if self.dice.below(3) == 0 { self.break_manifest(number) } else { self.write_valid_manifest(number) }
    }

    fn break_manifest(&mut self, number: usize) -> Edit {
        self.broken = true;
        let whole = self.author.manifest();
        let with = |text: &str| whole.replacen("prompts:\n", &format!("prompts:\n  bad: {{ text: \"{text}\" }}\n"), 1);
        let (what, text) = match self.dice.below(6) {
            0 => ("broken YAML", format!("{whole}  }}broken: [{number}\n")),
            1 => ("cut in the middle", whole[..whole.len() - 5].to_owned() + &format!("# {number}")),
            2 => ("a broken template", with(&format!("{{{{#if x{number}}}}}"))),
            3 => ("an unknown variable", with(&format!("{{{{unknown{number}}}}}"))),
            4 => ("an unknown key", format!("{whole}promts{number}: {{}}\n")),
            _ => ("a duplicate name", format!("{whole}prompts: {{ p{number}: {{ text: x }} }}\n")),
        };
        let how = self.save("folio.yaml", &text);
        Edit { what: format!("{number}: {what}, {how}"), said: LogEvent::Refused, updated: vec![] }
    }

    /// Writes the author's mind again, which may have moved on since.
    fn fix_manifest(&mut self) -> Edit {
        self.broken = false;
        let change = if self.dice.below(2) == 0 { self.change() } else { "as it was".to_owned() };
        let text = self.author.manifest();
        let how = self.save("folio.yaml", &text);
        Edit {
            what: format!("{}: mended with {change}, {how}", self.author.comment),
            said: LogEvent::Reloaded,
            updated: vec![],
        }
    }

    fn write_valid_manifest(&mut self, number: usize) -> Edit {
        match self.dice.below(12) {
            0 => self.in_fragment(number),
            1 => self.new_file(number),
            2 => self.change_file(number),
            3 => {
                let file = std::fs::File::options().append(true).open(self.folder.join("folio.yaml")).unwrap();
                file.set_modified(std::time::SystemTime::now()).unwrap();
                Edit { what: format!("{number}: a touch"), said: LogEvent::Nothing, updated: vec![] }
            }
            _ => {
                let change = self.change();
                let text = self.author.manifest();
                let how = self.save("folio.yaml", &text);
                Edit { what: format!("{number}: {change}, {how}"), said: LogEvent::Reloaded, updated: vec![] }
            }
        }
    }

    /// Changes the author's mind about the manifest.
    fn change(&mut self) -> String {
        let author = &mut self.author;
        let number = author.comment;
        match self.dice.below(9) {
            0 => "a comment".to_owned(),
            1 => {
                let name = author.name("prompt");
                let entry = EditedEntry { description: format!("d{number}"), body: format!("b{number}") };
                author.prompts.insert(name, entry);
                "a new prompt".to_owned()
            }
            2 if author.prompts.len() > 2 => {
                let name = author.prompts.keys().next().unwrap().clone();
                author.prompts.remove(&name);
                "a prompt removed".to_owned()
            }
            3 if author.prompts.len() > 2 => {
                let old = author.prompts.keys().next().unwrap().clone();
                let entry = author.prompts.remove(&old).unwrap();
                let name = author.name("renamed");
                author.prompts.insert(name, entry);
                "a prompt renamed".to_owned()
            }
            4 => {
                author.prompts.get_mut("steady").unwrap().description = format!("described {number}");
                "a description".to_owned()
            }
            5 => {
                author.tools.insert("tool".to_owned(), format!("extra{number}"));
                "a tool's argument".to_owned()
            }
            6 => {
                let name = author.name("tool");
                author.tools.insert(name, "extra".to_owned());
                "a new tool".to_owned()
            }
            7 => {
                let name = author.name("resource");
                author
                    .resources
                    .insert(name, EditedEntry { description: format!("r{number}"), body: format!("t{number}") });
                "a new resource".to_owned()
            }
            _ => {
                author.prompts.get_mut("steady").unwrap().body = format!("body {number}");
                "a body alone".to_owned()
            }
        }
    }

    fn in_fragment(&mut self, number: usize) -> Edit {
        let name = self.author.name("part");
        self.author.fragment.insert(name, EditedEntry { description: format!("f{number}"), body: "x".to_owned() });
        let text = self.author.part();
        // In place an empty fragment would stand there for a moment, which is a manifest too.
        self.folder.rename_over("part.yaml", text);
        Edit { what: format!("{number}: a prompt in the fragment"), said: LogEvent::Reloaded, updated: vec![] }
    }

    fn new_file(&mut self, number: usize) -> Edit {
        let path = format!("sub{number}/file.txt");
        self.author.files.insert(path.clone(), "new".to_owned());
        self.folder.write(&format!("files/{path}"), "new");
        Edit { what: format!("{number}: a new file in a new folder"), said: LogEvent::Reloaded, updated: vec![] }
    }

    fn change_file(&mut self, number: usize) -> Edit {
        let text = format!("first, {} time", "again ".repeat(number));
        self.author.files.insert("first.txt".to_owned(), text.clone());
        self.folder.rename_over("files/first.txt", text);
        Edit {
            what: format!("{number}: a file's content"),
            said: LogEvent::Updated,
            updated: vec!["root://first.txt".to_owned()],
        }
    }
}

/// Asks for this and that until it is told to stop. Every answer must be right, or from just before.
fn load(client: &TestClient, stop: &AtomicBool, asked: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        assert!(!client.names("prompts").is_empty());
        assert!(client.list("tools").iter().any(|tool| tool["name"] == "tool"));
        assert_eq!(client.call_text("tool", json!({ "text": "loaded" })), "loaded");
        assert!(client.get_text("steady", json!({})).contains("body"));
        assert!(client.read_text("root://first.txt").starts_with("first"));
        assert_eq!(client.read_text("own://kept"), "kept body");
        client.round_trip();
        asked.fetch_add(7, Ordering::Relaxed);
        // A pace, so that the load is not all that the machine does.
        thread::sleep(Duration::from_millis(5));
    }
}

/// What there must have been among the edits.
const KINDS: [&str; 24] = [
    "broken YAML",
    "cut in the middle",
    "a broken template",
    "an unknown variable",
    "an unknown key",
    "a duplicate name",
    "mended with",
    "as it was",
    "a touch",
    "a comment",
    "a new prompt",
    "a prompt removed",
    "a prompt renamed",
    "a description",
    "a tool's argument",
    "a new tool",
    "a new resource",
    "a body alone",
    "in the fragment",
    "a new file in a new folder",
    "a file's content",
    "renamed over",
    "made anew",
    "in pieces",
];

const FILTER: &str = r#"{"promptsListChanged":true,"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["root://first.txt"]}"#;

#[test]
fn hundred_edits_under_load_are_served_and_announced() {
    let author = ManifestEditor::begin();
    let folder = TestFolder::new(&[
        ("folio.yaml", &author.manifest()),
        ("part.yaml", &author.part()),
        ("files/first.txt", "first"),
    ]);
    let (pipes, web) = (folder.stdio(), folder.http());
    let watchers = watchers(&pipes, &web);
    let loaders = [pipes.sessionless(), web.sessionless(), web.session("2025-06-18")];
    let (stop, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut desk = ReloadScenario { folder: &folder, dice: Rng(SEED), author: author.clone(), broken: false };
    thread::scope(|scope| {
        let loading: Vec<_> = loaders.iter().map(|client| scope.spawn(|| load(client, &stop, &asked))).collect();
        let edited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| edit_and_see(&mut desk, &watchers)));
        stop.store(true, Ordering::Relaxed);
        for loading in loading {
            loading.join().expect("a request of the load failed");
        }
        let (took, broken) = edited.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let asked = asked.load(Ordering::Relaxed);
        println!(
            "{EDITS} edits, {broken} of them broken, {asked} requests beside them; the slowest was seen after {took:?}"
        );
        assert!((EDITS / 4..=EDITS / 2).contains(&broken), "{broken} are no third");
        assert!(asked > EDITS, "there was no load");
    });
}

fn watchers<'a>(pipes: &'a TestServer, web: &'a TestServer) -> Vec<ClientWatcher<'a>> {
    let filter: Value = serde_json::from_str(FILTER).unwrap();
    let mut watchers = Vec::new();
    for (who, server) in [("the session on pipes", pipes), ("the session over HTTP", web)] {
        let client = server.session("2025-11-25");
        client.result("resources/subscribe", json!({ "uri": "root://first.txt" }));
        watchers.push(ClientWatcher { who, client, listening: None, server });
    }
    let stream = watchers[1].client.open_stream();
    std::mem::forget(stream);
    for (who, server) in [("the newest version on pipes", pipes), ("the newest version over HTTP", web)] {
        let client = server.sessionless();
        let listening = Some(client.listen(filter.clone()));
        watchers.push(ClientWatcher { who, client, listening, server });
    }
    wait_until_subscribed(&watchers);
    watchers
}

/// A stream that begins while the catalog is replaced, as may happen soon after the start, is told of its resources:
/// it cannot tell what they were. That is over when the servers have reloaded once more.
fn wait_until_subscribed(watchers: &[ClientWatcher<'_>]) {
    for server in watchers.iter().map(|watcher| watcher.server) {
        let mark = server.log.line_count();
        server.signal("HUP");
        server.log.wait_for_reload(mark);
    }
    for watcher in watchers {
        watcher.client.round_trip();
        while let [first, ..] = &watcher.notification_methods()[..] {
            assert_eq!(first, "notifications/resources/updated", "{}", watcher.who);
            watcher.wait_for(first);
        }
    }
}

/// Makes the edits; returns how long the slowest took to be served, and how many were broken.
fn edit_and_see(desk: &mut ReloadScenario<'_>, watchers: &[ClientWatcher<'_>]) -> (Duration, usize) {
    let mut served = desk.author.clone();
    let mut took = Vec::new();
    let mut broken = 0;
    let mut made = String::new();
    for number in 1..=EDITS {
        let marks: Vec<usize> = watchers.iter().map(|watcher| watcher.server.log.line_count()).collect();
        let edit = desk.edit(number);
        let saved = Instant::now();
        made += &format!("{}\n", edit.what);
        let before = served.lists();
        if edit.said == LogEvent::Refused {
            broken += 1;
        } else {
            served = desk.author.clone();
        }
        let lists = served.lists();
        let kinds = lists.changed_kinds(&before);
        let mut due: Vec<String> = kinds.iter().map(|kind| format!("notifications/{kind}/list_changed")).collect();
        due.extend(edit.updated.iter().map(|_| "notifications/resources/updated".to_owned()));
        if !kinds.is_empty() {
            let client = &watchers[number % watchers.len()].client;
            wait_until(&edit.what, || Lists::seen_by(client) == lists);
            took.push(saved.elapsed());
        }
        if edit.said == LogEvent::Nothing {
            watchers[0].server.signal("HUP");
            watchers[1].server.signal("HUP");
        }
        for (watcher, mark) in watchers.iter().zip(marks) {
            match edit.said {
                LogEvent::Refused => drop(watcher.server.log.wait_for_failed_reload(mark)),
                LogEvent::Updated => {}
                LogEvent::Reloaded | LogEvent::Nothing => drop(watcher.server.log.wait_for_reload(mark)),
            }
            watcher.assert_receives_exactly(&due, &edit.what);
            assert_eq!(Lists::seen_by(&watcher.client), lists, "{}: {}", watcher.who, edit.what);
            let body = watcher.client.get_text("steady", json!({}));
            assert_eq!(body, served.prompts["steady"].body, "{}: {}", watcher.who, edit.what);
            assert_eq!(watcher.client.read_text("root://first.txt"), served.files["first.txt"]);
        }
    }
    println!("{made}");
    for kind in KINDS {
        assert!(made.contains(kind), "no edit was {kind}: another seed, or more edits");
    }
    took.sort();
    let soon = took.iter().filter(|took| **took < Duration::from_secs(1)).count();
    assert!(soon * 10 >= took.len() * 9, "not seen within the second: {took:?}");
    (took.last().copied().unwrap_or_default(), broken)
}
