//! The watcher of the system, with a hook before each watch.

use std::path::Path;

use notify::{RecursiveMode, Watcher, WatcherKind};

use crate::reload::watcher::Backend;

/// `before_watch` sees each path first, and may refuse it.
pub(in crate::reload) fn hooked_backend(
    inner: Backend,
    before_watch: impl FnMut(&Path) -> notify::Result<()> + Send + 'static,
) -> Backend {
    Box::new(HookedBackend { before_watch, inner })
}

struct HookedBackend<F> {
    before_watch: F,
    inner: Backend,
}

impl<F: FnMut(&Path) -> notify::Result<()>> Watcher for HookedBackend<F> {
    fn new<H: notify::EventHandler>(_: H, _: notify::Config) -> notify::Result<HookedBackend<F>> {
        Err(notify::Error::generic("made by hand"))
    }

    fn watch(&mut self, path: &Path, mode: RecursiveMode) -> notify::Result<()> {
        (self.before_watch)(path)?;
        self.inner.watch(path, mode)
    }

    fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
        self.inner.unwatch(path)
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}
