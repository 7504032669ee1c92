//! Which lists a new catalog has changed, by value.

use std::{collections::HashMap, fmt};

use crate::catalog::face::{Lists, Resource};

/// What a new catalog has changed in the lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the list of tools.
    pub tools: Change,
    /// In the list of prompts.
    pub prompts: Change,
    /// In the list of resources; a size or a time of change is none.
    pub resources: Change,
    /// In the list of resource templates.
    pub resource_templates: Change,
}

/// What has changed in one list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Entries that are new.
    pub added: usize,
    /// Entries that are gone.
    pub removed: usize,
    /// Entries that say something else.
    pub altered: usize,
    /// Whether entries stand in another order.
    pub moved: bool,
}

impl Change {
    /// Whether the list is another than it was.
    pub fn any(&self) -> bool {
        *self != Change::default()
    }

    fn between<T>(old: &[T], new: &[T], key: impl Fn(&T) -> &str, same: impl Fn(&T, &T) -> bool) -> Change {
        if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new)) {
            return Change::default();
        }
        let before: HashMap<&str, &T> = old.iter().map(|entry| (key(entry), entry)).collect();
        let kept = new.iter().filter_map(|entry| before.get(key(entry)).map(|old| (*old, entry)));
        let altered = kept.clone().filter(|(old, new)| !same(old, new)).count();
        let kept = kept.count();
        let (added, removed) = (new.len() - kept, old.len() - kept);
        Change { added, removed, altered, moved: added + removed + altered == 0 }
    }
}

impl Changes {
    /// Compares the lists of two catalogs.
    pub fn between(old: &Lists, new: &Lists) -> Changes {
        Changes {
            tools: Change::between(&old.tools, &new.tools, |tool| &tool.name, PartialEq::eq),
            prompts: Change::between(&old.prompts, &new.prompts, |prompt| &prompt.name, PartialEq::eq),
            resources: Change::between(&old.resources, &new.resources, |resource| &resource.uri, same_but_for_a_touch),
            resource_templates: Change::between(
                &old.resource_templates,
                &new.resource_templates,
                |template| &template.uri_template,
                PartialEq::eq,
            ),
        }
    }

    /// Whether any list is another than it was.
    pub fn any(&self) -> bool {
        [self.tools, self.prompts, self.resources, self.resource_templates].iter().any(Change::any)
    }
}

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
    /// Writes such as `+1 prompt, ~2 tools`; nothing where nothing has changed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nouns = ["prompt", "tool", "resource", "template"];
        let changes = [self.prompts, self.tools, self.resources, self.resource_templates];
        let mut parts = Vec::new();
        for (noun, change) in nouns.into_iter().zip(changes) {
            for (sign, count) in [('+', change.added), ('-', change.removed), ('~', change.altered)] {
                if count > 0 {
                    parts.push(format!("{sign}{count} {noun}{}", if count == 1 { "" } else { "s" }));
                }
            }
            if change.moved {
                parts.push(format!("{noun}s in another order"));
            }
        }
        f.write_str(&parts.join(", "))
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
        let changes = Changes::between(&old, &new);
        assert_eq!(changes.to_string(), "+1 prompt, +2 tools, -1 tool, ~1 tool");
        assert!(!changes.resources.any());
    }

    #[test]
    fn another_order_is_another_list() {
        let old = Lists { tools: vec![tool("a", "x"), tool("b", "x")], ..Lists::default() };
        let new = Lists { tools: vec![tool("b", "x"), tool("a", "x")], ..Lists::default() };
        assert_eq!(Changes::between(&old, &new).to_string(), "tools in another order");
    }

    #[test]
    fn a_touched_or_edited_file_leaves_the_list_as_it_was() {
        assert!(!Changes::between(&file(1, "then", "text/plain"), &file(2, "now", "text/plain")).any());
        assert!(Changes::between(&file(1, "then", "text/plain"), &file(1, "then", "text/html")).resources.any());
    }
}
