//! Fetches folders of repositories with the program `git`, which has the credentials of its user.
//!
//! Nothing of a repository is checked out, and nothing in it runs: its objects are listed and read.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::cache::{PackCache, remove_folder};
use super::source::GitSource;
use super::tree::{MAX_FILES, PackTree, TreeError, TreeLimits};
use crate::diagnostic::{one_line, sanitize, truncate};
use crate::world::{ProgramCommand, ProgramOutput, World, WorldError};

/// How long a transfer may take.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(600);
/// How long it may take to ask a server where its refs are.
const LISTING_TIMEOUT: Duration = Duration::from_secs(60);
/// How long what is local may take.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of a listing is read.
const MAX_LISTING_BYTES: u64 = 16 << 20;
/// What the header of an object adds to it.
const MAX_HEADER_BYTES: u64 = 100;
/// How much of what git says is shown.
const MAX_MESSAGE_CHARS: usize = 600;
/// What is fetched.
const FETCHED_REF: &str = "refs/folio/pack";

/// The options by which nothing but git itself runs, and nothing is asked.
const OPTIONS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.version=2",
    "log.showSignature=false",
];

/// The variables by which the same is said, those of its programs too.
const VARIABLES: [(&str, &str); 9] = [
    ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("LC_ALL", "C"),
];

/// The variables of the user by which git finds credentials and ways.
const USER_VARIABLES: &[&str] = &[
    "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "USER", "LOGNAME", "GNUPGHOME",
    "PASSWORD_STORE_DIR", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// Why a pack could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The program could not be run to its end.
    #[error(transparent)]
    Program(#[from] WorldError),
    /// It failed.
    #[error("git {command}: {message}")]
    Git {
        /// What it was told to do.
        command: &'static str,
        /// What it says.
        message: String,
    },
    /// What it prints is not what it should.
    #[error("git {0}: unexpected output")]
    Output(&'static str),
    /// The commit has no such folder.
    #[error("no folder `{}` in the repository", one_line(.0))]
    NoFolder(String),
    /// The files are no pack.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The cache cannot be written.
    #[error("cannot write the cache: {0}")]
    Cache(#[from] std::io::Error),
}

/// The files of a commit.
#[derive(Debug)]
pub struct FetchedPack {
    /// The commit.
    pub commit: String,
    /// The files.
    pub tree: PackTree,
    /// The paths of links and submodules, which are left out.
    pub skipped: Vec<String>,
}

/// The files of a repository.
#[derive(Debug)]
pub struct RepositoryListing {
    /// The paths of all files.
    pub paths: Vec<String>,
    /// The text of the file that was asked for, if there is one.
    pub text: Option<Vec<u8>>,
}

/// Fetches the folder of a source, at `commit` or where its revision is now.
///
/// # Errors
/// git fails, or the files are no pack.
pub async fn fetch_pack(
    world: &dyn World,
    cache: &PackCache,
    source: &GitSource,
    commit: Option<&str>,
) -> Result<FetchedPack, FetchError> {
    let (repository, commit) = fetch_commit(world, cache, source, commit).await?;
    let listing = repository.list(&commit, source.path.as_deref()).await?;
    let tree = repository.read(&listing.files).await?;
    Ok(FetchedPack { commit, tree, skipped: listing.skipped })
}

/// The paths of all files of the repository of a source, and the text of one of them.
///
/// # Errors
/// git fails, or there are too many files.
pub async fn list_repository(
    world: &dyn World,
    cache: &PackCache,
    source: &GitSource,
    file: &str,
) -> Result<RepositoryListing, FetchError> {
    let (repository, commit) = fetch_commit(world, cache, source, None).await?;
    let mut command = repository.git("ls-tree", &["-r", "-z", "--name-only", "--full-tree", &commit], LOCAL_TIMEOUT);
    command.max_output = MAX_LISTING_BYTES;
    let output = repository.run("ls-tree", command).await?;
    if output.stdout.is_truncated() {
        return Err(TreeError::TooManyFiles.into());
    }
    let paths = output.stdout.bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths: Vec<String> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let mut command = repository.git("cat-file", &["blob", &format!("{commit}:{file}")], LOCAL_TIMEOUT);
    command.max_output = MAX_LISTING_BYTES;
    let text = repository.world.run_program(command).await?;
    let is_whole = text.exit_code == Some(0) && !text.stdout.is_truncated();
    Ok(RepositoryListing { paths, text: is_whole.then_some(text.stdout.bytes) })
}

/// Fetches a commit, or that of a revision, into a repository of our own.
async fn fetch_commit<'w>(
    world: &'w dyn World,
    cache: &PackCache,
    source: &GitSource,
    commit: Option<&str>,
) -> Result<(Repository<'w>, String), FetchError> {
    let repository = Repository::create(world, cache).await?;
    let wanted = commit.or(source.rev.as_deref()).unwrap_or("HEAD");
    let fetched = repository.fetch(&source.url, &[&format!("+{wanted}:{FETCHED_REF}")], true).await;
    let tip = match (fetched, commit) {
        (Ok(()), _) => FETCHED_REF,
        // Some servers give out branches and tags only.
        (Err(FetchError::Git { .. }), Some(commit)) => {
            repository.fetch(&source.url, &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], false).await?;
            commit
        }
        (Err(error), _) => return Err(error),
    };
    let commit = repository.commit_of(tip).await?;
    Ok((repository, commit))
}

/// The commit that the revision of a source is now; `None` where it is gone.
///
/// # Errors
/// git fails.
pub async fn remote_commit(
    world: &dyn World,
    cache: &PackCache,
    source: &GitSource,
) -> Result<Option<String>, FetchError> {
    if let Some(commit) = source.fixed_commit() {
        return Ok(Some(commit.to_owned()));
    }
    let repository = Repository::create(world, cache).await?;
    let rev = source.rev.as_deref().unwrap_or("HEAD");
    let peeled = format!("{rev}^{{}}");
    let command = repository.git("ls-remote", &["--quiet", "--", &source.url, rev, &peeled], LISTING_TIMEOUT);
    let output = repository.run("ls-remote", command).await?;
    let text = String::from_utf8_lossy(&output.stdout.bytes).into_owned();
    let refs: HashMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('\t')).map(|(id, name)| (name, id)).collect();
    // In the order of git itself.
    let names = ["", "refs/", "refs/tags/", "refs/heads/"].map(|folder| format!("{folder}{rev}"));
    let find = |name: &String| refs.get(format!("{name}^{{}}").as_str()).or_else(|| refs.get(name.as_str()));
    Ok(names.iter().find_map(find).map(|id| (*id).to_owned()))
}

