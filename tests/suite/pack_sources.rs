//! Packs of git repositories: locked, fetched and checked. What they may do is in `pack_trust`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::harness::{CommandOutput, FOLIO_BIN, TEST_TIMEOUT, TestFolder};

/// A pack with a prompt and a tool.
pub const PACK: &str = "\
folio: 1
server: { name: docs }
prompts:
  hi: { description: Greets, text: Hello }
tools:
  look: { description: Looks, run: { exec: [printf, seen] } }
";

/// A repository.
pub struct Repository {
    folder: TempDir,
}

impl Repository {
    pub fn new(files: &[(&str, &str)]) -> Repository {
        let repository = Repository { folder: tempfile::tempdir().unwrap() };
        repository.git(&["init", "-q", "-b", "main", "."]);
        repository.commit(files);
        repository
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_with_input(arguments, b"")
    }

    fn git_with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits files, and returns the commit.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        files.iter().for_each(|(path, text)| self.write(path, text));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.git_with_input(&["hash-object", "-w", "--stdin"], bytes)
    }

    /// A tree of these entries: mode, name and object.
    fn tree(&self, entries: &[(&str, &str, &str)]) -> String {
        let kind = |mode: &str| if mode == "40000" { "tree" } else { "blob" };
        let line = |(mode, name, object): &(&str, &str, &str)| format!("{mode} {} {object}\t{name}\n", kind(mode));
        self.git_with_input(&["mktree"], entries.iter().map(line).collect::<String>().as_bytes())
    }

    /// Commits a tree with these entries, whatever their names are.
    fn commit_entries(&self, entries: &[(&str, &str, &str)]) {
        let mut tree = Vec::new();
        for (mode, name, object) in entries {
            tree.extend(format!("{mode} {name}\0").bytes());
            tree.extend((0..20).map(|nth| u8::from_str_radix(&object[nth * 2..nth * 2 + 2], 16).unwrap()));
        }
        let tree = self.git_with_input(&["hash-object", "-t", "tree", "-w", "--literally", "--stdin"], &tree);
        let commit = self.git(&["commit-tree", "-m", "x", &tree]);
        self.git(&["update-ref", "refs/heads/main", &commit]);
    }
}

/// A server with packs, and a cache of its own.
pub struct Desk {
    pub folder: TestFolder,
}

impl Desk {
    /// One pack `docs` with these keys.
    pub fn new(keys: &str) -> Desk {
        Desk::with_manifest(&format!("folio: 1\nserver: {{ name: desk }}\npacks:\n  docs: {{ {keys} }}\n"))
    }

    pub fn with_manifest(manifest: &str) -> Desk {
        Desk { folder: TestFolder::with_manifest(manifest) }
    }

    /// The same, locked.
    pub fn locked(keys: &str) -> Desk {
        let desk = Desk::new(keys);
        desk.ok(&["lock"]);
        desk
    }

