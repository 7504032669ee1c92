//! Properties of any template and any values.

use proptest::prelude::*;

use super::*;
use crate::template::{
    ArgvSlot, ConditionSlot, EnvSlot, FilePathSlot, HeaderSlot, JsonSlot, QuerySlot, UriSlot, UrlSlot,
};

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9f64..1e9).prop_map(Value::from),
        "[ -~äß\n\r\t{}\\\\%/.]{0,8}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), "[ -~äß\n\r{}./%]{0,8}".prop_map(Value::from)]
}

fn repo() -> impl Strategy<Value = Value> {
    let full = (text(), prop::option::of(any::<i8>()));
    prop_oneof![Just(Value::Null), full.prop_map(|(name, stars)| json!({ "name": name, "stars": stars }))]
}

prop_compose! {
    /// Arguments of the shapes that `names` declares; some are absent.
    fn arguments()(
        diff in text(),
        limit in prop::option::of(any::<i16>()),
        flag in prop::option::of(any::<bool>()),
        tags in prop_oneof![Just(Value::Null), prop::collection::vec(text(), 0..3).prop_map(Value::from)],
        repos in prop_oneof![Just(Value::Null), prop::collection::vec(repo(), 0..3).prop_map(Value::from)],
        repo in repo(),
        absent in prop::collection::vec(any::<bool>(), 6),
    ) -> Value {
        let all = json!({ "diff": diff, "limit": limit, "flag": flag, "tags": tags, "repos": repos, "repo": repo });
        let Value::Object(all) = all else { unreachable!() };
        all.into_iter().zip(absent).filter(|(_, absent)| !absent).map(|(entry, _)| entry).collect()
    }
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{{", "}}", "{{{", "}}}", "{{#", "{{/", "{{>", "{{#>", "{{else}}", "{{else if ", "{{^", "{{!", "{{!--", "--}}",
        "{{~", "~}}", "{", "}", "(", ")", "[", "]", "\"", "'", "\\", "|", "=", "as |x|", "as |x i|", "@index",
        "@root.", "@../index", "../", "./", "this", "this.", "diff", "repo.name", "tags", "repos", "limit", "flag",
        "steps.a.json", "env.TOKEN", "if ", "each ", "with ", "upper ", "join ", "lookup ", "eq ", "now", "json ",
        "*inline \"p\"", "p", "q", "@partial-block", "x", "i", "a.b", ".", "/", " ", "\n", "\r\n", "\t", "ä", "\0",
        "1", "-1.5", "null", "true", "&", "{{diff}}", "{{#if flag}}", "{{/if}}", "{{#each tags}}", "{{/each}}",
        "{{#with repo}}", "{{/with}}", "{{this}}", "{{> p}}", "{{#> q}}", "{{/q}}", "https://h/", "?q=",
    ])
}

fn tokens() -> impl Strategy<Value = String> {
    prop::collection::vec(token(), 0..24).prop_map(|tokens| tokens.concat())
}

/// Pieces that are mostly right, so that much of what they make compiles.
fn mostly_valid() -> impl Strategy<Value = String> {
    let path = prop::sample::select(vec![
        "diff",
        "limit",
        "flag",
        "tags",
        "repos",
        "repo",
        "repo.name",
        "env.TOKEN",
        "server.name",
        "steps.a.json",
        "steps.a.json.x.y",
        "arguments.diff",
        "tags.0",
        "repos.1.name",
        "@root.diff",
        "labels",
        "labels.z",
        "this",
        "name",
        "@index",
        "@key",
        "../diff",
        "x",
        "x.name",
        "steps",
        "(upper diff)",
        "(lines diff)",
        "(first repos)",
        "\"s\"",
        "3",
        "(lookup steps.a.json diff)",
        "(split diff \",\")",
        "(default diff limit)",
        "(len tags)",
        "(eq diff limit)",
    ]);
    let interpolation = (
        path.clone(),
        prop::sample::select(vec![
            "{{P}}", "{{~P~}}", "{{upper P}}", "{{json P}}", "{{json P indent=2}}", "{{join P}}", "{{truncate P 3}}",
            "{{indent P 2}}", "{{path P}}", "{{default P \"x\"}}", "{{len P}}", "{{trim P}}", "{{replace P \"a\" P}}",
            "{{lookup P 0}}", "{{first P}}", "{{last P 2}}", "{{gt P 1}}", "{{and P P}}", "{{capitalize P}}",
            "{{> p P}}", "{{> p diff=P name=P}}", "{{! c }}", "\\{{P}}", "\n", " ", "text", "{{> p}}", "{{{P}}}",
        ]),
    )
        .prop_map(|(path, shape)| {
            if path.starts_with(['(', '"', '3']) && shape.starts_with("{{P") {
                String::new()
            } else {
                shape.replace('P', path)
            }
        });
    interpolation.prop_recursive(4, 24, 4, move |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(|parts| parts.concat());
        (
            path.clone(),
            body.clone(),
            body,
            prop::sample::select(vec![
                "{{#if P}}B{{/if}}",
                "{{#if P}}\nB\n{{else}}\nC\n{{/if}}",
                "{{#each P}}B{{/each}}",
                "{{#each P as |x i|}}B{{else}}C{{/each}}",
                "{{#with P}}B{{/with}}",
                "{{#with P as |x|}}B{{/with}}",
                "{{#unless P}}B{{else if P}}C{{/unless}}",
                "{{#> q P}}B{{/q}}",
                "{{#eq P P}}B{{/eq}}",
                "{{#> z}}B{{/z}}",
                "BC",
            ]),
        )
            .prop_map(|(path, body, other, shape)| {
                let shape = shape.replace('P', path);
                shape.replace('B', "\u{1}").replace('C', &other).replace('\u{1}', &body)
            })
    })
}