/// A bare repository of our own, which is gone when it is dropped.
struct Repository<'w> {
    world: &'w dyn World,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl Drop for Repository<'_> {
    fn drop(&mut self) {
        let _ = remove_folder(&self.folder);
    }
}

/// A file of a commit.
struct ListedFile {
    path: String,
    object: String,
    size: u64,
}

/// What a commit has below a folder.
#[derive(Default)]
struct Listing {
    files: Vec<ListedFile>,
    skipped: Vec<String>,
}

impl<'w> Repository<'w> {
    async fn create(world: &'w dyn World, cache: &PackCache) -> Result<Repository<'w>, FetchError> {
        let folder = cache.temporary_folder()?;
        let mut repository = Repository { world, folder, environment: environment() };
        let init = repository.git("init", &["--quiet", "--bare", "--template="], LOCAL_TIMEOUT);
        repository.run("init", init).await?;
        let ssh = repository.ssh_command().await?;
        repository.environment.push(("GIT_SSH_COMMAND".to_owned(), ssh));
        Ok(repository)
    }

    /// The ssh of the user, which asks nothing.
    async fn ssh_command(&self) -> Result<String, FetchError> {
        let from_env = std::env::var("GIT_SSH_COMMAND").ok().filter(|command| !command.trim().is_empty());
        let command = match from_env {
            Some(from_env) => from_env,
            None => {
                let config = self.git("config", &["--get", "core.sshCommand"], LOCAL_TIMEOUT);
                let output = self.world.run_program(config).await?;
                let text = String::from_utf8_lossy(&output.stdout.bytes).trim().to_owned();
                if text.is_empty() { "ssh".to_owned() } else { text }
            }
        };
        Ok(format!("{command} -oBatchMode=yes -oConnectTimeout=30"))
    }

    fn git(&self, command: &str, arguments: &[&str], timeout: Duration) -> ProgramCommand {
        let mut program = ProgramCommand::new("git", &self.folder);
        let mut git_dir = std::ffi::OsString::from("--git-dir=");
        git_dir.push(&self.folder);
        program.args.push(git_dir);
        program.args.extend(OPTIONS.iter().flat_map(|option| ["-c".into(), option.into()]));
        program.args.push(command.into());
        program.args.extend(arguments.iter().map(Into::into));
        program.env.clone_from(&self.environment);
        program.timeout = timeout;
        program
    }

    async fn run(&self, name: &'static str, command: ProgramCommand) -> Result<ProgramOutput, FetchError> {
        let output = self.world.run_program(command).await?;
        if output.exit_code == Some(0) {
            return Ok(output);
        }
        let stderr = output.stderr.to_display_text();
        let message = truncate(stderr.trim(), MAX_MESSAGE_CHARS);
        let message = message.strip_prefix("fatal: ").unwrap_or(&message);
        Err(FetchError::Git { command: name, message: with_help(sanitize(message).into_owned()) })
    }

    async fn fetch(&self, url: &str, refs: &[&str], shallow: bool) -> Result<(), FetchError> {
        let mut arguments = vec!["--quiet", "--no-tags", "--no-recurse-submodules"];
        arguments.extend(shallow.then_some("--depth=1"));
        arguments.extend(["--", url]);
        arguments.extend(refs);
        let command = self.git("fetch", &arguments, TRANSFER_TIMEOUT);
        self.run("fetch", command).await.map(|_| ())
    }

    async fn commit_of(&self, tip: &str) -> Result<String, FetchError> {
        let peeled = format!("{tip}^{{commit}}");
        let command = self.git("rev-parse", &["--verify", "--quiet", "--end-of-options", &peeled], LOCAL_TIMEOUT);
        let output = self.run("rev-parse", command).await?;
        let text = String::from_utf8_lossy(&output.stdout.bytes);
        let commit = text.lines().last().unwrap_or_default().to_owned();
        if super::source::is_commit(&commit) { Ok(commit) } else { Err(FetchError::Output("rev-parse")) }
    }

    /// Lists the files below a folder of a commit.
    async fn list(&self, commit: &str, folder: Option<&str>) -> Result<Listing, FetchError> {
        let folder = folder.unwrap_or_default();
        let tree = format!("{commit}:{folder}");
        let kind = self.world.run_program(self.git("cat-file", &["-t", &tree], LOCAL_TIMEOUT)).await?;
        if kind.stdout.bytes != b"tree\n" {
            return Err(FetchError::NoFolder(folder.to_owned()));
        }
        let mut command = self.git("ls-tree", &["-r", "-z", "-l", "--full-tree", &tree], LOCAL_TIMEOUT);
        command.max_output = MAX_LISTING_BYTES;
        let output = self.run("ls-tree", command).await?;
        if output.stdout.is_truncated() {
            return Err(TreeError::TooManyFiles.into());
        }
        parse_listing(&output.stdout.bytes)
    }

    /// Reads files, each object once.
    async fn read(&self, files: &[ListedFile]) -> Result<PackTree, FetchError> {
        let mut sizes: HashMap<&str, u64> = HashMap::new();
        sizes.extend(files.iter().map(|file| (file.object.as_str(), file.size)));
        let mut command = self.git("cat-file", &["--batch"], LOCAL_TIMEOUT);
        command.max_output = sizes.values().map(|size| size + MAX_HEADER_BYTES).sum();
        command.stdin = Some(sizes.keys().map(|object| format!("{object}\n")).collect::<String>().into_bytes());
        let output = self.run("cat-file", command).await?;
        let objects = parse_objects(&output.stdout.bytes).ok_or(FetchError::Output("cat-file"))?;
        let mut tree = PackTree::default();
        for file in files {
            let bytes = objects.get(file.object.as_str()).filter(|bytes| bytes.len() as u64 == file.size);
            tree.insert(file.path.clone(), bytes.ok_or(FetchError::Output("cat-file"))?.to_vec());
        }
        Ok(tree)
    }
}

/// What git says when it may not ask, with what helps.
fn with_help(message: String) -> String {
    const NO_ACCESS: [&str; 6] = [
        "terminal prompts disabled",
        "unable to get password",
        "Authentication failed",
        "Permission denied",
        "Host key verification failed",
        "could not read Username",
    ];
    match NO_ACCESS.iter().any(|words| message.contains(words)) {
        true => {
            format!("{message}\nhelp: folio asks for no password: set git up so that `git ls-remote URL` asks for none")
        }
        false => message,
    }
}

/// The variables of git, besides those of every program.
fn environment() -> Vec<(String, String)> {
    let configured = (0..64).flat_map(|nth| [format!("GIT_CONFIG_KEY_{nth}"), format!("GIT_CONFIG_VALUE_{nth}")]);
    let names = USER_VARIABLES.iter().map(|name| (*name).to_owned());
    let names = names.chain(["GIT_CONFIG_COUNT".to_owned()]).chain(configured);
    let of_user = names.filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)));
    of_user.chain(VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).collect()
}

