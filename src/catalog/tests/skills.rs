//! Skills: limits, links and listings.

use std::collections::BTreeMap;

use crate::catalog::{BuildOutcome, build};
use crate::diagnostic::render_lines;
use crate::files::Folder;
use crate::load::{EnvSource, ManifestLocation, load};

/// A manifest in memory with one skill, and these files in it.
fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> BuildOutcome {
    let manifest = b"folio: 1\nserver: { name: t }\nskills: { dir: skills }\n".to_vec();
    let matter = b"---\nname: big\ndescription: D\n---\n".to_vec();
    let mut all: BTreeMap<String, Vec<u8>> =
        files.into_iter().map(|(path, bytes)| (format!("skills/big/{path}"), bytes)).collect();
    all.insert("folio.yaml".to_owned(), manifest);
    all.insert("skills/big/SKILL.md".to_owned(), matter);
    build(load(&ManifestLocation::in_memory(Folder::in_memory(all)), &EnvSource::default()))
}

fn skill_count(built: &BuildOutcome) -> usize {
    built.catalog.as_ref().unwrap().lists().skills.len()
}

#[test]
fn skill_is_limited_to_512_files() {
    let files = |count: usize| (0..count).map(|nth| (format!("{nth}.txt"), Vec::new()));
    let fits = with_files(files(511));
    assert_eq!((skill_count(&fits), render_lines(&fits.report)), (1, String::new()));
    let over = with_files(files(512));
    assert_eq!(skill_count(&over), 0);
    assert!(
        render_lines(&over.report).contains("skill `big` skipped: 513 files, limit 512"),
        "{}",
        render_lines(&over.report)
    );
}

#[test]
fn skill_is_limited_to_16_mib() {
    let matter = "---\nname: big\ndescription: D\n---\n".len();
    let half = 8 << 20;
    let files = |last: usize| [("a.bin".to_owned(), vec![0; half]), ("b.bin".to_owned(), vec![0; last])];
    let fits = with_files(files(half - matter));
    assert_eq!((skill_count(&fits), render_lines(&fits.report)), (1, String::new()));
    let over = with_files(files(half - matter + 1));
    assert_eq!(skill_count(&over), 0);
    assert!(render_lines(&over.report).contains("16777217 bytes, limit 16777216"), "{}", render_lines(&over.report));
}

#[test]
fn a_folder_without_skills_is_a_warning() {
    let files = BTreeMap::from([
        ("folio.yaml".to_owned(), b"folio: 1\nserver: { name: t }\nskills: { dir: skills }\n".to_vec()),
        ("skills/README.md".to_owned(), b"None yet".to_vec()),
    ]);
    let built = build(load(&ManifestLocation::in_memory(Folder::in_memory(files)), &EnvSource::default()));
    assert!(
        render_lines(&built.report).contains("warning[glob]: no skills in this folder"),
        "{}",
        render_lines(&built.report)
    );
    assert!(built.catalog.unwrap().serves_skills());
}
