//! Compiles `scopes`, `roles` and `permit`.

use std::sync::Arc;

use super::{EntryAccess, NeededScope};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, LoadPurpose};
use crate::identity::{is_scope, is_scope_byte};
use crate::manifest::AccessKeys;
use crate::template::{Template, TemplatePart, TextSlot};
use crate::yaml::{Location, Spanned};

const SCOPE_HELP: &str = "a scope is printable ASCII without spaces, `\"` and `\\`, such as `desk.write`";

impl EntryAccess {
    /// Compiles the keys of an entry, whose arguments are in scope. `Some(None)` where it has none of them, `None` if they
    /// have errors.
    pub(in crate::catalog) fn build<'a>(
        keys: impl Into<AccessKeys<'a>>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Option<Arc<EntryAccess>>> {
        let keys = keys.into();
        let Some(first) = keys.names().next() else { return Some(None) };
        note_missing_auth(first, keys.at, compiler);
        // What decides who may call is no part of what is answered.
        let reads_caller = compiler.reads_caller;
        let scopes = items("scopes", keys.scopes, compiler)
            .map(|scopes| scopes.iter().map(|scope| compile_scope(scope, compiler)).collect::<Vec<_>>());
        let roles = items("roles", keys.roles, compiler)
            .map(|roles| roles.iter().map(|role| check_role(role, compiler)).collect::<Vec<_>>());
        let permit = keys.permit.map(|permit| compiler.template(permit, Exposure::Private).map(Arc::new));
        compiler.reads_caller = reads_caller;
        let access = EntryAccess {
            scopes: scopes?.into_iter().collect::<Option<_>>()?,
            roles: roles?.into_iter().collect::<Option<_>>()?,
            permit: match permit {
                Some(permit) => Some(permit?),
                None => None,
            },
            ..EntryAccess::default()
        };
        Some(Some(Arc::new(access)))
    }
}

/// Says where the keys of an entry do not apply, and refuses them over HTTP.
fn note_missing_auth(key: &'static str, at: Location, compiler: &mut Compiler<'_>) {
    if compiler.load_context.has_auth {
        return;
    }
    let place = compiler.key_location(at, key);
    compiler
        .note(
            Code::Unsafe,
            place,
            format!("`{key}` without `http.auth`: it does not apply on stdio, and is refused over HTTP"),
        )
        .help("declare `http.auth`, which says who calls; `folio call --caller FILE` tries it")
        .forbid(LoadPurpose::Http);
}

/// The items of a list, which is not empty.
fn items<'a>(
    key: &'static str,
    list: Option<&'a Spanned<Vec<Spanned<String>>>>,
    compiler: &mut Compiler<'_>,
) -> Option<&'a [Spanned<String>]> {
    let Some(list) = list else { return Some(&[]) };
    if list.is_empty() {
        let help = if key == "roles" { "name one: nobody has any of none" } else { "name one, or remove the key" };
        compiler.error(Code::BadValue, list.location, format!("empty `{key}`")).help(help);
        return None;
    }
    Some(list)
}

fn compile_scope(scope: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<NeededScope> {
    if !scope.contains("{{") {
        if is_scope(scope) {
            return Some(NeededScope::Literal(scope.value.clone()));
        }
        let help = match scope.split_whitespace().count() {
            0 | 1 => SCOPE_HELP.to_owned(),
            _ => format!("write each as its own item: `[{}]`", scope.split_whitespace().collect::<Vec<_>>().join(", ")),
        };
        compiler.error(Code::BadValue, scope.location, format!("invalid scope `{}`", scope.value)).help(help);
        return None;
    }
    let template: Template<TextSlot> = compiler.template(scope, Exposure::Client)?;
    let parts = template.parts().unwrap_or_default();
    let is_sound = |part: &TemplatePart<'_>| match part {
        TemplatePart::Text(text) => text.bytes().all(is_scope_byte),
        TemplatePart::Variable(_) => true,
    };
    if !parts.iter().all(is_sound) {
        compiler.error(Code::BadValue, scope.location, format!("invalid scope `{}`", scope.value)).help(SCOPE_HELP);
        return None;
    }
    Some(NeededScope::Template(Arc::new(template)))
}

fn check_role(role: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    if role.trim().is_empty() {
        compiler.error(Code::BadValue, role.location, "empty role").help("write the name of a role, such as `ops`");
        return None;
    }
    if role.contains("{{") {
        compiler
            .error(Code::BadValue, role.location, format!("invalid role `{}`: roles are no templates", role.value))
            .help("lists are made before any call: write what depends on arguments as `permit`");
        return None;
    }
    Some(role.value.clone())
}
