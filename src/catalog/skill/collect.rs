//! Finds the skills of a pack and lists their files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::access::EntryAccess;
use crate::catalog::content::pack_file::PackFile;
use crate::catalog::entry::PackContext;
use crate::catalog::listing::{self, Annotations, Object, ResourceInfo};
use crate::catalog::resource::resource_root::exclude_secret_paths;
use crate::compile::Compiler;
use crate::diagnostic::{Code, Consequence, FileId, Reporting};
use crate::digest::sha256;
use crate::files::{FileEntry, Folder, Globs, WalkOutcome, mime_of, rfc3339};
use crate::load::LoadedPack;
use crate::manifest;
use crate::pack_format::ImportedSkill;
use crate::yaml::{Location, Spanned};

use super::front_matter::{SkillRules, check_front_matter};
use super::{Children, MAX_SKILL_BYTES, SkillIndex, SkillResource, skill_uri};

/// How many files all skills of a pack may have together.
const MAX_FILES_PER_DIR: usize = 200_000;
/// How many files a skill may have.
const MAX_SKILL_FILES: usize = 512;
/// What tools and systems put beside the files of a skill, and files that hold secrets by their very names.
const EXCLUDED_GLOBS: &[&str] = &[
    "**/.git", "**/.git/**", "**/.hg/**", "**/.jj/**", "**/.svn/**", "**/node_modules/**", "**/.DS_Store", "**/._*",
    "**/.*.sw?", "**/.env", "**/.netrc", "**/.npmrc",
];

/// The skills of all packs, as they are found.
#[derive(Default)]
pub(in crate::catalog) struct SkillCollector {
    is_declared: bool,
    skills: Vec<listing::SkillListing>,
    files: Vec<SkillResource>,
    children: Children,
}

/// The skills of all packs, and their files, as they are listed.
pub(in crate::catalog) struct SkillListings {
    pub(in crate::catalog) skills: Vec<listing::SkillListing>,
    pub(in crate::catalog) files: Vec<listing::ResourceListing>,
}

/// The links to the files of skills, by the SKILL.md.
pub(in crate::catalog) type SkillLinks = HashMap<FileId, Vec<listing::ResourceListing>>;

/// What is being looked through: the folder that holds the skills of a pack.
struct SkillsDir<'a> {
    folder: Folder,
    /// Its path in the pack.
    path: PathBuf,
    /// The location of its name.
    at: Location,
    walked: WalkOutcome,
    pack_context: &'a Arc<PackContext>,
    /// Whether it is a pack of another program, whose invalid skills are served but not listed.
    is_imported: bool,
    /// What their URIs begin with.
    uri_prefix: String,
    access: Option<Arc<EntryAccess>>,
}

/// A file that was read.
struct FileDigest {
    digest: String,
    size: u64,
    mime_type: &'static str,
}

/// The front matter of skills by their folders, `None` for those that are not listed; and the files that were read, by
/// their paths.
type FrontMatters = BTreeMap<String, Option<Object>>;
type FileDigests = BTreeMap<String, FileDigest>;

impl SkillCollector {
    /// Takes the skills of a pack, and warns of folders that are not skills.
    pub(in crate::catalog) fn add_pack(
        &mut self,
        skills: &Spanned<manifest::Skills>,
        pack_context: &Arc<PackContext>,
        compiler: &mut Compiler<'_>,
    ) {
        self.is_declared = true;
        let Some(dir) = open_skills_dir(skills, pack_context, compiler) else { return };
        let mut front_matters = FrontMatters::new();
        let mut contents = FileDigests::new();
        let mut any = false;
        for path in dir.skill_folders(compiler) {
            any = true;
            if let Some(front_matter) = dir.check_skill(&path, &mut contents, compiler) {
                front_matters.insert(path, Some(front_matter));
            }
        }
        if !any {
            compiler
                .warning(Code::Glob, dir.at, "no skills in this folder")
                .help("write each skill as a subfolder with a SKILL.md");
        }
        dir.warn_of_links(compiler);
        self.list(&dir, front_matters, &contents);
    }

    /// Takes the skills of a pack of another program, and returns the links to their files.
    pub(in crate::catalog) fn add_imported_pack(
        &mut self,
        pack: &LoadedPack,
        pack_context: &Arc<PackContext>,
        compiler: &mut Compiler<'_>,
    ) -> SkillLinks {
        let skills = &pack.imported_skills;
        if skills.is_empty() {
            return SkillLinks::default();
        }
        self.is_declared = true;
        let Some(dir) = open_imported_pack(pack, pack_context, compiler) else { return SkillLinks::default() };
        let mut front_matters = FrontMatters::new();
        let mut contents = FileDigests::new();
        for ImportedSkill { name, folder, file } in skills {
            let rules = SkillRules { folder: name, effect: Consequence::SkillUnlisted, is_parsed: true };
            let front_matter = check_front_matter(*file, &rules, compiler);
            let is_read =
                dir.check_limits(folder, compiler).and_then(|()| dir.read_files(folder, &mut contents, compiler));
            if is_read.is_some() {
                front_matters.insert(folder.clone(), front_matter);
            }
        }
        let served = skills.iter().filter(|skill| front_matters.contains_key(&skill.folder));
        let links = served.map(|skill| (skill.file, dir.links_of(&skill.folder, &contents))).collect();
        self.list(&dir, front_matters, &contents);
        links
    }

