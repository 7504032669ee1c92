//! Random edits of the examples: never a panic, never a diagnostic without a place, and `check` ends.
//!
//! `FOLIO_RANDOM_EDITS=10000 cargo test --test suite random_edits` makes as many; the default is a small sample.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use folio::BuildOutcome;
use folio::{Code, Format, Severity, TerminalStyle, render};

use crate::documented_mistakes::{cases, check};

const DEFAULT_EDITS: usize = 400;

/// Numbers of a fixed sequence (xorshift), so that a failure comes again.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

fn read_folder(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            read_folder(&path, &format!("{name}/"), files);
        } else if fs::metadata(&path).unwrap().len() < 64 << 10 {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// The examples, and the right manifests of the corpus.
fn folders() -> Vec<BTreeMap<String, Vec<u8>>> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/servers");
    let mut found: Vec<_> = cases("right.txt").into_iter().map(|case| case.files).collect();
    let mut paths: Vec<PathBuf> = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.join("folio.yaml").exists()) {
        let mut files = BTreeMap::new();
        read_folder(path, "", &mut files);
        found.push(files);
    }
    assert!(found.len() > 50, "{}", found.len());
    found
}

const TOKENS: &[&str] = &[
    ":",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "{{",
    "}}",
    "\"",
    "'",
    "|",
    ">",
    "#",
    "&a ",
    "*a",
    "<<: ",
    "!tag ",
    "\t",
    "\n",
    "\r\n",
    "%",
    "@",
    "`",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "😀",
    "null",
    "~",
    "{{#if",
    "{{/if}}",
    "{{> x}}",
    "---\n",
    "...\n",
    "# folio: allow unused\n",
    "<<<<<<< HEAD\n=======\n>>>>>>> x\n",
    "name",
    "run: ls",
    "[{ name: a }]",
    "1e999",
    "-",
    "env.HOME",
    "{who}",
    "$.a",
    "\u{e9}",
];

/// One edit of bytes, of tokens or of lines.
fn edit(text: &mut Vec<u8>, numbers: &mut Numbers) {
    let at = numbers.below(text.len() + 1);
    let end = (at + numbers.below(12)).min(text.len());
    match numbers.below(6) {
        0 => text.splice(at..at, numbers.pick(TOKENS).bytes()).for_each(drop),
        1 => text.splice(at..end, numbers.pick(TOKENS).bytes()).for_each(drop),
        2 => text.splice(at..end, []).for_each(drop),
        3 => text.splice(at..at, [u8::try_from(numbers.below(256)).unwrap()]).for_each(drop),
        4 => text.truncate(at),
        _ => edit_lines(text, numbers),
    }
}

/// Swaps, repeats, removes or indents a line.
fn edit_lines(text: &mut Vec<u8>, numbers: &mut Numbers) {
    let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (one, other) = (numbers.below(lines.len()), numbers.below(lines.len()));
    match numbers.below(4) {
        0 => lines.swap(one, other),
        1 => lines.insert(other, lines[one].clone()),
        2 => drop(lines.remove(one)),
        _ => lines[one].splice(0..0, *b"  ").for_each(drop),
    }
    *text = lines.concat();
}

fn edited(folders: &[BTreeMap<String, Vec<u8>>], numbers: &mut Numbers) -> BTreeMap<String, Vec<u8>> {
    let mut files = numbers.pick(folders).clone();
    let names: Vec<String> = files.keys().cloned().collect();
    let mut edits = 1 + numbers.below(3);
    if names.len() > 1 && numbers.below(10) == 0 {
        let (one, other) = (numbers.pick(&names).clone(), numbers.pick(&names).clone());
        let (first, second) = (files[&one].clone(), files[&other].clone());
        files.insert(one, second);
        files.insert(other, first);
        edits -= 1;
    }
    for _ in 0..edits {
        let manifest = "folio.yaml".to_owned();
        let name = if numbers.below(3) > 0 { &manifest } else { numbers.pick(&names) };
        edit(files.get_mut(name).unwrap(), numbers);
    }
    files
}

