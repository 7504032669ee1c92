#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use notify::{RecursiveMode, Watcher, WatcherKind};
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

mod saving;

/// The texts of all files beneath a folder.
type Texts = BTreeMap<String, String>;

/// What happens in the midst of a load, between two files.
type Amidst = Box<dyn FnMut() + Send>;

/// Reads everything beneath a folder, as a manifest with `**` would.
struct Reader {
    root: PathBuf,
    seen: watch::Sender<Vec<Texts>>,
    rounds: Arc<Mutex<Vec<Round>>>,
    amidst: Amidst,
}

impl Reader {
    fn read(&mut self, folder: &Path, loaded: &mut Loaded<Texts>) {
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
            if let Ok(text) = fs::read_to_string(&path) {
                let name = path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
                loaded.outcome.insert(name, text);
            }
            (self.amidst)();
        }
    }
}

impl Load for Reader {
    type Outcome = Texts;

    fn load(&mut self) -> Loaded<Texts> {
        let mut loaded = Loaded { outcome: Texts::new(), watch: WatchSet::default() };
        loaded.watch.files.insert(self.root.join("folio.yaml"));
        self.read(&self.root.clone(), &mut loaded);
        loaded
    }

    fn publish(&mut self, texts: Texts, round: Round) {
        self.rounds.lock().unwrap().push(round);
        self.seen.send_modify(|seen| seen.push(texts));
    }
}

/// A folder that is watched.
struct Scene {
    temporary: TempDir,
    root: PathBuf,
    options: Options,
    listen: Option<Listen>,
    amidst: Option<Amidst>,
}

struct Played {
    _temporary: TempDir,
    root: PathBuf,
    seen: watch::Receiver<Vec<Texts>>,
    rounds: Arc<Mutex<Vec<Round>>>,
    watching: Watching,
    shutdown: CancellationToken,
}

impl Scene {
    /// A folder `served` with `folio.yaml` and `prompts/a.md`, in a folder of its own.
    fn new() -> Scene {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap().join("served");
        fs::create_dir_all(root.join("prompts")).unwrap();
        fs::write(root.join("folio.yaml"), "one").unwrap();
        fs::write(root.join("prompts/a.md"), "one").unwrap();
        let options = Options { quiet: Duration::from_millis(30), hangup: false, ..Options::default() };
        Scene { temporary, root, options, listen: None, amidst: None }
    }

    fn polling(mut self) -> Scene {
        self.options.poll = Some(Duration::from_millis(20));
        self
    }

    fn amidst(mut self, amidst: impl FnMut() + Send + 'static) -> Scene {
        self.amidst = Some(Box::new(amidst));
        self
    }

    /// Loads for the first time and watches.
    fn play(self) -> Played {
        let (seen, receiver) = watch::channel(Vec::new());
        let rounds = Arc::default();
        let mut reader = Reader { root: self.root.clone(), seen, rounds: Arc::clone(&rounds), amidst: Box::new(|| ()) };
        let began = SystemTime::now();
        let first = First { began, watch: reader.load().watch };
        reader.amidst = self.amidst.unwrap_or_else(|| Box::new(|| ()));
        let shutdown = CancellationToken::new();
        let listen = self.listen.unwrap_or_else(|| Box::new(bell::listen));
        let means = run::Means { options: self.options, shutdown: shutdown.clone(), listen };
        let watching = run::start(reader, first, means);
        Played { _temporary: self.temporary, root: self.root, seen: receiver, rounds, watching, shutdown }
    }

    /// As `play`, once the files are beyond doubt; done when the watch stands, with nothing rung.
    async fn play_settled(self) -> Played {
        let files = ["folio.yaml", "prompts/a.md"].map(|name| self.root.join(name));
        let set = WatchSet { files: files.into(), ..WatchSet::default() };
        while stamp::Stamps::of(&set).are_fresh() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let played = self.play();
        played.reload().await;
        played
    }
}

impl Played {
    async fn until(&mut self, what: &str, found: impl Fn(&Texts) -> bool) {
        let done = self.seen.wait_for(|seen| seen.last().is_some_and(&found));
        if timeout(Duration::from_secs(10), done).await.is_err() {
            panic!("{what}: {:?}", self.seen.borrow().last());
        }
    }

    async fn until_text(&mut self, what: &str, name: &str, text: &str) {
        self.until(what, |texts| texts.get(name).is_some_and(|found| found == text)).await;
    }

