//! Arguments that must be paths inside the client's roots.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};
use url::Url;

/// Says what is wrong with the arguments that must be inside the roots; nothing where they all are.
pub(super) fn outside(names: &[String], arguments: &Map<String, Value>, roots: &[String]) -> Vec<String> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| path_of(root)).collect();
    let mut complaints = Vec::new();
    for name in names {
        for value in texts(arguments.get(name)) {
            match path_of(value) {
                None => complaints.push(format!("`{name}` must be an absolute path or a `file:` URI")),
                Some(path) if !roots.iter().any(|root| is_inside(&path, root)) => {
                    complaints.push(format!("`{name}` must be inside one of the client's roots"));
                }
                Some(_) => {}
            }
        }
    }
    complaints
}

/// Whether an argument that must be inside the roots is given at all.
pub(super) fn is_given(names: &[String], arguments: &Map<String, Value>) -> bool {
    names.iter().any(|name| texts(arguments.get(name)).next().is_some())
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let one = value.and_then(Value::as_str);
    let many = value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    one.into_iter().chain(many)
}

/// The path that is written or that a `file:` URI names, without `.` and `..`.
fn path_of(written: &str) -> Option<PathBuf> {
    if written.contains('\0') {
        return None;
    }
    let path = match written.strip_prefix("file:") {
        Some(_) => Url::parse(written).ok()?.to_file_path().ok()?,
        None => PathBuf::from(written),
    };
    path.is_absolute().then(|| plain(&path))
}

/// A path without `.` and `..`, read as text.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Inside by what is written and, as far as it is there, by where links lead.
fn is_inside(path: &Path, root: &Path) -> bool {
    if !path.starts_with(root) {
        return false;
    }
    let Ok(root) = fs::canonicalize(root) else { return true };
    let there = path.ancestors().find_map(|part| fs::canonicalize(part).ok());
    there.is_none_or(|there| there.starts_with(&root) || root.starts_with(&there))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn is_fine(value: &str, roots: &[&str]) -> bool {
        let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        let arguments = Map::from_iter([("p".to_owned(), json!(value))]);
        outside(&["p".to_owned()], &arguments, &roots).is_empty()
    }

    #[test]
    fn a_path_is_inside_by_whole_names_and_by_no_detour() {
        for inside in ["/srv/a", "/srv/a/b", "file:///srv/a/b%20c", "/srv/a/x/../y"] {
            assert!(is_fine(inside, &["file:///other", "file:///srv/a"]), "{inside}");
        }
        for out in
            ["/srv/ab", "/srv", "a", "../a", "/srv/a/../b", "file:///srv/a/%2e%2e/b", "https://x/srv/a", "/srv/a\0"]
        {
            assert!(!is_fine(out, &["file:///srv/a"]), "{out}");
        }
        assert!(!is_fine("/srv/a", &[]));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_is_outside() {
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("root"), folder.path().join("other"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&other).unwrap();
        std::os::unix::fs::symlink(&other, root.join("link")).unwrap();
        let uri = Url::from_file_path(&root).unwrap().to_string();
        assert!(is_fine(root.join("new/file").to_str().unwrap(), &[&uri]));
        assert!(!is_fine(root.join("link").to_str().unwrap(), &[&uri]));
        assert!(!is_fine(root.join("link/new").to_str().unwrap(), &[&uri]));
    }

    #[test]
    fn every_item_of_a_list_must_be_inside() {
        let arguments = Map::from_iter([("p".to_owned(), json!(["/a/b", "/c"]))]);
        assert_eq!(outside(&["p".to_owned()], &arguments, &["file:///a".to_owned()]).len(), 1);
    }
}
