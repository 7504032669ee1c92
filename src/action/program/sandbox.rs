//! The sandboxes of a program: that of its step, and those that the importers of its pack demand.

use std::path::Path;
use std::sync::Arc;

use super::working_folder;
use crate::action::Step;
use crate::compile::{Compiler, FILES_GRANT, SandboxPath, SandboxRules, SandboxTarget};
use crate::diagnostic::Code;
use crate::value_types::Sandbox;
use crate::world::MAX_SANDBOXES;
use crate::yaml::Spanned;

/// The rules that hold together for the program of `step`. Without any it is not held.
pub(super) fn compile(step: &Step, compiler: &mut Compiler<'_>) -> Option<Vec<Arc<SandboxRules>>> {
    let mut rules = Vec::new();
    if let Some(written) = &step.sandbox {
        rules.push(Arc::new(step_rules(written, step, compiler)?));
    }
    let action = step.actions().first().map(|action| action.key).unwrap_or_default();
    let sandbox_rules: Vec<Arc<SandboxRules>> =
        compiler.pack.sandboxes.iter().filter(|(grant, _)| grant == action).map(|(_, rules)| rules.clone()).collect();
    for required_rules in sandbox_rules {
        rules.push(Arc::new(with_pack_folder(&required_rules, step, compiler)));
    }
    if let (Some(written), true) = (&step.sandbox, rules.len() > MAX_SANDBOXES) {
        let words = format!("more than {MAX_SANDBOXES} sandboxes apply to this program, with those of its importers");
        compiler.error(Code::Nesting, written.location, words).help("remove it, or import the pack from further out");
        return None;
    }
    Some(rules)
}

/// The rules of a step, whose program may read in its `cwd`.
fn step_rules(written: &Spanned<Sandbox>, step: &Step, compiler: &mut Compiler<'_>) -> Option<SandboxRules> {
    let mut rules = compiler.sandbox(written)?;
    let cwd = match &step.cwd {
        Some(cwd) if cwd.contains("{{") => variable_cwd(cwd, compiler)?,
        Some(cwd) => {
            let path = compiler.resolve_path(cwd, cwd.location)?;
            SandboxPath::below(compiler.pack.folder.path(), &path)
        }
        None => SandboxPath::below(compiler.pack.folder.path(), compiler.base),
    };
    rules.read.push(cwd);
    Some(rules)
}

/// The working folder that a variable or an argument names.
fn variable_cwd(cwd: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<SandboxPath> {
    if working_folder::is_argument(cwd, compiler) {
        let display_path = cwd.trim_matches(['{', '}', ' ']).to_owned();
        return Some(SandboxPath { display_path, target: SandboxTarget::WorkingFolder });
    }
    compiler.sandbox_variable(cwd)
}

/// What an importer demands of a pack, which may read its own folder, and that which the importer passes as `cwd`. The
/// workspace and what an argument names are for packs that may read outside of themselves.
fn with_pack_folder(required_rules: &SandboxRules, step: &Step, compiler: &mut Compiler<'_>) -> SandboxRules {
    let mut rules = required_rules.clone();
    rules.read.push(SandboxPath::below(compiler.pack.folder.path(), Path::new("")));
    if let Some(cwd) = step.cwd.as_ref().filter(|cwd| cwd.contains("{{")) {
        let is_passed = !working_folder::is_argument(cwd, compiler) && compiler.workspace(cwd).is_none();
        if is_passed || compiler.pack.grants.allows(FILES_GRANT) {
            rules.read.extend(variable_cwd(cwd, compiler));
        }
    }
    rules
}
