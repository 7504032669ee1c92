//! Holds the architecture: order of rooms, one door per foreign crate, length of functions.
//!
//! The rules are read from `src/lib.rs` and `Cargo.toml`, not repeated here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What may stand at the top.
const TOP: &[&str] = &[
    ".cargo", ".ci", ".editorconfig", ".git", ".github", ".gitignore", "CHANGELOG.md", "Cargo.lock", "Cargo.toml",
    "LICENSE-APACHE", "LICENSE-MIT", "README.md", "docs", "benches", "examples", "rustfmt.toml", "clippy.toml",
    "schemas", "src", "target", "tests",
];

/// The rooms in which folders use each other in circles.
const ROOMS_WITH_CIRCLES: &[&str] = &[];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A source file without its comments, literals and tests; lines stay where they are.
struct Source {
    path: String,
    module: String,
    code: String,
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                found.push(source(&entry));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn source(path: &Path) -> Source {
    let relative = path.strip_prefix(root()).unwrap();
    let module = relative.components().nth(1).unwrap().as_os_str().to_str().unwrap();
    let module = module.trim_end_matches(".rs").to_owned();
    let written = fs::read_to_string(path).unwrap();
    let code = without_tests(&with_literals_blanked(&written));
    Source { path: relative.to_str().unwrap().to_owned(), module, code }
}

impl Source {
    fn is_test(&self) -> bool {
        self.path.split(['/', '.']).any(|part| part == "tests" || part == "testing")
    }
}

/// Replaces what is in comments and literals by blanks.
fn with_literals_blanked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        match end {
            Some(end) => {
                let skipped = &bytes[at..end.min(bytes.len())];
                out.extend(skipped.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
                at = end;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the comment or literal that begins here ends.
fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let find = |needle: &[u8], from: usize| {
        (from..bytes.len())
            .find(|place| bytes[*place..].starts_with(needle))
            .map_or(bytes.len(), |place| place + needle.len())
    };
    let after_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest.starts_with(b"//") {
        return Some(find(b"\n", at) - 1);
    }
    if rest.starts_with(b"/*") {
        return Some(find(b"*/", at));
    }
    if !after_word && (rest[0] == b'r' || rest.starts_with(b"br")) {
        let from = at + if rest[0] == b'b' { 2 } else { 1 };
        let hashes = bytes[from..].iter().take_while(|byte| **byte == b'#').count();
        if bytes.get(from + hashes) == Some(&b'"') {
            let close = [b"\"".to_vec(), vec![b'#'; hashes]].concat();
            return Some(find(&close, from + hashes + 1));
        }
    }
    if rest[0] == b'"' {
        let mut place = at + 1;
        while place < bytes.len() && bytes[place] != b'"' {
            place += if bytes[place] == b'\\' { 2 } else { 1 };
        }
        return Some(place + 1);
    }
    // A character, and not a lifetime.
    if rest[0] == b'\'' {
        if rest.get(1) == Some(&b'\\') {
            return Some(find(b"'", at + 3));
        }
        let text = std::str::from_utf8(&rest[1..rest.len().min(6)])
            .or_else(|error| std::str::from_utf8(&rest[1..=error.valid_up_to()]));
        let width = text.ok().and_then(|text| text.chars().next()).map_or(1, char::len_utf8);
        if rest.get(1 + width) == Some(&b'\'') {
            return Some(at + width + 2);
        }
    }
    None
}

/// Blanks what stands under `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    let mut code = code.to_owned();
    while let Some(at) = code.find("#[cfg(test)]") {
        let rest = &code[at..];
        let item = &rest["#[cfg(test)]".len()..];
        let is_field = item.find(['(', '{', ';', ',']).is_some_and(|first| item[first..].starts_with(','));
        let end = match (rest.find('{'), rest.find(';')) {
            _ if is_field => at + rest.find(',').map_or(rest.len(), |comma| comma + 1),
            (Some(open), semicolon) if semicolon.is_none_or(|semicolon| open < semicolon) => at + block_end(rest, open),
            (_, Some(semicolon)) => at + semicolon + 1,
            _ => code.len(),
        };
        let blank: String = code[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        code.replace_range(at..end, &blank);
    }
    code
}

/// Where the block that opens at `open` ends.
fn block_end(text: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Every place of a word that is no part of a longer one.
fn places<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let bytes = code.as_bytes();
        !is_word(at.checked_sub(1).and_then(|before| bytes.get(before))) && !is_word(bytes.get(at + word.len()))
    })
}

/// The rooms, in the order of the map.
fn modules() -> Vec<String> {
    let map = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    map.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)).collect()
}

