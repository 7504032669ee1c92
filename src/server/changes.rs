//! Which lists a new catalog has changed, by value, and what was written anew beside them.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use crate::catalog::{
    Catalog,
    face::{Lists, Resource},
};
use crate::diagnostic::one_line;

/// What a new catalog has changed in the lists, and what was written anew without a change there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the list of tools.
    pub tools: Change,
    /// In the list of prompts.
    pub prompts: Change,
    /// In the list of resources; a size or a time of change is none.
    pub resources: Change,
    /// In the list of resource templates.
    pub resource_templates: Change,
    /// Among the partials, which are in no list.
    pub partials: Change,
    /// Among the other keys of the manifest.
    pub keys: Change,
}

/// What has changed in one list: names, or URIs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Entries that are new.
    pub added: Vec<String>,
    /// Entries that are gone.
    pub removed: Vec<String>,
    /// Entries that say something else in the list.
    pub altered: Vec<String>,
    /// Whether entries stand in another order.
    pub moved: bool,
    /// Entries that say the same in the list, and were written anew.
    pub edited: Vec<String>,
}

impl Change {
    /// Whether the list is another than it was.
    pub fn any(&self) -> bool {
        self.moved || !(self.added.is_empty() && self.removed.is_empty() && self.altered.is_empty())
    }

    fn between<T>(old: &[T], new: &[T], key: impl Fn(&T) -> &str, same: impl Fn(&T, &T) -> bool) -> Change {
        if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new)) {
            return Change::default();
        }
        let before: HashMap<&str, &T> = old.iter().map(|entry| (key(entry), entry)).collect();
        let after: HashSet<&str> = new.iter().map(&key).collect();
        let named = |entry: &T| key(entry).to_owned();
        let added: Vec<String> = new.iter().filter(|entry| !before.contains_key(key(entry))).map(named).collect();
        let removed: Vec<String> = old.iter().filter(|entry| !after.contains(key(entry))).map(named).collect();
        let differs = |entry: &&T| before.get(key(entry)).is_some_and(|old| !same(old, entry));
        let altered: Vec<String> = new.iter().filter(differs).map(named).collect();
        let moved = added.is_empty() && removed.is_empty() && altered.is_empty();
        Change { added, removed, altered, moved, edited: Vec::new() }
    }

    /// What is in no list, and was written anew, added or taken away.
    fn of_written(old: &[(&str, u64)], new: &[(&str, u64)]) -> Change {
        Change { moved: false, ..Change::between(old, new, |(name, _)| name, PartialEq::eq) }
    }

    /// Adds the entries that were written anew, of which the list says the same.
    fn add_edited(&mut self, old: &[(&str, u64)], new: &[(&str, u64)]) {
        let before: HashMap<&str, u64> = old.iter().copied().collect();
        let known: HashSet<&str> = self.altered.iter().chain(&self.edited).map(String::as_str).collect();
        let edited = new.iter().filter(|(name, digest)| before.get(name).is_some_and(|before| before != digest));
        let edited = edited.map(|(name, _)| *name).filter(|name| !known.contains(name));
        let edited: Vec<String> = edited.map(str::to_owned).collect();
        self.edited.extend(edited);
    }
}

impl Changes {
    /// Compares two catalogs.
    pub fn between(old: &Catalog, new: &Catalog) -> Changes {
        let mut changes = Changes::of_lists(old.lists(), new.lists());
        let (old, new) = (old.written(), new.written());
        changes.prompts.add_edited(&old.prompts, &new.prompts);
        changes.tools.add_edited(&old.tools, &new.tools);
        changes.resources.add_edited(&old.resources, &new.resources);
        changes.resource_templates.add_edited(&old.resource_templates, &new.resource_templates);
        changes.partials = Change::of_written(&old.partials, &new.partials);
        changes.keys = Change::of_written(&old.keys, &new.keys);
        changes
    }

    fn of_lists(old: &Lists, new: &Lists) -> Changes {
        let by_uri = |resource: &Resource| resource.uri.clone();
        let before: HashMap<&str, &Resource> = old.resources.iter().map(|one| (one.uri.as_str(), one)).collect();
        let touched = |new: &&Resource| {
            before.get(new.uri.as_str()).is_some_and(|old| old != new && same_but_for_a_touch(old, new))
        };
        let touched: Vec<String> = new.resources.iter().filter(touched).map(by_uri).collect();
        let resources = Change::between(&old.resources, &new.resources, |resource| &resource.uri, same_but_for_a_touch);
        Changes {
            tools: Change::between(&old.tools, &new.tools, |tool| &tool.name, PartialEq::eq),
            prompts: Change::between(&old.prompts, &new.prompts, |prompt| &prompt.name, PartialEq::eq),
            resources: Change { edited: touched, ..resources },
            resource_templates: Change::between(
                &old.resource_templates,
                &new.resource_templates,
                |template| &template.uri_template,
                PartialEq::eq,
            ),
            ..Changes::default()
        }
    }

    /// Whether anything is other than it was.
    pub fn any(&self) -> bool {
        self.by_noun().iter().any(|(_, change)| change.any() || !change.edited.is_empty())
    }

