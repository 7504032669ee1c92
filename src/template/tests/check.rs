//! The resolution and the checks of names.

use super::*;

#[test]
fn each_rebinds_names() {
    assert_eq!(
        errors::<TextSlot>(
            "{{#each repos}}{{name}}{{nam}}{{diff}}{{../diff}}{{@root.diff}}{{@index}}{{@key}}{{/each}}{{@index}}"
        ),
        [
            "unknown-variable at \"nam\": unknown field `nam` of `this` | did you mean `name`? available fields: `name`, `stars`",
            "unknown-variable at \"diff\": unknown field `diff` of `this` | inside this block names are fields of `this`; write `@root.diff`",
            "unknown-variable at \"@key\": unknown variable `@key` | a list has `@index`; only an object has `@key`",
            "unknown-variable at \"@index\": unknown variable `@index` | `@index` is only defined inside `{{#each …}}`",
        ]
    );
}

#[test]
fn block_params_with_and_lookup_are_checked() {
    assert_eq!(
        errors::<TextSlot>(
            "{{#each repos as |r i|}}{{r.name}}{{r.x}}{{i}}{{/each}}{{#with repo as |z|}}{{stars}}{{z.stras}}{{/with}}{{upper (lookup repo \"name\")}}{{#if (lookup repo \"gone\")}}{{/if}}"
        ),
        [
            "unknown-variable at \"x\": unknown field `x` of `r` | available fields: `name`, `stars`",
            "unknown-variable at \"stras\": unknown field `stras` of `z` | did you mean `stars`? available fields: `name`, `stars`"
        ]
    );
}

#[test]
fn argument_wins_over_helper_of_same_name() {
    let names = ScopeShape::new().with_arguments([("json", Shape::Text), ("now", Shape::Text)]);
    let template = Template::<TextSlot>::compile(&engine(&[]), "{{json}} {{json json}} {{now}}", &names).unwrap();
    assert_eq!(template.render(&scope(json!({ "json": "v", "now": "n" }))).unwrap().0, "v \"v\" n");
    assert!(crate::template::is_helper("json") && !crate::template::is_helper("diff"));
}

#[test]
fn helper_arguments_are_checked() {
    for (text, wanted) in [
        ("{{upper tags}}", "mismatched type: `upper` expects text, `tags` is a list"),
        ("{{upper repo}}", "mismatched type: `upper` expects text, `repo` is an object"),
        ("{{#each limit}}{{/each}}", "mismatched type: `each` expects a list or an object, `limit` is a number"),
        ("{{upper}}", "missing arguments for helper `upper`"),
        ("{{upper diff diff}}", "`upper` takes 1 argument but 2 were supplied"),
        ("{{replace diff \"a\"}}", "`replace` takes 3 arguments but 2 were supplied"),
        ("{{join tags \",\" 1}}", "`join` takes 1 or 2 arguments but 3 were supplied"),
        ("{{truncate diff diff}}", "mismatched type: `truncate` expects a number, `diff` is text"),
        ("{{truncate diff 3 ende=\"\"}}", "unknown option `ende` of `truncate`"),
        ("{{json diff indent=1 indent=2}}", "duplicate option `indent`"),
        ("{{date diff \"%Q%!\"}}", "invalid strftime format"),
        ("{{if diff}}", "`if` is a block helper"),
        ("{{#upper diff}}{{/upper}}", "`upper` is not a block helper"),
        ("{{#tags}}{{/tags}}", "unknown helper `tags`"),
        ("{{#if}}{{/if}}", "`if` takes 1 argument but 0 were supplied"),
        ("{{#if flag as |x|}}{{/if}}", "`if` takes no block parameters"),
        ("{{log diff}}", "unknown helper `log`"),
        ("{{date now \"%Y\"}}", "unknown variable `now` | write `(now)`"),
        ("{{this}}", "`this` is not a value"),
        ("{{#each this}}{{/each}}", "`this` is not a value"),
        ("{{../diff}}", "`../` without a parent scope"),
        ("{{length diff}}", "unknown helper `length` | did you mean `len`?"),
        ("{{toUpperCase diff}}", "did you mean `upper`?"),
        ("{{dateTime diff}}", "there are `date`"),
        ("{{diff | upper}}", "there are no pipes: write `{{upper diff}}`"),
        ("{{diff | trim | default('x')}}", "there are no pipes: write `{{default (trim diff) 'x'}}`"),
        ("{{matches diff \"(\"}}", "invalid or too large regular expression"),
        ("{{uuid 5}}", "unknown version of UUID"),
        ("{{now tz=\"Mars/Olympus\"}}", "unknown time zone"),
        ("{{date diff \"%Y\" tz=\"../../etc/passwd\"}}", "unknown time zone"),
        ("{{add diff 1}}", "`add` expects a number, `diff` is text"),
        ("{{sort diff}}", "`sort` expects a list, `diff` is text"),
        ("{{diff.x}}", "unknown field `x`: `diff` is text"),
        ("{{tags.x}}", "unknown field `x`: `tags` is a list"),
        ("{{TOKEN}}", "did you mean `env.TOKEN`?"),
        ("{{diff.x y}}", "variable `diff.x` takes no arguments"),
        ("{{upper (diff)}}", "unknown helper `diff`"),
    ] {
        let found = errors::<TextSlot>(text);
        assert!(found.len() == 1 && found[0].contains(wanted), "{text}: {found:#?}");
    }
}

