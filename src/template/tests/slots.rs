//! The escaping of each slot.

use super::*;
use crate::template::{
    ArgvSlot, Base64Slot, ConditionSlot, EnvSlot, FilePathSlot, HeaderSlot, JsonSlot, QuerySlot, UriSlot, UrlBase,
    UrlSlot,
};

fn url(text: &str, arguments: Value) -> Result<String, String> {
    render::<UrlSlot>(text, arguments).map(|url| url.text).map_err(|error| error.to_string())
}

#[test]
fn url_values_are_percent_encoded() {
    let values = json!({ "diff": "a/b?c#d%e \n@é", "tags": ["x&y"], "flag": true });
    let encoded = "a%2Fb%3Fc%23d%25e%20%0A%40%C3%A9";
    for (text, wanted) in [
        ("https://h.example/x/{{diff}}", format!("https://h.example/x/{encoded}")),
        ("https://h.example/?q={{diff}}", format!("https://h.example/?q={encoded}")),
        ("https://h.example/{{path diff}}", format!("https://h.example/{}", encoded.replacen("%2F", "/", 1))),
        ("https://h.example/{{lower diff}}", format!("https://h.example/{encoded}")),
        ("https://h.example/{{#if flag}}{{diff}}{{/if}}", format!("https://h.example/{encoded}")),
        ("https://h.example/{{#each tags}}{{this}}{{/each}}", "https://h.example/x%26y".to_owned()),
        ("{{env.API}}/x/{{diff}}", format!("https://api.example/x/{encoded}")),
        ("{{env.API}}/{{#if flag}}{{diff}}{{/if}}", format!("https://api.example/{encoded}")),
        ("/x/{{diff}}", format!("/x/{encoded}")),
        ("/{{diff}}", format!("/{encoded}")),
    ] {
        assert_eq!(url(text, values.clone()), Ok(wanted), "{text}");
    }
}

#[test]
fn url_host_cannot_come_from_a_value() {
    for text in [
        "https://{{diff}}/x",
        "https://h{{diff}}/x",
        "https://h.example{{diff}}",
        "https://h.example:{{limit}}/",
        "https://h.example\\\\{{diff}}",
        "{{env.API}}{{diff}}",
        "{{env.API}}.evil/{{diff}}",
        "{{env.API}}{{#if flag}}/{{/if}}x",
        "{{diff}}/x",
        "{{diff}}{{diff}}",
        "http{{diff}}://h/",
        "{{#if flag}}https://a{{else}}https://b{{/if}}/x",
        "{{upper diff}}",
        "//evil/{{diff}}",
        "x/{{diff}}",
    ] {
        let found = errors::<UrlSlot>(text);
        assert!(found.len() == 1 && found[0].starts_with("unsafe"), "{text}: {found:#?}");
    }
}

#[test]
fn url_base_tells_where_the_host_comes_from() {
    let base = |text: &str| compile::<UrlSlot>(text).url_base().clone();
    assert_eq!(base("https://h.example/{{diff}}"), UrlBase::Literal);
    assert_eq!(base("https://h.example"), UrlBase::Literal);
    assert_eq!(base("/repos/{{diff}}"), UrlBase::Relative);
    assert_eq!(base("{{env.API}}/x"), UrlBase::Env("API".to_owned()));
    assert_eq!(base("{{env.API}}"), UrlBase::Env("API".to_owned()));
    assert_eq!(base("{{diff}}"), UrlBase::Value(vec!["diff".to_owned()]));
    assert_eq!(base("{{arguments.diff}}"), UrlBase::Value(vec!["arguments".to_owned(), "diff".to_owned()]));
    assert!(render::<UrlSlot>("{{diff}}", json!({ "diff": "http://a/?b" })).unwrap().is_whole_value);
    assert_eq!(url("{{env.API}}", json!({})).unwrap(), "https://api.example");
    assert!(!render::<UrlSlot>("{{env.API}}", json!({})).unwrap().is_whole_value);
}

