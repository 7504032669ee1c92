//! `scopes`, `roles`, `permit` and `caller`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CatalogFixture, StubWorld, block_on, built, texts};
use crate::action::{CallContext, ListKind};
use crate::catalog::result::call_result::{CompletionRequest, CompletionTarget};
use crate::catalog::result::refusal::{CallError, Refusal, RefusalKind};
use crate::diagnostic::render_lines;
use crate::identity::{AccessControl, Identity};
use crate::value_types::CacheScope;

const DESK: &str = r#"
prompts:
  brief: { text: "Brief for {{caller.id}}", roles: [ops] }
  team: { arguments: { team: { complete: [desk, shop] } }, text: "Team {{team}}", permit: "{{eq caller.claims.team team}}" }
  embeds: { messages: [{ user: { resource: "doc://plans" } }] }
  links: { messages: [{ user: { resourceLink: "doc://plans" } }] }
resources:
  plans: { uri: "doc://plans", title: Plans of ops, text: "plans", scopes: [plans.read], roles: [ops] }
  issue:
    uri: "issue://{id}"
    arguments: { id: { complete: ["7", "8"] } }
    text: "Issue {{id}}"
    scopes: ["issue:{{id}}"]
    permit: "{{ne id '13'}}"
  me: { uri: "me://id", text: "{{caller.id}}" }
  about: { uri: "about://desk", text: "about" }
tools:
  close:
    arguments: { id: { required: true }, team: {} }
    scopes: [desk.write, "issue:{{id}}"]
    roles: [ops, lead]
    permit: "{{eq caller.claims.team team}}"
    result: { text: "closed {{id}}" }
  close-for-team:
    arguments: { id: { required: true } }
    run: [{ tool: { name: close, arguments: { id: "{{id}}", team: "{{caller.claims.team}}" } } }]
  close-anyhow:
    arguments: { id: { required: true } }
    run:
      - { id: tried, onFail: continue, tool: { name: close, arguments: { id: "{{id}}", team: other } } }
    result: { text: "tried: {{steps.tried.error.text}}" }
  read-plans: { run: { read: "doc://plans" } }
  read-any: { arguments: { uri: { required: true } }, run: { read: "{{uri}}" } }
  who: { result: { text: "{{#if caller}}{{caller.id}}/{{caller.client}}/{{join caller.roles ','}}{{else}}nobody{{/if}}" } }
"#;

fn caller(id: &str, scopes: &[&str], roles: &[&str]) -> AccessControl {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let claims = json!({ "team": "desk", "pin": "claim-4711" }).as_object().cloned().unwrap();
    let identity =
        Identity { id: id.to_owned(), scopes: texts(scopes), roles: texts(roles), claims, ..Identity::default() };
    AccessControl::Caller(Some(Arc::new(identity)))
}

impl CatalogFixture {
    fn called_by(&mut self, access: AccessControl) -> &CatalogFixture {
        self.catalog.settings.access = access;
        self
    }

    fn refusal(&self, tool: &str, arguments: Value) -> Refusal {
        let arguments = arguments.as_object().cloned();
        let answer = block_on(self.catalog.call_tool(tool, arguments, &self.call_context()));
        answer.map_err(CallError::into_refusal).unwrap_err()
    }

    fn cache_scope(&self, uri: &str) -> Option<CacheScope> {
        block_on(self.catalog.read_resource(uri, &self.call_context())).unwrap().cache_scope
    }

    fn try_complete(&self, target: CompletionTarget, argument: &str) -> Result<Vec<String>, Refusal> {
        let (argument, value) = (argument.to_owned(), String::new());
        let request = CompletionRequest { target, argument, value, context: Default::default() };
        Ok(block_on(self.catalog.complete(&request, &self.call_context()))?.values)
    }
}

fn needs(refusal: &Refusal) -> Vec<String> {
    assert_eq!(refusal.kind, RefusalKind::InsufficientScope, "{refusal:?}");
    refusal.required_scopes().into_iter().collect()
}