    pub fn manifest(&self) -> String {
        fs::read_to_string(self.folder.join("folio.yaml")).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(FOLIO_BIN);
        command.args(arguments).current_dir(self.folder.path()).env("FOLIO_CACHE", self.folder.join("cache"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("FOLIO_LOG").env_remove("NO_COLOR");
        for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        output(&mut self.command(arguments))
    }

    /// Where there is no git, and no other program.
    pub fn run_without_programs(&self, arguments: &[&str]) -> CommandOutput {
        output(self.command(arguments).env("PATH", "/nonexistent"))
    }

    pub fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.out + &ran.err
    }

    /// What a command says that fails.
    pub fn fail(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        ran.out + &ran.err
    }

    pub fn lock(&self) -> String {
        fs::read_to_string(self.folder.join("folio.lock")).unwrap()
    }

    /// The value of a key of the one pack in the lock.
    pub fn locked_value(&self, key: &str) -> String {
        let lock = self.lock();
        let line = lock.lines().find_map(|line| line.trim().strip_prefix(&format!("{key}: ")));
        line.unwrap_or_else(|| panic!("no {key} in {lock}")).trim_matches('"').to_owned()
    }

    /// The folders of the cache.
    pub fn cached(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.folder.join("cache/packs")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The folder of the one pack in the cache.
    pub fn pack(&self) -> PathBuf {
        self.folder.join("cache/packs").join(self.locked_value("digest").trim_start_matches("sha256:"))
    }

    /// Writes to the cache, which is not to be written.
    pub fn tamper(&self, path: &str, text: &str) {
        fs::set_permissions(self.pack(), PermissionsExt::from_mode(0o755)).unwrap();
        let _ = fs::remove_file(self.pack().join(path));
        fs::write(self.pack().join(path), text).unwrap();
    }
}

impl Drop for Desk {
    /// Read-only folders are removed by root alone.
    fn drop(&mut self) {
        let _ = Command::new("chmod").arg("-R").arg("u+w").arg(self.folder.path()).status();
    }
}

pub fn output(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn keys_of(repository: &Repository) -> String {
    format!("git: \"{}\"", repository.url())
}

/// Packs that a repository may not have, by what is said of them.
#[track_caller]
fn assert_refused(repository: &Repository, why: &str) {
    let desk = Desk::new(&keys_of(repository));
    let said = desk.fail(&["lock"]);
    assert!(said.contains(why), "expected {why}: {said}");
    assert!(!desk.folder.join("folio.lock").exists());
    assert_eq!(desk.cached(), Vec::<PathBuf>::new(), "nothing is left in the cache");
}

#[test]
fn locked_pack_is_served_from_the_cache() {
    let upstream = Repository::new(&[("prompts/folio.yaml", PACK), ("prompts/a/b.md", "text"), ("other.md", "x")]);
    let commit = upstream.git(&["rev-parse", "HEAD"]);
    upstream.git(&["tag", "-a", "-m", "x", "v1.2.0"]);
    let desk = Desk::locked(&format!("{}, rev: v1.2.0, path: ./prompts/", keys_of(&upstream)));
    assert_eq!(desk.locked_value("commit"), commit, "of the commit, not of the tag");
    assert_eq!(desk.locked_value("files"), "2");
    // The digest that anybody computes.
    let lines = "find . -type f | sed 's,^./,,' | LC_ALL=C sort | xargs sha256sum | sha256sum";
    let sum = Command::new("sh").args(["-c", lines]).current_dir(upstream.path().join("prompts")).output().unwrap();
    assert_eq!(desk.locked_value("digest"), format!("sha256:{}", &String::from_utf8_lossy(&sum.stdout)[..64]));
    drop(upstream);
    for arguments in [&["check"][..], &["list"], &["get", "docs-hi"], &["lock", "--check"]] {
        let ran = desk.run_without_programs(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    }
    assert_eq!(desk.run_without_programs(&["get", "docs-hi"]).out.trim(), "Hello");
    // What is there is neither fetched again nor written again.
    let before = fs::metadata(desk.folder.join("folio.lock")).unwrap().modified().unwrap();
    desk.ok(&["lock"]);
    desk.ok(&["fetch"]);
    assert_eq!(fs::metadata(desk.folder.join("folio.lock")).unwrap().modified().unwrap(), before);
}

#[test]
fn missing_pack_is_an_error_at_its_place() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::new(&keys_of(&upstream));
    let unlocked = desk.run_without_programs(&["check", "--format", "lines"]);
    assert!(
        unlocked.out.starts_with("folio.yaml:4:16: error[not-found]: pack `docs` is not in folio.lock"),
        "{unlocked:?}"
    );
    assert!(desk.fail(&["fetch"]).contains("run `folio lock`"));
    desk.ok(&["lock"]);
    // As after a checkout.
    let elsewhere = |arguments: &[&str]| output(desk.command(arguments).env("FOLIO_CACHE", desk.folder.join("other")));
    let checked = elsewhere(&["check"]);
    assert_eq!(checked.code, Some(1));
    assert!(checked.out.contains("pack `docs` is not fetched") && checked.out.contains("`folio fetch`"), "{checked:?}");
    assert_eq!(elsewhere(&["lock", "--check"]).code, Some(0), "the lock is right all the same");
    let before = desk.lock();
    assert_eq!(elsewhere(&["fetch"]).code, Some(0));
    assert_eq!(elsewhere(&["check"]).code, Some(0));
    assert_eq!(desk.lock(), before);
    desk.folder
        .write("folio.yaml", fs::read_to_string(desk.folder.join("folio.yaml")).unwrap().replace("docs:", "other:"));
    for arguments in [&["check"][..], &["list"], &["get", "other-hi"]] {
        let ran = desk.run_without_programs(arguments);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!((ran.out + &ran.err).contains("pack `other` is not in folio.lock"));
    }
}

#[test]
fn lock_pins_what_a_branch_was() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&format!("{}, rev: main", keys_of(&upstream)));
    let (before, first) = (desk.lock(), desk.locked_value("commit"));
    assert!(desk.ok(&["lock", "--remote"]).contains("main is still"));
    let second = upstream.commit(&[("folio.yaml", &PACK.replace("Hello", "Bye"))]);
    let said = desk.fail(&["lock", "--remote"]);
    assert!(said.contains(&format!("docs: main moved from {first} to {second}")), "{said}");
    desk.ok(&["lock"]);
    assert_eq!(desk.lock(), before);
    // A commit is fetched by its name, where no branch has it any more.
    upstream.git(&["checkout", "-q", "--orphan", "fresh"]);
    upstream.git(&["commit", "-q", "-m", "x"]);
    upstream.git(&["branch", "-q", "-M", "main"]);
    fs::rename(desk.folder.join("cache"), desk.folder.join("gone")).unwrap();
    desk.ok(&["fetch"]);
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
    upstream.git(&["branch", "-q", "-M", "trunk"]);
    assert!(desk.fail(&["lock", "--remote"]).contains("main no longer exists"));
}

#[test]
fn lock_is_checked_offline() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&keys_of(&upstream));
    let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
    let check = || desk.run_without_programs(&["lock", "--check"]);
    assert_eq!(check().code, Some(0));
    for (edited, why) in [
        (manifest.replace("docs:", "other:"), "pack `other` is not in folio.lock"),
        (manifest.replace("docs: {", "docs: { rev: v2,"), "folio.lock has another source for pack `docs`"),
        (manifest.replace("packs:", "x-packs:"), "folio.lock has pack `docs`, but the manifest does not"),
    ] {
        desk.folder.write("folio.yaml", &edited);
        let ran = check();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
    }
    desk.folder.write("folio.yaml", &manifest);
    desk.tamper("folio.yaml", PACK.replace("Hello", "Evil").as_str());
    assert!(check().err.contains("pack `docs` in the cache does not match folio.lock"));
}

#[test]
fn changed_cache_is_never_loaded() {
    let upstream = Repository::new(&[("folio.yaml", PACK), ("a.md", "text")]);
    let desk = Desk::locked(&keys_of(&upstream));
    let changes: [&dyn Fn(); 4] = [
        &|| desk.tamper("folio.yaml", &PACK.replace("Hello", "Evil")),
        &|| desk.tamper("more.md", "more"),
        &|| {
            desk.tamper("x", "");
            fs::remove_file(desk.pack().join("x")).unwrap();
            fs::remove_file(desk.pack().join("a.md")).unwrap();
        },
        &|| {
            fs::rename(desk.pack(), desk.folder.join("moved")).unwrap();
            std::os::unix::fs::symlink(desk.folder.join("moved"), desk.pack()).unwrap();
        },
    ];
    for change in changes {
        change();
        for arguments in [&["check"][..], &["get", "docs-hi"], &["serve"]] {
            let ran = desk.run(arguments);
            assert_ne!(ran.code, Some(0), "{ran:?}");
            assert!(
                (ran.out + &ran.err).contains("pack `docs` in the cache does not match folio.lock"),
                "{arguments:?}"
            );
        }
        desk.ok(&["fetch"]);
        assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
        assert_eq!(desk.cached().len(), 1, "nothing else is left there");
    }
}

#[test]
fn fetched_files_must_be_those_of_the_lock() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&keys_of(&upstream));
    let (lock, other) = (desk.lock(), upstream.commit(&[("folio.yaml", &PACK.replace("Hello", "Evil"))]));
    // A commit that has other files than the digest says.
    desk.folder.write("folio.lock", lock.replace(&desk.locked_value("commit"), &other));
    fs::rename(desk.folder.join("cache"), desk.folder.join("gone")).unwrap();
    let said = desk.fail(&["fetch"]);
    assert!(said.contains("has other files than folio.lock says"), "{said}");
    assert!(desk.fail(&["check"]).contains("is not fetched"));
}

