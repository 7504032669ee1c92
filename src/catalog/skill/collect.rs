//! Which folders are skills, and what stands in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::entry::Home;
use crate::catalog::face::{self, Annotations, Object};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::digest::sha256;
use crate::files::{Entry, Folder, Found, Globs, mime_of, rfc3339};
use crate::manifest;
use crate::yaml::{At, Spanned};

use super::matter::front_matter;
use super::{Children, File, MAX_SKILL, Skills, uri};

/// How many files all skills of a pack may have together.
const MANY: usize = 200_000;
/// How many files a skill may have.
const MAX_FILES: usize = 512;
/// What tools and systems put beside the files of a skill, and files that hold secrets by their very names.
const NOT_OF_A_SKILL: &[&str] = &[
    "**/.git",
    "**/.git/**",
    "**/.hg/**",
    "**/.jj/**",
    "**/.svn/**",
    "**/node_modules/**",
    "**/.DS_Store",
    "**/._*",
    "**/.*.sw?",
    "**/.env",
    "**/.netrc",
    "**/.npmrc",
];

/// The skills of all packs, as they are found.
#[derive(Default)]
pub(in crate::catalog) struct Collected {
    declared: bool,
    skills: Vec<face::Skill>,
    files: Vec<File>,
    children: Children,
}

/// What is being looked through: the folder that holds the skills of a pack.
struct Dir<'a> {
    folder: Folder,
    /// Where it stands in its pack.
    path: PathBuf,
    /// Where it is named.
    at: At,
    found: Found,
    home: &'a Arc<Home>,
}

/// A file that was read.
struct Content {
    digest: String,
    size: u64,
    mime_type: &'static str,
}

/// The front matter of skills, by their folders; and the files that were read, by their paths.
type Matters = BTreeMap<String, Object>;
type Contents = BTreeMap<String, Content>;

impl Collected {
    /// Takes the skills of a pack, and warns of those that are none.
    pub(in crate::catalog) fn take(
        &mut self,
        written: &Spanned<manifest::Skills>,
        home: &Arc<Home>,
        compiler: &mut Compiler<'_>,
    ) {
        self.declared = true;
        let Some(dir) = open(written, home, compiler) else { return };
        let mut matters = Matters::new();
        let mut contents = Contents::new();
        let mut any = false;
        for path in dir.skill_folders(compiler) {
            any = true;
            if let Some(matter) = dir.check(&path, &mut contents, compiler) {
                matters.insert(path, matter);
            }
        }
        if !any {
            compiler
                .warning(Code::Glob, dir.at, "there is no skill in this folder")
                .help("a skill is a folder in it with a file SKILL.md");
        }
        dir.warn_of_links(compiler);
        self.list(&dir, matters, &contents);
    }

    /// What is listed, in order.
    pub(in crate::catalog) fn listed(&self) -> (Vec<face::Skill>, Vec<face::Resource>) {
        (self.skills.clone(), self.files.iter().map(|file| file.face.clone()).collect())
    }

    /// The URIs of the files of one pack.
    pub(in crate::catalog) fn uris_of<'a>(&'a self, home: &'a Arc<Home>) -> impl Iterator<Item = &'a str> {
        let own = self.files.iter().filter(|file| Arc::ptr_eq(&file.home, home));
        own.map(|file| file.face.uri.as_str())
    }

    /// What answers for them.
    pub(in crate::catalog) fn finish(self) -> Skills {
        Skills::new(self.declared, self.files, self.children)
    }

    fn list(&mut self, dir: &Dir<'_>, matters: Matters, contents: &Contents) {
        let outermost = |path: &str| matters.keys().any(|folder| is_in(path, folder));
        for entry in dir.found.files.iter().filter(|entry| outermost(&entry.path)) {
            let Some(content) = contents.get(&entry.path) else { continue };
            let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
            let matter = matters.get(folder).filter(|_| name == "SKILL.md");
            let face = face_of(entry, content, matter);
            self.child(folder, name, face.clone());
            let path = PathBuf::from(&entry.path);
            self.files.push(File { face, home: dir.home.clone(), folder: dir.folder.clone(), path });
        }
        for folder in dir.found.folders.iter().filter(|folder| outermost(&format!("{folder}/"))) {
            self.children.entry(folder.clone()).or_default();
        }
        for (folder, matter) in matters {
            let files = dir.files_of(&folder).filter_map(|entry| Some((entry, contents.get(&entry.path)?)));
            let resources = files.map(|(entry, content)| face::SkillFile {
                uri: uri(&entry.path),
                digest: content.digest.clone(),
                size: content.size,
            });
            let resources = resources.collect();
            self.skills.push(face::Skill { uri: uri(&format!("{folder}/SKILL.md")), frontmatter: matter, resources });
        }
        self.link_folders();
    }

    fn child(&mut self, folder: &str, name: &str, face: face::Resource) {
        self.children.entry(folder.to_owned()).or_default().insert(name.to_owned(), face);
    }

    /// Shows every folder in the one above it, up to those that stand in none.
    fn link_folders(&mut self) {
        let mut ahead: Vec<String> = self.children.keys().cloned().collect();
        while let Some(path) = ahead.pop() {
            let Some((above, name)) = path.rsplit_once('/') else { continue };
            let mime_type = Some("inode/directory".to_owned());
            let face = face::Resource { uri: uri(&path), name: name.to_owned(), mime_type, ..Default::default() };
            if !self.children.contains_key(above) {
                ahead.push(above.to_owned());
            }
            self.child(above, name, face);
        }
    }
}

