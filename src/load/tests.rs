use std::collections::BTreeMap;
use std::path::Path;

use super::{EnvSource, LoadedPacks, ManifestLocation, load};
use crate::diagnostic::{Code, render_lines};
use crate::files::Folder;

fn load_files(files: &[(&str, &str)], environment: &[(&str, &str)]) -> LoadedPacks {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let environment: EnvSource =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(&ManifestLocation::in_memory(Folder::in_memory(files)), &environment)
}

const HEAD: &str = "folio: 1\nserver: { name: t }\n";

fn with_head(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

/// The names of the prompts of all packs, in the order in which they are listed.
fn prompt_names(loaded: &LoadedPacks) -> Vec<String> {
    let files = loaded.packs.iter().flat_map(|pack| &pack.entry_files);
    files.flat_map(|file| file.entries.prompts.keys()).map(|name| name.value.clone()).collect()
}

#[test]
fn lists_order_is_manifest_then_includes_then_packs() {
    let manifest = with_head(
        "packs: { p: { path: p } }\ninclude: [z.yaml, \"prompts/**/*.md\", a.yaml]\nprompts: { own: { text: x } }\n",
    );
    let found = load_files(
        &[
            ("folio.yaml", &manifest),
            ("z.yaml", "prompts: { z: { text: x } }"),
            ("a.yaml", "prompts: { a: { text: x } }"),
            ("prompts/d.md", "d"),
            ("prompts/b/c.md", "c"),
            ("prompts/README.md", "{{never a prompt"),
            ("prompts/b/readme.md", "nor this"),
            ("prompts/.hidden.md", "nor this"),
            ("p/folio.yaml", &with_head("prompts: { packed: { text: x } }")),
        ],
        &[],
    );
    assert_eq!(render_lines(&found.load_context.report), "");
    assert_eq!(prompt_names(&found), ["own", "z", "c", "d", "a", "packed"]);
}

#[test]
fn a_file_that_two_patterns_name_is_included_once() {
    let manifest = with_head("include: [\"*.md\", p.md, \"./p.md\"]\n");
    let found = load_files(&[("folio.yaml", &manifest), ("p.md", "p")], &[]);
    assert_eq!(prompt_names(&found), ["p"]);
    assert_eq!(render_lines(&found.load_context.report), "");
}

#[test]
fn the_manifest_does_not_include_itself() {
    let manifest = with_head("include: \"*.yaml\"\nprompts: { p: { text: x } }\n");
    let found = load_files(&[("folio.yaml", &manifest), ("q.yaml", "prompts: { q: { text: x } }")], &[]);
    assert_eq!(prompt_names(&found), ["p", "q"]);
    assert_eq!(render_lines(&found.load_context.report), "");
}

#[test]
fn nested_prefixes_are_joined_and_may_be_empty() {
    let outer =
        with_head("packs:\n  a: { path: p }\n  b: { path: p, prefix: \"\" }\n  c: { path: p, prefix: long-one }\n");
    let inner = with_head("packs: { q: { path: q } }\n");
    let found = load_files(&[("folio.yaml", &outer), ("p/folio.yaml", &inner), ("p/q/folio.yml", HEAD)], &[]);
    let prefixes: Vec<&str> = found.packs.iter().map(|pack| pack.prefix.as_str()).collect();
    assert_eq!(prefixes, ["", "a", "a-q", "", "q", "long-one", "long-one-q"]);
}

#[test]
fn nested_pack_has_no_more_grants_than_its_importer() {
    let outer = with_head("packs: { p: { path: p, allow: [exec, http] } }\n");
    let inner = with_head("packs: { q: { path: q, allow: [exec, script, ask] } }\n");
    let found = load_files(&[("folio.yaml", &outer), ("p/folio.yaml", &inner), ("p/q/folio.yaml", HEAD)], &[]);
    let grants =
        |nth: usize| ["exec", "script", "http", "ask"].map(|action| found.packs[nth].pack.grants.allows(action));
    assert_eq!(grants(0), [true; 4]);
    assert_eq!(grants(1), [true, false, true, false]);
    assert_eq!(grants(2), [true, false, false, false]);
}

#[test]
fn empty_and_unexpanded_variables_count_as_unset() {
    let manifest = with_head(
        "env:\n  A: { default: a }\n  B: { default: b }\n  C: { default: c }\n  D:\n  E: { required: true }\n",
    );
    let found =
        load_files(&[("folio.yaml", &manifest)], &[("A", "set"), ("B", ""), ("C", "${C}"), ("X", "not declared")]);
    let variables = &found.packs[0].pack.env.variables;
    let value = |name: &str| variables[name].value.clone();
    assert_eq!([value("A"), value("B"), value("C")].map(Option::unwrap), ["set", "b", "c"]);
    assert_eq!(value("D"), None);
    assert!(!variables.contains_key("X"));
    assert_eq!(found.packs[0].unset_variables, ["E"]);
    let codes: Vec<Code> = found.load_context.report.diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [Code::UnsetVariable, Code::UnsetVariable]);
}

#[test]
fn read_and_missing_paths_are_watched() {
    let manifest = with_head(
        "include: [gone.yaml, \"p/*.md\", \"new/**/*.md\"]\npartials: parts/x.hbs\npacks: { q: { path: q } }\n",
    );
    let found = load_files(&[("folio.yaml", &manifest), ("p/a.md", "a"), ("parts/x.hbs", "x")], &[]);
    let reads = &found.load_context.dependencies;
    for file in ["folio.yaml", "gone.yaml", "p/a.md", "parts/x.hbs", "q"] {
        assert!(reads.files.contains(&Path::new("/").join(file)), "{file}: {reads:?}");
    }
    for folder in ["p", "new"] {
        assert!(
            reads.folders.iter().any(|watched| Path::new("/").join(folder).starts_with(watched)),
            "{folder}: {reads:?}"
        );
    }
}

#[test]
fn prompt_file_without_front_matter_is_all_text() {
    let manifest = with_head("include: \"*.md\"\n");
    let found = load_files(
        &[("folio.yaml", &manifest), ("a.md", "\n\nJust {{text}}.\n"), ("b.md", "---\ntitle: B\n---\n\n---\nrest\n")],
        &[],
    );
    assert_eq!(render_lines(&found.load_context.report), "");
    let files: Vec<_> = found.packs[0].entry_files.iter().flat_map(|file| file.entries.prompts.values()).collect();
    let text = |nth: usize| match &files[nth].text.as_ref().unwrap().value {
        crate::value_types::TextOrFile::Text(text) => text.clone(),
        crate::value_types::TextOrFile::File(_) => panic!("a file"),
    };
    assert_eq!(text(0), "Just {{text}}.\n");
    assert_eq!((text(1), files[1].title.as_deref()), ("---\nrest\n".to_owned(), Some("B")));
}