    /// What is listed, in order.
    pub(in crate::catalog) fn listings(&self) -> SkillListings {
        let files = self.files.iter().map(|file| file.listing.clone()).collect();
        SkillListings { skills: self.skills.clone(), files }
    }

    /// The URIs of the files of one pack.
    pub(in crate::catalog) fn uris_of<'a>(
        &'a self,
        pack_context: &'a Arc<PackContext>,
    ) -> impl Iterator<Item = &'a str> {
        let own = self.files.iter().filter(|file| Arc::ptr_eq(&file.pack_context, pack_context));
        own.map(|file| file.listing.uri.as_str())
    }

    /// What answers for them.
    pub(in crate::catalog) fn finish(self) -> SkillIndex {
        SkillIndex::new(self.is_declared, self.files, self.children)
    }

    fn list(&mut self, dir: &SkillsDir<'_>, front_matters: FrontMatters, contents: &FileDigests) {
        let in_a_skill = |path: &str| is_below_any(path, |folder| front_matters.contains_key(folder));
        for entry in dir.walked.files.iter().filter(|entry| in_a_skill(&entry.path)) {
            let Some(content) = contents.get(&entry.path) else { continue };
            let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
            let front_matter = front_matters.get(folder).filter(|_| name == "SKILL.md").and_then(Option::as_ref);
            let listing = file_listing(dir, entry, content, front_matter);
            self.add_child(&dir.uri_path(folder), name, listing.clone());
            let file = PackFile { folder: dir.folder.clone(), path: PathBuf::from(&entry.path) };
            let (pack_context, access) = (dir.pack_context.clone(), dir.access.clone());
            self.files.push(SkillResource { listing, pack_context, access, file });
        }
        for folder in dir.walked.folders.iter().filter(|folder| in_a_skill(&format!("{folder}/"))) {
            self.children.entry(dir.uri_path(folder)).or_default();
        }
        for (folder, front_matter) in front_matters {
            let Some(frontmatter) = front_matter else { continue };
            let files = dir.files_of(&folder).iter().filter_map(|entry| Some((entry, contents.get(&entry.path)?)));
            let resources = files.map(|(entry, content)| listing::SkillFileListing {
                uri: skill_uri(&dir.uri_path(&entry.path)),
                digest: content.digest.clone(),
                size: content.size,
            });
            let resources = resources.collect();
            let uri = skill_uri(&dir.uri_path(&skill_file(&folder)));
            self.skills.push(listing::SkillListing { uri, frontmatter, resources });
        }
        self.add_parent_folders();
    }

    fn add_child(&mut self, folder: &str, name: &str, listing: listing::ResourceListing) {
        self.children.entry(folder.to_owned()).or_default().insert(name.to_owned(), listing);
    }

    /// Lists each folder in its parent, up to those at the top.
    fn add_parent_folders(&mut self) {
        let mut pending: Vec<String> = self.children.keys().cloned().collect();
        while let Some(path) = pending.pop() {
            let Some((above, name)) = path.rsplit_once('/') else { continue };
            let info = ResourceInfo {
                name: name.to_owned(),
                mime_type: Some("inode/directory".to_owned()),
                ..ResourceInfo::default()
            };
            let listing = listing::ResourceListing { uri: skill_uri(&path), info, size: None };
            if !self.children.contains_key(above) {
                pending.push(above.to_owned());
            }
            self.add_child(above, name, listing);
        }
    }
}