#[test]
fn hostile_lock_starts_nothing() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&keys_of(&upstream));
    let lock = desk.lock();
    let (url, commit) = (desk.locked_value("git"), desk.locked_value("commit"));
    let digest = desk.locked_value("digest");
    let marker = desk.folder.join("marker");
    let ext = format!("\"ext::sh -c touch% {}\"", marker.display());
    for edited in [
        lock.replace(&url, &ext),
        lock.replace(&url, "\"--upload-pack=touch marker\""),
        lock.replace(&commit, "\"--upload-pack=touch marker\""),
        lock.replace(&digest, "sha256:../../.."),
        lock.replace("files:", "path: ../x\n    files:"),
        lock.replace("files:", "rev: \"-x\"\n    files:"),
        lock.replace("lock: 1", "lock: 9"),
        format!("<<<<<<< ours\n{lock}"),
        "\u{0}".to_owned(),
    ] {
        desk.folder.write("folio.lock", &edited);
        for arguments in [&["check"][..], &["lock", "--check"], &["lock"], &["fetch"], &["list"]] {
            let ran = desk.run(arguments);
            assert!(matches!(ran.code, Some(1 | 2)), "{arguments:?} {edited}: {ran:?}");
        }
        assert_eq!(desk.lock(), edited, "it is left to its author");
        assert!(!marker.exists());
    }
}

#[test]
fn hostile_sources_are_refused_before_git_is_started() {
    for (keys, place) in [
        ("git: \"ext::sh -c touch% /tmp/x\"", "invalid characters"),
        ("git: \"ext::sh\"", "begins with `https://`"),
        ("git: \"--upload-pack=x\"", "begins with `https://`"),
        ("git: http://example.com/x", "begins with `https://`"),
        ("git: /srv/x", "begins with `https://`"),
        ("git: \"ssh://-oProxyCommand=x/y\"", "invalid host"),
        ("git: https://me:secret@example.com/x", "contains credentials"),
        ("git: https://example.com/x, rev: --output=x", "invalid revision"),
        ("git: https://example.com/x, rev: \"a:b\"", "invalid revision"),
        ("git: https://example.com/x, rev: \"+a\"", "invalid revision"),
        ("git: https://example.com/x, path: ../x", "escapes the repository"),
        ("git: https://example.com/x, path: /etc", "escapes the repository"),
        ("git: https://example.com/x, path: a/.git", "escapes the repository"),
        ("path: x, rev: main", "`rev` cannot be used without `git`"),
    ] {
        let desk = Desk::new(keys);
        let checked = desk.fail(&["check"]);
        assert!(checked.contains(place), "{keys}: {checked}");
        let locked = desk.run_without_programs(&["lock"]);
        assert!(!locked.err.contains("git` not found"), "{keys}: {locked:?}");
        assert!(desk.cached().is_empty());
    }
}

#[test]
fn paths_that_escape_are_refused() {
    let upstream = Repository::new(&[]);
    let (blob, long) = (upstream.blob(b"evil"), "a".repeat(300));
    let folder = upstream.git_with_input(&["mktree"], format!("100644 blob {blob}\tx\n").as_bytes());
    for (mode, name, object) in [
        ("100644", "..", &blob),
        ("40000", "..", &folder),
        ("40000", ".git", &folder),
        ("40000", ".GIT", &folder),
        ("100644", "a\\b", &blob),
        ("100644", "a\nb", &blob),
        ("100644", "/etc/x", &blob),
        ("100644", &long, &blob),
    ] {
        upstream.commit_entries(&[("100644", "a.md", &blob), (mode, name, object)]);
        assert_refused(&upstream, "unsafe path");
    }
    upstream.commit_entries(&[("100644", "README", &blob), ("100644", "readme", &blob)]);
    assert_refused(&upstream, "differ in case alone");
    upstream.commit_entries(&[("40000", "A", &folder), ("40000", "a", &folder)]);
    assert_refused(&upstream, "differ in case alone");
}

#[test]
fn sizes_of_packs_are_limited() {
    let upstream = Repository::new(&[]);
    let small = upstream.blob(b"x");
    let names: Vec<String> = (0..10_001).map(|nth| format!("{nth:05}")).collect();
    let many: Vec<(&str, &str, &str)> = names.iter().map(|name| ("100644", name.as_str(), small.as_str())).collect();
    upstream.commit_entries(&many);
    assert_refused(&upstream, "more than 10000 files");
    let large = upstream.blob(&vec![0; (16 << 20) + 1]);
    upstream.commit_entries(&[("100644", "a", &large)]);
    assert_refused(&upstream, "`a` is larger than 16 MiB");
    let full = upstream.blob(&vec![0; 16 << 20]);
    let five = ["a", "b", "c", "d", "e"].map(|name| ("100644", name, full.as_str()));
    upstream.commit_entries(&five);
    assert_refused(&upstream, "larger than 64 MiB together");
}

