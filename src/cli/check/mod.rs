//! `folio check`.

mod access_listing;
mod args;
pub(super) mod explain;
mod fix;
mod sandbox_listing;
pub(super) mod schema;
mod watch;

use std::io::Read;
use std::path::Path;

use anyhow::Context;

use crate::catalog::{KnownClient, build_for_clients};
use crate::cli::manifest::environment;
use crate::cli::{Exit, Output};
use crate::compile::{FileBuffers, LoadDependencies};
use crate::diagnostic::{Format, Report, render, sanitize};
use crate::load::{EnvSource, ManifestLocation, load_buffers};
use crate::redact::Redactor;
use access_listing::ManifestAccess;
use sandbox_listing::list_sandboxes;

pub(crate) use args::{CheckArgs, ExplainArgs, SCHEMA_HELP};
pub(crate) use fix::is_better;
pub(crate) use sandbox_listing::warn_of_gaps;

/// The largest text on stdin.
const MAX_STDIN_BYTES: u64 = crate::compile::MAX_FILE_BYTES;

/// Checks manifests and says all that is wrong.
pub(super) fn run(arguments: &CheckArgs, output: &Output) -> anyhow::Result<Exit> {
    let mut check = ManifestCheck::new(arguments, output)?;
    if arguments.watch {
        return watch::run(check);
    }
    if arguments.fix || arguments.diff {
        let fixed = fix::fix(&mut check);
        if arguments.diff {
            output.print(&fixed.diff())?;
            return Ok(if fixed.is_empty() { Exit::Success } else { Exit::Failure });
        }
        fixed.write(output)?;
    }
    let checked = check.check();
    for path in check.buffers.paths().filter(|path| !checked.dependencies.files.contains(*path)) {
        let path = sanitize(&path.to_string_lossy()).into_owned();
        output.eprint(&format!("warning: `{path}` is not checked: the manifest does not name it\n"));
    }
    check.print(&checked)
}

/// The manifests to check.
struct ManifestCheck {
    arguments: CheckArgs,
    output: Output,
    environment: EnvSource,
    locations: Vec<ManifestLocation>,
    /// The clients whose limits count.
    clients: Vec<KnownClient>,
    /// Texts instead of files.
    buffers: FileBuffers,
}

/// The outcome of a check of all manifests.
struct CheckOutcome {
    report: Report,
    dependencies: LoadDependencies,
    /// What the sandboxes allow.
    sandboxes: String,
    /// Who may use what, for each manifest without errors.
    access: Vec<ManifestAccess>,
}

impl ManifestCheck {
    fn new(arguments: &CheckArgs, output: &Output) -> anyhow::Result<ManifestCheck> {
        let shows_access = matches!(arguments.format, Format::Text | Format::Json);
        anyhow::ensure!(!arguments.access || shows_access, "`--access` needs `--format text` or `--format json`");
        let is_named =
            |client: &KnownClient| arguments.clients.iter().any(|name| name == "all" || name == client.name());
        let mut check = ManifestCheck {
            arguments: arguments.clone(),
            output: output.clone(),
            environment: environment(&[], arguments.workspace.as_deref()),
            locations: Vec::new(),
            clients: KnownClient::ALL.iter().copied().filter(is_named).collect(),
            buffers: FileBuffers::default(),
        };
        for path in &arguments.paths {
            let location = match path.as_os_str() == "-" {
                true => check.read_stdin()?,
                false => ManifestLocation::resolve(path)?,
            };
            check.locations.push(location);
        }
        Ok(check)
    }

    /// Reads stdin instead of a file, and finds the manifest of that file.
    fn read_stdin(&mut self) -> anyhow::Result<ManifestLocation> {
        let file = self.arguments.stdin_path.as_deref().unwrap_or(Path::new("folio.yaml"));
        let location = ManifestLocation::from_file(file)?;
        let mut text = Vec::new();
        std::io::stdin().take(MAX_STDIN_BYTES + 1).read_to_end(&mut text).context("could not read stdin")?;
        anyhow::ensure!(text.len() as u64 <= MAX_STDIN_BYTES, "stdin is larger than {MAX_STDIN_BYTES} bytes");
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = std::fs::canonicalize(parent).with_context(|| format!("cannot read `{}`", parent.display()))?;
        self.buffers.insert(parent.join(file.file_name().unwrap_or_default()), text);
        Ok(location)
    }

    fn check(&self) -> CheckOutcome {
        let mut checked = CheckOutcome {
            report: Report::default(),
            dependencies: LoadDependencies::default(),
            sandboxes: String::new(),
            access: Vec::new(),
        };
        let mut redactors = Vec::new();
        for location in &self.locations {
            let built = build_for_clients(load_buffers(location, &self.environment, &self.buffers), &self.clients);
            if self.arguments.verbose {
                checked.sandboxes.push_str(&list_sandboxes(&built));
            }
            if self.arguments.access {
                checked.access.extend(ManifestAccess::of(&built));
            }
            checked.dependencies.files.extend(built.dependencies.files);
            checked.dependencies.folders.extend(built.dependencies.folders);
            checked.dependencies.workspace = checked.dependencies.workspace.or(built.dependencies.workspace);
            checked.report.append(built.report);
            redactors.push(built.redactor);
        }
        self.output.set_redactor(std::sync::Arc::new(Redactor::join(redactors.iter().map(AsRef::as_ref))));
        checked
    }

    /// Prints the report, and returns whether it is good.
    fn print(&self, checked: &CheckOutcome) -> anyhow::Result<Exit> {
        let (output, arguments) = (&self.output, &self.arguments);
        let report = render(&checked.report, arguments.format, output.style());
        output.print(&match (arguments.access, arguments.format) {
            (true, Format::Json) => {
                let access = serde_json::to_string_pretty(&checked.access)?;
                format!("{{ \"diagnostics\": {}, \"access\": {access} }}\n", report.trim_end())
            }
            _ => report,
        })?;
        output.print(&checked.sandboxes)?;
        if arguments.format == Format::Text {
            checked.access.iter().try_for_each(|access| output.print(&access.to_text()))?;
        }
        if let (Format::Text, Some(workspace)) = (arguments.format, &checked.dependencies.workspace) {
            output.print(&format!("workspace: {}\n", sanitize(&workspace.to_string_lossy())))?;
        }
        let failed = checked.report.has_errors() || arguments.strict && checked.report.has_warnings();
        Ok(if failed { Exit::Failure } else { Exit::Success })
    }
}
