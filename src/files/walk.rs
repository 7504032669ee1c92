use super::error::FileError;
use super::folder::{Entry, Stat};
use super::glob::Globs;

/// How many names a walk looks at before it gives up: so many that only a root at the wrong place has more.
const NAMES: usize = 1_000_000;

/// What disk and memory have in common, so that one walk serves both.
pub(super) trait Tree {
    /// Describes a regular file or a folder.
    fn stat(&self, path: &str) -> Result<Stat, FileError>;
    /// Shows each name of a folder that `globs` see.
    fn list(&self, folder: &str, globs: &Globs, each: &mut dyn FnMut(Item<'_>)) -> Result<(), FileError>;
    /// Whether a path leads through a link to a name that `globs` do not see.
    fn is_hidden(&self, path: &str, globs: &Globs) -> bool;
    /// Where a path leads when links are resolved, if that is beneath the root.
    fn real(&self, path: &str) -> Option<String>;
}

/// One name in a folder.
pub(super) struct Item<'a> {
    pub(super) path: &'a str,
    pub(super) kind: Kind,
    /// Asked only of what matches: it costs a call of the system.
    pub(super) stat: &'a dyn Fn() -> Option<Stat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    LinkToFile,
    LinkToFolder,
    /// What cannot be read as either: a link that leads nowhere or out, a socket, a name that is no UTF-8.
    Neither,
}

/// What a walk came by.
#[derive(Debug, Default)]
pub struct Found {
    /// The files that match, sorted by path.
    pub files: Vec<Entry>,
    /// The paths of the folders in which a match exists or could appear, sorted; an empty one for the folder walked.
    pub folders: Vec<String>,
    /// The paths of what would match and is no file, or cannot be read, sorted. Links are among them, where
    /// none is followed.
    pub left_out: Vec<String>,
}

/// A folder yet to be listed, and whether a link led to it.
struct Ahead {
    folder: String,
    linked: bool,
}

/// Walks all folders that `globs` could match in. Only the root itself must be readable.
pub(super) fn walk(tree: &dyn Tree, globs: &Globs, limit: usize) -> Result<Found, FileError> {
    let root = Ahead { folder: String::new(), linked: false };
    let mut walk = Walk { tree, globs, limit, seen: 0, ahead: vec![root], found: Found::default() };
    while let Some(here) = walk.ahead.pop() {
        match tree.list(&here.folder, globs, &mut |item| walk.meet(&here, &item)) {
            Err(_) if !here.folder.is_empty() => walk.found.left_out.push(here.folder.clone()),
            listed => listed?,
        }
        check(walk.found.files.len(), limit, "matching files")?;
        check(walk.seen, NAMES, "files to look at")?;
        walk.found.folders.push(here.folder);
    }
    let mut found = walk.found;
    found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.folders.sort_unstable();
    found.left_out.sort_unstable();
    Ok(found)
}

fn check(count: usize, limit: usize, what: &'static str) -> Result<(), FileError> {
    if count > limit { Err(FileError::TooMany { limit, what }) } else { Ok(()) }
}

struct Walk<'a> {
    tree: &'a dyn Tree,
    globs: &'a Globs,
    limit: usize,
    seen: usize,
    ahead: Vec<Ahead>,
    found: Found,
}

impl Walk<'_> {
    /// A folder of any size is listed to its end, but nothing is kept of what is too much.
    fn meet(&mut self, here: &Ahead, item: &Item<'_>) {
        self.seen += 1;
        if self.seen > NAMES || self.found.files.len() > self.limit {
            return;
        }
        match item.kind {
            Kind::File => self.meet_file(item),
            Kind::Folder => self.meet_folder(item.path, here.linked),
            Kind::Neither => self.leave_out(item.path),
            Kind::LinkToFile | Kind::LinkToFolder if !self.globs.links => self.leave_out(item.path),
            Kind::LinkToFile => self.meet_file(item),
            Kind::LinkToFolder if here.linked || self.is_loop(here, item.path) => {}
            Kind::LinkToFolder => self.meet_folder(item.path, true),
        }
    }

    fn leave_out(&mut self, path: &str) {
        if self.globs.matches_plain(path) && self.globs.could_match_in(path) {
            self.found.left_out.push(path.to_owned());
        }
    }

    fn meet_file(&mut self, item: &Item<'_>) {
        if self.globs.matches_plain(item.path) {
            let path = item.path.to_owned();
            let entry = |stat: Stat| Entry { path, size: stat.size, modified: stat.modified };
            self.found.files.extend((item.stat)().filter(|stat| !stat.is_dir).map(entry));
        }
    }

    fn meet_folder(&mut self, path: &str, linked: bool) {
        if self.globs.could_match_in(path) {
            self.ahead.push(Ahead { folder: path.to_owned(), linked });
        }
    }

    /// A link to a folder that it stands in would only show everything once more.
    fn is_loop(&self, here: &Ahead, link: &str) -> bool {
        self.tree.real(link).is_none_or(|real| {
            let below = here.folder.strip_prefix(&real);
            real.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
