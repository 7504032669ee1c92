use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const READ_LIMIT: u64 = 1 << 20;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text.as_bytes());
    }
    dir
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn open(dir: &TempDir) -> Folder {
    Folder::open(dir.path()).unwrap()
}

fn read(folder: &Folder, path: &str) -> Result<Vec<u8>, FileError> {
    folder.read(Path::new(path), READ_LIMIT)
}

fn paths(folder: &Folder, include: &[&str], exclude: &[&str]) -> Vec<String> {
    let globs = Globs::new(include, exclude).unwrap();
    folder.walk(&globs, 1000).unwrap().into_iter().map(|entry| entry.path).collect()
}

#[test]
fn read_and_stat_a_file() {
    let dir = tree(&[("docs/a.md", "text"), ("empty", "")]);
    let folder = open(&dir);
    assert_eq!(read(&folder, "docs/a.md").unwrap(), b"text");
    assert_eq!(read(&folder, "./docs/x/../a.md").unwrap(), b"text");
    assert_eq!(read(&folder, "empty").unwrap(), b"");
    let stat = folder.stat(Path::new("docs/a.md")).unwrap();
    assert_eq!((stat.size, stat.is_dir), (4, false));
    assert!(stat.modified.unwrap().elapsed().unwrap() < Duration::from_secs(3600));
    assert!(folder.stat(Path::new("docs")).unwrap().is_dir);
    assert!(folder.stat(Path::new("")).unwrap().is_dir);
}

#[test]
fn read_errors_name_the_reason() {
    let dir = tree(&[("docs/a.md", "text")]);
    let folder = open(&dir);
    for (path, words) in [
        ("docs", "`docs` is a folder"),
        (".", "`.` is a folder"),
        ("no", "no such file or folder: `no`"),
        ("docs/a.md/b", "no such file or folder: `docs/a.md/b`"),
        ("../x", "path `../x` escapes its folder"),
        ("docs/../../x", "path `docs/../../x` escapes its folder"),
        ("/etc/passwd", "invalid path `passwd`: absolute path"),
        ("a\0b", "invalid path `a\u{fffd}b`: contains a NUL byte"),
    ] {
        let error = read(&folder, path).unwrap_err();
        assert_eq!(error.to_string(), words);
    }
    let long = "x".repeat(5000);
    assert!(matches!(read(&folder, &long), Err(FileError::NameTooLong { .. })));
}

#[test]
fn open_error_hides_the_absolute_path() {
    let dir = tree(&[("file", "")]);
    let error = |name: &str| Folder::open(&dir.path().join(name)).unwrap_err().to_string();
    assert_eq!(error("no"), "no such file or folder: `no`");
    assert_eq!(error("file"), "`file` is not a folder");
}

#[test]
fn read_stops_at_its_limit() {
    let dir = tree(&[("a", "12345")]);
    for folder in [open(&dir), Folder::in_memory(BTreeMap::from([("a".to_owned(), b"12345".to_vec())]))] {
        assert_eq!(folder.read(Path::new("a"), 5).unwrap(), b"12345");
        let error = folder.read(Path::new("a"), 3).unwrap_err();
        assert!(matches!(error, FileError::TooLarge { limit: 3, size: 5, .. }));
    }
}

#[test]
fn normalize_is_lexical() {
    assert_eq!(normalize("a/./b//c/../d").unwrap(), Path::new("a/b/d"));
    assert_eq!(normalize("a/..").unwrap(), Path::new(""));
    assert!(matches!(normalize("a/../.."), Err(FileError::EscapesFolder { .. })));
    assert!(matches!(normalize("/a"), Err(FileError::BadName { .. })));
}