impl Dir<'_> {
    /// The folders in it that have a SKILL.md.
    fn skill_folders(&self, compiler: &mut Compiler<'_>) -> Vec<String> {
        if self.found.files.iter().any(|entry| entry.path == "SKILL.md") {
            compiler
                .warning(Code::Skill, self.at, "this folder has a SKILL.md itself: the skill is left out")
                .help("name the folder above it, in which the skill is a folder");
        }
        self.found.files.iter().filter_map(|entry| entry.path.strip_suffix("/SKILL.md").map(str::to_owned)).collect()
    }

    fn files_of(&self, folder: &str) -> impl Iterator<Item = &Entry> {
        self.found.files.iter().filter(move |entry| is_in(&entry.path, folder))
    }

    /// Says what the author may miss: a skill is made of the files that are really there.
    fn warn_of_links(&self, compiler: &mut Compiler<'_>) {
        for path in &self.found.left_out {
            compiler
                .warning(Code::Skill, self.at, format!("`{path}` is left out: it is a link, or cannot be read"))
                .help("put the files themselves there");
        }
    }

    /// Holds a skill against the rules and limits, and reads its files. `None` where it is left out.
    fn check(&self, folder: &str, contents: &mut Contents, compiler: &mut Compiler<'_>) -> Option<Object> {
        let path = format!("{folder}/SKILL.md");
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let shown = compiler.pack.shown(&self.path.join(&path));
        let before = compiler.findings.report.diagnostics().len();
        let file = self.folder.read(Path::new(&path), MAX_SKILL).map(|bytes| compiler.findings.decode(&bytes, &shown));
        compiler.findings.report.warn_from(before, "the skill is left out");
        let file = match file {
            Ok(file) => file?,
            Err(error) => return self.left_out(folder, &error.to_string(), compiler),
        };
        let matter = front_matter(file, name, compiler);
        self.check_limits(folder, compiler)?;
        let matter = matter?;
        self.read_files(folder, contents, compiler)?;
        Some(matter)
    }

    fn check_limits(&self, folder: &str, compiler: &mut Compiler<'_>) -> Option<()> {
        let count = self.files_of(folder).count();
        if count > MAX_FILES {
            return self.left_out(folder, &format!("it has {count} files, and {MAX_FILES} at most"), compiler);
        }
        let size: u64 = self.files_of(folder).map(|entry| entry.size).sum();
        if size > MAX_SKILL {
            return self.left_out(folder, &format!("it has {size} bytes, and {MAX_SKILL} at most"), compiler);
        }
        Some(())
    }

    /// Reads the files of a skill, those of a skill in it once.
    fn read_files(&self, folder: &str, contents: &mut Contents, compiler: &mut Compiler<'_>) -> Option<()> {
        for entry in self.files_of(folder) {
            if contents.contains_key(&entry.path) {
                continue;
            }
            match self.folder.read(Path::new(&entry.path), MAX_SKILL) {
                Ok(bytes) => contents.insert(entry.path.clone(), content(&entry.path, &bytes)),
                Err(error) => return self.left_out(folder, &error.to_string(), compiler),
            };
        }
        Some(())
    }

    fn left_out<T>(&self, folder: &str, why: &str, compiler: &mut Compiler<'_>) -> Option<T> {
        compiler.warning(Code::Skill, self.at, format!("the skill `{folder}` is left out: {why}"));
        None
    }
}

/// Opens the folder that holds the skills, and has it watched.
fn open<'a>(written: &Spanned<manifest::Skills>, home: &'a Arc<Home>, compiler: &mut Compiler<'_>) -> Option<Dir<'a>> {
    let Some(dir) = &written.dir else {
        compiler.error(Code::MissingKey, written.at, "`skills` needs a `dir`").help("the folder that holds them");
        return None;
    };
    let path = compiler.path(dir, dir.at)?;
    compiler.findings.reads.folder(compiler.pack.folder.path().join(&path));
    let Ok(folder) = compiler.pack.folder.subfolder(&path) else {
        compiler.error(Code::NotFound, dir.at, format!("there is no folder `{}`", dir.value));
        return None;
    };
    match folder.find(&every_file()?, MANY) {
        Ok(found) => {
            let below = found.folders.iter().filter(|below| !below.is_empty());
            below.for_each(|below| compiler.findings.reads.folder(folder.path().join(below)));
            found.files.iter().for_each(|entry| compiler.findings.reads.file(folder.path().join(&entry.path)));
            Some(Dir { folder, path, at: dir.at, found, home })
        }
        Err(error) => {
            compiler.error(Code::Unreadable, dir.at, error.to_string());
            None
        }
    }
}

fn every_file() -> Option<Globs> {
    Globs::new(&["**/*"], NOT_OF_A_SKILL).ok().map(Globs::of_all_names)
}

fn is_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn content(path: &str, bytes: &[u8]) -> Content {
    let hex: String = sha256(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Content { digest: format!("sha256:{hex}"), size: bytes.len() as u64, mime_type: mime_of(path, bytes) }
}

/// A file as a list shows it: a SKILL.md speaks for its skill.
fn face_of(entry: &Entry, content: &Content, matter: Option<&Object>) -> face::Resource {
    let said = |key: &str| matter.and_then(|matter| matter.get(key)?.as_str()).map(str::to_owned);
    let last = || entry.path.rsplit('/').next().unwrap_or(&entry.path).to_owned();
    let last_modified = entry.modified.map(rfc3339);
    face::Resource {
        uri: uri(&entry.path),
        name: said("name").unwrap_or_else(last),
        description: said("description"),
        mime_type: Some(content.mime_type.to_owned()),
        size: Some(content.size),
        annotations: Some(Annotations { last_modified, ..Annotations::default() }),
        ..face::Resource::default()
    }
}
