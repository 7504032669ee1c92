//! Fetches folders of repositories with the program `git`, which has the credentials of its user.
//!
//! Nothing of a repository is checked out, and nothing in it runs: its objects are listed and read.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::cache::{PackCache, remove_folder};
use super::source::{GitSource, PackHosts, private_host};
use super::tree::{MAX_FILES, PackTree, TreeError, check_files};
use crate::diagnostic::{one_line, sanitize, truncate};
use crate::world::{HostPolicy, ProgramCommand, ProgramOutput, ProxyVariables, World, WorldError};

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

/// The variables of the user by which git finds ways.
const NETWORK_VARIABLES: &[&str] = &[
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
];

/// The variables of the user by which git finds credentials.
const CREDENTIAL_VARIABLES: &[&str] = &[
    "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "USER", "LOGNAME", "GNUPGHOME",
    "PASSWORD_STORE_DIR", "GIT_CONFIG_GLOBAL",
];

/// How repositories are reached.
#[derive(Clone, Copy)]
pub struct GitAccess<'a> {
    /// What runs git.
    pub world: &'a dyn World,
    /// Where git works.
    pub cache: &'a PackCache,
    /// The proxies that git takes from the environment.
    pub proxies: &'a ProxyVariables,
    /// Where repositories may be, and whether git gets the credentials of its user.
    pub hosts: PackHosts,
}