impl SkillsDir<'_> {
    /// The folders in it that have a SKILL.md.
    fn skill_folders(&self, compiler: &mut Compiler<'_>) -> Vec<String> {
        if self.walked.files.iter().any(|entry| entry.path == "SKILL.md") {
            compiler
                .warning(Code::Skill, self.at, "unexpected SKILL.md in the skills folder")
                .consequence(Consequence::SkillSkipped)
                .help("use the parent folder as `dir`");
        }
        self.walked.files.iter().filter_map(|entry| entry.path.strip_suffix("/SKILL.md").map(str::to_owned)).collect()
    }

    /// The files below a folder.
    fn files_of(&self, folder: &str) -> &[FileEntry] {
        if folder.is_empty() {
            return &self.walked.files;
        }
        let below = format!("{folder}/");
        let start = self.walked.files.partition_point(|entry| entry.path < below);
        let rest = self.walked.files.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|entry| entry.path.starts_with(&below))).unwrap_or_default()
    }

    /// A path of this folder in URIs.
    fn uri_path(&self, path: &str) -> String {
        format!("{}{path}", self.uri_prefix).trim_end_matches('/').to_owned()
    }

    /// The links to the files of a skill beside its SKILL.md, each named by its path in the skill.
    fn links_of(&self, folder: &str, contents: &FileDigests) -> Vec<listing::ResourceListing> {
        let own = skill_file(folder);
        let files = self.files_of(folder).iter().filter(|entry| entry.path != own);
        let link = |entry: &FileEntry| {
            let mut listing = file_listing(self, entry, contents.get(&entry.path)?, None);
            let path = entry.path.strip_prefix(folder).unwrap_or(&entry.path);
            path.trim_start_matches('/').clone_into(&mut listing.info.name);
            Some(listing)
        };
        files.filter_map(link).collect()
    }

    /// Leaves out files whose paths hold a secret, and has the others watched.
    fn watch(&mut self, compiler: &mut Compiler<'_>) {
        let secrets = &self.pack_context.secrets;
        exclude_secret_paths(&mut self.walked.files, secrets, self.at, compiler);
        self.walked.folders.retain(|folder| !secrets.finds_secret(folder));
        let dependencies = &mut compiler.load_context.dependencies;
        let below = self.walked.folders.iter().filter(|below| !below.is_empty());
        dependencies.folders.extend(below.map(|below| self.folder.path().join(below)));
        dependencies.files.extend(self.walked.files.iter().map(|entry| self.folder.path().join(&entry.path)));
    }

    /// Says what the author may miss: a skill is made of the files that are really there.
    fn warn_of_links(&self, compiler: &mut Compiler<'_>) {
        for path in &self.walked.skipped {
            compiler
                .warning(Code::Skill, self.at, format!("file `{path}` skipped: symbolic link or unreadable"))
                .help("use regular files");
        }
    }

    /// Checks a skill, and reads its files. `None` if it is skipped.
    fn check_skill(&self, folder: &str, contents: &mut FileDigests, compiler: &mut Compiler<'_>) -> Option<Object> {
        let path = format!("{folder}/SKILL.md");
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let display_path = compiler.pack.display_path(&self.path.join(&path));
        let (file, reported) = compiler.attempt(|compiler| {
            let bytes = compiler.load_context.read_up_to(MAX_SKILL_BYTES, &self.folder, Path::new(&path));
            bytes.map(|bytes| compiler.load_context.decode(&bytes, &display_path))
        });
        compiler.load_context.report.extend_as_warnings(reported, Consequence::SkillSkipped);
        let file = match file {
            Ok(file) => file?,
            Err(error) => return self.skip_skill(folder, &error.to_string(), compiler),
        };
        let rules = SkillRules { folder: name, effect: Consequence::SkillSkipped, is_parsed: false };
        let front_matter = check_front_matter(file, &rules, compiler);
        self.check_limits(folder, compiler)?;
        let front_matter = front_matter?;
        self.read_files(folder, contents, compiler)?;
        Some(front_matter)
    }

    fn check_limits(&self, folder: &str, compiler: &mut Compiler<'_>) -> Option<()> {
        let count = self.files_of(folder).len();
        if count > MAX_SKILL_FILES {
            return self.skip_skill(folder, &format!("{count} files, limit {MAX_SKILL_FILES}"), compiler);
        }
        let size: u64 = self.files_of(folder).iter().map(|entry| entry.size).sum();
        if size > MAX_SKILL_BYTES {
            return self.skip_skill(folder, &format!("{size} bytes, limit {MAX_SKILL_BYTES}"), compiler);
        }
        Some(())
    }

    /// Reads the files of a skill, those of a skill in it once.
    fn read_files(&self, folder: &str, contents: &mut FileDigests, compiler: &mut Compiler<'_>) -> Option<()> {
        for entry in self.files_of(folder) {
            if contents.contains_key(&entry.path) {
                continue;
            }
            match self.folder.read(Path::new(&entry.path), MAX_SKILL_BYTES) {
                Ok(bytes) => {
                    let hex: String = sha256(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                    let (digest, mime_type) = (format!("sha256:{hex}"), mime_of(&entry.path, &bytes));
                    contents.insert(entry.path.clone(), FileDigest { digest, size: bytes.len() as u64, mime_type })
                }
                Err(error) => return self.skip_skill(folder, &error.to_string(), compiler),
            };
        }
        Some(())
    }

    fn skip_skill<T>(&self, folder: &str, why: &str, compiler: &mut Compiler<'_>) -> Option<T> {
        let message = match self.is_imported {
            true => format!("files of skill `{folder}` not served: {why}"),
            false => format!("skill `{folder}` skipped: {why}"),
        };
        compiler.warning(Code::Skill, self.at, message);
        None
    }
}

