use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::time::timeout;

use super::*;
use hooked_backend::hooked_backend;
use tokio::sync::watch;

pub(super) mod hooked_backend;
mod save_methods;

/// The texts of all files below a folder.
type Texts = BTreeMap<String, String>;

/// What happens in the midst of a load, between two files.
type MidLoadHook = Box<dyn FnMut() + Send>;

/// Reads everything below a folder, as a manifest with `**` would.
struct FolderSourceLoad {
    root: PathBuf,
    published: watch::Sender<Vec<Texts>>,
    infos: Arc<Mutex<Vec<ReloadInfo>>>,
    mid_load_hook: MidLoadHook,
    /// That of the last load.
    outdated: Arc<Mutex<OutdatedCheck>>,
}

impl FolderSourceLoad {
    fn read(&mut self, folder: &Path, loaded: &mut LoadOutput<Texts>) {
        loaded.watch.folders.insert(folder.to_path_buf());
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if path.is_dir() {
                self.read(&path, loaded);
                continue;
            }
            loaded.watch.files.insert(path.clone());
            if self.outdated.lock().unwrap().is_outdated() {
                loaded.outcome.insert("given up".to_owned(), String::new());
                return;
            }
            if let Ok(text) = fs::read_to_string(&path) {
                let name = path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
                loaded.outcome.insert(name, text);
            }
            (self.mid_load_hook)();
        }
    }
}

impl ReloadSource for FolderSourceLoad {
    type Outcome = Texts;

    fn load(&mut self, _: bool, outdated: &OutdatedCheck) -> LoadOutput<Texts> {
        *self.outdated.lock().unwrap() = outdated.clone();
        let mut loaded = LoadOutput { outcome: Texts::new(), watch: LoadDependencies::default() };
        loaded.watch.files.insert(self.root.join("folio.yaml"));
        self.read(&self.root.clone(), &mut loaded);
        loaded
    }

    fn publish(&mut self, texts: Texts, info: ReloadInfo) {
        self.infos.lock().unwrap().push(info);
        self.published.send_modify(|seen| seen.push(texts));
    }
}

/// A folder that is watched.
struct WatchTest {
    temporary: TempDir,
    root: PathBuf,
    options: WatchOptions,
    listen: Option<OpenBackend>,
    mid_load: Option<MidLoadHook>,
    outdated: Arc<Mutex<OutdatedCheck>>,
}

struct RunningWatch {
    _temporary: TempDir,
    root: PathBuf,
    seen: watch::Receiver<Vec<Texts>>,
    rounds: Arc<Mutex<Vec<ReloadInfo>>>,
    watching: WatchHandle,
    shutdown: CancellationToken,
}

impl WatchTest {
    /// A folder `served` with `folio.yaml` and `prompts/a.md`, in a folder of its own.
    fn new() -> WatchTest {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap().join("served");
        fs::create_dir_all(root.join("prompts")).unwrap();
        fs::write(root.join("folio.yaml"), "one").unwrap();
        fs::write(root.join("prompts/a.md"), "one").unwrap();
        let options =
            WatchOptions { debounce: Duration::from_millis(30), reload_on_sighup: false, ..WatchOptions::default() };
        WatchTest { temporary, root, options, listen: None, mid_load: None, outdated: Arc::default() }
    }

    fn polling(mut self) -> WatchTest {
        self.options.poll_interval = Some(Duration::from_millis(20));
        self
    }

    fn mid_load(mut self, mid_load_hook: impl FnMut() + Send + 'static) -> WatchTest {
        self.mid_load = Some(Box::new(mid_load_hook));
        self
    }