    async fn tallied(&self, enough: impl Fn(&Tally) -> bool) -> Tally {
        let mut tally = self.watching.tally();
        *timeout(Duration::from_secs(10), tally.wait_for(|tally| enough(tally))).await.unwrap().unwrap()
    }

    async fn reload(&self) {
        let before = self.watching.tally().borrow().loads;
        self.watching.reload_now();
        self.tallied(|tally| tally.loads > before).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deleted_is_missed_and_noticed_when_it_is_back() {
    let mut played = Scene::new().play();
    for _ in 0..2 {
        fs::remove_file(played.root.join("folio.yaml")).unwrap();
        played.until("file gone", |texts| !texts.contains_key("folio.yaml")).await;
        fs::write(played.root.join("folio.yaml"), "back").unwrap();
        played.until_text("file back", "folio.yaml", "back").await;
        fs::remove_dir_all(&played.root).unwrap();
        played.until("folder gone", Texts::is_empty).await;
        fs::create_dir_all(played.root.join("prompts")).unwrap();
        fs::write(played.root.join("prompts/b.md"), "back").unwrap();
        played.until_text("folder back", "prompts/b.md", "back").await;
        fs::write(played.root.join("folio.yaml"), "again").unwrap();
        played.until_text("file again", "folio.yaml", "again").await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_far_above_may_be_moved_away_and_back() {
    let mut scene = Scene::new();
    let top = scene.root.join("top");
    fs::create_dir_all(top.join("middle/served")).unwrap();
    scene.root = top.join("middle/served");
    fs::write(scene.root.join("folio.yaml"), "one").unwrap();
    let mut played = scene.play();
    for text in ["two", "three"] {
        fs::rename(&top, top.with_extension("away")).unwrap();
        played.until("gone", Texts::is_empty).await;
        fs::write(top.with_extension("away").join("middle/served/folio.yaml"), text).unwrap();
        fs::rename(top.with_extension("away"), &top).unwrap();
        played.until_text("back", "folio.yaml", text).await;
        fs::write(played.root.join("folio.yaml"), "still heard").unwrap();
        played.until_text("still heard", "folio.yaml", "still heard").await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_far_above_may_be_swapped_at_a_stroke() {
    let mut scene = Scene::new();
    let [top, other] = ["top", "other"].map(|name| scene.root.join(name));
    for (folder, text) in [(&top, "one"), (&other, "two")] {
        fs::create_dir_all(folder.join("middle/served")).unwrap();
        fs::write(folder.join("middle/served/folio.yaml"), text).unwrap();
    }
    scene.root = top.join("middle/served");
    let mut played = scene.play_settled().await;
    fs::rename(&top, top.with_extension("away")).unwrap();
    fs::rename(&other, &top).unwrap();
    played.until_text("swapped", "folio.yaml", "two").await;
    fs::write(played.root.join("folio.yaml"), "still heard").unwrap();
    played.until_text("still heard", "folio.yaml", "still heard").await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_is_made_current_by_a_link_above_the_folder() {
    let mut scene = Scene::new();
    let releases = scene.root.join("releases");
    for release in ["one", "two", "three"] {
        fs::create_dir_all(releases.join(release).join("served")).unwrap();
        fs::write(releases.join(release).join("served/folio.yaml"), release).unwrap();
    }
    let current = scene.root.join("current");
    std::os::unix::fs::symlink("releases/one", &current).unwrap();
    scene.root = current.join("served");
    let mut played = scene.play();
    for release in ["two", "three"] {
        let fresh = current.with_extension("new");
        std::os::unix::fs::symlink(releases.join(release), &fresh).unwrap();
        fs::rename(fresh, &current).unwrap();
        played.until_text("link swapped", "folio.yaml", release).await;
        fs::write(releases.join(release).join("served/folio.yaml"), "edited").unwrap();
        played.until_text("edited behind the link", "folio.yaml", "edited").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_between_the_first_load_and_the_watch_is_not_lost() {
    let scene = Scene::new();
    let file = scene.root.join("folio.yaml");
    let first =
        First { began: SystemTime::now(), watch: WatchSet { files: [file.clone()].into(), ..WatchSet::default() } };
    fs::write(&file, "two").unwrap();
    let (seen, mut receiver) = watch::channel(Vec::new());
    let reader = Reader { root: scene.root.clone(), seen, rounds: Arc::default(), amidst: Box::new(|| ()) };
    let shutdown = CancellationToken::new();
    let _watching = watch(reader, first, scene.options, shutdown.clone());
    let found = receiver.wait_for(|seen| seen.last().is_some_and(|texts| texts["folio.yaml"] == "two"));
    timeout(Duration::from_secs(10), found).await.unwrap().unwrap();
    shutdown.cancel();
}

/// Long enough that what a test does at once is done before the watch begins.
const PUT_OFF: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_before_a_watch_that_is_put_off_is_seen_when_it_begins() {
    let mut scene = Scene::new();
    scene.options.delay = PUT_OFF;
    let mut played = scene.play();
    fs::write(played.root.join("folio.yaml"), "two").unwrap();
    played.until_text("before the watch", "folio.yaml", "two").await;
    fs::write(played.root.join("folio.yaml"), "three").unwrap();
    played.until_text("under the watch", "folio.yaml", "three").await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_before_a_watch_that_is_put_off_is_answered_when_it_begins() {
    let mut scene = Scene::new();
    scene.options.delay = PUT_OFF;
    scene.options.hangup = true;
    let played = scene.play();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
    played.tallied(|tally| tally.loads > 0).await;
    assert!(played.rounds.lock().unwrap()[0].asked);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_does_not_wait_for_a_watch_that_is_put_off() {
    let mut scene = Scene::new();
    scene.options.delay = Duration::from_secs(3600);
    let played = scene.play();
    played.shutdown.cancel();
    timeout(Duration::from_secs(20), played.watching.stopped()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bell_rung_for_nothing_loads_nothing() {
    let mut scene = Scene::new();
    // Long enough for the file to come and go within one quiet, however slow the machine.
    scene.options.quiet = Duration::from_millis(200);
    let played = scene.play_settled().await;
    let before = *played.watching.tally().borrow();
    fs::write(played.root.join("prompts/passing.md"), "").unwrap();
    fs::remove_file(played.root.join("prompts/passing.md")).unwrap();
    let after = played.tallied(|tally| tally.checks > before.checks).await;
    assert_eq!(after.loads, before.loads);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_came_back_just_as_it_was_is_listened_to_again() {
    let scene = Scene::new();
    let folder = scene.root.join("empty");
    fs::create_dir(&folder).unwrap();
    let mut played = scene.play_settled().await;
    let before = *played.watching.tally().borrow();
    fs::remove_dir(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    played.tallied(|tally| tally.checks > before.checks).await;
    fs::write(folder.join("a.md"), "new").unwrap();
    played.until_text("heard again", "empty/a.md", "new").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_change_while_they_are_read_are_never_published_half() {
    let scene = Scene::new();
    let root = scene.root.clone();
    let mut torn = 0;
    let amidst = move || {
        let (manifest, prompt) = (root.join("folio.yaml"), root.join("prompts/a.md"));
        let both = [&manifest, &prompt].map(|path| fs::read_to_string(path).unwrap());
        if both == ["two", "two"] && torn < 3 {
            torn += 1;
            fs::write(&manifest, "three").unwrap();
            fs::write(&prompt, "three").unwrap();
        }
    };
    let mut played = scene.amidst(amidst).play_settled().await;
    fs::write(played.root.join("folio.yaml"), "two").unwrap();
    fs::write(played.root.join("prompts/a.md"), "two").unwrap();
    played.until("three", |texts| texts["folio.yaml"] == "three" && texts["prompts/a.md"] == "three").await;
    let mixed = played.seen.borrow().iter().any(|texts| texts["folio.yaml"] != texts["prompts/a.md"]);
    assert!(!mixed, "{:?}", played.seen.borrow());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_never_stand_still_are_published_all_the_same() {
    let mut scene = Scene::new();
    scene.options.at_most = Duration::from_millis(200);
    let root = scene.root.clone();
    let mut count = 0;
    let amidst = move || {
        count += 1;
        fs::write(root.join("growing.log"), "x".repeat(count)).unwrap();
    };
    let mut played = scene.amidst(amidst).play();
    fs::write(played.root.join("folio.yaml"), "two").unwrap();
    played.until_text("amid constant writing", "folio.yaml", "two").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_do_not_pile_up_behind_a_slow_one() {
    let scene = Scene::new();
    let (begun, beginnings) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let mut slow = true;
    let amidst = move || {
        if std::mem::take(&mut slow) {
            begun.send(()).unwrap();
            gate.recv().unwrap();
        }
    };
    let mut played = scene.amidst(amidst).play();
    played.watching.reload_now();
    tokio::task::spawn_blocking(move || beginnings.recv_timeout(Duration::from_secs(10)).unwrap()).await.unwrap();
    for number in 0..50 {
        fs::write(played.root.join("folio.yaml"), format!("{number}")).unwrap();
        played.watching.reload_now();
    }
    fs::write(played.root.join("folio.yaml"), "last").unwrap();
    go.send(()).unwrap();
    played.until_text("after the slow one", "folio.yaml", "last").await;
    assert!(played.watching.tally().borrow().checks <= 4, "{:?}", played.watching.tally().borrow());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_no_load_and_hears_nothing_of_it() {
    let scene = Scene::new();
    let (begun, beginnings) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let amidst = move || {
        let _ = begun.send(());
        let _ = gate.recv();
    };
    let played = scene.amidst(amidst).play();
    played.watching.reload_now();
    tokio::task::spawn_blocking(move || beginnings.recv_timeout(Duration::from_secs(10)).unwrap()).await.unwrap();
    played.shutdown.cancel();
    timeout(Duration::from_secs(20), played.watching.stopped()).await.unwrap();
    drop(go);
    // The reader drops its end once the load has ended unheard.
    let mut seen = played.seen;
    timeout(Duration::from_secs(10), async { while seen.changed().await.is_ok() {} }).await.unwrap();
    assert!(seen.borrow().is_empty(), "{:?}", seen.borrow());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_that_panics_leaves_the_watch_standing() {
    let scene = Scene::new();
    let root = scene.root.clone();
    let amidst = move || assert_ne!(fs::read_to_string(root.join("folio.yaml")).unwrap(), "a trap");
    let mut played = scene.amidst(amidst).play_settled().await;
    let before = *played.watching.tally().borrow();
    fs::write(played.root.join("folio.yaml"), "a trap").unwrap();
    let after = played.tallied(|tally| tally.checks > before.checks).await;
    assert_eq!(after.loads, before.loads);
    fs::write(played.root.join("folio.yaml"), "no trap").unwrap();
    played.until_text("after the panic", "folio.yaml", "no trap").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_asks_is_answered_though_nothing_changed() {
    let mut played = Scene::new().play_settled().await;
    played.reload().await;
    assert!(played.rounds.lock().unwrap().last().unwrap().asked);
    fs::write(played.root.join("folio.yaml"), "two").unwrap();
    played.until_text("not asked", "folio.yaml", "two").await;
    assert!(!played.rounds.lock().unwrap().last().unwrap().asked);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_asks_for_a_load() {
    let mut scene = Scene::new();
    scene.options.hangup = true;
    let played = scene.play_settled().await;
    let before = *played.watching.tally().borrow();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
    played.tallied(|tally| tally.loads > before.loads).await;
    assert!(played.rounds.lock().unwrap().last().unwrap().asked);
}

/// A watcher whose system allows `left` more watches.
struct Limited {
    left: usize,
    inner: bell::Ear,
}

impl Watcher for Limited {
    fn new<F: notify::EventHandler>(handler: F, config: notify::Config) -> notify::Result<Limited> {
        Ok(Limited { left: 0, inner: Box::new(notify::RecommendedWatcher::new(handler, config)?) })
    }

    fn watch(&mut self, path: &Path, mode: RecursiveMode) -> notify::Result<()> {
        if self.left == 0 {
            return Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
        }
        self.left -= 1;
        self.inner.watch(path, mode)
    }

    fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
        self.inner.unwatch(path)
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_polled_where_the_system_allows_no_more_watches() {
    for left in [0, 2] {
        let mut scene = Scene::new();
        scene.listen = Some(Box::new(move |ring| Ok(Box::new(Limited { left, inner: bell::listen(ring)? }))));
        let mut played = scene.play();
        for text in ["two", "three"] {
            fs::create_dir_all(played.root.join("new/sub")).unwrap();
            fs::write(played.root.join("new/sub/a.md"), text).unwrap();
            played.until_text("polled", "new/sub/a.md", text).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_polled_where_there_is_no_watcher_at_all() {
    let mut scene = Scene::new();
    scene.listen = Some(Box::new(|_| Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch))));
    let mut played = scene.play();
    fs::write(played.root.join("folio.yaml"), "two").unwrap();
    played.until_text("polled", "folio.yaml", "two").await;
}