#[test]
fn without_access_control_no_rule_applies() {
    let fixture = CatalogFixture::new(DESK);
    assert_eq!(fixture.text("close", json!({ "id": "7", "team": "x" })), "closed 7");
    assert_eq!(fixture.text("who", json!({})), "nobody");
    assert!(fixture.read("issue://13").is_ok() && fixture.read("doc://plans").is_ok());
    assert!(fixture.prompt("team", json!({ "team": "x" })).is_ok());
    assert!(fixture.catalog.sees_tool("close", &AccessControl::Unrestricted));
}

#[test]
fn entries_of_other_roles_are_as_unknown_as_any() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("bob", &["desk.write", "issue:7", "plans.read"], &["guest"]));
    for (name, others) in [("close", "closs"), ("close", "zzz")] {
        let (hidden, unknown) = (fixture.refusal(name, json!({ "id": "7" })), fixture.refusal(others, json!({})));
        assert_eq!((hidden.kind, unknown.kind), (RefusalKind::UnknownTool, RefusalKind::UnknownTool));
        assert_eq!(hidden.message.split(';').next(), Some("Unknown tool: close"));
        assert!(!unknown.message.contains("`close`"), "{}", unknown.message);
    }
    assert_eq!(fixture.prompt("brief", json!({})).unwrap_err().message, "Unknown prompt: brief");
    let (hidden, unknown) = (fixture.read("doc://plans").unwrap_err(), fixture.read("doc://nothing").unwrap_err());
    assert_eq!(hidden.message.replace("plans", "nothing"), unknown.message);
    assert_eq!(hidden.kind, unknown.kind);
    let access = &fixture.catalog.settings.access;
    let seen = [
        fixture.catalog.sees_tool("close", access),
        fixture.catalog.sees_prompt("brief", access),
        fixture.catalog.sees_resource("doc://plans", access),
        fixture.catalog.sees_tool("who", access),
        fixture.catalog.sees_template("issue://{id}", access),
    ];
    assert_eq!(seen, [false, false, false, true, true]);
}

#[test]
fn missing_scope_names_all_that_the_request_needs() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("ada", &["desk.write"], &["ops"]));
    assert_eq!(needs(&fixture.refusal("close", json!({ "id": "7", "team": "desk" }))), ["desk.write", "issue:7"]);
    // What is said of arguments comes after.
    assert_eq!(needs(&fixture.refusal("read-plans", json!({ "nothing": 1 }))), ["plans.read"]);
    // A step's own scopes are known before it runs, and those with its arguments when it does: both are named.
    assert_eq!(needs(&fixture.refusal("close-for-team", json!({ "id": "8" }))), ["desk.write", "issue:8"]);
    assert_eq!(needs(&fixture.refusal("close-anyhow", json!({ "id": "8" }))), ["desk.write", "issue:8"]);
    assert_eq!(needs(&fixture.refusal("read-any", json!({ "uri": "doc://plans" }))), ["plans.read"]);
    assert_eq!(needs(&fixture.prompt("embeds", json!({})).unwrap_err()), ["plans.read"]);
    assert_eq!(needs(&fixture.read("issue://9").unwrap_err()), ["issue:9"]);
    let fixture = &mut CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("ada", &["desk.write", "issue:8", "plans.read"], &["ops"]));
    assert_eq!(fixture.text("close-for-team", json!({ "id": "8" })), "closed 8");
    assert_eq!(fixture.text("read-plans", json!({})), "plans");
    let arguments = json!({ "id": "8" });
    let check = |name: &str| fixture.catalog.check_tool(name, arguments.as_object(), &fixture.call_context());
    assert!(check("close").is_ok() && check("close-for-team").is_ok());
}

#[test]
fn checks_before_a_call_say_the_same() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("ada", &[], &["ops"]));
    let (call, arguments) = (fixture.call_context(), json!({ "id": "7" }));
    let refusal = fixture.catalog.check_tool("close", arguments.as_object(), &call).unwrap_err();
    assert_eq!(needs(&refusal), ["desk.write", "issue:7"]);
    assert_eq!(needs(&fixture.catalog.check_resource("issue://7", &call).unwrap_err()), ["issue:7"]);
    assert_eq!(needs(&fixture.catalog.check_prompt("embeds", None, &call).unwrap_err()), ["plans.read"]);
    assert!(fixture.catalog.check_tool("who", None, &call).is_ok());
    assert!(fixture.catalog.check_resource("about://desk", &call).is_ok());
    let fixture = &mut CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("ada", &["issue:13"], &[]));
    let refusal = fixture.catalog.check_resource("issue://13", &fixture.call_context()).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotPermitted);
    let refusal = fixture.catalog.check_tool("close", None, &fixture.call_context()).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UnknownTool);
}

