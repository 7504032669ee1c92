//! What prompts of other programs may do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::imported_pack::ImportedPack;
use super::pack::pack_sandboxes;
use crate::compile::{Compiler, FILES_GRANT, FolderVariable, Grants, LoadContext, Pack, SandboxRules};
use crate::diagnostic::Code;
use crate::manifest::{Allow, Grant, PackRef};
use crate::pack_format::PromptRights;
use crate::yaml::Spanned;

/// The grants of a pack, and what they are limited to.
pub(super) struct ImportedGrants {
    pub(super) pack_grants: PromptRights,
    pub(super) grants: Grants,
    pub(super) sandboxes: Vec<(String, Arc<SandboxRules>)>,
    pub(super) workspace: Option<PathBuf>,
}

/// Reads `allow` and `workspace` of a pack. Grants that are withheld are checked like the others, and not given.
pub(super) fn read(
    reference: &Spanned<PackRef>,
    imported_pack: &ImportedPack<'_>,
    importer: &Pack,
    load_context: &mut LoadContext,
) -> ImportedGrants {
    let withheld = imported_pack.withheld();
    let is_withheld = |grant: &Grant| withheld.contains(grant.as_str());
    let allowed = reference.allow.iter().flat_map(Allow::grants);
    let wanted =
        used_grants(allowed.chain(Grant::ALL.into_iter().filter(is_withheld)).collect(), reference, load_context);
    let workspace = reference.workspace.as_ref().and_then(|path| open_workspace(path, importer, load_context));
    let is_there = workspace.is_some() || reference.workspace.is_none();
    check_workspace(reference, &wanted, load_context);
    // Where the workspace is gone, nothing is done elsewhere.
    let needs = |grant: Grant| if grant == Grant::Read { FILES_GRANT } else { grant.as_str() };
    let granted = wanted.iter().filter(|grant| is_there && !is_withheld(grant));
    let names = granted.map(|grant| needs(*grant).to_owned()).collect();
    let grants = importer.grants.restrict(names);
    let pack_grants = PromptRights {
        may_run_scripts: grants.allows(Grant::Script.as_str()),
        may_read_files: grants.allows(FILES_GRANT) && workspace.is_some(),
        is_withheld: imported_pack.is_withheld(),
    };
    ImportedGrants { pack_grants, grants, sandboxes: pack_sandboxes(reference, importer, load_context), workspace }
}

/// The grants for which prompts of other programs have a use; an error for each of the others.
fn used_grants(
    grants: BTreeSet<Grant>,
    reference: &Spanned<PackRef>,
    load_context: &mut LoadContext,
) -> BTreeSet<Grant> {
    let (used, unused): (BTreeSet<Grant>, BTreeSet<Grant>) =
        grants.into_iter().partition(|grant| matches!(grant, Grant::Script | Grant::Read));
    for grant in unused {
        let at = load_context.documents.key_at(reference.location, "/allow");
        let message = format!("`{}` has no effect on prompts of other programs", grant.as_str());
        load_context
            .error(Code::Conflict, at, message)
            .help("write `script` for their commands, and `read` for the files that they name");
    }
    used
}

fn check_workspace(reference: &Spanned<PackRef>, wanted: &BTreeSet<Grant>, load_context: &mut LoadContext) {
    match &reference.workspace {
        None if wanted.contains(&Grant::Read) => {
            let at = load_context.documents.key_at(reference.location, "/allow");
            load_context
                .error(Code::MissingKey, at, "missing key `workspace`, below which files are read")
                .help("write `workspace: \"{{workspace}}\"` for the folder that the client's user works on");
        }
        Some(workspace) if wanted.is_empty() => {
            let message = "`workspace` has no effect without `allow`";
            load_context
                .warning(Code::Unused, workspace.location, message)
                .help("add `allow: [read]` for files, and `allow: [script]` for commands");
        }
        _ => {}
    }
}

/// The path of the workspace, if there is one.
fn open_workspace(folder: &Spanned<String>, importer: &Pack, load_context: &mut LoadContext) -> Option<PathBuf> {
    let mut compiler = Compiler::new(load_context, importer, Path::new(""));
    if !folder.contains("{{") {
        let inside = compiler.resolve_path(folder, folder.location)?;
        return match importer.folder.stat(&inside) {
            Ok(stat) if stat.is_dir => Some(importer.folder.path().join(inside)),
            _ => {
                compiler.error(Code::NotFound, folder.location, format!("folder `{}` not found", folder.value));
                None
            }
        };
    }
    let message = "invalid `workspace`: expected a path, or exactly one `{{env.NAME}}` or `{{workspace}}`";
    match compiler.named_folders(folder, message, "it must not contain any other text")? {
        FolderVariable::Paths(paths) => paths.into_iter().next(),
        FolderVariable::Unset(variable) => {
            let message = format!("variable `{variable}` is not set, so no files are read and no commands run");
            compiler
                .note(Code::UnsetVariable, folder.location, message)
                .help("set it to a folder where the server is started");
            None
        }
    }
}