    fn by_noun(&self) -> [(&'static str, &Change); 6] {
        [
            ("prompt", &self.prompts),
            ("tool", &self.tools),
            ("resource", &self.resources),
            ("template", &self.resource_templates),
            ("partial", &self.partials),
            ("key", &self.keys),
        ]
    }

    /// Every name with its sign and its noun: what is another first, then what is new, then what is gone.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for sign in ['~', '+', '-'] {
            for (noun, change) in self.by_noun() {
                let (names, more): (_, &[String]) = match sign {
                    '+' => (&change.added, &[]),
                    '-' => (&change.removed, &[]),
                    _ => (&change.altered, &change.edited),
                };
                rows.extend(names.iter().chain(more).map(|name| Row { sign, name, noun }));
            }
        }
        rows
    }
}

/// One name in the line of a reload.
struct Row<'a> {
    sign: char,
    name: &'a str,
    noun: &'static str,
}

/// How many names the line of a reload holds.
const MOST_NAMED: usize = 10;

/// An edit of a file alone says nothing new about which resources there are: `resources/updated` is for that.
fn same_but_for_a_touch(old: &Resource, new: &Resource) -> bool {
    let bare = |resource: &Resource| {
        let mut bare = resource.clone();
        bare.size = None;
        bare.annotations = bare.annotations.map(|mut annotations| {
            annotations.last_modified = None;
            annotations
        });
        bare.annotations = bare.annotations.filter(|annotations| *annotations != Default::default());
        bare
    };
    old == new || bare(old) == bare(new)
}

impl fmt::Display for Changes {
    /// Writes such as `~greet, +triage`, with the kind of entry where the name alone does not tell; nothing where nothing
    /// has changed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let mut nouns: HashMap<&str, HashSet<&str>> = HashMap::new();
        for row in &rows {
            nouns.entry(row.name).or_default().insert(row.noun);
        }
        let mut parts: Vec<String> = Vec::new();
        for Row { sign, name, noun } in rows.iter().take(MOST_NAMED) {
            let shown = one_line(name);
            parts.push(match nouns.get(name).map_or(0, HashSet::len) {
                0 | 1 => format!("{sign}{shown}"),
                _ => format!("{sign}{shown} ({noun})"),
            });
        }
        let moved = self.by_noun().into_iter().filter(|(_, change)| change.moved);
        parts.extend(moved.map(|(noun, _)| format!("{noun}s in another order")));
        f.write_str(&parts.join(", "))?;
        match rows.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::catalog::face::{Annotations, Prompt, Tool};

    fn tool(name: &str, description: &str) -> Tool {
        Tool { name: name.into(), description: Some(description.into()), ..Tool::default() }
    }

    fn file(size: u64, last_modified: &str, mime_type: &str) -> Lists {
        let annotations = Annotations { last_modified: Some(last_modified.into()), ..Annotations::default() };
        let resource = Resource {
            uri: "a:b".into(),
            size: Some(size),
            mime_type: Some(mime_type.into()),
            annotations: Some(annotations),
            ..Resource::default()
        };
        Lists { resources: vec![resource], ..Lists::default() }
    }

    #[test]
    fn entries_are_counted_as_new_gone_and_altered() {
        let old = Lists { tools: vec![tool("a", "x"), tool("b", "x")], ..Lists::default() };
        let new = Lists {
            tools: vec![tool("b", "y"), tool("c", "x"), tool("d", "x")],
            prompts: vec![Prompt { name: "p".into(), ..Prompt::default() }],
            ..Lists::default()
        };
        let changes = Changes::of_lists(&old, &new);
        assert_eq!(changes.to_string(), "~b, +p, +c, +d, -a");
        assert!(!changes.resources.any());
    }

    #[test]
    fn a_line_holds_ten_names_and_their_kinds_where_they_are_needed() {
        let prompt = |name: &str| Prompt { name: name.into(), ..Prompt::default() };
        let new = Lists {
            tools: (0..12).map(|number| tool(&format!("t{number}"), "x")).chain([tool("same", "x")]).collect(),
            prompts: vec![prompt("same")],
            ..Lists::default()
        };
        let line = Changes::of_lists(&Lists::default(), &new).to_string();
        assert_eq!(line, "+same (prompt), +t0, +t1, +t2, +t3, +t4, +t5, +t6, +t7, +t8, and 4 more");
    }

    #[test]
    fn what_was_written_anew_is_named_once() {
        let mut change = Change { altered: vec!["a".into()], ..Change::default() };
        change.add_edited(&[("a", 1), ("b", 1), ("c", 1)], &[("a", 2), ("b", 2), ("c", 1), ("d", 1)]);
        assert_eq!(change.edited, ["b"]);
        assert!(!Change { edited: change.edited, ..Change::default() }.any(), "the list is the same");
    }

    #[test]
    fn another_order_is_another_list() {
        let old = Lists { tools: vec![tool("a", "x"), tool("b", "x")], ..Lists::default() };
        let new = Lists { tools: vec![tool("b", "x"), tool("a", "x")], ..Lists::default() };
        assert_eq!(Changes::of_lists(&old, &new).to_string(), "tools in another order");
    }

    #[test]
    fn a_touched_or_edited_file_leaves_the_list_as_it_was() {
        let touched = Changes::of_lists(&file(1, "then", "text/plain"), &file(2, "now", "text/plain"));
        assert!(!touched.resources.any());
        assert_eq!(touched.to_string(), "~a:b");
        assert!(Changes::of_lists(&file(1, "then", "text/plain"), &file(1, "then", "text/html")).resources.any());
    }
}