    /// Loads for the first time and watches.
    fn start(self) -> RunningWatch {
        let (seen, receiver) = watch::channel(Vec::new());
        let rounds = Arc::default();
        let mut reader = FolderSourceLoad {
            root: self.root.clone(),
            published: seen,
            infos: Arc::clone(&rounds),
            mid_load_hook: Box::new(|| ()),
            outdated: self.outdated,
        };
        let began = SystemTime::now();
        let first = InitialLoad { started_at: began, watch: reader.load(false, &OutdatedCheck::default()).watch };
        reader.mid_load_hook = self.mid_load.unwrap_or_else(|| Box::new(|| ()));
        let shutdown = CancellationToken::new();
        let listen = self.listen.unwrap_or_else(|| Box::new(watcher::open_backend));
        let task = watch_task::WatchTask::new(self.options, shutdown.clone());
        let watching = task.spawn(move || reader, first, listen);
        RunningWatch { _temporary: self.temporary, root: self.root, seen: receiver, rounds, watching, shutdown }
    }

    /// As `start`, once the files are beyond doubt; done when the watch stands, with nothing rung.
    async fn start_settled(self) -> RunningWatch {
        let files = ["folio.yaml", "prompts/a.md"].map(|name| self.root.join(name));
        let set = Arc::new(LoadDependencies { files: files.into(), ..LoadDependencies::default() });
        while file_stamps::FileStamps::read(set.clone()).are_ambiguous() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let running = self.start();
        running.reload().await;
        running
    }
}

impl RunningWatch {
    async fn wait_until(&mut self, what: &str, found: impl Fn(&Texts) -> bool) {
        let done = self.seen.wait_for(|seen| seen.last().is_some_and(&found));
        if timeout(Duration::from_secs(10), done).await.is_err() {
            panic!("{what}: {:?}", self.seen.borrow().last());
        }
    }

    async fn wait_for_text(&mut self, what: &str, name: &str, text: &str) {
        self.wait_until(what, |texts| texts.get(name).is_some_and(|found| found == text)).await;
    }

    async fn wait_for_counts(&self, enough: impl Fn(&ReloadCounts) -> bool) -> ReloadCounts {
        let mut tally = self.watching.counts();
        *timeout(Duration::from_secs(10), tally.wait_for(|tally| enough(tally))).await.unwrap().unwrap()
    }