#[test]
fn files_that_no_format_serves_do_not_count() {
    let upstream = Repository::new(&[]);
    let full = upstream.blob(&vec![0; 16 << 20]);
    let skill = upstream.blob(b"---\nname: a\ndescription: A\n---\nHi.\n");
    let site: Vec<String> = (0..5).map(|nth| format!("site-{nth}.bin")).collect();
    let mut entries: Vec<(&str, &str, &str)> =
        site.iter().map(|name| ("100644", name.as_str(), full.as_str())).collect();
    let skills = upstream.tree(&[(
        "40000",
        "a",
        &upstream.tree(&[("100644", "SKILL.md", &skill), ("100644", "x.bin", &skill)]),
    )]);
    entries.push(("40000", "skills", &skills));
    upstream.commit_entries(&entries);
    let desk = Desk::with_manifest(COMMENTED);
    let ran = desk.run(&["add", &upstream.url(), "--as", "big"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("it has 2 files that may be prompts or belong to skills, and 5 files left out"),
        "{ran:?}"
    );
    assert!(desk.ok(&["get", "big-a"]).contains("Hi.\n"));
    // A skill that is too large itself is refused, with the folders that may be taken.
    let files: Vec<(&str, &str, &str)> = site.iter().map(|name| ("100644", name.as_str(), full.as_str())).collect();
    let large = upstream.tree(&[&files[..], &[("100644", "SKILL.md", &skill)]].concat());
    upstream.commit_entries(&[("40000", "large", &large), ("40000", "skills", &skills)]);
    let said = Desk::with_manifest(COMMENTED).fail(&["add", &upstream.url(), "--as", "big"]);
    assert!(
        said.contains("larger than 64 MiB together\nhelp: name one of its folders with `--path`: `large`, `skills`"),
        "{said}"
    );
}

#[test]
fn contents_are_listed_before_anything_is_added() {
    let marketplace = r#"{ "plugins": [{ "name": "pr", "source": "./plugins/pr" }] }"#;
    let upstream = Repository::new(&[
        (".claude-plugin/marketplace.json", marketplace),
        ("plugins/pr/commands/fix.md", "Fix"),
        ("plugins/pr/agents/reviewer.md", "---\nname: reviewer\n---\nReview"),
        ("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\nRead it.\n"),
        ("README.md", "x"),
    ]);
    let desk = Desk::with_manifest(COMMENTED);
    let ran = desk.run(&["add", &upstream.url(), "--list"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines,
        [
            vec!["plugin", "pr", "./plugins/pr"],
            vec!["agent-skills", "skills/pdf/SKILL.md"],
            vec!["claude-commands", "plugins/pr/commands/fix.md"],
            vec!["agent", "plugins/pr/agents/reviewer.md"],
        ]
    );
    assert!(ran.err.contains("note: 1 agent not served: `format: [auto, agents]` serves them too"), "{ran:?}");
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
    let below = desk.ok(&["add", &upstream.url(), "--path", "plugins/pr", "--list"]);
    assert!(below.contains("commands/fix.md") && !below.contains("pdf"), "{below}");
    let folder = desk.run(&["add", upstream.path().to_str().unwrap(), "--list"]);
    assert_eq!(folder.out, ran.out);
    desk.ok(&["add", &upstream.url(), "--all", "--as", "m"]);
    assert_eq!(desk.ok(&["get", "m-fix"]).trim(), "Fix");
    assert!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap().contains("format: auto"));
}

#[test]
fn links_and_submodules_are_left_out() {
    let upstream = Repository::new(&[("folio.yaml", PACK), ("-rf", "x"), ("a b/\u{fc}.md", "y")]);
    std::os::unix::fs::symlink("/etc/passwd", upstream.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", upstream.path().join("folder")).unwrap();
    upstream.git(&["add", "-A"]);
    let commit = upstream.git(&["rev-parse", "HEAD"]);
    upstream.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},module")]);
    upstream.git(&["commit", "-q", "-m", "x"]);
    let desk = Desk::new(&keys_of(&upstream));
    let said = desk.ok(&["lock"]);
    assert!(said.contains("left out links and submodules: `folder`, `link`, `module`"), "{said}");
    let mut names: Vec<String> =
        fs::read_dir(desk.pack()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["-rf", "a b", "folio.yaml"]);
    assert_eq!(desk.locked_value("files"), "3");
    // A link is no folder of a pack either.
    let desk = Desk::new(&format!("{}, path: folder", keys_of(&upstream)));
    assert!(desk.fail(&["lock"]).contains("no folder `folder` in the repository"));
}

#[test]
fn nothing_in_a_repository_runs_or_rewrites_it() {
    let marker = tempfile::tempdir().unwrap();
    let touch = format!("#!/bin/sh\ntouch {}/ran\ncat\n", marker.path().display());
    let text = "folio: 1\nserver: { name: docs }\nprompts: { hi: { description: $Id$ $Format:%H$, text: Hello } }\n";
    let upstream = Repository::new(&[]);
    upstream.commit(&[
        ("folio.yaml", text),
        (".gitattributes", "*.yaml text eol=crlf ident export-subst filter=evil\nhidden.md export-ignore\n"),
        ("hidden.md", "x"),
        (".gitconfig", "[core]\n\tfsmonitor = touch ran\n"),
        ("lfs.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        ("tag.md", "one\ntwo \u{e0041}\n"),
        ("bidi.md", "\u{202e}evil"),
    ]);
    for hook in ["post-checkout", "reference-transaction", "post-update", "pre-receive", "update"] {
        upstream.write(&format!(".git/hooks/{hook}"), &touch);
        fs::set_permissions(upstream.path().join(".git/hooks").join(hook), PermissionsExt::from_mode(0o755)).unwrap();
    }
    upstream.write("evil.sh", &touch);
    fs::set_permissions(upstream.path().join("evil.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let evil = upstream.path().join("evil.sh").display().to_string();
    for key in
        ["uploadpack.packObjectsHook", "filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.sshCommand"]
    {
        upstream.git(&["config", key, &evil]);
    }
    let desk = Desk::new(&keys_of(&upstream));
    // Hooks of the user are not for packs either.
    let hooks = desk.folder.join("hooks");
    fs::create_dir(&hooks).unwrap();
    fs::write(hooks.join("reference-transaction"), &touch).unwrap();
    fs::set_permissions(hooks.join("reference-transaction"), PermissionsExt::from_mode(0o755)).unwrap();
    desk.folder.write("gitconfig", format!("[core]\n\thooksPath = {}\n", hooks.display()));
    let locked = output(desk.command(&["lock"]).env("GIT_CONFIG_GLOBAL", desk.folder.join("gitconfig")));
    assert_eq!(locked.code, Some(0), "{locked:?}");
    assert_eq!(fs::read_dir(marker.path()).unwrap().count(), 0, "something ran");
    assert_eq!(fs::read(desk.pack().join("folio.yaml")).unwrap(), text.as_bytes(), "the bytes are those in git");
    assert!(desk.pack().join("hidden.md").is_file());
    for warning in ["`lfs.bin` is a pointer of Git LFS", "`tag.md:2` contains hidden Unicode (U+E0041)", "`bidi.md:1`"]
    {
        assert!(locked.err.contains(warning), "{warning}: {}", locked.err);
    }
    assert!(!locked.err.contains(['\u{202e}', '\u{e0041}']));
}

#[test]
fn git_asks_nothing_and_takes_no_other_protocol() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::new("git: https://host.invalid/x");
    // What git is started with, and what it would be told.
    let bin = desk.folder.join("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\nenv > {0}/env-$$\necho \"$@\" > {0}/args-$$\nexit 128\n", bin.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ran = output(desk.command(&["lock"]).env("PATH", path).env("GIT_DIR", "/evil").env("GIT_ASKPASS", "evil"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let texts: Vec<String> =
        fs::read_dir(&bin).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let all = texts.join("\n");
    for line in [
        "GIT_TERMINAL_PROMPT=0\n",
        "GIT_ASKPASS=\n",
        "SSH_ASKPASS=\n",
        "GIT_ALLOW_PROTOCOL=https:ssh:file\n",
        "core.hooksPath=/dev/null",
    ] {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains("evil"), "{all}");
    // A URL that the configuration of the user turns into another protocol.
    let desk = Desk::new(&keys_of(&upstream));
    let marker = desk.folder.join("marker");
    desk.folder.write(
        "gitconfig",
        format!(
            "[url \"ext::sh -c touch% {}\"]\n\tinsteadOf = {}\n[protocol]\n\tallow = always\n",
            marker.display(),
            upstream.url()
        ),
    );
    let ran = output(desk.command(&["lock"]).env("GIT_CONFIG_GLOBAL", desk.folder.join("gitconfig")));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!marker.exists());
}

#[test]
fn killed_lock_leaves_nothing_that_counts() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::new(&keys_of(&upstream));
    let bin = desk.folder.join("bin");
    fs::create_dir(&bin).unwrap();
    let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    // It stops when all is fetched, and nothing is stored.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--batch*) touch {}/started; sleep 600;; esac\nexec {} \"$@\"\n",
        bin.display(),
        git.trim()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut child = desk.command(&["lock"]).env("PATH", path).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !bin.join("started").exists() {
        assert!(Instant::now() < deadline, "git was not started");
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!desk.folder.join("folio.lock").exists());
    let is_whole = |path: &PathBuf| path.file_name().unwrap().len() == 64;
    assert!(!desk.cached().iter().any(is_whole), "{:?}", desk.cached());
    desk.ok(&["lock"]);
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
    assert_eq!(desk.cached().iter().filter(|path| is_whole(path)).count(), 1);
}

#[test]
fn pack_of_a_pack_is_in_the_outermost_lock() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::with_manifest("folio: 1\nserver: { name: desk }\npacks: { team: { path: team } }\n");
    let inner = format!("folio: 1\nserver: {{ name: team }}\npacks: {{ docs: {{ {} }} }}\n", keys_of(&upstream));
    desk.folder.write("team/folio.yaml", &inner);
    desk.folder.write("team/folio.lock", "not read");
    desk.ok(&["lock"]);
    assert!(desk.lock().contains("\n  team/docs:\n"), "{}", desk.lock());
    assert_eq!(desk.ok(&["get", "team-docs-hi"]).trim(), "Hello");
    // One from elsewhere names no other place on this machine.
    let hostile = Repository::new(&[("folio.yaml", &inner)]);
    let desk = Desk::locked(&keys_of(&hostile));
    let said = desk.fail(&["check"]);
    assert!(said.contains("has its own packs over `https://` only"), "{said}");
}

#[test]
fn pack_with_one_prompt_of_its_own_name_has_no_prefix() {
    let skill = "---\nname: pdf\ndescription: D\n---\nRead it.";
    let upstream =
        Repository::new(&[("skills/pdf/SKILL.md", skill), ("skills/pdf/a.py", "pass"), ("commands/dev.md", "Go.")]);
    let names = |desk: &Desk| desk.ok(&["list"]);
    let desk = Desk::with_manifest(COMMENTED);
    desk.ok(&["add", &upstream.url(), "pdf"]);
    let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
    assert!(manifest.ends_with("    path: skills/pdf\n    prefix: \"\"\n"), "{manifest}");
    assert!(desk.ok(&["get", "pdf"]).contains("Read it."));
    assert!(names(&desk).contains("skill://pdf/a.py"), "{}", names(&desk));
    desk.ok(&["remove", "pdf"]);
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
    // With a key, a prefix or more prompts than that one, all have a prefix.
    for (arguments, name) in [
        (&["pdf", "--as", "other"][..], "other-pdf"),
        (&["pdf", "--prefix", "p"], "p-pdf"),
        (&["--path", "commands", "--as", "dev", "--prefix", "dev"], "dev-dev"),
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        desk.ok(&[&["add", &upstream.url()], arguments].concat());
        desk.ok(&["get", name]);
    }
    // A name that is taken keeps its prefix.
    let desk = Desk::with_manifest(&format!("{COMMENTED}prompts: {{ pdf: {{ text: Mine }} }}\n"));
    desk.ok(&["add", &upstream.url(), "pdf"]);
    assert!(desk.ok(&["get", "pdf-pdf"]).contains("Read it."));
    assert_eq!(desk.ok(&["get", "pdf"]).trim(), "Mine");
}

#[test]
fn key_that_is_taken_is_refused_with_a_way_out() {
    let upstream = Repository::new(&[("skills/dev/SKILL.md", "---\nname: dev\ndescription: D\n---\nGo.")]);
    let manifest = format!("{COMMENTED}packs: {{ dev: {{ path: own }} }}\n");
    let desk = Desk::with_manifest(&manifest);
    desk.folder.write("own/commands/a.md", "A");
    let said = desk.fail(&["add", &upstream.url(), "dev"]);
    assert!(said.contains("has a pack `dev` already\nhelp: choose another key with `--as`"), "{said}");
    // A name that both would have.
    let desk = Desk::with_manifest(&format!("{COMMENTED}prompts: {{ x-dev: {{ text: Mine }} }}\n"));
    let said = desk.fail(&["add", &upstream.url(), "dev", "--as", "x"]);
    assert!(said.contains("nothing was added") && said.contains("`--as`"), "{said}");
}

/// A manifest with comments, and what `add` is to leave of it.
pub const COMMENTED: &str = "# The desk.\nfolio: 1\nserver: { name: desk }   # ours\n";

#[test]
fn added_pack_keeps_the_manifest_and_leaves_without_a_trace() {
    let upstream = Repository::new(&[("prompts/folio.yaml", PACK)]);
    let url = upstream.url();
    for (packs, with_pack) in [
        ("", format!("packs:\n  docs:\n    git: {url}\n    rev: main\n    path: prompts\n    prefix: d\n")),
        (
            "\npacks:\n  # own\n  own: { path: own }\n\n# end\n",
            format!("  docs:\n    git: {url}\n    rev: main\n    path: prompts\n    prefix: d\n"),
        ),
        (
            "packs: { own: { path: own } } # own\n",
            format!(", docs: {{ git: {url}, rev: main, path: prompts, prefix: d }}"),
        ),
    ] {
        for line_break in ["\n", "\r\n"] {
            let before = format!("{COMMENTED}{packs}").replace('\n', line_break);
            let desk = Desk::with_manifest(&before);
            desk.folder.write("own/folio.yaml", "folio: 1\nserver: { name: own }\n");
            let said = desk.ok(&["add", &url, "--as", "docs", "--rev", "main", "--path", "./prompts", "--prefix", "d"]);
            assert!(said.contains("added pack `docs` at commit ") && said.contains(": 1 prompt\n"), "{said}");
            let after = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
            let start = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
            let end = before.len() - start;
            assert!(after.len() > before.len() && after.ends_with(&before[start..]), "bytes were changed:\n{after}");
            let added = after[start..after.len() - end].replace('\r', "");
            assert!(added.contains(with_pack.trim()) || after.replace('\r', "").contains(&with_pack), "{after}");
            assert_eq!(desk.ok(&["get", "d-hi"]).trim(), "Hello");
            assert_eq!(desk.ok(&["lock", "--check"]).trim(), "folio.lock is up to date: 1 pack");
            assert!(desk.fail(&["add", &url, "--as", "docs"]).contains("has a pack `docs` already"));
            desk.ok(&["remove", "docs"]);
            assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), before);
            assert!(!desk.folder.join("folio.lock").exists(), "{}", desk.lock());
            assert!(desk.fail(&["remove", "docs"]).contains("no pack `docs`"));
        }
    }
}

#[test]
fn folder_is_added_by_its_path() {
    let desk = Desk::with_manifest(COMMENTED);
    desk.folder.write("packs/Re View/folio.yaml", PACK);
    let said = desk.ok(&["add", "./packs/Re View", "--allow", "exec"]);
    assert!(said.contains("added pack `re-view` to folio.yaml: 1 prompt, 1 tool"), "{said}");
    let manifest = desk.manifest();
    assert_eq!(manifest, format!("{COMMENTED}packs:\n  re-view:\n    path: packs/Re View\n    allow: [exec]\n"));
    assert!(!desk.folder.join("folio.lock").exists(), "a pack by path has no lock");
    let inner = desk.run(&["add", "Re View", "--as", "other", "-f", ".."]);
    assert_eq!(inner.code, Some(2), "{inner:?}");
    assert!(desk.fail(&["add", "."]).contains("cannot be a pack of itself"));
}

#[test]
fn folder_outside_is_added_by_its_path() {
    let shared = TestFolder::new(&[("commands/fix.md", "Fix it."), ("commands/deep/ask.md", "Ask.")]);
    let desk = Desk::with_manifest(COMMENTED);
    let absolute = shared.join("commands");
    let absolute = absolute.to_str().unwrap();
    let said = desk.ok(&["add", absolute, "--as", "mine", "--format", "claude-commands"]);
    assert!(said.contains("added pack `mine` to folio.yaml: 2 prompts"), "{said}");
    assert!(desk.manifest().contains(&format!("path: {absolute}\n")), "{}", desk.manifest());
    desk.ok(&["remove", "mine"]);
    let up = desk.folder.path().components().skip(1).map(|_| "../").collect::<String>();
    let relative = format!("{up}{}", absolute.trim_start_matches('/'));
    desk.ok(&["add", &relative, "--as", "mine", "--format", "claude-commands"]);
    let written = desk.manifest();
    assert!(written.contains("path: ../") && !written.contains("../../../"), "{written}");
    assert!(desk.ok(&["list"]).contains("mine-deep-ask"));
}

#[test]
fn repositories_are_named_as_people_do() {
    let upstream = Repository::new(&[("folio.yaml", PACK), ("prompts/folio.yaml", PACK)]);
    let config = format!("[url \"{}\"]\n\tinsteadOf = https://github.com/acme/docs\n", upstream.url());
    for (source, keys) in [
        ("acme/docs", "git: https://github.com/acme/docs\n"),
        ("https://github.com/acme/docs", "git: https://github.com/acme/docs\n"),
        (
            "https://github.com/acme/docs/tree/main/prompts",
            "git: https://github.com/acme/docs\n    rev: main\n    path: prompts\n",
        ),
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        desk.folder.write("gitconfig", &config);
        let ran = output(desk.command(&["add", source]).env("GIT_CONFIG_GLOBAL", desk.folder.join("gitconfig")));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
        assert!(manifest.ends_with(keys), "{manifest}");
    }
}

#[test]
fn nothing_is_written_of_a_pack_that_cannot_be_added() {
    let upstream = Repository::new(&[("a/folio.yaml", "folio: 1\nserver: {\n"), ("b/x.txt", "x")]);
    let url = upstream.url();
    let marker = upstream.path().join("marker");
    let ext = format!("ext::sh -c touch% {}", marker.display());
    for arguments in [
        &["add", &url, "--path", "a"][..],
        &["add", &url, "--path", "gone"],
        &["add", &url, "--rev", "gone"],
        &["add", &url, "--rev=--upload-pack=touch"],
        &["add", &url, "--path", "../x"],
        &["add", "file:///nonexistent/repository"],
        &["add", &ext],
        &["add", "ext::sh"],
        &["add", "--", "--upload-pack=touch marker"],
        &["add", "--", "-x/y"],
        &["add", "ssh://-oProxyCommand=touch/x"],
        &["add", "http://example.com/x"],
        &["add", "https://me:secret@example.com/x"],
        &["add", "./gone"],
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        let ran = desk.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED, "{arguments:?}");
        assert!(!desk.folder.join("folio.lock").exists(), "{arguments:?}");
        assert!(!marker.exists());
        let left: Vec<_> = fs::read_dir(desk.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "folio.yaml" || name == "cache"), "{left:?}");
    }
}