#[test]
fn empty_or_dot_url_segment_is_refused() {
    for (text, value) in [
        ("https://h/a/{{diff}}/b", ""),
        ("https://h/a/{{diff}}", "."),
        ("https://h/a/{{diff}}/b", ".."),
        ("https://h/a/.{{diff}}/b", "."),
        ("https://h/a/%2e{{diff}}/b", "."),
        ("https://h/a\\\\{{diff}}", ".."),
        ("https://h/a/{{path diff}}", "x/../../y"),
        ("https://h/a/{{trim diff}}", " "),
        ("/a/{{diff}}", ""),
        ("{{env.API}}/{{diff}}", ".."),
        ("{{env.API}}/{{#if flag}}{{else}}{{diff}}{{/if}}", ".."),
    ] {
        let error = url(text, json!({ "diff": value })).unwrap_err();
        assert!(error.starts_with("`diff` "), "{text}: {error}");
    }
    for (text, value, wanted) in [
        ("https://h/a/v{{diff}}", "", "https://h/a/v"),
        ("https://h/?q={{diff}}", "", "https://h/?q="),
        ("https://h/?q={{diff}}", "..", "https://h/?q=.."),
        ("https://h//{{diff}}", "x", "https://h//x"),
        ("https://h/../{{diff}}/", "x", "https://h/../x/"),
        ("https://h/{{path diff}}", "a//b/", "https://h/a//b/"),
    ] {
        assert_eq!(url(text, json!({ "diff": value })), Ok(wanted.to_owned()), "{text}");
    }
}

#[test]
fn url_needs_a_base_and_encoding() {
    let template = compile::<UrlSlot>("{{env.API}}/x");
    let bare = Scope::new(serde_json::Map::new(), Arc::default());
    assert_eq!(template.render(&bare).unwrap_err().to_string(), "`env.API` is not set");
    assert!(url("{{diff}}", json!({})).is_err() && url("{{tags}}", json!({ "tags": ["http://x"] })).is_err());
    for text in ["https://h/{{{diff}}}", "https://h/{{&diff}}"] {
        assert!(errors::<UrlSlot>(text)[0].contains("unencoded"), "{text}");
        assert!(errors::<UriSlot>(text)[0].contains("unencoded"), "{text}");
    }
    assert!(errors_with::<UrlSlot>(&[("p", "{{{diff}}}")], "https://h/{{> p}}")[0].contains("p:"));
    assert!(errors::<UrlSlot>("https://h/a\n")[0].contains("line break"));
    assert!(errors::<UrlSlot>("https://h/.{{#if flag}}\t{{diff}}{{/if}}")[0].contains("line break"));
}

#[test]
fn uri_encodes_values_or_is_one_value() {
    assert_eq!(render::<UriSlot>("notes://{{diff}}/x", json!({ "diff": "a/b" })).unwrap().0, "notes://a%2Fb/x");
    assert_eq!(render::<UriSlot>("{{diff}}", json!({ "diff": "notes://a/b" })).unwrap().0, "notes://a/b");
    assert!(render::<UriSlot>("{{diff}}", json!({})).is_err());
}

#[test]
fn argv_element_names_its_leading_variable() {
    let element =
        |text: &str, diff: &str| render::<ArgvSlot>(text, json!({ "diff": diff, "flag": true })).unwrap().unwrap();
    assert_eq!(element("{{diff}}", "-rf").leading_dash_variable(), Some("diff"));
    assert_eq!(element("{{#if flag}}{{diff}}{{/if}}", "-rf").leading_dash_variable(), Some("diff"));
    assert_eq!(element("{{trim diff}}", " -rf").leading_dash_variable(), Some("diff"));
    assert_eq!(element("{{default diff tags}}", "-rf").leading_dash_variable(), Some("default diff tags"));
    assert_eq!(element("{{arguments.diff}}", "-x").leading_dash_variable(), Some("arguments.diff"));
    assert_eq!(element("-{{diff}}", "-rf").leading_dash_variable(), None);
    assert_eq!(element("--x={{diff}}", "-rf").text, "--x=-rf");
    assert_eq!(element("{{flag}}", "").leading_dash_variable(), None);
    assert_eq!(element("{{steps.a.json.gone}}-x", "").leading_dash_variable(), None);
    assert_eq!(element("{{diff}}", "a; rm $(x)\n'\"").text, "a; rm $(x)\n'\"");
    assert_eq!(element("{{flag}}: {{diff}}", "longer than the other").longest_variable(), Some("diff"));
}

