//! Compares two catalogs: changed lists, and entries that were edited without a change of their listing.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use crate::diagnostic::one_line;

use super::{
    Catalog,
    listing::{Lists, ResourceListing},
};

/// The differences between two catalogs: changed lists, and edits that no list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the list of tools.
    pub tools: ListChange,
    /// In the list of prompts.
    pub prompts: ListChange,
    /// In the list of resources; another size or time of change does not count.
    pub resources: ListChange,
    /// In the list of resource templates.
    pub resource_templates: ListChange,
    /// Among the partials, which are in no list.
    pub partials: ListChange,
    /// Among the other keys of the manifest.
    pub keys: ListChange,
    /// Capabilities that were not declared before, as MCP spells them: a session keeps those that it began with.
    pub new_capabilities: Vec<&'static str>,
}

/// What has changed in one list: names, or URIs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListChange {
    /// Entries that are new.
    pub added: Vec<String>,
    /// Entries that are gone.
    pub removed: Vec<String>,
    /// Entries whose listing changed.
    pub changed: Vec<String>,
    /// Whether entries stand in another order.
    pub reordered: bool,
    /// Entries that were edited without a change of their listing.
    pub edited: Vec<String>,
}

impl ListChange {
    /// Whether the list is another than it was.
    pub fn has_changes(&self) -> bool {
        self.reordered || !(self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty())
    }

    fn diff<T>(old: &[T], new: &[T], key: impl Fn(&T) -> &str, same: impl Fn(&T, &T) -> bool) -> ListChange {
        let (old, new) = between_equal_ends(old, new, &same);
        if old.is_empty() && new.is_empty() {
            return ListChange::default();
        }
        let before: HashMap<&str, &T> = old.iter().map(|entry| (key(entry), entry)).collect();
        let after: HashSet<&str> = new.iter().map(&key).collect();
        let named = |entry: &T| key(entry).to_owned();
        let added: Vec<String> = new.iter().filter(|entry| !before.contains_key(key(entry))).map(named).collect();
        let removed: Vec<String> = old.iter().filter(|entry| !after.contains(key(entry))).map(named).collect();
        let differs = |entry: &&T| before.get(key(entry)).is_some_and(|old| !same(old, entry));
        let changed: Vec<String> = new.iter().filter(differs).map(named).collect();
        let moved = added.is_empty() && removed.is_empty() && changed.is_empty();
        ListChange { added, removed, changed, reordered: moved, edited: Vec::new() }
    }

    /// The changes of items that are in no list.
    fn diff_digests(old: &[(&str, u64)], new: &[(&str, u64)]) -> ListChange {
        ListChange { reordered: false, ..ListChange::diff(old, new, |(name, _)| name, PartialEq::eq) }
    }

    /// Adds the entries that were edited without a change of their listing.
    fn add_edited(&mut self, old: &[(&str, u64)], new: &[(&str, u64)]) {
        let (old, new) = between_equal_ends(old, new, PartialEq::eq);
        let before: HashMap<&str, u64> = old.iter().copied().collect();
        let listed: HashSet<&str> = self.changed.iter().chain(&self.edited).map(String::as_str).collect();
        let edited = new.iter().filter(|(name, digest)| before.get(name).is_some_and(|before| before != digest));
        let edited = edited.map(|(name, _)| *name).filter(|name| !listed.contains(name));
        let edited: Vec<String> = edited.map(str::to_owned).collect();
        self.edited.extend(edited);
    }
}

impl Changes {
    /// Compares two catalogs.
    pub fn diff(old: &Catalog, new: &Catalog) -> Changes {
        let mut changes = Changes::diff_lists(old.lists(), new.lists());
        let (old, new) = (old.digests(), new.digests());
        changes.prompts.add_edited(&old.prompts, &new.prompts);
        changes.tools.add_edited(&old.tools, &new.tools);
        changes.resources.add_edited(&old.resources, &new.resources);
        changes.resource_templates.add_edited(&old.resource_templates, &new.resource_templates);
        changes.partials = ListChange::diff_digests(&old.partials, &new.partials);
        changes.keys = ListChange::diff_digests(&old.keys, &new.keys);
        changes
    }