fn partials() -> Arc<Engine> {
    engine(&[("p", "<{{#if @root.flag}}{{@root.diff}}{{/if}}{{now \"%Y\"}}>"), ("q", "[{{> @partial-block}}]\n")])
}

fn compiles_without_panic<S: Slot>(engine: &Arc<Engine>, text: &str, scope: &Scope) {
    if let Ok(template) = Template::<S>::compile(engine, text, &names()) {
        let _ = template.render(scope);
    }
}

/// Helpers with what they are given; T means text, N a number, L a list, A anything.
const CALLS: &[&str] = &[
    "json A", "json A indent=N", "upper T", "lower T", "capitalize T", "trim T", "replace T T T", "indent T N",
    "indent T T", "truncate T N", "truncate T N end=T", "path T", "join L", "join L T", "split T T", "lines T",
    "first L", "first L N", "last L", "last L N", "default A A", "default T T T", "len L", "len T", "date T T",
    "lookup L N", "eq A A", "now T", "upper A",
];

const TEXTS: &[&str] = &[
    "diff",
    "limit",
    "flag",
    "repo.name",
    "repos.0.name",
    "labels.x",
    "env.TOKEN",
    "steps.a.json",
    "steps.a.json.x.y",
    "@root.diff",
    "this.diff",
    "arguments.diff",
    "\"s\"",
    "'s'",
    "'\"'",
    "\"\\u00e4\\n\"",
    "\"%Y\"",
    "\"\"",
    "\",\"",
    "true",
    "null",
    "-1",
    "(upper diff)",
    "(default diff \"x\")",
    "(first tags)",
    "(json repo)",
    "(join (split diff \"a\"))",
    "(now \"%Y\")",
];

const NUMBERS: &[&str] =
    &["limit", "0", "3", "-1", "1.5", "1E3", "99999999999999999999", "(len diff)", "steps.a.json", "null"];

const LISTS: &[&str] =
    &["tags", "repos", "steps.a.json.items", "[1]", "(lines diff)", "(split diff \" \")", "(first tags 2)"];

fn call() -> impl Strategy<Value = String> {
    let one = |of: &'static [&'static str]| prop::sample::select(of);
    let texts = (one(TEXTS), one(TEXTS), one(TEXTS));
    let anything = prop_oneof![one(TEXTS), one(NUMBERS), one(LISTS), Just("repo"), Just("{\"a\":1}")];
    (one(CALLS), texts, one(NUMBERS), one(LISTS), (anything.clone(), anything)).prop_map(|(shape, t, n, l, a)| {
        let mut texts = [t.0, t.1, t.2].into_iter();
        let mut others = [a.0, a.1].into_iter();
        let given = |word: &str| match word.trim_start_matches("indent=").trim_start_matches("end=") {
            "T" => word.replace('T', texts.next().unwrap()),
            "A" => word.replace('A', others.next().unwrap()),
            "N" => word.replace('N', n),
            "L" => word.replace('L', l),
            _ => word.to_owned(),
        };
        shape.split(' ').map(given).collect::<Vec<_>>().join(" ")
    })
}

fn simple() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -z|ä\n\r\t]{0,6}",
        1 => "\\\\{0,4}",
        1 => Just("{".to_owned()),
        1 => Just("}".to_owned()),
        6 => prop::sample::select(vec![
            "{{diff}}", "{{ repo.name }}", "{{limit}}", "{{tags}}", "{{repos.0.name}}", "{{env.TOKEN}}", "{{{repo}}}", "{{&flag}}",
            "{{steps.a.json.x}}", "{{steps.a.json.items.0.n}}", "{{steps.a.json.items.n}}", "{{arguments.diff}}", "{{@root.diff}}", "{{this.limit}}",
        ]).prop_map(str::to_owned),
        6 => call().prop_map(|call| format!("{{{{{call}}}}}")),
        1 => call().prop_map(|call| format!("{{{{{{ {call} }}}}}}")),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|parts| parts.concat())
}