/// Opens the folder that holds the skills, and has it watched.
fn open_skills_dir<'a>(
    skills: &Spanned<manifest::Skills>,
    pack_context: &'a Arc<PackContext>,
    compiler: &mut Compiler<'_>,
) -> Option<SkillsDir<'a>> {
    let Some(dir) = &skills.dir else {
        compiler
            .error(Code::MissingKey, skills.location, "missing key `dir` in `skills`")
            .help("write `skills: { dir: skills }`");
        return None;
    };
    let path = compiler.resolve_path(dir, dir.location)?;
    compiler.load_context.dependencies.folders.insert(compiler.pack.folder.path().join(&path));
    let Ok(folder) = compiler.pack.folder.subfolder(&path) else {
        compiler.report_missing_path(dir, dir.location, format!("no such folder: `{}`", dir.value));
        return None;
    };
    let walked = walk_skills(&folder, dir.location, compiler)?;
    let names = pack_context.names.clone().with_caller(&compiler.caller_headers());
    let access = compiler.with_scope_shape(names, |compiler| EntryAccess::build(skills, compiler))?;
    let mut opened = SkillsDir {
        folder,
        path,
        at: dir.location,
        walked,
        pack_context,
        is_imported: false,
        uri_prefix: String::new(),
        access,
    };
    opened.watch(compiler);
    Some(opened)
}

/// Opens a pack of another program, and has the files of its skills watched.
fn open_imported_pack<'a>(
    pack: &LoadedPack,
    pack_context: &'a Arc<PackContext>,
    compiler: &mut Compiler<'_>,
) -> Option<SkillsDir<'a>> {
    let folder = pack.pack.folder.clone();
    let mut walked = walk_skills(&folder, pack.at, compiler)?;
    let skills: HashSet<&str> = pack.imported_skills.iter().map(|skill| skill.folder.as_str()).collect();
    walked.files.retain(|entry| is_below_any(&entry.path, |folder| skills.contains(folder)));
    walked.folders.retain(|folder| is_below_any(&format!("{folder}/"), |folder| skills.contains(folder)));
    // A skill that is the whole pack needs a folder too.
    let whole = pack.imported_skills.iter().find(|skill| skill.folder.is_empty());
    let names = [Some(pack.prefix.as_str()), whole.map(|skill| skill.name.as_str())];
    let uri_prefix =
        names.into_iter().flatten().filter(|name| !name.is_empty()).map(|name| format!("{name}/")).collect();
    let path = PathBuf::new();
    let mut opened =
        SkillsDir { folder, path, at: pack.at, walked, pack_context, is_imported: true, uri_prefix, access: None };
    opened.watch(compiler);
    Some(opened)
}

fn walk_skills(folder: &Folder, at: Location, compiler: &mut Compiler<'_>) -> Option<WalkOutcome> {
    let globs = Globs::new(&["**/*"], EXCLUDED_GLOBS).ok()?.with_hidden_without_links();
    match folder.walk_outcome(&globs, MAX_FILES_PER_DIR) {
        Ok(walked) => Some(walked),
        Err(error) => {
            compiler.error(Code::Unreadable, at, error.to_string());
            None
        }
    }
}

/// The SKILL.md of a folder.
fn skill_file(folder: &str) -> String {
    if folder.is_empty() { "SKILL.md".to_owned() } else { format!("{folder}/SKILL.md") }
}

/// Whether a path is in one of some folders, or below it.
fn is_below_any(path: &str, is_folder: impl Fn(&str) -> bool) -> bool {
    is_folder("") || path.match_indices('/').any(|(end, _)| path.get(..end).is_some_and(&is_folder))
}

/// The listing of a file; a SKILL.md has the name and description of its skill.
fn file_listing(
    dir: &SkillsDir<'_>,
    entry: &FileEntry,
    content: &FileDigest,
    front_matter: Option<&Object>,
) -> listing::ResourceListing {
    let field = |key: &str| front_matter.and_then(|front_matter| front_matter.get(key)?.as_str()).map(str::to_owned);
    let last = || entry.path.rsplit('/').next().unwrap_or(&entry.path).to_owned();
    let last_modified = entry.modified.map(rfc3339);
    let info = ResourceInfo {
        name: field("name").unwrap_or_else(last),
        description: field("description"),
        mime_type: Some(content.mime_type.to_owned()),
        annotations: Some(Annotations { last_modified, ..Annotations::default() }),
        ..ResourceInfo::default()
    };
    listing::ResourceListing { uri: skill_uri(&dir.uri_path(&entry.path)), info, size: Some(content.size) }
}
