//! `folio explain`: the page of each code, whose examples are run.

use folio::Code;

use crate::harness::{TestFolder, run_folio};

/// The files of an example: each fenced block with a path after its language.
fn files(page: &str, title: &str) -> Vec<(String, Vec<u8>)> {
    let part = page.split(&format!("## {title}\n")).nth(1).unwrap_or_else(|| panic!("no `{title}` in {page}"));
    let part = part.split("\n## ").next().unwrap();
    let mut found = Vec::new();
    let mut rest = part;
    while let Some((_, block)) = rest.split_once("```") {
        let (head, block) = block.split_once('\n').unwrap();
        let (body, after) = block.split_once("```").unwrap();
        let words: Vec<&str> = head.split(' ').collect();
        let bytes = match words.get(2) {
            Some(_) => body.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect(),
            None => body.as_bytes().to_vec(),
        };
        found.push((words[1].to_owned(), bytes));
        rest = after;
    }
    assert!(!found.is_empty(), "{page}");
    found
}

fn folder(page: &str, title: &str) -> TestFolder {
    let folder = TestFolder::new(&[]);
    for (path, bytes) in files(page, title) {
        folder.write(&path, "");
        std::fs::write(folder.path().join(&path), bytes).unwrap();
    }
    folder
}

/// What `check` finds: codes with severities.
fn found(folder: &TestFolder, code: Code) -> Vec<(String, String)> {
    let client = code.as_str().strip_prefix("client-").filter(|_| code.is_client_code());
    let clients: Vec<&str> = client.into_iter().flat_map(|client| ["--clients", client]).collect();
    let ran = run_folio(folder.path(), &[&["check", "--format", "json"][..], &clients].concat());
    let all: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
    let text = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(|one| (text(one, "code"), text(one, "severity"))).collect()
}

/// Whether `check` reports it: `init` and `test` have a code of their own.
fn is_of_check(code: Code) -> bool {
    !matches!(code, Code::Unimplemented | Code::FailedTest)
}

#[test]
fn wrong_examples_give_only_their_code() {
    for code in Code::ALL.iter().filter(|code| is_of_check(**code)) {
        let found = found(&folder(code.page(), "Wrong"), *code);
        assert_eq!(found.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(), [code.as_str()], "{code:?}");
    }
}

#[test]
fn right_examples_are_silent() {
    for code in Code::ALL.iter().filter(|code| is_of_check(**code)) {
        let found = found(&folder(code.page(), "Right"), *code);
        assert!(found.is_empty(), "{code:?}: {found:?}");
    }
}

#[test]
fn example_of_init_is_run_by_init() {
    let page = Code::Unimplemented.page();
    let ran = |title| {
        let folder = folder(page, title);
        let ran = run_folio(folder.path(), &["init", "out", "--openapi", "openapi.json"]);
        ran.out + &ran.err
    };
    assert!(ran("Wrong").contains("unsupported method `trace`"), "{}", ran("Wrong"));
    assert!(!ran("Right").contains("unsupported method `trace`"), "{}", ran("Right"));
}

#[test]
fn example_of_test_is_run_by_test() {
    for (title, code) in [("Wrong", 1), ("Right", 0)] {
        let ran = run_folio(folder(Code::FailedTest.page(), title).path(), &["test"]);
        assert_eq!((ran.code, ran.out.contains("error[failed-test]")), (Some(code), code == 1), "{}", ran.out);
    }
}

#[test]
fn explain_prints_a_page_or_the_list() {
    let folder = TestFolder::new(&[]);
    let ran = run_folio(folder.path(), &["explain", "unknown-variable"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), Code::UnknownVariable.page()));
    let list = run_folio(folder.path(), &["explain"]).out;
    assert_eq!(list.lines().count(), Code::ALL.len());
    let ran = run_folio(folder.path(), &["explain", "unknown-varable"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("unknown-variable"), "{}", ran.err);
}

#[test]
fn pages_begin_with_their_code() {
    for code in Code::ALL {
        let page = code.page();
        assert!(page.starts_with(&format!("# {}\n\n", code.as_str())), "{page}");
        assert!(page.split("\n\n").nth(2).is_some_and(|why| why.len() > 30 && !why.starts_with('#')), "{page}");
    }
}