/// Why a pack could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The program could not be run to its end.
    #[error(transparent)]
    Program(#[from] WorldError),
    /// Another pack names a host that not everybody reaches.
    #[error("{}", private_host(.0))]
    PrivateHost(String),
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
    /// The files are not a pack.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The cache cannot be written.
    #[error("cannot write the cache: {0}")]
    Cache(#[from] std::io::Error),
}

/// The files of a commit.
#[derive(Debug)]
pub struct FetchedPack {
    pub commit: String,
    /// The files.
    pub tree: PackTree,
    /// The paths of links and submodules, which are left out.
    pub skipped: Vec<String>,
    /// How many files are left out because no format serves them.
    pub unserved: usize,
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
/// git fails, or the files are not a pack.
pub async fn fetch_pack(
    access: GitAccess<'_>,
    source: &GitSource,
    commit: Option<&str>,
) -> Result<FetchedPack, FetchError> {
    let (repository, commit) = fetch_commit(access, source, commit).await?;
    let listing = repository.list(&commit, source.path.as_deref()).await?;
    let tree = repository.read(&listing.files).await?;
    let Listing { skipped, unserved, .. } = listing;
    Ok(FetchedPack { commit, tree, skipped, unserved })
}

/// The paths of all files of the repository of a source, and the text of the first of `files` that is there.
///
/// # Errors
/// git fails, or there are too many files.
pub async fn list_repository(
    access: GitAccess<'_>,
    source: &GitSource,
    files: &[&str],
) -> Result<RepositoryListing, FetchError> {
    let (repository, commit) = fetch_commit(access, source, None).await?;
    let mut command = repository.git("ls-tree", &["-r", "-z", "--name-only", "--full-tree", &commit], LOCAL_TIMEOUT);
    command.max_output = MAX_LISTING_BYTES;
    let output = repository.run("ls-tree", command).await?;
    if output.stdout.is_truncated() {
        return Err(TreeError::TooManyFiles.into());
    }
    let paths = output.stdout.bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths: Vec<String> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let Some(file) = files.iter().find(|file| paths.iter().any(|path| path == *file)) else {
        return Ok(RepositoryListing { paths, text: None });
    };
    let mut command = repository.git("cat-file", &["blob", &format!("{commit}:{file}")], LOCAL_TIMEOUT);
    command.max_output = MAX_LISTING_BYTES;
    let text = repository.world.run_program(command).await?;
    let is_whole = text.exit_code == Some(0) && !text.stdout.is_truncated();
    Ok(RepositoryListing { paths, text: is_whole.then_some(text.stdout.bytes) })
}

/// Fetches a commit, or that of a revision, into a repository of our own.
async fn fetch_commit<'w>(
    access: GitAccess<'w>,
    source: &GitSource,
    commit: Option<&str>,
) -> Result<(Repository<'w>, String), FetchError> {
    let repository = Repository::create(access, &source.url).await?;
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
pub async fn remote_commit(access: GitAccess<'_>, source: &GitSource) -> Result<Option<String>, FetchError> {
    if let Some(commit) = source.fixed_commit() {
        return Ok(Some(commit.to_owned()));
    }
    let repository = Repository::create(access, &source.url).await?;
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
    /// Those beside [`OPTIONS`].
    options: Vec<String>,
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
    /// How many files are none of these, since no format serves them.
    unserved: usize,
}

impl<'w> Repository<'w> {
    /// A repository for what is fetched from a URL.
    async fn create(access: GitAccess<'w>, url: &str) -> Result<Repository<'w>, FetchError> {
        let GitAccess { world, cache, proxies, hosts } = access;
        let options = match hosts {
            PackHosts::Any => Vec::new(),
            PackHosts::Public => public_options(url, proxies).await?,
        };
        let folder = cache.temporary_folder()?;
        let mut repository = Repository { world, folder, options, environment: environment(hosts) };
        if hosts == PackHosts::Public {
            // A file of passwords is looked for there.
            let home = repository.folder.to_string_lossy().into_owned();
            repository.environment.push(("HOME".to_owned(), home));
        }
        let init = repository.git("init", &["--quiet", "--bare", "--template="], LOCAL_TIMEOUT);
        repository.run("init", init).await?;
        if hosts == PackHosts::Any {
            let ssh = repository.ssh_command().await?;
            repository.environment.push(("GIT_SSH_COMMAND".to_owned(), ssh));
        }
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
        let options = OPTIONS.into_iter().chain(self.options.iter().map(String::as_str));
        program.args.extend(options.flat_map(|option| ["-c".into(), option.into()]));
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

/// The options for a URL that only another pack names: its host has public addresses, which are connected to whatever its
/// name means later, and gets no credentials.
async fn public_options(url: &str, proxies: &ProxyVariables) -> Result<Vec<String>, FetchError> {
    let url = Url::parse(url).map_err(|_| WorldError::InvalidUrl { reason: "missing host" })?;
    let policy = HostPolicy::default();
    let addresses = match proxies.proxy_for(&url)? {
        Some(_) => policy.check_proxied_url(&url).map(|()| Vec::new()),
        None => policy.resolve(&url).await,
    };
    let addresses = addresses.map_err(|error| match error {
        WorldError::PrivateAddress { host } => FetchError::PrivateHost(host),
        error => error.into(),
    })?;
    let mut options = vec!["credential.helper=".to_owned(), "http.followRedirects=false".to_owned()];
    if let (Some(host), Some(port), false) = (url.host_str(), url.port_or_known_default(), addresses.is_empty()) {
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        options.push(format!("http.curloptResolve={host}:{port}:{}", addresses.join(",")));
    }
    Ok(options)
}

/// The variables of git, besides those of every program.
fn environment(hosts: PackHosts) -> Vec<(String, String)> {
    let names = NETWORK_VARIABLES.iter().map(|name| (*name).to_owned());
    let configured = (0..64).flat_map(|nth| [format!("GIT_CONFIG_KEY_{nth}"), format!("GIT_CONFIG_VALUE_{nth}")]);
    let own_names = CREDENTIAL_VARIABLES.iter().map(|name| (*name).to_owned());
    let own_names = own_names.chain(["GIT_CONFIG_COUNT".to_owned()]).chain(configured);
    let names = names.chain(own_names.filter(|_| hosts == PackHosts::Any));
    let of_user = names.filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)));
    let fixed = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let public = [("GIT_ALLOW_PROTOCOL", "https"), ("GIT_CONFIG_GLOBAL", "/dev/null")];
    let public = public.into_iter().filter(|_| hosts == PackHosts::Public);
    of_user.chain(fixed).chain(public.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
}

/// Reads what `ls-tree -r -z -l` prints: `MODE TYPE OBJECT SIZE\tPATH\0`.
fn parse_listing(output: &[u8]) -> Result<Listing, FetchError> {
    let mut listing = Listing::default();
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
            listing.files.push(ListedFile { path, object: object.to_owned(), size });
        } else if listing.skipped.len() < MAX_FILES {
            listing.skipped.push(path);
        }
    }
    if listing.files.is_empty() {
        return Err(TreeError::Empty.into());
    }
    let sizes: Vec<(&str, u64)> = listing.files.iter().map(|file| (file.path.as_str(), file.size)).collect();
    let kept = check_files(&sizes)?.map(|kept| kept.into_iter().map(str::to_owned).collect::<HashSet<String>>());
    if let Some(kept) = kept {
        let all = listing.files.len();
        listing.files.retain(|file| kept.contains(&file.path));
        listing.unserved = all - listing.files.len();
    }
    Ok(listing)
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
    use futures_util::future::BoxFuture;
    use parking_lot::Mutex;

    use super::*;
    use crate::world::{HttpRequest, HttpResponse};

    fn listed(entries: &[&str]) -> Result<Vec<String>, String> {
        let output: String = entries.iter().map(|entry| format!("{entry}\0")).collect();
        let listing = parse_listing(output.as_bytes()).map_err(|error| error.to_string())?;
        Ok(listing.files.into_iter().map(|file| file.path).collect())
    }

    /// Runs nothing, and keeps what it was told to run.
    #[derive(Default)]
    struct NoPrograms(Mutex<Vec<ProgramCommand>>);

    impl World for NoPrograms {
        fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
            self.0.lock().push(command);
            Box::pin(async { Err(WorldError::timed_out(LOCAL_TIMEOUT)) })
        }

        fn send_request(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
            Box::pin(async { Err(WorldError::timed_out(LOCAL_TIMEOUT)) })
        }
    }

    /// The first command of git for a repository, and what came of it.
    async fn first_command(url: &str, hosts: PackHosts) -> (Option<ProgramCommand>, String) {
        let (world, folder, proxies) = (NoPrograms::default(), tempfile::tempdir().unwrap(), ProxyVariables::default());
        let cache = PackCache::locate(|name| (name == "FOLIO_CACHE").then(|| folder.path().into())).unwrap();
        let source = GitSource::new(url, None, None).unwrap();
        let access = GitAccess { world: &world, cache: &cache, proxies: &proxies, hosts };
        let error = fetch_pack(access, &source, None).await.unwrap_err();
        let first = world.0.lock().pop();
        (first, error.to_string())
    }

    #[tokio::test]
    async fn what_another_pack_names_is_public_and_gets_no_credentials() {
        for host in ["10.0.0.1", "127.0.0.1:8443", "localhost", "localhost.", "[::1]", "169.254.169.254", "[fd00::1]"] {
            let (command, error) = first_command(&format!("https://{host}/a/b"), PackHosts::Public).await;
            assert!(command.is_none() && error.contains("private address"), "{host}: {error}");
        }
        let told = |command: &ProgramCommand, option: &str| command.args.iter().any(|argument| argument == option);
        let variable = |command: &ProgramCommand, name: &str| {
            command.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        };
        let (public, _) = first_command("https://93.184.216.34/a/b", PackHosts::Public).await;
        let public = public.unwrap();
        assert!(told(&public, "credential.helper=") && told(&public, "http.followRedirects=false"), "{public:?}");
        assert_eq!(variable(&public, "HOME").as_deref(), public.cwd.to_str());
        assert_eq!(variable(&public, "GIT_ALLOW_PROTOCOL").as_deref(), Some("https"));
        assert_eq!(variable(&public, "GIT_CONFIG_GLOBAL").as_deref(), Some("/dev/null"));
        let (own, _) = first_command("https://10.0.0.1/a/b", PackHosts::Any).await;
        let own = own.unwrap();
        assert!(!told(&own, "credential.helper=") && variable(&own, "HOME").is_none(), "{own:?}");
        assert_eq!(variable(&own, "GIT_ALLOW_PROTOCOL").as_deref(), Some("https:ssh:file"));
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