#[test]
fn errors_of_edited_examples_have_locations() {
    let count = std::env::var("FOLIO_RANDOM_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(DEFAULT_EDITS);
    let folders = folders();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for number in 0..count {
        let files = edited(&folders, &mut numbers);
        let started = Instant::now();
        let built = check(&files);
        let shown = || format!("edit {number}: {}", String::from_utf8_lossy(&files["folio.yaml"]));
        assert!(started.elapsed() < Duration::from_secs(20), "{}", shown());
        assert_eq!(built.catalog.is_none(), built.report.has_errors(), "{}", shown());
        for diagnostic in built.report.diagnostics() {
            let span = diagnostic.span.unwrap_or_else(|| panic!("{}: {}", diagnostic.message, shown()));
            let source = built.report.sources.get(span.file).unwrap();
            assert!(span.start <= span.end && span.end as usize <= source.text().len(), "{}", shown());
            assert!(source.text().is_char_boundary(span.start as usize), "{}: {}", diagnostic.message, shown());
        }
        for format in [Format::Text, Format::Sarif, Format::Github] {
            render(&built.report, format, TerminalStyle::default());
        }
    }
}

/// Applies the fixes that are certain, as `check --fix` does, or the others.
fn fixed(files: &BTreeMap<String, Vec<u8>>, is_certain: bool) -> Option<BTreeMap<String, Vec<u8>>> {
    let built = check(files);
    let mut fixes: Vec<_> = built.report.diagnostics().iter().filter_map(|one| one.fix.clone()).collect();
    fixes.retain(|fix| fix.is_certain == is_certain && built.report.sources.text_of(fix.span) != fix.text);
    fixes.sort_by_key(|fix| std::cmp::Reverse((fix.span.file, fix.span.start, fix.span.end)));
    let mut after = files.clone();
    let mut last = None;
    let mut is_changed = false;
    for fix in fixes {
        if last.is_some_and(|(file, start)| file == fix.span.file && fix.span.end > start) {
            continue;
        }
        last = Some((fix.span.file, fix.span.start));
        let source = built.report.sources.get(fix.span.file).unwrap();
        let name = source.path().display().to_string();
        let mut text = source.text().to_string();
        if is_changed && after[&name] != files[&name] {
            text = String::from_utf8(after[&name].clone()).unwrap();
        }
        text.replace_range(fix.span.start as usize..fix.span.end as usize, &fix.text);
        after.insert(name, text.into_bytes());
        is_changed = true;
    }
    is_changed.then_some(after)
}

#[test]
fn certain_fixes_leave_fewer_errors() {
    assert_fewer_faults(true, 100);
}

#[test]
fn suggested_fixes_leave_fewer_errors() {
    assert_fewer_faults(false, 20);
}

fn assert_fewer_faults(is_certain: bool, least: usize) {
    let mut fixed_cases = 0;
    let mut failures = Vec::new();
    for case in cases("mistakes.txt") {
        let Some(after) = fixed(&case.files, is_certain) else { continue };
        if case.title() == "allow unknown comment" {
            // Spelt right, it allows what is not there.
            continue;
        }
        let (before, left) = (check(&case.files), check(&after));
        let text = String::from_utf8_lossy(&after["folio.yaml"]).into_owned();
        let count = |built: &BuildOutcome, severity: Severity| {
            built.report.diagnostics().iter().filter(|one| one.severity == severity).count()
        };
        let weigh = |built: &BuildOutcome| (count(built, Severity::Error), count(built, Severity::Warning));
        let has_syntax_error =
            |built: &BuildOutcome| built.report.diagnostics().iter().any(|one| one.code == Code::Syntax);
        let is_better = weigh(&left) < weigh(&before) || has_syntax_error(&before) && !has_syntax_error(&left);
        let messages: Vec<&String> = left.report.diagnostics().iter().map(|one| &one.message).collect();
        if !is_better {
            failures.push(format!("{}\n{text}\n{messages:?}", case.title()));
        }
        fixed_cases += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(fixed_cases >= least, "{fixed_cases}");
}