#[test]
fn subfolder_cannot_be_escaped() {
    let dir = tree(&[("docs/a.md", "a"), ("docs/in/b.md", "b"), ("secret", "s")]);
    let memory = Folder::in_memory(
        ["docs/a.md", "docs/in/b.md", "secret"].map(|path| (path.to_owned(), b"a".to_vec())).into_iter().collect(),
    );
    for folder in [open(&dir), memory] {
        let docs = folder.subfolder(Path::new("docs")).unwrap();
        assert_eq!(docs.path(), folder.path().join("docs"));
        assert_eq!(read(&docs, "a.md").unwrap(), b"a");
        assert_eq!(paths(&docs, &["**"], &[]), ["a.md", "in/b.md"]);
        assert!(matches!(read(&docs, "../secret"), Err(FileError::EscapesFolder { .. })));
        assert!(matches!(folder.subfolder(Path::new("secret")), Err(FileError::NotAFolder { .. })));
        assert!(matches!(folder.subfolder(Path::new("no")), Err(FileError::NotFound { .. })));
        assert_eq!(folder.subfolder(Path::new(".")).unwrap().path(), folder.path());
    }
}

mod links {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn inner_links_are_followed_and_escaping_links_refused() {
        let dir = tree(&[("root/docs/a.md", "a"), ("outside/secret", "s")]);
        let root = dir.path().join("root");
        symlink("docs/a.md", root.join("near")).unwrap();
        symlink(root.join("docs/a.md"), root.join("near-absolute")).unwrap();
        symlink("../outside/secret", root.join("far")).unwrap();
        symlink(dir.path().join("outside/secret"), root.join("far-absolute")).unwrap();
        symlink("../outside", root.join("folder")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("self", root.join("self")).unwrap();
        let folder = Folder::open(&root).unwrap();
        assert_eq!(read(&folder, "near").unwrap(), b"a");
        assert_eq!(read(&folder, "near-absolute").unwrap(), b"a");
        for path in ["far", "far-absolute", "folder/secret"] {
            assert!(matches!(read(&folder, path), Err(FileError::EscapesFolder { .. })), "{path}");
            assert!(matches!(folder.stat(Path::new(path)), Err(FileError::EscapesFolder { .. })), "{path}");
        }
        assert!(matches!(folder.subfolder(Path::new("folder")), Err(FileError::EscapesFolder { .. })));
        assert!(matches!(read(&folder, "dangling"), Err(FileError::NotFound { .. })));
        assert!(matches!(read(&folder, "self"), Err(FileError::TooManyLinks { .. })));
        assert_eq!(paths(&folder, &["**"], &[]), ["docs/a.md", "near", "near-absolute"]);
    }

    #[test]
    fn config_map_swap_is_read() {
        let dir = tree(&[("..one/folio.yaml", "1"), ("..two/folio.yaml", "2")]);
        symlink("..one", dir.path().join("..data")).unwrap();
        symlink("..data/folio.yaml", dir.path().join("folio.yaml")).unwrap();
        let folder = open(&dir);
        assert_eq!(read(&folder, "folio.yaml").unwrap(), b"1");
        symlink("..two", dir.path().join("..tmp")).unwrap();
        fs::rename(dir.path().join("..tmp"), dir.path().join("..data")).unwrap();
        assert_eq!(read(&folder, "folio.yaml").unwrap(), b"2");
        assert_eq!(paths(&folder, &["*"], &[]), ["folio.yaml"]);
    }

    #[test]
    fn root_may_be_a_symlink() {
        let dir = tree(&[("real/a", "a")]);
        symlink("real", dir.path().join("link")).unwrap();
        let folder = Folder::open(&dir.path().join("link")).unwrap();
        assert_eq!(folder.path(), fs::canonicalize(dir.path().join("real")).unwrap());
        assert_eq!(read(&folder, "a").unwrap(), b"a");
    }

    #[test]
    fn linked_subfolder_has_its_real_path() {
        let dir = tree(&[("real/a", "a")]);
        symlink("real", dir.path().join("link")).unwrap();
        let folder = open(&dir);
        let sub = folder.subfolder(Path::new("link")).unwrap();
        assert_eq!(sub.path(), folder.path().join("real"));
    }