#[test]
fn valid_templates_have_no_errors() {
    for text in [
        "{{join tags}}{{upper limit}}{{first tags}}{{#each (lines diff)}}{{this}}{{/each}}",
        "{{#each labels}}{{@key}}={{this}}{{/each}}{{#each repo as |v k|}}{{upper k}}{{/each}}",
        "{{steps.a.json.anything.at.all}}{{#each steps.a.json.items}}{{n}}{{upper}}{{@key}}{{/each}}",
        "{{#each repos}}{{#each ../tags}}{{this}}{{../name}}{{@../index}}{{../../diff}}{{/each}}{{/each}}",
        "{{date (now) \"%Y\"}}{{now}}{{now \"%F\"}}{{default diff \"x\"}}{{#with (first repos)}}{{name}}{{/with}}",
        "{{tags.0}}{{repos.1.name}}{{truncate (upper diff) 10 end=\"\"}}",
    ] {
        assert_eq!(errors::<TextSlot>(text), [""; 0], "{text}");
    }
}

#[test]
fn partial_is_checked_per_use() {
    let partials = [("card", "<{{name}} {{more}}>"), ("outer", "{{> card repo}}")];
    assert_eq!(
        errors_with::<TextSlot>(&partials, "{{> card repo more=diff}}{{#each repos}}{{> card more=1}}{{/each}}"),
        [""; 0]
    );
    assert_eq!(
        errors_with::<TextSlot>(&partials, "é {{> outer}}{{> card repos}}"),
        [
            "unknown-variable at card:\"more\" from \"outer\": unknown field `more` of `this` | available fields: `name`, `stars`",
            "unknown-variable at card:\"name\" from \"card\": unknown field `name`: `this` is a list | loop over it with `{{#each …}}`, or take one element with `{{first …}}` or an index",
            "unknown-variable at card:\"more\" from \"card\": unknown field `more`: `this` is a list | loop over it with `{{#each …}}`, or take one element with `{{first …}}` or an index",
        ]
    );
}