    fn diff_lists(old: &Lists, new: &Lists) -> Changes {
        let by_uri = |resource: &ResourceListing| resource.uri.clone();
        let before: HashMap<&str, &ResourceListing> =
            old.resources.iter().map(|resource| (resource.uri.as_str(), resource)).collect();
        let touched = |new: &&ResourceListing| {
            before.get(new.uri.as_str()).is_some_and(|old| old != new && same_except_size_and_time(old, new))
        };
        let touched: Vec<String> = new.resources.iter().filter(touched).map(by_uri).collect();
        let resources =
            ListChange::diff(&old.resources, &new.resources, |resource| &resource.uri, same_except_size_and_time);
        Changes {
            tools: ListChange::diff(&old.tools, &new.tools, |tool| &tool.name, PartialEq::eq),
            prompts: ListChange::diff(
                &old.prompts,
                &new.prompts,
                |prompt| &prompt.name,
                |old, new| Arc::ptr_eq(old, new) || old == new,
            ),
            resources: ListChange { edited: touched, ..resources },
            resource_templates: ListChange::diff(
                &old.resource_templates,
                &new.resource_templates,
                |template| &template.uri_template,
                PartialEq::eq,
            ),
            ..Changes::default()
        }
    }

    /// Whether anything is other than it was.
    pub fn has_changes(&self) -> bool {
        self.by_noun().iter().any(|(_, change)| change.has_changes() || !change.edited.is_empty())
    }

    fn by_noun(&self) -> [(&'static str, &ListChange); 6] {
        [
            ("prompt", &self.prompts),
            ("tool", &self.tools),
            ("resource", &self.resources),
            ("template", &self.resource_templates),
            ("partial", &self.partials),
            ("key", &self.keys),
        ]
    }

    /// Every changed name with its sign and its noun: first what changed, then what was added, then what was removed.
    fn rows(&self) -> Vec<ChangeRow<'_>> {
        let mut rows = Vec::new();
        for sign in ['~', '+', '-'] {
            for (noun, change) in self.by_noun() {
                let (names, more): (_, &[String]) = match sign {
                    '+' => (&change.added, &[]),
                    '-' => (&change.removed, &[]),
                    _ => (&change.changed, &change.edited),
                };
                rows.extend(names.iter().chain(more).map(|name| ChangeRow { sign, name, noun }));
            }
        }
        rows
    }
}

/// What is between the entries that are the same at the beginning and at the end of both lists: most edits are of one.
fn between_equal_ends<'a, T>(old: &'a [T], new: &'a [T], same: impl Fn(&T, &T) -> bool) -> (&'a [T], &'a [T]) {
    let first = old.iter().zip(new).take_while(|(old, new)| same(old, new)).count();
    let (old, new) = (old.get(first..).unwrap_or_default(), new.get(first..).unwrap_or_default());
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| same(old, new)).count();
    let before = |list: &'a [T]| list.get(..list.len() - last).unwrap_or_default();
    (before(old), before(new))
}

/// One name in the line of a reload.
struct ChangeRow<'a> {
    sign: char,
    name: &'a str,
    noun: &'static str,
}

/// How many names the line of a reload holds.
const MAX_NAMED_ENTRIES: usize = 10;

/// An edit of a file does not change the list of resources: `resources/updated` announces it.
fn same_except_size_and_time(old: &ResourceListing, new: &ResourceListing) -> bool {
    let bare = |resource: &ResourceListing| {
        let mut bare = resource.clone();
        bare.size = None;
        bare.info.annotations = bare.info.annotations.map(|mut annotations| {
            annotations.last_modified = None;
            annotations
        });
        bare.info.annotations = bare.info.annotations.filter(|annotations| *annotations != Default::default());
        bare
    };
    old == new || bare(old) == bare(new)
}