#[test]
fn values_that_make_no_scope_are_refused() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("ada", &["desk.write", "issue:"], &["ops"]));
    for id in ["a b", "é", "a\"b", "a\\b", "a\tb", "a\nb", "\u{7f}", &"x".repeat(300)] {
        let failure = fixture.failure("close", json!({ "id": id, "team": "desk" }));
        assert!(failure.starts_with("the value in `issue:{{id}}` makes no scope"), "{id:?}: {failure}");
    }
}

#[test]
fn what_is_not_permitted_is_said_without_reasons() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("ada", &["desk.write", "issue:7", "issue:13"], &["ops"]));
    assert_eq!(fixture.text("close", json!({ "id": "7", "team": "desk" })), "closed 7");
    let words = "not permitted: the server does not let this caller do that";
    assert_eq!(fixture.failure("close", json!({ "id": "7", "team": "shop" })), words);
    let refusals =
        [fixture.prompt("team", json!({ "team": "shop" })).unwrap_err(), fixture.read("issue://13").unwrap_err()];
    for refusal in refusals {
        assert_eq!((refusal.kind, refusal.message.as_str()), (RefusalKind::NotPermitted, words));
    }
    assert!(fixture.prompt("team", json!({ "team": "desk" })).is_ok());
    // What a step may not do is its failure, and nothing of it is done.
    assert_eq!(fixture.text("close-anyhow", json!({ "id": "7" })), format!("tried: {words}"));
}

#[test]
fn steps_reach_nothing_that_their_caller_may_not_see() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(caller("bob", &["desk.write", "issue:7", "plans.read"], &["guest"]));
    for (tool, arguments) in [
        ("close-for-team", json!({ "id": "7" })),
        ("read-plans", json!({})),
        ("read-any", json!({ "uri": "doc://plans" })),
    ] {
        let failure = fixture.failure(tool, arguments);
        assert_eq!(failure, "not permitted: the server does not let this caller do that", "{tool}");
    }
    assert_eq!(fixture.prompt("embeds", json!({})).unwrap_err().kind, RefusalKind::NotPermitted);
    let link = fixture.prompt("links", json!({})).unwrap();
    assert!(!link.to_string().contains("Plans of ops"), "{link}");
    let fixture = &mut CatalogFixture::new(DESK);
    let link = fixture.called_by(caller("ada", &[], &["ops"])).prompt("links", json!({})).unwrap();
    assert!(link.to_string().contains("Plans of ops"), "{link}");
}

#[test]
fn nobody_may_what_needs_nothing() {
    let mut fixture = CatalogFixture::new(DESK);
    let fixture = fixture.called_by(AccessControl::Caller(None));
    assert_eq!(fixture.text("who", json!({})), "nobody");
    assert!(fixture.read("about://desk").is_ok());
    assert_eq!(fixture.refusal("close", json!({ "id": "7" })).kind, RefusalKind::UnknownTool);
    // A claim that nobody has is null, as is an argument that is not given: they are not compared.
    assert_eq!(needs(&fixture.prompt("team", json!({})).unwrap_err()), [""; 0]);
    assert_eq!(needs(&fixture.read("issue://7").unwrap_err()), ["issue:7"]);
    assert_eq!(needs(&fixture.refusal("read-plans", json!({}))), ["plans.read"]);
}

#[test]
fn arguments_named_caller_win_only_where_they_are_declared() {
    let mut fixture = CatalogFixture::new(
        r#"
tools:
  declared: { arguments: { caller: {} }, result: { text: "{{caller}}." } }
  others: { arguments: {}, additionalProperties: true, result: { text: "{{caller.id}}/{{arguments.caller.id}}" } }
"#,
    );
    let given = json!({ "caller": { "id": "mallory" } });
    assert_eq!(fixture.called_by(AccessControl::Caller(None)).text("others", given.clone()), "/mallory");
    let fixture = fixture.called_by(caller("ada", &[], &[]));
    assert_eq!(fixture.text("declared", json!({ "caller": "me" })), "me.");
    assert_eq!(fixture.text("declared", json!({})), ".");
    assert_eq!(fixture.text("others", given), "ada/mallory");
}

