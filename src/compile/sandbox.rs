//! Compiles `sandbox`: its paths are resolved at load, and opened when a program starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Compiler, Exposure, Grants};
use crate::diagnostic::Code;
use crate::files::{expand_home, normalize};
use crate::template::{Template, TextSlot};
use crate::value_types::{Network, NetworkMode, Port, Sandbox};
use crate::yaml::{Location, Spanned};

/// What a program may reach. Several of them hold together, each for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxRules {
    /// What it may read.
    pub read: Vec<SandboxPath>,
    /// What it may read and write.
    pub write: Vec<SandboxPath>,
    /// What it may connect to.
    pub network: NetworkRules,
    /// Whether it is refused where this cannot be enforced.
    pub required: bool,
}

/// A folder or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPath {
    /// As written, or as shown.
    pub display_path: String,
    /// Where it is.
    pub target: SandboxTarget,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxTarget {
    /// Below a folder, which no link leaves.
    BelowFolder(PathBuf, PathBuf),
    Anywhere(PathBuf),
    /// The working folder of the program, which an argument names.
    WorkingFolder,
    /// Nowhere: the variable is not set.
    Unset,
}

/// What a program may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkRules {
    /// Anything; it may also listen.
    Any,
    /// These TCP ports.
    Ports(Vec<u16>),
}

/// A program with a sandbox, for a listing.
#[derive(Debug, Clone)]
pub struct SandboxUse {
    /// The place of its action.
    pub at: Location,
    /// Its program, if known at load.
    pub program: Option<String>,
    /// The rules that hold together.
    pub rules: Vec<Arc<SandboxRules>>,
}

impl SandboxPath {
    /// A path below a folder.
    pub fn below(root: &Path, path: &Path) -> SandboxPath {
        let display_path = if path.as_os_str().is_empty() { ".".into() } else { path.to_string_lossy().into_owned() };
        SandboxPath { display_path, target: SandboxTarget::BelowFolder(root.to_owned(), path.to_owned()) }
    }
}

impl Compiler<'_> {
    /// Checks and resolves a sandbox.
    pub fn sandbox(&mut self, spec: &Spanned<Sandbox>) -> Option<SandboxRules> {
        let read = self.sandbox_paths(spec.read.as_deref().unwrap_or_default());
        let write = self.sandbox_paths(spec.write.as_deref().unwrap_or_default());
        let network = self.network_rules(spec.network.as_ref());
        self.warn_of_writable_manifest(spec.write.as_deref().unwrap_or_default());
        Some(SandboxRules { read: read?, write: write?, network: network?, required: spec.required == Some(true) })
    }

    fn sandbox_paths(&mut self, written: &[Spanned<String>]) -> Option<Vec<SandboxPath>> {
        let paths: Vec<Option<SandboxPath>> = written.iter().map(|path| self.sandbox_path(path)).collect();
        paths.into_iter().collect()
    }

    fn sandbox_path(&mut self, text: &Spanned<String>) -> Option<SandboxPath> {
        if text.contains("{{") {
            return self.sandbox_variable(text);
        }
        if Path::new(text.as_str()).is_absolute() && self.pack.grants == Grants::All {
            let target = SandboxTarget::Anywhere(text.value.clone().into());
            return Some(SandboxPath { display_path: text.value.clone(), target });
        }
        let path = self.resolve_path(text, text.location)?;
        if self.pack.folder.stat(&path).is_err() {
            self.error(Code::NotFound, text.location, format!("file or folder `{}` not found", text.value))
                .help("create it first: a sandbox can only open what exists");
            return None;
        }
        let target = SandboxTarget::BelowFolder(self.pack.folder.path().to_owned(), path);
        Some(SandboxPath { display_path: text.value.clone(), target })
    }

    /// A path that is exactly one `{{env.NAME}}` or `{{workspace}}`.
    ///
    /// Variables of the outermost manifest, and those that an importer passes, name folders; a pack's own must not.
    pub fn sandbox_variable(&mut self, text: &Spanned<String>) -> Option<SandboxPath> {
        if let Some(workspace) = self.workspace(text) {
            return Some(SandboxPath {
                display_path: "workspace".to_owned(),
                target: SandboxTarget::Anywhere(workspace),
            });
        }
        let template: Template<TextSlot> = self.template(text, Exposure::Private)?;
        let Some([env, name]) = template.single_path().filter(|path| path.first().is_some_and(|head| head == "env"))
        else {
            self.error(
                Code::Unsafe,
                text.location,
                "invalid path in `sandbox`, expected a path, or exactly one `{{env.NAME}}` or `{{workspace}}`",
            )
            .help("an argument must not choose what a program may reach");
            return None;
        };
        self.check_folder_variable(name, text.location)?;
        let value = self.pack.env.variables.get(name).and_then(|variable| variable.value.as_deref());
        let target = match value {
            Some(value) => SandboxTarget::Anywhere(self.pack.folder.path().join(expand_home(Path::new(value)))),
            None => SandboxTarget::Unset,
        };
        Some(SandboxPath { display_path: format!("{env}.{name}"), target })
    }

    fn network_rules(&mut self, written: Option<&Spanned<Network>>) -> Option<NetworkRules> {
        match written.map(|network| &network.value) {
            None | Some(Network::Mode(NetworkMode::None)) => Some(NetworkRules::Ports(Vec::new())),
            Some(Network::Mode(NetworkMode::Any)) => Some(NetworkRules::Any),
            Some(Network::Ports(ports)) => {
                let ports: Vec<Option<u16>> = ports.iter().map(|port| self.port(port)).collect();
                ports.into_iter().collect::<Option<Vec<u16>>>().map(NetworkRules::Ports)
            }
        }
    }

    fn port(&mut self, spec: &Spanned<Port>) -> Option<u16> {
        let text = spec.value.0.0.as_str();
        if let Some(port) = text.parse::<u16>().ok().filter(|port| *port > 0) {
            return Some(port);
        }
        let message = format!("invalid port `{text}` in `network`, expected a number from 1 to 65535");
        let diagnostic = self.error(Code::BadValue, spec.location, message);
        match text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()) {
            Some(port) => diagnostic.help(format!("write `{port}`: a sandbox restricts ports, not host names")),
            None => diagnostic.help("for example `network: [443]`"),
        };
        None
    }

    /// Warns of a program that may write the manifest, and so give itself more.
    fn warn_of_writable_manifest(&mut self, paths: &[Spanned<String>]) {
        for path in paths.iter().filter(|path| !path.contains("{{")) {
            let holds_manifest = match Path::new(path.as_str()).is_absolute() {
                true => self.pack.folder.path().starts_with(path.as_str()),
                false => normalize(&self.base.join(path.as_str()).to_string_lossy())
                    .is_ok_and(|path| path.as_os_str().is_empty()),
            };
            if holds_manifest {
                self.warning(Code::Unsafe, path.location, format!("`{}` holds the manifest", path.value))
                    .help("write a folder below it, such as `out`: a program that can write the manifest could allow itself anything");
            }
        }
    }
}