#[test]
fn plugins_and_skills_are_added_by_name() {
    let other = Repository::new(&[("p/folio.yaml", PACK)]);
    let sha = other.git(&["rev-parse", "HEAD"]);
    other.commit(&[("p/folio.yaml", &PACK.replace("Hello", "Bye"))]);
    let marketplace = serde_json::json!({
        "metadata": { "pluginRoot": "./plugins" },
        "plugins": [
            { "name": "near", "source": "./near" },
            { "name": "far", "source": { "source": "git-subdir", "url": other.url(), "path": "p", "ref": "main", "sha": sha } },
            { "name": "evil", "source": { "source": "url", "url": "ext::sh" } },
            { "name": "packaged", "source": { "source": "npm", "package": "x" } },
            { "name": "outside", "source": "../../etc" },
        ],
    });
    let marketplace = marketplace.to_string();
    let upstream = Repository::new(&[
        (".claude-plugin/marketplace.json", marketplace.as_str()),
        ("plugins/near/folio.yaml", PACK),
        ("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\nRead it.\n"),
        ("skills/pdf/folio.yaml", PACK),
        ("a/twin/SKILL.md", "x"),
        ("b/twin/SKILL.md", "x"),
    ]);
    let (url, far) = (upstream.url(), format!("git: {}\n    rev: {sha}\n    path: p\n", other.url()));
    for (name, keys) in [
        ("near", format!("near:\n    git: {url}\n    path: plugins/near\n")),
        ("far", far.replace(&sha, &format!("\"{sha}\"")).replace('"', "")),
        ("pdf", format!("pdf:\n    git: {url}\n    path: skills/pdf\n")),
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        desk.ok(&["add", &url, name]);
        let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
        assert!(manifest.replace('"', "").ends_with(&keys), "{manifest}");
        assert_eq!(desk.ok(&["get", &format!("{name}-hi")]).trim(), "Hello", "the commit of the marketplace counts");
    }
    let desk = Desk::with_manifest(COMMENTED);
    for (name, why) in [
        ("gone", "it has `near`, `far`, `evil`, `packaged`, `outside`"),
        ("outside", "escapes the repository"),
        ("evil", "begins with `https://`"),
        ("packaged", "its source is `npm`"),
        ("twin", "choose one with `--path`: `a/twin`, `b/twin`"),
    ] {
        let said = desk.fail(&["add", &url, name]);
        assert!(said.contains(why), "{name}: {said}");
    }
}