#[test]
fn what_depends_on_the_caller_is_private() {
    let mut fixture = CatalogFixture::with_files(
        &[(
            "folio.yaml",
            r#"
folio: 1
server: { name: t, cacheScope: public }
resources:
  open: { uri: "a://open", text: open }
  limited: { uri: "a://limited", text: limited, scopes: [a] }
  named: { uri: "a://named", text: "{{caller.id}}" }
  around: { uri: "a://around", run: { read: "a://named" } }
  any: { uri: "b://{n}", run: { read: "a://{{n}}" } }
tools:
  t: { roles: [ops], result: { text: x } }
"#,
        )],
        &[],
    );
    let fixture = fixture.called_by(caller("ada", &["a"], &[]));
    for uri in ["a://limited", "a://named", "a://around", "b://open"] {
        assert_eq!(fixture.cache_scope(uri), Some(CacheScope::Private), "{uri}");
    }
    assert_eq!(fixture.cache_scope("a://open"), None);
    let depends = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
    assert_eq!(depends.map(|kind| fixture.catalog.list_depends_on_caller(kind)), [true, false, false]);
    let Some(identity) = caller("x", &[], &["ops", "other"]).identity().cloned() else { panic!("nobody") };
    assert_eq!(fixture.catalog.deciding_roles(&identity).into_iter().collect::<Vec<_>>(), ["ops"]);
}