/// What a path names after its `::`: one name, or several in braces.
fn names_in_path(rest: &str) -> Vec<String> {
    let rest = rest.trim_start();
    let word =
        |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '*').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let mut modules = Vec::new();
    let mut depth = 0;
    let mut begins = true;
    for (at, c) in group.char_indices() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                modules.push(word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    modules
}

fn assert_none(what: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{what}:\n  {}", offenders.join("\n  "));
}

#[test]
fn module_uses_only_modules_above_it() {
    let modules = modules();
    assert!(modules.len() > 10, "{modules:?}");
    let order = |module: &str| modules.iter().position(|known| known == module);
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| !["lib", "main", "build"].contains(&source.module.as_str())) {
        let Some(here) = order(&source.module) else {
            offenders.push(format!("{}: its room is not on the map", source.path));
            continue;
        };
        for at in source.code.match_indices("crate::").map(|(at, _)| at) {
            for module in names_in_path(&source.code[at + "crate::".len()..]) {
                // A macro of the crate, or the module itself, is no import of another.
                let fine = order(&module).is_some_and(|there| there <= here);
                if !fine {
                    offenders.push(format!("{}:{}: `crate::{module}`", source.path, line_of(&source.code, at)));
                }
            }
        }
    }
    assert_none("imports that go down the map", &offenders);
}

/// The modules of a room in the order of its `mod` list, and which of them each name comes from that `mod.rs` imports.
struct RoomMap {
    modules: Vec<String>,
    origins: BTreeMap<String, String>,
}

impl RoomMap {
    fn read(code: &str) -> RoomMap {
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let declared = places(code, "mod").map(|at| code[at + "mod".len()..].trim_start());
        let declared = declared.filter(|rest| rest[word(rest).len()..].starts_with(';'));
        let modules: Vec<String> = declared.map(word).collect();
        let mut origins = BTreeMap::new();
        for at in places(code, "use") {
            let path: String = code[at + "use".len()..].chars().take_while(|c| *c != ';').collect();
            let origin = word(path.trim_start());
            if modules.contains(&origin) {
                let names = path.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
                origins.extend(names.map(|name| (name.to_owned(), origin.clone())));
            }
        }
        RoomMap { modules, origins }
    }

    /// Where a module is in the list; a name that `mod.rs` imports counts as the module that it is from.
    fn position(&self, name: &str) -> Option<usize> {
        let module = self.origins.get(name).map_or(name, String::as_str);
        self.modules.iter().position(|listed| listed == module)
    }
}

#[test]
fn folder_uses_only_folders_above_it_in_its_room() {
    let sources = sources();
    let mut offenders = Vec::new();
    for room in modules().iter().filter(|room| !ROOMS_WITH_CIRCLES.contains(&room.as_str())) {
        let folder = format!("src/{room}/");
        let map = sources.iter().find(|source| source.path == format!("{folder}mod.rs")).unwrap();
        let map = RoomMap::read(&map.code);
        let is_folder = |position: usize| root().join(&folder).join(&map.modules[position]).is_dir();
        for source in sources.iter().filter(|source| !source.is_test()) {
            let Some(path) = source.path.strip_prefix(&folder) else { continue };
            let Some(here) = map.position(path.split(['/', '.']).next().unwrap()) else { continue };
            let mut prefixes = vec![format!("crate::{room}::")];
            let is_below_room = path.matches('/').count() == usize::from(path.ends_with("/mod.rs"));
            prefixes.extend(is_below_room.then(|| "super::".to_owned()));
            for (prefix, at) in
                prefixes.iter().flat_map(|prefix| places(&source.code, prefix).map(move |at| (prefix, at)))
            {
                for name in names_in_path(&source.code[at + prefix.len()..]) {
                    let is_below = |there: &usize| *there > here && is_folder(here) && is_folder(*there);
                    if map.position(&name).filter(is_below).is_some() {
                        offenders.push(format!("{}:{}: `{prefix}{name}`", source.path, line_of(&source.code, at)));
                    }
                }
            }
        }
    }
    assert_none("uses of a folder below", &offenders);
}

#[test]
fn room_map_reads_modules_and_imports() {
    let map =
        RoomMap::read("mod exit;\npub(super) mod output;\nmod tests {}\npub(crate) use output::{Output, log::Format};");
    assert_eq!(map.modules, ["exit", "output"]);
    assert_eq!(["Output", "Format", "exit", "Other"].map(|name| map.position(name)), [Some(1), Some(1), Some(0), None]);
}