#[test]
fn plugin_is_what_its_marketplace_lists() {
    let marketplace = serde_json::json!({ "plugins": [
        { "name": "documents", "source": "./", "strict": false, "skills": ["./skills/pdf", "skills/docx/"] },
        { "name": "api", "source": "./", "strict": false, "skills": "./skills/api" },
        { "name": "mixed", "source": ".", "commands": ["./more/commands/fix.md"], "agents": ["./more/agents/"] },
        { "name": "below", "source": "./more", "strict": false, "commands": ["./commands/go.md"] },
        { "name": "crew", "source": "./", "agents": ["./staff/planner.md"] },
        { "name": "added", "source": "./more", "commands": ["./commands/go.md"] },
    ] });
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Does.\n---\nDo {name}.\n");
    let upstream = Repository::new(&[
        (".claude-plugin/marketplace.json", marketplace.to_string().as_str()),
        ("skills/pdf/SKILL.md", &skill("pdf")),
        ("skills/docx/SKILL.md", &skill("docx")),
        ("skills/api/SKILL.md", &skill("api")),
        ("staff/planner.md", "---\nname: planner\ndescription: Plans.\n---\nPlan"),
        ("more/commands/fix.md", "Fix"),
        ("more/commands/go.md", "Go"),
        ("more/agents/reviewer.md", "---\nname: reviewer\n---\nReview"),
    ]);
    for (name, prompts) in [
        ("documents", &["documents-docx", "documents-pdf"][..]),
        ("api", &["api"]),
        ("mixed", &["mixed-reviewer", "mixed-fix"]),
        ("below", &["below-go"]),
        ("crew", &["crew-planner"]),
        ("added", &["added-fix", "added-go"]),
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        desk.ok(&["add", &upstream.url(), name]);
        let listed: serde_json::Value = serde_json::from_str(&desk.ok(&["list", "--json"])).unwrap();
        let mut names: Vec<_> =
            listed["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].clone()).collect();
        let mut prompts = prompts.to_vec();
        names.sort_by_key(ToString::to_string);
        prompts.sort_unstable();
        assert_eq!(names, prompts, "{name}: {}", desk.manifest());
    }
}

#[test]
fn plugins_of_agents_alone_are_added_in_their_format() {
    let marketplace = r#"{ "plugins": [{ "name": "core", "source": "./c/core" }, { "name": "web", "source": "./c/web" },
        { "name": "qa", "source": "./c/qa" }] }"#;
    let agent = |name: &str| format!("---\nname: {name}\ndescription: D\n---\nBe {name}.");
    let files = [
        // Copilot has its marketplaces elsewhere.
        (".github/plugin/marketplace.json", marketplace.to_owned()),
        ("c/core/README.md", "x".to_owned()),
        ("c/core/backend.md", agent("backend")),
        ("c/web/frontend.md", agent("frontend")),
        ("c/qa/agents/tester.md", agent("tester")),
        ("tools/other.md", agent("other")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let upstream = Repository::new(&files);
    let desk = Desk::with_manifest(COMMENTED);
    let ran = desk.run(&["add", &upstream.url(), "--list"]);
    let agents: Vec<&str> = ran.out.lines().filter_map(|line| line.strip_prefix("agent")).map(str::trim).collect();
    assert_eq!(agents, ["c/qa/agents/tester.md", "c/core/backend.md", "c/web/frontend.md"], "{ran:?}");
    assert!(
        ran.err.contains("note: 2 agents in plugins without anything else: `format: agents` serves them"),
        "{ran:?}"
    );
    desk.ok(&["add", &upstream.url(), "core"]);
    desk.ok(&["add", &upstream.url(), "qa"]);
    desk.ok(&["add", &upstream.url(), "--all", "--as", "all"]);
    assert_eq!(desk.manifest().matches("format: agents").count(), 3, "{}", desk.manifest());
    for (prompt, text) in
        [("core-backend", "Be backend."), ("qa-tester", "Be tester."), ("all-frontend", "Be frontend.")]
    {
        assert_eq!(desk.ok(&["get", prompt]).trim(), text);
    }
    assert!(!desk.ok(&["list"]).contains("all-other"), "it is in no plugin");
    // A folder with a command too is one of commands.
    upstream.commit(&[("c/web/commands/a.md", "A"), (".claude-plugin/marketplace.json", r#"{ "plugins": [] }"#)]);
    let ran = desk.run(&["add", &upstream.url(), "--list"]);
    assert!(!ran.out.contains("plugin ") && !ran.out.contains("frontend"), "the file of Claude Code counts: {ran:?}");
    upstream.commit(&[(".claude-plugin/marketplace.json", marketplace)]);
    desk.ok(&["add", &upstream.url(), "--all", "--as", "auto"]);
    assert!(desk.manifest().contains("format: auto"), "{}", desk.manifest());
}

#[test]
fn list_says_how_to_go_on() {
    let marketplace = r#"{ "plugins": [{ "name": "pr", "source": "./plugins/pr" }] }"#;
    let upstream =
        Repository::new(&[(".github/plugin/marketplace.json", marketplace), ("plugins/pr/commands/a.md", "A")]);
    let desk = Desk::with_manifest(COMMENTED);
    fs::remove_file(desk.folder.join("folio.yaml")).unwrap();
    let listed = desk.run(&["add", &upstream.url(), "--list"]);
    assert!(listed.code == Some(0) && listed.err.contains(" NAME`"), "without a manifest: {listed:?}");
    let folder = upstream.path().to_str().unwrap();
    let listed = desk.run(&["add", folder, "--list"]);
    let hint = format!("with `folio add {folder} --path DIR`, all plugins with `folio add {folder} --all`");
    assert!(listed.err.contains(&hint) && !listed.err.contains("NAME"), "{listed:?}");
    desk.folder.write("folio.yaml", COMMENTED);
    assert!(desk.fail(&["add", folder]).contains("`folio add` with `--all`"));
    let plain = Repository::new(&[("fix.md", "Fix")]);
    let listed = desk.fail(&["add", &plain.url(), "--list"]);
    assert!(listed.contains("nothing that folio reads\nhelp: `--format` names the format"), "{listed}");
}

#[test]
fn update_says_what_it_writes() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&format!("git: {}", upstream.url()));
    upstream.commit(&[("folio.yaml", &PACK.replace("Hello", "Bye"))]);
    let shown = desk.ok(&["update", "--diff", "--dry-run"]);
    assert!(shown.contains("Bye") && !shown.contains("wrote"), "{shown}");
    let updated = desk.ok(&["update", "--diff"]);
    assert!(updated.contains("Bye") && updated.contains("\nwrote folio.lock\n"), "{updated}");
    assert!(!desk.ok(&["update", "--diff"]).contains("wrote"));
}

#[test]
fn killed_add_leaves_the_manifest_as_it_was() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    // At any time: git is stopped before and after each of its steps.
    for step in ["init", "fetch", "ls-tree", "--batch"] {
        let desk = Desk::with_manifest(COMMENTED);
        let bin = desk.folder.join("bin");
        fs::create_dir(&bin).unwrap();
        let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *{step}*) touch {}/started; sleep 600;; esac\nexec {} \"$@\"\n",
            bin.display(),
            String::from_utf8(git.stdout).unwrap().trim()
        );
        fs::write(bin.join("git"), script).unwrap();
        fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let url = upstream.url();
        let mut add = desk.command(&["add", &url, "--as", "docs"]);
        let mut child = add.env("PATH", path).stderr(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !bin.join("started").exists() {
            assert!(Instant::now() < deadline, "git was not started");
            thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
        assert!(!desk.folder.join("folio.lock").exists());
        desk.ok(&["add", &url, "--as", "docs"]);
        assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
    }
}

#[test]
fn update_to_another_revision_shows_only_what_is_new() {
    let upstream = Repository::new(&[("commands/old.md", "!`git status`\n")]);
    upstream.git(&["tag", "v1"]);
    upstream.commit(&[("commands/new.md", "!`git stash drop`\n")]);
    upstream.git(&["tag", "v2"]);
    let keys = |rev: &str| format!("git: \"{}\", rev: {rev}, allow: [script]", upstream.url());
    let desk = Desk::locked(&keys("v1"));
    desk.ok(&["trust", "docs", "--yes"]);
    let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
    desk.folder.write("folio.yaml", manifest.replace("rev: v1", "rev: v2"));
    let said = desk.ok(&["update", "--diff", "--dry-run"]);
    assert!(said.contains("+    script: git stash drop") && !said.contains("+    script: git status"), "{said}");
}

#[test]
fn update_that_breaks_the_manifest_is_not_written() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&keys_of(&upstream));
    let before = desk.lock();
    upstream.commit(&[("folio.yaml", "folio: 1\nserver: {\n")]);
    for arguments in [&["update"][..], &["update", "--dry-run"]] {
        assert!(desk.fail(arguments).contains("nothing was updated"), "{arguments:?}");
    }
    assert_eq!(desk.lock(), before);
    upstream.commit(&[("folio.yaml", PACK), ("new.md", "new")]);
    fs::set_permissions(desk.folder.join("folio.lock"), fs::Permissions::from_mode(0o444)).unwrap();
    for arguments in [&["update"][..], &["update", "--dry-run"]] {
        let ran = desk.run(arguments);
        assert!(ran.code == Some(2) && ran.err.contains("it is read-only"), "{arguments:?}: {ran:?}");
    }
    assert!(desk.fail(&["update", "doc"]).contains("did you mean `docs`?"));
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
}