#[test]
fn kept_responses_have_an_owner_where_a_request_depends_on_the_caller() {
    let mut fixture = CatalogFixture::new(
        r#"
tools:
  own: { run: { http: { url: "https://a.example/", headers: { X-User: "{{caller.claims.team}}" }, cache: 1m } } }
  later:
    run: [{ id: team, set: { name: "{{caller.claims.team}}" } }, { http: { url: "https://a.example/{{steps.team.name}}", cache: 1m } }]
  shared: { permit: "{{caller.id}}", run: { http: { url: "https://a.example/", cache: 1m } } }
"#,
    );
    let world = StubWorld::new(200, "text/plain", "ok");
    fixture.world = world.clone();
    let mut owners = Vec::new();
    for id in ["ada", "bob"] {
        let fixture = fixture.called_by(caller(id, &[], &[]));
        for tool in ["own", "later", "shared"] {
            fixture.text(tool, json!({}));
            owners.push(world.last_request()["cacheOwner"].clone());
        }
    }
    let (ada, bob) = (json!(r#"("", "ada")"#), json!(r#"("", "bob")"#));
    assert_eq!(owners, [ada.clone(), ada, Value::Null, bob.clone(), bob, Value::Null]);
}

#[test]
fn completion_needs_what_its_entry_needs() {
    let mut fixture = CatalogFixture::new(
        r#"
prompts:
  limited: { arguments: { team: { complete: [desk] } }, text: "{{team}}", scopes: [a] }
  hidden: { arguments: { team: { complete: [desk] } }, text: "{{team}}", roles: [ops] }
  barred: { arguments: { team: { complete: [desk] } }, text: "{{team}}", permit: "{{eq caller.claims.team 'shop'}}" }
  by-argument: { arguments: { team: { complete: [desk] } }, text: "{{team}}", permit: "{{eq team 'shop'}}" }
  around: { arguments: { id: { complete: { resource: issue } } }, text: "{{id}}" }
resources:
  issue: { uri: "issue://{id}", arguments: { id: { complete: ["7"] } }, text: "{{id}}", scopes: [a] }
"#,
    );
    let prompt = |name: &str| CompletionTarget::Prompt(name.to_owned());
    let template = || CompletionTarget::Template("issue://{id}".to_owned());
    assert_eq!(fixture.try_complete(prompt("hidden"), "team").unwrap(), ["desk"]);
    assert_eq!(fixture.try_complete(prompt("around"), "id").unwrap(), ["7"]);
    let bare = fixture.called_by(caller("bob", &[], &[]));
    assert_eq!(needs(&bare.try_complete(prompt("limited"), "team").unwrap_err()), ["a"]);
    assert_eq!(bare.try_complete(prompt("hidden"), "team").unwrap_err().message, "Unknown prompt: hidden");
    assert_eq!(bare.try_complete(prompt("barred"), "team").unwrap_err().kind, RefusalKind::NotPermitted);
    assert_eq!(bare.try_complete(prompt("by-argument"), "team").unwrap(), ["desk"]);
    assert_eq!(needs(&bare.try_complete(template(), "id").unwrap_err()), ["a"]);
    assert_eq!(bare.try_complete(prompt("around"), "id").unwrap(), [""; 0]);
    let ada = fixture.called_by(caller("ada", &["a"], &["ops"]));
    assert_eq!(ada.try_complete(prompt("limited"), "team").unwrap(), ["desk"]);
    assert_eq!(ada.try_complete(prompt("hidden"), "team").unwrap(), ["desk"]);
    assert_eq!(ada.try_complete(prompt("around"), "id").unwrap(), ["7"]);
}

#[test]
fn skills_and_roots_have_rules_too() {
    let skill = "---\nname: review\ndescription: Reviews.\n---\nReview {{caller.id}}.\n";
    let manifest = r#"
skills: { dir: skills, scopes: [skills.read], roles: [ops], permit: "{{eq caller.claims.team 'desk'}}" }
resources:
  docs: { uri: "docs://{+path}", root: docs, roles: [ops], scopes: ["docs:{{path}}"] }
tools:
  uses: { run: { read: "skill://review/SKILL.md" } }
"#;
    let files = [("folio.yaml", manifest), ("skills/review/SKILL.md", skill), ("docs/a.md", "A")];
    let mut fixture = CatalogFixture::with_files(&files, &[]);
    let uris = ["skill://review/SKILL.md", "skill://review", "docs://a.md"];
    let bob = fixture.called_by(caller("bob", &["skills.read", "docs:a.md"], &[]));
    for uri in uris {
        assert!(!bob.catalog.sees_resource(uri, &bob.catalog.settings.access), "{uri}");
    }
    assert_eq!(bob.read(uris[0]).unwrap_err().kind, RefusalKind::NotFound);
    assert!(bob.catalog.list_depends_on_caller(ListKind::Resources));
    let ada = fixture.called_by(caller("ada", &[], &["ops"]));
    for uri in uris {
        assert!(ada.catalog.sees_resource(uri, &ada.catalog.settings.access), "{uri}");
    }
    assert_eq!(needs(&ada.read(uris[0]).unwrap_err()), ["skills.read"]);
    assert_eq!(needs(&ada.refusal("uses", json!({}))), ["skills.read"]);
    assert_eq!(needs(&ada.read(uris[2]).unwrap_err()), ["docs:a.md"]);
    let ada = fixture.called_by(caller("ada", &["skills.read", "docs:a.md"], &["ops"]));
    assert_eq!(ada.read(uris[2]).unwrap()[0]["text"], "A");
    // A file is served as it is.
    assert!(ada.read(uris[0]).unwrap()[0]["text"].as_str().unwrap().contains("Review {{caller.id}}."));
    assert_eq!(ada.cache_scope(uris[0]), Some(CacheScope::Private));
}

#[test]
fn rules_see_paths_as_they_are_used() {
    let mut fixture = CatalogFixture::new(
        r#"
tools:
  as-given: { arguments: { path: { within: "{{workspace}}" } }, permit: "{{eq path 'Cargo.toml'}}", result: { text: x } }
  as-used: { arguments: { path: { within: "{{workspace}}" } }, permit: "{{ne path 'Cargo.toml'}}", result: { text: x } }
  scoped: { arguments: { path: { within: "{{workspace}}" } }, scopes: ["file:{{path}}"], result: { text: x } }
"#,
    );
    let path = std::env::current_dir().unwrap().join("Cargo.toml").canonicalize().unwrap();
    let fixture = fixture.called_by(caller("ada", &[&format!("file:{}", path.display())], &[]));
    let given = json!({ "path": "Cargo.toml" });
    assert!(fixture.failure("as-given", given.clone()).starts_with("not permitted"));
    assert_eq!(fixture.text("as-used", given.clone()), "x");
    assert_eq!(fixture.text("scoped", given), "x");
    assert_eq!(needs(&fixture.refusal("scoped", json!({ "path": "src" }))).len(), 1);
}

#[test]
fn mistakes_are_errors_at_their_places() {
    for (entry, expected) in [
        (r#"scopes: ["a b"]"#, "invalid scope `a b`"),
        (r#"scopes: [""]"#, "invalid scope ``"),
        (r#"scopes: ["é"]"#, "invalid scope `é`"),
        (r#"scopes: ["a b{{id}}"]"#, "invalid scope `a b{{id}}`"),
        ("scopes: [\"x:{{idd}}\"]", "unknown variable `idd`"),
        (r#"scopes: ["x:{{env.KEY}}"]"#, "`KEY` is exposed to clients"),
        ("scopes: []", "empty `scopes`"),
        ("roles: []", "empty `roles`"),
        (r#"roles: ["x{{id}}"]"#, "invalid role `x{{id}}`"),
        (r#"roles: [" "]"#, "empty role"),
        ("permit: id", "invalid condition, expected exactly one `{{…}}`"),
        (r#"permit: "{{a}} {{b}}""#, "unknown variable `a`"),
        (r#"permit: "{{caller.rolls}}""#, "unknown field `rolls` of `caller`"),
        (r#"permit: "{{caller.id.x}}""#, "unknown field `x`: `caller.id` is text"),
        (r#"permit: "{{steps.x}}""#, "unknown variable `steps`"),
        (r#"permit: "{{eq env.KEY id}}""#, "compares secret `KEY` with a value that a caller may choose"),
    ] {
        for (kind, rest) in [
            ("tools", "arguments: { id: {} }, result: { text: '{{id}}' }"),
            ("prompts", "arguments: { id: {} }, text: '{{id}}'"),
            ("resources", "uri: 'a://{id}', text: '{{id}}'"),
        ] {
            let env = "env: { KEY: { secret: true } }";
            let manifest = format!("{env}\n{kind}:\n  e: {{ {rest}, {entry} }}\n");
            let report = render_lines(&built(&[("folio.yaml", &manifest)], &[("KEY", "key-4711-4711")]).report);
            let line = report.lines().find(|line| line.contains("error"));
            assert!(line.is_some_and(|line| line.contains(expected) && line.contains(":5:")), "{manifest}{report}");
        }
    }
    let report = render_lines(
        &built(&[("folio.yaml", "tools: { e: { title: '{{caller.id}}', result: { text: x } } }")], &[]).report,
    );
    assert!(report.contains("cannot use `{{caller.id}}` in a listed text"), "{report}");
    let claims = "tools: { e: { description: d, permit: '{{caller.claims.a.b}}', result: { text: '{{caller.id}}' } } }";
    let report = render_lines(&built(&[("folio.yaml", claims)], &[]).report);
    assert!(!report.contains("error["), "{report}");
}

#[test]
fn entries_without_rules_have_no_access() {
    let fixture = CatalogFixture::new(DESK);
    let catalog = &fixture.catalog;
    assert!(catalog.tool_access("who").is_none() && catalog.resource_access("about://desk").is_none());
    assert!(catalog.tool_access("close").is_some_and(|access| access.written_scopes().count() == 2));
    let row = catalog.access_rows().into_iter().find(|row| row.name == "close-for-team").unwrap();
    assert_eq!((row.kind, row.scopes.len(), row.steps_need), ("tool", 0, vec!["desk.write".to_owned()]));
}

#[test]
fn a_call_says_what_it_needs_to_the_step_around() {
    let fixture = CatalogFixture::new(DESK);
    let access = caller("ada", &["desk.write"], &["ops"]);
    let call = CallContext { access, ..fixture.call_context() };
    let arguments = json!({ "id": "7" }).as_object().cloned();
    let answer = block_on(fixture.catalog.call_tool("close-for-team", arguments, &call));
    assert_eq!(needs(&answer.map(|answer| texts(&answer)).map_err(CallError::into_refusal).unwrap_err()).len(), 2);
}
