use std::collections::BTreeMap;

use crate::catalog::{Built, build};
use crate::diagnostic::lines;
use crate::files::Folder;
use crate::load::{Place, Surroundings, load};

/// A manifest in memory with one skill, and these files in it.
fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Built {
    let manifest = b"folio: 1\nserver: { name: t }\nskills: { dir: skills }\n".to_vec();
    let matter = b"---\nname: big\ndescription: D\n---\n".to_vec();
    let mut all: BTreeMap<String, Vec<u8>> =
        files.into_iter().map(|(path, bytes)| (format!("skills/big/{path}"), bytes)).collect();
    all.insert("folio.yaml".to_owned(), manifest);
    all.insert("skills/big/SKILL.md".to_owned(), matter);
    build(load(&Place::in_memory(Folder::in_memory(all)), &Surroundings::default()))
}

fn served(built: &Built) -> usize {
    built.catalog.as_ref().unwrap().lists().skills.len()
}

#[test]
fn a_skill_has_512_files_and_not_one_more() {
    let files = |count: usize| (0..count).map(|nth| (format!("{nth}.txt"), Vec::new()));
    let fits = with_files(files(511));
    assert_eq!((served(&fits), lines(&fits.report)), (1, String::new()));
    let over = with_files(files(512));
    assert_eq!(served(&over), 0);
    assert!(
        lines(&over.report).contains("`big` is left out: it has 513 files, and 512 at most"),
        "{}",
        lines(&over.report)
    );
}

#[test]
fn a_skill_has_16_mebibytes_and_not_one_byte_more() {
    let matter = "---\nname: big\ndescription: D\n---\n".len();
    let half = 8 << 20;
    let files = |last: usize| [("a.bin".to_owned(), vec![0; half]), ("b.bin".to_owned(), vec![0; last])];
    let fits = with_files(files(half - matter));
    assert_eq!((served(&fits), lines(&fits.report)), (1, String::new()));
    let over = with_files(files(half - matter + 1));
    assert_eq!(served(&over), 0);
    assert!(lines(&over.report).contains("it has 16777217 bytes, and 16777216 at most"), "{}", lines(&over.report));
}

#[test]
fn a_folder_without_skills_is_a_warning() {
    let files = BTreeMap::from([
        ("folio.yaml".to_owned(), b"folio: 1\nserver: { name: t }\nskills: { dir: skills }\n".to_vec()),
        ("skills/README.md".to_owned(), b"None yet".to_vec()),
    ]);
    let built = build(load(&Place::in_memory(Folder::in_memory(files)), &Surroundings::default()));
    assert!(lines(&built.report).contains("warning: there is no skill in this folder"), "{}", lines(&built.report));
    assert!(built.catalog.unwrap().serves_skills());
}
