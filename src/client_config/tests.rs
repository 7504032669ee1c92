use proptest::prelude::*;
use serde_json::{Value, json};

use super::format::{ConfigFormat, line_and_column};
use super::{CLIENTS, ConfigError, ConfigSection, NamedEntry};

fn entry() -> Value {
    json!({ "command": "/bin/folio", "args": ["serve", "/desk"], "env": { "K": "a\u{7f}\"\\ü" } })
}

fn section(format: ConfigFormat) -> ConfigSection<'static> {
    ConfigSection { format, maps: &["mcpServers"] }
}

fn entries(format: ConfigFormat, text: &str) -> Result<Vec<NamedEntry>, ConfigError> {
    section(format).entries(text)
}

fn inserted(format: ConfigFormat, text: &str) -> String {
    section(format).insert(text, "new", &entry()).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

const JSON: &[&str] = &[
    "",
    "\n",
    "// nothing yet",
    "{}",
    "{ }\n",
    "{\n}\n",
    "{ \"mcpServers\": {} }",
    "{\n  // mine\n}\n",
    "{\n\t\"a\": 1, // one\n\t\"mcpServers\": {\n\t\t\"b\": { \"command\": \"x\" } // b\n\t\t// c\n\t}\n}\n",
    "{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"b\": {},\n    },\n}\n",
    "{\r\n  \"mcpServers\": {\r\n    \"b\": {},\r\n\r\n    \"c\": {}\r\n  }\r\n}\r\n",
    "{\"a\":1,\"mcpServers\":{\"b\":{}}}",
    "{ \"mcpServers\": { \"b\": {}, } }",
    "{ \"mcpServers\": { /* none */ } }",
    "{\n\n  \"a\": [\n    1 ]\n\n}",
    "{\"a\": 1 /* x */ /* y */ , // z\n \"b\": 2 // }\n /* { */ }",
    "{ \"mcpServers\": {} } // end",
    "{\n  \"mcpServers\": null_\n}",
];

const TOML: &[&str] = &[
    "",
    "# mine\n",
    "a = 1",
    "a = 1\n\n[mcpServers.b]\ncommand = \"x\" # c\n\n# of c\n[c]\nd = \"\"\"\n[no]\n\"\"\"\n",
    "a = 1\r\n[mcpServers.b]\r\ncommand = 'x'\r\n\r\n",
    "mcpServers.b.command = 1\n",
    "mcpServers = { b = { command = 'x' }, \"c d\" = 1 } # c\r\na = 1\r\n",
    "mcpServers = {}\n",
];

const YAML: &[&str] = &[
    "",
    "# mine\n",
    "a: 1",
    "mcpServers:\n  b:\n    command: x # c\n\n# of c\nc: 1\n",
    "mcpServers: {}\n",
    "mcpServers: { b: { command: x } } # c\r\nc: 1\r\n",
    "version: 1\nmcpServers:\n    # none\n",
];

fn documents() -> impl Iterator<Item = (ConfigFormat, &'static str)> {
    let of = |format, texts: &'static [&'static str]| texts.iter().map(move |text| (format, *text));
    let all = of(ConfigFormat::Json, JSON).chain(of(ConfigFormat::Toml, TOML)).chain(of(ConfigFormat::Yaml, YAML));
    all.filter(|(_, text)| !text.contains("null_"))
}

/// Whether every byte of a text is in another one, in the same order.
fn keeps(before: &str, after: &str) -> bool {
    let mut rest = after.bytes();
    before.bytes().all(|byte| rest.any(|other| other == byte))
}

#[test]
fn entry_is_added_between_the_bytes_that_are_there() {
    for (format, text) in documents() {
        let after = inserted(format, text);
        assert!(keeps(text, &after), "{text}\n---\n{after}");
        let found = entries(format, &after).unwrap();
        let new = found.iter().find(|found| found.name == "new").unwrap();
        assert_eq!(new.value, entry(), "{after}");
        let breaks = after.matches('\n').count();
        assert!(!text.contains("\r\n") || after.matches("\r\n").count() == breaks, "{after:?}");
    }
}

#[test]
fn second_entry_goes_without_a_trace() {
    for (format, text) in documents() {
        let one = inserted(format, text);
        let two = section(format).insert(&one, "second", &entry()).unwrap();
        assert_eq!(section(format).remove(&two, "second", false).unwrap(), one);
        let second = section(format).insert(text, "second", &entry()).unwrap();
        let left = section(format).remove(&two, "new", false).unwrap();
        assert_eq!(left, second, "from:\n{two}");
    }
}

#[test]
fn only_entry_goes_with_its_maps_but_not_with_comments() {
    for (format, text) in documents() {
        let left = section(format).remove(&inserted(format, text), "new", false).unwrap();
        let comments = ["# none", "// nothing yet", "// mine", "/* none */", "# mine", "// c", "# of c"];
        assert!(comments.iter().all(|comment| left.contains(comment) == text.contains(comment)), "{text}\n---\n{left}");
        assert!(entries(format, &left).unwrap().iter().all(|found| found.name != "new"), "{left}");
    }
}

#[test]
fn replaced_entry_stays_in_its_map() {
    let other = json!({ "command": "/bin/other", "env": {} });
    for (format, text) in documents() {
        let after = inserted(format, text);
        let replaced = section(format).replace(&after, "new", &other).unwrap();
        assert_eq!(replaced, section(format).insert(text, "new", &other).unwrap(), "from:\n{after}");
    }
}

