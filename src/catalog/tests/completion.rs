//! Completion from values, files, resources and runs.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{CatalogFixture, block_on};
use crate::catalog::result::call_result::{CompletionRequest, CompletionTarget};
use crate::uri::UriTemplate;

/// Templates over the files of one folder, with all kinds of variables.
const TEMPLATES: &[(&str, &str)] = &[
    ("a://{name}", "docs/{{name}}"),
    ("b://{+path}", "docs/{{path}}"),
    ("c://{name}.md", "docs/{{name}}.md"),
    ("d://{one}/{two}", "docs/{{one}}/{{two}}"),
    ("e://{one}-{two}", "docs/{{one}}-{{two}}.md"),
    ("f://x{?file,lang}", "docs/{{lang}}{{file}}"),
    ("g://{+one}/-/{two}", "docs/{{one}}/a{{two}}"),
    ("h://{n}", "docs/{{n}}"),
    ("i://{name}", "docs/{{name}}/{{name}}"),
    ("j://{+path}", "{{path}}"),
    ("k://{name}", "docs/{{arguments.name}}.md"),
];

fn manifest() -> String {
    let one = |(nth, (uri, file)): (usize, &(&str, &str))| {
        let arguments = if uri.contains("{n}") { "arguments: { n: { type: number, maximum: 50 } }, " } else { "" };
        format!("  r{nth}: {{ uri: \"{uri}\", {arguments}file: \"{file}\" }}\n")
    };
    let templates: String = TEMPLATES.iter().enumerate().map(one).collect();
    let root = "  root: { uri: \"root://{+path}\", root: docs, include: ['**/*[a-z0-9]'], exclude: ['*b*/**'], \
        arguments: { path: { maxLength: 9 } } }\n";
    format!("resources:\n{templates}{root}")
}

/// Everything that completes a variable, of templates of which the others are filled in with what completes them.
fn offered(fixture: &CatalogFixture, uri: &str) -> Vec<BTreeMap<String, String>> {
    let template = UriTemplate::parse(uri).unwrap();
    let mut known = vec![BTreeMap::new()];
    for variable in template.variables() {
        let each = known.into_iter().flat_map(|known: BTreeMap<String, String>| {
            let of = CompletionTarget::Template(uri.to_owned());
            let (argument, value) = (variable.name.clone(), String::new());
            let completion = CompletionRequest { target: of, argument, value, context: known.clone() };
            let values = block_on(fixture.catalog.complete(&completion, &fixture.call_context())).unwrap().values;
            let with = move |value: String| {
                let mut known = known.clone();
                known.insert(variable.name.clone(), value);
                known
            };
            values.into_iter().map(with)
        });
        known = each.collect();
    }
    known
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,3}",
        "[a-b0-9.%?#{}~:é -]{1,6}",
        "[0-9]{1,2}",
        Just("a.md".to_owned()),
        Just("a-b-c.md".to_owned()),
        Just("c:".to_owned()),
        Just(".hidden".to_owned()),
        Just("*[x]".to_owned()),
    ]
}

fn files() -> impl Strategy<Value = Vec<String>> {
    let path = prop::collection::vec(name(), 1..4).prop_map(|names| format!("docs/{}", names.join("/")));
    prop::collection::vec(path, 1..12)
}

proptest! {
    #[test]
    fn offered_template_values_are_readable(files in files()) {
        let manifest = manifest();
        let mut all: Vec<(&str, &str)> = vec![("folio.yaml", &manifest), ("docs/a", "a")];
        // A path that is a file to one is not a folder to another.
        for path in &files {
            let clash = |other: &str| other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/"));
            let odd = path.split('/').any(|name| name == "." || name == "..");
            if !odd && !all.iter().any(|(other, _)| clash(other)) {
                all.push((path, "x"));
            }
        }
        let fixture = CatalogFixture::with_files(&all, &[]);
        for (uri, _) in TEMPLATES.iter().chain([&("root://{+path}", "")]) {
            let template = UriTemplate::parse(uri).unwrap();
            for values in offered(&fixture, uri) {
                let whole = template.expand(&|name| values.get(name).cloned());
                prop_assert!(fixture.read(&whole).is_ok(), "{uri} offers {values:?} of {all:?}: {:?}", fixture.read(&whole));
            }
        }
        for listed in &fixture.catalog.lists().resources {
            prop_assert!(fixture.read(&listed.uri).is_ok(), "{} is listed", listed.uri);
        }
        let plain = CompletionTarget::Template("b://{+path}".to_owned());
        let seen = fixture.complete(plain, "path", "", &[]);
        let hidden = |path: &str| path.split('/').any(|name| name.starts_with('.'));
        let there = all.iter().filter_map(|(path, _)| path.strip_prefix("docs/")).filter(|path| !hidden(path));
        for path in there {
            prop_assert!(seen.iter().any(|one| one == path) || path.contains(':'), "{path} is not offered: {seen:?}");
        }
    }
}