#[test]
fn absent_argv_element_is_none() {
    let is_there = |text: &str, diff: Value| render::<ArgvSlot>(text, json!({ "diff": diff })).unwrap().is_some();
    for text in ["{{diff}}", "{{arguments.diff}}", "{{steps.a.json.gone}}", "{{default diff limit}}"] {
        assert!(!is_there(text, Value::Null), "{text}");
    }
    for text in ["x{{diff}}", "{{diff}}{{diff}}", "{{#if diff}}{{diff}}{{/if}}", ""] {
        assert!(is_there(text, Value::Null), "{text}");
    }
    assert!(is_there("{{diff}}", json!("")) && is_there("{{diff}}", json!(false)));
}

#[test]
fn base64_is_normalized() {
    let bytes = |text: &str, diff: &str| render::<Base64Slot>(text, json!({ "diff": diff })).map(|bytes| bytes.0);
    for (text, diff) in [("{{diff}}", "aGk="), ("{{diff}}", " aG\nk "), ("a{{diff}}=", "Gk"), (" aG\nk=", "")] {
        assert_eq!(bytes(text, diff).as_deref(), Ok("aGk="), "{text} {diff}");
    }
    assert_eq!(bytes("{{diff}}", "a!").unwrap_err().to_string(), "`diff` is not valid base64");
    assert!(errors::<Base64Slot>("a!")[0].contains("invalid base64"));
}

#[test]
fn nul_is_refused_naming_the_variable() {
    for text in ["x{{diff}}", "{{#if diff}}{{upper diff}}{{/if}}"] {
        let values = || json!({ "diff": "a\0b" });
        let wanted = Err("`diff` contains a NUL character".to_owned());
        assert_eq!(render::<ArgvSlot>(text, values()).map(drop).map_err(|error| error.to_string()), wanted);
        assert_eq!(render::<EnvSlot>(text, values()).map(drop).map_err(|error| error.to_string()), wanted);
        assert_eq!(render::<FilePathSlot>(text, values()).map(drop).map_err(|error| error.to_string()), wanted);
        assert_eq!(render::<HeaderSlot>(text, values()).map(drop).map_err(|error| error.to_string()), wanted);
    }
    assert!(errors::<ArgvSlot>("a\0b")[0].contains("NUL"));
    assert_eq!(render_text("{{diff}}", json!({ "diff": "a\0b" })), "a\0b");
}

#[test]
fn header_is_one_line_or_absent() {
    let header = |text: &str, diff: Value| render::<HeaderSlot>(text, json!({ "diff": diff }));
    assert_eq!(header("Bearer {{diff}}", json!("x")).unwrap().unwrap().0, "Bearer x");
    assert_eq!(header("{{diff}}", Value::Null).unwrap(), None);
    assert_eq!(header("a{{diff}}\n", json!("x")).unwrap().unwrap().0, "ax");
    for value in ["a\r\nX: y", "a\n", "\u{7f}", "\u{1b}["] {
        let error = header("v {{diff}}", json!(value)).unwrap_err().to_string();
        assert!(error.starts_with("`diff` contains a line break"), "{error}");
    }
}

#[test]
fn json_leaf_keeps_types_and_drops_absent() {
    let leaf = |text: &str, values: Value| render::<JsonSlot>(text, values).unwrap().0;
    assert_eq!(leaf("{{limit}}", json!({ "limit": 3 })), Some(json!(3)));
    assert_eq!(leaf("{{tags}}", json!({ "tags": ["a"] })), Some(json!(["a"])));
    assert_eq!(leaf("{{diff}}", json!({})), None);
    assert_eq!(leaf("n={{limit}}", json!({ "limit": 3 })), Some(json!("n=3")));
    assert_eq!(leaf("{{split diff \",\"}}", json!({ "diff": "a,b" })), Some(json!(["a", "b"])));
    assert_eq!(leaf("{{len tags}}", json!({ "tags": ["a"] })), Some(json!(1)));
    assert_eq!(leaf("\"}", json!({})), Some(json!("\"}")));
    assert_eq!(leaf("{{steps.a.json.items.1.n}}", json!({})), Some(json!(2)));
}