    async fn reload(&self) {
        let before = self.watching.counts().borrow().published;
        self.watching.reload_now();
        self.wait_for_counts(|tally| tally.published > before).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_and_restored_files_are_noticed() {
    let mut running = WatchTest::new().start();
    for _ in 0..2 {
        fs::remove_file(running.root.join("folio.yaml")).unwrap();
        running.wait_until("file gone", |texts| !texts.contains_key("folio.yaml")).await;
        fs::write(running.root.join("folio.yaml"), "back").unwrap();
        running.wait_for_text("file back", "folio.yaml", "back").await;
        fs::remove_dir_all(&running.root).unwrap();
        running.wait_until("folder gone", Texts::is_empty).await;
        fs::create_dir_all(running.root.join("prompts")).unwrap();
        fs::write(running.root.join("prompts/b.md"), "back").unwrap();
        running.wait_for_text("folder back", "prompts/b.md", "back").await;
        fs::write(running.root.join("folio.yaml"), "again").unwrap();
        running.wait_for_text("file again", "folio.yaml", "again").await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ancestor_folder_may_be_moved_away_and_back() {
    let mut watch_test = WatchTest::new();
    let top = watch_test.root.join("top");
    fs::create_dir_all(top.join("middle/served")).unwrap();
    watch_test.root = top.join("middle/served");
    fs::write(watch_test.root.join("folio.yaml"), "one").unwrap();
    let mut running = watch_test.start();
    for text in ["two", "three"] {
        fs::rename(&top, top.with_extension("away")).unwrap();
        running.wait_until("gone", Texts::is_empty).await;
        fs::write(top.with_extension("away").join("middle/served/folio.yaml"), text).unwrap();
        fs::rename(top.with_extension("away"), &top).unwrap();
        running.wait_for_text("back", "folio.yaml", text).await;
        fs::write(running.root.join("folio.yaml"), "still heard").unwrap();
        running.wait_for_text("still heard", "folio.yaml", "still heard").await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ancestor_folder_may_be_swapped() {
    let mut watch_test = WatchTest::new();
    let [top, other] = ["top", "other"].map(|name| watch_test.root.join(name));
    for (folder, text) in [(&top, "one"), (&other, "two")] {
        fs::create_dir_all(folder.join("middle/served")).unwrap();
        fs::write(folder.join("middle/served/folio.yaml"), text).unwrap();
    }
    watch_test.root = top.join("middle/served");
    let mut running = watch_test.start_settled().await;
    fs::rename(&top, top.with_extension("away")).unwrap();
    fs::rename(&other, &top).unwrap();
    running.wait_for_text("swapped", "folio.yaml", "two").await;
    fs::write(running.root.join("folio.yaml"), "still heard").unwrap();
    running.wait_for_text("still heard", "folio.yaml", "still heard").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swapped_ancestor_symlink_is_noticed() {
    let mut watch_test = WatchTest::new();
    let releases = watch_test.root.join("releases");
    for release in ["one", "two", "three"] {
        fs::create_dir_all(releases.join(release).join("served")).unwrap();
        fs::write(releases.join(release).join("served/folio.yaml"), release).unwrap();
    }
    let current = watch_test.root.join("current");
    std::os::unix::fs::symlink("releases/one", &current).unwrap();
    watch_test.root = current.join("served");
    let mut running = watch_test.start();
    for release in ["two", "three"] {
        let fresh = current.with_extension("new");
        std::os::unix::fs::symlink(releases.join(release), &fresh).unwrap();
        fs::rename(fresh, &current).unwrap();
        running.wait_for_text("link swapped", "folio.yaml", release).await;
        fs::write(releases.join(release).join("served/folio.yaml"), "edited").unwrap();
        running.wait_for_text("edited behind the link", "folio.yaml", "edited").await;
    }
}

/// Long enough that what a test does at once is done before the watch begins.
const START_DELAY: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edit_during_start_delay_is_noticed() {
    let mut watch_test = WatchTest::new();
    watch_test.options.start_delay = START_DELAY;
    let mut running = watch_test.start();
    fs::write(running.root.join("folio.yaml"), "two").unwrap();
    running.wait_for_text("before the watch", "folio.yaml", "two").await;
    fs::write(running.root.join("folio.yaml"), "three").unwrap();
    running.wait_for_text("under the watch", "folio.yaml", "three").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sighup_during_start_delay_is_answered() {
    let mut watch_test = WatchTest::new();
    watch_test.options.start_delay = START_DELAY;
    watch_test.options.reload_on_sighup = true;
    let running = watch_test.start();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
    running.wait_for_counts(|tally| tally.published > 0).await;
    assert!(running.rounds.lock().unwrap()[0].requested);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_does_not_wait_for_start_delay() {
    let mut watch_test = WatchTest::new();
    watch_test.options.start_delay = Duration::from_secs(3600);
    let running = watch_test.start();
    running.shutdown.cancel();
    timeout(Duration::from_secs(20), running.watching.join()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wakeup_without_change_does_not_reload() {
    let mut watch_test = WatchTest::new();
    // Long enough for the file to come and go within one quiet, however slow the machine.
    watch_test.options.debounce = Duration::from_millis(200);
    let running = watch_test.start_settled().await;
    let before = *running.watching.counts().borrow();
    fs::write(running.root.join("prompts/passing.md"), "").unwrap();
    fs::remove_file(running.root.join("prompts/passing.md")).unwrap();
    let after = running.wait_for_counts(|tally| tally.checks > before.checks).await;
    assert_eq!(after.published, before.published);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recreated_folder_is_watched_again() {
    let watch_test = WatchTest::new();
    let folder = watch_test.root.join("empty");
    fs::create_dir(&folder).unwrap();
    let mut running = watch_test.start_settled().await;
    let before = *running.watching.counts().borrow();
    fs::remove_dir(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    running.wait_for_counts(|tally| tally.checks > before.checks).await;
    fs::write(folder.join("a.md"), "new").unwrap();
    running.wait_for_text("heard again", "empty/a.md", "new").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn raced_load_is_not_published() {
    let watch_test = WatchTest::new();
    let root = watch_test.root.clone();
    let mut torn = 0;
    let mid_load_hook = move || {
        let (manifest, prompt) = (root.join("folio.yaml"), root.join("prompts/a.md"));
        let both = [&manifest, &prompt].map(|path| fs::read_to_string(path).unwrap());
        if both == ["two", "two"] && torn < 3 {
            torn += 1;
            fs::write(&manifest, "three").unwrap();
            fs::write(&prompt, "three").unwrap();
        }
    };
    let mut running = watch_test.mid_load(mid_load_hook).start_settled().await;
    fs::write(running.root.join("folio.yaml"), "two").unwrap();
    fs::write(running.root.join("prompts/a.md"), "two").unwrap();
    running.wait_until("three", |texts| texts["folio.yaml"] == "three" && texts["prompts/a.md"] == "three").await;
    let mixed = running.seen.borrow().iter().any(|texts| texts["folio.yaml"] != texts["prompts/a.md"]);
    assert!(!mixed, "{:?}", running.seen.borrow());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn constantly_changing_files_are_published() {
    let mut watch_test = WatchTest::new();
    watch_test.options.max_delay = Duration::from_millis(200);
    let root = watch_test.root.clone();
    let mut count = 0;
    let mid_load_hook = move || {
        count += 1;
        fs::write(root.join("growing.log"), "x".repeat(count)).unwrap();
    };
    let mut running = watch_test.mid_load(mid_load_hook).start();
    fs::write(running.root.join("folio.yaml"), "two").unwrap();
    running.wait_for_text("amid constant writing", "folio.yaml", "two").await;
}

/// A load that would take too long for the test ends with the edit that makes it outdated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outdated_load_is_given_up() {
    let mut watch_test = WatchTest::new();
    watch_test.options.max_delay = Duration::from_secs(60);
    let root = watch_test.root.clone();
    let outdated: Arc<Mutex<OutdatedCheck>> = Arc::default();
    let known = outdated.clone();
    let mut is_slow = true;
    let mid_load_hook = move || {
        if fs::read_to_string(root.join("folio.yaml")).unwrap() == "slow" && std::mem::take(&mut is_slow) {
            let outdated = known.lock().unwrap().clone();
            assert!(!outdated.is_outdated());
            fs::write(root.join("folio.yaml"), "fast").unwrap();
            let deadline = std::time::Instant::now() + Duration::from_secs(20);
            while !outdated.is_outdated() {
                assert!(std::time::Instant::now() < deadline, "the load is not outdated");
                std::thread::yield_now();
            }
        }
    };
    watch_test.outdated = outdated;
    let mut running = watch_test.mid_load(mid_load_hook).start_settled().await;
    fs::write(running.root.join("folio.yaml"), "slow").unwrap();
    running.wait_for_text("after the slow one", "folio.yaml", "fast").await;
    let published = running.seen.borrow().clone();
    assert!(published.iter().all(|texts| texts["folio.yaml"] != "slow"), "{published:?}");
    assert!(published.iter().all(|texts| !texts.contains_key("given up")), "{published:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_load_does_not_queue_reloads() {
    let watch_test = WatchTest::new();
    let (begun, beginnings) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let mut slow = true;
    let mid_load_hook = move || {
        if std::mem::take(&mut slow) {
            begun.send(()).unwrap();
            gate.recv().unwrap();
        }
    };
    let mut running = watch_test.mid_load(mid_load_hook).start();
    running.watching.reload_now();
    tokio::task::spawn_blocking(move || beginnings.recv_timeout(Duration::from_secs(10)).unwrap()).await.unwrap();
    for number in 0..50 {
        fs::write(running.root.join("folio.yaml"), format!("{number}")).unwrap();
        running.watching.reload_now();
    }
    fs::write(running.root.join("folio.yaml"), "last").unwrap();
    go.send(()).unwrap();
    running.wait_for_text("after the slow one", "folio.yaml", "last").await;
    assert!(running.watching.counts().borrow().checks <= 4, "{:?}", running.watching.counts().borrow());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_discards_a_running_load() {
    let watch_test = WatchTest::new();
    let (begun, beginnings) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let mid_load_hook = move || {
        let _ = begun.send(());
        let _ = gate.recv();
    };
    let running = watch_test.mid_load(mid_load_hook).start();
    running.watching.reload_now();
    tokio::task::spawn_blocking(move || beginnings.recv_timeout(Duration::from_secs(10)).unwrap()).await.unwrap();
    running.shutdown.cancel();
    timeout(Duration::from_secs(20), running.watching.join()).await.unwrap();
    drop(go);
    // The reader drops its end once the load has ended unheard.
    let mut seen = running.seen;
    timeout(Duration::from_secs(10), async { while seen.changed().await.is_ok() {} }).await.unwrap();
    assert!(seen.borrow().is_empty(), "{:?}", seen.borrow());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_survives_a_panicking_load() {
    let watch_test = WatchTest::new();
    let root = watch_test.root.clone();
    let mid_load_hook = move || assert_ne!(fs::read_to_string(root.join("folio.yaml")).unwrap(), "a trap");
    let mut running = watch_test.mid_load(mid_load_hook).start_settled().await;
    let before = *running.watching.counts().borrow();
    fs::write(running.root.join("folio.yaml"), "a trap").unwrap();
    let after = running.wait_for_counts(|tally| tally.checks > before.checks).await;
    assert_eq!(after.published, before.published);
    fs::write(running.root.join("folio.yaml"), "no trap").unwrap();
    running.wait_for_text("after the panic", "folio.yaml", "no trap").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requested_reload_is_published_without_change() {
    let mut watch_test = WatchTest::new();
    watch_test.options.reload_on_sighup = true;
    let mut running = watch_test.start_settled().await;
    let before = *running.watching.counts().borrow();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
    running.wait_for_counts(|tally| tally.published > before.published).await;
    assert!(running.rounds.lock().unwrap().last().unwrap().requested);
    fs::write(running.root.join("folio.yaml"), "two").unwrap();
    running.wait_for_text("not asked", "folio.yaml", "two").await;
    assert!(!running.rounds.lock().unwrap().last().unwrap().requested);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_polled_without_a_backend_or_watches() {
    let limit = || notify::Error::new(notify::ErrorKind::MaxFilesWatch);
    for watches in [None, Some(0), Some(2)] {
        let mut watch_test = WatchTest::new();
        watch_test.listen = Some(Box::new(move |wakeup| {
            let mut left: usize = watches.ok_or_else(limit)?;
            Ok(hooked_backend(watcher::open_backend(wakeup)?, move |_| {
                left = left.checked_sub(1).ok_or_else(limit)?;
                Ok(())
            }))
        }));
        let mut running = watch_test.start();
        for text in ["two", "three"] {
            fs::create_dir_all(running.root.join("new/sub")).unwrap();
            fs::write(running.root.join("new/sub/a.md"), text).unwrap();
            running.wait_for_text("polled", "new/sub/a.md", text).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requested_reload_watches_what_no_event_told_of() {
    let mut watch_test = WatchTest::new();
    let (root, watched) = (watch_test.root.clone(), Arc::<Mutex<Vec<PathBuf>>>::default());
    let beside = |name: &str| root.with_file_name(name);
    for name in ["v1", "v2"] {
        fs::create_dir(beside(name)).unwrap();
        fs::write(beside(name).join("a.md"), "one").unwrap();
    }
    std::os::unix::fs::symlink("../v1", root.join("link")).unwrap();
    let recorded = watched.clone();
    // It wakes nobody, so no event is noticed.
    watch_test.listen = Some(Box::new(move |_| {
        Ok(hooked_backend(watcher::open_backend(Arc::default())?, move |path| {
            recorded.lock().unwrap().push(path.to_path_buf());
            Ok(())
        }))
    }));
    let running = watch_test.start_settled().await;
    assert!(watched.lock().unwrap().contains(&beside("v1")));
    std::os::unix::fs::symlink("../v2", root.join("new")).unwrap();
    fs::rename(root.join("new"), root.join("link")).unwrap();
    running.reload().await;
    assert!(watched.lock().unwrap().contains(&beside("v2")));
}
