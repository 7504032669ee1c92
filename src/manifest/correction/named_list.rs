//! A list of maps with a `name`, written as a map by name with its layout and its comments.

use super::Corrector;
use crate::yaml::NodeId;

impl Corrector<'_> {
    /// The lines of a list in block style, with the name of each item as a key instead of its dash. `None` where the
    /// list is not one of such maps, or the line of a name holds more.
    pub(super) fn lines_by_name(&self, list: NodeId) -> Option<String> {
        let whole = self.raw(list);
        let items = self.document.items_of(list).filter(|_| whole.starts_with('-'))?;
        let start = self.span(list).start as usize;
        let offset = |at: u32| (at as usize).checked_sub(start);
        let mut lines = String::new();
        let mut copied = 0;
        for item in items {
            let name = self.document.entry_of(item, "name")?;
            let text = self.document.string_of(name.value)?;
            let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            let (from, to) = (offset(self.span(item).start)?, offset(self.span(item).end)?);
            let dash = whole.get(..from)?.trim_end().len().checked_sub(1)?;
            if !is_name || self.raw(item).starts_with('{') || !whole.get(dash..from)?.starts_with('-') {
                return None;
            }
            lines.push_str(whole.get(copied..dash)?);
            copied = to;
            if self.document.entries_of(item)?.len() == 1 {
                lines.push_str(&format!("{text}: {{}}"));
                continue;
            }
            let (name_start, name_end) = (offset(self.span(name.key).start)?, offset(self.span(name.value).end)?);
            if name_start == from {
                lines.push_str(&format!("{text}:{}", whole.get(name_end..to)?));
                continue;
            }
            // The line of the name goes, and the others move below it.
            let line_start = whole.get(..name_start)?.rfind('\n')?;
            let line_end = whole.get(name_end..)?.find('\n').map_or(whole.len(), |at| name_end + at);
            if !whole.get(name_end..line_end)?.trim().is_empty() {
                return None;
            }
            let indent = " ".repeat(name_start.checked_sub(line_start + 1)?);
            let (before, after) = (whole.get(from..line_start)?, whole.get(line_end.min(to)..to)?);
            lines.push_str(&format!("{text}:\n{indent}{before}{after}"));
        }
        lines.push_str(whole.get(copied..)?);
        Some(lines)
    }
}