    #[test]
    fn pipe_is_refused_without_blocking() {
        let dir = tree(&[]);
        let here = fs::File::open(dir.path()).unwrap();
        rustix::fs::mknodat(&here, "pipe", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let folder = open(&dir);
        for path in ["pipe", "socket"] {
            assert!(matches!(read(&folder, path), Err(FileError::NotAFile { .. })), "{path}");
            assert!(matches!(folder.stat(Path::new(path)), Err(FileError::NotAFile { .. })), "{path}");
        }
        assert!(paths(&folder, &["*"], &[]).is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_without_size_is_limited() {
        let folder = Folder::open(Path::new("/proc/self")).unwrap();
        assert!(read(&folder, "status").unwrap().starts_with(b"Name:"));
        assert!(matches!(folder.read(Path::new("status"), 10), Err(FileError::TooLarge { limit: 10, .. })));
    }

    #[test]
    fn symlink_loops_terminate() {
        let dir = tree(&[("a/x", ""), ("b/y", "")]);
        for (to, at) in [(".", "a/self"), ("..", "a/up"), ("../b", "a/b"), ("../a", "b/a"), (".", "here")] {
            symlink(to, dir.path().join(at)).unwrap();
        }
        // `b/a` leads to a folder with a link to `b`, which is not followed a second time.
        assert_eq!(paths(&open(&dir), &["**"], &[]), ["a/b/y", "a/x", "b/a/x", "b/y"]);
    }

    #[test]
    fn mutually_linked_folders_are_walked_once_per_link() {
        let dir = tree(&[]);
        for at in 0..12 {
            let folder = dir.path().join(format!("p{at}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
            for to in 0..12 {
                symlink(format!("../p{to}"), folder.join(format!("to{to}"))).unwrap();
            }
        }
        // Its own, and one through each link to another: not the twelve faculty that there are.
        assert_eq!(paths(&open(&dir), &["**/file"], &[]).len(), 12 + 12 * 11);
    }

    #[test]
    fn non_utf8_names_are_skipped() {
        let dir = tree(&[("a", "")]);
        if fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"b\xff")), "").is_ok() {
            assert_eq!(paths(&open(&dir), &["**"], &[]), ["a"]);
        }
    }

    #[test]
    fn unreadable_folder_is_skipped() {
        let dir = tree(&[("a/x", ""), ("b/y", "")]);
        fs::set_permissions(dir.path().join("a"), fs::Permissions::from_mode(0o000)).unwrap();
        let folder = open(&dir);
        // The superuser may read it all the same.
        if fs::read_dir(dir.path().join("a")).is_err() {
            assert!(matches!(read(&folder, "a/x"), Err(FileError::Denied { .. })));
            assert_eq!(paths(&folder, &["**"], &[]), ["b/y"]);
        }
        fs::set_permissions(dir.path().join("a"), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn walk_applies_include_exclude_and_hidden() {
    let dir = tree(&[
        ("src/main.rs", ""),
        ("src/a/b.rs", ""),
        ("src/a/b.txt", ""),
        ("src/target/x.rs", ""),
        (".git/c.rs", ""),
        ("src/.d.rs", ""),
        ("a-b", ""),
        ("a/b", ""),
    ]);
    let folder = open(&dir);
    assert_eq!(paths(&folder, &["**/*.rs"], &["**/target/**"]), ["src/a/b.rs", "src/main.rs"]);
    assert_eq!(paths(&folder, &["src/*"], &[]), ["src/main.rs"]);
    assert_eq!(paths(&folder, &["src/{main,a/b}.{rs,txt}"], &[]), ["src/a/b.rs", "src/a/b.txt", "src/main.rs"]);
    assert_eq!(paths(&folder, &["./src/x/../a/"], &[]), ["src/a/b.rs", "src/a/b.txt"]);
    assert_eq!(paths(&folder, &["a*", "a/*"], &[]), ["a-b", "a/b"]);
    assert!(paths(&folder, &[".git/*", "src/.d.rs"], &[]).is_empty());
    assert!(paths(&folder, &[], &[]).is_empty());
}

#[test]
fn walk_reports_size_and_mtime() {
    let dir = tree(&[("a", "123")]);
    let found = open(&dir).walk(&Globs::new(&["*"], &[]).unwrap(), 1).unwrap();
    assert_eq!(found[0].size, 3);
    assert_eq!(found[0].modified, fs::metadata(dir.path().join("a")).unwrap().modified().ok());
}

#[test]
fn walk_stops_at_its_limit() {
    let dir = tree(&[("a", ""), ("b", ""), ("c/d", "")]);
    let globs = Globs::new(&["**"], &[]).unwrap();
    assert_eq!(open(&dir).walk(&globs, 3).unwrap().len(), 3);
    let error = open(&dir).walk(&globs, 2).unwrap_err();
    assert_eq!(error.to_string(), "too many matching files: limit 2");
}

#[test]
fn folders_to_watch_are_those_that_could_match() {
    let dir = tree(&[("docs/a/x", ""), ("docs/b/c/x", ""), ("src/target/x", ""), ("src/y/x", ""), (".git/x", "")]);
    let folder = open(&dir);
    let under = |include: &[&str], exclude: &[&str]| -> Vec<String> {
        let found = folder.folders_to_watch(&Globs::new(include, exclude).unwrap()).unwrap();
        let relative = |path: &std::path::PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
        found.iter().map(relative).collect()
    };
    assert_eq!(under(&["docs/*.md"], &[]), ["", "docs"]);
    assert_eq!(under(&["docs/*/*.md"], &[]), ["", "docs", "docs/a", "docs/b"]);
    assert_eq!(under(&["{src,none}/**/*.md"], &["**/target/**"]), ["", "src", "src/y"]);
    // How deep a class reaches is not looked into: all but what is hidden.
    assert_eq!(under(&["[s]rc/*"], &[]).len(), 8);
    assert_eq!(under(&["not/yet/*.md"], &[]), [""]);
}

#[test]
fn only_normalized_paths_match() {
    let globs = Globs::new(&["**"], &["secret/**"]).unwrap();
    assert!(globs.matches("open/a"));
    for path in ["secret/a", "open/../secret/a", "./secret/a", "open//a", "/open/a", "open/a/", "", ".a", "a/.b", "a\0"]
    {
        assert!(!globs.matches(path), "{path:?}");
    }
}

#[test]
fn star_stops_at_slash_and_braces_alternate() {
    let globs = Globs::new(&["*.{md,txt}", "deep/**"], &["x.md"]).unwrap();
    for (path, matched) in
        [("a.md", true), ("a.txt", true), ("a/b.md", false), ("x.md", false), ("deep/a/b", true), ("deep", false)]
    {
        assert_eq!(globs.matches(path), matched, "{path}");
    }
}

#[test]
fn malformed_pattern_is_reported_by_index() {
    for (pattern, message) in [
        ("", "empty pattern"),
        ("/etc/*", "absolute pattern"),
        ("../*", "pattern escapes its folder"),
        ("*/../../x", "`..` after a wildcard"),
        ("a[", "unclosed character class; missing ']'"),
        ("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        (&"x".repeat(1025), "pattern exceeds 1024 bytes"),
    ] {
        let wrong = Globs::new(&["fine", pattern], &[]).unwrap_err();
        assert_eq!(wrong, GlobError { index: 1, excluded: false, message: message.to_owned() });
        let wrong = Globs::new(&["fine"], &[pattern]).unwrap_err();
        assert_eq!(wrong, GlobError { index: 0, excluded: true, message: message.to_owned() });
    }
}

#[test]
fn deeply_nested_pattern_is_never_fatal() {
    let deep = format!("{}a{}", "{".repeat(500), "}".repeat(500));
    let _ = Globs::new(&[&deep], &[&deep]);
}

#[test]
fn globs_have_special_characters() {
    for (pattern, is_glob) in [("prompts/*.md", true), ("a/b{c,d}/e", true), ("a/[b]?", true), ("a/b.md", false)] {
        assert_eq!(Globs::is_glob(pattern), is_glob, "{pattern}");
    }
}

#[test]
fn rfc3339_is_utc_in_whole_seconds() {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    assert_eq!(rfc3339(time), "2023-11-14T22:13:20Z");
    assert_eq!(rfc3339(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), "1969-12-31T23:59:59Z");
}

/// Small trees in which names clash, nest and hide; a file is never also a folder.
fn trees() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let name = prop::sample::select(vec!["a", "b", "c.md", ".h", "a b", "\u{e9}", "a-"]);
    let path = prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"));
    let bytes = prop::collection::vec(any::<u8>(), 0..4);
    prop::collection::btree_map(path, bytes, 0..12).prop_map(|mut files| {
        let all: Vec<String> = files.keys().cloned().collect();
        files.retain(|path, _| !all.iter().any(|other| other.starts_with(&format!("{path}/"))));
        files
    })
}

fn relative_paths() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c.md", ".h", "a b", "\u{e9}", "a-", "..", ".", "", "a\0"]);
    prop::collection::vec(name, 0..5).prop_map(|names| names.join("/"))
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    let part = prop::sample::select(vec![
        "a", "b", "*", "**", "c.md", "*.md", "{a,b}", "[ab]", "?", "a*", "{a/b,b}", "{a/**,b}", "\\a", "{,a}", "..",
        ".",
    ]);
    let pattern = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    prop::collection::vec(pattern, 0..3)
}

/// An outcome without what differs by nature.
fn outcome_text<T: std::fmt::Debug>(outcome: Result<T, FileError>) -> String {
    outcome.map_or_else(|error| error.to_string(), |value| format!("{value:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_folder_matches_disk_folder(
        files in trees(),
        asked in prop::collection::vec(relative_paths(), 8),
        include in patterns(),
        exclude in patterns(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(path, bytes)| write(dir.path(), path, bytes));
        let disk = open(&dir);
        let memory = Folder::in_memory(files);
        let stat = |folder: &Folder, path: &str| {
            outcome_text(folder.stat(Path::new(path)).map(|stat| (stat.size, stat.is_dir)))
        };
        for path in &asked {
            prop_assert_eq!(outcome_text(disk.read(Path::new(path), 2)), outcome_text(memory.read(Path::new(path), 2)));
            prop_assert_eq!(stat(&disk, path), stat(&memory, path));
            let inside = |folder: &Folder| outcome_text(folder.subfolder(Path::new(path)).and_then(|sub| list_files(&sub, &["**"], &[])));
            prop_assert_eq!(inside(&disk), inside(&memory));
        }
        let include: Vec<&str> = include.iter().map(String::as_str).collect();
        let exclude: Vec<&str> = exclude.iter().map(String::as_str).collect();
        if Globs::new(&include, &exclude).is_ok() {
            prop_assert_eq!(outcome_text(list_files(&disk, &include, &exclude)), outcome_text(list_files(&memory, &include, &exclude)));
        }
    }
}

fn list_files(folder: &Folder, include: &[&str], exclude: &[&str]) -> Result<Vec<(String, u64)>, FileError> {
    let found = folder.walk(&Globs::new(include, exclude).unwrap(), 1000)?;
    Ok(found.into_iter().map(|entry| (entry.path, entry.size)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn walk_misses_no_match(files in trees(), include in patterns(), exclude in patterns()) {
        let include: Vec<&str> = include.iter().map(String::as_str).collect();
        let exclude: Vec<&str> = exclude.iter().map(String::as_str).collect();
        let Ok(globs) = Globs::new(&include, &exclude) else { return Ok(()) };
        let naive: Vec<String> = files.keys().filter(|path| globs.matches(path)).cloned().collect();
        let walked = Folder::in_memory(files).walk(&globs, 1000).unwrap();
        prop_assert_eq!(walked.into_iter().map(|entry| entry.path).collect::<Vec<_>>(), naive);
    }

    #[test]
    fn globs_and_mime_never_panic(text in any::<String>(), path in any::<String>()) {
        let _ = Globs::new(&[&text], &[&text]).map(|globs| globs.matches(&path));
        let _ = (Globs::is_glob(&text), mime_of(&text, path.as_bytes()), normalize(&text));
    }
}