#[test]
fn query_values_repeat_lists_and_drop_absent() {
    let values = |text: &str, values: Value| render::<QuerySlot>(text, values).unwrap().0;
    assert_eq!(values("{{tags}}", json!({ "tags": ["a&b", "c"] })), ["a&b", "c"]);
    assert_eq!(values("{{diff}}", json!({})), [""; 0]);
    assert_eq!(values("{{limit}}", json!({ "limit": 3 })), ["3"]);
    assert_eq!(values("x{{diff}}", json!({})), ["x"]);
}

#[test]
fn condition_is_one_expression() {
    assert!(render::<ConditionSlot>("{{eq limit 3}}", json!({ "limit": 3 })).unwrap());
    assert!(!render::<ConditionSlot>("{{not limit}}", json!({ "limit": 3 })).unwrap());
    for text in ["true", "{{flag}} ", "{{flag}}{{flag}}", "", "{{#if flag}}1{{/if}}"] {
        assert!(errors::<ConditionSlot>(text)[0].contains("exactly one"), "{text}");
    }
}

#[test]
fn file_path_stays_in_its_folder() {
    let file = |text: &str, diff: &str| render::<FilePathSlot>(text, json!({ "diff": diff }));
    let path = file("docs/x/{{diff}}.md", "a/b").unwrap();
    assert_eq!((path.text.as_str(), path.folder.as_str()), ("docs/x/a/b.md", "docs/x/"));
    assert_eq!(file("./docs/../{{diff}}", "a..b").unwrap().text, "./docs/../a..b");
    for (text, value, whole) in [
        (".well-known/{{diff}}", "a", ".well-known/a"),
        ("{{diff}}/.well-known", "a", "a/.well-known"),
        ("docs/{{#if diff}}{{diff}}{{/if}}.env", "a", "docs/a.env"),
        ("docs/{{diff}}/.well-known/x", "a", "docs/a/.well-known/x"),
        ("docs/{{diff}}.env", "a", "docs/a.env"),
    ] {
        assert_eq!(file(text, value).unwrap().text, whole);
    }
    let left_over = file("docs/{{#if diff}}{{diff}}{{/if}}.env", "").map(drop).unwrap_err().to_string();
    assert!(left_over.starts_with("`the path` makes a hidden file name"), "{left_over}");
    for text in ["docs/.{{diff}}", ".{{diff}}", ".a{{diff}}", "docs/{{limit}}/.x-{{diff}}"] {
        assert!(errors::<FilePathSlot>(text)[0].contains("must not start with `.`"), "{text}");
    }
    for (text, value) in [
        ("docs/{{diff}}.md", "../x"),
        ("docs/{{diff}}", ".."),
        ("docs/{{diff}}", ".env"),
        ("{{diff}}", ".env"),
        ("docs/{{diff}}", "a/.git/config"),
        ("docs/{{diff}}env", "."),
        ("docs/{{diff}}{{diff}}", "."),
        ("docs/{{diff}}.md", ""),
        ("docs/{{diff}}.md", "a/"),
        ("docs/{{#if diff}}.{{diff}}{{/if}}", "env"),
        ("docs/{{diff}}", ""),
        ("docs/{{diff}}", "a\\..\\..\\b"),
        ("docs/{{diff}}", "/etc/passwd"),
        ("{{diff}}", "/etc/passwd"),
        ("{{diff}}", "C:x"),
        ("docs/{{diff}}/x", "a/./b"),
    ] {
        let error = file(text, value).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("`diff` "), "{text} {value}: {error}");
    }
}

#[test]
fn url_may_be_the_outer_loop_element() {
    let names = names().with_this(Shape::object([("href", Shape::Text)]), &[]);
    let template = Template::<UrlSlot>::compile(&engine(&[]), "{{this.href}}", &names).unwrap();
    assert_eq!(template.url_base(), &UrlBase::Value(vec!["this".to_owned(), "href".to_owned()]));
    let scope = scope(json!({})).with_this(json!({ "href": "https://x/" }));
    assert_eq!(template.render(&scope).unwrap().text, "https://x/");
}

#[test]
fn templates_and_engines_are_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<Template<TextSlot>>();
    shared::<Template<UrlSlot>>();
    shared::<Arc<Engine>>();
    shared::<Scope>();
}
