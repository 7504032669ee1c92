//! Resolves arguments that must be paths inside of folders: the client's roots, or those that the manifest names.

use std::path::PathBuf;

use serde_json::Value;

use crate::budget::{self, BudgetExceeded};
use crate::catalog::inputs::path_confinement::{ConfinedArgument, PathConfinement};
use crate::catalog::listing::Object;
use crate::files::{ResolvedRoots, RootPathError, expand_home};
use crate::uri::file_uri_to_path;

/// How many complaints are listed.
const MAX_PATH_ERRORS: usize = 20;

/// Replaces each of these arguments by the path that it leads to, with every link followed. `roots` are those of
/// the client.
///
/// # Errors
/// The errors of all values outside of their folders, or that are not paths.
pub(in crate::catalog) fn resolve_paths(
    confined: &[ConfinedArgument],
    mut arguments: Object,
    roots: &[String],
) -> Result<Result<Object, Vec<String>>, BudgetExceeded> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| parse_path(root)).collect();
    let outside = "must be inside one of the client's roots".to_owned();
    let roots = AllowedFolders { roots: follow(&roots), base: None, outside };
    let mut path_errors = PathErrors::default();
    for ConfinedArgument { name, confinement } in confined {
        let items = match arguments.get_mut(name) {
            Some(Value::Array(items)) => items.as_mut_slice(),
            Some(value) => std::slice::from_mut(value),
            None => continue,
        };
        let own;
        let allowed = match confinement {
            PathConfinement::Roots => &roots,
            PathConfinement::Folders { paths, folder_list } if items.iter().any(|item| !item.is_null()) => {
                own = AllowedFolders::new(paths.clone(), folder_list);
                &own
            }
            PathConfinement::Unset(variable) if items.iter().any(|item| !item.is_null()) => {
                path_errors.push(format!("`{name}` cannot be checked: `{variable}` is not set"));
                continue;
            }
            PathConfinement::Folders { .. } | PathConfinement::Unset(_) => continue,
        };
        for item in items.iter_mut().filter(|item| !item.is_null()) {
            budget::tick()?;
            match allowed.resolve(item) {
                Ok(path) => *item = path.into(),
                Err(error) => path_errors.push(format!("`{name}` {error}")),
            }
        }
    }
    let PathErrors { mut lines, omitted_count } = path_errors;
    if omitted_count > 0 {
        lines.push(format!("and {omitted_count} more"));
    }
    Ok(if lines.is_empty() { Ok(arguments) } else { Err(lines) })
}

/// Whether one of these arguments is given at all.
pub(in crate::catalog) fn is_given<'a>(
    mut confined: impl Iterator<Item = &'a ConfinedArgument>,
    arguments: &Object,
) -> bool {
    let given = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    confined.any(|argument| arguments.get(&argument.name).is_some_and(given))
}

/// The first complaints, and how many there are more.
#[derive(Default)]
struct PathErrors {
    lines: Vec<String>,
    omitted_count: usize,
}

impl PathErrors {
    fn push(&mut self, line: String) {
        if self.lines.len() < MAX_PATH_ERRORS { self.lines.push(line) } else { self.omitted_count += 1 }
    }
}

/// Folders, with all links resolved.
struct AllowedFolders {
    roots: ResolvedRoots,
    /// What relative paths start from, if they are allowed.
    base: Option<PathBuf>,
    /// What a path outside of them must do.
    outside: String,
}

impl AllowedFolders {
    fn new(paths: Vec<PathBuf>, folder_list: &str) -> AllowedFolders {
        let outside = format!("must be inside {folder_list}");
        AllowedFolders { roots: follow(&paths), base: paths.into_iter().next(), outside }
    }

    fn resolve(&self, value: &Value) -> Result<String, String> {
        let Some(path) = value.as_str().and_then(|written| self.parse(written)) else {
            return Err(self.not_a_path().to_owned());
        };
        self.roots.resolve(&path).map_err(|error| match error {
            RootPathError::OutsideRoots => self.outside.clone(),
            RootPathError::NotAbsolute => self.not_a_path().to_owned(),
            other => other.to_string(),
        })
    }

    /// The path that is written, from the first folder on if it is relative.
    fn parse(&self, text: &str) -> Option<PathBuf> {
        let path = expand_home(&parse_path(text)?);
        match &self.base {
            Some(base) if !path.is_absolute() && !text.is_empty() => Some(base.join(path)),
            _ => Some(path),
        }
    }

    fn not_a_path(&self) -> &'static str {
        match self.base {
            Some(_) => "must be a path or a `file:` URI",
            None => "must be an absolute path or a `file:` URI",
        }
    }
}

fn follow(folders: &[PathBuf]) -> ResolvedRoots {
    ResolvedRoots::follow(folders.iter().map(PathBuf::as_path))
}

/// The path that is written, or that a `file:` URI names.
fn parse_path(text: &str) -> Option<PathBuf> {
    let is_uri = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if is_uri { file_uri_to_path(text) } else { Some(PathBuf::from(text)) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn one(value: Value, roots: &[&str]) -> Result<Value, Vec<String>> {
        let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        let arguments = Map::from_iter([("p".to_owned(), value), ("q".to_owned(), json!("../q"))]);
        let confined =
            ["p", "absent"].map(|name| ConfinedArgument { name: name.to_owned(), confinement: PathConfinement::Roots });
        let resolved = resolve_paths(&confined, arguments, &roots).unwrap()?;
        assert_eq!(resolved.get("q"), Some(&json!("../q")));
        Ok(resolved.get("p").cloned().unwrap())
    }

    #[test]
    fn path_or_file_uri_resolves_to_path() {
        for inside in ["/srv/a/b c", "file:///srv/a/b%20c", "FILE://localhost/srv/./a//b c/."] {
            assert_eq!(one(json!(inside), &["file:///other", "file:///srv/a"]), Ok(json!("/srv/a/b c")), "{inside}");
        }
        assert_eq!(one(json!(null), &[]), Ok(json!(null)));
        assert_eq!(one(json!([]), &[]), Ok(json!([])));
        assert_eq!(one(json!(["file:/a/b", null, "/a"]), &["file:///a"]), Ok(json!(["/a/b", null, "/a"])));
    }

    #[test]
    fn paths_outside_roots_are_refused() {
        for out in [
            "/srv/ab", "/srv", "a", "../a", "", "/srv/a/x/../y", "/srv/a/../b", "file:///srv/a/%2e%2e/b",
            "file:///srv/a%2F..%2Fb", "file:///srv/a/b?c", "file://elsewhere/srv/a", "https://x/srv/a", "/srv/a\0",
        ] {
            assert!(one(json!(out), &["file:///srv/a"]).is_err(), "{out}");
        }
        assert!(one(json!("/srv/a"), &[]).is_err());
        assert!(one(json!("/srv/a"), &["file:///srv/a?x", "https:///srv/a", "srv/a"]).is_err());
    }

    #[test]
    fn non_string_values_are_refused() {
        for odd in [json!(1), json!({ "path": "/a" }), json!([["/a"]]), json!(["/a", { "b": "/c" }]), json!(true)] {
            assert!(one(odd.clone(), &["file:///a"]).is_err(), "{odd}");
        }
    }

    #[test]
    fn every_list_item_must_be_inside_roots() {
        let path_errors = one(json!(["/a/b", "/c", "/d"]), &["file:///a"]).unwrap_err();
        assert_eq!(path_errors, vec!["`p` must be inside one of the client's roots"; 2]);
    }
}
