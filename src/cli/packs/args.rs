//! The arguments of the subcommands that manage packs.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::manifest::Grant;

const ADD_HELP: &str = "\
Examples:
  folio add acme/docs                     a repository on GitHub, in the folder that you are in
  folio add https://git.example/docs.git --rev v1.2.0 --path prompts --as docs
  folio add anthropics/skills pdf         one plugin of a marketplace, or one skill
  folio add wshobson/agents --list        what is there: plugins, skills, commands, agents
  folio add wshobson/agents --all         all plugins of a marketplace as one pack
  folio add ./packs/review --allow exec   a folder below that of the manifest
  folio add https://example.com/docs-1.2.0.tar.gz --as docs    an archive: .tar.gz, .tgz, .tar or .zip

SOURCE is OWNER/REPO, a URL (https, ssh or file), an archive or a folder. The pack is written to folio.yaml, and its commit \
and the digest of its files to folio.lock; an archive is written with its SHA-256. Its texts are served immediately; the grants in `--allow` take effect after `folio trust`.

Everything else in the file stays as it is. Nothing is written if the manifest would have errors.";

const REMOVE_HELP: &str = "\
Examples:
  folio remove docs                       take the pack `docs` out of the manifest and folio.lock
  folio remove docs -f ~/desk             in another folder";

const UPDATE_HELP: &str = "\
Examples:
  folio update                            move all packs to where their branches and tags are now
  folio update docs --diff                one pack; write folio.lock, and print what changes, first of all what it does
  folio update --diff --dry-run           print what would change, and write nothing

An archive is downloaded again; where it has other bytes now, its new `sha256` is written to the manifest.

A pack whose files change keeps its texts, and does nothing else until `folio trust`.";

const TRUST_HELP: &str = "\
Example:
  folio trust docs                        show what the pack would run, send and change, and ask

A pack with `git` or `url` may do what `allow` says once this is confirmed, as long as its files and settings are the same. \
A pack by `path` is your own.";

const LOCK_HELP: &str = "\
Examples:
  folio lock                              add new packs to folio.lock, and fetch what is not in the cache
  folio lock --check                      offline, for CI: check that folio.lock matches the manifest
  folio lock --remote                     check whether branches, tags or archives have changed

A pack that is locked stays as it is; `folio update` moves it.

Exit status: 0 when all went well, 1 when something is not locked or has moved, 2 for a wrong command line or a path that \
cannot be read.";

const FETCH_HELP: &str = "\
Examples:
  folio fetch                             fetch the packs in folio.lock that are missing from the cache, for example after a checkout
  FOLIO_CACHE=/srv/packs folio fetch      to another cache

Every file is checked against the digest in folio.lock.";

/// `folio add`.
#[derive(Debug, Args)]
#[command(after_help = ADD_HELP)]
pub struct AddArgs {
    /// OWNER/REPO on GitHub, a URL, an archive or a folder
    pub source: String,
    /// A plugin of the marketplace in the repository or the archive, or else a skill in it
    pub name: Option<String>,
    /// Write nothing: print what SOURCE has, one file or plugin on a line; needs no folio.yaml
    #[arg(long, conflicts_with_all = ["name", "key", "format", "prefix", "allow", "all"])]
    pub list: bool,
    /// All plugins of a marketplace that are in its repository, as one pack
    #[arg(long, conflicts_with_all = ["name", "format"])]
    pub all: bool,
    /// The key of the pack [default: NAME, else the last name of SOURCE]
    #[arg(long = "as", value_name = "KEY")]
    pub key: Option<String>,
    /// A branch, a tag or a commit of 40 digits [default: the default branch]
    #[arg(long)]
    pub rev: Option<String>,
    /// The SHA-256 that the archive must have; SOURCE is an archive then, whatever its name is
    #[arg(long, value_name = "HEX", conflicts_with = "rev")]
    pub sha256: Option<String>,
    /// The folder in the repository or the archive
    #[arg(long, value_name = "DIR")]
    pub path: Option<String>,
    /// The format of its files, or several with commas, as in a manifest
    #[arg(long, value_delimiter = ',')]
    pub format: Vec<String>,
    /// The prefix of its names [default: the key]
    #[arg(long)]
    pub prefix: Option<String>,
    /// What it may do, with commas
    #[arg(long, value_name = "GRANT", value_delimiter = ',', value_parser = Grant::ALL.map(Grant::as_str))]
    pub allow: Vec<String>,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
}

/// `folio remove`.
#[derive(Debug, Args)]
#[command(after_help = REMOVE_HELP)]
pub struct RemoveArgs {
    /// The key of the pack
    pub key: String,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
}

/// `folio update`.
#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
pub struct UpdateArgs {
    /// The key of the pack in folio.lock [default: all]
    pub key: Option<String>,
    /// Print what changes too: first what the packs do, then their files
    #[arg(long)]
    pub diff: bool,
    /// Write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
}

/// `folio trust`.
#[derive(Debug, Args)]
#[command(after_help = TRUST_HELP)]
pub struct TrustArgs {
    /// The key of the pack in folio.lock
    pub key: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
}

/// `folio lock`.
#[derive(Debug, Args)]
#[command(after_help = LOCK_HELP)]
pub struct LockArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// Check that folio.lock matches the manifest, without writing or fetching
    #[arg(long)]
    pub check: bool,
    /// Write nothing: say which branches and tags are at another commit now
    #[arg(long, conflicts_with = "check")]
    pub remote: bool,
}

/// `folio fetch`.
#[derive(Debug, Args)]
#[command(after_help = FETCH_HELP)]
pub struct FetchArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
}
