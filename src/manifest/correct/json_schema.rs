//! A JSON Schema of an object, as MCP has it, where arguments by name are due.

use super::Corrector;
use crate::diagnostic::Code;
use crate::yaml::{Entry, NodeId};

impl Corrector<'_> {
    /// Reads the `properties` of a JSON Schema as the arguments.
    pub(super) fn json_schema(&mut self, arguments: NodeId) {
        let Some(properties) = self.schema_properties(arguments) else { return };
        let required = self.required_names(arguments);
        let mut entries = Vec::new();
        let mut lines = Vec::new();
        for property in properties {
            let name = self.document.key_text(property.key).to_owned();
            let is_required = required.contains(&name);
            lines.push(format!("{name}: {}", self.written_argument(property.value, is_required)));
            entries.push(Entry { key: property.key, value: self.argument_of(property.value, is_required) });
        }
        let suggestion_text = lines.join(", ");
        let help = match suggestion_text.contains('\n') {
            true => {
                "write each of `properties` under `arguments`, as `NAME: { type: string, required: true }`".to_owned()
            }
            false => format!("write `arguments: {{ {suggestion_text} }}`"),
        };
        let span = self.span(arguments);
        let at = self.document.entry_of(arguments, "properties").map_or(span, |entry| self.span(entry.key));
        self.report.error(Code::WrongType, at, "expected the arguments by name, found a JSON Schema").help(help);
        let node = self.document.add_map(entries, span);
        self.document.replace(arguments, node);
    }

    /// The properties, unless `properties` is an argument of that name.
    pub(super) fn schema_properties(&self, arguments: NodeId) -> Option<Vec<Entry>> {
        let properties = self.document.entries_of(self.document.entry_of(arguments, "properties")?.value)?;
        let kind = self.document.entry_of(arguments, "type");
        let is_object = kind.is_some_and(|kind| self.document.string_of(kind.value) == Some("object"));
        let required = self.document.entry_of(arguments, "required");
        let is_list = required.is_some_and(|required| self.document.items_of(required.value).is_some());
        (is_object || is_list).then_some(properties)
    }

    fn required_names(&self, arguments: NodeId) -> Vec<String> {
        let required = self.document.entry_of(arguments, "required");
        let items = required.and_then(|required| self.document.items_of(required.value)).unwrap_or_default();
        items.into_iter().filter_map(|item| self.document.string_of(item).map(str::to_owned)).collect()
    }

    /// The argument with `required: true`, where it is due.
    fn argument_of(&mut self, property: NodeId, is_required: bool) -> NodeId {
        let Some(mut entries) = self.document.entries_of(property).filter(|_| is_required) else { return property };
        let span = self.span(property);
        let key = self.document.add_string("required", span);
        entries.push(Entry { key, value: self.document.add_plain(true, span) });
        self.document.add_map(entries, span)
    }

    fn written_argument(&self, property: NodeId, is_required: bool) -> String {
        let entries = self.document.entries_of(property).unwrap_or_default();
        let mut parts: Vec<String> =
            entries.iter().map(|entry| format!("{}: {}", self.raw(entry.key), self.flow_text(entry.value))).collect();
        parts.extend(is_required.then(|| "required: true".to_owned()));
        if parts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", parts.join(", ")) }
    }
}