/// Reads what `ls-tree -r -z -l` prints: `MODE TYPE OBJECT SIZE\tPATH\0`.
fn parse_listing(output: &[u8]) -> Result<Listing, FetchError> {
    let (mut listing, mut limits) = (Listing::default(), TreeLimits::default());
    for entry in output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let tab = entry.iter().position(|byte| *byte == b'\t').ok_or(FetchError::Output("ls-tree"))?;
        let (head, path) = entry.split_at(tab);
        let path = String::from_utf8_lossy(path.get(1..).unwrap_or_default()).into_owned();
        let head = String::from_utf8_lossy(head).into_owned();
        let [mode, kind, object, size] = head.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(FetchError::Output("ls-tree"));
        };
        if kind == "blob" && mode.starts_with("100") {
            let size = size.parse().map_err(|_| FetchError::Output("ls-tree"))?;
            limits.add(&path, size)?;
            listing.files.push(ListedFile { path, object: object.to_owned(), size });
        } else if listing.skipped.len() < MAX_FILES {
            listing.skipped.push(path);
        }
    }
    if listing.files.is_empty() { Err(TreeError::Empty.into()) } else { Ok(listing) }
}

/// Reads what `cat-file --batch` prints: `OBJECT blob SIZE\n`, the bytes, and a line break.
fn parse_objects(mut output: &[u8]) -> Option<HashMap<&str, &[u8]>> {
    let mut objects = HashMap::new();
    while !output.is_empty() {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let header = std::str::from_utf8(output.get(..end)?).ok()?;
        let (object, rest) = header.split_once(' ')?;
        let size: usize = rest.strip_prefix("blob ")?.parse().ok()?;
        let start = end + 1;
        objects.insert(object, output.get(start..start.checked_add(size)?)?);
        output = output.get(start + size + 1..)?;
    }
    Some(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &[&str]) -> Result<Vec<String>, String> {
        let output: String = entries.iter().map(|entry| format!("{entry}\0")).collect();
        let listing = parse_listing(output.as_bytes()).map_err(|error| error.to_string())?;
        Ok(listing.files.into_iter().map(|file| file.path).collect())
    }

    #[test]
    fn listing_has_only_regular_files() {
        let files = listed(&[
            "100644 blob 11       4\ta.md",
            "100755 blob 12     400\tb c.sh",
            "120000 blob 13       9\tlink",
            "160000 commit 14       -\tmodule",
        ]);
        assert_eq!(files.unwrap(), ["a.md", "b c.sh"]);
        for entry in ["x", "100644 blob 11 4", "100644 blob 11 x\tb", "100644 blob 4\tb"] {
            assert!(listed(&["100644 blob 11 4\ta", entry]).is_err(), "{entry}");
        }
        assert_eq!(listed(&["100644 blob 11 4\t../a"]).unwrap_err(), "unsafe path `../a`");
        assert_eq!(listed(&["120000 blob 13 9\tlink"]).unwrap_err(), "no files");
    }

    #[test]
    fn objects_are_read_by_their_sizes() {
        let objects = parse_objects(b"aa blob 3\na\nb\nbb blob 0\n\n").unwrap();
        assert_eq!(objects.get("aa"), Some(&b"a\nb".as_slice()));
        assert_eq!(objects.get("bb"), Some(&b"".as_slice()));
        for wrong in
            [b"aa missing\n".as_slice(), b"aa blob 9\nx\n", b"aa tree 1\nx\n", b"aa blob 99999999999999999999\n"]
        {
            assert!(parse_objects(wrong).is_none());
        }
    }
}
