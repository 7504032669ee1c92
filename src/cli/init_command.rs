//! `folio init --command`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::time::Instant;

use super::client_setup::client_setup;
use super::init::{SCHEMA_PATH, eprint_existing, existing_files, server_name, write_new_file, wrote_line};
use super::request::new_world;
use super::{Exit, InitArgs, Output};
use crate::files::Globs;
use crate::help_text::{Help, Subcommand, ToolSource, draft_tool, is_manual_page, parse_help};
use crate::load::{NEW_MANIFEST_NAME, folder_argument};
use crate::openapi::{UniqueNames, kebab, plain_line};
use crate::world::{ProgramCommand, World, strip_escapes};
use crate::yaml::entry;

/// How long a program may take to print its help.
const HELP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long all of its subcommands may take together.
const ALL_HELP_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of it is read.
const MAX_HELP_BYTES: u64 = 256 << 10;
/// How many subcommands are asked.
const MAX_SUBCOMMANDS: usize = 100;
/// How many names a message shows.
const MAX_SHOWN_NAMES: usize = 5;
const MAX_TOOL_NAME_CHARS: usize = 48;

/// Writes a server whose tools run a program, from what it prints for `--help`.
pub(super) fn run(command: &str, arguments: &InitArgs, schema: &str, output: &Output) -> anyhow::Result<Exit> {
    let names = [NEW_MANIFEST_NAME, SCHEMA_PATH];
    let existing = existing_files(&arguments.dir, &names);
    if !existing.is_empty() {
        eprint_existing(&existing, output);
        return Ok(Exit::Failure);
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    if let Some(word) = words.iter().find(|word| word.contains("{{") || word.ends_with(['{', '\\'])) {
        return Err(anyhow!("`{word}` in `--command` would be part of a template"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("could not start")?;
    let Drafts { tools, unparsed_subcommands } =
        runtime.block_on(draft_tools(&new_world(), &words, &arguments.only))?;
    eprint_skipped(&unparsed_subcommands, output);
    fs::create_dir_all(&arguments.dir)
        .with_context(|| format!("could not create the folder `{}`", arguments.dir.display()))?;
    let manifest = manifest(&server_name(&arguments.dir), command, &tools);
    for (name, text) in names.into_iter().zip([manifest.as_str(), schema]) {
        write_new_file(&arguments.dir.join(name), text)?;
        output.print(&wrote_line(&arguments.dir.join(name)))?;
    }
    let path = folder_argument(&arguments.dir);
    let count = match tools.len() {
        1 => "1 tool is a draft".to_owned(),
        count => format!("{count} tools are drafts"),
    };
    let setup = client_setup(&server_name(&arguments.dir), &arguments.dir);
    output.print(&format!(
        "\n{count}: review it, and at the comments `# review: …`\n\n\
         Try it:\n  folio check{path}\n  folio list{path}\n\n{setup}"
    ))?;
    Ok(Exit::Success)
}

fn manifest(server: &str, command: &str, tools: &[String]) -> String {
    format!(
        "# yaml-language-server: $schema=./folio.schema.json\n\
         # A draft from what `{}` prints for `--help`. Look at each tool, and at the comments `# review: …`.\n\
         # review: `cwd: \"{{{{workspace}}}}\"` in `run` starts the program in the client's folder, not in this one.\n\
         folio: 1\n\n{}\ntools:\n{}",
        plain_line(command),
        entry("server", &serde_json::json!({ "name": server }), 0),
        tools.join("\n")
    )
}

/// The tools of a program.
#[derive(Debug, Default)]
struct Drafts {
    tools: Vec<String>,
    /// The subcommands that were not asked any more.
    unparsed_subcommands: Vec<String>,
}

/// Says which subcommands have no tool, as there was no time left for them.
fn eprint_skipped(unparsed_subcommands: &[String], output: &Output) {
    if unparsed_subcommands.is_empty() {
        return;
    }
    let listed: Vec<String> = unparsed_subcommands.iter().take(MAX_SHOWN_NAMES).map(|name| plain_line(name)).collect();
    let others = match unparsed_subcommands.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let seconds = ALL_HELP_TIMEOUT.as_secs();
    let listed = listed.join("`, `");
    output.eprint(&format!(
        "warning: no tool for `{listed}`{others}: the help of all subcommands took more than {seconds} s\n\
         help: choose some with `--only`\n"
    ));
}

/// A tool for each subcommand, or one for a program that has none.
async fn draft_tools(world: &dyn World, words: &[&str], only: &[String]) -> anyhow::Result<Drafts> {
    let deadline = Instant::now() + ALL_HELP_TIMEOUT;
    let help = read_program_help(world, words, deadline).await?;
    let program = words.last().copied().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    if help.subcommands.is_empty() {
        if !only.is_empty() {
            return Err(anyhow!("`--only` chooses subcommands, and `{}` has none", words.join(" ")));
        }
        if help.options.is_empty() && help.positionals.is_empty() {
            return Err(anyhow!("`{} --help` prints nothing that can be read as help", words.join(" ")));
        }
        let name =
            UniqueNames::default().claim(&[kebab(program, MAX_TOOL_NAME_CHARS), "run".to_owned()], MAX_TOOL_NAME_CHARS);
        let tool = draft_tool(&ToolSource { name: &name, command_words: words, help: &help, about: "" });
        return Ok(Drafts { tools: vec![tool], unparsed_subcommands: Vec::new() });
    }
    let (mut drafts, mut names) = (Drafts::default(), UniqueNames::default());
    for subcommand in select(&help.subcommands, only)? {
        if Instant::now() >= deadline {
            drafts.unparsed_subcommands.push(subcommand.name.clone());
            continue;
        }
        let all: Vec<&str> = words.iter().copied().chain([subcommand.name.as_str()]).collect();
        // One that says nothing of itself has a tool without arguments.
        let help = read_program_help(world, &all, deadline).await.unwrap_or_default();
        let name = names.claim(&[kebab(&subcommand.name, MAX_TOOL_NAME_CHARS)], MAX_TOOL_NAME_CHARS);
        drafts.tools.push(draft_tool(&ToolSource {
            name: &name,
            command_words: &all,
            help: &help,
            about: &subcommand.about,
        }));
    }
    Ok(drafts)
}

/// The subcommands that a pattern of `--only` names; all where there is none.
fn select<'s>(subcommands: &'s [Subcommand], only: &[String]) -> anyhow::Result<Vec<&'s Subcommand>> {
    let globs = Globs::new(&only.iter().map(String::as_str).collect::<Vec<_>>(), &[])?;
    let is_meant = |subcommand: &&Subcommand| only.is_empty() || globs.matches(&subcommand.name);
    let found: Vec<&Subcommand> = subcommands.iter().filter(is_meant).take(MAX_SUBCOMMANDS).collect();
    match found.is_empty() {
        true => Err(anyhow!("no subcommand matches `{}`", only.join("`, `"))),
        false => Ok(found),
    }
}

/// What a program says of itself. For `--help` some show a manual page, whose prose reads worse than what they print for
/// `-h`.
async fn read_program_help(world: &dyn World, words: &[&str], deadline: Instant) -> anyhow::Result<Help> {
    let manual = run_help_option(world, words, "--help", deadline).await?;
    if is_manual_page(&manual) {
        let short = run_help_option(world, words, "-h", deadline).await.unwrap_or_default();
        let help = parse_help(&short, words);
        let is_read = !help.options.is_empty() || !help.positionals.is_empty();
        if is_read && !is_manual_page(&short) {
            return Ok(help);
        }
    }
    Ok(parse_help(&manual, words))
}

/// What a program prints for an option: without a shell, with nothing on its stdin, and not for long.
async fn run_help_option(world: &dyn World, words: &[&str], option: &str, deadline: Instant) -> anyhow::Result<String> {
    let (program, arguments) = words.split_first().context("`--command` names no program")?;
    let mut command = ProgramCommand::new(*program, std::env::current_dir().context("there is no current folder")?);
    command.args = arguments.iter().copied().chain([option]).map(Into::into).collect();
    // Nothing is shown page by page or in colour.
    command.env = [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("NO_COLOR", "1"), ("COLUMNS", "120")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let left = deadline.saturating_duration_since(Instant::now());
    (command.timeout, command.max_output) = (HELP_TIMEOUT.min(left), MAX_HELP_BYTES);
    let output = world.run_program(command).await?;
    let texts = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(&bytes.bytes).into_owned());
    // Some print their help as an error.
    let text = texts.iter().find(|text| !text.trim().is_empty()).map(String::as_str).unwrap_or_default();
    Ok(strip_escapes(text))
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use tokio::time::sleep;

    use super::*;
    use crate::world::{CapturedBytes, HttpRequest, HttpResponse, ProgramOutput, WorldError};

    /// A program that prints its own help at once, and that of its subcommands never.
    struct SlowProgram {
        subcommands: usize,
    }

    impl World for SlowProgram {
        fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
            Box::pin(async move {
                if command.args.len() > 1 {
                    sleep(command.timeout).await;
                    return Err(WorldError::timed_out(command.timeout));
                }
                let lines: String = (0..self.subcommands).map(|number| format!("  c{number}  Does it\n")).collect();
                let help = format!("Usage: slow <COMMAND>\n\nCommands:\n{lines}");
                let (stdout, stderr) = (CapturedBytes::new(help.into_bytes(), 0), CapturedBytes::default());
                Ok(ProgramOutput { stdout, stderr, exit_code: Some(0), signal: None })
            })
        }

        fn send_request(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
            Box::pin(async { Err(WorldError::Cancelled) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_subcommands_share_one_minute() {
        let started = Instant::now();
        let drafts = draft_tools(&SlowProgram { subcommands: 9 }, &["slow"], &[]).await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 60);
        // Six times ten seconds.
        assert_eq!(drafts.tools.len(), 6);
        assert_eq!(drafts.unparsed_subcommands, ["c6", "c7", "c8"]);
    }
}