fn assert_same_output<S: Slot>(text: &str, scope: &Scope) -> Result<(), TestCaseError>
where
    S::Output: PartialEq,
{
    let engine = engine(&[]);
    let [fast, slow] = [true, false].map(|simple| Template::<S>::compile_with(&engine, text, &names(), simple));
    match (fast, slow) {
        (Ok(fast), Ok(slow)) => prop_assert_eq!(fast.render(scope), slow.render(scope)),
        (Err(fast), Err(slow)) => prop_assert_eq!(fast, slow),
        (fast, slow) => prop_assert!(false, "{text}: {fast:?} {slow:?}"),
    }
    Ok(())
}

proptest! {
    #[test]
    fn pieces_render_like_handlebars(text in simple(), arguments in arguments(), json in prop::option::of(value())) {
        let mut scope = scope(arguments).with_now(jiff::Timestamp::UNIX_EPOCH);
        scope.set_step("a", match json {
            Some(json) => json!({ "stdout": "s", "exit": 0, "json": json }),
            None => json!({ "stdout": "no JSON", "exit": 0 }),
        });
        assert_same_output::<TextSlot>(&text, &scope)?;
        assert_same_output::<UrlSlot>(&format!("https://h/{text}"), &scope)?;
        assert_same_output::<UrlSlot>(&format!("{{{{env.API}}}}/x{text}"), &scope)?;
        assert_same_output::<ArgvSlot>(&text, &scope)?;
        assert_same_output::<JsonSlot>(&text, &scope)?;
    }

    #[test]
    fn any_text_compiles_without_panic(text in tokens(), arguments in arguments()) {
        let (engine, _) = Engine::new([("p".to_owned(), text.clone()), ("q".to_owned(), "{{> @partial-block}}".to_owned())]);
        let scope = scope(arguments);
        compiles_without_panic::<TextSlot>(&engine, &text, &scope);
        compiles_without_panic::<ArgvSlot>(&engine, &text, &scope);
        compiles_without_panic::<EnvSlot>(&engine, &text, &scope);
        compiles_without_panic::<HeaderSlot>(&engine, &text, &scope);
        compiles_without_panic::<UrlSlot>(&engine, &text, &scope);
        compiles_without_panic::<UriSlot>(&engine, &text, &scope);
        compiles_without_panic::<JsonSlot>(&engine, &text, &scope);
        compiles_without_panic::<QuerySlot>(&engine, &text, &scope);
        compiles_without_panic::<FilePathSlot>(&engine, &text, &scope);
        compiles_without_panic::<ConditionSlot>(&engine, &text, &scope);
    }

    #[test]
    fn error_spans_lie_in_the_text(text in tokens()) {
        if let Err(errors) = Template::<TextSlot>::compile(&partials(), &text, &names()) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                let TemplateSpan::Template(range) = error.span else { continue };
                prop_assert!(text.get(range).is_some());
            }
        }
    }

    #[test]
    fn compiled_templates_render(text in mostly_valid(), arguments in arguments(), json in value()) {
        if let Ok(template) = Template::<TextSlot>::compile(&partials(), &text, &names()) {
            let mut scope = scope(arguments);
            scope.set_step("a", json!({ "stdout": "s", "exit": 0, "json": json }));
            let rendered = template.render(&scope);
            prop_assert!(rendered.is_ok(), "{:?}", rendered);
        }
    }

    #[test]
    fn encoded_value_stays_one_path_segment(diff in "\\PC{0,12}|[./\\\\%?#@:2eE]{0,8}") {
        if let Ok(url) = render::<UrlSlot>("https://h.example/a/{{diff}}/b?c={{diff}}", json!({ "diff": diff })) {
            let parsed = url::Url::parse(&url.text).unwrap();
            prop_assert_eq!(parsed.host_str(), Some("h.example"));
            let segments: Vec<&str> = parsed.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 3);
            prop_assert_eq!((segments[0], segments[2]), ("a", "b"));
            prop_assert!(parsed.fragment().is_none());
        }
    }

    #[test]
    fn no_value_makes_a_hidden_or_escaping_path(
        pieces in prop::collection::vec(prop::sample::select(PATH_PIECES.to_vec()), 1..6),
        values in prop::collection::vec("[./\\\\a:]{0,4}", 3),
    ) {
        let text = format!("docs/{}", pieces.concat());
        // What the text itself hides is its author's affair.
        prop_assume!(!text.contains("/."));
        let values = json!({ "diff": values[0], "limit": values[1], "flag": values[2] });
        if let Ok(path) = render::<FilePathSlot>(&text, values) {
            let segments = path.text.split(['/', '\\']);
            prop_assert!(segments.clone().all(|segment| !segment.starts_with('.')), "{text} made {}", path.text);
            prop_assert!(path.text.starts_with("docs/"), "{text} made {}", path.text);
        }
    }
}

const PATH_PIECES: &[&str] =
    &["{{diff}}", "{{limit}}", "{{lower diff}}", "/", ".md", "x", "-", "{{#if flag}}{{diff}}{{/if}}"];