#[test]
fn layout_of_the_file_is_adopted() {
    let entry = json!({ "command": "f" });
    let cases = [
        ("{}", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"f\"\n    }\n  }\n}"),
        ("{\"a\":1,\"mcpServers\":{\"b\":{}}}", "{\"a\":1,\"mcpServers\":{\"b\":{}, \"new\": { \"command\": \"f\" }}}"),
        (
            "{\n\t\"mcpServers\": {\n\t\t\"b\": 1 // b\n\t}\n}",
            "{\n\t\"mcpServers\": {\n\t\t\"b\": 1, // b\n\t\t\"new\": {\n\t\t\t\"command\": \"f\"\n\t\t}\n\t}\n}",
        ),
        (
            "{\n \"mcpServers\": {\n  \"b\": 1,\n }\n}",
            "{\n \"mcpServers\": {\n  \"b\": 1,\n  \"new\": {\n   \"command\": \"f\"\n  },\n }\n}",
        ),
    ];
    for (before, after) in cases {
        assert_eq!(section(ConfigFormat::Json).insert(before, "new", &entry).unwrap(), after);
    }
}

#[test]
fn text_that_is_not_understood_is_refused_at_its_place() {
    for (format, text, place) in [
        (ConfigFormat::Json, "{\n  \"a\": 1\n  \"b\": 2\n}", (2, 9)),
        (ConfigFormat::Json, "{ 'a': 1 }", (1, 3)),
        (ConfigFormat::Json, "{\n  \"mcpServers\": [] }", (2, 3)),
        (ConfigFormat::Json, "{ \"mcpServers\": {}, \"mcpServers\": {} }", (1, 21)),
        (ConfigFormat::Json, "[]", (1, 1)),
        (ConfigFormat::Toml, "a = 1\nb\n", (2, 2)),
        (ConfigFormat::Toml, "mcpServers = [1]\n", (1, 14)),
        (ConfigFormat::Yaml, "a: 1\nb: [\n", (2, 4)),
        (ConfigFormat::Yaml, "mcpServers: [a]\n", (1, 1)),
    ] {
        let error = entries(format, text).and_then(|_| section(format).insert(text, "new", &entry())).expect_err(text);
        assert_eq!(error.line_and_column(text), Some(place), "{text}: {error}");
    }
    assert_eq!(line_and_column("ü\nöx", 5), (2, 2));
}

#[test]
fn every_client_has_a_file_and_a_place_for_values_or_says_none() {
    for client in CLIENTS {
        assert!(client.user.is_some() || client.project.is_some(), "{}", client.name);
        assert!(client.layout.variables_key().is_some(), "{}", client.name);
        let fit = client.sanitize_name("io.github.x/my_desk");
        assert!(client.takes_name(&fit), "{}: {fit}", client.name);
        for (name, fit) in [("-v", "v"), ("--", "server"), ("日本", "server"), ("a b", "a-b")] {
            assert_eq!(client.sanitize_name(name), fit, "{}", client.name);
            assert!(!client.takes_name(name), "{}", client.name);
        }
        assert!(client.takes_name(&client.sanitize_name(&"a".repeat(65))), "{}", client.name);
    }
}

/// A text of JSON with comments, in any layout.
fn jsonc() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n", "\n  ", "\t", " // c\n", "/* d */", "\r\n", "\n\n"]);
    let scalar = prop::sample::select(vec!["1", "\"x\"", "null", "{}", "[1, 2]", "{\"k\": \"}\"}", "-1.5e3"]);
    let pair = (space.clone(), "[a-f]{1,3}", space.clone(), scalar, space.clone());
    let map = prop::collection::vec(pair, 0..4).prop_map(|pairs| {
        let mut known = std::collections::HashSet::new();
        let pairs = pairs.into_iter().filter(|pair| known.insert(pair.1.clone()));
        let pairs = pairs.map(|(a, key, b, value, c)| format!("{a}\"{key}\"{b}:{value}{c}"));
        pairs.collect::<Vec<_>>().join(",")
    });
    (map.clone(), prop::option::of(map), space.clone(), any::<bool>(), space).prop_map(|(outer, inner, a, last, b)| {
        let comma = |text: &str| if last && text.contains(':') { "," } else { "" };
        let section = inner.map(|inner| format!("\"mcpServers\":{{{inner}{}{a}}}", comma(&inner)));
        let parts: Vec<String> = [outer].into_iter().filter(|outer| outer.contains(':')).chain(section).collect();
        let body = parts.join(",");
        format!("{b}{{{body}{}{a}}}{b}", comma(&body))
    })
}

proptest! {
    #[test]
    fn any_json_keeps_its_bytes_and_its_other_values(text in jsonc()) {
        let before = ConfigFormat::Json.value(&text).unwrap();
        let after = inserted(ConfigFormat::Json, &text);
        prop_assert!(keeps(&text, &after));
        let two = section(ConfigFormat::Json).insert(&after, "second", &entry()).unwrap();
        prop_assert_eq!(&section(ConfigFormat::Json).remove(&two, "second", false).unwrap(), &after);
        let left = section(ConfigFormat::Json).remove(&after, "new", false).unwrap();
        let left = ConfigFormat::Json.value(&left).unwrap();
        let others = |value: &Value| value.as_object().unwrap().iter().filter(|(_, v)| **v != json!({})).count();
        prop_assert_eq!(others(&left), others(&before));
    }
}