impl fmt::Display for Changes {
    /// Writes changes like `~greet, +triage`, with the kind of entry if the name is ambiguous.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let mut nouns: HashMap<&str, HashSet<&str>> = HashMap::new();
        for row in &rows {
            nouns.entry(row.name).or_default().insert(row.noun);
        }
        let mut parts: Vec<String> = Vec::new();
        for ChangeRow { sign, name, noun } in rows.iter().take(MAX_NAMED_ENTRIES) {
            let shown = one_line(name);
            parts.push(match nouns.get(name).map_or(0, HashSet::len) {
                0 | 1 => format!("{sign}{shown}"),
                _ => format!("{sign}{shown} ({noun})"),
            });
        }
        let moved = self.by_noun().into_iter().filter(|(_, change)| change.reordered);
        parts.extend(moved.map(|(noun, _)| format!("{noun}s in another order")));
        f.write_str(&parts.join(", "))?;
        match rows.len().saturating_sub(MAX_NAMED_ENTRIES) {
            0 => {}
            more => write!(f, ", and {more} more")?,
        }
        match self.new_capabilities.is_empty() {
            true => Ok(()),
            false => {
                write!(f, "; clients in a session see `{}` when they reconnect", self.new_capabilities.join("`, `"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::listing::{Annotations, PromptListing, ResourceInfo, ToolListing};

    fn tool(name: &str, description: &str) -> ToolListing {
        ToolListing { name: name.into(), description: Some(description.into()), ..ToolListing::default() }
    }

    fn file(size: u64, last_modified: &str, mime_type: &str) -> Lists {
        let annotations = Annotations { last_modified: Some(last_modified.into()), ..Annotations::default() };
        let resource = ResourceListing {
            uri: "a:b".into(),
            size: Some(size),
            info: ResourceInfo {
                mime_type: Some(mime_type.into()),
                annotations: Some(annotations),
                ..ResourceInfo::default()
            },
        };
        Lists { resources: vec![resource], ..Lists::default() }
    }

    #[test]
    fn diff_finds_added_removed_and_changed() {
        let old = Lists { tools: vec![tool("a", "x"), tool("b", "x")], ..Lists::default() };
        let new = Lists {
            tools: vec![tool("b", "y"), tool("c", "x"), tool("d", "x")],
            prompts: vec![PromptListing { name: "p".into(), ..PromptListing::default() }.into()],
            ..Lists::default()
        };
        let changes = Changes::diff_lists(&old, &new);
        assert_eq!(changes.to_string(), "~b, +p, +c, +d, -a");
        assert!(!changes.resources.has_changes());
    }

    #[test]
    fn display_caps_at_ten_names() {
        let prompt = |name: &str| PromptListing { name: name.into(), ..PromptListing::default() };
        let new = Lists {
            tools: (0..12).map(|number| tool(&format!("t{number}"), "x")).chain([tool("same", "x")]).collect(),
            prompts: vec![prompt("same").into()],
            ..Lists::default()
        };
        let line = Changes::diff_lists(&Lists::default(), &new).to_string();
        assert_eq!(line, "+same (prompt), +t0, +t1, +t2, +t3, +t4, +t5, +t6, +t7, +t8, and 4 more");
    }

    #[test]
    fn edited_entries_are_named_once() {
        let mut change = ListChange { changed: vec!["a".into()], ..ListChange::default() };
        change.add_edited(&[("a", 1), ("b", 1), ("c", 1)], &[("a", 2), ("b", 2), ("c", 1), ("d", 1)]);
        assert_eq!(change.edited, ["b"]);
        assert!(!ListChange { edited: change.edited, ..ListChange::default() }.has_changes(), "the list is the same");
    }

    #[test]
    fn reordered_list_is_changed() {
        let old = Lists { tools: vec![tool("a", "x"), tool("b", "x")], ..Lists::default() };
        let new = Lists { tools: vec![tool("b", "x"), tool("a", "x")], ..Lists::default() };
        assert_eq!(Changes::diff_lists(&old, &new).to_string(), "tools in another order");
    }

    #[test]
    fn size_or_time_change_does_not_change_list() {
        let touched = Changes::diff_lists(&file(1, "then", "text/plain"), &file(2, "now", "text/plain"));
        assert!(!touched.resources.has_changes());
        assert_eq!(touched.to_string(), "~a:b");
        assert!(
            Changes::diff_lists(&file(1, "then", "text/plain"), &file(1, "then", "text/html")).resources.has_changes()
        );
    }
}