#[test]
fn every_crate_is_imported_by_its_modules_only() {
    let mut offenders = Vec::new();
    let crate_owners = crate_owners();
    for source in sources() {
        for CrateOwner { name, modules } in &crate_owners {
            // A room's own file or folder of that name is another thing, and so is one that is imported from a room.
            let module = root().join("src").join(&source.module);
            let imported =
                source.code.contains(&format!("::{name};")) || source.code.contains(&format!("::{name}::{{self"));
            let own = imported || module.join(format!("{name}.rs")).is_file() || module.join(name).is_dir();
            if modules.contains(&source.module) || own {
                continue;
            }
            for at in places(&source.code, name) {
                let path = source.code[at + name.len()..].starts_with("::");
                let import = source.code[..at].trim_end().ends_with("use");
                let within = source.code[..at].trim_end().ends_with("::");
                if (path || import) && !within {
                    offenders.push(format!("{}:{}: `{name}`", source.path, line_of(&source.code, at)));
                }
            }
        }
    }
    assert_none("crates that came in by another way than their door", &offenders);
}

/// A dependency that is named in some rooms alone.
struct CrateOwner {
    name: String,
    modules: Vec<String>,
}

/// The doors, by the comments of Cargo.toml: each is that of the dependencies below it.
fn crate_owners() -> Vec<CrateOwner> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap();
    let (dependencies, _) = dependencies.split_once("\n[").unwrap();
    let (mut crate_owners, mut comment) = (Vec::new(), String::new());
    let mut lines = dependencies.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            comment.push_str(line);
            continue;
        }
        let modules = comment.split_once("Door").map(|(_, modules)| modules).unwrap_or_default();
        let modules: Vec<_> = modules.split([' ', ',', '.', ':']).filter_map(|word| word.strip_suffix('/')).collect();
        if let (Some((name, _)), false) = (line.split_once(" ="), modules.is_empty()) {
            let modules = modules.into_iter().map(str::to_owned).collect();
            crate_owners.push(CrateOwner { name: name.replace('-', "_"), modules });
        }
        if lines.peek().is_some_and(|next| next.starts_with('#')) {
            comment.clear();
        }
    }
    assert!(crate_owners.len() > 20, "the doors of Cargo.toml are not found");
    crate_owners
}

#[test]
fn processes_are_started_in_one_module() {
    let sources = sources();
    let starts = |code: &str| code.lines().any(|line| line.contains("process::") && line.contains("Command"));
    let in_tests = |source: &&Source| source.path.contains("/tests");
    let starting: Vec<&Source> = sources.iter().filter(|source| starts(&source.code) && !in_tests(source)).collect();
    assert!(!starting.is_empty());
    for source in starting {
        assert_eq!(source.module, "world", "{}", source.path);
    }
}

#[test]
fn names_are_imported_from_their_module() {
    let mut offenders = Vec::new();
    for source in sources() {
        for wrong in ["use crate::*", "super::super"] {
            offenders.extend(
                source
                    .code
                    .match_indices(wrong)
                    .map(|(at, _)| format!("{}:{}: `{wrong}`", source.path, line_of(&source.code, at))),
            );
        }
        for (at, _) in source.code.match_indices("pub use crate::") {
            offenders.push(format!(
                "{}:{}: another room's name under this one's",
                source.path,
                line_of(&source.code, at)
            ));
        }
        for (at, _) in source.code.match_indices("use crate::") {
            let line: String = source.code[at..].chars().take_while(|c| *c != ';').collect();
            if line.contains('*') {
                offenders.push(format!("{}:{}: `{line}`", source.path, line_of(&source.code, at)));
            }
        }
    }
    assert_none("names that come from nowhere", &offenders);
}

#[test]
fn every_module_has_a_doc_comment() {
    for module in modules() {
        let text = fs::read_to_string(root().join("src").join(&module).join("mod.rs")).unwrap();
        assert!(text.starts_with("//!"), "src/{module}/mod.rs begins without a word on itself");
    }
}

#[test]
fn every_dependency_has_a_comment() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut inside = false;
    let mut explained = false;
    let mut offenders = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if line.starts_with('#') {
            explained = true;
        } else if line.is_empty() {
            explained = false;
        } else if inside && !explained {
            offenders.push(line.to_owned());
        }
    }
    assert_none("dependencies without a reason above them", &offenders);
}