#[test]
fn invalid_partial_is_reported_once_and_stays_known() {
    let partials = [("bad", "{{#if x}}"), ("typo", "{{uper x}}"), ("good", "ok")];
    let owned = partials.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let (engine, errors) = Engine::new(owned);
    let lines: Vec<String> = errors.iter().map(|error| line(error, "", &partials)).collect();
    assert_eq!(
        lines,
        [
            "template at bad:\"if\" from \"\": unclosed block `if` | close it with `{{/if}}`",
            "unknown-helper at typo:\"uper\" from \"\": unknown helper `uper` | did you mean `upper`?",
        ]
    );
    assert!(Template::<TextSlot>::compile(&engine, "{{> bad}}{{> typo}}{{> good}}", &names()).is_ok());
    let errors = Template::<TextSlot>::compile(&engine, "{{> goo}}", &names()).unwrap_err();
    assert_eq!(errors[0].replacement.as_deref(), Some("good"));
}

#[test]
fn inline_partials_are_refused_in_conditions() {
    let text = "{{#*inline \"row\"}}[{{item}}{{sep}}]{{/inline}}{{#each tags}}{{> row item=this sep=\";\"}}{{/each}}";
    assert_eq!(render_text(text, json!({ "tags": ["a", "b"] })), "[a;][b;]");
    assert!(errors::<TextSlot>("{{> row}}{{#*inline \"row\"}}{{/inline}}")[0].contains("unknown partial `row`"));
    assert!(errors::<TextSlot>("{{#if flag}}{{#*inline \"row\"}}{{/inline}}{{/if}}")[0].contains("inside a condition"));
    let again = "{{#*inline \"row\"}}{{/inline}}{{#*inline \"row\"}}{{/inline}}";
    assert!(errors::<TextSlot>(again)[0].starts_with("duplicate"));
}

#[test]
fn partial_blocks_are_checked() {
    let partials = [("layout", "<{{> @partial-block}}|{{#> nav}}no nav{{/nav}}>")];
    assert_eq!(render_text_with(&partials, "{{#> layout}}x{{diff}}{{/layout}}", json!({ "diff": "d" })), "<xd|no nav>");
    let text = "{{#> layout}}{{#*inline \"nav\"}}NAV{{/inline}}y{{/layout}}";
    assert_eq!(render_text_with(&partials, text, json!({})), "<y|NAV>");
    let found = errors_with::<TextSlot>(&partials, "{{> layout}}");
    assert!(found[0].contains("missing block"), "{found:#?}");
}

#[test]
fn read_paths_are_minimal() {
    let reads = |text: &str| -> Vec<String> {
        let partials = [("p", "{{env.TOKEN}}{{#with server}}{{name}}{{/with}}")];
        compile_with::<TextSlot>(&partials, text).read_paths().iter().map(|path| path.join(".")).collect()
    };
    assert_eq!(reads("{{diff}}{{arguments.diff}}{{upper repo.name}}"), ["arguments.diff", "diff", "repo.name"]);
    assert_eq!(reads("{{> p}}"), ["env.TOKEN", "server.name"]);
    assert_eq!(reads("{{#with env}}{{API}}{{/with}}{{lookup env \"TOKEN\"}}"), ["env.API", "env.TOKEN"]);
    assert_eq!(reads("{{lookup env diff}}"), ["diff", "env"]);
    assert_eq!(reads("{{#each env}}{{/each}}{{json steps}}"), ["env", "steps"]);
    assert_eq!(reads("{{steps.a.json.x}}{{repos.0.name}}"), ["repos", "steps.a.json.x"]);
    assert_eq!(reads("{{#each repos}}{{name}}{{@root.env.API}}{{/each}}"), ["env.API", "repos"]);
    assert_eq!(reads("{{#if (eq env.TOKEN \"\")}}{{/if}}"), ["env.TOKEN"]);
}

#[test]
fn single_path_is_exactly_one_variable() {
    let sole = |text: &str| compile::<TextSlot>(text).single_path().map(|path| path.join("."));
    assert_eq!(sole("{{repo.name}}").as_deref(), Some("repo.name"));
    assert_eq!(sole("{{ arguments.diff }}").as_deref(), Some("arguments.diff"));
    assert_eq!(sole("{{upper diff}}"), None);
    assert_eq!(sole(" {{diff}}"), None);
    assert_eq!(sole("{{now}}"), None);
}
