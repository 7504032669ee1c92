//! Resolves arguments that must be paths inside the client's roots.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::budget::{Budget, Exhausted};
use crate::files::{RootPathError, Roots};
use crate::uri::file_uri_to_path;

use super::listing::Object;

/// Puts in the place of each of these arguments the path that it leads to, with every link followed.
///
/// # Errors
/// The errors of all values outside of the roots, or that are not paths.
pub(super) fn resolve_paths(
    names: &[String],
    mut arguments: Object,
    (roots, budget): (&[String], &Budget),
) -> Result<Result<Object, Vec<String>>, Exhausted> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| parse_path(root)).collect();
    roots.iter().try_for_each(|root| charge(root, budget))?;
    let roots = Roots::follow(roots.iter().map(PathBuf::as_path));
    let (mut complaints, mut more) = (Vec::new(), 0);
    for name in names {
        let Some(argument) = arguments.get_mut(name) else { continue };
        let items: &mut [Value] = match argument {
            Value::Array(items) => items,
            one => std::slice::from_mut(one),
        };
        for item in items.iter_mut().filter(|item| !item.is_null()) {
            match resolve_path(item, &roots, budget)? {
                Ok(path) => *item = path.into(),
                Err(error) if complaints.len() < MAX_COMPLAINTS => complaints.push(format!("`{name}` {error}")),
                Err(_) => more += 1,
            }
        }
    }
    complaints.extend((more > 0).then(|| format!("and {more} more")));
    Ok(if complaints.is_empty() { Ok(arguments) } else { Err(complaints) })
}

/// How many complaints are listed.
const MAX_COMPLAINTS: usize = 20;

/// What it costs to ask the system for one folder on the way to a path.
const FOLDER_COST_BYTES: usize = 512;

/// Charges what it costs to follow a path.
fn charge(path: &Path, budget: &Budget) -> Result<(), Exhausted> {
    budget.charge_work(FOLDER_COST_BYTES.saturating_mul(path.components().count()))
}

/// Whether an argument that must be inside the roots is given at all.
pub(super) fn is_given(names: &[String], arguments: &Object) -> bool {
    let given = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    names.iter().filter_map(|name| arguments.get(name)).any(given)
}

fn resolve_path(value: &Value, roots: &Roots, budget: &Budget) -> Result<Result<String, RootPathError>, Exhausted> {
    let Some(path) = value.as_str().and_then(parse_path) else { return Ok(Err(RootPathError::NotAbsolute)) };
    charge(&path, budget)?;
    Ok(roots.resolve(&path))
}

/// The path that is written, or that a `file:` URI names.
fn parse_path(written: &str) -> Option<PathBuf> {
    let is_uri = written.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if is_uri { file_uri_to_path(written) } else { Some(PathBuf::from(written)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Map, json};

    use super::*;

    fn one(value: Value, roots: &[&str]) -> Result<Value, Vec<String>> {
        let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        let arguments = Map::from_iter([("p".to_owned(), value), ("q".to_owned(), json!("../q"))]);
        let names = ["p".to_owned(), "absent".to_owned()];
        let resolved = resolve_paths(&names, arguments, (&roots, &Budget::default())).unwrap()?;
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
            "/srv/ab",
            "/srv",
            "a",
            "../a",
            "",
            "/srv/a/x/../y",
            "/srv/a/../b",
            "file:///srv/a/%2e%2e/b",
            "file:///srv/a%2F..%2Fb",
            "file:///srv/a/b?c",
            "file://elsewhere/srv/a",
            "https://x/srv/a",
            "/srv/a\0",
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
        let complaints = one(json!(["/a/b", "/c", "/d"]), &["file:///a"]).unwrap_err();
        assert_eq!(complaints, vec!["`p` must be inside one of the client's roots"; 2]);
    }
}
