//! Packs of git repositories: locked, fetched, checked and trusted by content.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::harness::{CommandOutput, FOLIO_BIN, TEST_TIMEOUT, TestFolder};

/// A pack with a prompt and a tool.
const PACK: &str = "\
folio: 1
server: { name: docs }
prompts:
  hi: { description: Greets, text: Hello }
tools:
  look: { description: Looks, run: { exec: [printf, seen] } }
";

/// A repository.
struct Repository {
    folder: TempDir,
}

impl Repository {
    fn new(files: &[(&str, &str)]) -> Repository {
        let repository = Repository { folder: tempfile::tempdir().unwrap() };
        repository.git(&["init", "-q", "-b", "main", "."]);
        repository.commit(files);
        repository
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    fn git(&self, arguments: &[&str]) -> String {
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

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits files, and returns the commit.
    fn commit(&self, files: &[(&str, &str)]) -> String {
        files.iter().for_each(|(path, text)| self.write(path, text));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.git_with_input(&["hash-object", "-w", "--stdin"], bytes)
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
struct Desk {
    folder: TestFolder,
}

impl Desk {
    /// One pack `docs` with these keys.
    fn new(keys: &str) -> Desk {
        Desk::of(&format!("folio: 1\nserver: {{ name: desk }}\npacks:\n  docs: {{ {keys} }}\n"))
    }

    fn of(manifest: &str) -> Desk {
        Desk { folder: TestFolder::with_manifest(manifest) }
    }

    /// The same, locked.
    fn locked(keys: &str) -> Desk {
        let desk = Desk::new(keys);
        desk.ok(&["lock"]);
        desk
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(FOLIO_BIN);
        command.args(arguments).current_dir(self.folder.path()).env("FOLIO_CACHE", self.folder.join("cache"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("FOLIO_LOG").env_remove("NO_COLOR");
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        output(&mut self.command(arguments))
    }

    /// Where there is no git, and no other program.
    fn run_without_programs(&self, arguments: &[&str]) -> CommandOutput {
        output(self.command(arguments).env("PATH", "/nonexistent"))
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.out + &ran.err
    }

    /// What a command says that fails.
    fn fail(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        ran.out + &ran.err
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.folder.join("folio.lock")).unwrap()
    }

    /// The value of a key of the one pack in the lock.
    fn locked_value(&self, key: &str) -> String {
        let lock = self.lock();
        let line = lock.lines().find_map(|line| line.trim().strip_prefix(&format!("{key}: ")));
        line.unwrap_or_else(|| panic!("no {key} in {lock}")).trim_matches('"').to_owned()
    }

    /// The folders of the cache.
    fn cached(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.folder.join("cache/packs")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The folder of the one pack in the cache.
    fn pack(&self) -> PathBuf {
        self.folder.join("cache/packs").join(self.locked_value("digest").trim_start_matches("sha256:"))
    }

    /// Writes to the cache, which is not to be written.
    fn tamper(&self, path: &str, text: &str) {
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

fn output(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn keys_of(repository: &Repository) -> String {
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
fn locked_pack_is_served_from_the_cache_alone() {
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
    assert!(unlocked.out.starts_with("folio.yaml:4:16: error[not-found]: pack `docs` is not in folio.lock"), "{unlocked:?}");
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
    desk.folder.write("folio.yaml", fs::read_to_string(desk.folder.join("folio.yaml")).unwrap().replace("docs:", "other:"));
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
    assert!(desk.fail(&["lock", "--remote"]).contains("main is gone"));
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
        (manifest.replace("docs: {", "docs: { rev: v2,"), "folio.lock has pack `docs` from elsewhere"),
        (manifest.replace("packs:", "x-packs:"), "folio.lock has pack `docs`, and the manifest has not"),
    ] {
        desk.folder.write("folio.yaml", &edited);
        let ran = check();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
    }
    desk.folder.write("folio.yaml", &manifest);
    desk.tamper("folio.yaml", PACK.replace("Hello", "Evil").as_str());
    assert!(check().err.contains("pack `docs` was changed in the cache"));
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
            assert!((ran.out + &ran.err).contains("pack `docs` was changed in the cache"), "{arguments:?}");
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
    assert!(said.contains("links and submodules are left out: `folder`, `link`, `module`"), "{said}");
    let mut names: Vec<String> = fs::read_dir(desk.pack())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
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
    for key in ["uploadpack.packObjectsHook", "filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.sshCommand"] {
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
    for warning in ["`lfs.bin` is a pointer of Git LFS", "`tag.md:2` contains hidden Unicode (U+E0041)", "`bidi.md:1`"] {
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
    let texts: Vec<String> = fs::read_dir(&bin).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let all = texts.join("\n");
    for line in ["GIT_TERMINAL_PROMPT=0\n", "GIT_ASKPASS=\n", "SSH_ASKPASS=\n", "GIT_ALLOW_PROTOCOL=https:ssh:file\n", "core.hooksPath=/dev/null"] {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains("evil"), "{all}");
    // A URL that the configuration of the user turns into another protocol.
    let desk = Desk::new(&keys_of(&upstream));
    let marker = desk.folder.join("marker");
    desk.folder.write(
        "gitconfig",
        format!("[url \"ext::sh -c touch% {}\"]\n\tinsteadOf = {}\n[protocol]\n\tallow = always\n", marker.display(), upstream.url()),
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
    assert!(!desk.cached().iter().any(|path| is_whole(path)), "{:?}", desk.cached());
    desk.ok(&["lock"]);
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
    assert_eq!(desk.cached().iter().filter(|path| is_whole(path)).count(), 1);
}

#[test]
fn pack_of_a_pack_is_in_the_outermost_lock() {
    let upstream = Repository::new(&[("folio.yaml", PACK)]);
    let desk = Desk::of("folio: 1\nserver: { name: desk }\npacks: { team: { path: team } }\n");
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
