//! `folio init --openapi`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, anyhow};
use url::Url;

use super::args::InitArgs;
use super::client_setup::client_setup;
use super::init::{SCHEMA_PATH, eprint_existing, existing_files, server_name, wrote_line};
use crate::catalog::{MAX_LIST_TOKENS, token_count};
use crate::cli::manifest::load_and_build;
use crate::cli::process::{build_runtime, new_world};
use crate::cli::{Exit, Output};
use crate::diagnostic::{Diagnostic, Report, Severity, count_noun, one_line, render_text};
use crate::files::{FileError, FileKind, Folder, OverwritePolicy, WritableFolder};
use crate::load::{ManifestLocation, folder_argument};
use crate::manifest::SCHEMA;
use crate::openapi::{
    EntryOutcome, Fetcher, FilePlan, FolderPlan, Import, ImportError, ImportOptions, MAX_DESCRIPTION_BYTES,
    MAX_PARTIAL_BYTES, RECORD_PATH, Source, TagSize, UpdateError, fetch, import, recorded_choices,
};
use crate::world::{ProxyVariables, shell_quote};

/// How many warnings are shown in frames; of the others it is told how many there are.
const MAX_SHOWN_WARNINGS: usize = 40;

/// How large a file of the folder may be that is written again.
const MAX_EXISTING_BYTES: u64 = 64 << 20;

/// How often what does not load is left out and the rest written again.
const MAX_ROUNDS: usize = 5;

/// Of how many tags the size is told, the largest first.
const MAX_SHOWN_TAGS: usize = 5;

/// Writes a server whose tools call the API that a description describes.
pub(crate) fn run(from: &str, arguments: &InitArgs, output: &Output) -> anyhow::Result<Exit> {
    let max_bytes = if arguments.only.is_empty() { MAX_DESCRIPTION_BYTES } else { MAX_PARTIAL_BYTES };
    let source = read_source(from, max_bytes)?;
    let mut options = import_options(arguments);
    for _ in 0..MAX_ROUNDS {
        let imported = match import(&source, &options) {
            Ok(imported) => imported,
            Err(ImportError::Unreadable(report)) => {
                return Ok(fail(&render_text(&report, output.error_style()), output));
            }
            Err(error) => return Ok(fail(&format!("error: {error}\n"), output)),
        };
        if arguments.list {
            output.print(&tag_list(&imported))?;
            return Ok(Exit::Success);
        }
        match write(&imported, arguments, output)? {
            WriteOutcome::Written(plan) => {
                eprint_warnings(&imported.report, output);
                output.print(&summary(&imported, &plan, arguments))?;
                return Ok(Exit::Success);
            }
            WriteOutcome::Faulty(tools) if !tools.is_subset(&options.left_out) => options.left_out.extend(tools),
            WriteOutcome::Faulty(_) | WriteOutcome::Refused => break,
        }
    }
    Ok(Exit::Failure)
}

/// What to import, and what it is called: the server by its folder, tools as they were.
fn import_options(arguments: &InitArgs) -> ImportOptions {
    let dir = &arguments.dir;
    let record = if arguments.update { fs::read_to_string(dir.join(RECORD_PATH)).ok() } else { None };
    let is_chosen = dir.file_name().is_some();
    ImportOptions {
        only: arguments.only.clone(),
        server: is_chosen.then(|| server_name(dir)),
        earlier: record.map(|record| recorded_choices(&record)).unwrap_or_default(),
        left_out: HashSet::new(),
    }
}

/// What came of writing an import.
enum WriteOutcome {
    Written(FolderPlan),
    /// The server would not load for these tools, and nothing is written.
    Faulty(HashSet<String>),
    /// Nothing is written, and it was said why.
    Refused,
}

