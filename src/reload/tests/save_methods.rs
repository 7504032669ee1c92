//! Every way in which editors and tools save a file is noticed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::WatchTest;

fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("tmp");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

/// Puts the text into the folder in some editor's way.
type Save = fn(&Path, &str);

/// Each way in which files change: its name, the file that is looked at, and how it gets a new text.
const SAVE_METHODS: &[(&str, &str, Save)] = &[
    ("write in place", "folio.yaml", |root, text| fs::write(root.join("folio.yaml"), text).unwrap()),
    ("write in pieces", "folio.yaml", |root, text| {
        let mut file = OpenOptions::new().write(true).truncate(true).open(root.join("folio.yaml")).unwrap();
        for byte in text.bytes() {
            file.write_all(&[byte]).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
    }),
    ("rename over", "folio.yaml", |root, text| replace(&root.join("folio.yaml"), text)),
    ("backup and new file", "folio.yaml", |root, text| {
        fs::write(root.join("4913"), "").unwrap();
        fs::remove_file(root.join("4913")).unwrap();
        fs::rename(root.join("folio.yaml"), root.join("folio.yaml~")).unwrap();
        fs::write(root.join("folio.yaml"), text).unwrap();
        fs::remove_file(root.join("folio.yaml~")).unwrap();
    }),
    ("unlink and new file", "prompts/a.md", |root, text| {
        fs::remove_file(root.join("prompts/a.md")).unwrap();
        fs::write(root.join("prompts/a.md"), text).unwrap();
    }),
    ("checkout of many files", "many/sub/19.md", |root, text| {
        fs::create_dir_all(root.join("many/sub")).unwrap();
        for number in 0..20 {
            let path = root.join(format!("many/sub/{number}.md"));
            let _ = fs::remove_file(&path);
            fs::write(path, text).unwrap();
        }
    }),
    ("new folders at once", "new/sub/deep/a.md", |root, text| {
        let _ = fs::remove_dir_all(root.join("new"));
        fs::create_dir_all(root.join("new/sub/deep")).unwrap();
        fs::write(root.join("new/sub/deep/a.md"), text).unwrap();
    }),
    ("folder moved in", "moved/sub/a.md", |root, text| {
        let _ = fs::remove_dir_all(root.join("moved"));
        let outside = root.parent().unwrap().join("outside");
        fs::create_dir_all(outside.join("sub")).unwrap();
        fs::write(outside.join("sub/a.md"), text).unwrap();
        fs::rename(outside, root.join("moved")).unwrap();
    }),
    ("folder removed and made again", "prompts/a.md", |root, text| {
        fs::remove_dir_all(root.join("prompts")).unwrap();
        fs::create_dir(root.join("prompts")).unwrap();
        fs::write(root.join("prompts/a.md"), text).unwrap();
    }),
    ("everything removed and made again", "folio.yaml", |root, text| {
        fs::remove_dir_all(root).unwrap();
        fs::create_dir(root).unwrap();
        fs::write(root.join("folio.yaml"), text).unwrap();
    }),
    ("everything swapped", "folio.yaml", |root, text| {
        let aside = root.with_file_name(format!("{text}-aside"));
        fs::rename(root, &aside).unwrap();
        fs::create_dir(root).unwrap();
        fs::write(root.join("folio.yaml"), text).unwrap();
    }),
    ("the link of a ConfigMap swapped", "mapped.yaml", |root, text| {
        fs::create_dir(root.join(format!("..{text}"))).unwrap();
        fs::write(root.join(format!("..{text}/mapped.yaml")), text).unwrap();
        std::os::unix::fs::symlink(format!("..{text}"), root.join("..tmp")).unwrap();
        fs::rename(root.join("..tmp"), root.join("..data")).unwrap();
        let _ = std::os::unix::fs::symlink("..data/mapped.yaml", root.join("mapped.yaml"));
    }),
];

async fn assert_every_save_is_noticed(watch_test: fn() -> WatchTest) {
    for (what, name, save) in SAVE_METHODS {
        let mut running = watch_test().start();
        for text in ["two", "three", "other", "five"] {
            save(&running.root, text);
            running.wait_for_text(what, name, text).await;
            let still = format!("{text}, and still heard");
            fs::write(running.root.join(name), &still).unwrap();
            running.wait_for_text(what, name, &still).await;
        }
        running.shutdown.cancel();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_save_method_is_noticed() {
    assert_every_save_is_noticed(WatchTest::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_save_method_is_noticed_by_polling() {
    assert_every_save_is_noticed(|| WatchTest::new().polling()).await;
}