#[test]
fn reason_of_a_failed_download_is_said_once() {
    let desk = Desk::with_manifest(COMMENTED);
    // Nobody listens on the first port.
    let mut command = desk.command(&["add", "https://archive.example/x.tar.gz"]);
    let ran = output(command.env("https_proxy", "http://127.0.0.1:1"));
    assert_eq!((ran.code, ran.err.matches("could not connect to the proxy").count()), (Some(1), 1), "{ran:?}");
}

#[test]
fn unknown_key_of_a_pack_is_answered_with_the_known_ones() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&format!("git: {}, rev: main, allow: [exec]", upstream.url()));
    for command in ["update", "trust", "remove"] {
        let said = desk.fail(&[command, "nope"]);
        assert!(said.contains("no pack `nope`") && said.contains("help: expected one of `docs`\n"), "{said}");
        let said = desk.fail(&[command, "dosc"]);
        assert!(said.contains("no pack `dosc`") && said.contains("help: did you mean `docs`?\n"), "{said}");
    }
}

#[test]
fn lock_without_packs_is_removed() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&format!("git: {}, rev: main", upstream.url()));
    desk.folder.write("folio.yaml", COMMENTED);
    assert_eq!(desk.ok(&["lock"]), "removed folio.lock: no pack to lock\n");
    assert!(!desk.folder.join("folio.lock").exists());
    assert_eq!(desk.ok(&["lock"]), "folio.lock is up to date: 0 packs\n");
}

#[test]
fn lock_stays_while_a_pack_has_errors() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::locked(&format!("git: {}, rev: main", upstream.url()));
    let before = desk.lock();
    desk.folder
        .write("folio.yaml", "folio: 1\nserver: { name: desk }\npacks: { docs: { url: \"file:///x.tar.gz\" } }\n");
    let refused = desk.fail(&["lock"]);
    assert!(refused.contains("missing key `sha256`") && refused.contains("the manifest has errors"), "{refused}");
    assert_eq!(desk.lock(), before);
}