/// The functions of a file, with their lines.
fn functions(source: &Source) -> Vec<(usize, String)> {
    let code = &source.code;
    let mut found = Vec::new();
    for at in places(code, "fn") {
        let rest = &code[at..];
        let name: String = rest[2..].trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            continue;
        }
        // A body opens after the signature; a semicolon first means that there is none.
        let mut nesting = 0;
        let open = rest.char_indices().find(|(_, c)| {
            match c {
                '(' | '[' => nesting += 1,
                ')' | ']' => nesting -= 1,
                _ => {}
            }
            nesting == 0 && matches!(c, '{' | ';')
        });
        let Some((open, '{')) = open else { continue };
        let lines = rest[..block_end(rest, open)].matches('\n').count() + 1;
        found.push((lines, format!("{}:{} {name}: {lines} lines", source.path, line_of(code, at))));
    }
    found
}

#[test]
fn functions_stay_within_size_limit() {
    let all: Vec<(usize, String)> = sources().iter().filter(|source| !source.is_test()).flat_map(functions).collect();
    assert!(all.len() > 500, "{} functions were found", all.len());
    let long: Vec<String> = all.into_iter().filter(|(lines, _)| *lines > 60).map(|(_, which)| which).collect();
    assert_none("functions of more than 60 lines", &long);
}

#[test]
fn repository_root_holds_only_listed_files() {
    // Against what is kept, not what lies about: a build may put things here.
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let strange: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !TOP.contains(&name.as_str()) && !ignored.contains(&name.as_str()))
        .collect();
    assert_none("entries at the top that nobody expects", &strange);
}

#[test]
fn function_line_counter_is_correct() {
    let text = "fn a() {\n  let x = '{'; // }\n  \"}\";\n  r#\"}\"#;\n}\n\ntrait T { fn none(); }\n#[cfg(test)]\nmod tests { fn not_me() {\n\n} }\nfn b<'a>(x: [u8; 3]) -> &'a str { x }\n";
    let source = Source { path: "x".into(), module: "x".into(), code: without_tests(&with_literals_blanked(text)) };
    let found: Vec<String> = functions(&source).into_iter().map(|(_, which)| which).collect();
    assert_eq!(found, ["x:1 a: 5 lines", "x:12 b: 1 lines"]);
}

#[test]
fn import_parser_is_correct() {
    for (code, modules) in [
        ("crate::files::Folder", &["files"][..]),
        ("crate::{files::{a, b}, uri, yaml::{self}}", &["files", "uri", "yaml"]),
        ("crate::{\n  files::Folder,\n}", &["files"]),
        ("crate::*", &["*"]),
    ] {
        assert_eq!(names_in_path(&code["crate::".len()..]), modules, "{code}");
    }
    assert!(places("use rmcp::x; my_rmcp::y", "rmcp").eq([4]));
}

/// The schema's `Step`, wherever the generator put it.
fn properties_with<'a>(schema: &'a Value, keys: &[&str], found: &mut Vec<&'a Value>) {
    match schema {
        Value::Object(object) => {
            if let Some(properties) = object.get("properties")
                && keys.iter().all(|key| properties.get(key).is_some())
            {
                found.push(properties);
            }
            object.values().for_each(|value| properties_with(value, keys, found));
        }
        Value::Array(values) => values.iter().for_each(|value| properties_with(value, keys, found)),
        _ => {}
    }
}

#[test]
fn actions_are_listed_in_one_table() {
    let table = folio::ACTIONS;
    let keys: Vec<&str> = table.iter().map(|row| row.key).collect();
    let schema: Value = serde_json::from_str(&folio::generate_schema()).unwrap();
    let mut steps = Vec::new();
    properties_with(&schema, &keys, &mut steps);
    assert!(!steps.is_empty(), "no place of the schema takes all of {keys:?}");
    for row in table {
        for properties in &steps {
            let described = ["description", "markdownDescription"].map(|key| properties[row.key][key].as_str());
            let described = described.into_iter().flatten().next().unwrap_or_default();
            assert_eq!(described, row.description.trim(), "`{}` in the schema", row.key);
        }
    }
    // Each action is a file; the table says in which.
    let written = fs::read_to_string(root().join("src/action/mod.rs")).unwrap();
    let rows = written.split("actions! {").last().unwrap();
    let mut files: BTreeMap<&str, &str> = BTreeMap::new();
    for line in rows.lines().map(str::trim).filter(|line| !line.starts_with("//") && line.contains('(')) {
        let (key, rest) = line.split_once(' ').unwrap();
        let (_, path) = rest.split_once('(').unwrap();
        files.insert(key, path.split("::").next().unwrap());
    }
    assert_eq!(files.len(), table.len());
    for key in keys {
        let file = files.get(key).unwrap_or_else(|| panic!("no row of `{key}`"));
        let exists = [".rs", "/mod.rs"].iter().any(|end| root().join(format!("src/action/{file}{end}")).is_file());
        assert!(exists, "`{key}` says that it is in {file}.rs");
    }
}
