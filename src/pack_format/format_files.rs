//! Which files of a folder each format reads: no file is read by two.

use std::collections::{BTreeSet, HashSet};

use super::agent_skills::{SKILL_FILE, folder_of};
use super::agents::AGENT_GLOBS;
use super::unserved_files::unserved_globs;
use super::{EXCLUDED_GLOBS, FORMATS, PackFormat};
use crate::files::{GlobError, Globs};
use crate::manifest::PackFormatName;

/// The formats of a pack, in the order in which they take files.
pub struct FormatMatcher(Vec<FormatGlobs>);

struct FormatGlobs {
    name: PackFormatName,
    format: &'static dyn PackFormat,
    /// Whether it was not named.
    is_auto: bool,
    /// Whether the name of the folder is in the paths.
    has_folder: bool,
    globs: Globs,
}

impl FormatMatcher {
    /// The claims of the formats that are named.
    ///
    /// # Errors
    /// A glob is invalid.
    pub fn new(named: &[PackFormatName]) -> Result<FormatMatcher, GlobError> {
        let all = named.contains(&PackFormatName::Auto);
        let chosen = FORMATS.iter().filter(|(name, _)| all || named.contains(name));
        let format = |(name, format): &(PackFormatName, &'static dyn PackFormat)| {
            let is_auto = !named.contains(name);
            let beside = format.globs_beside_others().filter(|_| named.iter().any(|other| other != name));
            let globs = match beside {
                _ if is_auto => Globs::new(format.auto_globs(), format.auto_excludes()),
                beside => Globs::new(beside.unwrap_or(format.globs()), &[]),
            };
            let (globs, has_folder) = (globs?.with_hidden_without_links(), is_auto || beside.is_some());
            Ok(FormatGlobs { name: *name, format: *format, is_auto, has_folder, globs })
        };
        chosen.map(format).collect::<Result<_, _>>().map(FormatMatcher)
    }

    /// What a walk looks for: more than is taken.
    ///
    /// # Errors
    /// A glob is invalid.
    pub fn walk_globs(&self) -> Result<Globs, GlobError> {
        let globs = self.0.iter().flat_map(|format| format.format.globs()).copied();
        let globs: Vec<&str> = globs.chain(unserved_globs()).collect();
        Ok(Globs::new(&globs, EXCLUDED_GLOBS)?.with_hidden_without_links())
    }

    /// What is looked for, for a message.
    pub fn expected_globs(&self) -> BTreeSet<&'static str> {
        let globs = self.0.iter().flat_map(|format| match format.is_auto {
            true => format.format.auto_globs(),
            false => format.format.globs(),
        });
        globs.copied().collect()
    }

    /// The paths that each format reads, of a folder with this name. The files of a skill are its own.
    pub fn assign_paths(&self, folder: &str, paths: Vec<String>) -> AssignedFiles {
        let mut formats: Vec<FormatFiles> = Vec::new();
        let mut left = paths;
        for format in &self.0 {
            let (taken, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|path| format.takes(folder, path));
            left = rest;
            if format.name == PackFormatName::AgentSkills {
                let skills: HashSet<&str> = taken.iter().map(|path| folder_of(path)).collect();
                left.retain(|path| !is_in_a_skill(path, &skills));
            }
            let FormatGlobs { name, format, is_auto, .. } = *format;
            formats.push(FormatFiles { name, format, is_auto, paths: taken });
        }
        AssignedFiles { formats, left }
    }
}

/// Whether a path is below the folder of a skill, but for a skill that is the whole pack.
fn is_in_a_skill(path: &str, skills: &HashSet<&str>) -> bool {
    path.match_indices('/').any(|(end, _)| skills.contains(path.get(..end).unwrap_or(path)))
}

/// The files of a folder, by what reads them.
pub struct AssignedFiles {
    pub formats: Vec<FormatFiles>,
    /// Those that no format reads.
    pub left: Vec<String>,
}

/// Those of some paths that a format may read or serve: what its globs name, or only what is found without a name of the format
/// (`is_auto`), and every file of a skill.
pub fn served_paths<'p>(paths: &[&'p str], is_auto: bool) -> HashSet<&'p str> {
    let globs = FORMATS.iter().flat_map(|(_, format)| if is_auto { format.auto_globs() } else { format.globs() });
    let globs: Vec<&str> = globs.chain(AGENT_GLOBS).copied().collect();
    let globs = Globs::new(&globs, EXCLUDED_GLOBS).map(Globs::with_hidden_without_links);
    let skill_files = paths.iter().filter(|path| path.rsplit('/').next() == Some(SKILL_FILE));
    let skills: HashSet<&str> = skill_files.map(|path| folder_of(path)).collect();
    let is_one_skill = skills.contains("");
    let is_served = |path: &&str| {
        is_one_skill || globs.as_ref().is_ok_and(|globs| globs.matches(path)) || is_in_a_skill(path, &skills)
    };
    paths.iter().copied().filter(is_served).collect()
}

/// The files of one format.
pub struct FormatFiles {
    pub name: PackFormatName,
    pub format: &'static dyn PackFormat,
    /// Whether it was not named.
    pub is_auto: bool,
    /// The paths of its files.
    pub paths: Vec<String>,
}

impl FormatGlobs {
    fn takes(&self, folder: &str, path: &str) -> bool {
        match self.has_folder {
            true => self.globs.matches(&format!("{folder}/{path}")),
            false => self.globs.matches(path),
        }
    }
}
