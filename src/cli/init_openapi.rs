//! `folio init --openapi`.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use url::Url;

use super::init::{SCHEMA_PATH, eprint_existing, existing_files, folder_argument, wrote};
use super::request::new_world;
use super::{Exit, InitArgs, Output};
use crate::diagnostic::{Report, render_text};
use crate::files::Folder;
use crate::openapi::{
    EntryOutcome, FilePlan, FolderPlan, Import, ImportError, ImportOptions, MAX_DESCRIPTION_BYTES, RECORD_PATH, Source,
    UpdateError, fetch, import,
};

/// How many warnings are shown in frames; of the others it is told how many there are.
const MAX_SHOWN_WARNINGS: usize = 40;

/// Writes a server whose tools call the API that a description describes.
pub(super) fn run(from: &str, arguments: &InitArgs, schema: &str, output: &Output) -> anyhow::Result<Exit> {
    let source = read_source(from)?;
    let mut imported = match import(&source, &ImportOptions { only: arguments.only.clone() }) {
        Ok(imported) => imported,
        Err(ImportError::Unreadable(report)) => return Ok(fail(&render_text(&report, output.error_style()), output)),
        Err(error) => return Ok(fail(&format!("error: {error}\n"), output)),
    };
    let written = match arguments.update {
        true => update(&imported, &arguments.dir, output)?,
        false => write_new(&imported, &arguments.dir, schema, output)?,
    };
    let Some(plan) = written else { return Ok(Exit::Failure) };
    eprint_warnings(&mut imported.report, output);
    output.print(&summary(&imported, &plan, arguments))?;
    Ok(Exit::Success)
}

fn fail(words: &str, output: &Output) -> Exit {
    output.eprint(words);
    Exit::Failure
}

fn read_source(from: &str) -> anyhow::Result<Source> {
    match Url::parse(from) {
        Ok(url) if url.has_host() => fetch_source(&url),
        _ => read_file_source(Path::new(from)),
    }
}

fn fetch_source(url: &Url) -> anyhow::Result<Source> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("could not start")?;
    let world = new_world();
    Ok(runtime.block_on(fetch(url, &world))?)
}

