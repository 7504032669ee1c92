//! How the file of a project names what is in the project, so that it is right on every machine of a team.

use std::path::{Component, Path, PathBuf};

use super::entry::Launch;

/// How the entries of a project name what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectPaths {
    /// By its path from the folder of the project, in which the client starts servers.
    Relative,
    /// Below a variable of the client.
    Below(&'static str),
    /// By its absolute path alone.
    Absolute,
}

impl ProjectPaths {
    /// How a server in a project is started on any machine: by the name of the program, and the path of the manifest in the
    /// project. `None` where the client has no way for that, or the manifest is elsewhere.
    pub fn shared_launch(self, launch: &Launch, project: &Path) -> Option<Launch> {
        let Launch::Program { program, manifest } = launch else { return None };
        let inside = Path::new(manifest).strip_prefix(project).ok()?.to_str()?;
        let base = match self {
            ProjectPaths::Relative => ".",
            ProjectPaths::Below(variable) => variable,
            ProjectPaths::Absolute => return None,
        };
        let manifest = if inside.is_empty() { base.to_owned() } else { format!("{base}/{inside}") };
        let program = Path::new(program).file_name()?.to_str()?.to_owned();
        Some(Launch::Program { program, manifest })
    }

    /// What the path of an entry means in a project.
    pub fn resolve(self, path: &str, project: &Path) -> PathBuf {
        let inside = match self {
            ProjectPaths::Below(variable) => path.strip_prefix(variable).map(|rest| rest.trim_start_matches('/')),
            ProjectPaths::Relative | ProjectPaths::Absolute => None,
        };
        let joined = project.join(inside.unwrap_or(path));
        joined.components().filter(|part| *part != Component::CurDir).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_project_are_shared_and_found_again() {
        let project = Path::new("/work/p");
        let launch =
            |manifest: &str| Launch::Program { program: "/opt/bin/folio".to_owned(), manifest: manifest.to_owned() };
        let below = ProjectPaths::Below("${workspaceFolder}");
        for (paths, manifest, written) in [
            (ProjectPaths::Relative, "/work/p", "."),
            (ProjectPaths::Relative, "/work/p/-x", "./-x"),
            (below, "/work/p", "${workspaceFolder}"),
            (below, "/work/p/a/b.yaml", "${workspaceFolder}/a/b.yaml"),
        ] {
            let shared = paths.shared_launch(&launch(manifest), project).unwrap();
            assert_eq!(shared, Launch::Program { program: "folio".to_owned(), manifest: written.to_owned() });
            assert_eq!(paths.resolve(written, project), Path::new(manifest));
            assert_eq!(paths.resolve(manifest, project), Path::new(manifest));
        }
        for elsewhere in ["/work", "/work/pp", "/other"] {
            assert_eq!(ProjectPaths::Relative.shared_launch(&launch(elsewhere), project), None);
        }
        assert_eq!(ProjectPaths::Absolute.shared_launch(&launch("/work/p"), project), None);
        assert_eq!(below.shared_launch(&Launch::Url("https://a.example".to_owned()), project), None);
    }
}