/// Writes an import, and takes it back where the server would not load with it.
fn write(imported: &Import, arguments: &InitArgs, output: &Output) -> anyhow::Result<WriteOutcome> {
    let was_there = arguments.dir.is_dir();
    let update = match arguments.update {
        true => update(imported, &arguments.dir, output)?,
        false => write_new(imported, &arguments.dir, output)?,
    };
    let Some(FolderUpdate { plan, replaced }) = update else { return Ok(WriteOutcome::Refused) };
    let report = load_and_build(&ManifestLocation::resolve(&arguments.dir)?, output).report;
    if !report.has_errors() {
        return Ok(WriteOutcome::Written(plan));
    }
    let faulty = faulty_tools(&report, imported, &arguments.dir);
    restore(&WritableFolder::open(&arguments.dir)?, &replaced);
    if !was_there {
        // It stays where it has other files by now.
        _ = fs::remove_dir(&arguments.dir);
    }
    if let Some(faulty) = faulty {
        return Ok(WriteOutcome::Faulty(faulty));
    }
    eprint_warnings(&imported.report, output);
    output.eprint(&render_text(&report, output.error_style()));
    output.eprint(match arguments.update {
        true => "error: the folder would not load with the result: nothing is changed\n",
        false => "error: the generated manifest does not load; this is a bug in the import, and nothing was written\n",
    });
    Ok(WriteOutcome::Refused)
}

/// The tools of an import to which all errors belong. `None` where one belongs to something else.
fn faulty_tools(report: &Report, imported: &Import, dir: &Path) -> Option<HashSet<String>> {
    let errors = report.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let tool_of = |error: &Diagnostic| {
        let span = error.span?;
        let source = report.sources.get(span.file)?;
        let path =
            source.path().strip_prefix(dir).unwrap_or(source.path()).to_str()?.trim_start_matches("./").to_owned();
        imported.tool_at(&path, source.text(), source.position(span.start).line as usize)
    };
    errors.map(tool_of).collect()
}

/// What was written, and what it replaced.
struct FolderUpdate {
    plan: FolderPlan,
    replaced: Vec<ReplacedFile>,
}

/// A file as it was: `None` where there was none.
struct ReplacedFile {
    path: String,
    before: Option<String>,
}

fn fail(words: &str, output: &Output) -> Exit {
    output.eprint(words);
    Exit::Failure
}

fn read_source(from: &str, max_bytes: u64) -> anyhow::Result<Source> {
    match Url::parse(from) {
        Ok(url) if url.has_host() => {
            let (world, proxies) = (new_world(), ProxyVariables::read(|name| std::env::var(name).ok()));
            Ok(build_runtime()?.block_on(fetch(&url, max_bytes, Fetcher { world: &world, proxies: &proxies }))?)
        }
        _ => read_file_source(Path::new(from), max_bytes),
    }
}

