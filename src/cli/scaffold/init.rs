//! `folio init`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::args::InitArgs;
use super::client_setup::client_setup;
use super::init_template::{InitTemplate, TemplateFile};
use crate::cli::{Exit, Output};
use crate::diagnostic::one_line;
use crate::load::{MANIFEST_NAMES, folder_argument};
use crate::manifest::SCHEMA;

/// The file of the manifest's JSON Schema.
pub(super) const SCHEMA_PATH: &str = "folio.schema.json";

/// The longest name of a server.
const MAX_SERVER_NAME_CHARS: usize = 64;

/// Writes a small server that runs, with the JSON Schema of the manifest, unless a file exists.
pub(crate) fn run(arguments: &InitArgs, output: &Output) -> anyhow::Result<Exit> {
    if let Some(from) = &arguments.openapi {
        return super::init_openapi::run(from, arguments, output);
    }
    let template = arguments.template.unwrap_or_default();
    match write_server(&arguments.dir, template, SCHEMA)? {
        InitOutcome::Written(names) => {
            let wrote: String = names.iter().map(|name| wrote_line(&arguments.dir.join(name))).collect();
            output.print(&format!("{wrote}\n{}", next_steps(&arguments.dir, template)))?;
            Ok(Exit::Success)
        }
        InitOutcome::AlreadyExists(paths) => {
            eprint_existing(&paths, output);
            Ok(Exit::Failure)
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum InitOutcome {
    /// The names of the written files.
    Written(Vec<&'static str>),
    /// The paths of existing files.
    AlreadyExists(Vec<String>),
}

fn write_server(dir: &Path, template: InitTemplate, schema: &str) -> anyhow::Result<InitOutcome> {
    fs::create_dir_all(dir).with_context(|| format!("could not create the folder `{}`", dir.display()))?;
    let files = template.files();
    let names: Vec<&'static str> = files.iter().map(|file| file.path).chain([SCHEMA_PATH]).collect();
    let existing = existing_files(dir, &names);
    if !existing.is_empty() {
        return Ok(InitOutcome::AlreadyExists(existing));
    }
    let name = server_name(dir);
    for TemplateFile { path, text } in files {
        write_new_file(&dir.join(path), &text.replace("my-server", &name))?;
    }
    write_new_file(&dir.join(SCHEMA_PATH), schema)?;
    Ok(InitOutcome::Written(names))
}

/// What is already where the files would be: dangling symlinks too, and files instead of their folders.
pub(super) fn existing_files(dir: &Path, files: &[&str]) -> Vec<String> {
    let others = MANIFEST_NAMES.iter().filter(|name| !files.contains(*name));
    let paths = files.iter().chain(others).map(|name| dir.join(name));
    let mut existing: Vec<PathBuf> = paths.filter(|path| path.symlink_metadata().is_ok()).collect();
    for folder in files.iter().flat_map(|name| Path::new(name).ancestors().skip(1)) {
        let path = dir.join(folder);
        if path.symlink_metadata().is_ok() && !is_folder_within(&path, dir) && !existing.contains(&path) {
            existing.push(path);
        }
    }
    existing.iter().map(|path| format!("`{}`", display_path(path))).collect()
}

/// Whether it is a folder, and no link that leads out of `dir`.
fn is_folder_within(path: &Path, dir: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    path.is_dir() && resolved(path).zip(resolved(dir)).is_some_and(|(path, dir)| path.starts_with(dir))
}

pub(super) fn eprint_existing(existing: &[String], output: &Output) {
    output.eprint(&format!("error: files already exist: {}\n", existing.join(", ")));
}

/// A path on one line, with nothing in it that a terminal obeys.
fn display_path(path: &Path) -> String {
    one_line(&path.display().to_string()).into_owned()
}

/// The line that says that a file was written.
pub(super) fn wrote_line(path: &Path) -> String {
    format!("wrote {}\n", display_path(path))
}

fn write_new_file(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("could not create the folder `{}`", folder.display()))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("could not write `{}`", path.display()))
}

fn next_steps(dir: &Path, template: InitTemplate) -> String {
    let path = folder_argument(dir);
    let file = if path.is_empty() { String::new() } else { format!(" -f{path}") };
    let commands: String =
        template.first_commands().iter().map(|command| format!("  folio {command}{file}\n")).collect();
    let setup = client_setup(&server_name(dir), dir);
    format!("Try it:\n  folio check{path}\n  folio list{path}\n  folio test{path}\n{commands}\n{setup}")
}

/// A valid server name from the name of the folder.
pub(super) fn server_name(dir: &Path) -> String {
    let absolute = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let folder = absolute.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let words = folder.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(MAX_SERVER_NAME_CHARS).collect();
    match name.trim_end_matches('-') {
        "" => "my-server".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(dir: &Path) -> anyhow::Result<InitOutcome> {
        write_server(dir, InitTemplate::Hello, "{}\n")
    }

    fn existing_files(outcome: InitOutcome) -> usize {
        match outcome {
            InitOutcome::AlreadyExists(paths) => paths.len(),
            InitOutcome::Written(_) => 0,
        }
    }

    #[test]
    fn init_writes_a_server_named_after_its_folder() {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("deep/My Desk (2)");
        assert_eq!(existing_files(init(&dir).unwrap()), 0);
        let manifest = fs::read_to_string(dir.join("folio.yaml")).unwrap();
        assert!(manifest.starts_with("# yaml-language-server: $schema=./folio.schema.json\n"), "{manifest}");
        assert!(manifest.contains("\n  name: \"my-desk-2\"\n"), "{manifest}");
        assert_eq!(fs::read_to_string(dir.join("folio.schema.json")).unwrap(), "{}\n");
        assert!(fs::read_to_string(dir.join("README.md")).unwrap().starts_with("# my-desk-2\n"));
    }

    #[test]
    fn init_overwrites_nothing() {
        for existing in ["folio.yaml", "folio.yml", "README.md", "folio.schema.json"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(existing), "mine").unwrap();
            assert_eq!(existing_files(init(dir.path()).unwrap()), 1);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{existing}");
            assert_eq!(fs::read_to_string(dir.path().join(existing)).unwrap(), "mine");
        }
    }

    #[test]
    fn file_in_the_place_of_a_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("skills"), "mine").unwrap();
        assert_eq!(existing_files(write_server(dir.path(), InitTemplate::Team, "{}\n").unwrap()), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn init_writes_through_no_link_to_a_folder_elsewhere() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("docs")).unwrap();
        let existing = super::existing_files(dir.path(), &["docs/index.md"]);
        assert_eq!(existing, [format!("`{}`", display_path(&dir.path().join("docs")))]);
        fs::create_dir(dir.path().join("pages")).unwrap();
        assert!(super::existing_files(dir.path(), &["pages/index.md"]).is_empty());
    }

    #[test]
    fn init_does_not_follow_a_dangling_symlink() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere.yaml", dir.path().join("folio.yaml")).unwrap();
        assert_eq!(existing_files(init(dir.path()).unwrap()), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn error_names_the_folder_that_cannot_be_created() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = init(file.path()).unwrap_err();
        assert!(format!("{error:#}").contains(&file.path().display().to_string()));
    }

    #[test]
    fn printed_commands_are_shell_quoted() {
        let text = next_steps(Path::new("no/My Desk's"), InitTemplate::Hello);
        assert!(text.contains("\n  folio check 'no/My Desk'\\''s'\n"), "{text}");
        assert!(
            text.contains(" serve 'no/My Desk'\\''s'\n") && text.contains("[\"serve\", \"no/My Desk's\"]"),
            "{text}"
        );
        let text = next_steps(Path::new("a\u{1b}[31mred"), InitTemplate::Hello);
        assert!(!text.contains('\u{1b}') && text.contains(r"folio check $'a\x1b[31mred'"), "{text}");
        assert!(next_steps(Path::new("."), InitTemplate::Hello).contains("\n  folio get greet who=Ada\n"));
    }

    #[test]
    fn unusable_folder_name_gets_a_default() {
        assert_eq!(server_name(Path::new("/日本")), "my-server");
        assert_eq!(server_name(Path::new("/")), "my-server");
        assert_eq!(server_name(&Path::new("/").join("a".repeat(80))), "a".repeat(64));
    }
}