fn read_file_source(path: &Path) -> anyhow::Result<Source> {
    let failed = || format!("could not read `{}`", path.display());
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(failed)?;
    file.take(MAX_DESCRIPTION_BYTES + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > MAX_DESCRIPTION_BYTES {
        return Err(anyhow!("it is larger than {MAX_DESCRIPTION_BYTES} bytes")).with_context(failed);
    }
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let folder = folder.and_then(|folder| Folder::open(folder).ok());
    Ok(Source { name: path.display().to_string(), bytes, folder, url: None })
}

/// Writes all files of a folder in which none of them stands. `None`, once that has been said, where one does.
fn write_new(imported: &Import, dir: &Path, schema: &str, output: &Output) -> anyhow::Result<Option<FolderPlan>> {
    let mut plan = imported.plan_new();
    plan.files.insert(1, FilePlan { path: SCHEMA_PATH.to_owned(), text: schema.to_owned() });
    let planned: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    let existing = existing_files(dir, &planned);
    if !existing.is_empty() {
        eprint_existing(&existing, output);
        if dir.join(RECORD_PATH).is_file() {
            output.eprint("help: write it again with `--update`\n");
        }
        return Ok(None);
    }
    write_all(dir, &plan.files)?;
    Ok(Some(plan))
}

fn update(imported: &Import, dir: &Path, output: &Output) -> anyhow::Result<Option<FolderPlan>> {
    let read = |path: &str| match fs::read_to_string(dir.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let mut plan = match imported.plan_update(&read) {
        Ok(plan) => plan,
        Err(UpdateError::InvalidYaml { report, .. }) => {
            output.eprint(&render_text(&report, output.error_style()));
            return Ok(None);
        }
        Err(error @ (UpdateError::NoRecord | UpdateError::Layout { .. })) => {
            output.eprint(&format!("error: {error}\n"));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    plan.files.retain(|file| fs::read_to_string(dir.join(&file.path)).ok().as_deref() != Some(&file.text));
    write_all(dir, &plan.files)?;
    Ok(Some(plan))
}

/// Writes all of the files, or none: each beside its place first, and only then into it.
fn write_all(dir: &Path, files: &[FilePlan]) -> anyhow::Result<()> {
    let mut staged: Vec<(PathBuf, PathBuf)> = Vec::new();
    let outcome = stage(dir, files, &mut staged).and_then(|()| put_in_place(&staged));
    if outcome.is_err() {
        staged.iter().for_each(|(temporary, _)| _ = fs::remove_file(temporary));
    }
    outcome
}

fn stage(dir: &Path, files: &[FilePlan], staged: &mut Vec<(PathBuf, PathBuf)>) -> anyhow::Result<()> {
    for file in files {
        let path = dir.join(&file.path);
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).with_context(|| format!("could not create the folder `{}`", folder.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let temporary = folder.join(format!(".{name}.{}.new", std::process::id()));
        let failed = || format!("could not write `{}`", path.display());
        let mut new = OpenOptions::new().write(true).create_new(true).open(&temporary).with_context(failed)?;
        staged.push((temporary, path.clone()));
        new.write_all(file.text.as_bytes()).and_then(|()| new.sync_all()).with_context(failed)?;
    }
    Ok(())
}

/// Renames each file into its place. Where one cannot be, those before it are as they were.
fn put_in_place(staged: &[(PathBuf, PathBuf)]) -> anyhow::Result<()> {
    let mut replaced: Vec<(&Path, Option<Vec<u8>>)> = Vec::new();
    for (temporary, path) in staged {
        let before = fs::read(path).ok();
        if let Err(error) = fs::rename(temporary, path) {
            restore(&replaced);
            return Err(error).with_context(|| format!("could not write `{}`", path.display()));
        }
        replaced.push((path, before));
    }
    Ok(())
}

fn restore(replaced: &[(&Path, Option<Vec<u8>>)]) {
    for (path, before) in replaced {
        let _: io::Result<()> = match before {
            Some(bytes) => fs::write(path, bytes),
            None => fs::remove_file(path),
        };
    }
}

/// Says what could not be translated.
fn eprint_warnings(report: &mut Report, output: &Output) {
    let all = report.diagnostics().len();
    if all == 0 {
        return;
    }
    report.truncate(MAX_SHOWN_WARNINGS);
    let mut shown = render_text(report, output.error_style());
    if all > MAX_SHOWN_WARNINGS {
        shown.push_str(&format!("{} more are not shown\n", all - MAX_SHOWN_WARNINGS));
    }
    output.eprint(&shown);
}

fn summary(imported: &Import, plan: &FolderPlan, arguments: &InitArgs) -> String {
    let dir = &arguments.dir;
    let wrote: String = plan.files.iter().map(|file| wrote(&dir.join(&file.path))).collect();
    let deprecated = match imported.deprecated {
        0 => String::new(),
        count => format!(", {count} deprecated left out"),
    };
    let counts = format!("{} of {} operations became tools{deprecated}\n", imported.tools, imported.operations);
    let outcomes: String = plan.outcomes.iter().map(|(outcome, key)| format!("{} {key}\n", words(outcome))).collect();
    let path = folder_argument(dir);
    format!("{wrote}{outcomes}\n{counts}\nTry it:\n  folio check{path}\n  folio list{path}\n")
}

fn words(outcome: &EntryOutcome) -> &'static str {
    match outcome {
        EntryOutcome::Added => "added",
        EntryOutcome::Refreshed => "refreshed",
        EntryOutcome::Kept => "kept, as it was changed by hand:",
        EntryOutcome::Deleted => "left out, as it was deleted by hand:",
        EntryOutcome::Gone => "kept, though the description has it no more:",
        EntryOutcome::Taken => "kept, as somebody else wrote one of that name:",
    }
}