fn read_file_source(path: &Path, max_bytes: u64) -> anyhow::Result<Source> {
    let failed = || format!("could not read `{}`", path.display());
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(failed)?;
    file.take(max_bytes + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > max_bytes {
        let help = if max_bytes < MAX_PARTIAL_BYTES { "; choose a part with `--only`" } else { "" };
        return Err(anyhow!("it is larger than {max_bytes} bytes{help}")).with_context(failed);
    }
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let folder = folder.and_then(|folder| Folder::open(folder).ok());
    Ok(Source { name: path.display().to_string(), bytes, folder, fetched: HashMap::new(), url: None })
}

/// Writes all files of a folder that has none of them. `None`, once that has been said, where it has one.
fn write_new(imported: &Import, dir: &Path, output: &Output) -> anyhow::Result<Option<FolderUpdate>> {
    let mut plan = imported.plan_new();
    plan.files.insert(1, FilePlan { path: SCHEMA_PATH.to_owned(), text: SCHEMA.to_owned() });
    let planned: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    let existing = existing_files(dir, &planned);
    if !existing.is_empty() {
        eprint_existing(&existing, output);
        if dir.join(RECORD_PATH).is_file() {
            output.eprint("help: write it again with `--update`\n");
        }
        return Ok(None);
    }
    fs::create_dir_all(dir).with_context(|| format!("could not create the folder `{}`", dir.display()))?;
    let replaced = write_all(&WritableFolder::open(dir)?, &plan.files)?;
    Ok(Some(FolderUpdate { plan, replaced }))
}

fn update(imported: &Import, dir: &Path, output: &Output) -> anyhow::Result<Option<FolderUpdate>> {
    let folder = WritableFolder::open(dir)?;
    let read = |path: &str| read_text(&folder, path);
    let mut plan = match imported.plan_update(&fragments(&folder), &read) {
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
    plan.files.retain(|file| read_text(&folder, &file.path).ok().flatten().as_deref() != Some(&file.text));
    let replaced = write_all(&folder, &plan.files)?;
    Ok(Some(FolderUpdate { plan, replaced }))
}

/// The fragments of a folder, into which its author may have moved a tool.
fn fragments(folder: &WritableFolder) -> Vec<String> {
    let listing = folder.entries("tools", false).unwrap_or_default();
    let files = listing.entries.into_iter().filter(|entry| entry.kind == FileKind::File && !entry.is_link);
    let names = files.map(|entry| format!("tools/{}", entry.name));
    names.filter(|path| path.ends_with(".yaml")).collect()
}

/// The text of a regular file that no link leads out to. `None` where there is none.
fn read_text(folder: &WritableFolder, path: &str) -> io::Result<Option<String>> {
    let bytes = match folder.open_file(path).and_then(|file| file.read(MAX_EXISTING_BYTES)) {
        Ok(bytes) => bytes,
        Err(FileError::NotFound(_)) if !is_link(folder, path) => return Ok(None),
        Err(error) => return Err(io::Error::other(error)),
    };
    String::from_utf8(bytes).map(Some).map_err(io::Error::other)
}

fn is_link(folder: &WritableFolder, path: &str) -> bool {
    folder.path().join(path).is_symlink()
}

/// Writes all of the files, or none: each beside its place first, and only then into it.
fn write_all(folder: &WritableFolder, files: &[FilePlan]) -> anyhow::Result<Vec<ReplacedFile>> {
    let mut staged: Vec<(String, &str)> = Vec::new();
    let outcome = stage(folder, files, &mut staged).and_then(|()| commit(folder, &staged));
    if outcome.is_err() {
        staged.iter().for_each(|(temporary, _)| _ = folder.remove(temporary));
    }
    outcome
}

fn stage<'p>(
    folder: &WritableFolder,
    files: &'p [FilePlan],
    staged: &mut Vec<(String, &'p str)>,
) -> anyhow::Result<()> {
    for file in files {
        let (around, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let failed = || format!("could not write `{}`", file.path);
        if !around.is_empty() {
            folder.create_folder(around).with_context(|| format!("could not create the folder `{around}`"))?;
        }
        let beside = format!("{around}/.{name}.{}.new", std::process::id());
        let temporary = beside.trim_start_matches('/').to_owned();
        write_text(folder, &temporary, &file.text, OverwritePolicy::Refuse).with_context(failed)?;
        staged.push((temporary, &file.path));
    }
    Ok(())
}

fn write_text(folder: &WritableFolder, path: &str, text: &str, existing: OverwritePolicy) -> Result<(), FileError> {
    let failed = |source| FileError::write_failed(path, source);
    folder.write(path, existing, |_, file| file.write_all(text.as_bytes()).map_err(failed))
}

/// Renames each file into its place. Where one cannot be, those before it are as they were.
fn commit(folder: &WritableFolder, staged: &[(String, &str)]) -> anyhow::Result<Vec<ReplacedFile>> {
    let mut replaced: Vec<ReplacedFile> = Vec::new();
    for (temporary, path) in staged {
        let before = read_text(folder, path).ok().flatten();
        if let Err(error) = folder.rename(temporary, folder, path, OverwritePolicy::Replace) {
            restore(folder, &replaced);
            return Err(error).with_context(|| format!("could not write `{path}`"));
        }
        replaced.push(ReplacedFile { path: (*path).to_owned(), before });
    }
    Ok(replaced)
}

/// Puts files back as they were; a folder that is then empty was not the author's.
fn restore(folder: &WritableFolder, replaced: &[ReplacedFile]) {
    for ReplacedFile { path, before } in replaced {
        let _: Result<(), FileError> = match before {
            Some(text) => write_text(folder, path, text, OverwritePolicy::Replace),
            None => folder.remove(path),
        };
    }
    if replaced.iter().any(|file| file.before.is_none() && file.path.starts_with("tools/")) {
        _ = folder.remove("tools");
    }
}

/// Says what could not be translated.
fn eprint_warnings(report: &Report, output: &Output) {
    let all = report.diagnostics().len();
    if all == 0 {
        return;
    }
    let mut room = MAX_SHOWN_WARNINGS;
    let first = report.filtered(|_| room.checked_sub(1).inspect(|left| room = *left).is_some());
    let mut shown = render_text(&first, output.error_style());
    if all > MAX_SHOWN_WARNINGS {
        shown.push_str(&format!("{} more are not shown\n", all - MAX_SHOWN_WARNINGS));
    }
    output.eprint(&shown);
}

fn summary(imported: &Import, plan: &FolderPlan, arguments: &InitArgs) -> String {
    let dir = &arguments.dir;
    let wrote: String = plan.files.iter().map(|file| wrote_line(&dir.join(&file.path))).collect();
    let deprecated = match imported.deprecated {
        0 => String::new(),
        count => format!(", {count} deprecated left out"),
    };
    let is_deleted =
        |(outcome, key): &&(EntryOutcome, String)| *outcome == EntryOutcome::Deleted && key.starts_with("tools/");
    let tools = imported.tools.saturating_sub(plan.outcomes.iter().filter(is_deleted).count());
    let counts = match arguments.update {
        true => format!("{tools} of {} operations are tools{deprecated}\n", imported.operations),
        false => format!("{tools} of {} operations became tools{deprecated}\n", imported.operations),
    };
    let outcomes: String =
        plan.outcomes.iter().map(|(outcome, key)| format!("{} {key}\n", outcome_label(outcome))).collect();
    let path = folder_argument(dir);
    let setup = match arguments.update {
        true => String::new(),
        false => format!("\n{}", client_setup(&server_name(dir), dir)),
    };
    let size = size_summary(imported);
    format!("{wrote}{outcomes}\n{counts}{size}\nTry it:\n  folio check{path}\n  folio list{path}\n{setup}")
}

/// How large `tools/list` is, and where it is too large, what a part of it would be.
fn size_summary(imported: &Import) -> String {
    let tokens = token_count(imported.tags.iter().map(|tag| tag.bytes).sum());
    let whole = format!("tools/list is about {} tokens\n", with_separators(tokens));
    let mut tags: Vec<&TagSize> = imported.tags.iter().filter(|tag| tag.tools > 0 && !tag.tag.is_empty()).collect();
    if tokens <= MAX_LIST_TOKENS || tags.len() < 2 {
        return whole;
    }
    tags.sort_by_key(|tag| std::cmp::Reverse(tag.bytes));
    let lines = tags.iter().take(MAX_SHOWN_TAGS).map(|tag| {
        let tokens = with_separators(token_count(tag.bytes));
        format!(
            "  --only {}  {}, about {tokens} tokens\n",
            shell_quote(std::ffi::OsStr::new(one_line(&tag.tag).as_ref())),
            count_noun(tag.tools, "tool")
        )
    });
    let lines: String = lines.collect();
    let more = if tags.len() > MAX_SHOWN_TAGS { "  `--list` shows all tags\n" } else { "" };
    format!(
        "{whole}Most models choose badly from more than {} tokens; parts of it:\n{lines}{more}",
        with_separators(MAX_LIST_TOKENS)
    )
}

/// The tags of a description, with what each holds.
fn tag_list(imported: &Import) -> String {
    let row = |tag: &str, operations: usize, tools: usize, bytes: usize| {
        [tag.to_owned(), with_separators(operations), with_separators(tools), with_separators(token_count(bytes))]
    };
    let mut rows = vec![["tag", "operations", "tools", "tokens"].map(str::to_owned)];
    for TagSize { tag, operations, tools, bytes } in &imported.tags {
        let name = if tag.is_empty() { "(no tag)".to_owned() } else { one_line(tag).into_owned() };
        rows.push(row(&name, *operations, *tools, *bytes));
    }
    let bytes = imported.tags.iter().map(|tag| tag.bytes).sum();
    rows.push(row("(all)", imported.operations, imported.tools, bytes));
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths = [0, 1, 2, 3].map(|column| width(column).unwrap_or_default());
    let [tag, operations, tools, tokens] = widths;
    let line = |[name, count, made, size]: &[String; 4]| {
        format!("{name:tag$}  {count:>operations$}  {made:>tools$}  {size:>tokens$}\n")
    };
    rows.iter().map(line).collect()
}

/// A number with a comma between thousands.
fn with_separators(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn outcome_label(outcome: &EntryOutcome) -> &'static str {
    match outcome {
        EntryOutcome::Added => "added",
        EntryOutcome::Refreshed => "refreshed",
        EntryOutcome::KeptEdited => "kept, as it was changed by hand:",
        EntryOutcome::Deleted => "left out, as it was deleted by hand:",
        EntryOutcome::Orphaned => "kept, but no longer in the description:",
        EntryOutcome::NameTaken => "kept, as somebody else wrote one of that name:",
    }
}
